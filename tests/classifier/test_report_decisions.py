"""The decisions in a report: sums over rows, and a slider that works in a browser without network."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression

from bayesieve import BenefitClassifier, SelectiveNB, total_benefit
from bayesieve.classifier.report_data import report_data
from tests.report.markup import payload, read

TABLE = pl.read_csv(Path(__file__).parents[2] / "examples" / "data" / "german_credit.csv")
X, Y = TABLE.drop("class"), TABLE["class"]
TEST, TRUTH = X[600:], Y[600:]
COSTS = [[0, -1], [-5, 0]]


@cache
def fitted() -> SelectiveNB:
    return SelectiveNB("all", pairs=0, calibrate=False).fit(X[:600], Y[:600])


def summary_of(benefit: Any, **options: Any) -> Any:
    return report_data(fitted(), TEST, TRUTH, benefit=benefit, **options).decisions


def test_lines_are_sums_over_rows() -> None:
    amount = TEST["credit_amount"].to_numpy()
    benefit = [[0, 0], [-0.5 * amount, 0.1 * amount]]
    decided = BenefitClassifier(fitted(), benefit=benefit).predict(TEST)
    summary = summary_of(benefit)
    assert summary.names == ["bad", "good"]
    for k, name in enumerate(summary.names):
        rows = decided == name
        taken = total_benefit(TRUTH.filter(rows), decided[rows], benefit=np.array(per_row(benefit))[rows])
        assert summary.benefit[k] == pytest.approx(taken)
        assert summary.always[k] == pytest.approx(total_benefit(TRUTH, [name] * 400, benefit=benefit))
        counts = [int((TRUTH.filter(rows) == label).sum()) for label in ("bad", "good")]
        assert summary.class_rows[k].tolist() == counts
    assert summary.score == "expected gain"
    assert summary.curve.profit[summary.chosen] == pytest.approx(summary.benefit.sum())
    assert summary.curve.share[summary.chosen] == pytest.approx((decided == "good").mean())


def per_row(benefit: Any) -> Any:
    return [[[np.broadcast_to(cell, 400)[n] for cell in row] for row in benefit] for n in range(400)]


def test_every_step_is_a_threshold_on_the_probability() -> None:
    summary = summary_of(COSTS)
    good = fitted().predict_proba(TEST)[:, 1]
    assert summary.score == "probability of good"
    curve = summary.curve
    for k in range(1, curve.share.size):
        decided = np.where(good >= curve.threshold[k], "good", "bad")
        assert curve.profit[k] == pytest.approx(total_benefit(TRUTH, decided, benefit=COSTS))
        assert curve.share[k] == pytest.approx((decided == "good").mean())
        assert curve.low[k] <= curve.high[k]
    assert (curve.share[0], curve.share[-1]) == (0, 1)


def test_rows_have_the_shares_of_the_population() -> None:
    prior = {"bad": 0.1, "good": 0.9}
    classifier = BenefitClassifier(fitted(), benefit=COSTS, class_prior=prior, decisions=["no", "yes"])
    summary = summary_of(classifier)
    np.testing.assert_allclose(summary.class_rows.sum(axis=0), [40, 360])
    assert summary.names == ["no", "yes"]
    assert "weighted to the shares of the classes" in summary.measured


def test_training_rows_are_predicted_by_cross_validation() -> None:
    data = report_data(fitted(), X[:600], Y[:600], benefit=COSTS, cv=3)
    assert data.decisions is not None
    assert data.decisions.measured == "3-fold cross-validation of the 600 training rows"
    assert data.decisions.class_rows.sum() == 600


def test_three_decisions_have_no_threshold() -> None:
    summary = summary_of(BenefitClassifier(fitted(), benefit=[[0, 0], [-5, 1], [-1, 0.5]], decisions=["a", "b", "c"]))
    assert (len(summary.names), summary.curve) == (3, None)


def test_one_clear_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="pass X and y, too"):
        fitted().report(tmp_path / "r.html", benefit=COSTS)
    with pytest.raises(ValueError, match="benefit has 3 columns, but there are 2 classes"):
        fitted().report(tmp_path / "r.html", TEST, TRUTH, benefit=np.eye(3))
    estimated = BenefitClassifier(fitted(), benefit=COSTS, amount_estimator=LinearRegression())
    with pytest.raises(ValueError, match="needs true amounts, not estimates"):
        fitted().report(tmp_path / "r.html", TEST, TRUTH, benefit=estimated)
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    classifier = BenefitClassifier(fitted(), benefit=COSTS, decisions=["<refuse>", "grant & pay"])
    fitted().report(path, TEST, TRUTH, benefit=classifier)
    return path


def test_the_page_is_well_formed(page: Path) -> None:
    html = page.read_text(encoding="utf-8")
    parts = [e.attributes["data-part"] for e in read(html) if "data-part" in e.attributes]
    assert "decisions" in parts
    assert "<refuse>" not in html
    drawn = payload(html)["charts"]["decisions"]
    frames = drawn["frames"]
    assert frames["curve"]["share"][0] == 0
    assert frames["curve"]["share"][-1] == 1
    assert frames["best"]["profit"][0] in frames["curve"]["profit"]
    assert [k for k, threshold in enumerate(frames["curve"]["threshold"]) if threshold is None] == [0]
    profit = frames["curve"]["profit"]
    assert {"values": [{"from": 0, "to": profit[0]}, {"from": 1, "to": profit[-1]}]} in [
        layer.get("data") for layer in drawn["spec"]["layer"]
    ]

"""Plots that results draw of themselves hold the numbers of these results."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve import SelectiveNB, path_figure
from bayesieve.report import Figure, explanation_figure
from tests.report.paths import forward_trace


@cache
def fitted(n_classes: int, n_columns: int = 4) -> tuple[SelectiveNB, pl.DataFrame]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, 400)
    columns = {f"x{k}": y + rng.normal(size=400) for k in range(n_columns)}
    X = pl.DataFrame(columns | {"word": np.array(["a", "b", "c"])[rng.integers(0, 3, 400)]})
    return SelectiveNB("all", calibrate=False).fit(X, y), X


@pytest.mark.parametrize("row", [0, 3])
def test_parts_of_a_row_add_up_to_its_log_odds(row: int) -> None:
    model, X = fitted(2)
    explanation, chances = model.scorecard_.explain(X[:5]), model.predict_proba(X[:5])[row]
    figure = explanation.plot(row)
    data = figure.data
    assert data["feature"][0] == "Every row"
    assert data["to"][-1] == pytest.approx(np.log(chances[1] / chances[0]))
    assert data["amount"][:-1].sum() == pytest.approx(data["to"][-1])
    assert data["from"][1:-1].to_list() == data["to"][:-2].to_list()
    sizes = data["amount"][1:-1].abs().to_list()
    assert sizes == sorted(sizes, reverse=True)
    assert figure.caption.startswith(f"P(1) is {100 * chances[1]:.1f}% (90% interval given the columns kept: ")
    other = explanation.plot(row, 0)
    assert other.data["to"][-1] == pytest.approx(-data["to"][-1])
    against = explanation.against(0).plot(row)
    np.testing.assert_allclose(against.data["amount"], data["amount"])
    assert against.caption == figure.caption
    assert {"Feature", "Nats"} < set(figure.table().heads)
    assert [data["label"][0], data["label"][-1]] == ["Every row", "Total"]
    for label, name, level, value in data.select("label", "feature", "level", "value").rows()[1:-1]:
        at = explanation.features.index(name)
        assert value == str(explanation.values[row, at])
        assert (label, level) == (f"{name}: {value}", explanation.levels[row, at])
    assert (figure.title, other.title) == (f"Row {row}: what speaks for 1", f"Row {row}: what speaks for 0")
    assert "log-odds, nats" in str(figure.spec)


def test_rows_of_more_classes_are_explained_for_the_predicted_one() -> None:
    model, X = fitted(3)
    explanation = model.scorecard_.explain(X[:5])
    for row, label in enumerate(model.predict(X[:5]).tolist()):
        figure = explanation.plot(row)
        assert f"P({label})" in figure.caption
        assert figure.data["to"][-1] == pytest.approx(explanation.joint_log_proba()[row, label])
    assert "P(2)" in explanation.plot(0, 2, title="Why").caption
    chances = model.predict_proba(X[:1])[0]
    against = explanation.against(0).plot(0, 2)
    assert ["log-odds, nats" in str(one.spec) for one in (figure, against)] == [False, True]
    assert against.data["to"][-1] == pytest.approx(np.log(chances[2] / chances[0]))


def test_the_smallest_parts_are_drawn_together() -> None:
    model, X = fitted(2, 30)
    explanation = model.scorecard_.explain(X[:1])
    data = explanation.plot().data
    assert data.height == 15
    assert data["feature"][13] == f"{len(explanation.features) - 12} other features"
    assert data["amount"][:-1].sum() == pytest.approx(data["to"][-1])
    assert data["label"].n_unique() == 15


@pytest.mark.parametrize(
    ("row", "label", "message"), [(5, None, "from 0, got 5"), (-1, None, "got -1"), (0, 7, "got 7")]
)
def test_rows_and_classes_that_there_are_not(row: int, label: Any, message: str) -> None:
    model, X = fitted(2)
    with pytest.raises(ValueError, match=message):
        explanation_figure(model.scorecard_.explain(X[:5]), row, label)


def test_searches_draw_themselves() -> None:
    trace = forward_trace()
    assert trace.plot(title="Mine").spec == path_figure(trace, title="Mine").spec


def test_a_feature_is_drawn_without_the_rest_of_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = fitted(2)
    monkeypatch.setattr("bayesieve.classifier.report_data.report_data", None)
    drawn: Figure = model.scorecard_.plot("x1")
    feature = model.scorecard_["x1"]
    steps = feature.contributions[:, 1] - feature.contributions[:, 0]
    np.testing.assert_allclose(drawn.data["contribution"], steps[: drawn.data.height])
    assert model.scorecard_.plot_importance().data["importance"].sum() == pytest.approx(1.0)
    with pytest.raises(ValueError, match="There is no feature 'unknown'"):
        model.scorecard_.plot("unknown")


def test_cells_are_drawn_with_their_rows_shares_and_errors_from_end_to_end() -> None:
    card = fitted(2)[0].scorecard_
    feature, figure = card["x1"], card.plot("x1")
    data, cuts, counts = figure.data, feature.cells.number_cuts, feature.counts
    assert data["rows"].to_list() == counts.sum(axis=1).tolist()
    np.testing.assert_allclose(data["share"], counts[:, 1] / counts.sum(axis=1))
    errors = feature.total_errors[:-1].sum(axis=1)
    np.testing.assert_allclose(data["high"] - data["contribution"], errors)
    np.testing.assert_allclose(data["contribution"] - data["low"], errors)
    room = 0.08 * (cuts[-1] - cuts[0])
    np.testing.assert_allclose(data["from"], [cuts[0] - room, *cuts])
    np.testing.assert_allclose(data["to"], [*cuts, cuts[-1] + room])
    assert figure.caption.startswith("Nats that each cell adds for 1, ")
    other = card.plot("x1", 0).data
    np.testing.assert_allclose(other["contribution"], -data["contribution"])
    np.testing.assert_allclose(other["share"], 1.0 - data["share"])


def test_the_first_of_three_classes_is_drawn_by_default() -> None:
    card = fitted(3)[0].scorecard_
    figure = card.plot("x1")
    assert figure.caption.startswith("Nats that each cell adds for 0, ")
    np.testing.assert_allclose(figure.data["contribution"], card["x1"].contributions[:, 0])

"""Scorecards: levels and columns given by hand stay, cards are short, and more points are good."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from bayesieve import SelectiveNB, ThresholdTuner, load
from bayesieve.datasets import load_german_credit
from tests.scorecard.sql_engines import Engine, run_duckdb, run_sqlite

LEVELS: dict[str, Any] = {
    "income": {"special": {"refused": -999, "no answer": -998}, "cuts": [1500, 2500, 3500, 5000]},
    "age": {"cuts": [25, 35, 50, 65]},
    "late": {"cuts": [0.5, 1.5, 2.5]},
    "job": {"groups": [["student"], ["retired", "clerk"]]},
    "noise": {"cuts": [-1, 1]},
}

IN_FILE = """
income: {special: {refused: -999, no answer: -998}, cuts: [1500, 2500, 3500, 5000]}
age: {cuts: [25, 35, 50, 65]}
late: {cuts: [0.5, 1.5, 2.5]}
job: {groups: [[student], [retired, clerk]]}
noise: {cuts: [-1, 1]}
"""


@lru_cache
def credit(n: int, seed: int) -> tuple[pl.DataFrame, np.ndarray]:
    """Return applicants for credit, and whether they turned out to be bad."""
    rng = np.random.default_rng(seed)
    income, age, late = rng.lognormal(8, 0.5, n).round(0), rng.integers(19, 80, n), rng.poisson(0.4, n)
    job = rng.choice(["clerk", "worker", "self", "student", "retired"], n, p=[0.35, 0.3, 0.15, 0.1, 0.1])
    usage, refused = rng.beta(2, 3, n).round(3), rng.random(n) < 0.08
    z = -2 - 0.5 * (np.log(income) - 8) - 0.02 * (age - 45) + 0.7 * late + 0.4 * (job == "student")
    z += 0.9 * refused + 2.2 * (usage - 0.4)
    income[refused] = -999
    columns = {"income": income, "age": age, "late": late, "job": job, "usage": usage, "noise": rng.normal(size=n)}
    return pl.DataFrame(columns), (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)


@pytest.fixture(scope="module")
def by_hand() -> SelectiveNB:
    return SelectiveNB.scorecard(LEVELS).fit(*credit(2000, 0))


def test_levels_and_columns_by_hand_stay(by_hand: SelectiveNB) -> None:
    card, table = by_hand.scorecard_, pl.DataFrame(by_hand.points().table())
    assert not any(feature.kind == "pair" for feature in card.features)
    for name, rule in LEVELS.items():
        assert card[name].is_used
        lines = table.filter(feature=name, kind="level")
        if "cuts" in rule:
            assert lines["high"].to_list() == [*rule["cuts"], np.inf]
        assert lines.height == len(rule.get("cuts", rule.get("groups"))) + 1
    assert table.filter(feature="income", kind="special")["level"].to_list() == ["refused", "no answer"]
    assert 1 < table.filter(feature="usage", kind="level").height <= 7


@pytest.mark.parametrize("labels", [(0, 1), (1, 0), ("good", "bad"), ("a", "b")], ids=str)
def test_more_points_are_good_whatever_the_labels(by_hand: SelectiveNB, labels: tuple[Any, Any]) -> None:
    X, bad = credit(2000, 0)
    model = by_hand if labels == (0, 1) else SelectiveNB.scorecard(LEVELS).fit(X, np.array(labels)[bad])
    points = model.points()
    assert model.classes_[model.scorecard_.positive] == labels[0]
    assert points.points["late"].tolist() == by_hand.points().points["late"].tolist()
    assert (np.diff(points.points["late"][:4]) < 0).all()
    assert roc_auc_score(bad, -points.score(X)) > 0.6
    strategy = points.strategy(X, np.array(labels)[bad], bands=4)
    assert strategy["events"].sum() == bad.sum()
    assert strategy["event_rate"].is_sorted()


def test_good_may_be_the_rarer_class() -> None:
    model = SelectiveNB.scorecard(LEVELS, positive=1).fit(*credit(2000, 0))
    assert (np.diff(model.points().points["late"][:4]) > 0).all()


def test_a_card_keeps_the_accuracy_of_its_levels() -> None:
    X, bad = credit(20_000, 1)
    cards = [SelectiveNB.scorecard(), SelectiveNB.scorecard(LEVELS), SelectiveNB()]
    short, by_hand, full = (roc_auc_score(bad, card.fit(*credit(2000, 0)).predict_proba(X)[:, 1]) for card in cards)
    assert short > full - 0.01
    assert by_hand > full - 0.012  # curves know more than five cuts by hand


def test_options_of_a_card() -> None:
    X, bad = credit(2000, 0)
    model = SelectiveNB.scorecard(
        {"*": {"missing": "apart"}, "noise": {"exclude": True}},
        max_levels=4,
        monotone={"age": 1},
        pairs=[("usage", "late")],
    ).fit(X, bad)
    card = model.scorecard_
    assert not card["noise"].is_used
    assert [feature.columns for feature in card.features if feature.kind == "pair"] == [("usage", "late")]
    assert (np.diff(model.points().points["age"][1:-1]) >= 0).all()
    assert all(feature.cells.n_levels <= 5 for feature in card.used_features if feature.kind != "pair")
    assert all(card[name].cells.has_missing_level for name in ("income", "age"))


def test_the_limit_of_a_card_holds_beside_a_column_named_like_it() -> None:
    X, bad = credit(2000, 0)
    named = {"noise": "*"}
    card = SelectiveNB.scorecard(max_levels=3).fit(X.rename(named), bad).scorecard_
    other = SelectiveNB.scorecard(max_levels=3).fit(X, bad).scorecard_
    sizes = [feature.cells.n_levels - feature.cells.n_special_levels for feature in card.features]
    assert max(sizes) == 3
    assert sizes == [feature.cells.n_levels - feature.cells.n_special_levels for feature in other.features]


def test_saved_and_fitted_again(by_hand: SelectiveNB, tmp_path: Any) -> None:
    X, bad = credit(2000, 0)
    by_hand.save(tmp_path / "model.json")
    (tmp_path / "levels.yaml").write_text(IN_FILE)
    loaded = load(tmp_path / "model.json")
    again = [
        loaded,
        clone(loaded).set_params(encoder=by_hand.encoder).fit(X, bad),
        SelectiveNB.scorecard(tmp_path / "levels.yaml").fit(X, bad),
    ]
    assert (loaded.predict_proba(X) == by_hand.predict_proba(X)).all()
    for model in again:
        np.testing.assert_allclose(model.predict_proba(X), by_hand.predict_proba(X), rtol=1e-7)
        assert model.scorecard_.positive == 0
    assert ThresholdTuner(clone(by_hand), cv="train").fit(X, bad).pos_label_ == 0


@pytest.mark.parametrize(
    ("levels", "options", "message"),
    [
        ({"wage": {"cuts": [1]}}, {}, "levels names the column 'wage', which is not a feature column; remove it"),
        ({"incme": {"cuts": [1]}}, {}, "which is not a feature column; remove it, or did you mean 'income'"),
        ({"age": {"exclude": True, "cuts": [30]}}, {}, "is excluded; omit its other options"),
        ({"job": {"cuts": [30]}}, {}, "'job'"),
        ("missing.yaml", {}, "missing.yaml"),
        (None, {"max_levels": 1}, "max_levels must be a whole number of 2 or more, got 1"),
        (None, {"max_levels": "few"}, "max_levels must be a whole number of 2 or more, got 'few'"),
        (None, {"monotone": {"job": 1}}, "monotone names the column 'job', whose categories have no order"),
        (None, {"pairs": [("age", "wage")]}, "'wage'"),
        (None, {"positive": "good"}, "positive must be a class, one of 0, 1, got 'good'"),
    ],
    ids=str,
)
def test_what_is_refused(levels: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, OSError), match=re.escape(message)) as error:
        SelectiveNB.scorecard(levels, **options).fit(*credit(2000, 0))
    assert str(error.value).count(". ") <= 1


def test_three_classes_are_refused() -> None:
    X, bad = credit(2000, 0)
    with pytest.raises(
        ValueError, match="positive='majority', as in a scorecard, needs two classes, but the target has 3"
    ):
        SelectiveNB.scorecard().fit(X, bad + (X["age"].to_numpy() > 60))


@pytest.mark.parametrize("run", [run_duckdb, run_sqlite])
def test_sql_of_a_card_is_short_and_exact(run: Engine) -> None:
    X, y = load_german_credit(return_X_y=True)
    columns = ["checking_status", "duration", "credit_history", "credit_amount", "savings_status", "age"]
    drawn = np.random.default_rng(0).random((2, len(X)))
    X = pl.DataFrame(X)[columns].with_columns(
        duration=pl.when(pl.Series(drawn[0] < 0.08)).then(-999).otherwise("duration"),
        age=pl.when(pl.Series(drawn[1] > 0.05)).then("age"),
    )
    model = SelectiveNB.scorecard({"duration": {"special": {"refused": -999}}}).fit(X, y)
    assert sorted(model.selected_features_) == sorted(columns)
    dialect = {run_duckdb: "duckdb", run_sqlite: "sqlite"}[run]
    query = model.export(to="sql", dialect=dialect)
    assert query.count("\n") <= 40
    assert max(map(len, query.splitlines())) < 150
    found = run(X, model.export(to="sql", dialect=dialect, keep="row_id"))
    np.testing.assert_allclose([row["p_good"] for row in found], model.predict_proba(X)[:, 1], rtol=1e-12)
    assert [row["predicted"] for row in found] == model.predict(X).tolist()

"""`DependenceClusterSelector`: constraints, rows, options, and the model behind it."""

from __future__ import annotations

import tracemalloc
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import log_loss, make_scorer, matthews_corrcoef
from sklearn.model_selection import GroupKFold, LeaveOneOut, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import CategoricalNB

import bayesieve
from bayesieve import DependenceClusterSelector, DiscreteNB, SelectiveNB
from bayesieve.counts import CodedTable
from bayesieve.criteria import ExpectedCost
from bayesieve.evaluation.judged import evaluated_rows
from bayesieve.evaluation.performance import are_training_rows
from bayesieve.selection.row_splits import evaluation_rows
from tests.cases import mostly_slow


def table(seed: int = 0, n_rows: int = 400) -> tuple[pl.DataFrame, np.ndarray]:
    """Three pairs of near copies, of falling use, and noise; 30 % of the rows are bad."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n_rows) < 0.3).astype(int)
    columns: dict[str, Any] = {}
    for name, strength in (("a", 1.6), ("b", 1.2), ("c", 0.8)):
        columns[name] = rng.normal(strength * y)
        columns[f"{name} copy"] = columns[name] + 0.05 * rng.normal(size=n_rows)
    columns["noise"] = rng.random(n_rows)
    columns["town"] = np.array(["Ulm", "Jena", "Köln"])[np.clip(y + rng.integers(0, 2, n_rows), 0, 2)]
    return pl.DataFrame(columns), np.array(["good", "bad"])[y]


def test_copies_share_a_cluster_and_one_of_them_is_selected() -> None:
    X, y = table()
    selector = DependenceClusterSelector().fit(X, y)
    first = {tuple(sorted(selector.clustered_[pair.astype(int)].tolist())) for pair in selector.linkage_[:3, :2]}
    assert first == {(0, 1), (2, 3), (4, 5)}
    assert 0 < selector.n_features_selected_ < X.width
    frame = selector.candidates_
    assert frame.height == selector.trace_.n_models == frame["features"].n_unique()
    best = frame.filter(pl.col("accuracy") == frame["accuracy"].max()).sort("n_features")
    assert best["features"].to_list()[0] == selector.get_feature_names_out().tolist()
    assert frame["cut"].null_count() == 1
    assert selector.trace_.measured == "on held-out rows, levels learnt from the fitted rows only"


@pytest.mark.parametrize("bounds", [{"recall:bad": 0.6}, {"recall:bad": 1.0, "recall:good": 0.5}])
def test_constraints_are_kept_or_missed_by_as_little_as_possible(bounds: dict[str, float]) -> None:
    X, y = table()
    selector = DependenceClusterSelector(constraints=bounds)
    kept = len(bounds) == 1
    with nullcontext() if kept else pytest.warns(UserWarning, match=r"violates recall:bad > 1 \(got 0\.\d+\)"):
        selector.fit(X, y)
    assert selector.feasible_ is kept
    frame = selector.candidates_
    chosen = frame.filter(pl.col("features") == selector.get_feature_names_out().tolist())
    assert (chosen["violation"][0] == 0.0) == (chosen["recall:bad"][0] > bounds["recall:bad"]) == kept
    assert chosen["violation"][0] == frame["violation"].min()
    nearest = frame.filter(pl.col("violation") == frame["violation"].min())
    assert chosen["accuracy"][0] == nearest["accuracy"].max()


SCORING = [
    *("auc", "balanced_accuracy", "log_loss", "precision:bad", "f1_weighted", ExpectedCost([[0, 1], [5, 0]])),
    make_scorer(matthews_corrcoef),
]
MEASURED = list(product(SCORING, ["holdout", "loo", 3]))


@pytest.mark.parametrize(("scoring", "evaluation"), mostly_slow(MEASURED, MEASURED[::2]), ids=str)
def test_measures_and_rows(scoring: Any, evaluation: Any) -> None:
    X, y = table(1, 150)
    selector = DependenceClusterSelector(scoring=scoring, evaluation=evaluation, n_cuts=3).fit(X, y)
    trace = selector.trace_
    sign = 1 if trace.lower_is_better else -1
    values = selector.candidates_[trace.criterion_name]
    assert trace.best_criterion == sign * (sign * values).min() or trace.null_criterion == trace.best_criterion
    assert selector.feasible_
    again = DependenceClusterSelector(scoring=scoring, evaluation=evaluation, n_cuts=3, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(selector.support_, again.support_)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("evaluation", "splitter"), [("loo", LeaveOneOut()), (4, StratifiedKFold(4, shuffle=True, random_state=0))]
)
def test_leave_one_out_and_folds_are_those_of_refitted_models(evaluation: Any, splitter: Any) -> None:
    rng = np.random.default_rng(6)
    y = rng.integers(0, 3, 36)
    X = np.where(rng.random((36, 7)) < 0.3, y[:, None], rng.integers(0, 3, (36, 7)))
    options: dict[str, Any] = {"encoder": None, "smoothing": 1.0, "constraints": {"log_loss": 1.0}, "n_cuts": 3}
    frame = DependenceClusterSelector(evaluation=evaluation, **options).fit(X, y).candidates_
    for names, *found in frame[["features", "accuracy", "log_loss", "feasible"]].iter_rows():
        model = CategoricalNB(alpha=1.0, min_categories=3)
        columns = X[:, [int(name[1:]) for name in names]]
        proba = cross_val_predict(model, columns, y, cv=splitter, method="predict_proba")
        loss = log_loss(y, proba)
        assert found == pytest.approx([np.mean(proba.round(10).argmax(axis=1) == y), loss, loss < 1.0], abs=1e-12)
    assert 0 < frame["feasible"].sum() < frame.height


def test_memory_grows_with_the_rows_and_no_faster() -> None:
    def peak(n_rows: int) -> int:
        rng = np.random.default_rng(0)
        y = rng.integers(0, 3, n_rows)
        X = np.where(rng.random((n_rows, 20)) < 0.2, y[:, None], rng.integers(0, 3, (n_rows, 20)))
        codes, names = X.T.astype(np.uint8), [*"abcdefghijklmnopqrst"]
        coded = CodedTable(codes, [3] * 20, names, class_codes=y, classes=np.arange(3))
        tracemalloc.start()
        DependenceClusterSelector(constraints={"recall:1": 0.1}).fit_coded(coded)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(1000)
    small, large = peak(10_000), peak(40_000)
    assert large < 4.5 * small


@pytest.mark.parametrize("recode", [True, False])
def test_the_model_learns_from_two_thirds_of_the_rows_unless_refitted(recode: bool, tmp_path: Path) -> None:
    X, y = table(6)
    coded, refitter = bayesieve.TableEncoder().fit_with_refitter(X, y)
    options = {"seed": 0, "validation_size": 1 / 3, "recode": recode, "refitter": refitter}
    rows = evaluation_rows(coded, "validation", "m-estimate", **options)
    learnt = rows.learnt
    assert learnt is not None
    kept, refitted = (
        SelectiveNB(DependenceClusterSelector(recode=recode, refit=refit)).fit(X, y) for refit in (False, True)
    )
    np.testing.assert_array_equal(kept.feature_weights_, refitted.feature_weights_)
    assert kept.n_rows_ == refitted.n_rows_ == 400
    assert learnt.n_rows == round(400 * 2 / 3)
    expected = DiscreteNB(feature_weights=kept.feature_weights_).fit(learnt)
    np.testing.assert_array_equal(kept.scorecard_.class_counts, learnt.counts.class_counts)
    for k in np.flatnonzero(kept.feature_weights_):
        feature = kept.scorecard_.features[k]
        evidence = expected.evidence_[k] - expected.evidence_[k].mean(axis=1, keepdims=True)
        np.testing.assert_allclose(feature.contributions - feature.unseen, evidence, atol=1e-12)
        same = kept.encoder_.levels_[k].labels == coded.levels[k].labels
        assert same or recode
    assert recode == any(
        own.labels != level.labels for own, level in zip(kept.encoder_.levels_, coded.levels, strict=True)
    )
    held_out = DiscreteNB(feature_weights=kept.feature_weights_).fit(coded).predict_proba(coded)
    np.testing.assert_allclose(refitted.predict_proba(X), held_out, atol=1e-14)
    assert not np.allclose(kept.predict_proba(X), held_out)
    kept.save(tmp_path / "kept.json")
    again = bayesieve.load(tmp_path / "kept.json")
    assert str(again.selector) == f"DependenceClusterSelector(recode={recode})"
    np.testing.assert_array_equal(again.predict_proba(X), kept.predict_proba(X))
    other_X, other_y = table(7)
    for model in (kept, again, refitted):
        known = are_training_rows(model, evaluated_rows(model, X.reverse(), y[::-1]))
        others = [evaluated_rows(model, X[:300], y[:300]), evaluated_rows(model, other_X, other_y)]
        assert known
        assert not any(are_training_rows(model, rows) for rows in others)
    assert "chose the features; the others" in kept.scorecard_.describe()
    assert "chose the features; the others" not in refitted.scorecard_.describe()
    encoder = bayesieve.TableEncoder().fit(X, y)
    by_code = SelectiveNB(DependenceClusterSelector(recode=recode)).fit_coded(coded, encoder, refitter)
    np.testing.assert_array_equal(by_code.predict_proba(X), kept.predict_proba(X))
    assert [level.labels for level in encoder.levels_] == [level.labels for level in coded.levels]  # left as it was


def test_features_of_one_level_in_the_model_are_not_selected() -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 150)
    X = pl.DataFrame({f"x{k}": rng.normal(0.45 * y) for k in range(12)})  # levels hang on the rows they are learnt from
    of_all = bayesieve.TableEncoder().fit_transform_coded(X, y).n_levels
    for refit in (False, True):
        model = SelectiveNB(DependenceClusterSelector(refit=refit)).fit(X, y)
        n_levels = np.array([level.n_levels for level in model.encoder_.levels_])
        assert (n_levels != of_all).any() != refit
        assert (n_levels[model.selector_.support_] > 1).all()
        assert model.selector_.support_.any()


@pytest.mark.parametrize("evaluation", ["loo", "train", 3])
def test_without_held_out_rows_the_model_learns_from_all(evaluation: Any) -> None:
    X, y = table(6, 90)
    models = [
        SelectiveNB(DependenceClusterSelector(evaluation=evaluation, refit=refit, n_cuts=2)).fit(X, y)
        for refit in (False, True)
    ]
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))
    assert models[0].n_rows_ == 90


def test_groups_stay_together_or_are_refused() -> None:
    X, y = table(5)
    groups = np.arange(400) // 4
    selector = DependenceClusterSelector(evaluation=GroupKFold(3), n_cuts=2).fit_coded(
        bayesieve.TableEncoder().fit_transform_coded(X, y), groups=groups
    )
    assert selector.trace_.evaluation == "3 folds"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dependence": "rho"}, "dependence must be one of 'mutual_information'"),
        ({"scoring": "best"}, "scoring: 'best' must be one of 'error', 'accuracy'"),
        ({"scoring": "recall"}, "scoring: 'recall' must be one of"),
        ({"scoring": "recall:ugly"}, "scoring: 'recall:ugly' must be 'recall:' or 'precision:' and one of the classes"),
        ({"constraints": {"recall:bad": "high"}}, "the bound of 'recall:bad' must be a finite number"),
        ({"evaluation": "test"}, "evaluation must be 'train', 'holdout', 'loo'"),
    ],
)
def test_options_that_cannot_be_used(options: dict[str, Any], message: str) -> None:
    X, y = table(0, 60)
    with pytest.raises(ValueError, match=message):
        DependenceClusterSelector(**options).fit(X, y)


def test_one_column_and_columns_without_use() -> None:
    X, y = table(0, 90)
    assert DependenceClusterSelector().fit(X[["a"]], y).support_.tolist() == [True]
    selector = DependenceClusterSelector().fit(X[["noise"]], y)
    assert selector.support_.tolist() == [False]
    assert selector.linkage_.shape == (0, 4)

"""Thresholds and weights of classes against every threshold tried one by one, with scikit-learn's measures."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GroupKFold, StratifiedKFold, TunedThresholdClassifierCV

from bayesieve import CautionWarning, SelectiveNB, ThresholdTuner
from bayesieve.decision.thresholds import (
    MEASURES,
    OF_TWO_CLASSES,
    _ascent,
    _best_weight_of,
    best_class_weights,
    best_threshold,
    confusion_of,
    recalls_of,
    weighted_class,
    within_recalls,
)
from tests.cases import mostly_slow

SCORES: dict[str, Callable[..., float]] = {
    "accuracy": metrics.accuracy_score,
    "balanced_accuracy": metrics.balanced_accuracy_score,
    "f1": metrics.f1_score,
    "f1_macro": lambda *rows, **options: metrics.f1_score(*rows, average="macro", labels=np.unique(rows[0]), **options),
    "jaccard": metrics.jaccard_score,
    "matthews_corrcoef": metrics.matthews_corrcoef,
}


def scores_and_classes(n_rows: int, seed: int, digits: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    positive = rng.random(n_rows) < rng.uniform(0.05, 0.6)
    positive[:2] = False, True
    score = np.round(np.clip(rng.normal(0.4 + 0.2 * positive, 0.25), 0, 1), digits)
    return score, positive, rng.integers(0, 4, n_rows) + 0.5 * positive


@pytest.mark.parametrize("name", sorted(SCORES))
@pytest.mark.parametrize(
    ("seed", "weighted"), mostly_slow(product(range(6), [False, True]), [(0, False), (1, True), (2, True)])
)
def test_no_threshold_is_better(name: str, seed: int, weighted: bool) -> None:
    score, positive, weights = scores_and_classes(3 + 9 * seed, seed, digits=(1, 2, 16)[seed % 3])
    options: dict[str, Any] = {"sample_weight": weights} if weighted else {}
    counted = weights > 0 if weighted else np.ones(score.size, dtype=bool)

    def at(threshold: float) -> float:
        with np.errstate(all="ignore"):
            return float(SCORES[name](positive, score >= threshold, **options))

    threshold, value = best_threshold(
        score[counted], positive[counted], MEASURES[name], weights[counted] if weighted else None
    )
    assert at(threshold) == pytest.approx(value, abs=1e-12)
    others = [at(t) for t in [*score, -1.0, 2.0]]
    assert value == pytest.approx(np.nanmax(others), abs=1e-12)


def test_ten_times_the_rows_take_little_more_than_ten_times_as_long() -> None:
    rng = np.random.default_rng(0)

    def seconds(n_rows: int) -> float:
        positive = rng.random(n_rows) < 0.2
        score = 1 / (1 + np.exp(-(positive + rng.normal(size=n_rows))))
        times = []
        for _ in range(3):
            start = time.process_time()
            best_threshold(score, positive, MEASURES["balanced_accuracy"])
            times.append(time.process_time() - start)
        return min(times)

    assert seconds(1_000_000) < 30 * seconds(100_000)


def three_classes(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = rng.choice(3, size=n_rows, p=[0.7, 0.25, 0.05])
    logits = rng.normal(size=(n_rows, 3)) + np.log([0.7, 0.25, 0.05]) + 1.2 * np.eye(3)[codes]
    probability = np.exp(logits)
    return codes, probability / probability.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("name", "seed"),
    mostly_slow(
        product(sorted(set(SCORES) - set(OF_TWO_CLASSES)), range(2)), [("accuracy", 0), ("balanced_accuracy", 0)]
    ),
)
def test_no_weight_of_a_single_class_is_better(name: str, seed: int) -> None:
    codes, probability = three_classes(28, seed)
    weights = np.random.default_rng(seed).integers(1, 4, 28).astype(float)
    class_weights, value = best_class_weights(probability, codes, MEASURES[name], weights)

    def at(factors: np.ndarray) -> float:
        return float(SCORES[name](codes, (probability * factors).argmax(axis=1), sample_weight=weights))

    assert class_weights.mean() == pytest.approx(1)
    assert at(class_weights) == pytest.approx(value, abs=1e-12)
    starts = np.ones(3), 1 / np.bincount(codes, weights)
    assert value == max(_ascent(probability, codes, weights, MEASURES[name], start)[1] for start in starts)
    assert value >= at(np.ones(3)) - 1e-12
    for j in range(3):
        rival = np.delete(probability * class_weights, j, axis=1).max(axis=1) / probability[:, j]
        for factor in [*(rival * (1 - 1e-9)), *(rival * (1 + 1e-9))]:
            factors = class_weights.copy()
            factors[j] = factor
            assert at(factors) <= value + 1e-12


@pytest.mark.parametrize("name", ["accuracy", "balanced_accuracy"])
@pytest.mark.parametrize("n_rows", [40, 20_000])
def test_the_best_weight_of_a_class_among_classes_that_are_impossible(name: str, n_rows: int) -> None:
    codes, probability = three_classes(n_rows, n_rows)
    rng = np.random.default_rng(n_rows)
    probability = np.maximum(
        probability.round(1), 0.1
    )  # equal rows move at once, by rounding at nearly the same weight
    probability[(rng.random((n_rows, 3)) < 0.5) & (np.arange(3) != codes[:, None])] = 0.0  # rows that no weight moves
    counted = rng.integers(1, 4, n_rows).astype(float)

    def at(factors: np.ndarray) -> float:
        return float(MEASURES[name](confusion_of(codes, weighted_class(probability, factors), 3, counted)[None])[0])

    for j in range(3):
        weight, promised = _best_weight_of(j, probability, np.ones(3), codes, counted, MEASURES[name])
        values = [at(np.where(np.arange(3) == j, factor, 1.0)) for factor in (weight, *np.exp(np.linspace(-9, 9, 60)))]
        assert values[0] == pytest.approx(promised) == pytest.approx(max(values))


def test_weights_of_three_classes_come_close_to_the_best_of_a_grid() -> None:
    codes, probability = three_classes(400, 7)
    _, value = best_class_weights(probability, codes, MEASURES["balanced_accuracy"])
    grid = np.exp(np.linspace(-4, 4, 60))
    rightly = np.eye(3)[codes] / np.bincount(codes) / 3
    best = max(rightly[np.arange(400), (probability * [1, a, b]).argmax(axis=1)].sum() for a in grid for b in grid)
    assert value >= best - 0.005
    assert value > metrics.balanced_accuracy_score(codes, probability.argmax(axis=1)) + 0.1


class Lookup(ClassifierMixin, BaseEstimator):
    """A classifier of few distinct probabilities: those of the row's number."""

    def __init__(self, table: Any = None) -> None:
        self.table = table

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Lookup:
        self.classes_ = np.arange(self.table.shape[1])
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.asarray(self.table[np.asarray(X)[:, 0].astype(int)])


@pytest.mark.parametrize(
    ("n_classes", "dtype"),
    mostly_slow([(2, np.float64), (3, np.float32), (10, np.float64)], [(2, np.float64), (3, np.float32)]),
)
def test_the_score_is_that_of_predict_at_ties_too(n_classes: int, dtype: Any) -> None:
    rng = np.random.default_rng(n_classes)
    for case in range(16):
        n_kinds, n_rows = int(rng.integers(1, 9)), int(rng.integers(2 * n_classes, 200))
        table = rng.integers(0, (2, 4, 7, 1000)[case % 4], (n_kinds, n_classes)).astype(float)
        table[table.sum(axis=1) == 0] = 1
        table = (table / table.sum(axis=1, keepdims=True)).astype(dtype)
        X = rng.integers(0, n_kinds, (n_rows, 1))
        y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n_rows - n_classes)]
        weights = rng.integers(1, 4, n_rows).astype(float) if case % 2 else None
        for name in sorted(set(SCORES) - (set(OF_TWO_CLASSES) if n_classes > 2 else set())):
            tuner = ThresholdTuner(Lookup(table), scoring=name, cv="train").fit(X, y, sample_weight=weights)
            confusion = confusion_of(y, tuner.predict(X), n_classes, np.ones(n_rows) if weights is None else weights)
            assert tuner.best_score_ == pytest.approx(float(MEASURES[name](confusion[None])[0]), abs=1e-12), (
                case,
                name,
            )


RNG = np.random.default_rng(3)
X = RNG.normal(size=(400, 4))
Y = np.where(X[:, 0] + X[:, 1] + RNG.normal(size=400) > 2, "bad", "good")


def test_rows_that_tune_are_predicted_by_other_models() -> None:
    weights = RNG.integers(0, 3, 400).astype(float)
    tuner = ThresholdTuner(LogisticRegression(), cv=4).fit(X, Y, sample_weight=weights)
    probability = np.zeros(400)
    counted = np.flatnonzero(weights)  # rows of weight 0 fill no fold
    for train, test in StratifiedKFold(4, shuffle=True, random_state=0).split(X[counted], Y[counted]):
        train, test = counted[train], counted[test]
        model = LogisticRegression().fit(X[train], Y[train], sample_weight=weights[train])
        probability[test] = model.predict_proba(X[test])[:, 1]
    expected = best_threshold(
        probability[counted], Y[counted] == "good", MEASURES["balanced_accuracy"], weights[counted]
    )
    assert (tuner.best_threshold_, tuner.best_score_) == expected
    whole = LogisticRegression().fit(X, Y, sample_weight=weights)
    np.testing.assert_array_equal(tuner.predict_proba(X), whole.predict_proba(X))


def test_a_function_of_the_confusion_matrix() -> None:
    gains = np.array([[0, -10], [-1, 0]])  # by true class and predicted class
    cost = lambda confusion: (confusion * gains).sum(axis=(1, 2))  # noqa: E731
    rows, y = X[:150], Y[:150]
    tuner = ThresholdTuner(LogisticRegression(), scoring=cost, cv="train").fit(rows, y)
    score = tuner.predict_proba(rows)[:, 1]
    costs = [(metrics.confusion_matrix(y, np.where(score >= t, "good", "bad")) * gains).sum() for t in score]
    assert tuner.best_score_ == max(costs)


def test_scikit_learn_takes_the_threshold_and_comes_no_further() -> None:
    tuner = ThresholdTuner(SelectiveNB("map"), cv="train").fit(X, Y)
    fixed = FixedThresholdClassifier(FrozenEstimator(tuner.estimator_), threshold=tuner.best_threshold_).fit(X, Y)
    assert (fixed.predict(X) == tuner.predict(X)).all()
    theirs = TunedThresholdClassifierCV(FrozenEstimator(tuner.estimator_), cv="prefit", refit=False).fit(X, Y)
    assert tuner.best_score_ >= metrics.balanced_accuracy_score(Y, theirs.predict(X)) - 1e-12
    cross = TunedThresholdClassifierCV(clone(tuner.estimator_), cv=3).fit(X, Y)
    assert 0 < cross.best_threshold_ < 1


def test_scanned_rows_tune_as_in_memory() -> None:
    rng = np.random.default_rng(6)
    frame = pl.DataFrame({"x": rng.normal(size=300), "z": rng.integers(0, 4, 300)})
    y = (frame["x"] + rng.normal(size=300) > 1).cast(pl.Int8)
    lazy = frame.with_columns(y=y).lazy()
    one = ThresholdTuner(SelectiveNB("map"), cv="train").fit(frame, y)
    two = ThresholdTuner(SelectiveNB("map"), cv="train").fit(lazy, "y")
    assert (two.best_threshold_, two.best_score_) == (one.best_threshold_, one.best_score_)
    np.testing.assert_array_equal(two.predict(lazy), one.predict(frame))
    frozen = ThresholdTuner(FrozenEstimator(one.estimator_), cv="train").fit(lazy, "y")
    assert frozen.best_threshold_ == one.best_threshold_
    with pytest.raises(ValueError, match="Cross-validation needs the rows in memory, not a scanned table; fit with cv"):
        ThresholdTuner(SelectiveNB("map")).fit(lazy, "y")


def test_thresholds_and_weights_by_hand() -> None:
    accuracy, balanced = MEASURES["accuracy"], MEASURES["balanced_accuracy"]
    assert set(MEASURES) == set(SCORES)
    # Of equal thresholds the one closest to a half; here wrong in one of four rows, above 0.2 or above 0.6.
    score = np.array([0.1, 0.3, 0.5, 0.8])
    assert best_threshold(score, np.array([False, True, False, True]), accuracy) == (pytest.approx(0.65), 0.75)
    assert best_threshold(np.array([0.1, 0.9]), np.array([False, True]), accuracy) == (0.5, 1.0)
    assert best_threshold(score, np.ones(4, dtype=bool), accuracy) == (0.0, 1.0)
    assert best_threshold(score, np.zeros(4, dtype=bool), accuracy) == (np.nextafter(1.0, 2.0), 1.0)
    close = np.array([0.3, np.nextafter(0.3, 1)])
    assert best_threshold(close, np.array([False, True]), accuracy) == (close[1], 1.0)
    beyond = np.array([0.5, np.nextafter(1.0, 2.0)])  # more than 1 by rounding
    threshold, value = best_threshold(beyond, np.zeros(2, dtype=bool), accuracy)
    assert value == 1.0
    assert not (beyond >= threshold).any()
    impossible = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.4, 0.6]])
    class_weights, value = best_class_weights(impossible, np.array([0, 1, 0, 2]), accuracy)
    assert value == 1.0
    assert (impossible * class_weights).argmax(axis=1).tolist() == [0, 1, 0, 2]
    for probability in (np.eye(3)[[0, 1, 2, 0]], np.array([[1.0, 1e-300, 5e-324], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])):
        codes = np.arange(len(probability)) % 3
        class_weights, value = best_class_weights(probability, codes, balanced)
        assert np.isfinite(class_weights).all()
        assert class_weights.mean() == pytest.approx(1)
        assert value == metrics.balanced_accuracy_score(codes, (probability * class_weights).argmax(axis=1))


def test_tables_groups_and_fitted_classifiers() -> None:
    frame = pl.DataFrame(X, schema=list("abcd"))
    thresholds = {
        ThresholdTuner(SelectiveNB("map"), cv=2).fit(table, y).best_threshold_
        for table, y in ((frame, pa.array(Y)), (frame.to_pandas(), Y), (frame.to_arrow(), Y), (frame.to_numpy(), Y))
    }
    assert len(thresholds) == 1
    groups = np.arange(400) // 40
    tuner = ThresholdTuner(LogisticRegression(), cv=GroupKFold(3)).fit(X, Y, groups=groups)
    splits = list(GroupKFold(3).split(X, Y, groups))
    assert tuner.best_threshold_ == ThresholdTuner(LogisticRegression(), cv=splits).fit(X, Y).best_threshold_
    fitted = SelectiveNB("map").fit(X[:200], Y[:200])
    frozen = ThresholdTuner(FrozenEstimator(fitted), cv="train").fit(X[200:], Y[200:])
    assert (frozen.predict_proba(X) == fitted.predict_proba(X)).all()
    assert frozen.best_score_ == pytest.approx(metrics.balanced_accuracy_score(Y[200:], frozen.predict(X[200:])))
    y = np.where(X[:, 2] > 1.5, "rare", Y)  # three classes
    tuner = ThresholdTuner(LogisticRegression(), cv="train").fit(X, y)
    assert tuner.best_threshold_ is None
    assert tuner.best_score_ == pytest.approx(metrics.balanced_accuracy_score(y, tuner.predict(X)))
    assert tuner.best_score_ > metrics.balanced_accuracy_score(y, tuner.estimator_.predict(X))


def test_the_positive_class_is_named() -> None:
    """Measures of the class that matters, whatever its label: bad comes before good, and 1 after 0."""
    second = ThresholdTuner(LogisticRegression(), scoring="f1", cv="train").fit(X, Y == "bad")
    named = ThresholdTuner(LogisticRegression(), scoring="f1", cv="train", pos_label="bad").fit(X, Y)
    assert (second.pos_label_, named.pos_label_) == (True, "bad")
    assert named.best_threshold_ == pytest.approx(second.best_threshold_)
    np.testing.assert_array_equal(named.predict(X) == "bad", second.predict(X))
    assert named.best_score_ == pytest.approx(metrics.f1_score(Y, named.predict(X), pos_label="bad"))
    by_model = ThresholdTuner(SelectiveNB("map", positive="bad"), scoring="f1", cv="train").fit(X, Y)
    assert by_model.pos_label_ == "bad"
    assert by_model.best_score_ == pytest.approx(metrics.f1_score(Y, by_model.predict(X), pos_label="bad"))


def test_a_positive_class_that_no_row_has() -> None:
    with pytest.raises(ValueError, match="pos_label holds 'worse', which is not one of"):
        ThresholdTuner(LogisticRegression(), cv="train", pos_label="worse").fit(X, Y)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weighted", [False, True])
def test_no_threshold_that_keeps_the_recalls_is_better(seed: int, weighted: bool) -> None:
    """Against every threshold tried one by one."""
    score, positive, weights = scores_and_classes(200, seed, digits=2)
    codes, counted = positive.astype(int), weights if weighted else np.ones(score.size)
    rng = np.random.default_rng(seed)
    least = np.round(rng.random(2) * 0.9, 2)
    threshold, value = best_threshold(score, positive, within_recalls(MEASURES["accuracy"], least), counted)
    tried = {}
    for cut in (*np.unique(score), 2.0):
        confusion = confusion_of(codes, (score >= cut).astype(int), 2, counted)[None]
        tried[cut] = float(MEASURES["accuracy"](confusion)[0]), np.maximum(least - recalls_of(confusion)[0], 0).sum()
    kept = [accuracy for accuracy, missing in tried.values() if missing == 0]
    chosen = recalls_of(confusion_of(codes, (score >= threshold).astype(int), 2, counted)[None])[0]
    if kept:
        assert value == pytest.approx(max(kept))
        assert (chosen >= least).all()
    else:
        nearest = min(missing for _, missing in tried.values())
        assert np.maximum(least - chosen, 0).sum() == pytest.approx(nearest)


def test_recalls_are_kept() -> None:
    free = ThresholdTuner(LogisticRegression(), scoring="accuracy", cv="train").fit(X, Y)
    recall = metrics.recall_score(Y, free.predict(X), pos_label="bad")
    assert free.recalls_[list(free.classes_).index("bad")] == pytest.approx(recall)
    bound = recall + (1 - recall) / 2
    safe = ThresholdTuner(LogisticRegression(), scoring="accuracy", cv="train", min_recall={"bad": bound}).fit(X, Y)
    assert metrics.recall_score(Y, safe.predict(X), pos_label="bad") >= bound
    assert safe.best_score_ == pytest.approx(metrics.accuracy_score(Y, safe.predict(X)))
    assert safe.best_score_ <= free.best_score_
    lax = ThresholdTuner(LogisticRegression(), scoring="accuracy", cv="train", min_recall={"bad": recall / 2}).fit(X, Y)
    assert lax.best_threshold_ == free.best_threshold_


def test_recalls_of_several_classes_are_kept() -> None:
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b", "c"], 600, p=[0.7, 0.2, 0.1])
    rows = np.stack([y == "a", y == "b"], axis=1) + rng.normal(0, 0.7, (600, 2))
    tuner = ThresholdTuner(LogisticRegression(), scoring="accuracy", cv="train", min_recall={"b": 0.6, "c": 0.7})
    tuner.fit(rows, y)
    recalls = metrics.recall_score(y, tuner.predict(rows), average=None)
    np.testing.assert_allclose(tuner.recalls_, recalls)
    assert (recalls >= [0, 0.6, 0.7]).all()
    assert tuner.best_score_ == pytest.approx(metrics.accuracy_score(y, tuner.predict(rows)))


def test_recalls_that_cannot_be_kept() -> None:
    bounds = dict.fromkeys(("bad", "good"), 0.999)
    tuner = ThresholdTuner(LogisticRegression(), cv="train", min_recall=bounds)
    with pytest.warns(
        CautionWarning,
        match=r"No threshold or class weights reach the recalls .* the nearest ones reach bad 0\..*good 0\.",
    ):
        tuner.fit(X, Y)
    assert tuner.best_score_ == pytest.approx(metrics.balanced_accuracy_score(Y, tuner.predict(X)))


@pytest.mark.parametrize(
    ("bounds", "message"),
    [({"worse": 0.5}, "min_recall holds 'worse'"), ({"bad": 1.5}, "must be between 0 and 1, got 1.5")],
)
def test_bounds_without_meaning(bounds: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        ThresholdTuner(LogisticRegression(), cv="train", min_recall=bounds).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scoring": "auc"}, "scoring must be one of accuracy, balanced_accuracy, f1"),
        ({"scoring": "f1"}, "needs two classes, but y has 3"),
        ({"cv": "prefit"}, 'cv must be a number of folds, a splitter, "train" or None'),
        ({"scoring": lambda confusion: 1.0}, "scoring must return one number for each of n confusion matrices"),
        ({"scoring": lambda confusion: np.full(len(confusion), np.nan)}, "with NaN"),
    ],
)
def test_one_clear_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        ThresholdTuner(LogisticRegression(), **{"cv": "train", **options}).fit(X, np.arange(400) % 3)

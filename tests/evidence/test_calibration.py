"""Calibrated weights fit the rows best, each predicted from all others; early ends keep the best so far."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from bayesieve import DiscreteNB, MODLGrouper, SelectiveNB, TableEncoder
from bayesieve.counts import CodedTable, Smoothing, log_probabilities
from bayesieve.counts.contingency import Shrinkage
from bayesieve.engine.progress import Clock
from bayesieve.evidence import calibration, fitting
from bayesieve.evidence.calibration import (
    PRIOR_DEVIATION,
    ROWS_PER_WEIGHT,
    SMOOTHINGS,
    CalibratedWeights,
    CalibrationRows,
    LeaveOneOutLoss,
    calibrate,
    fit_weights,
    informative_rows,
    numbers_of_grouped_values,
    share_of_effective_rows,
)
from bayesieve.evidence.fitting import counting_variances, fit_evidence, slope_variances, values_explain_more
from bayesieve.evidence.inclusion import log_bayes_of_cells
from bayesieve.evidence.offset import offset_of_gaps
from bayesieve.evidence.terms import FitOptions
from bayesieve.table import FeatureLevels, Rows, as_table
from tests.limits import Limits, Watch, interrupted


def table(seed: int, n_rows: int, n_features: int, n_classes: int, weights: np.ndarray | None = None) -> CodedTable:
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_rows - n_classes)]).astype(np.uint8)
    noise = rng.integers(0, 4, (n_features, n_rows))
    codes = np.where(rng.random((n_features, n_rows)) < 0.5, y, noise).astype(np.uint8)
    return CodedTable(
        codes=codes,
        n_levels=codes.max(axis=1) + 1,
        names=tuple(f"x{k}" for k in range(n_features)),
        class_codes=y,
        classes=np.arange(n_classes),
        weights=weights,
    )


def loss_of(coded: CodedTable, smoothing: Smoothing = "m-estimate") -> LeaveOneOutLoss:
    model = DiscreteNB().fit(coded)
    rows = CalibrationRows.of(coded, np.arange(coded.n_features)).small_sample()
    return LeaveOneOutLoss(rows, model.feature_count_, smoothing)


def fitted(loss: LeaveOneOutLoss, averaged: np.ndarray) -> tuple[np.ndarray, float]:
    _, factor = loss.least_by_factor(averaged)
    return fit_weights(loss, averaged, factor), factor


def shrunk_ratios(here: np.ndarray, classes: np.ndarray, n_classes: int, smoothing: Shrinkage) -> np.ndarray:
    """Logarithms of (observed + c) / (expected + c) rows of each class among the rows ``here``."""
    of_class = np.bincount(classes, minlength=n_classes)
    expected, observed = of_class * here.mean(), np.bincount(classes[here], minlength=n_classes)
    least = 1 / (2 * n_classes) if smoothing.fades else 1.0
    fading = least + (1 - least) / (1 + (n_classes * expected / 20) ** 3)
    prior = fading * smoothing.rows / n_classes
    return np.log((observed + prior) / (expected + prior))


def slow_loss(coded: CodedTable, weights: np.ndarray, smoothing: Smoothing = "m-estimate") -> float:
    """Every row predicted from the counts of all others; class priors, and N in 1/N, are those of all rows."""
    n, n_classes, total = coded.n_rows, coded.n_classes, 0.0
    prior = np.log(np.bincount(coded.class_codes, minlength=n_classes) / n)
    for row in range(n):
        others = np.arange(n) != row
        joint = prior.copy()
        for k in range(coded.n_features):
            levels, classes = coded.codes[k][others], coded.class_codes[others]
            if isinstance(smoothing, Shrinkage):
                joint += weights[k] * shrunk_ratios(levels == coded.codes[k][row], classes, n_classes, smoothing)
                continue
            alpha, beta = (1 / n, n_classes / n) if smoothing == "m-estimate" else (smoothing, None)
            if beta is None:
                beta = alpha * coded.n_levels[k]
            for j in range(n_classes):
                here = np.sum((levels == coded.codes[k][row]) & (classes == j))
                joint[j] += weights[k] * np.log((here + alpha) / (np.sum(classes == j) + beta))
        total -= joint[coded.class_codes[row]] - np.log(np.exp(joint).sum())
    return total


@pytest.mark.parametrize("smoothing", ["m-estimate", 0.25, Shrinkage(1.0, fades=True), Shrinkage(4.0, fades=False)])
@given(st.integers(0, 2**32 - 1), st.sampled_from([6, 30]), st.integers(2, 4), st.integers(1, 4))
@settings(max_examples=15)
def test_every_row_is_predicted_from_all_others(
    smoothing: Smoothing, seed: int, n_rows: int, n_classes: int, n_features: int
) -> None:
    coded = table(seed, n_rows, n_features, n_classes)  # few rows: some classes have a single one
    at = np.random.default_rng(seed).random(n_features)
    assert loss_of(coded, smoothing)(at)[0] == pytest.approx(slow_loss(coded, at, smoothing), rel=1e-10)


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(1, 6), st.booleans())
def test_gradient(seed: int, n_classes: int, n_features: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    loss = loss_of(table(seed, 60, n_features, n_classes, rng.exponential(size=60) if weighted else None))
    at = rng.uniform(0.01, 1.0, n_features)
    _, gradient = loss(at)
    step = 1e-5
    for k in range(n_features):
        shift = step * (np.arange(n_features) == k)
        slope = (loss(at + shift)[0] - loss(at - shift)[0]) / (2 * step)
        assert gradient[k] == pytest.approx(slope, rel=1e-4, abs=1e-3)


@given(st.integers(0, 2**32 - 1), st.integers(2, 3), st.integers(1, 4))
def test_a_weight_of_two_is_the_row_repeated(seed: int, n_classes: int, n_features: int) -> None:
    rng = np.random.default_rng(seed)
    times = rng.integers(0, 4, 60)
    times[: 2 * n_classes] = 1
    weighted = table(seed, 60, n_features, n_classes, times.astype(float))
    repeated = table(seed, 60, n_features, n_classes).take(np.repeat(np.arange(60), times))
    at = rng.random(n_features)
    assert loss_of(weighted)(at)[0] == pytest.approx(loss_of(repeated)(at)[0], rel=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(1, 6))
def test_no_other_weights_are_more_probable(seed: int, n_classes: int, n_features: int) -> None:
    rng = np.random.default_rng(seed)
    loss = loss_of(table(seed, 80, n_features, n_classes))
    averaged = rng.uniform(0.1, 1.0, n_features)
    found, factor = fitted(loss, averaged)
    assert np.all((found >= 0.0) & (found <= 1.0))
    assert 0.0 < factor <= 1.0

    def cost(weights: np.ndarray) -> float:
        return loss(weights)[0] + float((((weights - factor * averaged) / PRIOR_DEVIATION) ** 2).sum()) / 2

    best = cost(found)
    for _ in range(20):
        other = np.clip(found + rng.normal(scale=rng.choice([0.01, 0.1, 0.5]), size=n_features), 0.0, 1.0)
        assert best <= cost(other) + 1e-2


def calibrated(coded: CodedTable, averaged: np.ndarray, smoothing: Smoothing = "m-estimate") -> CalibratedWeights:
    return calibrate(coded, averaged, smoothing)


def test_the_smoothing_that_predicts_the_rows_best_takes_the_place_of_the_m_estimate() -> None:
    coded = table(3, 60, 5, 3)
    averaged = np.full(5, 0.8)
    found = calibrated(coded, averaged)
    least = {choice: loss_of(coded, choice).least_by_factor(averaged)[0] for choice in SMOOTHINGS}
    assert found.smoothing == min(least, key=least.get)
    assert calibrated(coded, averaged, 0.01).smoothing == 0.01  # what was asked for is kept


def test_with_few_rows_for_each_weight_the_weights_stay_close(limits: Limits) -> None:
    wide = table(5, 40, 400, 2)
    averaged = np.full(400, 0.002)
    found = calibrated(wide, averaged)
    narrow = PRIOR_DEVIATION * 40 / (ROWS_PER_WEIGHT * 400)
    loss = loss_of(wide, found.smoothing)
    limits(rows_per_weight=1e-9)
    free = fit_weights(loss, averaged, found.factor)
    limits(prior_deviation=narrow)
    np.testing.assert_allclose(found.weights, fit_weights(loss, averaged, found.factor))
    centre = found.factor * averaged
    assert np.abs(found.weights - centre).max() < 0.1 * np.abs(free - centre).max()


def test_weights_of_zero_stay_zero() -> None:
    found = calibrated(table(3, 60, 3, 2), np.array([0.5, 0.0, 0.7]))
    assert (found.weights > 0).tolist() == [True, False, True]


def test_a_feature_given_twice_counts_once() -> None:
    single = table(0, 4000, 1, 2)
    codes, n_levels = np.repeat(single.codes, 2, axis=0), np.repeat(single.n_levels, 2)
    double = CodedTable(codes, n_levels, ("x", "copy"), class_codes=single.class_codes, classes=single.classes)
    found, factor = fitted(loss_of(double), np.ones(2))
    assert factor == pytest.approx(0.5, abs=0.02)
    np.testing.assert_allclose(found, 0.5, atol=0.02)
    found, factor = fitted(loss_of(single), np.array([0.4]))
    assert factor == 1.0  # the factor never exceeds 1; the weight itself may grow
    assert 0.4 < found[0] <= 1.0


@pytest.mark.filterwarnings("error")
def test_rows_of_weight_zero_do_not_count() -> None:
    coded = table(1, 200, 3, 3)
    weights = (coded.class_codes != 1).astype(float)
    weighted = coded.with_rows(class_codes=coded.class_codes, classes=coded.classes, weights=weights)
    found, _ = fitted(loss_of(weighted), np.full(3, 0.5))
    assert np.all(np.isfinite(found))
    kept, model = weighted.take(np.flatnonzero(weights)), DiscreteNB().fit(weighted)
    rows = CalibrationRows.of(kept, np.arange(3))
    same = LeaveOneOutLoss(rows, model.feature_count_, "m-estimate")
    np.testing.assert_allclose(fitted(same, np.full(3, 0.5))[0], found, atol=1e-6)


def test_of_many_rows_a_sample_stands_for_all(limits: Limits) -> None:
    coded = table(2, 6000, 4, 2)
    everything = loss_of(coded)(np.full(4, 0.5))[0]
    whole, _ = fitted(loss_of(coded), np.full(4, 0.5))
    limits(rows_of_evidence=2000)
    sampled = loss_of(coded)
    assert 3 * sampled(np.full(4, 0.5))[0] == pytest.approx(everything, rel=0.1)  # a row counts once
    np.testing.assert_allclose(fitted(sampled, np.full(4, 0.5))[0], whole, atol=0.1)
    again = loss_of(coded)
    assert again(np.full(4, 0.5))[0] == sampled(np.full(4, 0.5))[0]


class Hourglass:
    """A clock whose time is up when it has been looked at often enough."""

    def __init__(self, looks: int) -> None:
        self._left = looks

    @property
    def is_up(self) -> bool:
        self._left -= 1
        return self._left < 0


def test_what_is_interrupted_keeps_the_best_so_far() -> None:
    coded, averaged = table(3, 60, 5, 3), np.array([0.8, 0.0, 0.8, 0.8, 0.8])
    whole = calibrated(coded, averaged)
    assert whole.loss is not None
    with interrupted(calibration, "fit_weights"):
        found = calibrated(coded, averaged)
    np.testing.assert_array_equal(found.weights, whole.factor * averaged)
    assert (found.factor, found.smoothing, found.loss) == (whole.factor, whole.smoothing, None)
    with interrupted(LeaveOneOutLoss, "least_by_factor"):
        assert calibrated(coded, averaged) == CalibratedWeights(averaged, 1.0, SMOOTHINGS[0])


def test_calibration_ends_when_the_time_is_up() -> None:
    coded, averaged = table(3, 60, 5, 3), np.full(5, 0.8)
    steps = [
        calibrate(coded, averaged, "m-estimate", clock=Hourglass(looks))  # type: ignore[arg-type]
        for looks in range(60)
    ]
    done = [step.loss is not None for step in steps]
    assert not done[0]
    assert done[-1]
    assert done == sorted(done)
    np.testing.assert_array_equal(steps[0].weights, averaged)
    np.testing.assert_array_equal(steps[8].weights, steps[8].factor * averaged)
    np.testing.assert_array_equal(steps[-1].weights, calibrated(coded, averaged).weights)


def many_values(n_rows: int = 540, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    """Columns of 300 to 400 categories, each of which leans to a class: a value has one or two rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    columns = {}
    for k in range(4):
        values = rng.integers(0, int(rng.integers(300, 401)), n_rows)
        columns[f"c{k}"] = np.where(rng.random(n_rows) < 0.75, values // 2 * 2 + y, values).astype(str)
    return pl.DataFrame(columns | {"size": rng.normal(size=n_rows) + y}), y


def test_groups_of_rare_values_are_weighed_by_rows_that_did_not_make_them() -> None:
    X, y = many_values()
    coded, refitter = TableEncoder(prior="published").fit_with_refitter(X, y)
    rows = CalibrationRows.of(coded, np.arange(5), refitter)
    assert list(rows.counts_of_folds) == [0, 1, 2, 3]  # numbers keep the levels of all rows
    assert all(len(tables) == calibration.FOLDS for tables in rows.counts_of_folds.values())
    folds = calibration._folds(coded, np.arange(5), refitter)
    loss = LeaveOneOutLoss(rows, [coded.counts.feature(k) for k in range(5)], 1.0)
    expected, in_none = np.zeros((y.size, 2)), np.zeros((4, y.size), dtype=bool)
    tables: list[list[np.ndarray]] = [[] for _ in range(4)]
    for number in range(calibration.FOLDS):
        own = folds == number
        assert abs(own.sum() - y.size / calibration.FOLDS) <= 2
        encoder = TableEncoder(prior="published")
        fit = encoder.fit_transform_coded(X.filter(~own), y[~own])
        part = encoder.transform_coded(X.filter(own))
        for k in range(4):
            counts = fit.counts.feature(k)
            logs = np.vstack([log_probabilities(counts, y.size, 1.0), np.zeros((1, 2))])
            expected[own] += logs[part.codes[k]]
            in_none[k, own] = part.codes[k] == len(counts)
            tables[k].append(np.repeat(logs[:-1], counts.sum(axis=1).astype(int), axis=0))
    for k in range(4):  # values in no level add the mean
        expected[in_none[k]] += np.concatenate(tables[k]).mean(axis=0)
    found = np.diff(loss.contributions(np.array([1.0, 1.0, 1.0, 1.0, 0.0])), axis=1)
    np.testing.assert_allclose(found, np.diff(expected, axis=1), rtol=0, atol=1e-10)


def test_rare_values_no_longer_make_predictions_overconfident(limits: Limits) -> None:
    X, y = many_values()
    new, truth = many_values(540, seed=0)[0][270:], y[270:]
    losses = []
    for least in (0, calibration.LEAST_ROWS_PER_VALUE):
        limits(least_rows_per_value=least)
        model = SelectiveNB(encoder=TableEncoder(categorical=MODLGrouper())).fit(X[:270], y[:270])
        losses.append(-model.predict_log_proba(new)[np.arange(270), truth].mean())
    assert losses[1] < 0.9 * losses[0]


def test_the_error_of_a_weight_is_that_of_a_logistic_slope() -> None:
    odds, rows = np.array([-0.8, -0.1, 0.7]), np.array([400.0, 300.0, 300.0])
    odds = odds - rows @ odds / rows.sum()
    p = 1 / (1 + np.exp(-odds))
    counts, logs = np.stack([rows * (1 - p), rows * p], axis=1), np.stack([-odds / 2, odds / 2], axis=1)
    expected = (odds / 2) ** 2 / ((rows * p * (1 - p)) @ odds**2)
    np.testing.assert_allclose(slope_variances(counts, logs), np.stack([expected] * 2, axis=1), rtol=0.2)
    assert not slope_variances(counts, np.zeros((3, 2))).any()
    np.testing.assert_allclose(slope_variances(counts * 1e-3, logs), 1e3 * slope_variances(counts, logs))


def test_errors_of_weighted_evidence_are_those_of_counts_and_of_the_weight() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    a = np.where(rng.random(600) < 0.6, y, rng.integers(0, 3, 600))
    X = pl.DataFrame({name: np.where(rng.random(600) < 0.8, a, 3).astype(str) for name in "abc"})  # redundant
    features = SelectiveNB("all", calibrate="weights", pairs=0).fit(X, y).scorecard_.used_features
    assert not {feature.weight for feature in features} & {0.0, 1.0}
    for feature in features:
        counts = np.asarray(feature.levels.counts)
        variances = counting_variances(counts) + slope_variances(counts, feature.contributions / feature.weight)
        np.testing.assert_allclose(feature.standard_errors, feature.weight * np.sqrt(variances), rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_all_rows_of_equally_frequent_classes_are_informative(n_classes: int) -> None:
    assert informative_rows(np.full(n_classes, 50.0)) == pytest.approx(50.0 * n_classes)
    assert informative_rows(np.append(np.full(n_classes, 50.0), 0.0)) == pytest.approx(50.0 * n_classes)
    assert informative_rows(np.append(1.0, np.full(n_classes - 1, 0.0))) == 0.0


def test_effective_rows_of_unequal_weights() -> None:
    whole, equal, unequal = np.array([0.0, 1.0, 3.0]), np.array([0.25, 0.25]), np.array([0.0, 0.5, 1.5])
    assert share_of_effective_rows(whole) == share_of_effective_rows(equal) == share_of_effective_rows(0 * whole) == 1.0
    assert share_of_effective_rows(unequal) == 0.8  # 4 / 2.5 of 2 rows
    assert share_of_effective_rows(10.1 * unequal) * 20.2 == pytest.approx(1.6)  # of any scale, as many rows
    assert share_of_effective_rows((1e12 + 0.25) * unequal) * 2e12 == pytest.approx(1.6)  # not rounded to 0


def test_without_time_features_that_are_fitted_by_value_keep_the_weights_of_the_search() -> None:
    rng = np.random.default_rng(0)
    word, effects = rng.integers(0, 20, 2000), 0.7 * rng.normal(size=20)
    y = rng.random(2000) < 1 / (1 + np.exp(-effects[word]))
    coded, refitter = TableEncoder().fit_with_refitter(pl.DataFrame({"word": word.astype(str)}), y)
    options = FitOptions("cells", {}, "m-estimate", drop=True, most_surfaces=0, without_surface=(), n_jobs=1)
    weights = []
    for clock in (Clock(None), Clock(0.0)):
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("always")
            fitted = fit_evidence(coded, refitter, coded.levels, np.array([0.6]), options, clock)
        assert bool(shown) == (clock.is_up)
        assert np.ptp(fitted.features[0].table[:, 1]) > 0.5
        weights.append(fitted.features[0].weight)
    assert weights == [0.0, 0.6]


def test_values_and_groups_are_compared_under_the_same_prior() -> None:
    pairs, singles = (
        (("a", "b"), ("c", "d"), ("e", "f"), ("g", "h"), ("i", "j")),
        tuple((value,) for value in "abcdefghij"),
    )
    log_ways = math.log(math.factorial(10) / 2**5 / math.factorial(5))  # to deal ten values into five pairs
    cost_of_pairs, cost_of_singles = math.log(10 * math.comb(9, 4)) + log_ways, math.log(10)
    decisions = []
    for seed, spread in itertools.product(range(8), (0.0, 0.02, 0.04, 0.06)):
        rng = np.random.default_rng(seed)
        values = rng.integers(0, 10, 40_000)
        odds = values // 2 / 2 - 1 + spread * (values % 2 * 2 - 1)
        rows = Rows((rng.random(40_000) < 1 / (1 + np.exp(-odds))).astype(np.uint8), np.array([0, 1]))
        column = as_table(pl.DataFrame({"c": np.array(list("abcdefghij"))[values]})).column(0)
        counts = np.array([np.bincount(rows.class_codes[values == k], minlength=2) for k in range(10)], dtype=float)
        of_pairs, of_singles = (log_bayes_of_cells(some) for some in (counts[::2] + counts[1::2], counts))
        level = FeatureLevels("c", "categorical", "text", groups=pairs)
        decisions.append(values_explain_more(level, column, rows, 2))
        assert decisions[-1] == (of_singles - cost_of_singles > of_pairs - cost_of_pairs)
        assert not values_explain_more(FeatureLevels("c", "categorical", "text", groups=singles), column, rows, 2)
    assert 5 < sum(decisions) < 27


def test_contributions_of_intervals_without_rows_lie_between_those_of_their_neighbours(watch: Watch) -> None:
    tables = []
    watch(fitting, "collect_terms", lambda coded, levels, logs, *_: tables.append(np.diff(logs[0])[:, 0]))
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(0, 10, 200), rng.uniform(20, 30, 300)])
    y = rng.random(500) < 1 / (1 + np.exp(3 - x / 5))
    for fit in ("cells", "levels"):
        model = SelectiveNB("all", pairs=0, calibrate=fit, levels={"x": {"cuts": [5, 10, 20, 25]}})
        model.fit(pl.DataFrame({"x": x}), y)
    of_cells, of_levels = tables
    assert of_cells[2] == pytest.approx((of_cells[1] + of_cells[3]) / 2)
    assert abs(of_cells[2] - of_levels[2]) > 0.1  # levels are filled after the fit
    np.testing.assert_allclose(np.delete(of_cells, 2), np.delete(of_levels, 2))


def test_a_warning_names_the_factor_on_the_weights_of_the_search_if_there_is_one() -> None:
    single = np.random.default_rng(0).integers(0, 2, 300)
    copies = {name: np.where(np.arange(300) % 4 == 0, 1 - single, single).astype(str) for name in "abc"}
    model = SelectiveNB("all", pairs=0, calibrate="weights")
    with interrupted(calibration, "fit_weights"), pytest.warns(UserWarning, match=r"the search times 0\.\d+, and may"):
        model.fit(pl.DataFrame(copies), single)
    with interrupted(LeaveOneOutLoss, "least_by_factor"), pytest.warns(UserWarning, match="of the search, and may"):
        model.fit(pl.DataFrame(copies), single)


def test_counted_contributions_share_no_errors() -> None:
    a = np.random.default_rng(0).integers(0, 3, 200)
    y = np.where(np.arange(200) % 5 == 0, 0, a)
    for n_logits, classes in ((1, y > 0), (3, y)):
        model = SelectiveNB("all", pairs=0, calibrate="weights").fit(pl.DataFrame({"a": a.astype(str)}), classes)
        assert model.scorecard_.intercept_factors.shape == (n_logits, 0)
        assert model.scorecard_["a"].factors.shape[1:] == (n_logits, 0)


def test_errors_of_levels_that_do_not_deviate_are_those_of_weighted_counts() -> None:
    X, y = many_values()
    encoder = TableEncoder(prior="published")
    card = SelectiveNB("all", pairs=0, encoder=encoder, calibrate="levels").fit(X.select("c0", "c1"), y).scorecard_
    for feature in card.used_features:  # groups of rare values, refitted for each fold
        assert 0.0 < feature.weight < 0.9
        variances = counting_variances(np.asarray(feature.levels.counts))
        np.testing.assert_allclose(feature.standard_errors, feature.weight * np.sqrt(variances), rtol=1e-6)


def test_only_groups_of_several_values_count_values() -> None:
    rng = np.random.default_rng(0)
    value, noise = rng.integers(0, 12, 2000), rng.integers(0, 5, 2000)
    y = (value > 5) != (rng.random(2000) < 0.1)
    columns = {"groups": value.astype(str), "values": y.astype(str), "noise": noise.astype(str)}
    X = pl.DataFrame(columns | {"number": y + rng.normal(size=2000)})
    coded, _ = TableEncoder(pairs=0).fit_with_refitter(X, y)
    assert coded.n_levels.tolist()[:3] == [2, 2, 1]
    assert coded.n_levels[3] > 1
    assert numbers_of_grouped_values(coded, np.arange(4)).tolist() == [12, 0, 0, 0]


def test_the_prior_of_a_sample_has_the_shares_of_its_classes(limits: Limits) -> None:
    coded = table(0, 4000, 1, 2)
    rare = coded.take(np.flatnonzero((coded.class_codes == 0) | (np.arange(4000) % 10 == 0)))
    shares = np.bincount(rare.class_codes) / rare.n_rows
    whole = CalibrationRows.of(rare, np.arange(1)).small_sample()
    np.testing.assert_allclose(whole.log_prior, np.log(shares))
    limits(rows_of_evidence=400)
    few = CalibrationRows.of(rare, np.arange(1)).small_sample()
    counts = np.bincount(few.classes)
    np.testing.assert_allclose(few.log_prior, np.log(counts / counts.sum()))
    assert abs(counts[1] / counts.sum() - shares[1]) > 0.1


def test_the_offset_of_gaps_holds_what_they_say_about_the_classes() -> None:
    coded = table(4, 500, 3, 3)
    codes, rng = coded.codes.copy(), np.random.default_rng(0)
    gaps = rng.random((2, 500)) < 0.1 + 0.2 * coded.class_codes
    codes[[0, 2]] = np.where(gaps, coded.n_levels[[0, 2], None], codes[[0, 2]])
    with_gaps = CodedTable(codes, coded.n_levels, coded.names, class_codes=coded.class_codes, classes=coded.classes)
    rows = np.arange(0, 500, 2)
    offset = offset_of_gaps(with_gaps, [0, 2], rows)
    for pattern in itertools.product([False, True], repeat=2):
        here = (gaps[:, rows] == np.array(pattern)[:, None]).all(axis=0)
        logs = shrunk_ratios(here, coded.class_codes[rows], 3, Shrinkage(4.0, fades=False))
        np.testing.assert_allclose(offset[here], [logs - logs.mean()] * here.sum(), atol=1e-12)

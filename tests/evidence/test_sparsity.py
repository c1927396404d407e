"""Features that fitted evidence can do without; what each costs, against slow refits of the factors on the others."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import log_softmax, softmax

from bayesieve import SelectiveNB, TableEncoder
from bayesieve.counts.contingency import log_probabilities_of_tables
from bayesieve.engine.progress import Clock
from bayesieve.evidence import joint_fit
from bayesieve.evidence.calibration import CalibrationRows, calibrate
from bayesieve.evidence.joint_fit import JointFit, JointRows, worth_keeping
from bayesieve.evidence.solver import solve
from bayesieve.evidence.terms import FitOptions, collect_terms
from tests.cases import mostly_slow
from tests.limits import Limits, Watch


def rows_of(contributions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Classes drawn from the sum of contributions (n_features, n_rows, n_classes)."""
    joint = contributions.sum(axis=0)
    return (joint + rng.gumbel(size=joint.shape)).argmax(axis=1)


def best_factors(contributions: np.ndarray, prior: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> Any:
    """The factors on contributions that minimise the log loss, by a slow general method."""

    def loss(factors: np.ndarray) -> float:
        logs = log_softmax(prior + np.tensordot(factors, contributions, axes=1), axis=1)
        return float(-weights @ logs[np.arange(classes.size), classes])

    return minimize(loss, np.ones(len(contributions)), method="BFGS")


def informative(rng: np.random.Generator, n_features: int, n_rows: int, n_classes: int, size: float) -> np.ndarray:
    tables = rng.normal(0.0, size, (n_features, 3, n_classes))
    codes = rng.integers(0, 3, (n_features, n_rows))
    return np.stack([table[code] for table, code in zip(tables, codes, strict=True)])


@pytest.mark.parametrize("n_classes", [2, 4])
def test_features_of_noise_are_dropped_and_others_stay(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    contributions = informative(rng, 5, 2000, n_classes, 1.0)
    classes = rows_of(contributions, rng)
    noise = informative(rng, 7, 2000, n_classes, 0.01)
    every = np.concatenate([contributions, noise])
    kept = worth_keeping(every, JointRows(every.sum(axis=0), classes, np.ones(2000)), np.full(12, 3.0))
    assert kept.tolist() == [True] * 5 + [False] * 7


@pytest.mark.parametrize("seed", mostly_slow(range(4), [0, 1]))
def test_what_goes_costs_less_than_its_price_and_what_stays_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    contributions = informative(rng, 8, 600, 3, 0.25)
    classes, weights = rows_of(contributions, rng), rng.uniform(0.5, 2.0, 600)
    prices = rng.uniform(2.0, 20.0, 8)
    prior = rng.normal(size=3)
    contributions *= best_factors(contributions, prior, classes, weights).x[:, None, None]
    kept = worth_keeping(contributions, JointRows(contributions.sum(axis=0) + prior, classes, weights), prices)
    assert 1 < kept.sum() < 8
    full, left = (best_factors(some, prior, classes, weights).fun for some in (contributions, contributions[kept]))
    assert left - full <= prices[~kept].sum()
    for k in np.flatnonzero(kept):
        fewer = kept.copy()
        fewer[k] = False
        assert best_factors(contributions[fewer], prior, classes, weights).fun - left > 0.9 * prices[k]


def test_all_dropped_features_together_cost_no_more_than_the_limit() -> None:
    rng = np.random.default_rng(5)
    contributions = informative(rng, 30, 3000, 2, 0.06)
    classes, weights, prior = rows_of(contributions, rng), np.ones(3000), np.zeros(2)
    contributions *= best_factors(contributions, prior, classes, weights).x[:, None, None]
    joint, prices = contributions.sum(axis=0), np.full(30, 8.0)
    rows = JointRows(joint, classes, weights)

    def lost(kept: np.ndarray) -> float:
        return float(
            best_factors(contributions[kept], prior, classes, weights).fun + log_softmax(joint, axis=1)[every].sum()
        )

    every = np.arange(3000), classes
    without = worth_keeping(contributions, rows, prices)
    limited = worth_keeping(contributions, rows, prices, max_increase=10.0)
    assert lost(without) > 15.0
    assert 2.0 < lost(limited) <= 10.0
    assert without.sum() < limited.sum() < 30


def test_features_are_tested_by_themselves_on_more_rows_than_they_are_chosen_by(limits: Limits, watch: Watch) -> None:
    limits(rows_of_evidence=1000)
    seen = list[float]()
    watch(joint_fit, "log_bayes_alone", lambda shape, counts: seen.append(float(counts.sum())))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2))
    SelectiveNB().fit(X, X[:, 0] + rng.normal(size=6000) > 1)
    assert seen == [6000.0, 6000.0]


def test_what_features_explain_is_judged_beside_an_offset() -> None:
    rng = np.random.default_rng(3)
    X, offset = rng.normal(size=(4000, 3)), rng.normal(0.0, 2.0, 4000)
    y = rng.random(4000) < 1 / (1 + np.exp(-X[:, 0] - offset))
    coded, refitter = TableEncoder(pairs=0).fit_with_refitter(X, y)
    rows = CalibrationRows.of(coded.with_columns(offset=np.stack([0 * offset, offset], axis=1)), np.arange(3), refitter)
    logits = offset + intercept_of(offset, y)
    assert joint_fit.loss_without_features(rows) == pytest.approx(np.logaddexp(0, np.where(y, -logits, logits)).sum())
    share = y.mean()
    plain = CalibrationRows.of(coded, np.arange(3), refitter)
    entropy = -4000 * (share * np.log(share) + (1 - share) * np.log(1 - share))
    assert joint_fit.loss_without_features(plain) == pytest.approx(entropy)


def intercept_of(offset: np.ndarray, y: np.ndarray) -> float:
    """Intercept of the most probable model of an offset alone."""
    return float(brentq(lambda at: (1 / (1 + np.exp(-offset - at))).sum() - y.sum(), -20, 20))


def test_of_copies_one_stays() -> None:
    rng = np.random.default_rng(1)
    one = informative(rng, 2, 1000, 2, 1.0)
    classes = rows_of(one, rng)
    copies = np.concatenate([one[:1] / 4] * 4 + [one[1:]])
    kept = worth_keeping(copies, JointRows(copies.sum(axis=0), classes, np.ones(1000)), np.full(5, 2.0))
    assert kept[:4].sum() == 1
    assert kept[4]


def test_weights_of_any_size_and_prices_in_their_unit_agree() -> None:
    rng = np.random.default_rng(2)
    contributions = informative(rng, 6, 500, 2, 0.3).astype(np.float32)
    classes, joint = rows_of(contributions, rng), contributions.sum(axis=0)
    kept = worth_keeping(contributions, JointRows(joint, classes, np.ones(500)), np.full(6, 4.0))
    repeated = worth_keeping(
        np.repeat(contributions, 3, axis=1),
        JointRows(np.repeat(joint, 3, axis=0), np.repeat(classes, 3), np.ones(1500)),
        np.full(6, 12.0),
    )
    assert 0 < kept.sum() < 6
    for weight in (3.0, 1e30):
        assert np.array_equal(
            worth_keeping(contributions, JointRows(joint, classes, np.full(500, weight)), np.full(6, 4.0 * weight)),
            kept,
        )
    assert np.array_equal(repeated, kept)


def test_one_feature_always_stays() -> None:
    rows = JointRows(np.zeros((10, 2)), np.arange(10) % 2, np.ones(10))
    assert worth_keeping(np.zeros((3, 10, 2)), rows, np.full(3, 9.0)).sum() == 1


@pytest.mark.filterwarnings("error:invalid value")
def test_equal_rows_of_each_class_are_fitted() -> None:
    """They fall into one fold, so that no rows are left to learn the others' factor from."""
    a = [4.75, -10.25, 12.0, -4.75, -4.75, -5.75, -4.75]
    X = pl.DataFrame({"a": a, "b": [964, 964, 325, 964, 234, 234, 234], "c": [*"cccc", None, *"cc"]})
    model = SelectiveNB(calibrate="levels").fit(X, [2, 2, 0, 2, 1, 1, 1])
    assert np.isfinite(model.predict_proba(X)).all()


def test_the_cheapest_features_go_one_after_the_other() -> None:
    rng = np.random.default_rng(0)
    orders = []
    for _ in range(20):
        root = rng.normal(size=(6, 8))
        curvature, prices = root @ root.T, rng.uniform(0.0, 3.0, 6)
        dropped, factors = joint_fit._cheapest(np.linalg.inv(curvature), prices, 4)

        def cost(without: list[int], curvature: np.ndarray = curvature) -> tuple[float, np.ndarray]:
            """Return the least increase of a quadratic loss without features, and the factors on all others."""
            left = np.setdiff1d(np.arange(6), without)
            best = np.zeros(6)
            best[left] = np.linalg.solve(curvature[np.ix_(left, left)], curvature[left].sum(axis=1))
            return 0.5 * float((best - 1.0) @ curvature @ (best - 1.0)), best

        expected: list[int] = []
        while len(expected) < 4:
            worth = [np.inf if k in expected else cost([*expected, k])[0] - cost(expected)[0] for k in range(6)]
            k = int(np.argmax(prices - worth))
            if worth[k] > prices[k]:
                break
            expected.append(k)
        assert dropped.tolist() == expected
        np.testing.assert_allclose(factors, cost(expected)[1], atol=1e-9)
        orders.append(len(expected))
    assert {0, 1, 2, 4} <= set(orders)


def joint(n_rows: int = 600, **options: Any) -> tuple[JointFit, Any, CalibrationRows, FitOptions]:
    """Return a joint fit of two categories that matter and one of noise, and what `fit_to_sample` needs besides."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 6, (3, n_rows))
    y = rng.random(n_rows) < 1 / (1 + np.exp(3.5 - 0.8 * codes[0] - 0.6 * codes[1]))
    X = pl.DataFrame({name: row.astype(str) for name, row in zip("abn", codes, strict=True)})
    coded, refitter = TableEncoder(pairs=0).fit_with_refitter(X, y)
    averaged = np.array([0.8, 0.7, 0.6])
    calibration = calibrate(coded, averaged, "m-estimate", refitter)
    logs = log_probabilities_of_tables(
        [coded.counts.feature(k) for k in range(3)], float(n_rows), calibration.smoothing
    )
    chosen = FitOptions("cells", {}, "m-estimate", True, 0, (), 1, **options)
    terms = collect_terms(coded, coded.levels, logs, {}, calibration, chosen)
    assert calibration.loss is not None
    assert calibration.final_rows is not None
    fit = JointFit(terms, {}, calibration.loss, averaged, calibration.factor, 3, np.zeros(1))
    return fit, coded.levels, calibration.final_rows, chosen


def test_contributions_of_a_fit_are_those_of_its_loss_and_shrink_with_their_errors() -> None:
    fit, *_ = joint()
    solution, rows = solve(fit.problem(1)), fit.loss.rows
    contributions = fit.contributions(solution, 1)
    logs = log_softmax(fit.loss.prior + contributions, axis=1)
    assert logs.shape == (600, 2)
    assert -logs[np.arange(600), rows.classes].sum() == pytest.approx(solution.loss)
    smaller, shrunk = joint_fit.shrink(fit, solution, 0.5, 1)
    np.testing.assert_allclose(smaller.weights, fit.weights / 2)
    assert solution.errors is not None
    assert shrunk.errors is not None
    assert solution.errors.intercept.any()
    np.testing.assert_allclose(shrunk.errors.intercept, solution.errors.intercept / 2)
    for ours, whole in zip(shrunk.errors.factors, solution.errors.factors, strict=True):
        np.testing.assert_allclose(ours, whole / 2)
    for ours, whole in zip(shrunk.errors.variances, solution.errors.variances, strict=True):
        np.testing.assert_allclose(ours, whole / 4)
    for ours, whole in zip(shrunk.tables, solution.tables, strict=True):
        np.testing.assert_allclose(ours, whole / 2)
    intercept = shrunk.intercept - solution.intercept / 2
    mean = softmax(fit.loss.prior + contributions / 2 + intercept, axis=1).mean(axis=0)
    np.testing.assert_allclose(mean, np.bincount(rows.classes) / 600, atol=1e-5)


@pytest.mark.parametrize(("exaggeration", "low", "high"), [(2.0, 0.4, 0.6), (0.5, 1.0, 1.0)])
def test_contributions_that_held_out_rows_contradict_get_a_factor(
    monkeypatch: pytest.MonkeyPatch, exaggeration: float, low: float, high: float
) -> None:
    fit, levels, _, options = joint(3000)
    contributions = fit.contributions(solve(fit.problem(1)), 1) * exaggeration
    others = SimpleNamespace(terms=fit.terms, surfaces={}, contributions=lambda *_: contributions)
    monkeypatch.setattr(joint_fit, "fit_to_sample", lambda *_, **__: (others, SimpleNamespace(complete=True)))
    assert low <= joint_fit.held_out_factor(fit, levels, options, Clock(None)) <= high


def test_bayes_factors_of_a_feature_alone_and_given_all_others_are_averaged(watch: Watch) -> None:
    fit, levels, rows, options = joint(included=(0, 1, 2))
    given, alone = [], []
    watch(joint_fit, "select_features", lambda fit, problem, solution, *_: given.append(solution.log_bayes))
    watch(joint_fit, "log_bayes_alone", lambda shape, counts: alone.append((shape, counts)))
    best, _ = joint_fit.fit_to_sample(fit, levels, rows, options, Clock(None), followed=True)
    logs = [joint_fit.log_bayes_alone(*arguments) for arguments in alone[:3]]
    np.testing.assert_allclose(np.exp(best.log_bayes), (np.exp(logs) + np.exp(given[0])) / 2)


def test_surfaces_have_a_price_that_grows_with_the_number_of_features(watch: Watch) -> None:
    fits, prices = [], []
    watch(joint_fit, "useful_features", lambda fit, problem, solution: fits.append((fit, solution)))
    watch(joint_fit, "worth_keeping", lambda contributions, rows, penalties, *_: prices.append(penalties.copy()))
    X = np.random.default_rng(0).normal(size=(400, 3))
    SelectiveNB().fit(X, X[:, 0] * X[:, 1] > 0)
    (fit, solution), n = fits[0], prices[0].size
    of_surfaces = slice(len(fit.terms), n)
    assert len(fit.surfaces) > 0
    expected = 1.0 + solution.effective[of_surfaces] + joint_fit._NATS_PER_CHOICE * np.log(n)
    np.testing.assert_allclose(prices[0][of_surfaces], expected)

"""Features that fitted evidence can do without; what each costs, against slow refits of the factors on the others."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import log_softmax

from bayesieve import SelectiveNB, TableEncoder
from bayesieve.evidence import joint_fit
from bayesieve.evidence.calibration import CalibrationRows
from bayesieve.evidence.joint_fit import JointRows, worth_keeping
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

"""Drift and calibration of changed rows: nothing that is broken upstream passes in silence."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import bayesieve
from bayesieve import SelectiveNB
from bayesieve.statistics.metrics import class_scores
from tests.fuzz.case import Case, operation
from tests.fuzz.relations import random_example


@operation(0.5)
def recoded_upstream(case: Case) -> None:
    """A column whose values are all new, or all missing, has a PSI above .25, raises a warning, and shifts add up."""
    example = random_example(case.rng, case.integer(60, 400))
    with case.step("fit", must=True):
        model = SelectiveNB(calibrate=case.pick(("cells", "levels", "auto")), n_jobs=1).fit(example.X, example.y)
    card = model.scorecard_
    columns = sorted({name for k in card.used for name in card.features[k].columns})
    if not columns:
        return
    name = case.pick(columns)
    values, has_missing = example.X[name], example.X[name].isna().any()
    lost = values.dtype != object or (case.chance(0.3) and not has_missing)
    if lost and has_missing:  # a level of the model, which rows of training have
        return
    changed = example.X.assign(**{name: np.nan if values.dtype != object else None if lost else "the " + values})
    with case.step("drift", must=True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = bayesieve.drift(model, changed, n_resamples=10)
    unseen = changed[name].notna().mean() if not lost else 1.0
    own = found.features.filter(pl.col("feature") == name)
    case.check((own["psi"].fill_null(0.0) > 0.25).all() or unseen < 0.3, f"PSI of {name}, which is all new", own)
    case.check(unseen < 0.05 or any(f"'{name}'" in str(one.message) for one in caught), "a warning of drift", caught)
    classes = [column for column in found.features.columns if column.startswith("shift")]
    sums, whole = found.features.select(pl.col(classes).sum()), found.periods.select(classes)
    parts = [column for column in classes if column != "shift" or len(classes) == 1]
    case.check(np.allclose(sums.select(parts), whole.select(parts), atol=1e-8), "shifts add up", (sums, whole))


@operation(0.5)
def badly_calibrated(case: Case) -> None:
    """Every finite calibration slope maximises the likelihood of an unpenalised logistic regression."""
    example = random_example(case.rng, case.integer(40, 400))
    with case.step("fit", must=True):
        model = SelectiveNB(n_jobs=1).fit(example.X, example.y)
    scores = class_scores(model.predict_log_proba(example.X))
    slope, shift = case.rng.normal(0.3, 0.7), case.rng.normal(0, 2)
    y = scores.argmax(axis=1)
    if len(model.classes_) == 2:
        y = (case.rng.random(len(y)) < expit(shift + slope * scores[:, 1])).astype(int)
    weights = case.pick((None, case.rng.integers(1, 4, len(y)).astype(float)))
    with case.step("evaluate", must=True):
        measured = bayesieve.evaluate(model, example.X, model.classes_[y], sample_weight=weights).measures
    slopes = measured.filter(pl.col("measure") == "calibration_slope")
    for label, value in slopes.select("class", "value").iter_rows():
        j = model.classes_.tolist().index(label)
        hit, score = y == j, scores[:, j]
        if hit.all() or not hit.any() or score[hit].min() >= score[~hit].max() or score[~hit].min() >= score[hit].max():
            case.check(value is None, "separated classes have no slope", (label, value))
            continue
        case.check(value is not None, "classes that overlap have a slope", (label, score, hit))
        if value is None:
            continue
        expected = _of_scikit_learn(score, hit, weights)
        found = _with_best_intercept(value * score, hit, weights)
        case.check(found >= expected - 1e-6 * abs(expected), "the slope is that of most likelihood", (found, expected))


def _likelihood(log_odds: np.ndarray, hit: np.ndarray, weights: Any) -> float:
    return float(np.average(-np.logaddexp(0, np.where(hit, -log_odds, log_odds)), weights=weights))


def _with_best_intercept(log_odds: np.ndarray, hit: np.ndarray, weights: Any) -> float:
    bounds = -log_odds.max() - 30, -log_odds.min() + 30
    best = minimize_scalar(
        lambda intercept: -_likelihood(log_odds + intercept, hit, weights), bounds=bounds, options={"xatol": 1e-9}
    )
    return -float(best.fun)


def _of_scikit_learn(score: np.ndarray, hit: np.ndarray, weights: Any) -> float:
    """Log-likelihood of an unpenalised logistic regression."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        line = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10, max_iter=300)
        line.fit(score[:, None], hit, weights)
    return _likelihood(line.decision_function(score[:, None]), hit, weights)

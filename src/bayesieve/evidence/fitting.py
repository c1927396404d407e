"""`fit_evidence`: the contributions of all features to the log joint, from counts, codes and weights.

A *level* is an interval or group of values of a feature, a *cell* a level or a finer piece of one. *Counted*
contributions are weight times log P(level | class); *fitted* ones add deviations that are fitted to the rows, all
features jointly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import gammaln

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.counts.contingency import Shrinkage, class_log_prior, log_probabilities_of_tables
from bayesieve.discretize.modl import group_prior
from bayesieve.discretize.refitting import LevelRefitter
from bayesieve.engine.progress import Clock
from bayesieve.evidence.calibration import (
    CalibratedWeights,
    calibrate,
    informative_rows,
    numbers_of_grouped_values,
    share_of_effective_rows,
)
from bayesieve.evidence.inclusion import log_bayes_of_cells
from bayesieve.evidence.joint_fit import JointFit, fit_jointly
from bayesieve.evidence.monotone import monotone, pool_violators, rising_cells
from bayesieve.evidence.neutral import filled, start_of_curve
from bayesieve.evidence.problem import EvidenceProblem, PosteriorErrors, class_variances, n_logits_of
from bayesieve.evidence.shapes import Shape
from bayesieve.evidence.solver import Solution, solve
from bayesieve.evidence.terms import FitOptions, Term, choose_shapes, coarser_codes, collect_terms
from bayesieve.table import FeatureLevels
from bayesieve.table.cautions import warn_caller
from bayesieve.table.columns import Column
from bayesieve.table.levels import TableLevels
from bayesieve.table.pair_levels import PairLevels
from bayesieve.table.target import Rows

_LEAST_INCLUDED = 0.1  # smallest weight of a feature that the user wants in the model
_LEAST_EVIDENCE = 0.02  # mean deviation in nats below which a feature of weight 0 is dropped
_DIGITS_OF_WEIGHTS = 9
_ROWS_OF_VALUES = 50_000  # rows on which values and groups are compared
_ROWS_BY_VALUE = 20  # rows per value and logit required to fit without groups (benchmarks/decisions/values.md)


@dataclass(frozen=True)
class FeatureEvidence:
    """Contributions of one feature to the log joint.

    Parameters
    ----------
    cells : levels of the feature, or finer cells within them.
    table : (n_cells, n_classes) contributions in nats.
    counts : (n_cells, n_classes) number (or weight) of training rows.
    errors : (n_cells, n_classes) standard errors of the contributions after centring over the classes, in nats.
    factors : (n_cells, n_logits, n_factors) loadings of the errors on factors that are shared with other features.
    weight : weight of the feature.
    log_bayes : log Bayes factor of the feature against no effect, in nats; for a pair, minus the logarithm of the
        number of candidate pairs. NaN if the feature was not tested.
    """

    cells: FeatureLevels
    table: np.ndarray
    counts: np.ndarray
    errors: np.ndarray
    factors: np.ndarray
    weight: float
    log_bayes: float = np.nan

    def monotone(self, sign: int) -> FeatureEvidence:
        """Return a copy with the nearest contributions that are monotone over ascending numbers.

        The contribution to the second class minus that to the first never falls for ``sign`` 1, and never rises for -1.
        """
        table = monotone(self.table, rising_cells(self.cells, sign), self.counts.sum(axis=1))
        return replace(self, table=table)

    def with_neutral_cells(self, levels: FeatureLevels, is_empty: np.ndarray) -> FeatureEvidence:
        """Return a copy with neutral contributions in the cells of levels without training rows.

        If the contributions of a numeric feature form a curve, they are interpolated between neighbouring cells;
        otherwise they are the mean contribution of the feature. ``levels`` are the levels that the cells divide;
        ``is_empty`` (n_levels,) is the mask of the levels without training rows.
        """
        empty = is_empty[coarser_codes(self.cells, levels)]
        first = start_of_curve(levels, self.cells)
        return replace(self, table=filled(self.table, self.counts.sum(axis=1), empty, first))


@dataclass(frozen=True)
class Evidence:
    """Fitted contributions of all features to the log joint, with the counts they are based on.

    Parameters
    ----------
    levels : levels of all features; surfaces are pairs and come last.
    features : contributions in the order of ``levels``.
    intercept : (n_classes,) intercept of each class, in nats.
    intercept_factors : (n_logits, n_factors) loadings of the intercept's errors on the factors shared with features.
    omitted_variances : (n_logits,) variance of the logits due to dropped features, in squared nats.
    class_counts : (n_classes,) number (or weight) of training rows.
    smoothing : smoothing of the probabilities.
    factor : common factor on the weights of the search; the product is the prior mean of the weights.
    kind : "counted" if contributions follow from counts, otherwise the units that were fitted, "levels" or "cells".
    is_neutral : whether unseen values contribute the mean over the training rows, as after every fit; otherwise 0.
    """

    levels: TableLevels
    features: Sequence[FeatureEvidence]
    intercept: np.ndarray
    intercept_factors: np.ndarray
    omitted_variances: np.ndarray
    class_counts: np.ndarray
    smoothing: Smoothing
    factor: float
    kind: Literal["counted", "levels", "cells"]
    is_neutral: bool


def fit_evidence(
    coded: CodedTable,
    refitter: LevelRefitter | None,
    levels: TableLevels,
    averaged: np.ndarray,
    options: FitOptions,
    clock: Clock,
) -> Evidence:
    """Fit the weights of features and the contributions of their levels that ``options.fit`` selects; warn if the time
    limit or Ctrl-C ends the fit early.

    Parameters
    ----------
    coded : the rows, coded by ``levels``.
    refitter : refitter of the levels, which also splits them into cells; None without raw values.
    levels : levels of all features.
    averaged : (n_features,) weights of the search, by any selector.
    options : what to fit.
    clock : time limit of the whole fit; when it is over, the best result so far is kept.
    """
    # Weights: refit the weights of the search so that every row is predicted well from all others.
    by_value = fitted_by_value(coded, refitter, averaged, options)
    if options.fit is not None:
        # Round the weights: their last bits depend on how rows are divided into chunks, the fit must not.
        averaged = np.round(averaged, _DIGITS_OF_WEIGHTS)
        by_value &= averaged > 0
    calibration = _calibrated_weights(coded, refitter, averaged, by_value, options, clock)
    weights, factor, smoothing = calibration.weights, calibration.factor, calibration.smoothing

    # Counted contributions: log P(level | class) of each feature. Fitted deviations are added below.
    class_counts = coded.counts.class_counts.copy()
    counts = [coded.counts.feature(k).copy() for k in range(len(levels))]
    logs = log_probabilities_of_tables(counts, float(class_counts.sum()), smoothing)
    shrinks = isinstance(smoothing, Shrinkage)
    if shrinks and options.fit == "cells":
        # Interpolate intervals without rows, which would otherwise interrupt the curve of their column.
        for k, rows in enumerate(counts):
            is_empty = rows.sum(axis=1) == 0
            if levels[k].kind == "numeric" and is_empty.any():
                first = levels[k].n_special_levels
                logs[k] = filled(logs[k], rows.sum(axis=1), is_empty & (np.arange(len(rows)) >= first), first)

    # Joint fit: all features together deviate from the counted contributions as far as the rows support it. Columns of
    # weight 0 may still matter through curves or pairs, if they are tested.
    n_logits = n_logits_of(class_counts.size)
    intercept, intercept_factors, omitted = class_log_prior(class_counts), np.zeros((n_logits, 0)), np.zeros(n_logits)
    fitted, is_fitted, is_split = dict[int, FeatureEvidence](), False, False
    weights_by_value = {k: float(averaged[k]) for k in np.flatnonzero(by_value).tolist()}
    terms = collect_terms(coded, levels, logs, weights_by_value, calibration, options)
    if terms and calibration.loss is not None and calibration.final_rows is not None:
        # Constant and excluded columns do not count as candidates, so that adding them changes no model.
        n_out = len({*levels.constant.tolist(), *options.excluded})
        n_candidates = max(len(levels) - n_out, len(terms))
        fit = JointFit(terms, {}, calibration.loss, averaged * ~by_value, factor, n_candidates, omitted)
        fit, solution = fit_jointly(fit, levels, calibration.final_rows, options, clock)
        weights, factor, is_fitted, omitted = fit.weights, fit.factor, True, fit.omitted_variances
        if fit.terms or fit.surfaces:
            fitted = _fitted_contributions(fit, solution, levels, counts)
            is_split = any(term.cells is not None for term in fit.terms if term.feature in fitted)
            intercept = intercept + solution.intercept
            assert solution.errors is not None
            intercept_factors = solution.errors.intercept
            surfaces: Any = [feature.cells for k, feature in fitted.items() if k >= len(levels)]
            if surfaces:
                levels = levels.replaced(pairs=[*levels.pairs, *surfaces])
        if not solution.complete:
            _warn_of_end("The fit of the contributions", clock, "the model keeps the best so far")

    features = _all_contributions(fitted, levels, counts, logs, weights, options.signs, shrinks)
    kind: Literal["counted", "levels", "cells"] = "cells" if is_split else "levels" if is_fitted else "counted"
    return Evidence(
        levels=levels,
        features=features,
        intercept=intercept,
        intercept_factors=intercept_factors,
        omitted_variances=omitted,
        class_counts=class_counts,
        smoothing=smoothing,
        factor=factor,
        kind=kind,
        is_neutral=options.fit is not None,
    )


def _calibrated_weights(
    coded: CodedTable,
    refitter: LevelRefitter | None,
    averaged: np.ndarray,
    by_value: np.ndarray,
    options: FitOptions,
    clock: Clock,
) -> CalibratedWeights:
    """Refit the weights of the search, unless ``options.fit`` is None; features that must be in the model get a
    positive weight.

    ``by_value`` marks the features that start from 0, because their values are fitted one by one. The other parameters
    are those of `fit_evidence`.
    """
    calibration = CalibratedWeights(averaged, 1.0, options.smoothing)
    if options.fit is not None:
        calibration = calibrate(coded, averaged * ~by_value, options.smoothing, refitter, clock, options.n_jobs)
        if calibration.loss is None and (averaged.any() or (averaged.size and options.drop)):
            calibration = replace(calibration, weights=calibration.factor * averaged)
            times = "" if calibration.factor == 1.0 else f" times {calibration.factor:.2g}"
            consequence = f"the model keeps the weights of the search{times}, and may be overconfident"
            _warn_of_end("Calibration", clock, consequence)
    weights = calibration.weights.copy()
    for k in (k for k in options.included if not by_value[k]):
        weights[k] = max(weights[k], _LEAST_INCLUDED)
    return replace(calibration, weights=weights)


def fitted_by_value(
    coded: CodedTable, refitter: LevelRefitter | None, averaged: np.ndarray, options: FitOptions
) -> np.ndarray:
    """Return a mask (n_features,) of the categorical features whose contributions are fitted value by value, starting
    from contributions of 0.

    A feature is fitted by value if its values have enough rows and explain the classes better than groups, whose choice
    has a cost. Groups are learnt from the classes of the same rows. If the values of a group differ, contributions that
    start from the contribution of the group are less accurate, and their errors are underestimated
    (benchmarks/decisions/values.md).

    Parameters
    ----------
    coded : the rows, coded by their levels.
    refitter : refitter of the levels, with the raw values; None means that no feature is fitted by value.
    averaged : (n_features,) weights of the search.
    options : what to fit.
    """
    by_value = np.zeros(averaged.size, dtype=bool)
    if options.fit != "cells" or not options.drop or refitter is None or coded.levels is None:
        return by_value
    features = np.setdiff1d(np.flatnonzero(averaged), list(options.signs))
    n_values = numbers_of_grouped_values(coded, features)
    most = informative_rows(coded.counts.class_counts) / (_ROWS_BY_VALUE * max(1, coded.n_classes - 1))
    limits = np.array([min(most, options.most_cells.get(k, most)) for k in features.tolist()])
    wanted = features[(n_values > 0) & (n_values <= limits)].tolist()
    tried = [k for k in wanted if coded.levels[k].kind == "categorical"]  # not pairs, which keep their groups
    if tried:
        drawn = coded.sampler.draw_by_class(_ROWS_OF_VALUES)
        rows, columns = coded.rows.take(drawn), refitter.raw_columns(tried, coded.rows.in_table(drawn))
        for k, (column,) in zip(tried, columns, strict=True):
            by_value[k] = values_explain_more(coded.levels[k], column, rows, coded.n_classes)
    return by_value


def values_explain_more(level: FeatureLevels, column: Column, rows: Rows, n_classes: int) -> bool:
    """Return whether values of a categorical column explain the classes of rows better one by one than in their groups.

    Both are compared by their posterior probability: the marginal likelihood with Dirichlet priors of the class shares,
    times the prior probability of the grouping. A priori all numbers of groups are equally likely, then all sizes and
    all assignments of values; single values are the grouping with one value per group.

    Parameters
    ----------
    level : levels that are groups of values.
    column : raw values of the rows.
    rows : classes and weights of the rows.
    n_classes : number of classes.
    """
    assert rows.class_codes is not None
    values = level.by_value()
    codes = values.code(column, [])
    has_value = np.flatnonzero(codes < values.n_levels)
    weights = None if rows.weights is None else share_of_effective_rows(rows.weights) * rows.weights[has_value]
    cells = codes[has_value].astype(np.int64) * n_classes + rows.class_codes[has_value]
    counts = np.bincount(cells, weights, values.n_levels * n_classes).reshape(-1, n_classes)
    of_level, of_groups = coarser_codes(values, level), np.zeros((level.n_levels, n_classes))
    np.add.at(of_groups, of_level, counts)
    costs = group_prior(values.n_levels, values.n_levels, "sizes")
    cost_of_groups = float(costs[level.n_levels] - gammaln(np.bincount(of_level) + 1.0).sum())
    return log_bayes_of_cells(counts) - float(costs[-1]) > log_bayes_of_cells(of_groups) - cost_of_groups


def _warn_of_end(fit: str, clock: Clock, consequence: str) -> None:
    """Warn that the time limit or Ctrl-C ended a fit early.

    ``fit`` is the name of the fit, ``clock`` its time limit, and ``consequence`` states what this means for the model.
    """
    reason = "ran out of time (max_seconds)" if clock.is_up and not clock.interrupted else "was interrupted"
    warn_caller(f"{fit} {reason}: {consequence}.")


def _fitted_contributions(
    fit: JointFit, solution: Solution, levels: TableLevels, counts: Sequence[np.ndarray]
) -> dict[int, FeatureEvidence]:
    """Return the contributions of the fitted features that have an effect, by their positions in the model: those of
    the table first, then surfaces.

    Parameters
    ----------
    fit, solution : terms (features of the table) and surfaces (joint contributions of two columns), and their fit.
    levels : levels of all features of the table.
    counts : for each feature of the table, (n_levels, n_classes) number (or weight) of rows.
    """
    assert solution.errors is not None
    tables, n_terms = solution.tables, len(fit.terms)
    codes = [*(term.codes for term in fit.terms), *fit.surfaces.values()]
    rows_by_cell = [
        fit.loss.rows.count_classes(of_rows, len(table)) for of_rows, table in zip(codes, tables, strict=True)
    ]
    matters = [
        float(rows.sum(axis=1) @ np.abs(table).max(axis=1)) > _LEAST_EVIDENCE * rows.sum()
        for table, rows in zip(tables, rows_by_cell, strict=True)
    ]
    log_bayes = (fit.log_bayes if fit.log_bayes.size else np.full(len(tables), np.nan)).tolist()
    log_pairs = math.log(max(1, math.comb(levels.n_columns, 2)))  # logarithm of the number of candidate pairs

    fitted: dict[int, FeatureEvidence] = {}
    for i, term in enumerate(fit.terms):
        if not (matters[i] or term.weight or term.is_by_value):
            continue
        k = term.feature
        rows = counts[k] if term.cells is None else rows_by_cell[i]
        cells = levels[k] if term.cells is None else replace(term.cells, counts=rows)
        counting = term.weight**2 * counting_variances(counts[k])[term.of_level]
        errors, factors = errors_of_deviations(solution.errors, i, counting)
        log_candidates = log_pairs if isinstance(levels[k], PairLevels) else 0.0
        table = term.weight * term.counted + tables[i]
        fitted[k] = FeatureEvidence(cells, table, rows, errors, factors, term.weight, log_bayes[i] - log_candidates)

    pairs: list[PairLevels] = []
    for i, surface in enumerate(fit.surfaces, n_terms):
        if matters[i]:
            pair, grid_cells = surface.levels(rows_by_cell[i], {*levels.names, *(pair.name for pair in pairs)})
            errors, factors = errors_of_deviations(solution.errors, i, np.zeros_like(tables[i]))
            fitted[len(levels) + len(pairs)] = FeatureEvidence(
                cells=pair,
                table=tables[i][grid_cells],
                counts=np.asarray(pair.counts),
                errors=errors[grid_cells],
                factors=factors[grid_cells],
                weight=0.0,
                log_bayes=log_bayes[i] - log_pairs,
            )
            pairs.append(pair)
    return fitted


def _all_contributions(
    fitted: Mapping[int, FeatureEvidence],
    levels: Sequence[FeatureLevels],
    counts: Sequence[np.ndarray],
    logs: Sequence[np.ndarray],
    weights: np.ndarray,
    signs: Mapping[int, int],
    fills_empty: bool,
) -> list[FeatureEvidence]:
    """Return the contributions of all features: fitted if they are in ``fitted``, otherwise counted.

    Parameters
    ----------
    fitted : fitted contributions, by position of the feature.
    levels : levels of all features.
    counts, logs : for each feature, (n_levels, n_classes) number (or weight) of rows, and log P(level | class).
    weights : (n_features,) weights of the features.
    signs : for positions of monotone features, 1 (never falling) or -1 (never rising) with ascending numbers, for the
        second class against the first.
    fills_empty : whether levels without rows get neutral contributions.
    """
    features = []
    for k, level in enumerate(levels):
        sign = signs.get(k, 0)
        if k in fitted:
            feature = fitted[k]
        else:  # a monotone feature only has a weight if calibration ended early
            merge = sign and weights[k] > 0
            of_levels = pool_violators(logs[k], rising_cells(level, sign)) if merge else logs[k]
            rows, weight = counts[k], float(weights[k])
            table, errors = np.zeros_like(of_levels), np.zeros_like(of_levels)
            if weight != 0.0:  # saves time, because most features of a wide table have weight 0
                table, errors = weight * of_levels, weight * np.sqrt(counting_variances(rows))
                if weight != 1.0:  # a weight other than 1 was estimated and has an error, too
                    errors = np.sqrt(errors**2 + weight**2 * slope_variances(rows, of_levels))
            factors = np.zeros((len(rows), n_logits_of(rows.shape[1]), 0))  # no error is shared with other features
            feature = FeatureEvidence(level, table, rows, errors, factors, weight)
        if sign and (k in fitted or weights[k] > 0):
            feature = feature.monotone(sign)
        if fills_empty and k < len(counts):
            is_empty = counts[k].sum(axis=1) == 0
            feature = feature.with_neutral_cells(level, is_empty) if is_empty.any() else feature
            feature = feature.monotone(sign) if sign else feature
        features.append(feature)
    return features


def fit_around(
    features: Sequence[tuple[FeatureLevels, FeatureEvidence, int]],
    codes: np.ndarray,
    joint: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
    n_jobs: int | None,
) -> tuple[list[FeatureEvidence], np.ndarray, np.ndarray]:
    """Refit some features of a model to other rows, starting from their contributions.

    Parameters
    ----------
    features : for each feature to refit, its levels, its contributions, and the sign of its monotonicity (0 for none).
    codes : (n_features, n_rows) cell of each row.
    joint : (n_rows, n_classes) log joint of the whole model.
    classes, weights : (n_rows,) positions of the classes, and row weights.
    n_jobs : number of threads.

    Returns
    -------
    tuple
        New contributions, change of the intercept (n_classes,) in nats, and loadings of its errors on the factors that
        features share, (n_logits, n_factors).
    """
    terms = []
    for k, (level, feature, _) in enumerate(features):
        of_level, rows = coarser_codes(feature.cells, level), feature.counts.sum(axis=1)
        size, nothing = float(rows @ np.abs(feature.table).max(axis=1)), np.zeros_like(feature.table)
        cells = None if feature.cells is level else feature.cells
        terms.append(Term(k, size, cells, of_level, codes[k], rows, nothing, False, Shape(of_level.size)))
    rising = [rising_cells(feature.cells, sign) if sign else None for _, feature, sign in features]
    shapes = choose_shapes(terms, joint.shape[1])
    for k, order in enumerate(rising):
        if order is not None:
            shapes[k] = replace(shapes[k], rising=order, counted=features[k][1].table)
    shapes = [shape.of_rows(of_rows, weights) for shape, of_rows in zip(shapes, codes, strict=True)]
    solution = solve(EvidenceProblem.of_rows(codes, shapes, joint, classes, weights, n_jobs))
    assert solution.errors is not None
    refitted = []
    for k, (_, feature, _) in enumerate(features):
        table, order = feature.table + solution.tables[k], rising[k]
        if order is not None:
            table = monotone(table, order, feature.counts.sum(axis=1))
        errors, factors = errors_of_deviations(solution.errors, k, feature.errors**2)
        refitted.append(replace(feature, table=table, errors=errors, factors=factors))
    return refitted, solution.intercept, solution.errors.intercept


def counting_variances(counts: np.ndarray) -> np.ndarray:
    """Return the sampling variances, shape (n_levels, n_classes), of log P(level given class) minus its mean over the
    classes, in squared nats. ``counts`` (n_levels, n_classes) are numbers (or weights) of rows.
    """
    of_logs = 1.0 / np.maximum(counts, 0.5) - 1.0 / np.maximum(counts.sum(axis=0), 1.0)
    return class_variances(np.maximum(of_logs, 0.0), counts.shape[1])


def slope_variances(counts: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """Return the variances, (n_levels, n_classes), of contributions w * ``logs`` due to the error of the weight w, if w
    is fitted to all rows.

    ``counts`` (n_levels, n_classes) are numbers (or weights) of rows, ``logs`` (n_levels, n_classes) log P(level |
    class).
    """
    rows, total = counts.sum(axis=1), float(counts.sum())
    if total <= 0.0 or not np.isfinite(logs).all():
        return np.zeros_like(logs)
    shares = counts.sum(axis=0) / total
    centred = logs - rows @ logs / total
    curvature = float(rows @ ((centred - (centred @ shares)[:, None]) ** 2 @ shares))
    squares: np.ndarray = (centred - centred.mean(axis=1, keepdims=True)) ** 2
    return squares / curvature if curvature > 0.0 else np.zeros_like(logs)


def errors_of_deviations(errors: PosteriorErrors, i: int, counting: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the standard errors (n_cells, n_classes) of the contributions of one feature, and their loadings
    (n_cells, n_logits, n_factors) on the factors of errors that features share; see `PosteriorErrors`.

    A contribution is the sum of a counted part and a deviation. The deviation corrects errors of the counts as far as
    the rows determine it; ``errors.left`` is the share of its prior variance that they leave undetermined. The variance
    of counting therefore enters with a factor of left (2 - left): left^2 for the error that is not corrected, and
    2 left (1 - left) because both parts come from the same rows and err in the same direction.

    Parameters
    ----------
    errors : posterior errors of all features.
    i : position of the feature in ``errors``.
    counting : (n_cells, n_classes) sampling variances of the counted contributions, in squared nats.
    """
    posterior, left = class_variances(errors.variances[i], counting.shape[1]), errors.left[i]
    return np.sqrt(posterior + left * (2.0 - left) * counting), errors.factors[i]

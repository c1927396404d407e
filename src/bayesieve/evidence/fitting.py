"""The fit of the evidence: counts, codes and weights of features in, what each adds to the log joint out."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from scipy.special import entr

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.counts.contingency import Shrinkage, class_log_prior, log_probabilities_of_tables
from bayesieve.discretize.refitting import coarser_codes
from bayesieve.engine.progress import Clock
from bayesieve.evidence.calibration import CalibratedWeights, CalibrationRows, LeaveOneOutLoss, calibrate
from bayesieve.evidence.choosing import CURVATURE_ROWS, Surface, SurfacePart, find_surfaces, worth_keeping
from bayesieve.evidence.inclusion import (
    LEAST_PROBABILITY,
    Effects,
    inclusion_probabilities,
    marginal_log_bayes,
    omitted_variances,
)
from bayesieve.evidence.monotone import merged_evidence, monotone, rising_cells
from bayesieve.evidence.neutral import filled, start_of_curve
from bayesieve.evidence.problem import EvidenceProblem
from bayesieve.evidence.shapes import N_COSINES, Shape, lines_between_levels, most_functions
from bayesieve.evidence.solver import FEW_ROWS, Solution, solve, start_with_fewer, start_with_more
from bayesieve.evidence.standard_errors import (
    counting_variances,
    errors_of_deviations,
    no_factors,
    round_errors,
    slope_variances,
)
from bayesieve.table import FeatureLevels
from bayesieve.table.cautions import warn_caller
from bayesieve.table.derived_levels import PairLevels
from bayesieve.table.levels import TableLevels

_NATS_PER_DEVIATION = 2.0  # that a feature must save for each effective deviation, or
_LEAST_SHARE = 3e-4  # of what all features could save, if that is less
_NATS_PER_CHOICE = 1.5  # that a surface must save, times the logarithm of the features that it is the best of
_LEAST_DEVIATION = 0.03  # of evidence that did not deviate in fewer rows
_LEAST_INCLUDED = 0.1  # weight of a feature that must be in the model
_LEAST_EVIDENCE = 0.02  # mean deviation in nats below which a feature without weight stays out
_MOST_CONTRIBUTIONS = 1 << 24  # features x rows x classes
_TRUST, _TRUST_IN_CUTS = 0.9, 0.4  # in counted evidence: cuts are where these rows make the steps largest
_DIGITS = 4  # of factors of errors and of variances, in nats
_DIGITS_OF_WEIGHTS = 9
_MOST_SINGLE = 1 << 20  # coefficients of single cells, of which the fit keeps some 25 copies
_FEWEST_ROWS = 500  # that show which features are worth keeping


@dataclass(frozen=True)
class FitOptions:
    """Options of the fit to the rows.

    Parameters
    ----------
    fit : "weights", "levels", "cells", or None for nothing.
    signs : by position, 1 for features whose evidence must not fall, -1 for those whose evidence must not rise.
    drop : whether features that do not save their price drop out, and surfaces come in.
    most_surfaces : that may come in.
    without_surface : names of columns that surfaces leave out.
    excluded, included : positions of features that must be out of the model, or in it.
    most_cells : by position, cells that a feature may have at most, without those of missing and special values.
    n_jobs : threads.
    """

    fit: str | None
    signs: Mapping[int, int]
    drop: bool
    most_surfaces: int
    without_surface: Collection[str]
    n_jobs: int | None
    excluded: Collection[int] = ()
    included: Collection[int] = ()
    most_cells: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class FeatureEvidence:
    """Contributions of one feature to the log joint.

    Parameters
    ----------
    cells : its levels, or parts of them.
    table : (n_cells, n_classes) nats.
    counts : (n_cells, n_classes) rows (or weight).
    errors : (n_cells, n_classes) standard errors of the nats, without what all classes have alike.
    factors : (n_cells, n_numbers, n_factors) what these share with the errors of other features.
    weight : of the feature.
    log_bayes : log Bayes factor of the feature against no effect, in nats, less the logarithm of the number of pairs
        that a pair was chosen from; NaN if it was not tested.
    """

    cells: FeatureLevels
    table: np.ndarray
    counts: np.ndarray
    errors: np.ndarray
    factors: np.ndarray
    weight: float
    log_bayes: float = np.nan

    @classmethod
    def counted(cls, levels: FeatureLevels, counts: np.ndarray, logs: np.ndarray, weight: float) -> FeatureEvidence:
        """The weight times ``logs``, log P(level | class). A weight other than 1 is a choice, which errs as well."""
        errors = weight * np.sqrt(counting_variances(counts))
        if weight != 1.0:
            errors = np.sqrt(errors**2 + weight**2 * slope_variances(counts, logs))
        return cls(levels, weight * logs, counts, errors, no_factors(*counts.shape), weight)

    def monotone(self, sign: int) -> FeatureEvidence:
        """The evidence made monotone over the numbers, as ``sign`` says."""
        table = monotone(self.table, rising_cells(self.cells, sign), self.counts.sum(axis=1))
        return replace(self, table=table)

    def with_neutral_cells(self, levels: FeatureLevels, is_empty: np.ndarray) -> FeatureEvidence:
        """The evidence with neutral cells where ``levels`` have no rows, ``is_empty`` (n_levels,) bool."""
        if not is_empty.any():
            return self
        empty = is_empty[coarser_codes(self.cells, levels)]
        first = start_of_curve(levels, self.cells)
        return replace(self, table=filled(self.table, self.counts.sum(axis=1), empty, first))


@dataclass(frozen=True)
class Evidence:
    """Contributions of the features to the log joint, with the counts that they are based on.

    Parameters
    ----------
    levels : of all features; surfaces, if any, are pairs after all others.
    features : in the order of the levels.
    intercept : (n_classes,) nats that all evidence is added to.
    intercept_factors : (n_numbers, n_factors) what its error shares with those of the features.
    omitted_variances : (n_numbers,) variances of what features that dropped out may add to a row.
    class_counts : (n_classes,) rows (or weight).
    smoothing : of the probabilities.
    factor : common factor on the weights of the search around which those of the features were fitted.
    kind : whether the evidence is counted, or fitted to levels or cells.
    is_neutral : whether values in no level add the mean over the training rows, as after every fit, or nothing.
    """

    levels: Sequence[FeatureLevels]
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
    levels: Sequence[FeatureLevels],
    averaged: np.ndarray,
    smoothing: Smoothing,
    options: FitOptions,
    clock: Clock,
) -> Evidence:
    """Fit the weights and the evidence as far as ``options.fit`` asks for; warn if this was ended early.

    Parameters
    ----------
    coded : the rows, coded by ``levels``.
    averaged : (n_features,) weights of the search.
    smoothing : of the probabilities.
    options : what to fit.
    clock : of the whole fit; when its time is up, the best so far is kept.
    """
    if options.fit is not None:  # blocks of rows are summed in any order: what follows must not depend on the last bits
        averaged = np.round(averaged, _DIGITS_OF_WEIGHTS)
    calibration = _calibrated(coded, averaged, smoothing, options, clock)
    for k in options.included:
        calibration.weights[k] = max(calibration.weights[k], _LEAST_INCLUDED)
    weights, factor = calibration.weights, calibration.factor
    class_counts = coded.counts.class_counts.copy()
    counts = [coded.counts.feature(k).copy() for k in range(len(levels))]
    logs = log_probabilities_of_tables(counts, float(class_counts.sum()), calibration.smoothing)
    shrinks = isinstance(calibration.smoothing, Shrinkage)
    if shrinks and options.fit == "cells":
        logs = [_between_neighbours(*own) for own in zip(logs, counts, levels, strict=True)]
    intercept, fitted = class_log_prior(class_counts), dict[int, FeatureEvidence]()
    is_fitted = False
    intercept_factors = no_factors(1, class_counts.size)[0]
    omitted = np.zeros(len(intercept_factors))
    # Columns without weight may matter by their curves or together, if they are tested.
    terms = _terms(coded, levels, logs, calibration, options) if options.drop or weights.any() else []
    if terms and calibration.loss is not None and calibration.every is not None:
        fit = _JointFit(terms, {}, calibration.loss, averaged, factor, omitted)
        fit, solution = _solved(fit, levels, calibration.every, options, clock)
        weights, factor, is_fitted, omitted = fit.weights, fit.factor, True, fit.omitted_variances
        if fit.terms or fit.surfaces:
            fitted, moved, intercept_factors = _evidence_of(fit, solution, levels, counts)
            intercept, levels = intercept + moved, _with_surfaces(levels, fitted)
        if not solution.complete:
            _warn_of_end("The fit of the evidence", clock, "the model keeps the best evidence so far")
    for k, sign in options.signs.items():
        if k not in fitted and weights[k] > 0:  # calibration ended early
            merged = merged_evidence(logs[k], rising_cells(levels[k], sign))
            fitted[k] = FeatureEvidence.counted(levels[k], counts[k], merged, float(weights[k]))
        if k in fitted:
            fitted[k] = fitted[k].monotone(sign)
    features = [
        fitted[k] if k in fitted else FeatureEvidence.counted(level, counts[k], logs[k], float(weights[k]))
        for k, level in enumerate(levels)
    ]
    if shrinks:
        for k, rows in enumerate(counts):
            features[k] = features[k].with_neutral_cells(levels[k], rows.sum(axis=1) == 0)
            if k in options.signs:
                features[k] = features[k].monotone(options.signs[k])
    split = any(own.cells is not levels[k] for k, own in fitted.items())
    kind: Literal["counted", "levels", "cells"] = "cells" if split else "levels" if fitted or is_fitted else "counted"
    facts = class_counts, calibration.smoothing, factor, kind, options.fit is not None
    return Evidence(levels, features, intercept, intercept_factors, omitted, *facts)


def _between_neighbours(logs: np.ndarray, counts: np.ndarray, levels: FeatureLevels) -> np.ndarray:
    """The ``logs`` of levels with those of intervals of numbers without rows on the line through their neighbours."""
    rows, first = counts.sum(axis=1), levels.n_apart if levels.kind == "numeric" else levels.n_levels
    on_curve = (rows == 0) & (np.arange(rows.size) >= first)
    return filled(logs, rows, on_curve, first)


def _with_surfaces(levels: Sequence[FeatureLevels], fitted: Mapping[int, FeatureEvidence]) -> Sequence[FeatureLevels]:
    surfaces = [own.cells for k, own in fitted.items() if k >= len(levels)]
    if not surfaces:
        return levels
    of_table = TableLevels.of(levels)
    return of_table.with_pairs([*of_table.pairs, *surfaces])  # type: ignore[list-item]


def _calibrated(
    coded: CodedTable, averaged: np.ndarray, smoothing: Smoothing, options: FitOptions, clock: Clock
) -> CalibratedWeights:
    if options.fit is None:
        return CalibratedWeights(averaged, 1.0, smoothing)
    calibration = calibrate(coded, averaged, smoothing, clock, options.n_jobs)
    if not calibration.complete:
        factor = "" if calibration.factor == 1.0 else f" times {calibration.factor:.2g}"
        consequence = f"the model keeps the weights of the search{factor}, and may be overconfident"
        _warn_of_end("Calibration", clock, consequence)
    return calibration


def _warn_of_end(fit: str, clock: Clock, consequence: str) -> None:
    reason = "ran out of time (max_seconds)" if clock.is_up and not clock.interrupted else "was interrupted"
    warn_caller(f"{fit} {reason}: {consequence}.")


@dataclass(frozen=True, eq=False)
class _Term:
    """A feature of those that are fitted together.

    Parameters
    ----------
    feature : its position in the table.
    weight : of its counted evidence.
    cells : its cells, or None if these are its levels.
    of_level : (n_cells,) the level of each cell.
    codes : (n_rows,) its cells.
    rows : (n_cells,) number (or weight) of the rows of each cell.
    counted : (n_cells, n_classes) evidence as counted, without weight.
    learnt_again : whether its levels are learnt again for each fold, as those of all rows would overfit.
    shape : how its evidence may deviate.
    correction : (n_cells, n_classes) what ``counted`` has beyond the evidence in the loss of counting, or None.
    """

    feature: int
    weight: float
    cells: FeatureLevels | None
    of_level: np.ndarray
    codes: np.ndarray
    rows: np.ndarray
    counted: np.ndarray
    learnt_again: bool
    shape: Shape
    correction: np.ndarray | None = None

    @property
    def n_cells(self) -> int:
        return self.of_level.size

    @property
    def jumps(self) -> np.ndarray:
        """Cells of numbers with which a level begins, without the first."""
        n_apart = 0 if self.cells is None else self.cells.n_apart
        return n_apart + 1 + np.flatnonzero(np.diff(self.of_level[n_apart:]))

    def weighted(self, weight: float) -> _Term:
        """Return the term with another weight."""
        shape = replace(self.shape, counted=weight * self.counted) if self.shape.rising.size else self.shape
        return replace(self, weight=weight, shape=shape)


@dataclass(frozen=True, eq=False)
class _JointFit:
    """Features to be fitted together.

    Parameters
    ----------
    terms : features of the table, by ascending position.
    surfaces : the cells of the rows, (n_rows,), by surface.
    loss : what counting predicts of each row from all others.
    averaged : (n_features of the table,) weights of the search.
    factor : common factor on these.
    omitted_variances : (n_numbers,) variances of what dropped terms may add to a row.
    log_bayes : (n,) log Bayes factors of the terms, then of the surfaces, against no effect; empty before the test.
    """

    terms: Sequence[_Term]
    surfaces: Mapping[Surface, np.ndarray]
    loss: LeaveOneOutLoss
    averaged: np.ndarray
    factor: float
    omitted_variances: np.ndarray
    log_bayes: np.ndarray = field(default_factory=lambda: np.empty(0))

    @property
    def weights(self) -> np.ndarray:
        """(n_features of the table,) weights, 0 for features that are no term."""
        weights = np.zeros(self.averaged.size)
        weights[[term.feature for term in self.terms]] = [term.weight for term in self.terms]
        return weights

    @property
    def codes(self) -> np.ndarray:
        """(n, n_rows) cells of the terms, then of the surfaces."""
        return np.stack([*(term.codes for term in self.terms), *self.surfaces.values()])

    @property
    def shapes(self) -> list[Shape]:
        """How the terms, then the surfaces, may deviate over these rows; some rows may be in none of their cells."""
        shapes = [*(term.shape for term in self.terms), *(surface.shape for surface in self.surfaces)]
        codes = [*(term.codes for term in self.terms), *self.surfaces.values()]
        return [shape.of_rows(own, self.loss.rows.weights) for shape, own in zip(shapes, codes, strict=True)]

    def offset(self) -> np.ndarray:
        """(n_rows, n_classes) log joint of the counted evidence."""
        offset = self.loss.joint(self.weights)
        for term in self.terms:
            if term.correction is not None:
                shape = term.shape.of_rows(term.codes, self.loss.rows.weights)
                offset += term.weight * shape.look_up(term.correction, term.codes)
        return offset

    def problem(self, n_jobs: int | None) -> EvidenceProblem:
        """The problem whose solution is the evidence."""
        rows = self.loss.rows
        return EvidenceProblem.of_rows(self.codes, self.shapes, self.offset(), rows.classes, rows.weights, n_jobs)

    def only(self, kept: np.ndarray) -> _JointFit:
        """Only the terms and surfaces marked in ``kept``; the weights of the terms are refitted."""
        n = len(self.terms)
        terms = [term for term, stays in zip(self.terms, kept, strict=False) if stays]
        surfaces = dict(own for own, stays in zip(self.surfaces.items(), kept[n:], strict=True) if stays)
        fit = replace(self, terms=terms, surfaces=surfaces, log_bayes=self.log_bayes[kept])
        if np.array_equal(fit.weights, self.weights):
            return fit
        stays = np.isin(np.arange(self.averaged.size), [term.feature for term in terms])
        weights, factor = self.loss.refitted(np.where(stays, self.averaged, 0.0))
        return replace(fit, terms=[term.weighted(float(weights[term.feature])) for term in terms], factor=factor)

    def trusted(self) -> _JointFit:
        """Return a copy with the trusted part of the counted evidence; deviations make up for the rest. A fit to many
        rows has the same optimum with all of it, and reaches it sooner.
        """
        if self.loss.rows.classes.size > FEW_ROWS:
            return self
        trust = np.full(len(self.terms), _TRUST)
        trust[[term.cells is not None and term.cells.kind == "numeric" for term in self.terms]] = _TRUST_IN_CUTS
        trust[[term.learnt_again for term in self.terms]] = 1.0
        terms = [t.weighted(float(own * t.weight)) for t, own in zip(self.terms, trust, strict=True)]
        return replace(self, terms=terms)

    def contributions(self, deviations: Sequence[np.ndarray], some: np.ndarray) -> np.ndarray:
        """(n, some rows, n_classes) nats: counted evidence and deviations."""
        position = {k: at for at, k in enumerate(self.loss.rows.features.tolist())}
        result = np.empty((len(deviations), some.size, deviations[0].shape[1]), dtype=np.float32)
        shapes = self.shapes
        for i, codes in enumerate(self.codes):
            term = self.terms[i] if i < len(self.terms) else None
            table = deviations[i]
            if term is not None and term.correction is not None:
                table = table + term.weight * term.correction
            result[i] = shapes[i].look_up(table, codes[some])
            if term is not None and term.weight > 0:
                result[i] += term.weight * self.loss.evidence_of(position[term.feature], some)
        return result


def _terms(
    coded: CodedTable,
    levels: Sequence[FeatureLevels],
    logs: Sequence[np.ndarray],
    calibration: CalibratedWeights,
    options: FitOptions,
) -> list[_Term]:
    """The features of positive weight, and those that may come back through their cells; none if weights are all that
    is fitted.
    """
    if calibration.loss is None or options.fit == "weights":
        return []
    rows, weights = calibration.loss.rows, calibration.weights
    learnt_again = set(rows.features[list(rows.counts_of_folds)].tolist())
    if options.fit == "cells" and coded.recoder is not None and coded.levels is not None:
        features, cells, codes = _cells(coded, levels, weights, rows, options)
    else:
        features, cells = np.flatnonzero(weights), {}
        codes = coded.codes_at(features, rows.positions)
    terms = []
    for k, own in zip(features.tolist(), codes, strict=True):
        line = coarser_codes(cells[k], levels[k]) if k in cells else np.arange(coded.n_levels[k])
        seen, fixed = _counts(own, line.size, rows).sum(axis=1), Shape(line.size)
        sign, again = options.signs.get(k, 0), k in learnt_again
        logs_of_levels = merged_evidence(logs[k], rising_cells(levels[k], sign)) if sign else logs[k]
        counted, is_curve = logs_of_levels[line], k in cells and cells[k].kind == "numeric"
        if is_curve:
            counted = lines_between_levels(line, seen, cells[k].n_apart, counted)
        correction = counted - logs[k][line] if sign or is_curve else None
        terms.append(_Term(k, float(weights[k]), cells.get(k), line, own, seen, counted, again, fixed, correction))
    shapes = _shapes(terms, coded.n_classes)
    for i, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        sign = options.signs.get(term.feature, 0)
        if sign:
            shape = replace(shape, rising=rising_cells(term.cells or levels[term.feature], sign), apart=False)
        terms[i] = replace(term, shape=shape).weighted(term.weight)
    return terms


def _cells(
    coded: CodedTable,
    levels: Sequence[FeatureLevels],
    weights: np.ndarray,
    rows: CalibrationRows,
    options: FitOptions,
) -> tuple[np.ndarray, dict[int, FeatureLevels], np.ndarray]:
    """Features of positive weight, and those that may come back through their cells; the cells of those that have
    finer ones than their levels; and codes of both (n_features, n_rows).
    """
    assert coded.recoder is not None
    heaviest = np.setdiff1d(np.arange(weights.size), list(options.excluded))
    heaviest = heaviest[np.argsort(-weights[heaviest], kind="stable")]
    most = np.count_nonzero(weights) + most_functions(coded.n_classes) // N_COSINES
    features = np.sort(heaviest[:most])
    own = [levels[k] for k in features.tolist()]
    if not own:
        return features, {}, np.empty((0, rows.positions.size), dtype=np.uint8)
    most_cells = [options.most_cells.get(k) for k in features.tolist()]
    refined, codes = coded.recoder.select(features).take(rows.positions).refine(own, rows.weights, most_cells)
    split = [cell is not level for cell, level in zip(refined, own, strict=True)]
    usable = np.array(split) | (weights[features] > 0)
    cells = {k: refined[i] for i, k in enumerate(features.tolist()) if split[i]}
    return features[usable], cells, codes[usable]


def _shapes(terms: Sequence[_Term], n_classes: int) -> list[Shape]:
    """How each term may deviate, the heaviest first if not all can be looked at together."""
    shapes = [Shape(term.n_cells) for term in terms]
    left, left_single = most_functions(n_classes), _MOST_SINGLE // (1 if n_classes == 2 else n_classes)
    for i in np.argsort([-term.weight for term in terms], kind="stable").tolist():
        term = terms[i]
        if term.cells is None:
            shape = Shape(term.n_cells) if term.learnt_again else Shape.free(term.n_cells)
        elif term.cells.kind == "numeric":
            shape = Shape.of_curve(term.rows, term.cells.n_apart, term.jumps)
        else:
            shape = Shape.of_values(term.of_level, with_groups=not term.learnt_again)
        n_functions = shape.groups.size - shape.n_jumps
        if n_functions > left:
            n_functions = 0
            shape = Shape(term.n_cells, apart=term.weight > 0 and not term.learnt_again and term.cells is None)
        left -= n_functions
        if shape.apart and shape.n_cells > left_single:
            shape = replace(shape, apart=False)
        elif shape.apart:
            left_single -= shape.n_cells
        shapes[i] = shape
    return shapes


def _surface_parts(
    terms: Sequence[_Term], levels: Sequence[FeatureLevels], options: FitOptions
) -> dict[int, SurfacePart]:
    """The terms that may take part in surfaces, by position."""
    parts = {}
    if any(term.cells is not None for term in terms):
        for i, term in enumerate(terms):
            if term.learnt_again or term.feature in options.signs:
                continue
            part = SurfacePart.of(term.feature, levels[term.feature], term.cells, term.of_level, term.rows)
            if part is not None and part.level.name not in options.without_surface:
                parts[i] = part
    return parts


def _solved(
    fit: _JointFit, levels: Sequence[FeatureLevels], every: CalibrationRows, options: FitOptions, clock: Clock
) -> tuple[_JointFit, Solution]:
    """The surfaces that the rows pay for, the terms that stay, and the solution, fitted to ``every`` row in the end.
    Unless ``options.drop``, all terms stay and there are no surfaces.
    """
    drop = options.drop and (len(fit.terms) > 1 or not fit.weights.any())
    problem = fit.problem(options.n_jobs)
    solution = solve(problem, clock, roughly=True)
    if solution.complete and drop:
        parts = _surface_parts(fit.terms, levels, options)
        found = find_surfaces(parts, options.most_surfaces, problem, solution.point, fit.codes, fit.loss.rows.drawn)
        if found:
            fit = replace(fit, surfaces=found)
            more = fit.problem(options.n_jobs)
            start = start_with_more(solution, problem.design, more.design)
            problem = more
            solution = solve(problem, clock, start, roughly=True)
    if not solution.complete:
        return fit, solution
    kept = np.ones(len(solution.tables), dtype=bool)
    if drop:
        fit = replace(fit, log_bayes=_log_bayes(fit, solution))
        # Constant and excluded columns change no model.
        n_out = TableLevels.of(levels).n_constant + len(set(options.excluded))
        n_candidates = max(fit.averaged.size - n_out, len(fit.terms))
        probabilities = inclusion_probabilities(fit.log_bayes[: len(fit.terms)], n_candidates)
        kept = _are_worth_keeping(fit, solution, probabilities)
        kept[: len(fit.terms)] |= np.isin([term.feature for term in fit.terms], list(options.included))
        dropped = np.flatnonzero(~kept[: len(fit.terms)])
        assert solution.effects is not None
        effects = Effects(*(of_features[dropped] for of_features in solution.effects))
        fit = replace(
            fit.only(kept), omitted_variances=round_errors(omitted_variances(effects, probabilities[dropped]))
        )
        if not kept.any():  # chance does as well as any feature
            return fit, solution
    fit = fit.trusted()
    start = start_with_fewer(solution, problem.design, kept)
    followed = every.positions.size > fit.loss.rows.positions.size
    solution = solve(fit.problem(options.n_jobs), clock, start, followed=followed)
    return _on_every_row(fit, solution, every, options.n_jobs, clock)


def _are_worth_keeping(fit: _JointFit, solution: Solution, probabilities: np.ndarray) -> np.ndarray:
    """(n,) bool, the terms and surfaces that save their price. ``probabilities`` : (n_terms,) that terms matter."""
    rows, n = fit.loss.rows, len(solution.tables)
    some = rows.drawn(max(_FEWEST_ROWS, _MOST_CONTRIBUTIONS // (n * rows.n_classes)))
    few = np.searchsorted(some, rows.drawn(min(some.size, CURVATURE_ROWS)))
    weights = rows.weights[some] * (rows.weights.sum() / rows.weights[some].sum())
    prices = np.minimum(_NATS_PER_DEVIATION * (1.0 + solution.effective), _LEAST_SHARE * _null(rows))
    of_surfaces = slice(len(fit.terms), None)
    prices[of_surfaces] = 1.0 + solution.effective[of_surfaces] + _NATS_PER_CHOICE * np.log(n)
    contributions = fit.contributions(solution.tables, some)
    prior = fit.loss.prior if rows.offset is None else fit.loss.prior[some]
    joint = contributions.sum(axis=0) + prior + solution.intercept
    kept = worth_keeping(contributions, joint, rows.classes[some], weights, prices, few)
    kept[: len(fit.terms)] &= probabilities >= LEAST_PROBABILITY
    return kept


def _log_bayes(fit: _JointFit, solution: Solution) -> np.ndarray:
    """(n,) log Bayes factors against no effect: of terms by themselves or beside all others, of surfaces beside them.

    The mean of two Bayes factors reaches B without effect in at most 1 of B tables, as each of them does.
    """
    assert solution.log_bayes is not None
    logs, n = solution.log_bayes.copy(), len(fit.terms)
    alone = np.array([_log_bayes_alone(term, fit.loss.rows) for term in fit.terms])
    logs[:n] = np.logaddexp(alone, logs[:n]) - np.log(2.0)
    return logs


def _log_bayes_alone(term: _Term, rows: CalibrationRows) -> float:
    """Log Bayes factor of a term by its own counts."""
    shape = term.shape
    directed = shape.groups.size and (shape.rarely_apart or not shape.apart)
    basis = shape.basis()[:, shape.groups < shape.n_groups - shape.n_jumps] if directed else None
    return marginal_log_bayes(_counts(term.codes, term.n_cells, rows), basis)


def _on_every_row(
    fit: _JointFit, solution: Solution, every: CalibrationRows, n_jobs: int | None, clock: Clock
) -> tuple[_JointFit, Solution]:
    """Return the fit and its solution once more, on ``every`` row; as they are if they know all rows."""
    if not solution.complete or every.positions.size == fit.loss.rows.positions.size:
        return fit, solution
    cells = {term.feature: term.cells for term in fit.terms}
    cells |= {part.feature: part.cells for own in fit.surfaces for part in own.parts}
    codes = every.codes_by(cells)
    terms = [replace(term, codes=codes[term.feature]) for term in fit.terms]
    grids = {s: s.codes(*(codes[part.feature] for part in s.parts)) for s in fit.surfaces}
    weighing = np.flatnonzero(fit.weights[every.features])
    loss = fit.loss.over(every, weighing if weighing.size else np.array([0]))  # one of weight 0 stands for none
    more = replace(fit, terms=terms, surfaces=grids, loss=loss)
    problem = more.problem(n_jobs)
    deviations = np.where(
        problem.design.is_jump, solution.deviations, np.maximum(solution.deviations, _LEAST_DEVIATION)
    )
    return more, solve(problem, clock, (solution.point, deviations), nearby=solution)


def _evidence_of(
    fit: _JointFit, solution: Solution, levels: Sequence[FeatureLevels], counts: Sequence[np.ndarray]
) -> tuple[dict[int, FeatureEvidence], np.ndarray, np.ndarray]:
    """The evidence of the terms and surfaces that make a difference, by position, surfaces after all ``levels``; and
    what goes to the intercept and its factors. ``counts`` : of the levels.
    """
    rows, tables, n = fit.loss.rows, solution.tables, len(fit.terms)
    seen = [_counts(own, len(table), rows) for own, table in zip(fit.codes, tables, strict=True)]
    used = np.array([_makes_a_difference(*one) for one in zip(tables, seen, strict=True)])
    used[:n] |= np.array([term.weight > 0 for term in fit.terms], dtype=bool)
    logs = (fit.log_bayes if fit.log_bayes.size else np.full(len(tables), np.nan)).tolist()
    of_table = TableLevels.of(levels)
    log_pairs = math.log(max(1, math.comb(of_table.n_columns, 2)))
    fitted: dict[int, FeatureEvidence] = {}
    for i, term in enumerate(fit.terms):
        if used[i]:
            k = term.feature
            own = counts[k] if term.cells is None else seen[i]
            cells = levels[k] if term.cells is None else replace(term.cells, counts=own)
            table = term.weight * term.counted + tables[i]
            counting = term.weight**2 * counting_variances(counts[k])[term.of_level]
            errors, factors = errors_of_deviations(solution.errors, i, counting)
            log_bayes = logs[i] - (log_pairs if isinstance(levels[k], PairLevels) else 0.0)
            fitted[k] = FeatureEvidence(cells, table, own, errors, factors, term.weight, log_bayes)
    pairs: list[PairLevels] = []
    for i, surface in enumerate(fit.surfaces, n):
        if used[i]:
            names = {*of_table.names, *(pair.name for pair in pairs)}
            pair, with_rows = surface.levels(seen[i], names)
            errors, factors = errors_of_deviations(solution.errors, i, np.zeros_like(tables[i]))
            table, own, factors = tables[i][with_rows], np.asarray(pair.counts), factors[with_rows]
            numbers = errors[with_rows], factors, 0.0, logs[i] - log_pairs
            fitted[len(levels) + len(pairs)] = FeatureEvidence(pair, table, own, *numbers)
            pairs.append(pair)
    return fitted, solution.intercept, _factors_of_intercept(solution, rows.n_classes)


def fit_around(
    features: Sequence[tuple[FeatureLevels, FeatureEvidence, int]],
    codes: np.ndarray,
    joint: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
    n_jobs: int | None,
) -> tuple[list[FeatureEvidence], np.ndarray, np.ndarray]:
    """Some of the features of a model fitted once more: their evidence, what goes to the intercept, and its factors.

    Parameters
    ----------
    features : levels, evidence that deviations are fitted from, and sign of each, 0 for none.
    codes : (n_features, n_rows) their cells.
    joint : (n_rows, n_classes) log joint of the whole model.
    classes, weights : (n_rows,).
    """
    terms = []
    for k, (level, own, _) in enumerate(features):
        line, cells, rows = coarser_codes(own.cells, level), own.cells, own.counts.sum(axis=1)
        size, nothing = float(rows @ np.abs(own.table).max(axis=1)), np.zeros_like(own.table)
        split = None if cells is level else cells
        terms.append(_Term(k, size, split, line, codes[k], rows, nothing, False, Shape(line.size)))
    rising = [rising_cells(own.cells, sign) if sign else None for _, own, sign in features]
    shapes = [
        shape if ordered is None else replace(shape, rising=ordered, counted=own.table)
        for shape, ordered, (_, own, _) in zip(_shapes(terms, joint.shape[1]), rising, features, strict=True)
    ]
    shapes = [shape.of_rows(of_rows, weights) for shape, of_rows in zip(shapes, codes, strict=True)]
    solution = solve(EvidenceProblem.of_rows(codes, shapes, joint, classes, weights, n_jobs))
    made = []
    for k, ((_, own, _), ordered) in enumerate(zip(features, rising, strict=True)):
        table = own.table + solution.tables[k]
        table = table if ordered is None else monotone(table, ordered, own.counts.sum(axis=1))
        errors, factors = errors_of_deviations(solution.errors, k, own.errors**2)
        made.append(replace(own, table=table, errors=errors, factors=factors))
    return made, solution.intercept, _factors_of_intercept(solution, joint.shape[1])


def _factors_of_intercept(solution: Solution, n_classes: int) -> np.ndarray:
    if solution.errors is None:
        return no_factors(1, n_classes)[0]
    return round_errors(solution.errors.intercept)


def _makes_a_difference(deviations: np.ndarray, counts: np.ndarray) -> bool:
    """Whether deviations of a feature without weight, (n_cells, n_classes) like its counts, make a difference."""
    return bool(counts.sum(axis=1) @ np.abs(deviations).max(axis=1) > _LEAST_EVIDENCE * counts.sum())


def _null(rows: CalibrationRows) -> float:
    """Log loss of the rows by the shares of the classes, in nats."""
    total = rows.weights.sum()
    return float(entr(np.bincount(rows.classes, rows.weights) / total).sum() * total)


def _counts(codes: np.ndarray, n_cells: int, rows: CalibrationRows) -> np.ndarray:
    """Weight of all rows of each cell and class, estimated from a sample, which may lack rows of a class."""
    at = np.minimum(codes, n_cells).astype(np.int64) * rows.n_classes + rows.classes
    counts = np.bincount(at, rows.weights * rows.n_stood_for, (n_cells + 1) * rows.n_classes)
    return counts.reshape(n_cells + 1, rows.n_classes)[:-1]

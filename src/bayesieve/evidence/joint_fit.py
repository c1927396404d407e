"""Joint fit: search for surfaces, select features, and fit the contributions of all features together.

A *term* is a feature of the table in the fit; a *surface* is a pair of columns with joint contributions over a grid. A
*cell* is the finest unit with a contribution. Counted contributions follow from counts; the fit adds *deviations*.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import inv
from scipy.optimize import minimize
from scipy.special import entr, expit, log_softmax, softmax

from bayesieve.engine.base import one_blas_thread
from bayesieve.engine.progress import Clock
from bayesieve.evidence.calibration import ROWS_PER_WEIGHT, CalibrationRows, LeaveOneOutLoss, informative_rows
from bayesieve.evidence.inclusion import (
    LEAST_PROBABILITY,
    Effects,
    expected_squares_of_cells,
    inclusion_probabilities,
    log_bayes_of_cells,
    log_bayes_of_curve,
    omitted_variances,
)
from bayesieve.evidence.offset import intercept_for
from bayesieve.evidence.problem import EvidenceProblem
from bayesieve.evidence.shapes import N_COSINES, Shape, most_functions
from bayesieve.evidence.solver import FEW_ROWS, Solution, deal_folds, solve, start_with_fewer, start_with_more
from bayesieve.evidence.surfaces import Surface, find_surfaces, surface_axes
from bayesieve.evidence.terms import FitOptions, Term
from bayesieve.table import FeatureLevels

_FACTOR_PRECISION = 0.1  # precision of the prior of factors around 1, so that copies of a feature share its factor
_AT_ONCE = 20  # at most one in 20 features is dropped before the loss of all rows is computed again
CURVATURE_ROWS = 3000
"""Rows from which the worth of features is estimated; the loss of all rows confirms it."""

_NATS_PER_DEVIATION = 2.0  # price of an effective coefficient: nats that it must save, ...
# ... but at most this share of the nats that all features could save (benchmarks/decisions/inclusion.md)
_MOST_PRICE = 3e-4
# Share of the explained nats that all dropped features may cost together (benchmarks/decisions/samples.md).
_MOST_LOST = 0.05
# A surface (the joint contributions of a pair of columns) is dropped unless it saves, in nats, 1 + its effective
# number of coefficients + this number times the logarithm of the number of features and surfaces.
_NATS_PER_CHOICE = 1.5
_LEAST_DEVIATION = 0.03  # initial standard deviation of groups that did not deviate in a sample
_MOST_CONTRIBUTIONS = 1 << 24  # features x rows x classes held in memory to compute the worth of features
# Discounts of counted contributions (factors). Those of numeric columns are trusted less, because their cuts lie where
# the steps in the training rows are largest (benchmarks/decisions/curves.md).
_TRUST, _TRUST_IN_CUTS = 0.9, 0.4
_FEWEST_ROWS = 500  # smallest sample for computing the worth of features
_HELD_OUT_FOLDS = 2  # of five folds, enough to measure overconfidence (benchmarks/decisions/wide.md)
_DIGITS_OF_FACTOR = 6  # rounding, so that the result does not depend on the order of rows


@dataclass(frozen=True, eq=False)
class JointFit:
    """Features that are fitted jointly: terms (features of the table) and surfaces (pairs of features with joint
    contributions over a grid); and the rows of the fit.

    Parameters
    ----------
    terms : features of the table, by ascending position.
    surfaces : for each surface, the grid cell of each row, (n_rows,).
    loss : leave-one-out loss of the counted contributions.
    averaged : (n_features of the table,) weights of the search; 0 for features that are fitted value by value.
    factor : common factor on these weights.
    n_candidates : number of features of the table that may have an effect.
    omitted_variances : (n_logits,) variance of the logits due to dropped terms, in squared nats.
    log_bayes : (n,) log Bayes factors of the terms, then of the surfaces, against no effect, in nats; empty before they
        are tested.
    """

    terms: Sequence[Term]
    surfaces: Mapping[Surface, np.ndarray]
    loss: LeaveOneOutLoss
    averaged: np.ndarray
    factor: float
    n_candidates: int
    omitted_variances: np.ndarray
    log_bayes: np.ndarray = field(default_factory=lambda: np.empty(0))

    @property
    def weights(self) -> np.ndarray:
        """Weights of all features of the table, shape (n_features,); 0 for features that are not fitted."""
        weights = np.zeros(self.averaged.size)
        weights[[term.feature for term in self.terms]] = [term.weight for term in self.terms]
        return weights

    def problem(self, n_jobs: int | None) -> EvidenceProblem:
        """Return the problem of fitting deviations from the counted contributions (weight times log P(level | class)).

        The counts for each row exclude the row itself. ``n_jobs`` is the number of threads.
        """
        rows = self.loss.rows
        offset = self.loss.contributions(self.weights[rows.features]) + self.loss.prior
        codes = [*(term.codes for term in self.terms), *self.surfaces.values()]
        shapes = [*(term.shape for term in self.terms), *(surface.shape for surface in self.surfaces)]
        shapes = [shape.of_rows(of_rows, rows.weights) for shape, of_rows in zip(shapes, codes, strict=True)]
        for term, shape in zip(self.terms, shapes, strict=False):
            if term.correction is not None:
                offset += term.weight * shape.look_up(term.correction, term.codes)
        return EvidenceProblem.of_rows(np.stack(codes), shapes, offset, rows.classes, rows.weights, n_jobs)

    def contributions(self, solution: Solution, n_jobs: int | None) -> np.ndarray:
        """Return the sum of intercept and contributions for each row, shape (n_rows, n_classes), in nats.

        ``solution`` holds the fitted deviations from the counted contributions. The counts for each row exclude the row
        itself.
        """
        problem = self.problem(n_jobs)
        table, intercept = problem.design.basis @ solution.point, solution.point[problem.design.intercept]
        logits = np.concatenate([problem.logits(table, intercept, chunk) for chunk in problem.chunks])
        joint = np.pad(logits, ((0, 0), (1, 0))) if problem.n_classes == 2 else logits
        return joint - self.loss.prior


def fit_jointly(
    fit: JointFit, levels: Sequence[FeatureLevels], final_rows: CalibrationRows, options: FitOptions, clock: Clock
) -> tuple[JointFit, Solution]:
    """Fit the contributions of all features together, after selecting features and searching for surfaces (joint
    contributions of two features over a grid).

    Parameters
    ----------
    fit : terms, and a sample of the rows.
    levels : levels of all features of the table.
    final_rows : rows of the final fit: all rows of the table, or a large sample.
    options : options of the fit; without ``drop``, all terms stay and there are no surfaces.
    clock : time limit; when it is over, the best result so far is returned.

    Returns
    -------
    tuple
        Remaining terms and surfaces, and their solution.
    """
    followed = final_rows.positions.size > fit.loss.rows.positions.size
    best, solution = fit_to_sample(fit, levels, final_rows, options, clock, followed=followed)
    if not (solution.complete and (best.terms or best.surfaces)):
        return best, solution
    if followed:
        return fit_to_every_row(best, solution, final_rows, options.n_jobs, clock)
    # Features selected from very many columns look better than they are (winner's curse): shrink their contributions.
    n_dropped = fit.n_candidates - len(best.terms)
    if options.drop and fit.loss.rows.total < ROWS_PER_WEIGHT * n_dropped:
        factor = held_out_factor(fit, levels, options, clock)
        if factor < 1.0:
            return shrink(best, solution, factor, options.n_jobs)
    return best, solution


def fit_to_sample(
    fit: JointFit,
    levels: Sequence[FeatureLevels],
    final_rows: CalibrationRows,
    options: FitOptions,
    clock: Clock,
    *,
    followed: bool,
) -> tuple[JointFit, Solution]:
    """Search for surfaces (joint contributions of two features over a grid), select features, and fit their
    contributions to a sample of rows. Return the remaining features and their solution.

    Parameters
    ----------
    fit, levels, final_rows, options, clock : as in `fit_jointly`.
    followed : whether the caller uses only the contributions, to start another fit or to predict other rows. Errors are
        then not computed, and the fit need not converge fully.
    """
    # Rough fit: estimate which terms have an effect, and the residuals in which surfaces are searched.
    problem = fit.problem(options.n_jobs)
    solution = solve(problem, clock, roughly=True)
    drop = options.drop and (len(fit.terms) > 1 or not fit.weights.any())
    has_room = problem.design.intercept < most_functions(problem.n_classes)
    if solution.complete and drop and has_room and options.most_surfaces > 0:
        axes = surface_axes(fit.terms, levels, options)
        codes = [term.codes for term in fit.terms]
        surfaces = find_surfaces(axes, options.most_surfaces, problem, solution.point, codes, fit.loss.rows)
        if surfaces:
            fit, before = replace(fit, surfaces=surfaces), problem.design
            problem = fit.problem(options.n_jobs)
            start = start_with_more(solution, before, problem.design)
            solution = solve(problem, clock, start, roughly=True)
    if not solution.complete:
        return fit, solution

    # Selection: keep features whose Bayes factors show an effect for which the other features cannot compensate.
    stays = np.ones(len(problem.shapes), dtype=bool)
    if drop:
        fit, stays = select_features(fit, problem, solution, final_rows, options.included)
        if not stays.any():  # no feature has an effect
            return fit, solution

    # Trust: discount counted contributions, because cuts lie where the steps in these rows are largest. Deviations
    # compensate for the discount where the rows support it. A fit to many rows needs no discount: it would reach the
    # same optimum, but later.
    if informative_rows(fit.loss.rows.n_of_classes) <= FEW_ROWS:
        trust = np.full(len(fit.terms), _TRUST)
        for i, term in enumerate(fit.terms):
            is_numeric = term.cells is not None and term.cells.kind == "numeric"
            if is_numeric and term.of_level.size > N_COSINES:  # a few cells hardly overfit
                trust[i] = _TRUST_IN_CUTS
            if term.is_refitted:
                trust[i] = 1.0
        terms = [term.weighted(float(share * term.weight)) for term, share in zip(fit.terms, trust, strict=True)]
        fit = replace(fit, terms=terms)

    # Final fit to the sample, starting from the rough fit.
    start = start_with_fewer(solution, problem.design, stays)
    return fit, solve(fit.problem(options.n_jobs), clock, start, followed=followed)


def held_out_factor(fit: JointFit, levels: Sequence[FeatureLevels], options: FitOptions, clock: Clock) -> float:
    """Return the factor of at most 1 on all contributions that predicts held-out rows best, with features selected on
    the other rows.

    One standard error is added to the factor, because models of fewer rows are more overconfident. The factor is 1 if
    the time limit ends a fit.

    Parameters
    ----------
    fit : all candidate terms, before their selection, and the rows.
    levels, options, clock : as in `fit_jointly`.
    """
    loss, rows = fit.loss, fit.loss.rows
    fold = np.concatenate(deal_folds(fit.problem(options.n_jobs)))
    contributions = np.zeros((fold.size, rows.n_classes))
    for number in range(_HELD_OUT_FOLDS):
        held_out = fold == number
        if held_out.all():  # all rows of each class are equal, so that no rows remain for training
            continue
        others = replace(fit, loss=loss.with_row_weights(np.where(held_out, 0.0, rows.weights)))
        best, solution = fit_to_sample(others, levels, others.loss.rows, options, clock, followed=True)
        if not solution.complete:
            return 1.0
        if best.terms or best.surfaces:
            contributions[held_out] = best.contributions(solution, options.n_jobs)[held_out]
    weights = np.where(fold < _HELD_OUT_FOLDS, rows.weights, 0.0)
    is_class = rows.classes[:, None] == np.arange(rows.n_classes)

    def negative_log_likelihood(point: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the log loss of the held-out rows in nats, and its gradient.

        ``point`` (1 + n_classes,) holds the factor on the contributions, then the intercept.
        """
        logs = log_softmax(loss.prior + point[0] * contributions + point[1:], axis=1)
        residuals = weights[:, None] * (np.exp(logs) - is_class)
        gradient = np.append((residuals * contributions).sum(), residuals.sum(axis=0))
        return -float(weights @ logs[is_class]), gradient

    start = np.append(1.0, np.zeros(rows.n_classes))
    factor, *intercept = minimize(negative_log_likelihood, start, jac=True, method="BFGS").x
    shares = softmax(loss.prior + factor * contributions + intercept, axis=1)
    away = contributions - (shares * contributions).sum(axis=1, keepdims=True)
    curvature = float(weights @ (shares * away**2).sum(axis=1))
    return min(1.0, round(factor + 1.0 / math.sqrt(max(curvature, 1e-300)), _DIGITS_OF_FACTOR))


def shrink(fit: JointFit, solution: Solution, factor: float, n_jobs: int | None) -> tuple[JointFit, Solution]:
    """Multiply all contributions by ``factor``, refit the intercept, and return the changed fit and solution.

    ``n_jobs`` is the number of threads.
    """
    rows, loss, errors = fit.loss.rows, fit.loss, solution.errors
    offset = factor * fit.contributions(solution, n_jobs) + loss.prior - rows.log_prior
    intercept = factor * solution.intercept + intercept_for(offset, rows.classes, rows.weights)
    if errors is not None:
        variances = [factor**2 * array for array in errors.variances]
        factors = [factor * array for array in errors.factors]
        errors = replace(errors, variances=variances, factors=factors, intercept=factor * errors.intercept)
    fit = replace(fit, terms=[term.weighted(factor * term.weight) for term in fit.terms])
    tables = [factor * array for array in solution.tables]
    return fit, replace(solution, tables=tables, intercept=intercept, errors=errors)


def select_features(
    fit: JointFit, problem: EvidenceProblem, solution: Solution, final_rows: CalibrationRows, included: Collection[int]
) -> tuple[JointFit, np.ndarray]:
    """Drop features without an effect, and features and surfaces (joint contributions of two features) for which others
    can compensate.

    Parameters
    ----------
    fit, problem, solution : terms and surfaces, and their rough fit.
    final_rows : rows of the final fit, on which each term is tested by itself.
    included : positions of the features that must stay.

    Returns
    -------
    tuple
        Fit of the remaining features, with refitted weights; and a mask of the terms, then the surfaces, that stay.
    """
    n, features = len(fit.terms), np.array([term.feature for term in fit.terms])
    assert solution.log_bayes is not None
    assert solution.effects is not None

    # Test each term alone and given all others, and take the mean of both Bayes factors. Like each of them, the mean
    # reaches B in at most one of B tables if there is no effect. Surfaces are only tested given the terms.
    log_bayes = solution.log_bayes.copy()
    codes = codes_of_terms(fit, final_rows)
    counts = [
        final_rows.effective_counts(of_rows, term.shape.n_cells) for term, of_rows in zip(fit.terms, codes, strict=True)
    ]
    alone = np.array([log_bayes_alone(term.shape, table) for term, table in zip(fit.terms, counts, strict=True)])
    log_bayes[:n] = np.logaddexp(alone, log_bayes[:n]) - math.log(2.0)
    probabilities = inclusion_probabilities(log_bayes[:n], fit.n_candidates)
    is_kept = useful_features(fit, problem, solution)
    is_kept[:n] &= probabilities >= LEAST_PROBABILITY
    is_kept[:n] |= np.isin(features, list(included))
    dropped = np.flatnonzero(~is_kept[:n])
    effects = Effects(*(of_features[dropped] for of_features in solution.effects))
    squares = np.einsum("kjv,kv->kj", effects.squares, softmax(effects.log_bayes, axis=1))  # if they matter
    for i, k in enumerate(dropped.tolist()):
        # For levels with few rows the normal approximation is poor: use their counts. A term with an effect was dropped
        # because others compensate for it; then only its effect given the others is omitted.
        if probabilities[k] < LEAST_PROBABILITY and not fit.terms[k].shape.rare_single_cells:
            squares[i] = expected_squares_of_cells(counts[k])
    omitted = omitted_variances(effects, squares, probabilities[dropped])

    # Refit the weights to compensate for the dropped features.
    terms = [
        replace(term, codes_of_final_rows=of_rows)  # the last fit needs them again
        for term, of_rows, stays in zip(fit.terms, codes, is_kept, strict=False)
        if stays
    ]
    surfaces = dict(pair for pair, stays in zip(fit.surfaces.items(), is_kept[n:], strict=True) if stays)
    factor = fit.factor
    if any(fit.terms[i].weight != 0.0 for i in dropped.tolist()):
        stays = np.isin(np.arange(fit.averaged.size), features[is_kept[:n]])
        weights, factor = fit.loss.refit_weights(np.where(stays, fit.averaged, 0.0))
        terms = [term.weighted(float(weights[term.feature])) for term in terms]
    smaller = replace(fit, terms=terms, surfaces=surfaces, factor=factor, log_bayes=log_bayes[is_kept])
    return replace(smaller, omitted_variances=omitted), is_kept


def codes_of_terms(fit: JointFit, final_rows: CalibrationRows) -> list[np.ndarray]:
    """Return the cell of each row of ``final_rows``, (n_rows,), for each term (feature of the table) of ``fit``."""
    if final_rows.positions.size == fit.loss.rows.positions.size:
        return [term.codes for term in fit.terms]
    codes = final_rows.codes_by({term.feature: term.cells for term in fit.terms if term.codes_of_final_rows is None})
    return [codes[term.feature] if term.codes_of_final_rows is None else term.codes_of_final_rows for term in fit.terms]


def log_bayes_alone(shape: Shape, counts: np.ndarray) -> float:
    """Return the log Bayes factor of a feature's effect on the classes against no effect, without other features, in
    nats.

    Numeric columns are tested as a curve and as single cells, because numbers may be codes of categories, whose effects
    do not follow a curve.

    Parameters
    ----------
    shape : shape of the term.
    counts : (n_cells, n_classes) number of rows.
    """
    if not shape.rare_single_cells:
        return log_bayes_of_cells(counts)
    of_curve = log_bayes_of_curve(counts, shape.basis()[:, shape.groups < shape.n_groups - shape.n_jumps])
    if not shape.single_cells:
        return of_curve
    return float(np.logaddexp(of_curve, log_bayes_of_cells(counts))) - math.log(2.0)


def useful_features(fit: JointFit, problem: EvidenceProblem, solution: Solution) -> np.ndarray:
    """Return a mask of the features worth keeping, (n,): first terms (features of the table), then surfaces (joint
    contributions of two features).

    A feature is dropped if it saves fewer nats than the penalty of its effective coefficients; the other features are
    rescaled to compensate for it. Many weak features together may be worth more than their penalty. All dropped
    features together may therefore save only a small share of the nats that all features save.

    Parameters
    ----------
    fit : terms and surfaces.
    problem, solution : their fitting problem, and its solution.
    """
    loss, n_terms, n = fit.loss, len(fit.terms), len(solution.tables)
    rows = loss.rows
    sample = rows.draw(max(_FEWEST_ROWS, _MOST_CONTRIBUTIONS // (n * rows.n_classes)))
    few = np.searchsorted(sample, rows.draw(min(sample.size, CURVATURE_ROWS)))

    # Contributions to the rows of a sample: counted contributions without the row itself, plus deviations.
    position = {k: at for at, k in enumerate(rows.features.tolist())}
    codes = [*(term.codes for term in fit.terms), *fit.surfaces.values()]
    contributions = np.empty((n, sample.size, rows.n_classes), dtype=np.float32)
    for i, (table, shape) in enumerate(zip(solution.tables, problem.shapes, strict=True)):
        term = fit.terms[i] if i < n_terms else None
        if term is not None and term.correction is not None:
            table = table + term.weight * term.correction
        contributions[i] = shape.look_up(table, codes[i][sample])
        if term is not None and term.weight > 0:
            contributions[i] += term.weight * loss.contributions_of(position[term.feature], sample)

    # Prices in nats, by effective coefficients; those of surfaces also grow with the number of features.
    total = rows.weights.sum()
    null = loss_without_features(rows)
    penalties = np.minimum(_NATS_PER_DEVIATION * (1.0 + solution.effective), _MOST_PRICE * null)
    penalties[n_terms:] = 1.0 + solution.effective[n_terms:] + _NATS_PER_CHOICE * np.log(n)
    prior = loss.prior if rows.offset is None else loss.prior[sample]
    joint = contributions.sum(axis=0) + prior + solution.intercept
    weights = rows.weights[sample] * (total / rows.weights[sample].sum())
    explained = null + float(weights @ log_softmax(joint, axis=1)[np.arange(sample.size), rows.classes[sample]])
    predicted = JointRows(joint, rows.classes[sample], weights, few)
    return worth_keeping(contributions, predicted, penalties, _MOST_LOST * max(0.0, explained))


def loss_without_features(rows: CalibrationRows) -> float:
    """Return the log loss of the rows, in nats, if each is predicted by the class shares and, if there is one, its
    offset.
    """
    if rows.offset is None:
        total = rows.weights.sum()
        return float(entr(rows.weights_of_classes / total).sum() * total)
    joint = rows.log_prior + rows.offset + intercept_for(rows.offset, rows.classes, rows.weights)
    return -float(rows.weights @ log_softmax(joint, axis=1)[np.arange(rows.classes.size), rows.classes])


def fit_to_every_row(
    fit: JointFit, solution: Solution, final_rows: CalibrationRows, n_jobs: int | None, clock: Clock
) -> tuple[JointFit, Solution]:
    """Fit the selected features and surfaces of ``fit`` to all rows, starting from their solution for a sample.

    ``final_rows`` are the rows, ``n_jobs`` the number of threads, and ``clock`` the time limit. Return the terms and
    surfaces with the codes of these rows, and their solution.
    """
    cells = {term.feature: term.cells for term in fit.terms}
    codes = dict(zip(cells, codes_of_terms(fit, final_rows), strict=True))

    # Parts of surfaces whose term was dropped, or whose steps are cells of their own, are coded in addition.
    codes_of_axes = {}
    for axis in dict.fromkeys(axis for surface in fit.surfaces for axis in surface.axes):
        is_coded = axis.feature in cells and axis.cells is cells[axis.feature]
        codes_of_axes[axis] = (codes if is_coded else final_rows.codes_by({axis.feature: axis.cells}))[axis.feature]
    terms = [replace(term, codes=codes[term.feature], codes_of_final_rows=None) for term in fit.terms]
    grids = {surface: surface.codes(*(codes_of_axes[axis] for axis in surface.axes)) for surface in fit.surfaces}
    weighing = np.flatnonzero(fit.weights[final_rows.features])
    # Without positive weights, one feature of weight 0: a loss needs one.
    loss = fit.loss.on_rows(final_rows, weighing if weighing.size else np.array([0]))
    more = replace(fit, terms=terms, surfaces=grids, loss=loss)
    problem = more.problem(n_jobs)
    wider = np.maximum(solution.deviations, _LEAST_DEVIATION)
    deviations = np.where(problem.design.is_jump, solution.deviations, wider)
    return more, solve(problem, clock, (solution.point, deviations), nearby=solution)


class JointRows(NamedTuple):
    """Rows with their predictions, on which `worth_keeping` evaluates features.

    Parameters
    ----------
    joint : (n_rows, n_classes) log joint, including all contributions.
    classes : (n_rows,) positions of the classes.
    weights : (n_rows,) row weights.
    few : positions of about `CURVATURE_ROWS` rows for computing curvatures.
    """

    joint: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    few: np.ndarray | slice = slice(None)


def worth_keeping(
    contributions: np.ndarray, rows: JointRows, penalties: np.ndarray, max_increase: float = np.inf
) -> np.ndarray:
    """Return a mask of the features worth more than their penalty, shape (n_features,).

    Features are dropped one after the other, starting with the one that is worth least. The worth of a feature is the
    increase of the log loss without it, with all other features rescaled to compensate for it. It is estimated from the
    curvature of the loss over a few rows, as in the optimal brain surgeon (Hassibi and Stork 1993), and confirmed by
    the loss of all rows.

    Parameters
    ----------
    contributions : (n_features, n_rows, n_classes) contributions in nats.
    rows : predictions with all features.
    penalties : (n_features,) nats that each feature must save.
    max_increase : largest increase of the log loss, in nats, by all dropped features together.
    """
    from bayesieve.evidence._kernels import residuals

    joint, classes, weights, few_positions = rows
    # Make rows the last axis, so that long loops run over contiguous memory.
    centred = np.ascontiguousarray(contributions.transpose(0, 2, 1))
    if joint.shape[1] == 2:  # a single logit needs half the memory
        centred, joint = np.diff(centred, axis=1), np.diff(joint, axis=1)
    else:
        centred -= centred.mean(axis=1, keepdims=True)
    others = joint - centred.sum(axis=0).T
    share = float(weights[few_positions].sum() / max(float(weights.sum()), 1e-300))
    few, penalties = np.ascontiguousarray(centred[:, :, few_positions]), penalties.astype(np.float64)
    left, factors = np.arange(len(centred)), np.ones(len(centred))
    loss, at_once = residuals(joint.astype(np.float64, order="C"), classes, weights), max(1, left.size // _AT_ONCE)
    highest = loss + max_increase
    inverse: np.ndarray | None = None
    with one_blas_thread():  # a fixed order of sums makes the result reproducible
        while left.size > 1:
            if inverse is None:
                inverse = _inverse_curvature(
                    few[left], factors[left], joint[few_positions], weights[few_positions], share
                )
            dropped, changes = _cheapest(inverse, penalties[left], at_once)
            if dropped.size == 0:
                break
            following = factors.copy()
            following[left] *= changes
            without = others + np.tensordot(following.astype(few.dtype), centred, axes=1).T
            higher = residuals(without.astype(np.float64, order="C"), classes, weights)
            if higher - loss <= penalties[left[dropped]].sum() and higher <= highest:
                joint, loss, inverse, factors = without, higher, None, following
                left = np.delete(left, dropped)
            elif dropped.size == 1:
                penalties[left[dropped]] = 0.0  # the feature stays
            else:
                at_once = dropped.size // 2
    return np.isin(np.arange(len(contributions)), left)


def _inverse_curvature(
    centred: np.ndarray, factors: np.ndarray, joint: np.ndarray, weights: np.ndarray, share: float
) -> np.ndarray:
    """Return the inverse matrix of second derivatives of the loss by a factor on each feature's contributions, shape
    (n_features, n_features).

    Parameters
    ----------
    centred : (n_features, n_classes, n_rows) contributions to the log joint, or to the logit of two classes;
        overwritten.
    factors : (n_features,) current factors on the contributions.
    joint : (n_rows, n_classes) log joint of the rows, or (n_rows, 1) logit of two classes.
    weights : (n_rows,) row weights.
    share : share of these rows in the weight of all rows.
    """
    largest = max(float(weights.max()), 1e-300)  # scaled, because weights may exceed the range of single precision
    if joint.shape[1] == 1:
        probability = expit(joint.T)
        shares = probability * (1.0 - probability)
    else:
        shares = softmax(joint.T, axis=0)
        centred -= np.einsum("kjr,jr->kr", centred, shares.astype(centred.dtype))[:, None]
    centred *= np.sqrt(shares * (weights / largest)).astype(centred.dtype)
    design = centred.reshape(len(centred), -1).astype(np.float32, copy=False)
    curvature = (design @ design.T).astype(np.float64) * (largest / max(share, 1e-300))
    curvature *= factors * factors[:, None]
    curvature[np.diag_indices_from(curvature)] += _FACTOR_PRECISION
    return inv(curvature, overwrite_a=True)


def _cheapest(inverse: np.ndarray, penalties: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of up to ``most`` features worth less than their penalties, and factors (n_features,) by
    which all other features compensate for them.

    Parameters
    ----------
    inverse : (n_features, n_features) inverse curvature of the loss by a factor on each feature's contributions.
    penalties : (n_features,) nats that each feature must save.
    most : largest number of features.
    """
    variances, factors = np.diag(inverse).copy(), np.ones(len(inverse))
    most = min(most, len(inverse) - 1)
    dropped: list[int] = []
    # Low-rank update: the inverse without the dropped features is the inverse minus outer products of these lines.
    # Updating the whole inverse after each feature would take quadratic time.
    lines = np.empty((most, len(inverse)))
    for n in range(most):
        profit = penalties - factors**2 / (2.0 * np.maximum(variances, 1e-300))
        profit[dropped] = -np.inf
        k = int(np.argmax(profit))
        if profit[k] < 0.0:
            break
        line = inverse[k] - lines[:n, k] @ lines[:n]
        pivot = max(line[k], 1e-300)
        lines[n] = line / np.sqrt(pivot)
        variances -= lines[n] ** 2
        factors = factors - factors[k] * line / pivot
        dropped.append(k)
        factors[dropped] = 0.0
    return np.array(dropped, dtype=np.int64), factors

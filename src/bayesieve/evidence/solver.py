"""Solver of the fit of contributions: the most probable coefficients, under priors whose variances maximise the
marginal likelihood (empirical Bayes).

Coefficients multiply the basis functions by which contributions deviate from the counted ones. Coefficients of a
*group* share a prior variance. A *jump* is a possible step in the smooth curve of a numeric column.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.linalg import eigh

from bayesieve.engine.base import one_blas_thread
from bayesieve.engine.progress import Clock
from bayesieve.evidence.inclusion import (
    LEAST_POSTERIOR,
    TRIED_VARIANCES,
    Effects,
    averaged_log_bayes,
    expected_squares,
    log_bayes_factors,
    log_evidence,
)
from bayesieve.evidence.problem import (
    CovarianceRoot,
    Curvature,
    Design,
    EvidenceProblem,
    PosteriorErrors,
    Stop,
    find_mode,
    laplace_covariance_root,
    logit_scale,
    posterior_errors,
)
from bayesieve.evidence.shapes import most_functions

_FIRST_DEVIATION = 0.2
_MOST_VARIANCE = 100.0  # bound for features that separate the classes perfectly (benchmarks/decisions/curves.md)
_NEGLIGIBLE_VARIANCE = 1e-4  # squared nats, that is deviations of 0.01
_SAME_LOGARITHM = 0.1  # change of the logarithm of a variance in a round at which it counts as converged
_JUMP_VARIANCES = np.append(TRIED_VARIANCES, [3.0, 10.0])  # prior variances of jumps that are tried
_NATS_OF_JUMP = 3.5  # nats that a jump must gain over the best curve without it (benchmarks/decisions/curves.md)
_CURVE_FACTORS = 4.0 ** np.arange(6)  # tried factors on the variance of a curve that imitates a jump
_MOST_ROUNDS, _ROUGH_ROUNDS = 10, 4
_STEPS_OF_ROUND, _STEPS_NEARBY, _LAST_STEPS = 4, 2, 80
_LONGER_STEPS = 1.5  # factor on steps of log variances, which approach their optimum geometrically
_MOST_CHANGE = 5.0  # largest factor on a variance in one round, because coefficients are not at their optimum yet
_MOST_EXPECTED = 16.0  # largest tried expected variance, relative to the initial one
_LEAST_GAIN = 0.5  # nats on held-out rows that another expected variance must gain
_FOLDS, _STEPS_OF_FOLD, _ROUNDS_NEARBY = 5, 8, 4
_LAST_SLOPE, _SLOPE_NEARBY = 1e-9, 1e-2  # accepted distances of a parameter from its optimum, in standard errors
_SLOPE_OF_CLASSES = 1e-7  # for several classes; the loss is then within about 1e-12 nats of the optimum
_DIGITS_OF_VARIANCES = 2  # decimals of log variances
# Least curvature of the loss by an intercept, the sum of p (1 - p) over the rows, by which squared effects are divided.
# It is near 0 if the other features predict a class with certainty, and nothing is known about further effects then.
_LEAST_CURVATURE = 1.0
FEW_ROWS = 20_000
"""Number of rows up to which fitting many weak features is worth the time."""

Start = tuple[np.ndarray, np.ndarray]
"""Point (n_parameters, n_logits), and standard deviations (n_groups,) of priors, 0 for groups that do not deviate."""


@dataclass(frozen=True)
class Solution:
    """Fitted deviations (corrections of counted contributions) of all features.

    Parameters
    ----------
    tables : for each feature, (n_cells, n_classes) deviations in nats.
    intercept : (n_classes,) deviation of the intercept in nats.
    deviations : (n_groups,) prior standard deviations of the coefficients; 0 for dropped groups.
    complete : False if the fit ended early.
    effective : (n_features,) effective number of coefficients that the rows determine.
    point : (n_parameters, n_logits) fitted parameters.
    loss : log loss of the rows at ``point``, in nats.
    expected_variance : expected variance of deviations, in the prior of variances; 0 without such a prior.
    errors : posterior errors of the deviations; None if another fit follows.
    log_bayes : (n_features,) log Bayes factors of the deviations of each feature against none, in nats; only after a
        rough fit, otherwise None.
    effects : log Bayes factors and squared effects by prior variance; only after a rough fit, otherwise None.
    """

    tables: list[np.ndarray]
    intercept: np.ndarray
    deviations: np.ndarray
    complete: bool
    effective: np.ndarray
    point: np.ndarray
    loss: float
    expected_variance: float
    errors: PosteriorErrors | None = None
    log_bayes: np.ndarray | None = None
    effects: Effects | None = None


def solve(
    problem: EvidenceProblem,
    clock: Clock | None = None,
    start: Start | None = None,
    *,
    roughly: bool = False,
    nearby: Solution | None = None,
    followed: bool = False,
) -> Solution:
    """Return the most probable deviations (corrections of counted contributions), under priors whose variances have the
    highest marginal likelihood.

    Coefficients have normal priors around 0, with one variance for each group of basis functions of a feature.
    Variances maximise the Laplace approximation of the marginal likelihood, without held-out rows. They are updated by
    s^2 = sum of squared coefficients / effective number of coefficients until they converge (MacKay 1992, Wood and
    Fasiolo 2017).

    In a rough fit, and with many rows, the variance of groups without deviations converges to 0; such groups are
    dropped as soon as their variance is negligible. Otherwise variances have a prior, too, which acts like one more
    coefficient of an expected size, because with few rows many weak features together are worth more than the few
    strongest ones. The expected size is chosen by five-fold cross-validation.

    Parameters
    ----------
    problem : rows, offsets and shapes.
    clock : time limit, None for no limit. When it is over, or after Ctrl-C, the deviations so far are returned.
    start : starting point, from `start_with_more` or `start_with_fewer`; None for a fit from zero.
    roughly : whether to make only a few rounds, which is enough to estimate which features have an effect. Jumps are
        excluded; the result marks the jumps that improve the fit, which deviate in a fit that starts from it.
    nearby : solution for a sample of the rows, if ``start`` comes from it; fewer steps are needed then.
    followed : whether a fit to more rows starts from the result, which then need not converge fully.
    """
    n_rounds = _ROUGH_ROUNDS if roughly else _MOST_ROUNDS if start is None else _MOST_ROUNDS - _ROUGH_ROUNDS
    design, clock = problem.design, Clock(None) if clock is None else clock
    if start is None:
        point = np.zeros((design.n_parameters, design.n_logits))
        first = np.where(design.is_jump, 0.0, _FIRST_DEVIATION)
    else:
        point, first = start[0], np.where(design.is_jump, 0.0, start[1]) if roughly else start[1]
    few = not roughly and problem.n_informative <= FEW_ROWS
    expected_variance = 0.0 if not few else problem.expected_variance if nearby is None else nearby.expected_variance
    errors, log_bayes, effects, complete = None, None, None, False
    jumps = np.zeros(design.n_groups, dtype=bool)
    # Use one thread: matrices are small, and a fixed order of sums makes results reproducible.
    with one_blas_thread():
        search = VarianceSearch(problem, point, first**2, nearby is not None)
        try:
            search.improve(n_rounds, expected_variance, clock)
            if not roughly and nearby is None:
                search.drop_jumps(expected_variance, clock)
            if few and nearby is None:
                search = choose_expected_variance(search, clock)
            complete = not clock.is_up
            if complete and roughly:
                covariance_root = search.covariance_root()
                (log_bayes, effects), jumps = search.effects(covariance_root), search.jumps_that_pay(covariance_root)
            elif complete and not followed:
                errors = search.posterior_errors(settle=True)
        except KeyboardInterrupt:
            complete = False
        if not complete:
            errors = search.posterior_errors(settle=False)

    # Groups that the search dropped do not deviate: their variance stays 0.
    deviations, at = np.zeros(design.n_groups), np.zeros((design.n_parameters, design.n_logits))
    deviations[search.groups], at[search.parameters] = np.sqrt(search.variances), search.mode.point
    deviations[jumps] = _FIRST_DEVIATION
    tables, intercept = problem.deviations(at)
    return Solution(
        tables=tables,
        intercept=intercept,
        deviations=deviations,
        complete=complete,
        effective=np.bincount(design.feature, search.effective, design.n_cells.size),
        point=at,
        loss=search.mode.loss,
        expected_variance=search.expected_variance,
        errors=errors,
        log_bayes=log_bayes,
        effects=effects,
    )


class VarianceSearch:
    """Alternating search for the prior variances and the coefficients.

    Parameters
    ----------
    whole : the problem with all groups of coefficients.
    point, variances : initial parameters (n_parameters, n_logits) and prior variances (n_groups,).
    nearby : whether the initial values are close to the optimum.

    Attributes
    ----------
    problem, sample : the problem without groups of negligible variance, and a sample of rows for its curvature.
    groups, parameters : positions of its groups and parameters in the whole problem.
    mode : current values of the remaining parameters, with the loss and its gradient.
    variances, curvature : prior variances of the remaining groups, and curvature of the loss by the remaining
        parameters.
    effective : (n_groups of the whole problem,) effective number of coefficients that the rows determine.
    expected_variance : expected variance of deviations, in the prior of variances; 0 without such a prior.
    """

    def __init__(self, whole: EvidenceProblem, point: np.ndarray, variances: np.ndarray, nearby: bool) -> None:
        self.whole = self.problem = whole
        self.whole_sample = self.sample = whole.draw_sample()
        self.mode, self.variances = whole.evaluate(point), variances
        self.groups, self.parameters = np.arange(whole.design.n_groups), np.arange(whole.design.n_parameters)
        self.effective, self.expected_variance = np.zeros(whole.design.n_groups), 0.0
        self.curvature: Curvature | None = None
        self._steps, self._tolerance = (_STEPS_NEARBY, _SLOPE_NEARBY) if nearby else (_STEPS_OF_ROUND, _LAST_SLOPE)
        self._keep(variances > 0)

    def _keep(self, kept_groups: np.ndarray) -> None:
        """Drop all groups of coefficients except those marked in the mask ``kept_groups`` (n_groups,)."""
        if kept_groups.all():
            return
        problem, sample, is_kept = self.problem.narrowed(kept_groups, self.sample)
        mode, curvature = problem.evaluate(self.mode.point[is_kept]), self.curvature
        if curvature is not None:
            n_dense = curvature.dense.shape[1]
            dense = np.flatnonzero(is_kept[:n_dense])
            curvature = Curvature(curvature.dense[:, dense[:, None], dense], curvature.single[is_kept[n_dense:]])
        self.problem, self.sample, self.mode, self.curvature = problem, sample, mode, curvature
        self.parameters, self.groups, self.variances = (
            self.parameters[is_kept],
            self.groups[kept_groups],
            self.variances[kept_groups],
        )

    def improve(
        self,
        n_rounds: int,
        expected_variance: float,
        clock: Clock,
        *,
        factor: float = 1.0,
        curvature: Curvature | None = None,
    ) -> None:
        """Update coefficients and variances in turn until the variances converge, for at most ``n_rounds`` rounds.

        Parameters
        ----------
        n_rounds : largest number of rounds.
        expected_variance : expected variance of deviations, which acts like one more coefficient of that size in each
            group; 0 for none.
        clock : time limit; when it is over, the current round is the last.
        factor : factor on all variances before the first round.
        curvature : curvature of the loss at the current coefficients; None if it is not known yet.
        """
        self.variances, self.expected_variance = self.variances * factor, expected_variance
        for number in range(n_rounds):
            # Update the coefficients, given the current variances.
            if number <= 2 or number % 2 == 0:  # later, renew it every other round only, because it changes little
                self.curvature = curvature if number == 0 else None
            covariance_root = self.covariance_root()
            self.mode = find_mode(self.problem, self.mode, covariance_root, Stop(self._steps, self._tolerance))
            # Variances for the current coefficients: the sum of squares of each group divided by its effective number,
            # extrapolated. An expected variance acts like one more coefficient of that size.
            design = self.problem.design
            effective = np.bincount(design.group, covariance_root.effective, design.n_groups + 1)[:-1]
            of_logits = np.bincount(design.group, (self.mode.point**2).sum(axis=1), design.n_groups + 1)[:-1]
            squares = logit_scale(design.n_logits).square * of_logits + expected_variance * design.expected
            best = np.maximum(squares / np.maximum(effective + (expected_variance > 0), 1e-9), 1e-9)
            change = np.clip((best / self.variances) ** _LONGER_STEPS, 1.0 / _MOST_CHANGE, _MOST_CHANGE)
            following = np.minimum(self.variances * change, _MOST_VARIANCE)
            following = np.where(best < _NEGLIGIBLE_VARIANCE, np.minimum(best, following), following)
            self.effective = np.zeros(self.whole.design.n_groups)
            self.effective[self.groups] = effective
            kept_groups = (following > _NEGLIGIBLE_VARIANCE) | (following > self.variances)
            difference = np.abs(np.log(following[kept_groups] / self.variances[kept_groups])).max(initial=0.0)
            self.variances = following
            self._keep(kept_groups)
            if difference < _SAME_LOGARITHM or clock.is_up:
                break

    def covariance_root(self) -> CovarianceRoot:
        """Return the root of the posterior covariance at the current coefficients, from the curvature of loss plus
        prior.

        The curvature of the last round is used if it is still available, otherwise it is computed.
        """
        if self.curvature is None:
            self.curvature = self.problem.curvature(self.mode.point, self.sample)
        return laplace_covariance_root(self.problem.design, self.curvature, self.variances)

    def optimum(self, covariance_root: CovarianceRoot) -> np.ndarray:
        """Return the coefficients, (n_parameters, n_logits), after one Newton step from the current ones: nearly the
        minimum of loss and prior.

        ``covariance_root`` is the root of the posterior covariance at the current coefficients.
        """
        gradient = self.mode.gradient + self.mode.point / covariance_root.priors[:, None]
        return self.mode.point - covariance_root.apply(covariance_root.apply(gradient, transposed=True))

    def effects(self, covariance_root: CovarianceRoot) -> tuple[np.ndarray, Effects]:
        """Return the log Bayes factor of each feature's deviations (corrections of counted contributions) against none,
        (n_features,) in nats, and `Effects` by prior variance.

        All other features keep their deviations. ``covariance_root`` is that of the current coefficients.
        """
        design, priors = self.problem.design, covariance_root.priors
        assert self.curvature is not None
        point = self.optimum(
            covariance_root
        )  # where dividing the posterior of a group by its prior gives its likelihood
        n, (square, share) = covariance_root.dense.shape[1], logit_scale(design.n_logits)
        variances = TRIED_VARIANCES / square
        logs = np.zeros((design.n_groups, variances.size))
        squares = np.zeros((design.n_groups, design.n_logits, variances.size))
        # Basis functions: the coefficients of a group are independent along the axes of its posterior.
        order = np.argsort(design.group[: n - 1], kind="stable")
        ends = np.searchsorted(design.group[order], np.arange(design.n_groups + 1))
        for j in range(design.n_logits):
            for group, (begin, end) in enumerate(pairwise(ends.tolist())):
                if end > begin:
                    at = order[begin:end]
                    roots = covariance_root.dense[j, at].astype(float)
                    posterior, axes = eigh(roots @ roots.T)
                    posterior = np.maximum(posterior, LEAST_POSTERIOR)
                    precisions = np.maximum(1.0 / posterior - 1.0 / priors[at[0]], 0.0)
                    gradients = (axes.T @ point[at, j]) / posterior
                    logs[group] += log_bayes_factors(gradients[:, None], precisions[:, None], variances).sum(axis=0)
                    squares[group, j] = expected_squares(gradients, precisions, variances)
        # Coefficients of single cells: posterior correlations between them are ignored, so that the log Bayes factor of
        # a group is the sum of those of its cells.
        single = np.arange(n, design.n_parameters)
        posterior = np.maximum(covariance_root.single**2, LEAST_POSTERIOR)
        precisions = np.maximum(1.0 / posterior - (1.0 / priors[single])[:, None], 0.0)
        for group in np.unique(design.group[single]).tolist():
            cells = design.group[single] == group
            gradients = (point[single] / posterior)[cells]
            of_cells = log_bayes_factors(gradients.ravel()[:, None], precisions[cells].ravel()[:, None], variances)
            logs[group] += of_cells.sum(axis=0)
            for j in range(design.n_logits):
                squares[group, j] = expected_squares(gradients[:, j], precisions[cells, j], variances)

        # Divide squared effects by the curvature of all rows (that of the intercept), then combine groups by feature.
        logs *= share
        squares /= np.maximum(self.curvature.dense[:, -1, -1, None], _LEAST_CURVATURE)
        by_feature = []
        for of_groups in (averaged_log_bayes(logs), logs, squares):
            sums = np.zeros((len(self.whole.shapes), *of_groups.shape[1:]))
            np.add.at(sums, self.whole.design.feature[self.groups], of_groups)
            by_feature.append(sums)
        return by_feature[0], Effects(*by_feature[1:])

    def jumps_that_pay(self, covariance_root: CovarianceRoot) -> np.ndarray:
        """Return a mask of the jumps that may improve the fit in addition to the curves, (n_groups of the whole
        problem,).

        Each jump is tested by its log Bayes factor against no jump, taking the uncertainty of the other coefficients
        into account. `drop_jumps` tests the selected jumps again. ``covariance_root`` is that of the current
        coefficients.
        """
        whole, design, (rows, matrix) = self.whole, self.whole.design, self.whole_sample
        pays = np.zeros(design.n_groups, dtype=bool)
        if not design.is_jump.any() or self.curvature is None:
            return pays
        point = np.zeros((design.n_parameters, design.n_logits))
        point[self.parameters] = self.mode.point
        jumps = np.flatnonzero(design.is_jump[design.group[: design.intercept]])
        gradients = whole.evaluate(point).gradient[jumps]
        _, of_rows = whole.logits_and_curvature(design.basis @ point, point[design.intercept], rows)
        of_rows *= whole.total / float(rows.weights.sum())
        others, steps = matrix[:, self.parameters[: covariance_root.dense.shape[1]]], matrix[:, jumps]
        # The precision of a jump is its curvature minus the part that other coefficients could explain.
        logs, scale = np.zeros((jumps.size, _JUMP_VARIANCES.size)), logit_scale(design.n_logits)
        for root, gradient, of_class in zip(covariance_root.dense, gradients.T, of_rows.T, strict=True):
            weighted = steps * of_class[:, None].astype(steps.dtype)
            by_others = root.T @ (others.T @ weighted)
            left = (steps * weighted).sum(axis=0, dtype=float) - (by_others**2).sum(axis=0, dtype=float)
            precisions = np.maximum(left, 0.0)[:, None]
            logs += log_bayes_factors(gradient[:, None], precisions, _JUMP_VARIANCES / scale.square)
        gains = averaged_log_bayes(logs * scale.share)
        most = max(0, most_functions(whole.n_classes) - self.problem.design.intercept)
        best = np.argsort(-gains, kind="stable")[:most]
        pays[np.flatnonzero(design.is_jump)[best[gains[best] > 0.0]]] = True
        return pays

    def drop_jumps(self, expected_variance: float, clock: Clock) -> None:
        """Drop the jumps that a curve could imitate, and improve the other groups.

        `jumps_that_pay` judged jumps by the gradient of the loss with a steep curve in their place, which is unreliable
        near probabilities of 0 and 1. Here, at the optimum with the jumps, each jump is compared with a curve of larger
        variance and no jump. ``expected_variance`` and ``clock`` are those of `improve`.
        """
        design, whole = self.problem.design, self.whole.design
        if not design.is_jump.any() or clock.is_up:
            return
        covariance_root = self.covariance_root()
        point = self.optimum(covariance_root)
        (square, share), feature = logit_scale(design.n_logits), whole.feature[self.groups]
        stays, group = np.ones(design.n_groups, dtype=bool), design.group[: design.intercept]
        for k in np.unique(feature[design.is_jump]).tolist():
            is_curve = self.groups == np.searchsorted(whole.feature, k)  # the curve is the first group of a feature
            is_jump = design.is_jump & (feature == k)
            jumps, n_curve = np.flatnonzero(is_jump[group]), np.count_nonzero(is_curve[group])
            at = np.append(np.flatnonzero(is_curve[group]), jumps)
            spread = np.sqrt(covariance_root.priors[at])[:, None]
            blocks = [(root[at] / spread, point[at, j] / spread[:, 0]) for j, root in enumerate(covariance_root.dense)]
            # Drop the jump that gains least first, because the others may gain more without it.
            factors, left = np.ones(at.size), list(range(n_curve, at.size))
            while left:
                gains, curves = [], []
                for i in left:
                    tried = np.tile(factors, (_JUMP_VARIANCES.size + _CURVE_FACTORS.size, 1))
                    with_jump, without = np.split(tried, [_JUMP_VARIANCES.size])
                    with_jump[:, i], without[:, i] = _JUMP_VARIANCES / square / covariance_root.priors[at[i]], 0.0
                    without[:, :n_curve] *= _CURVE_FACTORS[:, None]
                    logs = share * np.sum([log_evidence(*block, tried) for block in blocks], axis=0)
                    best = int(np.argmax(logs[_JUMP_VARIANCES.size :]))
                    gains.append(averaged_log_bayes(logs[: _JUMP_VARIANCES.size]) - logs[_JUMP_VARIANCES.size + best])
                    curves.append(without[best])
                worst = int(np.argmin(gains))
                if gains[worst] >= _NATS_OF_JUMP:
                    break
                factors = curves[worst]
                stays[group[at[left.pop(worst)]]] = False
        if not stays.all():
            self._keep(stays)
            self.improve(_ROUNDS_NEARBY, expected_variance, clock)

    def posterior_errors(self, *, settle: bool) -> PosteriorErrors:
        """Return the posterior errors of the deviations (corrections of counted contributions) of all features.

        If ``settle``, the parameters first converge to the optimum.
        """
        if settle:  # rounds end before the optimum, at a point that depends on the order of sums
            self.variances = np.exp(np.round(np.log(self.variances), _DIGITS_OF_VARIANCES))
        covariance_root, tolerance, problem = self.covariance_root(), self._tolerance, self.problem
        if settle:
            # A few steps reach the optimum with the curvature across logits or, for one logit, of all rows.
            scale = covariance_root
            if problem.design.n_logits > 1:
                assert self.curvature is not None
                dense, contrasts = problem.contrast_curvature(self.mode.point, self.sample)
                curvature, tolerance = Curvature(dense, self.curvature.single), max(tolerance, _SLOPE_OF_CLASSES)
                scale = replace(laplace_covariance_root(problem.design, curvature, self.variances), contrasts=contrasts)
            elif tolerance == _LAST_SLOPE and (whole := problem.whole_curvature(self.mode.point)) is not None:
                scale = laplace_covariance_root(problem.design, whole, self.variances)
            self.mode = find_mode(problem, self.mode, scale, Stop(_LAST_STEPS, tolerance, settle=True))
        return posterior_errors(self.whole, covariance_root, self.parameters, self.sample.matrix)


def choose_expected_variance(search: VarianceSearch, clock: Clock) -> VarianceSearch:
    """Return the search with the expected variance that predicts held-out rows best: the initial one, a quarter of it,
    or four or more times as much.

    Values below a quarter are not tried, because cuts, groups and the choice of features already depend on the held-out
    rows (benchmarks/decisions/samples.md). ``search`` has converged with the initial variance; when ``clock`` is up,
    the best search so far is returned.
    """
    folds = deal_folds(search.whole)
    best, loss = search, held_out_loss(search, folds)
    curvature: Curvature | None = None  # at the coefficients of the best, from which each attempt starts
    for factor in (4.0, 0.25):
        while not clock.is_up and best.expected_variance < _MOST_EXPECTED * search.expected_variance:
            other, expected = copy(best), best.expected_variance * factor
            if curvature is None:
                curvature = best.problem.curvature(best.mode.point, best.sample)
            other.improve(_ROUNDS_NEARBY, expected, clock, factor=factor, curvature=curvature)
            changed = held_out_loss(other, folds)
            if changed > loss - _LEAST_GAIN:
                break
            best, loss, curvature = other, changed, None
            if factor < 1.0:
                return best
        if best is not search:
            break
    return best


def held_out_loss(search: VarianceSearch, folds: Sequence[np.ndarray]) -> float:
    """Return the log loss of all rows, in nats, where each fold is predicted by a fit to the other folds with the same
    prior variances.

    ``search`` holds the rows and prior variances; ``folds`` the fold of every row, one array for each chunk, as from
    `deal_folds`.
    """
    covariance_root, problem, total = search.covariance_root(), search.problem, 0.0
    for number in range(_FOLDS):
        held_out = problem.restricted_to([fold == number for fold in folds])
        others = problem.restricted_to([fold != number for fold in folds])
        start = others.evaluate(search.mode.point)
        mode = find_mode(others, start, covariance_root, Stop(_STEPS_OF_FOLD, _SLOPE_NEARBY))
        total += held_out.evaluate(mode.point).loss
    return total


def deal_folds(problem: EvidenceProblem) -> list[np.ndarray]:
    """Return the fold of every row, from 0, as one array per chunk of rows. The distinct rows of each class are
    distributed over the folds in turn.

    Rows are ordered by hashes of their contents, so that folds do not depend on row order.
    """
    classes = np.concatenate([chunk.classes for chunk in problem.chunks])
    pairs = np.stack([classes.astype(np.uint64), problem.row_hashes()])
    ordered, distinct = np.unique(pairs, axis=1, return_inverse=True)
    firsts = np.searchsorted(ordered[0], ordered[0])
    fold = ((np.arange(ordered.shape[1]) - firsts) % _FOLDS)[distinct.ravel()]
    ends = np.cumsum([chunk.classes.size for chunk in problem.chunks])
    return np.split(fold, ends[:-1])


def start_with_more(fitted: Solution, before: Design, after: Design) -> Start:
    """Return a starting point for a problem that has further features after those of the solution ``fitted``.

    ``before`` and ``after`` are the designs of both problems, which number their parameters.
    """
    n_more = after.intercept - before.intercept
    point = np.zeros((after.n_parameters, after.n_logits))
    point[np.r_[: before.intercept, after.intercept : before.n_parameters + n_more]] = fitted.point
    return point, np.append(fitted.deviations, [_FIRST_DEVIATION] * (after.n_groups - before.n_groups))


def start_with_fewer(fitted: Solution, before: Design, is_kept: np.ndarray) -> Start:
    """Return a starting point for a problem with only the features marked in the mask ``is_kept`` (n_features,).

    ``fitted`` is the solution with all features, ``before`` the design of its problem. Groups whose variance became 0
    get a new initial variance, because they may deviate if there are fewer features.
    """
    of_group = is_kept[before.feature]
    deviations = fitted.deviations[of_group]
    deviations = np.where((deviations > 0) | before.is_jump[of_group], deviations, _FIRST_DEVIATION)
    return fitted.point[np.append(of_group, True)[before.group]], deviations

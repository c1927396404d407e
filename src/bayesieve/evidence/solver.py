"""Fitted evidence: counted evidence moved as far as the rows of all features together pay for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise
from operator import add
from typing import Any, TypeVar

import numpy as np
from scipy.linalg import eigh, qr
from scipy.linalg.lapack import get_lapack_funcs
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit, softmax

from bayesieve.counts.row_content import drawn_by_content, keys_of, mixed
from bayesieve.engine.base import map_in_threads, one_blas_thread, row_slices
from bayesieve.engine.progress import Clock
from bayesieve.evidence.inclusion import (
    TRIED_VARIANCES,
    Effects,
    averaged_log_bayes,
    log_bayes_by_variance,
    log_bayes_factors,
    squares_by_variance,
)
from bayesieve.evidence.shapes import Shape, most_directions

_FIRST_DEVIATION = 0.2
_MOST_VARIANCE = 9.0
_NEGLIGIBLE_VARIANCE = 1e-4  # of deviations of 0.01
_SAME_LOGARITHM = 0.1  # of a variance in two rounds
_JUMP_VARIANCES = np.append(TRIED_VARIANCES, [3.0, 10.0])  # that are tried
_NATS_OF_JUMP = 2.0  # that a jump must gain beside the curve (benchmarks/decisions/curves.md)
_RARE = 0.01  # expected variance of jumps and of cells off a curve, relative to others (the same file)
_MOST_ROUNDS, _ROUGH_ROUNDS = 10, 4
_STEPS_OF_ROUND, _STEPS_NEARBY, _LAST_STEPS = 4, 2, 30
_LONGER_STEPS = 1.5  # of the logarithm of a variance, which nears its optimum geometrically
_MOST_CHANGE = 5.0  # factor on a variance in one round, as deviations are not at their optimum yet
_INTERCEPT_PRECISION = 1.0
_EXPECTED_VARIANCE = 0.0625  # of deviations, of two classes if they are equal: the first that is tried
_MOST_EXPECTED = 16.0  # times that
_LEAST_GAIN = 0.5  # nats of left-out rows for which another expected variance is taken
_FOLDS, _STEPS_OF_FOLD, _ROUNDS_NEARBY = 5, 8, 4
_STIFFNESS = 10.0  # curvature per row of the price of evidence that falls where it must not
_CURVATURE_ROWS = 3000  # enough for the curvature, which sets variances and the way to the optimum, not the optimum
_LAST_SLOPE, _SLOPE_NEARBY = 1e-9, 1e-2  # standard errors that a parameter is from its optimum
_SETTLING_STEPS = 50  # without a line search
_LEAST_POSTERIOR = 1e-12  # variance
_MOST_IN_DOUBLE = 250_000  # entries of the curvatures of all classes
FEW_ROWS = 20_000
"""Rows up to which weak features together tell more than they cost in time."""
N_FACTORS = 4
"""Directions in which errors of rows are told apart; their spread is within some 3 % of that of all directions."""
_POWERS = 4
_DIGITS_OF_SHARES = 9
_DIGITS_OF_VARIANCES = 2  # of their logarithms
_NEIGHBOURS = (slice(-1), slice(1, None))
_SIDES = np.array([-0.5, 0.5])
Result = TypeVar("Result")


@dataclass(frozen=True)
class Uncertainty:
    """The posterior of the deviations of a solution, centred over the rows, as far as the rows have a say.

    Parameters
    ----------
    variances : of each feature (n_cells, n_numbers).
    left : of each feature (n_cells, n_numbers), their shares of the variances of the prior.
    factors : of each feature (n_cells, n_numbers, n_factors), what its errors share with those of others: the errors of
        a row are the sum of the factors of its cells, of ``intercept``, and of what is left of the variances.
    intercept : (n_numbers, n_factors).
    """

    variances: Sequence[np.ndarray]
    left: Sequence[np.ndarray]
    factors: Sequence[np.ndarray]
    intercept: np.ndarray


@dataclass(frozen=True)
class Solution:
    """Deviations (n_cells, n_classes) of each feature and of the intercept (n_classes,), in nats, and the standard
    deviations of their priors, feature after feature; ``complete`` is False if the fit was ended early.

    ``effective``: (n_features,) effective number of deviations of each feature, those that the rows determine.
    ``point``: parameters (n_parameters, n_numbers) at the end. ``loss``: log loss of the rows there, in nats.
    ``expected_variance``: of deviations, in the prior of variances; 0 without such a prior.
    ``uncertainty``: of the deviations; None if another fit follows. ``log_bayes``: (n_features,) log Bayes
    factors of the deviations of each feature against none, after a rough fit. ``effects``: those by variance.
    """

    tables: list[np.ndarray]
    intercept: np.ndarray
    deviations: np.ndarray
    complete: bool
    effective: np.ndarray
    point: np.ndarray
    loss: float
    expected_variance: float
    uncertainty: Uncertainty | None = None
    log_bayes: np.ndarray | None = None
    effects: Effects | None = None


Start = tuple[np.ndarray, np.ndarray]
"""Parameters (n_parameters, n_numbers), and standard deviations (n_groups,), 0 for groups that do not deviate."""


def solve(
    problem: EvidenceProblem,
    clock: Clock | None = None,
    start: Start | None = None,
    *,
    roughly: bool = False,
    nearby: Solution | None = None,
    followed: bool = False,
) -> Solution:
    """Deviations with the highest posterior probability, under priors with the highest evidence.

    Deviations are normal around 0, with one variance for each group of directions of a feature. Variances maximise
    the marginal likelihood in its Laplace approximation, without rows held out: s^2 = sum of squared deviations /
    effective number of deviations, again and again (MacKay 1992, Wood and Fasiolo 2017). In a rough fit, and of
    many rows, groups whose counted evidence is good as it is head for a variance of 0, and are left out as soon as it
    is negligible. Otherwise variances have a prior themselves, as if one more deviation of an expected size had been
    seen: with few rows, many weak features together tell more than the few that stand out. The expected size is the
    one that predicts best the rows of each of five folds from the others.

    Parameters
    ----------
    problem : rows, offsets and shapes.
    clock : time limit; when it is over, as after Ctrl-C, the deviations so far are returned.
    start : from `EvidenceProblem.without` or `followed_by`.
    roughly : a few of the rounds, enough to see which features matter; a fit with a ``start`` has the others left.
        Jumps are left out, and those that pay for themselves deviate in the fit that starts from this one.
    nearby : the solution for some of the rows, where the ``start`` comes from: fewer steps lead from there.
    followed : whether a fit to more rows starts from this one, which then need not settle.
    """
    n_rounds = _ROUGH_ROUNDS if roughly else _MOST_ROUNDS if start is None else _MOST_ROUNDS - _ROUGH_ROUNDS
    at, deviations = np.zeros((problem.n_parameters, problem.n_numbers)), np.full(problem.n_groups, _FIRST_DEVIATION)
    point, first = (at, deviations) if start is None else start
    if roughly or start is None:
        first = np.where(problem.is_jump, 0.0, first)
    clock = Clock(None) if clock is None else clock
    few = not roughly and problem.n_rows <= FEW_ROWS
    expected_variance = 0.0 if not few else problem.expected_variance if nearby is None else nearby.expected_variance
    search = _VarianceSearch(problem, (point, first), nearby is not None)
    uncertainty, log_bayes, effects, complete = None, None, None, False
    jumps = np.zeros(problem.n_groups, dtype=bool)
    # One thread: matrices are small, and sums come in one order.
    with one_blas_thread():
        try:
            search.run(n_rounds, expected_variance, clock)
            if few and nearby is None:
                search = search.with_best_expectation(clock)
            complete = not clock.is_up
            if complete and roughly:
                (log_bayes, effects), jumps = search.effects(), search.jumps()
            elif complete and not followed:
                uncertainty = search.uncertainty(settle=True)
        except KeyboardInterrupt:
            complete = False
        if not complete:
            uncertainty = search.uncertainty(settle=False)
    deviations = np.zeros(problem.n_groups)
    deviations[search.groups], at[search.parameters] = np.sqrt(search.variances), search.point
    deviations[jumps] = _FIRST_DEVIATION
    intercept, of_features = problem.of_classes(at[problem.intercept]), problem.by_feature(search.effective)
    loss, _ = search.rest.loss(search.point)
    tables, expected = problem.tables(at), search.expected_variance
    return Solution(
        tables, intercept, deviations, complete, of_features, at, loss, expected, uncertainty, log_bayes, effects
    )


class _VarianceSearch:
    """The search for variances and deviations, round by round.

    Parameters
    ----------
    problem : rows, offsets and shapes.
    start : parameters and standard deviations to begin with.
    nearby : whether the start is close to the optimum.

    Attributes
    ----------
    rest : the problem without the groups whose variance became negligible.
    groups, parameters : positions of its groups and parameters in ``problem``.
    point : (n_parameters, n_numbers) parameters.
    variances : (n_groups,) of the priors.
    effective : (n_groups of ``problem``,) effective numbers of deviations.
    expected_variance : of deviations, as the prior of variances has it; 0 for no such prior.
    """

    def __init__(self, problem: EvidenceProblem, start: Start, nearby: bool) -> None:
        self.problem, self.rest, self.point, self.variances = problem, problem, start[0], start[1] ** 2
        self.groups, self.parameters = np.arange(problem.n_groups), np.arange(problem.n_parameters)
        self.effective, self.expected_variance = np.zeros(problem.n_groups), 0.0
        self._curvature: Curvature | None = None
        self._steps, self._slope = (_STEPS_NEARBY, _SLOPE_NEARBY) if nearby else (_STEPS_OF_ROUND, _LAST_SLOPE)
        self._narrow(self.variances > 0)

    def run(self, n_rounds: int, expected_variance: float, clock: Clock) -> None:
        """Improve variances and deviations in turn until variances settle, for at most ``n_rounds``."""
        self.expected_variance = expected_variance
        for number in range(n_rounds):
            if self._curvature is None or number <= 2 or number % 2 == 0:  # in one later round it changes little
                self._curvature = self.rest.curvature(self.point)
            metric = self.rest.metric(self._curvature, self.variances)
            self.point = self.rest.descend(self.point, self.variances, metric, self._steps, self._slope)
            effective = self.rest.by_group(metric.effective)
            following = self.rest.better_variances(self.point, self.variances, effective, expected_variance)
            self.effective = np.zeros(self.problem.n_groups)
            self.effective[self.groups] = effective
            worth = (following > _NEGLIGIBLE_VARIANCE) | (following > self.variances)
            change = np.abs(np.log(following[worth] / self.variances[worth])).max(initial=0.0)
            self.variances = following
            self._narrow(worth)
            if change < _SAME_LOGARITHM or clock.is_up:
                break

    def with_best_expectation(self, clock: Clock) -> _VarianceSearch:
        """The search with the expected variance, among multiples of 4, that predicts left-out rows best."""
        folds = self.problem.folds()
        best, loss = self, self._left_out_loss(folds)
        for factor in (4.0, 0.25):
            while not clock.is_up and best.expected_variance < _MOST_EXPECTED * self.expected_variance:
                other = copy(best)
                other.variances = best.variances * factor
                other.run(_ROUNDS_NEARBY, best.expected_variance * factor, clock)
                changed = other._left_out_loss(folds)
                if changed > loss - _LEAST_GAIN:
                    break
                best, loss = other, changed
                if factor < 1.0:
                    return best
            if best is not self:
                break
        return best

    def _left_out_loss(self, folds: Sequence[np.ndarray]) -> float:
        """Log loss of all rows in nats, those of each fold by a fit to the other folds with these variances."""
        assert self._curvature is not None
        metric, total = self.rest.metric(self._curvature, self.variances), 0.0
        for fold in range(_FOLDS):
            others = self.rest.weighted([own != fold for own in folds])
            point = others.descend(self.point, self.variances, metric, _STEPS_OF_FOLD, _SLOPE_NEARBY)
            total += self.rest.weighted([own == fold for own in folds]).loss(point)[0]
        return total

    def jumps(self) -> np.ndarray:
        """(n_groups of the problem,) bool, jumps that pay for themselves beside the curves."""
        pays, problem = np.zeros(self.problem.n_groups, dtype=bool), self.problem
        if problem.is_jump.any() and self._curvature is not None:
            at = np.zeros((problem.n_parameters, problem.n_numbers))
            at[self.parameters] = self.point
            metric = self.rest.metric(self._curvature, self.variances)
            gains = problem.log_bayes_of_jumps(at, self.parameters, metric) - _NATS_OF_JUMP
            best = np.argsort(-gains, kind="stable")[: max(0, most_directions(problem.n_classes) - self.rest.intercept)]
            pays[np.flatnonzero(problem.is_jump)[best[gains[best] > 0.0]]] = True
        return pays

    def effects(self) -> tuple[np.ndarray, Effects]:
        """Return log Bayes factors of deviations against none, (n_features,), and effects by variance, given the
        deviations of all other features.
        """
        assert self._curvature is not None
        logs, squares = self.rest.effects(self.point, self.variances, self._curvature)

        def by_feature(of_groups: np.ndarray) -> np.ndarray:
            every = np.zeros((self.problem.n_groups, *of_groups.shape[1:]))
            every[self.groups] = of_groups
            return self.problem.by_feature(every)

        return by_feature(averaged_log_bayes(logs)), Effects(by_feature(logs), by_feature(squares))

    def uncertainty(self, *, settle: bool) -> Uncertainty:
        """Return the uncertainty of the deviations, at the optimum for these variances if asked to ``settle``."""
        curvature = self.rest.curvature(self.point) if self._curvature is None else self._curvature
        if settle:  # rounds stop before their optimum: the order of sums must not be seen in where they stop
            self.variances = np.exp(np.round(np.log(self.variances), _DIGITS_OF_VARIANCES))
        metric = self.rest.metric(curvature, self.variances)
        if settle:
            self.point = self.rest.descend(self.point, self.variances, metric, _LAST_STEPS, self._slope)
        return self.problem.uncertainty(metric, self.parameters, self.rest.priors(self.variances), self.rest.design)

    def _narrow(self, worth: np.ndarray) -> None:
        self.rest, kept = self.rest.narrowed(worth)
        self._curvature = None if self._curvature is None else self._curvature.narrowed(kept)
        self.point, self.parameters = self.point[kept], self.parameters[kept]
        self.groups, self.variances = self.groups[worth], self.variances[worth]


@dataclass(frozen=True)
class _Block:
    """Some rows of a problem: codes (n_features, n_rows), offset (n_rows, n_numbers), classes and weights (n_rows,)."""

    codes: np.ndarray
    offset: np.ndarray
    classes: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, codes: np.ndarray, offset: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> _Block:
        return cls(np.ascontiguousarray(codes), offset, classes, weights)

    @classmethod
    def joined(cls, blocks: Sequence[_Block]) -> _Block:
        """The rows of several blocks, one after the other."""
        codes = np.concatenate([block.codes for block in blocks], axis=1)
        offset, classes, weights = (
            np.concatenate([getattr(block, name) for block in blocks]) for name in ("offset", "classes", "weights")
        )
        return cls.of(codes, offset, classes, weights)

    def take(self, rows: np.ndarray) -> _Block:
        return _Block.of(self.codes[:, rows], self.offset[rows], self.classes[rows], self.weights[rows])


class EvidenceProblem:
    """The penalised log loss of rows as a function of deviations.

    Parameters are the directions of all features, the intercept, and the cells that deviate on their own; each has one
    number for each class. Of two classes one number is enough: what the second has more than the first.

    Parameters
    ----------
    codes : unsigned array, shape (n_features, n_rows); a code of ``shape.n_cells`` adds the mean of the cells over the
        rows if the shape has their ``shares``, otherwise nothing.
    shapes : one for each feature.
    offset : (n_rows, n_classes) log joint of the counted evidence, best with every row predicted from all others.
    classes : (n_rows,) int.
    weights : (n_rows,).
    n_jobs : threads that sum over blocks of rows; results do not depend on it.
    """

    def __init__(
        self,
        codes: np.ndarray,
        shapes: Sequence[Shape],
        offset: np.ndarray,
        classes: np.ndarray,
        weights: np.ndarray,
        n_jobs: int | None = None,
    ) -> None:
        self.n_classes = offset.shape[1]
        self.n_numbers = 1 if self.n_classes == 2 else self.n_classes
        self._square = 0.5 if self.n_numbers == 1 else 1.0  # of the deviations of the classes that a number of 1 means
        self.n_jobs, self.n_rows, self._total = n_jobs, classes.size, float(weights.sum())
        shares = np.bincount(classes, weights, self.n_classes) / self._total
        # The rarer one of two classes is, the less its rows tell of weak features.
        self.expected_variance = _EXPECTED_VARIANCE * (4.0 * float(shares.prod()) if self.n_numbers == 1 else 1.0)
        offset = np.diff(offset, axis=1) if self.n_numbers == 1 else offset
        self._slices = row_slices(classes.size, self.n_numbers)
        self._blocks = [_Block.of(codes[:, own], offset[own], classes[own], weights[own]) for own in self._slices]
        self._take_shapes(shapes)

    def _take_shapes(self, shapes: Sequence[Shape]) -> None:
        self.shapes = shapes
        self._n_cells = np.array([shape.n_lines for shape in shapes], dtype=np.int64)
        self._first_cell = np.concatenate([[0], np.cumsum(self._n_cells)])
        self._starts = self._first_cell[:-1] * self.n_numbers
        self._number_groups()
        self._last: tuple[np.ndarray, float, np.ndarray] | None = None
        self._order_cells()

    def _with(self, shapes: Sequence[Shape], codes: Callable[[_Block, int], np.ndarray]) -> EvidenceProblem:
        """Return a copy with other features, from a function of the codes and the number of each block."""
        other = copy(self)
        for derived in ("_some", "design"):
            vars(other).pop(derived, None)
        other._blocks = [replace(block, codes=codes(block, k)) for k, block in enumerate(self._blocks)]
        other._take_shapes(shapes)
        return other

    def _number_groups(self) -> None:
        """Number parameters and the groups that share a variance; the deviation of each cell by each parameter."""
        groups, own_groups, own_cells, n_groups = [], [], [np.zeros(0, dtype=np.int64)], 0
        is_jump, expected = [], []
        self._first = np.concatenate([[0], np.cumsum([shape.groups.size for shape in self.shapes])]).astype(np.int64)
        self.intercept = int(self._first[-1])
        entries, of_groups, n_own = [], [], 0
        for k, shape in enumerate(self.shapes):
            entries.append((shape.cells + self._first_cell[k], shape.directions + self._first[k], shape.values))
            groups.append(shape.groups + n_groups)
            n_groups += shape.n_groups
            is_jump += [False] * (shape.n_groups - shape.n_jumps) + [True] * shape.n_jumps
            expected += [1.0] * (shape.n_groups - shape.n_jumps) + [_RARE] * shape.n_jumps
            if shape.shares.size:
                entries += self._mean_entries(k, self.intercept + 1 + n_own)
            if shape.apart:
                own_cells.append(np.arange(shape.n_cells) + self._first_cell[k])
                n_own += shape.n_cells
                own_groups.append(np.full(shape.n_cells, n_groups))
                is_jump.append(False)
                expected.append(_RARE if shape.rarely_apart else 1.0)
                n_groups += 1
            of_groups.append(n_groups)
        self._feature = np.searchsorted(of_groups, np.arange(n_groups), side="right")
        self._own_cells = np.concatenate(own_cells)
        self.n_groups, self.is_jump, self._expected = n_groups, np.array(is_jump, dtype=bool), np.array(expected)
        self._group = np.concatenate([*groups, [n_groups], *own_groups]).astype(np.int64)  # the intercept has its own
        self.n_parameters = self._group.size
        own = self._own_cells.size
        entries.append((self._own_cells, self.intercept + 1 + np.arange(own), np.ones(own)))
        cells, parameters, lines = map(np.concatenate, zip(*entries, strict=True))
        self._basis = csr_array((lines, (cells, parameters)), shape=(int(self._first_cell[-1]), self.n_parameters))
        self._transposed = self._basis.T.tocsr()

    def _mean_entries(self, k: int, first_own: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """The entries of the mean of a feature over its cells, of which the parameters of single cells begin at
        ``first_own``.
        """
        shape, shares = self.shapes[k], self.shapes[k].shares
        means = np.bincount(shape.directions, shares[shape.cells] * shape.values, shape.groups.size)
        line = int(self._first_cell[k + 1]) - 1
        entries = [(np.full(means.size, line), self._first[k] + np.arange(means.size), means)]
        if shape.apart:
            entries.append((np.full(shape.n_cells, line), first_own + np.arange(shape.n_cells), shares))
        return entries

    @property
    def _precision(self) -> type[np.floating[Any]]:
        """Of the curvature: double if that takes no time to speak of, so that the order of sums makes no difference
        to be seen.
        """
        return np.float64 if self.n_numbers * (self.intercept + 1) ** 2 <= _MOST_IN_DOUBLE else np.float32

    def _rows_of_cells(self) -> np.ndarray:
        """(n_cells of all features,) rows (or weight)."""

        def of_block(block: _Block) -> np.ndarray:
            return self._by_cell(np.repeat(block.weights[:, None], self.n_numbers, axis=1), block)[:, 0]

        return reduce(np.add, self._in_blocks(of_block))

    def _salts(self) -> np.ndarray:
        """(n_features,) numbers by which the rows of its cells tell a feature from others."""
        # Shares without their last digits: the scale of weights and the order of their sums make no difference.
        shares = np.round(self._rows_of_cells() / self._total, _DIGITS_OF_SHARES) + 0.0  # one zero
        return np.add.reduceat(mixed(shares.view(np.uint64)), self._first_cell[:-1])

    @cached_property
    def _some(self) -> _Block:
        """The rows whose curvature is looked at."""
        rows = np.arange(self.n_rows)
        if rows.size > _CURVATURE_ROWS:
            salts = self._salts()
            keys = self._in_blocks(lambda block: keys_of(block.codes, np.zeros(block.classes.size), salts=salts))
            rows = drawn_by_content(np.concatenate(keys), _CURVATURE_ROWS)
        of_block = [rows[(own.start <= rows) & (rows < own.stop)] - own.start for own in self._slices]
        return _Block.joined([block.take(own) for block, own in zip(self._blocks, of_block, strict=True)])

    @cached_property
    def design(self) -> np.ndarray:
        """Return the design matrix of these rows."""
        design = np.ones((self._some.classes.size, self.intercept + 1), dtype=self._precision)
        directed = np.flatnonzero(np.diff(self._first))
        codes = self._some.codes[directed].T.astype(np.int64)
        row, at = np.nonzero(codes < self._n_cells[directed])
        cells = (codes + self._first_cell[directed])[row, at]
        ends = np.append(0, np.cumsum(np.bincount(row, minlength=len(codes))))
        picked = csr_array((np.ones(row.size), cells, ends), shape=(len(codes), int(self._first_cell[-1])))
        design[:, :-1] = (picked @ self._basis[:, : self.intercept]).toarray()
        return design

    def _order_cells(self) -> None:
        """Neighbours among cells over which evidence must not fall, ``_lower`` and ``_upper``; the counted rise between
        them, and the directions of its change.
        """
        rising = [s.rising + first for s, first in zip(self.shapes, self._first_cell[:-1], strict=True)]
        none = np.zeros(0, dtype=np.int64)
        self._lower, self._upper = (np.concatenate([none, *(cells[part] for cells in rising)]) for part in _NEIGHBOURS)
        self._counted_rise = np.concatenate([none, *(np.diff(s.counted[s.rising] @ [-1.0, 1.0]) for s in self.shapes)])
        self._stiffness = _STIFFNESS * self._total
        self._rises = (self._basis[self._upper] - self._basis[self._lower])[:, : self.intercept + 1].toarray()

    def narrowed(self, worth: np.ndarray) -> tuple[EvidenceProblem, np.ndarray]:
        """Return a copy with the groups ``worth`` keeping, (n_groups,) bool, and whether each parameter remains."""
        kept = np.append(worth, True)[self._group]
        if worth.all():
            return self, kept
        shapes, own, stays = [], self.intercept + 1, []
        for k, shape in enumerate(self.shapes):
            apart = bool(shape.apart and kept[own])
            own += shape.n_cells if shape.apart else 0
            some = kept[self._first[k] : self._first[k + 1]]
            if apart or some.any():
                shapes.append(shape.narrowed(some, apart=apart))
                stays.append(k)
        if len(stays) == len(self.shapes):
            fewer = self._with(shapes, lambda block, _: block.codes)
            fewer._some = self._some
        else:
            fewer = self._with(shapes, lambda block, _: block.codes[stays])
            fewer._some = replace(self._some, codes=self._some.codes[stays])
        fewer.design = np.compress(kept[: self.intercept + 1], self.design, axis=1)
        return fewer, kept

    def followed_by(
        self, fitted: Solution, codes: np.ndarray, shapes: Sequence[Shape]
    ) -> tuple[EvidenceProblem, Start]:
        """The problem with further features after its own, which ``codes`` and ``shapes`` begin with; and where its fit
        may start.
        """
        more = self._with(shapes, lambda _, k: np.ascontiguousarray(codes[:, self._slices[k]]))
        added = more.intercept - self.intercept
        point = np.zeros((more.n_parameters, self.n_numbers))
        point[np.r_[: self.intercept, more.intercept : self.n_parameters + added]] = fitted.point
        return more, (point, np.append(fitted.deviations, [_FIRST_DEVIATION] * (more.n_groups - self.n_groups)))

    def without(self, fitted: Solution, kept: np.ndarray, offset: np.ndarray) -> tuple[EvidenceProblem, Start]:
        """The problem of the features marked in ``kept`` alone, with another offset, and where its fit may start: what
        does not deviate among all features may do so among these.
        """
        of_group = kept[self._feature]
        fewer = self.shaped([shape for shape, stays in zip(self.shapes, kept, strict=True) if stays], kept)
        offset = np.diff(offset, axis=1) if self.n_numbers == 1 else offset
        blocks = zip(self._slices, fewer._blocks, strict=True)
        fewer._blocks = [replace(block, offset=offset[own]) for own, block in blocks]
        deviations = fitted.deviations[of_group]
        deviations = np.where((deviations > 0) | fewer.is_jump, deviations, _FIRST_DEVIATION)
        return fewer, (fitted.point[np.append(of_group, True)[self._group]], deviations)

    def shaped(self, shapes: Sequence[Shape], kept: np.ndarray | None = None) -> EvidenceProblem:
        """Return a copy with other shapes, of the features marked in ``kept``."""
        return self._with(shapes, lambda block, _: block.codes if kept is None else block.codes[kept])

    def by_group(self, of_parameters: np.ndarray) -> np.ndarray:
        """Sums over the parameters of each group."""
        return np.bincount(self._group, of_parameters, self.n_groups + 1)[:-1]

    def by_feature(self, of_groups: np.ndarray) -> np.ndarray:
        """Sums over the groups of each feature, (n_features, ...)."""
        sums = np.zeros((len(self.shapes), *of_groups.shape[1:]))
        np.add.at(sums, self._feature, of_groups)
        return sums

    def of_classes(self, numbers: np.ndarray) -> np.ndarray:
        """Deviations (..., n_classes) that numbers (..., n_numbers) mean."""
        return numbers * _SIDES if self.n_numbers == 1 else numbers

    def tables(self, point: np.ndarray) -> list[np.ndarray]:
        """Deviations of each feature, (n_cells, n_classes)."""
        if not self.shapes:
            return []
        tables = np.split(self.of_classes(self._basis @ point), self._first_cell[1:-1])
        return [table[: shape.n_cells] for table, shape in zip(tables, self.shapes, strict=True)]

    def _falls(self, table: np.ndarray) -> np.ndarray:
        """How much evidence falls between neighbours that must not fall, at deviations (cells, 1); <= 0."""
        return np.minimum(self._counted_rise + table[self._upper, 0] - table[self._lower, 0], 0.0)

    def _in_blocks(self, function: Callable[[_Block], Result]) -> list[Result]:
        """Return the result of a function for each block of rows."""
        return map_in_threads(function, self._blocks, self.n_jobs)

    def _joint(self, table: np.ndarray, point: np.ndarray, block: _Block) -> np.ndarray:
        from bayesieve.evidence._kernels import add_log_probabilities

        joint = block.offset + point[self.intercept]
        lines = np.append(table.ravel(), np.zeros(self.n_numbers))
        add_log_probabilities(block.codes, 0, self._n_cells, self._starts, lines, joint)
        return joint

    def _by_cell(self, values: np.ndarray, block: _Block) -> np.ndarray:
        """Sums of ``values`` (n_rows, n_numbers) over the rows of each cell in a block."""
        from bayesieve.evidence._kernels import sum_by_level

        sums = np.zeros((int(self._first_cell[-1]) + 1, self.n_numbers))
        sum_by_level(block.codes, 0, self._n_cells, self._starts, values, sums.ravel())
        return sums[:-1]

    def loss(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """Sum over rows of -log P(true class) in nats, with the price of evidence that falls where it must not, and
        its gradient, at parameters (n_parameters, n_numbers).
        """
        from bayesieve.evidence._kernels import residuals

        if self._last is not None and np.array_equal(self._last[0], point):  # where the last descent ended
            return self._last[1:]
        table = self._basis @ point

        def of_block(block: _Block) -> tuple[float, np.ndarray, np.ndarray]:
            residual = self._joint(table, point, block)
            loss = residuals(residual, block.classes, block.weights)
            return loss, self._by_cell(residual, block), residual.sum(axis=0)

        parts = zip(*self._in_blocks(of_block), strict=True)
        loss, sums, of_intercept = (reduce(add, of_blocks) for of_blocks in parts)
        if self._lower.size:
            falls = self._falls(table)
            loss += 0.5 * self._stiffness * float(falls @ falls)
            sums[self._upper, 0] += self._stiffness * falls
            sums[self._lower, 0] -= self._stiffness * falls
        gradient = self._transposed @ sums
        gradient[self.intercept] = of_intercept
        self._last = point, loss, gradient
        return loss, gradient

    def penalty(self, point: np.ndarray, variances: np.ndarray) -> tuple[float, np.ndarray]:
        """Of deviations, -log of their prior in nats without its constant; and its gradient."""
        gradient = point / self.priors(variances)[:, None]
        return 0.5 * float((gradient * point).sum()), gradient

    def priors(self, variances: np.ndarray) -> np.ndarray:
        """(n_parameters,) variances of the priors of each number."""
        return np.append(variances, 1.0 / _INTERCEPT_PRECISION)[self._group] / self._square

    def curvature(self, point: np.ndarray) -> Curvature:
        """The curvature of the loss. Curvatures between classes are left out and made up for by J / (J - 1), which is
        exact for two classes.
        """
        table, some = self._basis @ point, self._some
        of_rows = self._curvature(self._joint(table, point, some), some)
        own = np.zeros((0, self.n_numbers))
        if self._own_cells.size:
            of_blocks = self._in_blocks(lambda b: self._by_cell(self._curvature(self._joint(table, point, b), b), b))
            own = reduce(np.add, of_blocks)[self._own_cells]
        dense = np.empty((self.n_numbers, *[self.intercept + 1] * 2), dtype=self._precision)
        scale = self._total / float(some.weights.sum())
        design = self.design

        def fill(number: int) -> None:
            of_class, block = of_rows[:, number], dense[number]
            largest = max(float(of_class.max()), 1e-300)  # so that single precision holds any weight
            scaled = design * np.sqrt(of_class / largest).astype(self._precision)[:, None]
            np.multiply(scaled.T @ scaled, self._precision(scale * largest), out=block)
            if self._lower.size:
                steep = self._rises[self._falls(table) < 0]
                block += (self._stiffness * (steep.T @ steep)).astype(self._precision)

        map_in_threads(fill, range(self.n_numbers), self.n_jobs)
        return Curvature(dense, own)

    def metric(self, curvature: Curvature, variances: np.ndarray) -> Metric:
        """The curvature of the penalised loss."""
        return curvature.metric(self.priors(variances), (self.n_classes - 1) / self.n_numbers)

    def uncertainty(
        self, metric: Metric, parameters: np.ndarray, priors: np.ndarray, design: np.ndarray
    ) -> Uncertainty:
        """The posterior of the deviations, each feature's centred over the rows. Directions that do not deviate add
        nothing.

        Parameters
        ----------
        metric : curvature of the penalised loss in some of the parameters, at these positions.
        priors : variances of their priors.
        design : (n_some_rows, n) the directions and the intercept among them, of some rows.
        """
        n = metric.steps.shape[1] - 1
        rows = self._rows_of_cells()
        own = np.zeros((2, int(self._first_cell[-1]), self.n_numbers))
        at = self._own_cells[parameters[n + 1 :] - self.intercept - 1]
        own[:, at] = np.stack([metric.apart**2, np.broadcast_to(priors[n + 1 :, None], metric.apart.shape)])
        of_parameter = np.searchsorted(self._first, parameters[:n], side="right") - 1
        main = np.stack([_main_directions(design @ steps) for steps in metric.steps]).astype(float)
        intercept = np.matmul(metric.steps[:, n:], main)[:, 0].astype(float)
        variances, left, factors = [], [], []
        for k, shape in enumerate(self.shapes):
            cells = slice(int(self._first_cell[k]), int(self._first_cell[k]) + shape.n_cells)
            directed = np.flatnonzero(of_parameter == k)
            basis = self._basis[cells, :][:, parameters[directed]].toarray()
            mean = (rows[cells] / max(float(rows[cells].sum()), 1e-300)) @ basis
            basis -= mean
            steps = metric.steps[:, directed].astype(float)
            roots = np.matmul(basis, steps)
            posterior, prior = own[:, cells].copy()
            posterior += (roots**2).sum(axis=2).T
            prior += (basis**2 @ priors[directed])[:, None]
            variances.append(posterior)
            left.append(np.divide(posterior, prior, out=np.ones_like(prior), where=prior > 0).clip(0.0, 1.0))
            factors.append(np.matmul(roots, main).transpose(1, 0, 2))
            intercept += np.matmul(np.matmul(mean, steps)[:, None], main)[:, 0]
        return Uncertainty(variances, left, factors, intercept)

    def slopes(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and curvature of the loss of each row by its number of each class, (n_rows, n_numbers)."""
        from bayesieve.evidence._kernels import residuals

        table = self._basis @ point

        def of_block(block: _Block) -> tuple[np.ndarray, np.ndarray]:
            joint = self._joint(table, point, block)
            curvature = self._curvature(joint, block)
            residuals(joint, block.classes, block.weights)
            return joint, curvature

        joint, curvature = map(np.concatenate, zip(*self._in_blocks(of_block), strict=True))
        return joint, curvature

    def _curvature(self, joint: np.ndarray, block: _Block) -> np.ndarray:
        """Of the loss of each row by the number of each class, (n_rows, n_numbers)."""
        if self.n_numbers == 1:
            probability = expit(joint)
            return probability * (1.0 - probability) * block.weights[:, None]
        probability = softmax(joint, axis=1)
        factor = self.n_classes / (self.n_classes - 1)
        return probability * (1.0 - probability) * (factor * block.weights)[:, None]

    def descend(self, point: np.ndarray, variances: np.ndarray, metric: Metric, steps: int, slope: float) -> np.ndarray:
        """At most ``steps`` towards the optimum, by L-BFGS in the metric of the curvature, until no parameter is more
        than ``slope`` of its standard errors away.
        """

        def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            at = point + metric.move(flat.reshape(point.shape))
            loss, gradient = self.loss(at)
            penalty, push = self.penalty(at, variances)
            return loss + penalty, metric.move(gradient + push, transposed=True).ravel()

        options = {"maxiter": steps, "ftol": 0.0, "gtol": slope}
        best = minimize(objective, np.zeros(point.size), jac=True, method="L-BFGS-B", options=options)
        if steps < _LAST_STEPS:
            return point + metric.move(best.x.reshape(point.shape))
        # Rounding of the loss hides the last digits from a line search, but not from the gradient.
        flat, gradient, share = best.x, best.jac, 1.0
        for _ in range(_SETTLING_STEPS):
            if np.abs(gradient).max() <= slope:
                break
            following = flat - share * (best.hess_inv @ gradient)
            _, slopes = objective(following)
            if slopes @ slopes < gradient @ gradient:
                flat, gradient = following, slopes
            else:
                share /= 2.0
        return point + metric.move(flat.reshape(point.shape))

    def better_variances(
        self, point: np.ndarray, variances: np.ndarray, effective: np.ndarray, expected_variance: float
    ) -> np.ndarray:
        """Sum of squares of the deviations of each group, and of one more of the ``expected_variance`` unless that is
        0, over their effective number, and somewhat further.
        """
        squares = self._square * self.by_group((point * point).sum(axis=1)) + expected_variance * self._expected
        best = np.maximum(squares / np.maximum(effective + (expected_variance > 0), 1e-9), 1e-9)
        change = np.clip((best / variances) ** _LONGER_STEPS, 1.0 / _MOST_CHANGE, _MOST_CHANGE)
        following = np.minimum(variances * change, _MOST_VARIANCE)
        return np.where(best < _NEGLIGIBLE_VARIANCE, np.minimum(best, following), following)

    def folds(self) -> list[np.ndarray]:
        """The fold of every row of each block: distinct rows of each class, in an order that follows from what they
        contain, are dealt out in turn.
        """
        salts, zeros = self._salts(), np.zeros(self.n_rows)  # the numbers of the classes make no difference
        keys = np.concatenate(
            self._in_blocks(lambda block: keys_of(block.codes, zeros[: block.classes.size], salts=salts))
        )
        classes = np.concatenate([block.classes for block in self._blocks])
        pairs = np.stack([classes.astype(np.uint64), keys])
        ordered, distinct = np.unique(pairs, axis=1, return_inverse=True)
        firsts = np.searchsorted(ordered[0], ordered[0])
        fold = (np.arange(ordered.shape[1]) - firsts) % _FOLDS
        distinct = distinct.ravel()
        return [fold[distinct[own]] for own in self._slices]

    def weighted(self, factors: Sequence[np.ndarray]) -> EvidenceProblem:
        """Return a copy with the row weights of each block multiplied by ``factors``."""
        other = copy(self)
        other._last = None
        blocks = zip(self._blocks, factors, strict=True)
        other._blocks = [replace(block, weights=block.weights * own) for block, own in blocks]
        return other

    def log_bayes_of_jumps(self, point: np.ndarray, parameters: np.ndarray, metric: Metric) -> np.ndarray:
        """(n_jumps,) log Bayes factors of each jump by itself against none, what else deviates being uncertain.

        Parameters
        ----------
        point : the fit without jumps.
        parameters, metric : positions of the parameters that deviate, and the curvature of their penalised loss.
        """
        jumps = np.flatnonzero(self.is_jump[self._group[: self.intercept]])
        pulls, some = self.loss(point)[1][jumps], self._some
        of_rows = self._curvature(self._joint(self._basis @ point, point, some), some)
        of_rows *= self._total / float(some.weights.sum())
        others, steps = self.design[:, parameters[: metric.steps.shape[1]]], self.design[:, jumps]
        logs = np.zeros((jumps.size, _JUMP_VARIANCES.size))
        for root, pull, of_class in zip(metric.steps, pulls.T, of_rows.T, strict=True):
            weighted = steps * of_class[:, None].astype(steps.dtype)
            by_others = root.T @ (others.T @ weighted)
            left = (steps * weighted).sum(axis=0, dtype=float) - (by_others**2).sum(axis=0, dtype=float)
            precisions = np.maximum(left, 0.0)[:, None]
            logs += log_bayes_factors(pull[:, None], precisions, _JUMP_VARIANCES / self._square)
        return averaged_log_bayes(logs * (self.n_classes - 1) / self.n_numbers)

    def effects(self, point: np.ndarray, variances: np.ndarray, curvature: Curvature) -> tuple[np.ndarray, np.ndarray]:
        """Log Bayes factors of the deviations of each group against none, all others being uncertain, by variance,
        (n_groups, n_variances); and their expected squares over the rows, (n_groups, n_numbers, n_variances).

        The posterior of a group less its prior is the likelihood of its deviations; see `inclusion.log_bayes_factors`.
        A Newton step leads from ``point`` to the optimum first.
        """
        metric = self.metric(curvature, variances)
        gradient = self.loss(point)[1] + self.penalty(point, variances)[1]
        point = point - metric.move(metric.move(gradient, transposed=True))
        priors, n = self.priors(variances), metric.steps.shape[1]
        order = np.argsort(self._group[: n - 1], kind="stable")
        ends = np.searchsorted(self._group[order], np.arange(self.n_groups + 1))
        logs = np.zeros((self.n_groups, TRIED_VARIANCES.size))
        squares = np.zeros((self.n_groups, self.n_numbers, TRIED_VARIANCES.size))
        for j in range(self.n_numbers):
            for group, (begin, end) in enumerate(pairwise(ends.tolist())):
                if end > begin:
                    own = order[begin:end]
                    roots = metric.steps[j, own].astype(float)
                    posterior, axes = eigh(roots @ roots.T)
                    posterior = np.maximum(posterior, _LEAST_POSTERIOR)
                    precisions = np.maximum(1.0 / posterior - 1.0 / priors[own[0]], 0.0)
                    pulls = (axes.T @ point[own, j]) / posterior
                    logs[group] += log_bayes_by_variance(pulls, precisions, self._square)
                    squares[group, j] = squares_by_variance(pulls, precisions, self._square)
        single = np.arange(n, self.n_parameters)
        posterior = np.maximum(metric.apart**2, _LEAST_POSTERIOR)
        precisions = np.maximum(1.0 / posterior - (1.0 / priors[single])[:, None], 0.0)
        for group in np.unique(self._group[single]).tolist():
            own = self._group[single] == group
            pulls = (point[single] / posterior)[own]
            logs[group] += log_bayes_by_variance(pulls.ravel(), precisions[own].ravel(), self._square)
            for j in range(self.n_numbers):
                squares[group, j] = squares_by_variance(pulls[:, j], precisions[own, j], self._square)
        logs *= (self.n_classes - 1) / self.n_numbers
        return logs, squares / curvature.dense[:, -1, -1, None]  # the curvature of the intercept is that of all rows


@dataclass(frozen=True)
class Curvature:
    """Curvature of the loss at a point, class by class: (n_numbers, n, n) of the n directions and intercept, and
    (n_own_cells, n_numbers) of cells that deviate on their own.
    """

    dense: np.ndarray
    apart: np.ndarray

    def narrowed(self, kept: np.ndarray) -> Curvature:
        """Of some parameters, (n_parameters,) bool, only."""
        if kept.all():
            return self
        n = self.dense.shape[1]
        dense = np.flatnonzero(kept[:n])
        return Curvature(self.dense[:, dense[:, None], dense], self.apart[kept[n:]])

    def metric(self, variances: np.ndarray, share: float) -> Metric:
        """With normal priors of these variances, (n_parameters,). ``share`` of the effective numbers are free: numbers
        of all classes add up to nothing.
        """
        n_dense = self.dense.shape[1]
        spread, of_apart = np.sqrt(variances[:n_dense]).astype(self.dense.dtype), variances[n_dense:, None]
        steps = np.empty_like(self.dense)
        effective = np.zeros(n_dense)
        for j, of_loss in enumerate(self.dense):
            block = of_loss * spread
            block *= spread[:, None]
            block[np.diag_indices(n_dense)] += 1.0
            root = _inverse_root(block)
            effective += 1.0 - (root * root).sum(axis=0, dtype=float)
            np.multiply(root.T, spread[:, None], out=steps[j])
        by_rows = of_apart * self.apart
        effective = np.concatenate([effective, (by_rows / (1.0 + by_rows)).sum(axis=1)])
        return Metric(steps, np.sqrt(of_apart / (1.0 + by_rows)), effective * share)


@dataclass(frozen=True)
class Metric:
    """Curvature of the penalised loss, class by class.

    Parameters
    ----------
    steps : (n_numbers, n, n), roots of the inverse curvature of the n directions and intercept.
    apart : (n_own_cells, n_numbers), the same of cells that deviate on their own.
    effective : (n_parameters,), how far the rows determine each parameter, summed over the numbers.
    """

    steps: np.ndarray
    apart: np.ndarray
    effective: np.ndarray

    def move(self, values: np.ndarray, transposed: bool = False) -> np.ndarray:
        """Parameters (n_parameters, n_numbers) of unit curvature as parameters, or a gradient the other way round."""
        n = self.steps.shape[1]
        steps = self.steps.transpose(0, 2, 1) if transposed else self.steps
        dense = np.matmul(steps, values[:n].T[:, :, None].astype(steps.dtype))[:, :, 0].T
        return np.concatenate([dense, values[n:] * self.apart])


def _main_directions(errors: np.ndarray) -> np.ndarray:
    """(n, N_FACTORS or fewer) orthogonal directions that errors of rows (n_rows, n) have most of."""
    n = errors.shape[1]
    main = np.random.default_rng(0).normal(size=(n, min(N_FACTORS, n))).astype(errors.dtype)
    for _ in range(_POWERS):
        main = qr(errors.T @ (errors @ main), mode="economic")[0]
    return main


def _inverse_root(matrix: np.ndarray) -> np.ndarray:
    """Inverse of the lower triangular factor of a positive definite matrix that rounding may have made indefinite."""
    diagonal = np.diag_indices_from(matrix)
    factorized, inverted = get_lapack_funcs(("potrf", "trtri"), (matrix,))
    for share in (0.0, 1e-5, 1e-3):
        stable = matrix.copy()
        stable[diagonal] *= 1.0 + share
        factor, failed = factorized(stable.T, lower=1, clean=1, overwrite_a=1)
        if not failed:
            inverse, _ = inverted(factor, lower=1, overwrite_c=1)
            return np.asarray(inverse)
    return np.diag(1.0 / np.sqrt(matrix[diagonal]))

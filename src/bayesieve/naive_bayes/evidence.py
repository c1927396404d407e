"""Fitted evidence: counted evidence moved as far as the rows of all features together pay for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.linalg.lapack import dtrtri
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from bayesieve.naive_bayes.shapes import Shape
from bayesieve.search.recorder import Clock

_FIRST_DEVIATION = 0.2
_LEAST_VARIANCE, _MOST_VARIANCE = 1e-7, 9.0
_NEGLIGIBLE_VARIANCE = 1e-4  # deviations of 0.01: whether such a variance has converged makes no difference
_SAME_LOGARITHM = 0.1  # of a variance in two rounds
_MOST_ROUNDS = 10
_STEPS_OF_ROUND, _LAST_STEPS = 4, 30
_LONGER_STEPS = 1.5  # of the logarithm of a variance, which nears its optimum geometrically
_INTERCEPT_PRECISION = 1.0
_STIFFNESS = 10.0  # curvature per row of the price of evidence that falls where it must not
_CURVATURE_ROWS = 3000  # enough for the curvature, which sets variances and the way to the optimum, not the optimum
_NEIGHBOURS = (slice(-1), slice(1, None))
_AGAINST_FIRST = np.array([-1.0, 1.0])


@dataclass(frozen=True)
class FittedEvidence:
    """Deviations (n_cells, n_classes) of each feature and of the intercept (n_classes,), in nats, and the standard
    deviations of their priors, feature after feature; ``complete`` is False where the fit was ended early.
    """

    tables: list[np.ndarray]
    intercept: np.ndarray
    deviations: np.ndarray
    complete: bool


def fit_evidence(problem: EvidenceProblem, clock: Clock | None = None) -> FittedEvidence:
    """Deviations with the highest posterior probability, under priors with the highest evidence.

    Deviations are normal around 0, with one variance for each group of directions of a feature. Variances maximise
    the marginal likelihood in its Laplace approximation, without rows held out: s^2 = sum of squared deviations /
    effective number of deviations, again and again (MacKay 1992, Wood and Fasiolo 2017). A feature whose counted
    evidence is good as it is gets a variance of almost 0.

    Parameters
    ----------
    problem : rows, offsets and shapes.
    clock : time limit; when it is over, as after Ctrl-C, the deviations so far are returned.
    """
    point = np.zeros((problem.n_parameters, problem.n_classes))
    variances = np.full(problem.n_groups, _FIRST_DEVIATION**2)
    complete = False
    # One thread: matrices are small, and sums come in one order.
    with threadpool_limits(1):
        try:
            for _ in range(_MOST_ROUNDS):
                factors = problem.factors(point, variances)
                point = problem.descend(point, variances, factors, _STEPS_OF_ROUND)
                following = problem.better_variances(point, variances, factors)
                moving = np.maximum(following, variances) > _NEGLIGIBLE_VARIANCE
                change = np.abs(np.log(following / variances))[moving].max(initial=0.0)
                variances = following
                if change < _SAME_LOGARITHM or (clock is not None and clock.is_up):
                    break
            if clock is None or not clock.is_up:
                point = problem.descend(point, variances, problem.factors(point, variances), _LAST_STEPS)
                complete = True
        except KeyboardInterrupt:
            pass
    return FittedEvidence(problem.tables(point), point[problem.intercept], np.sqrt(variances), complete)


class EvidenceProblem:
    """The penalised log loss of rows as a function of deviations.

    Parameters
    ----------
    codes : unsigned array, shape (n_features, n_rows); a code of ``len(shape.basis)`` or larger adds nothing.
    shapes : one for each feature.
    offset : (n_rows, n_classes) log joint of the counted evidence, best with every row predicted from all others.
    classes : (n_rows,) int.
    weights : (n_rows,).
    """

    def __init__(
        self, codes: np.ndarray, shapes: Sequence[Shape], offset: np.ndarray, classes: np.ndarray, weights: np.ndarray
    ) -> None:
        self._codes, self._shapes, self._offset = np.ascontiguousarray(codes), shapes, offset
        self._classes, self._weights = classes, weights
        self.n_classes = offset.shape[1]
        self._n_cells = np.array([len(shape.basis) for shape in shapes], dtype=np.int64)
        self._first_cell = np.concatenate([[0], np.cumsum(self._n_cells)])
        self._starts = self._first_cell[:-1] * self.n_classes
        self._first = np.concatenate([[0], np.cumsum([shape.groups.size for shape in shapes])])
        self.intercept = int(self._first[-1])
        self._number_groups()
        self.n_parameters = self._group.size
        self._look_at_some(np.arange(classes.size))
        self._order_cells()

    def _number_groups(self) -> None:
        """Parameters are the directions of all features, the intercept, and the cells that deviate on their own."""
        groups, own_groups, own_cells, n_groups = [], [], [np.zeros(0, dtype=np.int64)], 0
        for k, shape in enumerate(self._shapes):
            groups.append(shape.groups + n_groups)
            n_groups += int(shape.groups.max(initial=-1)) + 1
            if shape.apart:
                own_cells.append(np.arange(self._first_cell[k], self._first_cell[k + 1]))
                own_groups.append(np.full(len(shape.basis), n_groups))
                n_groups += 1
        self._own_cells = np.concatenate(own_cells)
        self.n_groups = n_groups
        intercept = np.array([n_groups])  # its prior stays as it is
        self._group = np.concatenate([*groups, intercept, *own_groups]).astype(np.int64)

    def _look_at_some(self, rows: np.ndarray) -> None:
        """The rows whose curvature is looked at, written out direction by direction."""
        if rows.size > _CURVATURE_ROWS:
            rows = np.sort(np.random.default_rng(0).choice(rows, _CURVATURE_ROWS, replace=False, shuffle=False))
        self._some = rows
        self._scale = float(self._weights.sum() / self._weights[rows].sum())
        self._design = np.ones((rows.size, self.intercept + 1), dtype=np.float32)
        for k, shape in enumerate(self._shapes):
            lines = np.concatenate([shape.basis, np.zeros((1, shape.basis.shape[1]))]).astype(np.float32)
            codes = np.minimum(self._codes[k, rows], len(shape.basis))
            self._design[:, self._first[k] : self._first[k + 1]] = lines[codes]

    def _order_cells(self) -> None:
        """Neighbours among cells over which evidence must not fall, ``_lower`` and ``_upper``; the counted rise between
        them, and the directions of its change.
        """
        rising = [s.rising + first for s, first in zip(self._shapes, self._first_cell[:-1], strict=True)]
        self._lower, self._upper = (np.concatenate([cells[part] for cells in rising]) for part in _NEIGHBOURS)
        counted = [np.diff(s.counted[s.rising] @ _AGAINST_FIRST) for s in self._shapes]
        self._counted_rise = np.concatenate(counted)
        self._stiffness = _STIFFNESS * float(self._weights.sum())
        self._rises = np.zeros((self._lower.size, self.intercept + 1))
        stops = np.cumsum([rise.size for rise in counted])
        for k, (shape, stop) in enumerate(zip(self._shapes, stops, strict=True)):
            lines = slice(stop - counted[k].size, stop)
            self._rises[lines, self._first[k] : self._first[k + 1]] = np.diff(shape.basis[shape.rising], axis=0)

    def _falls(self, table: np.ndarray) -> np.ndarray:
        """How much evidence falls between neighbours that must not fall, at deviations (cells, n_classes); <= 0."""
        contrast = table[:, :2] @ _AGAINST_FIRST
        return np.minimum(self._counted_rise + contrast[self._upper] - contrast[self._lower], 0.0)

    def _table(self, point: np.ndarray) -> np.ndarray:
        """Deviations of the cells of all features, (cells, n_classes)."""
        parts = [
            shape.basis @ point[first:stop]
            for shape, first, stop in zip(self._shapes, self._first[:-1], self._first[1:], strict=True)
        ]
        table = np.concatenate(parts)
        table[self._own_cells] += point[self.intercept + 1 :]
        return table

    def tables(self, point: np.ndarray) -> list[np.ndarray]:
        """Deviations of each feature, (n_cells, n_classes)."""
        return np.split(self._table(point), self._first_cell[1:-1])

    def _joint(self, point: np.ndarray) -> np.ndarray:
        from bayesieve.naive_bayes._kernels import add_log_probabilities

        joint = self._offset + point[self.intercept]
        add_log_probabilities(self._codes, self._n_cells, self._starts, self._table(point).ravel(), None, joint)
        return joint

    def _by_cell(self, values: np.ndarray) -> np.ndarray:
        """Sums of ``values`` (n_rows, n_classes) over the rows of each cell."""
        from bayesieve.naive_bayes._kernels import sum_by_level

        sums = np.zeros(int(self._first_cell[-1]) * self.n_classes)
        sum_by_level(self._codes, self._n_cells, self._starts, values, None, sums)
        return sums.reshape(-1, self.n_classes)

    def loss(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """Sum over rows of -log P(true class) in nats, with the price of evidence that falls where it must not, and
        its gradient, at parameters (n_parameters, n_classes).
        """
        from bayesieve.naive_bayes._kernels import residuals

        residual = self._joint(point)
        loss = residuals(residual, self._classes, self._weights)
        sums = self._by_cell(residual)
        if self._lower.size:
            falls = self._falls(self._table(point))
            loss += 0.5 * self._stiffness * float(falls @ falls)
            push = self._stiffness * falls[:, None] * _AGAINST_FIRST
            sums[self._upper] += push
            sums[self._lower] -= push
        gradient = np.empty_like(point)
        for k, shape in enumerate(self._shapes):
            cells = slice(self._first_cell[k], self._first_cell[k + 1])
            gradient[self._first[k] : self._first[k + 1]] = shape.basis.T @ sums[cells]
        gradient[self.intercept] = residual.sum(axis=0)
        gradient[self.intercept + 1 :] = sums[self._own_cells]
        return loss, gradient

    def _precisions(self, variances: np.ndarray) -> np.ndarray:
        return np.append(1.0 / variances, _INTERCEPT_PRECISION)[self._group]

    def factors(self, point: np.ndarray, variances: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each class a factor of the curvature of its directions and intercept, lower triangular, and the roots of
        the curvatures of its cells. Curvatures between classes are left out and made up for by J / (J - 1), which is
        exact for two classes.
        """
        from scipy.special import softmax

        probability = softmax(self._joint(point), axis=1)
        curvature = probability * (1.0 - probability) * self._weights[:, None]
        curvature *= self.n_classes / (self.n_classes - 1)
        own = self._by_cell(curvature)[self._own_cells] if self._own_cells.size else np.zeros((0, self.n_classes))
        precisions = self._precisions(variances)
        dense, apart = precisions[: self.intercept + 1], precisions[self.intercept + 1 :]
        steep = np.sqrt(2.0 * self._stiffness) * self._rises[self._falls(self._table(point)) < 0]
        factors: list[tuple[np.ndarray, np.ndarray]] = []
        for j in range(self.n_classes):
            if j == 1 and self.n_classes == 2:  # as for the other class
                return factors * 2
            largest = max(float(curvature[self._some, j].max()), 1e-300)  # so that single precision holds any weight
            design = self._design * np.sqrt(curvature[self._some, j] / largest).astype(np.float32)[:, None]
            block = (design.T @ design).astype(np.float64) * (self._scale * largest)
            block += steep.T @ steep
            block[np.diag_indices_from(block)] += dense
            factors.append((_factor(block), np.sqrt(own[:, j] + apart)))
        return factors

    def descend(
        self, point: np.ndarray, variances: np.ndarray, factors: list[tuple[np.ndarray, np.ndarray]], steps: int
    ) -> np.ndarray:
        """Fewer steps than ``steps`` towards the optimum, by L-BFGS in the metric of the curvature."""
        precisions, n_dense = self._precisions(variances)[:, None], self.intercept + 1

        def scaled(values: np.ndarray, transposed: bool) -> np.ndarray:
            result = np.empty_like(values)
            for j, (factor, roots) in enumerate(factors):
                result[:n_dense, j] = solve_triangular(factor, values[:n_dense, j], lower=True, trans=int(transposed))
                result[n_dense:, j] = values[n_dense:, j] / roots
            return result

        def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            at = scaled(flat.reshape(point.shape), transposed=True)
            loss, gradient = self.loss(at)
            penalty = 0.5 * float((precisions * at * at).sum())
            return loss + penalty, scaled(gradient + precisions * at, transposed=False).ravel()

        start = np.empty_like(point)
        for j, (factor, roots) in enumerate(factors):
            start[:n_dense, j] = factor.T @ point[:n_dense, j]
            start[n_dense:, j] = roots * point[n_dense:, j]
        options = {"maxiter": steps, "ftol": 1e-10, "gtol": 1e-4}
        best = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options=options)
        return scaled(best.x.reshape(point.shape), transposed=True)

    def better_variances(
        self, point: np.ndarray, variances: np.ndarray, factors: list[tuple[np.ndarray, np.ndarray]]
    ) -> np.ndarray:
        """Sum of squares of the deviations of each group over their effective number, and somewhat further."""
        effective = np.zeros(self.n_groups + 1)
        precisions = self._precisions(variances)
        for factor, roots in factors:
            inverse, _ = dtrtri(factor, lower=1)
            posterior = np.concatenate([np.einsum("ij,ij->j", inverse, inverse), 1.0 / roots**2])
            effective += np.bincount(self._group, 1.0 - precisions * posterior, self.n_groups + 1)
        effective *= (self.n_classes - 1) / self.n_classes
        squares = np.bincount(self._group, (point * point).sum(axis=1), self.n_groups + 1)
        best = np.maximum(squares[:-1] / np.maximum(effective[:-1], 1e-9), _LEAST_VARIANCE)
        return np.clip(variances * (best / variances) ** _LONGER_STEPS, _LEAST_VARIANCE, _MOST_VARIANCE)


def _factor(matrix: np.ndarray) -> np.ndarray:
    """Lower triangular factor of a positive definite matrix that rounding may have made indefinite."""
    diagonal = np.diag_indices_from(matrix)
    for share in (0.0, 1e-5, 1e-3):
        stable = matrix.copy()
        stable[diagonal] *= 1.0 + share
        try:
            return np.asarray(cholesky(stable, lower=True, overwrite_a=True))
        except LinAlgError:
            continue
    return np.diag(np.sqrt(matrix[diagonal]))

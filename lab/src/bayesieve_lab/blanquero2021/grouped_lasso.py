"""Multinomial logistic regression with a grouped lasso: a feature is in the model for all classes, or for none."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import StratifiedKFold

from bayesieve.table import Table
from bayesieve_lab.blanquero2021.two_thirds import learnt_rows, of_two_classes
from bayesieve_lab.peers.peer import Peer

_N_PENALTIES, _LEAST_SHARE = 20, 0.01  # of the path, as a share of the largest penalty
_TOLERANCE, _MOST_STEPS = 0.01, 2000  # as a share of the penalty
_PATIENCE = 3  # penalties in a row without a lower loss on held-out rows, after which a fold ends


@dataclass(frozen=True)
class Coefficients:
    """Coefficients of the model for one penalty.

    Attributes
    ----------
    slopes : (n_columns, n_classes)
    intercepts : (n_classes,)
    """

    slopes: np.ndarray
    intercepts: np.ndarray

    def log_proba(self, matrix: np.ndarray) -> np.ndarray:
        """Return log probabilities (n_rows, n_classes) of the rows of a matrix (n_rows, n_columns)."""
        scores = matrix @ self.slopes + self.intercepts
        return scores - logsumexp(scores, axis=1, keepdims=True)


@dataclass(frozen=True)
class GroupedLasso:
    """Solver of the grouped lasso: it minimizes the mean log loss plus a penalty for each group of columns.

    The penalty of a group is penalty * sqrt(columns of the group) * |slopes of the group| (Frobenius norm), so that the
    slopes of a group vanish together, in all classes. The loss is that of Vincent & Hansen (2014) with alpha = 0.
    Accelerated proximal gradients (FISTA with restarts) run on the groups that the sequential strong rule keeps, until
    the optimality conditions hold for all groups.

    Parameters
    ----------
    matrix : (n_rows, n_columns)
    one_hot : (n_rows, n_classes), 1 for the class of a row and 0 for others.
    group : (n_columns,) number of the group of each column, from 0.
    """

    matrix: np.ndarray
    one_hot: np.ndarray
    group: np.ndarray

    @property
    def weights(self) -> np.ndarray:
        """Factor of the penalty of each group, the square root of its number of columns, (n_groups,)."""
        return np.sqrt(np.bincount(self.group))

    def norms(self, slopes: np.ndarray) -> np.ndarray:
        """Return the Frobenius norm of the slopes (n_columns, n_classes) of each group, (n_groups,)."""
        return np.sqrt(np.bincount(self.group, weights=(slopes**2).sum(axis=1)))

    def gradient(self, coefficients: Coefficients) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient of the mean log loss at ``coefficients``.

        The gradient has two parts: for slopes (n_columns, n_classes) and for intercepts (n_classes,).
        """
        surplus = (np.exp(coefficients.log_proba(self.matrix)) - self.one_hot) / len(self.one_hot)
        return self.matrix.T @ surplus, surplus.sum(axis=0)

    def start(self) -> Coefficients:
        """Return coefficients with zero slopes, and the log class shares as intercepts."""
        return Coefficients(np.zeros((self.matrix.shape[1], self.one_hot.shape[1])), np.log(self.one_hot.mean(axis=0)))

    def largest_penalty(self) -> float:
        """Return the smallest penalty for which all slopes are 0."""
        return float((self.norms(self.gradient(self.start())[0]) / self.weights).max())

    def objective(self, coefficients: Coefficients, penalty: float) -> float:
        """Return the objective at some coefficients: mean log loss in nats per row, plus penalties of the groups."""
        loss = -float((self.one_hot * coefficients.log_proba(self.matrix)).sum()) / len(self.one_hot)
        return loss + penalty * float(self.weights @ self.norms(coefficients.slopes))

    def path(self, penalties: np.ndarray, tolerance: float = _TOLERANCE) -> Iterator[Coefficients]:
        """Yield the solutions for falling ``penalties`` (n_penalties,); each solution starts from the one before.

        ``tolerance`` is the allowed violation of the optimality conditions, as a share of the penalty.
        """
        at, before = self.start(), float(penalties[0])
        active = np.zeros(self.weights.size, dtype=bool)
        gradient = self.norms(self.gradient(at)[0])
        for penalty in penalties.tolist():
            active |= gradient >= self.weights * (2 * penalty - before)
            while True:
                at = self._solve(at, penalty, active, tolerance)
                gradient = self.norms(self.gradient(at)[0])
                missed = ~active & (gradient > self.weights * penalty * (1 + tolerance))
                if not missed.any():
                    break
                active |= missed
            active, before = self.norms(at.slopes) > 0, penalty
            yield at

    def _solve(self, coefficients: Coefficients, penalty: float, active: np.ndarray, tolerance: float) -> Coefficients:
        """Return the solution for a penalty on the columns of active groups, by FISTA; slopes of other groups are 0.

        The solver starts from ``coefficients``; ``active`` (n_groups,) is a mask. ``tolerance`` is the allowed
        violation of the optimality conditions, as a share of the penalty.
        """
        columns = np.flatnonzero(active[self.group])
        matrix = np.column_stack([self.matrix[:, columns], np.ones(len(self.one_hot))])
        _, group = np.unique(self.group[columns], return_inverse=True)
        weights = penalty * self.weights[active]
        curvature = 0.5 * _largest_eigenvalue(matrix) / len(self.one_hot)  # of softmax at most 1/2
        now = np.vstack([coefficients.slopes[columns], coefficients.intercepts])
        ahead, momentum = now, 1.0
        for _ in range(_MOST_STEPS):
            scores = matrix @ ahead
            scores -= scores.max(axis=1, keepdims=True)
            proba = np.exp(scores, out=scores)
            proba /= proba.sum(axis=1, keepdims=True)
            proposal = ahead - matrix.T @ (proba - self.one_hot) / (len(self.one_hot) * curvature)
            if columns.size:
                norms = np.sqrt(np.bincount(group, weights=(proposal[:-1] ** 2).sum(axis=1)))
                shrunk = np.maximum(0.0, 1.0 - weights / curvature / np.maximum(norms, 1e-300))
                proposal[:-1] *= shrunk[group][:, None]
            if np.sum((ahead - proposal) * (proposal - now)) > 0:  # uphill: start the momentum again
                momentum = 1.0
            faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            gap = curvature * np.abs(ahead - proposal).max()  # how far the conditions of optimality are from met
            ahead = proposal + (momentum - 1) / faster * (proposal - now)
            now, momentum = proposal, faster
            if gap <= tolerance * penalty:
                break
        slopes = np.zeros_like(coefficients.slopes)
        slopes[columns] = now[:-1]
        return Coefficients(slopes, now[-1])


def _largest_eigenvalue(matrix: np.ndarray) -> float:
    """Return the largest eigenvalue of X'X for a matrix X, computed from X'X or XX', whichever is smaller."""
    product = matrix.T @ matrix if matrix.shape[1] <= matrix.shape[0] else matrix @ matrix.T
    return float(np.linalg.eigvalsh(product)[-1])


class GroupedLassoPeer(Peer):
    """Grouped lasso fitted to two thirds of the rows, with a penalty chosen by cross-validation on these rows.

    Numbers are standardized, and missing ones replaced by the mean; a categorical column has one indicator column per
    value, which form a group. Twenty penalties are tried, down to a hundredth of the largest; that of lowest log loss
    is used.

    Parameters
    ----------
    n_folds : number of folds of the cross-validation.
    random_state : seed of the folds.

    Attributes
    ----------
    n_features_selected_ : int
        Number of columns of the table with a slope other than 0.
    penalty_ : float
        The chosen penalty.
    """

    takes_weights = False

    def __init__(self, *, n_folds: int = 5, random_state: Any = 0) -> None:
        super().__init__(random_state=random_state)
        self.n_folds = n_folds

    def _learn(self, table: Table, codes: np.ndarray, weights: np.ndarray | None) -> Any:
        """Fit the lasso, with a penalty chosen by cross-validation, and return its coefficients; ``weights`` are not
        used.

        Of the rows of ``table``, with classes ``codes`` (n_rows,), two thirds are used. If no column varies on these, a
        classifier that predicts class shares is returned.
        """
        began, rows = time.thread_time(), np.flatnonzero(learnt_rows(codes))
        table, codes = table.take(rows), codes[rows]
        self._learn_columns(table, _mean_and_deviation)
        self.cpu_seconds_ = 0.0
        matrix, indicators = self._rows(table), np.eye(len(self.classes_))[codes]
        self.varying_ = np.ptp(matrix, axis=0) > 0
        if not self.varying_.any():
            return DummyClassifier(strategy="prior").fit(matrix, codes)
        matrix = matrix[:, self.varying_]
        self.owner_ = np.repeat(np.arange(len(self.columns_)), self._widths())[self.varying_]
        whole = GroupedLasso(matrix, indicators, np.unique(self.owner_, return_inverse=True)[1])
        largest = whole.largest_penalty()
        penalties = np.geomspace(largest, _LEAST_SHARE * largest, _N_PENALTIES)
        best = int(self._losses(whole, penalties, codes).argmin())
        self.penalty_ = float(penalties[best])
        *_, at = whole.path(penalties[: best + 1])
        self.cpu_seconds_ = time.thread_time() - began
        return at

    def fold_figures(self, rows: Any, codes: np.ndarray) -> dict[str, float | None]:
        """Return further measures on the test rows by name: CPU seconds of the fit and, for two classes, recalls and
        precisions.

        ``rows`` is the table of test rows, ``codes`` (n_rows,) are their classes as positions among those of the model.
        """
        figures: dict[str, float | None] = {"cpu seconds": round(self.cpu_seconds_, 6)}
        return figures | (of_two_classes(self.predict_log_proba(rows), codes) if len(self.classes_) == 2 else {})

    def _losses(self, whole: GroupedLasso, penalties: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the log loss in nats of each of ``penalties`` (n_penalties,), summed over held-out rows,
        (n_penalties,).

        A fold ends when the loss has not improved for several penalties; the loss of the penalties that it omits is
        infinite. ``whole`` has all rows of the cross-validation, and ``codes`` (n_rows,) are their classes.
        """
        total = np.zeros(penalties.size)
        folds = StratifiedKFold(self.n_folds, shuffle=True, random_state=self.random_state)
        for train, test in folds.split(whole.matrix, codes):
            part = GroupedLasso(whole.matrix[train], whole.one_hot[train], whole.group)
            losses = np.full(penalties.size, np.inf)
            for place, at in enumerate(part.path(penalties)):
                losses[place] = -(whole.one_hot[test] * at.log_proba(whole.matrix[test])).sum()
                if place - int(losses.argmin()) >= _PATIENCE:
                    break
            total += losses
        return total

    def _n_features(self) -> int:
        """Return the number of columns of the table with a slope other than 0."""
        if not isinstance(self.model_, Coefficients):
            return 0
        return int(np.unique(self.owner_[self.model_.slopes.any(axis=1)]).size)

    def _proba(self, table: Table) -> np.ndarray:
        """Return the probabilities of the classes, (n_rows, n_classes)."""
        matrix = self._rows(table)
        if not isinstance(self.model_, Coefficients):
            return self.model_.predict_proba(matrix)
        return np.exp(self.model_.log_proba(matrix[:, self.varying_]))

    def _widths(self) -> list[int]:
        """Return, for each column of the table, the number of matrix columns that encode it."""
        return [len(column) + 1 if isinstance(column, dict) else 1 for column in self.columns_]

    def _cells(self, table: Table, position: int) -> np.ndarray:
        """Return the table column at ``position`` as matrix columns: (n_rows,) for numbers, otherwise (n_rows, n_values
        + 1).

        Numbers are standardized; a categorical column has an indicator for each value, and one for missing or unseen
        values.
        """
        column = self.columns_[position]
        if isinstance(column, dict):
            return np.eye(len(column) + 1)[self._codes(table, position, unknown=len(column), missing=len(column))]
        mean, deviation = column
        return np.nan_to_num((self._numbers(table, position) - mean) / deviation)


def _mean_and_deviation(numbers: np.ndarray) -> tuple[float, float]:
    """Return mean and standard deviation of the numbers that are not NaN; a deviation of 0 is replaced by 1."""
    present = numbers[~np.isnan(numbers)]
    return (float(present.mean()), float(present.std()) or 1.0) if present.size else (0.0, 1.0)

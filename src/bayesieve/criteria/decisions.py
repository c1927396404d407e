"""Criteria of the chosen class: error, balanced error, recall and precision of one class, and expected cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.criteria.base import ScanCriterion
from bayesieve.criteria.row_ratios import RowRatios, Saturation, Scan
from bayesieve.words import listed

_SURE = 1e-9  # nats: beyond all ties


class Error(ScanCriterion):
    """Share of rows whose most probable class is not the true one; the lowest class wins a tie (within 1e-12)."""

    name = "error"
    title = "error rate"
    best = 0.0

    def saturation(self, n_classes: int) -> Saturation:
        return Saturation(right=_SURE, wrong=_SURE)

    def of_scan(self, rows: RowRatios, scan: Scan, moves: tuple[Any, ...]) -> np.ndarray:
        from bayesieve.criteria._decision_kernels import wrong_sums

        block, sums = scan.block, np.zeros((moves[0].size, len(scan.ratios) + 1))
        return scan.add(wrong_sums, moves, sums, block.classes, block.weights) + scan.wrong_by_class()

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        return sums.sum(axis=1) / class_totals.sum()


class Accuracy(Error):
    """Share of rows whose most probable class is the true one; higher is better. 1 - `Error`."""

    name = "accuracy"
    title = "accuracy"
    lower_is_better = False
    best = 1.0

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        return 1.0 - super().values(sums, n_selected, class_totals)


class BalancedError(Error):
    """Mean over the classes of the share of their rows that is given another class."""

    name = "balanced_error"
    title = "balanced error rate"

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        present = class_totals > 0
        return (sums[:, present] / class_totals[present]).mean(axis=1)


class BalancedAccuracy(BalancedError):
    """Mean over the classes of the share of their rows that is given them; higher is better. 1 - `BalancedError`."""

    name = "balanced_accuracy"
    title = "balanced accuracy"
    lower_is_better = False
    best = 1.0

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        return 1.0 - super().values(sums, n_selected, class_totals)


class _OneClass(Error):
    """A criterion of one class, given by its label."""

    lower_is_better = False
    needs_options = True

    def __init__(self, label: Any) -> None:
        self.label = label
        self._code = -1

    def check(self, classes: Any) -> None:
        codes = np.flatnonzero(np.asarray(classes) == self.label)
        if codes.size != 1:
            raise ValueError(
                f"{type(self).__name__} was asked for the class {self.label!r}, but the target has the classes "
                f"{listed([repr(label) for label in np.asarray(classes).tolist()])}."
            )
        self._code = int(codes[0])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.label!r})"


class Recall(_OneClass):
    """Share of the rows of one class that are given that class; higher is better.

    Parameters
    ----------
    label : the class, as it stands in the target.
    """

    name = "recall"

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        if class_totals[self._code] == 0.0:  # the rows lack the class
            return np.full(len(sums), np.nan)
        return 1.0 - sums[:, self._code] / class_totals[self._code]


class Precision(_OneClass):
    """Share of true rows among those that are given one class; higher is better, 0 when no row is given it.

    Parameters
    ----------
    label : the class, as it stands in the target.
    """

    name = "precision"

    def saturation(self, n_classes: int) -> Saturation:
        # With several other classes a wrong row may still change between them.
        return Saturation(right=_SURE, wrong=_SURE if n_classes == 2 else np.inf)

    def of_scan(self, rows: RowRatios, scan: Scan, moves: tuple[Any, ...]) -> np.ndarray:
        from bayesieve.criteria._decision_kernels import chosen_sums

        block, sums = scan.block, super().of_scan(rows, scan, moves)
        chosen = scan.add(chosen_sums, moves, np.zeros_like(sums), block.classes, block.weights, self._code)
        if scan.ratios.shape[0] == 1:  # rows left out for being wrong are given the only other class
            chosen += scan.wrong_by_class()
        chosen[:, self._code] = sums[:, self._code]
        return chosen

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        total = class_totals[self._code]
        right = total - sums[:, self._code]
        right[right < 1e-12 * total] = 0.0  # the difference of equal sums of weights
        given = right + sums.sum(axis=1) - sums[:, self._code]
        return np.divide(right, given, out=np.zeros_like(right), where=given > 0)


class ExpectedCost(ScanCriterion):
    """Mean cost of giving every row the label of lowest expected cost under the model; the lowest label wins a tie.

    Parameters
    ----------
    costs : array-like, shape (n_classes, n_classes)
        ``costs[j, d]``: cost of giving the class d to a row of class j; classes in sorted order. Benefits are negative
        costs.
    """

    name = "expected_cost"
    needs_options = True

    def __init__(self, costs: Any) -> None:
        self.costs = costs

    def check(self, classes: Any) -> None:
        costs = np.asarray(self.costs, dtype=float)
        n_classes = len(classes)
        finite = bool(np.all(np.isfinite(costs)))
        if costs.shape != (n_classes, n_classes) or not finite:
            raise ValueError(
                f"costs must be a matrix of {n_classes} x {n_classes} finite numbers, one line per true class and one "
                f"column per class given, got shape {costs.shape}{'' if finite else ' with NaN or infinity'}."
            )
        self._costs = np.ascontiguousarray(costs)

    def saturation(self, n_classes: int) -> Saturation | None:
        return None  # how sure is sure enough depends on the costs

    def of_scan(self, rows: RowRatios, scan: Scan, moves: tuple[Any, ...]) -> np.ndarray:
        from bayesieve.criteria._decision_kernels import cost_sums

        block, sums = scan.block, np.zeros(moves[0].size)
        return scan.add(cost_sums, moves, sums, block.classes, block.weights, self._costs)[:, None]

    def __repr__(self) -> str:
        return f"ExpectedCost({np.asarray(self.costs).tolist()})"

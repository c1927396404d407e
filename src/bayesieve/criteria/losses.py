"""Criteria of the class probabilities: their logarithms, squares and errors, and the base for losses of your own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from bayesieve.criteria.base import Criterion, ScanCriterion
from bayesieve.criteria.class_block import TWO_WAY, ClassBlock
from bayesieve.criteria.ratio_tables import RatioTables
from bayesieve.criteria.row_joints import RowJoints
from bayesieve.criteria.row_ratios import SURE, RowRatios, Saturation, Scan

_ROWS_AT_ONCE = 1 << 13  # the probabilities of a piece of rows stay in the cache


class SubsetCriterion(Criterion):
    """A criterion computed for one subset after another, from the class probabilities of rows, in NumPy."""

    def sums(self, rows: RowRatios, tables: RatioTables, features: np.ndarray, adding: np.ndarray) -> np.ndarray:
        sums = np.zeros((features.size, 1))
        for c, (feature, add) in enumerate(zip(features.tolist(), adding, strict=True)):
            factors = tables.log_factors(feature)
            sums[c] = self.of_subset(rows, feature, np.exp(factors if add else -factors))
        return sums

    def own_sums(self, rows: RowRatios, tables: RatioTables) -> np.ndarray:
        return np.array([self.of_subset(rows, -1, None)])

    @abstractmethod
    def of_subset(self, rows: RowRatios, feature: int, factors: np.ndarray | None) -> float:
        """The sum over rows, their ratios multiplied by the ``factors`` of the levels of a feature unless None."""


def probabilities(rows: RowRatios, feature: int, factors: np.ndarray | None) -> Iterator[tuple[slice, int, np.ndarray]]:
    """Pieces of the rows, each of one class: which rows, the class, and class probabilities (n_classes, n_rows);
    ``factors`` as `SubsetCriterion.of_subset`.
    """
    scan = rows.scan()
    block = scan.block
    for segment, true_class in enumerate(block.classes.tolist()):
        for begin in range(block.offsets[segment], block.offsets[segment + 1], _ROWS_AT_ONCE):
            piece = slice(begin, min(begin + _ROWS_AT_ONCE, block.offsets[segment + 1]))
            others = scan.ratios[:, piece]
            if factors is not None:
                others = others * factors[segment][:, block.level_codes(feature, piece)]
            joint = np.insert(others, true_class, 1.0, axis=0)
            yield piece, true_class, joint / joint.sum(axis=0)


class RowLoss(SubsetCriterion):
    """The mean over rows of a loss that you define.

    Give it a ``name`` and the method ``losses``; set ``lower_is_better = False`` for a gain. It runs in NumPy, some ten
    times slower than the criteria that come with the package, and otherwise does all they do: every direction, every
    way of evaluation, row weights.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve.criteria import RowLoss
    >>> class Spherical(RowLoss):
    ...     name = "spherical"
    ...     lower_is_better = False
    ...
    ...     def losses(self, probability, true_class):
    ...         return probability[true_class] / np.sqrt((probability**2).sum(axis=0))
    """

    name = "row_loss"

    @abstractmethod
    def losses(self, probability: np.ndarray, true_class: int) -> np.ndarray:
        """(n_rows,) losses of rows that all have the class code ``true_class``, from their class probabilities
        (n_classes, n_rows).
        """

    def of_subset(self, rows: RowRatios, feature: int, factors: np.ndarray | None) -> float:
        block, total = rows.scan().block, 0.0
        for piece, true_class, probability in probabilities(rows, feature, factors):
            loss = self._checked(probability, true_class)
            total += float((loss * block.weights[piece] if block.weights.size else loss).sum())
            block.engine.visited(loss.size * (8 * (len(probability) - 1) + block.codes.itemsize))
        return total

    def _checked(self, probability: np.ndarray, true_class: int) -> np.ndarray:
        loss = np.asarray(self.losses(probability, true_class), dtype=float)
        if loss.shape != probability.shape[1:] or np.isnan(loss).any():
            raise ValueError(
                f"The criterion {self.name!r} must return one number (not NaN) for each of the {probability.shape[1]} "
                f"rows it is given, got shape {loss.shape}{' with NaN' if np.isnan(loss).any() else ''}."
            )
        return loss


_MOST_MULTIPLIED = 80.0  # nats: eight factors larger than that do not multiply safely


class LogLoss(ScanCriterion):
    """(1/N) sum_i -log P_S(y_i | x_i), in nats per row."""

    name = "log_loss"
    unit = "nats per row"
    exact = True

    def saturation(self, n_classes: int) -> Saturation:
        return Saturation(right=SURE)

    def start(self, block: ClassBlock, tables: RatioTables, priors: np.ndarray, *, leave_out: bool = False) -> Any:
        if not leave_out and RowJoints.can_hold(tables, priors):
            return RowJoints(block, tables, priors)
        return super().start(block, tables, priors, leave_out=leave_out)

    def path_sums(self, rows: RowRatios | RowJoints, tables: RatioTables, features: np.ndarray) -> np.ndarray:
        """(n_features, 1) sums of the subsets that grow by one feature after another; the rows follow."""
        if isinstance(rows, RowRatios) and rows.block.is_whole:
            return rows.path(tables, features, tables.largest_log_factor > _MOST_MULTIPLIED)
        sums = np.zeros((features.size, 1))
        for at, feature in enumerate(features.tolist()):
            sums[at] = self.sums(rows, tables, features[at : at + 1], np.array([True]))  # type: ignore[arg-type]
            rows.multiply(tables, feature, True)
        rows.expect_moves()  # as after a path
        return sums

    def of_scan(self, rows: RowRatios | RowJoints, scan: Any, moves: tuple[Any, ...]) -> np.ndarray:
        from bayesieve.criteria._kernels import LANES, log_loss_sums

        if isinstance(rows, RowJoints):
            return rows.sums(moves)
        block, losses = scan.block, np.zeros(moves[0].size)
        by_row = rows.tables.largest_log_factor > _MOST_MULTIPLIED
        products = np.empty((losses.size, 2, LANES))
        for bounds in scan.blocks(moves):
            ends = bool(bounds[0] == block.offsets[0]), bool(bounds[-1] == block.offsets[-1])
            of_rows = scan.ratios, scan.base, block.codes, bounds, block.weights
            log_loss_sums(*of_rows, *moves, by_row, products, *ends, losses)
        return (losses + scan.log_scale)[:, None]


class Brier(ScanCriterion):
    """(1/N) sum_i sum_c (T_ic - P_S(c | x_i))^2, T_ic = 1 for the class of row i, else 0; between 0 and 2.

    It sums over all classes, as the paper does: for two classes it is twice the Brier score of scikit-learn, and of
    reports and comparisons.

    References
    ----------
    Gidofalvi & Zadrozny, Feature selection for class probability estimation, section 3.1; Brier (1950).
    """

    name = "brier"
    title = "squared error"

    def saturation(self, n_classes: int) -> Saturation:
        # With several other classes it matters among which of them a wrong row is undecided.
        return Saturation(right=SURE, wrong=SURE if n_classes == 2 else np.inf)

    def of_scan(self, rows: RowRatios, scan: Scan, moves: tuple[Any, ...]) -> np.ndarray:
        from bayesieve.criteria._probability_kernels import squared_error_sums

        squares = scan.add(squared_error_sums, moves, np.zeros(moves[0].size), scan.block.weights)
        return (squares + 2.0 * scan.wrong.sum())[:, None]


class ErrorProbability(ScanCriterion):
    """(1/N) sum_i [1 - P_S(y_i | x_i)]: smoother than the error, which many features change by the same few rows.

    References
    ----------
    Rabenoro, Lacaille, Cottrell & Rossi (2015), Search strategies for binary feature selection for a naive Bayes
    classifier, section 4.2.
    """

    name = "error_probability"

    def saturation(self, n_classes: int) -> Saturation:
        return Saturation(right=SURE, wrong=SURE)

    def of_scan(self, rows: RowRatios, scan: Scan, moves: tuple[Any, ...]) -> np.ndarray:
        from bayesieve.criteria._probability_kernels import probability_sums, takes_two_way, two_way_right

        block, kinds = scan.block, moves[3]
        right = np.zeros(kinds.size)
        fused = (kinds == TWO_WAY) & takes_two_way(block.offsets, block.n_rows, len(scan.ratios), block.weights)
        if fused.any():
            right[fused] = two_way_right(scan, _of(moves, fused))
        if not fused.all():
            several = _of(moves, ~fused) if fused.any() else moves
            right[~fused] = scan.add(probability_sums, several, np.zeros(several[0].size), block.weights)
        first, end = block.offsets[[0, -1]]
        scanned = block.weights[first:end].sum() if block.weights.size else end - first
        return (scanned - right + scan.wrong.sum())[:, None]


def _of(moves: tuple[Any, ...], chosen: np.ndarray) -> tuple[Any, ...]:
    return *(values[chosen] for values in moves[:-1]), moves[-1]

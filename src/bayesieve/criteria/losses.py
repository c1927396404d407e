"""Criteria of the class probabilities: their logarithms, squares and errors, and the base for losses of your own."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from bayesieve.criteria.base import Criterion, ScanCriterion
from bayesieve.criteria.class_block import TWO_WAY, ClassBlock
from bayesieve.criteria.ratio_tables import RatioTables
from bayesieve.criteria.row_joints import RowJoints
from bayesieve.criteria.row_ratios import SURE, RowRatios, Saturation, Scan

_ROWS_AT_ONCE = 1 << 13  # the probabilities of a piece of rows stay in the cache


class RowLoss(Criterion):
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

    def sums(self, rows: RowRatios, tables: RatioTables, features: np.ndarray, adding: np.ndarray) -> np.ndarray:
        sums = np.zeros((features.size, 1))
        for c, (feature, add) in enumerate(zip(features, adding, strict=True)):
            factors = tables.log_factors(int(feature))
            sums[c] = self._sum(rows, int(feature), np.exp(factors if add else -factors))
        return sums

    def own_sums(self, rows: RowRatios, tables: RatioTables) -> np.ndarray:
        return np.array([self._sum(rows, None, None)])

    def _sum(self, rows: RowRatios, feature: int | None, factors: np.ndarray | None) -> float:
        scan = rows.scan()
        block = scan.block
        total = 0.0
        for segment, true_class in enumerate(block.classes.tolist()):
            for begin in range(block.offsets[segment], block.offsets[segment + 1], _ROWS_AT_ONCE):
                piece = slice(begin, min(begin + _ROWS_AT_ONCE, block.offsets[segment + 1]))
                others = scan.ratios[:, piece]
                if feature is not None and factors is not None:
                    others = others * factors[segment][:, block.level_codes(feature, piece)]
                joint = np.insert(others, true_class, 1.0, axis=0)
                loss = self._checked(joint / joint.sum(axis=0), true_class)
                total += float((loss * block.weights[piece] if block.weights.size else loss).sum())
                block.engine.visited(loss.size * (8 * len(scan.ratios) + block.codes.itemsize))
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

    def sums(self, rows: Any, tables: RatioTables, features: np.ndarray, adding: np.ndarray) -> np.ndarray:
        if isinstance(rows, RowJoints):
            return rows.sums(features, adding)
        return super().sums(rows, tables, features, adding)

    def own_sums(self, rows: Any, tables: RatioTables) -> np.ndarray:
        return rows.own_sums() if isinstance(rows, RowJoints) else super().own_sums(rows, tables)

    def path_sums(self, rows: RowRatios | RowJoints, tables: RatioTables, features: np.ndarray) -> np.ndarray:
        """(n_features, 1) sums of the subsets that grow by one feature after another; the rows follow."""
        if isinstance(rows, RowRatios) and rows.block.is_whole:
            return rows.path(tables, features, tables.largest_log_factor > _MOST_MULTIPLIED)
        sums = np.zeros((features.size, 1))
        for at, feature in enumerate(features.tolist()):
            sums[at] = self.sums(rows, tables, features[at : at + 1], np.array([True]))
            rows.multiply(tables, feature, True)
        rows.expect_moves()  # as after a path
        return sums

    def of_scan(self, scan: Scan, moves: tuple[Any, ...], tables: RatioTables) -> np.ndarray:
        from bayesieve.criteria._kernels import NO_PRODUCTS, log_loss_sums, new_products

        block = scan.block
        losses = np.zeros(moves[0].size)
        by_row = tables.largest_log_factor > _MOST_MULTIPLIED
        products = NO_PRODUCTS if block.is_whole else new_products(losses.size)
        for bounds in scan.blocks(moves):
            is_last = bool(bounds[-1] == block.offsets[-1])
            rows = (scan.ratios, scan.base, block.codes, bounds, block.weights)
            log_loss_sums(*rows, *moves, by_row, products, is_last, losses)
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

    def of_scan(self, scan: Scan, moves: tuple[Any, ...], tables: RatioTables) -> np.ndarray:
        from bayesieve.criteria._probability_kernels import squared_error_sums

        block = scan.block
        squares = np.zeros(moves[0].size)
        for bounds in scan.blocks(moves):
            squared_error_sums(scan.ratios, block.codes, bounds, block.weights, *moves, squares)
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

    def of_scan(self, scan: Scan, moves: tuple[Any, ...], tables: RatioTables) -> np.ndarray:
        from bayesieve.criteria._kernels import BLOCK
        from bayesieve.criteria._probability_kernels import FEWEST, padding, probability_sums, two_way_sums

        block = scan.block
        columns, lows, _, kinds, starts, n_codes, table = moves
        right = np.zeros(columns.size)
        fused = kinds == TWO_WAY
        if fused.any():
            # The fused loops fill up a class with rows around it, so that its rows are a multiple of FEWEST.
            filled_up = min(BLOCK, -(-int(np.diff(block.offsets).max()) // FEWEST) * FEWEST)
            if block.weights.size or scan.ratios.shape[0] not in (1, 2, 3) or block.n_rows < filled_up:
                fused[:] = False
        if fused.any():
            sums, near = np.zeros(fused.sum()), np.empty((len(scan.ratios), BLOCK))
            few = columns[fused], lows[fused], starts[fused], n_codes[fused]
            for bounds in scan.blocks(moves):
                two_way_sums(tuple(scan.ratios), tuple(near), block.codes, bounds, *few, table, sums)
            right[fused] = sums - padding(block.offsets)
        if not fused.all():
            sums = np.zeros(np.sum(~fused))
            several = [values[~fused] for values in moves[:-1]] if fused.any() else moves[:-1]
            for bounds in scan.blocks(moves):
                probability_sums(scan.ratios, block.codes, bounds, block.weights, *several, table, sums)
            right[~fused] = sums
        first, end = block.offsets[0], block.offsets[-1]
        scanned = block.weights[first:end].sum() if block.weights.size else end - first
        return (scanned - right + scan.wrong.sum())[:, None]

"""The base for criteria of your own: a loss of the class probabilities, written in plain NumPy."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from bayesieve.criteria.base import Criterion
from bayesieve.criteria.ratio_tables import RatioTables
from bayesieve.criteria.row_ratios import RowRatios

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

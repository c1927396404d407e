"""Criteria that NumPy computes for one subset after another: losses of your own, and the scorers of scikit-learn."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from bayesieve.criteria.losses import Criterion
from bayesieve.criteria.row_ratios import RowRatios
from bayesieve.criteria.scored_rows import RatioTables

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


class Scorer(SubsetCriterion):
    """What a scorer of scikit-learn makes of the class probabilities of all rows; higher is better.

    It computes the score of every subset by itself, from the outside, and is much slower than the other criteria.

    Parameters
    ----------
    scoring : str or callable
        A name of `sklearn.metrics.get_scorer_names`, such as ``"f1_macro"``, or a function ``(estimator, X, y)`` as
        `sklearn.metrics.make_scorer` returns it; it also receives ``sample_weight`` if rows have weights.
    """

    name = "scorer"
    lower_is_better = False
    additive = False
    needs_options = True

    def __init__(self, scoring: str | Callable[..., float]) -> None:
        self.scoring = scoring
        self.name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", type(scoring).__name__)

    def check(self, classes: Any) -> None:
        from sklearn.metrics import get_scorer

        self._classes = np.asarray(classes)
        self._scorer = get_scorer(self.scoring)

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        return sums[:, 0]

    def of_subset(self, rows: RowRatios, feature: int, factors: np.ndarray | None) -> float:
        block = rows.scan().block
        probability = np.empty((block.n_rows, rows.tables.n_classes))
        for piece, _, of_piece in probabilities(rows, feature, factors):
            probability[piece] = of_piece.T
        labels = self._classes[np.repeat(block.classes, np.diff(block.offsets))]
        weights = {"sample_weight": block.weights} if block.weights.size else {}
        fitted, rows_ = _Fitted(self._classes, probability), np.arange(block.n_rows)[:, None]
        return float(self._scorer(fitted, rows_, labels, **weights))

    def __repr__(self) -> str:
        return f"Scorer({self.scoring!r})"


class _Fitted(ClassifierMixin, BaseEstimator):
    """A classifier whose predictions are known; X are the positions of the rows."""

    def __init__(self, classes: np.ndarray, probability: np.ndarray) -> None:
        self.classes = self.classes_ = classes
        self.probability = probability

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self.probability

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.classes_[self.probability.argmax(axis=1)])

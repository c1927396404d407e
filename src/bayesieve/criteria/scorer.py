"""Any scorer of scikit-learn as a criterion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from bayesieve.criteria.losses import SubsetCriterion, probabilities
from bayesieve.criteria.row_ratios import RowRatios


class Scorer(SubsetCriterion):
    """What a scorer of scikit-learn makes of the class probabilities of all rows; higher is better.

    It computes the score of every subset by itself, from the outside, and is much slower than the other criteria.

    Parameters
    ----------
    scoring : str or callable
        A name of `sklearn.metrics.get_scorer_names`, such as ``"f1_macro"``, or a function ``(estimator, X, y)`` as
        `sklearn.metrics.make_scorer` returns it; it also receives ``sample_weight`` where rows have weights.
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
        return float(
            self._scorer(_Fitted(self._classes, probability), np.arange(block.n_rows)[:, None], labels, **weights)
        )

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

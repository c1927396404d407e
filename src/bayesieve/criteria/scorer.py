"""Any scorer of scikit-learn as a criterion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from bayesieve.criteria.base import Criterion
from bayesieve.criteria.ratio_tables import RatioTables
from bayesieve.criteria.row_ratios import RowRatios


class Scorer(Criterion):
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

        self._model = _Fitted(np.asarray(classes))
        self._scorer = get_scorer(self.scoring)

    def sums(self, rows: RowRatios, tables: RatioTables, features: np.ndarray, adding: np.ndarray) -> np.ndarray:
        scores = [
            self._score(rows, int(feature), np.exp(tables.log_factors(int(feature)) * (1.0 if add else -1.0)))
            for feature, add in zip(features, adding, strict=True)
        ]
        return np.array(scores)[:, None]

    def own_sums(self, rows: RowRatios, tables: RatioTables) -> np.ndarray:
        return np.array([self._score(rows)])

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        return sums[:, 0]

    def _score(self, rows: RowRatios, feature: int = -1, factors: np.ndarray | None = None) -> float:
        scan = rows.scan()
        block = scan.block
        probability = np.empty((block.n_rows, len(scan.ratios) + 1))
        for segment, true_class in enumerate(block.classes.tolist()):
            piece = slice(block.offsets[segment], block.offsets[segment + 1])
            others = scan.ratios[:, piece]
            if factors is not None:
                others = others * factors[segment][:, block.level_codes(feature, piece)]
            probability[piece] = np.insert(others, true_class, 1.0, axis=0).T
        self._model.probability = probability / probability.sum(axis=1, keepdims=True)
        labels = self._model.classes_[np.repeat(block.classes, np.diff(block.offsets))]
        weights = {"sample_weight": block.weights} if block.weights.size else {}
        return float(self._scorer(self._model, np.arange(block.n_rows)[:, None], labels, **weights))

    def __repr__(self) -> str:
        return f"Scorer({self.scoring!r})"


class _Fitted(ClassifierMixin, BaseEstimator):
    """A classifier whose predictions are known; X are the positions of the rows."""

    def __init__(self, classes: np.ndarray) -> None:
        self.classes = self.classes_ = classes
        self.probability = np.zeros((0, len(classes)))

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self.probability

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.classes_[self.probability.argmax(axis=1)])

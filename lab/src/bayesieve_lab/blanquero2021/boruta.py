"""Boruta (Kursa & Rudnicki 2010) for naive Bayes: the importance of a feature is its area under the ROC curve."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from bayesieve import CodedTable

_MOST_ROUNDS = 100
_LEVEL = 0.01  # R's Boruta, as its number of rounds


def installed() -> bool:
    """Return whether the package boruta is installed."""
    return find_spec("boruta") is not None


def confirmed_features(coded: CodedTable, seed: int) -> np.ndarray:
    """Return a mask (n_features,) of the features of a coded table that Boruta confirms, without tentative ones.

    Options have the defaults of the R package Boruta.

    Raises
    ------
    ValueError
        If the Python package ``boruta`` is not installed.
    """
    if not installed():
        raise ValueError("Boruta is not installed; run pip install './lab[peers]' in the repository.")
    from boruta import BorutaPy

    varying = np.flatnonzero(coded.n_levels > 1)
    confirmed = np.zeros(coded.n_features, dtype=bool)
    if varying.size:
        boruta = BorutaPy(
            AUCImportance(), n_estimators=1, alpha=_LEVEL, two_step=False, max_iter=_MOST_ROUNDS, random_state=seed
        )
        boruta.fit(np.ascontiguousarray(coded.codes[varying].T), np.asarray(coded.class_codes))
        # BorutaPy supports every feature, tentative ones too, if it rejects none.
        confirmed[varying] = boruta.ranking_ == 1
    return confirmed


class AUCImportance(BaseEstimator):
    """Estimator that gives Boruta the importance of features as caret's filterVarImp computes it.

    For every class, this is the largest area under the ROC curve of the feature between this class and another one, in
    the better direction; the importance is the mean over the classes.

    Parameters
    ----------
    n_estimators, random_state : set by Boruta, but not used.

    Attributes
    ----------
    feature_importances_ : float array, shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve_lab.blanquero2021.boruta import AUCImportance
    >>> AUCImportance().fit(np.array([[0, 1], [0, 0], [1, 1], [2, 0]]), np.array([0, 0, 1, 1])).feature_importances_
    array([1. , 0.5])
    """

    def __init__(self, n_estimators: Any = 1, random_state: Any = None) -> None:
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Compute the importance of each column of the codes ``X``, (n_rows, n_features), for the class codes ``y``,
        (n_rows,).
        """
        n_features, n_levels, n_classes = X.shape[1], int(X.max(initial=0)) + 1, int(y.max()) + 1
        cells = (np.arange(n_features) * n_levels + X) * n_classes + y[:, None]
        counts = np.bincount(cells.ravel(), minlength=n_features * n_levels * n_classes).astype(float)
        counts = counts.reshape(n_features, n_levels, n_classes)
        below = np.cumsum(counts, axis=1) - 0.5 * counts  # rows of a class at lower levels, and half of those at equal
        wins = counts.transpose(0, 2, 1) @ below  # (feature, class, other class)
        sizes = np.bincount(y, minlength=n_classes).astype(float)
        areas = wins / np.maximum(np.outer(sizes, sizes), 1.0)
        areas = np.maximum(areas, areas.transpose(0, 2, 1))
        areas[:, np.arange(n_classes), np.arange(n_classes)] = 0.0
        self.feature_importances_ = areas.max(axis=2).mean(axis=1)
        return self

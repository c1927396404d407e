"""Classifiers for raw tables, applied to the indicators of engine series."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, ClassifierMixin

from bayesieve_lab.rabenoro2015.study import EngineIndicators


class OnIndicators(ClassifierMixin, BaseEstimator):
    """Classifier that is fitted to the indicators of engine scores, as a table of zeros and ones.

    Parameters
    ----------
    model : a classifier.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: np.ndarray) -> OnIndicators:
        """Set the thresholds on engine scores ``X``, a polars frame, and fit the classifier to the indicators.

        ``y`` (n_rows,) are class labels.
        """
        self.encoder_ = EngineIndicators()
        self.model.fit(indicator_frame(self.encoder_.fit_transform_coded(X, y)), y)
        self.n_features_selected_ = getattr(self.model, "n_features_selected_", None)
        return self

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return log probabilities of the classes for rows of engine scores, (n_rows, n_classes)."""
        with np.errstate(divide="ignore"):
            proba: np.ndarray = np.log(self.model.predict_proba(indicator_frame(self.encoder_.transform_coded(X))))
        return proba


def indicator_frame(coded: Any) -> pl.DataFrame:
    """Return the codes of a coded table as a dataframe with a column for each feature."""
    return pl.DataFrame(dict(zip(coded.names, coded.codes, strict=True)))

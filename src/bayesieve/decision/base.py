"""Base class of estimators that turn the probabilities of a classifier into decisions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags


class ClassifierWrapper(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Base class of meta-estimators that wrap another classifier, their parameter ``estimator``."""

    estimator: Any

    def _adopt(self, classifier: Any) -> None:
        """Set ``classes_`` and, if the fitted classifier has them, ``n_features_in_`` and ``feature_names_in_`` to
        those of ``classifier``.
        """
        self.classes_ = np.asarray(classifier.classes_)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                delattr(self, name)
        if hasattr(classifier, "n_features_in_"):
            self.n_features_in_ = classifier.n_features_in_
        if hasattr(classifier, "feature_names_in_"):
            self.feature_names_in_ = classifier.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags of a classifier, with the input tags (the kinds of values accepted) of the wrapped
        one.
        """
        return replace(super().__sklearn_tags__(), input_tags=get_tags(self.estimator).input_tags)

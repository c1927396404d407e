"""`ThresholdTuner`: the threshold, or the weights of classes, that suit a measure best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from bayesieve.decision.benefits import positions_in
from bayesieve.decision.thresholds import (
    MEASURES,
    OF_TWO_CLASSES,
    Measure,
    above_threshold,
    best_class_weights,
    best_threshold,
    weighted_class,
)
from bayesieve.decision.wrapped import Labelled, adopt_fitted, refuse_scan, tags_of_wrapped
from bayesieve.selection.row_splits import row_splits
from bayesieve.shared_docs import with_shared_docs
from bayesieve.table.cautions import silenced
from bayesieve.table.choices import is_choice
from bayesieve.table.frames import apart_by_name, take_rows
from bayesieve.table.scanned import is_scan

_N_FOLDS = 5


@with_shared_docs
class ThresholdTuner(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Predict by the threshold on P(second class | x) that is best by a measure of the confusion matrix.

    Every threshold that makes a difference is tried, in O(n log n) after one sort. For several classes, weights of the
    classes are tuned, and predictions are argmax_j weight_j P(j | x): one weight after the other takes its best value
    until none improves the measure, a local optimum.

    scikit-learn's ``TunedThresholdClassifierCV`` tries a grid of 100 thresholds in every fold and averages its curves,
    for any scorer, and two classes. Use that for scorers that need more than a confusion matrix, such as ones with
    metadata; this for exact thresholds, many rows, row weights or several classes. scikit-learn's
    ``FixedThresholdClassifier`` takes ``best_threshold_``, with the same predictions.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``
        Of scikit-learn or like it; a copy is fitted to all rows.
    scoring : str or function, default="balanced_accuracy"
        ``"balanced_accuracy"`` (1 minus the balanced error rate), ``"accuracy"``, ``"f1"`` and ``"jaccard"`` (of the
        second of two classes), ``"f1_macro"``, ``"matthews_corrcoef"``, or a function from confusion matrices (n, true
        class, predicted class) to values (n,), of which higher is better.
    cv : int, splitter, "train" or None, default=None
        Rows that tune the threshold are predicted by models of the other folds: the number of folds (None: 5),
        stratified and, unlike scikit-learn's, shuffled by a fixed seed, so that tables sorted by time come to no harm;
        or a scikit-learn splitter, taken as it is. "train": by the model itself, as Boulle (2007) does, which is
        optimistic on training rows; with scikit-learn's ``FrozenEstimator``, the threshold of a fitted model on rows of
        its own.

    Attributes
    ----------
    estimator_ : the classifier fitted to all rows.
    classes_ : array, shape (n_classes,)
    best_threshold_ : float or None
        Rows with at least this probability of the second class are predicted as it; None unless there are two classes.
    class_weights_ : float array, shape (n_classes,), or None
        Factors of the probabilities, with a mean of 1; None for two classes.
    best_score_ : float
        The measure, on the rows that tuned.

    References
    ----------
    Boulle (2007), Compression-based averaging of selective naive Bayes classifiers, JMLR 8, section 8.

    Examples
    --------
    >>> from bayesieve import SelectiveNB, ThresholdTuner
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tuner = ThresholdTuner(SelectiveNB("map"), cv="train").fit(X, y)
    >>> tuner.best_score_ > 0.97, 0 < tuner.best_threshold_ < 1
    (True, True)
    """

    def __init__(
        self, estimator: Any, *, scoring: str | Callable[[np.ndarray], Any] = "balanced_accuracy", cv: Any = None
    ) -> None:
        self.estimator = estimator
        self.scoring = scoring
        self.cv = cv

    @with_shared_docs
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> ThresholdTuner:
        """Fit the classifier, and tune.

        Parameters
        ----------
        X : table that the classifier takes, shape (n_rows, n_features)
        sample_weight : array-like, shape (n_rows,), optional
            Weights of the rows, in the measure and for the classifier.
        groups : array-like, shape (n_rows,), optional
            A number of folds, and splitters made for it, keep the rows of a group together.

        Returns
        -------
        self
        """
        X, y, sample_weight, groups = apart_by_name(X, y, sample_weight, groups)
        if not is_choice(self.cv, ("train",)):
            refuse_scan(X, y, "Cross-validation", 'fit with cv="train", around FrozenEstimator for rows of their own')
        labelled = Labelled.of(X, y, sample_weight)
        target, weights = labelled.target, labelled.weights
        measure = self._measure(target.counted(weights).n_classes)
        self.estimator_ = self._trained(X, y, sample_weight if is_scan(X, y) else weights)
        adopt_fitted(self, self.estimator_)
        if isinstance(self.cv, str):
            if self.cv != "train":
                raise ValueError(f'cv must be a number of folds, a splitter, "train" or None, got {self.cv!r:.80}.')
            rows, probability = np.arange(target.codes.size), labelled.among(self.estimator_.predict_proba(X))
        else:
            rows, probability = self._out_of_fold(X, target.classes[target.codes], weights, groups)
        if weights is not None:
            counted = weights[rows] > 0
            rows, probability = rows[counted], probability[counted]
        codes = positions_in(target.classes[target.codes[rows]], self.classes_, "y")
        weights = None if weights is None else weights[rows]
        self.best_threshold_, self.class_weights_ = None, None
        if self.classes_.size == 2:
            self.best_threshold_, self.best_score_ = best_threshold(probability[:, 1], codes == 1, measure, weights)
        else:
            self.class_weights_, self.best_score_ = best_class_weights(probability, codes, measure, weights)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes by the classifier, shape (n_rows, n_classes)."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Classes by the tuned threshold or weights."""
        probability = self.predict_proba(X)
        if self.class_weights_ is not None:
            return self.classes_[weighted_class(probability, self.class_weights_)]
        assert self.best_threshold_ is not None
        return self.classes_[above_threshold(probability[:, 1], self.best_threshold_).astype(np.int64)]

    def _measure(self, n_classes: int) -> Measure:
        if callable(self.scoring):
            return self.scoring
        if not is_choice(self.scoring, MEASURES):
            raise ValueError(f"scoring must be one of {', '.join(MEASURES)} or a function, got {self.scoring!r:.80}.")
        if self.scoring in OF_TWO_CLASSES and n_classes != 2:
            raise ValueError(f'scoring={self.scoring!r} is for two classes, y has {n_classes}; take "f1_macro".')
        return MEASURES[self.scoring]

    def _out_of_fold(
        self, X: Any, labels: np.ndarray, weights: np.ndarray | None, groups: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Tested rows, as often as they are tested, and their probabilities by models of other rows."""
        rows, parts = [], []
        for train, test in row_splits(_N_FOLDS if self.cv is None else self.cv, labels, groups, weights=weights):
            with silenced():  # the model of all rows has warned
                model = self._trained(take_rows(X, train), labels[train], None if weights is None else weights[train])
                part = np.zeros((test.size, self.classes_.size))
                part[:, positions_in(model.classes_, self.classes_, "y")] = model.predict_proba(take_rows(X, test))
            rows.append(test)
            parts.append(part)
        return np.concatenate(rows), np.concatenate(parts)

    def _trained(self, X: Any, y: Any, weights: Any) -> Any:
        return clone(self.estimator).fit(X, y, **({} if weights is None else {"sample_weight": weights}))

    def __sklearn_tags__(self) -> Any:
        return tags_of_wrapped(self.estimator, super().__sklearn_tags__())

"""Search for the threshold (or class weights) that maximises a measure of the confusion matrix, by trying every
distinct value.

A measure is a function from confusion matrices, shape (n, true class, predicted class), to n values; higher is better.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bayesieve.decision.base import ClassifierWrapper
from bayesieve.decision.benefits import positions_in
from bayesieve.parts import is_choice, with_shared_docs
from bayesieve.selection.row_splits import row_splits
from bayesieve.table.cautions import CautionWarning, silenced
from bayesieve.table.frames import LabelledRows, is_scan, refuse_scan, require_table, split_columns, take_rows
from bayesieve.table.target import require_classes, require_target

Measure = Callable[[np.ndarray], np.ndarray]
"""From confusion matrices (n, true class, predicted class) to values (n,); higher is better."""

_INFEASIBLE = -1e100  # below each measure, so that decisions that miss a bound are compared by how far they do
_BLOCK = 2**14  # confusion matrices made at once, so that they stay in the cache
_MAX_ROUNDS = 100
_TOL = 1e-12
_FAR = math.e  # from the last row to the weight beyond it
OF_TWO_CLASSES = ("f1", "jaccard")
_N_FOLDS = 5


def accuracy(confusion: np.ndarray) -> np.ndarray:
    """Return the share of correctly predicted rows for each confusion matrix, shape (n,)."""
    return _rightly(confusion).sum(axis=1) / confusion.sum(axis=(1, 2))


def balanced_accuracy(confusion: np.ndarray) -> np.ndarray:
    """Return the mean recall of the classes for each confusion matrix, shape (n,); 1 minus the balanced error rate."""
    rows = confusion[0].sum(axis=1)  # every matrix has the same rows of each class
    there = rows > 0
    return (_rightly(confusion)[:, there] / rows[there]).mean(axis=1)


def f1_macro(confusion: np.ndarray) -> np.ndarray:
    """Return the mean over classes of 2 TP / (2 TP + FP + FN) for each confusion matrix, shape (n,)."""
    return _f1(confusion).mean(axis=1)


def f1(confusion: np.ndarray) -> np.ndarray:
    """Return 2 TP / (2 TP + FP + FN) of the second class, the positive one, for each confusion matrix, shape (n,)."""
    return _f1(confusion)[:, 1]


def jaccard(confusion: np.ndarray) -> np.ndarray:
    """Return TP / (TP + FP + FN) of the second class, the positive one, for each confusion matrix, shape (n,)."""
    share = f1(confusion)
    return share / (2 - share)


def matthews_corrcoef(confusion: np.ndarray) -> np.ndarray:
    """Return Matthews' correlation for each confusion matrix, shape (n,), for several classes as defined by Gorodkin
    (2004). It is 0 if all rows are predicted as one class.
    """
    true, predicted = confusion.sum(axis=2), confusion.sum(axis=1)
    total = true.sum(axis=1)
    product = _rightly(confusion).sum(axis=1) * total - (true * predicted).sum(axis=1)
    spread = (total**2 - (predicted**2).sum(axis=1)) * (total**2 - (true**2).sum(axis=1))
    return np.divide(product, np.sqrt(np.maximum(spread, 0)), out=np.zeros_like(product), where=spread > 0)


MEASURES: dict[str, Measure] = {
    measure.__name__: measure for measure in (accuracy, balanced_accuracy, f1, f1_macro, jaccard, matthews_corrcoef)
}


def recalls_of(confusion: np.ndarray) -> np.ndarray:
    """Return the recall of every class, shape (n, n_classes), from n confusion matrices; NaN for classes
    without rows.
    """
    rows = confusion.sum(axis=2)
    return np.divide(_rightly(confusion), rows, out=np.full(rows.shape, np.nan), where=rows > 0)


def within_recalls(measure: Measure, least: np.ndarray) -> Measure:
    """Return a measure that prefers any decision whose recalls reach lower bounds to any that does not.

    Decisions that miss a bound are ranked by the sum of their shortfalls.

    Parameters
    ----------
    measure : function of confusion matrices.
    least : float array, shape (n_classes,)
        Lowest recall of each class; 0 for no bound.
    """

    def bounded(confusion: np.ndarray) -> np.ndarray:
        values = np.asarray(measure(confusion), dtype=np.float64)
        missing = np.maximum(least - np.nan_to_num(recalls_of(confusion)), 0.0).sum(axis=1)
        return np.where(missing > _TOL, _INFEASIBLE * (1.0 + missing), values)

    return bounded


def best_threshold(
    score: np.ndarray, positive: np.ndarray, measure: Measure, weights: np.ndarray | None = None
) -> tuple[float, float]:
    """Return the threshold with the largest measure, and that largest value. Rows of at least this score are positive.

    After one sort, every distinct cut is tried. If several are best, the one closest to 1/2 is taken. Thresholds lie
    halfway between neighbouring scores; 0 makes all rows positive, and a threshold just above 1 and all scores makes
    none.

    Parameters
    ----------
    score : float array, shape (n_rows,), in [0, 1]
    positive : bool array, shape (n_rows,)
    measure : function of confusion matrices, higher is better.
    weights : float array, shape (n_rows,), optional
    """
    order = np.argsort(score)
    score, positive = score[order].astype(np.float64), positive[order]
    above_all = float(np.nextafter(max(1.0, score[-1]), 2.0))
    counted = np.ones(score.size) if weights is None else weights[order]
    # A cut separates negative rows (before it) from positive ones. Cuts between equal scores are impossible.
    cuts = np.r_[0, np.flatnonzero(score[1:] != score[:-1]) + 1, score.size]
    below = np.stack([np.r_[0.0, np.cumsum(counted * of_class)][cuts] for of_class in (~positive, positive)])
    total = below[:, -1:]
    values = np.empty(cuts.size)
    for first in range(0, cuts.size, _BLOCK):
        some_below = below[:, first : first + _BLOCK]
        # The transposition makes each cell contiguous over all cuts, so that sums over classes run along memory.
        confusion = np.stack([some_below, total - some_below], axis=1).transpose(2, 0, 1)
        values[first : first + _BLOCK] = _checked(measure(confusion), some_below.shape[1])
    best = np.flatnonzero(values == values.max())
    low = np.r_[0.0, score][cuts[best]]
    high = np.r_[score, above_all][cuts[best]]
    middle = low + (high - low) / 2
    threshold = np.where(middle > low, middle, high)  # neighbouring floats have no middle
    threshold[cuts[best] == 0], threshold[cuts[best] == score.size] = 0.0, above_all
    chosen = int(np.abs(threshold - 0.5).argmin())
    return float(threshold[chosen]), float(values[best[chosen]])


def best_class_weights(
    probability: np.ndarray, codes: np.ndarray, measure: Measure, weights: np.ndarray | None = None
) -> tuple[np.ndarray, float]:
    """Return factors of the class probabilities, with mean 1, that give `weighted_class` a large measure, and its
    value.

    Coordinate ascent: one factor after the other is set to its best value, found by one sort, until none improves the
    measure. It starts from equal factors and from the inverse class shares; the better local optimum is returned.
    """
    probability, n_classes = np.asarray(probability, dtype=np.float64), probability.shape[1]
    counted = np.ones(codes.size) if weights is None else weights
    shares = np.bincount(codes, counted, minlength=n_classes)
    starts = (np.ones(n_classes), 1 / np.where(shares > 0, shares, shares.sum()))
    ascents = [_ascent(probability, codes, counted, measure, start) for start in starts]
    return max(ascents, key=lambda ascent: ascent[1])


def weighted_class(probability: np.ndarray, class_weights: np.ndarray) -> np.ndarray:
    """Return the position of the class with the largest weight_j P(j | x) in each row, the first on ties."""
    return (np.asarray(probability, dtype=np.float64) * class_weights).argmax(axis=1)


def confusion_of(codes: np.ndarray, predicted: np.ndarray, n_classes: int, weights: np.ndarray) -> np.ndarray:
    """Return the confusion matrix: summed weights by true and predicted class, shape (n_classes, n_classes)."""
    cells = np.bincount(codes * n_classes + predicted, weights, minlength=n_classes**2)
    return cells.reshape(n_classes, n_classes).astype(np.float64)  # sums of no rows are integers


def _ascent(
    probability: np.ndarray, codes: np.ndarray, counted: np.ndarray, measure: Measure, start: np.ndarray
) -> tuple[np.ndarray, float]:
    n_classes = start.size

    def value_of(class_weights: np.ndarray) -> float:
        predicted = weighted_class(probability, class_weights)
        return float(_checked(measure(confusion_of(codes, predicted, n_classes, counted)[None]), 1)[0])

    class_weights = start / start.mean()
    value = value_of(class_weights)
    for _ in range(_MAX_ROUNDS):
        before = value
        for j in range(n_classes):
            weight, promised = _best_weight_of(j, probability, class_weights, codes, counted, measure)
            if promised > value + _TOL:
                tried = class_weights.copy()
                tried[j] = weight
                tried /= tried.mean()
                reached = value_of(tried)  # rounding may break ties between other classes another way
                if reached > value + _TOL:
                    class_weights, value = tried, reached
        if value <= before + _TOL:
            break
    return class_weights, value


def _best_weight_of(
    j: int, probability: np.ndarray, class_weights: np.ndarray, codes: np.ndarray, counted: np.ndarray, measure: Measure
) -> tuple[float, float]:
    """Return the best factor for class j while the other factors stay fixed, and the value of the measure there."""
    others = probability * class_weights
    others[:, j] = -1.0
    rival = others.argmax(axis=1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        needed = others[np.arange(codes.size), rival] / probability[:, j]  # rows with less are predicted as j
    needed[np.isnan(needed)] = np.inf
    order = np.argsort(needed)
    needed, rival, codes, counted = needed[order], rival[order], codes[order], counted[order]
    # Cuts closer than rounding errors would split rows whose probabilities are equal in exact arithmetic.
    cuts = np.r_[0, np.flatnonzero(needed[1:] > needed[:-1] * (1 + _TOL)) + 1, needed.size]
    cuts = cuts[(np.r_[0.0, needed][cuts] < np.inf) & (np.r_[needed, np.inf][cuts] > 0)]
    n_classes = class_weights.size
    confusion = confusion_of(codes[cuts[0] :], rival[cuts[0] :], n_classes, counted[cuts[0] :])
    confusion[:, j] += np.bincount(codes[: cuts[0]], counted[: cuts[0]], minlength=n_classes)
    values = [_checked(measure(confusion[None]), 1)]
    step = max(256, 2**18 // n_classes**2)
    for first in range(cuts[0], cuts[-1], step):
        rows = slice(first, min(first + step, cuts[-1]))
        each = np.arange(rows.stop - first)
        moves = np.zeros((n_classes, n_classes, each.size))
        moves[codes[rows], rival[rows], each] -= counted[rows]
        moves[codes[rows], j, each] += counted[rows]
        moves = confusion[:, :, None] + np.cumsum(moves, axis=2)
        confusion = moves[:, :, -1]
        ends = cuts[(cuts > first) & (cuts <= rows.stop)] - first - 1
        if ends.size:
            values.append(_checked(measure(moves[:, :, ends].transpose(2, 0, 1)), ends.size))
    joined = np.concatenate(values)
    best = int(joined.argmax())
    low, high = np.r_[0.0, needed][cuts[best]], np.r_[needed, np.inf][cuts[best]]
    if high == np.inf:
        return float(low * _FAR) or 1.0, float(joined[best])
    return float(np.sqrt(low) * np.sqrt(high) or high / _FAR), float(joined[best])


def _rightly(confusion: np.ndarray) -> np.ndarray:
    return np.diagonal(confusion, axis1=1, axis2=2)


def _f1(confusion: np.ndarray) -> np.ndarray:
    rows = confusion.sum(axis=1) + confusion.sum(axis=2)
    return np.divide(2 * _rightly(confusion), rows, out=np.zeros(rows.shape), where=rows > 0)


def _checked(values: Any, n: int) -> np.ndarray:
    """Return the values of a user's measure as an array. Raise ValueError unless there is one number per confusion
    matrix.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (n,) or np.isnan(array).any():
        raise ValueError(
            "scoring must return a number for each of the confusion matrices (n, true class, predicted class) that it "
            f"is given, got an array of shape {array.shape}{' with NaN' if np.isnan(array).any() else ''}."
        )
    return array


@with_shared_docs
class ThresholdTuner(ClassifierWrapper):
    """Classifier that predicts by the threshold on P(positive class | x) that maximises a measure of the confusion
    matrix.

    Every threshold that makes a difference is tried, in O(n log n) after one sort. For several classes, factors of the
    class probabilities are tuned instead, and predictions are argmax_j weight_j P(j | x): one factor after the other
    takes its best value until none improves the measure, which is a local optimum.

    scikit-learn's ``TunedThresholdClassifierCV`` tries a grid of 100 thresholds in every fold and averages the curves,
    for any scorer and two classes. Use it for scorers that need more than a confusion matrix, such as those with
    metadata. Use `ThresholdTuner` for exact thresholds, many rows, row weights or several classes. scikit-learn's
    ``FixedThresholdClassifier`` with ``best_threshold_`` gives the same predictions.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``
        Of scikit-learn or like it; a copy is fitted to all rows.
    scoring : str or function, default="balanced_accuracy"
        ``"balanced_accuracy"`` (1 minus the balanced error rate), ``"accuracy"``, ``"f1"`` and ``"jaccard"`` (of the
        positive of two classes), ``"f1_macro"``, ``"matthews_corrcoef"``, or a function from confusion matrices (n,
        true class, predicted class) to values (n,), of which higher is better; the positive of two classes comes last.
    cv : int, splitter, "train" or None, default=None
        Rows that tune the threshold are predicted by models of the other folds: the number of folds (None: 5),
        stratified and, unlike scikit-learn's, shuffled by a fixed seed, as tables may be sorted;
        or a scikit-learn splitter, taken as it is. "train": by the model itself, as Boulle (2007) does, which is
        optimistic on training rows; with scikit-learn's ``FrozenEstimator``, the threshold of a fitted model on further
        rows.
    pos_label : label, default=None
        The positive of two classes. None: ``positive`` of the classifier, or else the second of ``classes_``.
    min_recall : dict from class to float, or None, default=None
        Lowest recalls of some classes on the rows that tune, such as ``{"bad": 0.8}``: the best threshold or weights
        that keep them are chosen. If none do, the nearest are, with a warning.

    Attributes
    ----------
    estimator_ : the classifier fitted to all rows.
    classes_ : array, shape (n_classes,)
    pos_label_ : label or None
        The positive class; None unless there are two classes.
    best_threshold_ : float or None
        Rows with at least this probability of the positive class are predicted as it; None unless there are two.
    class_weights_ : float array, shape (n_classes,), or None
        Factors of the probabilities, with a mean of 1; None for two classes.
    best_score_ : float
        The measure, on the rows that tuned.
    recalls_ : float array, shape (n_classes,)
        Recalls of the classes, on the rows that tuned.

    References
    ----------
    Boulle (2007), Compression-based averaging of selective naive Bayes classifiers, JMLR 8, section 8. Blanquero,
    Carrizosa, Ramirez-Cobo & Sillero-Denamiel (2021), Constrained naive Bayes with application to unbalanced data
    classification, Central European Journal of Operations Research 30 (bounds on recalls, kept there by the
    probabilities rather than the threshold).

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
        self,
        estimator: Any,
        *,
        scoring: str | Callable[[np.ndarray], Any] = "balanced_accuracy",
        cv: Any = None,
        pos_label: Any = None,
        min_recall: Mapping[Any, float] | None = None,
    ) -> None:
        self.estimator = estimator
        self.scoring = scoring
        self.cv = cv
        self.pos_label = pos_label
        self.min_recall = min_recall

    @with_shared_docs
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> ThresholdTuner:
        """Fit the classifier, and tune the threshold or the class weights.

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
        require_target(self, y)
        require_table(self, X)
        X, y, sample_weight, groups = split_columns(X, y, sample_weight, groups)
        if not is_choice(self.cv, ("train",)):
            refuse_scan(X, y, "Cross-validation", 'fit with cv="train", around FrozenEstimator for rows of their own')
        labelled = LabelledRows.of(X, y, sample_weight)
        target, weights = labelled.target, labelled.weights
        require_classes(self, target.counted(weights).classes)
        measure = self._measure(target.counted(weights).n_classes)
        self.estimator_ = self._trained(X, y, sample_weight if is_scan(X, y) else weights)
        self._adopt(self.estimator_)
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
        self._tune(probability, codes, weights, measure)
        return self

    def _tune(self, probability: np.ndarray, codes: np.ndarray, weights: np.ndarray | None, measure: Measure) -> None:
        """Set the threshold or the class weights from out-of-fold probabilities, and the score and recalls they reach
        there.
        """
        least = self._least_recalls(np.bincount(codes, weights, minlength=self.classes_.size))
        bounded = within_recalls(measure, least) if least.any() else measure
        self.best_threshold_, self.class_weights_, self.pos_label_ = None, None, None
        if self.classes_.size == 2:
            place = getattr(getattr(self.estimator_, "scorecard_", None), "positive", 1)
            if self.pos_label is not None:
                place = int(positions_in(np.array([self.pos_label]), self.classes_, "pos_label")[0])
            self.pos_label_ = self.classes_[place]
            scores, positive = probability[:, place], codes == place
            self.best_threshold_, self.best_score_ = best_threshold(scores, positive, bounded, weights)
        else:
            self.class_weights_, self.best_score_ = best_class_weights(probability, codes, bounded, weights)
        counted = np.ones(codes.size) if weights is None else weights
        confusion = confusion_of(codes, self._decided(probability), self.classes_.size, counted)[None]
        (self.recalls_,) = recalls_of(confusion)
        if self.best_score_ <= _INFEASIBLE:
            self.best_score_ = float(_checked(measure(confusion), 1)[0])
            reached = ", ".join(f"{self.classes_[k]} {self.recalls_[k]:.3g}" for k in np.flatnonzero(least))
            warnings.warn(
                f"No decision keeps the recalls of min_recall on the rows that tune; the nearest has {reached}. Lower "
                "the bounds, or bound fewer classes.",
                CautionWarning,
                stacklevel=3,
            )

    def _least_recalls(self, rows: np.ndarray) -> np.ndarray:
        """Return ``min_recall`` as an array, shape (n_classes,), 0 for classes without a bound."""
        least = np.zeros(self.classes_.size)
        for label, bound in (self.min_recall or {}).items():
            place = int(positions_in(np.array([label]), self.classes_, "min_recall")[0])
            if not 0 <= bound <= 1:
                raise ValueError(f"min_recall of class {label!r} must be between 0 and 1, got {bound!r}.")
            if rows[place] == 0:
                raise ValueError(f"min_recall names class {label!r}, which has no row to tune on; leave it out.")
            least[place] = bound
        return least

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the fitted classifier, shape (n_rows, n_classes); tuning does not change them."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted class of each row, shape (n_rows,), by the tuned threshold or class weights."""
        check_is_fitted(self)
        return self.classes_[self._decided(self.predict_proba(X))]

    def _decided(self, probability: np.ndarray) -> np.ndarray:
        """Return the position of the predicted class of each row in ``classes_``."""
        if self.class_weights_ is not None:
            return weighted_class(probability, self.class_weights_)
        assert self.best_threshold_ is not None
        place = int(self.classes_[1] == self.pos_label_)
        return np.where(probability[:, place] >= self.best_threshold_, place, 1 - place)

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
        """Return the positions of the test rows of all folds, and their probabilities by models that were not trained
        on them.
        """
        rows, probabilities = [], []
        for train, test in row_splits(_N_FOLDS if self.cv is None else self.cv, labels, groups, weights=weights):
            with silenced():  # the model of all rows has warned
                model = self._trained(take_rows(X, train), labels[train], None if weights is None else weights[train])
                probability = np.zeros((test.size, self.classes_.size))
                probability[:, positions_in(model.classes_, self.classes_, "y")] = model.predict_proba(
                    take_rows(X, test)
                )
            rows.append(test)
            probabilities.append(probability)
        return np.concatenate(rows), np.concatenate(probabilities)

    def _trained(self, X: Any, y: Any, weights: Any) -> Any:
        return clone(self.estimator).fit(X, y, **({} if weights is None else {"sample_weight": weights}))

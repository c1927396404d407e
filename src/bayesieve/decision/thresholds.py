"""Search for the decision threshold (or class weights) that maximises a measure of the confusion matrix, by trying
every distinct value.

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
"""Function from confusion matrices (n, true class, predicted class) to n values; higher is better."""

_INFEASIBLE = -1e100  # times (1 + shortfall): value of decisions that miss a bound, below every measure
_BLOCK = 2**14  # confusion matrices computed at once, so that they fit in the cache
_MAX_ROUNDS = 100
_TOL = 1e-12
_FAR = math.e  # ratio of a class weight beyond all rows to the weight at which the last row changes
OF_TWO_CLASSES = ("f1", "jaccard")
_N_FOLDS = 5


def accuracy(confusion: np.ndarray) -> np.ndarray:
    """Return the share of correctly predicted rows for each confusion matrix, shape (n,)."""
    return _correct(confusion).sum(axis=1) / confusion.sum(axis=(1, 2))


def balanced_accuracy(confusion: np.ndarray) -> np.ndarray:
    """Return the mean recall of the classes for each confusion matrix, shape (n,); 1 minus the balanced error rate."""
    row_counts = confusion[0].sum(axis=1)  # the number of rows per true class is equal in all matrices
    has_rows = row_counts > 0
    return (_correct(confusion)[:, has_rows] / row_counts[has_rows]).mean(axis=1)


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
    """Return Matthews' correlation coefficient for each confusion matrix, shape (n,); 0 if all rows are predicted as
    one class.

    For several classes, it is the coefficient of Gorodkin (2004).
    """
    true, predicted = confusion.sum(axis=2), confusion.sum(axis=1)
    total = true.sum(axis=1)
    product = _correct(confusion).sum(axis=1) * total - (true * predicted).sum(axis=1)
    spread = (total**2 - (predicted**2).sum(axis=1)) * (total**2 - (true**2).sum(axis=1))
    return np.divide(product, np.sqrt(np.maximum(spread, 0)), out=np.zeros_like(product), where=spread > 0)


MEASURES: dict[str, Measure] = {
    measure.__name__: measure for measure in (accuracy, balanced_accuracy, f1, f1_macro, jaccard, matthews_corrcoef)
}


def recalls_of(confusion: np.ndarray) -> np.ndarray:
    """Return the recall of every class, shape (n, n_classes), from confusion matrices (n, true class, predicted class).
    It is NaN for classes without rows.
    """
    row_counts = confusion.sum(axis=2)
    return np.divide(_correct(confusion), row_counts, out=np.full(row_counts.shape, np.nan), where=row_counts > 0)


def within_recalls(measure: Measure, least: np.ndarray) -> Measure:
    """Return a measure that ranks decisions whose recalls reach their lower bounds above all others.

    Decisions that miss a bound are ranked by the sum of their shortfalls.

    Parameters
    ----------
    measure : function of confusion matrices
        Ranks the decisions that reach all bounds.
    least : float array, shape (n_classes,)
        Lowest allowed recall of each class; 0 for no bound.
    """

    def bounded(confusion: np.ndarray) -> np.ndarray:
        """Return ``measure`` of confusion matrices (n, true class, predicted class), shape (n,). Matrices whose recalls
        miss a bound get a very low value, the lower the larger the shortfall.
        """
        values = np.asarray(measure(confusion), dtype=np.float64)
        missing = np.maximum(least - np.nan_to_num(recalls_of(confusion)), 0.0).sum(axis=1)
        return np.where(missing > _TOL, _INFEASIBLE * (1.0 + missing), values)

    return bounded


def best_threshold(
    score: np.ndarray, positive: np.ndarray, measure: Measure, weights: np.ndarray | None = None
) -> tuple[float, float]:
    """Return the threshold with the largest measure, and that measure. Rows with at least this score are predicted
    positive.

    Every threshold that separates two scores is tried, after one sort. If several are best, the one closest to 1/2 is
    returned. Thresholds lie halfway between neighbouring scores. At 0 all rows are predicted positive; at a threshold
    just above 1 and all scores, none.

    Parameters
    ----------
    score : float array, shape (n_rows,), in [0, 1]
    positive : bool array, shape (n_rows,), true class
    measure : function of confusion matrices, higher is better.
    weights : float array, shape (n_rows,), or None for equal weights
    """
    order = np.argsort(score)
    score, positive = score[order].astype(np.float64), positive[order]
    above_all = float(np.nextafter(max(1.0, score[-1]), 2.0))
    counted = np.ones(score.size) if weights is None else weights[order]
    # A cut is a position in the sorted rows: rows before it are predicted negative, the others positive. No cut
    # separates equal scores.
    cuts = np.r_[0, np.flatnonzero(score[1:] != score[:-1]) + 1, score.size]
    below = np.stack([np.r_[0.0, np.cumsum(counted * is_class)][cuts] for is_class in (~positive, positive)])
    total = below[:, -1:]
    values = np.empty(cuts.size)
    for first in range(0, cuts.size, _BLOCK):
        block_below = below[:, first : first + _BLOCK]
        # Stack the matrices along the last axis and transpose, so that sums over classes run along contiguous memory.
        confusion = np.stack([block_below, total - block_below], axis=1).transpose(2, 0, 1)
        values[first : first + _BLOCK] = _checked(measure(confusion), block_below.shape[1])
    best = np.flatnonzero(values == values.max())
    low = np.r_[0.0, score][cuts[best]]
    high = np.r_[score, above_all][cuts[best]]
    middle = low + (high - low) / 2
    threshold = np.where(middle > low, middle, high)  # no float lies between two neighbouring floats
    threshold[cuts[best] == 0], threshold[cuts[best] == score.size] = 0.0, above_all
    chosen = int(np.abs(threshold - 0.5).argmin())
    return float(threshold[chosen]), float(values[best[chosen]])


def best_class_weights(
    probability: np.ndarray, codes: np.ndarray, measure: Measure, weights: np.ndarray | None = None
) -> tuple[np.ndarray, float]:
    """Return factors of the class probabilities that give the predictions of `weighted_class` a large measure.

    Coordinate ascent: one factor after the other is set to its best value, found by one sort, until none improves the
    measure. It starts from equal factors and from the inverse class shares; the better local optimum is returned.

    Parameters
    ----------
    probability : (n_rows, n_classes) class probabilities.
    codes : (n_rows,) positions of the true classes.
    measure : function of confusion matrices, higher is better.
    weights : (n_rows,) row weights; None if all are 1.

    Returns
    -------
    class_weights : float array, shape (n_classes,)
        Factors, with mean 1.
    value : float
        Measure of the predictions with these factors.
    """
    probability, n_classes = np.asarray(probability, dtype=np.float64), probability.shape[1]
    counted = np.ones(codes.size) if weights is None else weights
    shares = np.bincount(codes, counted, minlength=n_classes)
    starts = (np.ones(n_classes), 1 / np.where(shares > 0, shares, shares.sum()))
    ascents = [_ascent(probability, codes, counted, measure, start) for start in starts]
    return max(ascents, key=lambda ascent: ascent[1])


def weighted_class(probability: np.ndarray, class_weights: np.ndarray) -> np.ndarray:
    """Return the position of the class j with the largest class_weights[j] P(j | x) in each row, shape (n_rows,).

    ``probability`` (n_rows, n_classes) holds P(j | x), and ``class_weights`` has shape (n_classes,). On ties, the first
    class wins.
    """
    return (np.asarray(probability, dtype=np.float64) * class_weights).argmax(axis=1)


def confusion_of(codes: np.ndarray, predicted: np.ndarray, n_classes: int, weights: np.ndarray) -> np.ndarray:
    """Return the confusion matrix: summed ``weights`` (n_rows,) by true and predicted class, shape (n_classes,
    n_classes).

    ``codes`` and ``predicted`` (n_rows,) are positions of the true and the predicted class of each row.
    """
    cells = np.bincount(codes * n_classes + predicted, weights, minlength=n_classes**2)
    return cells.reshape(n_classes, n_classes).astype(np.float64)  # bincount returns integers if there are no rows


def _ascent(
    probability: np.ndarray, codes: np.ndarray, counted: np.ndarray, measure: Measure, start: np.ndarray
) -> tuple[np.ndarray, float]:
    """Improve factors of the class probabilities one after the other; return them, (n_classes,), and the measure
    reached.

    Parameters
    ----------
    probability : (n_rows, n_classes) class probabilities.
    codes, counted : (n_rows,) positions of the true classes, and row weights.
    measure : function of confusion matrices, higher is better.
    start : (n_classes,) initial factors.
    """
    n_classes = start.size

    def value_of(class_weights: np.ndarray) -> float:
        """Return the measure of the predictions with the factors ``class_weights``, shape (n_classes,)."""
        predicted = weighted_class(probability, class_weights)
        return float(_checked(measure(confusion_of(codes, predicted, n_classes, counted)[None]), 1)[0])

    class_weights = start / start.mean()
    value = value_of(class_weights)
    for _ in range(_MAX_ROUNDS):
        before = value
        for j in range(n_classes):
            weight, expected_value = _best_weight_of(j, probability, class_weights, codes, counted, measure)
            if expected_value > value + _TOL:
                candidate = class_weights.copy()
                candidate[j] = weight
                candidate /= candidate.mean()
                new_value = value_of(candidate)  # evaluate again: rounding may break ties of other classes differently
                if new_value > value + _TOL:
                    class_weights, value = candidate, new_value
        if value <= before + _TOL:
            break
    return class_weights, value


def _best_weight_of(
    j: int, probability: np.ndarray, class_weights: np.ndarray, codes: np.ndarray, counted: np.ndarray, measure: Measure
) -> tuple[float, float]:
    """Return the best factor for class j while the other factors stay fixed, and the measure that it reaches.

    Parameters
    ----------
    j : position of the class.
    probability : (n_rows, n_classes) class probabilities.
    class_weights : (n_classes,) current factors.
    codes, counted : (n_rows,) positions of the true classes, and row weights.
    measure : function of confusion matrices, higher is better.
    """
    others = probability * class_weights
    others[:, j] = -1.0
    rival = others.argmax(axis=1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        needed = (
            others[np.arange(codes.size), rival] / probability[:, j]
        )  # factor of class j from which the row is predicted as j
    needed[np.isnan(needed)] = np.inf
    order = np.argsort(needed)
    needed, rival, codes, counted = needed[order], rival[order], codes[order], counted[order]
    # Skip cuts between factors that only differ by rounding errors: the probabilities of these rows are equal.
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


def _correct(confusion: np.ndarray) -> np.ndarray:
    """Return the correctly predicted rows (or weight) of each class, (n, n_classes), from confusion matrices (n, true
    class, predicted class).
    """
    return np.diagonal(confusion, axis1=1, axis2=2)


def _f1(confusion: np.ndarray) -> np.ndarray:
    """Return 2 TP / (2 TP + FP + FN) of each class, (n, n_classes), from confusion matrices (n, true class, predicted
    class).
    """
    row_counts = confusion.sum(axis=1) + confusion.sum(axis=2)
    return np.divide(2 * _correct(confusion), row_counts, out=np.zeros(row_counts.shape), where=row_counts > 0)


def _checked(values: Any, n: int) -> np.ndarray:
    """Return the ``values`` of a user's measure as an array of shape (n,); raise ValueError unless there is one number
    for each of ``n`` confusion matrices.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (n,) or np.isnan(array).any():
        raise ValueError(
            "scoring must return one number for each of n confusion matrices, shape (n, true class, predicted class), "
            f"got an array of shape {array.shape}{' with NaN' if np.isnan(array).any() else ''}."
        )
    return array


@with_shared_docs
class ThresholdTuner(ClassifierWrapper):
    """Classifier with the threshold on P(positive class | x) that maximises a measure of the confusion matrix.

    Every threshold that changes a prediction is tried, in O(n log n) by one sort. For more than two classes, class
    weights are tuned instead, and predictions are argmax_j weight_j P(j | x). One weight after the other is set to its
    best value until none improves the measure, which gives a local optimum.

    scikit-learn's ``TunedThresholdClassifierCV`` tries a grid of 100 thresholds in every fold and averages the curves,
    for any scorer and two classes. Use it for scorers that need more than a confusion matrix, such as those with
    metadata. Use `ThresholdTuner` for exact thresholds, many rows, row weights or several classes. scikit-learn's
    ``FixedThresholdClassifier`` with ``best_threshold_`` gives the same predictions.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``
        Classifier to tune; a clone is fitted to all rows.
    scoring : str or function, default="balanced_accuracy"
        Measure to maximise: ``"balanced_accuracy"`` (1 minus the balanced error rate), ``"accuracy"``, ``"f1"`` and
        ``"jaccard"`` (of the positive one of two classes), ``"f1_macro"``, ``"matthews_corrcoef"``, or a function from
        confusion matrices (n, true class, predicted class) to n values, higher is better; of two classes, the positive
        one comes last.
    cv : int, splitter, "train" or None, default=None
        Models that predict the rows on which the threshold is tuned. A number of folds (None: 5) or a scikit-learn
        splitter: each row is predicted by a model that was trained on other folds; numbered folds are stratified and,
        unlike scikit-learn's, shuffled by a fixed seed, because tables may be sorted. "train": all rows are predicted
        by the model fitted to them, as in Boulle (2007), which is optimistic. Use "train" with scikit-learn's
        ``FrozenEstimator`` to tune the threshold of a fitted model on new rows.
    pos_label : label, default=None
        Positive one of two classes. None: the attribute ``positive`` of the classifier if it has one, otherwise the
        second of ``classes_``.
    min_recall : dict from class to float, or None, default=None
        Lower bounds for the recalls of classes on the rows used for tuning, such as ``{"bad": 0.8}``: the best
        threshold or class weights that satisfy them are chosen. If none do, those with the smallest total shortfall are
        chosen, with a warning. None: no bounds.

    Attributes
    ----------
    estimator_ : the classifier fitted to all rows.
    classes_ : array, shape (n_classes,)
        Class labels.
    pos_label_ : label or None
        The positive class; None unless there are two classes.
    best_threshold_ : float or None
        Probability of the positive class from which rows are predicted positive; None unless there are two classes.
    class_weights_ : float array, shape (n_classes,), or None
        Weights of the class probabilities, with a mean of 1; None for two classes.
    best_score_ : float
        Largest measure on the rows used for tuning.
    recalls_ : float array, shape (n_classes,)
        Recalls of the classes on the rows used for tuning.

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
        X : table that the classifier accepts, shape (n_rows, n_features)
        sample_weight : array-like, shape (n_rows,), optional
            Weights of the rows, in the measure and for the classifier.
        groups : array-like, shape (n_rows,), optional
            Group of each row; a number of folds, and group splitters, keep the rows of a group in one fold.

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
            positions, probability = np.arange(target.codes.size), labelled.among(self.estimator_.predict_proba(X))
        else:
            positions, probability = self._out_of_fold(X, target.classes[target.codes], weights, groups)
        if weights is not None:
            counted = weights[positions] > 0
            positions, probability = positions[counted], probability[counted]
        codes = positions_in(target.classes[target.codes[positions]], self.classes_, "y")
        weights = None if weights is None else weights[positions]
        self._tune(probability, codes, weights, measure)
        return self

    def _tune(self, probability: np.ndarray, codes: np.ndarray, weights: np.ndarray | None, measure: Measure) -> None:
        """Set the threshold or the class weights to those with the largest measure, and the score and the recalls they
        reach.

        Parameters
        ----------
        probability : (n_rows, n_classes) class probabilities of the rows used for tuning.
        codes, weights : (n_rows,) positions of the true classes, and row weights, None if all are 1.
        measure : function of confusion matrices, higher is better.
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
                f"No threshold or class weights reach the recalls of min_recall; the nearest ones reach {reached}. "
                "Lower the bounds, or bound fewer classes.",
                CautionWarning,
                stacklevel=3,
            )

    def _least_recalls(self, row_counts: np.ndarray) -> np.ndarray:
        """Return ``min_recall`` as an array, shape (n_classes,), 0 for classes without a bound.

        ``row_counts`` (n_classes,) is the number (or weight) of rows of each class. Raise ValueError for a bound
        outside [0, 1], or for a class without rows.
        """
        least = np.zeros(self.classes_.size)
        for label, bound in (self.min_recall or {}).items():
            place = int(positions_in(np.array([label]), self.classes_, "min_recall")[0])
            if not 0 <= bound <= 1:
                raise ValueError(f"min_recall of class {label!r} must be between 0 and 1, got {bound!r}.")
            if row_counts[place] == 0:
                raise ValueError(f"min_recall names class {label!r}, which has no rows for tuning; omit this class.")
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
        """Return the predicted class of each row as its position in ``classes_``, shape (n_rows,), from class
        probabilities (n_rows, n_classes), by the tuned threshold or class weights.
        """
        if self.class_weights_ is not None:
            return weighted_class(probability, self.class_weights_)
        assert self.best_threshold_ is not None
        place = int(self.classes_[1] == self.pos_label_)
        return np.where(probability[:, place] >= self.best_threshold_, place, 1 - place)

    def _measure(self, n_classes: int) -> Measure:
        """Return the function of confusion matrices that ``scoring`` is or names.

        Raise ValueError if the name is unknown, or the measure needs two classes and ``n_classes`` is another number.
        """
        if callable(self.scoring):
            return self.scoring
        if not is_choice(self.scoring, MEASURES):
            raise ValueError(f"scoring must be one of {', '.join(MEASURES)} or a function, got {self.scoring!r:.80}.")
        if self.scoring in OF_TWO_CLASSES and n_classes != 2:
            raise ValueError(f'scoring={self.scoring!r} needs two classes, but y has {n_classes}; use "f1_macro".')
        return MEASURES[self.scoring]

    def _out_of_fold(
        self, X: Any, labels: np.ndarray, weights: np.ndarray | None, groups: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of the test rows of all folds, (n,), and their class probabilities, (n, n_classes).

        The probabilities of a fold are those of a model trained on the training rows of the fold. ``labels`` are the
        true classes, ``weights`` row weights or None, and ``groups`` the group of each row or None, each of shape
        (n_rows,).
        """
        positions, probabilities = [], []
        for train, test in row_splits(_N_FOLDS if self.cv is None else self.cv, labels, groups, weights=weights):
            with silenced():  # the model fitted to all rows has issued the warnings
                model = self._trained(take_rows(X, train), labels[train], None if weights is None else weights[train])
                probability = np.zeros((test.size, self.classes_.size))
                probability[:, positions_in(model.classes_, self.classes_, "y")] = model.predict_proba(
                    take_rows(X, test)
                )
            positions.append(test)
            probabilities.append(probability)
        return np.concatenate(positions), np.concatenate(probabilities)

    def _trained(self, X: Any, y: Any, weights: Any) -> Any:
        """Return a clone of the classifier, fitted to the rows ``X`` with labels ``y`` and, unless it is None, row
        weights ``weights``.
        """
        return clone(self.estimator).fit(X, y, **({} if weights is None else {"sample_weight": weights}))

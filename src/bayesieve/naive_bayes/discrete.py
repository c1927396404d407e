"""`DiscreteNB`: naive Bayes on codes, with a weight for every feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bayesieve.counts import CodedTable, Smoothing, check_smoothing
from bayesieve.counts.probabilities import log_probabilities_of_all
from bayesieve.discretize.codes import read_codes, refuse_empty_tables
from bayesieve.naive_bayes.explanation import Explanation
from bayesieve.parts import with_shared_docs
from bayesieve.selection.base import with_classes
from bayesieve.table.target import as_target


@with_shared_docs
class DiscreteNB(ClassifierMixin, BaseEstimator):
    """Naive Bayes classifier on integer codes, with feature weights.

    log P(j | x) = log P(j) + sum_k w_k log P(x_k | j) + constant. Codes outside the levels known from training add
    nothing to any class; they are not an error.

    Parameters
    ----------
    smoothing : "m-estimate" or float, default="m-estimate"
        ``"m-estimate"``: P(level i | class j) = (N_ij + 1/N) / (N_j + J/N), of Boulle (2007). A positive number:
        Laplace's alpha, (N_ij + alpha) / (N_j + alpha * levels), equal to scikit-learn's ``CategoricalNB``.
    feature_weights : array-like, shape (n_features,), or None, default=None
        Non-negative exponent of each feature's probabilities; None means 1 for all.
    min_categories : int, array-like of int, or None, default=None
        Minimum number of levels of each feature, if not all levels occur in the training rows.
    fit_prior : bool, default=True
        Whether to learn class priors; if False, all classes have the same prior.

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
    class_count_ : float array, shape (n_classes,)
        Rows (or weight) of each class.
    class_log_prior_ : float array, shape (n_classes,)
    feature_log_prob_ : list of float arrays, shape (n_levels, n_classes)
        log P(level | class) of each feature.
    feature_count_ : list of float arrays, shape (n_levels, n_classes)
    evidence_ : list of float arrays, shape (n_levels, n_classes)
        What each level adds to the log joint, in nats: weight * log P(level | class), unless `set_evidence` set it.
    intercept_ : float array, shape (n_classes,)
        What the evidence is added to: the log prior, unless `set_evidence` set it.
    n_features_in_ : int

    References
    ----------
    Boulle (2007), Compression-based averaging of selective naive Bayes classifiers, JMLR 8, equation 3.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve import DiscreteNB
    >>> X, y = np.array([[0, 1], [0, 0], [1, 1], [1, 0]]), np.array(["no", "no", "yes", "yes"])
    >>> model = DiscreteNB(smoothing=1.0).fit(X, y)
    >>> model.predict_proba([[1, 0], [7, 0]]).round(2).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    """

    classes_: np.ndarray
    class_count_: np.ndarray
    class_log_prior_: np.ndarray
    feature_log_prob_: list[np.ndarray]
    feature_count_: list[np.ndarray]
    _fitted: Mapping[int, np.ndarray] = MappingProxyType({})  # fitted evidence by position of the feature,
    _fitted_intercept: np.ndarray | None = None  # and the intercept that goes with it
    _fitted_count: Mapping[int, np.ndarray] = MappingProxyType({})  # of levels finer than those counted

    def __init__(
        self,
        *,
        smoothing: Smoothing = "m-estimate",
        feature_weights: Any = None,
        min_categories: Any = None,
        fit_prior: bool = True,
    ) -> None:
        self.smoothing = smoothing
        self.feature_weights = feature_weights
        self.min_categories = min_categories
        self.fit_prior = fit_prior

    @with_shared_docs
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> DiscreteNB:
        """Count the codes by class.

        Parameters
        ----------
        X : array-like of integers from 0, shape (n_rows, n_features), or CodedTable
            With a `CodedTable` that contains classes, ``y`` is optional.

        Returns
        -------
        self
        """
        for name in ("classes_", "feature_count_"):
            self.__dict__.pop(name, None)
        return self._count(X, y, None, sample_weight)

    @with_shared_docs
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> DiscreteNB:
        """Add rows to the counts; the result is the same as one ``fit`` on all rows.

        Parameters
        ----------
        X : array-like of integers from 0, shape (n_rows, n_features), or CodedTable
        classes : array-like, optional
            All possible labels; required on the first call unless its rows contain all of them.
        """
        return self._count(X, y, classes, sample_weight)

    def _count(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> DiscreteNB:
        check_smoothing(self.smoothing)
        if not isinstance(self.fit_prior, (bool, np.bool_)):
            raise ValueError(f"fit_prior must be True or False, got {self.fit_prior!r:.80}.")
        first = not hasattr(self, "feature_count_")
        coded = self._coded(X, y, sample_weight, first)
        if first:
            self.classes_ = np.asarray(coded.classes) if classes is None else as_target(classes).classes
            self.class_count_ = np.zeros(len(self.classes_))
        column = self._class_columns(coded.classes)
        counts = coded.counts
        self.class_count_[column] += counts.class_counts
        if first and self.min_categories is None and len(self.classes_) == coded.n_classes:
            self.feature_count_ = _tables_of(counts.counts.copy(), counts.offsets)
            return self.update()
        if first:
            self.feature_count_ = [np.zeros((levels, len(self.classes_))) for levels in self._least_levels(coded)]
        for k in range(coded.n_features):
            table = counts.feature(k)
            missing_levels = len(table) - len(self.feature_count_[k])
            if missing_levels > 0:
                grown = np.zeros((missing_levels, len(self.classes_)))
                self.feature_count_[k] = np.concatenate([self.feature_count_[k], grown])
            self.feature_count_[k][: len(table), column] += table
        return self.update()

    def _coded(self, X: Any, y: Any, sample_weight: Any, first: bool) -> CodedTable:
        codes = read_codes(self, X, reset=first)
        if y is None and codes.class_codes is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        return codes if y is None else with_classes(codes, y, sample_weight)

    def _least_levels(self, coded: CodedTable) -> np.ndarray:
        if self.min_categories is None:
            return coded.n_levels
        least = np.asarray(self.min_categories)
        if least.dtype.kind not in "iu" or least.ndim > 1 or (least.ndim == 1 and least.size != coded.n_features):
            raise ValueError(
                f"min_categories must be a whole number or one for each of the {coded.n_features} features, "
                f"got {self.min_categories!r}."
            )
        levels = np.maximum(coded.n_levels, least)
        refuse_empty_tables(levels, len(self.classes_), coded.n_rows * coded.n_features)
        return levels

    def _class_columns(self, labels: Any) -> np.ndarray:
        columns = {label: i for i, label in enumerate(self.classes_.tolist())}
        new = [label for label in np.asarray(labels).tolist() if label not in columns]
        if new:
            raise ValueError(
                f"y holds the class {new[0]!r}, which was not among the classes of the first call; pass all labels as "
                "classes=."
            )
        return np.array([columns[label] for label in np.asarray(labels).tolist()], dtype=np.int64)

    def update(self) -> DiscreteNB:
        """Apply changed parameters without counting again."""
        total = float(self.class_count_.sum())
        counts, offsets = _joined(self.feature_count_)
        self.feature_log_prob_ = _tables_of(log_probabilities_of_all(counts, offsets, total, self.smoothing), offsets)
        if self.fit_prior:
            with np.errstate(divide="ignore"):  # a class without weight is impossible: log 0
                self.class_log_prior_ = np.log(self.class_count_) - np.log(total)
        else:
            self.class_log_prior_ = np.full(len(self.classes_), -np.log(len(self.classes_)))
        return self.update_weights()

    def update_weights(self) -> DiscreteNB:
        """Apply changed ``feature_weights`` without counting again."""
        self.feature_weights_ = check_weights(self.feature_weights, len(self.feature_count_))
        for name in ("_fitted", "_fitted_intercept", "_fitted_count"):
            self.__dict__.pop(name, None)
        return self

    def add_features(self, counts: Sequence[np.ndarray]) -> DiscreteNB:
        """Features of weight 0 after the others, with counts (n_levels, n_classes) over the same rows."""
        self.feature_count_ = [*self.feature_count_, *counts]
        self.feature_weights = np.append(self.feature_weights_, np.zeros(len(counts)))
        self.n_features_in_ += len(counts)
        return self.update()

    def set_evidence(
        self,
        evidence: Mapping[int, np.ndarray],
        intercept: np.ndarray,
        counts: Mapping[int, np.ndarray] = MappingProxyType({}),
    ) -> DiscreteNB:
        """Predict with evidence that was fitted, until parameters change or rows are added.

        Parameters
        ----------
        evidence : by position of the feature, (n_levels, n_classes) nats. Levels may be finer than those counted: then
            codes to be predicted are codes of these. All other features add weight * log P(level | class) as before.
        intercept : (n_classes,) what all evidence is added to.
        counts : (n_levels, n_classes) rows (or weight) of the levels that are finer than those counted.
        """
        self._fitted, self._fitted_intercept, self._fitted_count = dict(evidence), intercept, dict(counts)
        return self

    def replace_evidence(self, evidence: Mapping[int, np.ndarray]) -> DiscreteNB:
        """As `set_evidence` for some features, of the levels that are predicted by now; the others stay as they are."""
        return (
            self.set_evidence({**self._fitted, **evidence}, self.intercept_, self._fitted_count) if evidence else self
        )

    @property
    def fitted_(self) -> Mapping[int, np.ndarray]:
        """The evidence that `set_evidence` set, by position of the feature; empty if all of it is counted."""
        return self._fitted

    @property
    def evidence_count_(self) -> list[np.ndarray]:
        """Rows (or weight) behind each line of `evidence_`, by class."""
        return [self._fitted_count.get(k, counts) for k, counts in enumerate(self.feature_count_)]

    @property
    def evidence_(self) -> list[np.ndarray]:
        check_is_fitted(self, "feature_log_prob_")
        return [self._evidence(k) for k in range(len(self.feature_log_prob_))]

    @property
    def intercept_(self) -> np.ndarray:
        check_is_fitted(self, "feature_log_prob_")
        return self.class_log_prior_ if self._fitted_intercept is None else self._fitted_intercept

    @property
    def used_(self) -> np.ndarray:
        """Positions of the features that predictions depend on, ascending."""
        check_is_fitted(self, "feature_log_prob_")
        return np.union1d(np.flatnonzero(self.feature_weights_), list(self._fitted)).astype(np.int64)

    def _evidence(self, k: int) -> np.ndarray:
        fitted = self._fitted.get(k)
        return self.feature_weights_[k] * self.feature_log_prob_[k] if fitted is None else fitted

    def __repr__(self, N_CHAR_MAX: int = 400) -> str:  # as scikit-learn calls it
        with np.printoptions(threshold=6, edgeitems=2):  # there may be a weight for each of a thousand features
            return str(super().__repr__(N_CHAR_MAX))

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Log joint probabilities: log prior plus the weighted log probabilities of the levels.

        Returns
        -------
        float array, shape (n_rows, n_classes), in nats
        """
        from bayesieve.naive_bayes._kernels import add_log_probabilities

        check_is_fitted(self, "feature_log_prob_")
        used, starts, table = self._tables()
        coded = read_codes(self, X, reset=False)
        joint = np.tile(self.intercept_, (coded.n_rows, 1))
        if used.size:
            n_levels = np.diff(np.append(starts, table.size)) // len(self.classes_)
            table = np.append(table, np.zeros(len(self.classes_)))
            at = 0
            for block in coded.blocks:
                codes = block.codes if used.size == coded.n_features else block.codes_of(used)
                add_log_probabilities(codes, n_levels, starts, table, joint[at : at + block.n_rows])
                at += block.n_rows
        return joint

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log probabilities of the classes, shape (n_rows, n_classes)."""
        joint = self.predict_joint_log_proba(X)
        joint -= joint.max(axis=1, keepdims=True)
        joint -= np.log(np.exp(joint).sum(axis=1, keepdims=True))
        return joint

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, shape (n_rows, n_classes)."""
        joint = self.predict_joint_log_proba(X)
        joint -= joint.max(axis=1, keepdims=True)
        np.exp(joint, out=joint)
        joint /= joint.sum(axis=1, keepdims=True)
        return joint

    def predict(self, X: Any) -> np.ndarray:
        """Most probable class of each row; the first one for ties."""
        joint = self.predict_joint_log_proba(X)
        return self.classes_[joint.argmax(axis=1)]

    def explain(self, X: Any) -> Any:
        """Contribution of each feature with positive weight to the log joint probability of each class.

        Returns
        -------
        polars.DataFrame
            One row per row, class and feature: ``row``, ``class``, ``feature``, ``value`` and ``level`` (the code),
            ``weight``, ``contribution`` (nats) and ``prior``. Contributions plus prior add up to
            ``predict_joint_log_proba``.
        """
        check_is_fitted(self, "feature_log_prob_")
        coded = read_codes(self, X, reset=False)
        names = getattr(self, "feature_names_in_", np.array([f"x{k}" for k in range(coded.n_features)]))
        used, contributions = self.contributions(coded.codes)
        texts = coded.codes[used].T.astype(str).astype(object)
        explanation = Explanation(
            rows=np.arange(coded.n_rows),
            features=[str(names[k]) for k in used],
            classes=self.classes_,
            prior=self.intercept_,
            contributions=contributions,
            values=texts,
            levels=texts,
            weights=self.feature_weights_[used],
        )
        return explanation.to_frame()

    def contributions(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Features that are used and their contributions, (n_rows, n_used, n_classes) nats, for codes of shape
        (n_features, n_rows).
        """
        used = self.used_
        result = np.zeros((codes.shape[1], used.size, len(self.classes_)))
        for at, k in enumerate(used.tolist()):
            evidence = self._evidence(k)
            known = codes[k] < len(evidence)
            result[known, at] = evidence[codes[k][known]]
        return used, result

    def _tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features that are used, where each starts in the flat table of evidence, and that table."""
        used = self.used_
        if used.size == 0:
            return used, np.zeros(0, dtype=np.int64), np.zeros(0)
        if self._fitted:
            evidence, offsets = _joined([self._evidence(k) for k in used.tolist()])
            return used, offsets[:-1] * evidence.shape[1], evidence.ravel()
        logs, offsets = _joined([self.feature_log_prob_[k] for k in used.tolist()])
        weights = np.repeat(self.feature_weights_[used], np.diff(offsets))
        return used, offsets[:-1] * logs.shape[1], (weights[:, None] * logs).ravel()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "feature_log_prob_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        return tags


def _joined(tables: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Tables of levels x classes as one, and the line where each starts, with the end of the last."""
    return np.concatenate(tables), np.concatenate([[0], np.cumsum([len(table) for table in tables])]).astype(np.int64)


def _tables_of(joined: np.ndarray, offsets: np.ndarray) -> list[np.ndarray]:
    """The tables that `_joined` joined; they share its memory."""
    ends = offsets.tolist()
    return [joined[start:stop] for start, stop in pairwise(ends)]


def check_weights(weights: Any, n_features: int) -> np.ndarray:
    """Feature weights as an array; ValueError unless there is one per feature, finite and non-negative."""
    if weights is None:
        return np.ones(n_features)
    try:
        weights = np.asarray(weights, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"feature_weights must hold one number for each of the {n_features} features, got {weights!r:.80}."
        ) from None
    if weights.shape != (n_features,):
        raise ValueError(
            f"feature_weights must hold one weight for each of the {n_features} features, got shape {weights.shape}."
        )
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        k = int(np.flatnonzero(~np.isfinite(weights) | (weights < 0))[0])
        raise ValueError(
            f"feature_weights must be finite and not negative, but the weight of feature {k} is {weights[k]}."
        )
    return weights

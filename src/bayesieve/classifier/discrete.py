"""`DiscreteNB`: naive Bayes on codes, with a weight for every feature."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bayesieve.classifier.fit_steps import check_weights
from bayesieve.counts import CodedTable, Smoothing, check_smoothing
from bayesieve.counts.contingency import class_log_prior, log_probabilities_of_tables
from bayesieve.discretize.codes import read_codes, refuse_empty_tables
from bayesieve.parts import with_shared_docs
from bayesieve.scorecard.explanation import Explanation
from bayesieve.scorecard.look_up import CellTables
from bayesieve.scorecard.probabilities import log_probabilities, probabilities
from bayesieve.selection.base import with_classes
from bayesieve.table.cautions import warn_caller
from bayesieve.table.target import as_target, require_target
from bayesieve.words import listed


@with_shared_docs
class DiscreteNB(ClassifierMixin, BaseEstimator):
    """Naive Bayes classifier on integer codes, with feature weights.

    The model is log P(j | x) = log P(j) + sum_k w_k log P(x_k | j) + constant. A code without a level in training
    contributes 0 to every class; it is not an error.

    Parameters
    ----------
    smoothing : "m-estimate" or float, default="m-estimate"
        ``"m-estimate"``: P(level i | class j) = (N_ij + 1/N) / (N_j + J/N), with N rows and J classes, of Boulle
        (2007). A positive number: Laplace's alpha, (N_ij + alpha) / (N_j + alpha * levels), equal to scikit-learn's
        ``CategoricalNB``.
    feature_weights : array-like, shape (n_features,), or None, default=None
        Non-negative exponent of each feature's probabilities; None means 1 for all.
    min_categories : int, array-like of int, or None, default=None
        Minimum number of levels of each feature, for levels that do not occur in the training rows. None: the levels
        that occur.
    fit_prior : bool, default=True
        Whether to learn class priors; if False, all classes have the same prior.

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
        Class labels.
    class_count_ : float array, shape (n_classes,)
        Number (or weight) of the rows of each class.
    class_log_prior_ : float array, shape (n_classes,)
        Log prior probability of each class.
    feature_log_prob_ : list of float arrays, shape (n_levels, n_classes)
        log P(level | class) of each feature.
    feature_count_ : list of float arrays, shape (n_levels, n_classes)
        Number (or weight) of the rows of each level and class.
    evidence_ : list of float arrays, shape (n_levels, n_classes)
        Contribution of each level to the log joint, in nats: weight * log P(level | class).
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
        """Count the codes of each feature by class.

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
        self._count(X, y, None, sample_weight)
        self._warn_of_levels_without_rows()
        return self

    def _warn_of_levels_without_rows(self) -> None:
        """Warn about codes without training rows, because their smoothed counts favour rare classes."""
        if np.ptp(self.class_count_) == 0:
            return
        names = getattr(self, "feature_names_in_", [f"x{k}" for k in range(len(self.feature_count_))])
        empty = [
            f"{code} of {str(names[k])!r}"
            for k in np.flatnonzero(self.feature_weights_).tolist()
            for code in np.flatnonzero(self.feature_count_[k].sum(axis=1) == 0).tolist()
        ]
        if empty:
            codes = f"Code {empty[0]} has" if len(empty) == 1 else f"Codes {listed(empty)} have"
            warn_caller(
                f"{codes} no training rows. With smoothing={self.smoothing!r}, such codes favour the rare classes in "
                "predictions; renumber the codes without gaps, or set a lower min_categories. Codes above the largest "
                "of training and min_categories contribute nothing."
            )

    @with_shared_docs
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> DiscreteNB:
        """Add rows to the counts; the result equals one ``fit`` on all rows.

        Parameters
        ----------
        X : array-like of integers from 0, shape (n_rows, n_features), or CodedTable
        classes : array-like, optional
            All possible labels; required on the first call unless its rows contain all of them.
        """
        return self._count(X, y, classes, sample_weight)

    def _count(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> DiscreteNB:
        """Count the rows, in addition to those of earlier calls, and recompute the probabilities.

        ``classes`` are all class labels, for the first call; None for those of ``y``.
        """
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
            self.feature_count_ = [counts.feature(k).copy() for k in range(coded.n_features)]
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
        """Return rows of codes as a `CodedTable` with classes and weights. ``first`` is True if no rows were counted
        before.
        """
        codes = read_codes(self, X, reset=first)
        if first:
            self.n_features_in_ = codes.n_features
        if codes.class_codes is None:
            require_target(self, y)
        return codes if y is None else with_classes(codes, y, sample_weight)

    def _least_levels(self, coded: CodedTable) -> np.ndarray:
        """Return the number of levels of each feature, (n_features,), at least ``min_categories``."""
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
        """Return the positions of class labels in ``classes_``, (n_labels,). Raise ValueError for an unknown label."""
        columns = {label: i for i, label in enumerate(self.classes_.tolist())}
        new = [label for label in np.asarray(labels).tolist() if label not in columns]
        if new:
            raise ValueError(
                f"y contains the label {new[0]!r}, which was not a class in the first call; in that call, pass all "
                "labels as classes=."
            )
        return np.array([columns[label] for label in np.asarray(labels).tolist()], dtype=np.int64)

    def update(self) -> DiscreteNB:
        """Recompute probabilities and contributions after ``set_params`` changed parameters, without counting again."""
        total = float(self.class_count_.sum())
        self.feature_log_prob_ = log_probabilities_of_tables(self.feature_count_, total, self.smoothing)
        n_classes = len(self.classes_)
        uniform = np.full(n_classes, -np.log(n_classes))
        self.class_log_prior_ = class_log_prior(self.class_count_) if self.fit_prior else uniform
        self.feature_weights_ = check_weights(self.feature_weights, len(self.feature_count_))
        return self

    @property
    def evidence_(self) -> list[np.ndarray]:
        """Contribution of each level of each feature to the log joint of each class: arrays (n_levels, n_classes) of
        weight * log P(level | class), in nats.
        """
        check_is_fitted(self, "feature_log_prob_")
        return [w * logs for w, logs in zip(self.feature_weights_, self.feature_log_prob_, strict=True)]

    def __repr__(self, N_CHAR_MAX: int = 400) -> str:  # scikit-learn's name of the parameter
        with np.printoptions(threshold=6, edgeitems=2):  # shortens long arrays of weights
            return str(super().__repr__(N_CHAR_MAX))

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Return the log joint probabilities: log prior plus the weighted log probabilities of the levels.

        Returns
        -------
        float array, shape (n_rows, n_classes), in nats
        """
        check_is_fitted(self, "feature_log_prob_")
        used, tables = self._tables
        coded, at = read_codes(self, X, reset=False), 0
        features = slice(None) if used.size == coded.n_features else used
        joint = np.empty((coded.n_rows, len(self.classes_)))
        for block in coded.blocks:
            joint[at : at + block.n_rows] = tables.joint(block.codes[features])
            at += block.n_rows
        return joint

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return log probabilities of the classes, shape (n_rows, n_classes)."""
        return log_probabilities(self.predict_joint_log_proba(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities of the classes, shape (n_rows, n_classes)."""
        return probabilities(self.predict_joint_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row, shape (n_rows,); the first one on ties."""
        best = self.predict_joint_log_proba(X).argmax(axis=1)
        return self.classes_[best]

    def explain(self, X: Any) -> Any:
        """Return the contribution of each feature with positive weight to the log joint probability of each class.

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
        used, tables = self._tables
        codes = coded.codes[used]
        texts = codes.T.astype(str).astype(object)
        explanation = Explanation(
            rows=np.arange(coded.n_rows),
            features=[str(names[k]) for k in used],
            classes=self.classes_,
            prior=self.class_log_prior_,
            contributions=tables.contributions(codes),
            values=texts,
            levels=texts,
            weights=self.feature_weights_[used],
        )
        return explanation.to_frame()

    @property
    def _tables(self) -> tuple[np.ndarray, CellTables]:
        """Positions of the features with positive weight, shape (n_used,), and the tables of their contributions, with
        zeros for codes without a level.
        """
        used, nothing = np.flatnonzero(self.feature_weights_), np.zeros((1, len(self.classes_)))
        logs = [np.append(self.feature_weights_[k] * self.feature_log_prob_[k], nothing, axis=0) for k in used.tolist()]
        return used, CellTables.of(logs, self.class_log_prior_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "feature_log_prob_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        return replace(tags, input_tags=replace(tags.input_tags, categorical=True, positive_only=True))

"""Naive Bayes fitted to two thirds of the training rows, as in Blanquero et al. (2021), with any selection of features.

The other third of the rows, *held out*, is for the selection.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from bayesieve import CFSSelector, CodedTable, DiscreteNB, MAPSelector, TableEncoder, as_published
from bayesieve.counts import Smoothing
from bayesieve.criteria import Criterion, make_criterion
from bayesieve.search import ClusterSearch, Objective, ScoredRows, SubsetProblem
from bayesieve.search.problem import make_constraints
from bayesieve.statistics import metrics
from bayesieve.table.frames import take_rows
from bayesieve_lab.blanquero2021.boruta import confirmed_features

UNSMOOTHED: Smoothing = as_published("sparse-NB").smoothing
"""Rows added to every level that a class lacks: a level that a class lacks is next to impossible there,
and a row that is so in every class still has a most probable one.
"""
_SEED = 0
_MOST_FEATURES_NAMED = 20


def learnt_rows(codes: np.ndarray) -> np.ndarray:
    """Return a mask (n_rows,) of the rows to fit: a random two thirds of each class; the others are for validation.

    ``codes`` (n_rows,) are the classes of the rows.
    """
    rng = np.random.default_rng(_SEED)
    learnt = np.ones(codes.size, dtype=bool)
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        learnt[rows[: min(rows.size - 1, round(rows.size / 3))]] = False
    return learnt


class TwoThirdsEncoder(BaseEstimator):
    """Encoder fitted to two thirds of the rows.

    Numbers are cut by MDLP, each category is a level, and missing values have a separate level.

    Attributes
    ----------
    encoder_ : TableEncoder
    held_ : CodedTable
        The other third of the rows, coded by the same levels.
    """

    def fit_transform_coded(self, X: Any, y: Any, sample_weight: Any = None) -> CodedTable:
        """Fit the levels to two thirds of the rows, and return these rows coded, grouped by class.

        ``y`` (n_rows,) are class labels. A ValueError is raised if there are row weights.
        """
        if sample_weight is not None:
            raise ValueError("The paper has no row weights; omit them.")
        labels, codes = np.unique(y, return_inverse=True)
        learnt = learnt_rows(codes)
        rows, others = np.flatnonzero(learnt), np.flatnonzero(~learnt)
        self.encoder_ = TableEncoder(numeric="mdlp", categorical="values", n_jobs=1)
        coded = self.encoder_.fit_transform_coded(take_rows(X, rows), labels[codes[rows]])
        held = self.encoder_.transform_coded(take_rows(X, others))
        self.held_ = held.with_rows(class_codes=codes[others].astype(np.uint8), classes=labels).by_class
        return coded.by_class

    def transform_coded(self, X: Any) -> CodedTable:
        """Return other rows coded by the fitted levels."""
        return self.encoder_.transform_coded(X)


class TwoThirdsNB(ClassifierMixin, BaseEstimator):
    """Base class of naive Bayes fitted to two thirds of the rows, on features that a subclass selects.

    Parameters
    ----------
    smoothing : smoothing of the probabilities, see `DiscreteNB`.

    Attributes
    ----------
    support_ : bool array, shape (n_features,)
    n_features_selected_ : int
    naive_bayes_, smoothed_ : DiscreteNB
        The model, and one with the same features and the m-estimate.
    cpu_seconds_ : float
        CPU seconds for selecting the features and fitting the model to coded rows, on one thread.
    """

    def __init__(self, *, smoothing: Smoothing = UNSMOOTHED) -> None:
        self.smoothing = smoothing

    def new_encoder(self) -> TwoThirdsEncoder:
        """Return the encoder of the rows, which all methods share."""
        return TwoThirdsEncoder()

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to a raw table (n_rows, n_features) and class labels (n_rows,)."""
        encoder = self.new_encoder()
        return self.fit_coded(encoder.fit_transform_coded(X, y), encoder)

    def fit_coded(self, coded: CodedTable, encoder: TwoThirdsEncoder) -> Self:
        """Select features and fit to the rows that ``encoder`` coded."""
        self.encoder_, began = encoder, time.thread_time()
        self.support_ = np.asarray(self._choose(coded, encoder.held_), dtype=bool)
        weights = self.support_.astype(float)
        self.naive_bayes_ = DiscreteNB(smoothing=self.smoothing, feature_weights=weights).fit(coded)
        self.cpu_seconds_ = time.thread_time() - began
        self.smoothed_ = DiscreteNB(feature_weights=weights).fit(coded)
        self.classes_ = self.naive_bayes_.classes_
        self.n_features_selected_ = int(self.support_.sum())
        return self

    @abstractmethod
    def _choose(self, coded: CodedTable, held: CodedTable) -> np.ndarray:
        """Return a mask (n_features,) of the selected features, from rows to fit (``coded``) and rows held out
        (``held``).
        """

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return log probabilities of the classes, shape (n_rows, n_classes)."""
        return self.naive_bayes_.predict_log_proba(self._coded(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities of the classes, shape (n_rows, n_classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row."""
        return self.classes_[self.predict_log_proba(X).argmax(axis=1)]

    def _coded(self, X: Any) -> CodedTable:
        """Return the rows of a raw table coded by the fitted encoder; a `CodedTable` is returned unchanged."""
        return X if isinstance(X, CodedTable) else self.encoder_.transform_coded(X)

    def fold_figures(self, rows: CodedTable, codes: np.ndarray) -> dict[str, float | None]:
        """Return further measures on test rows by name.

        They are measures of the smoothed model, recalls and precisions of two classes, and, if there are few features,
        which are selected. ``codes`` (n_rows,) are the classes of ``rows``, as positions among those of the model.
        """
        smoothed = self.smoothed_.predict_log_proba(rows)
        figures: dict[str, float | None] = {
            "cpu seconds": round(self.cpu_seconds_, 6),
            "smoothed accuracy": metrics.accuracy(smoothed, codes),
            "smoothed auc": metrics.auc(smoothed, codes),
        }
        if self.classes_.size == 2:
            figures |= of_two_classes(self.predict_log_proba(rows), codes)
            figures |= {f"smoothed {name}": value for name, value in of_two_classes(smoothed, codes).items()}
        if self.support_.size <= _MOST_FEATURES_NAMED:
            figures |= {f"V{k + 1}": float(chosen) for k, chosen in enumerate(self.support_)}
        return figures


def of_two_classes(log_proba: np.ndarray, codes: np.ndarray) -> dict[str, float | None]:
    """Return recall and precision of the first and the second class by name; None if undefined.

    ``log_proba`` (n_rows, 2) are predicted log probabilities, ``codes`` (n_rows,) the true classes, 0 and 1.
    """
    predicted = log_proba.argmax(axis=1)
    measures: dict[str, float | None] = {}
    for code, name in enumerate(("first", "second")):
        right = int(np.sum((predicted == code) & (codes == code)))
        for measure, of_all in (("recall", codes == code), ("precision", predicted == code)):
            measures[f"{measure} of the {name} class"] = right / int(of_all.sum()) if of_all.any() else None
    return measures


class ClassicNB(TwoThirdsNB):
    """Naive Bayes on all features."""

    def _choose(self, coded: CodedTable, held: CodedTable) -> np.ndarray:
        """Return a mask of all features, (n_features,).

        ``coded`` are the rows to fit and ``held`` the held-out rows; neither is used for the choice.
        """
        return np.ones(coded.n_features, dtype=bool)


class SparseNB(TwoThirdsNB):
    """Sparse naive Bayes, algorithm 1 of the paper.

    Parameters
    ----------
    q, dependence : see `DependenceClusterSelector`.
    scoring : measure of the candidates on the third of the rows held out.
    constraints : lower bounds of measures.
    n_cuts, n_combinations : see `ClusterSearch`.
    smoothing : smoothing of the probabilities, see `DiscreteNB`.

    Attributes
    ----------
    candidates_ : ClusterCandidates
    """

    def __init__(
        self,
        *,
        q: Any = "auto",
        scoring: str = "accuracy",
        constraints: Mapping[str | Criterion, float] | None = None,
        dependence: str = "mutual_information",
        n_cuts: int | None = None,
        n_combinations: int = 25,
        smoothing: Smoothing = UNSMOOTHED,
    ) -> None:
        super().__init__(smoothing=smoothing)
        self.q = q
        self.scoring = scoring
        self.constraints = constraints
        self.dependence = dependence
        self.n_cuts = n_cuts
        self.n_combinations = n_combinations

    def _choose(self, coded: CodedTable, held: CodedTable) -> np.ndarray:
        """Return a mask (n_features,) of the candidate subset that is best on the held-out rows.

        Candidates are models fitted to the rows ``coded``; ``held`` are the held-out rows, coded by the same levels.
        """
        rows = ScoredRows.training(held, coded.counts, self.smoothing)
        criterion = make_criterion(self.scoring, coded.n_features, coded.classes, "scoring")
        objective = Objective(criterion, rows, make_constraints(self.constraints, coded))
        problem = SubsetProblem.on(objective, coded)
        search = ClusterSearch(
            dependence=self.dependence,
            n_cuts=self.n_cuts,
            n_combinations=self.n_combinations,
            q=self.q,
            seed=_SEED,
            n_jobs=1,
        )
        self.candidates_ = search.explore(problem)
        self.trace_ = self.candidates_.trace
        return np.asarray(self.trace_.chosen)

    def fold_figures(self, rows: CodedTable, codes: np.ndarray) -> dict[str, float | None]:
        """Return the measures of `TwoThirdsNB`, and of the search, by name.

        Those of the search are q, the share of entries of the dependence matrix M above 0.1, the number of candidates,
        and whether the chosen one satisfies the constraints. ``codes`` (n_rows,) are the classes of the test rows
        ``rows``.
        """
        candidates = self.candidates_
        return super().fold_figures(rows, codes) | {
            "q": candidates.q,
            "strong entries": float(np.mean(candidates.clusters.dependence > 0.1)),
            "candidates": float(len(candidates.subsets)),
            "feasible": float(candidates.values.feasible[candidates.values.best]),
        }


class FilteredNB(TwoThirdsNB):
    """Naive Bayes after correlation-based feature selection (Hall 2000) by best-first search, as in FSelector."""

    def _choose(self, coded: CodedTable, held: CodedTable) -> np.ndarray:
        """Return a mask (n_features,) of the features selected by CFS on the rows to fit.

        ``coded`` are these rows; the held-out rows ``held`` are ignored.
        """
        return CFSSelector(encoder=None, n_jobs=1).fit_coded(coded).support_


class MostProbableNB(TwoThirdsNB):
    """SNB(MAP) of Boulle (2007), with a time limit on its search."""

    max_seconds = 60.0

    def _choose(self, coded: CodedTable, held: CodedTable) -> np.ndarray:
        """Return a mask (n_features,) of the most probable subset that the search finds on the rows to fit.

        ``coded`` are these rows; the held-out rows ``held`` are ignored.
        """
        selector = MAPSelector(
            exhaustive=False,
            max_seconds=self.max_seconds,
            smoothing=self.smoothing,
            encoder=None,
            random_state=_SEED,
            n_jobs=1,
        )
        selector.fit_coded(coded)
        self.cut_short_ = not selector.trace_.complete
        return selector.support_

    def fold_figures(self, rows: CodedTable, codes: np.ndarray) -> dict[str, float | None]:
        """Return the measures of `TwoThirdsNB`, and whether the time limit ended the search.

        ``codes`` (n_rows,) are the classes of the test rows ``rows``.
        """
        return super().fold_figures(rows, codes) | {"cut short": float(self.cut_short_)}


class BorutaNB(TwoThirdsNB):
    """Naive Bayes after Boruta with the importance of caret's filterVarImp; see `confirmed_features`."""

    def _choose(self, coded: CodedTable, held: CodedTable) -> np.ndarray:
        """Return a mask (n_features,) of the features that Boruta confirms on the rows to fit.

        ``coded`` are these rows; the held-out rows ``held`` are ignored.
        """
        return confirmed_features(coded, _SEED)

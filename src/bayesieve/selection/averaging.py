"""Selectors that take the most probable subset, average over the subsets of a search, or keep all features."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, replace
from typing import Any, Literal

import numpy as np

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.engine.callbacks import FitTask
from bayesieve.engine.progress import search_progress
from bayesieve.parts import Allowed
from bayesieve.search import (
    Clock,
    ExhaustiveSearch,
    MultiStart,
    SearchState,
    SearchTrace,
    SubsetProblem,
    TraceRecorder,
    WalkStart,
)
from bayesieve.selection.base import SHARED_OPTIONS, CodedSelector, seed_of

_AUTO_FEATURES = 15  # largest number of features for which exhaustive="auto" enumerates all subsets ...
_AUTO_WORK = 1_500_000_000  # ... unless subsets x rows x (classes - 1) exceed about a second of work
_ADDED_AT_ONCE = 1000  # features added between two checks of the time limit


class AllFeatures(CodedSelector):
    """Selector that gives weight 1 to every feature with at least two levels.

    Examples
    --------
    >>> from bayesieve import AllFeatures
    >>> from sklearn.datasets import load_iris
    >>> AllFeatures().fit(*load_iris(return_X_y=True)).weights_.tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    name = "all"
    title = "every feature"
    sentence = "Every feature that says something about the target has weight 1 (classic naive Bayes)."
    chooses_on_path = False

    def _search(self, coded: CodedTable) -> np.ndarray:
        """Set ``trace_`` to a trace that adds all features of at least two levels, and return the weights of all
        features: 1 for those, 0 for others, shape (n_features,).
        """
        clock = Clock(None)
        problem = SubsetProblem.of(coded, self.smoothing)
        state = SearchState(problem)
        recorder = TraceRecorder(WalkStart.empty(state.cost))
        added = problem.candidates
        for first in range(0, added.size, _ADDED_AT_ONCE):
            features = added[first : first + _ADDED_AT_ONCE]
            costs = state.add_all(features)
            every = np.ones(features.size, dtype=bool)
            keys = np.arange(first + 1, first + 1 + features.size, dtype=np.uint64)
            recorder.record(features, every, costs, every, keys, clock.seconds)
        self.trace_ = SearchTrace.of(coded.names, [recorder], complete=True, seconds=clock.seconds)
        return state.selected.astype(float)


class SubsetSearchSelector(CodedSelector):
    """Base class of selectors that search for subsets of low cost, in nats (Boulle 2007, equation 4), and derive the
    weights of the features from all evaluated subsets.
    """

    chooses_on_path = False  # weights come from all evaluated subsets, not from one on the path
    kernel_families = ("search",)
    _allowed = SHARED_OPTIONS | {
        "n_starts": Allowed.count(None),
        "max_iter": Allowed.count(),
        "exhaustive": Allowed.choice(True, False, "auto"),
        "constant_columns": Allowed.choice(True, False),
    }

    _: KW_ONLY
    n_starts: int | None = None
    max_iter: int = 5
    exhaustive: bool | Literal["auto"] = "auto"
    constant_columns: bool = False
    max_seconds: float | None = None
    smoothing: Smoothing = "m-estimate"
    encoder: Any = "modl"
    random_state: Any = None
    n_jobs: int | None = -1
    verbose: int = 0

    def _search(self, coded: CodedTable, *, thorough: bool = False, task: FitTask | None = None) -> np.ndarray:
        """Search for subsets, set ``trace_``, and return the weights of the features, shape (n_features,).

        With ``thorough``, the search makes more starts than that of Boulle (2007), for better predictions, and its seed
        is fixed, so that the model depends on the rows alone. ``task`` reports the moves to scikit-learn's callbacks.
        """
        problem = SubsetProblem.of(coded, self.smoothing, constant_columns=self.constant_columns)
        if coded.levels is not None:
            problem = replace(problem, candidates=np.setdiff1d(problem.candidates, coded.levels.by_chance))
        with search_progress(f"{type(self).__name__}: searching", self.verbose) as shown:
            progress = shown if task is None else task.with_moves(shown)
            n, row_work = (
                problem.candidates.size,
                float(problem.objective.rows.class_totals.sum()) * (coded.n_classes - 1),
            )
            is_small = n <= _AUTO_FEATURES and 2.0**n * row_work <= _AUTO_WORK
            if is_small if self.exhaustive == "auto" else self.exhaustive:
                trace = ExhaustiveSearch(self.max_seconds, self.n_jobs).run(problem, progress)
            else:
                seed = 0 if thorough else seed_of(self.random_state)
                search = MultiStart(
                    n_starts=self.n_starts,
                    max_iter=self.max_iter,
                    seed=seed,
                    max_seconds=self.max_seconds,
                    n_jobs=self.n_jobs,
                    thorough=thorough,
                )
                trace = search.run(problem, progress)
        if not trace.complete:
            self._warn_if_interrupted(trace, self.max_seconds)
        self.trace_ = trace
        self.n_iter_ = len(trace.starts)
        return self.weigh(trace)

    @abstractmethod
    def weigh(self, trace: SearchTrace) -> np.ndarray:
        """Return the weights of the features, shape (n_features,), from all subsets that the search evaluated."""


class MAPSelector(SubsetSearchSelector):
    """Select the most probable subset: the one with the lowest cost, prior plus negative log likelihood of the labels.

    cost(M) = log(K+1) + log C(K+K_m-1, K_m) - sum_n log P_M(y_n|x_n), in nats. Selected features get weight 1, others
    0.

    Attributes
    ----------
    weights_, support_, trace_
        As for every selector; ``trace_.best_criterion`` is the cost of the subset in nats.

    References
    ----------
    Boulle (2007), Compression-based averaging of selective naive Bayes classifiers, JMLR 8, section 3 and algorithm 1.

    Examples
    --------
    >>> from bayesieve import MAPSelector
    >>> from sklearn.datasets import load_iris
    >>> MAPSelector().fit(*load_iris(return_X_y=True)).support_.tolist()
    [False, False, True, True]
    """

    name = "map"
    title = "the most probable subset"
    sentence = "The most probable subset of features was selected (Boullé 2007, SNB(MAP))."

    def weigh(self, trace: SearchTrace) -> np.ndarray:
        """Return weight 1 for the features of the best subset and 0 for others, shape (n_features,)."""
        return trace.best_subset().astype(float)


class ModelAveraging(SubsetSearchSelector):
    """Base class of selectors that average over the evaluated subsets: the weight of a feature is the share of the
    subsets that contain it, weighted by their posterior probability or their compression.
    """

    _allowed = SubsetSearchSelector._allowed | {"count": Allowed.choice("distinct", "evaluations")}

    _: KW_ONLY
    count: Literal["distinct", "evaluations"] = "distinct"


class BayesianAveraging(ModelAveraging):
    """Feature weights by Bayesian averaging of models: w_k = sum_M a_k e^-cost(M) / sum_M e^-cost(M).

    The sums run over the models (subsets) M that the search evaluated; cost(M) is the cost of Boulle (2007), equation
    4, in nats, and a_k is 1 if M contains feature k, otherwise 0. The weight of a feature is therefore the posterior
    probability that the model contains it. Each distinct subset counts once; with ``count="evaluations"``, as often as
    the search evaluated it.

    Attributes
    ----------
    weights_, support_, trace_
        As for every selector.

    References
    ----------
    Boulle (2007), Compression-based averaging of selective naive Bayes classifiers, JMLR 8, section 4.

    Examples
    --------
    >>> from bayesieve import BayesianAveraging
    >>> from sklearn.datasets import load_iris
    >>> BayesianAveraging().fit(*load_iris(return_X_y=True)).weights_.round(2).tolist()
    [0.04, 0.1, 0.89, 0.99]
    """

    name = "bayesian"
    title = "average of models by posterior probability"
    sentence = "Weights are posterior probabilities, averaged over the models of the search (Boullé 2007, SNB(BMA))."

    def weigh(self, trace: SearchTrace) -> np.ndarray:
        """Return the posterior probability that the model contains each feature, shape (n_features,)."""
        # Costs are compared with the best one, so that the exponentials of good models do not underflow.
        return trace.average(lambda costs: np.exp(trace.best_criterion - costs), distinct=self.count == "distinct")


class CompressionAveraging(ModelAveraging):
    """Feature weights by compression-based averaging of models: w_k = sum_M a_k c(M) / sum_M c(M).

    The sums run over the models (subsets) M that the search evaluated; a_k is 1 if M contains feature k, otherwise 0.
    The compression is c(M) = 1 - cost(M) / cost(empty subset). Only models that compress (c > 0) count, each distinct
    subset once; with ``count="evaluations"``, as often as the search evaluated it. Nearly equivalent models thus share
    the weight, whereas posterior probabilities would give almost all of it to one of them.

    The search visits good models and their neighbours only, which keeps the weights close to 0 or 1. With
    ``exhaustive=True``, the sums run over all subsets. They are exact then, but the weights differ less between
    features, because most subsets compress.

    Attributes
    ----------
    weights_, support_, trace_
        As for every selector.

    References
    ----------
    Boulle (2007), Compression-based averaging of selective naive Bayes classifiers, JMLR 8, section 6.

    Examples
    --------
    >>> from bayesieve import CompressionAveraging
    >>> from sklearn.datasets import load_iris
    >>> weights = CompressionAveraging(exhaustive=True).fit(*load_iris(return_X_y=True)).weights_
    >>> weights.round(2).tolist()
    [0.53, 0.51, 0.59, 0.6]
    """

    name = "compression"
    title = "average of models by compression"
    sentence = (
        "Weights are averaged over the models of the search, each counting by how well it compresses the classes "
        "(after Boullé 2007)."
    )

    _: KW_ONLY
    exhaustive: bool | Literal["auto"] = False

    def weigh(self, trace: SearchTrace) -> np.ndarray:
        """Return the share of subsets that contain each feature, weighted by their compression, shape
        (n_features,).
        """
        null = trace.null_criterion
        if null <= 0.0:  # no model compresses
            return np.zeros(len(trace.names))
        return trace.average(lambda costs: np.maximum(1.0 - costs / null, 0.0), distinct=self.count == "distinct")

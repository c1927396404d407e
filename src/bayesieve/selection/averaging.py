"""SNB(BMA) and SNB(CMA): weights averaged over all models that the search evaluated."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

import numpy as np

from bayesieve.counts import Smoothing
from bayesieve.search import SearchTrace
from bayesieve.selection.subset_search import SubsetSearchSelector
from bayesieve.table.choices import is_choice

Count = Literal["distinct", "evaluations"]


class ModelAveraging(SubsetSearchSelector):
    """A selector whose weights are an average over the models of a search."""

    def __init__(
        self,
        *,
        n_starts: int | None = None,
        max_iter: int = 5,
        exhaustive: bool | Literal["auto"] = "auto",
        count: Count = "distinct",
        max_seconds: float | None = None,
        smoothing: Smoothing = "m-estimate",
        encoder: Any = "modl",
        random_state: Any = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_starts=n_starts,
            max_iter=max_iter,
            exhaustive=exhaustive,
            max_seconds=max_seconds,
            smoothing=smoothing,
            encoder=encoder,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.count = count

    def weigh(self, trace: SearchTrace) -> np.ndarray:
        return trace.average(lambda costs: self.weights_of(costs, trace), distinct=self.count == "distinct")

    @abstractmethod
    def weights_of(self, costs: np.ndarray, trace: SearchTrace) -> np.ndarray:
        """Weights of models in the average, by their costs."""

    def _check_options(self) -> None:
        super()._check_options()
        if not is_choice(self.count, ("distinct", "evaluations")):
            raise ValueError(f"count must be 'distinct' or 'evaluations', got {self.count!r}.")


class BayesianAveraging(ModelAveraging):
    """Weight of a feature = posterior probability of the models that contain it, w_k = sum_M a_k e^-cost(M) / sum_M
    e^-cost(M).

    Each distinct subset that the search evaluated counts once; with ``count="evaluations"`` as often as it was met.

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

    def weights_of(self, costs: np.ndarray, trace: SearchTrace) -> np.ndarray:
        # Relative to the best model, so that no exponential underflows where it matters.
        return np.exp(trace.best_criterion - costs)


class CompressionAveraging(ModelAveraging):
    """Weight of a feature = compression achieved by the models that contain it, w_k = sum_M a_k c(M) / sum_M c(M).

    c(M) = 1 - cost(M) / cost(empty subset); only models that compress (c > 0) count, each distinct subset that the
    search evaluated once, or as often as it was met with ``count="evaluations"``. Nearly equivalent models thus share
    the weight, where posterior probabilities would give all of it to one.

    The search visits good models and their neighbours only, which keeps the weights sharp. With ``exhaustive=True`` the
    sum runs over all subsets: exact, but flatter (most subsets compress), so that it is not the default.

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
        "(Boullé 2007, SNB(CMA))."
    )

    def __init__(
        self,
        *,
        n_starts: int | None = None,
        max_iter: int = 5,
        exhaustive: bool | Literal["auto"] = False,
        count: Count = "distinct",
        max_seconds: float | None = None,
        smoothing: Smoothing = "m-estimate",
        encoder: Any = "modl",
        random_state: Any = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_starts=n_starts,
            max_iter=max_iter,
            exhaustive=exhaustive,
            count=count,
            max_seconds=max_seconds,
            smoothing=smoothing,
            encoder=encoder,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )

    def weights_of(self, costs: np.ndarray, trace: SearchTrace) -> np.ndarray:
        if trace.null_criterion <= 0.0:
            return np.zeros(costs.size)
        return np.maximum(1.0 - costs / trace.null_criterion, 0.0)

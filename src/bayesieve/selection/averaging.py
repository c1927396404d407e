"""SNB(BMA) and SNB(CMA): weights averaged over all models that the search evaluated."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from bayesieve.counts import Smoothing
from bayesieve.search import SearchTrace
from bayesieve.selection.subset_search import SubsetSearchSelector


class BayesianAveraging(SubsetSearchSelector):
    """Weight of a feature = posterior probability of the models that contain it, w_k = sum_M a_k e^-cost(M) / sum_M
    e^-cost(M).

    Each distinct subset that the search evaluated counts once.

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
        # Relative to the best model, so that no exponential underflows where it matters.
        null_weight = float(np.exp(trace.best_criterion - trace.null_criterion))
        return trace.average(null_weight, np.exp(trace.best_criterion - trace.model_costs()))


class CompressionAveraging(SubsetSearchSelector):
    """Weight of a feature = compression achieved by the models that contain it, w_k = sum_M a_k c(M) / sum_M c(M).

    c(M) = 1 - cost(M) / cost(empty subset); only models that compress (c > 0) count, each distinct subset that the
    search evaluated once. Nearly equivalent models thus share the weight, where posterior probabilities would give all
    of it to one.

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

    def weigh(self, trace: SearchTrace) -> np.ndarray:
        if trace.null_criterion <= 0.0:
            return np.zeros(trace.n_features)
        compression = np.maximum(1.0 - trace.model_costs() / trace.null_criterion, 0.0)
        return trace.average(0.0, compression)

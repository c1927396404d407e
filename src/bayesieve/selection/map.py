"""SNB(MAP): the most probable subset of features."""

from __future__ import annotations

import numpy as np

from bayesieve.search import SearchTrace
from bayesieve.selection.subset_search import SubsetSearchSelector


class MAPSelector(SubsetSearchSelector):
    """Select the subset of lowest cost: prior of the subset plus minus log likelihood of the labels.

    cost(M) = log(K+1) + log C(K+K_m-1, K_m) - sum_n log P_M(y_n|x_n), in nats. Selected features get weight 1,
    others 0.

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
        return trace.best_subset().astype(float)

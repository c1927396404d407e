"""Cost of a selective naive Bayes model: prior of the subset plus the labels given it (Boulle 2007, equation 4)."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from bayesieve.criteria.losses import LogLoss


class MAPCost(LogLoss):
    """cost(M) = log(K + 1) + log C(K + K_m - 1, K_m) - sum_n log P_M(y_n | x_n), in nats; lower is better.

    K is the number of features of the table, informative or not, without constant columns; K_m the number selected.
    Additive over rows but for the prior.

    References
    ----------
    Boulle (2007), Compression-based averaging of selective naive Bayes classifiers, JMLR 8, equation 4.
    """

    name = "map"
    title = "MAP cost"
    unit = "nats"

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        selected = np.arange(1, n_features + 1)
        self._prior = np.full(n_features + 1, np.log(n_features + 1))
        # log C(K + m - 1, m), and nothing to choose when no feature is selected.
        self._prior[1:] += gammaln(n_features + selected) - gammaln(selected + 1.0) - gammaln(max(n_features, 1))

    @classmethod
    def by_default(cls, n_features: int) -> MAPCost:
        return cls(n_features)

    def prior(self, n_selected: np.ndarray | int) -> np.ndarray | float:
        """Cost in nats of announcing a subset of this size."""
        return self._prior[n_selected]

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        return sums[:, 0] + self._prior[n_selected]

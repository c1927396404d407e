"""Features by their information gain: mutual information with the class."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from bayesieve.counts import ContingencyCounts, Smoothing
from bayesieve.counts.information import class_information
from bayesieve.selection.filters import FilterSelector, check_number
from bayesieve.table import CodedTable


class InformationGainSelector(FilterSelector):
    """Select the features that tell most about the class on their own.

    IG(C, X) = H(C) - H(C | X), the mutual information of the levels of a feature and the classes, from relative
    frequencies. It is never below 0, so chance alone makes it positive: a threshold, or a number of features, has to be
    chosen. Selected features get weight 1, others 0.

    Parameters
    ----------
    threshold : float, default=0.0
        Features of a gain above it are selected, in nats.
    alpha : float or None, default=None
        A share, in place of ``threshold``: the threshold is alpha * ln(number of classes), which no gain exceeds at
        alpha = 1.
    n_features_to_select : int or None, default=None
        In place of a threshold: this many features of largest gain, the lower column on ties.
    smoothing : "m-estimate" or float, default="m-estimate"
        As `DiscreteNB` takes it; no gain depends on it.
    encoder : "modl", TableEncoder or None, default="modl"
        None: the table is coded already (integers from 0).

    Attributes
    ----------
    scores_ : float array, shape (n_features,)
        Information gain in nats; 0 <= IG <= min(H(X), H(C)). Rows whose level is unseen do not count.
    ranking_ : int array, shape (n_features,)
        Positions of the features, the largest gain first.
    threshold_ : float or None
        The threshold applied, in nats; None where the number of features was given.
    weights_, support_, trace_
        As for every selector; the trace adds all features in the order of the ranking.

    References
    ----------
    Quinlan (1986), Induction of decision trees, Machine Learning 1; Abellan & Castellano (2017), Entropy 19 (6) 247,
    section 4.1, for alpha.

    Examples
    --------
    >>> from bayesieve import InformationGainSelector
    >>> from sklearn.datasets import load_iris
    >>> selector = InformationGainSelector(alpha=0.5).fit(*load_iris(return_X_y=True))
    >>> selector.scores_.round(2).tolist(), selector.support_.tolist()
    ([0.47, 0.27, 0.94, 0.96], [False, False, True, True])
    """

    _criterion = "information_gain"

    def __init__(
        self,
        *,
        threshold: float = 0.0,
        alpha: float | None = None,
        n_features_to_select: int | None = None,
        smoothing: Smoothing = "m-estimate",
        encoder: Any = "modl",
    ) -> None:
        super().__init__(smoothing=smoothing, encoder=encoder)
        self.threshold = threshold
        self.alpha = alpha
        self.n_features_to_select = n_features_to_select

    def _score(self, counts: ContingencyCounts) -> np.ndarray:
        return class_information(counts)

    def _kept(self, coded: CodedTable) -> np.ndarray:
        self.threshold_: float | None = None
        if self.n_features_to_select is None:
            self.threshold_ = self.threshold if self.alpha is None else self.alpha * float(np.log(coded.n_classes))
            return self._above(self.threshold_)
        if self.n_features_to_select > coded.n_features:
            raise ValueError(
                f"n_features_to_select={self.n_features_to_select} is more than the {coded.n_features} features of the "
                "table; use at most that many."
            )
        kept = np.zeros(coded.n_features, dtype=bool)
        kept[self.ranking_[: self.n_features_to_select]] = True
        return kept

    def _check_options(self) -> None:
        check_number("threshold", self.threshold, "a number of nats")
        if self.alpha is not None:
            check_number("alpha", self.alpha, "None or a share from 0 to 1", 0.0, 1.0)
        asked = self.n_features_to_select
        if asked is not None and (not isinstance(asked, Integral) or isinstance(asked, bool) or asked < 1):
            raise ValueError(f"n_features_to_select must be None or a whole number of at least 1, got {asked!r}.")
        given = [self.threshold != 0.0, self.alpha is not None, asked is not None]
        if sum(given) > 1:
            raise ValueError("threshold, alpha and n_features_to_select exclude each other; give one of them.")

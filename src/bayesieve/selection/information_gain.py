"""Features by their information gain: mutual information with the class."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.counts.information import class_information
from bayesieve.criteria import Criterion
from bayesieve.parts import Score
from bayesieve.search.recorder import Clock
from bayesieve.selection.base import seed_of
from bayesieve.selection.evaluation_rows import check_held_out, hold_out, recoder_for, validation_criterion
from bayesieve.selection.filters import FilterSelector, above, check_number, rank
from bayesieve.selection.ranked_path import NestedPath, check_size, leading, ranking_trace


class InformationGainSelector(FilterSelector):
    """Select the features that say most about the class on their own.

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
    n_features_to_select : int, "auto" or None, default=None
        In place of a threshold: this many features of largest gain, the lower column on ties. "auto": as many as do
        best on rows that are held out, the fewest of equals; gains are then those of the other rows.

    Attributes
    ----------
    scores_ : float array, shape (n_features,)
        Information gain in nats; 0 <= IG <= min(H(X), H(C)). Rows whose level is unseen do not count.
    ranking_ : int array, shape (n_features,)
        Positions of the features, the largest gain first.
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

    name = "information-gain"
    title = "filter by information gain"
    sentence = "Features were selected by their information gain, each on its own (Quinlan 1986)."
    scores = (Score("information_gain", unit="nats", of="feature"),)

    def __init__(
        self,
        *,
        threshold: float = 0.0,
        alpha: float | None = None,
        n_features_to_select: Literal["auto"] | int | None = None,
        validation: str | Criterion = "auto",
        validation_size: float = 0.5,
        recode: bool | Literal["auto"] = "auto",
        smoothing: Smoothing = "m-estimate",
        encoder: Any = "modl",
        random_state: Any = None,
    ) -> None:
        super().__init__(smoothing=smoothing, encoder=encoder)
        self.threshold = threshold
        self.alpha = alpha
        self.n_features_to_select = n_features_to_select
        self.validation = validation
        self.validation_size = validation_size
        self.recode = recode
        self.random_state = random_state

    def _search(self, coded: CodedTable) -> np.ndarray:
        clock = Clock(None)
        fit, path, recoded = coded, None, None
        automatic = isinstance(self.n_features_to_select, str)
        if automatic:
            remedy = "pass n_features_to_select as a number, or a threshold"
            recoder, recoded = recoder_for(coded, self.recode, 1)
            fit, held_out = hold_out(coded, float(self.validation_size), seed_of(self.random_state), remedy, recoder)
        scores = class_information(fit.counts)
        ranking = rank(scores)
        if automatic:
            path = NestedPath.measure(
                ranking, fit, held_out, validation_criterion(self.validation, coded), self.smoothing
            )
        ranked, score = scores[ranking], self.scores[0]
        self.trace_ = ranking_trace(coded.names, ranking, ranked, score, clock.seconds, path, recoded)
        if automatic:
            return self.trace_.best_on_path().astype(float)
        if self.n_features_to_select is not None:
            return leading(ranking, int(self.n_features_to_select))
        return above(scores, self.threshold if self.alpha is None else self.alpha * float(np.log(coded.n_classes)))

    def _check_options(self) -> None:
        check_number("threshold", self.threshold, "a number of nats")
        if self.alpha is not None:
            check_number("alpha", self.alpha, "None or a share from 0 to 1", 0.0, 1.0)
        if self.n_features_to_select is not None:
            check_size(self.n_features_to_select)
        check_held_out(self)
        given = [self.threshold != 0.0, self.alpha is not None, self.n_features_to_select is not None]
        if sum(given) > 1:
            raise ValueError("threshold, alpha and n_features_to_select exclude each other; give one of them.")

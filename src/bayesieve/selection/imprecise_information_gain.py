"""Features by their imprecise information gain, which is below 0 for features that say less than their levels cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.counts import CodedTable, ContingencyCounts, Smoothing
from bayesieve.counts.imprecise import LEVEL_PROBABILITIES, LevelProbabilities, class_imprecise_information
from bayesieve.parts import Score
from bayesieve.selection.filters import FilterSelector, above, check_number
from bayesieve.table.choices import is_choice


class ImpreciseInformationGainSelector(FilterSelector):
    """Select the features of positive imprecise information gain: no threshold has to be chosen.

    IIG(C, X) = S*(K(C)) - sum_x p(x) S*(K(C | X = x)), where S* is the largest entropy among the distributions that the
    imprecise Dirichlet model leaves possible, see `maximum_entropy`. Few rows of a level leave much possible, so that
    rare levels lose part of what they gain by chance (with two classes and one row each, all of it); a feature whose
    levels do not differ at all is below 0. Selected features get weight 1, others 0.

    Parameters
    ----------
    s : float, default=1.0
        Of the imprecise Dirichlet model: rows that may still come. The larger, the fewer features, with few exceptions;
        Walley advises 1 or 2.
    threshold : float, default=0.0
        Features of a gain above it, by more than rounding, are selected, in nats.
    level_probabilities : {"frequency", "maximum-entropy"}, default="frequency"
        p(x): relative frequencies of the levels, or their distribution of maximum entropy.

    Attributes
    ----------
    scores_ : float array, shape (n_features,)
        Imprecise information gain in nats. Rows whose level is unseen do not count, nor do classes without rows.
    ranking_ : int array, shape (n_features,)
        Positions of the features, the largest gain first.
    weights_, support_, trace_
        As for every selector; the trace adds all features in the order of the ranking.

    References
    ----------
    Abellan & Castellano (2017), Entropy 19 (6) 247; Walley (1996), Inferences from multinomial data, JRSS B 58.

    Examples
    --------
    >>> from bayesieve import ImpreciseInformationGainSelector
    >>> codes = [[0, 0], [0, 1], [0, 2], [1, 3], [1, 4], [1, 5]]
    >>> selector = ImpreciseInformationGainSelector(encoder=None).fit(codes, ["no", "no", "no", "yes", "yes", "yes"])
    >>> selector.scores_.round(3).tolist(), selector.support_.tolist()
    ([0.131, 0.0], [True, False])
    """

    name = "imprecise-information-gain"
    title = "filter by imprecise information gain"
    sentence = (
        "Features of positive imprecise information gain were selected, each on its own (Abellán & Castellano 2017)."
    )
    scores = (Score("imprecise_information_gain", unit="nats", of="feature"),)

    def __init__(
        self,
        *,
        s: float = 1.0,
        threshold: float = 0.0,
        level_probabilities: LevelProbabilities = "frequency",
        smoothing: Smoothing = "m-estimate",
        encoder: Any = "modl",
    ) -> None:
        super().__init__(smoothing=smoothing, encoder=encoder)
        self.s = s
        self.threshold = threshold
        self.level_probabilities = level_probabilities

    def score_features(self, coded: CodedTable) -> np.ndarray:
        counts = coded.counts
        there = counts.class_counts > 0.0
        seen = ContingencyCounts(counts.counts[:, there], counts.offsets, counts.class_counts[there])
        return class_imprecise_information(seen, self.s, self.level_probabilities)

    def weigh(self, scores: np.ndarray, ranking: np.ndarray) -> np.ndarray:
        return above(scores, self.threshold)

    def _check_options(self) -> None:
        check_number("s", self.s, "a number above 0", np.nextafter(0.0, 1.0))
        check_number("threshold", self.threshold, "a number of nats")
        if not is_choice(self.level_probabilities, LEVEL_PROBABILITIES):
            raise ValueError(
                f"level_probabilities must be one of {', '.join(map(repr, LEVEL_PROBABILITIES))}, "
                f"got {self.level_probabilities!r}."
            )

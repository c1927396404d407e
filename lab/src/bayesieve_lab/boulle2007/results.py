"""Results on a group of data sets, summarized as in the tables of Boulle (2007)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from bayesieve_lab import cross_validated
from bayesieve_lab.boulle2007.data import MEASURES, METHODS, OURS, REFERENCE, VARIANTS
from bayesieve_lab.comparison.differences import DIGITS, average_ranks

FLOORED = "compression_rate_floored"
"""The compression rate with probabilities of at least 1 / test rows."""
CRITERIA = (*MEASURES, FLOORED)
TITLES = {
    "accuracy": "Accuracy (ACC)",
    "auc": "Area under the ROC curve (AUC)",
    "compression_rate": "Compression rate (CR)",
    FLOORED: "Compression rate, probabilities of at least 1 / test rows",
}


def of_paper(criterion: str) -> str:
    """Return the name of the paper's criterion with which ``criterion``, one of ours, is compared."""
    return criterion if criterion in MEASURES else "compression_rate"


class Group(cross_validated.Group):
    """Results on the data sets on which no method of the paper failed; methods are the paper's seven and, last, ours.

    Means of our method are NaN if it has no results on one of the data sets.
    """

    methods: ClassVar[tuple[str, ...]] = (*METHODS, OURS)
    needed: ClassVar[tuple[str, ...]] = METHODS
    criteria = CRITERIA
    reference = REFERENCE

    def means(self, measure: str) -> dict[str, float]:
        """Return the mean of a performance measure over the data sets, by method."""
        return dict(zip(self.methods, self.matrix(measure).mean(axis=0).tolist(), strict=True))

    def ranks(self, measure: str, *, shared: Literal["mean", "best"] = "best") -> dict[str, float]:
        """Return the average rank of each method by a performance measure; ours is ranked in place of SNB(CMA).

        ``shared`` is the rank of equal methods: the best of their ranks as in the paper (the ranks of its table 3 sum
        to 25.8, 26.6 and 27.9, mean ranks of seven methods to 28), or their mean rank as in tests of ranks.
        """
        place = METHODS.index(REFERENCE)
        matrix = self.matrix(measure)
        ranks = dict(zip(METHODS, _average_ranks(matrix[:, :-1], shared).tolist(), strict=True))
        matrix[:, place] = matrix[:, -1]
        our_rank = _average_ranks(matrix[:, :-1], shared)[place] if not np.isnan(matrix).any() else np.nan
        return {**ranks, OURS: float(our_rank)}

    def seconds(self) -> dict[str, float]:
        """Return the seconds of training and prediction, coding included, summed over all folds and data sets, by
        method.
        """
        total = dict.fromkeys(self.methods, 0.0)
        for row in self.comparison.rows:
            if row["data"] in self.names and row["method"] in total and row["fit_seconds"] is not None:
                total[row["method"]] += row["fit_seconds"] + row["predict_seconds"]
        return total


class Readings(Group):
    """Results of SNB(CMA), SNB(BMA) and SNB(ACC), each by several interpretations of the paper's text (*readings*)."""

    methods = ("SNB(CMA)", "SNB(BMA)", "SNB(ACC)", *VARIANTS)
    needed = ()


def _average_ranks(matrix: np.ndarray, shared: Literal["mean", "best"]) -> np.ndarray:
    """Return the average rank of each column of ``matrix`` (n_data, n_methods), (n_methods,); the highest value has
    rank 1.

    ``shared`` is the rank of equal values: the "mean" or the "best" of their ranks.
    """
    if shared == "mean":
        return average_ranks(matrix)
    better = np.round(matrix, DIGITS)[:, None, :] > np.round(matrix, DIGITS)[:, :, None]
    ranks: np.ndarray = 1.0 + better.sum(axis=2).mean(axis=0)
    return ranks

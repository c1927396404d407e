"""Results on a group of data sets, summarized as in the tables of Boulle (2007)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bayesieve.evaluation.comparison_result import Comparison
from bayesieve.statistics import average_ranks, critical_difference
from bayesieve.statistics.fold_tests import DIGITS, WinsLosses, wins_and_losses
from bayesieve.studies.boulle2007.data import MEASURES, METHODS, OURS, REFERENCE

FLOORED = "compression_rate_floored"
"""The compression rate with probabilities of at least 1 / test rows."""
CRITERIA = (*MEASURES, FLOORED)
TITLES = {
    "accuracy": "Accuracy (ACC)",
    "auc": "Area under the ROC curve (AUC)",
    "compression_rate": "Compression rate (CR)",
    FLOORED: "Compression rate, probabilities of at least 1 / test rows",
}


@dataclass(frozen=True)
class Group:
    """Data sets of a comparison on which no method failed; ``left_out`` are the others.

    Methods are the paper's seven, in its order, and ours.
    """

    comparison: Comparison
    names: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, comparison: Comparison, names: Sequence[str]) -> Group:
        """The named data sets, as far as the comparison has them."""
        group = cls(comparison, tuple(name for name in names if name in comparison.data))
        known = np.all([~np.isnan(group.matrix(criterion)).any(axis=1) for criterion in CRITERIA], axis=0)
        return cls(
            comparison,
            tuple(name for name, complete in zip(group.names, known, strict=True) if complete),
            tuple(name for name, complete in zip(group.names, known, strict=True) if not complete),
        )

    def folds(self, measure: str, name: str) -> np.ndarray:
        """(n_splits, n_methods) values of the paper's methods and ours on a data set."""
        values = self.comparison.figure(measure, name) if measure == FLOORED else self.comparison.folds(measure, name)
        return values[:, [self.comparison.methods.index(method) for method in (*METHODS, OURS)]]

    def matrix(self, measure: str) -> np.ndarray:
        """(n_data, n_methods) means over folds; NaN if a method failed on a fold that another method has."""
        means = np.full((len(self.names), len(METHODS) + 1), np.nan)
        for mean, name in zip(means, self.names, strict=True):
            values = self.folds(measure, name)
            values = values[~np.isnan(values).all(axis=1)]
            if len(values):
                mean[:] = values.mean(axis=0)
        return means

    def means(self, measure: str) -> dict[str, float]:
        """Mean over the data sets by method."""
        return dict(zip((*METHODS, OURS), self.matrix(measure).mean(axis=0).tolist(), strict=True))

    def ranks(self, measure: str, *, shared: Literal["mean", "best"] = "best") -> dict[str, float]:
        """Average ranks of the paper's methods among themselves; our rank replaces SNB(CMA) by our method.

        ``shared`` is the rank of equal methods: the best of their ranks as in the paper (the ranks of its table 3 sum
        to 25.8, 26.6 and 27.9, mean ranks of seven methods to 28), or their mean rank as in tests of ranks.
        """
        place = METHODS.index(REFERENCE)
        matrix = self.matrix(measure)
        ranks = dict(zip(METHODS, _average_ranks(matrix[:, :-1], shared).tolist(), strict=True))
        matrix[:, place] = matrix[:, -1]
        return {**ranks, OURS: float(_average_ranks(matrix[:, :-1], shared)[place])}

    def records(self, measure: str, *, corrected: bool) -> dict[str, WinsLosses]:
        """Significant wins and losses of SNB(CMA) against every other method, by the paper's test or the corrected
        one.
        """
        lines: list[tuple[str, str, int, Any]] = []
        for name in self.names:
            values = self.folds(measure, name)
            for method, column in zip((*METHODS, OURS), values.T, strict=True):
                lines += [(name, method, split, value) for split, value in enumerate(column.tolist())]
        names, methods, splits, results = zip(*lines, strict=True)
        share = self.comparison.test_share if corrected else None
        return wins_and_losses(names, methods, splits, results, reference=REFERENCE, test_share=share)

    def critical_difference(self) -> float | None:
        """Critical difference of the paper's methods in average rank; None for a single data set."""
        return critical_difference(len(METHODS), len(self.names)) if len(self.names) > 1 else None

    def seconds(self) -> dict[str, float]:
        """Seconds of training and prediction by method, with coding, over all folds."""
        total = dict.fromkeys((*METHODS, OURS), 0.0)
        for row in self.comparison.rows:
            if row["data"] in self.names and row["fit_seconds"] is not None:
                total[row["method"]] += row["fit_seconds"] + row["predict_seconds"]
        return total


def _average_ranks(matrix: np.ndarray, shared: Literal["mean", "best"]) -> np.ndarray:
    if shared == "mean":
        return average_ranks(matrix)
    better = np.round(matrix, DIGITS)[:, None, :] > np.round(matrix, DIGITS)[:, :, None]
    ranks: np.ndarray = 1.0 + better.sum(axis=2).mean(axis=0)
    return ranks

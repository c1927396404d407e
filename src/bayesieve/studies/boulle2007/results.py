"""What a comparison found on a group of data sets, as the tables of Boulle (2007) summarize it."""

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
"""The compression rate with probabilities of at least one over the number of test rows."""
CRITERIA = (*MEASURES, FLOORED)
TITLES = {
    "accuracy": "Accuracy (ACC)",
    "auc": "Area under the ROC curve (AUC)",
    "compression_rate": "Compression rate (CR)",
    FLOORED: "Compression rate, probabilities of at least 1 / test rows",
}


@dataclass(frozen=True)
class Group:
    """Data sets of a comparison on which every method worked; ``left_out`` are those on which one did not.

    Methods are the paper's seven, in its order, and ours.
    """

    found: Comparison
    names: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, found: Comparison, names: Sequence[str]) -> Group:
        """Those of the names that the comparison has."""
        group = cls(found, tuple(name for name in names if name in found.data))
        known = np.all([~np.isnan(group.matrix(criterion)).any(axis=1) for criterion in CRITERIA], axis=0)
        return cls(
            found,
            tuple(name for name, complete in zip(group.names, known, strict=True) if complete),
            tuple(name for name, complete in zip(group.names, known, strict=True) if not complete),
        )

    def folds(self, measure: str, name: str) -> np.ndarray:
        """(n_splits, n_methods) values of the paper's methods and ours on a data set."""
        values = self.found.figure(measure, name) if measure == FLOORED else self.found.folds(measure, name)
        return values[:, [self.found.methods.index(method) for method in (*METHODS, OURS)]]

    def matrix(self, measure: str) -> np.ndarray:
        """(n_data, n_methods) means over folds; NaN where a method failed on one that another method did not."""
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
        """Average ranks of the paper's methods among themselves; that of ours where it takes the place of SNB(CMA).

        ``shared`` is the rank that equal methods get: the best one of theirs in the paper (the ranks of its table 3 sum
        to 25.8, 26.6 and 27.9, mean ranks of seven methods to 28), the mean one in tests of ranks.
        """
        place = METHODS.index(REFERENCE)
        matrix = self.matrix(measure)
        found = dict(zip(METHODS, _average_ranks(matrix[:, :-1], shared).tolist(), strict=True))
        matrix[:, place] = matrix[:, -1]
        return {**found, OURS: float(_average_ranks(matrix[:, :-1], shared)[place])}

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
        share = self.found.test_share if corrected else None
        return wins_and_losses(names, methods, splits, results, reference=REFERENCE, test_share=share)

    def critical_difference(self) -> float | None:
        """Of the average ranks of the paper's methods; None where there is one data set only."""
        return critical_difference(len(METHODS), len(self.names)) if len(self.names) > 1 else None

    def seconds(self) -> dict[str, float]:
        """Seconds of training and prediction, coding included, over all folds by method."""
        total = dict.fromkeys((*METHODS, OURS), 0.0)
        for row in self.found.rows:
            if row["data"] in self.names and row["fit_seconds"] is not None:
                total[row["method"]] += row["fit_seconds"] + row["predict_seconds"]
        return total


def _average_ranks(matrix: np.ndarray, shared: Literal["mean", "best"]) -> np.ndarray:
    if shared == "mean":
        return average_ranks(matrix)
    better = np.round(matrix, DIGITS)[:, None, :] > np.round(matrix, DIGITS)[:, :, None]
    ranks: np.ndarray = 1.0 + better.sum(axis=2).mean(axis=0)
    return ranks

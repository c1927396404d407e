"""Data of the page of a comparison: plain numbers of every fold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesieve.report.measures import Measure
from bayesieve.statistics.metrics import LOWER_IS_BETTER, MEASURES

EFFORTS = ("n_features", "fit_seconds", "predict_seconds")


@dataclass(frozen=True)
class ComparisonData:
    """Contents of the page of a comparison.

    Attributes
    ----------
    title : str
    data, methods : names, in the order of the page
    folds : one mapping per data set, method, repeat and fold, as a line of ``Comparison.frame``: ``data``, ``method``,
        ``repeat``, ``fold``, ``error`` and any of the measures, None or absent if unknown; entries may be missing
    n_folds, n_repeats, seed : of the stratified cross-validation
    reference : method that tests compare with; None for the best by `measure`
    measure : the first measure, which orders methods and is in the headline; None for the first known one of `MEASURES`
    alpha : level of all tests
    complete : False if the run was interrupted
    settings : further lines, name and value
    """

    title: str
    data: tuple[str, ...]
    methods: tuple[str, ...]
    folds: Sequence[Mapping[str, Any]]
    n_folds: int
    n_repeats: int = 1
    seed: int | None = None
    reference: str | None = None
    measure: str | None = None
    alpha: float = 0.05
    complete: bool = True
    settings: tuple[tuple[str, str], ...] = ()
    version: str = ""
    created: str = ""


class Folds:
    """The numbers of a comparison as arrays (n_data, n_methods, n_splits), NaN if unknown."""

    def __init__(self, data: ComparisonData) -> None:
        self.data = data
        self.splits = sorted({(row["repeat"], row["fold"]) for row in data.folds})
        self.shape = (len(data.data), len(data.methods), len(self.splits))
        self._arrays: dict[str, np.ndarray] = {}
        at = [{name: place for place, name in enumerate(names)} for names in (data.data, data.methods, self.splits)]
        for row in data.folds:
            where = (at[0][row["data"]], at[1][row["method"]], at[2][row["repeat"], row["fold"]])
            for name in (*MEASURES, *EFFORTS):
                value = row.get(name)
                if value is not None and not math.isnan(value):
                    self._arrays.setdefault(name, np.full(self.shape, np.nan))[where] = value

    def measures(self) -> list[Measure]:
        """Measures with known values, the chosen one first."""
        known = [
            Measure(name, name in LOWER_IS_BETTER, digits=3, of_methods=True)
            for name in MEASURES
            if name in self._arrays
        ]
        return sorted(known, key=lambda measure: measure.name != self.data.measure)

    def values(self, name: str) -> np.ndarray:
        return self._arrays.get(name, np.full(self.shape, np.nan))

    def known(self, name: str) -> np.ndarray:
        """(n_data, n_methods) number of folds with a value."""
        return (~np.isnan(self.values(name))).sum(axis=2)

    def means(self, name: str) -> np.ndarray:
        """(n_data, n_methods) means over the folds with a value."""
        return _over_known(self.values(name), 1, np.mean)

    def deviations(self, name: str) -> np.ndarray:
        """(n_data, n_methods) standard deviation over folds (n - 1); NaN for fewer than two."""
        return _over_known(self.values(name), 2, lambda own: own.std(ddof=1) if np.isfinite(own).all() else np.nan)

    def matrix(self, name: str) -> np.ndarray:
        """Comparable means: NaN if a method lacks a fold that another one has, because other folds may be easier."""
        values = self.values(name)
        finished = ~np.isnan(values).all(axis=1, keepdims=True)  # by any method
        lacking = (np.isnan(values) & finished).any(axis=2)
        return np.where(lacking, np.nan, self.means(name))


def _over_known(values: np.ndarray, fewest: int, summary: Any) -> np.ndarray:
    summaries = np.full(values.shape[:2], np.nan)
    for i, j in np.ndindex(*summaries.shape):
        own = values[i, j][~np.isnan(values[i, j])]
        if own.size >= fewest:
            with np.errstate(invalid="ignore"):
                summaries[i, j] = summary(own)
    return summaries

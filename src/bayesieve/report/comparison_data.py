"""Data of the page of a comparison: plain numbers of every fold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class ComparedMeasure:
    """A performance measure: its name, its title, and its direction."""

    name: str
    title: str
    higher_is_better: bool = True
    digits: int = 3

    @property
    def in_words(self) -> str:
        """The title in the middle of a sentence."""
        return self.title if self.title.isupper() else self.title[:1].lower() + self.title[1:]


MEASURES = (
    ComparedMeasure("accuracy", "Accuracy"),
    ComparedMeasure("auc", "AUC"),
    ComparedMeasure("compression_rate", "Compression rate"),
    ComparedMeasure("log_loss", "Log loss", higher_is_better=False),
    ComparedMeasure("brier", "Brier score", higher_is_better=False),
    ComparedMeasure("balanced_accuracy", "Balanced accuracy"),
)
EFFORTS = ("n_features", "fit_seconds", "predict_seconds")


@dataclass(frozen=True)
class FoldResult:
    """One method on one fold of one data set; `values` by measure, NaN if unknown; `error` if it failed."""

    data: str
    method: str
    repeat: int
    fold: int
    values: Mapping[str, float]
    error: str | None = None


@dataclass(frozen=True)
class ComparisonData:
    """Contents of the page of a comparison.

    Attributes
    ----------
    title : str
    data, methods : names, in the order of the page
    folds : one entry per data set, method, repeat and fold; entries may be missing
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
    folds: tuple[FoldResult, ...]
    n_folds: int
    n_repeats: int = 1
    seed: int | None = None
    reference: str | None = None
    measure: str | None = None
    alpha: float = 0.05
    complete: bool = True
    settings: tuple[tuple[str, str], ...] = field(default=())
    version: str = ""
    created: str = ""


def fold_results(rows: Iterable[Mapping[str, Any]]) -> tuple[FoldResult, ...]:
    """Folds from the lines of a table, such as ``Comparison.frame.to_dicts()``.

    Parameters
    ----------
    rows : mappings with ``data``, ``method``, ``repeat``, ``fold``, any of the measures, and ``error``; None is
        unknown.

    Examples
    --------
    >>> fold_results([{"data": "iris", "method": "NB", "repeat": 0, "fold": 3, "auc": 0.99, "error": None}])
    (FoldResult(data='iris', method='NB', repeat=0, fold=3, values={'auc': 0.99}, error=None),)
    """
    names = (*(measure.name for measure in MEASURES), *EFFORTS)
    return tuple(
        FoldResult(
            data=row["data"],
            method=row["method"],
            repeat=int(row["repeat"]),
            fold=int(row["fold"]),
            values={name: float(row[name]) for name in names if row.get(name) is not None},
            error=row.get("error"),
        )
        for row in rows
    )


class Folds:
    """The numbers of a comparison as arrays (n_data, n_methods, n_splits), NaN if unknown."""

    def __init__(self, data: ComparisonData) -> None:
        self.splits = sorted({(f.repeat, f.fold) for f in data.folds})
        places = (_places(data.data), _places(data.methods), _places(self.splits))
        self.shape = (len(data.data), len(data.methods), len(self.splits))
        self._first = data.measure
        self._arrays: dict[str, np.ndarray] = {}
        for f in data.folds:
            where = (places[0][f.data], places[1][f.method], places[2][f.repeat, f.fold])
            for name, value in f.values.items():
                if not math.isnan(value):
                    self._arrays.setdefault(name, np.full(self.shape, np.nan))[where] = value

    def measures(self) -> list[ComparedMeasure]:
        """Measures with known values, the chosen one first."""
        known = [measure for measure in MEASURES if measure.name in self._arrays]
        return sorted(known, key=lambda measure: measure.name != self._first)

    def values(self, name: str) -> np.ndarray:
        return self._arrays.get(name, np.full(self.shape, np.nan))

    def known(self, name: str) -> np.ndarray:
        """(n_data, n_methods) number of folds with a value."""
        return (~np.isnan(self.values(name))).sum(axis=2)

    def means(self, name: str) -> np.ndarray:
        """(n_data, n_methods) means over the folds with a value."""
        return _over_known(self.values(name), 1, lambda own: own.mean())

    def deviations(self, name: str) -> np.ndarray:
        """(n_data, n_methods) standard deviation over folds (n - 1); NaN for fewer than two."""
        return _over_known(self.values(name), 2, lambda own: own.std(ddof=1) if np.isfinite(own).all() else np.nan)

    def matrix(self, name: str) -> np.ndarray:
        """Comparable means: NaN if a method lacks a fold that another one has, because other folds may be easier."""
        values = self.values(name)
        wanted = ~np.isnan(values).all(axis=1, keepdims=True)
        lacking = (np.isnan(values) & wanted).any(axis=2)
        return np.where(lacking, np.nan, self.means(name))


def _places(names: Sequence[Any]) -> dict[Any, int]:
    return {name: place for place, name in enumerate(names)}


def _over_known(values: np.ndarray, fewest: int, summary: Any) -> np.ndarray:
    summaries = np.full(values.shape[:2], np.nan)
    for i, j in np.ndindex(*summaries.shape):
        own = values[i, j][~np.isnan(values[i, j])]
        if own.size >= fewest:
            with np.errstate(invalid="ignore"):
                summaries[i, j] = summary(own)
    return summaries

"""Tables of a comparison: means, tests against one method, and one line per data set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesieve.report.figures.strips import StripPlot, strip_plot
from bayesieve.report.measures import Measure
from bayesieve.statistics import PairedTest, average_ranks, corrected_resampled_t, paired_t
from bayesieve.statistics.metrics import LOWER_IS_BETTER, MEASURES
from bayesieve.words import format_number, format_seconds, format_signed, p_text

ALPHA = 0.05
"""Level of all tests."""
EFFORTS = ("n_features", "fit_seconds", "predict_seconds")
MAX_STRIP_DATA = 40
_SAME = 1e-12


@dataclass(frozen=True)
class Cell:
    """A number, the text below it, and whether it is best or significantly better or worse than the reference."""

    text: str
    under: str = ""
    is_best: bool = False
    mark: str = ""  # "better", "worse" or nothing


@dataclass(frozen=True)
class Line:
    name: str
    cells: tuple[Cell, ...]
    is_reference: bool = False


@dataclass(frozen=True)
class Grid:
    title: str
    head: tuple[str, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class FoldPanel:
    """Strips of one measure on one data set, in the order of the methods."""

    title: str
    plot: StripPlot
    means: tuple[str, ...]


class Folds:
    """The numbers of a `Comparison` as arrays (n_data, n_methods, n_splits), NaN if unknown; the measure `first` orders
    methods.
    """

    def __init__(self, comparison: Any, first: str) -> None:
        self.data, self.methods = comparison.data, comparison.methods
        self.test_share = 1 / max(comparison.protocol.n_folds - 1, 1)
        splits = sorted({row["repeat"] * comparison.protocol.n_folds + row["fold"] for row in comparison.rows})
        self.n_splits = len(splits)
        self._arrays = {
            name: np.stack([comparison.folds(name, data)[splits].T for data in self.data])
            for name in (*MEASURES, *EFFORTS)
        }
        known = sorted((name for name in MEASURES if self.known(name).any()), key=lambda name: name != first)
        self.measures = [Measure(name, name in LOWER_IS_BETTER, digits=3, of_methods=True) for name in known]
        """Measures with known values, the chosen one first."""

    def values(self, name: str) -> np.ndarray:
        return self._arrays[name]

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


class FoldTests:
    """Every method against the reference on every data set, by the folds."""

    def __init__(self, folds: Folds, reference: int) -> None:
        self.folds = folds
        self.reference = reference
        self._tests: dict[tuple[str, int, int], PairedTest] = {}

    def corrected(self, name: str, i: int, j: int) -> PairedTest:
        """Method `j` against the reference on data set `i`, corrected for overlapping training sets."""
        if (name, i, j) not in self._tests:
            values = self.folds.values(name)[i]
            self._tests[name, i, j] = corrected_resampled_t(values[j], values[self.reference], self.folds.test_share)
        return self._tests[name, i, j]

    def student(self, name: str, i: int, j: int) -> PairedTest:
        values = self.folds.values(name)[i]
        return paired_t(values[j], values[self.reference])

    def mark(self, measure: Measure, i: int, j: int) -> str:
        if j == self.reference:
            return ""
        sign = self.corrected(measure.name, i, j).sign(ALPHA)
        return "" if not sign else "better" if (sign > 0) == measure.higher_is_better else "worse"


def means_table(tests: FoldTests, order: Sequence[int]) -> Grid:
    """One line per method. One data set: mean and deviation over folds; several: mean over them and average rank."""
    folds = tests.folds
    single = len(folds.data) == 1
    columns = [_own_cells(measure, tests, 0) if single else _mean_cells(measure, folds) for measure in folds.measures]
    columns += [_effort_cells(folds, name) for name in EFFORTS]
    head = ("Method", *(m.capitalised for m in folds.measures), "Features", "Fit", "Predict")
    lines = tuple(Line(folds.methods[j], tuple(own[j] for own in columns), j == tests.reference) for j in order)
    return Grid("Methods", head, lines)


def difference_table(tests: FoldTests, order: Sequence[int]) -> Grid:
    """Every other method against the reference. One data set: difference and p-value; several: wins and losses of the
    reference, by the corrected test and below by Student's.
    """
    folds, measures = tests.folds, tests.folds.measures
    make = _difference_cell if len(folds.data) == 1 else _wins_cell
    lines = tuple(
        Line(folds.methods[j], tuple(make(measure, tests, j) for measure in measures))
        for j in order
        if j != tests.reference
    )
    return Grid("Tests", ("Method", *(m.capitalised for m in measures)), lines)


def data_tables(tests: FoldTests, order: Sequence[int]) -> list[Grid]:
    """For every measure one line per data set, one column per method; then features and seconds."""
    folds = tests.folds
    tables = []
    for measure in folds.measures:
        rows = [_own_cells(measure, tests, i) for i in range(len(folds.data))]
        tables.append(_by_data(measure.capitalised, folds, rows, order))
    for name, title in (("n_features", "Features selected"), ("fit_seconds", "Fit, time of a fold")):
        if folds.known(name).any():
            rows = [[Cell(_effort_text(value, name)) for value in row] for row in folds.means(name)]
            tables.append(_by_data(title, folds, rows, order))
    return tables


def fold_panels(folds: Folds, i: int, order: Sequence[int], most: int = 3) -> list[FoldPanel]:
    """Strips of the first measures on data set `i`."""
    panels = []
    for measure in folds.measures[:most]:
        values, means = folds.values(measure.name)[i], folds.means(measure.name)[i]
        plot = strip_plot([values[j].tolist() for j in order])
        if plot is not None:
            panels.append(FoldPanel(measure.capitalised, plot, tuple(measure.text(means[j]) for j in order)))
    return panels


def _own_cells(measure: Measure, tests: FoldTests, i: int) -> list[Cell]:
    folds, name = tests.folds, measure.name
    means, deviations, known = folds.means(name)[i], folds.deviations(name)[i], folds.known(name)[i]
    best = _best(folds.matrix(name)[i], measure)
    n_folds = int((~np.isnan(folds.values(name)[i]).all(axis=0)).sum())
    cells = []
    for j, mean in enumerate(means):
        under = f"± {measure.text(deviations[j])}" if known[j] > 1 else ""
        if known[j] < n_folds:
            under = f"{known[j]} of {n_folds} folds"
        mark = tests.mark(measure, i, j)
        cells.append(Cell(measure.text(mean), under, bool(best[j]), mark))
    return cells


def _mean_cells(measure: Measure, folds: Folds) -> list[Cell]:
    """Over data sets: the mean of a method that lacks one is over the others, and is never called best."""
    matrix = folds.matrix(measure.name)
    matrix = matrix[~np.isnan(matrix).all(axis=1)]
    if not len(matrix):
        return [Cell(format_number(None)) for _ in folds.methods]
    lacking = np.isnan(matrix).sum(axis=0)
    means = np.array([row[~np.isnan(row)].mean() if (~np.isnan(row)).any() else np.nan for row in matrix.T])
    best = _best(np.where(lacking > 0, np.nan, means), measure)
    ranks = average_ranks(matrix, measure.higher_is_better)
    cells = []
    for j, mean in enumerate(means):
        under = f"rank {format_number(ranks[j], 2)}"
        if lacking[j]:
            under += f"\n{len(matrix) - lacking[j]} of {len(matrix)} sets"
        cells.append(Cell(measure.text(mean), under, bool(best[j])))
    return cells


def _effort_cells(folds: Folds, name: str) -> list[Cell]:
    means = folds.means(name)
    cells = []
    for own in means.T:
        own = own[~np.isnan(own)]
        cells.append(Cell(_effort_text(float(own.mean()) if own.size else math.nan, name)))
    return cells


def _difference_cell(measure: Measure, tests: FoldTests, j: int) -> Cell:
    test = tests.corrected(measure.name, 0, j)
    return Cell(format_signed(test.difference, measure.digits), p_text(test.p_value), mark=tests.mark(measure, 0, j))


def _wins_cell(measure: Measure, tests: FoldTests, j: int) -> Cell:
    better = 1 if measure.higher_is_better else -1
    counts = []
    for test_of in (tests.corrected, tests.student):
        signs = [test_of(measure.name, i, j).sign(ALPHA) * better for i in range(len(tests.folds.data))]
        counts.append(f"{signs.count(-1)}/{signs.count(1)}")
    return Cell(counts[0], f"Student {counts[1]}")


def _by_data(title: str, folds: Folds, rows: Sequence[Sequence[Cell]], order: Sequence[int]) -> Grid:
    lines = tuple(Line(name, tuple(row[j] for j in order)) for name, row in zip(folds.data, rows, strict=True))
    return Grid(title, ("Data set", *(folds.methods[j] for j in order)), lines)


def _best(values: np.ndarray, measure: Measure) -> np.ndarray:
    """Positions of the best values; none if only one method has a value."""
    known = values[~np.isnan(values)]
    if known.size < 2:
        return np.zeros(values.shape, dtype=bool)
    best = known.max() if measure.higher_is_better else known.min()
    with np.errstate(invalid="ignore"):
        return (values == best) | (np.abs(values - best) <= _SAME)


def _effort_text(value: float, name: str) -> str:
    return format_number(value, 1 if value < 1000 else 0) if name == "n_features" else format_seconds(value)

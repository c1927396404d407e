"""Tables of a comparison: means, tests against one method, and one line per data set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayesieve.report.comparison_data import ComparedMeasure, ComparisonData, Folds
from bayesieve.report.figures.strips import StripPlot, strip_plot
from bayesieve.report.formats import format_number, format_seconds, format_signed
from bayesieve.statistics import average_ranks, corrected_resampled_t, paired_t
from bayesieve.statistics.fold_tests import PairedTest

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
    """A row of a table."""

    name: str
    cells: tuple[Cell, ...]
    is_reference: bool = False


@dataclass(frozen=True)
class Grid:
    """A table with named columns."""

    title: str
    head: tuple[str, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class FoldPanel:
    """Strips of one measure on one data set, in the order of the methods."""

    title: str
    plot: StripPlot
    means: tuple[str, ...]


class FoldTests:
    """Every method against the reference on every data set, by the folds."""

    def __init__(self, data: ComparisonData, folds: Folds, reference: int) -> None:
        self.alpha = data.alpha
        self.reference = reference
        self._folds = folds
        self._share = 1 / max(data.n_folds - 1, 1)
        self._tests: dict[tuple[str, int, int], PairedTest] = {}

    def corrected(self, name: str, i: int, j: int) -> PairedTest:
        """Method `j` against the reference on data set `i`, corrected for overlapping training sets."""
        if (name, i, j) not in self._tests:
            values = self._folds.values(name)[i]
            self._tests[name, i, j] = corrected_resampled_t(values[j], values[self.reference], self._share)
        return self._tests[name, i, j]

    def student(self, name: str, i: int, j: int) -> PairedTest:
        values = self._folds.values(name)[i]
        return paired_t(values[j], values[self.reference])

    def mark(self, measure: ComparedMeasure, i: int, j: int) -> str:
        if j == self.reference:
            return ""
        sign = self.corrected(measure.name, i, j).sign(self.alpha)
        return "" if not sign else "better" if (sign > 0) == measure.higher_is_better else "worse"


def best_method(folds: Folds, measures: Sequence[ComparedMeasure]) -> int:
    """The best by mean (one data set) or average rank, of the first measure that decides it; else the first
    method.
    """
    for measure in measures:
        matrix = folds.matrix(measure.name)
        if not np.isnan(matrix).all():
            return int(np.argmin(average_ranks(matrix, measure.higher_is_better)))
    return 0


def means_table(data: ComparisonData, folds: Folds, tests: FoldTests, order: Sequence[int], reference: int) -> Grid:
    """One line per method. One data set: mean and deviation over folds; several: mean over them and average rank."""
    single = len(data.data) == 1
    columns: list[list[Cell]] = []
    for measure in folds.measures():
        columns.append(_own_cells(measure, folds, tests, 0) if single else _mean_cells(measure, folds))
    columns += [_effort_cells(folds, name) for name in ("n_features", "fit_seconds", "predict_seconds")]
    head = ("Method", *(m.title for m in folds.measures()), "Features", "Fit", "Predict")
    lines = tuple(Line(data.methods[j], tuple(own[j] for own in columns), j == reference) for j in order)
    return Grid("Methods", head, lines)


def difference_table(
    data: ComparisonData, folds: Folds, tests: FoldTests, order: Sequence[int], reference: int
) -> Grid:
    """Every other method against the reference. One data set: difference and p-value; several: wins and losses of the
    reference, by the corrected test and below by Student's.
    """
    measures = folds.measures()
    make = _difference_cell if len(data.data) == 1 else _wins_cell
    lines = tuple(
        Line(data.methods[j], tuple(make(measure, tests, j, len(data.data)) for measure in measures))
        for j in order
        if j != reference
    )
    return Grid("Tests", ("Method", *(m.title for m in measures)), lines)


def data_tables(data: ComparisonData, folds: Folds, tests: FoldTests, order: Sequence[int]) -> list[Grid]:
    """For every measure one line per data set, one column per method; then features and seconds."""
    tables = []
    for measure in folds.measures():
        rows = [_own_cells(measure, folds, tests, i) for i in range(len(data.data))]
        tables.append(_by_data(measure.title, data, rows, order))
    for name, title in (("n_features", "Features selected"), ("fit_seconds", "Fit, time of a fold")):
        if folds.known(name).any():
            means = folds.means(name)
            rows = [[Cell(_effort_text(value, name)) for value in row] for row in means]
            tables.append(_by_data(title, data, rows, order))
    return tables


def fold_panels(data: ComparisonData, folds: Folds, i: int, order: Sequence[int], most: int = 3) -> list[FoldPanel]:
    """Strips of the first measures on data set `i`."""
    panels = []
    for measure in folds.measures()[:most]:
        values, means = folds.values(measure.name)[i], folds.means(measure.name)[i]
        plot = strip_plot([values[j].tolist() for j in order])
        if plot is not None:
            texts = tuple(format_number(means[j], measure.digits) for j in order)
            panels.append(FoldPanel(measure.title, plot, texts))
    return panels


def p_text(p_value: float) -> str:
    """A p-value as text.

    Examples
    --------
    >>> p_text(0.0312), p_text(0.00001), p_text(float("nan"))
    ('p 0.031', 'p < 0.001', 'no test')
    """
    if math.isnan(p_value):
        return "no test"
    return "p < 0.001" if p_value < 0.001 else f"p {format_number(p_value, 3)}"


def _own_cells(measure: ComparedMeasure, folds: Folds, tests: FoldTests, i: int) -> list[Cell]:
    name = measure.name
    means, deviations, known = folds.means(name)[i], folds.deviations(name)[i], folds.known(name)[i]
    best = _best(folds.matrix(name)[i], measure)
    wanted = int((~np.isnan(folds.values(name)[i]).all(axis=0)).sum())
    cells = []
    for j, mean in enumerate(means):
        under = f"± {format_number(deviations[j], measure.digits)}" if known[j] > 1 else ""
        if known[j] < wanted:
            under = f"{known[j]} of {wanted} folds"
        mark = tests.mark(measure, i, j)
        cells.append(Cell(format_number(mean, measure.digits), under, bool(best[j]), mark))
    return cells


def _mean_cells(measure: ComparedMeasure, folds: Folds) -> list[Cell]:
    """Over data sets: the mean of a method that lacks one is over the others, and is never called best."""
    matrix = folds.matrix(measure.name)
    matrix = matrix[~np.isnan(matrix).all(axis=1)]
    if not len(matrix):
        return [Cell(format_number(None)) for _ in range(folds.shape[1])]
    lacking = np.isnan(matrix).sum(axis=0)
    means = np.array([row[~np.isnan(row)].mean() if (~np.isnan(row)).any() else np.nan for row in matrix.T])
    best = _best(np.where(lacking > 0, np.nan, means), measure)
    ranks = average_ranks(matrix, measure.higher_is_better)
    cells = []
    for j, mean in enumerate(means):
        under = f"rank {format_number(ranks[j], 2)}"
        if lacking[j]:
            under += f"\n{len(matrix) - lacking[j]} of {len(matrix)} sets"
        cells.append(Cell(format_number(mean, measure.digits), under, bool(best[j])))
    return cells


def _effort_cells(folds: Folds, name: str) -> list[Cell]:
    means = folds.means(name)
    cells = []
    for own in means.T:
        own = own[~np.isnan(own)]
        cells.append(Cell(_effort_text(float(own.mean()) if own.size else math.nan, name)))
    return cells


def _difference_cell(measure: ComparedMeasure, tests: FoldTests, j: int, n_data: int) -> Cell:
    test = tests.corrected(measure.name, 0, j)
    return Cell(format_signed(test.difference, measure.digits), p_text(test.p_value), mark=tests.mark(measure, 0, j))


def _wins_cell(measure: ComparedMeasure, tests: FoldTests, j: int, n_data: int) -> Cell:
    counts = []
    for test_of in (tests.corrected, tests.student):
        results = [test_of(measure.name, i, j) for i in range(n_data)]
        better = 1 if measure.higher_is_better else -1
        signs = [test.sign(tests.alpha) * better for test in results]
        counts.append(f"{signs.count(-1)}/{signs.count(1)}")
    return Cell(counts[0], f"Student {counts[1]}")


def _by_data(title: str, data: ComparisonData, rows: Sequence[Sequence[Cell]], order: Sequence[int]) -> Grid:
    lines = tuple(Line(name, tuple(row[j] for j in order)) for name, row in zip(data.data, rows, strict=True))
    return Grid(title, ("Data set", *(data.methods[j] for j in order)), lines)


def _best(values: np.ndarray, measure: ComparedMeasure) -> np.ndarray:
    """Positions of the best values; none if only one method has a value."""
    known = values[~np.isnan(values)]
    if known.size < 2:
        return np.zeros(values.shape, dtype=bool)
    best = known.max() if measure.higher_is_better else known.min()
    with np.errstate(invalid="ignore"):
        return (values == best) | (np.abs(values - best) <= _SAME)


def _effort_text(value: float, name: str) -> str:
    """A mean number of features, or seconds."""
    return format_number(value, 1 if value < 1000 else 0) if name == "n_features" else format_seconds(value)

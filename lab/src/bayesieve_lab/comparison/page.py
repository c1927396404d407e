"""HTML page of a comparison of methods: means, tests, ranks and folds.

In private functions, ``folds`` is the comparison, ``i`` the position of a data set, and ``j`` that of a method.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve import words
from bayesieve.report.charts import below, columns, drawable, template
from bayesieve.report.page import Figure, page
from bayesieve.report.search import Measure
from bayesieve.report.tables import PrintedTable
from bayesieve.statistics.metrics import LOWER_IS_BETTER, MEASURES
from bayesieve_lab.comparison import differences as tests_of
from bayesieve_lab.comparison.critical_difference import critical_difference_figure, fold_rank_figure

if TYPE_CHECKING:
    from bayesieve_lab.comparison.results import Comparison

ALPHA = 0.05
"""Significance level of all tests."""
EFFORTS = {"n_features": "Features", "fit_seconds": "Fit", "predict_seconds": "Predict"}
MAX_STRIP_DATA, MAX_DOTS, MAX_PAIRS, FIRST_MEASURES = 40, 100, 60, 3
_SAME = 1e-12


def render_comparison(
    comparison: Comparison,
    *,
    title: str = "Comparison of methods",
    measure: str = "accuracy",
    reference: str | None = None,
) -> str:
    """Render a comparison of methods as a self-contained HTML document.

    It shows the mean and standard deviation of every measure over the folds, by method and data set, with the best
    values and significant differences from a reference method (corrected resampled t-test) marked. For a single data
    set, it has average ranks over the folds and tests of all pairs; for several, means, wins and losses, and
    critical-difference diagrams. Folds are drawn as strips.

    Parameters
    ----------
    comparison : Comparison
    title : str
    measure : performance measure by which methods are ordered, and which the headline shows.
    reference : method with which tests compare the others; None for the best by `measure`.

    Returns
    -------
    str
        The document, to be written as UTF-8.

    Raises
    ------
    ValueError
        If there is no method `reference` or measure `measure`.
    """
    compared = Compared(comparison, measure, reference)
    tested = len(compared.methods) > 1 and bool(compared.measures)
    ranks = rank_parts(compared)
    strips = [(name, f"folds-{i}", fold_figure(compared, i)) for i, name in enumerate(compared.data[:MAX_STRIP_DATA])]
    strips = [strip for strip in strips if strip[2].chart]
    drawn = {f"ranks-{k}": part.figure for k, part in enumerate(ranks)} | {id: figure for _, id, figure in strips}
    if tested:
        drawn["tradeoff"] = tradeoff_figure(compared)
    return page(
        f"{__package__}:comparison.html",
        drawn,
        title=title,
        comparison=comparison,
        folds=compared,
        best=best_methods(compared),
        means=means_table(compared) if compared.measures else None,
        tests=difference_table(compared) if tested else None,
        no_ranks=why_no_ranks(compared),
        ranks=ranks,
        n_open=FIRST_MEASURES,
        strips=strips,
        is_cut=len(compared.data) > MAX_STRIP_DATA,
        tables=data_tables(compared) if len(compared.data) > 1 else [],
        alpha=ALPHA,
    )


class Compared:
    """Numbers of a `Comparison`, and tests of every method against a reference over the folds.

    Parameters
    ----------
    comparison : Comparison
    first : name of the measure by which methods are ordered.
    reference : name of the method that others are tested against; None for the best one.

    Attributes
    ----------
    measures : measures that have values, `first` first.
    order : positions of the methods, the best first; equal methods keep their order.
    reference : position of the reference.
    values : by name of a measure, (n_data, n_methods, n_splits) values on the folds, NaN if unknown.
    matrix : function of the name of a measure that returns means over the folds, (n_data, n_methods); NaN if a method
        failed on a fold on which another one succeeded.
    corrected : function of the name of a measure, `i` and `j` that returns the test of `_corrected`, cached.
    """

    def __init__(self, comparison: Comparison, first: str, reference: str | None = None) -> None:
        self.data, self.methods = comparison.data, comparison.methods
        if first not in MEASURES:
            raise ValueError(f"There is no measure {first!r}; choose one of {', '.join(MEASURES)}.")
        if reference not in (None, *self.methods):
            raise ValueError(f"There is no method {reference!r} to compare with; there are {', '.join(self.methods)}.")
        self.test_share, self.matrix = comparison.test_share, cache(comparison.matrix)
        self.corrected = cache(self._corrected)
        self.values = {name: comparison.all_folds(name).swapaxes(1, 2) for name in (*MEASURES, *EFFORTS)}
        with np.errstate(invalid="ignore"):  # of infinities
            self._summary = replace(comparison, library="polars").means()
        names = sorted((name for name in MEASURES if not np.isnan(self.values[name]).all()), key=lambda m: m != first)
        self.measures = [Measure(name, name in LOWER_IS_BETTER, digits=3) for name in names]
        ranks = np.zeros(len(self.methods))
        for measure in [one for one in self.measures if len(self.known_matrix(one))][:1]:
            ranks = tests_of.average_ranks(self.known_matrix(measure), measure.higher_is_better)
        self.order = np.argsort(ranks, kind="stable").tolist()
        self.reference = self.order[0] if reference is None else self.methods.index(reference)

    def means(self, column: str) -> np.ndarray:
        """Return means over the folds that have a value, (n_data, n_methods).

        ``column`` is a measure; for a name that ends in "_std", standard deviations are returned.
        """
        return self._summary[column].to_numpy().reshape(len(self.data), -1)

    def mean(self, column: str) -> np.ndarray:
        """Return, by method, the mean of ``column`` over folds and then over data sets with a value, (n_methods,)."""
        return _over_data(self.means(column))

    def known_matrix(self, measure: Measure) -> np.ndarray:
        """Return means of a measure over the folds, (n_known, n_methods), on the data sets on which any method has a
        value.
        """
        matrix = self.matrix(measure.name)
        return np.asarray(matrix[~np.isnan(matrix).all(axis=1)])

    def _corrected(self, name: str, i: int, j: int) -> tests_of.PairedTest:
        """Return the corrected resampled t-test of method `j` minus the reference on the folds of data set `i`.

        ``name`` is that of the measure.
        """
        values = self.values[name][i]
        return tests_of.corrected_resampled_t(values[j], values[self.reference], self.test_share)

    def student(self, name: str, i: int, j: int) -> tests_of.PairedTest:
        """Return Student's paired t-test of method `j` minus the reference on the folds of data set `i`.

        ``name`` is that of the measure. The test is not corrected for overlapping training sets.
        """
        values = self.values[name][i]
        return tests_of.paired_t(values[j], values[self.reference])

    def mark(self, measure: Measure, i: int, j: int) -> str:
        """Return "better" or "worse" if method `j` differs significantly from the reference on data set `i`, otherwise
        "".

        The test is the corrected resampled t-test over the folds, by ``measure``.
        """
        sign = 0 if j == self.reference else self.corrected(measure.name, i, j).sign(ALPHA)
        return "" if not sign else "better" if (sign > 0) == measure.higher_is_better else "worse"


def _over_data(means: np.ndarray) -> np.ndarray:
    """Return means of ``means`` (n_data, n_methods) over the data sets on which a method has a value, (n_methods,)."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(means, axis=0) / (~np.isnan(means)).sum(axis=0))


def tradeoff_figure(folds: Compared) -> Figure:
    """Return a figure of quality against effort, with a point for each method.

    Quality is the mean of the first measure over folds and data sets; efforts are the mean number of features and
    seconds.
    """
    quality = folds.measures[0].capitalised
    frame: dict[str, list[Any]] = {"method": list(map(_shown, folds.methods))}
    for column, name in {"quality": folds.measures[0].name, **{name: name for name in EFFORTS}}.items():
        frame[column] = [mean if drawable(mean) else None for mean in folds.mean(name).tolist()]
    heads = {"method": "Method", "quality": quality, **EFFORTS}
    drawing = template(f"{__package__}:tradeoff", quality=quality) if any(frame["fit_seconds"]) else {}
    return Figure("Quality, features and seconds", "", drawing, {"methods": frame}, heads)


def best_methods(folds: Compared) -> tuple[list[int], int | None]:
    """Return positions of the methods with the best average rank by the first measure, and how many others are worse.

    Only significantly worse methods count. The number is None if several methods are best or nothing can be tested.
    """
    measure = next(iter(folds.measures), None)
    if measure is None or len(folds.methods) < 2 or not len(matrix := folds.known_matrix(measure)):
        return [], None
    ranks = tests_of.average_ranks(matrix, measure.higher_is_better)
    best = np.flatnonzero(ranks <= ranks.min() + 1e-9).tolist()
    if len(best) > 1:
        return best, None
    if len(folds.data) > 1:
        difference = tests_of.critical_difference(len(ranks), len(matrix), ALPHA) if len(matrix) > 1 else None
        return best, None if difference is None else int((ranks - ranks.min() >= difference - 1e-9).sum())
    if (~np.isnan(folds.values[measure.name][0, best[0]])).sum() < 2 or best != [folds.reference]:
        return best, None
    return best, sum(folds.mark(measure, 0, j) == "worse" for j in range(len(ranks)))


def _shown(method: str) -> str:
    """Return the name of a method, shortened to 60 characters."""
    return words.shorten(words.not_blank(method), 60)


@dataclass(frozen=True)
class GridCell:
    """Cell of a table.

    Attributes
    ----------
    text, under : a number as text, and a smaller text below it.
    is_best : whether the number is the best of its measure.
    mark : "better" or "worse" if the method differs significantly from the reference, otherwise empty.
    """

    text: str
    under: str = ""
    is_best: bool = False
    mark: str = ""  # "better", "worse" or nothing


@dataclass(frozen=True)
class Grid:
    """Table of the page.

    Attributes
    ----------
    title, head : title, and titles of the columns.
    lines : name and cells of each line.
    reference : name of the line that others are compared with.
    """

    title: str
    head: tuple[str, ...]
    lines: tuple[tuple[str, Sequence[GridCell]], ...]
    reference: str | None = None


def means_table(folds: Compared) -> Grid:
    """Return a table with one line per method, and one column per measure and effort.

    For one data set, cells show mean and standard deviation over the folds; for several, the mean over the data sets
    and the average rank.
    """
    single = len(folds.data) == 1
    cells = [_own_cells(measure, folds, 0) if single else _mean_cells(measure, folds) for measure in folds.measures]
    cells += [_effort_cells(folds.mean(name), name) for name in EFFORTS]
    head = ("Method", *(m.capitalised for m in folds.measures), *EFFORTS.values())
    lines = tuple((folds.methods[j], [column[j] for column in cells]) for j in folds.order)
    return Grid("Methods", head, lines, folds.methods[folds.reference])


def difference_table(folds: Compared) -> Grid:
    """Return a table with one line for each method other than the reference, and one column per measure.

    For one data set, cells show the mean difference, method minus reference, and its p-value by the corrected resampled
    t-test over the folds. For several, they show on how many data sets the reference is significantly better and worse,
    by this test and, below, by Student's t-test.
    """
    cell = _difference_cell if len(folds.data) == 1 else _wins_cell
    others = [j for j in folds.order if j != folds.reference]
    lines = tuple((folds.methods[j], [cell(measure, folds, j) for measure in folds.measures]) for j in others)
    return Grid("Tests", ("Method", *(m.capitalised for m in folds.measures)), lines)


def data_tables(folds: Compared) -> list[Grid]:
    """Return tables with one line per data set and one column per method.

    There is one table for each measure (mean and standard deviation over the folds), then one for the number of
    features and one for the seconds of a fit.
    """
    tables = {m.capitalised: [_own_cells(m, folds, i) for i in range(len(folds.data))] for m in folds.measures}
    for name, title in (("n_features", "Features selected"), ("fit_seconds", "Fit, time of a fold")):
        if not np.isnan(folds.values[name]).all():
            tables[title] = [_effort_cells(column, name) for column in folds.means(name)]
    head = ("Data set", *(folds.methods[j] for j in folds.order))
    return [
        Grid(title, head, tuple(zip(folds.data, ([row[j] for j in folds.order] for row in rows), strict=True)))
        for title, rows in tables.items()
    ]


def _own_cells(measure: Measure, folds: Compared, i: int) -> list[GridCell]:
    """Return, for each method, a cell with mean and deviation of a measure over the folds of data set ``i``."""
    name, cells = measure.name, []
    has_value = ~np.isnan(folds.values[name][i])
    n_values, n_folds = has_value.sum(axis=1), int(has_value.any(axis=0).sum())
    best = _best(folds.matrix(name)[i], measure)
    for j, (mean, deviation) in enumerate(zip(folds.means(name)[i], folds.means(f"{name}_std")[i], strict=True)):
        under = f"± {measure.text(deviation)}" if n_values[j] > 1 else ""
        under = f"{n_values[j]} of {n_folds} folds" if n_values[j] < n_folds else under
        cells.append(GridCell(measure.text(mean), under, bool(best[j]), folds.mark(measure, i, j)))
    return cells


def _mean_cells(measure: Measure, folds: Compared) -> list[GridCell]:
    """Return, for each method, a cell with its mean of a measure over data sets, and its average rank below.

    If a method has no results on a data set, its mean is over the other ones and never marked as best.
    """
    matrix = folds.known_matrix(measure)
    if not len(matrix):
        return [GridCell(words.ABSENT)] * len(folds.methods)
    lacking, means = np.isnan(matrix).sum(axis=0), _over_data(matrix)
    best = _best(np.where(lacking > 0, np.nan, means), measure)
    cells = []
    for j, rank in enumerate(tests_of.average_ranks(matrix, measure.higher_is_better)):
        under = f"\n{len(matrix) - lacking[j]} of {len(matrix)} sets" if lacking[j] else ""
        cells.append(GridCell(measure.text(means[j]), f"rank {words.format_number(rank, 2)}{under}", bool(best[j])))
    return cells


def _effort_cells(means: np.ndarray, name: str) -> list[GridCell]:
    """Return, for each method, a cell with its mean number of features or of seconds, ``means`` (n_methods,).

    ``name`` is "n_features", or the name of a time.
    """
    if name != "n_features":
        return [GridCell(words.format_seconds(mean)) for mean in means.tolist()]
    return [GridCell(words.format_number(mean, 0 if mean >= 1000 else 1)) for mean in means.tolist()]


def _difference_cell(measure: Measure, folds: Compared, j: int) -> GridCell:
    """Return a cell with the mean difference in a measure, method `j` minus the reference, on the only data set.

    Below is its p-value by the corrected resampled t-test over the folds.
    """
    test = folds.corrected(measure.name, 0, j)
    difference = words.format_signed(test.difference, measure.digits)
    return GridCell(difference, words.p_text(test.p_value), mark=folds.mark(measure, 0, j))


def _wins_cell(measure: Measure, folds: Compared, j: int) -> GridCell:
    """Return a cell with the numbers of data sets on which the reference is significantly better and worse than method
    `j`.

    The test over folds is the corrected resampled t-test and, in the text below, Student's.
    """
    better, counts = 1 if measure.higher_is_better else -1, []
    for test_of in (folds.corrected, folds.student):
        signs = [better * test_of(measure.name, i, j).sign(ALPHA) for i in range(len(folds.data))]
        counts.append(f"{signs.count(-1)}/{signs.count(1)}")
    return GridCell(counts[0], f"Student {counts[1]}")


def _best(values: np.ndarray, measure: Measure) -> np.ndarray:
    """Return a mask of the best of ``values`` of a measure, (n_methods,), ties included; all False if fewer than two
    have one.
    """
    present = values[~np.isnan(values)]
    if present.size < 2:
        return np.zeros(values.shape, dtype=bool)
    best = present.max() if measure.higher_is_better else present.min()
    with np.errstate(invalid="ignore"):
        return (values == best) | (np.abs(values - best) <= _SAME)


def fold_figure(folds: Compared, i: int, most: int = 3) -> Figure:
    """Return a figure of the folds of data set ``i`` with a panel for each of the first ``most`` measures.

    A dot is the value of a method on a fold, a tick its mean.
    """
    dots: list[tuple[Any, ...]] = []
    means: list[tuple[Any, ...]] = []
    for measure, j in itertools.product(folds.measures[:most], folds.order):
        head = (measure.capitalised, _shown(folds.methods[j]))
        values = enumerate(folds.values[measure.name][i, j, :MAX_DOTS].tolist(), start=1)
        dots += [(*head, fold, value) for fold, value in values if drawable(value)]
        means.append((*head, float(folds.means(measure.name)[i, j])))
    titles = dict.fromkeys(dot[0] for dot in dots)
    panels = [template(f"{__package__}:folds", title=title, where=f"datum.measure === {title!r}") for title in titles]
    columns_of = ("measure", "method", "fold", "value")
    frames = {"means": columns(("measure", "method", "value"), means), "folds": columns(columns_of, dots)}
    return Figure("Folds", "", below(*panels), frames)


@dataclass(frozen=True)
class RankPart:
    """Average ranks of the methods by one measure, and the tests of pairs of methods.

    Attributes
    ----------
    figure : figure of the average ranks.
    pairs : table of the tests.
    friedman : result of Friedman's test over data sets; None for a single data set.
    note : remark on the tests, or empty.
    """

    figure: Figure
    pairs: PrintedTable
    friedman: Any = None
    note: str = ""


def why_no_ranks(folds: Compared) -> str | None:
    """Return the reason why methods cannot be ranked, as a sentence; None if they can."""
    if len(folds.methods) < 2:
        return "There is only one method, so there is nothing to rank."
    return None if folds.measures else "No method has a value, so there is nothing to rank."


def rank_parts(folds: Compared) -> list[RankPart]:
    """Return average ranks and tests for every measure: over the folds of a single data set, otherwise over data sets.

    Of several data sets, those on which no method has a value are ignored; a measure with fewer than two others is
    omitted.
    """
    if why_no_ranks(folds) is not None:
        return []
    return [part for measure in folds.measures if (part := _part(measure, folds)) is not None]


def ranks_figure(folds: Compared) -> Figure:
    """Return a figure of average ranks by the first measure; ValueError if there are none."""
    part = None if why_no_ranks(folds) else _part(folds.measures[0], folds)
    if part is None:
        raise ValueError(why_no_ranks(folds) or "Fewer than two data sets have values, so there are no ranks.")
    return part.figure


def methods_figure(comparison: Comparison, kind: str, measure: str) -> Figure:
    """Return the figure of a comparison of a ``kind``, "tradeoff" or "ranks", by ``measure``; see `Comparison.plot`.

    A ValueError is raised if there is no such kind, or nothing to draw.
    """
    if kind not in FIGURES:
        raise ValueError(f"kind must be one of {', '.join(map(repr, FIGURES))}, got {kind!r:.80}.")
    folds = Compared(comparison, measure)
    if measure not in [one.name for one in folds.measures]:
        raise ValueError(
            f"No method has a value of {measure!r} on any fold, so there is nothing to draw; choose another measure."
        )
    figure = FIGURES[kind](folds)
    if not figure.chart:
        raise ValueError(
            "No fold has a time, so the figure of quality by seconds cannot be drawn; draw another figure, or run "
            "the comparison again."
        )
    return figure


FIGURES = {"tradeoff": tradeoff_figure, "ranks": ranks_figure}


def _part(measure: Measure, folds: Compared) -> RankPart | None:
    """Return average ranks and tests by a measure; None if fewer than two of several data sets have values."""
    if len(folds.data) == 1:
        return _fold_part(measure, folds)
    matrix = folds.known_matrix(measure)
    return _data_part(measure, matrix, folds.methods) if len(matrix) > 1 else None


def fewest_data_sets(n_methods: int, alpha: float) -> int:
    """Return the least number of data sets at which Wilcoxon signed-rank tests of all pairs of methods can be
    significant.

    The least p-value of the test, 2 / 2^n for n data sets, must be below ``alpha`` / number of pairs.

    Examples
    --------
    >>> fewest_data_sets(2, 0.05), fewest_data_sets(7, 0.05)
    (6, 10)
    """
    return 1 + math.ceil(math.log2(math.comb(n_methods, 2) / alpha))


def _data_part(measure: Measure, matrix: np.ndarray, methods: Sequence[str]) -> RankPart:
    """Return average ranks over data sets, with Friedman's test and signed-rank tests of all pairs of methods.

    ``matrix`` are means of the measure, (n_data, n_methods), and ``methods`` the names of its columns.
    """
    (n, k), title, better = matrix.shape, measure.capitalised, measure.higher_is_better
    ranks, difference = tests_of.average_ranks(matrix, better), tests_of.critical_difference(k, n, ALPHA)
    figure = critical_difference_figure(methods, ranks.tolist(), difference, n_data=n, alpha=ALPHA, title=title)
    fewest = fewest_data_sets(k, ALPHA)
    note = (
        f"With {words.plural(n, 'data set')} signed ranks cannot show any pair of {words.plural(k, 'method')} to "
        f"differ; this takes {fewest}."
    )
    pairs = sorted(tests_of.wilcoxon_holm(matrix, methods, better), key=lambda pair: pair.p_value)
    lines = [(p.first, p.second, f"{p.wins}/{p.ties}/{p.losses}", p.p_value, p.adjusted) for p in pairs]
    table = _pairs_table(("Better/equal/worse", "p", "p after Holm"), lines)
    return RankPart(figure, table, tests_of.friedman(matrix, better), note if n < fewest else "")


def _fold_part(measure: Measure, folds: Compared) -> RankPart:
    """Return average ranks over the folds of the single data set, and corrected resampled t-tests of all pairs of
    methods.
    """
    values, methods, title = folds.values[measure.name][0].T, folds.methods, measure.capitalised
    values = values[~np.isnan(values).all(axis=1)]
    pairs = itertools.combinations(range(len(methods)), 2)
    tests = {(i, j): tests_of.corrected_resampled_t(values[:, i], values[:, j], folds.test_share) for i, j in pairs}
    different = [pair for pair, test in tests.items() if test.sign(ALPHA)]
    ranks = tests_of.average_ranks(values, measure.higher_is_better).tolist()
    figure = fold_rank_figure(methods, ranks, different, n_folds=len(values), alpha=ALPHA, title=title)
    lines = [
        (methods[i], methods[j], words.format_signed(test.difference, measure.digits), test.p_value)
        for (i, j), test in sorted(tests.items(), key=lambda one: (math.isnan(one[1].p_value), one[1].p_value))
    ]
    return RankPart(figure, _pairs_table(("Difference of means", "p"), lines))


def _pairs_table(titles: Sequence[str], lines: Sequence[tuple[Any, ...]]) -> PrintedTable:
    """Return a printed table of pairs of methods, limited to the first `MAX_PAIRS`.

    Each of ``lines`` has the names of two methods, a text, and p-values, by which lines are in ascending order;
    ``titles`` are those of the text and the p-values.
    """
    rows = [
        (_shown(first), _shown(second), text, *(words.p_text(p).removeprefix("p ") for p in p_values))
        for first, second, text, *p_values in lines[:MAX_PAIRS]
    ]
    return PrintedTable(("Method", "against", *titles), rows, texts=(0, 1), n_rows=len(lines))

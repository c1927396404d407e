"""The page of a comparison of methods: means, tests, ranks and folds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesieve import statistics as tests_of, words
from bayesieve.report.charts import ROWS, chart, drawable, layer, names, number, tips
from bayesieve.report.critical_difference import critical_difference_figure, fold_rank_figure
from bayesieve.report.figure import Figure
from bayesieve.report.page import page
from bayesieve.report.search import Measure
from bayesieve.statistics.metrics import LOWER_IS_BETTER, MEASURES

ALPHA = 0.05
"""Level of all tests."""
EFFORTS = {"n_features": "Features", "fit_seconds": "Fit", "predict_seconds": "Predict"}
MAX_STRIP_DATA, MAX_DOTS, MAX_PAIRS, FIRST_MEASURES = 40, 100, 60, 3
_SAME = 1e-12


def render_comparison(
    comparison: Any, *, title: str = "Comparison of methods", measure: str = "accuracy", reference: str | None = None
) -> str:
    """Draw a comparison of methods as one HTML document that is self-contained.

    Per method and data set: mean and standard deviation of every measure over the folds, with the best marked and
    significant differences from one method (corrected resampled t-test); average ranks and tests of all pairs, of one
    data set over its folds; over several data sets means, wins and losses, and critical-difference diagrams; folds as
    strips.

    Parameters
    ----------
    comparison : Comparison
    title : str
    measure : performance measure that orders methods and is in the headline.
    reference : method that tests compare with; None for the best by `measure`.

    Returns
    -------
    str
        The document, to be written as UTF-8.

    Raises
    ------
    ValueError
        If there is no method `reference` or measure `measure`.
    """
    if measure not in MEASURES:
        raise ValueError(f"There is no measure {measure!r}; choose one of {', '.join(MEASURES)}.")
    methods = comparison.methods
    if reference is not None and reference not in methods:
        raise ValueError(f"There is no method {reference!r} to compare with; there are {', '.join(methods)}.")
    compared = Compared(comparison, measure, reference)
    measures, several = compared.measures, len(compared.data) > 1
    shown = compared.data[:MAX_STRIP_DATA]
    ranks = rank_parts(compared)
    strips = [
        (name, f"folds-{i}", figure) for i, name in enumerate(shown) if (figure := fold_figure(compared, i)).chart
    ]
    drawn = {f"ranks-{k}": part.figure for k, part in enumerate(ranks)} | {id: figure for _, id, figure in strips}
    if len(methods) > 1 and measures:
        drawn["tradeoff"] = tradeoff_figure(compared)
    return page(
        "comparison.html",
        drawn,
        title=title,
        comparison=comparison,
        split=comparison.protocol,
        headline=headline(compared) if measures else "No method has a value on any fold.",
        means=means_table(compared) if measures else None,
        tests=difference_table(compared) if measures and len(methods) > 1 else None,
        reference=methods[compared.reference],
        is_best=compared.reference == compared.order[0] and len(measures) > 0,
        first=measures[0].title if measures else "",
        no_ranks=why_no_ranks(compared),
        ranks=ranks,
        n_open=FIRST_MEASURES,
        tables=data_tables(compared) if several else [],
        strips=strips,
        n_strips_hidden=len(compared.data) - len(shown),
        several=several,
        failures=comparison.errors(),
        level=words.format_percent(ALPHA, 0),
    )


def tradeoff_figure(folds: Compared) -> Figure:
    """Methods by quality and effort: the mean over data sets of the first measure, features and seconds."""
    tables = [folds.means(name).T for name in (folds.measures[0].name, *EFFORTS)]
    means = [[float(own[np.isfinite(own)].mean()) if np.isfinite(own).any() else None for own in t] for t in tables]
    frame: dict[str, list[Any]] = {"method": list(map(_shown, folds.methods))}
    frame |= dict(zip(("quality", *EFFORTS), means, strict=True))
    y = number("quality", folds.measures[0].capitalised)
    x = number("fit_seconds", "seconds to fit a fold (logarithmic)") | {"scale": {"type": "log"}}
    size = {
        "field": "n_features",
        "type": "quantitative",
        "title": "features",
        "scale": {"zero": True, "range": [20, 400]},
    }
    known = tips(*frame)
    timed = "datum.fit_seconds > 0"
    drawing = chart(
        layer("point", where=timed, x=x, y=y, size=size, **known),
        layer("text", "note", where=timed, more={"dy": -12}, x=x, y=y, text={"field": "method"}),
        height=260,
    )
    heads = {"method": "Method", "quality": folds.measures[0].capitalised, **EFFORTS}
    timed_at_all = any(value is not None and value > 0 for value in frame["fit_seconds"])
    return Figure("Quality, features and seconds", "", drawing if timed_at_all else {}, {"methods": frame}, heads)


def headline(folds: Compared) -> str:
    measure, best = folds.measures[0], folds.order[0]
    matrix = folds.matrix(measure.name)
    if len(folds.methods) == 1:
        means = folds.means(measure.name)
        mean = measure.text(float(means[~np.isnan(means)].mean()))
        return f"{_shown(folds.methods[0])}: mean {measure.title} {mean}."
    if np.isnan(matrix).all():
        return "No method finished the folds that others did, so none can be called best."
    ranks = tests_of.average_ranks(matrix, measure.higher_is_better)
    tied = [j for j in range(len(ranks)) if ranks[j] <= ranks.min() + 1e-9]
    if len(tied) > 3:
        subject = f"{len(tied)} of {words.plural(len(ranks), 'method')} have"
    else:
        subject = " and ".join(_shown(folds.methods[j]) for j in tied) + (" has" if len(tied) == 1 else " have")
    n_sets = int((~np.isnan(matrix).all(axis=1)).sum())
    if len(folds.data) > 1:
        sentence = f"{subject} the best average rank by {measure.title} over {words.plural(n_sets, 'data set')}."
        return sentence + (_critical_finding(ranks, n_sets) if len(tied) == 1 and n_sets > 1 else "")
    extreme = "highest" if measure.higher_is_better else "lowest"
    sentence = f"{subject} the {extreme} mean {measure.title}, {measure.text(float(matrix[0, best]))}."
    if len(tied) > 1 or folds.n_splits < 2 or folds.reference != best:
        return sentence
    n_worse = sum(folds.mark(measure, 0, j) == "worse" for j in range(len(ranks)))
    return sentence + f" It is significantly better than {_some_of(n_worse, len(ranks) - 1)}."


def _shown(method: str) -> str:
    return words.shorten(words.not_blank(method), 60)


def _critical_finding(ranks: np.ndarray, n_data: int) -> str:
    difference = tests_of.critical_difference(len(ranks), n_data, ALPHA)
    n_worse = int((ranks - ranks.min() >= difference - 1e-9).sum())
    return f" By the critical difference it is significantly better than {_some_of(n_worse, len(ranks) - 1)}."


def _some_of(number: int, n_others: int) -> str:
    if number == 0:
        return "no other method"
    return f"{'all' if number == n_others > 1 else number} of {words.plural(n_others, 'other method')}"


@dataclass(frozen=True)
class GridCell:
    """A number, the text below it, and whether it is best or significantly better or worse than the reference."""

    text: str
    under: str = ""
    is_best: bool = False
    mark: str = ""  # "better", "worse" or nothing


@dataclass(frozen=True)
class Grid:
    """Lines of a name and its cells; ``reference`` is the name of the line that others are compared with."""

    title: str
    head: tuple[str, ...]
    lines: tuple[tuple[str, Sequence[GridCell]], ...]
    reference: str | None = None


class Compared:
    """The numbers of a `Comparison`, and tests of every method against the reference by the folds.

    Attributes
    ----------
    measures : those with known values, the one that orders methods first.
    order : positions of the methods, the best first; equal methods keep their order.
    reference : position of the method that others are tested against.
    """

    def __init__(self, comparison: Any, first: str, reference: str | None = None) -> None:
        self.data, self.methods, self.test_share = comparison.data, comparison.methods, comparison.test_share
        self.matrix = comparison.matrix
        splits = sorted({row["repeat"] * comparison.protocol.n_folds + row["fold"] for row in comparison.rows})
        self.n_splits = len(splits)
        self._arrays = {
            name: np.stack([comparison.folds(name, data)[splits].T for data in self.data])
            for name in (*MEASURES, *EFFORTS)
        }
        known = sorted((name for name in MEASURES if self.known(name).any()), key=lambda name: name != first)
        self.measures = [Measure(name, name in LOWER_IS_BETTER, digits=3, of_methods=True) for name in known]
        self.order = self._order()
        self.reference = self.order[0] if reference is None else self.methods.index(reference)
        self._tests: dict[tuple[str, int, int], tests_of.PairedTest] = {}

    def _order(self) -> list[int]:
        for measure in self.measures:
            matrix = self.matrix(measure.name)
            if not np.isnan(matrix).all():
                ranks = tests_of.average_ranks(matrix, measure.higher_is_better)
                return sorted(range(len(self.methods)), key=lambda j: (ranks[j], j))
        return list(range(len(self.methods)))

    def values(self, name: str) -> np.ndarray:
        """(n_data, n_methods, n_splits) values of a measure on the folds, NaN if unknown."""
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

    def corrected(self, name: str, i: int, j: int) -> tests_of.PairedTest:
        """Method `j` against the reference on data set `i`, corrected for overlapping training sets."""
        if (name, i, j) not in self._tests:
            values = self.values(name)[i]
            self._tests[name, i, j] = tests_of.corrected_resampled_t(values[j], values[self.reference], self.test_share)
        return self._tests[name, i, j]

    def student(self, name: str, i: int, j: int) -> tests_of.PairedTest:
        values = self.values(name)[i]
        return tests_of.paired_t(values[j], values[self.reference])

    def mark(self, measure: Measure, i: int, j: int) -> str:
        if j == self.reference:
            return ""
        sign = self.corrected(measure.name, i, j).sign(ALPHA)
        return "" if not sign else "better" if (sign > 0) == measure.higher_is_better else "worse"


def _over_known(values: np.ndarray, fewest: int, summary: Any) -> np.ndarray:
    summaries = np.full(values.shape[:2], np.nan)
    for i, j in np.ndindex(*summaries.shape):
        own = values[i, j][~np.isnan(values[i, j])]
        if own.size >= fewest:
            with np.errstate(invalid="ignore"):
                summaries[i, j] = summary(own)
    return summaries


def means_table(folds: Compared) -> Grid:
    """One line per method. One data set: mean and deviation over folds; several: mean over them and average rank."""
    single = len(folds.data) == 1
    columns = [_own_cells(measure, folds, 0) if single else _mean_cells(measure, folds) for measure in folds.measures]
    columns += [_effort_cells(folds, name) for name in EFFORTS]
    head = ("Method", *(m.capitalised for m in folds.measures), *EFFORTS.values())
    lines = tuple((folds.methods[j], [own[j] for own in columns]) for j in folds.order)
    return Grid("Methods", head, lines, folds.methods[folds.reference])


def difference_table(folds: Compared) -> Grid:
    """Every other method against the reference. One data set: difference and p-value; several: wins and losses of the
    reference, by the corrected test and below by Student's.
    """
    make = _difference_cell if len(folds.data) == 1 else _wins_cell
    others = [j for j in folds.order if j != folds.reference]
    lines = tuple((folds.methods[j], [make(measure, folds, j) for measure in folds.measures]) for j in others)
    return Grid("Tests", ("Method", *(m.capitalised for m in folds.measures)), lines)


def data_tables(folds: Compared) -> list[Grid]:
    """For every measure one line per data set, one column per method; then features and seconds."""
    tables = []
    for measure in folds.measures:
        rows = [_own_cells(measure, folds, i) for i in range(len(folds.data))]
        tables.append(_by_data(measure.capitalised, folds, rows))
    for name, title in (("n_features", "Features selected"), ("fit_seconds", "Fit, time of a fold")):
        if folds.known(name).any():
            rows = [[GridCell(_effort_text(value, name)) for value in row] for row in folds.means(name)]
            tables.append(_by_data(title, folds, rows))
    return tables


def _own_cells(measure: Measure, folds: Compared, i: int) -> list[GridCell]:
    name = measure.name
    means, deviations, known = folds.means(name)[i], folds.deviations(name)[i], folds.known(name)[i]
    best = _best(folds.matrix(name)[i], measure)
    n_folds = int((~np.isnan(folds.values(name)[i]).all(axis=0)).sum())
    cells = []
    for j, mean in enumerate(means):
        under = f"± {measure.text(deviations[j])}" if known[j] > 1 else ""
        if known[j] < n_folds:
            under = f"{known[j]} of {n_folds} folds"
        cells.append(GridCell(measure.text(mean), under, bool(best[j]), folds.mark(measure, i, j)))
    return cells


def _mean_cells(measure: Measure, folds: Compared) -> list[GridCell]:
    """Over data sets: the mean of a method that lacks one is over the others, and is never called best."""
    matrix = folds.matrix(measure.name)
    matrix = matrix[~np.isnan(matrix).all(axis=1)]
    if not len(matrix):
        return [GridCell(words.format_number(None)) for _ in folds.methods]
    lacking = np.isnan(matrix).sum(axis=0)
    means = np.array([row[~np.isnan(row)].mean() if (~np.isnan(row)).any() else np.nan for row in matrix.T])
    best = _best(np.where(lacking > 0, np.nan, means), measure)
    ranks = tests_of.average_ranks(matrix, measure.higher_is_better)
    cells = []
    for j, mean in enumerate(means):
        under = f"rank {words.format_number(ranks[j], 2)}"
        if lacking[j]:
            under += f"\n{len(matrix) - lacking[j]} of {len(matrix)} sets"
        cells.append(GridCell(measure.text(mean), under, bool(best[j])))
    return cells


def _effort_cells(folds: Compared, name: str) -> list[GridCell]:
    means = folds.means(name)
    cells = []
    for own in means.T:
        own = own[~np.isnan(own)]
        cells.append(GridCell(_effort_text(float(own.mean()) if own.size else math.nan, name)))
    return cells


def _difference_cell(measure: Measure, folds: Compared, j: int) -> GridCell:
    test = folds.corrected(measure.name, 0, j)
    return GridCell(
        words.format_signed(test.difference, measure.digits), words.p_text(test.p_value), mark=folds.mark(measure, 0, j)
    )


def _wins_cell(measure: Measure, folds: Compared, j: int) -> GridCell:
    better = 1 if measure.higher_is_better else -1
    counts = []
    for test_of in (folds.corrected, folds.student):
        signs = [test_of(measure.name, i, j).sign(ALPHA) * better for i in range(len(folds.data))]
        counts.append(f"{signs.count(-1)}/{signs.count(1)}")
    return GridCell(counts[0], f"Student {counts[1]}")


def _by_data(title: str, folds: Compared, rows: Sequence[Sequence[GridCell]]) -> Grid:
    lines = tuple((name, [row[j] for j in folds.order]) for name, row in zip(folds.data, rows, strict=True))
    return Grid(title, ("Data set", *(folds.methods[j] for j in folds.order)), lines)


def _best(values: np.ndarray, measure: Measure) -> np.ndarray:
    """Positions of the best values; none if only one method has a value."""
    known = values[~np.isnan(values)]
    if known.size < 2:
        return np.zeros(values.shape, dtype=bool)
    best = known.max() if measure.higher_is_better else known.min()
    with np.errstate(invalid="ignore"):
        return (values == best) | (np.abs(values - best) <= _SAME)


def _effort_text(value: float, name: str) -> str:
    return words.format_number(value, 1 if value < 1000 else 0) if name == "n_features" else words.format_seconds(value)


def fold_figure(folds: Compared, i: int, most: int = 3) -> Figure:
    """The folds of data set ``i`` as dots by the first measures, and their means as ticks; of many folds the first."""
    frame: dict[str, list[Any]] = {"measure": [], "method": [], "fold": [], "value": []}
    means: dict[str, list[Any]] = {"measure": [], "method": [], "value": []}
    for measure in folds.measures[:most]:
        values = folds.values(measure.name)[i]
        for j in folds.order:
            for fold, value in enumerate(values[j].tolist()[:MAX_DOTS], start=1):
                if drawable(value):
                    for column, one in zip(
                        frame.values(), (measure.capitalised, _shown(folds.methods[j]), fold, value), strict=True
                    ):
                        column.append(one)
            mean = float(folds.means(measure.name)[i, j])
            for column, one in zip(means.values(), (measure.capitalised, _shown(folds.methods[j]), mean), strict=True):
                column.append(one)
    y = names("method", None)
    panels = [
        chart(
            layer(
                "point",
                "faint",
                data="folds",
                where=f"datum.measure === {measure.capitalised!r}",
                more={"size": 50},
                x=x,
                y=y,
            ),
            layer("tick", "main", where=f"datum.measure === {measure.capitalised!r}", more={"thickness": 3}, x=x, y=y),
            height=ROWS,
        )
        for measure in folds.measures[:most]
        for x in (number("value", measure.capitalised),)
        if measure.capitalised in frame["measure"]
    ]
    return Figure("Folds", "", {"vconcat": panels} if panels else {}, {"means": means, "folds": frame})


@dataclass(frozen=True)
class RankPart:
    """Ranks by a measure, and the tests of pairs of methods: a frame whose columns are named as they are shown."""

    title: str
    figure: Figure
    friedman: str
    pairs: dict[str, Any]
    note: str


def why_no_ranks(folds: Compared) -> str | None:
    if len(folds.methods) < 2:
        return "There is only one method, so there is nothing to rank."
    if not folds.measures:
        return "No method has a value, so there is nothing to rank."
    return None


def rank_parts(folds: Compared) -> list[RankPart]:
    """One part for every measure: over the folds of a single data set, or over those of several that have values of it
    where these are two or more.
    """
    if why_no_ranks(folds) is not None:
        return []
    if len(folds.data) == 1:
        return [_fold_part(measure, folds) for measure in folds.measures]
    matrices = [(measure, folds.matrix(measure.name)) for measure in folds.measures]
    known = [(measure, matrix[~np.isnan(matrix).all(axis=1)]) for measure, matrix in matrices]
    return [_part(measure, matrix, folds.methods) for measure, matrix in known if len(matrix) > 1]


def fewest_data_sets(n_methods: int, alpha: float) -> int:
    """Data sets from which on a signed-rank test can find any pair: 2 / 2^n must be below alpha over their number.

    Examples
    --------
    >>> fewest_data_sets(2, 0.05), fewest_data_sets(7, 0.05)
    (6, 10)
    """
    n_pairs = n_methods * (n_methods - 1) // 2
    n = 1
    while n_pairs * 2.0 ** (1 - n) > alpha:
        n += 1
    return n


def _part(measure: Measure, matrix: np.ndarray, methods: Sequence[str]) -> RankPart:
    n, k = matrix.shape
    figure = critical_difference_figure(
        methods,
        tests_of.average_ranks(matrix, measure.higher_is_better).tolist(),
        tests_of.critical_difference(k, n, ALPHA),
        n_data=n,
        alpha=ALPHA,
        title=measure.capitalised,
    )
    test = tests_of.friedman(matrix, measure.higher_is_better)
    differ = test.f_p_value <= ALPHA
    f_value = words.format_number(test.f, 2) if math.isfinite(test.f) else "infinite, as all data sets agree"
    friedman_text = (
        f"Friedman: chi-square {words.format_number(test.chi2, 2)}, {words.p_text(test.p_value)}; Iman and Davenport: "
        f"F {f_value}, {words.p_text(test.f_p_value)}. "
        + ("Average ranks differ significantly." if differ else "Average ranks do not differ significantly.")
    )
    fewest = fewest_data_sets(k, ALPHA)
    note = ""
    if n < fewest:
        note = (
            f"With {words.plural(n, 'data set')} signed ranks cannot show any pair of {words.plural(k, 'method')} to "
            f"differ; this takes {fewest}."
        )
    pairs = sorted(tests_of.wilcoxon_holm(matrix, methods, measure.higher_is_better), key=lambda pair: pair.p_value)
    rows = [
        (p.first, p.second, f"{p.wins}/{p.ties}/{p.losses}", words.p_text(p.p_value), words.p_text(p.adjusted))
        for p in pairs[:MAX_PAIRS]
    ]
    table = _pairs_table(("Better/equal/worse", "p", "p after Holm"), rows, len(pairs))
    return RankPart(measure.capitalised, figure, friedman_text, table, note)


def _fold_part(measure: Measure, folds: Compared) -> RankPart:
    """Ranks over the folds of the only data set, and the tests of all pairs by them."""
    values, methods = folds.values(measure.name)[0].T, folds.methods
    values = values[~np.isnan(values).all(axis=1)]
    pairs = list(itertools.combinations(range(len(methods)), 2))
    tests = {(i, j): tests_of.corrected_resampled_t(values[:, i], values[:, j], folds.test_share) for i, j in pairs}
    figure = fold_rank_figure(
        methods,
        tests_of.average_ranks(values, measure.higher_is_better).tolist(),
        [pair for pair, test in tests.items() if test.sign(ALPHA)],
        n_folds=len(values),
        alpha=ALPHA,
        title=measure.capitalised,
    )
    shown = sorted(pairs, key=lambda pair: (math.isnan(tests[pair].p_value), tests[pair].p_value))[:MAX_PAIRS]
    rows = [
        (methods[i], methods[j], words.format_signed(test.difference, measure.digits), words.p_text(test.p_value))
        for i, j in shown
        for test in (tests[i, j],)
    ]
    table = _pairs_table(("Difference of means", "p"), rows, len(pairs))
    return RankPart(measure.capitalised, figure, "", table, "")


def _pairs_table(titles: Sequence[str], rows: Sequence[tuple[str, ...]], n_pairs: int) -> dict[str, Any]:
    """Pairs of methods with the lowest p-values; of each their names, then what ``titles`` say."""
    cells = [
        (
            *(words.shorten(words.not_blank(name), 60) for name in row[:2]),
            row[2],
            *(text.removeprefix("p ") for text in row[3:]),
        )
        for row in rows
    ]
    numbers = [False, False, *(True for _ in titles)]
    return {"heads": ("Method", "against", *titles), "numbers": numbers, "rows": cells, "n_rows": n_pairs}

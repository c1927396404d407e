"""Summary of `compare` on one table, or over several: the best method on each, means, ranks and tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bayesieve.cli.commands import Column, Screen, numbers
from bayesieve.evaluation.results import standings
from bayesieve.report.comparison import fewest_data_sets
from bayesieve.report.search import Measure
from bayesieve.statistics import average_ranks, critical_difference, friedman, wilcoxon_holm
from bayesieve.words import format_count, named, p_text, plural, quoted

_SPREAD = ("accuracy", "auc", "compression_rate", "balanced_accuracy")
_EFFORTS = (("brier", 4), ("n_features", 1), ("fit_seconds", 2), ("predict_seconds", 2))
_EFFORT_TITLES = ("Brier", "features", "fit s", "predict s")
_UNKNOWN = "-"
_LEVEL = 0.05
_SAME = 1e-12


def show_comparison(screen: Screen, comparison: Any, measure: str, written: Sequence[tuple[str, Path]]) -> None:
    """Print the methods, the best by ``measure`` first, with tests, errors and the files written."""
    several, protocol = len(comparison.data) > 1, comparison.protocol
    on_tables = f" on {plural(len(comparison.data), 'table')}" if several else ""
    repeats = f"{protocol.n_repeats} times " if protocol.n_repeats > 1 else ""
    screen.line(
        f"{plural(len(comparison.methods), 'method')}{on_tables} by {repeats}{protocol.n_folds}-fold cross-validation"
        f"{'.' if several else ':'}"
    )
    screen.line()
    (_show_tables if several else _show_table)(screen, comparison, measure)
    for data, method, number, error in comparison.errors():
        where = f" of {quoted(data)}" if several else ""
        screen.warn(f"{quoted(method)} failed on {plural(number, 'fold')}{where}: {error}")
    screen.line()
    screen.pairs([(name, str(path)) for name, path in written])


def _show_table(screen: Screen, comparison: Any, measure: str) -> None:
    """The measures of every method on one table, with ranks and tests."""
    order: Sequence[Any] = standings(comparison, measure)
    stands = {standing.method: standing for standing in order}
    summary = {line["method"]: line for line in comparison.summary().to_dicts()}
    names = list(dict.fromkeys([*stands, *summary]))  # those that failed come last
    _show(screen, "method", [[name, *(_spread_text(summary[name], shown) for shown in _SPREAD)] for name in names])
    screen.line()
    rows: list[list[Any]] = []
    for name in names:
        mine, efforts = stands.get(name), [_number_text(summary[name][effort], digits) for effort, digits in _EFFORTS]
        tests = [_UNKNOWN] * 4 if mine is None else [f"{mine.rank:.2f}", mine.beats, mine.loses_to, _p_text(mine)]
        rows.append([name, *efforts, *tests])
    _show(screen, "method", rows, (*_EFFORT_TITLES, "rank", "beats", "loses", "p"))
    if len(order) > 1:
        worse = [standing for standing in order[1:] if standing.against_best.p_value <= _LEVEL]
        screen.line()
        screen.line(
            f"By {Measure(measure, of_methods=True).title}, {quoted(order[0].method)} is best on average; "
            f"{len(worse)} of {len(order) - 1} others are significantly worse (p: corrected resampled t-test "
            "against it; beats, loses: the same, of all pairs, at 5 %)."
        )


def _show_tables(screen: Screen, comparison: Any, measure: str) -> None:
    """The best method on every table, means and average ranks, and tests over tables."""
    stands = {name: standings(comparison, measure, name) for name in comparison.data}
    _show_winners(screen, comparison, measure, stands)
    matrix = _with_results(comparison, measure)
    if not matrix.size:
        return
    sign = 1 if comparison.higher_is_better(measure) else -1
    ranks = average_ranks(sign * matrix)
    order = sorted(range(ranks.size), key=lambda j: (round(float(ranks[j]), 9), j))
    methods = [comparison.methods[j] for j in order]
    screen.line()
    _show_means(screen, comparison, order)
    screen.line()
    efforts = [_means(comparison, name, digits) for name, digits in _EFFORTS]
    best = (sign * matrix >= np.nanmax(sign * matrix, axis=1, keepdims=True) - _SAME).sum(axis=0)
    rows = []
    for j, name in zip(order, methods, strict=True):
        mine = [one for standing in stands.values() for one in standing if one.method == name]
        wins, losses = sum(one.beats for one in mine), sum(one.loses_to for one in mine)
        rows.append([name, *(effort[j] for effort in efforts), f"{ranks[j]:.2f}", int(best[j]), wins, losses])
    _show(screen, "method", rows, (*_EFFORT_TITLES, "rank", "best on", "wins", "losses"))
    screen.line()
    for sentence in _findings(measure, methods, sign * matrix[:, order], ranks[order]):
        screen.line(sentence)


def _show_winners(screen: Screen, comparison: Any, measure: str, stands: dict[str, Any]) -> None:
    """One line per table: the best and the second-best method."""
    by = _column_title(measure)
    lines = {(line["data"], line["method"]): line for line in comparison.summary().to_dicts()}
    n_rows = {row["data"]: row["n_train"] + row["n_test"] for row in comparison.rows}
    columns = [Column("table"), *numbers("rows"), Column("best"), *numbers(by, "beats"), Column("next"), *numbers(by)]
    rows = []
    for name in comparison.data:
        cells: list[str] = []
        for standing in stands[name][:2]:
            cells += [standing.method, _spread_text(lines[name, standing.method], measure)]
            if not cells[2:]:
                cells.append(f"{standing.beats} of {len(comparison.methods) - 1}")
        rows.append([name, format_count(n_rows[name]), *cells, *[_UNKNOWN] * (5 - len(cells))])
    screen.table(columns, rows)


def _show_means(screen: Screen, comparison: Any, order: Sequence[int]) -> None:
    means = [_means(comparison, name, 4) for name in _SPREAD]
    _show(screen, "mean over tables", [[comparison.methods[j], *(mean[j] for mean in means)] for j in order])


def _show(screen: Screen, first: str, rows: Sequence[Sequence[Any]], titles: Sequence[str] = ()) -> None:
    """A table of methods, the best first, with figures: the measures unless other titles are given."""
    screen.table([Column(first), *numbers(*(titles or map(_column_title, _SPREAD)))], rows, strong=(0,))


def _with_results(comparison: Any, measure: str) -> np.ndarray:
    """Means by table and method of the tables that have results of a measure."""
    matrix: np.ndarray = comparison.matrix(measure)
    return matrix[~np.isnan(matrix).all(axis=1)]


def _means(comparison: Any, measure: str, digits: int) -> list[str]:
    """Means over tables; none for a method that lacks one, because means over different tables are not comparable."""
    columns = _with_results(comparison, measure).T
    known = [column.size > 0 and not np.isnan(column).any() for column in columns]
    return [
        _number_text(float(column.mean()) if is_known else None, digits)
        for column, is_known in zip(columns, known, strict=True)
    ]


def _findings(measure: str, methods: Sequence[str], matrix: np.ndarray, ranks: np.ndarray) -> list[str]:
    """The tests over tables in sentences; methods are ordered by rank, and larger numbers in ``matrix`` are better."""
    n, k = matrix.shape
    tied = [name for name, rank in zip(methods, ranks, strict=True) if rank - ranks[0] < _SAME]
    subject = f"{named(tied)} {'have' if len(tied) > 1 else 'has'}"
    legend = "wins, losses: corrected resampled t-tests over folds at 5 %, against each other method on each table"
    if k < 2:
        return ["There is only one method, so there is nothing to rank."]
    if n < 2:
        return [f"Only one table has results, so there are no average ranks ({legend})."]
    test, apart = friedman(matrix), critical_difference(k, n, _LEVEL)
    f_value = f"F {test.f:.2f}" if np.isfinite(test.f) else "all tables agree"
    differ = "differ significantly" if test.f_p_value <= _LEVEL else "do not differ significantly"
    worse = [name for name, rank in zip(methods, ranks, strict=True) if rank - ranks[0] >= apart - 1e-9]
    return [
        f"By {Measure(measure, of_methods=True).title}, {subject} the best average rank over "
        f"{plural(n, 'table')}, {ranks[0]:.2f} ({legend}).",
        f"Friedman test: average ranks {differ} (Iman and Davenport: {f_value}, {p_text(test.f_p_value)}).",
        f"Nemenyi test: ranks differ significantly if at least {apart:.2f} apart (5 %); {_better(methods, worse)}.",
        _wilcoxon(methods, matrix),
    ]


def _wilcoxon(methods: Sequence[str], matrix: np.ndarray) -> str:
    n, k = matrix.shape
    fewest = fewest_data_sets(k, _LEVEL)
    if n < fewest:
        return (
            f"Wilcoxon signed-rank tests, adjusted by Holm: {plural(n, 'table')} are too few for a significant "
            f"difference between {k} methods; at least {fewest} are needed."
        )
    pairs = wilcoxon_holm(matrix, methods)
    apart = [{pair.first, pair.second} for pair in pairs if pair.adjusted <= _LEVEL]
    worse = [name for name in methods[1:] if {methods[0], name} in apart]
    return (
        f"Wilcoxon signed-rank tests, adjusted by Holm: {len(apart)} of {plural(len(pairs), 'pair')} differ "
        f"significantly; {_better(methods, worse)}."
    )


def _better(methods: Sequence[str], worse: Sequence[str]) -> str:
    others = plural(len(methods) - 1, "other")
    if not worse:
        return f"{quoted(methods[0])} is not significantly better than any of {others}"
    names = f" ({named(worse, most=4)})" if len(worse) < len(methods) - 1 else ""
    return f"{quoted(methods[0])} is better than {len(worse)} of {others}{names}"


def _column_title(measure: str) -> str:
    short = {"compression_rate": "compression", "balanced_accuracy": "balanced acc."}
    return short.get(measure, Measure(measure, of_methods=True).title)


def _spread_text(line: dict[str, Any], measure: str) -> str:
    mean, spread = line[measure], line[f"{measure}_std"]
    return _number_text(mean, 4) + ("" if mean is None or spread is None else f" ±{spread:.3f}")


def _number_text(value: float | None, digits: int) -> str:
    return _UNKNOWN if value is None else f"{value:.{digits}f}"


def _p_text(standing: Any) -> str:
    test = standing.against_best
    if test is None:
        return "best"
    return {"no test": _UNKNOWN, "p < 0.001": "<0.001"}.get(text := p_text(test.p_value), text.removeprefix("p "))

"""Summary of `compare` on one table, or over several: the best method on each, means, ranks and tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bayesieve.cli.screen import Screen
from bayesieve.cli.tables import Column, numbers
from bayesieve.cli.text import counted, listed, quoted, thousands
from bayesieve.evaluation.comparison_result import standings
from bayesieve.report.formats import p_text
from bayesieve.report.measures import Measure
from bayesieve.report.sections.comparison_ranks import fewest_data_sets
from bayesieve.statistics import average_ranks, critical_difference, friedman, wilcoxon_holm

_SPREAD = ("accuracy", "auc", "compression_rate", "balanced_accuracy")
_EFFORTS = (("brier", 4), ("n_features", 1), ("fit_seconds", 2), ("predict_seconds", 2))
_EFFORT_TITLES = ("Brier", "features", "fit s", "predict s")
_UNKNOWN = "-"
_LEVEL = 0.05
_SAME = 1e-12


def show_comparison(screen: Screen, comparison: Any, measure: str, written: Sequence[tuple[str, Path]]) -> None:
    """Print the methods, the best by ``measure`` first, with tests, errors and the files written."""
    several = len(comparison.data) > 1
    protocol = comparison.protocol
    on_tables = f" on {counted(len(comparison.data), 'table')}" if several else ""
    repeats = f"{protocol.n_repeats} times " if protocol.n_repeats > 1 else ""
    screen.line(
        f"{counted(len(comparison.methods), 'method')}{on_tables} by {repeats}{protocol.n_folds}-fold cross-validation"
        f"{'.' if several else ':'}"
    )
    screen.line()
    (_show_tables if several else _show_table)(screen, comparison, measure)
    for data, method, number, error in comparison.errors():
        where = f" of {quoted(data)}" if several else ""
        screen.warn(f"{quoted(method)} failed on {counted(number, 'fold')}{where}: {error}")
    screen.line()
    screen.pairs([(name, str(path)) for name, path in written])


def _show_table(screen: Screen, comparison: Any, measure: str) -> None:
    """The measures of every method on one table, with ranks and tests."""
    order: Sequence[Any] = standings(comparison, measure)
    lines = {line["method"]: line for line in comparison.summary().to_dicts()}
    lines = {standing.method: lines[standing.method] for standing in order} | lines  # those that failed come last
    columns = [Column("method"), *numbers(*map(_column_title, _SPREAD))]
    rows = [[name, *(_spread_text(line, shown) for shown in _SPREAD)] for name, line in lines.items()]
    screen.table(columns, rows, strong=(0,))
    screen.line()
    _show_standings(screen, lines, order)
    if len(order) > 1:
        worse = [standing for standing in order[1:] if standing.against_best.p_value <= _LEVEL]
        screen.line()
        screen.line(
            f"By {Measure(measure, of_methods=True).title}, {quoted(order[0].method)} is best on average; "
            f"{len(worse)} of {len(order) - 1} others are significantly worse (p: corrected resampled t-test "
            "against it; beats, loses: the same, of all pairs, at 5 %)."
        )


def _show_standings(screen: Screen, lines: dict[str, dict[str, Any]], order: Sequence[Any]) -> None:
    columns = [Column("method"), *numbers(*_EFFORT_TITLES, "rank", "beats", "loses", "p")]
    stands = {standing.method: standing for standing in order}
    rows: list[list[Any]] = []
    for name, line in lines.items():
        mine, efforts = stands.get(name), [_number_text(line[effort], digits) for effort, digits in _EFFORTS]
        tests = [_UNKNOWN] * 4 if mine is None else [f"{mine.rank:.2f}", mine.beats, mine.loses_to, _p_text(mine)]
        rows.append([name, *efforts, *tests])
    screen.table(columns, rows, strong=(0,))


class _Ranking:
    """Methods over the tables that have results of a measure.

    `matrix` holds means by table and method, `order` the positions of the methods, the best average rank first.
    """

    def __init__(self, comparison: Any, measure: str) -> None:
        matrix = comparison.matrix(measure)
        self.matrix = matrix[~np.isnan(matrix).all(axis=1)]
        self.methods: tuple[str, ...] = comparison.methods
        self.measure = measure
        self.higher_is_better = comparison.higher_is_better(measure)
        self.ranks = average_ranks(self.matrix, self.higher_is_better) if self.matrix.size else np.empty(0)
        self.order = sorted(range(self.ranks.size), key=lambda place: (round(float(self.ranks[place]), 9), place))


def _show_tables(screen: Screen, comparison: Any, measure: str) -> None:
    """The best method on every table, means and average ranks, and tests over tables."""
    stands = {name: standings(comparison, measure, name) for name in comparison.data}
    _show_winners(screen, comparison, measure, stands)
    ranking = _Ranking(comparison, measure)
    if ranking.order:
        screen.line()
        _show_means(screen, comparison, ranking)
        screen.line()
        _show_ranks(screen, comparison, ranking, stands)
        screen.line()
        for sentence in _findings(ranking):
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
        rows.append([name, thousands(n_rows[name]), *cells, *[_UNKNOWN] * (5 - len(cells))])
    screen.table(columns, rows)


def _show_means(screen: Screen, comparison: Any, ranking: _Ranking) -> None:
    """Means over tables; none for a method that lacks one, because means over different tables are not comparable."""
    columns = [Column("mean over tables"), *numbers(*map(_column_title, _SPREAD))]
    means = [_mean_over_tables(comparison, name) for name in _SPREAD]
    rows = [[comparison.methods[j], *(_number_text(mean[j], 4) for mean in means)] for j in ranking.order]
    screen.table(columns, rows, strong=(0,))


def _show_ranks(screen: Screen, comparison: Any, ranking: _Ranking, stands: dict[str, Any]) -> None:
    columns = [Column("method"), *numbers(*_EFFORT_TITLES, "rank", "best on", "wins", "losses")]
    means = [(_mean_over_tables(comparison, name), digits) for name, digits in _EFFORTS]
    values = ranking.matrix if ranking.higher_is_better else -ranking.matrix
    best = (values >= np.nanmax(values, axis=1, keepdims=True) - _SAME).sum(axis=0)
    rows = []
    for j in ranking.order:
        mine = [one for order in stands.values() for one in order if one.method == ranking.methods[j]]
        wins, losses = (sum(getattr(one, which) for one in mine) for which in ("beats", "loses_to"))
        efforts = [_number_text(mean[j], digits) for mean, digits in means]
        rows.append([ranking.methods[j], *efforts, f"{ranking.ranks[j]:.2f}", int(best[j]), wins, losses])
    screen.table(columns, rows, strong=(0,))


def _mean_over_tables(comparison: Any, name: str) -> list[float | None]:
    matrix = comparison.matrix(name)
    matrix = matrix[~np.isnan(matrix).all(axis=1)]
    return [float(column.mean()) if column.size and not np.isnan(column).any() else None for column in matrix.T]


def _findings(ranking: _Ranking) -> list[str]:
    """The tests over tables in sentences."""
    n, k = ranking.matrix.shape
    tied = [ranking.methods[j] for j in ranking.order if ranking.ranks[j] - ranking.ranks.min() < _SAME]
    subject = f"{listed(tied)} {'have' if len(tied) > 1 else 'has'}"
    legend = "wins, losses: corrected resampled t-tests over folds at 5 %, against each other method on each table"
    if k < 2:
        return ["There is only one method, so there is nothing to rank."]
    if n < 2:
        return [f"Only one table has results, so there are no average ranks ({legend})."]
    return [
        f"By {Measure(ranking.measure, of_methods=True).title}, {subject} the best average rank over "
        f"{counted(n, 'table')}, {ranking.ranks.min():.2f} ({legend}).",
        _friedman(ranking),
        _nemenyi(ranking),
        _wilcoxon(ranking),
    ]


def _friedman(ranking: _Ranking) -> str:
    test = friedman(ranking.matrix, ranking.higher_is_better)
    f_value = f"F {test.f:.2f}" if np.isfinite(test.f) else "all tables agree"
    differ = "differ significantly" if test.f_p_value <= _LEVEL else "do not differ significantly"
    return f"Friedman test: average ranks {differ} (Iman and Davenport: {f_value}, {p_text(test.f_p_value)})."


def _nemenyi(ranking: _Ranking) -> str:
    n, k = ranking.matrix.shape
    difference = critical_difference(k, n, _LEVEL)
    worse = [j for j in ranking.order[1:] if ranking.ranks[j] - ranking.ranks.min() >= difference - 1e-9]
    test = f"Nemenyi test: ranks differ significantly if at least {difference:.2f} apart (5 %)"
    return f"{test}; {_better(ranking, worse)}."


def _wilcoxon(ranking: _Ranking) -> str:
    n, k = ranking.matrix.shape
    fewest = fewest_data_sets(k, _LEVEL)
    if n < fewest:
        return (
            f"Wilcoxon signed-rank tests, adjusted by Holm: {counted(n, 'table')} are too few for a significant "
            f"difference between {k} methods; at least {fewest} are needed."
        )
    best = ranking.methods[ranking.order[0]]
    pairs = wilcoxon_holm(ranking.matrix, ranking.methods, ranking.higher_is_better)
    apart = [{pair.first, pair.second} for pair in pairs if pair.adjusted <= _LEVEL]
    worse = [j for j in ranking.order[1:] if {best, ranking.methods[j]} in apart]
    return (
        f"Wilcoxon signed-rank tests, adjusted by Holm: {len(apart)} of {counted(len(pairs), 'pair')} differ "
        f"significantly; {_better(ranking, worse)}."
    )


def _better(ranking: _Ranking, worse: Sequence[int]) -> str:
    best = quoted(ranking.methods[ranking.order[0]])
    n_others = len(ranking.order) - 1
    if not worse:
        return f"{best} is not significantly better than any of {counted(n_others, 'other')}"
    names = f" ({listed((ranking.methods[j] for j in worse), most=4)})" if len(worse) < n_others else ""
    return f"{best} is better than {len(worse)} of {counted(n_others, 'other')}{names}"


def _column_title(measure: str) -> str:
    short = {"compression_rate": "compression", "balanced_accuracy": "balanced acc."}
    return short.get(measure, Measure(measure, of_methods=True).title)


def _spread_text(line: dict[str, Any], measure: str) -> str:
    mean, spread = line[measure], line[f"{measure}_std"]
    if mean is None:
        return _UNKNOWN
    return f"{mean:.4f}" if spread is None else f"{mean:.4f} ±{spread:.3f}"


def _number_text(value: float | None, digits: int) -> str:
    return _UNKNOWN if value is None else f"{value:.{digits}f}"


def _p_text(standing: Any) -> str:
    test = standing.against_best
    if test is None:
        return "best"
    return {"no test": _UNKNOWN, "p < 0.001": "<0.001"}.get(text := p_text(test.p_value), text.removeprefix("p "))

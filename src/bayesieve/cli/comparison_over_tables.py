"""What `compare` says at its end of several tables: the best on each, means, ranks and the tests over tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bayesieve.cli.comparison_summary import (
    EFFORTS,
    LEVEL,
    SPREAD,
    TITLES,
    UNKNOWN,
    in_words,
    number_text,
    protocol_in_words,
    show_end,
    spread_text,
)
from bayesieve.cli.screen import Screen
from bayesieve.cli.tables import Column
from bayesieve.cli.text import counted, listed, quoted, thousands

_SAME = 1e-12


@dataclass(frozen=True)
class _Ranking:
    """Methods over the tables on which any has a mean: `order` has their places, the best average rank first."""

    matrix: np.ndarray
    ranks: np.ndarray
    order: list[int]


def show_comparison_over_tables(screen: Screen, found: Any, measure: str, written: Sequence[tuple[str, Path]]) -> None:
    """Print the best method on every table, means and average ranks over tables by ``measure``, what the tests over
    tables find, and what went wrong.
    """
    from bayesieve.evaluation.standings import standings

    tables = counted(len(found.data), "table")
    screen.line(f"{counted(len(found.methods), 'method')} on {tables} by {protocol_in_words(found)}.")
    screen.line()
    stands = {name: standings(found, measure, name) for name in found.data}
    _show_winners(screen, found, measure, stands)
    ranking = _ranking(found, measure)
    if ranking is not None:
        screen.line()
        _show_means(screen, found, ranking)
        screen.line()
        _show_ranks(screen, found, measure, ranking, stands)
        screen.line()
        for sentence in _findings(found, measure, ranking):
            screen.line(sentence)
    show_end(screen, found, written)


def _ranking(found: Any, measure: str) -> _Ranking | None:
    """None where no method has the measure on any table."""
    from bayesieve.statistics import average_ranks

    matrix = found.matrix(measure)
    matrix = matrix[~np.isnan(matrix).all(axis=1)]
    if not matrix.size:
        return None
    ranks = average_ranks(matrix, found.higher_is_better(measure))
    return _Ranking(matrix, ranks, sorted(range(ranks.size), key=lambda place: (round(float(ranks[place]), 9), place)))


def _show_winners(screen: Screen, found: Any, measure: str, stands: dict[str, Any]) -> None:
    """A line for every table: the best method and the next."""
    by = TITLES.get(measure, in_words(measure))
    lines = {(line["data"], line["method"]): line for line in found.summary().to_dicts()}
    n_rows = {row["data"]: row["n_train"] + row["n_test"] for row in found.rows}
    columns = [
        Column("table"),
        Column("rows", number=True),
        Column("best"),
        Column(by, number=True),
        Column("beats", number=True),
        Column("next"),
        Column(by, number=True),
    ]
    rows = []
    for name in found.data:
        cells: list[str] = []
        for standing in stands[name][:2]:
            cells += [standing.method, spread_text(lines[name, standing.method], measure)]
            if not cells[2:]:
                cells.append(f"{standing.beats} of {len(found.methods) - 1}")
        rows.append([name, thousands(n_rows[name]), *cells, *[UNKNOWN] * (5 - len(cells))])
    screen.table(columns, rows)


def _show_means(screen: Screen, found: Any, ranking: _Ranking) -> None:
    """Means over tables; a method that lacks one which others have gets none, for a mean over other tables is no
    match.
    """
    columns = [Column("mean over tables"), *(Column(TITLES[name], number=True) for name in SPREAD)]
    means = [_mean_over_tables(found, name) for name in SPREAD]
    rows = [[found.methods[j], *(number_text(mean[j], 4) for mean in means)] for j in ranking.order]
    screen.table(columns, rows, strong=(0,))


def _show_ranks(screen: Screen, found: Any, measure: str, ranking: _Ranking, stands: dict[str, Any]) -> None:
    titles = ("Brier", "features", "fit s", "predict s", "rank", "best on", "wins", "losses")
    columns = [Column("method"), *(Column(title, number=True) for title in titles)]
    means = [(_mean_over_tables(found, name), digits) for name, digits in EFFORTS]
    sign = 1 if found.higher_is_better(measure) else -1
    top = np.nanmax(sign * ranking.matrix, axis=1, keepdims=True)
    best = (sign * ranking.matrix >= top - _SAME).sum(axis=0)
    rows = []
    for j in ranking.order:
        mine = [one for order in stands.values() for one in order if one.method == found.methods[j]]
        wins, losses = (sum(getattr(one, which) for one in mine) for which in ("beats", "loses_to"))
        efforts = [number_text(mean[j], digits) for mean, digits in means]
        rows.append([found.methods[j], *efforts, f"{ranking.ranks[j]:.2f}", int(best[j]), wins, losses])
    screen.table(columns, rows, strong=(0,))


def _mean_over_tables(found: Any, name: str) -> list[float | None]:
    matrix = found.matrix(name)
    matrix = matrix[~np.isnan(matrix).all(axis=1)]
    return [float(column.mean()) if column.size and not np.isnan(column).any() else None for column in matrix.T]


def _findings(found: Any, measure: str, ranking: _Ranking) -> list[str]:
    """The tests over tables in sentences."""
    n, k = ranking.matrix.shape
    tied = [found.methods[j] for j in ranking.order if ranking.ranks[j] - ranking.ranks.min() < _SAME]
    subject = f"{listed(tied)} {'have' if len(tied) > 1 else 'has'}"
    told = "wins, losses: corrected resampled t-tests of the folds, at 5 %, of each table and other method"
    if k < 2:
        return ["There is a single method, so that there is nothing to rank."]
    if n < 2:
        return [f"A single table has figures, so that there is nothing to rank over ({told})."]
    return [
        f"By {in_words(measure)}, {subject} the best average rank over {counted(n, 'table')}, "
        f"{ranking.ranks.min():.2f} ({told}).",
        _friedman(found, measure, ranking),
        _nemenyi(found, ranking),
        _wilcoxon(found, measure, ranking),
    ]


def _friedman(found: Any, measure: str, ranking: _Ranking) -> str:
    from bayesieve.statistics import friedman

    test = friedman(ranking.matrix, found.higher_is_better(measure))
    f_value = f"F {test.f:.2f}" if np.isfinite(test.f) else "all tables agree"
    differ = "do not all rank alike" if test.f_p_value <= LEVEL else "may all rank alike"
    return f"Friedman test: the methods {differ} (Iman and Davenport: {f_value}, {_p(test.f_p_value)})."


def _nemenyi(found: Any, ranking: _Ranking) -> str:
    from bayesieve.statistics import critical_difference

    n, k = ranking.matrix.shape
    difference = critical_difference(k, n, LEVEL)
    worse = [j for j in ranking.order[1:] if ranking.ranks[j] - ranking.ranks.min() >= difference - 1e-9]
    test = f"Nemenyi test: ranks differ significantly from {difference:.2f} apart (5 %)"
    return f"{test}; {_better(found, ranking, worse)}."


def _wilcoxon(found: Any, measure: str, ranking: _Ranking) -> str:
    from bayesieve.report.sections.comparison_ranks import fewest_data_sets
    from bayesieve.statistics import wilcoxon_holm

    n, k = ranking.matrix.shape
    fewest = fewest_data_sets(k, LEVEL)
    if n < fewest:
        return (
            f"Wilcoxon signed-rank tests, adjusted by Holm: {counted(n, 'table')} cannot tell any pair of {k} methods "
            f"apart; it takes {fewest}."
        )
    best = found.methods[ranking.order[0]]
    pairs = wilcoxon_holm(ranking.matrix, found.methods, found.higher_is_better(measure))
    apart = [pair for pair in pairs if pair.adjusted <= LEVEL]
    others = {pair.second if pair.first == best else pair.first for pair in apart if best in (pair.first, pair.second)}
    worse = [j for j in ranking.order[1:] if found.methods[j] in others]
    return (
        f"Wilcoxon signed-rank tests, adjusted by Holm: {len(apart)} of {counted(len(pairs), 'pair')} differ "
        f"significantly; {_better(found, ranking, worse)}."
    )


def _better(found: Any, ranking: _Ranking, worse: Sequence[int]) -> str:
    best = quoted(found.methods[ranking.order[0]])
    n_others = len(ranking.order) - 1
    if not worse:
        return f"{best} is shown to be better than none of {counted(n_others, 'other')}"
    names = f" ({listed((found.methods[j] for j in worse), most=4)})" if len(worse) < n_others else ""
    return f"{best} is better than {len(worse)} of {counted(n_others, 'other')}{names}"


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p {value:.3f}"

"""Summary of `compare` on one table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bayesieve.cli.screen import Screen
from bayesieve.cli.tables import Column, numbers
from bayesieve.cli.text import counted, quoted
from bayesieve.evaluation.standings import standings
from bayesieve.report.formats import p_text
from bayesieve.report.measures import Measure

SPREAD = ("accuracy", "auc", "compression_rate", "balanced_accuracy")
EFFORTS = (("brier", 4), ("n_features", 1), ("fit_seconds", 2), ("predict_seconds", 2))
EFFORT_TITLES = ("Brier", "features", "fit s", "predict s")
UNKNOWN = "-"
LEVEL = 0.05


def show_comparison(screen: Screen, comparison: Any, measure: str, written: Sequence[tuple[str, Path]]) -> None:
    """Print the measures of every method on one table, the best by ``measure`` first, with ranks, tests and errors."""
    order = standings(comparison, measure)
    lines = {line["method"]: line for line in comparison.summary().to_dicts()}
    lines = {standing.method: lines[standing.method] for standing in order} | lines  # those that failed come last
    screen.line(f"{counted(len(comparison.methods), 'method')} by {protocol_in_words(comparison)}:")
    screen.line()
    _show_figures(screen, lines)
    screen.line()
    _show_standings(screen, lines, order)
    if len(order) > 1:
        screen.line()
        screen.line(_finding(order, measure))
    show_end(screen, comparison, written)


def show_end(screen: Screen, comparison: Any, written: Sequence[tuple[str, Path]]) -> None:
    several = len(comparison.data) > 1
    for data, method, number, error in comparison.errors():
        where = f" of {quoted(data)}" if several else ""
        screen.warn(f"{quoted(method)} failed on {counted(number, 'fold')}{where}: {error}")
    screen.line()
    screen.pairs([(name, str(path)) for name, path in written])


def protocol_in_words(comparison: Any) -> str:
    protocol = comparison.protocol
    repeats = f"{protocol.n_repeats} times " if protocol.n_repeats > 1 else ""
    return f"{repeats}{protocol.n_folds}-fold cross-validation"


def column_title(measure: str) -> str:
    short = {"compression_rate": "compression", "balanced_accuracy": "balanced acc."}
    return short.get(measure, Measure(measure).title)


def _show_figures(screen: Screen, lines: dict[str, dict[str, Any]]) -> None:
    columns = [Column("method"), *numbers(*map(column_title, SPREAD))]
    rows = [[name, *(spread_text(line, measure) for measure in SPREAD)] for name, line in lines.items()]
    screen.table(columns, rows, strong=(0,))


def _show_standings(screen: Screen, lines: dict[str, dict[str, Any]], order: Sequence[Any]) -> None:
    columns = [Column("method"), *numbers(*EFFORT_TITLES, "rank", "beats", "loses", "p")]
    stands = {standing.method: standing for standing in order}
    rows = []
    for name, line in lines.items():
        mine = stands.get(name)
        rows.append(
            [
                name,
                *(number_text(line[measure], digits) for measure, digits in EFFORTS),
                *([UNKNOWN] * 4 if mine is None else [f"{mine.rank:.2f}", mine.beats, mine.loses_to, _p_text(mine)]),
            ]
        )
    screen.table(columns, rows, strong=(0,))


def _finding(order: Sequence[Any], measure: str) -> str:
    worse = [standing for standing in order[1:] if standing.against_best.p_value <= LEVEL]
    others = f"{len(worse)} of {len(order) - 1} others"
    return (
        f"By {Measure(measure).title}, {quoted(order[0].method)} is best on average; {others} are significantly worse "
        "(p: corrected resampled t-test against it; beats, loses: the same, of all pairs, at 5 %)."
    )


def spread_text(line: dict[str, Any], measure: str) -> str:
    mean, spread = line[measure], line[f"{measure}_std"]
    if mean is None:
        return UNKNOWN
    return f"{mean:.4f}" if spread is None else f"{mean:.4f} ±{spread:.3f}"


def number_text(value: float | None, digits: int) -> str:
    return UNKNOWN if value is None else f"{value:.{digits}f}"


def _p_text(standing: Any) -> str:
    test = standing.against_best
    if test is None:
        return "best"
    return {"no test": UNKNOWN, "p < 0.001": "<0.001"}.get(text := p_text(test.p_value), text.removeprefix("p "))

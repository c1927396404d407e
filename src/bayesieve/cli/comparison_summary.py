"""What `compare` says at its end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bayesieve.cli.screen import Screen
from bayesieve.cli.tables import Column
from bayesieve.cli.text import counted, quoted

_TITLES = {
    "accuracy": "accuracy",
    "auc": "AUC",
    "compression_rate": "compression",
    "balanced_accuracy": "balanced acc.",
}
_SPREAD = ("accuracy", "auc", "compression_rate", "balanced_accuracy")
_UNKNOWN = "-"
_LEVEL = 0.05


def show_comparison(
    screen: Screen, found: Any, measure: str, order: Sequence[Any], written: Sequence[tuple[str, Path]]
) -> None:
    """Print the figures of every method, the best first (``order``: standings by ``measure``), how they stand to each
    other, and what went wrong.
    """
    lines = {line["method"]: line for line in found.summary().to_dicts()}
    lines = {standing.method: lines[standing.method] for standing in order} | lines  # those that failed come last
    screen.line(_protocol(found))
    screen.line()
    _show_figures(screen, lines)
    screen.line()
    _show_standings(screen, lines, order)
    if len(order) > 1:
        screen.line()
        screen.line(_finding(order, measure))
    for _, method, number, error in found.errors():
        screen.warn(f"{quoted(method)} failed on {counted(number, 'fold')}: {error}")
    screen.line()
    screen.pairs([(name, str(path)) for name, path in written])


def _protocol(found: Any) -> str:
    protocol = found.protocol
    repeats = f"{protocol.n_repeats} times " if protocol.n_repeats > 1 else ""
    return f"{counted(len(found.methods), 'method')} by {repeats}{protocol.n_folds}-fold cross-validation:"


def _show_figures(screen: Screen, lines: dict[str, dict[str, Any]]) -> None:
    columns = [Column("method"), *(Column(_TITLES[name], number=True) for name in _SPREAD)]
    rows = [[name, *(_spread(line, measure) for measure in _SPREAD)] for name, line in lines.items()]
    screen.table(columns, rows, strong=(0,))


def _show_standings(screen: Screen, lines: dict[str, dict[str, Any]], order: Sequence[Any]) -> None:
    titles = ("Brier", "features", "fit s", "predict s", "rank", "beats", "loses", "p")
    columns = [Column("method"), *(Column(title, number=True) for title in titles)]
    stands = {standing.method: standing for standing in order}
    rows = []
    for name, line in lines.items():
        mine = stands.get(name)
        rows.append(
            [
                name,
                _number(line["brier"], 4),
                _number(line["n_features"], 1),
                _number(line["fit_seconds"], 2),
                _number(line["predict_seconds"], 2),
                *([_UNKNOWN] * 4 if mine is None else [f"{mine.rank:.2f}", mine.beats, mine.loses_to, _p_value(mine)]),
            ]
        )
    screen.table(columns, rows, strong=(0,))


def _finding(order: Sequence[Any], measure: str) -> str:
    by = "AUC" if measure == "auc" else measure.replace("_", " ")
    worse = [standing for standing in order[1:] if standing.against_best.p_value <= _LEVEL]
    return (
        f"By {by}, {quoted(order[0].method)} is best on average; {len(worse)} of {len(order) - 1} others are "
        "significantly worse (p: corrected resampled t-test against it; beats, loses: the same, of all pairs, at 5 %)."
    )


def _spread(line: dict[str, Any], measure: str) -> str:
    mean, spread = line[measure], line[f"{measure}_std"]
    if mean is None:
        return _UNKNOWN
    return f"{mean:.4f}" if spread is None else f"{mean:.4f} ±{spread:.3f}"


def _number(value: float | None, digits: int) -> str:
    return _UNKNOWN if value is None else f"{value:.{digits}f}"


def _p_value(standing: Any) -> str:
    test = standing.against_best
    if test is None:
        return "best"
    if test.p_value != test.p_value:  # no test: a single fold, say
        return _UNKNOWN
    return "<0.001" if test.p_value < 0.001 else f"{test.p_value:.3f}"

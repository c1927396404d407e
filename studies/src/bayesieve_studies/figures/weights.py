"""Weights of features by several methods, one row of bars per method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bayesieve.report.critical_difference import WIDTH
from bayesieve.report.drawing import Box, Head, TextTable, Tick
from bayesieve.report.figure import Figure
from bayesieve.words import format_number, plural

ROW, BAR = 52, 38
_LEFT, _RIGHT, _TOP = 176, 24, 26


@dataclass(frozen=True)
class Row:
    """A method: its bars and their baseline."""

    name: str
    note: str
    base: float
    bars: tuple[Box, ...]


@dataclass(frozen=True)
class WeightDrawing:
    rows: tuple[Row, ...]
    names: tuple[Tick, ...]
    bar_height: float
    height: float


def weights_figure(
    names: Sequence[str], weights: Mapping[str, Sequence[float]], *, title: str | None = None, caption: str = ""
) -> Figure:
    """Draw the weight of every feature by every method, as in figures 3 and 7 of Boulle (2007).

    Parameters
    ----------
    names : (n_features,)
    weights : by method, one weight in [0, 1] for every feature.
    title, caption : str, optional

    Returns
    -------
    Figure

    Raises
    ------
    ValueError
        If there are no features, a method has another number of weights, or a weight is not in [0, 1].

    Examples
    --------
    >>> from bayesieve_studies.figures.weights import weights_figure
    >>> figure = weights_figure(["V1", "V2"], {"MAP": [1, 0], "CMA": [0.6, 0.4]})
    >>> figure.drawing.rows[0].note
    '1 feature'
    """
    for method, values in weights.items():
        if len(values) != len(names):
            raise ValueError(f"{method!r} has {len(values)} weights for {len(names)} features; each needs one.")
        wrong = next((k for k, value in enumerate(values) if not 0.0 <= value <= 1.0), None)
        if wrong is not None:
            raise ValueError(f"{method!r} gives {names[wrong]!r} the weight {values[wrong]}, which is not in [0, 1].")
    if not names:
        raise ValueError("There are no features whose weights could be drawn.")
    return Figure(
        title=title or "Weights of the features",
        caption=caption,
        table=_table(names, weights),
        drawing=_drawing(names, weights),
        template="picture",
        parts="bayesieve_studies:_weights.svg",
    )


def _drawing(names: Sequence[str], weights: Mapping[str, Sequence[float]]) -> WeightDrawing:
    step = (WIDTH - _LEFT - _RIGHT) / len(names)
    rows = []
    for at, (method, values) in enumerate(weights.items()):
        base = _TOP + ROW * at + BAR + 6.0
        bars = tuple(
            Box(
                x=round(_LEFT + step * (k + 0.12), 2),
                y=round(base - BAR * value, 2),
                width=round(0.76 * step, 2),
                height=round(BAR * value, 2),
                label=f"{names[k]}: {format_number(value, 2)}",
            )
            for k, value in enumerate(values)
        )
        n_selected = sum(value > 0 for value in values)
        whole = all(value in (0.0, 1.0) for value in values)
        used = [value for value in values if value > 0]
        note = plural(n_selected, "feature") if whole else f"{format_number(min(used), 2)} to {max(used):.2f}"
        rows.append(Row(method, note, base, bars))
    columns = tuple(Tick(round(_LEFT + step * (k + 0.5), 2), name) for k, name in enumerate(names))
    return WeightDrawing(tuple(rows), columns, BAR, _TOP + ROW * len(rows) + 36.0)


def _table(names: Sequence[str], weights: Mapping[str, Sequence[float]]) -> TextTable:
    return TextTable(
        title="Weights",
        columns=(Head("Feature", False), *(Head(method, True) for method in weights)),
        rows=tuple(
            (name, *(format_number(values[k], 2) for values in weights.values())) for k, name in enumerate(names)
        ),
    )

"""The benefit against the share of rows that get the second of two decisions: positions of lines, band and mark."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesieve.report.figures.panels import Line, Panel, band, clipped_lines, labelled_mark
from bayesieve.report.figures.scale import Point, Scale, Tick, value_ticks

SHARES = tuple(Tick(100 * v, f"{v:.0%}") for v in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0))
UNIT = Scale(0.0, 1.0)
Pair = tuple[float, float]


def profit_panel(
    share: Sequence[float],
    profit: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    marked: Pair,
    label: str,
    heading: str = "Profit",
) -> Panel:
    """The line of the profit with its band, one of its points marked, and contact at random."""
    with_band = not np.isnan(low).any()
    scale = profit_scale(profit, low, high)
    line = [(100 * x, y) for x, y in zip(share, profit, strict=True)]
    lines = drawn_lines([(0.0, profit[0]), (100.0, profit[-1])], "start", scale) + drawn_lines(line, "best", scale)
    return Panel(
        heading=heading,
        note="faint: rows at random" + ("; band: bootstrap of the rows" if with_band else ""),
        bands=band([(100 * x, a, b) for x, a, b in zip(share, low, high, strict=True)], scale) if with_band else (),
        lines=lines,
        marks=(labelled_mark(Point(UNIT(marked[0]), scale(marked[1])), label, lines, above=True),),
        y_ticks=value_ticks(scale),
    )


def profit_scale(profit: Sequence[float], low: Sequence[float], high: Sequence[float]) -> Scale:
    """The vertical axis of `profit_panel`."""
    return roomy_scale(np.array([*profit, *low, *high]))


def drawn_lines(pairs: Sequence[Pair], kind: str, scale: Scale) -> tuple[Line, ...]:
    return tuple(Line(kind, part) for part in clipped_lines(pairs, scale))


def roomy_scale(values: np.ndarray) -> Scale:
    known = values[np.isfinite(values)]
    low, high = float(known.min()), float(known.max())
    room = 0.08 * (high - low) or 0.5
    return Scale(low - room, high + room, 100.0, 0.0)

"""Figures 1 and 2 of Boulle (2007): the three waves, and ten random rows of each class."""

from __future__ import annotations

import numpy as np

from bayesieve_lab.figures.scatter import Panel, Point, Series, scatter
from bayesieve_lab.simulate import waveform
from bayesieve_lab.simulate.breiman import PAIRS, base_waves

_COLOURS = ("#1f6f8b", "#c8553d", "#4c9a52")
_ROWS = 10


def waves_figure() -> str:
    """Return the figures, side by side, as SVG."""
    waves = [_line(f"wave {k + 1}", _COLOURS[k], values) for k, values in enumerate(base_waves())]
    panels = [Panel("The waves", "feature", "value", waves)]
    X, y = waveform(1000, random_state=0)
    for label, pair in enumerate(PAIRS):
        rows = X[y == label][:_ROWS]
        mixed = " and ".join(str(k + 1) for k in pair)
        lines = [_line("a row", "#777777", row) for row in rows]
        panels.append(Panel(f"Class {label + 1}: waves {mixed}", "feature", "value", lines))
    return scatter("The waveform data: its three waves, and ten rows of each class", panels, columns=2)


def _line(name: str, colour: str, values: np.ndarray) -> Series:
    """Return a named series for a figure: a line of a colour through ``values`` at 1, 2, ...."""
    points = tuple(Point(float(at), float(value)) for at, value in enumerate(values, start=1))
    return Series(name, colour, points, joined=True, radius=0)

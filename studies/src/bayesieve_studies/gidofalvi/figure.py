"""Figures 1 and 2 of the paper: squared error and profit after each feature."""

from __future__ import annotations

import numpy as np

from bayesieve.evaluation.results import Comparison
from bayesieve.report.drawing import Line, Mark, Panel, PathDrawing, Point, Scale, Tick, strips_between, value_ticks
from bayesieve.report.figure import Figure
from bayesieve_studies.gidofalvi.claims import of_method
from bayesieve_studies.gidofalvi.model import N_STEPS

_MEASURES = (("mse", "Mean squared error", 5), ("profit", "Profit in dollars", 0))


def steps_figure(comparison: Comparison, campaign: str, method: str, title: str) -> Figure:
    """Draw the mean over the repetitions, on training and test rows, after each feature that all of them reach."""
    every = [of_method(comparison, campaign, method, "mse test", k) for k in range(1, N_STEPS + 1)]
    sizes = [k for k, errors in enumerate(every, start=1) if not np.isnan(errors).any()]
    means = {
        (measure, part): [float(of_method(comparison, campaign, method, f"{measure} {part}", k).mean()) for k in sizes]
        for measure, *_ in _MEASURES
        for part in ("train", "test")
    }
    places = [100 * (k - 1) / max(len(sizes) - 1, 1) for k in sizes]
    texts = [
        f"{k} feature{'s' * (k > 1)}: "
        + ", ".join(
            f"{name.lower()} {means[measure, 'train'][k - 1]:,.{digits}f} (training) and "
            f"{means[measure, 'test'][k - 1]:,.{digits}f} (test)"
            for measure, name, digits in _MEASURES
        )
        for k in sizes
    ]
    drawing = PathDrawing(
        panels=tuple(
            _panel(name, means[measure, "train"], means[measure, "test"], places) for measure, name, _ in _MEASURES
        ),
        x_ticks=tuple(Tick(x, str(k)) for k, x in zip(sizes, places, strict=True)),
        x_label="features",
        stretches=(),
        names=(),
        strips=tuple(strips_between(places, texts)),
        chosen_x=None,
    )
    return Figure(title, "Means over the repetitions: test rows in colour, training rows faint.", drawing)


def _panel(name: str, train: list[float], test: list[float], places: list[float]) -> Panel:
    low, high = min(train + test), max(train + test)
    room = 0.08 * (high - low) or 1e-6
    scale = Scale(low - room, high + room, 100, 0)
    lines = {
        kind: tuple(Point(round(x, 3), scale(value)) for x, value in zip(places, values, strict=True))
        for kind, values in (("start", train), ("best", test))
    }
    at = test.index(min(test) if name.startswith("Mean") else max(test))
    marks = (Mark(lines["best"][at], f"{at + 1}", side="left" if at > len(test) // 2 else "right"),)
    drawn = tuple(Line(kind, points) for kind, points in lines.items())
    return Panel(name, "the dot is the best on test rows", (), drawn, marks, value_ticks(scale))

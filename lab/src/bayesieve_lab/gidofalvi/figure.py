"""Figures 1 and 2 of the paper, squared error and profit after each feature."""

from __future__ import annotations

import itertools

import numpy as np

from bayesieve.report.charts import below, chart, layer, number
from bayesieve.report.page import Figure
from bayesieve_lab.comparison.results import Comparison
from bayesieve_lab.gidofalvi.claims import of_method
from bayesieve_lab.gidofalvi.model import N_STEPS

_MEASURES = {"mse": "mean squared error", "profit": "profit, $"}


def steps_figure(comparison: Comparison, campaign: str, method: str, title: str) -> Figure:
    """Return a figure of squared error and profit of a method on a campaign after each feature, on training and test
    rows.

    Values are means over the repetitions, for each number of features that all of them reach.
    """
    every = [of_method(comparison, campaign, method, "mse test", k) for k in range(1, N_STEPS + 1)]
    sizes = [k for k, errors in enumerate(every, start=1) if not np.isnan(errors).any()]
    means: dict[str, list[float]] = {}
    for key in itertools.product(_MEASURES, ("train", "test")):
        by_size = [of_method(comparison, campaign, method, " ".join(key), k) for k in sizes]
        means["_".join(key)] = [float(values.mean()) for values in by_size]
    x = number("features", "features")
    best = {"mse": np.argmin, "profit": np.argmax}
    panels = []
    for measure, name in _MEASURES.items():
        size = sizes[int(best[measure](means[f"{measure}_test"]))]
        train, test = (number(f"{measure}_{part}", name) for part in ("train", "test"))
        parts = (layer("line", "faint", x=x, y=train), layer("line", x=x, y=test))
        panels.append(chart(*parts, layer("point", where=f"datum.features === {size}", x=x, y=test)))
    caption = "Means over the repetitions: test rows in colour, training rows faint; the dot is the best on test rows."
    return Figure(title, caption, below(*panels), {"steps": {"features": sizes, **means}})

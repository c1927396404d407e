"""Figure of the test errors of all methods with each grid of thresholds, and of the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesieve.report import Figure
from bayesieve.report.charts import chart, columns, layer, names, number
from bayesieve_lab.rabenoro2015.study import GRIDS, METHODS
from bayesieve_lab.rabenoro2015.subset_choice import Method

CAPTION = "Test error: one run of the paper, and our mean ± standard deviation over the repetitions with each grid."


def grids_figure(errors: Mapping[str, Mapping[str, np.ndarray]]) -> Figure:
    """Return a figure of test errors: a row for each method, in it a line for the paper and each grid.

    Parameters
    ----------
    errors : test errors of all repetitions, by grid and method.
    """
    lines = [(_label(one), "paper", one.paper_error, None, None) for one in METHODS if one.paper_error is not None]
    for grid in GRIDS:
        for method in METHODS:
            mean, spread = errors[grid][method.key].mean(), errors[grid][method.key].std(ddof=1)
            lines.append((_label(method), f"grid {grid}", mean, mean - spread, mean + spread))
    whose = names("whose", None, scale={"domain": ["paper", *(f"grid {grid}" for grid in GRIDS)]})
    x = number("error", "test error", padding=8)
    on: dict[str, Any] = {
        "y": names("method", None, scale={"domain": [_label(method) for method in METHODS]}),
        "color": whose,
    }
    on["yOffset"] = whose
    drawing = chart(
        layer("rule", "plain", x={**x, "field": "low"}, x2={"field": "high"}, **on),
        layer("point", "plain", x=x, shape=whose, **on),
        height={"step": 34, "for": "position"},
    )
    frame = columns(("method", "whose", "error", "low", "high"), lines)
    return Figure("Indicators of engines: ten methods", CAPTION, drawing, {"errors": frame})


def _label(method: Method) -> str:
    """Return the name of a method and, unless it is a filter, the error that guides it."""
    return f"{method.name} by {method.guide}" if method.guide and "filter" not in method.name else method.name

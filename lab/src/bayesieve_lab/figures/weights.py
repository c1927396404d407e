"""Weights of features by several methods, one row of bars per method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bayesieve.report.charts import chart, columns, layer, names as names_of, number
from bayesieve.report.page import Figure


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
    >>> from bayesieve_lab.figures.weights import weights_figure
    >>> figure = weights_figure(["V1", "V2"], {"MAP": [1, 0], "CMA": [0.6, 0.4]})
    >>> figure.data["weight"].to_list()
    [1.0, 0.0, 0.6, 0.4]
    """
    for method, values in weights.items():
        if len(values) != len(names):
            raise ValueError(
                f"{method!r} has {len(values)} weights for {len(names)} features; give each feature one weight."
            )
        wrong = next((k for k, value in enumerate(values) if not 0.0 <= value <= 1.0), None)
        if wrong is not None:
            raise ValueError(f"{method!r} gives {names[wrong]!r} the weight {values[wrong]}, which is not in [0, 1].")
    if not names:
        raise ValueError("names is empty: there are no features whose weights could be drawn; pass at least one.")
    lines = [(m, n, float(w)) for m, values in weights.items() for n, w in zip(names, values, strict=True)]
    frame = columns(("method", "feature", "weight"), lines)
    weight = number("weight", None, domain=[0, 1]) | {"axis": {"values": [0, 1]}}
    bars = layer("bar", "main", x=names_of("feature", None), y=weight)
    drawing = {
        "facet": {
            "row": {"field": "method", "title": None, "sort": None, "header": {"labelAngle": 0, "labelAlign": "left"}}
        },
        "spec": chart(bars, height=38),
        "spacing": 10,
    }
    return Figure(title or "Weights of the features", caption, drawing, {"weights": frame})

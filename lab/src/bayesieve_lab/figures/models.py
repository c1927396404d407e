"""Figures of the posterior distribution of subsets of features: the most probable subsets, and the distribution
of all.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence

from bayesieve.report.charts import SHARE, Spec, chart, columns, layer, names as names_of, number
from bayesieve.report.page import Figure


def models_figure(
    names: Sequence[str],
    models: Sequence[Collection[int]],
    below_best: Sequence[float],
    *,
    title: str | None = None,
    caption: str = "",
) -> Figure:
    """Draw the features of the most probable subsets, one line per subset, as in figure 5 of Boulle (2007).

    Parameters
    ----------
    names : (n_features,)
    models : (n_models,) positions of the features of each, the most probable model first.
    below_best : (n_models,) powers of ten by which the best model is more probable.
    title, caption : str, optional

    Returns
    -------
    Figure

    Raises
    ------
    ValueError
        If there are no models or features, or models and powers of ten differ in number.

    Examples
    --------
    >>> from bayesieve_lab.figures.models import models_figure
    >>> figure = models_figure(["a", "b"], [{0}, {0, 1}, {1}], [0.0, 1.5, 3.0])
    >>> figure.data["models"].to_list()
    [2, 2]
    """
    if not names or not models:
        raise ValueError("A figure needs at least one model and one feature.")
    if len(models) != len(below_best):
        raise ValueError(f"{len(models)} models need as many powers of ten, got {len(below_best)}.")
    held = [(name, sum(k in model for model in models), k in models[0]) for k, name in enumerate(names)]
    # Runs of models that contain a feature, from rank to rank.
    runs = []
    for k, name in enumerate(names):
        ranks = [rank for rank, model in enumerate(models, start=1) if k in model]
        for _, group in itertools.groupby(enumerate(ranks), key=lambda pair: pair[1] - pair[0]):
            run = [rank for _, rank in group]
            runs.append((name, run[0] - 0.5, run[-1] + 0.5, k in models[0]))
    y = number("first", "rank of the subset", domain=[len(models) + 0.5, 0.5])
    boxes: Spec = {"x": names_of("feature", None, scale={"domain": list(names)}), "y": y, "y2": {"field": "last"}}
    drawing = chart(
        layer("bar", "quiet", data="runs", where="!datum.best", **boxes),
        layer("bar", "main", data="runs", where="datum.best", **boxes),
        height=420,
    )
    drawn = {"feature": "feature", "models": "subsets", "best": "in the best subset"}
    lowest = f" The last of them is 10^{below_best[-1]:.1f} times less probable than the first."
    title = title or f"The {len(models)} most probable subsets"
    frames = {"features": columns(("feature", "models", "best"), held)}
    frames["runs"] = columns(("feature", "first", "last", "best"), runs)
    return Figure(title, (caption + lowest).strip(), drawing, frames, drawn)


def posterior_figure(quantiles: Sequence[float], *, title: str | None = None, caption: str = "") -> Figure:
    """Draw the distribution function of the posterior probabilities of subsets, as in figure 6 of Boulle (2007).

    Parameters
    ----------
    quantiles : powers of ten by which the best subset is more probable, at evenly spread shares of the subsets from 0
        to 1, the least probable subset first.
    title, caption : str, optional

    Returns
    -------
    Figure

    Raises
    ------
    ValueError
        With fewer than two quantiles, or quantiles that do not fall.

    Examples
    --------
    >>> from bayesieve_lab.figures.models import posterior_figure
    >>> posterior_figure([30.0, 12.0, 5.0, 0.0]).data.height
    4
    """
    if len(quantiles) < 2 or any(b > a for a, b in itertools.pairwise(quantiles)):
        raise ValueError(
            "quantiles must be two or more descending numbers, from the least probable subset to the best."
        )
    last = len(quantiles) - 1
    frame = {"share": [at / last for at in range(last + 1)], "power": [-float(q) for q in quantiles]}
    x = number("share", "share of the subsets, by increasing probability", format=SHARE, domain=[0, 1])
    y = number("power", "power of ten of the posterior probability, relative to the best")
    drawing = chart(layer("line", x=x, y=y), layer("point", more={"size": 12}, x=x, y=y), height=260)
    return Figure(title or "Posterior probability of all subsets", caption, drawing, {"quantiles": frame})

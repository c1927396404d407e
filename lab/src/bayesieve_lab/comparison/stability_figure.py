"""The figure of a `SelectionStability`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bayesieve.report.charts import columns, template
from bayesieve.report.page import Figure
from bayesieve.words import format_number, plural

MAX_FOLDS, MAX_ROWS = 100, 60


def stability_figure(stability: Any, *, title: str | None = None) -> Figure:
    """Draw which features were selected in which fold, and how often.

    Parameters
    ----------
    stability : SelectionStability
        Result of `selection_stability`.
    title : str, optional

    Returns
    -------
    Figure
        Its ``save(path)`` writes a page, a picture or the specification; notebooks show it.

    Examples
    --------
    >>> from bayesieve_lab import selection_stability, stability_figure
    >>> from sklearn.datasets import load_iris
    >>> stability = selection_stability("map", *load_iris(return_X_y=True), cv=5)
    >>> "Stability 0.60" in stability_figure(stability).caption
    True
    """
    every = replace(stability, library="polars").to_frame()
    met = every.filter(every["frequency"] > 0)
    rows = {name: met[name].to_list() for name in ("feature", "frequency", "mean_weight")}
    cells = [
        (feature, fold, weight)
        for feature, weights in met.select("feature", "weights").head(MAX_ROWS).iter_rows()
        for fold, weight in enumerate(weights[:MAX_FOLDS], start=1)
    ]
    return Figure(
        title or f"Features selected by {stability.selector}",
        _stability_caption(stability, len(every) - len(met), max(0, len(met) - MAX_ROWS)),
        template(f"{__package__}:stability") if cells else {},
        {"features": rows, "folds": columns(("feature", "fold", "weight"), cells)},
        {"feature": "feature", "frequency": "share of folds", "mean_weight": "mean weight"},
    )


def _stability_caption(stability: Any, n_never: int, n_hidden: int) -> str:
    """Return the caption of the figure of a `SelectionStability`.

    ``n_never`` features were never selected; ``n_hidden`` features are not drawn.
    """
    sizes = stability.n_selected.tolist()
    text = f"{plural(stability.n_folds, 'fold')} of {plural(len(stability.names), 'feature')}. Selected: "
    if min(sizes) == max(sizes):
        text += f"{plural(max(sizes), 'feature')} in every fold."
    else:
        text += f"{min(sizes):,} to {max(sizes):,} features, {sum(sizes) / len(sizes):.1f} on average."
    if stability.stability == stability.stability:
        low, high = stability.stability_interval()
        text += (
            f" Stability {format_number(stability.stability, 2)}, 95% interval {format_number(low, 2)} to "
            f"{format_number(min(high, 1.0), 2)} (Nogueira et al. 2018): 1 is the same features in every fold, 0 is "
            "the value expected by chance."
        )
    text += f" {plural(n_never, 'feature was', 'features were')} selected in no fold." if n_never else ""
    text += f" {plural(n_hidden, 'further feature')} not drawn." if n_hidden else ""
    return text if stability.complete else f"{text} The run was interrupted; only finished folds are shown."

"""Clusters of dependent features, and the candidates drawn from them, as a figure."""

from __future__ import annotations

from typing import Any

from bayesieve.report.figure import Figure
from bayesieve.report.figures.clusters import cluster_drawing
from bayesieve.report.sections.tables import Column, Table
from bayesieve.words import format_number


def clusters_figure(selector: Any, *, title: str | None = None) -> Figure:
    """Draw what a `DependenceClusterSelector` saw: the tree of the features, the matrix of their dependences in its
    order, with the features and the cut of the chosen subset marked, and all candidates by size and performance.

    Parameters
    ----------
    selector : fitted DependenceClusterSelector
        One that was loaded from a file does not know its candidates any more.
    title : str, optional

    Returns
    -------
    Figure
        With ``to_html()``, ``to_svg()`` and ``save(path)``; notebooks show it.

    Raises
    ------
    ValueError
        For anything else.

    Examples
    --------
    >>> from bayesieve import DependenceClusterSelector
    >>> from bayesieve.report.clusters_figure import clusters_figure
    >>> from sklearn.datasets import load_iris
    >>> selector = DependenceClusterSelector().fit(*load_iris(return_X_y=True))
    >>> clusters_figure(selector).caption.split(".")[0]
    '1 of 4 features chosen from 5 candidates'
    """
    candidates = getattr(selector, "_candidates", None)
    if candidates is None:
        raise ValueError("clusters_figure needs a DependenceClusterSelector that was fitted, not loaded from a file.")
    n_features, frame = len(candidates.trace.names), selector.candidates_
    n_missed = frame.height - int(frame["feasible"].sum())
    caption = (
        f"{int(selector.support_.sum())} of {n_features} features chosen from {frame.height:,} candidates; "
        f"{'all' if not n_missed else f'{frame.height - n_missed:,}'} of them satisfy the constraints. Shades show the "
        "strongest dependence within a class."
    )
    return Figure(
        title=title or "Clusters of dependent features",
        caption=caption if selector.constraints else caption.replace("; all of them satisfy the constraints", ""),
        drawing=cluster_drawing(selector),
        table=_table(frame),
        template="picture",
        parts="_clusters.svg",
    )


def _table(frame: Any) -> Table:
    measured = [name for name in frame.columns if name not in ("cut", "features", "n_features", "feasible")]
    best = frame.sort("violation", frame.columns[3], descending=[False, True]).head(12)
    return Table(
        title="Candidates",
        columns=(Column("Features", False), Column("Number", True), *(Column(name, True) for name in measured)),
        rows=tuple(
            (", ".join(row["features"]), str(row["n_features"]), *(format_number(row[name], 4) for name in measured))
            for row in best.iter_rows(named=True)
        ),
    )

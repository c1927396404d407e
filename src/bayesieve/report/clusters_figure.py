"""The tree of dependent features over the matrix of their dependences, and the candidates drawn from it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from bayesieve.report import charts as draw
from bayesieve.report.figure import Figure
from bayesieve.report.search import measures_of, summarise_trace

_MOST_CELLS, _MOST_NAMES = 72, 40  # on a side of the matrix; of more features several share a cell


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
        Its ``save(path)`` writes a page, a picture or the specification; notebooks show it.

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
    names, frame = [str(name) for name in selector.trace_.names], selector.candidates_
    chosen = [name for name, is_in in zip(names, selector.support_, strict=True) if is_in]
    of_candidates, order = frame["features"].to_list(), candidates.clusters.order
    at = of_candidates.index(chosen)
    lines = {
        "features": list(map(", ".join, of_candidates)),
        "number": frame["n_features"].to_list(),
        "value": [v if draw.drawable(v) else None for v in frame[selector.trace_.criterion_name].to_list()],
        "kind": ["chosen" if k == at else "dot" if ok else "hollow" for k, ok in enumerate(frame["feasible"])],
    }
    labels = [(k + 0.5, names[own], names[own] in chosen) for k, own in enumerate(order.tolist())]
    frames = {
        "candidates": lines,
        "tree": _branches(selector.linkage_, selector.clustered_, order),
        "cells": _cells(selector.dependence_[np.ix_(order, order)]),
        "names": draw.columns(("at", "name", "chosen"), labels),
    }
    heading = measures_of(summarise_trace(selector.trace_))[0].title
    n = len(labels)
    drawing = draw.template("clusters", heading=heading, n=n, cut=frame["cut"][at], named=n <= _MOST_NAMES)
    heads = {"features": "features", "number": "number", "value": heading}
    return Figure(title or "Clusters of dependent features", _caption(selector, frame, names), drawing, frames, heads)


def _caption(selector: Any, frame: Any, names: list[str]) -> str:
    n_fitting = int(frame["feasible"].sum())
    text = f"{int(selector.support_.sum())} of {len(names)} features chosen from {frame.height:,} candidates"
    if selector.constraints:
        text += f"; {'all' if n_fitting == frame.height else f'{n_fitting:,}'} of them satisfy the constraints"
    return f"{text}. Shades show the strongest dependence within a class."


def _branches(linkage: np.ndarray, features: np.ndarray, order: np.ndarray) -> dict[str, list[Any]]:
    """A bracket of four corners for every merge."""
    place = {int(feature): k + 0.5 for k, feature in enumerate(order)}
    tops, corners = [(place[int(feature)], 0.0) for feature in features], []
    for merge, (left, right, merged, _) in enumerate(linkage.tolist()):
        (a, low), (b, lower) = tops[int(left)], tops[int(right)]
        corners += [(merge, 0, a, low), (merge, 1, a, merged), (merge, 2, b, merged), (merge, 3, b, lower)]
        tops.append(((a + b) / 2, merged))
    return draw.columns(("merge", "corner", "x", "y"), corners)


def _cells(matrix: np.ndarray) -> dict[str, list[Any]]:
    """Boxes of the matrix; each has the strongest of its entries, those on the diagonal none."""
    edges = np.unique(np.linspace(0, len(matrix), min(len(matrix), _MOST_CELLS) + 1).astype(int)).tolist()
    boxes = [
        (left, right, top, bottom, float(matrix[top:bottom, left:right].max()))
        for (top, bottom), (left, right) in itertools.product(itertools.pairwise(edges), repeat=2)
        if left != top or bottom - top > 1
    ]
    return draw.columns(("x", "x2", "y", "y2", "dependence"), boxes)

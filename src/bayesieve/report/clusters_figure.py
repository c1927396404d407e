"""The tree of dependent features over the matrix of their dependences, next to the candidates drawn from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesieve.report.drawing import Box, Head, Point, Scale, TextTable, Tick, drawable, value_ticks
from bayesieve.report.figure import Figure
from bayesieve.report.search import measures_of, summarise_trace
from bayesieve.words import format_number

_LEFT, _RIGHT, _GAP = 150, 930, 90
_SIDE = 430.0  # of the matrix
_TOP, _TREE = 36.0, 150.0
_MOST_CELLS = 72  # on a side of the matrix; of more features several share a cell
_MOST_NAMES = 30
_SHADES = 5


@dataclass(frozen=True)
class Leaf:
    """A feature next to its row of the matrix; `chosen` if the search chose it, `named` if there is room to name it."""

    y: float
    x: float
    label: str
    chosen: bool
    named: bool


@dataclass(frozen=True)
class ClusterDrawing:
    """The tree, the matrix under it, and the cloud of candidates to the right, in pixels.

    `x` and `y` are the axes of the matrix, `sizes` and `values` those of the cloud. `cells` are boxes by their shade,
    from 1 (weak) to 5; `cut_y` is the height of the cut that drew the chosen subset. A candidate has a place, a kind
    ("dot", "hollow" if it misses a constraint, or "chosen") and a text to hover over.
    """

    x: Scale
    y: Scale
    sizes: Scale
    values: Scale
    branches: tuple[tuple[Point, ...], ...]
    cells: tuple[tuple[int, Box], ...]
    leaves: tuple[Leaf, ...]
    cut_y: float | None
    height_ticks: tuple[Tick, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    y_title: str
    candidates: tuple[tuple[Point, str, str], ...]
    height: float


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


def _table(frame: Any) -> TextTable:
    measured = [name for name in frame.columns if name not in ("cut", "features", "n_features", "feasible")]
    best = frame.sort("violation", frame.columns[3], descending=[False, True]).head(12)
    return TextTable(
        title="Candidates",
        columns=(Head("Features", False), Head("Number", True), *(Head(name, True) for name in measured)),
        rows=tuple(
            (", ".join(row["features"]), str(row["n_features"]), *(format_number(row[name], 4) for name in measured))
            for row in best.iter_rows(named=True)
        ),
    )


def cluster_drawing(selector: Any) -> ClusterDrawing:
    """The positions of everything, for a fitted `DependenceClusterSelector` that was not loaded from a file."""
    names, frame = [str(name) for name in selector.trace_.names], selector.candidates_
    order, n = selector._candidates.clusters.order, selector.clustered_.size
    right, top = _LEFT + _SIDE, _TOP + _TREE
    x, y = Scale(0.0, max(n, 1), _LEFT, right), Scale(0.0, max(n, 1), top, top + _SIDE)
    merges = selector.linkage_[:, 2]
    lowest, highest = float(merges.min(initial=1.0)), float(merges.max(initial=1.0))
    tree = Scale(max(lowest - max(0.15 * (highest - lowest), 0.005), 0.0), highest, top, _TOP)
    named = set(np.linspace(0, n - 1, _MOST_NAMES).astype(int).tolist()) if n > _MOST_NAMES else set(range(n))
    chosen = [name for name, is_in in zip(names, selector.support_, strict=True) if is_in]
    at = next(k for k, features in enumerate(frame["features"].to_list()) if features == chosen)
    cut = frame["cut"][at]
    values = frame[selector.trace_.criterion_name].to_numpy()
    known = [v for v in values if drawable(v)]
    room = 0.06 * (max(known) - min(known)) or 0.5
    across = Scale(0.0, max(float(frame["n_features"].max()), 1.0) * 1.04, right + _GAP, _RIGHT)
    up = Scale(min(known) - room, max(known) + room, top + _SIDE, _TOP)
    return ClusterDrawing(
        x=x,
        y=y,
        sizes=across,
        values=up,
        branches=_branches(selector.linkage_, selector.clustered_, order, x, tree),
        cells=_cells(selector.dependence_[np.ix_(order, order)], x, y),
        leaves=tuple(
            Leaf(y(k + 0.5), x(k + 0.5), names[feature], bool(selector.support_[feature]), k in named)
            for k, feature in enumerate(order.tolist())
        ),
        cut_y=None if cut is None else tree(cut),
        height_ticks=tuple(tick for tick in value_ticks(tree) if tick.position < top - 10),
        x_ticks=value_ticks(across),
        y_ticks=value_ticks(up),
        y_title=measures_of(summarise_trace(selector.trace_))[0].title,
        candidates=_candidates(frame, values, at, across, up),
        height=top + _SIDE + 56,
    )


def _candidates(
    frame: Any, values: np.ndarray, chosen: int, across: Scale, up: Scale
) -> tuple[tuple[Point, str, str], ...]:
    """The chosen one last, over the others."""
    lines = list(zip(frame["n_features"].to_list(), values.tolist(), frame["feasible"], strict=True))
    return tuple(
        (
            Point(across(float(lines[k][0])), up(lines[k][1])),
            "chosen" if k == chosen else "dot" if lines[k][2] else "hollow",
            f"{lines[k][0]} features, {format_number(lines[k][1], 4)}",
        )
        for k in sorted(range(len(lines)), key=lambda k: k == chosen)
        if drawable(lines[k][1])
    )


def _branches(
    linkage: np.ndarray, features: np.ndarray, order: np.ndarray, x: Scale, y: Scale
) -> tuple[tuple[Point, ...], ...]:
    """A bracket for every merge."""
    place = {int(feature): k + 0.5 for k, feature in enumerate(order)}
    middle, height = [place[int(feature)] for feature in features], [0.0] * features.size
    brackets = []
    for left, right, merged, _ in linkage.tolist():
        a, b = int(left), int(right)
        corners = ((middle[a], height[a]), (middle[a], merged), (middle[b], merged), (middle[b], height[b]))
        brackets.append(tuple(Point(x(at), y(top)) for at, top in corners))
        middle.append((middle[a] + middle[b]) / 2)
        height.append(merged)
    return tuple(brackets)


def _cells(matrix: np.ndarray, x: Scale, y: Scale) -> tuple[tuple[int, Box], ...]:
    """Boxes by shade, the runs of a row together; each has the strongest of its entries."""
    n = len(matrix)
    edges = np.unique(np.linspace(0, n, min(n, _MOST_CELLS) + 1).astype(int))
    off = matrix[~np.eye(n, dtype=bool)]
    strongest = float(off.max(initial=0.0))
    shades = np.zeros((edges.size - 1, edges.size - 1), dtype=int)
    for i in range(edges.size - 1):
        for j in range(edges.size - 1):
            part = matrix[edges[i] : edges[i + 1], edges[j] : edges[j + 1]]
            share = min(float(part.max()) / strongest, 1.0) if strongest > 0 else 0.0
            shades[i, j] = _SHADES if i == j else min(_SHADES, int(np.ceil(share * _SHADES - 0.5)))
    boxes = []
    for i, line in enumerate(shades):
        starts = np.flatnonzero(np.diff(line, prepend=-1))
        for begin, end in zip(starts.tolist(), [*starts[1:].tolist(), line.size], strict=True):
            if line[begin]:
                corner, other = Point(x(edges[begin]), y(edges[i])), Point(x(edges[end]), y(edges[i + 1]))
                box = Box(corner.x, corner.y, round(other.x - corner.x, 3), round(other.y - corner.y, 3))
                boxes.append((int(line[begin]), box))
    return tuple(boxes)

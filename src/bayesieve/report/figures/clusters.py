"""The tree of dependent features over the matrix of their dependences, next to the candidates drawn from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesieve.report.figures.scale import Box, Point, Scale, Tick, drawable, value_ticks
from bayesieve.report.measures import measures_of
from bayesieve.report.traces import summarise_trace
from bayesieve.words import format_number

_LEFT, _RIGHT, _GAP = 150, 930, 90
_SIDE = 430.0  # of the matrix
_TOP, _TREE = 36.0, 150.0
_MOST_CELLS = 72  # on a side of the matrix; of more features several share a cell
_MOST_NAMES = 30
_SHADES = 5


@dataclass(frozen=True)
class Leaf:
    """The name of a feature next to its row of the matrix; `chosen` if the search chose it."""

    y: float
    x: float
    label: str
    chosen: bool


@dataclass(frozen=True)
class Candidate:
    """A subset by its size and its value; `kind` is "dot", "hollow" where it misses a constraint, or "chosen"."""

    x: float
    y: float
    kind: str
    text: str


@dataclass(frozen=True)
class ClusterDrawing:
    """The tree, the matrix under it, and the cloud of candidates to the right, in pixels.

    `cells` are boxes by their shade, from 1 (weak) to 5; `cut_y` is the height of the cut that drew the chosen subset.
    """

    left: float
    right: float
    matrix_top: float
    bottom: float
    branches: tuple[tuple[Point, ...], ...]
    cells: tuple[tuple[int, Box], ...]
    leaves: tuple[Leaf, ...]
    marks: tuple[Leaf, ...]
    cut_y: float | None
    height_ticks: tuple[Tick, ...]
    cloud_left: float
    cloud_right: float
    cloud_top: float
    cloud_bottom: float
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    y_title: str
    candidates: tuple[Candidate, ...]
    height: float


def cluster_drawing(selector: Any) -> ClusterDrawing:
    """The positions of everything, for a fitted `DependenceClusterSelector` that was not loaded from a file."""
    names, frame = [str(name) for name in selector.trace_.names], selector.candidates_
    order, n = selector._candidates.clusters.order, selector.clustered_.size
    right = _LEFT + _SIDE
    matrix_top = _TOP + _TREE
    x = Scale(0.0, max(n, 1), _LEFT, right)
    merges = selector.linkage_[:, 2]
    lowest, highest = float(merges.min(initial=1.0)), float(merges.max(initial=1.0))
    tree = Scale(max(lowest - max(0.15 * (highest - lowest), 0.005), 0.0), highest, matrix_top, _TOP)
    shown = set(np.linspace(0, n - 1, _MOST_NAMES).astype(int).tolist()) if n > _MOST_NAMES else set(range(n))
    down = Scale(0.0, max(n, 1), matrix_top, matrix_top + _SIDE)
    leaves = [
        Leaf(down(k + 0.5), x(k + 0.5), names[feature], bool(selector.support_[feature]))
        for k, feature in enumerate(order.tolist())
    ]
    at = _chosen(frame, selector, names)
    cut = frame["cut"][at]
    cloud_left, cloud_right = right + _GAP, _RIGHT
    values = frame[selector.trace_.criterion_name].to_numpy()
    sizes = frame["n_features"].to_numpy()
    known = [v for v in values if drawable(v)]
    room = 0.06 * (max(known) - min(known)) or 0.5
    across = Scale(0.0, max(float(sizes.max()), 1.0) * 1.04, cloud_left, cloud_right)
    up = Scale(min(known) - room, max(known) + room, matrix_top + _SIDE, _TOP)
    return ClusterDrawing(
        left=_LEFT,
        right=right,
        matrix_top=matrix_top,
        bottom=matrix_top + _SIDE,
        branches=_branches(selector.linkage_, selector.clustered_, order, x, tree),
        cells=_cells(selector.dependence_[np.ix_(order, order)], x, down),
        leaves=tuple(leaf for k, leaf in enumerate(leaves) if k in shown),
        marks=tuple(leaf for leaf in leaves if leaf.chosen),
        cut_y=None if cut is None else tree(cut),
        height_ticks=tuple(tick for tick in value_ticks(tree) if tick.position < matrix_top - 10),
        cloud_left=cloud_left,
        cloud_right=cloud_right,
        cloud_top=_TOP,
        cloud_bottom=matrix_top + _SIDE,
        x_ticks=value_ticks(across),
        y_ticks=value_ticks(up),
        y_title=measures_of(summarise_trace(selector.trace_))[0].title,
        candidates=tuple(
            Candidate(
                across(float(size)),
                up(float(value)),
                "chosen" if k == at else "dot" if feasible else "hollow",
                f"{size} features, {format_number(float(value), 4)}",
            )
            for k, (size, value, feasible) in sorted(
                enumerate(zip(sizes.tolist(), values.tolist(), frame["feasible"], strict=True)),
                key=lambda c: c[0] == at,
            )
            if drawable(value)
        ),
        height=matrix_top + _SIDE + 56,
    )


def _chosen(frame: Any, selector: Any, names: list[str]) -> int:
    chosen = [name for name, is_in in zip(names, selector.support_, strict=True) if is_in]
    return next(k for k, features in enumerate(frame["features"].to_list()) if features == chosen)


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

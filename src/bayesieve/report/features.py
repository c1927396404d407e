"""Figures of a scorecard: the contributions of one feature, and the importance of all features.

A cell is an interval or group of values of a feature that has a contribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesieve.report import charts as draw
from bayesieve.report.page import Figure, in_five_digits
from bayesieve.scorecard import Scorecard
from bayesieve.scorecard.record import bounds_of
from bayesieve.scorecard.wording import Wording
from bayesieve.words import did_you_mean, named, plural

_N_BINS = 60  # bins of the histogram behind a curve
_MOST_DRAWN = 40  # features drawn, the most important ones
Interval = tuple[float | None, float | None, float]
"""Lower end (exclusive), upper end (inclusive) and number of rows of a cell; an end is None if the cell has none."""


def feature_figure(card: Scorecard, feature: str, target_class: Any = None) -> Figure:
    """Draw the contributions of a feature to the log odds of a class, cell by cell, with standard errors.

    Parameters
    ----------
    card : Scorecard
        ``scorecard_`` of a fitted model.
    feature : str
        Name of a feature in the model.
    target_class : label, optional
        Label of the class; by default the positive class or, if there is none, the first class.

    Returns
    -------
    Figure
        Figure shown by notebooks; its ``save(path)`` writes a page, a picture or the specification. With more than two
        classes, it shows contributions to the log joint probability of the class.

    Raises
    ------
    ValueError
        If the model has no feature of this name, or no such class.

    Examples
    --------
    >>> from bayesieve import SelectiveNB, feature_figure
    >>> from sklearn.datasets import load_iris
    >>> model = SelectiveNB().fit(*load_iris(return_X_y=True, as_frame=True))
    >>> feature_figure(model.scorecard_, "petal length (cm)", 2).title
    'petal length (cm)'
    """
    at, words = card.position(target_class, "target_class"), Wording.of(card)
    readable = {words.named(one.levels): one for one in card.used_features}
    by_name = {one.name: one for one in card.used_features} | readable
    if feature not in by_name:
        hint = did_you_mean(str(feature), by_name) or f"there are {named(readable)}."
        raise ValueError(f"There is no feature {feature!r:.80} in the model; {hint}")
    record, j = by_name[feature], 0 if at is None else at
    other = 1 - j if card.classes.size == 2 else None
    adds, errors = record.contributions[:, j], record.total_errors[:-1, j]
    if other is not None:
        adds, errors = adds - record.contributions[:, other], errors + record.total_errors[:-1, other]
    row_counts = record.counts.sum(axis=1)
    shares = [
        count / total if total else None for count, total in zip(record.counts[:, j].tolist(), row_counts, strict=True)
    ]
    bounds = [bounds_of(record.cells, code) for code in range(record.cells.n_levels)]
    cells: list[Interval] = [
        (finite_or_none(bound.get("low")), finite_or_none(bound.get("high")), n)
        for bound, n in zip(bounds, row_counts.tolist(), strict=True)
    ]
    numbers = (row_counts.tolist(), shares, adds.tolist(), (adds - errors).tolist(), (adds + errors).tolist())
    lines = [
        (label, *line, low, high)
        for label, *line, (low, high, _) in zip(words.levels(record.cells, full=True), *numbers, cells, strict=True)
    ]
    columns = ("label", "rows", "share", "contribution", "low", "high", "from", "to")
    title = words.named(record.levels)
    caption = f"Nats that each cell adds for {card.classes[j]}, ± one standard error."
    ends = curve_ends(cells) if record.kind == "numeric" else None
    if ends is None:
        return Figure(title, caption, draw.template("bars"), {"rows": draw.columns(columns, lines)})
    inside = [line for line in lines if line[6] is not None or line[7] is not None]
    lines = [(*line[:6], *(a if b is None else b for a, b in zip(ends, line[6:], strict=True))) for line in inside]
    frames = {"rows": draw.columns(columns, lines), "density": density_frame(cells, ends[0], ends[1])}
    return Figure(title, f"{caption} Grey: training rows.", draw.template("steps"), frames)


def importance_figure(card: Scorecard) -> Figure:
    """Draw the importance of the features in the model as bars.

    Parameters
    ----------
    card : Scorecard
        ``scorecard_`` of a fitted model.

    Returns
    -------
    Figure
        Figure shown by notebooks; its ``save(path)`` writes a page, a picture or the specification.

    Examples
    --------
    >>> from bayesieve import SelectiveNB, importance_figure
    >>> from sklearn.datasets import load_iris
    >>> model = SelectiveNB().fit(*load_iris(return_X_y=True, as_frame=True))
    >>> importance_figure(model.scorecard_).data["name"].to_list()[:1]
    ['petal width (cm)']
    """
    words, n_used = Wording.of(card), card.used.size
    features = [card.features[k] for k in card.by_importance[:_MOST_DRAWN].tolist()]
    frame: dict[str, list[Any]] = {"name": [words.named(feature.levels) for feature in features]}
    frame["importance"] = [feature.importance for feature in features]
    ending = f", the first {_MOST_DRAWN} drawn." if n_used > _MOST_DRAWN else "."
    caption = f"{plural(n_used, 'feature')} in the model{ending}"
    return Figure("Importance", caption, draw.template("importance") if features else {}, {"rows": frame})


def curve_ends(cells: Sequence[Interval]) -> tuple[float, float] | None:
    """Return the left and right end of the x axis for a curve over intervals: the outermost cuts plus a margin of 8 %.
    Return None if there is no cut or the range is infinite.

    ``cells`` holds tuples of the lower and upper end of an interval (None if open) and its training rows.
    """
    cuts = [end for low, high, _ in cells for end in (low, high) if end is not None]
    if not cuts:
        return None
    room = 0.08 * (max(cuts) - min(cuts)) or abs(cuts[0]) or 1.0
    low, high = min(cuts) - room, max(cuts) + room
    return (low, high) if math.isfinite(high - low) else None


def density_frame(cells: Sequence[Interval], low: float, high: float) -> dict[str, list[float]]:
    """Return a histogram of the training rows between ``low`` and ``high``, as the columns ``from``, ``to``, ``rows``
    and ``height`` (1 for the highest bin) of a frame. The rows of each interval are spread evenly over it.

    ``cells`` are intervals as in `curve_ends`.
    """
    edges = 2.0 * np.linspace(
        low / 2.0, high / 2.0, _N_BINS + 1
    )  # halved, because the difference of the largest floats overflows
    inside = [cell for cell in cells if cell[0] is not None or cell[1] is not None]
    starts = np.array([low if start is None else start for start, _, _ in inside])
    ends = np.array([high if end is None else end for _, end, _ in inside])
    widths = np.maximum(ends - starts, np.finfo(float).tiny)
    shares = (np.clip(edges[:, None], starts, ends) - starts) / widths  # share of each cell that lies below each edge
    rows = np.diff(shares @ np.array([n for _, _, n in inside]))
    heights = rows / max(rows.max(), np.finfo(float).tiny)
    numbers = {"rows": in_five_digits(rows.tolist()), "height": in_five_digits(heights.tolist())}
    return {"from": edges[:-1].tolist(), "to": edges[1:].tolist(), **numbers}


def finite_or_none(value: Any) -> float | None:
    """Return a number as a float; None if it is None, NaN or infinite."""
    return float(value) if value is not None and math.isfinite(value) else None

"""Table of a point scorecard: each level with its training rows, weight of evidence and points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.scorecard.explanation import UNSEEN
from bayesieve.scorecard.record import Feature, bounds_of
from bayesieve.scorecard.wording import Wording
from bayesieve.table import FeatureLevels
from bayesieve.table.frames import results_frame

if TYPE_CHECKING:
    from bayesieve.scorecard.export.point_card import Points

_KINDS = ("level", "special", "missing", "unseen", "total")  # kinds of lines, in the order in which a feature has them
_ZERO = 0.5  # rows added to both classes of a level with rows of one class, for the weight of evidence


def card_table(points: Points) -> Any:
    """Return the table of a point scorecard as a dataframe with one line per level, as documented in `Points.table`."""
    card = points.card
    empty = dict.fromkeys(
        ("feature", "level", "kind", "low", "high", "values", "rows", "share", "events", "event_rate", "woe", "iv")
    )
    rows, events = _rows_and_events(card.class_counts[None], points)
    base = {"level": "base", "kind": "base", "points": points.base, **_counted(rows[0], events[0], rows[0])}
    lines = [empty | base]
    for k in card.by_importance.tolist():
        feature = card.features[k]
        lines += [empty | {"feature": feature.name, **line} for line in _lines(feature, points)]
    types = {"points": int, "low": float, "high": float, "iv": float, "woe": float}
    return results_frame(lines, card.library, infer_schema_length=None, schema_overrides=types)


def _lines(feature: Feature, points: Points) -> Iterator[dict[str, Any]]:
    """Yield the lines of the table for one feature of the scorecard ``points``, as dicts by column: its levels, special
    values, missing and unseen values, and a last line of totals.
    """
    cells, of_cells = feature.cells, points.points[feature.name].tolist()
    rows, events = _rows_and_events(feature.counts, points)
    woe, iv = _weights_of_evidence(rows, events)
    texts = Wording.of(points.card).levels(cells, full=True)
    lines = [
        {
            "level": text,
            "kind": _kind(cells, code),
            "points": of_cells[code],
            "woe": woe[code] if rows[code] > 0 else None,
            "iv": iv[code],
            **bounds_of(cells, code),
            **_counted(rows[code], events[code], rows.sum()),
        }
        for code, text in enumerate(texts)
    ]
    yield from sorted(lines, key=lambda line: _KINDS.index(line["kind"]))
    yield {"level": UNSEEN, "kind": "unseen", "points": of_cells[-1], **_counted(0.0, 0.0, rows.sum())}
    yield {"level": "total", "kind": "total", "iv": iv.sum(), **_counted(rows.sum(), events.sum(), rows.sum())}


def _rows_and_events(counts: np.ndarray, points: Points) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of rows, and the number of events (rows of the negative class of ``points``), two arrays (n,).

    ``counts`` (n, 2) are rows by class.
    """
    rows: np.ndarray = counts.sum(axis=1)
    return rows, rows - counts[:, points.card.positive]


def _counted(rows: float, events: float, total: float) -> dict[str, Any]:
    """Return the columns of a line that count its rows, as a dict: ``rows``, their ``share`` of the ``total`` number of
    rows, ``events``, and ``event_rate``. Shares of 0 rows are None.
    """
    return {
        "rows": float(rows),
        "share": float(rows / total) if total > 0 else None,
        "events": float(events),
        "event_rate": float(events / rows) if rows > 0 else None,
    }


def _weights_of_evidence(rows: np.ndarray, events: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weight of evidence of each level in nats, and its part of the feature's information value; two arrays
    (n_levels,).

    ``rows`` and ``events`` (n_levels,) are the training rows of each level, and those of the negative class. Half a row
    is added to both classes of a level that has rows of one class only, so that logarithms stay finite.
    """
    others = rows - events
    more = _ZERO * ((events <= 0) | (others <= 0))
    of_others, of_events = ((counts + more) / max(counts.sum(), 1e-300) for counts in (others, events))
    woe = np.log(np.maximum(of_others, 1e-300) / np.maximum(of_events, 1e-300))
    shares = others / max(others.sum(), 1e-300) - events / max(events.sum(), 1e-300)
    return woe, np.where(rows > 0, shares * woe, 0.0)


def _kind(cells: FeatureLevels, code: int) -> str:
    """Return the kind of the level with the code ``code`` of a feature's ``cells``: "level", "special" or "missing". A
    level is "missing" only if it contains no other values.
    """
    if code == cells.missing_code and cells.has_missing_level:
        return "missing"
    return "special" if cells.n_special_levels - len(cells.special) <= code < cells.n_special_levels else "level"

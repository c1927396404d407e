"""Strategy table of a score: the effect of approving all rows above a score, band by band."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesieve.discretize.binning import equal_parts
from bayesieve.table.frames import results_frame


def strategy_table(
    score: np.ndarray,
    is_event: np.ndarray,
    weights: np.ndarray | None = None,
    bands: int | Sequence[float] = 10,
    library: str = "polars",
) -> Any:
    """Return the strategy table of scored rows, the band of the highest scores first.

    Parameters
    ----------
    score : array, shape (n_rows,)
        Higher scores are approved first.
    is_event : bool array, shape (n_rows,)
        Whether the true class of the row is the one that approval should avoid.
    weights : array, shape (n_rows,), or None
        Weight of each row: a weight of 2 equals the row repeated.
    bands : int or sequence of numbers, default=10
        A number of bands with about equally many rows, or the lowest scores of all bands but the lowest.
    library : str, default="polars"
        Dataframe library of the result.

    Returns
    -------
    dataframe
        ``low`` and ``high``, the lowest and highest score of the rows in the band; ``rows``, their ``share`` of all
        rows, ``events`` and ``event_rate``; and, if this band and all above it are approved, the ``approval_rate``, the
        ``approved_event_rate`` and ``avoided_events``, the share of all events in the bands below. Bands without rows
        are omitted.

    Raises
    ------
    ValueError
        If there are no rows, or ``bands`` is neither a number of bands nor ascending scores.
    """
    weights = np.ones(score.size) if weights is None else np.asarray(weights, dtype=float)
    score, is_event, weights = score[weights > 0], is_event[weights > 0], weights[weights > 0]
    if not score.size:
        raise ValueError("No row has a weight above 0, which a strategy table needs; check X and the row weights.")
    order = np.argsort(-score, kind="stable")
    score, is_event, weights = score[order], is_event[order], weights[order]
    # Position of the first row of each band. Equal scores stay in one band.
    if isinstance(bands, (int, np.integer)) and not isinstance(bands, bool) and bands >= 1:
        runs = np.append(0, np.flatnonzero(np.diff(score)) + 1)  # first row of each run of equal scores
        above = np.append(0.0, np.cumsum(np.add.reduceat(weights, runs)))
        first = np.append(0, runs[equal_parts(above, int(bands))])
    else:
        limits = np.asarray([] if isinstance(bands, (int, np.integer, str)) else bands, dtype=float)
        if limits.ndim != 1 or not limits.size or not (np.diff(limits) > 0).all():
            raise ValueError(f"bands must be a number of bands, at least 1, or ascending scores, got {bands!r:.80}.")
        first = np.unique(np.append(0, np.searchsorted(-score, -limits[::-1], side="right")))
        first = first[first < score.size]
    # Sums of each band, and of each band with all above it.
    rows, events = (np.add.reduceat(sums, first) for sums in (weights, weights * is_event))
    approved, approved_events, total = np.cumsum(rows), np.cumsum(events), max(float(events.sum()), 1e-300)
    columns = {
        "low": score[np.append(first[1:], score.size) - 1],
        "high": score[first],
        "rows": rows,
        "share": rows / weights.sum(),
        "events": events,
        "event_rate": events / rows,
        "approval_rate": approved / weights.sum(),
        "approved_event_rate": approved_events / approved,
        "avoided_events": (events.sum() - approved_events) / total,
    }
    return results_frame(columns, library)

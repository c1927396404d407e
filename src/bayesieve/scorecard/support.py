"""Detection of cells (intervals or groups of values) with large contributions but few training rows."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from bayesieve.scorecard.record import Feature
from bayesieve.table.pair_levels import PairLevels

FEW_ROWS = 10
LARGE = 1.0
"""Nats above which a contribution is large: to the log odds for two classes, otherwise to the score of a class."""


def weakly_supported(feature: Feature) -> list[tuple[int, int]]:
    """Return the first and last code of each group of cells with a large contribution but fewer than `FEW_ROWS` rows.

    Neighbouring cells of a curve, and cells of a surface, are fitted together: those with large contributions of the
    same sign form one group. Any other cell is a group by itself.
    """
    contributions, rows = feature.contributions, feature.counts.sum(axis=1)
    # Mark each cell by the sign of its largest contribution and the class, or by 0 if the contribution is small.
    largest = np.zeros(len(contributions), dtype=np.int64)
    amounts = contributions[:, -1] - contributions[:, 0]
    if contributions.shape[1] > 2:
        largest = np.abs(contributions).argmax(axis=1)
        amounts = contributions[np.arange(len(contributions)), largest]
    signs = np.where(np.abs(amounts) > LARGE, np.sign(amounts), 0.0).astype(int) * (largest + 1)
    if isinstance(feature.levels, PairLevels) and feature.levels.level_score == 0:
        codes = [np.flatnonzero(signs == sign) for sign in np.unique(signs[signs != 0])]
        return [(pair[k], pair[k]) for pair in codes if rows[pair].sum() < FEW_ROWS for k in range(pair.size)]
    start = feature.cells.n_special_levels if feature.kind == "numeric" else len(rows)
    runs = [(code, code) for code in range(start) if signs[code]]
    for sign, run in groupby(signs[start:].tolist()):
        end = start + len(list(run))
        runs += [(start, end - 1)] if sign else []
        start = end
    return [(first, last) for first, last in runs if rows[first : last + 1].sum() < FEW_ROWS]

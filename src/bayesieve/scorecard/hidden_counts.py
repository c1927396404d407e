"""Scorecards that do not reveal counts of few rows, for model files that leave a protected place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesieve.parts import Allowed, check_allowed
from bayesieve.scorecard.record import Scorecard
from bayesieve.table import FeatureLevels
from bayesieve.table.pair_levels import PairLevels


def with_hidden_counts(card: Scorecard, min_count: int) -> Scorecard:
    """Return the scorecard with all counts of cells by class rounded to multiples of ``min_count``, and level scores
    rounded to .001.

    All counts are rounded, so that no difference reveals a small one. Contributions, and hence predictions, stay the
    same. Cells whose rows are rounded to 0 all get the largest of their standard errors, without shared factors.

    Raises
    ------
    ValueError
        If ``min_count`` is not a number of rows, or contributions are computed from counts and would reveal them.
    """
    check_allowed({"min_count": min_count}, {"min_count": Allowed.count()})
    if min_count == 1:
        return card
    if card.provenance["evidence"] == "counted":
        remedy = "fit it with calibrate='levels' or 'cells'"
        raise ValueError(f"min_count= cannot hide counts that contributions are computed from; {remedy}.")
    levels_by_id: dict[int, FeatureLevels] = {}

    def hidden(levels: FeatureLevels) -> FeatureLevels:
        if id(levels) not in levels_by_id:
            levels_by_id[id(levels)] = _hidden(levels, min_count, [*map(hidden, getattr(levels, "parts", ()))])
        return levels_by_id[id(levels)]

    features = [
        replace(own, levels=hidden(own.levels), cells=hidden(own.cells), counts=rounded(own.counts, min_count))
        for own in card.features
    ]
    few = [feature.counts.sum(axis=1) == 0 for feature in features]
    errors = [feature.standard_errors[there] for feature, there in zip(features, few, strict=True)]
    largest = np.concatenate([np.zeros((1, card.classes.size)), *errors]).max(axis=0)
    for k, (own, there) in enumerate(zip(features, few, strict=True)):
        masked = np.where(there[:, None], largest, own.standard_errors)
        features[k] = replace(own, standard_errors=masked, factors=np.where(there[:, None, None], 0.0, own.factors))
    return replace(card, features=tuple(features), provenance={**card.provenance, "min_count": min_count})


def rounded(counts: Any, min_count: int) -> np.ndarray:
    """Return counts rounded to multiples of ``min_count``, of the same type."""
    counts = np.asarray(counts)
    return np.asarray(np.round(counts / min_count) * min_count).astype(counts.dtype)


def _hidden(levels: FeatureLevels, min_count: int, parts: Sequence[FeatureLevels]) -> FeatureLevels:
    score = min(round(levels.level_score, 3), 0.999)
    if not isinstance(levels, PairLevels):
        counts = None if levels.counts is None else rounded(levels.counts, min_count)
        return replace(levels, counts=counts, level_score=score)
    cells = rounded(levels.cells, min_count)
    for code in range(levels.n_levels):  # each must keep some rows
        inside = levels.grid == code
        if levels.cells.any() and not cells[inside].any():
            at = np.argmax(np.where(inside[..., None], levels.cells, -1.0))
            cells[np.unravel_index(at, cells.shape)] = min_count
    return PairLevels.of(parts, levels.grid, cells, score, levels.name)

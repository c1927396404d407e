"""Scorecards whose counts of few rows are hidden, for model files that leave a protected environment.

Levels are the intervals or groups of a feature, with their training rows by class; cells are levels or pieces of them.
"""

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
    rounded to 0.001.

    Large counts are rounded, too, so that no difference of counts reveals a small one. Contributions, and hence
    predictions, stay unchanged. All cells whose counts are rounded to 0 get the same standard errors, the largest among
    them, without components shared with other features.

    Raises
    ------
    ValueError
        If ``min_count`` is not a positive integer, or contributions are computed from the counts and would reveal them.
    """
    check_allowed({"min_count": min_count}, {"min_count": Allowed.count()})
    if min_count == 1:
        return card
    if card.provenance["evidence"] == "counted":
        remedy = "fit the model with calibrate='levels' or 'cells'"
        raise ValueError(f"min_count cannot hide counts that the contributions of this model reveal; {remedy}.")
    levels_by_id: dict[int, FeatureLevels] = {}

    def hidden(levels: FeatureLevels) -> FeatureLevels:
        """Return levels with rounded counts. Levels that several features share remain one object."""
        if id(levels) not in levels_by_id:
            levels_by_id[id(levels)] = _hidden(levels, min_count, [*map(hidden, getattr(levels, "parts", ()))])
        return levels_by_id[id(levels)]

    features = [
        replace(feature, levels=hidden(feature.levels), cells=hidden(feature.cells), counts=counts)
        for feature, counts in ((feature, rounded(feature.counts, min_count)) for feature in card.features)
    ]
    # Standard errors reveal how few rows a cell has. Give the largest error to all cells whose counts became 0.
    is_empty = [feature.counts.sum(axis=1) == 0 for feature in features]
    errors = [feature.standard_errors[empty] for feature, empty in zip(features, is_empty, strict=True)]
    largest = np.concatenate([np.zeros((1, card.classes.size)), *errors]).max(axis=0)
    for k, (feature, empty) in enumerate(zip(features, is_empty, strict=True)):
        masked = np.where(empty[:, None], largest, feature.standard_errors)
        factors = np.where(empty[:, None, None], 0.0, feature.factors)
        features[k] = replace(feature, standard_errors=masked, factors=factors)
    return replace(card, features=tuple(features), provenance={**card.provenance, "min_count": min_count})


def rounded(counts: Any, min_count: int) -> np.ndarray:
    """Return counts rounded to multiples of ``min_count``, as an array of the same shape and data type."""
    counts = np.asarray(counts)
    return np.asarray(np.round(counts / min_count) * min_count).astype(counts.dtype)


def _hidden(levels: FeatureLevels, min_count: int, parts: Sequence[FeatureLevels]) -> FeatureLevels:
    """Return levels with counts rounded to multiples of ``min_count``, and a rounded level score. For a pair, ``parts``
    are the already rounded levels of its two columns; otherwise they are empty.
    """
    score = min(round(levels.level_score, 3), 0.999)
    if not isinstance(levels, PairLevels):
        counts = None if levels.counts is None else rounded(levels.counts, min_count)
        return replace(levels, counts=counts, level_score=score)
    cells = rounded(levels.cells, min_count)
    for code in range(levels.n_levels):  # every level of a pair must keep rows
        inside = levels.grid == code
        if levels.cells.any() and not cells[inside].any():
            at = np.argmax(np.where(inside[..., None], levels.cells, -1.0))
            cells[np.unravel_index(at, cells.shape)] = min_count
    return PairLevels.of(parts, levels.grid, cells, score, levels.name)

"""Scorecards that tell no count of few rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from bayesieve.scorecard.record import Feature, Scorecard
from bayesieve.table import FeatureLevels
from bayesieve.table.derived_levels import PairLevels


def with_hidden_counts(card: Scorecard, min_count: int) -> Scorecard:
    """The scorecard with all counts of cells by class rounded to multiples of ``min_count``, and level scores to .001.

    All are rounded, so that no difference gives a small one away. Contributions, and with them predictions, stay. The
    standard errors of cells whose rows are rounded away become the largest of all such cells, their factors 0.

    Raises
    ------
    ValueError
        If ``min_count`` is no number of rows, or contributions are computed from the counts and give them away.
    """
    if isinstance(min_count, bool) or not isinstance(min_count, Integral) or min_count < 1:
        raise ValueError(f"min_count must be a number of rows, at least 1, got {min_count!r:.80}.")
    if min_count == 1:
        return card
    if card.provenance["evidence"] == "counted":
        raise ValueError(
            "min_count= cannot hide counts that the contributions of this model are computed from; fit it with "
            "calibrate='levels' or 'cells'."
        )
    known: dict[int, FeatureLevels] = {}

    def hidden(levels: FeatureLevels) -> FeatureLevels:
        if id(levels) not in known:
            known[id(levels)] = _hidden(levels, min_count, [*map(hidden, getattr(levels, "parts", ()))])
        return known[id(levels)]

    features = [
        replace(
            feature,
            levels=hidden(feature.levels),
            cells=hidden(feature.cells),
            counts=rounded(feature.counts, min_count),
        )
        for feature in card.features
    ]
    few = [feature.counts.sum(axis=1) == 0 for feature in features]
    errors = [feature.standard_errors[there] for feature, there in zip(features, few, strict=True)]
    largest = np.concatenate([np.zeros((1, card.classes.size)), *errors]).max(axis=0)
    return replace(card, features=tuple(_masked(f, there, largest) for f, there in zip(features, few, strict=True)))


def rounded(counts: Any, min_count: int) -> np.ndarray:
    """Counts rounded to multiples of ``min_count``, of their own type."""
    counts = np.asarray(counts)
    own: np.ndarray = (np.round(counts / min_count) * min_count).astype(counts.dtype)
    return own


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


def _masked(feature: Feature, few: np.ndarray, largest: np.ndarray) -> Feature:
    errors = np.where(few[:, None], largest, feature.standard_errors)
    factors = np.where(few[:, None, None], 0.0, feature.factors)
    return replace(feature, standard_errors=errors, factors=factors)

"""Removal of the categories of unused columns from model files, and their restoration when models are merged.

Levels are intervals or groups of values of a column; cells are levels or pieces of them. Withheld levels store only
sizes, counts and a hash of their categories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesieve.scorecard.record import Feature, Scorecard
from bayesieve.table import FeatureLevels
from bayesieve.table.levels import WithheldLevels
from bayesieve.table.pair_levels import PairLevels


def without_unused_values(card: Scorecard) -> list[Feature]:
    """Return the features of a model without the categories of columns that the model does not use."""
    columns_in_use = {name for feature in card.used_features for name in feature.columns}
    withheld: dict[int, FeatureLevels] = {}

    def hidden(levels: FeatureLevels) -> FeatureLevels:
        """Return levels without their categories if the model does not use the column, otherwise the levels
        themselves.
        """
        if levels.groups is None or levels.column in columns_in_use:
            return levels
        return withheld.setdefault(id(levels), WithheldLevels.of(levels))

    features = []
    for feature in card.features:
        pair = feature.levels
        if not isinstance(pair, PairLevels):
            levels = hidden(pair)
            is_known = levels is pair
            features.append(feature if is_known else joined_cells(feature, levels, feature.level_of_cell))
        elif feature.is_used or feature.is_split:
            features.append(feature)
        else:
            parts = [hidden(part) for part in pair.parts]
            closed = PairLevels.of(parts, pair.grid, pair.cells, pair.level_score, pair.name)
            features.append(replace(feature, levels=closed, cells=closed))
    return features


def joined_cells(feature: Feature, levels: FeatureLevels, level_of_cell: np.ndarray) -> Feature:
    """Return an unused feature with its cells merged into ``levels``; ``level_of_cell`` (n_cells,) is the new level of
    each cell.
    """
    shape = (levels.n_levels, feature.counts.shape[1])
    counts, errors = np.zeros(shape), np.zeros(shape)
    np.add.at(counts, level_of_cell, feature.counts)
    np.maximum.at(errors, level_of_cell, feature.standard_errors)
    factors = np.zeros((levels.n_levels, *feature.factors.shape[1:]))
    numbers: dict[str, Any] = {
        "contributions": np.zeros(shape),
        "counts": counts,
        "standard_errors": errors,
        "factors": factors,
    }
    return replace(feature, levels=levels, cells=levels, **numbers)


def with_known_values(cards: Sequence[Scorecard]) -> list[Scorecard]:
    """Return the scorecards with withheld categories restored from another of the models.

    If the categories may differ between the models, the column becomes a single level. Raise ValueError if a model uses
    the column then.
    """
    features = [{feature.name: feature for feature in card.features if not _is_closed(feature)} for card in cards]
    items = [item for by_name in features for item in by_name.items()]
    names = {name for name, feature in items if isinstance(feature.levels, WithheldLevels)}
    if not names:
        return list(cards)
    for name in sorted(names):
        models = [m for m, by_name in enumerate(features) if name in by_name]
        levels = [features[m][name].levels for m in models]
        donor = next((level for level in levels if level.groups is not None), None)
        sealed = [level if isinstance(level, WithheldLevels) else _sealed(level) for level in levels]
        same = len({(level.sizes, level.digest, level.missing_code) for level in sealed}) == 1
        if not same and any(name in feature.columns for card in cards for feature in card.used_features):
            raise ValueError(
                f"Column {name!r} is used by one of the models, but the file of another does not contain its "
                "categories; fit the others with SelectiveNB(levels=first.scorecard_)."
            )
        for m, level in zip(models, levels, strict=True):
            if not same:
                total = np.asarray(level.counts).sum(axis=0, keepdims=True)
                one = WithheldLevels(name, level.kind, level.type, counts=total, sizes=(1,))
                every = np.zeros(features[m][name].cells.n_levels, dtype=np.int64)
                features[m][name] = joined_cells(features[m][name], one, every)
            elif donor is not None and isinstance(level, WithheldLevels):
                restored = replace(donor, renamed=(), counts=level.counts, level_score=level.level_score)
                features[m][name] = replace(features[m][name], levels=restored, cells=restored)
    return [
        replace(card, features=tuple(by_name[feature.name] for feature in card.features if feature.name in by_name))
        for card, by_name in zip(cards, features, strict=True)
    ]


def _is_closed(feature: Feature) -> bool:
    """Return whether a feature is an unused pair with withheld categories."""
    pair = feature.levels
    return isinstance(pair, PairLevels) and any(isinstance(part, WithheldLevels) for part in pair.parts)


def _sealed(levels: FeatureLevels) -> WithheldLevels:
    """Return the levels as `WithheldLevels`: without categories, but with a hash of them, so that they can be compared
    with withheld levels.
    """
    if levels.groups is None:
        return WithheldLevels(levels.name, "categorical", levels.type, sizes=(1,) * levels.n_levels)
    return WithheldLevels.of(levels)

"""Order of day and month in which a scorecard reads dates from texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bayesieve.scorecard.record import Scorecard
from bayesieve.table.levels import FeatureLevels
from bayesieve.table.pair_levels import PairLevels

_DATED = ("date", "datetime")


def in_date_orders(card: Scorecard, date_orders: Mapping[str, bool]) -> Scorecard:
    """Return a scorecard that reads dates such as 03/04/2024 in the day-month order of the training table.

    Parameters
    ----------
    date_orders : mapping from str to bool
        Whether the day comes first, by name of the column of dates.
    """
    levels_by_id: dict[int, FeatureLevels] = {}

    def ordered(level: FeatureLevels) -> FeatureLevels:
        """Return levels that read dates in the order of their column; the same object if that changes nothing."""
        # Several features may share one level object, as may pairs and their columns. Replace each object once, so
        # that it remains shared.
        if id(level) in levels_by_id:
            return levels_by_id[id(level)]
        new = level
        if isinstance(level, PairLevels):
            parts = tuple(map(ordered, level.parts))
            if any(part is not feature for part, feature in zip(parts, level.parts, strict=True)):
                new = replace(level, parts=parts)
        elif level.name in date_orders and level.type in _DATED:
            new = replace(level, day_first=date_orders[level.name])
        levels_by_id[id(level)] = new
        return new

    features = (
        replace(feature, levels=ordered(feature.levels), cells=ordered(feature.cells)) for feature in card.features
    )
    return replace(card, features=tuple(features))

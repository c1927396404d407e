"""`FeatureLevels` to and from JSON: exact in both directions, with checks of all that is read."""

from __future__ import annotations

import math
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.plain_values import Damaged, member, number_to_json, numbers_from_json, table
from bayesieve.table.values import canonical_value

if TYPE_CHECKING:
    from bayesieve.table.levels import FeatureLevels

_KEYS = {"name", "kind", "type", "cut_points", "groups", "missing_code", "counts", "level_score"}


def levels_to_json(levels: FeatureLevels) -> dict[str, Any]:
    """Plain values only; Python's JSON writes floats with as many digits as make them exact."""
    return {
        "name": levels.name,
        "kind": levels.kind,
        "type": levels.type,
        "cut_points": None if levels.cut_points is None else [number_to_json(c) for c in levels.cut_points.tolist()],
        "groups": None if levels.groups is None else [[_value_to_json(v) for v in group] for group in levels.groups],
        "missing_code": levels.missing_code,
        "counts": None if levels.counts is None else levels.counts.tolist(),
        "level_score": levels.level_score,
    } | ({"sum_of": list(levels.sum_of)} if levels.sum_of else {})


def _value_to_json(value: object) -> Any:
    plain = None if value is None else canonical_value(value)
    # A category that is infinite is compared by its text, which JSON can hold.
    return str(plain) if isinstance(plain, float) and not math.isfinite(plain) else plain


def levels_from_json(data: Any) -> FeatureLevels:
    """Read what `levels_to_json` wrote; anything else is a ValueError of one sentence."""
    from bayesieve.table.levels import FeatureLevels

    if not isinstance(data, dict) or set(data) - {"sum_of"} != _KEYS:
        raise ValueError(f"The levels of a feature must be an object with the keys {', '.join(sorted(_KEYS))}.")
    try:
        cuts = member(data, "cut_points", list, NoneType)
        parts = {
            "name": member(data, "name", str),
            "kind": member(data, "kind", str),
            "type": member(data, "type", str),
            "cut_points": None if cuts is None else numbers_from_json(cuts, "cut points"),
            "groups": _groups_from_json(member(data, "groups", list, NoneType)),
            "missing_code": member(data, "missing_code", int, NoneType),
            "counts": counts_from_json(data),
            "level_score": member(data, "level_score", int, float),
            "sum_of": tuple(member(data, "sum_of", list)) if "sum_of" in data else (),
        }
    except Damaged as error:
        raise ValueError(f"The levels of the feature {str(data['name'])[:60]!r} are damaged: {error}.") from None
    return FeatureLevels(**parts)


def _groups_from_json(groups: list[Any] | None) -> tuple[tuple[object, ...], ...] | None:
    if groups is None:
        return None
    if not all(type(group) is list and all(map(_is_value, group)) for group in groups):
        raise Damaged("its groups are not lists of text, numbers, true, false and null")
    return tuple(map(tuple, groups))


def _is_value(value: Any) -> bool:
    return type(value) in (str, int, bool, NoneType) or (type(value) is float and math.isfinite(value))


def counts_from_json(data: dict[str, Any]) -> np.ndarray | None:
    """Counts of levels by classes: whole numbers where all are."""
    rows = member(data, "counts", list, NoneType)
    if rows is None:
        return None
    width = len(rows[0]) if rows and type(rows[0]) is list else 0
    counts = table(rows, (len(rows), width), "counts")
    given = np.asarray(rows)
    return given if given.dtype == np.int64 else counts

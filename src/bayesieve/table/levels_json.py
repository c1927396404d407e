"""`FeatureLevels` to and from JSON: exact in both directions, with checks of all that is read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.table.values import canonical_value

if TYPE_CHECKING:
    from bayesieve.table.levels import FeatureLevels

_KEYS = {"name", "kind", "type", "cut_points", "groups", "missing_code", "counts", "level_score"}
_MINUS_INFINITY = "-inf"


def levels_to_json(levels: FeatureLevels) -> dict[str, Any]:
    """Plain values only; Python's JSON writes floats with as many digits as make them exact."""
    return {
        "name": levels.name,
        "kind": levels.kind,
        "type": levels.type,
        "cut_points": None if levels.cut_points is None else [_cut_to_json(c) for c in levels.cut_points.tolist()],
        "groups": None if levels.groups is None else [[_value_to_json(v) for v in group] for group in levels.groups],
        "missing_code": levels.missing_code,
        "counts": None if levels.counts is None else levels.counts.tolist(),
        "level_score": levels.level_score,
    }


def _cut_to_json(cut: float) -> float | str:
    return _MINUS_INFINITY if cut == -math.inf else cut


def _value_to_json(value: object) -> Any:
    plain = None if value is None else canonical_value(value)
    # A category that is infinite is compared by its text, which JSON can hold.
    return str(plain) if isinstance(plain, float) and not math.isfinite(plain) else plain


def levels_from_json(data: Any) -> FeatureLevels:
    """Read what `levels_to_json` wrote; anything else is a ValueError of one sentence."""
    from bayesieve.table.levels import FeatureLevels

    if not isinstance(data, dict) or set(data) != _KEYS:
        raise ValueError(f"The levels of a feature must be an object with the keys {', '.join(sorted(_KEYS))}.")
    name = data["name"]
    if not isinstance(name, str):
        raise ValueError("The name of a feature must be text.")
    for key in ("kind", "type"):
        if not isinstance(data[key], str):
            raise ValueError(f"Feature {name!r}: {key} must be text.")
    missing_code = data["missing_code"]
    if missing_code is not None and (isinstance(missing_code, bool) or not isinstance(missing_code, int)):
        raise ValueError(f"Feature {name!r}: missing_code must be a whole number or null.")
    return FeatureLevels(
        name=name,
        kind=data["kind"],
        type=data["type"],
        cut_points=_cuts_from_json(data["cut_points"], name),
        groups=_groups_from_json(data["groups"], name),
        missing_code=missing_code,
        counts=_counts_from_json(data["counts"], name),
        level_score=_number(data["level_score"], name, "level_score"),
    )


def _number(value: Any, name: str, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"Feature {name!r}: {what} must be a number.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"Feature {name!r}: {what} must be a finite number.")
    return number


def _list(value: Any, name: str, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"Feature {name!r}: {what} must be a list.")
    return value


def _cuts_from_json(value: Any, name: str) -> np.ndarray | None:
    if value is None:
        return None
    cuts = _list(value, name, "cut_points")
    return np.array([-math.inf if cut == _MINUS_INFINITY else _number(cut, name, "a cut point") for cut in cuts])


def _groups_from_json(value: Any, name: str) -> tuple[tuple[object, ...], ...] | None:
    if value is None:
        return None
    groups = [_list(group, name, "a group") for group in _list(value, name, "groups")]
    for group in groups:
        for entry in group:
            if entry is not None and not isinstance(entry, (str, int, float, bool)):
                raise ValueError(f"Feature {name!r}: a group may hold text, numbers, true, false and null only.")
            if isinstance(entry, float):
                _number(entry, name, "a value of a group")
    return tuple(tuple(group) for group in groups)


def _counts_from_json(value: Any, name: str) -> np.ndarray | None:
    if value is None:
        return None
    rows = [_list(row, name, "a row of counts") for row in _list(value, name, "counts")]
    if len({len(row) for row in rows}) != 1:
        raise ValueError(f"Feature {name!r}: every row of counts needs one number per class.")
    for row in rows:
        for count in row:
            _number(count, name, "a count")
    whole = all(isinstance(count, int) and count < 2**63 for row in rows for count in row)
    return np.array(rows, dtype=np.int64 if whole else np.float64)

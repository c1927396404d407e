"""Class labels to plain values for JSON, and back, with their type."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.plain_values import Damaged, member

_KINDS: dict[str, type] = {"str": str, "int": int, "bool": bool, "float": float}
_TYPES = {
    "int": {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float": {"float16", "float32", "float64"},
}


def labels_to_json(labels: np.ndarray) -> dict[str, Any]:
    """Labels of one kind: text, whole numbers, booleans or floats; ValueError for labels of any other kind."""
    values = [value.item() if isinstance(value, np.generic) else value for value in labels.tolist()]
    kinds = [name for name, type_ in _KINDS.items() if all(type(value) is type_ for value in values)]
    if not kinds:
        raise ValueError(
            f"Classes of type {type(values[0]).__name__} cannot be saved; use text, numbers or booleans as labels."
        )
    written = {"kind": kinds[0], "object": labels.dtype == object, "values": values}
    return written | ({"type": labels.dtype.name} if labels.dtype.name in _TYPES.get(kinds[0], ()) else {})


def labels_from_json(data: dict[str, Any]) -> np.ndarray:
    """The labels that `labels_to_json` wrote; `Damaged` for anything else."""
    kind, values = member(data, "kind", str), member(data, "values", list)
    if kind not in _KINDS or len(values) < 2 or not all(type(value) is _KINDS[kind] for value in values):
        raise Damaged("its classes are not at least two labels of one kind")
    if sorted(set(values)) != values:
        raise Damaged("its classes are not in order")
    type_ = data.get("type")
    if type_ is not None and (type(type_) is not str or type_ not in _TYPES.get(kind, ())):
        raise Damaged("its classes are of an unknown type")
    try:
        labels = np.array(values, dtype=object if data.get("object") is True else type_)
    except OverflowError:
        labels = np.zeros(0)
    if labels.tolist() != values:
        raise Damaged("its classes do not fit their type")
    return labels

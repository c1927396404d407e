"""Options of a model's parts to plain values for JSON, and back: names, numbers, lists, objects from a fixed list."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from sklearn import model_selection

from bayesieve import discretize, search
from bayesieve.counts.dependence import DEPENDENCES
from bayesieve.criteria import CRITERIA
from bayesieve.parts import Registry, arguments
from bayesieve.plain_values import Damaged, member

_PARTS: dict[str, dict[str, type]] = {
    kind: {name: getattr(module, name) for name in names.split()}
    for kind, module, names in (
        (
            "coder",
            discretize,
            "EqualFrequencyDiscretizer EqualWidthDiscretizer MDLPDiscretizer MODLDiscretizer MODLGrouper RandomSums",
        ),
        ("search", search, "BestFirst ClusterSearch ExhaustiveSearch GreedySearch MultiStart"),
        (
            "splitter",
            model_selection,
            "GroupKFold GroupShuffleSplit KFold LeaveOneGroupOut LeaveOneOut LeavePGroupsOut LeavePOut PredefinedSplit "
            "RepeatedKFold RepeatedStratifiedKFold ShuffleSplit StratifiedGroupKFold StratifiedKFold "
            "StratifiedShuffleSplit TimeSeriesSplit",
        ),
    )
}
"""Objects that a file may name, by kind: loading creates nothing but these and registered parts."""
_REGISTRIES: dict[str, Registry[Any]] = {"criterion": CRITERIA, "dependence": DEPENDENCES}
_KINDS = (*_PARTS, *_REGISTRIES)

_INFINITE = {"inf": math.inf, "-inf": -math.inf}


def option_to_json(value: Any, name: str) -> Any:
    """An option as plain values; ValueError if a file cannot hold it; the sentence names the option."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    for plain in (int, str):
        if isinstance(value, plain):
            return plain(value)
    if isinstance(value, float) and not math.isnan(value):
        return float(value) if math.isfinite(value) else {"number": str(float(value))}
    if isinstance(value, (list, tuple, range, np.ndarray)):
        return [option_to_json(item, name) for item in value]
    if isinstance(value, Mapping):
        return {"mapping": [[option_to_json(item, name) for item in pair] for pair in value.items()]}
    for kind in _KINDS:
        if _part(kind, type(value).__name__) is type(value):
            options = {key: option_to_json(item, f"{name}'s {key}") for key, item in _options_of(value).items()}
            return {kind: type(value).__name__, "options": options}
    raise ValueError(
        f"{name}={' '.join(repr(value).split())[:100]} cannot be saved as JSON, as it is neither plain data nor a part "
        "of bayesieve or scikit-learn with options that are; pickle the model."
    )


def option_from_json(data: Any) -> Any:
    """The option that `option_to_json` wrote; `Damaged` for anything else."""
    if data is None or type(data) in (bool, int, float, str):
        return data
    if type(data) is list:
        return [option_from_json(item) for item in data]
    if type(data) is dict and set(data) == {"number"} and member(data, "number", str) in _INFINITE:
        return _INFINITE[data["number"]]
    if type(data) is dict and set(data) == {"mapping"}:
        pairs = [option_from_json(pair) for pair in member(data, "mapping", list)]
        if not all(type(pair) is list and len(pair) == 2 and isinstance(pair[0], Hashable) for pair in pairs):
            raise Damaged("a mapping in it is not a list of pairs")
        return dict(pairs)
    for kind in _KINDS:
        if type(data) is not dict or set(data) != {kind, "options"}:
            continue
        part = _part(kind, member(data, kind, str))
        if part is not None:
            options = {key: option_from_json(item) for key, item in member(data, "options", dict).items()}
            try:
                return part(**options)
            except Exception:  # whatever the constructors of two packages raise
                raise Damaged(f"the options of its {data[kind]} cannot be used") from None
    raise Damaged("an option in it is neither a plain value nor a known part")


def _part(kind: str, name: str) -> type | None:
    if kind in _REGISTRIES:
        return next((part for part in _REGISTRIES[kind].values() if part.__name__ == name), None)
    return _PARTS[kind].get(name)


def _options_of(part: Any) -> dict[str, Any]:
    """The arguments of a part's constructor, from its attributes, as scikit-learn names them."""
    more = getattr(part, "cvargs", {})  # of splitters that are repeated
    unsaved = getattr(part, "unsaved_options", ())
    names = [name for name in arguments(type(part)) if name not in unsaved]  # type: ignore[arg-type]
    return {name: getattr(part, name) if hasattr(part, name) else more[name] for name in names}

"""A search trace to plain values for JSON, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.search.recorder import Moves
from bayesieve.search.trace import SearchTrace, WalkStart, or_none

_KEYS = {
    *("null_criterion", "best_criterion", "n_starts", "n_models", "complete", "seconds"),
    *("start", "feature", "adding", "cost", "move_seconds"),
}
_MOST_STARTS = 1_000_000  # in a file; more are a sign of damage, and each takes a row of the path


def trace_to_json(trace: SearchTrace) -> dict[str, Any]:
    """The accepted moves and the totals, as plain values.

    Walks from the empty subset need no more than their number; the others tell the subset they start from.
    """
    walks = [trace.walk_moves(start) for start in range(trace.n_starts)]
    data: dict[str, Any] = {
        "null_criterion": _plain(trace.null_criterion),
        "best_criterion": _plain(trace.best_criterion),
        "n_starts": trace.n_starts,
        "n_models": int(trace.n_models),
        "complete": bool(trace.complete),
        "seconds": trace.seconds,
        "start": [start for start, walk in enumerate(walks) for _ in range(walk.feature.size)],
        "feature": _joined(walk.feature for walk in walks),
        "adding": _joined(walk.adding for walk in walks),
        "cost": [_plain(cost) for walk in walks for cost in walk.cost.tolist()],
        "move_seconds": _joined(walk.seconds for walk in walks),
    }
    if not _is_plain(trace):
        data |= {
            "criterion": trace.criterion_name,
            "lower_is_better": trace.lower_is_better,
            "validation": trace.validation_name,
            "validation_lower_is_better": trace.validation_lower_is_better,
            "validation_total": trace.validation_total,
            "evaluation": trace.evaluation,
            "recoded": trace.recoded,
            "starts": [[s.features.tolist(), _plain(s.criterion), _plain(s.validation)] for s in trace.starts],
            "move_validation": [_plain(v) for walk in walks for v in walk.validation.tolist()],
        }
    if trace.chosen is not None:
        data["chosen"] = np.flatnonzero(trace.chosen).tolist()
    return data


def _plain(value: float) -> float | str | None:
    """A number that JSON has: infinity as text, NaN, of a criterion without a value on these rows, as null."""
    return str(value) if np.isinf(value) else or_none(value)


def _is_plain(trace: SearchTrace) -> bool:
    from_empty = all(s.features.size == 0 and s.criterion == trace.null_criterion for s in trace.starts)
    return from_empty and trace.criterion_name == "map" and trace.validation_name is None


def _joined(parts: Any) -> list[Any]:
    return [value for part in parts for value in part.tolist()]


def trace_from_json(data: dict[str, Any], names: tuple[str, ...]) -> SearchTrace:
    """What ``trace_to_json`` wrote; ValueError with one sentence otherwise."""
    missing = sorted(_KEYS - set(data))
    if missing:
        raise ValueError(f"the search has no {missing[0]!r}")
    feature, start = _read(data["feature"], int), _read(data["start"], int)
    moves = Moves(
        feature=feature,
        adding=_read(data["adding"], bool),
        cost=_read_or_nan(data["cost"]),
        accepted=np.ones(feature.size, dtype=bool),
        key=np.zeros(feature.size, dtype=np.uint64),
        seconds=_read(data["move_seconds"], float),
        validation=_read_or_nan(data.get("move_validation", [None] * feature.size)),
        violation=np.zeros(feature.size),
    )
    null_criterion, best_criterion = _read_or_nan([data["null_criterion"], data["best_criterion"]]).tolist()
    n_starts, n_models = _read([data["n_starts"], data["n_models"]], int).tolist()
    fit = {part.size for part in (start, *vars(moves).values())} == {feature.size}
    fit = fit and feature.min(initial=0) >= 0 and feature.max(initial=0) < len(names)
    fit = fit and start.min(initial=0) >= 0 and start.max(initial=0) < n_starts
    if not (fit and 1 <= n_starts <= _MOST_STARTS and n_models >= 1):
        raise ValueError("the moves of the search do not fit together")
    starts = _read_starts(data, n_starts, null_criterion, len(names))
    if not _are_walks(moves, start, starts):
        raise ValueError("the moves of the search do not fit together")
    return SearchTrace(
        names,
        moves,
        walk_of=start,
        distinct=moves.accepted,
        null_criterion=null_criterion,
        best_criterion=best_criterion,
        n_models=n_models,
        complete=data["complete"] is True,
        seconds=float(_read([data["seconds"]], float)[0]),
        starts=starts,
        criterion_name=_text(data.get("criterion", "map")),
        lower_is_better=data.get("lower_is_better", True) is True,
        validation_name=None if data.get("validation") is None else _text(data["validation"]),
        validation_lower_is_better=data.get("validation_lower_is_better", True) is True,
        validation_total=or_none(float(_read_or_nan([data.get("validation_total")])[0])),
        evaluation=None if data.get("evaluation") is None else _text(data["evaluation"]),
        recoded=data.get("recoded") if data.get("recoded") in (True, False) else None,
        chosen=_read_chosen(data, len(names)),
    )


def _read_starts(data: dict[str, Any], n_starts: int, null_criterion: float, n_features: int) -> list[WalkStart]:
    if "starts" not in data:
        return [WalkStart(np.zeros(0, dtype=np.int64), null_criterion)] * n_starts
    starts = []
    if type(data["starts"]) is not list or any(type(walk) is not list or len(walk) != 3 for walk in data["starts"]):
        raise ValueError("the walks of the search do not say where they start")
    for features, criterion, validation in data["starts"]:
        held = _read(features, int)
        if held.size != np.unique(held).size or held.min(initial=0) < 0 or held.max(initial=0) >= n_features:
            raise ValueError("a walk of the search starts from features that are not there")
        value = float(_read_or_nan([criterion])[0])
        starts.append(WalkStart(held, value, float(_read_or_nan([validation])[0])))
    if len(starts) != n_starts:
        raise ValueError("the walks of the search do not all say where they start")
    return starts


def _read_chosen(data: dict[str, Any], n_features: int) -> np.ndarray | None:
    if "chosen" not in data:
        return None
    features = _read(data["chosen"], int)
    if features.min(initial=0) < 0 or features.max(initial=0) >= n_features:
        raise ValueError("the search chose features that are not there")
    chosen = np.zeros(n_features, dtype=bool)
    chosen[features] = True
    return chosen


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("the name of a criterion is not text")
    return value


def _read(values: Any, kind: type) -> np.ndarray:
    """A list of whole numbers, of finite numbers or of booleans; ValueError otherwise."""
    kinds = (int, float) if kind is float else (kind,)
    if type(values) is not list or not all(type(value) in kinds for value in values):
        raise ValueError("the moves of the search are not lists of numbers")
    try:
        array: np.ndarray = np.array(values, dtype=kind)
    except OverflowError:
        array = np.array([np.nan])
    if not np.all(np.isfinite(array)):
        raise ValueError("the moves of the search are numbers out of range")
    return array


def _read_or_nan(values: Any) -> np.ndarray:
    if type(values) is not list:
        raise ValueError("the moves of the search are not lists of numbers")
    array = np.full(len(values), np.nan)
    finite = [i for i, value in enumerate(values) if value is not None and value not in ("inf", "-inf")]
    array[finite] = _read([values[i] for i in finite], float)
    for i, value in enumerate(values):
        if isinstance(value, str):
            array[i] = float(value)
    return array


def _are_walks(moves: Moves, walk_of: np.ndarray, starts: list[WalkStart]) -> bool:
    """Whether moves stand walk after walk, and each adds a feature that is absent or drops one that is there."""
    order = np.lexsort((moves.feature, walk_of))
    feature, walk, adding = moves.feature[order], walk_of[order], moves.adding[order]
    same = (np.diff(feature) == 0) & (np.diff(walk) == 0)
    first = np.concatenate([[True], ~same])[: adding.size]
    held = np.array([f in starts[s].features for f, s in zip(feature[first], walk[first], strict=True)], dtype=bool)
    alternate = np.all(adding[1:] != adding[:-1], where=same)
    return bool(alternate and np.all(adding[first] != held) and np.all(np.diff(walk_of) >= 0))

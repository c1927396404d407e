"""A search trace to plain values for JSON, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.plain_values import Damaged, count, list_of, member, number_to_json, numbers, numbers_from_json, optional
from bayesieve.search.trace import Moves, SearchTrace, WalkStart, or_none

_KEYS = {
    *("null_criterion", "best_criterion", "n_starts", "n_models", "complete", "seconds"),
    *("start", "feature", "adding", "cost", "move_seconds"),
}
_LONGEST = 1e300  # seconds
_MOST_STARTS = 1_000_000  # in a file; more are a sign of damage, and each takes a row of the path


def trace_to_json(trace: SearchTrace) -> dict[str, Any]:
    """The accepted moves and the totals, as plain values.

    Walks from the empty subset need no more than their number; the others hold the subset that they start from.
    """
    accepted = trace.moves.accepted
    moves = trace.moves.at(accepted)
    data: dict[str, Any] = {
        "null_criterion": number_to_json(trace.null_criterion),
        "best_criterion": number_to_json(trace.best_criterion),
        "n_starts": trace.n_starts,
        "n_models": int(trace.n_models),
        "complete": bool(trace.complete),
        "seconds": trace.seconds,
        "start": trace.walk_of[accepted].tolist(),
        "feature": moves.feature.tolist(),
        "adding": moves.adding.tolist(),
        "cost": list(map(number_to_json, moves.cost.tolist())),
        "move_seconds": moves.seconds.tolist(),
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
            "starts": [
                [s.features.tolist(), number_to_json(s.criterion), number_to_json(s.validation)] for s in trace.starts
            ],
            "move_validation": list(map(number_to_json, moves.validation.tolist())),
        }
    if moves.again.any():
        data["again"] = np.flatnonzero(moves.again).tolist()
    if trace.ended is not None:
        data["ended"] = trace.ended
    if trace.chosen is not None:
        data["chosen"] = np.flatnonzero(trace.chosen).tolist()
    return data


def _is_plain(trace: SearchTrace) -> bool:
    from_empty = all(s.features.size == 0 and s.criterion == trace.null_criterion for s in trace.starts)
    return from_empty and trace.criterion_name == "map" and trace.validation_name is None


def trace_from_json(data: dict[str, Any], names: tuple[str, ...]) -> SearchTrace:
    """What ``trace_to_json`` wrote; ValueError with one sentence otherwise."""
    missing = sorted(_KEYS - set(data))
    if missing:
        raise Damaged(f"the search has no {missing[0]!r}")
    feature, start = list_of(data, "feature", int), list_of(data, "start", int)
    moves = Moves(
        feature=feature,
        adding=list_of(data, "adding", bool),
        cost=numbers_from_json(data["cost"], "criteria of the search"),
        accepted=np.ones(feature.size, dtype=bool),
        key=np.zeros(feature.size, dtype=np.uint64),
        seconds=numbers(data["move_seconds"], (feature.size,), "seconds of the search", 0.0, _LONGEST)
        if feature.size
        else np.zeros(0),
        validation=numbers_from_json(data.get("move_validation", [None] * feature.size), "validation of the search"),
        violation=np.zeros(feature.size),
        again=_subset(data.get("again", []), feature.size),
    )
    null_criterion, best_criterion = numbers_from_json(
        [data["null_criterion"], data["best_criterion"]], "criteria of the search"
    ).tolist()
    n_starts, n_models = count(data, "n_starts"), count(data, "n_models")
    fit = {part.size for part in (start, *vars(moves).values())} == {feature.size}
    fit = fit and feature.min(initial=0) >= 0 and feature.max(initial=0) < len(names)
    fit = fit and start.min(initial=0) >= 0 and start.max(initial=0) < n_starts <= _MOST_STARTS
    starts = _read_starts(data, n_starts, null_criterion, len(names)) if fit else []
    if not (fit and _are_walks(moves, start, starts)):
        raise Damaged("the moves of the search do not fit together")
    total = numbers_from_json([data.get("validation_total")], "validation rows of the search")[0]
    return SearchTrace(
        names,
        moves,
        walk_of=start,
        distinct=moves.accepted,
        null_criterion=null_criterion,
        best_criterion=best_criterion,
        n_models=n_models,
        complete=data["complete"] is True,
        seconds=float(numbers(data["seconds"], (), "seconds of the search", 0.0, _LONGEST)),
        starts=starts,
        criterion_name=optional(data, "criterion", str) or "map",
        lower_is_better=data.get("lower_is_better", True) is True,
        validation_name=optional(data, "validation", str),
        validation_lower_is_better=data.get("validation_lower_is_better", True) is True,
        validation_total=or_none(float(total)),
        evaluation=optional(data, "evaluation", str),
        recoded=optional(data, "recoded", bool),
        chosen=_subset(data["chosen"], len(names)) if "chosen" in data else None,
        ended=optional(data, "ended", str),
    )


def _read_starts(data: dict[str, Any], n_starts: int, null_criterion: float, n_features: int) -> list[WalkStart]:
    if "starts" not in data:
        return [WalkStart(np.zeros(0, dtype=np.int64), null_criterion)] * n_starts
    walks = member(data, "starts", list)
    if len(walks) != n_starts or any(type(walk) is not list or len(walk) != 3 for walk in walks):
        raise Damaged("the walks of the search do not all say where they start")
    starts = []
    for features, *values in walks:
        criterion, validation = numbers_from_json(values, "starts of the search").tolist()
        _subset(features, n_features)
        starts.append(WalkStart(np.array(features, dtype=np.int64), criterion, validation))
    return starts


def _subset(features: Any, n_features: int) -> np.ndarray:
    """(n_features,) bool: the features at these positions."""
    positions = list_of({"features": features}, "features", int)
    if len(set(features)) != positions.size or positions.min(initial=0) < 0 or positions.max(initial=-1) >= n_features:
        raise Damaged("the search holds features that are not there")
    return np.bincount(positions, minlength=n_features) > 0


def _are_walks(moves: Moves, walk_of: np.ndarray, starts: list[WalkStart]) -> bool:
    """Whether moves stand walk after walk, and each adds a feature that is absent, or drops or repeats one that is
    there.
    """
    order = np.lexsort((moves.feature, walk_of))
    feature, walk, adding = moves.feature[order], walk_of[order], moves.adding[order]
    same = (np.diff(feature) == 0) & (np.diff(walk) == 0)
    first = np.concatenate([[True], ~same])[: adding.size]
    at_start = {(s, f) for s, start in enumerate(starts) for f in start.features.tolist()}
    held = np.roll(adding, 1)  # before the move
    held[first] = [pair in at_start for pair in zip(walk[first].tolist(), feature[first].tolist(), strict=True)]
    fit = np.where(moves.again[order], held & adding, held != adding)
    return bool(np.all(fit) and np.all(np.diff(walk_of) >= 0))

"""Searches to draw in tests, as traces and as plain data."""

from __future__ import annotations

import numpy as np

from bayesieve.report.search import Step
from bayesieve.search import SearchTrace, TraceRecorder, WalkStart


def wrapper_trace(
    phases: list[list[tuple[int, bool, float, float]]],
    *,
    names: tuple[str, ...] = ("a", "b", "c", "d"),
    starts: list[tuple[list[int], float, float]] | None = None,
    complete: bool = True,
    validation_total: float | None = 400.0,
    criterion: str = "error_probability",
    lower_is_better: bool = True,
) -> SearchTrace:
    """Phases of (feature, adding, criterion, validation), each from (features, criterion, validation)."""
    starts = starts or [([], 0.5, 0.5)] * len(phases)
    walks = []
    for moves, (initial, at_start, validated) in zip(phases, starts, strict=True):
        walk = TraceRecorder(WalkStart(np.array(initial, dtype=np.int64), at_start, validated))
        for feature, adding, value, validation in moves:
            one = np.zeros(1, dtype=np.uint64)
            walk.record(
                np.array([feature]), np.array([adding]), np.array([value]), np.ones(1, bool), one, 0.1, validation
            )
        walks.append(walk)
    held_out = {} if validation_total is None else {"validation_name": "error", "validation_total": validation_total}
    return SearchTrace.of(
        names,
        walks,
        complete=complete,
        seconds=0.5,
        null_criterion=0.5,
        criterion_name=criterion,
        lower_is_better=lower_is_better,
        **held_out,
    )


def forward_trace(shift: float = 0.0, **options: object) -> SearchTrace:
    """Four features added; the validation error is lowest at two of them."""
    values = [(0, 0.3, 0.36), (1, 0.2, 0.2), (2, 0.18, 0.25), (3, 0.17, 0.25)]
    return wrapper_trace([[(f, True, c + shift, v + shift) for f, c, v in values]], **options)  # type: ignore[arg-type]


def floating_trace() -> SearchTrace:
    """Four features dropped one by one, then one added to the two that were best."""
    down = [(3, False, 0.16, 0.22), (2, False, 0.18, 0.2), (1, False, 0.3, 0.36), (0, False, 0.5, 0.5)]
    up = [(3, True, 0.17, 0.21)]
    return wrapper_trace([down, up], starts=[([0, 1, 2, 3], 0.17, 0.25), ([0, 1], 0.18, 0.2)])


def steps(sizes_and_values: list[tuple[int, float, float | None]]) -> list[Step]:
    """A path along sizes, with criterion and validation."""
    return [
        {"start": 0, "step": i, "n_features": size, "criterion": value, "validation": validation}
        for i, (size, value, validation) in enumerate(sizes_and_values)
    ]

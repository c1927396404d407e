"""Fitted evidence as plain values for JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.discretize.cells import coarser_codes
from bayesieve.naive_bayes import DiscreteNB
from bayesieve.plain_values import Damaged, member, numbers, numbers_from_json, read_by, table
from bayesieve.table import FeatureLevels
from bayesieve.table.table_levels import TableLevels

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB

LEAST_LOG = -1e5  # log probabilities and evidence beyond which sums could overflow: no table has them


def evidence_to_json(model: SelectiveNB, k: int) -> dict[str, Any]:
    """The fitted evidence of one feature, empty where there is none."""
    fitted = model.naive_bayes_.fitted_.get(k)
    if fitted is None:
        return {}
    finer = model.cells_ is not None and len(fitted) != model.encoder_.levels_[k].n_levels
    cells = {"cells": model.cells_[k].to_json()} if model.cells_ is not None and finer else {}
    return {"evidence": fitted.tolist(), **cells}


def set_evidence_from_json(
    predictor: DiscreteNB, data: dict[str, Any], levels: Sequence[FeatureLevels]
) -> TableLevels | None:
    """Let a predictor predict with the fitted evidence of a file, if it has such; returns the cells that it reads,
    None where it reads levels.
    """
    if "intercept" not in data:
        return None
    n_classes = predictor.class_count_.size
    intercept = numbers(numbers_from_json(member(data, "intercept", list), "intercepts"), (n_classes,), "intercepts")
    if not np.array_equal(np.isneginf(intercept), np.isneginf(predictor.class_log_prior_)):
        raise Damaged("its intercepts and class priors contradict each other")
    features = enumerate(data["features"])
    evidence, cells = {}, {}
    for k, feature in features:
        if "cells" in feature:
            cells[k] = _cells(feature["cells"], levels[k])
        if "evidence" in feature:
            shape = (cells.get(k, levels[k]).n_levels, n_classes)
            evidence[k] = table(feature["evidence"], shape, f"evidence of {levels[k].name!r}")
    if evidence:
        check_range(list(evidence.values()), [levels[k] for k in evidence], "evidence", LEAST_LOG, -LEAST_LOG)
    counts = {}
    for k, cell in cells.items():
        counts[k] = table(cell.counts, (cell.n_levels, n_classes), f"counts of {cell.name!r}")
    predictor.set_evidence(evidence, intercept, counts)
    return TableLevels.of([cells.get(k, level) for k, level in enumerate(levels)]) if cells else None


def _cells(data: Any, level: FeatureLevels) -> FeatureLevels:
    """Cells that are nested in the levels of their feature."""
    cells = read_by(FeatureLevels.from_json, data)
    alike = (cells.name, cells.kind, cells.type) == (level.name, level.kind, level.type)
    if not alike or (cells.missing_code is None) != (level.missing_code is None) or not _is_nested(cells, level):
        raise Damaged(f"its levels and cells of {level.name!r} contradict each other")
    return cells


def _is_nested(cells: FeatureLevels, level: FeatureLevels) -> bool:
    if cells.cut_points is not None and level.cut_points is not None:
        return bool(np.isin(level.cut_points[np.isfinite(level.cut_points)], cells.cut_points).all())
    assert cells.groups is not None
    assert level.groups is not None
    values = {value for group in level.groups for value in group}
    if values != {value for group in cells.groups for value in group}:
        return False
    group_of: Mapping[Any, int] = {value: at for at, group in enumerate(level.groups) for value in group}
    first = coarser_codes(cells, level).tolist()
    return all(group_of[value] == at for at, group in zip(first, cells.groups, strict=True) for value in group)


def check_range(tables: list[np.ndarray], levels: Sequence[FeatureLevels], what: str, low: float, high: float) -> None:
    joined = np.concatenate([part.ravel() for part in tables])
    wrong = ~((joined >= low) & (joined <= high))
    if wrong.any():
        feature = int(np.searchsorted(np.cumsum([part.size for part in tables]), int(np.argmax(wrong)), side="right"))
        raise Damaged(f"its {what} of {levels[feature].name!r} are out of range")

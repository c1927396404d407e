"""Levels by hand, and files of levels, for columns of any type."""

from __future__ import annotations

import datetime as dt
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from bayesieve import SelectiveNB
from bayesieve.discretize.rules import OTHERS
from bayesieve.table.values import canonical_text, is_missing
from tests.fuzz.case import Case, operation
from tests.fuzz.libraries import hold
from tests.fuzz.tables import Column, Drawn, draw_task


@operation(2)
def unedited_levels(case: Case) -> None:
    """A file of levels that nobody edited gives the same model, whatever columns hold and rules ask; levels by hand
    are not split.
    """
    table, y, weights = draw_task(case, most_rows=400)
    _, X = hold(case, table, nonsense=False)
    rules = rules_for(case, table)
    model = SelectiveNB(
        case.pick(("compression", "compression", "wrapper", "all")),
        pairs=case.pick((0, "auto", 3)),
        prior=case.pick(("sizes", "sizes", "published")),
        calibrate=case.pick(("auto", "levels", "weights", False)),
        levels=rules or None,
        random_state=0,
        n_jobs=1,
    )
    case.note(repr(rules))
    with case.step("fit"):
        model.fit(X, y, weights)
    _check_by_hand(case, model)
    path = case.folder / "levels.yaml"
    with case.step("write", must=True):
        text = model.levels_to_yaml(path)
    case.note(text[:2000])
    with case.step("fit again", must=True):
        again = clone(model).set_params(levels=path).fit(X, y, weights)
    case.same(again.predict_proba(X), model.predict_proba(X), "an unedited file gives the same model")
    case.check(again.levels_to_yaml() == text, "an unedited file is written again", again.levels_to_yaml())
    with case.step("keep the levels of the scorecard", must=True):
        kept = clone(model).set_params(levels=model.scorecard_).fit(X, y, weights)
    _check_by_hand(case, kept)


def _check_by_hand(case: Case, model: SelectiveNB) -> None:
    by_hand = set(model.scorecard_.provenance.get("by_hand", ()))
    for feature in model.scorecard_.features:
        if feature.name in by_hand:
            case.check(feature.cells is feature.levels, "levels by hand are not split", feature)
        elif len(feature.columns) > 1:
            case.check(by_hand.isdisjoint(feature.columns), "levels by hand are in no pair", feature)


def rules_for(case: Case, table: Drawn) -> dict[str, dict[str, Any]]:
    """Rules for some of the columns, which most of them can keep."""
    rules = {}
    for column in table.columns[:20]:
        known = [value for value in column.values if not is_missing(value)]
        if not known or case.chance(0.5) or not isinstance(column.name, str) or column.name == OTHERS:
            continue
        rule = case.pick(({"include": True}, {"exclude": True}, {"max_levels": 3}, {"min_rows": 0.1}, {}, None, None))
        rules[column.name] = (_of_numbers if _is_ordered(column, known) else _of_values)(case, known) | (rule or {})
        if rule == {"exclude": True}:
            rules[column.name] = {"exclude": True}
    return rules


def _is_ordered(column: Column, known: Sequence[Any]) -> bool:
    kinds = (numbers.Real, dt.date, dt.time)
    ordered = all(isinstance(value, kinds) and not isinstance(value, (bool, np.bool_)) for value in known)
    return (
        ordered and len({isinstance(value, numbers.Real) for value in known}) == 1 and column.kind != "zoned datetime"
    )


def _some(case: Case, known: Sequence[Any], most: int) -> list[Any]:
    distinct = list({canonical_text(value): value for value in known}.values())
    return [distinct[i] for i in case.rng.permutation(len(distinct))[: case.integer(1, most)]]


def _of_numbers(case: Case, known: Sequence[Any]) -> dict[str, Any]:
    is_number = isinstance(known[0], numbers.Real)
    cuts = [value for value in sorted(_some(case, known, 4)) if not is_number or np.isfinite(float(value))]
    by_hand: dict[str, Any] = {"cuts": cuts if is_number else [canonical_text(cut) for cut in cuts]}
    by_hand |= case.pick(({}, {}, {"coarsen": True}, {"cells": True}, {"missing": "apart"}, {"missing": "unseen"}))
    of_rows: dict[str, Any] = case.pick(({"max_rows": 0.3}, {"min_rows": 5}, {"max_levels": 2}, {"include": True}, {}))
    special = {} if case.chance(0.7) else {"special": [canonical_text(value) for value in _some(case, known, 2)]}
    return (by_hand if case.chance(0.6) else of_rows) | special


def _of_values(case: Case, known: Sequence[Any]) -> dict[str, Any]:
    texts = [canonical_text(value) for value in _some(case, known, 9)]
    n_groups = case.integer(1, 3)
    groups = [group for k in range(n_groups) if (group := texts[k::n_groups])]
    if case.chance(0.2):
        groups[0].append(None)  # type: ignore[arg-type]
    more: dict[str, Any] = case.pick(({}, {}, {"coarsen": True}, {"cells": True}, {"unseen": True}))
    of_rows: dict[str, Any] = case.pick(
        ({"min_rows": 5}, {"max_levels": 2}, {"missing": "apart"}, {"missing": texts[0]})
    )
    return {"groups": groups} | more if case.chance(0.6) else of_rows

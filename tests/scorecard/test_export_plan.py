"""A plan, read slowly and literally as its docstring has it, gives the probabilities and reasons of the model."""

from __future__ import annotations

import bisect
import datetime as dt
import math
import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve import SelectiveNB
from bayesieve.scorecard.export import targets
from bayesieve.scorecard.export.plan import Plan, Reader
from tests.cases import mostly_slow
from tests.scorecard.exported import CASES, case, check, hostile

EPOCH = dt.datetime(1970, 1, 1)


def number_of(value: Any, reader: Reader) -> Any:
    if reader.type == "date":
        return float((value - EPOCH.date()).days)
    if reader.type == "datetime":
        return (value - EPOCH) // dt.timedelta(microseconds=1)
    if reader.type == "time":
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    if reader.type == "duration":
        return value // dt.timedelta(microseconds=1)
    return value


def code(reader: Reader, row: dict[str, Any]) -> int:
    value = row[reader.column]
    if value is None or value != value:
        return reader.missing
    value = number_of(value, reader)
    if reader.is_text:
        if value in reader.keys:
            return reader.keys[value]
        bare = value.strip()
        return reader.keys.get(bare, reader.unseen if bare else reader.missing)
    if reader.cuts is None:
        return reader.keys.get(value, reader.unseen)
    value = float(value)
    return reader.keys.get(value, reader.first + bisect.bisect_left(reader.cuts, value))


def lines(plan: Plan, row: dict[str, Any]) -> list[np.ndarray]:
    codes = [code(reader, row) for reader in plan.readers]
    return [term.by_code[tuple(codes[k] for k in term.readers)] for term in plan.terms]


def score(model: SelectiveNB, frame: pl.DataFrame) -> list[np.ndarray]:
    plan, result = Plan.of(model.scorecard_, {}), []
    for row in frame.iter_rows(named=True):
        joint = plan.card.intercept + sum(lines(plan, row))
        share = np.exp(joint - joint.max())
        result.append(share / share.sum())
    return result


@pytest.mark.parametrize("name", CASES)
def test_probabilities(name: str) -> None:
    check(name, score)


@pytest.mark.parametrize("name", ["all kinds", "surfaces", "special values", "booleans"])
def test_log_odds_of_two_classes(name: str) -> None:
    model, frame = case(name)
    plan = Plan.of(model.scorecard_, {})
    intercept, tables = plan.log_odds
    for row in frame[:50].iter_rows(named=True):
        codes = [code(reader, row) for reader in plan.readers]
        odds = intercept + sum(
            table[tuple(codes[k] for k in term.readers)] for term, table in zip(plan.terms, tables, strict=True)
        )
        expected = model.predict_proba(pl.DataFrame([row], schema=frame.schema))[0, plan.card.positive]
        assert 1 / (1 + math.exp(-odds)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "against"),
    mostly_slow(
        product(["all kinds", "surfaces", "special values", "indicators", "labelled"], ["mean", "best"]),
        [("all kinds", "mean"), ("surfaces", "best"), ("special values", "mean"), ("indicators", "best")],
    ),
)
def test_reasons(name: str, against: Any) -> None:
    model, frame = case(name)
    rows = pl.concat([frame[:40], hostile(model, frame)])
    plan = Plan.of(model.scorecard_, {})
    parts, texts = plan.reason_parts(against=against), plan.reason_texts()
    expected = model.reasons(rows, against=against)
    for i, row in enumerate(rows.iter_rows(named=True)):
        codes = [code(reader, row) for reader in plan.readers]
        sums = {
            column: sum(table[tuple(codes[k] for k in plan.terms[at].readers)] for at, table in own)
            for column, own in parts.items()
        }
        order = sorted(sums, key=lambda column: round(sums[column], 9))  # stable: the first column of equal ones
        found = [column for column in order if round(sums[column], 9) < 0][:4]
        own = expected.filter(pl.col("row") == i)
        assert own["column"].to_list() == found
        assert own["contribution"].to_list() == pytest.approx([sums[column] for column in found], abs=1e-9)
        if name != "indicators":
            told = [texts[column][1][code(texts[column][0], row)] for column in found]
            assert own["text"].to_list() == told


def test_types_and_positions() -> None:
    model, frame = case("numbers")
    plan = Plan.of(model.scorecard_, {})
    assert list(plan.columns.items()) == [(name, "number") for name in frame.columns]


def test_reasons_of_several_classes_need_one() -> None:
    model, _ = case("all kinds, three classes")
    plan = Plan.of(model.scorecard_, {})
    with pytest.raises(ValueError, match="target_class="):
        plan.reason_parts()
    assert plan.reason_parts("low")


def test_every_export_is_compared_with_the_model_on_the_same_cases() -> None:
    texts = [file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("test_export_*.py")]
    for target in targets():
        assert any(f'"{target}"' in text and re.search(r"(case|check)\(name", text) for text in texts), target

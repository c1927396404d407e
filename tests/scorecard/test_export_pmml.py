"""PMML as a small reader of the standard has it and, by `make test-pmml`, two independent evaluators."""

from __future__ import annotations

import bisect
import datetime as dt
import gzip
import importlib
import math
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from lxml import etree

from bayesieve import SelectiveNB, TableEncoder
from tests.scorecard.exported import CASES, case, check, hostile

Rows = list[dict[str, Any]]
EPOCH = dt.datetime(1970, 1, 1)
MICROSECOND = dt.timedelta(microseconds=1)
HELD = [name for name in CASES if name != "codes"]


def given(value: Any) -> Any:
    """A value as the DataField has it."""
    if isinstance(value, dt.datetime):
        return float((value - EPOCH) // MICROSECOND)
    if isinstance(value, dt.date):
        return float((value - EPOCH.date()).days)
    if isinstance(value, dt.time):
        return float((dt.datetime.combine(EPOCH, value) - EPOCH) // MICROSECOND)
    return float(value // MICROSECOND) if isinstance(value, dt.timedelta) else value


def local(node: Any) -> str:
    return str(etree.QName(node).localname)


def mapping(node: Any) -> Callable[[dict[str, Any]], Any]:
    *pairs, table = node
    fields, kind = [pair.get("field") for pair in pairs], {"integer": int, "double": float}[node.get("dataType")]
    cells = {tuple(item.text or "" for item in row[:-1]): kind(row[-1].text) for row in table}
    missing, default = kind(node.get("mapMissingTo")), kind(node.get("defaultValue"))

    def look_up(row: dict[str, Any]) -> Any:
        values = [row[field] for field in fields]
        texts = tuple(str(value).lower() if isinstance(value, bool) else str(value) for value in values)
        return missing if None in values else cells.get(texts, default)

    return look_up


def discretizing(node: Any) -> Callable[[dict[str, Any]], Any]:
    bins, field, missing = list(node), node.get("field"), node.get("mapMissingTo")
    ends = [float(own[0].get("rightMargin") or math.inf) for own in bins]
    starts = [float(own[0].get("leftMargin") or -math.inf) for own in bins]
    assert starts == [-math.inf, *ends[:-1]]  # no gaps
    kind = int if node.get("dataType") == "integer" else str

    def look_up(row: dict[str, Any]) -> Any:
        value = row[field]
        if value is None or value != value:
            return kind(missing)
        at = bisect.bisect_left(ends, value)
        while not (
            (starts[at] < value or (starts[at] == value and bins[at][0].get("closure")[:6] == "closed"))
            and (value < ends[at] or (value == ends[at] and bins[at][0].get("closure")[-6:] == "Closed"))
        ):
            at += 1
        return kind(bins[at].get("binValue"))

    return look_up


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: None if a is None or b is None else a + b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "sum": lambda *values: sum(values),
    "exp": math.exp,
    "equal": lambda a, b: a == b,
    "if": lambda condition, yes, no: yes if condition else no,
    "replace": lambda text, pattern, new: (
        None
        if text is None
        else re.sub(
            pattern.replace(r"\p{Z}", "[ \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"),
            new.replace("$", "\\"),
            text,
            count=1,
        )
    ),
}


def expression(node: Any) -> Callable[[dict[str, Any]], Any]:
    tag = local(node)
    if tag == "FieldRef":
        return lambda row: row[node.get("field")]
    if tag == "Constant":
        value = {"integer": int, "double": float, "string": str}[node.get("dataType")](node.text)
        return lambda row: value
    if tag == "Apply":
        function, arguments = FUNCTIONS[node.get("function")], [expression(child) for child in node]
        return lambda row: function(*(argument(row) for argument in arguments))
    return {"MapValues": mapping, "Discretize": discretizing}[tag](node)


def children(node: Any, tag: str) -> list[Any]:
    return [child for child in node.iter() if local(child) == tag]


def literally(text: str, rows: Rows) -> Rows:
    """Outputs as the standard has them, missing numbers as None."""
    model = etree.fromstring(text.encode())[2]
    derived = [(node.get("name"), expression(node[0])) for node in children(model, "DerivedField")]
    outputs = children(model, "OutputField")
    sums = [
        (node.get("reasonCode"), float(node.get("baselineScore")), expression(children(node, "Apply")[0]))
        for node in children(model, "Characteristic")
    ]
    tables = {
        node.get("targetCategory"): (float(node.get("intercept")), [own.get("name") for own in node])
        for node in children(model, "RegressionTable")
    }
    results = []
    for values in rows:
        row = {name: None if value != value else value for name, value in values.items()}
        for name, compute in derived:
            row[name] = compute(row)
        if tables:
            joint = {label: start + sum(row[own] for own in names) for label, (start, names) in tables.items()}
            total = sum(math.exp(value) for value in joint.values())
            best = max(joint, key=joint.__getitem__)
            results.append(
                {
                    own.get("name"): math.exp(joint[own.get("value")]) / total if own.get("value") else best
                    for own in outputs
                }
            )
            continue
        parts = [(code, baseline, compute(row)) for code, baseline, compute in sums]
        points = {code: baseline - part for code, baseline, part in parts}
        ranked = [code for code in sorted(points, key=points.__getitem__, reverse=True) if points[code] > 0]
        for own in outputs:
            if own.get("feature") == "predictedValue":
                row[own.get("name")] = float(model.get("initialScore")) + sum(part for _, _, part in parts)
            elif own.get("feature") == "reasonCode":
                row[own.get("name")] = dict(enumerate(ranked, start=1)).get(int(own.get("rank")))
            else:
                row[own.get("name")] = expression(own[0])(row)
        results.append(row)
    return results


def jpmml(text: str, rows: Rows) -> Rows:
    """Outputs of JPMML-Evaluator."""
    import tempfile

    evaluator = importlib.import_module("jpmml_evaluator")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.pmml")
        path.write_text(text, encoding="utf-8", newline="")
        model = evaluator.make_evaluator(str(path)).verify()
    return [model.evaluate(dict(row)) for row in rows]


def pmml4s(text: str, rows: Rows) -> Rows:
    """Outputs of PMML4S."""
    model = importlib.import_module("pypmml").Model.fromString(text)
    return [model.predict(row) for row in rows]


EVALUATED = bool(os.environ.get("BAYESIEVE_PMML"))
engine = pytest.mark.skipif(not EVALUATED, reason="make test-pmml installs the evaluators and runs this")
ENGINES = [literally, pytest.param(jpmml, marks=engine), pytest.param(pmml4s, marks=engine)]


@cache
def exported(model: SelectiveNB, **options: Any) -> str:
    return str(model.export(to="pmml", **options))


def rows_of(frame: pl.DataFrame) -> Rows:
    return [{name: given(value) for name, value in row.items()} for row in frame.iter_rows(named=True)]


def probabilities(evaluate: Any, model: SelectiveNB, frame: pl.DataFrame) -> list[list[float]]:
    found = evaluate(exported(model), rows_of(frame))
    return [[row[f"probability({label})"] for label in model.classes_.tolist()] for row in found]


@pytest.mark.parametrize("evaluate", ENGINES)
@pytest.mark.parametrize("name", HELD)
def test_probabilities(name: str, evaluate: Any) -> None:
    check(name, lambda model, frame: probabilities(evaluate, model, frame))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("evaluate", ENGINES)
@pytest.mark.parametrize("against", ["mean", "best"])
@pytest.mark.parametrize(
    "name", ["all kinds", "booleans", "surfaces", "special values", "indicators", "odd names", "nothing"]
)
def test_reasons_and_classes(name: str, against: Any, evaluate: Any) -> None:
    model, frame = case(name)
    rows = pl.concat([frame[:20], hostile(model, frame)[::3]])
    text = exported(model, reasons=4, against=against)
    expected = model.reasons(rows, against="mean" if name == "nothing" else against)
    for i, row in enumerate(evaluate(text, rows_of(rows))):
        found = dict.fromkeys(row[f"reason {k}"] for k in range(1, 5))  # PMML4S repeats the last one
        assert [column for column in found if column] == expected.filter(pl.col("row") == i)["column"].to_list()[:4]
        assert row["predicted class"] == str(model.classes_[int(model.scorecard_.side * row["log odds"] > 0)])


@pytest.mark.filterwarnings("ignore:Some values were never seen")
@pytest.mark.parametrize("evaluate", ENGINES)
def test_texts_with_blanks_and_marks(evaluate: Any) -> None:
    words = ["a", " a", "", "b\tc", "x\r", "\u3000y", "]", "a]]>b", "&amp;", "<x y='z'/>", "{}", "$1", "q ", "\\"]
    y = np.arange(1200) % 2
    at = np.random.default_rng(0).integers(0, 7, y.size) + 7 * y * (np.arange(y.size) % 5 > 0)
    frame = pl.DataFrame({"]]> --> & \n": [words[k] for k in at]})
    model = SelectiveNB().fit(frame, np.array(["no ]", "yes & <]>"])[y])
    odd = [
        None,
        "\x1ca",
        "a\x1f",
        "a\x85",
        "\u2028a\u2029",
        "\ufeffa",
        "a\x00",
        "\x1c",
        " \n ",
        "a\r\n",
        "A",
        "]]",
        " ] ",
    ]
    rows = pl.DataFrame({frame.columns[0]: words + odd})
    expected = model.predict_proba(rows)
    assert np.ptp(expected[:, 1]) > 0.2
    np.testing.assert_allclose(probabilities(evaluate, model, rows), expected, rtol=0, atol=1e-12)
    found = evaluate(exported(model), rows_of(rows))
    assert [row["predicted class"] for row in found] == model.predict(rows).tolist()


@pytest.mark.parametrize("evaluate", ENGINES)
def test_numbers_as_categories(evaluate: Any) -> None:
    _, frame = case("codes")
    y = (np.random.default_rng(1).random(len(frame)) < frame["code"].to_numpy() / 7).astype(int)
    frame = frame.select("code", "rate")
    model = SelectiveNB(encoder=TableEncoder(kinds=dict.fromkeys(frame.columns, "categorical"))).fit(frame, y)
    rows = pl.concat([frame, pl.DataFrame({"code": [2**60 + 1, -1, None], "rate": [0.30000000000000004, 1e300, None]})])
    np.testing.assert_allclose(probabilities(evaluate, model, rows), model.predict_proba(rows), rtol=0, atol=1e-12)


@engine
@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_infinite_numbers_give_no_number(value: float) -> None:
    model, frame = case("special values")
    row = {**rows_of(frame[:1])[0], "income": value}
    with pytest.raises(Exception, match="invalid value"):
        jpmml(exported(model), [row])
    assert math.isnan(pmml4s(exported(model), [row])[0]["probability(1)"])


@pytest.mark.parametrize("name", HELD)
def test_fields_are_known_before_they_are_used(name: str) -> None:
    root = etree.fromstring(exported(case(name)[0]).encode())
    known = [node.get("name") for node in children(root, "DataField")]
    for node in [*children(root, "DerivedField"), *children(root, "OutputField")]:
        assert {used.get("field") for used in node.iter() if used.get("field")} <= set(known)
        known.append(node.get("name"))
    assert len(known) == len(set(known))
    model = root[2]
    assert [local(node) for node in model[:3]] == ["MiningSchema", "Output", "LocalTransformations"]
    assert {node.get("name") for node in children(model, "NumericPredictor")} <= set(known)
    for values in children(root, "MapValues"):
        assert {len(row) for row in values[-1]} == {len(values)}


@cache
def schema() -> Any:
    """The schema of PMML 4.4 by the Data Mining Group, as JPMML-Model 1.7.7 (BSD-3-Clause) ships it."""
    return etree.XMLSchema(etree.fromstring(gzip.decompress(Path(__file__).with_name("pmml-4.4.xsd.gz").read_bytes())))


@pytest.mark.parametrize("name", HELD)
def test_schema(name: str) -> None:
    model = case(name)[0]
    options = {"reasons": 3} if len(model.classes_) == 2 else {}
    schema().assertValid(etree.fromstring(exported(model, counts=True, **options).encode()))


def test_head_and_counts() -> None:
    model = case("odd names")[0]
    root = etree.fromstring(exported(model, counts=True, name='--> "x" ]]> \n\r\t').encode())
    facts = {node.get("name"): node.get("value") for node in children(root, "Extension")}
    assert facts["model"] == '--> "x" ]]> \n\r\t'
    assert {"exported", "bayesieve", "rows", "checksum"} <= set(facts)
    counted = [value for name, value in facts.items() if name.startswith("rows: tab\there")]
    assert sum(float(count) for value in counted for count in value.split()) == model.n_rows_
    assert not any(name.startswith("rows: ") for name in re.findall('name="([^"]*)"', exported(model)))


def test_names_that_the_document_uses() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    frame = pl.DataFrame({name: rng.normal(y) for name in ("class", "log odds", "probability(1)", "code of class")})
    model = SelectiveNB(pairs=0).fit(frame, y)
    found = literally(exported(model), rows_of(frame))
    expected = model.predict_proba(frame)[:, 1]
    np.testing.assert_allclose([row["probability(1)_"] for row in found], expected, rtol=0, atol=1e-12)


def test_refusals() -> None:
    with pytest.raises(
        ValueError, match=r"PMML cannot represent values such as \d+ of the column 'id'; fit the model to"
    ):
        case("codes")[0].export(to="pmml")
    with pytest.raises(ValueError, match="reasons of more than two classes; omit reasons="):
        case("all kinds, three classes")[0].export(to="pmml", reasons=1)
    with pytest.raises(ValueError, match=r"PMML cannot represent the character '\\x07'; rename"):
        case("nothing")[0].export(to="pmml", name="bell\x07")
    for wrong in ({"reasons": -1}, {"reasons": 1.5}, {"against": "worst"}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
            case("nothing")[0].export(to="pmml", **wrong)

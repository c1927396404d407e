"""Models as programs of Python and JavaScript: probabilities, reasons and readings as the model has them."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
import shutil
import subprocess
import sys
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve import SelectiveNB, TableEncoder
from bayesieve.table.values import canonical_text
from tests.cases import mostly_slow
from tests.scorecard.exported import CASES, case, check, hostile

WITH_REASONS = ["all kinds", "surfaces", "special values", "indicators", "labelled", "codes"]
GERMAN = Path(__file__).parents[2] / "examples" / "data" / "german_credit.csv"
NODE = shutil.which("node")
needs_r = pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")
RUNNER = """
const fs = require("fs");
const revive = (_, value) => {
  if (value === null || typeof value !== "object") return value;
  if ("$big" in value) return BigInt(value.$big);
  if ("$date" in value) return new Date(value.$date);
  return "$number" in value ? Number(value.$number) : value;
};
const { score } = require(process.argv[2]);
const results = JSON.parse(fs.readFileSync(0, "utf8"), revive).map(({ row, reasons }) => {
  try {
    return score(row, { reasons });
  } catch (error) {
    return { error: error.message };
  }
});
process.stdout.write(JSON.stringify(results, (_, value) => (typeof value === "bigint" ? String(value) : value)));
"""


def program(model: SelectiveNB, **options: Any) -> Any:
    """The namespace of the export to Python."""
    names: dict[str, Any] = {"__name__": "scoring"}
    exec(compile(model.export(to="python", **options), "scoring.py", "exec"), names)
    return names["score"]


def of_python(model: SelectiveNB, frame: pl.DataFrame) -> list[list[float]]:
    score = program(model)
    return [list(score(row, reasons=0)["probabilities"].values()) for row in frame.iter_rows(named=True)]


def tagged(value: Any) -> Any:
    """A value as the runner of JavaScript reads it."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"$number": {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")}
    if isinstance(value, int) and abs(value) >= 2**53:
        return {"$big": str(value)}
    if isinstance(value, dt.timedelta):
        return value / dt.timedelta(milliseconds=1)
    return value.isoformat() if isinstance(value, (dt.date, dt.time)) else value


def in_node(model: SelectiveNB, rows: Any, folder: Path, reasons: int | None = 4, **options: Any) -> list[Any]:
    """What the export to JavaScript returns for rows."""
    file, runner = folder / "scoring.js", folder / "run.js"
    model.export(file, **options)
    runner.write_text(RUNNER, encoding="utf-8")
    given = json.dumps([{"row": {k: tagged(v) for k, v in row.items()}, "reasons": reasons} for row in rows])
    done = subprocess.run([str(NODE), runner, file], input=given.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", CASES)
def test_python_gives_the_probabilities(name: str) -> None:
    check(name, of_python)


@needs_node
@pytest.mark.parametrize("name", mostly_slow(CASES, sorted({*CASES} - {"levels", "booleans", "numbers", "labelled"})))
def test_javascript_gives_the_probabilities(name: str, tmp_path: Path) -> None:
    model, frame = case(name)
    rows = pl.concat([frame, hostile(model, frame)])
    found = [own["probabilities"] for own in in_node(model, rows.iter_rows(named=True), tmp_path, reasons=0)]
    check(name, lambda _, part: found[: len(frame)] if part is frame else found[len(frame) :])


def as_r(column: pl.Series) -> str:
    """A column as a vector of R."""

    def text(value: Any) -> str:
        plain = value.replace("\0", "?")  # which texts of R cannot hold
        return '"' + "".join(c if c.isascii() and c.isalnum() else f"\\U{ord(c):08x}" for c in plain) + '"'

    def vector(values: list[str]) -> str:
        entries = ",\n".join(values)  # Rscript cuts lines after 4,095 bytes
        return f"c({entries})"

    values = [None if value is None or value != value else value for value in column.to_list()]
    epoch = dt.datetime(1970, 1, 1)
    if column.dtype == pl.Date:
        days = ["NA" if v is None else repr((v - epoch.date()).days) for v in values]
        return f"as.Date({vector(days)}, origin = '1970-01-01')"
    if isinstance(column.dtype, pl.Datetime):
        seconds = ["NA" if v is None else repr((v - epoch).total_seconds()) for v in values]
        return f"as.POSIXct({vector(seconds)}, origin = '1970-01-01', tz = 'UTC')"
    if isinstance(column.dtype, pl.Duration):
        seconds = ["NA" if v is None else repr(v.total_seconds()) for v in values]
        return f"as.difftime({vector(seconds)}, units = 'secs')"
    if column.dtype in (pl.String, pl.Time):
        return vector(["NA_character_" if v is None else text(str(v)) for v in values])
    return vector(["NA" if v is None else str(v).upper() if isinstance(v, bool) else repr(v) for v in values])


def in_r(model: SelectiveNB, frame: pl.DataFrame, folder: Path, call: str, **options: Any) -> list[list[str]]:
    """The lines of the data frame that a call in R returns, without the header."""
    model.export(folder / "scoring.R", **options)
    columns = ",".join(as_r(column) for column in frame)
    names = as_r(pl.Series(frame.columns))
    code = f"""source("scoring.R")
rows <- structure(list({columns}), names = {names}, class = "data.frame", row.names = seq_len({len(frame)}))
write.csv(format({call}, digits = 17), "result.csv", row.names = FALSE, fileEncoding = "UTF-8")
"""
    (folder / "run.R").write_text(code, encoding="utf-8")
    done = subprocess.run(["Rscript", "--vanilla", "run.R"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with (folder / "result.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


@needs_r
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if name != "codes"])
def test_r_gives_the_probabilities(name: str, tmp_path: Path) -> None:
    model, frame = case(name)
    rows = pl.concat([frame, hostile(model, frame)])
    n = len(model.classes_)
    found = [[float(share) for share in line[-n:]] for line in in_r(model, rows, tmp_path, "score(rows)")]
    check(name, lambda _, part: found[: len(frame)] if part is frame else found[len(frame) :])


@needs_r
@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), [("all kinds", {}), ("all kinds, three classes", {"against": "best"})])
def test_reasons_in_r(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    model, frame = case(name)
    rows = frame[:40]
    expected = model.reasons(rows, n=3, **options)
    found = in_r(model, rows, tmp_path, "reasons(rows, 3)", **options)
    assert [line[2] for line in found] == expected["column"].to_list()
    assert [line[3].strip() for line in found] == [text.strip() for text in expected["text"]]
    np.testing.assert_allclose([float(line[4]) for line in found], expected["contribution"], rtol=0, atol=1e-12)


def test_literals_of_r_are_ascii() -> None:
    frame = pl.DataFrame({'a"\\\u00e9\n': ["x", "\U0001f600"] * 50, "b": [0.5, math.nan] * 50})
    script = SelectiveNB("all", calibrate=False, pairs=0).fit(frame, [True, False] * 50).export(to="r")
    assert script.isascii()
    assert r'"a\"\\\U000000e9\U0000000a"' in script
    assert r'"\U0001f600"' in script
    assert "TRUE" in script


def test_r_refuses_whole_numbers_that_it_rounds() -> None:
    with pytest.raises(ValueError, match=r"beyond 2\*\*53 of column 'id'; train on them as text"):
        case("codes")[0].export(to="r")


def told(expected: pl.DataFrame, n_rows: int) -> list[list[tuple[str, str, float]]]:
    """Reasons of the model by row."""
    rows: list[list[tuple[str, str, float]]] = [[] for _ in range(n_rows)]
    for row, column, text, contribution in expected.select("row", "column", "text", "contribution").iter_rows():
        rows[row].append((column, text, contribution))
    return rows


def check_reasons(found: list[Any], expected: list[Any]) -> None:
    for ours, own in zip(found, expected, strict=True):
        assert [(one["column"], one["text"]) for one in ours] == [one[:2] for one in own]
        np.testing.assert_allclose([one["contribution"] for one in ours], [one[2] for one in own], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "options"),
    mostly_slow(
        [
            *((name, {"against": "mean"}) for name in WITH_REASONS),
            ("surfaces", {"against": "best"}),
            ("indicators", {"against": "best"}),
            ("all kinds", {"target_class": 0}),
            ("all kinds, three classes", {}),
            ("all kinds, three classes", {"against": "best"}),
            ("all kinds, three classes", {"against": "best", "target_class": "low"}),
        ],
        [
            *((name, {"against": "mean"}) for name in WITH_REASONS if name not in ("surfaces", "indicators")),
            ("surfaces", {"against": "best"}),
            ("indicators", {"against": "best"}),
            ("all kinds, three classes", {"against": "best", "target_class": "low"}),
        ],
    ),
)
def test_reasons(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    model, frame = case(name)
    rows = pl.concat([frame[:40], hostile(model, frame)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = told(model.reasons(rows, n=3, **options), len(rows))
    score = program(model, **options)
    check_reasons([score(row, 3)["reasons"] for row in rows.iter_rows(named=True)], expected)
    if NODE:
        found = in_node(model, rows.iter_rows(named=True), tmp_path, reasons=3, **options)
        check_reasons([own["reasons"] for own in found], expected)
        for own in (one["contributions"] for one in found):
            added = sum(feature["contribution"] for feature in own["features"])
            assert own["intercept"] + added == pytest.approx(own["total"], abs=1e-12)


@cache
def german() -> SelectiveNB:
    frame = pl.read_csv(GERMAN)
    return SelectiveNB().fit(frame.drop("class"), frame["class"])


def texts_as_others_write_them(model: SelectiveNB, frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of texts, well and badly written."""
    texts = pl.DataFrame(
        {name: [v if v is None else canonical_text(v) for v in frame[name][:30]] for name in frame.columns},
        schema=dict.fromkeys(frame.columns, pl.String),
    )
    odd = [None, "", " ", "NA", "nan", "?", "x", "1_0", "0x1", " 1e0 ", "+.5", "5.", "01", "1,5", "true", "FALSE"]
    odd += ["\x1c1", "\x851", "\u30001", "\ufeff1", "-0.0", "1152921504606846979", "1152921504606846979.0", "1.0"]
    odd += ["2021-03-01", "2021-04-02T12:30", "2021-04-02 12:30:01.5Z", "2021-04-02T23:59:59.123456789+0130"]
    odd += ["2021-02-30", "2021-13-01", "0001-01-01", "9999-12-31 23:59:59-05:00", "12:30", "23:59:59.999999"]
    odd += ["25:00:00", "12:00:00+01:00", "1d", "-1d 02:00:00", "0d", "00:00:00.5", "-02:00"]
    first = texts.row(0, named=True)
    rows = [{**first, name: text} for name in texts.columns for text in odd]
    return pl.concat([texts, pl.DataFrame(rows, schema=texts.schema)])


@pytest.mark.parametrize(
    "name",
    mostly_slow(["all kinds", "codes", "special values", "durations", "numbers"], ["all kinds", "codes", "durations"]),
)
def test_texts_are_read_as_the_model_reads_them(name: str, tmp_path: Path) -> None:
    model, frame = case(name)
    rows = texts_as_others_write_them(model, frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = model.predict_proba(rows)
    np.testing.assert_allclose(of_python(model, rows), expected, rtol=0, atol=1e-12)
    if NODE:
        found = in_node(model, rows.iter_rows(named=True), tmp_path, reasons=0)
        np.testing.assert_allclose([own["probabilities"] for own in found], expected, rtol=0, atol=1e-12)


def hostile_model() -> tuple[SelectiveNB, pl.DataFrame]:
    """Names, labels of classes and values that could end a text, a comment or a script."""
    y = np.arange(300) % 2
    values = np.array(["</script><script>alert(1)</script>", "<!-- \u2028 ${1} `"])[(y + (np.arange(300) % 7 == 0)) % 2]
    names = ['"""', "*/ //", "a\\", "b\nc", "__proto__", "</script>", "constructor", "__MODEL__"]
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"v\u2028": values, **{name: rng.normal(2 * y).round(1) for name in names}})
    return SelectiveNB(pairs=0).fit(frame, np.array(["\\", "\n'\"</script>"])[y]), frame


def test_hostile_names_stay_texts(tmp_path: Path) -> None:
    model, frame = hostile_model()
    rows = frame[:20].to_dicts()
    expected = model.predict_proba(frame[:20])
    score = program(model, name="x\ny */ </script>", counts=True)
    scored = [score(row) for row in rows]
    np.testing.assert_allclose([list(own["probabilities"].values()) for own in scored], expected, rtol=0, atol=1e-12)
    assert list(scored[0]["probabilities"]) == model.classes_.tolist()
    script = model.export(to="javascript", name="x\ny */ </script>", counts=True)
    assert not any(mark in script for mark in ("</script", "<script", "<!--", "\u2028"))
    if NODE:
        found = in_node(model, rows, tmp_path, counts=True)
        np.testing.assert_allclose([own["probabilities"] for own in found], expected, rtol=0, atol=1e-12)
        assert [own["predicted"] for own in found] == [own["predicted"] for own in scored]


def test_values_of_python_objects() -> None:
    model, frame = case("all kinds")
    score, row = program(model), frame.row(3, named=True)
    moment = dt.datetime(2021, 3, 1, 14, 0, 0, 123, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    plain = {**row, "moment": dt.datetime(2021, 3, 1, 12, 0, 0, 123)}
    assert score({**row, "moment": moment}) == score(plain)
    assert score({**row, "number": np.float64(0.5), "whole": np.int64(3)}) == score({**row, "number": 0.5, "whole": 3})
    with pytest.raises(ValueError, match="'number' contains infinity"):
        score({**row, "number": math.inf})
    with pytest.raises(ValueError, match="lacks the column 'text'"):
        score({name: value for name, value in row.items() if name != "text"})


@needs_node
def test_values_of_javascript(tmp_path: Path) -> None:
    model, frame = case("all kinds")
    row = frame.row(3, named=True)
    milliseconds = 1614600000000
    given = {**row, "moment": "2021-03-01T12:00:00Z", "day": "2021-03-01"}
    rows = [given, {**given, "moment": {"$date": milliseconds}}]
    rows += [{**given, "moment": milliseconds, "whole": str(row["whole"])}]
    rows += [{**given, "number": math.inf}, {name: value for name, value in row.items() if name != "text"}]
    first, *same, infinite, lacking = in_node(model, rows, tmp_path)
    assert same == [first, first]
    assert "'number' contains infinity" in infinite["error"]
    assert "lacks the column 'text'" in lacking["error"]


@needs_node
def test_javascript_runs_as_module_and_as_script_without_eval(tmp_path: Path) -> None:
    german().export(tmp_path / "model.mjs", module=True)
    german().export(tmp_path / "model.js")
    code = """
        import { model as first } from "./model.mjs";
        import { score, model as second } from "./model.js";
        import { readFileSync } from "fs";
        import { createContext, runInContext } from "vm";
        const page = createContext({}, { codeGeneration: { strings: false } });
        runInContext(readFileSync("model.js", "utf8"), page);
        console.log(first.classes.length, second.columns[0].name, typeof score, typeof page.scoring.score);
    """
    (tmp_path / "run.mjs").write_text(code, encoding="utf-8")
    done = subprocess.run([str(NODE), "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "checking_status", "function", "function"]


def test_python_scores_a_file_without_packages(tmp_path: Path) -> None:
    german().export(tmp_path / "scoring.py")
    done = subprocess.run(
        [sys.executable, "-S", "-I", tmp_path / "scoring.py", GERMAN], capture_output=True, text=True, check=True
    )
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    expected = german().predict_proba(pl.read_csv(GERMAN).drop("class"))
    assert [row["prediction"] for row in rows[:3]] == german().predict(pl.read_csv(GERMAN).drop("class")[:3]).tolist()
    found = [[float(row["P(bad)"]), float(row["P(good)"])] for row in rows]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_python_is_fast() -> None:
    score = program(german())
    rows = pl.read_csv(GERMAN)[:200].to_dicts()
    seconds = []
    for _ in range(20):
        started = time.perf_counter()
        for row in rows:
            score(row)
        seconds.append((time.perf_counter() - started) / len(rows))
    assert min(seconds) < 200e-6


def test_head_and_counts() -> None:
    names: dict[str, Any] = {}
    exec(german().export(to="python", name="credit", counts=True), names)
    model = names["MODEL"]
    assert model["head"]["model"] == "credit"
    assert model["head"]["rows"] == "1,000"
    first = german().scorecard_.features[german().scorecard_.used[0]]
    assert [cell[2] for cell in model["terms"][0]["cells"][:-1]] == first.counts.tolist()
    assert len(german().export(to="python")) < len(german().export(to="python", counts=True))
    assert '"model": "credit"' in german().export(to="javascript", name="credit")


def test_labels_keep_their_types() -> None:
    for name, labels in (("booleans", [False, True]), ("codes", [0, 1])):
        model, frame = case(name)
        score = program(model)
        found = score(frame.row(0, named=True))
        assert list(found["probabilities"]) == labels
        assert type(found["predicted"]) is type(labels[0])


def test_texts_can_be_left_out() -> None:
    short = german().export(to="python", texts=False)
    assert len(short) < 0.8 * len(german().export(to="python"))
    row = pl.read_csv(GERMAN).row(0, named=True)
    reasons, full = (program(german(), texts=own)(row)["reasons"] for own in (False, True))
    assert [{**one, "text": ""} for one in full] == reasons


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"against": "worst"}, "against must be"),
        ({"texts": "no"}, "texts must be"),
        ({"target_class": "ugly"}, "must be a class"),
        ({"width": 3}, "no option 'width'"),
    ],
)
def test_wrong_options(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        german().export(to="javascript", **options)


def test_mixed_columns(tmp_path: Path) -> None:
    import pandas as pd

    values: Any = [1, "a", 2.5, None, "1.0", "b", True, 1e-7] * 40
    y = [value in (1, "a", 2.5) for value in values]
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    model = SelectiveNB(encoder=TableEncoder(kinds={"x": "categorical"})).fit(frame, y)
    odd: Any = [1, 1.0, "1", " 1", "1.0", "01", "a", "a ", "2.50", 2.5, None, "", " ", "NA", True, False, "true", 1e-7]
    rows = pd.DataFrame({"x": pd.Series(odd, dtype=object)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = np.array([model.predict_proba(rows[i : i + 1])[0] for i in range(len(rows))])
    score = program(model)
    found = np.array([list(score({"x": value})["probabilities"].values()) for value in odd])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    if NODE:
        scored = in_node(model, [{"x": value} for value in odd], tmp_path)
        np.testing.assert_allclose([own["probabilities"] for own in scored], expected, rtol=0, atol=1e-12)

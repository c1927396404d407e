"""Workbooks score rows as the model does, in an engine that computes their formulas."""

from __future__ import annotations

import datetime as dt
import io
import os
import re
import subprocess
import zipfile
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve import SelectiveNB
from bayesieve.scorecard.export.plan import Plan
from tests.cases import mostly_slow
from tests.scorecard.exported import CASES, case, hostile, probabilities

formualizer = pytest.importorskip("formualizer")
HELD = [name for name in CASES if name != "codes"]
FIRST_DAY = dt.date(1900, 3, 1)


def held(model: SelectiveNB, frame: pl.DataFrame) -> pl.DataFrame:
    """Rows that a workbook can hold: no days before March 1900, numbers of at most 15 digits, no empty texts."""

    def digits(value: float) -> float:
        return float(f"{value:.15g}") if abs(value) > 1e-300 else 0.0

    plain = [
        pl.col(pl.Float64).map_elements(digits, return_dtype=pl.Float64),
        pl.col(pl.Int64).clip(-(10**14), 10**14),
    ]
    early = [pl.col(name) < FIRST_DAY for name, dtype in frame.schema.items() if dtype == pl.Date]
    early += [pl.col(name) < pl.datetime(1900, 3, 1) for name, dtype in frame.schema.items() if dtype == pl.Datetime]
    rows = hostile(model, frame)
    rows = pl.concat([frame[:10], rows.gather_every(1 + rows.height // 150)]).with_columns(*plain)
    empty = [pl.col(name) == "" for name, dtype in frame.schema.items() if dtype == pl.String]
    return rows.filter(~pl.any_horizontal(*early, *empty, pl.lit(False)).fill_null(False))


def filled(data: bytes, model: SelectiveNB, rows: pl.DataFrame) -> Any:
    """The workbook with rows pasted, and those columns."""
    book, names = formualizer.load_workbook_bytes(data), list(Plan.of(model.scorecard_, {}).columns)
    for line, row in enumerate(rows.iter_rows(named=True), 2):
        for column, name in enumerate(names, 1):
            value = row[name]
            if isinstance(value, dt.timedelta):
                value = value / dt.timedelta(days=1)
            if value is not None and value == value:
                book.set_value("Rows", line, column, value)
    return book, names


def computed(model: SelectiveNB, rows: pl.DataFrame) -> tuple[list[list[Any]], Any, list[str]]:
    """Probabilities of pasted rows, the workbook and its columns."""
    book, names = filled(model.export(to="excel", rows=rows.height), model, rows)
    first, lines = len(names) + 1, range(2, rows.height + 2)
    every = range(first, first + len(model.classes_))
    return [[book.evaluate_cell("Rows", line, column) for column in every] for line in lines], book, names


def of_workbook(model: SelectiveNB, rows: pl.DataFrame) -> list[list[Any]]:
    """Probabilities of pasted rows; those of an empty row are missing."""
    return [[own if isinstance(own, float) else np.nan for own in line] for line in computed(model, rows)[0]]


@pytest.mark.parametrize("name", mostly_slow(HELD, ["indicators", "numbers", "nothing", "durations"]))
def test_probabilities(name: str) -> None:
    model, frame = case(name)
    rows = held(model, frame)
    found, book, names = computed(model, rows)
    whole = [i for i, own in enumerate(found) if all(isinstance(value, float) for value in own)]
    assert len(whole) >= rows.height - 1  # a row without values is left empty
    expected = probabilities(model, rows)
    np.testing.assert_allclose(np.array([found[i] for i in whole]), expected[whole], rtol=0, atol=1e-12)
    if len(model.classes_) == 2:
        scores = model.points().score(rows)
        assert [book.evaluate_cell("Rows", i + 2, len(names) + 3) for i in whole] == scores[whole].tolist()


@pytest.mark.parametrize("name", ["all kinds", "booleans", "surfaces", "special values", "labelled"])
def test_reasons_of_the_applicant(name: str) -> None:
    model, frame = case(name)
    rows = held(model, frame)
    names, data, points = list(Plan.of(model.scorecard_, {}).columns), model.export(to="excel", rows=1), model.points()
    for row in rows[:6].iter_rows(named=True):
        book = formualizer.load_workbook_bytes(data)
        for line, column in enumerate(names, 4):
            if row[column] is not None and row[column] == row[column]:
                book.set_value("Score", line, 2, row[column])
        one = pl.DataFrame([row], schema=rows.schema)
        shown = [book.evaluate_cell("Score", line, 4) for line in range(9, 13)]
        words = Plan.of(model.scorecard_, {}).words
        assert [text for text in shown if text] == [words.name(own) for own in model.reasons(one)["column"].to_list()]
        assert book.evaluate_cell("Score", 5, 5) == pytest.approx(model.predict_proba(one)[0, 1], abs=1e-12)
        assert book.evaluate_cell("Score", 6, 5) == points.score(one)[0]


@pytest.mark.parametrize("name", ["all kinds", "all kinds, three classes"])
def test_cached_results_are_those_of_formulas(name: str) -> None:
    model, frame = case(name)
    empty = pl.DataFrame([dict.fromkeys(frame.columns)], schema=frame.schema)
    archive = zipfile.ZipFile(io.BytesIO(model.export(to="excel", rows=1)))
    sheet = archive.read("xl/worksheets/sheet1.xml").decode()
    found = [float(text) for text in re.findall(r"<v>(-?[0-9][0-9.e-]*)</v>", sheet)]
    for value in model.predict_proba(empty)[0].tolist():
        assert min(abs(own - value) for own in found) < 1e-12
    if len(model.classes_) == 2:
        reasons = re.findall(r"<c [^>]*t=\"str\"[^>]*><f>[^<]*</f><v>([^<]+)</v>", sheet)
        assert reasons == model.reasons(empty)["column"].to_list()


def test_texts_stay_texts() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    odd = ["=1+1", "{=2}", "http://x", "-->", "a\nb"]
    frame = pl.DataFrame({"=cmd": [odd[int(v)] for v in rng.integers(0, 3, 300) + 2 * y]})
    model = SelectiveNB().fit(frame, y)
    data = model.export(to="excel", rows=3, name="=1+1")
    archive = zipfile.ZipFile(io.BytesIO(data))
    sheets = [archive.read(name).decode() for name in archive.namelist() if name.startswith("xl/worksheets/sheet")]
    assert not any(f"<f>{formula}</f>" in sheet for sheet in sheets for formula in ("1+1", "2", "cmd"))
    book, _ = filled(data, model, frame[:3])
    found = [book.evaluate_cell("Rows", line, 3) for line in (2, 3, 4)]
    assert found == pytest.approx(model.predict_proba(frame[:3])[:, 1].tolist(), abs=1e-12)


def test_head_and_counts() -> None:
    model, _ = case("labelled")
    archive = zipfile.ZipFile(io.BytesIO(model.export(to="excel", rows=1, counts=True, name="*/ <b> -->")))
    texts = archive.read("xl/sharedStrings.xml").decode()
    assert all(word in texts for word in ("checksum", "400", "Rows of good", "*/ &lt;b&gt; --&gt;", "Ratio"))


def test_what_is_refused() -> None:
    model, _ = case("codes")
    with pytest.raises(ValueError, match="numbers of more than 15 digits of column"):
        model.export(to="excel")
    model, frame = case("all kinds")
    for options in ({"rows": -1}, {"reasons": -1}, {"pdo": 0}):
        with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
            model.export(to="excel", **options)
    data = model.export(to="excel", rows=2)
    book, names = filled(data, model, frame[:1])
    book.set_value("Rows", 2, 1 + names.index("number"), "many")
    assert not isinstance(book.evaluate_cell("Rows", 2, len(names) + 1), float)
    book.set_value("Rows", 2, 1 + names.index("number"), 1.0)
    book.set_value("Rows", 2, 1 + names.index("day"), 10)
    assert not isinstance(book.evaluate_cell("Rows", 2, len(names) + 1), float)


@pytest.mark.skipif(not os.environ.get("BAYESIEVE_LIBREOFFICE"), reason="make test-excel runs LibreOffice")
@pytest.mark.parametrize("name", HELD)
def test_libreoffice(name: str, tmp_path: Path) -> None:
    """LibreOffice computes what has no cached results, as in files that openpyxl writes. It takes numbers that differ
    in the fifteenth digit for equal, so rows with numbers next to a cut are left out.
    """
    import openpyxl

    model, frame = case(name)
    rows = held(model, frame)
    near = []
    for reader in Plan.of(model.scorecard_, {}).readers:
        if reader.cuts and reader.type == "number":
            values = rows.select(pl.col(reader.column).cast(pl.Float64).fill_nan(None))
            close = np.isclose(values.to_numpy().astype(float), np.array(reader.cuts), rtol=1e-13, atol=0)
            near.append(close.any(axis=1))
    rows = rows.filter(pl.Series(~np.any(near, axis=0))) if near else rows
    model.export(tmp_path / "empty.xlsx", rows=rows.height)
    book = openpyxl.load_workbook(tmp_path / "empty.xlsx")
    names = list(Plan.of(model.scorecard_, {}).columns)
    for line, row in enumerate(rows.iter_rows(named=True), 2):
        for column, own in enumerate(names, 1):
            value = row[own]
            if isinstance(value, dt.timedelta):
                value = value / dt.timedelta(days=1)
            if value is not None and value == value:
                cell = book["Rows"].cell(line, column, value)
                cell.data_type = "s" if isinstance(value, str) else cell.data_type
    book.active = book.sheetnames.index("Rows")
    for other in ("Score", "Scorecard"):
        book[other].sheet_state = "visible"
    book.save(tmp_path / "filled.xlsx")
    where = f"-env:UserInstallation=file://{tmp_path}/profile"
    options = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1"
    subprocess.run(
        ["soffice", where, "--headless", "--convert-to", options, "--outdir", tmp_path, tmp_path / "filled.xlsx"],
        check=True,
        capture_output=True,
    )
    work = pl.read_csv(tmp_path / "filled-Work.csv", has_header=False, infer_schema=False)
    columns = _results_of(model.export(to="excel", rows=1))
    n_classes = len(model.classes_)
    found = [[work[at + 1, column] for column in columns[:n_classes]] for at in range(rows.height)]
    table = np.array([[float(value) if value else np.nan for value in own] for own in found])
    expected = probabilities(model, rows)
    np.testing.assert_allclose(table, expected, rtol=0, atol=1e-9)


def _results_of(data: bytes) -> list[int]:
    """The columns of the sheet of formulas that have the results of a row."""
    sheet = zipfile.ZipFile(io.BytesIO(data)).read("xl/worksheets/sheet3.xml").decode()
    letters = re.findall(r"Work!\$([A-Z]+)\$2\b", sheet)
    return [reduce(lambda n, c: 26 * n + ord(c) - 64, own, 0) - 1 for own in letters]

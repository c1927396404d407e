"""Workbooks are read as the same table in text, and damaged or huge ones are refused."""

from __future__ import annotations

import datetime as dt
import io
import struct
import zipfile
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import xlsxwriter

from bayesieve import SelectiveNB
from bayesieve.classifier.scoring import levels_of_columns
from bayesieve.table.reading import read_header, read_table
from tests.cases import mostly_slow
from tests.cli.conftest import GERMAN, invoke
from tests.limits import Limits, absent

pytest.importorskip("fastexcel")


def test_a_sheet_is_read_as_a_text_table(tmp_path: Path) -> None:
    path = tmp_path / "germän [1].xlsx"
    german = pl.read_csv(GERMAN)
    german.write_excel(path)
    assert read_table(path).equals(german)
    assert read_header(path) == german.columns
    odd = pl.DataFrame({"a": ["1", "?", "3"], "b": ["x, y", None, 'q"']})
    odd.with_columns(d=pl.date(2024, 1, 31)).write_excel(path)
    odd.with_columns(d=pl.date(2024, 1, 31)).write_csv(tmp_path / "odd.csv")
    assert read_table(path).equals(read_table(tmp_path / "odd.csv"))


@pytest.mark.slow
def test_workbooks_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pl.read_csv(GERMAN).write_excel("t.xlsx")
    for table in ("t.xlsx", GERMAN):
        assert invoke("fit", table, "-t", "class", "--no-report", "-o", ".").exit_code == 0
        assert invoke("predict", "model.json", table, "-o", f"{Path(table).suffix}.csv").exit_code == 0
    assert Path(".xlsx.csv").read_bytes() == Path(".csv.csv").read_bytes()


def workbook(path: Path, lines: list[list[Any]], start: str = "A1") -> Path:
    book = xlsxwriter.Workbook(path)
    sheet = book.add_worksheet()
    row, column = int(start[1:]) - 1, ord(start[0]) - 65
    for i, line in enumerate(lines):
        sheet.write_row(row + i, column, line)
    book.close()
    return path


@pytest.mark.parametrize("start", ["A1", "C3"])
@pytest.mark.parametrize("value", [b"", b"<v></v>", b"<v/>"])
def test_formulas_without_values_are_refused(tmp_path: Path, start: str, value: bytes) -> None:
    path = workbook(tmp_path / "t.xlsx", [["size", "twice"], [1, "=A2*2"], [2, "=A3*2"]], start)
    assert read_table(path)["twice"].to_list() == [0, 0]  # values that this writer stores
    with zipfile.ZipFile(path) as book:
        contents = {name: book.read(name) for name in book.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    contents[sheet] = contents[sheet].replace(b"</f><v>0</v>", b"</f>" + value)
    with zipfile.ZipFile(path, "w") as book:
        for name, content in contents.items():
            book.writestr(name, content)
    with pytest.raises(ValueError, match=r"Column 'twice' of .*t\.xlsx has formulas without stored values\. Open"):
        read_table(path)


@pytest.mark.parametrize(("names", "start"), [(["size", "kind"], "A1"), (["size", "kind", "class"], "B2")])
def test_a_title_above_the_names_is_refused(tmp_path: Path, names: list[str], start: str) -> None:
    path = workbook(tmp_path / "t.xlsx", [["Report of May"], names, [1, "a", "x"][: len(names)]], start)
    with pytest.raises(ValueError, match=r"t\.xlsx has the title 'Report of May' above the names"):
        read_table(path)


def test_columns_without_a_name_are_no_title(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", [[None, "size"], [1, 5], [2, 6]])
    assert read_table(path)["size"].to_list() == [5, 6]


def test_workbooks_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    path.write_bytes(b"PK no workbook")
    with pytest.raises(ValueError, match=r"t\.xlsx cannot be read as a workbook"):
        read_table(path)
    pl.DataFrame().write_excel(path)
    with pytest.raises(ValueError, match=r"t\.xlsx has no columns"):
        read_table(path)
    pl.DataFrame({"a": []}).write_excel(path)
    with pytest.raises(ValueError, match=r"t\.xlsx has columns but no rows"):
        read_table(path)
    with absent("fastexcel"), pytest.raises(ValueError, match=r"needs fastexcel; run pip install 'bayesieve\[excel\]'"):
        read_table(path)


def test_a_cell_means_the_same_alone_and_among_others(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    frame = pl.DataFrame(
        {
            "code": [str(v) for v in rng.integers(0, 3, 300) + y],
            "answer": np.where(rng.random(300) < 0.3 + 0.4 * y, "true", "false"),
            "day": [dt.date(2024, 1, 1) + dt.timedelta(int(v)) for v in rng.integers(0, 60, 300) + 30 * y],
            "size": rng.normal(size=300).round(3) + y,
        }
    )
    model = SelectiveNB("all", pairs=0).fit(frame, y)
    row = pl.DataFrame({"code": [2], "answer": [True], "day": [dt.date(2024, 2, 1)], "size": [1]})
    others = pl.DataFrame({"code": ["x"], "answer": ["no"], "day": ["soon"], "size": ["n/a"]})
    scores = []
    for tables in ([row], [row, others]):
        with xlsxwriter.Workbook(path := tmp_path / "t.xlsx") as book:
            sheet, date = book.add_worksheet(), book.add_format({"num_format": "yyyy-mm-dd"})
            sheet.write_row(0, 0, row.columns)
            for number, cells in enumerate((one for table in tables for one in table.rows()), 1):
                for column, value in enumerate(cells):
                    sheet.write(number, column, value, date if isinstance(value, dt.date) else None)
        scores.append(model.predict_proba(read_table(path, levels_of_columns(model)))[0].tolist())
    assert scores[0] == scores[1] == model.predict_proba(row)[0].tolist()


def _far_xlsx(path: Path, row: int, column: int, value: object) -> None:
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for number, cells in enumerate((["a", "y"], [1, 0], [2, 1])):
            sheet.write_row(number, 0, cells)
        sheet.write(row, column, value, book.add_format({"bold": True}))


def _far_ods(path: Path, row: int, column: int, value: object) -> None:
    def cells(*values: object) -> str:
        return "".join(f'<table:table-cell office:value-type="float" office:value="{one}"/>' for one in values)

    gap, empty = f'<table:table-cell table:number-columns-repeated="{column}"/>', "<table:table-cell/>"
    rows = "".join(f"<table:table-row>{cells(*one)}</table:table-row>" for one in ([1, 0], [2, 1]))
    names = "".join(
        f'<table:table-cell office:value-type="string"><text:p>{one}</text:p></table:table-cell>' for one in "ay"
    )
    spaces = "".join(
        f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    content = (
        f"<office:document-content{spaces}><office:body><office:spreadsheet><table:table table:name='s'>"
        f"<table:table-row>{names}</table:table-row>{rows}"
        f'<table:table-row table:number-rows-repeated="{row - 3}">{empty}</table:table-row>'
        f"<table:table-row>{gap}{cells(value) if value else empty}</table:table-row>"
        "</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr("content.xml", content)


def _far_xlsb(path: Path, row: int, column: int, value: object) -> None:
    def record(kind: int, content: bytes = b"") -> bytes:
        head = bytes([kind]) if kind < 0x80 else bytes([kind & 0x7F | 0x80, kind >> 7])
        return head + bytes([len(content) & 0x7F | 0x80, len(content) >> 7]) + content

    def text(value: str) -> bytes:
        return struct.pack("<I", len(value)) + value.encode("utf-16-le")

    def cells(number: int, values: dict[int, object]) -> bytes:
        rows = [record(0, struct.pack("<I", number) + bytes(13))]
        for at, one in values.items():
            start = struct.pack("<II", at, 0)
            of_text = isinstance(one, str)
            content = text(one) if isinstance(one, str) else b"" if one is None else struct.pack("<d", one)
            rows.append(record(6 if of_text else 1 if one is None else 5, start + content))
        return b"".join(rows)

    rows = cells(0, {0: "a", 1: "y"}) + cells(1, {0: 1.0, 1: 0.0}) + cells(2, {0: 2.0, 1: 1.0})
    rows += cells(row, {column: None if value is None else float(str(value))})
    sheet = record(129) + record(148, bytes(16)) + record(145) + rows + record(146) + record(130)
    book = record(131) + record(143) + record(156, bytes(8) + text("rId1") + text("s")) + record(144) + record(132)
    kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "xl/_rels/workbook.bin.rels",
            f'<Relationships xmlns="{relations}"><Relationship Id="rId1" Type="{kinds}/worksheet" '
            'Target="worksheets/sheet1.bin"/></Relationships>',
        )
        archive.writestr("xl/workbook.bin", book)
        archive.writestr("xl/worksheets/sheet1.bin", sheet)


FAR = [("xlsx", _far_xlsx), ("ods", _far_ods), ("xlsb", _far_xlsb)]


@pytest.mark.parametrize(("ending", "write"), mostly_slow(FAR, FAR[:1]))
def test_a_cell_far_from_the_table_is_refused(tmp_path: Path, ending: str, write: Any) -> None:
    path = tmp_path / f"far.{ending}"
    write(path, 1_048_575, 16_383, 1)
    message = rf"far\.{ending} holds 7 values in 1,048,576 rows and 16,384 columns: a cell is far from the others"
    with pytest.raises(ValueError, match=message):
        read_table(path)
    write(path, 1_048_575, 16_383, None)  # a cell without a value, such as one with a format
    assert read_table(path).rows() == [(1, 0), (2, 1)]
    write(path, 100, 3, 5)
    assert read_table(path).height >= 3


def test_times_of_day_are_times(tmp_path: Path) -> None:
    times = pl.DataFrame(
        {"t": [dt.time(0, 0), dt.time(7, 30), dt.time(23, 59, 59)], "m": [dt.datetime(1900, 3, 1, 6)] * 3}
    )
    times.write_excel(path := tmp_path / "times.xlsx")
    assert read_table(path).equals(times)


def _repeating_ods(path: Path, columns: int, rows: int) -> None:
    """Two rows, and one whose only cell, with a value but no type, stands for many."""
    _far_ods(path, 4, 1, None)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    cell = f'<table:table-cell office:value="3" table:number-columns-repeated="{columns}"/>'
    row = f'<table:table-row table:number-rows-repeated="{rows}">{cell}</table:table-row></table:table>'
    parts["content.xml"] = parts["content.xml"].replace("</table:table>", row)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def test_repeated_cells_are_as_far_as_others(tmp_path: Path) -> None:
    _repeating_ods(path := tmp_path / "few.ods", 2, 3)
    assert read_table(path).height > 3
    _repeating_ods(path := tmp_path / "many.ods", 16_384, 1_000)
    with pytest.raises(ValueError, match=r"many\.ods holds 7 values in 1,00\d rows and 16,384 columns"):
        read_table(path)


@pytest.mark.parametrize(
    ("part", "honest"),
    mostly_slow(
        product(["xl/worksheets/sheet1.xml", "xl/workbook.xml", "xl/sharedStrings.xml", "xl/other.xml"], [True, False]),
        [
            ("xl/worksheets/sheet1.xml", True),
            ("xl/worksheets/sheet1.xml", False),
            ("xl/sharedStrings.xml", False),
            ("xl/other.xml", True),
        ],
    ),
)
def test_a_workbook_that_unpacks_to_far_more_than_a_table_is_refused(
    tmp_path: Path, part: str, honest: bool, limits: Limits
) -> None:
    """Of true sizes, and of sizes that the archive states as smaller than they are."""
    limits(workbook_bytes=1 << 20)
    pl.DataFrame({"a": [1, 2]}).write_excel(path := tmp_path / "plain.xlsx")
    assert read_table(path)["a"].to_list() == [1, 2]
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[part] = parts.get(part, b"<a>") + b" " * (16 << 20)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    content = packed.getvalue()
    if not honest:
        content = content.replace(struct.pack("<I", len(parts[part])), struct.pack("<I", 5000))
    (path := tmp_path / "bomb.xlsx").write_bytes(content)
    message = "unpacks to 0.0 GiB, far more than a table of its size" if honest else "cannot be read as a workbook"
    with pytest.raises(ValueError, match=message):
        read_table(path)

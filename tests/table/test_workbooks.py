"""Tables in workbooks of Excel."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

from bayesieve.table.reading import read_header, read_table
from tests.cli.conftest import GERMAN, invoke

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


def test_workbooks_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pl.read_csv(GERMAN).write_excel("t.xlsx")
    for table in ("t.xlsx", GERMAN):
        assert invoke("fit", table, "-t", "class", "--no-report", "-o", ".").exit_code == 0
        assert invoke("predict", "model.json", table, "-o", f"{Path(table).suffix}.csv").exit_code == 0
    assert Path(".xlsx.csv").read_bytes() == Path(".csv.csv").read_bytes()


def test_workbooks_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(ValueError, match=r"needs fastexcel; run pip install 'bayesieve\[excel\]'"):
        read_table(path)

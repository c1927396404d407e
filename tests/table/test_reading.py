"""Tables in files, good and bad; text tables are read the same at once and scanned."""

from __future__ import annotations

import contextlib
import datetime as dt
import gzip
import random
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from polars.testing import assert_frame_equal

import bayesieve
from bayesieve.table import as_table, read_table
from bayesieve.table.reading import read_header
from bayesieve.table.text_files import sniff_separator
from bayesieve.table.text_types import TextType
from tests.limits import Limits


@pytest.fixture(autouse=True)
def small_blocks(limits: Limits) -> None:
    """Text is scanned in blocks of a few rows."""
    limits(parquet_rows=23)


def scanned(path: Path) -> pl.DataFrame:
    source = bayesieve.scan(path)
    rows = pl.concat(source.blocks(block_rows=5))
    assert rows.schema == source.schema
    assert rows.height == source.n_rows
    return rows


def _write(folder: Path, content: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("a,b\n1,x\n2,y\n", {"a": [1, 2], "b": ["x", "y"]}),
        ("a,b\r\n1,x\r\n2,y\r\n", {"a": [1, 2], "b": ["x", "y"]}),
        ("a,b\r1,x\r2,y\r", {"a": [1, 2], "b": ["x", "y"]}),
        ("a,b\n1,x\n2,y", {"a": [1, 2], "b": ["x", "y"]}),
        ("a;b\n1,5;x\n2;y,z\n", {"a": [1.5, 2.0], "b": ["x", "y,z"]}),
        ("a\tb\n1\tx,y\n", {"a": [1], "b": ["x,y"]}),
        ("a|b\n1|x\n", {"a": [1], "b": ["x"]}),
        ("a\n1\n2\n", {"a": [1, 2]}),
        ("a b\nx y\n", {"a b": ["x y"]}),
        ('a,b\n"x,""y""\nz",1\n', {"a": ['x,"y"\nz'], "b": [1]}),
        ('"a;b",c\n"1;2",3\n', {"a;b": ["1;2"], "c": [3]}),
        ("\ufeffa,b\n1,2\n", {"a": [1], "b": [2]}),
        ("\ufeff\ufeffa,b\n1,2\n", {"a": [1], "b": [2]}),
        ("ä;b\nö;1\n".encode("utf-16"), {"ä": ["ö"], "b": [1]}),
        ("ä;b\nö€;1\n".encode("cp1252"), {"ä": ["ö€"], "b": [1]}),
        (b"a;b\n\x81\xe4;1\n", {"a": ["\x81ä"], "b": [1]}),
        ("a, b\n 1, x\n2 ,y \n", {"a": [1, 2], "b": ["x", "y"]}),
        ("a,b\n1,2\n\n3,4\n\n\n", {"a": [1, 3], "b": [2, 4]}),
        (",b\n7,2\n", {"column_1": [7], "b": [2]}),
        ("a,b,\n1,2,\n3,4,\n", {"a": [1, 3], "b": [2, 4]}),
        ("a,b\n,1\n,2\n", {"a": [None, None], "b": [1, 2]}),
        ('a,b\n"",1\nx,\n', {"a": [None, "x"], "b": [1, None]}),
        ("a,b\nNA,NA\n1.5,x\n", {"a": [None, 1.5], "b": ["NA", "x"]}),
        ("a\n?\n-2\n", {"a": [None, -2]}),
        ("a\nNA\nNA\n", {"a": [None, None]}),
        ("a\n1e5\n-2.5E-3\n+3\n", {"a": [1e5, -0.0025, 3]}),
        ("a,b\n2020-01-02,2020-01-02 03:04:05\nNA,?\n", {
            "a": [dt.date(2020, 1, 2), None], "b": [dt.datetime(2020, 1, 2, 3, 4, 5), None]}),
        ("a\n2020-01-02T03:04:05Z\n2020-01-02T03:04\n", {
            "a": [dt.datetime(2020, 1, 2, 3, 4, 5), dt.datetime(2020, 1, 2, 3, 4)]}),
        ("a\n10:00:00\n11:00:00\n", {"a": [dt.time(10), dt.time(11)]}),
        ("a\n2020-01-02\nsoon\n", {"a": ["2020-01-02", "soon"]}),
        ("a,b,c\ntrue,True,FALSE\nfalse,False,TRUE\n", {"a": [True, False], "b": [True, False], "c": [False, True]}),
        ("a,b\n#x,1\ny,2\n", {"a": ["#x", "y"], "b": [1, 2]}),
        ("a,b\nx,1\n,\n", {"a": ["x"], "b": [1]}),
        ("a,b\n" + "1,2\n" * 1500 + "1.5,x\n", {"a": [*[1.0] * 1500, 1.5], "b": [*["2"] * 1500, "x"]}),
        ("a,b\n" + "1,2\n" * 1500 + "é,ä\n", {"a": [*["1"] * 1500, "é"], "b": [*["2"] * 1500, "ä"]}),
        (("a\n" + ("x" * 1000 + "\n") * 300 + "é\n").encode("latin-1"), {"a": [*["x" * 1000] * 300, "é"]}),
        ("a\n1\n\n2\n\n\n", {"a": [1, None, 2]}),
        ("a,\n1,\n2,\n", {"a": [1, 2]}),
        ("a" * 1_000_000 + ",b\n1,2\n", {"a" * 1_000_000: [1], "b": [2]}),
        ('"' + "a" * 1_000_000 + '",b\n1,2\n', {"a" * 1_000_000: [1], "b": [2]}),
        ("a,b\nä,1\n".encode() + "é,2\nö€,3\n".encode("cp1252") + "ü,4\n".encode(),
         {"a": ["ä", "é", "ö€", "ü"], "b": [1, 2, 3, 4]}),
    ],
)  # fmt: skip
def test_text_tables(tmp_path: Path, content: str | bytes, columns: dict[str, list[Any]]) -> None:
    frame = read_table(_write(tmp_path, content))
    assert frame.to_dict(as_series=False) == columns
    assert_frame_equal(scanned(tmp_path / "table.csv"), frame)


@pytest.mark.parametrize(
    ("last", "expected"),
    [("x", "x"), ("1.5", 1.5), ("1e3", 1000.0), ("NA", None), ("", None), (" 7", 7), (str(10**30), 1e30)],
)
def test_types_follow_from_all_rows(tmp_path: Path, last: str, expected: Any) -> None:
    """The last of many rows may change the type of the column, and only of this one."""
    frame = read_table(_write(tmp_path, "a,b,c,d\n" + "1,true,x,2020-01-01\n" * 1100 + last + ",false,y,2020-01-02\n"))
    assert frame["a"][-1] == expected
    assert frame["a"][0] == ("1" if isinstance(expected, str) else 1)
    assert frame["a"].dtype == (
        pl.String if isinstance(expected, str) else pl.Float64 if isinstance(expected, float) else pl.Int64
    )
    assert frame.dtypes[1:] == [pl.Boolean, pl.String, pl.Date]


def test_other_formats(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", None]})
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ipc(tmp_path / "t.arrow")
    frame.write_ipc(tmp_path / "t.FEATHER")
    frame.write_ipc_stream(tmp_path / "s.arrow")
    frame.write_csv(tmp_path / "t.tsv", separator="\t")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(frame.write_csv().encode()))
    (tmp_path / "packed.csv").write_bytes(gzip.compress(frame.write_csv().encode()))
    (tmp_path / "t.txt").write_text(frame.write_csv(separator="|"))
    frame.write_csv(tmp_path / "many.names.csv")
    files = sorted(tmp_path.iterdir())
    assert len(files) == 9
    for path in files:
        assert read_table(path).equals(frame), path
        assert read_header(path) == ["a", "b"], path
        assert read_table(str(path)).equals(frame)


def test_tabs_are_preferred_in_tsv_files(tmp_path: Path) -> None:
    assert read_table(_write(tmp_path, "a,b\tc\n1,2\t3\n", "t.tsv")).columns == ["a,b", "c"]


REFUSED: list[tuple[str, Any, str]] = [
    ("empty.csv", b"", "is empty; a table needs a header line and at least one row"),
    ("blank.csv", b"\n \n", "is empty"),
    ("empty.parquet", b"", "is empty"),
    ("header.csv", b"a,b\n", "has columns but no rows; a table needs at least one row"),
    ("header.csv", b"a,b", "has columns but no rows"),
    ("short.csv", b"a,b,c\n1,2,3\n1,2\n", r"has 2 fields in row 3 \(counting the header\) where the header has 3"),
    ("short.csv", b'a,b,c\n"x,y",2,\n1\n', r"has 1 fields in row 3"),
    ("long.csv", b"a,b\n1,2\n1,2,3\n", r"has 3 fields in row 3 \(counting the header\) where the header has 2"),
    ("names.csv", b"a,b,a\n1,2,3\n", "has more than one column named 'a'"),
    ("names.csv", b",column_1\n1,2\n", "has a column without a name; give every column its own name"),
    ("names.csv", b"a, a\n1,2\n", "has more than one column named 'a'"),
    ("quote.csv", b'a,b\n1,"x\n2,y\n', "cannot be split into columns; check its quotes and separators"),
    ("quote.csv", b'a,b\n1,"x\n2,y\n', "check its quotes and separators: a quotation mark in line 2 is never closed"),
    ("quote.csv", b'"a,b\n1,x\n2,y\n', "a quotation mark in line 1 is never closed"),
    ("quote.csv", b'"a,' + b"a," * 300_000 + b"\n1,2\n", "a quotation mark in line 1 is never closed"),
    ("hint.csv", b"\xef\xbb\xbfsep=;\r\na;b\r\n1;2\r\n", "begins with the line 'sep=;', a hint for spreadsheets"),
    ("nul.csv", b"a,b\n1,\x00\n", "is not a text table, because it contains binary data"),
    ("junk.csv", random.Random(0).randbytes(2000), "is not a text table"),
    ("control.csv", b"a,b\n" + b"\x01\x02\x03" * 20, "is not a text table"),
    ("parquet.csv", b"PAR1....", "is not a text table but a Parquet file; name it .parquet"),
    ("sheet.csv", b"PK\x03\x04....", "a zip archive or a spreadsheet; save the table as CSV"),
    ("plain.csv.gz", b"a,b\n1,2\n", "is not a gzip file, although its name ends in .gz"),
    ("cut.csv.gz", gzip.compress(b"a,b\n1,2\n" * 1000, mtime=0)[:-10], "is a damaged gzip file"),
    ("bits.csv.gz", gzip.compress(b"a,b\n1,2\n" * 1000, mtime=0)[:10] + b"\xff" * 30, "is a damaged gzip file"),
    (
        "junk.parquet",
        random.Random(1).randbytes(500),
        "cannot be read as a table; it is damaged or has a wrong file extension",
    ),
    ("junk.arrow", random.Random(2).randbytes(500), "cannot be read as a table"),
    ("junk.arrow", b"ARROW1" + random.Random(3).randbytes(500), "cannot be read as a table"),
    ("names.csv", b";\r;", "has columns without names and without values"),
    ("names.csv", b",\n,\n,\n", "has columns without names and without values"),
    ("folder", None, "is a folder, not a file"),
    ("rows.parquet", pl.DataFrame({"a": []}), "has columns but no rows"),
    ("columns.parquet", pl.DataFrame(), "has no columns"),
    ("table.sav", b"x", "has no known file extension; rename it to end in .csv"),
    ("table", b"a,b\n1,2\n", "has no known file extension"),
    ("table.gz", b"a,b\n1,2\n", "has no known file extension"),
]


@pytest.mark.parametrize(("name", "content", "message"), REFUSED)
def test_refused_files(tmp_path: Path, name: str, content: Any, message: str) -> None:
    path = tmp_path / name
    if content is None:
        path.mkdir()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        content.write_parquet(path)
    with pytest.raises(ValueError, match=message) as error:
        read_table(path)
    assert type(error.value) is ValueError
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)
    if ".csv" in name:
        with pytest.raises(ValueError, match="^" + re.escape(str(error.value)) + "$"):
            scanned(path)


def test_headers_are_had_without_the_rows(tmp_path: Path) -> None:
    ragged = _write(tmp_path, "a; b ;\n1;2;3\n4;5\n")
    assert read_header(ragged) == ["a", "b", "column_3"]
    with pytest.raises(ValueError, match="2 fields in row 3"):
        read_table(ragged)
    assert read_header(_write(tmp_path, "größe,b\n1,2\n".encode("latin-1"))) == ["größe", "b"]
    with pytest.raises(ValueError, match="more than one column named 'a'"):
        read_header(_write(tmp_path, "a,a\n1,2\n"))
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_header(tmp_path / "nothing.csv")
    with pytest.raises(FileNotFoundError, match=r"There is no file .*nothing\.csv; check its name and folder"):
        read_table(tmp_path / "nothing.csv")


def test_the_same_table_from_any_file(tmp_path: Path) -> None:
    """A model trained on Parquet reads CSV: kinds and categories must be the same."""
    frame = pl.DataFrame(
        {
            "text": ["b", None, "a"],
            "number": [1.5, None, 3.0],
            "whole": [1, 2, None],
            "flag": [True, None, False],
            "date": [dt.date(2020, 1, 1), None, dt.date(2021, 1, 1)],
            "moment": [dt.datetime(2020, 1, 1, 1), None, dt.datetime(2021, 1, 1, 0, 0, 0, 5)],
        }
    )
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")
    left, right = as_table(read_table(tmp_path / "t.parquet")), as_table(read_table(tmp_path / "t.csv"))
    for i in range(left.n_columns):
        assert left.column(i).kind == right.column(i).kind
        if left.column(i).type != "boolean":
            assert left.column(i).type == right.column(i).type
        assert left.column(i).categories().values == right.column(i).categories().values
        assert left.column(i).categories().codes.tolist() == right.column(i).categories().codes.tolist()


@pytest.mark.parametrize(
    ("text", "separator"),
    [("a,b\n1,2", ","), ("a;b\n1,5;2", ";"), ("a\tb\n1\t2", "\t"), ("a|b\n1|2", "|"), ("a\n1", ","),
     ("a b;c\nx;y", ";"),
     ("name,note\nx,a;b;c\ny,d;e", ","), ('"a,b";c\n"1,2";3', ";"), ("", ",")],
)  # fmt: skip
def test_separators(text: str, separator: str) -> None:
    assert sniff_separator(text) == separator


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(content=st.binary(max_size=60) | st.text(alphabet='a1,;"\n\r\t .ä', max_size=40).map(str.encode))
def test_any_file_is_read_or_refused_with_one_sentence(tmp_path: Path, content: bytes) -> None:
    for name in ("t.csv", "t.csv.gz", "t.parquet", "t.arrow"):
        found: pl.DataFrame | ValueError
        try:
            found = read_table(_write(tmp_path, content, name))
        except ValueError as error:
            found = error
        if isinstance(found, pl.DataFrame):
            assert found.height > 0
            assert found.width > 0
        else:
            assert type(found) is ValueError
            assert "\n" not in str(found)
        if isinstance(found, pl.DataFrame):
            assert set(found.columns) <= set(read_header(tmp_path / name))
        else:  # what cannot be split into columns cannot be read either
            with contextlib.suppress(ValueError):
                read_header(tmp_path / name)


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.lists(st.floats(allow_nan=False, allow_infinity=False))
)
def test_numbers_survive_text(whole: list[int], floats: list[float]) -> None:
    texts = pl.Series([*map(str, whole), None], dtype=pl.String)
    assert TextType().add(texts).to_list() == [*whole, None]
    texts = pl.Series([*map(repr, floats), "1"], dtype=pl.String)
    assert TextType().add(texts).cast(pl.Float64).to_list() == [*floats, 1.0]


CELLS = [
    *["1", "-7", "007", "2.5", "1,5", "1e3", "inf", "NA", "?", "", " ", " 3 ", "nan", "true", "False", "1" * 25],
    *["2024-01-31", "2024-01-31 10:20", "2024-01-31T10:20:30Z", "10:20:30", "a", '"b;c"', '"d,e"', "é", "0x1", "-"],
]


def columns() -> st.SearchStrategy[list[str]]:
    few = st.lists(st.sampled_from(CELLS), min_size=1, max_size=3)
    return few.flatmap(lambda cells: st.lists(st.sampled_from(cells), min_size=30, max_size=30))


@given(
    table=st.lists(columns(), min_size=1, max_size=4),
    n_rows=st.integers(1, 30),
    separator=st.sampled_from([",", ";", "\t", "|"]),
    nameless=st.booleans(),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    line=st.sampled_from(["\n", "\r\n", "\r"]),
    packed=st.booleans(),
    blank=st.booleans(),
)
def test_a_scan_reads_as_the_whole_file_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    table: list[list[str]],
    n_rows: int,
    separator: str,
    nameless: bool,
    encoding: str,
    line: str,
    packed: bool,
    blank: bool,
) -> None:
    names = [f"x{i}" for i in range(len(table))]
    names[-1] = "" if nameless and len(names) > 1 else names[-1]
    rows = [separator.join(row) for row in zip(*table, strict=True)][:n_rows]
    lines = [separator.join(names), *rows, *([""] if blank else []), *rows[:1]]
    content = (line.join(lines) + line).encode(encoding)
    path = tmp_path_factory.mktemp("text") / ("rows.csv.gz" if packed else "rows.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    try:
        expected = read_table(path)
    except ValueError as error:
        with pytest.raises(ValueError, match="^" + re.escape(str(error)) + "$"):
            scanned(path)
    else:
        assert_frame_equal(scanned(path), expected)


def test_files_have_one_type_for_a_column(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("n,empty,marks,t\n1,,NA,1\n2,,NA,2\n")
    (tmp_path / "2.tsv").write_text("n\tempty\tmarks\tt\n1.5\t2024-01-01\tNA\tNA\n")
    source = bayesieve.scan([tmp_path / "1.csv", tmp_path / "2.tsv"])
    assert source.schema == {"n": pl.Float64, "empty": pl.Date, "marks": pl.Float64, "t": pl.Int64}
    assert pl.concat(source.blocks())["n"].to_list() == [1, 2, 1.5]
    (tmp_path / "3.csv").write_text("n,empty,marks,t\nx,,,\n")
    with pytest.raises(ValueError, match=r"^Column 'n' is a number in .*1\.csv and text in .*3\.csv; give it one type"):
        bayesieve.scan(tmp_path)


def test_copies_go_with_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    (tmp_path / "rows.csv").write_text("a,b\n1,x\n2,y\n")
    source = bayesieve.scan(tmp_path / "rows.csv")
    fewer = source.select(["b"])
    (tmp_path / "rows.csv").write_text("a,b\n1,x\n2,z\n3,y\n")
    with pytest.raises(ValueError, match=r"rows\.csv has changed since it was scanned"):
        source.check_unchanged()
    del source
    assert pl.concat(fewer.blocks())["b"].to_list() == ["x", "y"]
    del fewer
    assert list((tmp_path / "temporary").iterdir()) == []


def test_decoded_text_is_not_kept_beside_the_copy(tmp_path: Path) -> None:
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress("a,b\n1,é\n".encode("latin-1")))
    source = bayesieve.scan(tmp_path / "rows.csv.gz", folder=tmp_path / "copies")
    assert [path.suffix for path in (tmp_path / "copies").rglob("*.*")] == [".parquet"]
    assert pl.concat(source.blocks()).rows() == [(1, "é")]

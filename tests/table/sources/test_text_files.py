"""Text files in pieces have the rows and types of the file read at once."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from polars.testing import assert_frame_equal

import bayesieve
from bayesieve.table import read_table
from bayesieve.table.sources import base, copies, text_files

CELLS = [
    *["1", "-7", "007", "2.5", "1,5", "1e3", "inf", "NA", "?", "", " ", " 3 ", "nan", "true", "False", "1" * 25],
    *["2024-01-31", "2024-01-31 10:20", "2024-01-31T10:20:30Z", "10:20:30", "a", '"b;c"', '"d,e"', "é", "0x1", "-"],
]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (base, copies, text_files):
        monkeypatch.setattr(module, "BLOCK_ROWS", 7)


def read(path: Path) -> pl.DataFrame | str:
    """The table, or why it is none."""
    try:
        return read_table(path)
    except ValueError as error:
        return str(error)


def scanned(path: Path) -> pl.DataFrame | str:
    try:
        source = bayesieve.scan(path)
    except ValueError as error:
        return str(error)
    rows = pl.concat(source.blocks(block_rows=5))
    assert rows.schema == source.schema
    assert rows.height == source.n_rows
    return rows


def assert_alike(path: Path) -> None:
    expected = read(path)
    if isinstance(expected, str):
        assert scanned(path) == expected
    else:
        assert_frame_equal(scanned(path), expected)


def columns() -> st.SearchStrategy[list[str]]:
    few = st.lists(st.sampled_from(CELLS), min_size=1, max_size=3)
    return few.flatmap(lambda cells: st.lists(st.sampled_from(cells), min_size=30, max_size=30))


@settings(max_examples=60, deadline=None)
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
    assert_alike(path)


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n1,2\n3\n",
        b"a,b\n1,2\n3,4,5\n",
        b'a,b\n1,"2\n3,4\n',
        b"a,b\n",
        b"",
        b"a,a\n1,2\n",
        b"a,b\n\x00\x01,2\n",
        b"a\n1\n\n2\n\n\n",
        b"a,b\n" + b"1,2\n" * 1500 + b"1.5,x\n",
        b"a,b\n" + b"1,2\n" * 1500 + "é,ä\n".encode("latin-1") + b"3,4\n" * 20,
        b"a,\n1,\n2,\n",
        b",\n,\n,\n",
        "n,ü\n1,ß\n".encode() * 20,
    ],
)
def test_defects_are_those_of_the_whole_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    assert_alike(path)


def test_damaged_gzip(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n" * 1000)[:-20])
    assert_alike(path)
    path.write_bytes(b"a,b\n1,2\n")
    assert_alike(path)


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
    piece = source.select(["b"]).pieces[0]
    before = source.fingerprint()
    del source
    assert piece.read()["b"].to_list() == ["x", "y"]
    del piece
    assert list((tmp_path / "temporary").iterdir()) == []
    source = bayesieve.scan(tmp_path / "rows.csv")
    assert source.fingerprint() == before
    (tmp_path / "rows.csv").write_text("a,b\n1,x\n2,z\n3,y\n")
    with pytest.raises(ValueError, match=r"rows\.csv has changed since it was scanned"):
        source.check_unchanged()


def test_copies_in_a_cache_are_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, path = tmp_path / "cache=1", tmp_path / "rows.csv"
    for content in ("a,b\n1,x\n2,y\n", "a,b\n1.5,x\n2,\n3,\n"):
        path.write_text(content)
        expected = read_table(path)
        for _ in range(2):
            source = bayesieve.scan(path, cache=cache)
            assert source.names == ("a", "b")
            assert_frame_equal(pl.concat(source.blocks()), expected)
        with monkeypatch.context() as patch:
            patch.setattr(text_files, "_convert", None)
            patch.chdir(tmp_path)
            assert_frame_equal(pl.concat(bayesieve.scan("rows.csv", cache="cache=1").blocks()), expected)
    assert len(list(cache.iterdir())) == 2
    path.write_text("a,b\n1\n2,3,4\n")
    with pytest.raises(ValueError, match=r"rows\.csv has"):
        bayesieve.scan(path, cache=cache)
    assert len(list(cache.iterdir())) == 2

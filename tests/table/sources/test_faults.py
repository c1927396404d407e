"""What cannot be read is said in one sentence that names the file."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import bayesieve
from bayesieve.table.sources import base, column_files
from bayesieve.table.sources.column_files import row_groups

FRAME = pl.DataFrame({"a": range(1000), "b": [f"text {i % 17}" for i in range(1000)]})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    FRAME.write_parquet(tmp_path / "rows.parquet", row_group_size=100)
    return tmp_path / "rows.parquet"


def test_the_damaged_row_group_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_files, "BLOCK_ROWS", 300)
    groups = row_groups(path)
    assert [group.n_rows for group in groups] == [100] * 10
    content = bytearray(path.read_bytes())
    width = (len(content) - 12 - int.from_bytes(content[-8:-4], "little")) // 10
    content[4 + 4 * width + width // 4 : 4 + 5 * width - width // 4] = bytes(width - 2 * (width // 4))
    path.write_bytes(content)
    source = bayesieve.scan(path)
    assert [piece.n_rows for piece in source.pieces] == [300, 300, 300, 100]
    assert_frame_equal(source.pieces[0].read(), FRAME[:300])
    with pytest.raises(ValueError, match=r"^Row group 5 of .*rows\.parquet is damaged; write the file again"):
        source.pieces[1].read()
    with pytest.raises(ValueError, match=r"^Row group 5 of"):
        list(source.blocks(["b"]))


def test_a_changed_file_is_named(path: Path) -> None:
    source = bayesieve.scan(path)
    source.check_unchanged()
    before = source.fingerprint()
    blocks = source.blocks(block_rows=10)
    next(blocks)
    os.utime(path, ns=(1, 1))
    assert bayesieve.scan(path).fingerprint() != before
    for read in (source.check_unchanged, source.pieces[0].read, lambda: list(source.blocks())):
        with pytest.raises(ValueError, match=r"rows\.parquet has changed since it was scanned; scan the files again"):
            read()
    path.unlink()
    with pytest.raises(ValueError, match=r"rows\.parquet cannot be read any more \(No such file or directory\)"):
        source.check_unchanged()


@pytest.mark.parametrize(
    "change", [lambda c: c[:-100], lambda c: c[:2], lambda c: b"a,b\n1,2\n" * 50, lambda c: c + b"x"]
)
def test_what_is_no_parquet_file(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ValueError, match=r"rows\.parquet is not a Parquet file, or was not written to its end"):
        bayesieve.scan(path)


def test_footers_with_any_byte_changed_are_read_or_refused(path: Path) -> None:
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    for at in range(len(content) - 8 - length, len(content) - 8, 13):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x5F]) + content[at + 1 :])
        with contextlib.suppress(ValueError):
            assert bayesieve.scan(path).n_rows > 0


def test_empty_files_and_folders(tmp_path: Path, path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    (tmp_path / "nothing" / "_SUCCESS.parquet").touch()
    with pytest.raises(ValueError, match=r"^The folder .*nothing holds no table; name one with files that end in"):
        bayesieve.scan(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match=r"There is no file .*\*\.arrow"):
        bayesieve.scan(tmp_path / "*.arrow")
    (tmp_path / "none.parquet").touch()
    with pytest.raises(ValueError, match=r"none\.parquet is empty; a table needs columns"):
        bayesieve.scan(tmp_path / "none.parquet")
    FRAME.head(0).write_parquet(tmp_path / "none.parquet")
    with pytest.raises(ValueError, match=r"none\.parquet has columns but no rows"):
        bayesieve.scan(tmp_path / "none.parquet")
    assert bayesieve.scan(tmp_path / "*.parquet").n_rows == 1000
    FRAME.select([]).write_parquet(tmp_path / "none.parquet")
    with pytest.raises(ValueError, match=r"none\.parquet has no columns"):
        bayesieve.scan(tmp_path / "none.parquet")
    with pytest.raises(ValueError, match="There are no files to scan"):
        bayesieve.scan([])
    with pytest.raises(ValueError, match=r"rows\.parquet is named twice"):
        bayesieve.scan([path, tmp_path / "*.parquet"])
    with pytest.raises(TypeError, match="A table cannot be scanned from int"):
        bayesieve.scan(3)


def test_formats_and_columns_do_not_mix(tmp_path: Path, path: Path) -> None:
    FRAME.write_csv(tmp_path / "rows.csv")
    with pytest.raises(ValueError, match=r"rows\.csv is text and .*rows\.parquet is Parquet; scan files of one format"):
        bayesieve.scan(tmp_path)
    FRAME.with_columns(c=1).write_parquet(tmp_path / "more.parquet")
    with pytest.raises(ValueError, match=r"rows\.parquet has no column 'c', which .*more\.parquet has"):
        bayesieve.scan(tmp_path / "*.parquet")
    with pytest.raises(ValueError, match=r"rows\.parquet has no column 'c', which .*more\.parquet has"):
        bayesieve.scan([path, tmp_path / "more.parquet"])
    (tmp_path / "rows.sav").touch()
    with pytest.raises(ValueError, match=r"rows\.sav has no known file extension"):
        bayesieve.scan(tmp_path / "rows.sav")
    with pytest.raises(ValueError, match="There is no column 'z'; the columns are 'a', 'b'"):
        bayesieve.scan(path, columns=["z"])
    with pytest.raises(ValueError, match="Column 'a' is named twice"):
        bayesieve.scan(path).select(["a", "a"])


def test_duplicate_names(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table([[1], [2]], names=["a", "a"]), tmp_path / "twice.parquet")
    with pytest.raises(ValueError, match=r"twice\.parquet has more than one column named 'a'"):
        bayesieve.scan(tmp_path / "twice.parquet")


@pytest.mark.parametrize("name", ["a[1]*?", "~", "s3:x", "a%20b", "x=1", "é\n", "'\"", "\udcff"])
@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_names_of_files_are_taken_literally(
    tmp_path: Path, name: str, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    FRAME.write_parquet("rows.parquet")
    FRAME.write_ipc("rows.arrow")
    FRAME.write_csv("rows.csv")
    Path(f"{name}.{ending}").write_bytes(Path(f"rows.{ending}").read_bytes())
    source = bayesieve.scan(f"{name}.{ending}")
    assert_frame_equal(pl.concat(source.blocks()), FRAME)
    assert source.fingerprint() == bayesieve.scan(Path(f"{name}.{ending}")).fingerprint()


def test_arrow_files(tmp_path: Path) -> None:
    FRAME.write_ipc(tmp_path / "rows.arrow", compression="zstd", record_batch_size=100)
    source = bayesieve.scan(tmp_path / "rows.arrow")
    assert_frame_equal(pl.concat(source.blocks(["b", "a"], 77)), FRAME[["b", "a"]])
    content = (tmp_path / "rows.arrow").read_bytes()
    (tmp_path / "rows.arrow").write_bytes(content[:-60])
    with pytest.raises(ValueError, match=r"rows\.arrow was not written to its end; write it again"):
        bayesieve.scan(tmp_path / "rows.arrow")
    FRAME.write_ipc_stream(tmp_path / "stream.arrow")
    with pytest.raises(ValueError, match=r"stream\.arrow is not an Arrow file that can be read in pieces"):
        bayesieve.scan(tmp_path / "stream.arrow")


def test_an_error_ends_the_reading_thread(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_files, "BLOCK_ROWS", 100)
    source = bayesieve.scan(path)
    blocks = source.blocks(block_rows=50)
    next(blocks)
    blocks.close()
    monkeypatch.setattr(base, "CELLS_AHEAD", 1)
    assert_frame_equal(pl.concat(source.blocks(block_rows=350)), FRAME)


FULL = """
import resource, sys
import polars as pl
import bayesieve

folder, frame = sys.argv[1], pl.DataFrame({"a": range(100_000)})
frame.write_csv(f"{folder}/rows.csv")
frame.write_parquet(f"{folder}/rows.parquet")
sources = [f"{folder}/rows.csv", frame.lazy()]
try:
    import duckdb
    sources.append(duckdb.read_parquet(f"{folder}/rows.parquet"))
except ImportError:
    pass
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))  # as a full disk
for source in sources:
    try:
        print(bayesieve.scan(source, cache=f"{folder}/cache").pieces)
    except ValueError as error:
        print(error)
"""


def test_a_full_disk_is_named_and_left_clean(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) >= 2
    assert all("cache" in line and line.endswith("; check the folder's rights and space.") for line in lines), lines
    assert list((tmp_path / "cache").iterdir()) == []


def test_streams_are_refused(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs named pipes")
    os.mkfifo(tmp_path / "rows.csv")
    with pytest.raises(ValueError, match=r"rows\.csv can only be read once; save it as a file"):
        bayesieve.scan(tmp_path / "rows.csv")

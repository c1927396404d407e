"""What cannot be scanned is refused in one sentence that names the file or column."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import bayesieve
from bayesieve import SelectiveNB
from bayesieve.table import to_parquet
from tests.limits import Limits

FRAME = pl.DataFrame({"a": range(1000), "b": [f"text {i % 17}" for i in range(1000)]})
NOON = dt.datetime(2024, 2, 29, 12)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    FRAME.write_parquet(tmp_path / "rows.parquet", row_group_size=100)
    return tmp_path / "rows.parquet"


def damaged(change: Callable[[bytes], bytes], ending: str = "parquet") -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        FRAME.write_ipc(folder / "rows.arrow")
        path = folder / f"rows.{ending}"
        path.write_bytes(change(path.read_bytes()))
        return path

    return make


def written(*frames: pl.DataFrame) -> Callable[[Path], Path]:
    """A folder with these frames in Parquet files."""

    def make(folder: Path) -> Path:
        (folder / "files").mkdir()
        for i, frame in enumerate(frames):
            frame.write_parquet(folder / f"files/{i}.parquet")
        return folder / "files"

    return make


def columns(*values: Any) -> Callable[[Path], Path]:
    return written(*(pl.DataFrame({"x": [value]}) for value in values))


def touched(name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
        return folder / name

    return make


def stream_of_arrow(folder: Path) -> Path:
    FRAME.write_ipc_stream(folder / "stream.arrow")
    return folder / "stream.arrow"


def pipe(folder: Path) -> Path:
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs named pipes")
    os.mkfifo(folder / "rows.csv")
    return folder / "rows.csv"


def two_formats(folder: Path) -> Path:
    FRAME.write_csv(folder / "rows.csv")
    return folder


def two_names(folder: Path) -> Path:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table([[1], [2]], names=["a", "a"]), folder / "twice.parquet")
    return folder / "twice.parquet"


def pandas(*columns: Any, **named: Any) -> Callable[[Path], Any]:
    def make(_: Path) -> Any:
        frames = pytest.importorskip("pandas")
        if not named:
            return frames.DataFrame([[1, 2]], columns=list(columns))
        months = {name: frames.period_range("2024", periods=2, freq="M") for name in named}
        return frames.DataFrame({name: value or months[name] for name, value in named.items()})

    return make


CUT = r"rows\.parquet is not a Parquet file, or was not written completely"
FAULTS: list[tuple[Callable[[Path], Any], str]] = [
    (damaged(lambda content: content[:-100]), CUT),
    (damaged(lambda content: content[:2]), CUT),
    (damaged(lambda _: b"a,b\n1,2\n" * 50), CUT),
    (damaged(lambda content: content + b"x"), CUT),
    (damaged(lambda content: content[:-60], "arrow"), r"rows\.arrow was not written completely; write it again"),
    (stream_of_arrow, r"stream\.arrow is not an Arrow file that can be read in pieces"),
    (touched("none.parquet"), r"none\.parquet is empty; a table needs columns"),
    (written(FRAME.head(0)), "files has columns but no rows"),
    (written(FRAME.select([])), "files has no columns"),
    (lambda folder: touched("nothing/_SUCCESS.parquet")(folder).parent, r"^The folder .*nothing holds no table"),
    (lambda folder: folder / "*.arrow", r"There is no file .*\*\.arrow"),
    (lambda _: [], "There are no files to scan"),
    (lambda folder: [folder / "rows.parquet", folder / "*.parquet"], r"rows\.parquet is named twice"),
    (lambda _: 3, "A table cannot be scanned from int"),
    (touched("rows.sav"), r"rows\.sav has no known file extension"),
    (pipe, r"rows\.csv is a pipe or device, which can only be read once; save its content as a file"),
    (two_formats, r"rows\.csv is text and .*rows\.parquet is Parquet; scan files of one format"),
    (two_names, r"twice\.parquet has more than one column named 'a'"),
    (written(FRAME.with_columns(c=1), FRAME), r"1\.parquet has no column 'c', which .*0\.parquet has"),
    (written(FRAME, FRAME.with_columns(c=1)), r"0\.parquet has no column 'c', which .*1\.parquet has"),
    (columns(1, "a"), r"^Column 'x' is a number in .*0\.parquet and text in .*1\.parquet; give it one type"),
    (columns("a", 1.5), r"text in .*0\.parquet and a number in .*1\.parquet"),
    (columns(True, 1), "true or false in .* and a number in"),
    (columns(NOON, NOON.replace(tzinfo=dt.UTC)), "a date and time in .* and a .* with a time zone"),
    (columns([1], 1), r"List\(Int64\) in .* and a number in"),
    (columns(NOON.date(), 1), "a date in .* and a number in"),
    (pandas(x=[1, "x"]), r"Column 'x' cannot be scanned \(.*\); convert it to one type"),
    (pandas(x=None), r"Column 'x' cannot be scanned \(.*period.*; convert it to text"),
    (pandas("x", "x"), "Column name 'x' appears more than once"),
]


@pytest.mark.parametrize(("make", "words"), FAULTS)
def test_what_cannot_be_scanned(path: Path, make: Callable[[Path], Any], words: str) -> None:
    source = make(path.parent)
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=words) as error:
        bayesieve.scan(source)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"columns": ["z"]}, "There is no column 'z'; the columns are 'a' and 'b'"),
        ({"columns": ["a", "a"]}, "Column 'a' is named twice"),
        ({"columns": []}, "columns is empty; name at least one column"),
        ({"folder": 3}, r"A path must be text or a pathlib\.Path, got 3"),
        ({"folder": __file__}, r"No copy can be written into .*test_parquet_files"),
    ],
)
def test_options_are_checked(options: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        bayesieve.scan(FRAME.lazy(), **options)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("select interval 1 day as i", "Column 'i' holds intervals of DuckDB"),
        ("select 1 as a where false", "The DuckDBPyRelation has columns but no rows"),
        ("select 1 / (i - 3) as a, error('at ' || i) as b from range(9) r(i)", "cannot be copied to Parquet .*at 0"),
    ],
)
def test_queries_that_are_no_table(query: str, words: str, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with pytest.raises(ValueError, match=words):
        bayesieve.scan(duckdb.connect().sql(query), folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_row_group_is_refused_when_it_is_read(path: Path) -> None:
    content = bytearray(path.read_bytes())
    width = (len(content) - 12 - int.from_bytes(content[-8:-4], "little")) // 10
    content[4 + 4 * width + width // 4 : 4 + 5 * width - width // 4] = bytes(width - 2 * (width // 4))
    path.write_bytes(content)
    source = bayesieve.scan(path)
    blocks = source.blocks(block_rows=300)
    assert_frame_equal(next(blocks), FRAME[:300])
    for read in (lambda: next(blocks), lambda: list(source.blocks(["b"]))):
        with pytest.raises(ValueError, match=r"rows\.parquet is damaged or cannot be read; write it again"):
            read()


def test_a_changed_file_is_named(path: Path) -> None:
    source = bayesieve.scan(path)
    source.check_unchanged()
    next(source.blocks(block_rows=10))
    os.utime(path, ns=(1, 1))
    for read in (source.check_unchanged, lambda: list(source.blocks())):
        with pytest.raises(ValueError, match=r"rows\.parquet has changed since it was scanned; scan the files again"):
            read()
    path.unlink()
    with pytest.raises(ValueError, match=r"rows\.parquet cannot be read any more \(No such file or directory\)"):
        source.check_unchanged()


def test_footers_with_any_byte_changed_are_read_or_refused(path: Path) -> None:
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    for at in range(len(content) - 8 - length, len(content) - 8, 13):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x5F]) + content[at + 1 :])
        with contextlib.suppress(ValueError):
            assert bayesieve.scan(path).n_rows > 0


def test_blocks_have_rows(path: Path) -> None:
    with pytest.raises(ValueError, match="block_rows must be 1 or more, got 0"):
        bayesieve.scan(path).blocks(block_rows=0)


class Interrupted(BaseException):
    """As Ctrl-C, without ending the tests."""


@pytest.mark.parametrize("error", [RuntimeError("enough"), Interrupted("enough"), MemoryError()], ids=repr)
def test_nothing_is_left_of_a_copy_that_fails(tmp_path: Path, error: BaseException) -> None:
    def stop(n_rows: int, n_bytes: int) -> None:
        raise error

    (tmp_path / "rows.csv").write_text(FRAME.write_csv())
    for source in (FRAME.lazy(), FRAME, tmp_path / "rows.csv"):
        with pytest.raises(
            (type(error), ValueError), match=r"enough|^The rows cannot be copied to Parquet \(MemoryError"
        ):
            bayesieve.scan(source, folder=tmp_path / "copies", progress=stop)
        assert list((tmp_path / "copies").iterdir()) == []


def test_a_query_ends_with_a_copy_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_running = True

    def batches(query: pl.LazyFrame) -> Iterator[pl.DataFrame]:
        nonlocal is_running
        try:
            while True:
                yield FRAME
        finally:
            is_running = False

    def stop(n_rows: int, n_bytes: int) -> None:
        raise Interrupted("enough")

    monkeypatch.setattr(to_parquet, "batches_of", batches)
    with pytest.raises(Interrupted) as error:
        bayesieve.scan(FRAME.lazy(), folder=tmp_path, progress=stop)
    assert not is_running, error  # although its traceback lives on


def test_a_copy_leaves_room_on_the_disk(tmp_path: Path, limits: Limits) -> None:
    limits(bytes_left=1 << 62)
    with pytest.raises(ValueError, match=r"would fill the disk of .*; set folder= to a folder on a larger disk"):
        bayesieve.scan(FRAME.lazy(), folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


FULL = """
import resource, sys
import numpy as np
import polars as pl
import bayesieve
from bayesieve import SelectiveNB

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
        print(bayesieve.scan(source, folder=f"{folder}/cache"))
    except ValueError as error:
        print(error)
"""


@pytest.mark.slow
def test_a_full_disk_is_named_and_left_clean(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) >= 2
    assert all(
        "cache" in line and line.endswith("; check the folder's permissions and free space.") for line in lines
    ), lines
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_names_of_folders_mean_the_same_alone_and_among_others(tmp_path: Path, ending: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    codes = np.where(rng.random(300) < 0.8, np.where(y, "01", "A2"), "03")
    model = SelectiveNB("all", pairs=0).fit(pl.DataFrame({"code": codes, "n": rng.normal(size=300) + y}), y)
    rows = pl.DataFrame({"n": [0.5]})
    for code in ("01", "A2"):
        (tmp_path / f"code={code}").mkdir()
        if ending == "csv":
            rows.write_csv(tmp_path / f"code={code}" / "rows.csv")
        else:
            rows.write_parquet(tmp_path / f"code={code}" / "rows.parquet")
    together = model.predict_proba(str(tmp_path))
    assert np.array_equal(model.predict_proba(str(tmp_path / "code=01")), together[:1])
    assert np.allclose(together, model.predict_proba(pl.DataFrame({"code": ["01", "A2"], "n": [0.5, 0.5]})))

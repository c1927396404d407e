"""Files that are whole or not there, written at once or frame by frame."""

from __future__ import annotations

import contextlib
import csv
import gzip
import os
import stat
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bayesieve.table import write_atomically
from bayesieve.table.writing import FrameFile


def test_text_and_bytes(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a.txt", "größe\r\n")
    assert (tmp_path / "a.txt").read_bytes() == "größe\r\n".encode()
    write_atomically(str(tmp_path / "a.txt"), b"\x00\x01")
    assert (tmp_path / "a.txt").read_bytes() == b"\x00\x01"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_access_rights(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    umask = os.umask(0o022)
    try:
        write_atomically(path, "x")
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
        path.chmod(0o600)
        write_atomically(path, "y")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(umask)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("x")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    write_atomically(tmp_path / "link.txt", "y")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "y"


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["full", "interrupt"]
)
def test_a_failure_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(os, step, fail)
    expected = ValueError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_refused_places(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is a folder; give the name of a file"):
        write_atomically(tmp_path, "x")
    with pytest.raises(FileNotFoundError, match=r"There is no folder .*nowhere"):
        write_atomically(tmp_path / "nowhere" / "a.txt", "x")
    with pytest.raises(ValueError, match=r"cannot be opened .File name too long.; give another path"):
        write_atomically(tmp_path / ("x" * 300), "x")
    for name in ("", "\0", "\ud800"):
        with pytest.raises(ValueError, match=r"A file cannot have the name .*; give another path"):
            write_atomically(name, "x")
    for odd in (5, None, b"name"):
        with pytest.raises(TypeError, match=rf"A path must be text or a pathlib\.Path, got {odd!r}"):
            write_atomically(odd, "x")  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_device_is_written_into_and_never_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(pipe, "new")
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="this system has no full device")
def test_a_full_device_is_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"^/dev/full cannot be written \(.*\); give another path\.$"):
        write_atomically("/dev/full", "x")
    assert Path("/dev/full").is_char_device()


FRAME = pl.DataFrame({"text": ["a", None, 'x,"y"'] * 50, "number": [1.5, float("nan"), None] * 50})


@pytest.mark.parametrize("name", ["t.parquet", "t.pq", "t.arrow", "t.csv", "t.tsv", "t.csv.gz"])
def test_frames_follow_each_other(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("old")
    with FrameFile(path) as file:
        for _ in range(5):
            file.write(FRAME)
            assert path.read_text() == "old"
    separator = "\t" if name == "t.tsv" else ","
    readers: dict[str, Any] = {".parquet": pl.read_parquet, ".pq": pl.read_parquet, ".arrow": pl.read_ipc}
    read = readers.get(path.suffix, lambda path: pl.read_csv(path, separator=separator))
    assert read(path).equals(pl.concat([FRAME] * 5))
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.csv", "t.csv.gz"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_error_leaves_what_was_there(tmp_path: Path, name: str, error: type[BaseException]) -> None:
    path = tmp_path / name
    path.write_text("old")
    with contextlib.suppress(error), FrameFile(path) as file:
        for _ in range(3):
            file.write(FRAME)
        raise error
    assert (os.listdir(tmp_path), path.read_text()) == ([name], "old")


def test_a_frame_of_other_columns_is_refused(tmp_path: Path) -> None:
    other = FRAME.rename({"number": "text", "text": "number"})
    with contextlib.suppress(ZeroDivisionError), FrameFile(tmp_path / "t.parquet") as file:
        file.write(FRAME)
        with pytest.raises(ValueError, match=r"t\.parquet has other columns"):
            file.write(other)
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("t.xlsx", ValueError, "has no known file extension"),
        ("t.parquet.gz", ValueError, "has no known file extension"),
        ("nowhere/t.csv", FileNotFoundError, "create it first"),
        ("folder.csv", ValueError, "is a folder"),
    ],
)
def test_names_that_cannot_be_written(tmp_path: Path, name: str, error: type[Exception], message: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(error, match=message):
        FrameFile(tmp_path / name)


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz"])
def test_no_text_of_a_table_starts_a_formula(tmp_path: Path, ending: str) -> None:
    texts = ["=1+1", "@at", "+49 30", "-5", "-", "\t=1", "＝1", "a=b", None]
    frame = pl.DataFrame(
        {
            "=cmd|'/C calc'!A0": texts,
            "'=cmd|'/C calc'!A0": pl.Series(texts, dtype=pl.Categorical),
            "+sum": pl.Series(texts, dtype=pl.Enum([text for text in texts if text])),
            "-1": pl.Series(range(len(texts))) - 4,
        }
    )
    with FrameFile(path := tmp_path / f"t.{ending}") as file:
        file.write(frame[:5])
        file.write(frame[5:])
    content = path.read_bytes()
    text = (gzip.decompress(content) if ending.endswith("gz") else content).decode()
    header, *rows = csv.reader(text.splitlines(), delimiter="\t" if ending == "tsv" else ",")
    assert header == ["'=cmd|'/C calc'!A0", "'=cmd|'/C calc'!A0", "'+sum", "-1"]
    guarded = ["'=1+1", "'@at", "'+49 30", "-5", "-", "'\t=1", "'＝1", "a=b", ""]
    assert rows == [[text, text, text, str(k - 4)] for k, text in enumerate(guarded)]

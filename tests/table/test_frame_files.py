"""Files written frame by frame are whole or not there."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bayesieve.table.writing import FrameFile

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

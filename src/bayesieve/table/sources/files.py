"""Files of a scan: which ones a path names, the columns that their folders stand for, and whether they change."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from bayesieve.table.text_types import typed_text
from bayesieve.table.writing import checked_path

if TYPE_CHECKING:
    import polars as pl

PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
TEXT = (".csv", ".tsv", ".tab", ".txt")
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class File:
    """A file as it was at the time of the scan.

    Attributes
    ----------
    path : Path
    size : int
        Bytes.
    changed : int
        Time of the last change in nanoseconds.
    """

    path: Path
    size: int
    changed: int

    @classmethod
    def at(cls, path: Path) -> File:
        """The file as it is now."""
        state = path.stat()
        return cls(path, state.st_size, state.st_mtime_ns)

    def check_unchanged(self) -> None:
        """ValueError if the file is gone or has changed."""
        try:
            now = File.at(self.path)
        except OSError as error:
            raise ValueError(
                f"{self.path} cannot be read any more ({error.strerror}); scan the files again."
            ) from error
        if now != self:
            raise ValueError(f"{self.path} has changed since it was scanned; scan the files again.")


def read_errors() -> tuple[type[BaseException], ...]:
    """The errors with which polars and the system refuse a file."""
    import polars as pl

    return (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


def files_of(paths: Sequence[str | os.PathLike[str]], endings: Sequence[str]) -> list[Path]:
    """The files that paths name: files, patterns with ``*``, ``?`` or ``[``, and folders, whose files with these
    endings count, at any depth; hidden ones, and those whose name starts with an underscore, do not.

    Raises
    ------
    FileNotFoundError
        If a path or pattern names no file.
    ValueError
        If a folder holds no such file, or a file is named twice.
    """
    files: list[Path] = []
    for path in map(checked_path, paths):
        if path.is_dir():
            inside = [name for name in sorted(path.rglob("*")) if _counts(name, path, endings)]
            if not inside:
                raise ValueError(f"The folder {path} holds no file of a table ({', '.join(endings)}); name another.")
            files += inside
        elif path.exists():
            files.append(path)
        else:
            matching = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]
            folders = [name for name in matching if name.is_dir()]
            matching = [name for name in matching if not name.is_dir()]
            if not matching:
                matching = files_of(folders, endings) if folders else []
            if not matching:
                raise FileNotFoundError(f"There is no file {path}; check its name and folder.")
            files += matching
    for i, path in enumerate(sorted(files)[1:]):
        if path == sorted(files)[i]:
            raise ValueError(f"{path} is named twice; name every file once.")
    return files


def _counts(path: Path, folder: Path, endings: Sequence[str]) -> bool:
    parts = path.relative_to(folder).parts
    hidden = any(part.startswith((".", "_")) and "=" not in part for part in parts)
    return not hidden and path.name.lower().endswith(tuple(endings)) and path.is_file()


def partitions(paths: Sequence[Path]) -> pl.DataFrame:
    """The columns that folders named ``column=value`` stand for, one row a file, typed as in a text table.

    Raises
    ------
    ValueError
        If two files are in folders of different columns.
    """
    import polars as pl

    rows: list[dict[str, Any]] = []
    for path in paths:
        pairs = [part.split("=", 1) for part in path.parent.parts if "=" in part.strip("=")]
        rows.append({unquote(name): None if value == _NO_VALUE else unquote(value) for name, value in pairs})
        if rows[-1].keys() != rows[0].keys():
            raise ValueError(
                f"{paths[0]} and {path} are in folders of different columns ({', '.join(rows[0]) or 'none'}; "
                f"{', '.join(rows[-1]) or 'none'}); scan them one by one."
            )
    columns = [pl.Series([row[name] for row in rows], dtype=pl.String) for name in rows[0]]
    return pl.DataFrame([typed_text(column).alias(name) for name, column in zip(rows[0], columns, strict=True)])

"""Copies on disk, for rows that cannot be read again in the same order where they are."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bayesieve.table.sources.base import BLOCK_ROWS, cut
from bayesieve.table.writing import checked_path

if TYPE_CHECKING:
    import polars as pl


class Folder:
    """A temporary folder, deleted with the last source that uses it in the process that made it.

    Parameters
    ----------
    parent : path, optional
        Where to make it; the system's folder for temporary files by default.
    """

    def __init__(self, parent: str | Path | None = None) -> None:
        try:
            if parent is not None:
                checked_path(parent).mkdir(parents=True, exist_ok=True)
            self.path = Path(tempfile.mkdtemp(prefix="bayesieve-", dir=parent))
        except OSError as error:
            raise ValueError(
                f"No copies can be written into {parent} ({error.strerror}); give another cache."
            ) from error
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def __reduce__(self) -> tuple[type[Path], tuple[str]]:
        return Path, (str(self.path),)  # elsewhere it is used, never deleted


def write_blocks(frames: Iterable[pl.DataFrame], folder: Path) -> list[Path]:
    """Write frames of the same columns into Parquet files of `BLOCK_ROWS` rows, the last of fewer.

    Raises
    ------
    ValueError
        If the folder cannot be written, for example because the disk is full, or a column cannot be stored.
    """
    paths = []
    for number, block in enumerate(cut(frames, BLOCK_ROWS)):
        paths.append(folder / f"{number:06}.parquet")
        with writing(folder):
            block.write_parquet(paths[-1], compression="lz4", statistics=False)
    return paths


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn the errors with which rows cannot be written into a folder into ValueErrors that name it."""
    try:
        yield
    except Exception as error:
        reason = str(error).splitlines()[0]
        if isinstance(error, OSError) or "io error" in reason.lower():
            raise ValueError(f"{folder} cannot be written ({reason}); check the folder's rights and space.") from error
        raise ValueError(f"The rows cannot be stored as Parquet ({reason}).") from error

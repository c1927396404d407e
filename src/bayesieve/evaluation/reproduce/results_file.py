"""Repetitions as they are finished, one line of JSON each, so that an interrupted run goes on where it was."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


class ResultsFile:
    """A file whose first line says what was run, and whose other lines are finished repetitions.

    A line is appended and flushed to disk when its repetition is finished. A last line that was cut off (the machine
    went down while it was written) is dropped.

    Parameters
    ----------
    path : the file; None keeps everything in memory only.
    settings : what the results depend on; a file of other settings is refused.

    Raises
    ------
    ValueError
        If the file holds something else.
    """

    def __init__(self, path: Path | None, settings: dict[str, Any]) -> None:
        self._path = path
        self._settings = settings
        self._records: dict[int, dict[str, Any]] = {}
        if path is not None and path.exists():
            self._read(path)

    def __contains__(self, repetition: int) -> bool:
        return repetition in self._records

    def records(self, repetitions: int) -> list[dict[str, Any]]:
        """The first ``repetitions`` repetitions, in order; KeyError when one is missing."""
        return [self._records[number] for number in range(repetitions)]

    def append(self, record: dict[str, Any]) -> None:
        """Keep a finished repetition."""
        if self._path is not None:
            lines = [record] if self._path.exists() else [{"settings": self._settings}, record]
            _append(self._path, "".join(f"{json.dumps(line)}\n" for line in lines))
        self._records[int(record["repetition"])] = record

    def _read(self, path: Path) -> None:
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
            found = lines[0]["settings"] if lines else self._settings
            self._records = {int(line["repetition"]): line for line in lines[1:]}
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{path} does not hold results of a reproduction; choose another output.") from None
        if found != self._settings:
            other = [name for name in {**found, **self._settings} if found.get(name) != self._settings.get(name)]
            raise ValueError(
                f"{path} holds results of other settings ({', '.join(other)}); choose another output, or delete it."
            )
        if len(whole) < len(content):
            os.truncate(path, len(whole))
        if not whole:
            path.unlink()


def _append(path: Path, text: str) -> None:
    try:
        with path.open("ab") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise ValueError(f"{path} cannot be written ({error.strerror}); choose another output.") from error

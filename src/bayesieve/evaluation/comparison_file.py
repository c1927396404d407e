"""Results of a comparison, appended as one line of JSON per finished fold, so that an interrupted run can continue."""

from __future__ import annotations

import contextlib
import json
import math
import os
import threading
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bayesieve.statistics.metrics import MEASURES
from bayesieve.table.writing import checked_path

NUMBERS = (*MEASURES, "n_features", "fit_seconds", "predict_seconds")
"""Columns of numbers in `Comparison.frame`, and of every result."""

Key = tuple[str, str, int, int]
"""Data, method, repeat, fold."""

_MARK = b'{"comparison":'
_CHECKSUM = "crc32"
_WHOLE = ("repeat", "fold", "n_train", "n_test")
_LARGEST = 2**53


class ComparisonFile:
    """A file of lines: the protocol first, then fingerprints of data sets, descriptions of methods and finished folds.

    Nothing is written before the first result: a run that ends without one leaves no file behind. Lines are flushed to
    disk when they are written; an incomplete last line (the run was killed) is dropped, and its fold is run again. A
    file without results is overwritten. Every error is a ValueError that names the file.

    Parameters
    ----------
    path : the file; None keeps results in memory only.
    settings : numbers that determine the folds; a file with other settings is rejected.
    data : fingerprint of every data set by name; the file may hold more names, but no other data set of the same name.
        `add_data` adds data sets that are loaded later.
    methods : description of every method by name, likewise.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        settings: Mapping[str, Any],
        data: Mapping[str, str],
        methods: Mapping[str, str],
    ) -> None:
        self.rows: dict[Key, dict[str, Any]] = {}
        self.path = None if path is None else checked_path(path)
        self._lock = threading.Lock()
        self._pending: list[dict[str, Any]] = []
        if self.path is None:
            return
        self._known, self.rows, n_whole = _read(self.path)
        self._refuse_unwritable()
        if n_whole is not None:
            os.truncate(self.path, n_whole)
        saved = self._known["comparison"]
        other = [name for name in {**saved, **settings} if saved and saved.get(name) != settings.get(name)]
        if other:
            pairs = ((name, saved.get(name, "none"), settings.get(name, "none")) for name in other)
            difference = " and ".join(f"{name} {old} instead of {new}" for name, old, new in pairs)
            raise ValueError(f"{self.path} holds results of another protocol ({difference}); choose another file.")
        self._describe([] if saved else [{"comparison": dict(settings)}], {"data": data, "method": methods})

    def add_data(self, name: str, fingerprint: str) -> None:
        """Record the fingerprint of a data set before the first of its results."""
        if self.path is not None:
            with self._lock:
                self._describe([], {"data": {name: fingerprint}})

    def append(self, row: dict[str, Any]) -> None:
        """Save a finished fold of a method."""
        with self._lock:
            if self.path is not None:
                self._write(*self._pending, {"result": row, _CHECKSUM: _checksum(row)})
                self._pending = []
            self.rows[key_of(row)] = row

    def _describe(self, lines: list[dict[str, Any]], wanted: Mapping[str, Mapping[str, str]]) -> None:
        """Keep these lines and the descriptions the file lacks for the next write; nothing if one contradicts the
        file.
        """
        for kind, what in (("data", "another table"), ("method", "a method with other options")):
            for name, description in wanted.get(kind, {}).items():
                if self._known[kind].get(name, description) != description:
                    raise ValueError(f"{self.path} holds results of {what} named {name!r}; choose another file.")
        for kind, named in wanted.items():
            lines = lines + [{kind: name, "is": what} for name, what in named.items() if name not in self._known[kind]]
            self._known[kind].update(named)
        self._pending += lines

    def _refuse_unwritable(self) -> None:
        """Before any fold is run."""
        assert self.path is not None
        if not self.path.parent.is_dir():
            raise ValueError(f"{self.path} cannot be written: there is no folder {self.path.parent}; create it first.")
        if not os.access(self.path if self.path.exists() else self.path.parent, os.W_OK):
            raise ValueError(f"{self.path} cannot be written (Permission denied); choose another file.")

    def _write(self, *lines: dict[str, Any]) -> None:
        assert self.path is not None
        before = None
        try:
            with self.path.open("ab") as file:
                before = file.tell()
                file.write("".join(f"{json.dumps(line)}\n" for line in lines).encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                if before is not None:
                    os.truncate(self.path, before)  # the next line must not follow half a line
            raise ValueError(f"{self.path} cannot be written ({error.strerror}); choose another file.") from error


def read_results(path: str | os.PathLike[str]) -> dict[Key, dict[str, Any]]:
    """The finished folds in a file, by data set, method, repeat and fold; ValueError if it is damaged."""
    return _read(checked_path(path))[1]


def _read(path: Path) -> tuple[dict[str, dict[str, Any]], dict[Key, dict[str, Any]], int | None]:
    """The descriptions in a file, its results, and the number of bytes before an incomplete last line, else None."""
    try:
        content = path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}); choose another file.") from error
    if not (content.startswith(_MARK) or _MARK.startswith(content)):
        raise ValueError(f"{path} does not hold results of a comparison; choose another file.")
    whole = content[: content.rfind(b"\n") + 1]
    known: dict[str, dict[str, Any]] = {"comparison": {}, "data": {}, "method": {}}
    rows: dict[Key, dict[str, Any]] = {}
    for number, text in enumerate(whole.splitlines(), start=1):
        try:
            _take(json.loads(text), known, rows)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise ValueError(
                f"{path} is damaged in line {number} and cannot be continued; delete the line or the file."
            ) from None
    if not rows:
        return {"comparison": {}, "data": {}, "method": {}}, {}, 0 if content else None
    for kind, place in (("data", 0), ("method", 1)):
        for name in {key[place]: None for key in rows}:
            if name not in known[kind]:
                raise ValueError(
                    f"{path} is damaged: it has results of {kind} {name!r} but no line that describes it; delete these "
                    "results or the file."
                )
    return known, rows, len(whole) if len(whole) < len(content) else None


def _take(line: dict[str, Any], known: dict[str, dict[str, Any]], rows: dict[Key, dict[str, Any]]) -> None:
    """Add a line to the descriptions or results; an error of any type in `_read` if the line is damaged."""
    kind, *others = line
    if kind == "result" and others == [_CHECKSUM]:
        row = _checked(line["result"])
        if line[_CHECKSUM] != _checksum(row):
            raise ValueError("checksum")
        earlier = rows.setdefault(key_of(row), row)
        if any(earlier[name] != row[name] for name in (*MEASURES, "n_features", "error")):
            raise ValueError("another result of the same fold")
    elif kind == "comparison" and not others:
        if not line[kind] or known[kind] not in ({}, line[kind]):
            raise ValueError("another protocol")
        known[kind] = dict(line[kind])
    elif known[kind].setdefault(line[kind], line["is"]) != line["is"] or others != ["is"]:
        raise ValueError("another description")


def _checked(row: dict[str, Any]) -> dict[str, Any]:
    """The result, if all its fields have the right types; an error of any type in `_read` otherwise."""
    whole = {name: row[name] for name in _WHOLE} | {"n_features": row["n_features"] or 0}
    if any(type(value) is not int or not 0 <= value < _LARGEST for value in whole.values()):
        raise ValueError("whole numbers")
    if not (row["n_train"] and row["n_test"]):
        raise ValueError("rows")
    figures = row["figures"] or {}
    for value in ({name: row[name] for name in NUMBERS} | figures).values():
        if value is not None and (type(value) not in (int, float) or not math.isfinite(value)):
            raise ValueError("numbers")
    texts = (row["data"], row["method"], "" if row["error"] is None else row["error"])
    "".join(texts).encode()  # an error unless all are texts that files can hold
    if (row["accuracy"] is None) == (row["error"] is None):
        raise ValueError("either measures or an error")
    return row


def _checksum(row: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(row).encode())


def key_of(row: Mapping[str, Any]) -> Key:
    """Data set, method, repeat and fold of a result."""
    return str(row["data"]), str(row["method"]), int(row["repeat"]), int(row["fold"])

"""The file of a comparison: one line of JSON per finished fold, so that an interrupted run can continue."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import re
import threading
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec
import numpy as np
from sklearn.base import BaseEstimator

from bayesieve.statistics.metrics import MEASURES
from bayesieve.table import as_table
from bayesieve.table.reading import checked_path

NUMBERS = (*MEASURES, "n_features", "fit_seconds", "predict_seconds")
"""Columns of numbers in `Comparison.frame`, and of every result."""

Key = tuple[str, str, int, int]
"""Data, method, repeat, fold."""

_IRRELEVANT = frozenset(("n_jobs", "verbose"))  # results do not depend on them
_MARK = b'{"comparison":'
_Whole = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
_Rows = Annotated[int, msgspec.Meta(gt=0, lt=2**53)]


class Result(TypedDict):
    """A finished fold of a method: its measures, or an error. ``figures`` are the method's own measures."""

    data: str
    method: str
    repeat: _Whole
    fold: _Whole
    n_train: _Rows
    n_test: _Rows
    n_classes: NotRequired[_Whole]
    accuracy: float | None
    auc: float | None
    compression_rate: float | None
    log_loss: float | None
    brier: float | None
    balanced_accuracy: float | None
    n_features: _Whole | None
    fit_seconds: float | None
    predict_seconds: float | None
    figures: dict[str, float | None] | None
    error: str | None


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    """Settings of the folds, the description of a data set or a method, or a result with its checksum."""

    comparison: dict[str, int | str] | None = None
    data: str | None = None
    method: str | None = None
    description: str = msgspec.field(name="is", default="")
    result: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    crc32: int | None = None


_decode_line = msgspec.json.Decoder(_Line).decode
_decode_result = msgspec.json.Decoder(Result).decode


class ComparisonFile:
    """A file of lines: the settings first, then fingerprints of data sets, descriptions of methods and finished folds.

    Nothing is written before the first result: a run that ends without one leaves no file behind. Lines are flushed to
    disk when they are written; an incomplete last line (the run was killed) is dropped, and its fold is run again. A
    file without results is overwritten. Every error is a ValueError that names the file.

    Parameters
    ----------
    path : the file; None keeps results in memory only.

    Attributes
    ----------
    rows : the finished folds by data set, method, repeat and fold.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else checked_path(path)
        self._lock = threading.Lock()
        self._pending: list[dict[str, Any]] = []
        self._forget()
        if self.path is not None:
            self._read(self.path)

    def _forget(self) -> None:
        self.rows: dict[Key, dict[str, Any]] = {}
        self._settings: dict[str, Any] = {}
        self._described: dict[str, dict[str, str]] = {"data": {}, "method": {}}
        self._size = 0  # bytes of whole lines

    def go_on(self, settings: Mapping[str, Any], data: Mapping[str, str], methods: Mapping[str, str]) -> None:
        """Check, before any fold is run, that the file can be written and holds no other results.

        Parameters
        ----------
        settings : numbers that determine the folds; they must be those of the file.
        data : fingerprint of every data set by name; the file may hold more names, but no other data set of the same
            name. `add_data` adds data sets that are loaded later.
        methods : description of every method by name, likewise.
        """
        if self.path is None:
            return
        if not self.path.parent.is_dir():
            raise ValueError(f"{self.path} cannot be written: there is no folder {self.path.parent}; create it first.")
        if not os.access(self.path if self.path.exists() else self.path.parent, os.W_OK):
            raise ValueError(f"{self.path} cannot be written (Permission denied); choose another file.")
        saved = self._settings
        other = [name for name in {**saved, **settings} if saved and saved.get(name) != settings.get(name)]
        if other:
            pairs = ((name, saved.get(name, "none"), settings.get(name, "none")) for name in other)
            difference = " and ".join(f"{name} {old} instead of {new}" for name, old, new in pairs)
            raise ValueError(f"{self.path} holds results of another protocol ({difference}); choose another file.")
        if not saved:
            self._pending.append({"comparison": settings})
        self._describe("data", "another table", data)
        self._describe("method", "a method with other options", methods)
        if self.path.exists():
            os.truncate(self.path, self._size)

    def add_data(self, name: str, fingerprint: str) -> None:
        """Record the fingerprint of a data set before the first of its results."""
        with self._lock:
            self._describe("data", "another table", {name: fingerprint})

    def append(self, row: dict[str, Any]) -> None:
        """Save a finished fold of a method."""
        with self._lock:
            if self.path is not None:
                text = msgspec.json.encode(row)
                self._write(self.path, [*self._pending, {"result": msgspec.Raw(text), "crc32": zlib.crc32(text)}])
                self._pending = []
            self.rows[key_of(row)] = row

    def _describe(self, kind: str, what: str, descriptions: Mapping[str, str]) -> None:
        """Keep the descriptions that the file lacks for the next write; ValueError if one contradicts the file."""
        known = self._described[kind]
        for name, description in descriptions.items():
            if known.get(name, description) != description:
                raise ValueError(f"{self.path} holds results of {what} named {name!r}; choose another file.")
        self._pending += [{kind: name, "is": text} for name, text in descriptions.items() if name not in known]
        known.update(descriptions)

    @staticmethod
    def _write(path: Path, lines: list[dict[str, Any]]) -> None:
        before = None
        try:
            with path.open("ab") as file:
                before = file.tell()
                file.write(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                if before is not None:
                    os.truncate(path, before)  # the next line must not follow half a line
            raise ValueError(f"{path} cannot be written ({error.strerror}); choose another file.") from error

    def _read(self, path: Path) -> None:
        try:
            content = path.read_bytes() if path.exists() else b""
        except OSError as error:
            raise ValueError(f"{path} cannot be read ({error.strerror}); choose another file.") from error
        if not (content.startswith(_MARK) or _MARK.startswith(content)):
            raise ValueError(f"{path} does not hold results of a comparison; choose another file.")
        self._size = content.rfind(b"\n") + 1
        for number, text in enumerate(content[: self._size].splitlines(), start=1):
            try:
                self._take(_decode_line(text))
            except (ValueError, RecursionError):
                raise ValueError(
                    f"{path} is damaged in line {number} and cannot be continued; delete the line or the file."
                ) from None
        if not self.rows:
            self._forget()
        for kind, place in (("data", 0), ("method", 1)):
            for name in {key[place] for key in self.rows} - set(self._described[kind]):
                raise ValueError(
                    f"{path} is damaged: it has results of {kind} {name!r} but no line that describes it; delete these "
                    "results or the file."
                )

    def _take(self, line: _Line) -> None:
        """Add a line to the settings, descriptions or results; ValueError if it contradicts an earlier one."""
        if line.comparison:
            self._settings = self._settings or line.comparison
            fits = self._settings == line.comparison
        elif line.description:
            kind, name = ("method", line.method) if line.data is None else ("data", line.data)
            fits = self._described[kind].setdefault(str(name), line.description) == line.description
        else:
            text = bytes(line.result)
            row: dict[str, Any] = dict(_decode_result(text))
            earlier = self.rows.setdefault(key_of(row), row)
            fits = all(earlier[name] == row[name] for name in (*MEASURES, "n_features", "error"))
            fits &= zlib.crc32(text) == line.crc32 and (row["accuracy"] is None) != (row["error"] is None)
            if "n_classes" not in row:  # of earlier results, whose Brier score of two classes was twice scikit-learn's
                row["brier"] = None
        if not fits:
            raise ValueError("It contradicts itself, or an earlier line.")


def read_results(path: str | os.PathLike[str]) -> dict[Key, dict[str, Any]]:
    """The finished folds in a file, by data set, method, repeat and fold; ValueError if it is damaged."""
    return ComparisonFile(path).rows


def key_of(row: Mapping[str, Any]) -> Key:
    """Data set, method, repeat and fold of a result."""
    return str(row["data"]), str(row["method"]), int(row["repeat"]), int(row["fold"])


def describe(value: Any) -> str:
    """An estimator, or the value of a parameter, as text: equal for equal options, in every process.

    An estimator is named by its package and class. Threads, verbosity and options at their defaults are left out: moved
    modules and new options do not invalidate saved results.

    Examples
    --------
    >>> from sklearn.preprocessing import FunctionTransformer, Normalizer
    >>> describe([Normalizer("l1"), FunctionTransformer, 0.5])  # doctest: +ELLIPSIS
    "[sklearn.Normalizer(norm='l1'),sklearn...FunctionTransformer,0.5]"
    """
    if isinstance(value, BaseEstimator):
        options = {k: describe(v) for k, v in value.get_params(deep=False).items() if k not in _IRRELEVANT}
        defaults = {k: describe(p.default) for k, p in inspect.signature(type(value)).parameters.items()}
        inside = ",".join(f"{k}={text}" for k, text in sorted(options.items()) if text != defaults.get(k))
        return f"{type(value).__module__.partition('.')[0]}.{type(value).__qualname__}({inside})"
    if isinstance(value, np.ndarray):
        content = repr(value.tolist()).encode() if value.dtype == object else np.ascontiguousarray(value).tobytes()
        return f"array({value.dtype.str},{value.shape},{hashlib.sha256(content).hexdigest()[:16]})"
    if isinstance(value, np.generic):
        return describe(value.item())
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{describe(k)}:{describe(v)}' for k, v in value.items())}}}"
    if isinstance(value, (set, frozenset)):
        return f"set({','.join(sorted(map(describe, value)))})"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(describe, value))}]"
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return f"{value.__module__}.{value.__qualname__}"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def fingerprint(X: Any, codes: np.ndarray, classes: np.ndarray, weights: np.ndarray | None) -> str:
    """A table with its classes and row weights as 32 hexadecimal digits; the same whatever library holds the table."""
    table = as_table(X)
    digest = hashlib.sha256(repr((table.n_rows, table.names, classes.tolist())).encode())
    digest.update(codes.astype(np.int64).tobytes())
    if weights is not None:
        digest.update(weights.tobytes())
    for position in range(table.n_columns):
        column = table.column(position)
        digest.update(column.kind.encode())
        if column.kind == "numeric":
            numbers = column.numbers() + 0.0  # no minus zero
            numbers[np.isnan(numbers)] = np.nan
            digest.update(numbers.tobytes())
        else:
            categories = column.categories()
            digest.update(repr([f"{type(value).__name__} {value}" for value in categories.values]).encode())
            digest.update(categories.codes.astype(np.int32).tobytes())
    return digest.hexdigest()[:32]

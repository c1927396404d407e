"""Results of a comparison: every fold of every method, summaries, and the file from which an interrupted run
continues.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec
import numpy as np

from bayesieve.statistics.metrics import LOWER_IS_BETTER, MEASURES
from bayesieve.table.frames import results_frame
from bayesieve.table.paths import checked_path
from bayesieve.table.writing import check_html, csv_text, refuse_other_format, write_atomically
from bayesieve.words import ShortRepr
from bayesieve_lab.comparison.differences import PairedTest, average_ranks, corrected_resampled_t
from bayesieve_lab.comparison.folds import NUMBERS, RepeatedFolds, Split

_SUMMARY = ("accuracy", "auc", "log_loss", "n_features")  # measures of `Comparison.summary`
_MARK, _VERSION = b'{"comparison":', "bayesieve"
_CANONICAL_VERSION = re.compile(r"(0|[1-9]\d*)(\.(0|[1-9]\d*))+(\.?[a-z][a-z0-9.+]*)?", re.ASCII)


@dataclass(frozen=True, repr=False)
class Comparison(ShortRepr):
    """Results of every method on every fold of every data set.

    Attributes
    ----------
    data, methods : tuple of str
        Names, in the order given to `compare`.
    protocol : RepeatedFolds, TimeFolds, FixedSplit or Splits
    rows : tuple of dict
        One for each data set, method, repeat and fold, with the columns of `frame`; ``figures`` has further measures
        that a method reports.
    complete : bool
        False if Ctrl-C ended the run; it has the folds finished before.
    library : str
        Library of the dataframes that `frame` and `summary` return: that of the first rows compared, unless a function
        loads them.
    """

    data: tuple[str, ...]
    methods: tuple[str, ...]
    protocol: Split
    rows: tuple[dict[str, Any], ...]
    complete: bool = True
    library: str = field(default="polars", repr=False)

    @classmethod
    def of(
        cls,
        data: Iterable[str],
        methods: Iterable[str],
        protocol: Split,
        rows: Mapping[Key, dict[str, Any]],
        complete: bool = True,
    ) -> Comparison:
        """Return the comparison of some data sets and methods on the folds of a protocol.

        ``rows`` are results by data set, method, repeat and fold, of which it selects its own. ``complete`` is False if
        Ctrl-C ended the run.
        """
        data, methods = tuple(data), tuple(methods)
        places = [(repeat, fold) for repeat in range(protocol.n_repeats) for fold in range(protocol.n_folds)]
        order = [(name, method, *place) for name in data for place in places for method in methods]
        return cls(data, methods, protocol, tuple(rows[key] for key in order if key in rows), complete)

    def _facts(self) -> dict[str, Any]:
        """Return the fields that the ``repr`` shows, by name."""
        names = ("data", "methods", "protocol", "complete", "n_failed")
        return {name: getattr(self, name) for name in names} | {"accuracy": _over_data(self.matrix("accuracy"))}

    def _head(self) -> dict[str, Any]:
        """Return means of the first ten methods for the ``repr``, as columns by name."""
        means = {name: _over_data(self.matrix(name)) for name in (*_SUMMARY, "fit_seconds")}
        return {
            name: column[:10] for name, column in ({"method": np.array(self.methods, dtype=object)} | means).items()
        }

    @property
    def n_failed(self) -> int:
        """Number of folds on which a method failed."""
        return sum(row["error"] is not None for row in self.rows)

    @property
    def frame(self) -> Any:
        """Dataframe with one line per data set, repeat, fold and method.

        Columns ``data``, ``method``, ``repeat``, ``fold`` (from 0), ``n_train``, ``n_test`` (rows), ``accuracy``,
        ``auc``, ``compression_rate``, ``log_loss`` (nats per row), ``brier`` (as scikit-learn defines it; null in
        earlier results, which counted both of two classes), ``balanced_accuracy``, ``n_features`` (null if the method
        does not report it), ``fit_seconds``, ``predict_seconds`` (both include coding, even if shared), ``error`` (null
        on success; otherwise the measures are null).
        """
        import polars as pl

        whole = dict.fromkeys(("repeat", "fold", "n_train", "n_test", "n_features"), pl.Int64)
        texts = dict.fromkeys(("data", "method", "error"), pl.String)
        order = ("data", "method", "repeat", "fold", "n_train", "n_test", *NUMBERS, "error")
        schema = {name: (whole | texts).get(name, pl.Float64) for name in order}
        return results_frame([{name: row[name] for name in order} for row in self.rows], self.library, schema=schema)

    def folds(self, measure: str, data: str | None = None) -> np.ndarray:
        """Return values of a measure on all folds, shape (n_repeats * n_folds, n_methods); NaN if missing.

        Parameters
        ----------
        measure : a numeric column of `frame`.
        data : name of the data set; optional if there is only one.
        """
        return self.all_folds(measure)[self._place_of(data)]

    def figure(self, name: str, data: str | None = None) -> np.ndarray:
        """Return values of a further measure that methods report, (n_repeats * n_folds, n_methods); NaN for other
        methods.

        Parameters
        ----------
        name : a key of the mapping that ``fold_figures`` of a method returns.
        data : name of the data set; optional if there is only one.
        """
        names = list(dict.fromkeys(key for row in self.rows for key in row.get("figures") or ()))
        if name not in names:
            choice = f"choose one of {', '.join(map(repr, names))}" if names else "the methods have none of their own"
            raise ValueError(f"There is no figure {name!r}; {choice}.")
        return self._numbers(lambda row: (row.get("figures") or {}).get(name))[self._place_of(data)]

    def _place_of(self, data: str | None) -> int:
        """Return the position of a data set; None stands for the only one."""
        if data is None and len(self.data) == 1:
            data = self.data[0]
        if data not in self.data:
            raise ValueError(f"data must be one of {', '.join(map(repr, self.data))}, got {data!r}.")
        return self.data.index(data)

    def all_folds(self, measure: str) -> np.ndarray:
        """Return a measure on all folds of all data sets, shape (n_data, n_repeats * n_folds, n_methods); NaN if
        missing.
        """
        if measure not in NUMBERS:
            raise ValueError(f"There is no measure {measure!r}; choose one of {', '.join(map(repr, NUMBERS))}.")
        return self._numbers(itemgetter(measure))

    def _numbers(self, of_row: Callable[[dict[str, Any]], float | None]) -> np.ndarray:
        """Return one number for each result, (n_data, n_repeats * n_folds, n_methods); NaN if missing.

        ``of_row`` is a function that returns the number of a result, or None.
        """
        values = np.full((len(self.data), self.protocol.n_splits, len(self.methods)), np.nan)
        data, methods = ({name: k for k, name in enumerate(names)} for names in (self.data, self.methods))
        for row in self.rows:
            if (number := of_row(row)) is not None:
                fold = row["repeat"] * self.protocol.n_folds + row["fold"]
                values[data[row["data"]], fold, methods[row["method"]]] = number
        return values

    def matrix(self, measure: str) -> np.ndarray:
        """Return the mean of a measure over the folds, shape (n_data, n_methods).

        It is NaN if a method failed on a fold on which another one succeeded, because means over different folds are
        not comparable.
        """
        return means_over_folds([*self.all_folds(measure)], len(self.methods))

    @property
    def test_share(self) -> float:
        """Ratio n_test / n_train of a fold, for `corrected_resampled_t`."""
        if isinstance(self.protocol, RepeatedFolds):
            return 1.0 / (self.protocol.n_folds - 1)
        return float(np.mean([row["n_test"] / row["n_train"] for row in self.rows])) if self.rows else float("nan")

    @staticmethod
    def higher_is_better(measure: str) -> bool:
        """Return whether higher values of a measure are better."""
        return measure not in LOWER_IS_BETTER and not measure.endswith("_seconds") and measure != "n_features"

    def summary(self) -> Any:
        """Return a dataframe with one line per data set and method.

        Columns ``data``, ``method``, means over the folds that succeeded of ``accuracy``, ``auc``, ``log_loss`` and
        ``n_features``; ``n_folds`` (finished) and ``n_failed``. These are few enough to be printed completely by
        polars; `means` has all measures.
        """
        import polars as pl

        measures = dict.fromkeys(_SUMMARY, pl.Float64)
        schema = {"data": pl.String, "method": pl.String, **measures, "n_folds": pl.Int64, "n_failed": pl.Int64}
        lines = [{name: line[name] for name in schema} for line in self._means()]
        return results_frame(lines, self.library, schema=schema)

    def means(self) -> Any:
        """Return a dataframe of all measures, with one line per data set and method, over the folds of all repeats.

        Columns ``data``, ``method``, for every measure its mean and, ending in ``_std``, its standard deviation (n - 1;
        null for a single fold), both over the folds that succeeded; ``n_folds`` (finished) and ``n_failed``.
        """
        import polars as pl

        measures = [name for number in NUMBERS for name in (number, f"{number}_std")]
        schema: dict[str, Any] = {"data": pl.String, "method": pl.String, **dict.fromkeys(measures, pl.Float64)}
        return results_frame(self._means(), self.library, schema=schema | {"n_folds": pl.Int64, "n_failed": pl.Int64})

    def _means(self) -> list[dict[str, Any]]:
        """Return means and standard deviations of all measures, as one dict for each data set and method; see
        `means`.
        """
        lines = []
        values = {measure: self.all_folds(measure) for measure in NUMBERS}
        n_rows = Counter((row["data"], row["method"]) for row in self.rows)
        n_failed = Counter((row["data"], row["method"]) for row in self.rows if row["error"] is not None)
        for (i, data), (j, method) in product(enumerate(self.data), enumerate(self.methods)):
            failed = n_failed[data, method]
            line = {"data": data, "method": method, "n_folds": n_rows[data, method] - failed, "n_failed": failed}
            for measure in NUMBERS:
                line[measure], line[f"{measure}_std"] = _mean_and_spread(values[measure][i, :, j])
            lines.append(line)
        return lines

    def errors(self) -> list[tuple[str, str, int, str]]:
        """Return data set, method, number of folds and message of each error, in the order of `frame`."""
        failed = (row for row in self.rows if row["error"] is not None)
        counts = Counter((row["data"], row["method"], row["error"]) for row in failed)
        return [(data, method, number, error) for (data, method, error), number in counts.items()]

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str = "Comparison of methods",
        measure: str = "accuracy",
        reference: str | None = None,
    ) -> None:
        """Write a self-contained HTML page: means, tests over the folds, and folds as dots.

        For several data sets, it also has average ranks with critical-difference diagrams, and tests of all pairs.

        Parameters
        ----------
        path : file to write, named ``.html`` or ``.htm``.
        title : headline.
        measure : performance measure shown first, by which methods are ordered.
        reference : method that the others are tested against; by default the best by `measure`.

        Raises
        ------
        ValueError
            If `reference` is not a method of the comparison, or ``path`` ends otherwise or cannot be written.
        """
        from bayesieve_lab.comparison.page import render_comparison

        check_html(path)
        write_atomically(path, render_comparison(self, title=title, measure=measure, reference=reference))

    def plot(self, kind: str = "tradeoff", *, measure: str = "accuracy") -> Any:
        """Draw the methods.

        Parameters
        ----------
        kind : {"tradeoff", "ranks"}, default="tradeoff"
            "tradeoff": the measure by seconds and features; "ranks": average ranks, bars joining methods that do not
            differ significantly, over data sets or over the folds of a single one.
        measure : a performance measure.

        Returns
        -------
        Figure

        Raises
        ------
        ValueError
            If there is no such kind or measure, or nothing to draw.

        Examples
        --------
        >>> from bayesieve_lab import RepeatedFolds, compare
        >>> from bayesieve import SelectiveNB
        >>> from sklearn.datasets import load_iris
        >>> methods = {name: SelectiveNB(name) for name in ("map", "all")}
        >>> comparison = compare(methods, *load_iris(return_X_y=True), RepeatedFolds(n_folds=3))
        >>> sorted(comparison.plot("ranks").data["method"])
        ['all', 'map']
        """
        from bayesieve_lab.comparison.page import methods_figure

        return methods_figure(self, kind, measure)

    def write_csv(self, path: str | os.PathLike[str]) -> None:
        """Write `frame` as a CSV file, whole or not at all."""
        refuse_other_format(path, "a table as CSV", ".csv")
        write_atomically(path, csv_text(replace(self, library="polars").frame))


def means_over_folds(folds: Sequence[np.ndarray], n_methods: int) -> np.ndarray:
    """Return means of a measure over the folds, (n_data, n_methods); NaN if a method has no value on a fold.

    ``folds`` has, for each data set, the values (n_folds, n_methods). Folds without values of any method are ignored.
    """
    means = np.full((len(folds), n_methods), np.nan)
    for mean, values in zip(means, folds, strict=True):
        present = values[~np.isnan(values).all(axis=1)]
        if len(present):
            with np.errstate(invalid="ignore"):  # of infinities of both signs
                mean[:] = present.mean(axis=0)
    return means


def _over_data(means: np.ndarray) -> np.ndarray:
    """Return means over data sets of ``means`` (n_data, n_methods), (n_methods,).

    They are NaN for a method that has no value on a data set.
    """
    with np.errstate(invalid="ignore"):
        return means.mean(axis=0) if len(means) else np.full(means.shape[1], np.nan)


def _mean_and_spread(values: Sequence[float] | np.ndarray) -> tuple[float | None, float | None]:
    """Return mean and standard deviation of the values that are not NaN; None if there are too few."""
    present = np.asarray(values)[~np.isnan(values)]
    return float(present.mean()) if present.size else None, float(present.std(ddof=1)) if present.size > 1 else None


@dataclass(frozen=True)
class Standing:
    """Rank of a method among all, and tests against the others.

    Attributes
    ----------
    method : its name.
    rank : mean rank over folds, 1 is best; it ranks last on folds on which it failed.
    beats, loses_to : number of methods that are significantly worse, and better, by the corrected resampled t-test at 5
        % (Nadeau & Bengio 2003), not adjusted for multiple tests.
    against_best : paired test of this method against the best one; None for the best method.
    """

    method: str
    rank: float
    beats: int
    loses_to: int
    against_best: PairedTest | None


def standings(comparison: Comparison, measure: str, data: str | None = None) -> list[Standing]:
    """Return the `Standing` of all methods with results on a data set, best mean first.

    Methods that failed on a fold are last.

    Parameters
    ----------
    comparison : result of `compare`.
    measure : a performance measure, such as ``"auc"``.
    data : name of the data set; optional if there is only one.

    Raises
    ------
    ValueError
        If there is no such measure or data set.

    Examples
    --------
    >>> from bayesieve_lab import RepeatedFolds, compare
    >>> from bayesieve import SelectiveNB
    >>> from bayesieve_lab.comparison.results import standings
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.dummy import DummyClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> methods = {"shares": DummyClassifier(), "map": SelectiveNB("map")}
    >>> comparison = compare(methods, X, y, RepeatedFolds(n_folds=5))
    >>> [(s.method, s.rank, s.beats, s.loses_to) for s in standings(comparison, "accuracy")]
    [('map', 1.0, 1, 0), ('shares', 2.0, 0, 1)]
    """
    values = comparison.folds(measure, data)
    values = values[~np.isnan(values).all(axis=1)]
    places = [place for place in range(len(comparison.methods)) if not np.isnan(values[:, place]).all()]
    if not places:
        return []
    better = comparison.higher_is_better(measure)
    sign = 1 if better else -1
    ranks = average_ranks(values, better)

    def test(one: int, other: int) -> PairedTest:
        """Return the corrected resampled t-test of the method at ``one`` (first) against the one at ``other``."""
        return corrected_resampled_t(values[:, one], values[:, other], comparison.test_share)

    def place_of(place: int) -> tuple[bool, float, int]:
        """Return the sort key of the method at position ``place``.

        Methods that failed on a fold are last, the others are in the order of their mean, the best first.
        """
        column = values[:, place]
        return bool(np.isnan(column).any()), -sign * float(np.round(np.nanmean(column), 12)), place

    order = sorted(places, key=place_of)
    outcomes = {one: [sign * test(one, other).sign() for other in places if other != one] for one in places}
    return [
        Standing(
            method=comparison.methods[one],
            rank=float(ranks[one]),
            beats=outcomes[one].count(1),
            loses_to=outcomes[one].count(-1),
            against_best=None if one == order[0] else test(one, order[0]),
        )
        for one in order
    ]


Key = tuple[str, str, int, int]
"""Names of data set and method, repeat and fold."""

_Whole = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
_Rows = Annotated[int, msgspec.Meta(gt=0, lt=2**53)]


class Result(TypedDict):
    """Result of a method on a fold: either measures, or the message of an error.

    Fields are those of `Comparison.frame`, and ``figures``, further measures by name that the method reports.
    """

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
    """Line of a file of results, of one of three kinds.

    ``comparison`` has the settings of the folds; ``description`` describes the data set ``data`` or the method
    ``method``; ``result`` is a `Result` as JSON, with its checksum ``crc32``.
    """

    comparison: dict[str, int | str] | None = None
    data: str | None = None
    method: str | None = None
    description: str = msgspec.field(name="is", default="")
    result: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    crc32: int | None = None


_decode_line = msgspec.json.Decoder(_Line).decode
_decode_result = msgspec.json.Decoder(Result).decode


class ComparisonFile:
    """File of results: lines with the settings, hashes of data sets, descriptions of methods, and finished folds.

    The file is created with the first result. Lines are flushed to disk when they are written; an incomplete last line
    of a run that was killed is dropped, and its fold is run again. A file without results is overwritten. Every error
    is a ValueError that names the file.

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
        """Remove all content from memory."""
        self.rows: dict[Key, dict[str, Any]] = {}
        self._settings: dict[str, Any] = {}
        self._described: dict[str, dict[str, str]] = {"data": {}, "method": {}}
        self._size = 0  # bytes of whole lines

    def go_on(self, settings: Mapping[str, Any], data: Mapping[str, str], methods: Mapping[str, str]) -> None:
        """Check that the file can be written and has no results of another comparison; call it before any fold is run.

        Parameters
        ----------
        settings : settings that determine the folds; they must equal those in the file, except for the version of
            bayesieve. Folds of another version are used, with a UserWarning, and new folds are preceded by settings
            with the new version.
        data : hash of every data set by name; the file may have more data sets, but no different one of the same name.
            `add_data` adds data sets that are loaded later.
        methods : description of every method by name; the file may have more methods, but no different one of the same
            name.
        """
        if self.path is None:
            return
        if not self.path.parent.is_dir():
            raise ValueError(f"{self.path} cannot be written: there is no folder {self.path.parent}; create it first.")
        if not os.access(self.path if self.path.exists() else self.path.parent, os.W_OK):
            raise ValueError(f"{self.path} cannot be written (Permission denied); choose another file.")
        saved = self._settings
        other = [name for name in {**saved, **settings} if saved and saved.get(name) != settings.get(name)]
        if other == [_VERSION]:
            began = f"{self.path} was begun with bayesieve {saved.get(_VERSION, 'of an unknown version')}"
            warnings.warn(f"{began}; the folds it lacks are run with {settings[_VERSION]}.", stacklevel=3)
        elif other:
            pairs = ((name, saved.get(name, "none"), settings.get(name, "none")) for name in other)
            difference = " and ".join(f"{name} {old} instead of {new}" for name, old, new in pairs)
            raise ValueError(f"{self.path} holds results of another protocol ({difference}); choose another file.")
        if not saved or other:
            self._pending.append({"comparison": settings})  # a version is that of the folds below it
            self._settings = dict(settings)
        self._describe("data", "another table", data)
        self._describe("method", "a method with other options", methods)
        if self.path.exists():
            os.truncate(self.path, self._size)

    def add_data(self, name: str, fingerprint: str) -> None:
        """Record the hash of a data set; called before its first result is saved.

        ``fingerprint`` is this hash.
        """
        with self._lock:
            self._describe("data", "another table", {name: fingerprint})

    def append(self, row: dict[str, Any]) -> None:
        """Save a finished fold of a method.

        ``row`` has the names of data set and method, repeat, fold, and the measures.
        """
        with self._lock:
            if self.path is not None:
                text = msgspec.json.encode(row)
                self._write(self.path, [*self._pending, {"result": msgspec.Raw(text), "crc32": zlib.crc32(text)}])
                self._pending = []
            self.rows[key_of(row)] = row

    def _describe(self, kind: str, what: str, descriptions: Mapping[str, str]) -> None:
        """Store new descriptions, by name, for the next write; ValueError if one contradicts the file.

        ``kind`` is "data" or "method", and ``what`` describes the conflicting results in the message.
        """
        described = self._described[kind]
        for name, description in descriptions.items():
            if described.get(name, description) != description:
                raise ValueError(f"{self.path} holds results of {what} named {name!r}; choose another file.")
        self._pending += [{kind: name, "is": text} for name, text in descriptions.items() if name not in described]
        described.update(descriptions)

    @staticmethod
    def _write(path: Path, lines: list[dict[str, Any]]) -> None:
        """Append lines to the file and flush them to disk; after an error, remove the part that was written."""
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
        """Read the content of the file, if it exists, into memory; ValueError if it is damaged or of another kind."""
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
        """Process a line: settings, description or result; ValueError if it contradicts an earlier one."""
        if line.comparison:
            fits = not self._settings or _protocol(self._settings) == _protocol(line.comparison)
            fits &= _VERSION not in line.comparison or _is_version(line.comparison[_VERSION])
            self._settings = line.comparison
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
            raise ValueError("Its entries contradict each other, or an earlier line.")


def read_results(path: str | os.PathLike[str]) -> dict[Key, dict[str, Any]]:
    """Return the finished folds in a file, by data set, method, repeat and fold; ValueError if it is damaged."""
    return ComparisonFile(path).rows


def _is_version(value: object) -> bool:
    """Return whether a value is the canonical text of a version, such as ``"0.2.0"`` or ``"1.0rc1"``."""
    return isinstance(value, str) and _CANONICAL_VERSION.fullmatch(value) is not None


def _protocol(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a file without the version of bayesieve."""
    return {name: value for name, value in settings.items() if name != _VERSION}


def key_of(row: Mapping[str, Any]) -> Key:
    """Return the key of a result: names of data set and method, numbers of repeat and fold."""
    return str(row["data"]), str(row["method"]), int(row["repeat"]), int(row["fold"])

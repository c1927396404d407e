"""Catalogues of data sets (CSV files with one line per data set), and checks of tables against their lines."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

CATALOGUE = "catalogue.csv"
PAPERS = Path(__file__).parent / "papers.csv"
"""The data sets of the papers and their sources: `source` is "openml:ID", "generated" or empty."""

_FACTS = ("rows", "n_numeric", "n_categorical", "n_classes", "majority_share")
_WHERE = ("file", "target")
_NO_MARKS = 'columns of marks have names such as "in_boulle"'
_MARKS = dict.fromkeys(("1", "true", "yes"), True) | dict.fromkeys(("", "0", "false", "no"), False)

_COUNTS = {"rows": "rows", "n_features": "features", "n_numeric": "numeric features", "n_classes": "classes"}
_SHARES = {"majority_share": "of the rows in the largest class", "missing_share": "of the cells missing"}
ALL = (*_COUNTS, *_SHARES)
OF_LABELS = ("rows", "n_classes", "majority_share")
"""Facts that do not depend on the columns, because a folder may have columns that are not features."""

_TOLERANCE = 1e-3  # of shares, which catalogues round
_AMONG_THEM = 1e-9  # so that 0.001 itself is within the tolerance despite rounding


@dataclass(frozen=True)
class DataFacts:
    """Facts by which a copy of a data set is recognized.

    Attributes
    ----------
    rows : number of rows.
    n_numeric, n_categorical : number of features of each kind, without the target.
    n_classes : number of classes that occur.
    majority_share : share of the rows in the most frequent class, in [0, 1].
    missing_share : share of missing cells among the features, in [0, 1]; None if unknown.
    note : peculiarities of the data set; may be empty.
    """

    rows: int
    n_numeric: int
    n_categorical: int
    n_classes: int
    majority_share: float
    missing_share: float | None = None
    note: str = ""

    @property
    def n_features(self) -> int:
        """Number of features of both kinds."""
        return self.n_numeric + self.n_categorical


@dataclass(frozen=True)
class Entry:
    """Line of a catalogue that describes one data set.

    Attributes
    ----------
    name, facts : name and facts of the data set.
    marks : names of the columns of marks, such as "in_boulle", that are true.
    cells : all cells of the line as text, by column.
    """

    name: str
    facts: DataFacts
    marks: frozenset[str]
    cells: Mapping[str, str]


@dataclass(frozen=True)
class Catalogue:
    """Data sets listed in a CSV file.

    Attributes
    ----------
    path : the file.
    entries : its lines by name of the data set, in the order of the file.
    marks : names of the columns that begin with ``in_``, which mark data sets (0 or 1).
    """

    path: Path
    entries: Mapping[str, Entry]
    marks: tuple[str, ...]

    def marked(self, mark: str) -> tuple[Entry, ...]:
        """Return the data sets with a mark; ValueError if there is no such mark."""
        if mark not in self.marks:
            hint = f"it has {', '.join(self.marks)}" if self.marks else _NO_MARKS
            raise ValueError(f"{self.path.name} has no column {mark!r} that marks data sets; {hint}.")
        return tuple(entry for entry in self.entries.values() if mark in entry.marks)

    def entry(self, name: str) -> Entry:
        """Return the line of a data set; ValueError, which names the closest names, if there is none."""
        if name in self.entries:
            return self.entries[name]
        folded = {entry.casefold(): entry for entry in self.entries}
        close = [folded[entry] for entry in difflib.get_close_matches(str(name).casefold(), folded, n=3)]
        hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"it has {', '.join(self.entries)}."
        raise ValueError(f"There is no data set {name!r} in {self.path}; {hint}")


def read_folder_catalogue(folder: Path) -> Catalogue:
    """Return the catalogue of a folder of data sets.

    Raise FileNotFoundError if there is no such folder, or no catalogue in it.
    """
    if not folder.is_dir():
        what = "a file, not a folder" if folder.exists() else "not there"
        raise FileNotFoundError(f"The folder of data sets {folder} is {what}; give a folder with a {CATALOGUE}.")
    path = folder / CATALOGUE
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no {CATALOGUE} in {folder}; it lists the data sets there, one a line: lab/data-sets.md."
        )
    return read_catalogue(path, needed=_WHERE)


def read_catalogue(path: Path, needed: tuple[str, ...] = ()) -> Catalogue:
    """Read a catalogue, which must have the columns of facts and the ``needed`` ones; ValueError if it is invalid."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            columns, lines = list(reader.fieldnames or ()), list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} cannot be read as a CSV file in UTF-8 ({error}); save it as CSV in UTF-8.") from error
    absent = [column for column in ("name", *needed, *_FACTS) if column not in columns]
    if absent:
        raise ValueError(
            f"{path} lacks the column{'s' * (len(absent) > 1)} {', '.join(absent)}; add "
            f"{'them' if len(absent) > 1 else 'it'} to the header and to every line."
        )
    marks = tuple(column for column in columns if column.startswith("in_"))
    entries: dict[str, Entry] = {}
    for line in lines:
        entry = _entry(path, {column: (line[column] or "").strip() for column in columns}, marks, needed)
        if entry.name in entries:
            raise ValueError(f"{path} has two lines for the data set {entry.name!r}; give each its own name.")
        entries[entry.name] = entry
    if not entries:
        raise ValueError(f"{path} lists no data sets; give it a line for each.")
    return Catalogue(path, entries, marks)


def _entry(path: Path, cells: dict[str, str], marks: tuple[str, ...], needed: tuple[str, ...]) -> Entry:
    """Return a line of the catalogue ``path`` from its ``cells``, by column.

    ``marks`` are the columns of marks, ``needed`` columns that may not be empty. Raise ValueError if a cell is invalid.
    """
    name = cells["name"]
    for column in ("name", *needed):
        if not cells[column]:
            raise ValueError(f"{path}: the line of data set {name!r} has no {column}; fill in this cell.")

    def read(column: str, convert: Callable[[str], Any], wanted: str) -> Any:
        """Return the cell of a column, converted by the function ``convert``.

        If it raises an error, a ValueError says that the cell must be ``wanted``, such as "a number from 0 to 1".
        """
        try:
            return convert(cells[column])
        except (KeyError, ValueError):
            raise ValueError(
                f"{path}: {column} of data set {name!r} must be {wanted}, not {cells[column]!r}."
            ) from None

    shares = ("majority_share", "missing_share") if cells.get("missing_share") else ("majority_share",)
    facts = DataFacts(
        **{column: read(column, _whole, "a whole number from 0 up") for column in _FACTS[:4]},
        **{column: read(column, _share, "a number from 0 to 1") for column in shares},
        note=cells.get("note", ""),
    )
    return Entry(name, facts, frozenset(mark for mark in marks if read(mark, _mark, "0 or 1")), cells)


def _whole(text: str) -> int:
    """Return the whole number in a text; ValueError for other texts."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError
    return int(text)


def _share(text: str) -> float:
    """Return the number from 0 to 1 in a text; ValueError for other texts."""
    share = float(text)
    if not 0 <= share <= 1:
        raise ValueError
    return share


def _mark(text: str) -> bool:
    """Return whether the text of a mark means true; KeyError if it is not a mark."""
    return _MARKS[text.lower()]


def facts_of(features: Any, labels: np.ndarray) -> DataFacts:
    """Return the facts of a table (a polars frame, or a numeric sparse matrix) and its labels (n_rows,)."""
    counts = np.unique(labels, return_counts=True)[1]
    if isinstance(features, pl.DataFrame):
        numeric = sum(dtype.is_numeric() for dtype in features.dtypes)
        missing = sum(_missing(column) for column in features.get_columns())
    else:
        numeric = features.shape[1]
        missing = int(np.isnan(features.data).sum()) if features.data.dtype.kind == "f" else 0
    rows, columns = features.shape
    return DataFacts(
        rows=rows,
        n_numeric=numeric,
        n_categorical=columns - numeric,
        n_classes=counts.size,
        majority_share=float(counts.max(initial=0) / max(rows, 1)),
        missing_share=missing / max(rows * columns, 1),
    )


def differences(actual: DataFacts, expected: DataFacts, fields: Sequence[str] = ALL) -> str:
    """Return the differences between two sets of facts in words, such as "151 rows instead of 150"; empty if there are
    none.

    ``actual`` are the facts of the data set, ``expected`` those of the catalogue, ``fields`` the names of the facts to
    compare.
    """
    return ", ".join(text for field in fields if (text := _difference(field, actual, expected)))


def _difference(field: str, actual: DataFacts, expected: DataFacts) -> str:
    """Return in words how the fact ``field`` differs between ``actual`` and ``expected``; empty if it agrees."""
    value, wanted = getattr(actual, field), getattr(expected, field)
    if field not in _SHARES:
        return "" if value == wanted else f"{value} {_COUNTS[field]} instead of {wanted}"
    if wanted is None or abs(value - wanted) <= _TOLERANCE + _AMONG_THEM:
        return ""
    return f"{100 * value:.2f} % {_SHARES[field]} instead of {100 * wanted:.2f} %"


def _missing(column: Any) -> int:
    """Return the number of missing values (null or NaN) in a polars series."""
    n_nan = column.is_nan().sum() if column.dtype.is_float() else 0
    return int(column.null_count() + (n_nan or 0))

"""Catalogues of data sets: CSV files with one line per data set."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayesieve.studies.data_sets.facts import DataFacts

CATALOGUE = "catalogue.csv"
PAPERS = Path(__file__).parent / "papers.csv"
"""The data sets of the papers and their sources: `source` is "openml:ID", "generated" or empty."""

_FACTS = ("rows", "n_numeric", "n_categorical", "n_classes", "majority_share")
_WHERE = ("file", "target")
_NO_MARKS = 'columns of marks have names such as "in_boulle"'
_MARKS = dict.fromkeys(("1", "true", "yes"), True) | dict.fromkeys(("", "0", "false", "no"), False)


@dataclass(frozen=True)
class Entry:
    """A line of a catalogue: its facts, its marks, and all cells as text."""

    name: str
    facts: DataFacts
    marks: frozenset[str]
    cells: Mapping[str, str]


@dataclass(frozen=True)
class Catalogue:
    """Data sets by name, in the order of the file; columns that begin with ``in_`` are marks (0 or 1)."""

    path: Path
    entries: Mapping[str, Entry]
    marks: tuple[str, ...]

    def marked(self, mark: str) -> tuple[Entry, ...]:
        """The data sets with a mark; ValueError if there is no such mark."""
        if mark not in self.marks:
            known = f"it has {', '.join(self.marks)}" if self.marks else _NO_MARKS
            raise ValueError(f"{self.path.name} has no column {mark!r} that marks data sets; {known}.")
        return tuple(entry for entry in self.entries.values() if mark in entry.marks)

    def entry(self, name: str) -> Entry:
        """The line of a data set; ValueError with the closest names if there is none."""
        if name in self.entries:
            return self.entries[name]
        folded = {known.casefold(): known for known in self.entries}
        close = [folded[known] for known in difflib.get_close_matches(str(name).casefold(), folded, n=3)]
        hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"it has {', '.join(self.entries)}."
        raise ValueError(f"There is no data set {name!r} in {self.path}; {hint}")


def read_folder_catalogue(folder: Path) -> Catalogue:
    """The catalogue of a folder of data sets; FileNotFoundError if there is no such folder, or no catalogue in it."""
    if not folder.is_dir():
        what = "a file, not a folder" if folder.exists() else "not there"
        raise FileNotFoundError(f"The folder of data sets {folder} is {what}; give a folder with a {CATALOGUE}.")
    path = folder / CATALOGUE
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no {CATALOGUE} in {folder}; it lists the data sets there, one a line, as docs/data-sets.md says."
        )
    return read_catalogue(path, needed=_WHERE)


def read_catalogue(path: Path, needed: tuple[str, ...] = ()) -> Catalogue:
    """Read a catalogue, which must have the columns of facts and the ``needed`` ones; ValueError if it is invalid."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            columns, lines = list(reader.fieldnames or ()), list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} cannot be read as a CSV file in UTF-8 ({error}).") from error
    absent = [column for column in ("name", *needed, *_FACTS) if column not in columns]
    if absent:
        raise ValueError(f"{path} lacks the column{'s' * (len(absent) > 1)} {', '.join(absent)}.")
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
    name = cells["name"]
    for column in ("name", *needed):
        if not cells[column]:
            raise ValueError(f"{path}: the line of data set {name!r} has no {column}.")

    def read(column: str, convert: Callable[[str], Any], wanted: str) -> Any:
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
    if not (text.isascii() and text.isdigit()):
        raise ValueError
    return int(text)


def _share(text: str) -> float:
    share = float(text)
    if not 0 <= share <= 1:
        raise ValueError
    return share


def _mark(text: str) -> bool:
    return _MARKS[text.lower()]

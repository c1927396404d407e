"""Data sets of the papers, loaded from a folder or downloaded, and checked against the catalogue."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bayesieve_lab.data_sets.catalogue import (
    ALL,
    OF_LABELS,
    PAPERS,
    DataFacts,
    Entry,
    differences,
    facts_of,
    read_catalogue,
    read_folder_catalogue,
)
from bayesieve_lab.data_sets.folder import read_data_set
from bayesieve_lab.data_sets.generated import generate
from bayesieve_lab.data_sets.openml import REMEDY, download

__all__ = ["DataFacts", "DataSets"]

_DECLARED = "declared_levels.json"


class DataSets:
    """Data sets by name, loaded one at a time.

    A folder has a ``catalogue.csv`` with one line per data set, next to the tables; see ``lab/data-sets.md``.
    Without a folder, the data sets of the papers are downloaded from OpenML (to scikit-learn's data folder), or
    generated if the papers generated them. A table is refused if its rows, classes or share of the largest class
    differ from its line; a downloaded one also if its features or missing cells differ.

    Parameters
    ----------
    folder : path or None, default=None
        Folder of the data sets; None to download them.

    Raises
    ------
    FileNotFoundError
        If there is no such folder, or no catalogue in it.
    ValueError
        If the catalogue is invalid.

    Examples
    --------
    >>> from bayesieve_lab.data_sets import DataSets
    >>> data_sets = DataSets()
    >>> "led" in data_sets.names("in_boulle")
    True
    >>> features, labels = data_sets.load("led")
    >>> features.shape, data_sets.facts("led").n_classes
    ((1000, 7), 10)
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = None if folder is None else Path(folder)
        self._catalogue = read_catalogue(PAPERS) if self.folder is None else read_folder_catalogue(self.folder)

    def __repr__(self) -> str:
        return "DataSets()" if self.folder is None else f"DataSets({str(self.folder)!r})"

    def __contains__(self, name: str) -> bool:
        """Return whether the data set of this name can be loaded."""
        return name in self._catalogue.entries and self._loadable(self._catalogue.entry(name))

    def names(self, mark: str) -> tuple[str, ...]:
        """Return the loadable data sets with a mark, such as "in_boulle", in the order of the catalogue.

        A ValueError is raised if the catalogue has no such mark.
        """
        return tuple(entry.name for entry in self._catalogue.marked(mark) if self._loadable(entry))

    def missing(self, mark: str) -> tuple[str, ...]:
        """Return the data sets with a mark, such as "in_boulle", that cannot be loaded, in the order of the catalogue.

        A ValueError is raised if the catalogue has no such mark.
        """
        loadable = self.names(mark)
        papers = read_catalogue(PAPERS)
        entries = papers.marked(mark) if mark in papers.marks else ()
        return tuple(entry.name for entry in entries if entry.name not in loadable)

    def facts(self, name: str) -> DataFacts:
        """Return the facts of a data set; ValueError if the catalogue does not have it."""
        return self._catalogue.entry(name).facts

    def target(self, name: str) -> str:
        """Return the name of the target column of a data set; "class" if the data set is downloaded."""
        return self._catalogue.entry(name).cells.get("target") or "class"

    def declared_states(self, name: str) -> dict[str, list[str]]:
        """Return the states that the source of a data set declares, by column, the target included; empty if unknown.

        They are read from ``declared_levels.json`` in the folder.
        """
        path = None if self.folder is None else self.folder / _DECLARED
        if path is None or not path.is_file():
            return {}
        try:
            return dict(json.loads(path.read_text("utf-8")).get(name, {}))
        except (ValueError, AttributeError, TypeError) as error:
            raise ValueError(f"{path} must have the states of columns by data set and column ({error}).") from error

    def load(self, name: str) -> tuple[Any, np.ndarray]:
        """Return features and labels of a data set; every call returns equal ones.

        Returns
        -------
        polars frame, or SciPy CSR matrix for sparse data, of shape (n_rows, n_features), and labels (n_rows,):
        integers, or text as objects.

        Raises
        ------
        FileNotFoundError
            If a file is missing.
        ConnectionError
            If OpenML does not answer and the data set is not in the cache.
        ValueError
            If the data set is not in the catalogue, or differs from its description.
        """
        entry = self._catalogue.entry(name)
        if self.folder is not None:
            features, labels = read_data_set(self.folder, entry)
            remedy = f"correct {self._catalogue.path.name} or the file"
            _check(entry, features, labels, OF_LABELS, f"in {self.folder}", remedy)
        elif entry.cells["source"] == "generated":
            features, labels = generate(name)
        elif self._loadable(entry):
            features, labels = download(entry)
            where = entry.cells["source"].replace("openml:", "on OpenML, number ") + ","
            _check(entry, features, labels, ALL, where, REMEDY)
        else:
            raise ValueError(f"Data set {name!r} cannot be downloaded ({entry.facts.note}); {REMEDY}.")
        return features, labels

    def _loadable(self, entry: Entry) -> bool:
        """Return whether a data set can be loaded, given its line of the catalogue: from the folder, or by download."""
        return self.folder is not None or bool(entry.cells["source"])


def _check(entry: Entry, features: Any, labels: np.ndarray, fields: Sequence[str], where: str, remedy: str) -> None:
    """Raise ValueError if a table differs from ``entry``, its line in the catalogue.

    ``labels`` (n_rows,) are its classes, and ``fields`` the facts to compare, see `DataFacts`. The message says
    ``where`` the table is, and ``remedy``, what to do.
    """
    different = differences(facts_of(features, labels), entry.facts, fields)
    if different:
        raise ValueError(f"Data set {entry.name!r} {where} is not the one described: it has {different}; {remedy}.")

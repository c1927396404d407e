"""Download of data sets from OpenML, through scikit-learn and its cache."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any

import numpy as np
import polars as pl

from bayesieve_lab.data_sets.catalogue import Entry

REMEDY = "give the folder of a copy as --data DIR, laid out as lab/data-sets.md says"


def download(entry: Entry) -> tuple[Any, np.ndarray]:
    """Return features and labels of a data set of the papers, from OpenML.

    ``entry``, its line of the catalogue, has the OpenML ids, columns to drop and kinds of columns. If there are several
    ids, their features are joined; rows and labels must be equal in all. For results and errors, see `DataSets.load`.
    """
    ids = [int(number) for number in entry.cells["source"].removeprefix("openml:").split()]
    parts = [_part(entry, number) for number in ids]
    features, labels = parts[0]
    if len(parts) > 1:
        if any(not np.array_equal(labels, others) for _, others in parts[1:]):
            raise ValueError(f"The parts {ids} of {entry.name!r} on OpenML have different labels; {REMEDY}.")
        features = _side_by_side([part for part, _ in parts])
    return features, labels


def _part(entry: Entry, number: int) -> tuple[Any, np.ndarray]:
    """Return features and labels of the OpenML data set with the id ``number``.

    Columns and their kinds are those of ``entry``, a line of the catalogue.
    """
    bunch = _fetch(entry.name, number)
    labels = _labels(bunch.target)
    if labels is None:
        raise ValueError(
            f"Data set {number} of OpenML has no label in some rows, so it is not {entry.name!r}; {REMEDY}."
        )
    if not isinstance(bunch.data, np.ndarray):
        return bunch.data.tocsr(), labels
    dropped = entry.cells["drop"].split(";")
    return _frame(bunch, dropped, _kinds(entry, list(bunch.feature_names), dropped)), labels


def _fetch(name: str, number: int) -> Any:
    """Return the data set of OpenML with the id ``number``, as returned by scikit-learn; ``name`` is for messages."""
    from sklearn import datasets

    try:
        with warnings.catch_warnings():
            # The old version is intended, and the error below reports a missing network.
            warnings.filterwarnings("ignore", message="Version .* of dataset .* is inactive")
            warnings.filterwarnings("ignore", message="A network error occurred")
            # Without pandas, scikit-learn returns numbers and codes in one array.
            return datasets.fetch_openml(data_id=number, as_frame=False, parser="liac-arff")
    except (OSError, HTTPException) as error:
        raise ConnectionError(
            f"Data set {name!r} cannot be downloaded from OpenML ({number}: {_reason(error)}); check the network or "
            f"{REMEDY}."
        ) from error
    except MemoryError:
        raise
    except Exception as error:  # the ARFF reader's errors have no public base class
        raise ValueError(
            f"Data set {name!r} cannot be read from OpenML ({number}: {_reason(error)}); delete it from scikit-learn's "
            f"data folder to download it again or {REMEDY}."
        ) from error


def _reason(error: Exception) -> str:
    """Return the message of an exception in one line, or the name of its class if there is no message."""
    return " ".join(str(error).split()) or type(error).__name__


def _labels(target: Any) -> np.ndarray | None:
    """Return the column of labels as an array, (n_rows,): text, or numbers (integers if all are whole).

    It is None if labels are missing. ``target`` is the column as returned by scikit-learn.
    """
    labels = np.asarray(target)
    if labels.dtype.kind == "f":
        if np.isnan(labels).any():
            return None
        whole = labels.astype(np.int64)
        return whole if np.array_equal(whole, labels) else labels
    return None if any(label is None for label in labels.tolist()) else labels


def _kinds(entry: Entry, names: list[str], dropped: list[str]) -> dict[str, str]:
    """Return the kind, "numeric" or "categorical", of each column whose kind should differ from OpenML's, by name.

    They are parsed from ``entry``, a line of the catalogue: "categorical=a;b", or "numeric=*" for all columns.
    ``names`` are all columns, ``dropped`` those that are not used; a ValueError is raised for a column in neither.
    """
    kind, _, columns = entry.cells["kinds"].partition("=")
    chosen = names if columns == "*" else [name for name in columns.split(";") if name]
    absent = [name for name in chosen if name not in names and name not in dropped]
    if absent:
        raise ValueError(f"{entry.name!r} on OpenML has no column {absent[0]!r}, so it is another version; {REMEDY}.")
    return dict.fromkeys(chosen, kind)


def _frame(bunch: Any, dropped: list[str], kinds: Mapping[str, str]) -> Any:
    """Return the features of a data set of OpenML as a polars frame.

    ``bunch`` is the result of scikit-learn's `fetch_openml`. Columns in ``dropped`` are omitted; ``kinds`` has, by
    name, the kinds of columns that differ from OpenML's.
    """
    categories: Mapping[str, list[Any]] = bunch.categories or {}
    columns = {
        name: _column(bunch.data[:, k], categories.get(name), kinds.get(name))
        for k, name in enumerate(bunch.feature_names)
        if name not in dropped
    }
    return pl.DataFrame(columns)


def _column(cells: np.ndarray, categories: list[Any] | None, kind: str | None) -> Any:
    """Return a column as a polars series, with nulls for missing values.

    ``cells`` (n_rows,) are numbers or, unless ``categories`` is None, positions in these. ``kind`` is the kind to
    convert to, "numeric" or "categorical"; None keeps that of OpenML.
    """
    missing = np.isnan(np.asarray(cells, dtype=np.float64))
    if categories is None:
        numbers = pl.Series(np.asarray(cells, dtype=np.float64), nan_to_null=True)
        if kind != "categorical":
            return numbers
        whole = (numbers.drop_nulls() == numbers.drop_nulls().round()).all()
        return (numbers.cast(pl.Int64) if whole else numbers).cast(pl.String)
    texts = np.array([str(category) for category in categories] + [None], dtype=object)
    codes = np.where(missing, len(categories), np.nan_to_num(cells)).astype(np.int64)
    text = pl.Series(texts[codes].tolist(), dtype=pl.String)
    return text.cast(pl.Float64) if kind == "numeric" else text


def _side_by_side(frames: list[Any]) -> Any:
    """Return one frame with the columns of all frames.

    Names that occur in several frames are extended by the number of the frame, from 1.
    """
    counts = np.unique(np.concatenate([frame.columns for frame in frames]), return_counts=True)
    shared = {str(name) for name, count in zip(*counts, strict=True) if count > 1}
    return pl.concat(
        [
            frame.rename({name: f"{name}_{k}" for name in frame.columns if name in shared})
            for k, frame in enumerate(frames, start=1)
        ],
        how="horizontal",
    )

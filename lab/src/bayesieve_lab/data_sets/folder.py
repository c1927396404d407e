"""Reading one data set from files: a table, or a sparse matrix and its labels."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bayesieve.table import read_table
from bayesieve_lab.data_sets.catalogue import CATALOGUE, Entry


def read_data_set(folder: Path, entry: Entry) -> tuple[Any, np.ndarray]:
    """Return features and labels of the data set that ``entry`` describes, from files in a folder.

    The files are a table, or NAME.npz and NAME_labels.csv. For results and errors, see `DataSets.load`.
    """
    path = _existing(folder / entry.cells["file"], entry)
    target = entry.cells["target"]
    if path.suffix.lower() == ".npz":
        matrix = _read_sparse(path)
        labels_path = _existing(path.with_name(f"{path.stem}_labels.csv"), entry)
        labels = _labels(read_table(labels_path), target, labels_path)
        if labels.size != matrix.shape[0]:
            raise ValueError(
                f"{labels_path} has {labels.size} labels, but {path.name} has {matrix.shape[0]} rows; give every row "
                "one label."
            )
        return matrix, labels
    frame = read_table(path)
    labels = _labels(frame, target, path)
    if frame.width == 1:
        raise ValueError(f"{path} has only the target column {target!r}; a data set needs features.")
    return frame[[name for name in frame.columns if name != target]], labels


def _existing(path: Path, entry: Entry) -> Path:
    """Return ``path``; FileNotFoundError, which names the data set ``entry``, if there is no such file."""
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no file {path}, which {CATALOGUE} names for data set {entry.name!r}; add it or correct the line."
        )
    return path


def _labels(frame: Any, target: str, path: Path) -> np.ndarray:
    """Return the labels in the column ``target`` of a table, (n_rows,): integers, or text as objects.

    Raise ValueError, which names the file ``path``, if there is no such column, or a label is missing.
    """
    if target not in frame.columns:
        raise ValueError(f"{path} has no column {target!r}, which {CATALOGUE} names as the target.")
    column = frame[target]
    n_missing = column.null_count() + (column.is_nan().sum() or 0 if column.dtype.is_float() else 0)
    if n_missing:
        rows = "row" if n_missing == 1 else "rows"
        raise ValueError(f"{path} has no label in {n_missing} {rows} of the target {target!r}; remove those rows.")
    textual = isinstance(column.dtype, pl.Categorical | pl.Enum)
    labels: np.ndarray = (column.cast(pl.String) if textual else column).to_numpy()
    return labels


def _read_sparse(path: Path) -> Any:
    """Return a CSR matrix written by ``scipy.sparse.save_npz``; never unpickles."""
    from scipy import sparse

    try:
        if not zipfile.is_zipfile(path):  # NumPy would suggest unpickling it
            raise ValueError("it is not a zip archive")
        with np.load(path, allow_pickle=False) as parts:
            form = parts["format"].item()
            if form not in (b"csr", "csr"):
                raise ValueError(f"its form is {form!r}")
            shape = tuple(int(size) for size in parts["shape"])
            matrix = sparse.csr_matrix((parts["data"], parts["indices"], parts["indptr"]), shape=shape)
        matrix.check_format(full_check=True)  # indices out of range would read foreign memory later
        if matrix.dtype.kind not in "biuf":
            raise ValueError(f"its cells are {matrix.dtype}, not numbers")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{path} cannot be read as a sparse matrix by rows ({error}); write it with scipy.sparse.save_npz as CSR."
        ) from error
    return matrix

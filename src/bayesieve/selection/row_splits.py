"""Training and test rows: from a number of folds, a scikit-learn splitter or pairs of row positions."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils.validation import check_consistent_length

RowSplits = list[tuple[np.ndarray, np.ndarray]]


def is_number_of_folds(value: Any) -> bool:
    """Whether this is a whole number, which True and False are not."""
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))


def is_splitter(value: Any) -> bool:
    """Whether this splits rows as scikit-learn's splitters do: texts split, too, and classes are no objects yet."""
    return hasattr(value, "split") and not isinstance(value, (str, bytes, bytearray, type))


def takes_groups(value: Any) -> bool:
    """Whether folds by this may keep the rows of a group together."""
    return is_number_of_folds(value) or is_splitter(value)


def row_splits(
    cv: Any,
    labels: np.ndarray,
    groups: Any = None,
    *,
    seed: int = 0,
    weights: np.ndarray | None = None,
    name: str = "cv",
    with_tests: bool = True,
) -> RowSplits:
    """Positions of (train, test) rows.

    A number of folds is the same everywhere: stratified, shuffled (rows are often sorted, by time or by class) and,
    with ``groups``, without a group in two folds; rows of weight 0 are left out. Splitters and pairs are used as they
    are.

    Parameters
    ----------
    cv : number of folds, scikit-learn splitter or pairs of row positions.
    labels : class of each row.
    groups : group of each row, or None.
    seed : seed of the shuffle.
    name : of the option, for messages.
    with_tests : whether test rows are used, and so checked.

    Raises
    ------
    ValueError
        If ``cv`` is none of these, or cannot split the rows.
    """
    if is_number_of_folds(cv):
        pairs = _numbered(int(cv), labels, groups, seed, weights, name)
    elif is_splitter(cv):
        pairs = pairs_of(cv, labels, groups)
    elif isinstance(cv, Iterable) and not isinstance(cv, (str, bytes)):
        pairs = list(cv)
    else:
        raise ValueError(
            f"{name} must be a number of folds, a scikit-learn splitter or pairs of (train, test) row positions, got "
            f"{cv!r}."
        )
    if not pairs or any(not isinstance(pair, (tuple, list, np.ndarray)) or len(pair) != 2 for pair in pairs):
        raise ValueError(f"{name} must give at least one pair of (train, test) row positions.")
    return [
        (
            _positions(train, labels.size, f"{name} must give training rows"),
            _positions(test, labels.size, f"{name} must give test rows") if with_tests else test,
        )
        for train, test in pairs
    ]


def pairs_of(splitter: Any, labels: np.ndarray, groups: Any = None, weights: np.ndarray | None = None) -> RowSplits:
    """Positions of training and test rows by a scikit-learn splitter, of rows with these class labels (n_rows,).

    With ``weights``, rows of weight 0 are in no part, as if they were not there.
    A class smaller than the number of folds is missing from some of them: no reason to warn.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        if weights is None or np.all(weights):
            return list(splitter.split(np.zeros((labels.size, 1)), labels, groups))
        rows = np.flatnonzero(weights)
        groups = None if groups is None else np.asarray(groups)[rows]
        pairs = splitter.split(np.zeros((rows.size, 1)), labels[rows], groups)
        return [(rows[train], rows[test]) for train, test in pairs]


def _numbered(
    n_folds: int, labels: np.ndarray, groups: Any, seed: int, weights: np.ndarray | None, name: str
) -> RowSplits:
    counted = labels if weights is None else labels[weights > 0]
    largest = int(np.unique(counted, return_counts=True)[1].max(initial=0))
    if not 2 <= n_folds <= largest:
        raise ValueError(
            f"{name} must be between 2 folds and the rows of the most frequent class ({largest}), got {n_folds}."
        )
    if groups is None:
        return pairs_of(StratifiedKFold(n_folds, shuffle=True, random_state=seed), labels, weights=weights)
    check_consistent_length(labels, groups)
    groups = np.asarray(groups)
    n_groups = np.unique(groups if weights is None else groups[weights > 0]).size
    if n_groups < n_folds:
        raise ValueError(f"{name} must be at most the number of groups ({n_groups}), got {n_folds}.")
    return pairs_of(StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed), labels, groups, weights)


def _positions(rows: Any, n_rows: int, must: str) -> np.ndarray:
    rows = np.asarray(rows)
    if rows.dtype == bool and rows.shape == (n_rows,):
        rows = np.flatnonzero(rows)
    whole = rows.ndim == 1 and rows.size > 0 and rows.dtype.kind in "iu"
    if not whole or rows.min() < 0 or rows.max() >= n_rows:
        raise ValueError(f"{must} as positions from 0 to {n_rows - 1}, and some in every fold.")
    return rows.astype(np.int64)

"""Out-of-fold predictions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from bayesieve.selection.evaluation_rows import is_splitter, pairs_of
from bayesieve.table import as_target
from bayesieve.table.cautions import silenced
from bayesieve.table.frames import take_rows


def out_of_fold_log_proba(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_folds: int = 5,
    seed: int = 0,
    sample_weight: np.ndarray | None = None,
    splits: Sequence[tuple[np.ndarray, np.ndarray]] | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log probabilities of every row from a model trained on other rows, by default in stratified cross-validation.

    Parameters
    ----------
    estimator : classifier with ``predict_log_proba``; cloned for every fold.
    X, y : table and labels.
    n_folds : number of folds, at most the number of rows of the largest class.
    seed : seed of the shuffle.
    splits : pairs of (train, test) row positions to use instead of folds, as `row_splits` returns them.

    Returns
    -------
    log_proba (n_rows, n_classes), NaN for rows outside all test parts; class codes (n_rows,); class labels. A class
    missing from a training fold gets the probability of half a row.

    Raises
    ------
    ValueError
        If no class has two rows.
    """
    target = as_target(y)
    codes = target.codes.astype(np.int64)
    if splits is None:
        n_folds = min(n_folds, int(np.bincount(codes).max()))
        if n_folds < 2:
            raise ValueError("Cross-validation needs at least one class with two rows.")
        splits = row_splits(n_folds, codes, seed=seed)
    log_proba = np.full((codes.size, target.n_classes), np.nan)
    for train, test in splits:
        model = clone(estimator)
        labels = target.classes[codes[train]]
        weights = {} if sample_weight is None else {"sample_weight": sample_weight[train]}
        part = np.full((test.size, target.n_classes), np.log(0.5 / train.size))
        present = np.unique(codes[train])
        if present.size > 1:
            with silenced():
                model.fit(take_rows(X, train), labels, **weights)
                part[:, present] = model.predict_log_proba(take_rows(X, test))
        else:
            part[:, present] = 0.0  # a single class is left in the training rows
        log_proba[test] = part
    return log_proba, codes, target.classes


def row_splits(
    cv: Any,
    labels: np.ndarray,
    groups: Any = None,
    seed: int = 0,
    *,
    tests_once: bool = True,
    weights: np.ndarray | None = None,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Positions of (train, test) rows: ``cv`` is a number of stratified folds, a scikit-learn splitter or pairs.

    A number of folds leaves out rows of weight 0; splitters and pairs are used as they are. Test parts must not
    overlap; with ``tests_once=False`` they are not checked. Any other ``cv`` is a ValueError.
    """
    n_rows = labels.size
    numbered = isinstance(cv, Integral) and not isinstance(cv, bool)
    if numbered:
        counted = labels if weights is None else labels[weights > 0]
        largest = int(np.unique(counted, return_counts=True)[1].max(initial=0))
        if not 2 <= int(cv) <= largest:
            raise ValueError(
                f"cv must be between 2 folds and the rows of the most frequent class ({largest}), got {cv}."
            )
        cv = StratifiedKFold(int(cv), shuffle=True, random_state=seed)
    if is_splitter(cv):
        pairs = pairs_of(cv, labels, groups, weights if numbered else None)
    elif isinstance(cv, Iterable) and not isinstance(cv, (str, bytes)):
        pairs = list(cv)
    else:
        raise ValueError(
            "cv must be a number of folds, a scikit-learn splitter or pairs of (train, test) row positions, got "
            f"{cv!r}."
        )
    if not pairs or any(not isinstance(pair, (tuple, list)) or len(pair) != 2 for pair in pairs):
        raise ValueError("cv must give at least one pair of (train, test) row positions.")
    trained = [_positions(train, n_rows, "training") for train, _ in pairs]
    if not tests_once:
        return [(train, test) for train, (_, test) in zip(trained, pairs, strict=True)]
    tested = [_positions(test, n_rows, "test") for _, test in pairs]
    if np.bincount(np.concatenate(tested)).max() > 1:
        raise ValueError("cv must test no row twice; choose a splitter without repeats, such as StratifiedKFold.")
    return list(zip(trained, tested, strict=True))


def _positions(rows: Any, n_rows: int, kind: str) -> np.ndarray:
    rows = np.asarray(rows)
    if rows.dtype == bool and rows.shape == (n_rows,):
        rows = np.flatnonzero(rows)
    whole = rows.ndim == 1 and rows.size > 0 and rows.dtype.kind in "iu"
    if not whole or rows.min() < 0 or rows.max() >= n_rows:
        raise ValueError(f"cv must give {kind} rows as positions from 0 to {n_rows - 1}, and some in every fold.")
    return rows.astype(np.int64)

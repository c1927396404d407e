"""Out-of-fold predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from bayesieve.selection.row_splits import row_splits
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
    splits : pairs of (train, test) row positions to use instead of folds, as `row_splits` makes them.

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

"""Predictions for rows that the model has not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from bayesieve.selection.evaluation_rows import pairs_of
from bayesieve.table import as_target
from bayesieve.table.backends.sparse import is_sparse
from bayesieve.table.frames import as_array


def out_of_fold_log_proba(
    estimator: Any, X: Any, y: Any, *, n_folds: int = 5, seed: int = 0, sample_weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log probabilities of every row from a model trained on the other folds (stratified cross-validation).

    Parameters
    ----------
    estimator : classifier with ``predict_log_proba``; cloned for every fold.
    X, y : table and labels.
    n_folds : number of folds, at most the size of the largest class.
    seed : of the shuffle before folding.

    Returns
    -------
    log_proba (n_rows, n_classes), class codes (n_rows,), class labels. A class missing from a training fold gets half a
    row.

    Raises
    ------
    ValueError
        If every class has a single row.
    """
    target = as_target(y)
    codes = target.codes.astype(np.int64)
    largest = int(np.bincount(codes).max())
    n_folds = min(n_folds, largest)
    if n_folds < 2:
        raise ValueError("Cross-validation needs at least two rows of some class.")
    log_proba = np.empty((codes.size, target.n_classes))
    for train, test in pairs_of(StratifiedKFold(n_folds, shuffle=True, random_state=seed), codes):
        model = clone(estimator)
        labels = target.classes[codes[train]]
        weights = {} if sample_weight is None else {"sample_weight": sample_weight[train]}
        part = np.full((test.size, target.n_classes), np.log(0.5 / train.size))
        present = np.unique(codes[train])
        if present.size > 1:
            model.fit(take_rows(X, train), labels, **weights)
            part[:, present] = model.predict_log_proba(take_rows(X, test))
        else:
            part[:, present] = 0.0  # the only other row of the target is left out: nothing to tell apart
        log_proba[test] = part
    return log_proba, codes, target.classes


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Rows of a dataframe, array or sparse matrix, as the same kind of table."""
    if isinstance(X, np.ndarray):
        return X[rows]
    if is_sparse(X):
        return (X if X.format in ("csr", "csc") else X.tocsr())[rows]
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if isinstance(X, (list, tuple)):
        return as_array(X)[rows]
    import narwhals as nw

    return nw.from_native(X, eager_only=True)[rows].to_native()

"""Tables that are coded already: integers from 0, one column per feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_non_negative, validate_data

from bayesieve.table import CodedTable
from bayesieve.table.levels import smallest_unsigned

MAX_CODE = 10_000_000
"""Largest code accepted: level tables are as long as the largest code, so identifiers taken for codes must not fill
the memory.
"""


def read_codes(estimator: Any, X: Any, *, reset: bool, n_levels: np.ndarray | None = None) -> CodedTable:
    """Integer codes of a 2-D array or dataframe as a `CodedTable` without classes.

    Parameters
    ----------
    estimator : remembers (``reset=True``) or checks the number and names of the features.
    X : integers from 0 of shape (n_rows, n_features), or a `CodedTable`, which is returned as it is.
    n_levels : number of levels of each feature; by default one more than its largest code.

    Raises
    ------
    ValueError
        For negative codes, codes above 10 million, missing or infinite values.
    """
    if isinstance(X, CodedTable):
        if reset:
            estimator.n_features_in_ = X.n_features
        elif X.n_features != estimator.n_features_in_:
            owner = type(estimator).__name__
            raise ValueError(
                f"X has {X.n_features} features, but {owner} is expecting {estimator.n_features_in_} features as input."
            )
        return X
    codes = validate_data(estimator, X, reset=reset, dtype="int", accept_sparse=False, ensure_all_finite=True)
    check_non_negative(codes, f"{type(estimator).__name__} (input X)")
    highest = codes.max(axis=0)
    if highest.max() > MAX_CODE:
        k = int(highest.argmax())
        raise ValueError(
            f"Column {k} holds the code {highest[k]}; codes are the numbers 0, 1, 2, ... of levels: "
            "code raw values with TableEncoder first."
        )
    if n_levels is None:
        n_levels = highest + 1
    dtype = smallest_unsigned(int(max(highest.max(), np.max(n_levels))))
    names = tuple(getattr(estimator, "feature_names_in_", [f"x{i}" for i in range(codes.shape[1])]))
    return CodedTable(
        codes=np.ascontiguousarray(codes.T, dtype=dtype), n_levels=np.asarray(n_levels, dtype=np.int64), names=names
    )

"""scikit-learn's Gaussian naive Bayes on raw tables, with one-hot categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.table import Table
from bayesieve_lab.peers.peer import Peer

_LEAST_SHARE = 0.01  # of the rows; rarer values have no column


class OneHotPeer(Peer):
    """Base class of peers that use numbers, and columns of 0 and 1 for categories; see `OneHotGaussianNB`."""

    def _learn_one_hot(self, table: Table, weights: np.ndarray | None) -> np.ndarray:
        """Set the columns of the matrix from the training rows, and return these as a matrix (n_rows, n_varying).

        Constant columns are dropped. It also sets ``owners_``, the position in the table for each column of the matrix.
        ``weights`` (n_rows,) are row weights, or None.
        """
        self._learn_columns(table, lambda numbers: _mean(numbers, weights), least_share=_LEAST_SHARE)
        matrix = super()._rows(table)
        self.varying_ = (matrix != matrix[0]).any(axis=0)
        widths = [len(learned) + 1 if isinstance(learned, dict) else 1 for learned in self.columns_]
        self.owners_ = np.repeat(np.arange(len(widths)), widths)[self.varying_]
        return matrix[:, self.varying_]

    def _rows(self, table: Table) -> np.ndarray:
        """Return the rows of a table as a matrix of the columns that vary in training, (n_rows, n_varying)."""
        return super()._rows(table)[:, self.varying_]

    def _cells(self, table: Table, position: int) -> np.ndarray:
        """Return the column of a table at ``position`` as matrix columns: (n_rows,) for numbers, otherwise (n_rows,
        n_values + 1).

        Missing numbers are replaced by the mean of the training rows. A categorical column has a column of 0 and 1 for
        each value, and a last one for missing values.
        """
        learned = self.columns_[position]
        if isinstance(learned, dict):
            codes = self._codes(table, position, unknown=-1, missing=len(learned))
            return (codes[:, None] == np.arange(len(learned) + 1)).astype(float)
        numbers = self._numbers(table, position)
        return np.where(np.isnan(numbers), learned, numbers)


class OneHotGaussianNB(OneHotPeer):
    """scikit-learn's ``GaussianNB`` on numbers, and on categories as columns of 0 and 1.

    Missing numbers are replaced by the mean of the training rows. Each value in at least 1 % of the training rows has a
    column, and so have missing values; rarer and unseen values are 0 in all columns. Columns that are constant in
    training are dropped.

    Parameters, attributes : see `Peer`; a numeric column has the mean of its known numbers in ``columns_``.

    Examples
    --------
    >>> from bayesieve_lab.peers import OneHotGaussianNB
    >>> model = OneHotGaussianNB().fit([[1.0, "a"], [2.0, "a"], [8.0, "b"], [9.0, "b"]], ["low", "low", "high", "high"])
    >>> model.predict([[1.5, "c"], [None, "b"]]).tolist()
    ['low', 'high']
    """

    def _learn(self, table: Table, codes: np.ndarray, weights: np.ndarray | None) -> Any:
        """Fit ``GaussianNB`` to the rows of a table, and return it.

        If no column varies, a classifier that predicts class shares is returned. ``codes`` (n_rows,) are class codes,
        and ``weights`` (n_rows,) row weights, or None.
        """
        from sklearn.dummy import DummyClassifier
        from sklearn.naive_bayes import GaussianNB

        matrix = self._learn_one_hot(table, weights)
        # Without varying columns, only the shares of the classes can be learnt.
        model = GaussianNB() if matrix.size else DummyClassifier(strategy="prior")
        return model.fit(matrix, codes, sample_weight=weights)

    def _log_proba(self, table: Table) -> np.ndarray:
        """Return logarithms of the probabilities of the classes, (n_rows, n_classes)."""
        return self.model_.predict_log_proba(self._rows(table))


def _mean(numbers: np.ndarray, weights: np.ndarray | None) -> float:
    """Return the mean of the numbers that are not NaN; 0 if there are none.

    ``weights`` are row weights in the shape of ``numbers``, (n_rows,), or None.
    """
    is_present = ~np.isnan(numbers)
    if not is_present.any():
        return 0.0
    return float(np.average(numbers[is_present], weights=None if weights is None else weights[is_present]))

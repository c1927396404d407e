"""scikit-learn's logistic regression with an L1 penalty on raw tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from bayesieve.table import Table
from bayesieve_lab.peers.categorical_nb import LevelsPeer
from bayesieve_lab.peers.installed import quiet

_STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # C of scikit-learn, from few to many coefficients
_N_FOLDS = 3
_LEAST = 1e-15


class L1Logistic(LevelsPeer):
    """scikit-learn's ``LogisticRegression`` with an L1 penalty, on standardized numbers and one-hot levels.

    A numeric column gives a standardized column, with missing cells replaced by the mean, and a column of 0 and 1 for
    each interval between deciles of the training rows. Each value of a category has a column, and missing and unseen
    cells have one together. The strength of the penalty, from 0.01 to 10, is chosen by the log loss in three folds of
    the training rows. The solver is liblinear for two classes, and SAGA for more, with one set of coefficients per
    class.

    Parameters
    ----------
    kinds, random_state : see `Peer`.

    Attributes
    ----------
    classes_, columns_, model_ : see `Peer`; `columns_` as in `QuantileNB`.
    n_features_selected_ : int
        Columns of the table with a coefficient other than zero.

    Examples
    --------
    >>> from bayesieve_lab.peers import L1Logistic
    >>> X = [[1.0, "a"], [2.0, "a"], [8.0, "b"], [9.0, "b"]] * 5
    >>> model = L1Logistic().fit(X, ["low", "low", "high", "high"] * 5)
    >>> model.predict([[1.5, "c"], [None, "b"]]).tolist()
    ['low', 'high']
    """

    def _learn(self, table: Table, codes: np.ndarray, weights: np.ndarray | None) -> Any:
        """Fit the logistic regression to the rows of a table, with the best of several penalties, and return it.

        If no column varies, a classifier that predicts class shares is returned. ``codes`` (n_rows,) are class codes,
        and ``weights`` (n_rows,) row weights, or None.
        """
        from sklearn.dummy import DummyClassifier

        self._learn_levels(table)
        numbers = [self._numbers(table, position) for position in self._numeric()]
        self.scales_ = [(part.mean(), part.std() or 1.0) if part.size else (0.0, 1.0) for part in map(_known, numbers)]
        self.varying_: Any = slice(None)
        matrix = self._rows(table)
        self.varying_ = np.flatnonzero(matrix.max(axis=0).toarray() > matrix.min(axis=0).toarray())
        if not self.varying_.size:  # only the shares of the classes can be learnt
            return DummyClassifier(strategy="prior").fit(matrix, codes, sample_weight=weights)
        return _chosen(self._model(), matrix[:, self.varying_], codes, weights, self.random_state)

    def _n_features(self) -> int:
        """Return the number of columns of the table with a coefficient other than zero."""
        owners = np.array([*np.repeat(np.arange(len(self.n_levels_)), self.n_levels_), *self._numeric()])
        used = self.model_.coef_.any(axis=0) if self.varying_.size else []
        return np.unique(owners[self.varying_][used]).size

    def _model(self) -> Any:
        """Return an unfitted logistic regression with an L1 penalty."""
        from sklearn.linear_model import LogisticRegression

        # Before version 1.8, scikit-learn has the option ``penalty``.
        named = getattr(LogisticRegression(), "penalty", None) == "l2"
        with_l1: dict[str, Any] = {"penalty": "l1"} if named else {"l1_ratio": 1.0}
        # liblinear penalizes the intercept, the less the larger its scale.
        two = {"solver": "liblinear", "intercept_scaling": 10.0}
        solver: dict[str, Any] = two if len(self.classes_) == 2 else {"solver": "saga"}
        return LogisticRegression(tol=1e-3, random_state=self.random_state, warm_start=True, **with_l1, **solver)

    def _numeric(self) -> list[int]:
        """Return the positions of the numeric columns."""
        return [position for position, type_ in enumerate(self.types_) if type_ is not None]

    def _rows(self, table: Table) -> Any:
        """Return the rows of a table as a sparse matrix, (n_rows, n_varying), of the columns that vary in training.

        One-hot levels come first, then standardized numbers.
        """
        from scipy.sparse import csr_array, hstack

        levels = super()._rows(table) + np.cumsum([0, *self.n_levels_[:-1]])
        shape = (table.n_rows, sum(self.n_levels_))
        starts = np.arange(0, levels.size + 1, levels.shape[1], dtype=np.int32)  # the solvers take no wider indices
        one_hot = csr_array((np.ones(levels.size), levels.ravel().astype(np.int32), starts), shape=shape)
        scaled = [
            np.nan_to_num((self._numbers(table, position) - mean) / deviation)
            for position, (mean, deviation) in zip(self._numeric(), self.scales_, strict=True)
        ]
        blocks = [one_hot, csr_array(np.column_stack(scaled))] if scaled else [one_hot]
        return hstack(blocks, format="csr")[:, self.varying_]


def _known(numbers: np.ndarray) -> np.ndarray:
    """Return the numbers that are not NaN."""
    return numbers[~np.isnan(numbers)]


def _chosen(model: Any, rows: Any, codes: np.ndarray, weights: np.ndarray | None, seed: Any) -> Any:
    """Return a fitted clone of ``model``, with the penalty of lowest log loss in cross-validation.

    Without folds, the first penalty is used. ``rows`` is a matrix (n_rows, n_columns), ``codes`` (n_rows,) are the
    classes, ``weights`` (n_rows,) row weights or None, and ``seed`` is that of the folds.
    """
    from sklearn.model_selection import StratifiedKFold

    n_folds = min(_N_FOLDS, int(np.bincount(codes).max()))
    # SAGA diverges with weights above 1. Divide the weights by the largest one and multiply C by it: the objective is
    # equal.
    largest = 1.0 if weights is None else weights.max()
    weights = np.ones(codes.size) if weights is None else weights / largest
    strengths = largest * np.array(_STRENGTHS)
    losses = np.zeros(strengths.size)
    with quiet():
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(rows, codes) if n_folds > 1 else ()
        for train, test in folds:
            if np.unique(codes[train]).size > 1:
                losses += [
                    _held_out_loss(one, rows, codes, weights, test)
                    for one in _path(clone(model), strengths, rows[train], codes[train], weights[train])
                ]
        return clone(model).set_params(C=strengths[losses.argmin()]).fit(rows, codes, weights)


def _path(model: Any, strengths: np.ndarray, rows: Any, codes: np.ndarray, weights: np.ndarray) -> Iterator[Any]:
    """Yield the model fitted with each of ``strengths`` (C of scikit-learn); a fit starts at the coefficients of the
    last one.

    ``rows`` is the matrix of features, ``codes`` (n_rows,) are the classes, and ``weights`` (n_rows,) row weights.
    """
    for strength in strengths:
        yield model.set_params(C=strength).fit(rows, codes, weights)


def _held_out_loss(model: Any, rows: Any, codes: np.ndarray, weights: np.ndarray, test: np.ndarray) -> float:
    """Return the weighted sum of the log losses, in nats, of a fitted model on the rows at positions ``test``.

    ``rows`` (n_rows, n_columns), ``codes`` (n_rows,) and ``weights`` (n_rows,) are features, classes and weights of all
    rows.
    """
    is_class = codes[test][:, None] == model.classes_  # all False for a class that training lacks
    proba = (model.predict_proba(rows[test]) * is_class).sum(axis=1)
    return float(-weights[test] @ np.log(np.maximum(proba, _LEAST)))

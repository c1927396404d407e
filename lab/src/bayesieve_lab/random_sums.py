"""Sums of randomly chosen columns, as a transformer, and a classifier that adds such sums to a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from math import comb
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from bayesieve import TableEncoder
from bayesieve.parts import Allowed, check_allowed, with_shared_docs
from bayesieve.table import Table
from bayesieve.table.frames import fit_table, new_table

_BLOCK_CELLS = 1 << 20
_ALLOWED = {
    "n_features": Allowed.count(),
    "order": Allowed("be 2 or 3", (), Integral, 2, 3),
    "distinct": Allowed.choice(True, False),
    "useful": Allowed.choice(True, False),
    "random_state": Allowed(
        "be None, a whole number of at least 0, a RandomState or a Generator",
        values=(None,),
        number=Integral,
        low=0,
        types=(np.random.RandomState, np.random.Generator),
    ),
}


@with_shared_docs
@dataclass(eq=False, repr=False)
class RandomSums(TransformerMixin, BaseEstimator):
    """Transformer that computes sums of two or three random numeric columns.

    Naive Bayes assumes that features are independent given the class; a sum represents two or three of them jointly.
    Most sums are useless: with ``useful=True``, only sums that MODL cuts into several intervals are kept, which also
    saves memory.

    Parameters
    ----------
    n_features : int
        Number of sums. If ``distinct`` is True, no combination of columns is repeated before all combinations have been
        drawn.
    order : {2, 3}, default=2
        Columns in each sum.
    distinct : bool, default=True
        If False, every sum is drawn independently, as in the paper, so that small tables have repeated sums.
    useful : bool, default=False
        Whether to keep only sums that `MODLDiscretizer` with the published prior cuts into several intervals; requires
        ``y``.

    Attributes
    ----------
    terms_ : int array, shape (n_sums, order)
        Positions of the columns in each sum, ascending.
    n_features_in_, feature_names_in_
        Number and names of the columns of the table, as in all scikit-learn estimators.

    References
    ----------
    Boulle (2007), Compression-based averaging of selective naive Bayes classifiers, JMLR 8, section 8.2.

    Examples
    --------
    >>> import polars as pl
    >>> from bayesieve_lab import RandomSums
    >>> frame = pl.DataFrame({"a": [1.0, 2.0], "b": [10.0, None], "c": [100.0, 200.0], "sex": ["f", "m"]})
    >>> sums = RandomSums(2).fit(frame)
    >>> sums.get_feature_names_out().tolist(), sums.transform(frame).tolist()
    (['b + c', 'a + b'], [[110.0, 11.0], [nan, nan]])
    """

    n_features: int
    _: KW_ONLY
    order: Literal[2, 3] = 2
    distinct: bool = True
    useful: bool = False
    random_state: Any = None

    @with_shared_docs
    def fit(self, X: Any, y: Any = None) -> RandomSums:
        """Draw the columns of the sums.

        Parameters
        ----------
        X : dataframe, 2-D array or sparse matrix, shape (n_rows, n_columns)
            Columns that do not hold numbers are ignored.
        y : class labels, for ``useful=True``; ignored otherwise

        Returns
        -------
        self
        """
        table = fit_table(self, X)
        drawn = self._draw(table)
        if self.useful:
            drawn = drawn[self._useful(table, drawn, y)]
        elif len(drawn) < self.n_features:
            drawn = drawn[np.arange(self.n_features) % len(drawn)]
        self._names, self.terms_ = table.names, drawn
        return self

    def _useful(self, table: Table, drawn: np.ndarray, y: Any) -> np.ndarray:
        """Return a mask (n_sums,) of the sums of columns of a table that MODL cuts into several intervals.

        ``drawn`` (n_sums, order) are positions of columns, and ``y`` (n_rows,) class labels. A few sums are computed at
        a time to save memory.
        """
        if y is None:
            raise ValueError("useful=True chooses sums by the classes; pass them as y.")
        useful = np.zeros(len(drawn), dtype=bool)
        encoder, step = TableEncoder(prior="published"), max(1, _BLOCK_CELLS // max(1, table.n_rows))
        for first in range(0, len(drawn), step):
            encoder.fit(_sums(table, drawn[first : first + step]), y)
            useful[first : first + step] = [level.n_levels > 1 for level in encoder.levels_]
        return useful

    def _draw(self, table: Table) -> np.ndarray:
        """Draw sums, and return the positions of the columns of each, (n_sums, order).

        n_sums is below ``n_features`` if there are too few combinations. Raise ValueError if an option is invalid, or
        the table has too few numeric columns.
        """
        check_allowed(self.get_params(deep=False), _ALLOWED)
        columns_of_table = enumerate(zip(table.kinds(), table.types(), strict=True))
        usable = [i for i, of_column in columns_of_table if of_column == ("numeric", "number")]
        columns = np.array(usable, dtype=np.int64)
        order = int(self.order)
        if columns.size < order:
            raise ValueError(
                f"Sums of {order} columns need as many columns of numbers; of the {table.n_columns} feature(s) of the "
                f"table {columns.size} hold numbers."
            )
        n_sums = min(int(self.n_features), comb(columns.size, order)) if self.distinct else int(self.n_features)
        rng = np.random.default_rng(_seed(self.random_state))
        drawn = np.zeros((0, order), dtype=np.int64)
        if self.distinct and 2 * n_sums > comb(columns.size, order):
            drawn = rng.permutation(_combinations(columns.size, order))[:n_sums]
        while len(drawn) < n_sums:
            more = np.sort(rng.integers(columns.size, size=(2 * n_sums, order)), axis=1)
            more = more[(np.diff(more, axis=1) > 0).all(axis=1)]
            drawn = np.concatenate([drawn, more])
            if self.distinct:
                drawn = drawn[np.sort(np.unique(drawn, axis=0, return_index=True)[1])]
            drawn = drawn[:n_sums]
        return columns[drawn]

    def transform(self, X: Any) -> np.ndarray:
        """Return the sums of new rows; a sum is missing (NaN) if one of its columns is.

        Returns
        -------
        float64 array, shape (n_rows, n_sums)
        """
        check_is_fitted(self, "terms_")
        return _sums(new_table(self, X), self.terms_)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the sums, such as ``"a + b"``; ``input_features`` is ignored."""
        check_is_fitted(self, "terms_")
        return np.asarray(sum_names(self._names, self.terms_), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        for kind in ("allow_nan", "string", "categorical", "sparse"):
            setattr(tags.input_tags, kind, True)
        return tags


def _seed(random_state: Any) -> Any:
    """Return a seed or generator for `numpy.random.default_rng` from scikit-learn's ``random_state``."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return random_state if isinstance(random_state, np.random.Generator) else int(random_state)


def _combinations(n: int, order: int) -> np.ndarray:
    """Return all ascending combinations of ``order`` of the positions 0 to n - 1, in order, (n_combinations, order)."""
    return np.fromiter(combinations(range(n), order), dtype=np.dtype((np.int64, order)))


def _sums(table: Table, terms: np.ndarray) -> np.ndarray:
    """Return sums of columns of a table, (n_rows, n_sums); a sum is missing (NaN) if one of its columns is.

    ``terms`` (n_sums, order) are the positions of the columns of each sum.
    """
    values = np.zeros((table.n_rows, len(terms)), order="F")
    numbers: dict[int, np.ndarray] = {}
    for k, positions in enumerate(terms.tolist()):
        for i in positions:
            if i not in numbers:
                column = table.column(i)
                numbers[i] = column.read_numbers("number", [])[0]  # text that is no number is missing
                if np.isinf(numbers[i]).any():
                    raise column.infinity_error(numbers[i])
            values[:, k] += numbers[i]
    return values


def sum_names(names: Sequence[str], parts: np.ndarray) -> list[str]:
    """Return unique names such as ``"a + b"`` for sums of columns.

    ``names`` are those of all columns, ``parts`` (n_sums, order) the positions of the columns of each sum.
    """
    used = set(names)
    sums = []
    for positions in parts.tolist():
        name = joined = " + ".join(names[i] for i in positions)
        number = 2
        while name in used:
            name, number = f"{joined} ({number})", number + 1
        used.add(name)
        sums.append(name)
    return sums


class SumsNB(ClassifierMixin, BaseEstimator):
    """Classifier fitted to the columns of a table and random sums of them.

    Parameters
    ----------
    estimator : classifier, such as `SelectiveNB`
    sums : RandomSums

    Attributes
    ----------
    sums_, estimator_ : fitted sums, and the classifier fitted to the table extended by the sums.
    """

    def __init__(self, estimator: Any, sums: RandomSums) -> None:
        self.estimator = estimator
        self.sums = sums

    def fit(self, X: pl.DataFrame, y: Any) -> Self:
        """Draw the sums, and fit the classifier to the table extended by the sums; ``y`` (n_rows,) are class labels."""
        self.sums_ = clone(self.sums).fit(X, y)
        self.estimator_ = clone(self.estimator).fit(self._with_sums(X), y)
        self.classes_, self.n_features_selected_ = self.estimator_.classes_, self.estimator_.n_features_selected_
        return self

    def predict_log_proba(self, X: pl.DataFrame) -> np.ndarray:
        """Return log probabilities of the classes, shape (n_rows, n_classes)."""
        return self.estimator_.predict_log_proba(self._with_sums(X))

    def predict_proba(self, X: pl.DataFrame) -> np.ndarray:
        """Return probabilities of the classes, shape (n_rows, n_classes)."""
        return self.estimator_.predict_proba(self._with_sums(X))

    def predict(self, X: pl.DataFrame) -> np.ndarray:
        """Return the most probable class of each row."""
        return self.estimator_.predict(self._with_sums(X))

    def _with_sums(self, X: pl.DataFrame) -> pl.DataFrame:
        """Return the table extended by the columns of sums."""
        return X.hstack(pl.DataFrame(self.sums_.transform(X), schema=list(self.sums_.get_feature_names_out())))

"""`RandomSums`: sums of randomly chosen columns, which may tell what no column tells alone, and tables with sums."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from bayesieve.parts import Allowed, check_allowed, with_shared_docs
from bayesieve.table import Table
from bayesieve.table.columns import Column, Kind
from bayesieve.table.frames import fit_table, new_table

_BLOCK_CELLS = 1 << 20
_ALLOWED = {
    "n_features": Allowed.count(),
    "order": Allowed("be 2 or 3", (), Integral, 2, 3),
    "distinct": Allowed.choice(True, False),
    "random_state": Allowed(
        "be None, a whole number of at least 0, a RandomState or a Generator",
        *((None,), Integral, 0),
        types=(np.random.RandomState, np.random.Generator),
    ),
}


@with_shared_docs
@dataclass(eq=False, repr=False)
class RandomSums(TransformerMixin, BaseEstimator):
    """Make sums of two or three different columns of numbers, chosen at random.

    Naive Bayes takes features for independent given the class; a sum lets it see two or three of them together. Most
    sums are of no use: `TableEncoder` takes this object as ``sums=``, and keeps only those whose values it cuts into
    intervals, however many are tried.

    Parameters
    ----------
    n_features : int
        Number of sums. If they are distinct, no two are of the same columns until all combinations have been drawn.
    order : {2, 3}, default=2
        Columns in each sum.
    distinct : bool, default=True
        False: every sum is drawn at random, as in the paper, so that small tables have several of the same columns.

    Attributes
    ----------
    parts_ : int array, shape (n_features, order)
        Positions of the columns in each sum, ascending.
    n_features_in_, feature_names_in_
        Of the table, as every scikit-learn estimator has them.

    References
    ----------
    Boulle (2007), Compression-based averaging of selective naive Bayes classifiers, JMLR 8, section 8.2.

    Examples
    --------
    >>> import polars as pl
    >>> from bayesieve import RandomSums
    >>> frame = pl.DataFrame({"a": [1.0, 2.0], "b": [10.0, None], "c": [100.0, 200.0], "sex": ["f", "m"]})
    >>> sums = RandomSums(2).fit(frame)
    >>> sums.get_feature_names_out().tolist(), sums.transform(frame).tolist()
    (['b + c', 'a + b'], [[110.0, 11.0], [nan, nan]])
    """

    n_features: int
    _: KW_ONLY
    order: Literal[2, 3] = 2
    distinct: bool = True
    random_state: Any = None

    @with_shared_docs
    def fit(self, X: Any, y: Any = None) -> RandomSums:
        """Draw the sums.

        Parameters
        ----------
        X : dataframe, 2-D array or sparse matrix, shape (n_rows, n_columns)
            Columns that do not hold numbers take no part.
        y : ignored

        Returns
        -------
        self
        """
        table = fit_table(self, X)
        drawn = self.draw(table)
        self._names = table.names
        self.parts_ = drawn[np.arange(self.n_features) % len(drawn)]
        return self

    def draw(self, table: Table, without: Collection[str] = ()) -> np.ndarray:
        """Positions of the columns of the sums, (n, order): fewer than ``n_features`` if there are no more different
        ones. Columns ``without`` are in none.

        ValueError if an option is wrong, or the table has too few columns of numbers.
        """
        check_allowed(self.get_params(deep=False), _ALLOWED)
        known = enumerate(zip(table.kinds(), table.types(), table.names, strict=True))
        usable = [i for i, own in known if own[:2] == ("numeric", "number") and own[2] not in without]
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
        """The sums of new rows, missing if a term is.

        Returns
        -------
        float64 array, shape (n_rows, n_features)
        """
        check_is_fitted(self, "parts_")
        table = SummedTable(new_table(self, X), self.parts_)
        values = np.empty((table.n_rows, len(self.parts_)), order="F")
        step, first = max(1, _BLOCK_CELLS // max(1, table.n_rows)), self.n_features_in_
        for at in range(0, len(self.parts_), step):
            stop = min(at + step, len(self.parts_))
            values[:, at:stop] = table.numbers(np.arange(first + at, first + stop)).T
        return values

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names such as ``"a + b"``."""
        check_is_fitted(self, "parts_")
        return np.asarray(sum_names(self._names, self.parts_), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        for kind in ("allow_nan", "string", "categorical", "sparse"):
            setattr(tags.input_tags, kind, True)
        return tags


def _seed(random_state: Any) -> Any:
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return random_state if isinstance(random_state, np.random.Generator) else int(random_state)


def _combinations(n: int, order: int) -> np.ndarray:
    """All ascending combinations of ``order`` of n positions, in order, (n_combinations, order)."""
    return np.fromiter(combinations(range(n), order), dtype=np.dtype((np.int64, order)))


class SummedTable(Table):
    """A table with sums of its columns as further columns of numbers; a sum is missing if a term is.

    Parameters
    ----------
    base : Table
    sums : int array, shape (n_sums, n_terms)
        Positions of the columns that are added up.
    """

    def __init__(self, base: Table, sums: np.ndarray) -> None:
        self._base, self.sums = base, sums
        self.names = (*base.names, *sum_names(base.names, sums))
        self.named = base.named
        self.n_rows = base.n_rows

    @property
    def n_columns(self) -> int:
        return len(self.names)

    def column(self, i: int) -> Column:
        i = range(self.n_columns)[i]
        if i < self._base.n_columns:
            return self._base.column(i)
        return Column(self.names[i], self.numbers(np.array([i]))[0])

    def kinds(self) -> list[Kind]:
        of_sums: list[Kind] = ["numeric"] * len(self.sums)
        return self._base.kinds() + of_sums

    def types(self) -> list[str]:
        return self._base.types() + ["number"] * len(self.sums)

    def numbers(self, positions: np.ndarray) -> np.ndarray:
        n_base = self._base.n_columns
        own = positions[positions < n_base]
        if own.size == positions.size:
            return self._base.numbers(positions)
        terms, at = self.terms
        parts = at[self.sums[positions[own.size :] - n_base]]
        values = terms[parts[:, 0]]
        with np.errstate(over="ignore"):
            for k in range(1, parts.shape[1]):
                values += terms[parts[:, k]]
        for k in np.flatnonzero(np.isinf(values).any(axis=1)).tolist():
            Column(self.names[int(positions[own.size + k])], values[k]).refuse_infinite(values[k])
        return np.concatenate([self._base.numbers(own), values]) if own.size else values

    @cached_property
    def terms(self) -> tuple[np.ndarray, np.ndarray]:
        """The columns that sums are made of, (n_terms, n_rows), and where each column of the table is among them."""
        used = np.unique(self.sums)
        at = np.zeros(self._base.n_columns, dtype=np.int64)
        at[used] = np.arange(used.size)
        terms = np.empty((used.size, self.n_rows))
        for k, i in enumerate(used.tolist()):
            column = self._base.column(i)
            terms[k] = column.read_numbers("number", [])[0]  # text that is no number is missing
            column.refuse_infinite(terms[k])
        return terms, at

    def select(self, positions: Sequence[int]) -> Table:
        if max(positions, default=-1) < self._base.n_columns:
            return self._base.select(positions)
        return super().select(positions)

    def take(self, rows: Any) -> Table:
        return SummedTable(self._base.take(rows), self.sums)

    def read_once(self) -> Table:
        return SummedTable(self._base.read_once(), self.sums)


def with_sums(table: Table, sums: np.ndarray) -> Table:
    """The table with these sums, if there are any."""
    return SummedTable(table, sums) if len(sums) else table


def sum_names(names: Sequence[str], parts: np.ndarray) -> list[str]:
    """Names such as ``"a + b"`` of sums of the columns at these positions, different from those of the columns."""
    taken = set(names)
    made = []
    for positions in parts.tolist():
        name = joined = " + ".join(names[i] for i in positions)
        number = 2
        while name in taken:
            name, number = f"{joined} ({number})", number + 1
        taken.add(name)
        made.append(name)
    return made

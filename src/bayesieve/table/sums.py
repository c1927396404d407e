"""`SummedTable`: a table and, after its columns, sums of some of them, computed when they are read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from bayesieve.table.columns import Column, Kind
from bayesieve.table.raw_table import Table


class SummedTable(Table):
    """A table with sums of its columns as further columns of numbers; a sum is missing where a term is.

    Parameters
    ----------
    base : Table
    parts : int array, shape (n_sums, n_terms)
        Positions of the columns that are added up.
    """

    def __init__(self, base: Table, parts: np.ndarray) -> None:
        self._base, self.parts = base, parts
        self.names = (*base.names, *sum_names(base.names, parts))
        self.named = base.named
        self.n_rows = base.n_rows

    @property
    def n_columns(self) -> int:
        return len(self.names)

    def column(self, i: int) -> Column:
        i = range(self.n_columns)[i]
        if i < self._base.n_columns:
            return self._base.column(i)
        return Column(self.names[i], self.numbers(np.array([i]))[0], "arrays")

    def kinds(self) -> list[Kind]:
        of_sums: list[Kind] = ["numeric"] * len(self.parts)
        return self._base.kinds() + of_sums

    def types(self) -> list[str]:
        return self._base.types() + ["number"] * len(self.parts)

    def numbers(self, positions: np.ndarray) -> np.ndarray:
        n_base = self._base.n_columns
        own = positions[positions < n_base]
        if own.size == positions.size:
            return self._base.numbers(positions)
        terms, at = self.terms
        parts = at[self.parts[positions[own.size :] - n_base]]
        values = terms[parts[:, 0]]
        with np.errstate(over="ignore"):
            for k in range(1, parts.shape[1]):
                values += terms[parts[:, k]]
        for k in np.flatnonzero(np.isinf(values).any(axis=1)).tolist():
            Column(self.names[int(positions[own.size + k])], values[k], "arrays").refuse_infinite(values[k])
        return np.concatenate([self._base.numbers(own), values]) if own.size else values

    @cached_property
    def terms(self) -> tuple[np.ndarray, np.ndarray]:
        """The columns that sums are made of, (n_terms, n_rows), and where each column of the table is among them."""
        used = np.unique(self.parts)
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
        return SummedTable(self._base.take(rows), self.parts)

    def read_once(self) -> Table:
        return SummedTable(self._base.read_once(), self.parts)


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

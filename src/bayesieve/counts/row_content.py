"""Rows and features told apart by what they contain, whatever their names, units and order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bayesieve.counts.contingency import ContingencyCounts

_ROUNDS = 3  # of telling rows, values, columns and classes apart by each other


def mixed(numbers: np.ndarray) -> np.ndarray:
    """Of unsigned 64-bit numbers, others that look random (the finaliser of SplitMix64)."""
    from bayesieve.counts._kernels import mix

    result = np.array(numbers, dtype=np.uint64, order="C")
    mix(result.reshape(-1))
    return result


def listed_by_counts(counts: ContingencyCounts, features: np.ndarray) -> np.ndarray:
    """Features in an order that depends on their counts only, not on that of levels, classes and features."""
    if features.size == 0:
        return features
    cells = mixed((counts.counts + 0.0).view(np.uint64))
    starts = counts.offsets[:-1]
    by_level = np.add.reduceat(mixed(cells.sum(axis=1, dtype=np.uint64)), starts)
    by_class = mixed(np.add.reduceat(cells, starts, axis=0)).sum(axis=1, dtype=np.uint64)
    return features[np.argsort(mixed(by_level + mixed(by_class))[features], kind="stable")]


def drawn_by_content(keys: np.ndarray, most: int) -> np.ndarray:
    """Positions, ascending, of ``most`` of the rows with these keys, or of all.

    Rows are listed by key and drawn at even distances: their order has no say, and of equal rows about their share is
    drawn.
    """
    if keys.size <= most:
        return np.arange(keys.size)
    order = np.argsort(keys)
    return np.sort(order[(np.arange(most) * keys.size + keys.size // 2) // most])


def keys_of(
    columns: Iterable[np.ndarray], classes: np.ndarray, seed: int = 0, salts: np.ndarray | None = None
) -> np.ndarray:
    """(n_rows,) numbers that look random, equal for rows of equal class whose values are equal in all ``columns``, of
    whole numbers or floats (NaN is one value).

    ``salts`` : (n_columns,) unsigned, of what each column contains: the order of the columns then makes no difference.
    """
    from bayesieve.counts._kernels import mix

    keys = mixed(classes.astype(np.uint64) + np.uint64(seed << 32))
    for k, column in enumerate(columns):
        bits = _as_bits(column)
        bits ^= keys if salts is None else np.uint64(salts[k])
        mix(bits)
        keys = bits if salts is None else keys + bits
    return mixed(keys)


def _as_bits(column: np.ndarray) -> np.ndarray:
    if column.dtype.kind != "f":
        return column.astype(np.uint64)
    numbers: np.ndarray = column + np.float64(0.0)  # one zero
    missing = np.isnan(numbers)
    if missing.any():
        numbers[missing] = np.nan  # and one NaN
    return numbers.view(np.uint64)


@dataclass
class Content:
    """Rows as columns of numbered values, and what is known of rows, values, columns and classes apart from their
    numbers: two of them get the same colour unless something but a name, a unit or an order tells them apart.

    As in the refinement of colours of Weisfeiler and Leman (1968), a row is known by its values, and a value, a column
    and a class by the rows that have them, in a few rounds.

    Parameters
    ----------
    columns : for each column (n_rows,) number of the value.
    ordered : for each column how many of its values, the first ones, are in an order that means something; read from
        either end, it means the same.
    classes : (n_rows,)
    """

    columns: Sequence[np.ndarray]
    ordered: Sequence[int]
    classes: np.ndarray
    of_rows: np.ndarray = field(init=False)
    of_classes: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        values = [_places(column, n) for column, n in zip(self.columns, self.ordered, strict=True)]
        self.of_classes = np.zeros(int(self.classes.max(initial=0)) + 1, dtype=np.uint64)
        for _ in range(_ROUNDS):
            rows = mixed(self.of_classes)[self.classes]
            for column, colours in zip(self.columns, values, strict=True):
                of_column = mixed(np.array([mixed(colours).sum()], dtype=np.uint64))
                rows += mixed(colours ^ of_column)[column]
            rows = mixed(rows)
            values = [
                mixed(colours + _sums(rows, column, colours.size))
                for column, colours in zip(self.columns, values, strict=True)
            ]
            self.of_classes = mixed(_sums(rows, self.classes, self.of_classes.size))
        self.of_rows = rows


def _places(column: np.ndarray, n_ordered: int) -> np.ndarray:
    """For each value of a column its distance from the middle of those in order, the same at both ends."""
    places = np.zeros(int(column.max(initial=0)) + 1, dtype=np.int64)
    places[:n_ordered] = 1 + np.abs(2 * np.arange(n_ordered) - (n_ordered - 1))
    return mixed(places.astype(np.uint64))


def _sums(of_rows: np.ndarray, group: np.ndarray, n_groups: int) -> np.ndarray:
    sums = np.zeros(n_groups, dtype=np.uint64)
    np.add.at(sums, group, of_rows)
    return sums

"""Hashes of rows and features by their contents, independent of names, units and order, and random samples drawn by
them.

A *row hash* is an unsigned 64-bit number computed from the values of a row. The rows with the lowest hashes form a
random sample that does not depend on row order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.counts.contingency import ContingencyCounts
from bayesieve.engine import map_in_threads
from bayesieve.table import Rows, Table
from bayesieve.table.column_values import TextValues
from bayesieve.table.target import count_classes
from bayesieve.table.values import spelt_out

if TYPE_CHECKING:
    import polars as pl

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: its multiples modulo 2^64 are evenly spread
_ROWS_AT_ONCE, _KEYS_AT_ONCE = 1 << 22, 1 << 20
_JOINED_BYTES = 1 << 26  # size of the texts that are hashed at once
_FEWEST_DRAWN = 50_000  # least number of rows drawn at once, so that later samples are part of it
_ROUNDS = 3  # rounds of colour refinement


def mixed(numbers: np.ndarray) -> np.ndarray:
    """Return hashes of unsigned 64-bit integers, by the SplitMix64 finaliser; same shape as ``numbers``."""
    from bayesieve.counts._kernels import mix

    result = np.array(numbers, dtype=np.uint64, order="C")
    mix(result.reshape(-1))
    return result


def listed_by_counts(counts: ContingencyCounts, features: np.ndarray) -> np.ndarray:
    """Sort features by hashes of their counts, independently of the order of levels and classes; return their
    positions, (n,).

    ``counts`` are numbers (or weights) of rows by level and class; ``features`` (n,) are positions of the features.
    """
    if features.size == 0:
        return features
    cells = mixed((counts.counts + 0.0).view(np.uint64))
    starts = counts.offsets[:-1]
    by_level = np.add.reduceat(mixed(cells.sum(axis=1, dtype=np.uint64)), starts)
    by_class = mixed(np.add.reduceat(cells, starts, axis=0)).sum(axis=1, dtype=np.uint64)
    return features[np.argsort(mixed(by_level + mixed(by_class))[features], kind="stable")]


def draw_by_content(keys: np.ndarray, most: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Draw ``most`` rows, or all if there are fewer, and return their positions in ascending order.

    The sample does not depend on row order, draws duplicates in proportion, and is nested in larger samples.

    Parameters
    ----------
    keys : (n_rows,) row hashes; the rows with the lowest ones are drawn. Rows with equal keys first get different ones.
    most : number of rows.
    weights : (n_rows,) row weights, by which rows with equal keys are ordered; None if all are 1.
    """
    if keys.size <= most:
        return np.arange(keys.size)
    return np.sort(np.argpartition(_numbered(keys, weights), most)[:most])


def _numbered(keys: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return row hashes with ties resolved, (n_rows,): rows with equal ``keys`` (n_rows,) get different hashes.

    Tied rows are numbered in the order of their ``weights`` (n_rows,), or in row order if these are None.
    """
    in_order = np.sort(keys)
    if not np.any(in_order[1:] == in_order[:-1]):
        return keys
    order = np.argsort(keys, kind="stable") if weights is None else np.lexsort((weights, keys))
    ordered = keys[order]
    begins = np.append(True, ordered[1:] != ordered[:-1])
    numbers = np.arange(keys.size) - np.flatnonzero(begins)[np.cumsum(begins) - 1]
    numbered = np.empty_like(keys)
    numbered[order] = ordered + numbers.astype(np.uint64) * _GOLDEN
    return numbered


@dataclass
class RowSamples:
    """Sampler that draws rows by hashes of their contents and classes, independently of row order.

    Parameters
    ----------
    hashes : function that returns the hashes of all rows of the coded training table; called only if a sample is
        smaller than the table.
    rows : classes and weights of the rows to sample, and their positions in that table.
    at_most : size of the largest sample that will be drawn; None if unknown.
    """

    hashes: Callable[[], np.ndarray]
    rows: Rows
    at_most: int | None = None
    _n_of_classes: np.ndarray | None = field(default=None, init=False, repr=False)  # rows of positive weight
    _lowest: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64), init=False, repr=False)
    _lowest_of_classes: list[np.ndarray] = field(default_factory=list, init=False, repr=False)

    def row_hashes(self) -> np.ndarray:
        """Return the hashes of the rows, shape (n_rows,)."""
        return self.hashes() if self.rows.positions is None else self.hashes()[self.rows.positions]

    def draw(self, most: int) -> np.ndarray:
        """Draw ``most`` rows of positive weight, or all if there are fewer; return their positions in ascending order.

        Larger samples contain smaller ones.
        """
        most = most if self.at_most is None else min(most, self.at_most)
        n_rows, weights = len(np.asarray(self.rows.class_codes)), self.rows.weights
        n_counted = n_rows if weights is None else int(np.count_nonzero(weights))
        if n_counted <= most:
            return np.arange(n_rows) if weights is None else np.flatnonzero(weights)
        if self._lowest.size < most:
            (self._lowest,) = self._lowest_keys([max(most, min(_FEWEST_DRAWN, n_counted))])
        return np.sort(self._lowest[:most])

    def draw_by_class(self, most: int | np.ndarray) -> np.ndarray:
        """Draw up to ``most[j]`` rows of positive weight of each class j; return the positions of all in ascending
        order.

        If ``most`` is a number, it limits the rows of all classes together: all rows of rare classes are drawn, and
        equal numbers of the others. Rows of rare classes are the most informative ones: a simple random sample of
        50,000 rows has only 500 rows of a class with a share of 1 %. Larger samples contain smaller ones.
        """
        weights = self.rows.weights
        if self._n_of_classes is None:
            codes, n_classes = np.asarray(self.rows.class_codes), len(np.asarray(self.rows.classes))
            self._n_of_classes = count_classes(codes if weights is None else codes[weights > 0], n_classes)
        n_rows = self._n_of_classes
        numbers = np.minimum(n_rows, most) if isinstance(most, np.ndarray) else _balanced_numbers(n_rows, most)
        if self.at_most is not None and numbers.sum() > self.at_most:
            numbers = _balanced_numbers(numbers, self.at_most)
        if np.array_equal(numbers, n_rows):
            return np.arange(int(numbers.sum())) if weights is None else np.flatnonzero(weights)
        drawn, of_each = self._lowest_of_classes, numbers.tolist()
        if not drawn or any(of_class.size < n for of_class, n in zip(drawn, of_each, strict=True)):
            self._lowest_of_classes = drawn = self._lowest_keys(of_each)
        return np.sort(np.concatenate([of_class[:n] for of_class, n in zip(drawn, of_each, strict=True)]))

    def _lowest_keys(self, most: Sequence[int]) -> list[np.ndarray]:
        """Return the positions of the rows with the lowest keys (hashes of row and class), in ascending order of keys.

        If ``most`` has one entry, the result is one array of ``most[0]`` rows; otherwise, one array of ``most[j]`` rows
        of each class j. For very many rows, keys are collected range by range, to limit the memory.
        """
        hashes, classes, weights = self.row_hashes(), np.asarray(self.rows.class_codes), self.rows.weights
        n_ranges = -(-classes.size // _ROWS_AT_ONCE)
        lowest = [(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)) for _ in most]
        for number in range(n_ranges):
            rows_in_range, keys = list[np.ndarray](), list[np.ndarray]()
            for begin in range(0, classes.size, _KEYS_AT_ONCE):
                block = slice(begin, begin + _KEYS_AT_ONCE)
                block_keys = hash_codes([hashes[block]], classes[block])
                inside = (block_keys >> np.uint64(32)) * np.uint64(n_ranges) >> np.uint64(32) == number
                at = np.flatnonzero(inside if weights is None else inside & (weights[block] > 0))
                rows_in_range.append(begin + at)
                keys.append(block_keys[at])
            rows_of_range = np.concatenate(rows_in_range)
            numbered = _numbered(np.concatenate(keys), None if weights is None else weights[rows_of_range])
            parts = [np.arange(rows_of_range.size)]
            if len(most) > 1:
                by_class = np.argsort(classes[rows_of_range], kind="stable")  # a radix sort for small codes
                parts = np.split(by_class, np.cumsum(np.bincount(classes[rows_of_range], minlength=len(most)))[:-1])
            for j, (n, part) in enumerate(zip(most, parts, strict=True)):
                rows = np.append(lowest[j][0], rows_of_range[part])
                of_rows = np.append(lowest[j][1], numbered[part])
                least = np.argpartition(of_rows, n)[:n] if rows.size > n else slice(None)
                lowest[j] = rows[least], of_rows[least]
        return [rows[np.argsort(of_rows)] for rows, of_rows in lowest]


def _balanced_numbers(n_rows: np.ndarray, most: int) -> np.ndarray:
    """Return how many rows of each class are drawn for a balanced sample of ``most`` rows, shape (n_classes,).

    ``n_rows`` (n_classes,) are the numbers of rows of the classes. At least one row of each class that has rows is
    drawn.
    """
    in_order = np.sort(n_rows[n_rows > 0])
    rarer = np.cumsum(in_order) - in_order
    of_each = (most - rarer) // np.arange(in_order.size, 0, -1)  # if all rows of the rarer classes are drawn
    larger = np.flatnonzero(in_order > of_each)
    return n_rows if larger.size == 0 else np.minimum(n_rows, max(1, int(of_each[larger[0]])))


def hash_rows(table: Table, n_jobs: int | None = None) -> np.ndarray:
    """Return row hashes, shape (n_rows,), from all columns of a table.

    Rows with equal values have equal hashes, independently of the order of columns and rows, the dataframe library, and
    the block in which a row is read.
    """
    from bayesieve.counts._kernels import mix, mix_floats

    hashes, lock = np.zeros(table.n_rows, dtype=np.uint64), Lock()
    salts = mixed(text_hashes(table.names))

    def add(i: int) -> None:
        """Add the hashes of the values of the i-th column to those of the rows."""
        column = table.column(i)
        if column.kind == "numeric":
            bits = np.empty(table.n_rows, dtype=np.uint64)
            numbers = column.numbers("datetime") if column.type == "date" else column.numbers()
            mix_floats(np.array(numbers), salts[i], bits)  # a copy: compiled for arrays that can be written to
        else:
            if isinstance(column.values, TextValues):
                texts = column.values.series
                bits = text_hashes(texts)
                bits[texts.is_null().to_numpy()] = 0
            else:
                categories = column.categories(merged=False)
                bits = np.append(text_hashes(categories.values), np.uint64(0))[categories.codes]
            bits ^= salts[i]
            mix(bits)
        with lock:
            np.add(hashes, bits, out=hashes)

    map_in_threads(add, range(table.n_columns), n_jobs)
    return hashes


def text_hashes(texts: Sequence[Any] | pl.Series) -> np.ndarray:
    """Return an unsigned 64-bit hash of each text, shape (n_texts,), equal on all machines; other values are converted
    to text first.
    """
    import polars as pl

    from bayesieve.counts._kernels import hash_texts

    if isinstance(texts, pl.Series):
        series = texts
    else:
        values = list(map(str, texts))
        try:
            series = pl.Series(values, dtype=pl.String)
        except UnicodeEncodeError:  # lone surrogates
            series = pl.Series(spelt_out(values), dtype=pl.String)
    ends = np.cumsum(series.str.len_bytes().fill_null(0).to_numpy(), dtype=np.int64)
    hashes = np.empty(len(series), dtype=np.uint64)
    # Join long texts in several pieces, because joining copies them twice.
    first = begin = 0
    while first < len(series):
        stop = max(first + 1, int(np.searchsorted(ends, begin + _JOINED_BYTES)))
        data = np.frombuffer((series[first:stop].str.join("")[0] or "").encode(), np.uint8)
        hash_texts(data, ends[first:stop] - begin, hashes[first:stop])
        first, begin = stop, int(ends[stop - 1])
    return hashes


def hash_codes(columns: Iterable[np.ndarray], classes: np.ndarray, salts: np.ndarray | None = None) -> np.ndarray:
    """Return row hashes, shape (n_rows,): equal for rows of the same class with equal values in all columns.

    ``columns`` are arrays (n_rows,) of integers or floats (all NaN are equal), ``classes`` (n_rows,) class codes. If
    ``salts`` (n_columns,), unsigned hashes of the columns' contents, are given, the result does not depend on the order
    of the columns.
    """
    from bayesieve.counts._kernels import mix

    hashes = mixed(classes.astype(np.uint64))
    for k, column in enumerate(columns):
        if column.dtype.kind == "f":
            numbers: np.ndarray = column + np.float64(0.0)  # 0 and -0 have the same bits then
            missing = np.isnan(numbers)
            if missing.any():
                numbers[missing] = np.nan  # and so have all NaN
            bits = numbers.view(np.uint64)
        else:
            bits = column.astype(np.uint64)
        bits ^= hashes if salts is None else np.uint64(salts[k])
        mix(bits)
        hashes = bits if salts is None else hashes + bits
    return mixed(hashes)


@dataclass
class ContentHashes:
    """Hashes of rows and classes by content, unaffected by names, units, and the order of columns and rows.

    The method is colour refinement (Weisfeiler and Leman 1968): in a few rounds, rows are hashed from the hashes of
    their values, and values, columns and classes from the hashes of the rows that have them. Rows or classes that
    differ only in names, units or order get equal hashes.

    Parameters
    ----------
    columns : for each column, (n_rows,) integer codes of its values.
    ordered : for each column, the number of values, from code 0 on, whose order is meaningful. Reversing the order
        changes nothing.
    classes : (n_rows,) class codes.

    Attributes
    ----------
    of_rows, of_classes : (n_rows,) and (n_classes,) hashes.
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
            row_hashes = mixed(self.of_classes)[self.classes]
            for column, colours in zip(self.columns, values, strict=True):
                of_column = mixed(np.array([mixed(colours).sum()], dtype=np.uint64))
                row_hashes += mixed(colours ^ of_column)[column]
            row_hashes = mixed(row_hashes)
            values = [
                mixed(colours + _sums(row_hashes, column, colours.size))
                for column, colours in zip(self.columns, values, strict=True)
            ]
            self.of_classes = mixed(_sums(row_hashes, self.classes, self.of_classes.size))
        self.of_rows = row_hashes


def _places(column: np.ndarray, n_ordered: int) -> np.ndarray:
    """Return a hash for each value of a column, (n_values,), from its distance in rank to the middle value, so that
    reversing the order changes nothing.

    ``column`` (n_rows,) are codes of values; the first ``n_ordered`` values are ordered, all others get equal hashes.
    """
    places = np.zeros(int(column.max(initial=0)) + 1, dtype=np.int64)
    places[:n_ordered] = 1 + np.abs(2 * np.arange(n_ordered) - (n_ordered - 1))
    return mixed(places.astype(np.uint64))


def _sums(of_rows: np.ndarray, group: np.ndarray, n_groups: int) -> np.ndarray:
    """Sum the hashes ``of_rows`` (n_rows,) by ``group`` (n_rows,); return the sums, (n_groups,), modulo 2^64."""
    sums = np.zeros(n_groups, dtype=np.uint64)
    np.add.at(sums, group, of_rows)
    return sums

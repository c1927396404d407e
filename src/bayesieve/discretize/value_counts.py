"""Class counts of the values of columns, to which levels are fitted. Counts add up over blocks of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.table import Categories
from bayesieve.table.column_values import merge_values
from bayesieve.table.target import count_classes

if TYPE_CHECKING:
    import polars as pl


@dataclass
class ClassOrder:
    """Row numbers sorted by class, without rows of weight 0; immutable.

    Attributes
    ----------
    codes : (n_rows,) class codes
    listed : (n,) row numbers sorted by class, or None if that is the order of all rows
    offsets : (n_classes + 1,) first position of each class
    weights : (n,) row weights in that order, or empty if all are 1
    integral : whether all weights are whole numbers, so that counts are exact integers
    n_rows, n_classes : int
    count_type : data type of counts
    total, class_totals : number (or weight) of all rows, and of the rows of each class (n_classes,)
    """

    codes: np.ndarray
    listed: np.ndarray | None
    offsets: np.ndarray
    weights: np.ndarray
    integral: bool
    n_rows: int
    n_classes: int
    count_type: type
    total: float
    class_totals: np.ndarray

    @classmethod
    def of(cls, class_codes: np.ndarray, n_classes: int, weights: np.ndarray | None) -> ClassOrder:
        """Return the order of rows by class. ``class_codes`` (n_rows,) are their class codes, and ``weights`` (n_rows,)
        their weights; None if all are 1.
        """
        listed: np.ndarray | None = None
        counted_codes, counted_weights, integral = class_codes, np.zeros(0), True
        if weights is not None:
            counted = np.flatnonzero(weights > 0.0)
            counted_codes = class_codes[counted]
            row_type = np.int32 if len(class_codes) < 2**31 else np.int64
            listed = counted[np.argsort(counted_codes, kind="stable")].astype(row_type)
            counted_weights = weights[listed]
            is_whole = bool(np.all(counted_weights == np.floor(counted_weights)))
            integral = bool(is_whole and counted_weights.sum() < 2**31)
        sizes = count_classes(counted_codes, n_classes)
        total, class_totals = float(sizes.sum()), sizes.astype(float)
        if counted_weights.size:
            total, of_rows = float(counted_weights.sum()), np.repeat(np.arange(n_classes), sizes)
            class_totals = np.bincount(of_rows, weights=counted_weights, minlength=n_classes)
        return cls(
            codes=class_codes,
            listed=listed,
            offsets=np.append(0, np.cumsum(sizes)),
            weights=counted_weights,
            integral=integral,
            n_rows=len(class_codes),
            n_classes=n_classes,
            count_type=np.int32 if integral else np.float64,
            total=total,
            class_totals=class_totals,
        )

    @cached_property
    def row_numbers(self) -> np.ndarray:
        """Row numbers sorted by class, shape (n,)."""
        if self.listed is not None:
            return self.listed
        order = np.argsort(self.codes, kind="stable")  # a radix sort for small codes
        return order.astype(np.int32) if self.n_rows < 2**31 else order


_ROWS_PER_DISTINCT = 12  # rows per distinct value from which counting in a hash table is faster than sorting
LEAST_HASHED = 5000
"""Rows below which sorting takes no time either."""
NEVER = 1 << 62
"""Distinct values that no column has."""


@dataclass(frozen=True)
class ValueCounts:
    """Class counts of the distinct values of one column.

    Attributes
    ----------
    values : float array of shape (n_values,), or list
        Values other than missing: numbers in ascending order, or categories in the order of `Categories`. While blocks
        are added up, texts are a polars series in any order.
    counts : array, shape (n_values, n_classes)
        Rows (int32) or weights (float64) by value and class.
    missing : array, shape (n_classes,)
        Rows or weights of missing values by class.
    upper : float array, shape (n_values,), or None
        Upper ends, if entries are ranges of numbers; ``values`` are then the lower ends.
    n_distinct : int
        Number of distinct values in all ranges, if entries are ranges of numbers.
    """

    values: Any
    counts: np.ndarray
    missing: np.ndarray
    upper: np.ndarray | None = None
    n_distinct: int = 0

    @classmethod
    def of_numbers(cls, values: np.ndarray, order: ClassOrder) -> ValueCounts:
        """Count the values of a numeric column by class; ``values`` has shape (n_rows,), NaN = missing."""
        counted = _count_few(values, order)
        if counted is not None:
            return counted
        blocks = ValueBlocks.of_rows(values[None, :], order, joined=NEVER)
        first = int(blocks.has_missing[0])
        counts = np.diff(blocks.cumulated, axis=0)
        return cls(blocks.lower[first:-1], counts[first:], counts[:first].sum(axis=0, dtype=counts.dtype))

    @classmethod
    def of_categories(cls, categories: Categories, order: ClassOrder) -> ValueCounts:
        """Count the values of a categorical column by class."""
        n_values, n_classes = len(categories.values), order.n_classes
        classes = np.repeat(np.arange(n_classes), np.diff(order.offsets))
        cells = (categories.codes[order.row_numbers].astype(np.int64) + 1) * n_classes + classes
        weights = order.weights if order.weights.size else None
        counts = np.bincount(cells, weights=weights, minlength=(n_values + 1) * n_classes)
        counts = counts.reshape(n_values + 1, n_classes).astype(order.count_type)
        return cls(categories.values, counts[1:], counts[0])

    @classmethod
    def sum(cls, tables: Sequence[ValueCounts]) -> ValueCounts:
        """Return the sum of the counts of one column in several blocks of rows. ``tables`` are the counts of each
        block.
        """
        counts = np.concatenate([table.counts for table in tables])
        missing = np.sum([table.missing for table in tables], axis=0)
        whole = all(table.counts.dtype.kind in "iu" for table in tables) and counts.sum() + missing.sum() < 2**31
        values, summed = _merged([table.values for table in tables], counts.astype(np.float64))
        type_ = np.int32 if whole else np.float64
        return cls(values, summed.astype(type_), missing.astype(type_))

    @classmethod
    def of_texts(cls, texts: pl.Series, order: ClassOrder) -> ValueCounts:
        """Count texts (null = missing) by class for rows of weight 1; the values are a polars series in any order."""
        import polars as pl

        of_class = [(pl.col("class") == code).sum().alias(str(code)) for code in range(order.n_classes)]
        frame = pl.DataFrame({"text": texts, "class": order.codes}).group_by("text").agg(of_class)
        present = frame.filter(pl.col("text").is_not_null())
        missing = frame.filter(pl.col("text").is_null()).drop("text").to_numpy().sum(axis=0)
        return cls(present["text"], present.drop("text").to_numpy().astype(np.int32), missing.astype(np.int32))

    @property
    def listed(self) -> ValueCounts:
        """Counts with the categories as a sorted list; unchanged unless they are a series of texts."""
        if isinstance(self.values, (np.ndarray, list)):
            return self
        order = self.values.arg_sort().to_numpy()
        return replace(self, values=self.values[order].to_list(), counts=self.counts[order])


def _merged(values: Sequence[Any], counts: np.ndarray) -> tuple[Any, np.ndarray]:
    """Merge equal values of several blocks of rows. Return the distinct values in order, and the sums of their counts.

    ``values`` holds the values of each block: arrays, lists or polars series (whose result has no order). ``counts``
    (n_values of all blocks, n_classes) are their class counts.
    """
    if isinstance(values[0], np.ndarray):
        every = np.concatenate(values)
        order = np.argsort(every, kind="stable")  # fast for runs in order
        ordered = every[order]
        begins = np.ones(every.size, dtype=bool)
        begins[1:] = ordered[1:] != ordered[:-1]
        first = np.flatnonzero(begins)
        return ordered[first], np.add.reduceat(counts[order], first, axis=0) if first.size else counts
    if not isinstance(values[0], list):
        import polars as pl

        frame = pl.DataFrame({"text": pl.concat(values)}).hstack(pl.DataFrame(counts))
        frame = frame.group_by("text").sum()
        return frame["text"], frame.drop("text").to_numpy()
    merged, position = merge_values(chain.from_iterable(values))
    row = position[:-1]
    return merged, np.stack([np.bincount(row, one, len(merged)) for one in counts.T], axis=1)


@dataclass(frozen=True)
class ValueBlocks:
    """Numeric columns as blocks of neighbouring distinct values, column after column.

    Equal values share a block. Neighbouring values whose rows all have the same class may share a block as well,
    because they are hardly ever separated in a partition of least cost or entropy.

    Attributes
    ----------
    starts : int array, shape (n_columns + 1,)
        First row of each column in the other arrays. A column of n blocks has n + 1 rows.
    cumulated : array, shape (n_rows, n_classes)
        Cumulative class counts: those of the blocks of the same column before this row.
    lower, upper : float arrays, shape (n_rows,)
        Lowest and highest value of the block that begins at a row.
    has_missing : bool array, shape (n_columns,)
        Whether the first block holds missing values, coded as -inf.
    starts_of_numbers : int array, shape (n_columns,)
        Row at which the numbers of each column begin, after the block of missing values if there is one; in a column of
        missing values only, the row of that block.
    n_values : int array, shape (n_columns,)
        Number of distinct values; missing counts as one if the first block holds missing values.
    class_totals : float array, shape (n_columns, n_classes)
    totals : float array, shape (n_columns,)
        Number of rows (or weight) of each class, and of all classes.
    """

    starts: np.ndarray
    cumulated: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    has_missing: np.ndarray
    starts_of_numbers: np.ndarray
    n_values: np.ndarray
    class_totals: np.ndarray
    totals: np.ndarray

    @classmethod
    def of_rows(
        cls, values: np.ndarray, order: ClassOrder, *, joined: int = 0, apart: bool = True, ignore: bool = False
    ) -> ValueBlocks:
        """Return the blocks of numeric columns; ``values`` has shape (n_columns, n_rows), NaN = missing.

        Parameters
        ----------
        order : order of the rows by class.
        joined : number of distinct values of a column from which on neighbouring values of one class share a block.
        apart : whether missing values never share a block with others.
        ignore : whether missing values are ignored, unless there are no others.
        """
        from bayesieve.discretize._value_kernels import merge_classes

        if len(values) == 1 and (counts := _count_few(values[0], order)) is not None:
            return cls.of_counts(counts, joined=joined, apart=apart, ignore=ignore)
        # Sort each column by class, and by value within the class, with missing values last.
        by_class = np.take(values, order.row_numbers, axis=1)
        weights = np.empty((len(values), order.weights.size))
        missing: np.ndarray = np.zeros((len(values), order.n_classes), dtype=order.count_type)
        for j, (start, stop) in enumerate(pairwise(order.offsets.tolist())):
            segment = by_class[:, start:stop]
            if order.weights.size:
                ranks = np.argsort(segment, axis=1, kind="stable")
                segment[:] = np.take_along_axis(segment, ranks, axis=1)
                weights[:, start:stop] = order.weights[start:stop][ranks]
            else:
                segment.sort(axis=1)
            incomplete = np.flatnonzero(np.isnan(segment[:, -1:]).any(axis=1))
            missing[incomplete, j] = np.isnan(segment[incomplete]).sum(axis=1)
            for c in incomplete.tolist() if order.weights.size else ():
                missing[c, j] = weights[c, stop - int(missing[c, j]) : stop].sum()
        class_totals, totals = np.tile(order.class_totals, (len(values), 1)), np.full(len(values), order.total)
        for c in np.flatnonzero(missing.any(axis=1)).tolist() if ignore else ():
            is_number = ~np.isnan(values[c, order.row_numbers])
            if is_number.any():
                classes = np.repeat(np.arange(order.n_classes), np.diff(order.offsets))[is_number]
                row_weights = order.weights[is_number] if order.weights.size else np.ones(classes.size)
                missing[c], totals[c] = 0, row_weights.sum()
                class_totals[c] = np.bincount(classes, weights=row_weights, minlength=order.n_classes)
        # Arrays are as large as the worst case needs; the operating system provides memory only for the rows that are
        # written.
        most = len(values) * (order.row_numbers.size + 2)
        starts, n_values = np.empty(len(values) + 1, dtype=np.int64), np.empty(len(values), dtype=np.int64)
        cumulated: np.ndarray = np.empty((most, order.n_classes), dtype=order.count_type)
        lower, upper = np.empty(most), np.empty(most)
        n = merge_classes(
            by_class, weights, order.offsets, missing, joined, apart, starts, n_values, cumulated, lower, upper
        )
        has_missing = missing.max(axis=1) > 0
        return cls(
            starts=starts,
            cumulated=cumulated[:n],
            lower=lower[:n],
            upper=upper[:n],
            has_missing=has_missing,
            starts_of_numbers=starts[:-1] + (has_missing & (np.diff(starts) > 2)),
            n_values=n_values,
            class_totals=class_totals,
            totals=totals,
        )

    @classmethod
    def of_counts(cls, table: ValueCounts, *, joined: int = 0, apart: bool = True, ignore: bool = False) -> ValueBlocks:
        """Return the blocks of one column from the counts of its values. ``joined``, ``apart`` and ``ignore`` are
        documented in `of_rows`.
        """
        counts, values, has_missing = table.counts, table.values, bool(table.missing.any())
        upper = values if table.upper is None else table.upper
        if has_missing and not (ignore and len(values)):
            counts = np.vstack([table.missing, counts])
            values, upper = np.append(-np.inf, values), np.append(-np.inf, upper)
        else:
            has_missing = False
        class_totals = counts.sum(axis=0, dtype=float)
        begins = np.ones(len(counts), dtype=bool)
        if len(counts) >= joined:
            only = np.where((counts > 0).sum(axis=1) == 1, counts.argmax(axis=1), -1)
            begins[1:] = (only[1:] != only[:-1]) | (only[1:] < 0)
            begins[1:2] |= has_missing and apart
        first = np.append(np.flatnonzero(begins), len(counts))
        cumulated = np.zeros((first.size, counts.shape[1]), dtype=counts.dtype)
        cumulated[1:] = np.cumsum(counts, axis=0)[first[1:] - 1]
        return cls(
            starts=np.array([0, first.size]),
            cumulated=cumulated,
            lower=np.append(values[first[:-1]], np.nan),
            upper=np.append(upper[first[1:] - 1], np.nan),
            has_missing=np.array([has_missing]),
            starts_of_numbers=np.array([int(has_missing and first.size > 2)]),
            n_values=np.array([len(counts) if table.upper is None else table.n_distinct + has_missing]),
            class_totals=class_totals[None, :],
            totals=np.array([class_totals.sum()]),
        )

    def column(self, c: int) -> np.ndarray:
        """Return the cumulative class counts of the column at position ``c``, shape (n_blocks + 1, n_classes)."""
        return self.cumulated[self.starts[c] : self.starts[c + 1]]

    def level_counts(self, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of levels of each column, (n_columns,), and the class counts of all levels, (n_levels of
        all columns, n_classes).

        ``first`` are the ascending positions, in the arrays of blocks, at which levels begin.
        """
        n_levels = np.diff(np.searchsorted(first, self.starts))
        ends = np.append(first[1:], 0)
        ends[np.cumsum(n_levels) - 1] = self.starts[1:] - 1
        counts = self.cumulated[ends].astype(float) - self.cumulated[first].astype(float)
        single = n_levels == 1
        counts[np.repeat(single, n_levels)] = self.class_totals[single]
        return n_levels, counts

    def midpoints(self, first: np.ndarray) -> np.ndarray:
        """Return the cut points below some blocks: midpoints between the lowest value of each and the highest value
        before it.

        ``first`` are the positions of these blocks in the arrays of blocks; the result has the same shape.
        """
        below, above = self.upper[first - 1], self.lower[first]
        with np.errstate(over="ignore"):
            middle = (below + above) / 2
        middle = np.where(np.isinf(middle), below / 2 + above / 2, middle)
        # The midpoint of adjacent floating-point numbers rounds to one of them; it must stay below the upper one.
        return np.where(middle >= above, below, middle)


def _count_few(values: np.ndarray, order: ClassOrder) -> ValueCounts | None:
    """Count the distinct values of a numeric column (n_rows,) by hashing, in one pass. Return None if there are too
    many values or too few rows.
    """
    from bayesieve.discretize._value_kernels import count_distinct

    n_rows, most = order.row_numbers.size, order.row_numbers.size // _ROWS_PER_DISTINCT
    if order.weights.size or n_rows < max(LEAST_HASHED, order.n_rows) or _looks_distinct(values, most):
        return None
    distinct, counts, missing = count_distinct(np.ascontiguousarray(values), order.codes, order.n_classes, most)
    if distinct.size == 0:
        return None
    ranked = np.argsort(distinct)
    return ValueCounts(distinct[ranked], counts[ranked], missing)


def _looks_distinct(values: np.ndarray, most: int, sample_size: int = 2048) -> bool:
    """Return whether a column probably has more than ``most`` distinct values, judging by how many values repeat in a
    sample of ``sample_size`` rows.
    """
    sample = np.sort(values[:: max(1, values.size // sample_size)])
    repeated = np.count_nonzero(sample[1:] == sample[:-1])
    return bool(repeated < sample.size**2 / (4 * most))

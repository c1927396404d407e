"""Detection of repeated rows, as after oversampling or joins, and row weights by which each distinct row counts once.

Repeated rows mislead the choice of cut points: every number occurs in several rows of one class, so that chance looks
like information. Rows may also be equal because their columns have few values. They are not copies: their classes
differ as often as those of similar rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesieve.counts.row_hashes import hash_rows, mixed
from bayesieve.discretize.value_counts import ValueCounts
from bayesieve.table import Rows, Table, Target
from bayesieve.table.cautions import MOST_JUDGED_ROWS, Caution, marks_of_numbers, possible_marks
from bayesieve.words import named

REPEATED = "repeated rows"
"""The kind of the caution."""
_FEWEST_COPIED = 10  # least number of distinct rows of a class with copies
_LEAST_SHARE = 0.25  # least share of the rows of that class that repeat others; fewer do little harm
_FEWEST_VALUES = 20  # least number of unique values of the column that shows copies
_LEAST_DISTINCT = 0.5  # least number of its unique values per distinct row
_FEWEST_EXPECTED = 10.0  # least expected number of equal rows with different classes, if classes were random
_FEWEST_JOINED, _MORE_EXPECTED = 100, 30.0  # unique values and expected pairs, if rows are not equal in all columns
_MOST_DIFFERENT = 0.3  # largest ratio of observed to expected pairs of copies with different classes
_MOST_OF_ONE_ROW = 5  # copies of one row that are counted for this
_DENSE = 0.5  # share of gaps that are about the smallest one, in a column of few possible values
_GLANCE_COLUMNS, _GLANCE_ROWS = 64, 1000
_MOST_NEARLY_EQUAL = 0.02  # largest share of distinct rows that are equal in all columns but one
_TOGETHER = 1.05  # largest number of distinct pairs of values per value, for columns copied together
_MOST_OF_ONE_VALUE = 0.1  # largest share of rows with one value; a frequent value, such as 0, is not a copy
_HASHED_ROWS = 1 << 18  # rows of a scan that are compared
_FEWEST_EQUAL = 3  # least number of repeated values among 1,000 rows of a copied column
_NEARLY_ALL = 0.9  # least share of rows with different texts in a column of identifiers


@dataclass(frozen=True)
class Repeats:
    """Repeated rows of a table, and weights by which each distinct row counts once.

    Attributes
    ----------
    weights : (n_rows,) row weights: 1 for each distinct row of a class, times a factor by which each class keeps its
        share of all rows. They add up to the number of distinct rows if all classes are repeated equally often,
        otherwise to the effective sample size (Kish). One of several equal rows has all the weight; rows that are equal
        only in some columns share it.
    n_rows, n_repeated : number of rows of positive weight, and of those that repeat another.
    columns : names of the numeric columns that show that rows are copies.
    is_whole : whether copies are equal in all columns except identifiers.
    groups : (n_rows,) number of the distinct row that each row equals; 0 for rows of weight 0.
    """

    weights: np.ndarray
    n_rows: int
    n_repeated: int
    columns: tuple[str, ...]
    is_whole: bool
    groups: np.ndarray

    @property
    def caution(self) -> Caution:
        """Caution that names the share of repeated rows and the remedy."""
        counted = "Equal rows were counted once" if self.is_whole else "Rows that share them were counted as one"
        effect = f"{counted}, with each class at its share of all rows"
        return _caution(self.n_repeated, self.n_rows, self.columns, effect)


def _caution(n_repeated: float, n_rows: float, columns: Sequence[str], effect: str) -> Caution:
    """Return the caution that ``n_repeated`` of ``n_rows`` rows (or their weight) repeat another row. ``columns`` are
    the columns that show it, and ``effect`` is a sentence about the effect on the fit.
    """
    sentence = (
        f"{100 * n_repeated / n_rows:.3g} % of the rows repeat others ({n_repeated:,.0f} of {n_rows:,.0f}), as after "
        f"oversampling or a join, because values of {named(columns)} are hardly ever equal by chance. {effect}. Keep "
        "one copy of each row, and correct the class shares with with_prior() if they differ in the population."
    )
    return Caution(REPEATED, tuple(columns), sentence)


def scan_caution(
    names: Sequence[str], columns: Sequence[ValueCounts], row_hashes: np.ndarray | None, rows: Rows
) -> Caution | None:
    """Return a caution about repeated rows of a scan, which keep their weights; None if rows are equal no more often
    than by chance.

    Parameters
    ----------
    names, columns : names of all columns, and the class counts of their values.
    row_hashes : (n_rows,) hashes by `hash_rows` in the order of ``rows``; None if they were not computed.
    rows : classes and weights of the rows.
    """
    numbers = {names[i]: column for i, column in enumerate(columns) if isinstance(column.values, np.ndarray)}
    whole = {name: column for name, column in numbers.items() if column.upper is None}
    copied = [name for name, column in whole.items() if are_copies(column.values, column.counts, in_sample=True)]
    n_values = [len(whole[name].values) for name in copied]
    if np.count_nonzero(np.array(n_values) * _TOGETHER >= max(n_values, default=0)) > 1:
        n_rows = float(whole[copied[0]].counts.sum())
        if n_rows - max(n_values) >= _LEAST_SHARE * n_rows:
            return _scan_caution(n_rows - max(n_values), n_rows, copied)
    if row_hashes is None:
        return None
    # Rows with the lowest hashes are a random sample of the distinct rows with all their copies.
    one_in = np.uint64(max(1, row_hashes.size // _HASHED_ROWS))
    few = np.flatnonzero(row_hashes < np.uint64(2**64 - 1) // one_in)
    if rows.weights is not None:
        few = few[rows.weights[few] > 0]
    classes = np.asarray(rows.class_codes)[few].astype(np.int64)
    distinct, group = np.unique(row_hashes[few], return_inverse=True)
    counts = np.bincount(group * rows.n_classes + classes, minlength=distinct.size * rows.n_classes)
    share = 1.0 - distinct.size / max(1, few.size)
    n_distinct = {name: len(one.values) if one.upper is None else one.n_distinct for name, one in numbers.items()}
    distinguishing = [name for name, n in n_distinct.items() if n >= _LEAST_DISTINCT * (1.0 - share) * row_hashes.size]
    # `are_copies` compares the classes of rows with neighbouring values. With hashes as values, these are random rows.
    if not distinguishing or not are_copies(distinct.astype(np.float64), counts.reshape(-1, rows.n_classes)):
        return None
    return _scan_caution(share * row_hashes.size, row_hashes.size, distinguishing)


def _scan_caution(n_repeated: float, n_rows: float, columns: Sequence[str]) -> Caution:
    """Return the caution that ``n_repeated`` of ``n_rows`` rows of a scan (or their weight) repeat another row, and
    were all counted. ``columns`` are the columns that show it.
    """
    effect = "All of them were counted, so that chance may look like information"
    return _caution(n_repeated, n_rows, columns, effect)


def find_repeats(
    table: Table,
    target: Target,
    weights: np.ndarray | None,
    n_jobs: int | None,
    row_hashes: Callable[[], np.ndarray] | None = None,
) -> Repeats | None:
    """Return the repeated rows of a table in memory, or None if rows are equal no more often than by chance.

    Parameters
    ----------
    table, target : columns and classes of the rows.
    weights : (n_rows,) row weights; None if all are 1.
    n_jobs : threads.
    row_hashes : function that returns the hashes of all rows by `hash_rows`, shape (n_rows,); called only if some rows
        may be equal.
    """
    counted: Any = slice(None) if weights is None else np.flatnonzero(weights > 0)
    positions = np.arange(table.n_rows)[counted]
    at = np.arange(0, positions.size, max(1, positions.size // MOST_JUDGED_ROWS))
    sample = positions[at]
    possible = _possible_identifiers(table, sample)

    # Look for rows that are equal in all columns except identifiers. In wide tables, a few columns are hashed first:
    # they often show that there are none.
    if table.n_columns <= _GLANCE_COLUMNS or _may_repeat(table, n_jobs):
        hashes = (hash_rows(table, n_jobs) if row_hashes is None else row_hashes())[counted]
        if (
            _n_equal(hashes - hash_rows(table.select(possible), n_jobs)[counted] if possible else hashes)
            >= _FEWEST_COPIED
        ):
            identifiers = _identifiers(table, possible, sample, at)
            hashes = hashes - hash_rows(table.select(identifiers), n_jobs)[counted] if identifiers else hashes
            others = [i for i in range(table.n_columns) if i not in identifiers]
            repeats = _equal_rows(table, target, weights, positions, hashes, others)
            if repeats is not None:
                return repeats

    # Look for rows that are equal in some numeric columns only, such as those of one customer after a join with orders.
    columns = _copied_columns(table, target, sample)
    columns = sorted(set(columns).difference(_identifiers(table, possible, sample, at))) if columns else []
    return _joined_rows(table, target, weights, positions, columns, n_jobs) if columns else None


def _may_repeat(table: Table, n_jobs: int | None) -> bool:
    """Return whether so many rows are equal in a few columns that the other columns must be compared, too."""
    few = table.select(list(range(0, table.n_columns, -(-table.n_columns // _GLANCE_COLUMNS))))
    sample = np.arange(0, table.n_rows, max(1, table.n_rows // MOST_JUDGED_ROWS))
    possible, hashes = _possible_identifiers(few, sample), hash_rows(few, n_jobs)
    return _n_equal(hashes - hash_rows(few.select(possible), n_jobs) if possible else hashes) >= _FEWEST_COPIED


def _equal_rows(
    table: Table,
    target: Target,
    weights: np.ndarray | None,
    positions: np.ndarray,
    hashes: np.ndarray,
    columns: Sequence[int],
) -> Repeats | None:
    """Return the rows that are equal in ``columns`` (positions of all columns except identifiers); None if they may be
    equal by chance.

    ``positions`` are the positions of all rows of positive weight. ``hashes`` (len(positions),) are hashes of these
    rows, computed from ``columns``.
    """
    if _n_equal(hashes) < _FEWEST_COPIED:
        return None
    classes = target.codes[positions]
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    cells = group.astype(np.int64) * target.n_classes + classes
    counts = np.bincount(cells, minlength=first.size * target.n_classes).reshape(first.size, -1)
    columns_of_copies = _columns_of_copies(table.select(columns).take(positions[first]), counts)
    if not columns_of_copies:
        return None
    distinct_weights = weights_of_distinct(cells, classes, None if weights is None else weights[positions])
    n_repeated = int(positions.size - np.count_nonzero(distinct_weights))
    all_weights, groups = _spread(distinct_weights, positions, table.n_rows), _spread(group, positions, table.n_rows)
    return Repeats(all_weights, positions.size, n_repeated, columns_of_copies, True, groups)


def _columns_of_copies(distinct: Table, counts: np.ndarray) -> tuple[str, ...]:
    """Return the names of numeric columns that show that equal rows are copies; empty if rows may be equal by chance.

    Parameters
    ----------
    distinct : the distinct rows, without identifiers.
    counts : (n_distinct, n_classes) number of rows by class that equal each distinct row.
    """
    together = []
    for i in (i for i, kind in enumerate(distinct.kinds()) if kind == "numeric"):
        values = distinct.column(i).numbers()
        if are_copies(values, counts):
            return (distinct.names[i],)
        order = np.argsort(values, kind="stable")
        ranks = np.full(values.size, np.nan)
        ranks[order] = np.where(np.isnan(values[order]), np.nan, np.arange(values.size))
        if np.unique(values).size > _FEWEST_VALUES and are_copies(ranks, counts):
            together.append(i)
    # Rounded numbers may be equal by chance. Some distinct rows would then differ in a single column; if hardly any do,
    # equal rows are copies.
    return tuple(distinct.names[i] for i in together) if together and _stand_apart(distinct) else ()


def _stand_apart(distinct: Table) -> bool:
    """Return whether hardly any row of ``distinct`` equals another one in all columns but one."""
    hashes = hash_rows(distinct)
    for i in range(distinct.n_columns):
        if _n_equal(hashes - hash_rows(distinct.select([i]))) > _MOST_NEARLY_EQUAL * hashes.size:
            return False
    return True


def _joined_rows(
    table: Table,
    target: Target,
    weights: np.ndarray | None,
    positions: np.ndarray,
    columns: Sequence[int],
    n_jobs: int | None,
) -> Repeats | None:
    """Return the rows that are equal in ``columns``, such as those of one customer after a join with orders; None if
    fewer than a quarter of the rows repeat another one.

    ``positions`` are the positions of all rows of positive weight, and ``columns`` are positions of columns.
    """
    classes = target.codes[positions]
    hashes = hash_rows(table.select(columns), n_jobs)[positions]
    group = np.unique(hashes, return_inverse=True)[1]
    cells = group.astype(np.int64) * target.n_classes + classes
    distinct = np.unique(cells)
    if distinct.size > (1.0 - _LEAST_SHARE) * cells.size:
        return None
    row_weights = weights_of_distinct(cells, classes, None if weights is None else weights[positions], shared=True)
    names = tuple(table.names[i] for i in columns)
    all_weights, groups = _spread(row_weights, positions, table.n_rows), _spread(group, positions, table.n_rows)
    return Repeats(all_weights, positions.size, positions.size - distinct.size, names, False, groups)


def _copied_columns(table: Table, target: Target, sample: np.ndarray) -> list[int]:
    """Return the positions of numeric columns whose values were copied together, judging by the rows at the positions
    ``sample``.

    In such columns, rows with equal values have one class, rows with neighbouring values often have different ones, and
    rows that agree in one column agree in the others.
    """
    numeric = [i for i, kind in enumerate(table.kinds()) if kind == "numeric"]
    sample = sample[np.argsort(mixed(np.arange(sample.size)))]  # in an arbitrary but fixed order
    # In a wide table, examine a few columns first: if none of them was copied, the others are not examined.
    first = numeric[:: max(1, -(-len(numeric) // _GLANCE_COLUMNS))]
    groups = _copied(table, target, sample, first)
    if len(groups) > 1 and len(first) < len(numeric):
        groups |= _copied(table, target, sample, sorted(set(numeric).difference(first)))
    if not groups:
        return []
    finest = max(groups.values(), key=lambda group: int(group.max()))
    n_groups = int(finest.max()) + 1
    together = []
    for i, group in groups.items():
        pairs = finest * (int(group.max()) + 1) + group
        if np.unique(pairs[(finest >= 0) & (group >= 0)]).size <= _TOGETHER * n_groups:
            together.append(i)
    return together if len(together) > 1 else []


def _copied(table: Table, target: Target, sample: np.ndarray, columns: Sequence[int]) -> dict[int, np.ndarray]:
    """Return codes of the values of each column whose values may have been copied, by position of the column: arrays
    (len(sample),), -1 for missing values.

    ``sample`` are positions of rows, and ``columns`` positions of the numeric columns to examine.
    """
    groups, candidates = dict[int, np.ndarray](), np.array(columns, dtype=np.int64)
    if candidates.size == 0:
        return groups
    glance = np.sort(table.numbers(candidates, sample[:_GLANCE_ROWS]), axis=1)
    n_equal = np.count_nonzero(glance[:, 1:] == glance[:, :-1], axis=1)
    n_distinct = np.count_nonzero(~np.isnan(glance), axis=1) - n_equal
    for i in candidates[(n_equal >= _FEWEST_EQUAL) & (n_distinct >= _FEWEST_JOINED)].tolist():
        numbers = table.select([i]).take(sample).column(0).numbers()
        present = ~np.isnan(numbers)
        values, group = np.unique(numbers[present], return_inverse=True)
        cells = group * target.n_classes + target.codes[sample[present]].astype(np.int64)
        counts = np.bincount(cells, minlength=values.size * target.n_classes).reshape(values.size, -1)
        if are_copies(values, counts, in_sample=True):
            groups[i] = np.full(sample.size, -1)
            groups[i][present] = group
    return groups


def are_copies(values: np.ndarray, counts: np.ndarray, in_sample: bool = False) -> bool:
    """Return whether repeated rows are copies rather than equal by chance.

    Copies are recognised by a numeric column whose values differ between most distinct rows. Equal rows must have the
    same class, while rows with the next lower or higher value often have other classes. If such neighbours nearly
    always have the same class, too, the values must be so far apart that equal ones are unlikely by chance.

    Parameters
    ----------
    values : (n_distinct,) a numeric column in distinct rows, NaN if missing.
    counts : (n_distinct, n_classes) number of rows by class that equal each distinct row.
    in_sample : whether ``values`` are the distinct values of a column in a sample of rows, instead of values in
        distinct rows. Few copies then suffice, but only the classes of neighbouring values can show that they are
        copies.
    """
    order = np.argsort(values, kind="stable")
    order = order[: np.count_nonzero(~np.isnan(values))]
    values = values[order]
    differs = np.concatenate([[True], values[1:] != values[:-1], [True]])
    unique = differs[1:] & differs[:-1]  # a value of several distinct rows, such as 0, shows no copies
    fewest, least_expected = (_FEWEST_JOINED, _MORE_EXPECTED) if in_sample else (_FEWEST_VALUES, _FEWEST_EXPECTED)
    if np.count_nonzero(unique) < max(fewest, _LEAST_DISTINCT * values.size):
        return False
    counts, values = counts[order[unique]], values[unique]
    n_rows = counts.sum(axis=1, dtype=np.float64)
    if in_sample and n_rows.max() > _MOST_OF_ONE_VALUE * n_rows.sum():
        return False
    copied, of_class = n_rows > 1, counts.argmax(axis=1)
    n_copied = np.bincount(of_class[copied], minlength=counts.shape[1])
    repeated = np.bincount(of_class, n_rows - 1, counts.shape[1])
    least = 0.0 if in_sample else _LEAST_SHARE
    if not np.any((n_copied >= _FEWEST_COPIED) & (repeated >= least * np.bincount(of_class, n_rows, counts.shape[1]))):
        return False
    repeats = np.flatnonzero(copied)  # few rows, so that many classes need little memory
    pairs, sizes, here = np.minimum(n_rows[repeats] - 1, _MOST_OF_ONE_ROW), n_rows[repeats], counts[repeats] * 1.0
    lower, higher = repeats - 1, (repeats + 1) % n_rows.size
    nearby = (counts[lower] / n_rows[lower, None] + counts[higher] / n_rows[higher, None]) / 2
    expected = pairs @ (1 - (here / sizes[:, None] * nearby).sum(axis=1))
    different = pairs @ (1 - (here * (here - 1)).sum(axis=1) / (sizes * (sizes - 1)))
    if expected >= least_expected:
        return bool(different <= _MOST_DIFFERENT * expected)
    if in_sample or different > _MOST_DIFFERENT * expected:
        return False
    with np.errstate(over="ignore"):  # a range beyond all floats is wide
        gaps = np.diff(values)
        return bool(np.mean(gaps <= 2 * gaps.min()) < _DENSE)


def _possible_identifiers(table: Table, sample: np.ndarray) -> list[int]:
    """Return the positions of columns that may be identifiers (numbers or names), judging by up to 1,000 of the rows at
    positions ``sample``.
    """
    kinds, types = table.kinds(), table.types()
    numbers = [i for i, kind in enumerate(kinds) if kind == "numeric" and types[i] == "number"]
    glance = sample[:: max(1, sample.size // _GLANCE_ROWS)]
    texts = [i for i, kind in enumerate(kinds) if kind == "categorical" and _is_distinct(table, i, glance)]
    return sorted([*possible_marks(table, numbers, sample, table.n_rows), *texts])


def _identifiers(table: Table, possible: Sequence[int], sample: np.ndarray, at: np.ndarray) -> list[int]:
    """Return those of the ``possible`` columns (positions) that have a different value in nearly every row, so that
    copies may differ in them.

    ``sample`` are positions of rows, and ``at`` the positions of these rows among the rows of positive weight.
    """
    kinds, n_rows = table.kinds(), int(at[-1]) + 1
    marks = marks_of_numbers(table, [i for i in possible if kinds[i] == "numeric"], sample, at, n_rows)
    texts = [i for i in possible if kinds[i] == "categorical" and _is_distinct(table, i, sample)]
    return sorted([*(i for i, mark in marks.items() if mark != "date"), *texts])


def _is_distinct(table: Table, i: int, positions: np.ndarray) -> bool:
    """Return whether nearly all of the rows at ``positions`` have different values in the column at position
    ``i``.
    """
    return len(table.column(i).take(positions).categories().values) > _NEARLY_ALL * positions.size


def _n_equal(hashes: np.ndarray) -> int:
    """Return the number of ``hashes`` that repeat another one: their number minus the number of distinct ones."""
    ordered = np.sort(hashes)
    return int(np.count_nonzero(ordered[1:] == ordered[:-1]))


def _spread(values: np.ndarray, positions: np.ndarray, n_rows: int) -> np.ndarray:
    """Return an array of length ``n_rows`` with ``values`` at ``positions``, and zeros elsewhere."""
    every = np.zeros(n_rows, dtype=values.dtype)
    every[positions] = values
    return every


def weights_of_distinct(
    cells: np.ndarray, classes: np.ndarray, weights: np.ndarray | None, shared: bool = False
) -> np.ndarray:
    """Return row weights by which each distinct row of a class counts once; see `Repeats`.

    Parameters
    ----------
    cells : (n_rows,) numbers that are equal for equal rows of one class.
    classes : (n_rows,) class codes.
    weights : (n_rows,) row weights, or None if all are 1.
    shared : whether equal rows share the weight; otherwise one of them has all of it.
    """
    # A random copy gets the weight rather than the first one: first copies are found early in the table, the more so in
    # classes with many copies.
    order = np.argsort(mixed(np.arange(cells.size)))
    _, first, n_copies = np.unique(cells[order], return_index=True, return_counts=True)
    row, first = np.unique(cells, return_inverse=True)[1], order[first]
    mean = np.ones(first.size) if weights is None else np.bincount(row, weights) / n_copies
    every, distinct = np.bincount(classes, weights), np.bincount(classes[first], mean)
    factor = np.divide(every, distinct, out=np.zeros(every.size), where=distinct > 0)
    factor *= every.sum() / (every @ factor)
    of_rows = mean * factor[classes[first]]
    if shared:
        return (of_rows / n_copies)[row]
    result = np.zeros(cells.size)
    result[first] = of_rows
    return result

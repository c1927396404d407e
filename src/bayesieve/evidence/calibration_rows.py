"""Rows for fitting weights and contributions: codes, classes, weights and offsets of all training
rows or of a sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bayesieve.counts import CodedTable
from bayesieve.counts.row_hashes import mixed
from bayesieve.evidence.offset import OFFSET, offset_of_gaps
from bayesieve.table import FeatureLevels
from bayesieve.table.levels import TableLevels, smallest_unsigned

LEAST_ROWS_PER_VALUE = 100
"""Groups of values with fewer rows on average, of two classes of equal size, describe the rows that they were fitted
to: they are refitted for the rows of each of `FOLDS` folds, from the other folds. It takes eight times as many rows if
one class has 3 % of them."""
FOLDS = 5
"""Number of folds for levels with few rows; see `LEAST_ROWS_PER_VALUE`."""
_DIGITS_OF_SHARE = 9  # the order of rows must not show
_ROWS_PER_DISTINCT = 3  # of every class, from which rows are alike because columns have few values
_MOST_ROWS = 50_000  # larger tables are sampled
_MOST_TERMS = 40_000_000  # rows x features x classes of one evaluation
_MOST_LAST_ROWS = 2_000_000  # of the last fit


@dataclass(frozen=True, eq=False)
class CalibrationRows:
    """Codes, classes and weights of the rows, or of a sample of them, for some features; see `of`.

    In a fit, a sampled row counts once; in displayed counts, as many times as the rows it represents.

    Parameters
    ----------
    coded, n_classes : the coded table, and its number of classes.
    features : positions of the features.
    positions, classes, weights : (n_rows,) of the rows; weights are multiplied by ``effective_share``.
    effective_share : effective number of rows as a share of their number, see `share_of_effective_rows`.
    offset : (n_rows, n_classes) log joint that all contributions are added to, or None.
    total : weight of all rows of the table.
    refitted : (n_rows of the table,) codes of features whose levels are refitted for each fold, by position among the
        ``features``: levels of one fold follow those of another.
    counts_of_folds : (n_levels, n_classes) counts of these features for each fold, from the other folds.
    most_few : number of rows that are enough to choose features by.
    n_jobs : threads.
    """

    coded: CodedTable
    n_classes: int
    features: np.ndarray
    positions: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    effective_share: float
    offset: np.ndarray | None
    total: float
    refitted: Mapping[int, np.ndarray]
    counts_of_folds: Mapping[int, Sequence[np.ndarray]]
    most_few: int
    n_jobs: int | None

    @classmethod
    def of(cls, coded: CodedTable, features: np.ndarray, n_jobs: int | None = None) -> CalibrationRows:
        """Return all rows, or a sample of `most_last_rows` if there are more.

        Raises
        ------
        ValueError
            If the rows have no classes.
        """
        if coded.class_codes is None:
            raise ValueError("Weights are fitted to rows with known classes; code the table together with its target.")
        n_columns = coded.levels.n_columns if isinstance(coded.levels, TableLevels) else coded.n_features
        most_few = min(_MOST_ROWS, max(1000, _MOST_TERMS // max(1, features.size * coded.n_classes)))
        rows = coded.drawn(max(most_few, most_last_rows(n_columns, coded.n_classes)))
        offsets = [coded.rows.columns[OFFSET][rows]] if OFFSET in coded.rows.columns else []
        known = coded.counts.class_counts.sum() * (1.0 - 1e-9)
        with_gaps = [k for k in features.tolist() if coded.counts.feature(k).sum() < known]
        if with_gaps:
            offsets.append(offset_of_gaps(coded, with_gaps, rows))
        refitted, counts_of_folds = _refit_rare_values(coded, features)
        effective_share = 1.0 if coded.weights is None else share_of_effective_rows(coded.weights)
        return cls(
            coded=coded,
            n_classes=coded.n_classes,
            features=features,
            positions=rows,
            classes=coded.class_codes[rows].astype(np.int64),
            weights=np.ones(rows.size) if coded.weights is None else effective_share * coded.weights[rows],
            effective_share=effective_share,
            offset=sum(offsets[1:], offsets[0]) if offsets else None,
            total=float(coded.n_rows if coded.weights is None else coded.weights.sum()),
            refitted=refitted,
            counts_of_folds=counts_of_folds,
            most_few=most_few,
            n_jobs=n_jobs,
        )

    @cached_property
    def codes(self) -> tuple[np.ndarray, np.ndarray]:
        """Codes (n_features, n_rows) of the level of each row, those of refitted levels included; and of the level and
        the class of each row together, level by level.
        """
        codes = self.coded.codes_at(self.features, self.positions)
        highest = max((int(of_table.max()) for of_table in self.refitted.values()), default=0)
        codes = codes.astype(max(codes.dtype, smallest_unsigned(highest)), copy=False)
        for k, of_table in self.refitted.items():
            codes[k] = of_table[self.positions]
        kind = smallest_unsigned((int(codes.max(initial=0)) + 1) * self.n_classes)
        return codes, codes.astype(kind) * kind.type(self.n_classes) + self.classes.astype(kind)

    def few(self) -> CalibrationRows:
        """Return a sample of these rows that is large enough to choose features: 50,000, or fewer of many features."""
        drawn = self.drawn(self.most_few)
        offset = None if self.offset is None else self.offset[drawn]
        some = self.positions[drawn], self.classes[drawn], self.weights[drawn]
        return replace(self, positions=some[0], classes=some[1], weights=some[2], offset=offset)

    def drawn(self, most: int) -> np.ndarray:
        """Return the positions of at most ``most`` of these rows, drawn by their content."""
        return np.searchsorted(self.positions, self.coded.drawn(min(most, self.positions.size)))

    def count_classes(self, codes: np.ndarray, n_cells: int) -> np.ndarray:
        """Return the weight of all rows by cell and class, (n_cells, n_classes), estimated from these rows, which may
        lack a class.
        """
        is_sample = self.positions.size < self.coded.n_rows
        stands_for = self.total / float(self.weights.sum()) if is_sample else 1.0 / self.effective_share
        at = np.minimum(codes, n_cells).astype(np.int64) * self.n_classes + self.classes
        counts = np.bincount(at, self.weights * stands_for, (n_cells + 1) * self.n_classes)
        return counts.reshape(n_cells + 1, self.n_classes)[:-1]

    def codes_by(self, cells: Mapping[int, FeatureLevels | None]) -> dict[int, np.ndarray]:
        """Return the codes (n_rows,) of a feature by these cells, or by its levels if None."""
        whole = sorted(k for k, of_feature in cells.items() if of_feature is None)
        fine = {k: of_feature for k, of_feature in sorted(cells.items()) if of_feature is not None}
        codes = dict(zip(whole, self.coded.codes_at(whole, self.positions), strict=True))
        if fine:
            assert self.coded.recoder is not None
            recoder = self.coded.recoder.select(np.array(list(fine))).take(self.positions)
            codes |= dict(zip(fine, recoder.code(list(fine.values())).codes, strict=True))
        return codes

    def of_features(self, kept: np.ndarray) -> CalibrationRows:
        """Return the rows restricted to the features at the ascending positions ``kept``."""
        at = {k: i for i, k in enumerate(kept.tolist())}
        counts = {at[k]: tables for k, tables in self.counts_of_folds.items() if k in at}
        refitted = {at[k]: codes for k, codes in self.refitted.items() if k in at}
        return replace(self, features=self.features[kept], counts_of_folds=counts, refitted=refitted)


def share_of_effective_rows(weights: np.ndarray) -> float:
    """Return the effective number of rows as a share of their weight, or of their number if that is larger (Kish 1965).

    It is 1 for whole weights, which stand for repeated rows, and for equal ones.
    """
    positive = weights[weights > 0]
    if not positive.size or np.ptp(positive) == 0.0 or np.array_equal(positive, np.rint(positive)):
        return 1.0
    mean = float(positive.mean())
    share = 1.0 / (max(mean, 1.0) * float(((positive / mean) ** 2).mean()))
    return float(f"{share:.{_DIGITS_OF_SHARE}g}")


def _refit_rare_values(
    coded: CodedTable, features: np.ndarray
) -> tuple[dict[int, np.ndarray], dict[int, list[np.ndarray]]]:
    """Refit groups of values with few rows each, for each fold from the other folds; see `LEAST_ROWS_PER_VALUE`.

    Returns
    -------
    tuple
        Codes of all rows by the levels of their folds, and the counts of these levels, by position in ``features``.
        Both are empty if there are no such features, or if the levels cannot be refitted.
    """
    if coded.recoder is None or coded.levels is None:
        return {}, {}
    shares = coded.counts.class_counts / coded.counts.class_counts.sum()
    n_classes = np.count_nonzero(shares)
    # A weight of 2 counts as two rows. With a rare class, only few rows inform about each value.
    n_rows = coded.counts.class_counts.sum() * (1.0 - shares @ shares) * n_classes / max(1, n_classes - 1)
    types = coded.levels.types if isinstance(coded.levels, TableLevels) else None
    rare = []
    for at, k in enumerate(features.tolist()):
        numeric = types is not None and types[k] == "number"  # levels are not made just to be looked at
        n_values = 0 if numeric or coded.n_levels[k] == 1 else coded.levels[k].n_values
        if n_values > coded.n_levels[k] and n_values * LEAST_ROWS_PER_VALUE > n_rows:
            rare.append(at)
    fold = _folds(coded, features) if rare else None
    if fold is None:
        return {}, {}

    recoder = coded.recoder.select(features[rare])
    codes = np.empty((len(rare), coded.n_rows), dtype=np.int64)
    first = np.zeros((len(rare), 1), dtype=np.int64)
    counts_of_folds: dict[int, list[np.ndarray]] = {k: [] for k in rare}
    for number in range(FOLDS):
        inside = np.flatnonzero(fold == number)
        fit, rest = recoder.learn(np.flatnonzero((fold != number) & (fold >= 0)), inside)
        counts = fit.counts
        for at, tables in enumerate(counts_of_folds.values()):
            tables.append(counts.feature(at))
        known = rest.codes < fit.n_levels[:, None]
        codes[:, inside] = np.where(known, first + rest.codes, -1)
        first = first + fit.n_levels[:, None]
    codes = np.where(codes < 0, first, codes)  # the code of no level
    return dict(zip(rare, codes.astype(smallest_unsigned(int(first.max()))), strict=True)), counts_of_folds


def _folds(coded: CodedTable, features: np.ndarray) -> np.ndarray | None:
    """Deal the distinct rows of each class out to folds in turn; return the fold of every row, -1 for rows without
    weight.

    The order of rows follows from their values in the columns of these features, and then in all columns: constant
    columns, units, names, the orders of columns, classes and rows, and weights in place of repeated rows make no
    difference. Return None if distinct rows are few: a fold would hold all rows of a value.
    """
    assert coded.recoder is not None
    fold = np.full(coded.n_rows, -1)
    counted = np.arange(coded.n_rows) if coded.weights is None else np.flatnonzero(coded.weights)
    recoder, classes = coded.recoder.take(counted), np.asarray(coded.class_codes)[counted]
    prints = recoder.row_hashes()
    _, first, distinct = np.unique(prints ^ mixed(classes.astype(np.uint64)), return_index=True, return_inverse=True)
    prints, classes, recoder = prints[first], classes[first], recoder.take(first)
    n_rows = np.asarray(coded.counts.class_counts)
    if np.all(n_rows >= _ROWS_PER_DISTINCT * np.bincount(classes, minlength=n_rows.size)):
        return None
    content = recoder.select(features).content(classes)
    keys = [content.of_rows, classes, content.of_classes[classes]]
    if np.unique(content.of_rows).size < first.size:
        keys = [prints, recoder.content(classes).of_rows, *keys]
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.lexsort(keys)] = np.arange(first.size)
    fold[counted] = rank[distinct] % FOLDS
    return fold


def most_last_rows(n_columns: int, n_classes: int) -> int:
    """Return the number of rows for the final fit, which is smaller for wide tables."""
    return min(_MOST_LAST_ROWS, max(1000, _MOST_TERMS // max(1, n_columns * n_classes)))


def rows_to_keep(n_columns: int, n_classes: int) -> int:
    """Return the number of rows of a table with these columns to keep in memory for the fit after the search."""
    return max(_MOST_ROWS, most_last_rows(n_columns, n_classes))

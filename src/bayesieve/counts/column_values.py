"""The features of a coded table as numbers, and the dependence of pairs of them."""

from __future__ import annotations

import numpy as np

from bayesieve.counts.coded import CodedTable
from bayesieve.counts.dependence import ValueDependence
from bayesieve.engine import map_in_threads

_AT_ONCE = 16  # columns compared with all others in one call


class ColumnValues:
    """The features of a coded table as numbers, for measures of values.

    Numbers are the raw ones where they are at hand, else codes; levels of categories are numbered as `ValueDependence`
    says. NaN stands for no value.

    Parameters
    ----------
    coded : CodedTable
        With classes where they order the levels of categories.

    Attributes
    ----------
    numbers : float array, shape (n_features, n_rows)
    """

    def __init__(self, coded: CodedTable) -> None:
        raw = [None] * coded.n_features if coded.recoder is None else coded.recoder.numbers()
        self.numbers = np.empty((coded.n_features, coded.n_rows))
        largest = np.finfo(float).max
        for feature, numbers in enumerate(raw):
            of_rows = _of_codes(coded, feature) if numbers is None else numbers
            np.clip(of_rows, -largest, largest, out=self.numbers[feature])
        self._complete = np.asarray(~np.isnan(self.numbers).any(axis=1))
        self._weights = None if coded.weights is None else np.asarray(coded.weights, dtype=float)
        self._rows = coded.rows

    def of(
        self,
        dependence: ValueDependence,
        left: np.ndarray | None = None,
        right: np.ndarray | None = None,
        *,
        rows: np.ndarray | None = None,
        n_jobs: int | None = None,
    ) -> np.ndarray:
        """(left, right) dependence of the features at these positions, or all, on these rows, or all that count."""
        every = np.arange(len(self.numbers))
        left, right = every if left is None else left, every if right is None else right
        if rows is None:
            rows = np.arange(self.numbers.shape[1]) if self._weights is None else np.flatnonzero(self._weights)
        block = np.empty((left.size, right.size))
        symmetric = np.array_equal(left, right)

        def fill(begin: int) -> None:
            columns = np.arange(begin if symmetric else 0, right.size)
            for one in self._alike(left, np.arange(begin, min(begin + _AT_ONCE, left.size))):
                for other in self._alike(right, columns):
                    block[np.ix_(one, other)] = self._common(dependence, left[one], right[other], rows)

        map_in_threads(fill, range(0, left.size, _AT_ONCE), n_jobs)
        if symmetric:
            below = np.tril_indices(left.size, -1)
            block[below] = block.T[below]
        return block

    def mean_within_classes(
        self, dependence: ValueDependence, left: np.ndarray, right: np.ndarray, *, n_jobs: int | None
    ) -> np.ndarray:
        """(left, right) mean over the classes, by their rows, of the dependence within each."""
        mean, total = np.zeros((left.size, right.size)), 0.0
        for rows in self._rows.by_class():
            size = float(rows.size if self._weights is None else self._weights[rows].sum())
            mean += size * self.of(dependence, left, right, rows=rows, n_jobs=n_jobs)
            total += size
        return mean / max(total, np.finfo(float).tiny)

    def _alike(self, features: np.ndarray, positions: np.ndarray) -> list[np.ndarray]:
        """Positions whose features have all values, together, and each of the others by itself."""
        complete = self._complete[features[positions]]
        return [part for part in (positions[complete], *positions[~complete][:, None]) if part.size]

    def _common(self, dependence: ValueDependence, left: np.ndarray, right: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Dependence on the rows where both have a value."""
        if not (self._complete[left].all() and self._complete[right].all()):
            rows = rows[~np.isnan(self.numbers[np.ix_(np.append(left, right), rows)]).any(axis=0)]
        weights = None if self._weights is None else self._weights[rows]
        return dependence.within(self.numbers[np.ix_(left, rows)], self.numbers[np.ix_(right, rows)], weights)


def _of_codes(coded: CodedTable, feature: int) -> np.ndarray:
    """(n_rows,) levels of a feature as numbers: categories in the order of the classes, others as they are coded."""
    n_levels = int(coded.n_levels[feature])
    numbers = np.append(np.arange(n_levels, dtype=float), np.nan)
    levels = None if coded.levels is None else coded.levels[feature]
    if coded.recoder is not None or (levels is not None and levels.kind == "categorical"):
        if coded.n_classes > 1:
            numbers[:-1] = _class_order(coded.counts.feature(feature))
    elif levels is not None and levels.missing_code is not None:
        numbers[levels.missing_code] = np.nan
    return numbers[np.minimum(coded.codes_of([feature])[0], n_levels)]


def _class_order(counts: np.ndarray) -> np.ndarray:
    """(n_levels,) places of the levels along the first axis of their correspondence with the classes (n_levels,
    n_classes): with two classes, in the order of the share of the second one.
    """
    shares = counts / max(counts.sum(), np.finfo(float).tiny)
    of_levels, of_classes = shares.sum(axis=1, keepdims=True), shares.sum(axis=0, keepdims=True)
    expected = of_levels * of_classes
    residuals = np.divide(shares - expected, np.sqrt(expected), out=np.zeros_like(shares), where=expected > 0)
    levels, _, classes = np.linalg.svd(residuals, full_matrices=False)
    axis = np.divide(levels[:, 0], np.sqrt(of_levels[:, 0]), out=np.zeros(len(counts)), where=of_levels[:, 0] > 0)
    sign = -1.0 if classes[0, -1] < 0 else 1.0
    return np.argsort(np.argsort(np.round(sign * axis, 12), kind="stable"), kind="stable").astype(float)

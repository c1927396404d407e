"""Measures of the dependence between two columns, computed from counts of levels, from values or from ranks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from bayesieve.counts.coded import CodedTable
from bayesieve.counts.contingency import ContingencyCounts
from bayesieve.counts.information import class_information, class_symmetrical_uncertainty, entropy
from bayesieve.engine import map_in_threads
from bayesieve.parts import Registry


class Dependence(ABC):
    """Base class of symmetrical measures of the dependence between two columns.

    A subclass sets ``name`` and implements ``of_tables``. Blocks of pairs, dependence within classes, row weights, and
    the dependence of features on the class are then supported.

    Attributes
    ----------
    name : str
        Name in options of selectors and in saved models.
    title, unit : str
        Name for use within a sentence, and unit; "" if there is none.
    lower_is_better : bool
        True if smaller values mean more dependence, as for distances and p-values. mRMR and CFS do not accept such
        measures.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve import pair_statistics
    >>> from bayesieve.counts import Dependence
    >>> class MeanSquareContingency(Dependence):
    ...     name = "phi_squared"
    ...
    ...     def of_tables(self, tables):
    ...         rows, columns = tables.sum(axis=2, keepdims=True), tables.sum(axis=1, keepdims=True)
    ...         independent = np.maximum(rows * columns, 1)
    ...         return (tables**2 / independent).sum(axis=(1, 2)) - tables.any(axis=(1, 2))
    >>> codes = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    >>> pair_statistics(codes, encoder=None, statistic=MeanSquareContingency()).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    name: str = ""
    title: ClassVar[str] = ""
    unit: ClassVar[str] = ""
    lower_is_better: ClassVar[bool] = False

    @abstractmethod
    def of_tables(self, tables: np.ndarray) -> np.ndarray:
        """Return the dependence of pairs of columns, shape (n_pairs,), from counts (n_pairs, n_levels, n_other_levels).

        Counts are numbers of rows or sums of weights. A level, or a whole table, may have no rows.
        """

    def with_class(self, counts: ContingencyCounts) -> np.ndarray:
        """Return the dependence of every feature on the class, shape (n_features,), from counts by level and class."""
        values = np.zeros(counts.n_features)
        n_levels = np.diff(counts.offsets)
        for size in np.unique(n_levels):
            features = np.flatnonzero(n_levels == size)
            lines = counts.offsets[features][:, None] + np.arange(size)
            values[features] = self.checked(counts.counts[lines])
        return values

    def checked(self, tables: np.ndarray) -> np.ndarray:
        """Return the result of ``of_tables``, (n_tables,); raise ValueError unless it is one finite number for each
        table.

        ``tables`` are counts (n_tables, n_levels, n_other_levels).
        """
        return self._finite(self.of_tables(tables), tables.shape[:1], f"{len(tables)} tables")

    def _finite(self, values: Any, shape: tuple[int, ...], of: str) -> np.ndarray:
        """Convert ``values`` to floats; raise ValueError unless they are finite and have the given ``shape``.

        ``of`` is the name of the tables or pairs of columns in the message.
        """
        values = np.asarray(values, dtype=float)
        if values.shape != shape or not np.isfinite(values).all():
            raise ValueError(
                f"The dependence measure {self.name!r} must return one finite number for each of {of}, "
                f"got shape {values.shape}{'' if np.isfinite(values).all() else ' with NaN or infinity'}."
            )
        return values

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


_MOST_REPEATED = 10_000_000  # sum of integer weights beyond which rows are not repeated


class ValueDependence(Dependence):
    """Base class of measures that are computed from the values of two columns instead of counts of levels.

    A subclass sets ``name`` and implements ``of_columns``. Numeric columns are compared as raw numbers if these are
    available, otherwise as codes. Categories are converted to numbers: with two classes the rank of their share of the
    second class, with more classes their rank on the first axis of a correspondence analysis of levels and classes.
    Rows in which either column has no value are ignored for the pair.

    Attributes
    ----------
    weighs_rows : bool
        Whether the measure supports row weights, by which a row of weight 2 counts like two equal rows.
    """

    weighs_rows: ClassVar[bool] = True

    @abstractmethod
    def of_columns(self, left: np.ndarray, right: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Return the dependence of every column of ``left`` (n_left, n_rows) on every column of ``right`` (n_right,
        n_rows), shape (n_left, n_right).

        All numbers are finite. ``weights`` (n_rows,) are positive row weights; None if all are 1.
        """

    def within(self, left: np.ndarray, right: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Return the result of ``of_columns``, (n_left, n_right), or zeros if there are no rows.

        ``left`` (n_left, n_rows) and ``right`` (n_right, n_rows) are columns of numbers, ``weights`` (n_rows,) row
        weights or None. Raise ValueError unless there is one finite number per pair, or if the measure does not support
        the weights.
        """
        if not left.shape[1]:
            return np.zeros((len(left), len(right)))
        if weights is not None and not self.weighs_rows:
            if np.any(weights != 1.0):
                raise ValueError(
                    f"The dependence measure {self.name!r} does not support row weights; omit sample_weight, or "
                    "choose another measure, such as 'spearman'."
                )
            weights = None
        shape = (len(left), len(right))
        return self._finite(self.of_columns(left, right, weights), shape, f"{len(left)} x {len(right)} pairs")

    def of_tables(self, tables: np.ndarray) -> np.ndarray:
        """Return the dependence of pairs of columns, (n_pairs,), from counts (n_pairs, n_levels, n_other_levels), with
        the position of each level as its number.
        """
        values = np.zeros(len(tables))
        for at, table in enumerate(tables):
            cells = np.nonzero(table)
            numbers = np.stack(cells).astype(float)
            weights = table[cells].astype(float)
            if not self.weighs_rows and weights.sum() <= _MOST_REPEATED and np.all(weights == np.rint(weights)):
                numbers, weights = np.repeat(numbers, weights.astype(int), axis=1), np.ones(int(weights.sum()))
            values[at] = self.within(numbers[:1], numbers[1:], weights)[0, 0]
        return values


class PearsonCorrelation(ValueDependence):
    """Absolute value of Pearson's correlation coefficient, from 0 to 1; 0 for a constant column."""

    name = "pearson"
    title = "absolute correlation"

    def of_columns(self, left: np.ndarray, right: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Return the absolute correlation of every column of ``left`` (n_left, n_rows) with every column of ``right``
        (n_right, n_rows), shape (n_left, n_right).

        ``weights`` (n_rows,) are row weights; None if all are 1.
        """
        return np.minimum(np.abs(standardized(left, weights) @ standardized(right, weights).T), 1.0)


class SpearmanCorrelation(ValueDependence):
    """Absolute value of Spearman's rank correlation (1904), from 0 to 1; ties share their mean rank."""

    name = "spearman"
    title = "absolute rank correlation"

    def of_columns(self, left: np.ndarray, right: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Return the absolute rank correlation of every column of ``left`` (n_left, n_rows) with every column of
        ``right`` (n_right, n_rows), shape (n_left, n_right).

        ``weights`` (n_rows,) are row weights; None if all are 1.
        """
        sides = (standardized(mean_ranks(columns, weights)[0], weights) for columns in (left, right))
        return np.minimum(np.abs(next(sides) @ next(sides).T), 1.0)


class PairFunction(ValueDependence):
    """Measure given by a function of two columns, each (n_rows,), that returns a number."""

    weighs_rows = False

    def __init__(self, function: Callable[[np.ndarray, np.ndarray], float]) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)

    def of_columns(self, left: np.ndarray, right: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Return the result of the function for every column of ``left`` (n_left, n_rows) with every column of
        ``right`` (n_right, n_rows), shape (n_left, n_right); ``weights`` is not used.
        """
        return np.array([[self.function(x, y) for y in right] for x in left], dtype=float)

    def __repr__(self) -> str:
        return f"PairFunction({self.name})"


def standardized(columns: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Scale columns (n, n_rows) such that the sum over rows of the product of two columns is their weighted
    correlation.

    Each column is centred, multiplied by the root of the row's share of the weight, and divided by its norm. Constant
    columns become 0. ``weights`` (n_rows,) are row weights; None if all are 1.
    """
    share = np.full(columns.shape[1], 1.0 / columns.shape[1]) if weights is None else weights / weights.sum()
    highest, lowest = columns.max(axis=1, keepdims=True), columns.min(axis=1, keepdims=True)
    half = highest / 2 - lowest / 2
    scaled = (columns - (highest / 2 + lowest / 2)) / np.where(half > 0, half, 1.0)  # from -1 to 1, whatever the size
    centred = (scaled - (scaled @ share)[:, None]) * np.sqrt(share)
    length = np.linalg.norm(centred, axis=1)
    return centred / np.where(length > 0, length, 1.0)[:, None] * (half > 0)


def mean_ranks(columns: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the rank of each value in its column, from 1 (ties share the mean), and its position among the distinct
    values of the column, both (n, n_rows) like ``columns``.

    ``weights`` (n_rows,) are numbers of rows that each row stands for; None if all are 1.
    """
    ranks, codes = np.empty(columns.shape), np.empty(columns.shape, dtype=np.int64)
    for column, rank, code in zip(columns, ranks, codes, strict=True):
        code[:] = np.unique(column, return_inverse=True)[1]
        row_counts = np.bincount(code, weights)
        rank[:] = (np.cumsum(row_counts) - (row_counts - 1.0) / 2.0)[code]
    return ranks, codes


class EntropyDependence(Dependence):
    """Base class of measures that are functions of mutual information and entropies, which compiled kernels compute."""

    @abstractmethod
    def of_sums(
        self, information: np.ndarray, left: np.ndarray, right: np.ndarray, total: np.ndarray | float
    ) -> np.ndarray:
        """Return the dependence of pairs of columns from their mutual information and the entropies of both columns.

        ``information`` and the entropies ``left`` and ``right`` are arrays that broadcast to the shape of the result,
        in nats times ``total``, the number (or weight) of the rows of the pair. ``information`` may be overwritten.
        """

    def of_tables(self, tables: np.ndarray) -> np.ndarray:
        """Return the dependence of pairs of columns, (n_pairs,), from counts (n_pairs, n_levels, n_other_levels)."""
        total = tables.sum(axis=(1, 2))
        parts = tables.reshape(len(tables), -1), tables.sum(axis=2), tables.sum(axis=1)
        joint, left, right = (total * entropy(counts) for counts in parts)
        information = np.clip(left + right - joint, 0.0, np.minimum(left, right))
        return self.of_sums(information, left, right, np.maximum(total, 1e-300))


class MutualInformation(EntropyDependence):
    """Shannon's mutual information, I(X; Y) = sum p(x, y) log(p(x, y) / (p(x) p(y)))."""

    name = "mutual_information"
    title = "mutual information"
    unit = "nats"

    def of_sums(
        self, information: np.ndarray, left: np.ndarray, right: np.ndarray, total: np.ndarray | float
    ) -> np.ndarray:
        """Return mutual information in nats: ``information`` divided by ``total``, the number (or weight) of rows.

        All arrays broadcast to the shape of the result. The entropies ``left`` and ``right`` are not used.
        """
        return np.divide(information, total, out=information)

    def with_class(self, counts: ContingencyCounts) -> np.ndarray:
        """Return the mutual information of every feature with the class, (n_features,), in nats."""
        return class_information(counts)


class SymmetricalUncertainty(EntropyDependence):
    """Symmetrical uncertainty, 2 I(X; Y) / (H(X) + H(Y)): 0 if independent (or both constant), 1 if each determines the
    other.
    """

    name = "symmetrical_uncertainty"
    title = "symmetrical uncertainty"

    def of_sums(
        self, information: np.ndarray, left: np.ndarray, right: np.ndarray, total: np.ndarray | float
    ) -> np.ndarray:
        """Return 2 I / (H(left) + H(right)) of each pair of columns, from 0 to 1.

        ``information`` and the entropies ``left`` and ``right`` are arrays that broadcast, in nats times ``total``,
        which cancels.
        """
        both = np.add(left, right)
        np.multiply(information, 2.0, out=information)
        return np.divide(information, np.maximum(both, 1e-300, out=both), out=information)

    def with_class(self, counts: ContingencyCounts) -> np.ndarray:
        """Return the symmetrical uncertainty of every feature with the class, (n_features,)."""
        return class_symmetrical_uncertainty(counts)


DEPENDENCES: Registry[type[Dependence]] = Registry(
    "bayesieve.dependences",
    Dependence,
    MutualInformation,
    SymmetricalUncertainty,
    PearsonCorrelation,
    SpearmanCorrelation,
)


def make_dependence(
    dependence: str | Dependence | Callable[[np.ndarray, np.ndarray], float],
    option: str = "dependence",
    *,
    grows: bool = False,
) -> Dependence:
    """Return a measure of dependence from its name, an instance, or a function of two numeric columns.

    With ``grows``, measures for which smaller values mean more dependence raise an error.

    Raises
    ------
    ValueError
        For an unknown name or any other object; the message names the ``option``.
    """
    if isinstance(dependence, str) and dependence in DEPENDENCES:
        dependence = DEPENDENCES[dependence]()
    elif callable(dependence) and not isinstance(dependence, (Dependence, type)):
        dependence = PairFunction(dependence)
    if not isinstance(dependence, Dependence):
        names = ", ".join(map(repr, DEPENDENCES))
        raise ValueError(f"{option} must be one of {names}, a Dependence object or a function, got {dependence!r}.")
    if grows and dependence.lower_is_better:
        raise ValueError(
            f"{option} must be a measure whose larger values mean more dependence, got {dependence.name!r}."
        )
    return dependence


_AT_ONCE = 16  # columns compared with all others in one call


class RawValues(Protocol):
    """Protocol for sources of the raw values of coded rows, such as a `LevelRefitter`."""

    def numbers(self, positions: np.ndarray | None) -> list[np.ndarray | None]:
        """Return for each feature its raw numbers in some rows, (n,), or None if it is not numeric.

        ``positions`` (n,) are positions of rows; None for all rows.
        """


class ColumnValues:
    """Features of a coded table as numbers, for measures of dependence between values; see `ValueDependence`.

    Parameters
    ----------
    coded : CodedTable
        Coded table; it must have classes if there are categorical features.
    numbers : for each feature, its raw numbers (n_rows,), or None if it is not numeric; None if raw values are not
        available.

    Attributes
    ----------
    numbers : float array, shape (n_features, n_rows)
        Value of each feature in each row; NaN if it is missing.
    """

    def __init__(self, coded: CodedTable, numbers: Sequence[np.ndarray | None] | None = None) -> None:
        raw = [None] * coded.n_features if numbers is None else numbers
        self.numbers = np.empty((coded.n_features, coded.n_rows))
        largest = np.finfo(float).max
        for feature, of_feature in enumerate(raw):
            of_rows = _of_codes(coded, feature, numbers is not None) if of_feature is None else of_feature
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
        positions: np.ndarray | None = None,
        n_jobs: int | None = None,
    ) -> np.ndarray:
        """Return the dependence of some features on others, (n_left, n_right).

        Parameters
        ----------
        dependence : measure of the dependence between values.
        left, right : positions of features; None for all.
        positions : positions of the rows to use; None for all rows of positive weight.
        n_jobs : number of threads.
        """
        every = np.arange(len(self.numbers))
        left, right = every if left is None else left, every if right is None else right
        if positions is None:
            positions = np.arange(self.numbers.shape[1]) if self._weights is None else np.flatnonzero(self._weights)
        block = np.empty((left.size, right.size))
        symmetric = np.array_equal(left, right)

        def fill(begin: int) -> None:
            """Compute the dependence of a few features, from position ``begin`` of ``left`` on, on all features of
            ``right``.
            """
            columns = np.arange(begin if symmetric else 0, right.size)
            for one in self._alike(left, np.arange(begin, min(begin + _AT_ONCE, left.size))):
                for other in self._alike(right, columns):
                    block[np.ix_(one, other)] = self._common(dependence, left[one], right[other], positions)

        map_in_threads(fill, range(0, left.size, _AT_ONCE), n_jobs)
        if symmetric:
            below = np.tril_indices(left.size, -1)
            block[below] = block.T[below]
        return block

    def mean_within_classes(
        self, dependence: ValueDependence, left: np.ndarray, right: np.ndarray, *, n_jobs: int | None
    ) -> np.ndarray:
        """Return the dependence of some features on others within each class, averaged over the classes with their
        shares as weights, (n_left, n_right).

        ``left`` and ``right`` are positions of features, ``n_jobs`` the number of threads.
        """
        mean, total = np.zeros((left.size, right.size)), 0.0
        for positions in self._rows.positions_by_class():
            size = float(positions.size if self._weights is None else self._weights[positions].sum())
            mean += size * self.of(dependence, left, right, positions=positions, n_jobs=n_jobs)
            total += size
        return mean / max(total, np.finfo(float).tiny)

    def _alike(self, features: np.ndarray, positions: np.ndarray) -> list[np.ndarray]:
        """Group features that can be computed at once: all features without missing values, and each other feature
        alone.

        ``features`` are positions of features in the table; ``positions`` select some of them, and each group is an
        array of such positions.
        """
        complete = self._complete[features[positions]]
        return [part for part in (positions[complete], *positions[~complete][:, None]) if part.size]

    def _common(
        self, dependence: ValueDependence, left: np.ndarray, right: np.ndarray, positions: np.ndarray
    ) -> np.ndarray:
        """Return the dependence between features, (n_left, n_right), computed from the rows in which none of their
        values is missing.

        ``left`` and ``right`` are positions of features; only the rows at ``positions`` are used.
        """
        if not (self._complete[left].all() and self._complete[right].all()):
            positions = positions[~np.isnan(self.numbers[np.ix_(np.append(left, right), positions)]).any(axis=0)]
        weights = None if self._weights is None else self._weights[positions]
        return dependence.within(self.numbers[np.ix_(left, positions)], self.numbers[np.ix_(right, positions)], weights)


def raw_numbers(dependence: Dependence, coded: CodedTable, source: RawValues | None) -> list[np.ndarray | None] | None:
    """Return for each feature its raw numbers (n_rows,), or None if it is not numeric, as the argument of
    `ColumnValues`.

    Return None if the measure ``dependence`` does not compare values, or if there is no ``source`` of raw values.
    """
    is_of_values = isinstance(dependence, ValueDependence)
    return source.numbers(coded.rows.positions) if is_of_values and source is not None else None


def _of_codes(coded: CodedTable, feature: int, is_categorical: bool) -> np.ndarray:
    """Return the levels of a feature as numbers, shape (n_rows,): ranks by class for categories, otherwise codes.

    ``is_categorical`` is True if raw values show that the feature is not numeric; otherwise its levels are examined.
    """
    n_levels = int(coded.n_levels[feature])
    numbers = np.append(np.arange(n_levels, dtype=float), np.nan)
    levels = None if coded.levels is None else coded.levels[feature]
    if is_categorical or (levels is not None and levels.kind == "categorical"):
        if coded.n_classes > 1:
            numbers[:-1] = _class_order(coded.counts.feature(feature))
    elif levels is not None and levels.missing_code is not None:
        numbers[levels.missing_code] = np.nan
    return numbers[np.minimum(coded.codes[feature], n_levels)]


def _class_order(counts: np.ndarray) -> np.ndarray:
    """Return the rank of each level by its class shares, from counts (n_levels, n_classes).

    With two classes, levels are ranked by the share of the second class; with more, by their position on the first axis
    of a correspondence analysis.
    """
    shares = counts / max(counts.sum(), np.finfo(float).tiny)
    of_levels, of_classes = shares.sum(axis=1, keepdims=True), shares.sum(axis=0, keepdims=True)
    expected = of_levels * of_classes
    residuals = np.divide(shares - expected, np.sqrt(expected), out=np.zeros_like(shares), where=expected > 0)
    levels, _, classes = np.linalg.svd(residuals, full_matrices=False)
    axis = np.divide(levels[:, 0], np.sqrt(of_levels[:, 0]), out=np.zeros(len(counts)), where=of_levels[:, 0] > 0)
    sign = -1.0 if classes[0, -1] < 0 else 1.0
    return np.argsort(np.argsort(np.round(sign * axis, 12), kind="stable"), kind="stable").astype(float)

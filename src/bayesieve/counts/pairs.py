"""Mutual information and other measures of dependence between all pairs of features of a coded table.

A *bit plane* of a level has one bit per row, set if the row has the level. Rows of a *segment* (one class, or all rows)
are counted together. A *tile* is a rectangle of the matrix of results, for pairs of features that are counted alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from bayesieve.counts.coded import CodedTable
from bayesieve.counts.dependence import (
    ColumnValues,
    Dependence,
    EntropyDependence,
    MutualInformation,
    SymmetricalUncertainty,
    ValueDependence,
)
from bayesieve.engine import effective_jobs, map_in_threads

_MOST_LEVELS = 20  # largest number of levels for bit planes; with more, counting row by row is faster
_COUNTS_AT_ONCE = 1 << 17  # counts of pairs of planes that stay in the cache until they are used
_RIGHT_AT_ONCE = 4096  # planes times segments
_FEATURES_AT_ONCE = 16  # features whose pairs a thread counts row by row in one pass
_MOST_CELLS = 1 << 22  # cells in the table of one pair (32 MiB); larger tables store only the cells with rows
_CELLS_AT_ONCE = 1 << 18  # rows, and cells in tables of several pairs
_CODES_AT_ONCE = 1 << 19  # rows times features that stay in the cache while planes are made of them
_WORD_BITS, _WORD_BYTES = 64, 8
_WORDS_AT_ONCE = 4  # required by the kernels
_PARALLEL_WORK = 2_000_000  # words or rows read, below which threads are not worthwhile

_BINARY, _FEW, _MANY = range(3)  # kinds of features, by how their pairs are counted

Task = Callable[[], None]


@dataclass(frozen=True)
class _Tile:
    """Rectangle of the result matrix for pairs of features of two kinds, such as features with bit planes and others.

    Attributes
    ----------
    block : result matrix (n_features, n_others)
    rows, columns : positions of the tile's rows and columns in ``block``
    left, right : positions in the table of the features of these rows and columns
    mirrored : whether ``block`` is symmetric, so that its other half is filled from this tile
    triangle : whether the tile itself is symmetric, so that half of it is enough
    """

    block: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    left: np.ndarray
    right: np.ndarray
    mirrored: bool
    triangle: bool

    def put(self, rows: Any, columns: Any, values: np.ndarray) -> None:
        """Store values of pairs in the result matrix, and mirror them if it is symmetric.

        ``rows`` and ``columns`` are positions within the tile, or slices; ``values`` has shape (n_rows, n_columns).
        """
        rows, columns = self.rows[rows], self.columns[columns]
        if self.triangle and columns[0] == rows[0]:
            below = np.tril_indices(rows.size, -1)  # of the square in the middle both halves were counted
            values[below] = values[below[::-1]]
        self.block[_region(rows, columns)] = values
        if self.mirrored:
            self.block[_region(columns, rows)] = values.T


def _region(rows: np.ndarray, columns: np.ndarray) -> Any:
    """Return an index for the rectangle of an array at the positions ``rows`` and ``columns``.

    It consists of slices if positions are consecutive, because slices are much faster.
    """
    spans = tuple(slice(p[0], p[-1] + 1) for p in (rows, columns) if p.size and p[-1] - p[0] + 1 == p.size)
    return spans if len(spans) == 2 else np.ix_(rows, columns)


class PairInformation:
    """Mutual information, symmetrical uncertainty and other measures of pairs of features, from counts of their levels.

    Pairs of features with few levels are counted by AND and population count of bit planes; weighted rows, and features
    with many levels, are counted row by row. For each pair, rows with an unseen value of either feature are ignored.

    Parameters
    ----------
    coded : CodedTable
        Coded table, with classes if ``given_class`` is True. The bit planes of a feature with L levels, up to 20, take
        L - 1 bits per row.
    given_class : bool, default=False
        Whether to condition on the class: I(X; Y | C) = sum P(c) I(X; Y | c).
    n_jobs : int or None, default=None
        Threads for large blocks; results do not depend on it.
    numbers : optional
        Raw numbers of the features, for measures of dependence between values; see `ColumnValues`.

    Raises
    ------
    ValueError
        If ``given_class`` is True and the table has no classes.

    References
    ----------
    Cover & Thomas (2006), Elements of information theory, 2nd edition, sections 2.3 and 2.5.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve.counts.pairs import PairInformation
    >>> from bayesieve.counts import CodedTable
    >>> codes = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1]], dtype=np.uint8)
    >>> pairs = PairInformation(CodedTable(codes, np.array([2, 2, 2]), ("a", "b", "c")))
    >>> pairs.mutual_information([0]).round(6).tolist()
    [[0.693147, 0.693147, 0.0]]
    """

    def __init__(
        self,
        coded: CodedTable,
        *,
        given_class: bool = False,
        n_jobs: int | None = None,
        numbers: Sequence[np.ndarray | None] | None = None,
    ) -> None:
        if given_class and coded.class_codes is None:
            raise ValueError(
                "given_class=True needs the class of every row, but the table was coded without y; code it again "
                "with y."
            )
        effective_jobs(n_jobs)  # raises an error for invalid values before anything is counted
        self._coded, self._n_jobs, self._n_levels, self._given_class = coded, n_jobs, coded.n_levels, given_class
        self._numbers = numbers
        self._segments = Segments.of(coded, by_class=given_class)
        whole = np.arange(coded.n_rows + 1, dtype=float)
        self._logs = whole * np.log(np.maximum(whole, 1.0))
        self._weights = np.zeros(0)
        if coded.weights is not None:  # scaled to a sum equal to the number of rows
            weights = self._segments.in_order(np.asarray(coded.weights, dtype=float))
            largest = max(weights.max(initial=0.0), np.finfo(float).tiny)
            self._weights = weights / largest * (coded.n_rows / max((weights / largest).sum(), 1.0))
        self._codes: np.ndarray | None = None
        self._everything = np.arange(coded.n_features)
        self._set_kinds()
        self._members = {kind: np.flatnonzero(self._kinds == kind) for kind in np.unique(self._kinds).tolist()}
        self._set_planes()

    def mutual_information(self, features: Any = None, others: Any = None) -> np.ndarray:
        """Return the mutual information, in nats, of each of ``features`` with each of ``others``.

        Parameters
        ----------
        features, others : positions of features, or None for all

        Returns
        -------
        float array, shape (n_features, n_others)
            0 <= I(X; Y) <= min(H(X), H(Y)); exactly 0 for independent counts, and H(X) for a feature with itself. With
            ``given_class``, all of these are conditional on the class.
        """
        return self.of(MutualInformation(), features, others)

    def symmetrical_uncertainty(self, features: Any = None, others: Any = None) -> np.ndarray:
        """Return 2 I(X; Y) / (H(X) + H(Y)) of each of ``features`` with each of ``others``, from 0 to 1.

        Parameters
        ----------
        features, others : positions of features, or None for all

        Returns
        -------
        float array, shape (n_features, n_others)
            0 for two constant features. With ``given_class``, information and entropies are conditional on the class.
        """
        return self.of(SymmetricalUncertainty(), features, others)

    def _set_kinds(self) -> None:
        """Find the features without unseen values, and decide how the pairs of each feature are counted: by bit planes
        or row by row.
        """
        coded = self._coded
        self._complete = np.zeros(coded.n_features, dtype=np.int64)
        few = np.flatnonzero(coded.n_levels <= _MOST_LEVELS) if coded.weights is None else np.zeros(0, dtype=np.int64)
        for begin in range(0, few.size, _FEATURES_AT_ONCE):
            these = few[begin : begin + _FEATURES_AT_ONCE]
            self._complete[these] = coded.codes[these].max(axis=1, initial=0) < coded.n_levels[these]
        self._kinds = np.full(coded.n_features, _MANY)
        self._kinds[few] = np.where((coded.n_levels[few] == 2) & (self._complete[few] == 1), _BINARY, _FEW)

    def _set_planes(self) -> None:
        """Compute the bit planes of features with few levels, the position of each feature among those of its kind, and
        its counts.
        """
        coded = self._coded
        self._place, self._margins_at = (np.zeros(coded.n_features, dtype=np.int64) for _ in range(2))
        self._planes: dict[int, BitPlanes] = {}
        n_margins = 0
        for kind in (_BINARY, _FEW):
            features = np.flatnonzero(self._kinds == kind)
            planes = BitPlanes.of(coded, features, self._complete[features] == 1, self._segments)
            self._planes[kind] = planes
            self._place[features] = np.arange(features.size)
            n_levels = coded.n_levels[features]
            self._margins_at[features] = n_margins + np.cumsum(n_levels) - n_levels
            n_margins += int(n_levels.sum())
        self._margins = np.hstack([self._planes[kind].margins for kind in (_BINARY, _FEW)])
        margins = self._planes[_BINARY].margins
        self._ones = np.ascontiguousarray(margins[:, 1::2])
        self._level_terms = self._logs[margins[:, 0::2]] + self._logs[self._ones]
        entropies = self._logs[self._segments.sizes][:, None] - self._level_terms
        self._entropies = np.maximum(np.cumsum(entropies, axis=0)[-1], 0.0)  # times the rows

    def _positions(self, features: Any) -> np.ndarray:
        """Convert positions, a mask, a slice or None (all features) to positions of features, (n,); raise ValueError if
        they are invalid.
        """
        if features is None or isinstance(features, slice):
            return self._everything if features is None else self._everything[features]
        chosen = np.asarray(features)
        try:
            if chosen.ndim != 1:
                raise IndexError
            return self._everything[chosen if chosen.size else chosen.astype(np.int64)]
        except IndexError:
            last = self._everything.size - 1
            raise ValueError(f"Features are positions from 0 to {last}, or a mask, got {features!r}.") from None

    def of(self, dependence: Dependence, features: Any = None, others: Any = None) -> np.ndarray:
        """Return a measure of dependence of each of ``features`` with each of ``others``.

        Parameters
        ----------
        dependence : Dependence
        features, others : positions of features, or None for all

        Returns
        -------
        float array, shape (n_features, n_others)
            With ``given_class``, the dependence within each class, averaged over the classes with their shares as
            weights; functions of mutual information and entropies use conditional ones instead.
        """
        left, right = self._positions(features), self._positions(others)
        if isinstance(dependence, ValueDependence):
            within = self._values.mean_within_classes if self._given_class else self._values.of
            return within(dependence, left, right, n_jobs=self._n_jobs)
        block = np.empty((left.size, right.size))
        symmetric = np.array_equal(left, right)
        if not isinstance(dependence, EntropyDependence):
            self._by_tables(block, left, right, symmetric, dependence)
            return block
        tasks: list[Task] = []
        by_kind = self._by_kind(right)
        for kind, rows in self._by_kind(left).items():
            for other, columns in by_kind.items():
                if not symmetric or kind <= other:
                    triangle = symmetric and kind == other
                    tile = _Tile(block, rows, columns, left[rows], right[columns], symmetric, triangle)
                    tasks += (self._by_rows if _MANY in (kind, other) else self._by_planes)(tile, dependence)
        words = self._coded.n_rows if _MANY in by_kind else int(self._segments.word_starts[-1])
        map_in_threads(lambda task: task(), tasks, self._n_jobs if block.size * words >= _PARALLEL_WORK else 1)
        return block

    def _by_tables(
        self, block: np.ndarray, left: np.ndarray, right: np.ndarray, symmetric: bool, dependence: Dependence
    ) -> None:
        """Fill the result for a measure that needs tables of counts, which are computed for many pairs at a time.

        Parameters
        ----------
        block : (n_left, n_right) result.
        left, right : positions of the features in its rows and columns.
        symmetric : whether ``left`` equals ``right``, so that half of the pairs is enough.
        dependence : the measure.
        """
        n_levels = self._n_levels

        def fill(row: int) -> None:
            """Compute one row of the result: the dependence of the feature left[row] on those of ``right``."""
            x, columns = int(left[row]), np.arange(row if symmetric else 0, right.size)
            for n_others in np.unique(n_levels[right[columns]]).tolist():
                n_cells = int(n_levels[x]) * n_others
                if n_cells > _MOST_CELLS:
                    raise ValueError(
                        f"A table of {n_levels[x]} x {n_others} levels is too large for {dependence!r}; encode the "
                        f"table so that {self._coded.names[x]!r} has fewer levels."
                    )
                alike = columns[n_levels[right[columns]] == n_others]
                at_once = max(1, _CELLS_AT_ONCE // max(n_cells, self._coded.n_rows, 1))
                for batch in (alike[begin : begin + at_once] for begin in range(0, alike.size, at_once)):
                    sums, totals = np.zeros(batch.size), np.zeros(batch.size)
                    for first, last in pairwise(self._segments.row_starts.tolist()):
                        tables = self._tables(x, right[batch], slice(first, last))
                        rows = tables.sum(axis=(1, 2))
                        sums += rows * dependence.checked(tables)
                        totals += rows
                    block[row, batch] = values = sums / np.maximum(totals, 1e-300)
                    if symmetric:
                        block[batch, row] = values

        map_in_threads(fill, range(left.size), self._n_jobs)

    def _tables(self, x: int, others: np.ndarray, segment: slice) -> np.ndarray:
        """Return the contingency tables of feature ``x`` with each of ``others``, shape (n_others, levels of x, levels
        of the other feature).

        Only the rows of ``segment`` are counted. ``others`` are positions of features with equal numbers of levels.
        """
        n_levels, n_others = int(self._n_levels[x]), int(self._n_levels[others[0]])
        one, several = self._in_order()[x, segment].astype(np.int64), self._in_order()[others, segment].astype(np.int64)
        cells = (np.arange(others.size)[:, None] * n_levels + one) * n_others + several
        is_counted = (one < n_levels) & (several < n_others)
        weights = np.broadcast_to(self._weights[segment], is_counted.shape)[is_counted] if self._weights.size else None
        counts = np.bincount(cells[is_counted], weights, others.size * n_levels * n_others)
        return counts.astype(float).reshape(others.size, n_levels, n_others)

    @cached_property
    def _values(self) -> ColumnValues:
        """Values of the features as numbers (`ColumnValues`), for measures of dependence between values."""
        return ColumnValues(self._coded, self._numbers)

    def _in_order(self) -> np.ndarray:
        """Return the codes of all features, (n_features, n_rows), with the rows of each segment contiguous."""
        if self._codes is None:
            self._codes = np.ascontiguousarray(self._segments.in_order(self._coded.codes))
        return self._codes

    def _by_kind(self, positions: np.ndarray) -> dict[int, np.ndarray]:
        """Group features by kind, the way in which their pairs are counted (by bit planes or row by row).

        ``positions`` are positions of features in the table. Return for each kind, a number, the indices of its
        features within ``positions``.
        """
        if positions.size == 1:  # a single row of pairs: skip the grouping, which takes as long as the counts
            return {int(self._kinds[positions[0]]): np.zeros(1, dtype=np.int64)}
        if positions is self._everything:
            return self._members
        kinds = self._kinds[positions]
        return {kind: np.flatnonzero(kinds == kind) for kind in np.unique(kinds).tolist()}

    def _by_rows(self, tile: _Tile, dependence: EntropyDependence) -> list[Task]:
        """Return tasks (functions without arguments) that compute a tile by counting row by row, for a few features
        each.
        """
        self._in_order()
        begins = range(0, tile.left.size, _FEATURES_AT_ONCE)
        return [partial(self._count_rows, tile, dependence, begin) for begin in begins]

    def _count_rows(self, tile: _Tile, dependence: EntropyDependence, begin: int) -> None:
        """Compute a few rows of a tile, the first of them at the position ``begin``, by counting row by row."""
        from bayesieve.counts._kernels import row_information, sparse_information

        codes = self._in_order()
        left = tile.left[begin : begin + _FEATURES_AT_ONCE]
        low = begin if tile.triangle else 0
        right = tile.right[low:]
        sums = np.zeros((4, left.size, right.size))
        weights, row_starts, logs = self._weights, self._segments.row_starts, self._logs
        cells = self._n_levels[left][:, None] * self._n_levels[right]
        wide = cells > max(_MOST_CELLS, 2 * self._coded.n_rows)
        row_information(codes, left, right, self._n_levels, weights, row_starts, logs, wide, sums)
        for i, j in np.argwhere(wide):
            pair, of_pair = np.array([left[i], right[j]]), np.zeros(4)
            sparse_information(codes[pair], self._n_levels[pair], weights, row_starts, logs, of_pair)
            sums[:, i, j] = of_pair
        tile.put(slice(begin, begin + left.size), slice(low, None), _of_sums(dependence, sums))

    def _by_planes(self, tile: _Tile, dependence: EntropyDependence) -> list[Task]:
        """Return tasks (functions without arguments) that compute a tile from bit planes; the counts of a task fit in
        the cache.
        """
        right = self._planes[int(self._kinds[tile.right[0]])]
        places = self._place[tile.right]
        n_other = right.features.size - places.size
        # The bit planes on the right are of more features than asked for. Counting them all and discarding results is
        # cheaper than copying those that are needed, unless most results would be discarded.
        if tile.triangle or tile.left.size * n_other > 2 * places.size:
            right, places = right.take(places), np.arange(places.size)
        n_segments = self._segments.sizes.size
        right_at_once = max(1, _RIGHT_AT_ONCE // n_segments)
        per_left = max(1, n_segments * min(right_at_once, right.n_planes))
        left_sizes, right_sizes = self._n_levels[tile.left] - self._complete[tile.left], np.diff(right.starts)
        columns = _pieces(right_sizes, right_at_once)
        whole_rows = len(columns) == 1
        tasks: list[Task] = []
        for begin, end in _pieces(left_sizes, _COUNTS_AT_ONCE // per_left):
            if tile.triangle and whole_rows:
                columns = [(begin, right_sizes.size)]
            elif tile.triangle:  # a square on the diagonal, and the pieces to its right
                pieces = _pieces(right_sizes[end:], right_at_once)
                columns = [(begin, end), *((end + low, end + high) for low, high in pieces)]
            for low, high in columns:
                tasks.append(partial(self._count_planes, tile, dependence, begin, end, right, places, low, high))
        return tasks

    def _count_planes(
        self,
        tile: _Tile,
        dependence: EntropyDependence,
        begin: int,
        end: int,
        right: BitPlanes,
        places: np.ndarray,
        low: int,
        high: int,
    ) -> None:
        """Compute part of a tile from bit planes.

        Parameters
        ----------
        tile, dependence : the tile, and the measure of dependence.
        begin, end : the part has the rows ``begin`` to ``end`` - 1 of the tile.
        right : bit planes of features that include those of the tile's columns.
        places : for each column of the tile, the position of its feature in ``right``.
        low, high : the part has the columns of the features ``low`` to ``high`` - 1 of ``right``.
        """
        from bayesieve.counts._kernels import binary_information, count_common, plane_information

        features, others, segments = tile.left[begin:end], right.features[low:high], self._segments
        left = self._planes[int(self._kinds[features[0]])]
        wanted = left.of_features(self._place[features])
        first, last = int(right.starts[low]), int(right.starts[high])
        counts = np.empty((segments.sizes.size, wanted.size, last - first), dtype=np.int32)
        count_common(left.words, wanted, right.words, first, last, segments.word_starts, counts)
        if self._kinds[features[0]] == self._kinds[others[0]] == _BINARY:
            a, b = self._place[features], self._place[others]
            ones, terms, most = self._ones, self._level_terms, self._entropies
            information = np.empty((features.size, others.size))
            # Copies made by `take` are contiguous in any case, which the kernel needs.
            ones_a, ones_b, terms_a, terms_b = (
                table.take(columns, axis=1) for table in (ones, terms) for columns in (a, b)
            )
            binary_information(
                counts,
                ones_a,
                ones_b,
                terms_a,
                terms_b,
                segments.sizes,
                self._logs,
                most[a],
                most[b],
                information,
            )
            values = dependence.of_sums(information, most[a][:, None], most[b], float(segments.sizes.sum()))
        else:
            sums = np.zeros((4, features.size, others.size))
            plane_information(
                counts,
                features,
                others,
                self._n_levels,
                self._complete,
                self._margins,
                self._margins_at,
                segments.sizes,
                self._logs,
                sums,
            )
            values = _of_sums(dependence, sums)
        if places.size == right.features.size:
            tile.put(slice(begin, end), slice(low, high), values)
        else:
            columns = np.flatnonzero((places >= low) & (places < high))
            tile.put(slice(begin, end), columns, values[:, places[columns] - low])


def _of_sums(dependence: EntropyDependence, sums: np.ndarray) -> np.ndarray:
    """Return a measure of dependence for pairs of features, (n, m), from the sums that kernels compute.

    ``sums`` (4, n, m) are the number (or weight) of rows, and mutual information and both entropies in nats times this
    number. Mutual information is clipped to its theoretical bounds.
    """
    total, information, left, right = sums
    left, right = np.maximum(left, 0.0), np.maximum(right, 0.0)
    information = np.clip(information, 0.0, np.minimum(left, right))
    return dependence.of_sums(information, left, right, np.maximum(total, 1e-300))


def _pieces(sizes: np.ndarray, most: int) -> list[tuple[int, int]]:
    """Split items into consecutive ranges (begin, end) of total size at most ``most``; a larger item forms a range by
    itself.

    ``sizes`` (n_items,) are the sizes of the items.
    """
    pieces, ends = [], np.cumsum(sizes)
    begin = 0
    while begin < ends.size:
        before = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + most, side="right")))
        pieces.append((begin, end))
        begin = end
    return pieces


def strongest_within_classes(
    coded: CodedTable,
    dependence: Dependence,
    n_jobs: int | None = None,
    numbers: Sequence[np.ndarray | None] | None = None,
) -> np.ndarray:
    """Return M(i, j), the largest dependence between features i and j within any class.

    Parameters
    ----------
    coded : CodedTable with classes
    dependence : a measure whose larger values mean more dependence
    n_jobs : threads; results do not depend on it
    numbers : for each feature, its raw numbers (n_rows,) or None, for measures of dependence between values

    Returns
    -------
    float array, shape (n_features, n_features), symmetric

    References
    ----------
    Blanquero, Carrizosa, Ramirez-Cobo & Sillero-Denamiel (2021), Variable selection for naive Bayes classification,
    Computers & Operations Research 135, section 3.1.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve.counts import CodedTable
    >>> from bayesieve.counts.pairs import strongest_within_classes
    >>> from bayesieve.counts.dependence import MutualInformation
    >>> codes = np.array([[0, 1, 0, 1, 0, 1, 0, 1], [0, 1, 0, 1, 0, 0, 1, 1]], dtype=np.uint8)
    >>> classes = np.array([0, 0, 0, 0, 1, 1, 1, 1], dtype=np.uint8)
    >>> coded = CodedTable(codes, [2, 2], ("a", "b"), class_codes=classes, classes=np.array(["no", "yes"]))
    >>> strongest_within_classes(coded, MutualInformation()).round(3).tolist()  # the same within "no"
    [[0.693, 0.693], [0.693, 0.693]]
    """
    strongest = np.zeros((coded.n_features, coded.n_features))
    values = ColumnValues(coded, numbers) if isinstance(dependence, ValueDependence) else None
    for positions in coded.rows.positions_by_class():
        if values is not None and isinstance(dependence, ValueDependence):
            within = values.of(dependence, positions=positions, n_jobs=n_jobs)
        else:
            within = PairInformation(coded.take(positions), n_jobs=n_jobs).of(dependence)
        np.maximum(strongest, within, out=strongest)
    return strongest


@dataclass(frozen=True)
class Segments:
    """Groups of rows that are counted separately, such as those of each class, and their positions in bit planes.

    Attributes
    ----------
    order : (n_rows,) positions of the rows, sorted by segment; None if the rows are sorted already
    row_starts : (n_segments + 1,) first row of each segment
    word_starts : (n_segments + 1,) first word of each segment in a bit plane
    """

    order: np.ndarray | None
    row_starts: np.ndarray
    word_starts: np.ndarray

    @classmethod
    def of(cls, coded: CodedTable, *, by_class: bool) -> Segments:
        """Return one segment of rows for each class if ``by_class``, otherwise a single segment of all rows."""
        order, sizes = None, np.array([coded.n_rows])
        if by_class:
            classes = np.asarray(coded.class_codes)
            order = None if coded.rows.is_sorted_by_class else np.argsort(classes, kind="stable")
            sizes = np.bincount(classes, minlength=max(coded.n_classes, 1))
        words = -(-sizes // (_WORD_BITS * _WORDS_AT_ONCE)) * _WORDS_AT_ONCE
        return cls(order, _starts(sizes), _starts(words))

    @property
    def sizes(self) -> np.ndarray:
        """Number of rows of each segment (class, or all rows), shape (n_segments,)."""
        return np.diff(self.row_starts)

    def in_order(self, rows: np.ndarray) -> np.ndarray:
        """Return a copy of the array ``rows`` (..., n_rows) with the rows sorted by segment, or ``rows`` itself if they
        are.
        """
        return rows if self.order is None else rows[..., self.order]

    def pack(self, flags: np.ndarray) -> np.ndarray:
        """Pack booleans (n, n_rows), with rows sorted by segment, into the bits of 64-bit words, (n, n_words)."""
        planes = np.zeros((flags.shape[0], int(self.word_starts[-1])), dtype=np.int64)
        bytes_of = planes.view(np.uint8)
        for begin, end, word in zip(self.row_starts[:-1], self.row_starts[1:], self.word_starts[:-1], strict=True):
            packed = np.packbits(flags[:, begin:end], axis=1)
            bytes_of[:, word * _WORD_BYTES : word * _WORD_BYTES + packed.shape[1]] = packed
        return planes


@dataclass(frozen=True)
class BitPlanes:
    """Bit planes of a set of features. The planes of a feature are adjacent.

    A feature has a plane for each level, except for the first level if it has no unseen values, because this plane
    follows from the others.

    Attributes
    ----------
    features : (n,) positions in the table
    words : (n_words, n_planes) int64, the bits of 64 rows in each word
    starts : (n + 1,) first plane of each feature, then the number of planes
    margins : (n_segments, levels of the features) number of rows of every level
    """

    features: np.ndarray
    words: np.ndarray
    starts: np.ndarray
    margins: np.ndarray

    @classmethod
    def of(cls, coded: CodedTable, features: np.ndarray, complete: np.ndarray, segments: Segments) -> BitPlanes:
        """Return the bit planes of some features of a coded table.

        Parameters
        ----------
        coded : the table.
        features : (n,) positions of the features.
        complete : (n,) mask of the features without unseen values.
        segments : groups of rows, whose bits begin in a new word.
        """
        from bayesieve.counts._kernels import count_planes

        n_levels, skipped = coded.n_levels[features], complete.astype(np.int64)
        starts = _starts(n_levels - skipped)
        words = np.empty((int(segments.word_starts[-1]), int(starts[-1])), dtype=np.int64)
        at_once = max(1, _CODES_AT_ONCE // max(coded.n_rows, 1))
        for begin in range(0, features.size, at_once):
            these = np.arange(begin, min(begin + at_once, features.size))
            codes = segments.in_order(coded.codes[features[these]])
            for level in range(int(n_levels[these].max())):
                has = (n_levels[these] > level) & (skipped[these] <= level)
                words[:, starts[these[has]] + level - skipped[these[has]]] = segments.pack(codes[has] == level).T
        row_counts = np.zeros((segments.sizes.size, words.shape[1]), dtype=np.int64)
        count_planes(words, segments.word_starts, row_counts)
        level_starts = _starts(n_levels)
        margins = np.zeros((segments.sizes.size, int(level_starts[-1])), dtype=np.int64)
        has_plane = np.ones(margins.shape[1], dtype=bool)
        has_plane[level_starts[:-1][complete]] = False
        margins[:, has_plane] = row_counts
        cumulated = np.pad(np.cumsum(margins, axis=1), ((0, 0), (1, 0)))
        rest = segments.sizes[:, None] - (cumulated[:, level_starts[1:]] - cumulated[:, level_starts[:-1]])
        margins[:, ~has_plane] = rest[:, complete]
        return cls(features, words, starts, margins)

    @property
    def n_planes(self) -> int:
        """Number of bit planes."""
        return int(self.starts[-1])

    def of_features(self, places: np.ndarray) -> np.ndarray:
        """Return the columns of ``words`` that hold the bit planes of some features, as positions, (n_planes of the
        features,).

        ``places`` are positions of the features within ``features``.
        """
        sizes = self.starts[places + 1] - self.starts[places]
        begins = np.cumsum(sizes) - sizes
        return np.arange(sizes.sum()) + np.repeat(self.starts[places] - begins, sizes)

    def take(self, places: np.ndarray) -> BitPlanes:
        """Return a copy with only the bit planes of some features, without their margins; ``places`` are positions
        within ``features``.
        """
        if np.array_equal(places, np.arange(self.features.size)):
            return self
        words = np.take(self.words, self.of_features(places), axis=1)
        return BitPlanes(self.features[places], words, _starts(np.diff(self.starts)[places]), self.margins[:, :0])


def _starts(sizes: np.ndarray) -> np.ndarray:
    """Return the starts of consecutive segments of the given ``sizes`` (n,), and the end of the last one, (n + 1,)."""
    return np.concatenate([[0], np.cumsum(sizes)])

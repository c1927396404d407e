"""`CodedTable`: a table as integer codes of levels, one contiguous array per feature, with the classes and weights of
rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from bayesieve.compiling import read_only
from bayesieve.counts.contingency import ContingencyCounts
from bayesieve.counts.row_hashes import RowSamples, hash_codes
from bayesieve.engine import IN_MEMORY, Engine
from bayesieve.table.levels import FeatureLevels, TableLevels
from bayesieve.table.target import Rows, count_classes
from bayesieve.words import ShortRepr


@dataclass(frozen=True, eq=False, init=False, repr=False)
class CodedTable(ShortRepr):
    """Table of integer codes: for each feature and row, the code of a level. Immutable.

    Parameters
    ----------
    codes : unsigned array, shape (n_features, n_rows)
        uint8, or uint16/uint32 if a feature has over 255/65535 levels. A code of ``n_levels[k]`` or larger is unseen:
        it contributes nothing to the log probability of any class. Stored C-contiguous.
    n_levels : array of int, shape (n_features,)
        Number of levels of each feature.
    names : sequence of str
        Names of the features.
    class_codes, classes, weights : arrays or None
        Class of each row as a position among the labels ``classes``, and row weights; see `Rows`. Alternatively pass
        ``rows``, which may hold further columns.
    levels : sequence of FeatureLevels or None
        Levels that the codes stand for, if they came from raw values.
    unseen : int array, shape (n_features,), or None
        Number of rows without a level for each feature, if an encoder counted them.
    samples : RowSamples or None
        Sampler of rows by hashes of their raw values; None for hashes of their codes.
    engine : Engine
        Storage of the arrays, which also divides rows into blocks; in memory by default.
    counts : ContingencyCounts or None
        Counts of the codes, if they were computed already.

    Raises
    ------
    ValueError
        If shapes or lengths contradict each other.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve import CodedTable
    >>> codes, classes = np.array([[0, 1, 1]], dtype=np.uint8), np.array(["no", "yes"])
    >>> table = CodedTable(codes, n_levels=[2], names=["sex"], class_codes=np.array([1, 0, 0]), classes=classes)
    >>> table.counts.feature(0).tolist()
    [[0.0, 1.0], [2.0, 0.0]]
    """

    codes: np.ndarray
    n_levels: np.ndarray
    names: tuple[str, ...]
    rows: Rows
    levels: TableLevels | None
    unseen: np.ndarray | None
    samples: RowSamples | None
    engine: Engine
    # Plain attributes instead of properties, because searches read them at every step.
    n_rows: int = field(init=False)
    n_features: int = field(init=False)
    class_codes: np.ndarray | None = field(init=False)
    classes: np.ndarray | None = field(init=False)
    weights: np.ndarray | None = field(init=False)
    n_classes: int = field(init=False)

    def __init__(
        self,
        codes: np.ndarray,
        n_levels: Any,
        names: Sequence[str],
        class_codes: np.ndarray | None = None,
        classes: np.ndarray | None = None,
        weights: np.ndarray | None = None,
        levels: Sequence[FeatureLevels] | None = None,
        *,
        rows: Rows | None = None,
        unseen: np.ndarray | None = None,
        samples: RowSamples | None = None,
        engine: Engine = IN_MEMORY,
        counts: ContingencyCounts | None = None,
    ) -> None:
        if codes.ndim != 2 or codes.dtype.kind != "u":
            raise ValueError(
                f"codes must be a 2-D array of unsigned integers, one row per feature, got an array of {codes.ndim} "
                f"dimension(s) and type {codes.dtype}."
            )
        rows = Rows(class_codes, classes, weights) if rows is None else rows
        vars(self).update(
            codes=np.ascontiguousarray(codes),
            n_levels=np.asarray(n_levels, dtype=np.int64),
            names=tuple(names),
            rows=rows,
            levels=levels if isinstance(levels, TableLevels | None) else TableLevels.of(levels),
            unseen=unseen,
            samples=samples,
            engine=engine,
            n_rows=codes.shape[1],
            n_features=codes.shape[0],
            class_codes=rows.class_codes,
            classes=rows.classes,
            weights=rows.weights,
            n_classes=0 if rows.classes is None else len(rows.classes),
            **({} if counts is None else {"counts": counts}),
        )
        for what, length in (("n_levels", len(self.n_levels)), ("names", len(self.names))):
            if length != self.n_features:
                raise ValueError(
                    f"codes has {self.n_features} features but {what} has {length} entries; give one for each feature."
                )
        columns = {"class_codes": rows.class_codes, "weights": rows.weights, "groups": rows.groups}
        for what, column in (columns | dict(rows.columns)).items():
            if column is not None and len(column) != self.n_rows:
                raise ValueError(f"codes has {self.n_rows} rows but {what} has {len(column)}; give one for each row.")

    def _facts(self) -> dict[str, Any]:
        """Return the sizes and names that the ``repr`` shows, by name."""
        facts = {"n_rows": self.n_rows, "n_features": self.n_features, "n_classes": self.n_classes}
        return facts | {"weighted": self.weights is not None, "names": self.names}

    def __repr__(self) -> str:
        return f"CodedTable({self.n_rows} rows, {self.n_features} features, {self.n_classes} classes)"

    @cached_property
    def counts(self) -> ContingencyCounts:
        """Number of rows (or weight) of every level of every feature by class; computed on first use, not to be
        modified.
        """
        from bayesieve.counts._kernels import count_codes, count_sorted

        if self.class_codes is None:
            raise ValueError(
                "Counting by class needs the class of every row, but the table was coded without y; code it again "
                "with y."
            )
        class_codes, n_levels = np.asarray(self.class_codes), self.n_levels
        offsets = np.append(0, np.cumsum(n_levels))
        counts = np.zeros((offsets[-1], self.n_classes))
        if self.weights is None:
            n_rows = count_classes(class_codes, self.n_classes)
            class_counts = n_rows.astype(float)
        else:
            class_counts = np.bincount(class_codes, weights=self.weights, minlength=self.n_classes)
        if self.weights is None and self.codes.dtype == np.uint8 and self.rows.is_sorted_by_class:
            for bounds in self.engine.blocks(np.append(0, np.cumsum(n_rows)), len(self.codes)):
                count_sorted(self.codes, bounds, n_levels, offsets, counts)
        else:
            for block in self.blocks:
                weights = np.zeros(0) if block.weights is None else block.weights
                count_codes(block.codes, block.class_codes, read_only(weights), n_levels, offsets, counts)
        return ContingencyCounts(counts, offsets, class_counts)

    @property
    def by_class(self) -> CodedTable:
        """Table with the rows sorted by class, for which counts and searches are fastest."""
        # Do not cache the table in itself: the circular reference would keep it, and its files, until the garbage
        # collector runs.
        return self if self.class_codes is None or self.rows.is_sorted_by_class else self._sorted_by_class

    @cached_property
    def _sorted_by_class(self) -> CodedTable:
        """Copy of the table with the rows sorted by class."""
        return self.take(self.rows.class_order())

    @property
    def blocks(self) -> Iterator[CodedTable]:
        """One table for each block of rows of the engine, as an iterator; this table itself if there is only one
        block.
        """
        whole = np.array([0, self.n_rows])
        for begin, end in self.engine.blocks(whole, len(self.codes) * self.codes.dtype.itemsize):
            block = slice(begin, end)
            if end - begin == self.n_rows:
                yield self
            else:
                yield replace(self, codes=self.codes[:, block], rows=self.rows.take(block), unseen=None, samples=None)

    def codes_at(self, features: Any, positions: Any) -> np.ndarray:
        """Return the codes of some features in some rows, shape (n_features, n_rows).

        ``features`` are positions of features; ``positions`` are ascending positions of rows, or a slice.
        """
        return np.array([self.codes[k][positions] for k in features])

    @cached_property
    def sampler(self) -> RowSamples:
        """Sampler that draws rows by hashes of their raw values if these are available, otherwise of their codes."""
        if self.samples is not None:
            return self.samples
        hashes = partial(hash_codes, self.codes, np.zeros(self.n_rows, np.uint8))
        return RowSamples(hashes, replace(self.rows, positions=None))

    def select(self, features: Any) -> CodedTable:
        """Return a copy with only some of the features; ``features`` are positions, a slice or a boolean mask."""
        picked = np.arange(self.n_features)[features if isinstance(features, slice) else np.asarray(features)]
        names, same = [self.names[k] for k in picked], dict[str, Any](rows=self.rows, engine=self.engine)
        levels = None if self.levels is None else [self.levels[k] for k in picked]
        return CodedTable(self.codes[picked], self.n_levels[picked], names, levels=levels, **same)

    def take(self, positions: Any) -> CodedTable:
        """Return a copy with only some of the rows; ``positions`` are positions of rows, a slice or a boolean mask."""
        if not isinstance(positions, slice):
            positions = np.asarray(positions)
            if positions.dtype == bool:
                positions = np.flatnonzero(positions)
            codes = self.engine.take(self.codes, positions)
        else:
            codes = self.codes[:, positions]
        rows = self.rows.take(positions)
        samples = None if self.samples is None else RowSamples(self.samples.hashes, rows)
        return replace(self, codes=codes, rows=rows, unseen=None, samples=samples)

    def with_rows(self, **parts: Any) -> CodedTable:
        """Return a copy in which some attributes of its `Rows` are replaced: ``with_rows(class_codes=...,
        classes=...)``.
        """
        samples = self.samples if parts.keys() <= {"columns"} else None  # samples depend on classes and weights
        return replace(self, rows=replace(self.rows, **parts), unseen=None, samples=samples)

    def on(self, engine: Engine) -> CodedTable:
        """Return a copy whose arrays are stored by another engine, in memory or on disk."""
        if engine is self.engine:
            return self
        codes = engine.array(self.codes.shape, self.codes.dtype)
        for from_, to in zip(self.codes, codes, strict=True):
            to[:] = from_
            engine.release(to.nbytes)
        return replace(self, codes=codes, engine=engine)

    def with_columns(self, **columns: np.ndarray) -> CodedTable:
        """Return a copy with further columns of its `Rows`, given by name as arrays (n_rows, ...)."""
        return replace(self, rows=replace(self.rows, columns={**self.rows.columns, **columns}))

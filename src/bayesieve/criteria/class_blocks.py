"""Coded rows in segments, each of one class and one set of probability tables, as criteria read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np

from bayesieve.counts import CodedTable
from bayesieve.engine import IN_MEMORY, Engine
from bayesieve.table.target import count_classes

VERY_MANY_CLASSES = 500
"""Number of classes from which work is cut into pieces, so that Python receives signals in between."""

_MAX_RATIOS = 1 << 22  # in one of the pieces that work of very many classes is cut into

# How a kernel finds the factor of a row's code, fastest first.
TWO_WAY, THREE_WAY, FOUR_CODES, LOOK_UP = range(4)


@dataclass
class ClassBlock:
    """Coded rows listed segment after segment; not to be changed.

    The rows of a segment share their class and the tables that score them: plain training rows have one segment per
    class, cross-validation has one per fold and class.

    Attributes
    ----------
    codes : unsigned array, shape (n_columns, n_rows)
    offsets : int array, shape (n_segments + 1,)
        Rows of segment s are ``offsets[s]`` to ``offsets[s + 1]``; a segment may be empty.
    classes : int array, shape (n_segments,)
        The class of each segment.
    weights : float array, shape (n_rows,), or empty
        Empty: every row counts once.
    columns, lows, highs : arrays, shape (n_features,)
        Where a feature stands in ``codes``. A feature of two levels has level 0 up to ``lows``, level 1 below
        ``highs`` and is unseen (or missing) from there on; the other features take the code as it is.
    kinds : uint8 array, shape (n_features,)
        How its factors are looked up.
    n_codes : int array, shape (n_features,)
        Levels and one more, for unseen values.
    engine : Engine
        Where the rows live.
    row_columns : mapping of str to array, each of shape (n_rows, ...)
        Further columns of the rows, as `Rows` has them.
    n_rows, n_features, n_segments : int
    is_whole : bool
        Whether the engine has all rows in one block.
    """

    codes: np.ndarray
    offsets: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    columns: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    kinds: np.ndarray
    n_codes: np.ndarray
    engine: Engine = IN_MEMORY
    row_columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    n_rows: int = field(init=False)
    n_features: int = field(init=False)
    n_segments: int = field(init=False)
    is_whole: bool = field(init=False)

    def __post_init__(self) -> None:
        self.n_rows, self.n_features, self.n_segments = int(self.offsets[-1]), self.columns.size, self.classes.size
        self.is_whole = self.engine.is_one_block(self.n_rows)

    @classmethod
    def of(
        cls,
        coded: CodedTable,
        rows: np.ndarray | None = None,
        offsets: np.ndarray | None = None,
        classes: np.ndarray | None = None,
    ) -> ClassBlock:
        """Return rows of a coded table in segments.

        Parameters
        ----------
        rows : positions in the order of the segments; a row may come several times. None: all rows, one segment per
            class; the codes are not copied if the rows are listed by class already.
        offsets, classes : where each segment begins, and its class; needed with ``rows`` only.
        """
        if coded.class_codes is None:
            raise ValueError("A search needs the classes of the rows; code the table together with its target.")
        if rows is None:
            class_codes, classes = np.asarray(coded.class_codes), np.arange(coded.n_classes)
            offsets = np.append(0, np.cumsum(count_classes(class_codes, coded.n_classes)))
            rows = None if coded.rows.is_sorted_by_class else np.argsort(class_codes, kind="stable")
        codes, weights, columns = coded.codes, coded.weights, coded.rows.columns
        if rows is not None:
            codes, weights = coded.engine.take(codes, rows), None if weights is None else weights[rows]
            columns = {name: column[rows] for name, column in columns.items()}
        n_levels, engine, dtype = coded.n_levels, coded.engine, codes.dtype
        if codes.shape[0] == 0:
            codes = np.zeros((1, codes.shape[1]), dtype=np.uint8)  # something to read if there is no feature
        highest = np.zeros(len(codes), dtype=np.int64)
        for bounds in engine.blocks(np.array([0, codes.shape[1]]), len(codes) * dtype.itemsize):
            np.maximum(highest, codes[:, slice(*bounds)].max(axis=1, initial=0), out=highest)
        highest = highest[: coded.n_features]
        if np.any(highest > n_levels):
            # Every level not seen in training shares one code, which changes no ratio.
            clipped = engine.array(codes.shape, dtype)
            for k, highest_code in enumerate(n_levels.tolist()):
                np.minimum(codes[k], min(highest_code, np.iinfo(dtype).max), out=clipped[k])
                engine.release(2 * codes[k].nbytes)
            codes = clipped
        cases = (n_levels == 2) & (highest < 2), n_levels == 2, n_levels < 4
        kinds = np.select(cases, (TWO_WAY, THREE_WAY, FOUR_CODES), LOOK_UP)
        return cls(
            codes=codes,
            offsets=np.asarray(offsets, dtype=np.int64),
            classes=np.asarray(classes, dtype=np.int64),
            weights=np.zeros(0) if weights is None else weights,
            columns=np.arange(coded.n_features),
            lows=np.zeros(coded.n_features, dtype=dtype),
            highs=np.full(coded.n_features, 2, dtype=dtype),
            kinds=kinds.astype(np.uint8),
            n_codes=n_levels + 1,
            engine=engine,
            row_columns=columns,
        )

    def blocks(self, row_bytes: int = 0, n_others: int = 0, n_moves: int = 1) -> Iterable[np.ndarray]:
        """Yield ``offsets`` cut to each block of the engine in turn; ``row_bytes`` of each row are read or written.

        Blocks are cut further if ratios to very many other classes are computed for each row and move, so that Python
        hears signals in between.
        """
        blocks = (self.offsets,) if self.is_whole else self.engine.blocks(self.offsets, row_bytes)
        if n_others < VERY_MANY_CLASSES:
            return blocks
        return chain.from_iterable(_short_parts(bounds, n_others * n_moves) for bounds in blocks)

    def level_codes(self, feature: int, rows: Any = slice(None)) -> np.ndarray:
        """Return levels of one feature, from 0 to ``n_codes - 1`` (unseen)."""
        codes = self.codes[self.columns[feature], rows]
        if self.kinds[feature] > THREE_WAY:
            return codes
        return (codes > self.lows[feature]).astype(codes.dtype) + (codes >= self.highs[feature])

    def segments(self, rows: np.ndarray) -> np.ndarray:
        """Return the segment of each of these rows."""
        return np.searchsorted(self.offsets, rows, side="right") - 1

    def class_totals(self, n_classes: int) -> np.ndarray:
        """Return (n_classes,) rows, or weight, of every class."""
        if self.weights.size:  # segment by segment: light rows count next to heavy ones
            sizes = np.array([self.weights[a:b].sum() for a, b in pairwise(self.offsets.tolist())])
        else:
            sizes = np.diff(self.offsets).astype(float)
        return np.bincount(self.classes, weights=sizes, minlength=n_classes)

    def take(self, rows: np.ndarray | slice) -> ClassBlock:
        """Return some of the rows, in ascending order."""
        rows = np.arange(*rows.indices(self.n_rows)) if isinstance(rows, slice) else rows
        codes, offsets = self.engine.take(self.codes, rows), np.searchsorted(rows, self.offsets)
        weights = self.weights[rows] if self.weights.size else self.weights
        columns = {name: column[rows] for name, column in self.row_columns.items()}
        return replace(self, codes=codes, offsets=offsets, weights=weights, row_columns=columns)


def _short_parts(offsets: np.ndarray, n_ratios: int) -> Iterator[np.ndarray]:
    """Return the segments in pieces with a few million ratios each; segments are not divided."""
    n_parts = -(-int(offsets[-1] - offsets[0]) * n_ratios // _MAX_RATIOS)
    ends = offsets[np.linspace(0, offsets.size - 1, max(1, min(offsets.size - 1, n_parts)) + 1).astype(int)]
    return (np.clip(offsets, begin, end) for begin, end in pairwise(ends.tolist()) if begin < end)

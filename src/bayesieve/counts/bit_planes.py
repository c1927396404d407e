"""Coded features as bit planes: one bit a row and level, so that 64 rows are counted at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesieve.counts import CodedTable

_WORD_BITS, _WORD_BYTES = 64, 8
_WORDS_AT_ONCE = 4  # as the kernels take them
_CELLS_AT_ONCE = 1 << 19  # rows times features that stay in the cache while planes are made of them


@dataclass(frozen=True)
class Segments:
    """Rows that are counted apart, such as those of each class, one segment after another.

    order : (n_rows,) positions of the rows in that order, or None where they have it already; row_starts, word_starts :
    (n_segments + 1,) first row, and first word of a bit plane, of each segment.
    """

    order: np.ndarray | None
    row_starts: np.ndarray
    word_starts: np.ndarray

    @classmethod
    def of(cls, coded: CodedTable, *, by_class: bool) -> Segments:
        """The rows of each class, or all rows in one segment."""
        order, sizes = None, np.array([coded.n_rows])
        if by_class:
            classes = np.asarray(coded.class_codes)
            order = None if coded.is_sorted_by_class else np.argsort(classes, kind="stable")
            sizes = np.bincount(classes, minlength=max(coded.n_classes, 1))
        words = -(-sizes // (_WORD_BITS * _WORDS_AT_ONCE)) * _WORDS_AT_ONCE
        return cls(order, _starts(sizes), _starts(words))

    @property
    def sizes(self) -> np.ndarray:
        """(n_segments,) rows of each segment."""
        return np.diff(self.row_starts)

    def in_order(self, rows: np.ndarray) -> np.ndarray:
        """Values per row (last axis), in the order of the segments."""
        return rows if self.order is None else rows[..., self.order]

    def pack(self, flags: np.ndarray) -> np.ndarray:
        """(n, n_rows) bool, in the order of the segments, as (n, n_words) bits."""
        planes = np.zeros((flags.shape[0], int(self.word_starts[-1])), dtype=np.int64)
        bytes_of = planes.view(np.uint8)
        for begin, end, word in zip(self.row_starts[:-1], self.row_starts[1:], self.word_starts[:-1], strict=True):
            packed = np.packbits(flags[:, begin:end], axis=1)
            bytes_of[:, word * _WORD_BYTES : word * _WORD_BYTES + packed.shape[1]] = packed
        return planes


@dataclass(frozen=True)
class BitPlanes:
    """Planes of some features, those of a feature next to each other.

    features : (n,) positions in the table; words : (n_words, n_planes) int64; starts : (n + 1,) first plane of each
    feature; margins : (n_segments, levels of the features) rows of every level. A feature has a plane for each level;
    if all its rows have a known level, one for each but the first, which follows from the others.
    """

    features: np.ndarray
    words: np.ndarray
    starts: np.ndarray
    margins: np.ndarray

    @classmethod
    def of(cls, coded: CodedTable, features: np.ndarray, complete: np.ndarray, segments: Segments) -> BitPlanes:
        """Planes of these features; ``complete`` says for each whether all rows have a known level."""
        from bayesieve.counts._pair_kernels import count_planes

        n_levels, skipped = coded.n_levels[features], complete.astype(np.int64)
        starts = _starts(n_levels - skipped)
        words = np.empty((int(segments.word_starts[-1]), int(starts[-1])), dtype=np.int64)
        at_once = max(1, _CELLS_AT_ONCE // max(coded.n_rows, 1))
        for begin in range(0, features.size, at_once):
            these = np.arange(begin, min(begin + at_once, features.size))
            codes = segments.in_order(coded.codes_of(features[these]))
            for level in range(int(n_levels[these].max())):
                has = (n_levels[these] > level) & (skipped[these] <= level)
                words[:, starts[these[has]] + level - skipped[these[has]]] = segments.pack(codes[has] == level).T
        rows = np.zeros((segments.sizes.size, words.shape[1]), dtype=np.int64)
        count_planes(words, segments.word_starts, rows)
        level_starts = _starts(n_levels)
        margins = np.zeros((segments.sizes.size, int(level_starts[-1])), dtype=np.int64)
        has_plane = np.ones(margins.shape[1], dtype=bool)
        has_plane[level_starts[:-1][complete]] = False
        margins[:, has_plane] = rows
        known = np.pad(np.cumsum(margins, axis=1), ((0, 0), (1, 0)))
        rest = segments.sizes[:, None] - (known[:, level_starts[1:]] - known[:, level_starts[:-1]])
        margins[:, ~has_plane] = rest[:, complete]
        return cls(features, words, starts, margins)

    @property
    def n_planes(self) -> int:
        return int(self.starts[-1])

    def of_features(self, places: np.ndarray) -> np.ndarray:
        """The planes of the features at these places."""
        sizes = self.starts[places + 1] - self.starts[places]
        begins = np.cumsum(sizes) - sizes
        return np.arange(sizes.sum()) + np.repeat(self.starts[places] - begins, sizes)

    def take(self, places: np.ndarray) -> BitPlanes:
        """The planes of the features at these places only, side by side; without their margins."""
        if np.array_equal(places, np.arange(self.features.size)):
            return self
        words = np.take(self.words, self.of_features(places), axis=1)
        return BitPlanes(self.features[places], words, _starts(np.diff(self.starts)[places]), self.margins[:, :0])


def _starts(sizes: np.ndarray) -> np.ndarray:
    """Offsets of consecutive segments of these sizes, plus the end of the last."""
    return np.concatenate([[0], np.cumsum(sizes)])

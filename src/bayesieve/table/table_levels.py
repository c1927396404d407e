"""`TableLevels`: the levels of all features of a table, kept as a few long arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np

from bayesieve.table.columns import Column
from bayesieve.table.levels import FeatureLevels
from bayesieve.table.pair_levels import PairLevels, columns_of
from bayesieve.words import ShortRepr


class TableLevels(ShortRepr, Sequence[FeatureLevels]):
    """A sequence of `FeatureLevels` created on access: a table may have a hundred thousand.

    Parameters
    ----------
    names, types : sequences of str, one entry for each feature
    n_levels : int array, shape (n_features,)
    level_scores : float array, shape (n_features,)
    missing : int array, shape (n_features,)
        Code of missing values; -1 where there is none.
    cuts : float array
        Cut points of all intervals of numbers, feature after feature.
    counts : float array, shape (levels of those features, n_classes), or None
    made : mapping from position to FeatureLevels
        The features that are not in ``cuts`` and ``counts``.
    pairs : sequence of PairLevels
        Pairs of these features, which come after them.
    sums : int array, shape (n_sums, n_terms), or None
        The last of these features (without pairs) are sums of the columns at these positions.

    Attributes
    ----------
    n_constant : int
        How many of the columns that levels were just learnt from have one value only, as far as the prior tells.
    doubtful : int array
        Positions of columns that levels were just learnt from, which among so many may well be cut by chance.
    """

    n_constant = 0
    doubtful = np.zeros(0, dtype=np.int64)

    def __init__(
        self,
        names: Sequence[str],
        types: Sequence[str],
        n_levels: np.ndarray,
        level_scores: np.ndarray,
        missing: np.ndarray,
        cuts: np.ndarray,
        counts: np.ndarray | None,
        made: Mapping[int, FeatureLevels],
        pairs: Sequence[PairLevels] = (),
        sums: np.ndarray | None = None,
    ) -> None:
        self.names = tuple(names)
        self.types = types
        self.n_levels = n_levels
        self.level_scores = level_scores
        self.missing, self._cuts, self._counts = missing, cuts, counts
        self._made = dict(made)
        sizes = n_levels.copy()
        sizes[list(self._made)] = 0
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self.cut_starts = np.concatenate([[0], np.cumsum(np.maximum(sizes - 1, 0))])
        self._in_arrays = sizes > 0
        self.n_columns, self._pairs = len(self.names), tuple(pairs)
        self.sums = np.zeros((0, 2), dtype=np.int64) if sums is None else sums
        self.n_raw = self.n_columns - len(self.sums)
        if pairs:
            self._add_pairs()

    def _add_pairs(self) -> None:
        self.names += tuple(pair.name for pair in self._pairs)
        self.types = [*self.types, *(pair.type for pair in self._pairs)]
        self.n_levels = np.append(self.n_levels, [pair.n_levels for pair in self._pairs])
        self.level_scores = np.append(self.level_scores, [pair.level_score for pair in self._pairs])
        self.missing = np.append(self.missing, np.full(len(self._pairs), -1))
        self._in_arrays = np.append(self._in_arrays, np.zeros(len(self._pairs), dtype=bool))
        self._made.update(enumerate(self._pairs, self.n_columns))

    @classmethod
    def of(cls, levels: Sequence[FeatureLevels]) -> TableLevels:
        """The same features, cut points in one array."""
        if isinstance(levels, cls):
            return levels
        pairs = [level for level in levels if isinstance(level, PairLevels)]
        levels = levels[: len(levels) - len(pairs)]
        positions = {level.name: i for i, level in enumerate(columns_of(levels))}
        sums = [[positions[name] for name in level.sum_of] for level in levels[len(positions) :]]
        plain = [type(level) is FeatureLevels and level.cut_points is not None for level in levels]
        made = {i: level for i, level in enumerate(levels) if not plain[i]}
        cuts = [level.cut_points for level in levels if level.cut_points is not None and type(level) is FeatureLevels]
        table = cls(
            names=[level.name for level in levels],
            types=[level.type for level in levels],
            n_levels=np.array([level.n_levels for level in levels], dtype=np.int64),
            level_scores=np.array([level.level_score for level in levels]),
            missing=np.array([-1 if level.missing_code is None else level.missing_code for level in levels], dtype=int),
            cuts=np.concatenate([np.zeros(0), *cuts]),
            counts=None,
            made=made,
            pairs=pairs,
            sums=np.array(sums, dtype=np.int64) if sums else None,
        )
        table._made.update(enumerate(levels))
        return table

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, i: int) -> FeatureLevels: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[FeatureLevels, ...]: ...
    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return tuple(self[k] for k in range(len(self))[i])
        i = range(len(self))[i]
        levels = self._made.get(i)
        if levels is None:
            levels = self._made[i] = self._make(i)
        return levels

    @property
    def pairs(self) -> tuple[PairLevels, ...]:
        """The features that are pairs of columns, the last ones."""
        return self._pairs

    @property
    def of_columns(self) -> TableLevels:
        """The features that are columns, without their sums and pairs."""
        return self._first(self.n_raw, ())

    def sums_with(self, columns: Collection[str]) -> Iterator[str]:
        """The names of the sums that these columns are terms of."""
        marked = np.array([name in columns for name in self.names[: self.n_raw]])
        return (self.names[self.n_raw + k] for k in np.flatnonzero(marked[self.sums].any(axis=1)).tolist())

    def with_pairs(self, pairs: Sequence[PairLevels]) -> TableLevels:
        """The same columns and sums, with these pairs."""
        return self._first(self.n_columns, pairs)

    def _first(self, n: int, pairs: Sequence[PairLevels]) -> TableLevels:
        """The first ``n`` of the columns and sums, and these pairs."""
        made = {i: level for i, level in self._made.items() if i < n and not self._in_arrays[i]}
        cuts, counts = self._cuts[: self.cut_starts[n]], self._counts
        counts = None if counts is None else counts[: self._starts[n]]
        arrays = (self.n_levels[:n], self.level_scores[:n], self.missing[:n], cuts, counts)
        levels = TableLevels(self.names[:n], self.types[:n], *arrays, made, pairs, self.sums[: n - self.n_raw])
        levels._made = {i: level for i, level in self._made.items() if i < n} | levels._made
        levels.n_constant, levels.doubtful = self.n_constant, self.doubtful
        return levels

    def code_pairs(
        self,
        codes: Callable[[int], np.ndarray],
        column: Callable[[int], Column],
        put: Callable[[int, np.ndarray], None],
    ) -> None:
        """Code rows by pairs; the parts of each column are coded once, however many pairs share them.

        Parameters
        ----------
        codes, column : codes by its own levels, and raw values, of the column at a position.
        put : takes the position of a pair among the features and its codes.
        """
        position = {name: i for i, name in enumerate(self.names[: self.n_columns])} if self._pairs else {}
        finer: dict[int, np.ndarray] = {}

        def of(part: FeatureLevels) -> np.ndarray:
            i = position[part.name]
            if part is self[i]:
                return codes(i)
            if id(part) not in finer:
                finer[id(part)] = part.code(column(i), [])  # of unreadable values the column has complained
            return finer[id(part)]

        for k, pair in enumerate(self._pairs, self.n_columns):
            put(k, pair.code_parts(*map(of, pair.parts)))

    def _facts(self) -> dict[str, Any]:
        return {"features": len(self), "levels": int(self.n_levels.sum())}

    def _make(self, i: int) -> FeatureLevels:
        missing = int(self.missing[i])
        counts = None if self._counts is None else self._counts[self._starts[i] : self._starts[i + 1]].copy()
        return FeatureLevels(
            name=self.names[i],
            kind="numeric",
            type=self.types[i],
            cut_points=self.cut_points(i, i + 1),
            missing_code=None if missing < 0 else missing,
            counts=counts,
            level_score=float(self.level_scores[i]),
            sum_of=tuple(self.names[k] for k in self.sums[i - self.n_raw].tolist()) if i >= self.n_raw else (),
        )

    def class_counts(self, i: int) -> np.ndarray | None:
        """Rows (or weight) by level and class of one feature, shape (n_levels, n_classes)."""
        if i in self._made or self._counts is None:
            return self[i].counts
        return self._counts[self._starts[i] : self._starts[i + 1]]

    @property
    def in_objects(self) -> list[FeatureLevels]:
        """The features made so far, which all that are groups of values are among."""
        return list(self._made.values())

    @property
    def of_numbers(self) -> np.ndarray:
        """Which features are intervals of numbers, (n_features,) bool; `cut_points` and `missing` are theirs."""
        return self._in_arrays & np.array([type_ == "number" for type_ in self.types])

    def cut_points(self, first: int, stop: int) -> np.ndarray:
        """Cut points of the features ``first`` to ``stop - 1``, one after another; see ``cut_starts``."""
        return self._cuts[self.cut_starts[first] : self.cut_starts[stop]]

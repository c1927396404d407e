"""`RemoteTable`: a coded table whose codes stay with the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from bayesieve.counts.coded import CodedTable
from bayesieve.counts.contingency import ContingencyCounts, count_features
from bayesieve.engine import Parts
from bayesieve.engine.cluster import RemoteParts
from bayesieve.table.target import count_classes

if TYPE_CHECKING:
    from bayesieve.engine.cluster import Held
    from bayesieve.table.levels import FeatureLevels
    from bayesieve.table.target import Rows

_MOST_SAMPLED = 1 << 16  # rows up to which the codes of all features are sent at once
_CODES_AT_ONCE = 1 << 26


class HeldRows(Protocol):
    """A block of rows, as a worker keeps it, with its codes by one or several tables.

    bounds : (2, n_runs) where rows of this block begin and end in each run of neighbouring rows of the whole table.
    """

    bounds: np.ndarray
    tables: list[CodedTable]


class RemoteCodes:
    """Codes of some features that workers keep, and which rows each has.

    Parameters
    ----------
    held : a `HeldRows` for each block.
    at : which of its tables.
    bounds : (n_blocks + 1, n_runs) where the rows of each block begin in the runs of the table, and where these end.
    n_features, dtype : of the codes.
    """

    def __init__(self, held: Held, at: int, bounds: np.ndarray, n_features: int, dtype: Any) -> None:
        self.held, self.at, self.bounds = held, at, bounds
        self.shape, self.dtype = (n_features, int((bounds[-1] - bounds[0]).sum())), np.dtype(dtype)

    def __getitem__(self, k: int) -> RemoteColumn:
        return RemoteColumn(self, k)

    def write(self, features: Sequence[int], positions: np.ndarray | None, into: np.ndarray) -> None:
        """Write the codes of some features, at ascending positions or of all rows, (n, n_rows)."""
        if len(features):
            gather([self[k] for k in features], positions, into)


class RemoteColumn:
    """The codes of one feature among `RemoteCodes`."""

    def __init__(self, codes: RemoteCodes, k: int) -> None:
        self.codes, self.k, self.dtype = codes, k, codes.dtype

    @property
    def place(self) -> tuple[int, int]:
        """Table and feature."""
        return self.codes.at, self.k


def gather(columns: Sequence[RemoteColumn], positions: np.ndarray | None, into: np.ndarray) -> None:
    """Write the codes of some columns, at ascending positions or of all rows, (n, n_rows)."""
    codes = columns[0].codes
    blocks = codes.held.ask(_codes_of, [column.place for column in columns], positions, into.dtype)
    put(codes.bounds, blocks, positions, into)


def put(bounds: np.ndarray, blocks: Sequence[np.ndarray], positions: np.ndarray | None, into: np.ndarray) -> None:
    """Write what each block has of its rows, (n, n_rows), among all rows, or among those at some positions."""
    for both, own in zip(pairwise(bounds), blocks, strict=True):
        at = 0
        for _, there in _runs(np.array(both), positions):
            into[:, there] = own[:, at : at + there.stop - there.start]
            at += there.stop - there.start


def _runs(bounds: np.ndarray, positions: np.ndarray | None) -> Iterator[tuple[Any, slice]]:
    """Rows of a block that are among some positions, run after run, and where they are among these."""
    first = 0
    for begin, end in bounds.T.tolist():
        if positions is None:
            yield slice(first, first + end - begin), slice(begin, end)
        else:
            there = slice(*np.searchsorted(positions, (begin, end)).tolist())
            yield positions[there] - begin + first, there
        first += end - begin


def _codes_of(
    block: HeldRows, places: list[tuple[int, int]], positions: np.ndarray | None, dtype: np.dtype[Any]
) -> np.ndarray:
    runs = [own for own, _ in _runs(block.bounds, positions)]
    codes = [[block.tables[at].stored[k][own] for own in runs] for at, k in places]
    return np.array([np.concatenate(of_runs) for of_runs in codes], dtype=dtype)


def _prints_of(block: HeldRows, at: int) -> np.ndarray:
    return block.tables[at]._code_prints()[None, :]


def _started(block: HeldRows, start: Callable[..., Any], *arguments: Any) -> Any:
    return start(block.tables[0], *arguments)


def _counted(block: HeldRows) -> ContingencyCounts:
    return count_features(block.tables[0])


@dataclass
class _Taken:
    """Some rows of a block, or all in another order: `HeldRows`."""

    bounds: np.ndarray
    tables: list[CodedTable]


def _taken(block: HeldRows, marks: np.ndarray, every: np.ndarray, bounds: np.ndarray) -> _Taken:
    """The marked rows of a block; ``every``, ``bounds`` : of all blocks, before and after."""
    marked = [np.unpackbits(marks[a // 8 : -(-b // 8)])[a % 8 : a % 8 + b - a] for a, b in block.bounds.T.tolist()]
    return _Taken(_own(block, every, bounds), [block.tables[0].take(np.flatnonzero(np.concatenate(marked)))])


def _by_class(block: HeldRows, every: np.ndarray, bounds: np.ndarray) -> _Taken:
    return _Taken(_own(block, every, bounds), [block.tables[0].by_class])


def _own(block: HeldRows, every: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """The bounds of a block after some change; blocks with the same bounds before have no rows."""
    before = np.stack([every[:-1], every[1:]], axis=1)
    at = int(np.argmax((before == block.bounds).all(axis=(1, 2))))
    return bounds[at : at + 2]


def _bounds_of(sizes: np.ndarray) -> np.ndarray:
    """(n_blocks + 1, n_runs) from the rows of each block and run."""
    begins = np.concatenate([[0], np.cumsum(sizes.sum(axis=0))[:-1]])
    return begins + np.vstack([np.zeros_like(begins), np.cumsum(sizes, axis=0)])


class RemoteTable(CodedTable):
    """A coded table whose codes stay with the workers: sums over rows are asked for, and some rows sampled.

    ``codes`` are those of the first table of each block; ``engine`` is the cluster; the other parameters are those of
    `CodedTable`. Classes and weights are here, one to nine bytes a row. Whatever else reads codes gets them in an array
    of the engine, which is a file (`here`).
    """

    remote: RemoteCodes
    _samples: dict[bytes, np.ndarray]

    def __init__(
        self,
        codes: Any,
        n_levels: Any,
        names: Sequence[str],
        *,
        rows: Rows,
        levels: Sequence[FeatureLevels] | None = None,
        recoder: Any = None,
        engine: Any,
    ) -> None:
        parts = {"names": tuple(names), "rows": rows, "levels": levels, "recoder": recoder, "engine": engine}
        n_levels = np.asarray(n_levels, dtype=np.int64)
        vars(self).update(remote=codes, n_levels=n_levels, families=None, unseen=None, **parts, _samples={})

    @property
    def n_rows(self) -> int:
        return int(self.remote.shape[1])

    @property
    def n_features(self) -> int:
        return len(self.n_levels)

    @cached_property
    def here(self) -> CodedTable:
        """The same rows with their codes on this machine."""
        stored = self.engine.array(self.remote.shape, self.remote.dtype)
        at_once = max(1, _CODES_AT_ONCE // max(1, self.n_rows))
        for at in range(0, self.n_features, at_once):
            some = range(at, min(at + at_once, self.n_features))
            self.remote.write(some, None, stored[some.start : some.stop])
            self.engine.visited(stored[some.start : some.stop].nbytes)
        same: dict[str, Any] = {"rows": self.rows, "levels": self.levels, "recoder": self.recoder}
        return CodedTable(stored, self.n_levels, self.names, engine=self.engine, **same)

    @property
    def stored(self) -> np.ndarray:
        return self.here.stored

    def take(self, positions: Any) -> CodedTable:
        marked = np.zeros(self.n_rows, dtype=bool)
        marked[positions] = True
        picked = np.flatnonzero(marked)
        if not np.array_equal(np.arange(self.n_rows)[positions], picked):  # another order
            return super().take(positions)
        every = self.remote.bounds
        sizes = [[np.count_nonzero(marked[a:b]) for a, b in zip(*both, strict=True)] for both in pairwise(every)]
        bounds = _bounds_of(np.array(sizes))
        return self._other(picked, bounds, self.remote.held.make(_taken, np.packbits(marked), every, bounds))

    @cached_property
    def by_class(self) -> CodedTable:
        if self.is_sorted_by_class:
            return self
        classes, every = np.asarray(self.class_codes), self.remote.bounds
        sizes = [count_classes(classes[a:b], self.n_classes) for a, b in pairwise(every[:, 0].tolist())]
        bounds = _bounds_of(np.array(sizes))
        return self._other(self.rows.class_order(), bounds, self.remote.held.make(_by_class, every, bounds))

    def _other(self, positions: np.ndarray, bounds: np.ndarray, held: Held) -> RemoteTable:
        """The rows at these positions, kept apart by the workers."""
        codes = RemoteCodes(held, 0, bounds, self.n_features, self.remote.dtype)
        rows, recoder = self.rows.take(positions), None if self.recoder is None else self.recoder.take(positions)
        same: dict[str, Any] = {"levels": self.levels, "engine": self.engine}
        return RemoteTable(codes, self.n_levels, self.names, rows=rows, recoder=recoder, **same)

    @cached_property
    def counts(self) -> ContingencyCounts:
        return self.remote.held.total(_counted)

    def parts(self, start: Callable[..., Any], *arguments: Any) -> Parts[Any]:
        return RemoteParts(self.remote.held.make(_started, start, *arguments))

    def codes_at(self, features: Any, rows: Any) -> np.ndarray:
        positions = np.arange(self.n_rows)[rows] if isinstance(rows, slice) else np.asarray(rows, dtype=np.int64)
        if len(positions) > _MOST_SAMPLED:
            asked = np.empty((len(features), len(positions)), self.remote.dtype)
            self.remote.write(features, positions, asked)
            return asked
        key = positions.tobytes()
        if key not in self._samples:
            self._samples[key] = np.empty((self.n_features, len(positions)), self.remote.dtype)
            self.remote.write(range(self.n_features), positions, self._samples[key])
        return self._samples[key][features]

    def _code_prints(self) -> np.ndarray:
        prints = np.empty((1, self.n_rows), np.uint64)
        put(self.remote.bounds, self.remote.held.ask(_prints_of, self.remote.at), None, prints)
        return prints[0]

    def with_columns(self, **columns: np.ndarray) -> CodedTable:
        return self.here.with_columns(**columns)

    def on(self, engine: Any) -> CodedTable:
        return self if engine is self.engine else self.here.on(engine)

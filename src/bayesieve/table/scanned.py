"""`ScannedTable`: columns of a source, read a block of rows at a time, and the rows of its target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayesieve.table.cautions import warn_caller
from bayesieve.table.columns import Column, Table
from bayesieve.table.scans import Scan
from bayesieve.table.target import ClassRuns, Target, as_target

if TYPE_CHECKING:
    import polars as pl

_MOST_CLASSES = 1 << 16
_BLOCK_CELLS = 1 << 23  # values of a block, 64 MiB of numbers
_BLOCK_COPIES = 8  # blocks that would fit in the memory for reading: a block, what it is put together of, and sorted


@dataclass
class _Kept:
    """What views of one scanned table share: the rows ``wanted`` that stay in memory when their block is read, the
    ``frames`` that hold them once ``complete``, and how many values are read at a time.
    """

    wanted: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    frames: list[pl.DataFrame] = field(default_factory=list)
    complete: bool = False
    block_cells: int = _BLOCK_CELLS


class ScannedTable(Table):
    """Columns of a `Scan`; rows are read when asked for, a block at a time.

    Parameters
    ----------
    source : Scan
        Its columns are those of the table.
    known : bool array, shape (source.n_rows,), or None
        The rows that count; None for all.
    runs : ClassRuns or None
        Rows are listed class after class; None: as in the source.
    kinds : mapping from name to kind
        How to read columns whose kind does not follow from their type.
    """

    def __init__(
        self,
        source: Scan,
        known: np.ndarray | None = None,
        runs: ClassRuns | None = None,
        kinds: Mapping[str, str] | None = None,
        kept: _Kept | None = None,
    ) -> None:
        import polars as pl

        self.source, self.known, self.runs = source, known, runs
        self._given = dict(kinds or {})
        self._kept = _Kept() if kept is None else kept
        # Types follow from the schema, so that no row has to be read for them.
        super().__init__(_columns_of(pl.DataFrame(schema=source.schema), self._given), 0, True)
        self.n_rows = source.n_rows if known is None else int(np.count_nonzero(known))

    @property
    def block_rows(self) -> int:
        """Rows of a block: fewer of wide tables."""
        return max(1 << 12, min(1 << 18, self._kept.block_cells // max(1, self.n_columns)))

    def read_within(self, n_bytes: int) -> None:
        """Read blocks so small that reading takes no more memory than this."""
        self._kept.block_cells = min(_BLOCK_CELLS, n_bytes // (8 * _BLOCK_COPIES))

    def blocks(self) -> Iterator[tuple[slice, Table]]:
        """Yield the rows of the source, in its order, in blocks: their positions among all, and their values. Going
        through all blocks also keeps the rows that `keep` asked for.
        """
        begin, kept, wanted = 0, list[Any](), self._kept.wanted
        for frame in self.frames():
            end = begin + frame.height
            if wanted.size and not self._kept.complete:
                first, last = np.searchsorted(wanted, (begin, end))
                kept.append(frame[wanted[first:last] - begin])
            yield slice(begin, end), self._in_memory(frame, begin)
            begin = end
        if kept:
            self._kept.frames, self._kept.complete = kept, True

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the rows that count, a block at a time."""
        import polars as pl

        begin = 0
        for frame in self.source.blocks(self.names, self.block_rows):
            end = begin + frame.height
            yield frame if self.known is None else frame.filter(pl.Series(self.known[begin:end]))
            begin = end

    def keep(self, rows: np.ndarray) -> None:
        """Keep these ascending rows of the source in memory when all columns are next read."""
        self._kept.wanted, self._kept.frames, self._kept.complete = rows, [], False

    def column(self, i: int) -> Column:
        """The column at position ``i``, all of it in memory."""
        i = range(self.n_columns)[i]
        return self.select([i]).collected().column(0)

    def collected(self) -> Table:
        """The same rows in memory."""
        import polars as pl

        table = self._in_memory(pl.concat(list(self.frames())))
        return table if self.runs is None else table.take(self.runs.in_source(np.arange(self.n_rows)))

    def take(self, rows: Any) -> Table:
        """These rows (positions, a slice or a boolean mask), in memory."""
        picked = np.arange(self.n_rows)[rows] if isinstance(rows, slice) else np.asarray(rows)
        return self._in_memory(self.frame(np.flatnonzero(picked) if picked.dtype == bool else picked))

    def frame(self, positions: np.ndarray) -> pl.DataFrame:
        """The rows at these positions as a dataframe: those kept, if they are, or read again."""
        import polars as pl

        if not self.names:
            return pl.DataFrame(height=len(positions))
        rows = positions if self.runs is None else self.runs.in_source(positions)
        ordered, position = np.unique(rows, return_inverse=True)
        return self._read(ordered)[position]

    def _read(self, rows: np.ndarray) -> pl.DataFrame:
        """Ascending rows of the source."""
        import polars as pl

        if self._kept.complete:
            at = np.searchsorted(self._kept.wanted, rows)
            at[at == self._kept.wanted.size] = 0
            if np.array_equal(self._kept.wanted[at], rows):
                return pl.concat(self._kept.frames)[at, list(self.names)]
        frames, begin = [], 0
        for frame in self.frames():
            end = begin + frame.height
            frames.append(frame[rows[np.searchsorted(rows, begin) : np.searchsorted(rows, end)] - begin])
            begin = end
        return pl.concat(frames)

    def _in_memory(self, frame: pl.DataFrame, first_row: int = 0) -> Table:
        table = _table_of(frame, self._given)
        for i in range(table.n_columns):
            table.column(i).row_number = partial(self._row_in_source, first_row)
        return table

    def _row_in_source(self, first_row: int, row: int) -> int:
        """The number in the source of a row of those that count."""
        row += first_row
        return row if self.known is None else int(np.flatnonzero(self.known)[row])

    def read_as(self, names: Sequence[str], kinds: Mapping[str, str]) -> Table:
        if tuple(names) != self.names:
            raise ValueError("The columns of a scanned table keep their names; rename them where they come from.")
        return ScannedTable(self.source, self.known, self.runs, {**self._given, **kinds}, self._kept)

    def select(self, positions: Sequence[int]) -> ScannedTable:
        source = self.source.select([self.names[i] for i in positions])
        return ScannedTable(source, self.known, self.runs, self._given, self._kept)

    def by_class(self, runs: ClassRuns) -> ScannedTable:
        """The same rows, class after class."""
        return ScannedTable(self.source, self.known, runs, self._given, self._kept)

    def read_once(self) -> ScannedTable:
        return self


def _table_of(frame: pl.DataFrame, kinds: Mapping[str, str]) -> Table:
    return Table(_columns_of(frame, kinds), frame.height, True)


def _columns_of(frame: pl.DataFrame, kinds: Mapping[str, str]) -> list[Column]:
    return [
        Column(name, series).read_as(name, kinds.get(name))
        for name, series in zip(frame.columns, frame.get_columns(), strict=True)
    ]


class ScannedRows(NamedTuple):
    """The columns to learn from, and what is known of the rows whose target is known."""

    table: ScannedTable
    target: Target
    weights: np.ndarray | None
    groups: np.ndarray | None


def scanned_rows(X: Any, target: Any, weight: Any = None, groups: Any = None) -> ScannedRows:
    """A table without its target, and the target read in one pass. Rows without target are left out, with a warning.

    Parameters
    ----------
    X : Scan, or whatever `scan` takes
    target, weight, groups : str
        Names of columns; the last two may be None.

    Raises
    ------
    ValueError
        If a column does not exist, or the target holds no classes.
    """
    from bayesieve.table.scans import scan

    source = X if isinstance(X, Scan) else scan(X)
    roles = {"y": target, "sample_weight": weight, "groups": groups}
    given = {role: name for role, name in roles.items() if name is not None}
    for role, name in {"y": target, **given}.items():
        if not isinstance(name, str):
            kind = type(name).__name__
            raise ValueError(f"{role} must be the name of a column of the scanned table, got {kind}.")
    names = [name for name in source.names if name not in given.values()]
    source.select(list(dict.fromkeys(given.values())))  # names the column that does not exist
    labels, known, columns = _labels(source, target, [name for name in (weight, groups) if name is not None])
    table = ScannedTable(source.select(names), known)
    return ScannedRows(table, labels, columns.get(weight), columns.get(groups))


def _labels(source: Scan, name: str, others: Sequence[str]) -> tuple[Target, np.ndarray | None, dict[Any, Any]]:
    """The target, the rows where it is known, and other columns in these rows."""
    import polars as pl

    distinct = pl.Series("label", [], dtype=_plain(source.schema[name]))
    codes, parts, known = [], [], []
    for block in source.blocks(list(dict.fromkeys([name, *others]))):
        labels = block[name].cast(distinct.dtype).alias("label")
        labels = labels.fill_nan(None) if labels.dtype.is_float() else labels
        known.append(labels.is_not_null().to_numpy())
        if not known[-1].all():
            block, labels = block.filter(labels.is_not_null()), labels.drop_nulls()
        new = labels.unique(maintain_order=True)
        distinct = distinct.append(new.filter(~new.is_in(distinct.implode())))
        if distinct.len() > _MOST_CLASSES:
            raise ValueError(
                f"The target {name!r} holds more than {_MOST_CLASSES:,} different values; is it an identifier? Choose "
                "another target."
            )
        position = distinct.to_frame().with_columns(code=pl.int_range(pl.len(), dtype=pl.Int32))
        own = labels.to_frame().join(position, on="label", how="left", maintain_order="left")["code"]
        codes.append(own.to_numpy().astype(np.min_scalar_type(max(1, distinct.len() - 1))))
        parts.append(block[:, list(dict.fromkeys(others))])
    if distinct.is_empty():
        raise ValueError(f"The target {name!r} is missing in all rows.")
    target = as_target(distinct)
    target = Target(target.codes[np.concatenate(codes)], target.classes)
    every = np.concatenate(known)
    n_missing = every.size - int(np.count_nonzero(every))
    if n_missing:
        rows = f"{n_missing:,} row{'s' if n_missing > 1 else ''} of {every.size:,}"
        warn_caller([f"The target {name!r} is missing in {rows}, which {'are' if n_missing > 1 else 'is'} left out."])
    columns: dict[Any, Any] = {other: pl.concat([part[other] for part in parts]).to_numpy() for other in others}
    return target, every if n_missing else None, columns


def _plain(dtype: Any) -> Any:
    """The type that labels are compared as: categories by their text."""
    import polars as pl

    return pl.String if isinstance(dtype, (pl.Categorical, pl.Enum)) else dtype

"""`ScannedTable`: columns of files that are read block by block, restricted to rows with a known target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayesieve.table.cautions import warn_caller
from bayesieve.table.columns import Column, Table
from bayesieve.table.row_labels import LabelReader, RowLabels, label_positions, plain_labels
from bayesieve.table.scans import Scan
from bayesieve.table.target import ClassRuns, Target, as_target

if TYPE_CHECKING:
    import polars as pl

_MOST_CLASSES = 1 << 16
_BLOCK_CELLS = 1 << 23  # values of a block, 64 MiB of numbers


@dataclass(frozen=True, eq=False)
class RowSample:
    """Sample of the rows of a scanned table, in memory.

    Attributes
    ----------
    rows : ascending positions among the rows that count, in the order of the source.
    frame : all columns of these rows.
    """

    rows: np.ndarray
    frame: pl.DataFrame

    def at(self, rows: np.ndarray) -> np.ndarray | None:
        """Return the positions in the frame of ``rows``, which ascend; None if the frame lacks one of them."""
        at = np.searchsorted(self.rows, rows)
        if not self.rows.size or (rows.size and at[-1] == self.rows.size):
            return None
        return at if np.array_equal(self.rows[at], rows) else None


class ScannedTable(Table):
    """Columns of a `Scan`; rows are read block by block when they are needed.

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
    labels : RowLabels or None
        The target and the weights of the rows that count, as `scanned_rows` read them.
    sample : RowSample or None
        Rows that are in memory and not read again.
    """

    reads_rows = True

    def __init__(
        self,
        source: Scan,
        known: np.ndarray | None = None,
        runs: ClassRuns | None = None,
        kinds: Mapping[str, Any] | None = None,
        labels: RowLabels | None = None,
        sample: RowSample | None = None,
    ) -> None:
        import polars as pl

        self.source, self.known, self.runs, self.labels, self.sample = source, known, runs, labels, sample
        self.given_kinds = dict(kinds or {})
        # Types come from the schema, so that no row is read for them.
        super().__init__(_columns_of(pl.DataFrame(schema=source.schema), self.given_kinds), 0, True)
        self.n_rows = source.n_rows if known is None else int(np.count_nonzero(known))

    @property
    def block_rows(self) -> int:
        """Number of rows in a block: lower for wide tables and for long texts."""
        n_cells = self.n_columns + sum(self.source.text_bytes.values()) / 8
        return max(1 << 12, min(1 << 18, int(_BLOCK_CELLS / max(1.0, n_cells))))

    @property
    def row_bytes(self) -> float:
        """Approximate memory of a row, in bytes."""
        return 8 * self.n_columns + sum(self.source.text_bytes.values())

    def blocks(self) -> Iterator[tuple[slice, Table]]:
        """Yield the rows of the source, in its order, in blocks: their positions among all, and their values."""
        begin = 0
        for frame in self.frames():
            end = begin + frame.height
            yield slice(begin, end), self._in_memory(frame, begin)
            begin = end

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the rows that count, a block at a time."""
        import polars as pl

        begin = 0
        for frame in self.source.blocks(self.names, self.block_rows):
            end = begin + frame.height
            yield frame if self.known is None else frame.filter(pl.Series(self.known[begin:end]))
            begin = end

    def column(self, i: int) -> Column:
        """Return the column at position ``i`` in memory."""
        i = range(self.n_columns)[i]
        return self.select([i]).collected().column(0)

    def collected(self) -> Table:
        """Return all rows in memory."""
        import polars as pl

        table = self._in_memory(pl.concat(list(self.frames())))
        return table if self.runs is None else table.take(self.runs.in_source(np.arange(self.n_rows)))

    def take(self, rows: Any) -> Table:
        """Return these rows (positions, a slice or a boolean mask) in memory."""
        picked = np.arange(self.n_rows)[rows] if isinstance(rows, slice) else np.asarray(rows)
        return self._in_memory(self.frame(np.flatnonzero(picked) if picked.dtype == bool else picked))

    def frame(self, positions: np.ndarray) -> pl.DataFrame:
        """Return the rows at these positions as a dataframe, from memory if they are kept there, otherwise from the
        source.
        """
        import polars as pl

        if not self.names:
            return pl.DataFrame(height=len(positions))
        rows = positions if self.runs is None else self.runs.in_source(positions)
        ordered, position = np.unique(rows, return_inverse=True)
        return self._read(ordered)[position]

    def _read(self, rows: np.ndarray) -> pl.DataFrame:
        """Return rows of the source, given by ascending positions."""
        import polars as pl

        at = None if self.sample is None else self.sample.at(rows)
        if self.sample is not None and at is not None:
            return self.sample.frame[at, list(self.names)]
        frames, begin = [], 0
        for frame in self.frames():
            end = begin + frame.height
            frames.append(frame[rows[np.searchsorted(rows, begin) : np.searchsorted(rows, end)] - begin])
            begin = end
        return pl.concat(frames)

    def _in_memory(self, frame: pl.DataFrame, first_row: int = 0) -> Table:
        return table_of_frame(frame, self.given_kinds, partial(self._row_in_source, first_row))

    def _row_in_source(self, first_row: int, row: int) -> int:
        """Return the number in the source of a row among those that count."""
        row += first_row
        return row if self.known is None else int(np.flatnonzero(self.known)[row])

    def read_as(self, names: Sequence[str], kinds: Mapping[str, Any]) -> Table:
        if tuple(names) != self.names:
            raise ValueError("feature_names cannot rename the columns of a scan; rename them in its files or query.")
        return self._with(given_kinds={**self.given_kinds, **kinds})

    def select(self, positions: Sequence[int]) -> ScannedTable:
        return self._with(source=self.source.select([self.names[i] for i in positions]))

    def restricted_to(self, rows: np.ndarray) -> ScannedTable:
        """Return a table restricted to some rows, given by ascending positions."""
        known = np.zeros(self.source.n_rows, dtype=bool)
        known[rows if self.known is None else np.flatnonzero(self.known)[rows]] = True
        return ScannedTable(self.source, known, kinds=self.given_kinds)

    def by_class(self, runs: ClassRuns) -> ScannedTable:
        """Return the rows grouped by class."""
        return self._with(runs=runs)

    def with_sample(self, sample: RowSample) -> ScannedTable:
        """Return the table with some of its rows in memory."""
        return self._with(sample=sample)

    def _with(
        self,
        source: Scan | None = None,
        runs: ClassRuns | None = None,
        given_kinds: Mapping[str, Any] | None = None,
        sample: RowSample | None = None,
    ) -> ScannedTable:
        return ScannedTable(
            self.source if source is None else source,
            self.known,
            self.runs if runs is None else runs,
            self.given_kinds if given_kinds is None else given_kinds,
            self.labels,
            self.sample if sample is None else sample,
        )

    def read_once(self) -> ScannedTable:
        return self


def table_of_frame(frame: pl.DataFrame, kinds: Mapping[str, Any], row_number: Callable[[int], int] = int) -> Table:
    """Return a dataframe with rows of a scan as a table; ``row_number`` maps its rows to rows of the scan."""
    return Table(_columns_of(frame, kinds, row_number), frame.height, True)


def _columns_of(frame: pl.DataFrame, kinds: Mapping[str, Any], row_number: Callable[[int], int] = int) -> list[Column]:
    return [
        Column(name, series, kinds.get(name), row_number)
        for name, series in zip(frame.columns, frame.get_columns(), strict=True)
    ]


class ScannedRows(NamedTuple):
    """Columns for training, with the classes and weights of the rows whose target is known."""

    table: ScannedTable
    target: Target
    weights: np.ndarray | None
    groups: np.ndarray | None


def scanned_rows(X: Any, target: Any, weight: Any = None, groups: Any = None) -> ScannedRows:
    """Return the columns of a scan without the target, and the target, which is read in one pass over the files.

    Rows without target are skipped with a warning.

    Parameters
    ----------
    X : Scan, or whatever `scan` accepts
    target, weight, groups : str
        Names of columns; the last two may be None.

    Raises
    ------
    ValueError
        If a column does not exist, or the target has no classes.
    """
    from bayesieve.table.scanning import scan

    source = X if isinstance(X, Scan) else scan(X)
    roles = {"y": target, "sample_weight": weight, "groups": groups}
    given = {role: name for role, name in roles.items() if name is not None}
    for role, name in {"y": target, **given}.items():
        if not isinstance(name, str):
            kind = type(name).__name__
            raise ValueError(f"{role} must be the name of a column of the scanned table, got {kind}.")
    names = [name for name in source.names if name not in given.values()]
    source.select(list(dict.fromkeys(given.values())))  # names the column that does not exist
    read, known, columns = _labels(source, target, weight, [name for name in (weight, groups) if name is not None])
    table = ScannedTable(source.select(names), known, labels=read)
    return ScannedRows(table, read.target, read.weights, columns.get(groups))


def _labels(
    source: Scan, name: str, weight: str | None, others: Sequence[str]
) -> tuple[RowLabels, np.ndarray | None, dict[Any, Any]]:
    """Read the target and weights in one pass; also return a mask of the rows with known target, and ``others`` in
    these rows.
    """
    import polars as pl

    distinct = pl.Series("label", [], dtype=_plain(source.schema[name]))
    codes, frames, known = [], [], []
    for block in source.blocks(list(dict.fromkeys([name, *others]))):
        labels = plain_labels(block[name], distinct.dtype)
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
        codes.append(label_positions(labels, distinct).astype(np.min_scalar_type(max(1, distinct.len() - 1))))
        frames.append(block[:, list(dict.fromkeys(others))])
    if distinct.is_empty():
        raise ValueError(f"The target {name!r} is missing in all rows; check its name.")
    of_labels = as_target(distinct)
    target = Target(of_labels.codes[np.concatenate(codes)], of_labels.classes)
    every = np.concatenate(known)
    n_missing = every.size - int(np.count_nonzero(every))
    if n_missing:
        rows = f"{n_missing:,} row{'s' if n_missing > 1 else ''} of {every.size:,}"
        warn_caller(f"The target {name!r} is missing in {rows}, which {'are' if n_missing > 1 else 'is'} left out.")
    columns: dict[Any, Any] = {other: pl.concat([frame[other] for frame in frames]).to_numpy() for other in others}
    schema = source.select([name] if weight is None else list(dict.fromkeys([name, weight]))).schema
    reader = LabelReader(name, weight, schema, distinct, of_labels.codes)
    return RowLabels(reader, target, columns.get(weight)), every if n_missing else None, columns


def _plain(dtype: Any) -> Any:
    """Return the data type in which labels are compared: text for categories."""
    import polars as pl

    return pl.String if isinstance(dtype, (pl.Categorical, pl.Enum)) else dtype

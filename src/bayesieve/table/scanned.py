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
    rows : ascending positions of the rows in the table, in the order of the source.
    frame : all columns of these rows.
    """

    rows: np.ndarray
    frame: pl.DataFrame

    def at(self, rows: np.ndarray) -> np.ndarray | None:
        """Return the positions in ``frame`` of the rows at ``rows``, ascending positions in the table; None if the
        sample lacks one of them.
        """
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
    row_mask : bool array, shape (source.n_rows,), or None
        Rows of the source that belong to the table, such as those with a known target; None for all.
    runs : ClassRuns or None
        Order of the rows by class; None for the order of the source.
    kinds : mapping from name to kind
        Kinds as which to read some columns; the kinds of the others follow from their types.
    labels : RowLabels or None
        Target and weights of the rows, as read by `scanned_rows`.
    sample : RowSample or None
        Rows that are in memory and not read again.
    """

    reads_rows = True

    def __init__(
        self,
        source: Scan,
        row_mask: np.ndarray | None = None,
        runs: ClassRuns | None = None,
        kinds: Mapping[str, Any] | None = None,
        labels: RowLabels | None = None,
        sample: RowSample | None = None,
    ) -> None:
        import polars as pl

        self.source, self.row_mask, self.runs, self.labels, self.sample = source, row_mask, runs, labels, sample
        self.given_kinds = dict(kinds or {})
        # Make the columns of an empty frame: their types follow from the schema, so no row is read.
        super().__init__(_columns_of(pl.DataFrame(schema=source.schema), self.given_kinds), 0, True)
        self.n_rows = source.n_rows if row_mask is None else int(np.count_nonzero(row_mask))

    @property
    def block_rows(self) -> int:
        """Number of rows in a block: fewer for wide tables and for long texts, so that a block fits in memory."""
        n_cells = self.n_columns + sum(self.source.text_bytes.values()) / 8
        return max(1 << 12, min(1 << 18, int(_BLOCK_CELLS / max(1.0, n_cells))))

    @property
    def row_bytes(self) -> float:
        """Approximate memory of a row, in bytes."""
        return 8 * self.n_columns + sum(self.source.text_bytes.values())

    def blocks(self) -> Iterator[tuple[slice, Table]]:
        """Yield the rows in blocks, in the order of the source: for each block, the slice of its row positions, and its
        rows as a table in memory.
        """
        begin = 0
        for frame in self.frames():
            end = begin + frame.height
            yield slice(begin, end), self._in_memory(frame, begin)
            begin = end

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the rows of the table as dataframes of up to `block_rows` rows, in the order of the source."""
        import polars as pl

        begin = 0
        for frame in self.source.blocks(self.names, self.block_rows):
            end = begin + frame.height
            yield frame if self.row_mask is None else frame.filter(pl.Series(self.row_mask[begin:end]))
            begin = end

    def column(self, i: int) -> Column:
        """Return the column at position ``i``, with all its values read into memory."""
        i = range(self.n_columns)[i]
        return self.select([i]).collected().column(0)

    def collected(self) -> Table:
        """Read all rows, and return them as a table in memory, in the order of this table."""
        import polars as pl

        table = self._in_memory(pl.concat(list(self.frames())))
        return table if self.runs is None else table.take(self.runs.in_source(np.arange(self.n_rows)))

    def take(self, rows: Any) -> Table:
        """Return the given rows (positions, a slice or a boolean mask) as a table in memory."""
        positions = np.arange(self.n_rows)[rows] if isinstance(rows, slice) else np.asarray(rows)
        return self._in_memory(self.frame(np.flatnonzero(positions) if positions.dtype == bool else positions))

    def frame(self, positions: np.ndarray) -> pl.DataFrame:
        """Return the rows at ``positions`` as a dataframe, in the order of ``positions``.

        They are taken from the sample in memory if it has all of them, otherwise read from the files.
        """
        import polars as pl

        if not self.names:
            return pl.DataFrame(height=len(positions))
        rows = positions if self.runs is None else self.runs.in_source(positions)
        ordered, position = np.unique(rows, return_inverse=True)
        return self._read(ordered)[position]

    def _read(self, rows: np.ndarray) -> pl.DataFrame:
        """Return the rows at ``rows``, ascending positions in the order of the source, as a dataframe."""
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
        """Return ``frame``, rows of this table, as a table in memory.

        ``first_row`` is the position of its first row in the order of the source, by which error messages number rows.
        """
        return table_of_frame(frame, self.given_kinds, partial(self._row_in_source, first_row))

    def _row_in_source(self, first_row: int, row: int) -> int:
        """Return the position in the source, including rows that the table skips, of row ``row`` of a block that begins
        at row ``first_row`` of the table.
        """
        row += first_row
        return row if self.row_mask is None else int(np.flatnonzero(self.row_mask)[row])

    def read_as(self, names: Sequence[str], kinds: Mapping[str, Any]) -> Table:
        """Return the table with the columns that ``kinds`` names read as the given kind. Raise ValueError if ``names``
        are not the current names.
        """
        if tuple(names) != self.names:
            raise ValueError("feature_names cannot rename the columns of a scan; rename them in its files or query.")
        return self._with(given_kinds={**self.given_kinds, **kinds})

    def select(self, positions: Sequence[int]) -> ScannedTable:
        """Return the table restricted to the columns at ``positions``, in this order."""
        return self._with(source=self.source.select([self.names[i] for i in positions]))

    def restricted_to(self, rows: np.ndarray) -> ScannedTable:
        """Return the table restricted to the rows at ascending positions ``rows``, in the order of the source."""
        row_mask = np.zeros(self.source.n_rows, dtype=bool)
        row_mask[rows if self.row_mask is None else np.flatnonzero(self.row_mask)[rows]] = True
        return ScannedTable(self.source, row_mask, kinds=self.given_kinds)

    def by_class(self, runs: ClassRuns) -> ScannedTable:
        """Return the table with its rows sorted by class.

        ``runs`` maps the order of the source to the order by class.
        """
        return self._with(runs=runs)

    def with_sample(self, sample: RowSample) -> ScannedTable:
        """Return the table with a sample of its rows in memory."""
        return self._with(sample=sample)

    def _with(
        self,
        source: Scan | None = None,
        runs: ClassRuns | None = None,
        given_kinds: Mapping[str, Any] | None = None,
        sample: RowSample | None = None,
    ) -> ScannedTable:
        """Return a copy with some attributes replaced; None keeps the current value of an attribute."""
        return ScannedTable(
            self.source if source is None else source,
            self.row_mask,
            self.runs if runs is None else runs,
            self.given_kinds if given_kinds is None else given_kinds,
            self.labels,
            self.sample if sample is None else sample,
        )

    def read_once(self) -> ScannedTable:
        """Return the table itself, because its rows are not kept in memory."""
        return self


def table_of_frame(frame: pl.DataFrame, kinds: Mapping[str, Any], row_number: Callable[[int], int] = int) -> Table:
    """Return a dataframe with rows of a scan as a table in memory.

    ``kinds`` maps names of columns to the kind as which they are read, if it does not follow from their type. For error
    messages, ``row_number`` maps positions in the dataframe to rows of the scan.
    """
    return Table(_columns_of(frame, kinds, row_number), frame.height, True)


def _columns_of(frame: pl.DataFrame, kinds: Mapping[str, Any], row_number: Callable[[int], int] = int) -> list[Column]:
    """Return the columns of a dataframe as a list of `Column`.

    ``kinds`` maps names of columns to the kind as which they are read, if it does not follow from their type. For error
    messages, ``row_number`` maps positions in the dataframe to rows of its source.
    """
    return [
        Column(name, series, kinds.get(name), row_number)
        for name, series in zip(frame.columns, frame.get_columns(), strict=True)
    ]


class ScannedRows(NamedTuple):
    """Training data of a scan: the rows whose target is known.

    Attributes
    ----------
    table : columns of the features.
    target : class of each row.
    weights, groups : weight and group of each row, (n_rows,), or None.
    """

    table: ScannedTable
    target: Target
    weights: np.ndarray | None
    groups: np.ndarray | None


def scanned_rows(X: Any, target: Any, weight: Any = None, groups: Any = None) -> ScannedRows:
    """Separate a scan into its feature columns and its target, weights and groups, which are read in one pass.

    Rows without target are skipped with a warning.

    Parameters
    ----------
    X : Scan, or whatever `scan` accepts
    target, weight, groups : str
        Names of columns; ``weight`` and ``groups`` may be None.

    Raises
    ------
    ValueError
        If a column does not exist, or the target is missing in all rows.
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
    read, row_mask, columns = _labels(source, target, weight, [name for name in (weight, groups) if name is not None])
    table = ScannedTable(source.select(names), row_mask, labels=read)
    return ScannedRows(table, read.target, read.weights, columns.get(groups))


def _labels(
    source: Scan, name: str, weight: str | None, others: Sequence[str]
) -> tuple[RowLabels, np.ndarray | None, dict[Any, Any]]:
    """Read the target and other columns of a scan in one pass over the files.

    Parameters
    ----------
    source : the scan.
    name, weight : names of the column of the target, and of the row weights (or None).
    others : names of further columns to read, including ``weight``.

    Returns
    -------
    labels : the target and weights of the rows with known target, and a reader for later passes.
    row_mask : mask of these rows, (source.n_rows,); None for all.
    columns : values of the columns ``others`` in these rows, by name.
    """
    import polars as pl

    distinct = pl.Series("label", [], dtype=_plain(source.schema[name]))
    codes, frames, masks = [], [], []
    for block in source.blocks(list(dict.fromkeys([name, *others]))):
        labels = plain_labels(block[name], distinct.dtype)
        masks.append(labels.is_not_null().to_numpy())
        if not masks[-1].all():
            block, labels = block.filter(labels.is_not_null()), labels.drop_nulls()
        new = labels.unique(maintain_order=True)
        distinct = distinct.append(new.filter(~new.is_in(distinct.implode())))
        if distinct.len() > _MOST_CLASSES:
            raise ValueError(
                f"The target {name!r} contains more than {_MOST_CLASSES:,} different values; is it an identifier? "
                "Choose another target."
            )
        codes.append(label_positions(labels, distinct).astype(np.min_scalar_type(max(1, distinct.len() - 1))))
        frames.append(block[:, list(dict.fromkeys(others))])
    if distinct.is_empty():
        raise ValueError(f"The target {name!r} is missing in all rows; check its name.")
    of_labels = as_target(distinct)
    target = Target(of_labels.codes[np.concatenate(codes)], of_labels.classes)
    row_mask = np.concatenate(masks)
    n_missing = row_mask.size - int(np.count_nonzero(row_mask))
    if n_missing:
        rows = f"{n_missing:,} row{'s' if n_missing > 1 else ''} of {row_mask.size:,}"
        warn_caller(f"The target {name!r} is missing in {rows}, which {'are' if n_missing > 1 else 'is'} ignored.")
    columns: dict[Any, Any] = {other: pl.concat([frame[other] for frame in frames]).to_numpy() for other in others}
    schema = source.select([name] if weight is None else list(dict.fromkeys([name, weight]))).schema
    reader = LabelReader(name, weight, schema, distinct, of_labels.codes)
    return RowLabels(reader, target, columns.get(weight)), row_mask if n_missing else None, columns


def _plain(dtype: Any) -> Any:
    """Return the data type in which labels of type ``dtype`` are compared: text for categories, otherwise the type
    itself.
    """
    import polars as pl

    return pl.String if isinstance(dtype, (pl.Categorical, pl.Enum)) else dtype

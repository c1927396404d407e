"""Prediction by look-up: from the values of rows to cells of features, and from cells to contributions.

A cell is an interval or group of values of a feature, the unit that has a contribution; its code is its position. Codes
from the number of cells on stand for unseen values, which no cell contains.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit, ndtri, softmax

from bayesieve.discretize.column_coders import code_columns
from bayesieve.table import FeatureLevels, Table
from bayesieve.table.columns import ALL_WHOLE
from bayesieve.table.frames import as_table
from bayesieve.table.levels import TableLevels, columns_behind
from bayesieve.table.pair_levels import PairLevels
from bayesieve.table.values import canonical_text
from bayesieve.words import named

_MAX_REMEMBERED = 10_000  # values of a column whose cells are stored, to predict single rows faster
Cell = tuple[int, float | str | None]
"""Code of a cell, and the value of the row in it."""


@dataclass(frozen=True, eq=False)
class CellTables:
    """Contributions of several features, concatenated in one table with a line for each cell.

    Parameters
    ----------
    lines : (n_lines + 1, n_classes) contributions in nats: for each feature those of its cells, then that of unseen
        values; the last line of the table is zeros.
    n_lines, first : (n_features,) number of lines of each feature, and position of its first line.
    intercept : (n_classes,) intercept of each class, in nats.
    """

    lines: np.ndarray
    n_lines: np.ndarray
    first: np.ndarray
    intercept: np.ndarray

    @classmethod
    def of(cls, tables: Sequence[np.ndarray], intercept: np.ndarray) -> CellTables:
        """Return the concatenation of the tables of several features, each (n_cells + 1, n_classes) in nats.
        ``intercept`` is the intercept of each class, shape (n_classes,) in nats.
        """
        nothing, n_lines = np.zeros((1, intercept.size)), np.array([*map(len, tables)], dtype=np.int64)
        return cls(np.concatenate([*tables, nothing]), n_lines, np.cumsum(n_lines) - n_lines, intercept)

    def joint(self, codes: np.ndarray) -> np.ndarray:
        """Return log joint probabilities, shape (n_rows, n_classes) in nats. ``codes`` (n_features, n_rows) are the
        cells of the rows.
        """
        from bayesieve.evidence._kernels import add_log_probabilities

        joint = np.tile(self.intercept, (codes.shape[1], 1))
        if self.n_lines.size:
            starts = self.first * self.intercept.size
            if codes.dtype == np.int64:  # codes of explanations; a smaller type avoids compiling another kernel
                codes = codes.astype(np.min_scalar_type(int(self.n_lines.max())))
            add_log_probabilities(np.ascontiguousarray(codes), 0, self.n_lines, starts, self.lines.ravel(), joint)
        return joint

    def joint_of_row(self, codes: Sequence[int]) -> np.ndarray:
        """Return the log joint probabilities of one row, shape (n_classes,), given the cell of each feature. Faster
        than `joint`, and equal to the last bit.
        """
        lines = self.lines[self.first + np.array(codes, dtype=np.int64)]
        return np.add.reduce(np.concatenate([self.intercept[None], lines]), axis=0)

    def contributions(self, codes: np.ndarray) -> np.ndarray:
        """Return contributions in nats, shape (n_rows, n_features, n_classes). ``codes`` (n_features, n_rows) are the
        cells of the rows.
        """
        at = self.first[:, None] + np.minimum(codes, self.n_lines[:, None] - 1)
        return np.ascontiguousarray(self.lines[at].transpose(1, 0, 2))


def probability_intervals(joint: np.ndarray, variances: np.ndarray, level: float) -> np.ndarray:
    """Return confidence intervals of class probabilities, shape (n_rows, n_classes, 2), from normal errors of the log
    odds.

    Parameters
    ----------
    joint : (n_rows, n_classes) log joint probabilities.
    variances : (n_rows, n_logits) error variances of the logits, in squared nats.
    level : confidence level of the intervals.
    """
    reach, n_classes = float(ndtri(0.5 + level / 2.0)), joint.shape[1]
    result = np.empty((*joint.shape, 2))
    with np.errstate(invalid="ignore"):
        for j in range(n_classes):
            others = np.delete(joint, j, axis=1)
            odds = joint[:, j] - np.logaddexp.reduce(others, axis=1)
            if variances.shape[1] == 1:
                error = variances[:, 0]
            else:
                shares = np.nan_to_num(softmax(others, axis=1))  # minus the derivative of the log odds by each logit
                error = variances[:, j] + (shares**2 * np.delete(variances, j, axis=1)).sum(axis=1)
            result[:, j] = expit(odds[:, None] + np.sqrt(error)[:, None] * [-reach, reach])
    return result


class RowReader:
    """Reader that turns rows into cells of features. Rows are tables with the training columns, or dicts of one row.

    Parameters
    ----------
    cells : division into cells of each feature, of columns first and then of pairs.
    used : (n_features,) ascending positions in ``cells`` of the features to read.
    columns : names of the columns of the training table.

    Attributes
    ----------
    levels : divisions of the columns that these features use, then of the pairs among them.
    picked : (n_features,) position in ``levels`` of each feature; columns that only pairs use are not picked.
    needed : names of the columns that are read.
    """

    def __init__(self, cells: Sequence[FeatureLevels], used: np.ndarray, columns: Sequence[str]) -> None:
        columns_in_use = columns_behind(cells, np.isin(np.arange(len(cells)), used))
        pairs = used[used >= columns_in_use.size]
        positions = np.concatenate([np.flatnonzero(columns_in_use), pairs]).astype(np.int64)
        self.levels = TableLevels.of([cells[k] for k in positions.tolist()])
        self.picked, self.columns = np.flatnonzero(np.isin(positions, used)), tuple(columns)
        self.needed = tuple(dict.fromkeys(self.levels.column_names))
        self._position = {name: i for i, name in enumerate(self.needed)}
        self._positions = np.array([self._position[name] for name in self.levels.column_names], dtype=np.int64)

    @cached_property
    def column_levels(self) -> Sequence[FeatureLevels]:
        """Levels that distinguish the values of each needed column: the cells of its feature or, if several features
        use the column, the intervals between the cut points of all of them.
        """
        several: list[list[FeatureLevels]] = [[] for _ in self.needed]
        for level in self.levels[: self.levels.n_columns]:
            several[self._position[level.column]].append(level)
        joint: list[FeatureLevels] = []
        for levels in several:
            level = levels[0]
            if len(levels) > 1 or level.name != level.column:
                cuts = np.unique(np.concatenate([np.asarray(one.cut_points) for one in levels]))
                level = replace(level, name=level.column, cut_points=cuts, counts=None, level_score=0.0, renamed=())
            joint.append(level)
        return joint

    def read(self, table: Table) -> Table:
        """Return the columns of a table that the model needs, matched by name if the table has names.

        Raise ValueError, naming the column, if one is missing.
        """
        if not table.named:
            if table.n_columns != len(self.columns):
                raise ValueError(
                    f"The table has {table.n_columns} columns without names, the model was fitted on "
                    f"{len(self.columns)}; give the columns of the training table in their order."
                )
            table = table.read_as(self.columns, {})
        position = {name: i for i, name in enumerate(table.names)}
        if not position.keys() >= set(self.needed):
            self.check(table.names)
        return table.select([position[name] for name in self.needed])

    def check(self, names: Sequence[str]) -> None:
        """Raise ValueError, naming the columns, unless ``names`` contains all columns that the model needs."""
        existing = set(names)
        lacking = [name for name in self.needed if name not in existing]
        if lacking:
            raise ValueError(f"The table lacks {named(lacking)}, which the model needs; add the missing columns to it.")

    def code(self, table: Table, n_jobs: int | None = -1) -> tuple[np.ndarray, np.ndarray]:
        """Return the code of the row's cell for each feature, shape (n_features, n_rows), and how many rows have no
        cell, for each column in `needed`, shape (n_needed,).

        ``n_jobs`` is the number of threads; -1 uses all cores.
        """
        if not self.picked.size:
            return np.zeros((0, table.n_rows), dtype=np.uint8), np.zeros(0, dtype=np.int64)
        codes, unseen = code_columns(self.read(table), self.levels, n_jobs, self._positions)
        _, first_features = np.unique(self._positions, return_index=True)
        return codes if self.picked.size == len(self.levels) else codes[self.picked], unseen[first_features]

    def texts(self, table: Table) -> list[list[str | None]]:
        """Return the values of each feature as texts: one list of n_rows per feature, with None for missing values."""
        columns = self.read(table)
        values, of_column = [], dict[str, list[str | None]]()
        for level in (self.levels[k] for k in self.picked.tolist()):
            if isinstance(level, PairLevels):
                values.append(level.texts([columns.column(self._position[part.name]) for part in level.parts]))
                continue
            if level.column not in of_column:
                of_column[level.column] = level.texts(columns.column(self._position[level.column]))
            values.append(of_column[level.column])
        return values

    @cached_property
    def _single(self) -> list[Callable[[Mapping[str, Any]], Cell | None]]:
        """Functions, one per feature, that return the cell and the value of a row given as a dict; None if the value is
        in no cell.
        """
        readers: dict[int, _ValueReader] = {}

        def reader(level: FeatureLevels) -> _ValueReader:
            """Return the reader of a column's values; features with the same levels share one."""
            return readers.setdefault(id(level), _ValueReader(level))

        return [
            _of_pair(level, *map(reader, level.parts)) if isinstance(level, PairLevels) else reader(level)
            for level in (self.levels[k] for k in self.picked.tolist())
        ]

    def read_row(self, row: Mapping[str, Any]) -> list[Cell] | None:
        """Return the cell of each feature in one row, and the value in it, without building a table, which is much
        faster.

        Return None if the row has to be read as a table: a value is in no cell, a column is missing, or a value is
        invalid.
        """
        cells = []
        try:
            for read in self._single:
                cell = read(row)
                if cell is None:
                    return None
                cells.append(cell)
        except (KeyError, TypeError, ValueError):  # a column is missing, or a value cannot be compared
            return None
        return cells


class _ValueReader:
    """Function that returns the cell of a column's value in a row given as a dict. Results are stored for repeated
    values.
    """

    def __init__(self, level: FeatureLevels) -> None:
        self._level, self.name, self.n_levels = level, level.column, level.n_levels
        compared = level.cut_points is not None and level.type == "number" and not level.special
        self._cuts = level.cut_points.tolist() if compared and level.cut_points is not None else None
        self._missing = None if level.missing_code is None else (level.missing_code, None)
        self._cells: dict[tuple[type, Any], Cell | None] = {}

    def __call__(self, row: Mapping[str, Any]) -> Cell | None:
        """Return the code and the value of the cell that contains the row's value; None if no cell does."""
        value = row[self.name]
        if value is None or value != value:
            return self._missing
        kind = type(value)
        is_number = kind is float or (kind is int and -ALL_WHOLE < value < ALL_WHOLE)
        if self._cuts is not None and is_number and -np.inf < value < np.inf:
            return bisect_left(self._cuts, value), float(value)
        key = kind, value
        if key not in self._cells:
            if len(self._cells) >= _MAX_REMEMBERED:
                return self._read(value)
            self._cells[key] = self._read(value)
        return self._cells[key]

    def _read(self, value: Any) -> Cell | None:
        """Return the code and the value of the cell of any value, by way of a table of one value; None if no cell
        contains it.
        """
        cell = np.empty((1, 1), dtype=object)
        cell[0, 0] = value
        try:
            column = as_table(cell, feature_names=[self.name]).column(0)
            code = int(self._level.code(column, [])[0])
            return (code, self._level.texts(column)[0]) if code < self.n_levels else None
        except ValueError:  # the caller reads the row as a table, which raises a better error
            return None


def _of_pair(pair: PairLevels, first: _ValueReader, second: _ValueReader) -> Callable[[Mapping[str, Any]], Cell | None]:
    """Return a function that returns the cell of a pair in a row, given as a dict; None if there is none. ``first`` and
    ``second`` are the readers of its columns.
    """
    grid = pair.grid.tolist()

    def read(row: Mapping[str, Any]) -> Cell | None:
        """Return the code of the cell, and both values as one text; None if the pair has no cell for them."""
        one, other = first(row), second(row)
        code = pair.n_levels if one is None or other is None else grid[one[0]][other[0]]
        if code == pair.n_levels:
            return None
        texts = [text_of(cell) for cell in (one, other) if cell is not None]
        return code, ", ".join("missing" if text is None else text for text in texts)

    return read


def text_of(cell: Cell) -> str | None:
    """Return the value in a cell as text, in the form in which the model reads it; None if it is missing. ``cell`` is a
    pair of code and value.
    """
    return canonical_text(cell[1]) if isinstance(cell[1], float) else cell[1]


def is_row(X: Any, owner: str = "SelectiveNB") -> bool:
    """Return whether ``X`` is one row, given as a mapping from column names to values.

    Sparse matrices that are mappings from positions are not rows. Raise TypeError if a column of the mapping holds
    several values; the message names the class ``owner``.
    """
    if not isinstance(X, Mapping) or hasattr(X, "shape"):
        return False
    for name, value in X.items():
        if hasattr(value, "__len__") and not isinstance(value, (str, bytes)):
            raise TypeError(
                f"{owner} takes a dict for one row, but {name!r:.80} holds {type(value).__name__}; pass several rows "
                "as a dataframe, such as pandas.DataFrame(X) or polars.DataFrame(X)."
            )
    return True


def table_of(X: Any) -> Table:
    """Return rows as a `Table`, from a dataframe, an array, or a mapping from column names to the values of one row."""
    if isinstance(X, Table):
        return X
    return one_row(X) if is_row(X, "Scorecard") else as_table(X)


def one_row(row: Mapping[str, Any]) -> Table:
    """Return one row, given as a mapping from column names to values, as a `Table`."""
    cells = np.empty((1, len(row)), dtype=object)
    cells[0] = list(row.values())
    table = as_table(cells, feature_names=[*row])
    return Table([table.column(i) for i in range(table.n_columns)], 1, named=True)

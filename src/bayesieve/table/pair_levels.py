"""Levels of pairs of columns.

A *cell* is a combination of a level of the first column and a level of the second; a level of the pair is a group of
cells. The *grid* holds the level of each cell.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from bayesieve.plain_values import Finite, converted, table
from bayesieve.table.labels import cell_labels
from bayesieve.table.levels import FeatureLevels, SavedLevels, saved_levels


@dataclass(frozen=True, eq=False, repr=False)
class PairLevels(FeatureLevels):
    """Levels of a pair of columns: groups of *cells*, the combinations of a level of each column.

    Parameters
    ----------
    parts : two FeatureLevels
        Levels of both columns: those of the features of the same names or, if these have a single level, finer ones.
    grid : int array, shape (levels of the first, levels of the second)
        The level of each cell; `n_levels` if it has no training rows, so that it contributes nothing to any class.
    cells : float array, shape (levels of the first, levels of the second, n_classes)
        Training rows (or weight) per cell and class.

    Attributes
    ----------
    counts : float array, shape (n_levels, n_classes)
        Training rows (or weight) per level and class.
    n_values : int
        Number of cells with training rows.
    """

    parts: tuple[FeatureLevels, ...] = ()
    grid: np.ndarray = None  # type: ignore[assignment]
    cells: np.ndarray = None  # type: ignore[assignment]

    @classmethod
    def of(
        cls,
        parts: Sequence[FeatureLevels],
        grid: np.ndarray,
        cells: np.ndarray,
        level_score: float,
        name: str = "",
        **more: Any,
    ) -> PairLevels:
        """Return the levels of a pair of columns. The default ``name`` combines the names of both columns.

        ``parts``, ``grid``, ``cells`` and ``level_score`` are those of the class; ``more`` are further fields, such as
        ``renamed``.
        """
        name = name or pair_name(*(part.name for part in parts))
        return cls(name, "pair", "pair", level_score=level_score, parts=tuple(parts), grid=grid, cells=cells, **more)

    def __post_init__(self) -> None:
        sizes = tuple(part.n_levels for part in self.parts)
        grid, cells = np.asarray(self.grid), np.asarray(self.cells, dtype=np.float64)
        if len(sizes) != 2 or grid.shape != sizes or grid.dtype.kind not in "iu":
            raise self._invalid("the grid must hold a whole number for each level of both columns")
        if cells.ndim != 3 or cells.shape[:2] != sizes or cells.size == 0 or not (cells >= 0).all():
            raise self._invalid("cells must have one number of rows per cell and class")
        has_rows = cells.any(axis=2)
        with_rows = np.unique(grid[has_rows])
        n_levels = max(1, with_rows.size)
        if not np.array_equal(with_rows, np.arange(with_rows.size)) or grid.min() < 0 or grid.max() > n_levels:
            raise self._invalid("its levels must be 0, 1, ... and have rows")
        counts = np.zeros((n_levels + 1, cells.shape[2]))
        np.add.at(counts, grid.ravel(), cells.reshape(grid.size, -1))
        vars(self).update(grid=grid.astype(np.int64), cells=cells, counts=counts[:n_levels])
        self._check_rest(n_levels, int(np.count_nonzero(has_rows)), has_missing_level=False)

    @property
    def by_column(self) -> tuple[FeatureLevels, ...]:
        """Levels of both columns."""
        return self.parts

    def _generated_labels(self, *, full: bool) -> tuple[str, ...]:
        """Return a label for each level, such as ``"age <= 32.5 & job = c"``; with ``full``, it lists all values and
        cells.
        """
        return cell_labels(self.parts, self.grid, self.n_levels, full=full)

    @cached_property
    def _level_of_codes(self) -> np.ndarray:
        """Level of each combination of codes, unseen values included.

        The shape is (n_levels + 1 of the first column, n_levels + 1 of the second); the last row and column are for
        unseen values.
        """
        return np.pad(self.grid, ((0, 1), (0, 1)), constant_values=self.n_levels).astype(self.code_dtype)

    def codes_like(self, other: FeatureLevels) -> bool:
        """Return whether ``other``, levels of the same pair, give every row the same code as these levels."""
        if not isinstance(other, PairLevels) or not np.array_equal(self.grid, other.grid):
            return False
        return all(part.codes_like(same) for part, same in zip(self.parts, other.parts, strict=True))

    def code_parts(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the level of the pair for every row, (n_rows,), from ``first`` and ``second``, the codes (n_rows,) of
        its levels in the first and second column.
        """
        cells = np.minimum(first, self.parts[0].n_levels).astype(np.intp) * (self.grid.shape[1] + 1)
        cells += np.minimum(second, self.parts[1].n_levels)
        return self._level_of_codes.ravel()[cells]

    def code(self, column: Any, complaints: list[str] | None = None) -> np.ndarray:
        """Return the level of the pair for every row, (n_rows,), from its values in both columns.

        ``column`` is a tuple of two `Column`. ``complaints`` receives sentences about non-numeric text in numeric
        columns; None raises ValueError for it.
        """
        return self.code_parts(*(part.code(one, complaints) for part, one in zip(self.parts, column, strict=True)))

    def texts(self, column: Any) -> list[str | None]:
        """Return the values of both columns of each row as one text, such as "31, nurse"; ``column`` is a tuple of two
        `Column`.
        """
        first, second = (part.texts(one) for part, one in zip(self.parts, column, strict=True))
        return [", ".join("missing" if v is None else v for v in both) for both in zip(first, second, strict=True)]

    def to_json(self, columns: Mapping[int, str] | None = None) -> dict[str, Any]:
        """Return a dictionary of plain values for JSON.

        ``columns`` maps the `id` of levels that are saved elsewhere to the name of their column; such levels are saved
        as this name. All other levels are saved in full.
        """
        names = columns or {}
        return {
            "name": self.name,
            "parts": [names[id(part)] if id(part) in names else part.to_json() for part in self.parts],
            "grid": self.grid.tolist(),
            "cells": self.cells.tolist(),
            "level_score": self.level_score,
            **({"renamed": list(self.renamed)} if self.renamed else {}),
        }

    @classmethod
    def from_json(cls, data: Any) -> PairLevels:
        """Return the levels written by `to_json`; ValueError with one sentence for anything else."""
        with saved_levels(data, "pair"):
            return cls.of_saved(converted(data, SavedPair, "content"), (), {})

    @classmethod
    def of_saved(
        cls, saved: SavedPair, columns: Sequence[FeatureLevels], shared: dict[str, FeatureLevels]
    ) -> PairLevels:
        """Return the levels of a pair that a file holds; raise ValueError if they contradict each other.

        Parameters
        ----------
        saved : content of the file.
        columns : levels of single columns, to which parts of a saved pair may refer by name.
        shared : parts of the pairs read so far; new parts are added. Pairs with equal parts share one object, so that
            its column is coded once.
        """
        named = {level.name: level for level in columns}
        parts = []
        for part in saved.parts:
            if isinstance(part, str) and part not in named:
                raise ValueError(f"The pair {saved.name!r} is made of columns that the model does not have.")
            levels = named[part] if isinstance(part, str) else FeatureLevels.from_saved(part)
            parts.append(levels if isinstance(part, str) else shared.setdefault(repr(part), levels))
        shape = tuple(part.n_levels for part in parts)
        grid = table(saved.grid, shape, f"grid of the pair {saved.name!r}").astype(np.int64)
        width = len(saved.cells[0][0]) if saved.cells and saved.cells[0] else 0
        cells = table(saved.cells, (*shape, width), f"cells of the pair {saved.name!r}")
        return cls.of(parts, grid, cells, saved.level_score, saved.name, renamed=saved.renamed)


class SavedPair(msgspec.Struct, forbid_unknown_fields=True):
    """Content of `PairLevels.to_json`. A part is the levels of a column, or the name of a column with these levels."""

    name: str
    parts: tuple[str | SavedLevels, str | SavedLevels]
    grid: list[list[int]]
    cells: list[list[list[Finite]]]
    level_score: Finite
    renamed: tuple[str | None, ...] = ()


def pair_name(first: str, second: str) -> str:
    """Return the name of a pair, such as ``"age × job"``."""
    return f"{first} × {second}"


def unused_pair_name(first: str, second: str, taken: Collection[str], more: str = " (pair)") -> str:
    """Return the name of the pair of columns ``first`` and ``second``, with ``more`` appended as often as needed for a
    name that is not in ``taken``.
    """
    name = pair_name(first, second)
    while name in taken:
        name += more
    return name

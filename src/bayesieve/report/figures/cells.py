"""A map of the cells of two columns, coloured by what they say of the classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve.report.data import CellGrid

MOST_LEVELS = 24


@dataclass(frozen=True)
class Cell:
    """A cell: the number of its group from 1 on (None without rows), its rows, the class it favours, how much (0 to
    100)."""

    group: int | None
    rows: float
    favoured: int
    strength: float


@dataclass(frozen=True)
class CellMap:
    """Cells by the levels of both columns: the labels across, and a label and cells for each line."""

    names: tuple[str, str]
    across: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Cell, ...]], ...]
    is_cut: bool


def cell_map(grid: CellGrid, amounts: Sequence[Sequence[tuple[int, float]]], limit: float) -> CellMap:
    """The most frequent levels of both columns, in their own order.

    Parameters
    ----------
    amounts : for each level of the pair (class, nats), see `evidence_amounts`.
    limit : nats of the strongest colour.
    """
    lines = _frequent([sum(line) for line in grid.counts])
    columns = _frequent([sum(column) for column in zip(*grid.counts, strict=True)])

    def cell(i: int, j: int) -> Cell:
        code, rows = grid.levels[i][j], grid.counts[i][j]
        if code is None or not amounts[code]:
            return Cell(None if code is None else code + 1, rows, 0, 0.0)
        favoured, nats = max(amounts[code], key=lambda one: one[1])
        if len(amounts[code]) == 1 and nats < 0:  # of two classes, the first
            favoured = 0
        return Cell(code + 1, rows, favoured, round(100 * min(1.0, abs(nats) / limit), 1) if limit > 0 else 0.0)

    return CellMap(
        names=grid.names,
        across=tuple(grid.labels[1][j] for j in columns),
        lines=tuple((grid.labels[0][i], tuple(cell(i, j) for j in columns)) for i in lines),
        is_cut=len(lines) < len(grid.labels[0]) or len(columns) < len(grid.labels[1]),
    )


def _frequent(counts: Sequence[float]) -> list[int]:
    return sorted(sorted(range(len(counts)), key=lambda i: (-counts[i], i))[:MOST_LEVELS])

"""Codes of several features at once, so that their weights are counted again and again in few passes over the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from bayesieve.counts.coded import CodedTable
from bayesieve.counts.contingency import ContingencyCounts
from bayesieve.engine import Engine

_MOST_CELLS = 256  # of joint codes: a histogram of them stays in the first-level cache
_ROWS_A_CELL = 16  # in small tables, where adding up cells would take longer than passes over the rows


@dataclass(frozen=True)
class JointCodes:
    """Features of few levels in groups, whose joint codes number the combinations of their levels.

    codes : (n_groups, n_rows) unsigned, of rows that stand class after class; n_cells : (n_groups,) combinations;
    starts : (n_classes + 1,) first row of each class; margins : (levels of all features, combinations of all groups)
    sparse, 1 where a combination has a level; offsets : (n_features + 1,) where each feature starts in its lines.
    """

    codes: np.ndarray
    n_cells: np.ndarray
    starts: np.ndarray
    margins: csr_array
    offsets: np.ndarray
    engine: Engine

    @classmethod
    def of(cls, coded: CodedTable) -> JointCodes:
        """The features of a table whose rows stand class after class, each with codes of its own (no families)."""
        complete = [bool(row.max(initial=0) < n) for row, n in zip(coded.stored, coded.n_levels, strict=True)]
        n_codes = coded.n_levels + ~np.array(complete, dtype=bool)  # the last code of others is that of unseen values
        groups = _groups(n_codes, int(np.clip(coded.n_rows // _ROWS_A_CELL, 1, _MOST_CELLS)))
        codes = coded.engine.array((len(groups), coded.n_rows), coded.stored.dtype)
        offsets = np.concatenate([[0], np.cumsum(coded.n_levels)])
        cells: list[np.ndarray] = []  # of each level, where it is one of the features
        lines: list[np.ndarray] = []
        n_cells = np.array([int(np.prod(n_codes[group])) for group in groups], dtype=np.int64)
        first = np.cumsum(n_cells) - n_cells
        for position, group in enumerate(groups):
            codes[position] = 0
            steps = n_cells[position] // np.cumprod(n_codes[group])
            for k, step in zip(group, steps, strict=True):
                levels = np.arange(n_cells[position]) // step % n_codes[k]
                last = codes.dtype.type(n_codes[k] - 1)
                codes[position] += codes.dtype.type(step) * np.minimum(coded.stored[k], last)
                known = np.flatnonzero(levels < coded.n_levels[k])
                cells.append(first[position] + known)
                lines.append(offsets[k] + levels[known])
            coded.engine.visited((len(group) + 1) * codes[position].nbytes)
        at = np.concatenate(lines or [offsets[:0]]), np.concatenate(cells or [offsets[:0]])
        margins = csr_array((np.ones(at[0].size), at), shape=(int(offsets[-1]), int(n_cells.sum())))
        starts = np.searchsorted(np.asarray(coded.class_codes), np.arange(coded.n_classes + 1))
        return cls(codes, n_cells, starts, margins, offsets, coded.engine)

    def weigh(self, weights: np.ndarray, classes: np.ndarray) -> ContingencyCounts:
        """Weight of every level of every feature by class, to rounding as `CodedTable.counts` has it.

        weights : (n_rows,); classes : (n_classes,) the class to count each class of the table as.
        """
        from bayesieve.counts._kernels import weigh_sorted

        offsets, n_classes = np.concatenate([[0], np.cumsum(self.n_cells)]), int(classes.max()) + 1
        cells = np.zeros((int(offsets[-1]), n_classes))
        for bounds in self.engine.blocks(self.starts, len(self.codes) * self.codes.dtype.itemsize):
            weigh_sorted(self.codes, weights, bounds, classes, self.n_cells, offsets, cells)
        of_classes = np.array([weights[a:b].sum() for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)])
        return ContingencyCounts(self.margins @ cells, self.offsets, np.bincount(classes, of_classes, n_classes))


def _groups(n_codes: np.ndarray, most: int) -> list[np.ndarray]:
    """Positions of features, as many in a group as have at most so many combinations, those of most codes first."""
    groups: list[list[int]] = []
    n_cells = most + 1
    for k in np.argsort(-n_codes, kind="stable").tolist():
        n_cells *= int(n_codes[k])
        if n_cells > most:
            groups.append([])
            n_cells = int(n_codes[k])
        groups[-1].append(k)
    return [np.array(group) for group in groups]

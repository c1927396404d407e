"""Hashes of the rows of a table by their raw values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesieve.counts.row_hashes import RowSamples, hash_rows
from bayesieve.discretize.scan_passes import RowScatter
from bayesieve.engine import IN_MEMORY, Engine
from bayesieve.table import Rows, Table, Target
from bayesieve.table.scanned import ScannedTable


@dataclass
class RowHashes:
    """Hashes of all rows of a table by their raw values; computed once, when called.

    Parameters
    ----------
    table : columns.
    rows : classes and weights, in the order of the hashes.
    n_jobs : threads.
    known : (n_rows,) hashes that were computed already; None if not.
    engine : storage of the hashes of a scan.
    """

    table: Table
    rows: Rows
    n_jobs: int | None
    known: np.ndarray | None = None
    engine: Engine = IN_MEMORY

    def __call__(self) -> np.ndarray:
        if self.known is None and isinstance(self.table, ScannedTable):
            hashes = self.engine.array((self.table.n_rows,), np.uint64)
            for rows, block in self.table.blocks():
                RowScatter(self.rows.runs, rows).put(hash_rows(block, self.n_jobs), hashes)
                self.engine.visited(hashes[rows].nbytes)
            self.known = hashes
        elif self.known is None:
            self.known = hash_rows(self.table, self.n_jobs)
        return self.known


def drawn_from_scan(table: ScannedTable, target: Target, weights: np.ndarray | None, most: int) -> np.ndarray:
    """Return ascending positions of up to ``most`` rows, drawn by their content, which is read if need be."""
    rows = Rows(target.codes, target.classes, weights)
    return RowSamples(RowHashes(table, rows, -1), rows).drawn(most)

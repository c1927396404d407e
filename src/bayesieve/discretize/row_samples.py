"""Hashes of the rows of a table by their raw values, and samples drawn by them."""

from __future__ import annotations

import numpy as np

from bayesieve.counts.row_content import RowSamples, fingerprints
from bayesieve.discretize.scan_passes import RowScatter
from bayesieve.engine import IN_MEMORY, Engine
from bayesieve.table import Rows, Table, Target
from bayesieve.table.scanned import ScannedTable


class RowHashes:
    """Hashes of all rows of a table by their raw values, computed once, when asked for, and samples drawn by them.

    Parameters
    ----------
    table : columns.
    rows : classes and weights, in the order of the hashes.
    n_jobs : threads.
    known : (n_rows,) hashes that were computed already; None if not.
    engine : storage of the hashes of a scan.
    at_most : rows of a sample, as `RowSamples` takes it.
    """

    def __init__(
        self,
        table: Table,
        rows: Rows,
        n_jobs: int | None,
        known: np.ndarray | None = None,
        engine: Engine = IN_MEMORY,
        at_most: int | None = None,
    ) -> None:
        # Samples do not refer to this object, so that the files of a scan are deleted with the last reference to it.
        self._hashes = _LazyHashes(table, rows, n_jobs, known, engine)
        self.samples = RowSamples(self._hashes, rows, at_most)

    def __call__(self) -> np.ndarray:
        return self._hashes()


class _LazyHashes:
    """Hashes of all rows, in the order of ``rows``; computed once, when asked for, unless they are known."""

    def __init__(self, table: Table, rows: Rows, n_jobs: int | None, known: np.ndarray | None, engine: Engine) -> None:
        self._table, self._rows, self._n_jobs, self._engine, self._hashes = table, rows, n_jobs, engine, known

    def __call__(self) -> np.ndarray:
        if self._hashes is not None:
            return self._hashes
        if not isinstance(self._table, ScannedTable):
            self._hashes = fingerprints(self._table, self._n_jobs)
            return self._hashes
        self._hashes = self._engine.array((self._table.n_rows,), np.uint64)
        for rows, block in self._table.blocks():
            RowScatter(self._rows.runs, rows).put(fingerprints(block, self._n_jobs), self._hashes)
            self._engine.visited(self._hashes[rows].nbytes)
        return self._hashes


def drawn_from_scan(table: ScannedTable, target: Target, weights: np.ndarray | None, most: int) -> np.ndarray:
    """Return ascending positions of up to ``most`` rows, drawn by their content, which is read if need be."""
    return RowHashes(table, Rows(target.codes, target.classes, weights), -1).samples.drawn(most)

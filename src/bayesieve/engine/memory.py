"""Rows in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.engine.base import Engine


class InMemory(Engine):
    """Rows in memory, in one block unless ``block_rows`` are given.

    Parameters
    ----------
    block_rows : int or None, default=None
        Rows of a block.
    """

    def __init__(self, block_rows: int | None = None) -> None:
        self.block_rows = block_rows

    def array(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        return np.empty(shape, dtype)

    def ends(self, offsets: np.ndarray) -> np.ndarray:
        if self.block_rows is None:
            return offsets[-1:]
        return np.append(np.arange(offsets[0] + self.block_rows, offsets[-1], self.block_rows), offsets[-1])

    def take(self, array: np.ndarray, rows: Any) -> np.ndarray:
        return np.take(array, rows, axis=1)


IN_MEMORY = InMemory()
"""The engine of tables that were given none."""

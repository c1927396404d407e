"""Rows in this process: one block or several, visited in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import numpy as np

Block = TypeVar("Block")
Total = TypeVar("Total", float, np.ndarray)


class InMemory(Generic[Block]):
    """Blocks of rows in memory.

    Blocks read from disk or held by other processes offer the same three verbs, so that nothing above changes. Sums are
    taken in the order of the blocks: results do not depend on who computes them.
    """

    def __init__(self, blocks: Iterable[Block]) -> None:
        self.blocks = tuple(blocks)

    def reduce(self, function: Callable[..., Total], *arguments: Any) -> Total:
        """Sum of ``function(block, *arguments)`` over the blocks."""
        total = function(self.blocks[0], *arguments)
        for block in self.blocks[1:]:
            total = total + function(block, *arguments)
        return total

    def update(self, function: Callable[..., None], *arguments: Any) -> None:
        """Call ``function(block, *arguments)`` for its effect on the state that lives with each block."""
        for block in self.blocks:
            function(block, *arguments)

    def collect(self, function: Callable[..., np.ndarray], *arguments: Any) -> np.ndarray:
        """Results of ``function(block, *arguments)`` joined in row order."""
        return np.concatenate([function(block, *arguments) for block in self.blocks])

"""Blocks of rows in memory, visited in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import numpy as np

Block = TypeVar("Block")
Total = TypeVar("Total", float, np.ndarray)


class InMemory(Generic[Block]):
    """Blocks of rows in memory.

    An engine for blocks on disk or in other processes has the same two methods. Sums are taken in the order of the
    blocks, so that results are reproducible.
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
        """Call ``function(block, *arguments)`` for its effect on the state of each block."""
        for block in self.blocks:
            function(block, *arguments)

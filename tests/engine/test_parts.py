"""Parts of rows: reduce sums, update changes."""

from __future__ import annotations

import numpy as np
import pytest

from bayesieve.engine import Parts


def blocks(n_blocks: int) -> Parts[np.ndarray]:
    return Parts(part.copy() for part in np.array_split(np.arange(10.0), n_blocks))


@pytest.mark.parametrize("n_blocks", [1, 2, 3, 10])
def test_reduce_sums_over_the_blocks(n_blocks: int) -> None:
    found = blocks(n_blocks).reduce(lambda block, power: np.array([block.sum(), (block**power).sum()]), 2)
    np.testing.assert_array_equal(found, [45.0, 285.0])


@pytest.mark.parametrize("n_blocks", [1, 3])
def test_update_changes_the_state_of_every_block(n_blocks: int) -> None:
    rows = blocks(n_blocks)

    def negate(block: np.ndarray, by: float) -> None:
        block *= by

    rows.update(negate, -1.0)
    np.testing.assert_array_equal(np.concatenate(rows.states), -np.arange(10))


def test_sums_are_taken_in_the_order_of_the_blocks() -> None:
    # 1e16 + 1 - 1e16 is 0 in this order and 1 in another: results must not depend on who computes them.
    rows = Parts([np.array([1e16]), np.array([1.0]), np.array([-1e16])])
    assert rows.reduce(lambda block: block)[0] == 0.0


def test_reduce_leaves_the_state_of_the_first_block_alone() -> None:
    rows = Parts([np.zeros(2), np.ones(2)])
    np.testing.assert_array_equal(rows.reduce(lambda block: block), [1.0, 1.0])
    np.testing.assert_array_equal(rows.states[0], [0.0, 0.0])

"""The hot loops of the table package: numbers to intervals, and Python objects to codes."""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit

_BLOCK = 256
_SLOTS = 16384  # of the hash table of addresses; a power of two
MOST_OBJECTS = 4096


@jit
def code_numbers(values: np.ndarray, tree: np.ndarray, missing_code: int, codes: np.ndarray) -> None:
    """Write, for each value, the number of cut points below it; `missing_code` for NaN.

    `tree` holds the ascending cut points, filled up with +inf to one less than a power of two, so that every value
    takes the same number of halving steps. Each step runs over a block of values: without a branch on the data, the
    compiler turns it into vector compares and gathers.
    """
    position = np.empty(_BLOCK, np.int64)
    first = (tree.shape[0] + 1) >> 1
    middle = tree[first - 1]
    for start in range(0, values.shape[0], _BLOCK):
        block = values[start : start + _BLOCK]
        for j in range(block.shape[0]):
            position[j] = first if middle < block[j] else 0
        half = first >> 1
        while half > 0:
            for j in range(block.shape[0]):
                here = position[j]
                ahead = here + half
                position[j] = ahead if tree[ahead - 1] < block[j] else here
            half >>= 1
        for j in range(block.shape[0]):
            codes[start + j] = position[j] if block[j] == block[j] else missing_code


@jit
def code_addresses(addresses: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Encode a run of memory addresses: write their codes and return the first row of each distinct one.

    Gives up, returning an empty array, when there are more than `MOST_OBJECTS` distinct addresses.
    """
    keys = np.zeros(_SLOTS, np.int64)
    code_of_slot = np.empty(_SLOTS, np.int32)
    first_row = np.empty(MOST_OBJECTS, np.int64)
    n_distinct = 0
    for i in range(addresses.shape[0]):
        address = addresses[i]
        slot = ((address >> 4) * -7046029254386353131 >> 40) & (_SLOTS - 1)
        while keys[slot] != address and keys[slot] != 0:
            slot = (slot + 1) & (_SLOTS - 1)
        if keys[slot] == 0:
            if n_distinct == MOST_OBJECTS:
                return first_row[:0]
            keys[slot] = address
            code_of_slot[slot] = n_distinct
            first_row[n_distinct] = i
            n_distinct += 1
        codes[i] = code_of_slot[slot]
    return first_row[:n_distinct]

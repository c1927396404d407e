"""Compiled loops that code numbers by intervals, and Python objects by their memory addresses."""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit, read_only

_BLOCK = 256
_FEW_CUTS = 64
_SLOTS = 16384  # size of the hash table of addresses; a power of two
MOST_OBJECTS = 4096


def code_numbers(
    values: np.ndarray,
    cuts: np.ndarray,
    n_levels: np.ndarray,
    missing: np.ndarray,
    codes: np.ndarray,
    columns: np.ndarray | None = None,
) -> None:
    """Write the interval code of each value into ``codes``: the number of the feature's cut points below the value.

    Parameters
    ----------
    values : float64 array of shape (n_columns, n_rows); NaN = missing.
    cuts : ascending cut points of each feature, one feature after the other.
    n_levels : array of shape (n_features,): number of levels, one more than cut points.
    missing : array of shape (n_features,): the code of NaN for each feature; -1 for the code of values without a level.
    codes : unsigned array of shape (n_features, n_rows), overwritten.
    columns : array of shape (n_features,): the row of ``values`` with the column of each feature; None if feature i is
        column i.
    """
    columns = np.arange(len(values)) if columns is None else columns
    starts, missing = np.append(0, np.cumsum(n_levels - 1)), np.where(missing < 0, n_levels, missing)
    _code_numbers(read_only(values), columns, read_only(cuts), starts, missing, codes)


@jit
def _code_numbers(values, columns, cuts, starts, missing, codes):
    """Write the interval code of each value into ``codes``: the number of the feature's cut points below the value.

    ``values`` (n_columns, n_rows) are numbers, NaN = missing; ``columns`` (n_features,) is the row of ``values`` for
    each feature; ``cuts`` are the ascending cut points of all features, those of feature i from ``starts[i]`` on,
    ``starts`` (n_features + 1,); ``missing`` (n_features,) is the code of NaN; ``codes`` (n_features, n_rows) is
    overwritten.

    Few cut points are each compared with every value of a block of rows. Many cut points are searched by bisection:
    they are padded with +inf to one less than a power of two, so that every value takes the same number of steps. No
    branch depends on the data, so that the compiler emits vector instructions.
    """
    position = np.empty(_BLOCK, np.int64)
    for i in range(columns.size):
        first, n_cuts = starts[i], starts[i + 1] - starts[i]
        size = 1
        while size <= n_cuts:
            size *= 2
        tree = np.empty(size)
        for k in range(size):
            tree[k] = cuts[first + k] if k < n_cuts else np.inf
        for start in range(0, values.shape[1], _BLOCK):
            block, out = values[columns[i], start : start + _BLOCK], codes[i, start : start + _BLOCK]
            for j in range(block.size):
                position[j] = out[j] = 0
            if n_cuts <= _FEW_CUTS:
                for k in range(n_cuts):
                    for j in range(block.size):
                        out[j] += np.uint8(tree[k] < block[j])
            else:
                half = size >> 1
                while half > 0:
                    for j in range(block.size):
                        ahead = position[j] + half
                        position[j] = ahead if tree[ahead - 1] < block[j] else position[j]
                    half >>= 1
                for j in range(block.size):
                    out[j] = position[j]
            for j in range(block.size):
                if block[j] != block[j]:
                    out[j] = missing[i]


@jit
def code_addresses(addresses: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Code Python objects by ``addresses``, their memory addresses (n_rows,): write the code of each row into
    ``codes``, (n_rows,).

    Codes number the distinct addresses in the order of their first rows. Return the first row of each distinct object,
    (n_distinct,), or an empty array if there are more than `MOST_OBJECTS`: the caller then compares values.
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

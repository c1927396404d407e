"""The hot loop of the table package: which interval each number of a column lies in."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def code_numbers(values: np.ndarray, cut_points: np.ndarray, missing_code: int, codes: np.ndarray) -> None:
    """Write, for each value, the number of cut points below it; `missing_code` for NaN.

    Level i is (cut[i-1], cut[i]], so the code is the count of cuts strictly smaller than the value. The search halves a
    range whose length does not depend on the value, so that the loop has no branch to mispredict.
    """
    n_cuts = cut_points.shape[0]
    for i in range(values.shape[0]):
        value = values[i]
        low = 0
        length = n_cuts
        while length > 1:
            half = length >> 1
            low += half * (cut_points[low + half - 1] < value)
            length -= half
        if length == 1:
            low += cut_points[low] < value
        codes[i] = low if value == value else missing_code

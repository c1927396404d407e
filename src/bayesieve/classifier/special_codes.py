"""Numbers that stand out from all others of their column, as codes such as -999 do."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from bayesieve.table.values import HIGHEST_SPECIAL

_FEWEST_ROWS = 10  # of a code, among the rows that are looked at
_LEAST_SHARE, _LEAST_SHARE_OF_ANY = 0.002, 0.01  # of the rows: of numbers that look like codes, and of others
_MAX_SHARE = 0.5
_FEWEST_OTHERS, _FEWEST_OTHERS_OF_ANY = 3, 10  # different other values
_GAP, _GAP_OF_ANY = 0.25, 1.0  # to the other values, in ranges of these
_MAX_CODES = 4  # at one end of a column
_CODE = re.compile(r"-[789]|-?(9{2,}|8{2,}|7{2,}|9+[5678])")


class StandingOut(NamedTuple):
    """Numbers of a column that stand out, with the smallest and the largest of all others."""

    codes: tuple[float, ...]
    low: float
    high: float


def standing_out(values: np.ndarray) -> dict[int, StandingOut]:
    """Find numbers that stand out at either end of columns.

    They are far from all other values and come often: a number of nines, eights or sevens (or such as 97 and 998) from
    a gap of a quarter of the range of the others on, or if it is the only negative one; any other number from a gap as
    wide as this range on. Long tails have gaps, too, but no value comes often there.

    Parameters
    ----------
    values : (n_columns, n_rows) numbers; NaN is missing, and so are special values, which are read as numbers below all
        others.

    Returns
    -------
    dict from the position of a column to its codes
    """
    is_number = values > HIGHEST_SPECIAL
    n_numbers = is_number.sum(axis=1)
    low = np.where(is_number, values, np.inf).min(axis=1, initial=np.inf)
    high = np.where(is_number, values, -np.inf).max(axis=1, initial=-np.inf)
    often = np.maximum(_FEWEST_ROWS, _LEAST_SHARE * n_numbers)
    ends = [(values == end[:, None]).sum(axis=1) >= often for end in (low, high)]
    codes_by_column = {}
    for k in np.flatnonzero((ends[0] | ends[1]) & (low < high)).tolist():
        numbers, counts = np.unique(values[k, is_number[k]], return_counts=True)
        codes = [*_codes(numbers, counts, 1), *_codes(numbers, counts, -1)]
        others = numbers[~np.isin(numbers, codes)]
        if codes and others.size:
            codes_by_column[k] = StandingOut(tuple(sorted(map(float, codes))), float(others[0]), float(others[-1]))
    return codes_by_column


def _codes(numbers: np.ndarray, counts: np.ndarray, end: int) -> list[float]:
    """Return the codes at the upper (1) or lower (-1) end of ascending numbers, by the rows of each."""
    if end < 0:
        numbers, counts = numbers[::-1], counts[::-1]
    n_rows = counts.sum()
    for n in range(1, min(_MAX_CODES, numbers.size - 2) + 1):
        codes, others, rows = numbers[-n:], numbers[:-n], counts[-n:]
        if rows.min() < _FEWEST_ROWS or rows.sum() > _MAX_SHARE * n_rows:
            return []
        gap, width = abs(codes[0] - others[-1]), abs(others[-1] - others[0])
        is_negative = end < 0 and codes[0] < 0 <= others[-1]
        is_far = gap >= _GAP * width or is_negative
        is_often = others.size >= _FEWEST_OTHERS and rows.sum() >= _LEAST_SHARE * n_rows
        if is_far and is_often and all(map(_looks_like_code, codes.tolist())):
            return [*map(float, codes)]
        is_alone = n == 1 and gap >= _GAP_OF_ANY * width and others.size >= _FEWEST_OTHERS_OF_ANY
        if is_alone and rows.sum() >= _LEAST_SHARE_OF_ANY * n_rows:
            return [float(codes[0])]
    return []


def _looks_like_code(number: float) -> bool:
    return float(number).is_integer() and _CODE.fullmatch(str(int(number))) is not None

"""Cautions: suspicious properties of the data or of a fit, and columns that mark rows or times.

A *mark* says that a numeric column holds no measurements: it is a "counter" (rises with the row number), an
"identifier" (customer numbers) or a "date" written as a number.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from bayesieve.table.values import HIGHEST_SPECIAL

if TYPE_CHECKING:
    from bayesieve.table.columns import Table

_FEWEST_PER_ROW, _MOST_PER_ROW = 0.5, 1.5  # mean weights beyond which weights are a scale, not numbers of rows
_OURS = ("bayesieve", "sklearn")

_silent: ContextVar[bool] = ContextVar("silent", default=False)


class CautionWarning(UserWarning):
    """Warning about the data, the options or the model; ignore the category to silence all of them.

    Examples
    --------
    >>> import warnings
    >>> from bayesieve import CautionWarning
    >>> warnings.simplefilter("ignore", CautionWarning)
    """


@dataclass(frozen=True)
class Caution:
    """A suspicious property of the data or of a fit.

    Attributes
    ----------
    kind : str
        Its topic, such as ``"identifier"`` or ``"row weights"``.
    columns : tuple of str
        The columns concerned; may be empty.
    sentence : str
        The observation and the remedy.
    warns : bool
        Whether it is shown as a warning at once, or only in the report.
    """

    kind: str
    columns: tuple[str, ...]
    sentence: str
    warns: bool = True


def issue(cautions: Iterable[Caution | None]) -> None:
    """Issue a `CautionWarning` for each caution with ``warns``, at the line that called the library."""
    for caution in () if _silent.get() else cautions:
        if caution is not None and caution.warns:
            warn_caller(caution.sentence)


def warn_caller(*sentences: str) -> None:
    """Issue a `CautionWarning` for each sentence, at the line that called the library."""
    for sentence in sentences:
        warnings.warn(sentence, CautionWarning, stacklevel=_callers_level())


@contextmanager
def silenced() -> Iterator[None]:
    """Suppress `CautionWarning` in the ``with`` block, for fits on subsets of rows after a fit on all rows has issued
    them.
    """
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def _callers_level() -> int:
    """Return the ``stacklevel`` with which a warning points to the line that called this library, directly or by way of
    scikit-learn.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _OURS:
        level, frame = level + 1, frame.f_back
    return level


def weights_caution(weights: np.ndarray | None) -> Caution | None:
    """Return a caution if the mean of row weights (n_rows,), over the rows of positive weight, is far from 1; None
    otherwise, and if ``weights`` is None.
    """
    if weights is None:
        return None
    n_rows = int(np.count_nonzero(weights))
    mean = float(weights.sum()) / n_rows
    if _FEWEST_PER_ROW <= mean <= _MOST_PER_ROW:
        return None
    effect = "informative features look uninformative" if mean < 1 else "chance looks like information"
    return Caution(
        "row weights",
        (),
        f"The row weights have a mean of {mean:.3g}, so that {n_rows:,} rows count as {mean * n_rows:,.4g}: {effect}. "
        "Unless a weight is a number of repeated rows, divide the weights by their mean; SelectiveNB(normalize=True), "
        "or --normalize on the command line, does so.",
    )


Mark = Literal["counter", "identifier", "date"]

MOST_JUDGED_ROWS = 20_000
"""Largest number of rows in which numeric columns are tested."""
FEWEST_JUDGED_ROWS = 20
"""Number of rows below which values may be different by chance."""
_GLANCES = (64, 1000)  # rows of two quick tests that exclude most columns of measurements
_CELLS_AT_ONCE = 1 << 20  # values that are read at once in these tests
_MANY = 3  # largest mean number of rows per value of a counter or identifier in these tests
_MOST = 0.75  # largest share of the equal pairs, gaps or unevenness of random numbers
_EVEN = 0.15  # largest distance between the distribution of an identifier and a uniform one
_CHANCE = 1e-4  # probability that measurements are taken for counters or identifiers
_WIDEST = 1e100  # numbers of a wider range (half of it) are measurements; differences would overflow
_STEPS = 1000  # differences by which a counter is tested
_SECONDS = (6.3e8, 2.3e9)  # seconds since 1970, from 1990 to 2042
_UNITS = (1.0, 1e3, 1e6, 1e9)  # per second
_MONTHS, _DAYS = (190001, 210012), (19000101, 21001231)  # as whole numbers
_FEWEST_PERIODS = 3


def marks_of_numbers(
    table: Table, columns: Sequence[int], rows: np.ndarray, positions: np.ndarray, n_rows: int
) -> dict[int, Mark]:
    """Return the mark ("counter", "identifier" or "date") of each numeric column that has one, by position of the
    column.

    Parameters
    ----------
    table : table with all columns.
    columns : positions of the numeric columns to test.
    rows : ascending positions, in the table, of the rows to test, shape (n,).
    positions : positions of these rows among all rows used in the fit, shape (n,).
    n_rows : number of rows used in the fit.
    """
    candidates = possible_marks(table, columns, rows, n_rows)
    sample = table.select(candidates).take(rows) if candidates else table
    marks = {i: mark_of_numbers(sample.column(k).numbers(), positions) for k, i in enumerate(candidates)}
    return {i: mark for i, mark in marks.items() if mark is not None}


def possible_marks(table: Table, columns: Sequence[int], rows: np.ndarray, n_rows: int) -> list[int]:
    """Return the positions of numeric columns that may be counters, identifiers or dates, judging by up to 1,000 rows.

    They hold whole numbers. Either all are large enough to be a year with a month (202401), or many are different and
    their range is about as wide as ``n_rows``, the number of rows used in the fit, or wider. ``columns`` are the
    positions of the columns to test, and ``rows`` (n,) ascending positions of the rows to test, both in ``table``.
    """
    candidates = np.array(columns, dtype=np.int64)
    for n in _GLANCES:
        glance = rows[:: max(1, rows.size // n)][:n]
        survivors, n_at_once = [candidates[:0]], max(1, _CELLS_AT_ONCE // glance.size)
        for begin in range(0, candidates.size, n_at_once):
            batch = candidates[begin : begin + n_at_once]
            values = table.numbers(batch, glance)
            values = np.where((values > HIGHEST_SPECIAL) & (values < np.inf), values, np.nan)  # refused later
            whole = np.all((values == np.floor(values)) | np.isnan(values), axis=1)
            batch, values = batch[whole], np.sort(values[whole], axis=1)  # NaN last
            different = 1 + np.count_nonzero(values[:, 1:] > values[:, :-1], axis=1)
            share = np.mean(~np.isnan(values), axis=1)
            with np.errstate(over="ignore"):  # a range beyond all floats is wide
                width = np.nanmax(values[share > 0], axis=1, initial=-np.inf) - values[share > 0, 0]
            has_values = share > 0
            batch, different, first, share = (each[has_values] for each in (batch, different, values[:, 0], share))
            many = (_MANY * different >= glance.size * share) & (width + 1.0 >= n_rows * share / (2 * _MANY))
            survivors.append(batch[many | (first >= _MONTHS[0])])
        candidates = np.concatenate(survivors)
    return candidates.tolist()


def mark_of_numbers(values: np.ndarray, rows: np.ndarray) -> Mark | None:
    """Return whether a numeric column is a "counter", an "identifier" or a "date"; None for other columns.

    ``values`` (n,) are its numbers in ``rows`` (n,), ascending row positions; missing ones are NaN. Codes of special
    values, such as 999, are ignored.
    """
    is_ordinary = values > HIGHEST_SPECIAL
    values, rows = values[is_ordinary], rows[is_ordinary]
    if values.size < FEWEST_JUDGED_ROWS or np.any(values != np.floor(values)):
        return None
    distinct, counts = np.unique(values, return_counts=True)
    if distinct[-1] / 2 - distinct[0] / 2 > _WIDEST:
        return None
    if _are_periods(distinct) or _are_seconds(distinct):
        return "date"
    if _rises_evenly(values, rows):
        return "counter"
    return "identifier" if _are_given_out(distinct, counts) and _are_even(distinct, counts) else None


def _are_periods(distinct: np.ndarray) -> bool:
    """Return whether ascending distinct numbers (n,) are all years with months, such as 202401, or all years with
    months and days, such as 20240131.
    """
    if distinct.size < _FEWEST_PERIODS:
        return False
    for (first, last), days in ((_MONTHS, False), (_DAYS, True)):
        if first <= distinct[0] and distinct[-1] <= last:
            whole = distinct.astype(np.int64)
            month, day = (whole // 100 % 100, whole % 100) if days else (whole % 100, np.ones(whole.size))
            return bool(np.all((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)))
    return False


def _are_seconds(distinct: np.ndarray) -> bool:
    """Return whether ascending distinct numbers (n,) are all times since 1970 in one unit: seconds, milli-, micro- or
    nanoseconds.
    """
    return any(_SECONDS[0] * unit <= distinct[0] and distinct[-1] <= _SECONDS[1] * unit for unit in _UNITS)


def _rises_evenly(values: np.ndarray, rows: np.ndarray) -> bool:
    """Return whether numbers increase or decrease with the row position more evenly than sorted random numbers do.

    ``values`` (n,) are the numbers, ``rows`` (n,) their ascending row positions. Differences between neighbouring
    sorted random numbers are those of a Poisson process: the variance of a difference between two rows is its mean
    times the mean difference per row.
    """
    from scipy.special import chdtr

    n_steps = min(_STEPS, values.size // 10)
    if n_steps < FEWEST_JUDGED_ROWS // 2:
        return False
    ends = np.linspace(0, values.size - 1, n_steps + 1).astype(np.int64)
    rises, steps = np.diff(values[ends]), np.diff(rows[ends])
    pace = rises.sum() / steps.sum()
    if pace == 0.0:
        return False
    spread = float((((rises / pace - steps) ** 2) / steps).sum())
    return spread <= _MOST * n_steps and bool(chdtr(n_steps - 1, spread) < _CHANCE)


def _are_given_out(distinct: np.ndarray, counts: np.ndarray) -> bool:
    """Return whether whole numbers look assigned, like identifiers, rather than measured.

    ``distinct`` (n,) are the ascending distinct numbers, ``counts`` (n,) the number of rows of each. Counted in
    multiples of their common spacing, assigned numbers have fewer repetitions, or skip fewer numbers, than random ones
    in the same range. Measurements have more of both, because they are concentrated in part of the range.
    """
    from scipy.special import pdtr

    if distinct.size < FEWEST_JUDGED_ROWS:
        return False
    n, width = float(counts.sum()), distinct[-1] - distinct[0]
    size = width / (float(np.gcd.reduce(np.diff(distinct).astype(np.int64))) if width < 2**53 else 1.0) + 1.0
    equal, left_out = 0.5 * float(counts @ (counts - 1.0)), size - distinct.size
    by_chance = (0.5 * n * (n - 1.0) / size, size * (1.0 - 1.0 / size) ** n)
    return any(
        n_observed <= _MOST * expected and pdtr(n_observed, expected) < _CHANCE
        for n_observed, expected in zip((equal, left_out), by_chance, strict=True)
    )


def _are_even(distinct: np.ndarray, counts: np.ndarray) -> bool:
    """Return whether numbers are spread evenly over their range, or in blocks without large gaps.

    ``distinct`` (n,) are the ascending distinct numbers, ``counts`` (n,) the number of rows of each.
    """
    gaps, n = np.diff(distinct), counts.sum()
    even = (distinct - distinct[0]) / max(1.0, distinct[-1] - distinct[0])
    farthest = np.abs((np.cumsum(counts) - 0.5 * counts) / n - even).max()
    return bool(farthest < _EVEN or np.mean(gaps <= 2 * gaps.min()) > 0.5)

"""Scores of time series from two-sample tests on sliding windows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import fdtrc, fdtri, ndtr, ndtri

from bayesieve_lab.simulate.engine_series import EngineSeries
from bayesieve_lab.simulate.randomness import as_count

TESTS = ("U", "KS", "F")
"""Mann-Whitney U, two-sample Kolmogorov-Smirnov and F test; kernels identify a test by its position."""
_LARGEST = 1e150  # squares of larger values would not be finite


@dataclass(frozen=True)
class WindowScore:
    """A score of a series: a test, a window length, and a summary of the p-values at all positions of the window.

    A window of ``width`` points is cut in its middle: the first half is compared with the second. By default, the score
    is the minimum over positions of the largest p-value of ``run`` successive windows: the smallest p-value for ``run``
    = 1, while a larger ``run`` requires that the following windows confirm it. With ``kept`` = "share", it is the share
    of windows whose p-value is at most ``level``; with "longest", the largest number of successive windows of this
    kind; with "most", the largest number of them among ``run`` successive windows (or among all, if there are fewer).

    Parameters
    ----------
    test : "U" (Mann-Whitney, differences of location), "KS" (Kolmogorov-Smirnov, any difference) or "F" (ratio of
        variances).
    width : points of a window, an even number of at least 4.
    run : number of successive windows, at least 1; for "p-value" and "most" only.
    kept : "p-value", "share", "longest" or "most".
    level : p-value between 0 and 1, for all but "p-value".

    Raises
    ------
    ValueError
        If a parameter is invalid.

    Examples
    --------
    >>> WindowScore("U", 30).name, WindowScore("F", 20, run=5).name
    ('U(w=30)', 'F(w=20, 5 in a row)')
    >>> WindowScore("KS", 40, kept="share", level=0.05).name
    'share[KS(w=40)<=0.05]'
    >>> WindowScore("U", 50, run=10, kept="most", level=0.1).name
    'most of 10[U(w=50)<=0.1]'
    """

    test: str
    width: int
    run: int = 1
    kept: str = "p-value"
    level: float | None = None

    def __post_init__(self) -> None:
        if self.test not in TESTS:
            raise ValueError(f"test must be one of {', '.join(TESTS)}, got {self.test!r}.")
        as_count("run", self.run, 1)
        if as_count("width", self.width, 4) % 2:
            raise ValueError(f"width must be an even number of points, got {self.width!r}.")
        if self.kept not in ("p-value", "share", "longest", "most"):
            raise ValueError(f'kept must be "p-value", "share", "longest" or "most", got {self.kept!r}.')
        if self.kept == "p-value":
            if self.level is not None:
                raise ValueError('level belongs to kept="share", "longest" and "most"; omit it.')
        elif self.run != 1 and self.kept != "most":
            raise ValueError(f'run belongs to kept="p-value" and "most"; omit it with kept="{self.kept}".')
        elif not isinstance(self.level, Real) or isinstance(self.level, bool) or not 0 < self.level < 1:
            raise ValueError(f"level must be a p-value between 0 and 1, got {self.level!r}.")

    @property
    def name(self) -> str:
        """Short name, such as ``U(w=30)``."""
        if self.kept != "p-value":
            summary = f"most of {self.run}" if self.kept == "most" else self.kept
            return f"{summary}[{self.test}(w={self.width})<={self.level:g}]"
        confirmed = f", {self.run} in a row" if self.run > 1 else ""
        return f"{self.test}(w={self.width}{confirmed})"

    @property
    def half(self) -> int:
        """Points on each side of the cut."""
        return int(self.width) // 2


def window_p_values(values: Any, test: str, width: int) -> np.ndarray:
    """Return p-values of one test at every position of a sliding window that is cut in its middle.

    Parameters
    ----------
    values : (n_points,) one series.
    test, width : as in `WindowScore`.

    Returns
    -------
    (n_points - width + 1,) float64; the one at ``b`` compares points ``b`` to ``b + width / 2 - 1`` with the
    ``width / 2`` points after them. Empty if the series is shorter than the window.

    Raises
    ------
    ValueError
        If ``test`` or ``width`` is unknown or ``values`` is not a series of finite numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve_lab.simulate import window_p_values
    >>> step = np.r_[np.sin(np.arange(40)), 3 + np.sin(np.arange(40))]
    >>> int(np.argmin(window_p_values(step, "U", 20))) + 10  # the first point after the step
    40
    """
    from bayesieve_lab.simulate._kernels import statistics

    half = WindowScore(test, width).half
    points, offsets = _as_series([values])
    of_windows = np.empty(max(points.size - width + 1, 0))
    if of_windows.size:
        ranks, n_ranks = _dense_ranks(points, offsets)
        statistics(TESTS.index(test), points, ranks, n_ranks[0], half, of_windows)
    return p_values(test, half, of_windows)


def window_scores(series: EngineSeries | Iterable[Any], scores: Sequence[WindowScore]) -> np.ndarray:
    """Return scores of many series.

    Parameters
    ----------
    series : EngineSeries, or one-dimensional arrays of any lengths.
    scores : scores to compute; those of the same test and window share the work.

    Returns
    -------
    (n_series, n_scores) float64; NaN if a series is too short for the windows of a score. Time grows with
    points x (window length + 512) for every pair of test and window length.

    Raises
    ------
    ValueError
        If a series is not one-dimensional or holds values that are not finite numbers.

    Examples
    --------
    >>> from bayesieve_lab.simulate import WindowScore, engine_series, window_scores
    >>> window_scores(engine_series(100), [WindowScore("U", 30), WindowScore("F", 30, run=5)]).shape
    (100, 2)
    """
    from bayesieve_lab.simulate._kernels import score_series

    points, offsets = _as_series(series)
    n_series = offsets.size - 1
    columns = np.empty((n_series, len(scores)))
    if columns.size == 0:
        return columns
    ranks, n_ranks = _dense_ranks(points, offsets)
    for test, half in dict.fromkeys((score.test, score.half) for score in scores):
        family = [(k, score) for k, score in enumerate(scores) if (score.test, score.half) == (test, half)]
        runs = sorted({score.run for _, score in family if score.kept == "p-value"})
        levels = sorted({score.level for _, score in family if score.level is not None})
        spans = sorted({score.run for _, score in family if score.kept == "most"})
        criticals = np.array([critical_statistic(test, half, level) for level in levels])
        extremes = np.empty((n_series, len(runs)))
        shares, longests = np.empty((2, n_series, len(levels)))
        most = np.empty((n_series, len(levels), len(spans)))
        score_series(
            TESTS.index(test), points, ranks, n_ranks, offsets, half, np.array(runs, dtype=np.int64), criticals,
            np.array(spans, dtype=np.int64), extremes, shares, longests, most,
        )  # fmt: skip
        smallest = p_values(test, half, extremes)
        for k, score in family:
            if score.level is None:
                columns[:, k] = smallest[:, runs.index(score.run)]
            elif score.kept == "most":
                columns[:, k] = most[:, levels.index(score.level), spans.index(score.run)]
            else:
                columns[:, k] = (shares if score.kept == "share" else longests)[:, levels.index(score.level)]
    return columns


def _as_series(series: EngineSeries | Iterable[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of all series one after the other, (n_points,), and the bounds of the series, (n_series + 1,).

    Raise ValueError unless every series is one-dimensional and holds finite numbers.
    """
    if isinstance(series, EngineSeries):
        return series.values, series.offsets
    if not isinstance(series, Iterable):
        raise ValueError(f"series must be an EngineSeries or a list of arrays of numbers, not {series!r:.80}.")
    parts = []
    for i, part in enumerate(series):
        try:
            array = np.asarray(part, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"Series {i} holds values that are not numbers.") from None
        if array.ndim != 1:
            raise ValueError(f"Series {i} has {array.ndim} dimensions: give a one-dimensional array for each.")
        if not np.all(np.abs(array) < _LARGEST):  # NaN compares false
            raise ValueError(f"Series {i} has missing, infinite or huge values; fill or remove them first.")
        parts.append(array)
    offsets = np.cumsum([0, *(part.size for part in parts)], dtype=np.int64)
    return np.concatenate([np.empty(0), *parts]), offsets


def _dense_ranks(points: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ranks of points within their series, (n_points,), and the number of ranks of each series, (n_series,).

    Ranks are integers from 0, equal for equal values. ``points`` and ``offsets`` are those of `_as_series`.
    """
    owner = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    order = np.lexsort((points, owner))  # the series keep their places, their values ascend
    ascending = points[order]
    new = np.ones(ascending.size, dtype=np.int64)
    new[1:] = (ascending[1:] != ascending[:-1]) | (owner[1:] != owner[:-1])
    total = np.concatenate([[0], np.cumsum(new)])
    ranks = np.empty(ascending.size, dtype=np.int32)
    ranks[order] = total[1:] - 1 - total[offsets[:-1]][owner]
    return ranks, np.diff(total[offsets])


def p_values(test: str, half: int, statistics: np.ndarray) -> np.ndarray:
    """Return two-sided p-values of test statistics, in the shape of ``statistics``; NaN remains NaN.

    Statistics are those of `bayesieve_lab.simulate._kernels`, ``half`` the points on each side of the cut. "U": normal
    approximation with corrections for ties and continuity, as ``scipy.stats.mannwhitneyu`` with
    ``method="asymptotic"``. "KS": exact for values without ties (with ties an upper bound), as ``scipy.stats.ks_2samp``
    with ``method="exact"``. "F": exact for Gaussian values, twice the upper tail of the larger over the smaller
    variance.
    """
    if test == "U":
        return np.minimum(2.0 * ndtr(-statistics), 1.0)
    if test == "F":
        return np.minimum(2.0 * fdtrc(half - 1, half - 1, statistics), 1.0)
    missing = np.isnan(statistics)
    tails = _kolmogorov_smirnov(half)[np.where(missing, 0, statistics).astype(np.int64)]
    return np.where(missing, np.nan, tails)


def smallest_p_value(test: str, half: int) -> float:
    """Return the smallest p-value that a test can give for two samples of ``half`` points (for "U" and "KS": without
    ties).
    """
    if test == "F":
        return 0.0
    if test == "KS":
        return float(_kolmogorov_smirnov(half)[half])
    largest = (half * half - 1.0) / 2.0 / math.sqrt(half * half * (2 * half + 1) / 12.0)
    return float(p_values("U", half, np.array([largest]))[0])


def critical_statistic(test: str, half: int, level: float) -> float:
    """Return the smallest statistic of a test, for two samples of ``half`` points, whose p-value is at most
    ``level``.
    """
    if test == "U":
        return float(-ndtri(level / 2.0))
    if test == "F":
        return float(1.0 / fdtri(half - 1, half - 1, level / 2.0))  # equal sizes: 1 / F is distributed as F
    return float(np.argmax(np.append(_kolmogorov_smirnov(half), 0.0) <= level))


@lru_cache(maxsize=64)
def _kolmogorov_smirnov(half: int) -> np.ndarray:
    """Return P(D >= k / half) for k = 0 .. half, shape (half + 1,), for two samples of ``half`` points each.

    By the reflection principle (Gnedenko and Korolyuk 1951), for paths of n steps up and n down that leave the band of
    half-width k, it is 2 sum over j >= 1 of (-1)^(j - 1) C(2 n, n - j k) / C(2 n, n), computed in integers and thus
    without rounding.
    """
    steps = [1] * (half + 1)  # C(2 n, n - i), from i = n down
    for i in range(half - 1, -1, -1):
        steps[i] = steps[i + 1] * (half + i + 1) // (half - i)
    tails = [1.0]
    for k in range(1, half + 1):
        outside = sum((-1) ** (j - 1) * steps[j * k] for j in range(1, half // k + 1))
        tails.append(2 * outside / steps[0])
    table = np.array(tails)
    table.flags.writeable = False
    return table

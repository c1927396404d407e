"""Scores of the engine series and the thresholds that turn them into 814 binary indicators, in three grids.

Rabenoro et al. (2015) have 814 indicators from U, Kolmogorov-Smirnov and F tests over several window lengths and from
confirmatory scores on successive windows, and refer for the values to Rabenoro, Lacaille, Cottrell and Rossi (2014),
Anomaly detection based on indicators aggregation, IJCNN (arXiv:1407.0880). The 2015 paper names neither the window
lengths nor the levels nor the confirmatory scores one by one, so the grids are this library's own: they follow its
description, and their sizes are chosen such that they give 814 indicators as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from bayesieve_lab.simulate.engine_series import EngineSeries
from bayesieve_lab.simulate.randomness import as_count
from bayesieve_lab.simulate.window_scores import TESTS, WindowScore, smallest_p_value, window_scores

N_INDICATORS = 814
WIDTHS = (20, 30, 40, 50, 60)
RUNS = (1, 2, 5, 10, 20)
LEVELS = (1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 0.001, 0.005, 0.01, 0.05, 0.1)
CONFIRMED_LEVELS = (0.001, 0.01, 0.05, 0.1)
SHARES = (0.02, 0.05, 0.1, 0.2, 0.3)
LONGEST = (1.0, 2.0, 4.0, 9.0, 14.0, 19.0)

COARSE_WIDTHS = (30, 50)
COARSE_LEVELS = (0.005, 0.1, 0.5)
COARSE_SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
COARSE_LONGEST = tuple(map(float, range(1, 10)))
COARSE_SPANS = tuple(range(3, 10))

Grid = Literal["levels", "quantiles", "coarse"]


def engine_grid(grid: Grid = "quantiles") -> tuple[WindowScore, ...]:
    """Return the scores of a grid, in their order.

    - "levels", 135 scores: for each of three tests and windows of 20, 30, 40, 50 and 60 points the smallest p-value;
      the share of windows at or below the levels 0.001, 0.01, 0.05 and 0.1, and the longest run of such windows.
    - "quantiles", 74 scores: for each test and window length the smallest over positions of the largest p-value of 1,
      2, 5, 10 and 20 successive windows. The Kolmogorov-Smirnov test of 20 points over 20 successive windows is left
      out: of the 75 scores it takes the fewest values.
    - "coarse", 166 scores: for each test and windows of 30 and 50 points the smallest p-value; for the levels 0.005,
      0.1 and 0.5 the share of windows at or below the level, the longest run of such windows, and the most of them
      among 3 to 9 successive windows. The most of 9 of the Kolmogorov-Smirnov test at 0.5 is omitted.

    Any other name is a ValueError.

    Examples
    --------
    >>> [score.name for score in engine_grid("quantiles")[:3]]
    ['U(w=20)', 'U(w=20, 2 in a row)', 'U(w=20, 5 in a row)']
    >>> len(engine_grid("levels")), len(engine_grid("quantiles")), len(engine_grid("coarse"))
    (135, 74, 166)
    """
    pairs = [(test, width) for test in TESTS for width in (COARSE_WIDTHS if grid == "coarse" else WIDTHS)]
    if grid == "quantiles":
        scores = (WindowScore(test, width, run) for test, width in pairs for run in RUNS)
        return tuple(score for score in scores if score != WindowScore("KS", 20, 20))
    if grid == "levels":
        kinds = (("p-value", None), *((kept, level) for kept in ("share", "longest") for level in CONFIRMED_LEVELS))
        return tuple(WindowScore(test, width, kept=kept, level=level) for test, width in pairs for kept, level in kinds)
    if grid == "coarse":
        confirmed = [("share", 1), ("longest", 1), *(("most", span) for span in COARSE_SPANS)]
        coarse = [("p-value", 1, None), *((kept, run, level) for level in COARSE_LEVELS for kept, run in confirmed)]
        scores = (WindowScore(test, width, run, kept, level) for test, width in pairs for kept, run, level in coarse)
        left_out = [WindowScore("KS", width, COARSE_SPANS[-1], "most", COARSE_LEVELS[-1]) for width in COARSE_WIDTHS]
        return tuple(score for score in scores if score not in left_out)
    raise ValueError(f'grid must be "levels", "quantiles" or "coarse", got {grid!r}.')


def engine_scores(
    series: EngineSeries | Iterable[Any], *, grid: Grid = "quantiles"
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return all scores of a grid for all series.

    Parameters
    ----------
    series : EngineSeries, or one-dimensional arrays of any lengths.
    grid : "levels", "quantiles" or "coarse", see `engine_grid`.

    Returns
    -------
    scores (n_series, n_scores) float64, NaN if a series is too short for a score; names of the scores.

    Raises
    ------
    ValueError
        If the grid is unknown, or a series is not one-dimensional or holds values that are not finite numbers.

    See Also
    --------
    window_scores : with other tests, window lengths and runs.

    Examples
    --------
    >>> from bayesieve_lab.simulate import engine_scores, engine_series
    >>> scores, names = engine_scores(engine_series(100), grid="levels")
    >>> scores.shape, names[0], names[1], names[5]
    ((100, 135), 'U(w=20)', 'share[U(w=20)<=0.001]', 'longest[U(w=20)<=0.001]')
    """
    of_grid = engine_grid(grid)
    return window_scores(series, of_grid), tuple(score.name for score in of_grid)


def score_columns(scores: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the scores as named columns, ready for ``polars.DataFrame`` and ``pandas.DataFrame``.

    Parameters
    ----------
    scores : (n_series, n_scores).
    names : names of the scores, all different.

    Returns
    -------
    dict from name to column (n_series,).

    Examples
    --------
    >>> import polars as pl
    >>> from bayesieve_lab.simulate import engine_scores, engine_series, score_columns
    >>> pl.DataFrame(score_columns(*engine_scores(engine_series(100)))).shape
    (100, 74)
    """
    scores = _as_scores(scores, names)
    return {name: np.ascontiguousarray(scores[:, k]) for k, name in enumerate(names)}


def engine_thresholds(grid: Grid = "quantiles", scores: np.ndarray | None = None) -> dict[str, list[float]]:
    """Return thresholds of each score of a grid: 814 in all, each an indicator "score <= threshold".

    - "levels", fixed: p-values against 0.1, 0.05, 0.01, 0.005, 0.001, 1e-4, ..., 1e-10, as far as the test can reach
      the level with windows of that length (the asymptotic U test of 20 points never gives less than 1.8e-4); shares
      against 0.02, 0.05, 0.1, 0.2 and 0.3; longest runs against 1, 2, 4, 9, 14 and 19 windows. These are 15 pairs of
      test and window x (12 levels + 4 x (5 shares + 6 runs)) - 26 levels out of reach = 814.
    - "quantiles", from training scores: 74 x 11 quantiles = 814, see `quantile_thresholds`.
    - "coarse", fixed: p-values against 0.005, 0.1 and 0.5, shares against 0.05, 0.1, 0.2, ..., 0.7, longest runs
      against 1 to 9, the most of l successive windows against 1 to l - 2: at least k of l, 1 < k < l. These are 6 pairs
      of test and window x 3 levels x (1 + 8 + 9 + 28) - 14 = 814.

    Parameters
    ----------
    grid : "levels", "quantiles" or "coarse".
    scores : (n_series, 74) training scores of the grid; for "quantiles" only.

    Returns
    -------
    dict from name of the score to its thresholds, ascending.

    Raises
    ------
    ValueError
        If the grid is unknown, the scores do not belong to it, or there are too few training series for 814 different
        thresholds.

    Examples
    --------
    >>> thresholds = engine_thresholds("levels")
    >>> thresholds["KS(w=20)"]
    [0.0001, 0.001, 0.005, 0.01, 0.05, 0.1]
    >>> sum(len(values) for values in thresholds.values())
    814
    """
    of_grid = engine_grid(grid)
    if grid != "quantiles":
        if scores is not None:
            raise ValueError(f'The thresholds of grid="{grid}" are fixed; omit scores.')
        fixed = _level_thresholds if grid == "levels" else _coarse_thresholds
        return {score.name: fixed(score) for score in of_grid}
    if scores is None:
        raise ValueError('The thresholds of grid="quantiles" come from training scores; pass scores.')
    return quantile_thresholds(scores, [score.name for score in of_grid], total=N_INDICATORS)


def quantile_thresholds(scores: np.ndarray, names: Sequence[str], *, total: int) -> dict[str, list[float]]:
    """Return thresholds of each score at equally spaced quantiles of training scores, ``total`` in all.

    Each score has the same number of thresholds. They are distinct observed values other than the largest, because
    "score <= largest" is always true. If a score has too few values (a Kolmogorov-Smirnov statistic of n points against
    n has only n + 1), all of them are thresholds, and the other scores get more thresholds, beginning with the first
    ones.

    Parameters
    ----------
    scores : (n_series, n_scores) training scores; NaN is ignored.
    names : names of the scores.
    total : number of thresholds.

    Returns
    -------
    dict from name to ascending thresholds.

    Raises
    ------
    ValueError
        If the scores take too few different values.

    Examples
    --------
    >>> import numpy as np
    >>> quantile_thresholds(np.c_[np.arange(8.0), np.arange(8) % 2], ["fine", "coarse"], total=4)
    {'fine': [1.0, 3.0, 5.0], 'coarse': [0.0]}
    """
    scores, total = _as_scores(scores, names), as_count("total", total, 0)
    columns = [column[~np.isnan(column)] for column in scores.T]
    room = np.array([max(np.unique(column).size - 1, 0) for column in columns], dtype=np.int64)
    if room.sum() < total:
        raise ValueError(
            f"The scores of {scores.shape[0]} series have too few different values for {total} thresholds (at most "
            f"{room.sum()}); pass more training series."
        )
    numbers = _shared_out(room, total)
    return {name: _quantiles(column, count) for name, column, count in zip(names, columns, numbers, strict=True)}


def _level_thresholds(score: WindowScore) -> list[float]:
    """Return the thresholds of a score of the grid "levels", ascending."""
    if score.kept == "share":
        return list(SHARES)
    if score.kept == "longest":
        return list(LONGEST)
    smallest = smallest_p_value(score.test, score.half)
    return [level for level in LEVELS if level >= smallest]


def _coarse_thresholds(score: WindowScore) -> list[float]:
    """Return the thresholds of a score of the grid "coarse", ascending."""
    if score.kept == "most":
        return [float(k) for k in range(1, score.run - 1)]
    return list({"share": COARSE_SHARES, "longest": COARSE_LONGEST}.get(score.kept, COARSE_LEVELS))


def _shared_out(room: np.ndarray, total: int) -> np.ndarray:
    """Divide ``total`` into integers, (n,), as equally as possible; the first ones get the remainder.

    ``room`` (n,) has the largest value of each.
    """
    numbers = np.zeros(room.size, dtype=np.int64)
    while left := total - int(numbers.sum()):
        free = np.flatnonzero(numbers < room)
        numbers[free[:left]] += 1
    return numbers


def _quantiles(column: np.ndarray, count: int) -> list[float]:
    """Return ``count`` different values that occur in a column, ascending, all below its largest value.

    They are the nearest values above equally spaced quantiles.
    """
    values, frequencies = np.unique(column, return_counts=True)
    below = np.cumsum(frequencies)[:-1] / column.size if column.size else np.empty(0)
    order = np.arange(count)
    places = np.searchsorted(below, (order + 1) / (count + 1) - 1e-12)
    places = np.maximum.accumulate(places - order) + order  # one place further where two quantiles meet
    places = np.minimum(places, below.size - count + order)  # leave room for those that follow
    return [float(value) for value in values[places]]


def _as_scores(scores: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Return scores as a float array, (n_series, n_scores); ValueError unless there is one different name for each
    column.
    """
    try:
        matrix = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("scores must be a matrix of numbers, one column for each name.") from None
    if not isinstance(names, Sequence):
        raise ValueError(f"names must hold one name for each column of scores, not {names!r:.80}.")
    if matrix.ndim != 2 or matrix.shape[1] != len(names) or len(set(names)) != len(names):
        raise ValueError(
            f"scores of shape {matrix.shape} do not match {len(names)} names; pass a matrix with one column for "
            "each name, and no name twice."
        )
    return matrix

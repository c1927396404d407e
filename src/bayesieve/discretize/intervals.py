"""MODL intervals of numeric columns (Boulle 2006, as restated in Boulle 2007, section 2.3)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from bayesieve.discretize.criterion import Prior, interval_prior, log_factorials, most_parts
from bayesieve.discretize.value_counts import ValueBlocks

Method = Literal["greedy", "optimal"]

MAX_OPTIMAL_BLOCKS = 20_000
"""Blocks of distinct values up to which ``method="optimal"`` is offered (time grows with their square)."""

_EXACT_WORK = 10_000_000  # blocks^2 x classes up to which every column is solved exactly, in some 20 ms at most
_COARSE_WORK = 600_000  # the same for the intervals that merges leave of larger columns: about 1 ms
_MAX_QUEUED_BLOCKS = 4096  # beyond, neighbours are first joined in rounds down to this many


class TooManyBlocks(ValueError):
    """A column has too many distinct values for the exact search."""


def search_intervals(
    blocks: ValueBlocks, method: Method, *, prior: Prior = "published", apart: bool = False, price: float = 0.0
) -> np.ndarray:
    """Rows of ``blocks`` at which the best MODL intervals begin.

    Parameters
    ----------
    blocks : the columns, neighbours of one class joined.
    method : ``"greedy"`` (bottom-up merges, then splits and boundary moves until nothing falls; columns small enough
        are solved exactly) or ``"optimal"`` (exact).
    prior : how the cost announces intervals.
    apart : False: missing is the smallest value and may share the lowest interval. True: missing values, where there
        are any, always are an interval of their own.
    price : nats that each bound costs more.
    """
    most = int(np.diff(blocks.starts).max())
    if method != "optimal":
        most = min(most, _MAX_QUEUED_BLOCKS + 1)
    announced, intervals = blocks.announced(prior), []
    for n, total in set(zip(announced.tolist(), blocks.totals.tolist(), strict=True)):
        columns = np.flatnonzero((announced == n) & (blocks.totals == total))
        parts = min(most, int(n), most_parts(total)) if prior == "sizes" else most
        costs = interval_prior(n, parts, prior, price)
        intervals.append(_search(blocks.starts, blocks.cumulated, costs, method, columns, blocks.has_missing & apart))
    return np.sort(np.concatenate(intervals))


def search_bounds(cumulated: np.ndarray, prior: np.ndarray, method: Method) -> np.ndarray:
    """First blocks of the best intervals of one column, given the (blocks + 1, classes) cumulated class counts."""
    return _search(np.array([0, len(cumulated)]), cumulated, prior, method, np.array([0]), np.array([False]))


def _search(
    starts: np.ndarray, cumulated: np.ndarray, prior: np.ndarray, method: Method, columns: np.ndarray, apart: np.ndarray
) -> np.ndarray:
    from bayesieve.discretize._interval_kernels import exact_intervals

    n_blocks = np.diff(starts)[columns] - 1
    if method == "optimal" and n_blocks.max() > MAX_OPTIMAL_BLOCKS:
        raise TooManyBlocks(
            f"{n_blocks.max()} distinct values (neighbours of one class joined) are too many for method='optimal', "
            f"which takes at most {MAX_OPTIMAL_BLOCKS}; use method='greedy'"
        )
    table = _log_factorials(cumulated[starts[1:] - 1])
    most_work = np.iinfo(np.int64).max if method == "optimal" else _EXACT_WORK
    first = exact_intervals(columns, starts, apart, cumulated, prior, table, most_work)
    large = columns[np.diff(np.searchsorted(first, starts))[columns] == 0]
    for c in large.tolist():
        start = starts[c] + int(apart[c])
        own_prior = np.append(prior[:1], prior[2:]) if apart[c] else prior
        own = _search_greedily(cumulated[start : starts[c + 1]], own_prior)
        first = np.concatenate([first, starts[c : c + int(apart[c])], start + own])
    return first


def _search_greedily(cumulated: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """First blocks of good intervals of a column too large for the exact search."""
    from bayesieve.discretize import _interval_kernels as kernels

    n_blocks, table = len(cumulated) - 1, _log_factorials(cumulated[-1:])
    # The merges are trusted down to a few hundred intervals only: the best of their bounds are chosen exactly, then all
    # blocks have their say in the moves.
    most = int((_COARSE_WORK / cumulated.shape[1]) ** 0.5)
    coarse = kernels.merge_greedily(cumulated, table, _MAX_QUEUED_BLOCKS, most)
    chosen = np.append(coarse[search_bounds(cumulated[coarse], prior, "optimal")], n_blocks)
    # Joined blocks leave every bound a little off its place: put right first, this spares a scan of all blocks each.
    reach = 2 * n_blocks // _MAX_QUEUED_BLOCKS if n_blocks > _MAX_QUEUED_BLOCKS else 0
    return kernels.improve_bounds(cumulated, chosen, reach, prior, table)[:-1]


def _log_factorials(totals: np.ndarray) -> np.ndarray | None:
    """The table for whole class totals, (n_columns, n_classes); None for weights."""
    return None if totals.dtype == np.float64 else log_factorials(int(totals.sum(axis=1).max()) + totals.shape[1])

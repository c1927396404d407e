"""Families of indicators: all thresholds of one score as one ordered feature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesieve.counts import CodedTable, ContingencyCounts
from bayesieve.counts.families import Families
from bayesieve.discretize.class_order import ClassOrder
from bayesieve.discretize.criterion import interval_costs, level_scores as shares_saved
from bayesieve.discretize.thresholds import quantile_thresholds
from bayesieve.engine import map_in_threads
from bayesieve.table import Column, FeatureLevels, Rows
from bayesieve.table.indicator_levels import indicator_name, score_values
from bayesieve.table.levels import smallest_unsigned

_PARALLEL_ROWS = 20_000  # below, starting threads costs more than coding


def make_family(score: str, thresholds: np.ndarray) -> FeatureLevels:
    """All thresholds of a score as one ordered feature; its unseen code stands for missing scores."""
    return FeatureLevels(name=score, kind="numeric", type="number", cut_points=thresholds)


def fit_families(
    columns: Sequence[Column], settings: Sequence[np.ndarray | int], order: ClassOrder, n_jobs: int | None
) -> list[FeatureLevels]:
    def fit(i: int) -> FeatureLevels:
        thresholds = settings[i]
        if isinstance(thresholds, int):
            listed = score_values(columns[i])[order.rows]
            thresholds = quantile_thresholds(listed, order.weights, thresholds, columns[i].name)
        return make_family(columns[i].name, thresholds)

    return map_in_threads(fit, range(len(columns)), n_jobs)


def code_families(columns: Sequence[Column], families: Sequence[FeatureLevels], n_jobs: int | None) -> np.ndarray:
    """How many thresholds of each family are below the score, shape (n_families, n_rows)."""
    codes = np.empty(
        (len(families), len(columns[0])), dtype=smallest_unsigned(max(one.unseen_code for one in families))
    )

    def code(i: int) -> None:
        codes[i] = families[i].code_numbers(columns[i].read_numbers("number")[0])

    map_in_threads(code, range(len(families)), n_jobs if codes.shape[1] >= _PARALLEL_ROWS else None)
    return codes


def indicator_table(
    codes: np.ndarray, families: Sequence[FeatureLevels], n_levels: np.ndarray, rows: Rows | None = None
) -> CodedTable:
    """All indicators of these families; ``n_levels`` has an entry for each indicator."""
    sizes = np.array([one.n_levels - 1 for one in families])
    names = [indicator_name(one.name, cut) for one in families for cut in np.asarray(one.cut_points).tolist()]
    stored = Families(
        n_thresholds=sizes,
        family_of=np.repeat(np.arange(sizes.size), sizes),
        threshold_of=np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes),
    )
    return CodedTable(codes, n_levels, names, families=stored, rows=rows)


def indicator_values(coded: CodedTable) -> np.ndarray:
    """1 where the score is at most the threshold, shape (n_rows, n_indicators)."""
    return (coded.codes == 0).view(np.uint8).T


def level_scores(counts: ContingencyCounts, n_levels: np.ndarray) -> np.ndarray:
    """1 - cost / null cost of the intervals of every indicator, as other discretizers have it, for all of them at
    once: the levels are the intervals, among the rows that have a level.
    """
    whole = np.add.reduceat(counts.counts, counts.offsets[:-1])
    totals = whole.sum(axis=1)
    totals[totals == 0.0] = 1.0
    null_costs = interval_costs(whole, np.ones_like(n_levels), totals)
    return shares_saved(interval_costs(counts.counts, n_levels, totals), null_costs)

"""The MODL criteria: costs of announcing parts by two priors, and of the class labels of a part.

"published" (intervals: Boulle 2006; groups: Boulle 2005; Boulle 2007, section 2.1, cites both):
    intervals   log N + log C(N+I-1, I-1)                                    + sum_i part_i
    groups      log V + log B(V, G)                                          + sum_g part_g
"sizes", which announces how many values each part has, and for groups also which ones:
    intervals   log V + log C(V-1, I-1)                                      + sum_i part_i
    groups      log V + log C(V-1, G-1) + log(V! / (G! prod_g v_g!))         + sum_g part_g
part(N_1..N_J) = log C(N+J-1, J-1) + log(N! / prod_j N_j!)

N rows, J classes, I intervals, V distinct values (missing is one), G groups of v_g values; B(V, G) is the number of
partitions of V values into at most G groups. All costs are in nats.

In tables of many columns each part beyond the first of a column costs `price_of_cuts` more by sizes.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from scipy.special import gammaln, logsumexp

Prior = Literal["sizes", "published"]
PRIORS = ("sizes", "published")

_TABLE_LIMIT = 1 << 24  # entries (128 MiB): beyond, counts are treated as real numbers and log n! is computed each time
_MANY_COUNTS = 500  # beyond, whole counts are looked up in the table
_TOLERANCE = 1e-9  # nats
_EXACT_PARTITIONS = 25  # values up to which the numbers of partitions are summed exactly
_FREE_CUTS = 5.0  # by chance, in all columns together
_BY_CHANCE, _FALSE_SHARE = 0.1, 1.0
_table = np.zeros(0)
_table_lock = threading.Lock()


class TooManyBlocks(ValueError):
    """A column has too many distinct values for the exact search."""


def check_prior(prior: object) -> None:
    """Raise ValueError if ``prior`` is no name of one."""
    if not (isinstance(prior, str) and prior in PRIORS):
        raise ValueError(f"prior must be 'sizes' or 'published', got {prior!r}.")


def log_factorials(n: int) -> np.ndarray | None:
    """Return table of log i! for i = 0..n at least; None (compute instead) beyond 16 million rows."""
    global _table
    if n > _TABLE_LIMIT:
        return None
    with _table_lock:
        if _table.size <= n:
            # Grown by doubling, so that many small columns or growing tables do not rebuild it each time.
            size = max(1024, n + 1, min(2 * _table.size, 1 << 17))
            _table = gammaln(np.arange(1.0, size + 1.0))
        return _table


def price_of_cuts(n_columns: int, n_rows: float) -> float:
    """Return nats that each part beyond the first costs in a table of K columns and N rows: 2 log(min(K, N) / (5
    sqrt(N))), or 0 if that is negative.

    By sizes, two parts of a column with two values cost no more to announce than one. An uninformative column is
    then cut with a probability of about 1 / sqrt(N), as part costs charge log(N) / 2 for a further part: chance cuts
    min(K, N) / sqrt(N) columns, since N rows tell no more than N columns apart. Up to five are free; of more, the price
    leaves a share of exp(-price). That it starts at five and grows twice as fast as the logarithm was chosen by
    cross-validation (benchmarks/results/priors.md).
    """
    return max(0.0, 2.0 * math.log(min(n_columns, n_rows) / (_FREE_CUTS * math.sqrt(n_rows))))


def columns_cut_by_chance(gains: np.ndarray, n_rows: float, n_constant: int = 0) -> np.ndarray:
    """Return ascending positions of columns that may well be cut by chance, from the nats that the parts of each save.

    Costs are code lengths, and chance cuts an uninformative column with a probability of about 1 / sqrt(N): of K it
    makes K exp(-t) / sqrt(N) save t nats or more. A list of the k best columns that save t nats or more so has a share
    of exp(-t) K / (k sqrt(N)) by chance (Benjamini and Hochberg 1995), where K leaves out columns of one value. Unless
    that share of some list is `_BY_CHANCE` at most, all columns may be; else those after the longest list with
    `_FALSE_SHARE`.
    """
    order = np.argsort(-gains, kind="stable")
    shares = np.exp(-gains[order]) * (gains.size - n_constant) / (np.arange(1, gains.size + 1) * math.sqrt(n_rows))
    if not (shares <= _BY_CHANCE).any():
        return np.arange(gains.size)
    return np.sort(order[1 + int(np.flatnonzero(shares <= _FALSE_SHARE).max()) :])


def interval_prior(n: float, max_parts: int, prior: Prior = "published", price: float = 0.0) -> np.ndarray:
    """Return the cost in nats of announcing i intervals and their bounds, for i = 0..max_parts (0 is impossible).

    Published: log n + log C(n+i-1, i-1) among n rows; by sizes: log n + log C(n-1, i-1) among n distinct values. Each
    bound costs ``price`` more. The binomial is accumulated term by term so that no digits cancel.
    """
    i = np.arange(1, max_parts)
    costs = np.full(max_parts + 1, np.inf)
    ratios = (n - i) / i if prior == "sizes" else (n + i) / i
    costs[1:] = np.log(n) + np.concatenate([[0.0], np.cumsum(np.log(ratios))])
    costs[2:] += price * i
    return costs


def most_parts(n_rows: float) -> int:
    """Return parts up to which the prior by sizes is searched: two rows a part on average.

    With every value alone this prior is free. Parts of single rows, as identifiers have them, cost as little as a
    single part of balanced classes, and say nothing of new rows.
    """
    return max(2, int(n_rows / 2))


@lru_cache(maxsize=256)  # the grids of many pairs of columns are of few sizes
def log_partitions(n_values: int, max_groups: int) -> np.ndarray:
    """Return log B(n_values, g) for g = 0..max_groups (minus infinity at 0): partitions of the values into at most g
    groups.

    B(V, G) = sum_{i=1..G} i^V / i! * sum_{q=0..G-i} (-1)^q / q!: every term is positive, so the logarithms can be
    summed without cancellation for any V. Small V are summed exactly from Stirling numbers of the second kind.
    """
    result = np.full(max_groups + 1, -np.inf)
    if n_values <= _EXACT_PARTITIONS:
        stirling = [1] + [0] * n_values
        for _ in range(n_values):
            stirling = [0] + [stirling[g - 1] + g * stirling[g] for g in range(1, n_values + 1)]
        for g in range(1, max_groups + 1):
            result[g] = np.log(float(sum(stirling[1 : g + 1])))
    else:
        i = np.arange(1, max_groups + 1)
        alternating = np.cumsum((-1.0) ** np.arange(max_groups) * np.exp(-gammaln(np.arange(1.0, max_groups + 1.0))))
        with np.errstate(divide="ignore"):
            log_alternating = np.log(np.maximum(alternating, 0.0))
        terms = n_values * np.log(i) - gammaln(i + 1.0)
        for g in range(1, max_groups + 1):
            result[g] = logsumexp(terms[:g] + log_alternating[:g][::-1])
    result.setflags(write=False)
    return result


def group_prior(n_values: int, max_groups: int, prior: Prior = "published", price: float = 0.0) -> np.ndarray:
    """Return the cost in nats of announcing g groups of the values, for g = 0..max_groups (0 groups are impossible).

    Published: log V + log B(V, g). By sizes: log V + log C(V-1, g-1) + (g-1) price + log(V! / g!), from which log v! of
    the number of values of each group is to be taken.
    """
    if prior == "sizes":
        costs = interval_prior(n_values, max_groups, "sizes", price) + gammaln(n_values + 1.0)
        return costs - gammaln(np.arange(1.0, max_groups + 2.0))
    costs = np.log(n_values) + log_partitions(n_values, max_groups)
    costs[0] = np.inf
    return costs


def part_cost(counts: np.ndarray) -> np.ndarray:
    """Return the cost in nats of the class labels of parts with these counts, (..., n_classes).

    It is log C(n+J-1, J-1) + log(n! / prod_j n_j!).
    """
    counts = np.asarray(counts, dtype=float)
    n_classes, totals = counts.shape[-1], counts.sum(axis=-1)
    many_whole = counts.size > _MANY_COUNTS and np.array_equal(counts, np.floor(counts))
    table = log_factorials(int(totals.max()) + n_classes) if many_whole else None
    if table is not None:
        cost: np.ndarray = table[totals.astype(int) + n_classes - 1] - table[n_classes - 1]
        return cost - table[counts.astype(int)].sum(axis=-1)
    return gammaln(totals + n_classes) - gammaln(n_classes) - gammaln(counts + 1.0).sum(axis=-1)


def total_costs(counts: np.ndarray, sizes: np.ndarray, priors: np.ndarray) -> np.ndarray:
    """Return the cost in nats of the parts of several columns, one column after another.

    Parameters
    ----------
    counts : (n_parts, n_classes) class counts of all parts.
    sizes : (n_columns,) number of parts of each column.
    priors : (n_columns,) cost of announcing them.
    """
    column = np.repeat(np.arange(sizes.size), sizes)
    return priors + np.bincount(column, weights=part_cost(counts), minlength=sizes.size)


def interval_costs(
    counts: np.ndarray, sizes: np.ndarray, announced: np.ndarray, prior: Prior = "published", price: float = 0.0
) -> np.ndarray:
    """Compute `total_costs` of intervals among ``announced`` (n_columns,) rows, or distinct values with the prior by
    sizes.
    """
    priors = np.empty(announced.size)
    for n in set(announced.tolist()):
        columns = announced == n
        priors[columns] = interval_prior(n, int(sizes[columns].max()), prior, price)[sizes[columns]]
    return total_costs(counts, sizes, priors)


def level_scores(costs: np.ndarray, null_costs: np.ndarray) -> np.ndarray:
    """Return shares of the null costs that partitions save; 0 if they save nothing."""
    scores = np.zeros_like(costs)
    np.divide(costs, null_costs, out=scores, where=null_costs > 0.0)
    return np.where(null_costs > 0.0, np.maximum(0.0, 1.0 - scores), 0.0)


def pays(costs: np.ndarray, null_costs: np.ndarray | float) -> np.ndarray:
    """Return whether partitions beat the single part by more than rounding."""
    return costs < null_costs - _TOLERANCE


@dataclass(frozen=True)
class Intervals:
    """Intervals of one or several numeric columns, one column after another.

    Attributes
    ----------
    n_levels : int array, shape (n_columns,)
    cut_points : float array, shape (n_levels - 1 of all columns,)
        A first cut point of -inf separates missing values from the rest.
    counts : float array, shape (n_levels of all columns, n_classes)
    missing : int array, shape (n_columns,)
        The level of missing values; -1 if there are none.
    costs, null_costs : float arrays, shape (n_columns,)
        Of these intervals, and of a single one.
    """

    n_levels: np.ndarray
    cut_points: np.ndarray
    counts: np.ndarray
    missing: np.ndarray
    costs: np.ndarray
    null_costs: np.ndarray

    @classmethod
    def join(cls, parts: Sequence[Intervals]) -> Intervals:
        """Return the intervals of all these columns."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__dataclass_fields__))

    def select(self, columns: np.ndarray) -> Intervals:
        """Return the intervals of the marked columns, (n_columns,) bool."""
        return Intervals(
            n_levels=self.n_levels[columns],
            cut_points=self.cut_points[np.repeat(columns, self.n_levels - 1)],
            counts=self.counts[np.repeat(columns, self.n_levels)],
            missing=self.missing[columns],
            costs=self.costs[columns],
            null_costs=self.null_costs[columns],
        )

    @property
    def level_scores(self) -> np.ndarray:
        """Share of the null cost that the intervals of each column save, (n_columns,)."""
        return level_scores(self.costs, self.null_costs)


@dataclass(frozen=True)
class Groups:
    """Groups of the values of one categorical column: positions of the values of each, class counts and costs."""

    groups: tuple[np.ndarray, ...]
    counts: np.ndarray
    cost: float
    null_cost: float

    def as_intervals(self) -> Intervals:
        """Return the number of levels and costs, without cut points and counts."""
        return Intervals(
            n_levels=np.array([len(self.groups)]),
            cut_points=np.zeros(0),
            counts=self.counts[:0],
            missing=np.array([-1]),
            costs=np.array([self.cost]),
            null_costs=np.array([self.null_cost]),
        )

    @property
    def level_score(self) -> float:
        """Share of the null cost that the groups save."""
        return max(0.0, 1.0 - self.cost / self.null_cost) if self.null_cost > 0.0 else 0.0


def summed(values: np.ndarray, line: np.ndarray, n: int | None = None) -> np.ndarray:
    """Return sums of the lines of ``values`` that go to each of ``n`` places, or of as many as ``line`` names."""
    sums = np.zeros((int(line.max()) + 1 if n is None else n, *values.shape[1:]), dtype=values.dtype)
    np.add.at(sums, line, values)
    return sums

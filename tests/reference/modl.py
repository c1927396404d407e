"""The published MODL costs and their exact optima: intervals, Boullé (2006), Machine Learning 65; groups of values,
Boullé (2005), JMLR 6. They are the preprocessing of Boullé (2007), JMLR 8.

With ``prior="sizes"``, parts are announced by how many distinct values each of them has.

A *part* is an interval or a group, given by its counts per class. A *table* is a sequence of parts.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence

import numpy as np

Part = tuple[int, ...]


@functools.cache
def part_cost(part: Part) -> float:
    """log C(N_i + J - 1, J - 1) + log(N_i! / prod_j N_ij!), from exact integers."""
    n, n_classes = sum(part), len(part)
    labelings = math.factorial(n) // math.prod(math.factorial(count) for count in part)
    return math.log(math.comb(n + n_classes - 1, n_classes - 1)) + math.log(labelings)


def part_cost_lgamma(part: Sequence[float]) -> float:
    """The same by the log-gamma function, which also takes the fractional counts of weighted rows."""
    n, n_classes = sum(part), len(part)
    return math.lgamma(n + n_classes) - math.lgamma(n_classes) - sum(math.lgamma(count + 1) for count in part)


def interval_cost(table: Sequence[Sequence[int]]) -> float:
    """log N + log C(N + I - 1, I - 1) + the cost of each interval."""
    n, n_intervals = sum(map(sum, table)), len(table)
    prior = math.log(n) + math.log(math.comb(n + n_intervals - 1, n_intervals - 1))
    return prior + math.fsum(part_cost(tuple(part)) for part in table)


@functools.cache
def stirling_second(n: int, k: int) -> int:
    """S(n, k): the ways to partition n values into exactly k groups."""
    row = [1] + [0] * k  # S(0, 0..k)
    for _ in range(n):
        row = [0] + [q * row[q] + row[q - 1] for q in range(1, k + 1)]
    return row[k]


def log_bell(n_values: int, n_groups: int) -> float:
    """log B(V, G), B(V, G) = sum_{q=1..G} S(V, q): the ways to partition V values into at most G groups."""
    return math.log(sum(stirling_second(n_values, q) for q in range(1, n_groups + 1)))


def sizes_cost(table: Sequence[Sequence[int]], sizes: Sequence[int], *, ordered: bool) -> float:
    """log V + log C(V - 1, I - 1) + the cost of each part, and without an order log(V! / (I! prod v_i!)), from exact
    integers; V is the sum of the sizes.
    """
    n_values, n_parts = sum(sizes), len(sizes)
    ways = math.comb(n_values - 1, n_parts - 1)
    if not ordered:
        ways *= math.factorial(n_values) // math.prod(map(math.factorial, sizes))
    prior = math.log(n_values) + math.log(ways) - (0.0 if ordered else math.log(math.factorial(n_parts)))
    return prior + math.fsum(part_cost(tuple(part)) for part in table)


def group_cost(table: Sequence[Sequence[int]], n_values: int) -> float:
    """log V + log B(V, G) + the cost of each group."""
    prior = math.log(n_values) + log_bell(n_values, len(table))
    return prior + math.fsum(part_cost(tuple(part)) for part in table)


def optimal_intervals(counts: Sequence[Sequence[int]], prior_name: str = "published") -> tuple[float, list[int]]:
    """The cheapest intervals over the distinct values in ascending order, by dynamic programming: their cost and, for
    each interval, the number of distinct values up to its end. ``counts`` are those of the rows, (values, classes).
    """
    counts = np.asarray(counts, dtype=np.int64)
    n_values, n_classes = counts.shape
    n = int(counts.sum())
    log_factorial = np.array([math.lgamma(i + 1) for i in range(n + n_classes)])
    up_to = np.vstack([np.zeros(n_classes, dtype=np.int64), np.cumsum(counts, axis=0)])

    # part[a, b] is the cost of the interval that holds the values a..b-1.
    part = np.full((n_values + 1, n_values + 1), np.inf)
    for a in range(n_values):
        table = up_to[a + 1 :] - up_to[a]
        part[a, a + 1 :] = (
            log_factorial[table.sum(axis=1) + n_classes - 1]
            - log_factorial[n_classes - 1]
            - log_factorial[table].sum(axis=1)
        )

    def prior(n_intervals: int) -> float:
        if prior_name == "sizes":
            return math.log(n_values) + math.log(math.comb(n_values - 1, n_intervals - 1))
        return math.log(n) + math.log(math.comb(n + n_intervals - 1, n_intervals - 1))

    cheapest = part[0].copy()  # cheapest[b]: the values 0..b-1 cut into exactly k intervals; here k = 1
    starts: list[np.ndarray] = [np.zeros(n_values + 1, dtype=np.int64)]
    best_cost, best_k = prior(1) + cheapest[n_values], 1
    for k in range(2, n_values + 1):
        if prior(k) >= best_cost and prior_name == "published":  # the intervals themselves never cost less than 0
            break
        extended = cheapest[:, None] + part
        starts.append(extended.argmin(axis=0))
        cheapest = extended.min(axis=0)
        if prior(k) + cheapest[n_values] < best_cost:
            best_cost, best_k = prior(k) + cheapest[n_values], k

    ends = [n_values]
    for k in range(best_k - 1, 0, -1):
        ends.append(int(starts[k][ends[-1]]))
    return float(best_cost), ends[::-1]


def set_partitions(n_values: int) -> Iterator[list[list[int]]]:
    """Every partition of the values 0..n_values-1 into groups."""
    if n_values == 0:
        yield []
        return
    last = n_values - 1
    for partition in set_partitions(last):
        for i, group in enumerate(partition):
            yield [*partition[:i], [*group, last], *partition[i + 1 :]]
        yield [*partition, [last]]


def group_table(counts: Sequence[Sequence[int]], groups: Sequence[Sequence[int]]) -> list[Part]:
    """The counts per class of each group of values."""
    return [tuple(sum(column) for column in zip(*(counts[v] for v in group), strict=True)) for group in groups]


def optimal_groups(counts: Sequence[Sequence[int]], prior_name: str = "published") -> tuple[float, list[list[int]]]:
    """The cost and the values of the cheapest groups, by trying every partition: affordable up to about 10 values."""
    counts = [tuple(int(count) for count in value) for value in counts]
    priors = [math.log(len(counts)) + log_bell(len(counts), g) for g in range(1, len(counts) + 1)]

    @functools.cache
    def cost_of(group: tuple[int, ...]) -> float:
        return part_cost(group_table(counts, [group])[0])

    def total(groups: list[list[int]]) -> float:
        sizes = [len(group) for group in groups]
        prior = sizes_cost([], sizes, ordered=False) if prior_name == "sizes" else priors[len(sizes) - 1]
        return prior + math.fsum(cost_of(tuple(group)) for group in groups)

    costs = ((total(groups), groups) for groups in set_partitions(len(counts)))
    return min(costs, key=lambda found: found[0])

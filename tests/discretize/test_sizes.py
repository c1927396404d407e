"""Intervals and groups by the prior of sizes against their exact optima."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bayesieve import MODLDiscretizer, MODLGrouper, TableEncoder
from bayesieve.discretize.modl import group_values
from tests import golden
from tests.cases import mostly_slow
from tests.discretize.columns import columns, counts_of, intervals_of
from tests.discretize.test_grouping import tables
from tests.reference import modl

COST = 1e-8


@pytest.mark.parametrize("method", ["optimal", "greedy"])
@pytest.mark.parametrize("name", golden.MODL_TABLES)
def test_golden_costs(name: str, method: Any) -> None:
    exact, compared = golden.values("sizes_exact", name)["variables"], set[str]()
    for kind, make in (("numeric", MODLDiscretizer), ("categorical", MODLGrouper)):
        frame = golden.frame(name, kind)
        frame = frame[[column for column in frame.columns if column in exact]]
        if frame.empty:
            continue
        found = make(method=method, prior="sizes").fit(frame, golden.target(name))
        for attribute, key in (("costs_", "cost"), ("null_costs_", "null_cost")):
            values = dict(zip(frame.columns, getattr(found, attribute).tolist(), strict=True))
            expected = {column: exact[column][key] for column in frame.columns}
            assert values == pytest.approx(expected, rel=0, abs=COST)
        compared |= set(frame.columns)
    assert compared == set(exact)


@given(columns())
def test_intervals_are_exact(column: tuple[np.ndarray, np.ndarray, int]) -> None:
    # More than one interval for every two rows is not looked for: an identifier would be cut between all rows.
    values, codes, n_classes = column
    counts = counts_of(values, codes, n_classes)
    best, ends = modl.optimal_intervals(counts, "sizes")
    for method in ("optimal", "greedy"):
        found = intervals_of(values, codes, n_classes, method=method, prior="sizes")
        assert found.cost >= best - COST
        if len(ends) <= values.size // 2:
            assert found.cost == pytest.approx(best, abs=COST)
        starts = [0, *np.searchsorted(np.unique(np.where(np.isnan(values), -np.inf, values)), found.cut_points)]
        sizes = np.diff([*starts, len(counts)]).tolist()
        assert found.cost == pytest.approx(modl.sizes_cost(found.counts.astype(int).tolist(), sizes, ordered=True))


@given(tables())
def test_groups_are_exact(counts: np.ndarray) -> None:
    best, groups = modl.optimal_groups(counts.tolist(), "sizes")
    for method in ("optimal", "greedy"):
        found = group_values(counts, method=method, prior="sizes")
        assert found.cost >= best - COST
        if len(groups) <= counts.sum() // 2:
            assert found.cost == pytest.approx(best, abs=COST)
        sizes = [group.size for group in found.groups]
        assert found.cost == pytest.approx(modl.sizes_cost(found.counts.astype(int).tolist(), sizes, ordered=False))
        assert found.null_cost == pytest.approx(
            np.log(len(counts)) + modl.part_cost(tuple(counts.sum(axis=0).tolist()))
        )


def test_greedy_groups_of_more_values_are_nearly_always_the_best() -> None:
    rng, missed = np.random.default_rng(3), 0
    for _ in range(12):
        kinds = rng.dirichlet(np.ones(3), size=3)
        lines = [rng.multinomial(rng.integers(1, rng.choice([10, 200])), kinds[rng.integers(3)]) for _ in range(10)]
        counts = np.array(lines, dtype=np.int32)
        found, best = (group_values(counts, method=m, prior="sizes").cost for m in ("greedy", "optimal"))
        assert best - COST <= found <= best * 1.001
        missed += found > best + 1e-6
    assert missed <= 1


def test_rare_values_are_caught_by_one_group() -> None:
    # 50 of 1,000 values say something; as many rare ones are as extreme by chance.
    rng = np.random.default_rng(0)
    frequent = [rng.multinomial(80, [0.9, 0.1] if v % 2 else [0.2, 0.8]) for v in range(50)]
    rare = [rng.multinomial(6, [0.5, 0.5]) for _ in range(950)]
    counts = np.array([*frequent, *rare], dtype=np.int32)
    groups = group_values(counts, prior="sizes").groups
    assert len(group_values(counts).groups) < len(groups) == 3
    caught = max(groups, key=len)
    assert (caught >= 50).sum() > 900
    for parity in (0, 1):
        assert any(np.isin(np.arange(2 + parity, 50, 2), group).mean() > 0.9 for group in groups)


def test_identifiers_say_nothing() -> None:
    y = np.arange(200) % 2
    ids = np.array([f"row {i}" for i in range(200)], dtype=object)[:, None]
    assert len(MODLGrouper(prior="sizes").fit(ids, y).groups_[0]) == 1
    assert MODLDiscretizer(prior="sizes").fit(np.arange(50.0)[:, None], y[:50]).cut_points_[0].size == 0


@given(columns(max_rows=30), st.integers(0, 2**32 - 1))
def test_values_are_counted_whatever_their_weights(column: tuple[np.ndarray, np.ndarray, int], seed: int) -> None:
    values, codes, n_classes = column
    weights = np.random.default_rng(seed).integers(0, 4, values.size)
    weights[0] = 1
    weighted = intervals_of(values, codes, n_classes, weights.astype(float), prior="sizes")
    repeated = intervals_of(np.repeat(values, weights), np.repeat(codes, weights), n_classes, prior="sizes")
    assert weighted.cost == pytest.approx(repeated.cost, abs=COST)
    half = intervals_of(values, codes, n_classes, weights / 2, prior="sizes")
    n_values = np.unique(values[weights > 0]).size
    null = modl.part_cost_lgamma(np.bincount(codes, weights / 2, n_classes))
    assert half.null_cost == pytest.approx(np.log(n_values) + null, abs=COST)


def test_cuts_cost_more_in_tables_of_many_columns() -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 400)
    noise = rng.integers(0, 2, (400, 1000)).astype(float)
    noise[:, 0] = np.where(rng.random(400) < 0.2, 1 - y, y)
    few, many = (TableEncoder().fit(noise[:, :n], y).level_scores_ for n in (40, 1000))
    alone = MODLDiscretizer().fit(noise, y)
    assert few.tolist() == alone.level_scores_[:40].tolist()
    price = 2 * np.log(400 / (5 * np.sqrt(400)))  # no more than as many columns as rows
    pays = alone.costs_ + price < alone.null_costs_ - 1e-9
    assert (many > 0).tolist() == pays.tolist()
    assert many[0] == pytest.approx(1 - (alone.costs_[0] + price) / alone.null_costs_[0])
    assert 1 <= pays.sum() <= 3 < np.count_nonzero(alone.level_scores_)
    as_text = TableEncoder(kinds={f"x{i}": "categorical" for i in range(1000)}).fit(noise, y).level_scores_
    assert as_text.tolist() == pytest.approx(many.tolist())


@pytest.mark.parametrize(
    ("n_classes", "n_cells", "weighted"),
    mostly_slow(
        product([2, 5], [12, 60, 300], [False, True]),
        [(2, 12, False), (5, 12, True), (2, 60, True), (5, 60, False), (2, 300, False)],
    ),
)
def test_a_search_for_useful_groups_finds_those_that_are(n_cells: int, n_classes: int, weighted: bool) -> None:
    """Two features each with an effect; the less they interact, the less groups of their cells save."""
    ended = 0
    for seed, strength in enumerate([0.0, 0.0, 0.3, 1.0, 2.0]):
        rng = np.random.default_rng(seed)
        shares = np.exp(rng.normal(size=(n_cells, n_classes)) * strength)
        rows = rng.poisson(200.0, n_cells)
        counts = np.array(
            [rng.multinomial(n, p) for n, p in zip(rows, shares / shares.sum(1, keepdims=True), strict=True)]
        )
        counts = counts * 1.5 if weighted else counts.astype(np.int32)
        best = group_values(counts, prior="sizes")
        saved = best.null_cost - best.cost
        for least in (saved - 1.0, saved + 1.0, saved + 500.0):
            groups = group_values(counts, prior="sizes", least=least)
            assert groups.cost == pytest.approx(best.cost, abs=1e-9) or saved < least
            ended += groups.cost > best.cost
    assert ended > 0

"""Rows of many classes by their joint probabilities, against rows by the ratios of two classes each."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from bayesieve import TableEncoder
from bayesieve.counts import CodedTable
from bayesieve.criteria.base import RowJoints, RowRatios
from bayesieve.discretize.coding_options import CodingOptions
from bayesieve.engine import Engine
from bayesieve.search import SearchState, SubsetProblem
from tests.cases import mostly_slow
from tests.limits import Limits


def coded_table(n_classes: int, *, weights: bool = False, block_rows: int | None = None) -> CodedTable:
    rng = np.random.default_rng(n_classes)
    y = rng.integers(0, n_classes, 1500)
    columns = {f"x{k}": rng.normal(size=1500) + 3.0 * y * (k < 4) / n_classes for k in range(6)}
    columns |= {"word": rng.choice(list("abcdefgh"), 1500), "odd": np.where(y % 2, "u", rng.choice(["u", "v"], 1500))}
    by_weight = rng.choice([0.5, 1.0, 3.0], 1500) if weights else None
    return TableEncoder().fit_transform_coded(pl.DataFrame(columns), y, by_weight, CodingOptions(Engine(block_rows)))


def costs_of_a_walk(coded: CodedTable, limits: Limits, many: int) -> np.ndarray:
    limits(many_classes=many)
    problem = SubsetProblem.of(coded)
    state, random = SearchState(problem), np.random.default_rng(0)
    rows = state._guide._state
    assert isinstance(rows, RowJoints if coded.n_classes >= many else RowRatios)
    costs = [state.cost, problem.objective.rows.tables.log_reach, *problem.objective.rows.tables.bounds]
    for _ in range(100):  # more than before probabilities are taken from logarithms again
        costs += state.candidates(problem.candidates).tolist()
        state.flip(int(random.choice(problem.candidates)))
        costs.append(state._guide.current(state.n_selected))
    state.go_to(np.ones(len(problem.names), dtype=bool))
    costs.append(state.cost)
    state.reset()
    return np.array([*costs, state.cost, *state.add_all(problem.candidates)])


@pytest.mark.parametrize(
    ("n_classes", "weights"), mostly_slow([(3, False), (30, False), (30, True)], [(3, False), (30, True)])
)
def test_costs_are_those_of_ratios(n_classes: int, weights: bool, limits: Limits) -> None:
    coded = coded_table(n_classes, weights=weights)
    found, wanted = (costs_of_a_walk(coded, limits, many) for many in (2, 1000))
    np.testing.assert_allclose(found, wanted, rtol=1e-11)


def test_costs_do_not_depend_on_blocks(limits: Limits) -> None:
    whole, blocks = (costs_of_a_walk(coded_table(3, block_rows=rows), limits, 2) for rows in (None, 512))
    np.testing.assert_array_equal(whole, blocks)


def test_tables_of_two_classes_each_are_made_when_they_are_needed(limits: Limits) -> None:
    coded = coded_table(30)
    made = []
    for many in (2, 1000):
        limits(many_classes=many)
        tables = SubsetProblem.of(coded).objective.rows.tables
        features = np.array([0, 2])
        made.append(
            (*tables.gather_steps(features), *tables.gather(features, np.array([True, False])), tables.log_unit)
        )
    for lazy, eager in zip(*made, strict=True):
        np.testing.assert_array_equal(lazy, eager)


@pytest.mark.slow
def test_tables_of_many_classes_do_not_grow_with_their_square() -> None:
    """20,000 levels x 300 classes: tables of two classes each would take 13 TiB."""
    rng = np.random.default_rng(0)
    coded = CodedTable(
        rng.integers(0, 20_000, (1, 2000)).astype(np.uint16),
        np.array([20_000]),
        ["a"],
        class_codes=np.arange(2000, dtype=np.uint16) % 300,
        classes=np.arange(300),
    )
    state = SubsetProblem.of(coded).state()
    assert np.isfinite(state.candidates(np.array([0]))).all()

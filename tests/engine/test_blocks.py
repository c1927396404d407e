"""Blocks of rows: the same bits however the rows of a table are cut."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from bayesieve import DiscreteNB
from bayesieve.counts import CodedTable
from bayesieve.criteria import RowLoss, make_criterion
from bayesieve.engine import Engine, Mapped
from bayesieve.search import SearchState, SubsetProblem
from tests.cases import mostly_slow
from tests.criteria.coded_tables import coded_table
from tests.limits import Limits


class CutAt(Engine):
    """Blocks that end at given rows."""

    def __init__(self, *ends: int) -> None:
        super().__init__(min(ends, default=None))
        self._ends = ends
        self.n_blocks = 0

    def blocks(self, offsets: np.ndarray, row_bytes: int = 0) -> Iterable[np.ndarray]:
        inside = [end for end in sorted(self._ends) if offsets[0] < end < offsets[-1]]
        return self._cut(offsets, np.array(inside, dtype=np.int64), row_bytes) if inside else (offsets,)

    def release(self, n_bytes: int) -> None:
        self.n_blocks += 1


def moved_to(coded: CodedTable, engine: Engine) -> CodedTable:
    return CodedTable(coded.codes, coded.n_levels, coded.names, rows=coded.rows, engine=engine)


class Spherical(RowLoss):
    name = "spherical"
    lower_is_better = False

    def losses(self, probability: np.ndarray, true_class: int) -> np.ndarray:
        return probability[true_class] / np.sqrt((probability**2).sum(axis=0))


CRITERIA: list[Any] = [
    "map", "log_loss", "error", "error_probability", "brier", "balanced_error", "auc", "recall", Spherical()
]  # fmt: skip


def costs_of(coded: CodedTable, criterion: Any, moves: list[int], leave_out: bool) -> list[Any]:
    if criterion == "recall":
        from bayesieve.criteria import Recall

        criterion = Recall(0)
    made = make_criterion(criterion, coded.n_features, coded.classes)
    state = SearchState(SubsetProblem.of(coded, criterion=made), leave_out=leave_out)
    every = np.arange(coded.n_features)
    costs: list[Any] = [state.cost, *state.candidates(every)]
    for move in moves:
        state.flip(move)
        costs += [state.cost, *state.candidates(every)]
    return costs


@pytest.mark.parametrize(
    "criterion", CRITERIA, ids=lambda criterion: criterion if isinstance(criterion, str) else criterion.name
)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_costs_are_the_same_bits(criterion: Any, data: st.DataObject) -> None:
    n_rows = data.draw(st.integers(8, 6000))
    n_classes = data.draw(st.integers(2, 4))
    seed = data.draw(st.integers(0, 99))
    weights = np.random.default_rng(seed).integers(0, 9, n_rows) / 4 + 0.25 if data.draw(st.booleans()) else None
    levels = data.draw(st.sampled_from([None, 2, 9]))
    options = {} if levels is None else {"n_levels": levels}
    coded = coded_table(seed, n_rows, 5, n_classes, strength=3.0, weights=weights, unseen=0.1, **options)
    ends = data.draw(st.lists(st.integers(1, n_rows), max_size=6, unique=True))
    moves = data.draw(st.lists(st.integers(0, 4), max_size=6))
    leave_out = data.draw(st.booleans())
    expected = costs_of(coded, criterion, moves, leave_out)
    found = costs_of(moved_to(coded, CutAt(*ends)), criterion, moves, leave_out)
    np.testing.assert_array_equal(found, expected)


@given(data=st.data())
def test_counts_are_the_same_bits(data: st.DataObject) -> None:
    n_rows = data.draw(st.integers(1, 3000))
    weights = np.random.default_rng(n_rows).random(n_rows) if data.draw(st.booleans()) else None
    coded = coded_table(n_rows, n_rows, 4, 3, weights=weights, unseen=0.1)
    engine = CutAt(*data.draw(st.lists(st.integers(1, n_rows), max_size=6)))
    for one, other in ((coded, moved_to(coded, engine)), (coded.by_class, moved_to(coded.by_class, engine))):
        np.testing.assert_array_equal(other.counts.counts, one.counts.counts)
        np.testing.assert_array_equal(other.counts.class_counts, one.counts.class_counts)
        blocks = list(other.blocks)
        np.testing.assert_array_equal(np.concatenate([block.codes for block in blocks], axis=1), one.codes)
        np.testing.assert_array_equal(np.concatenate([block.class_codes for block in blocks]), one.class_codes)


def test_rows_are_walked_block_by_block() -> None:
    engine = CutAt(512, 1024, 1536)
    coded = moved_to(coded_table(1, 4000, 5, 2), engine)
    assert coded.counts.total == 4000
    n_blocks = engine.n_blocks
    assert n_blocks >= 3
    SearchState(SubsetProblem.of(coded)).candidates(np.arange(5))
    assert engine.n_blocks > n_blocks + 6


def test_blocks_end_at_the_grain_of_the_kernels() -> None:
    offsets = np.array([0, 700, 700, 3000])
    cut = [bounds.tolist() for bounds in CutAt(600, 1300, 2900).blocks(offsets)]
    assert cut == [[0, 512, 512, 512], [512, 700, 700, 1212], [1212, 1212, 1212, 2748], [2748, 2748, 2748, 3000]]
    assert next(bounds.tolist() for bounds in Engine(1000).blocks(offsets)) == [0, 700, 700, 700]
    assert next(iter(Engine().blocks(offsets))) is offsets


@pytest.mark.parametrize("n_used", [5, 2])
def test_predictions_are_the_same_bits(n_used: int) -> None:
    coded = coded_table(4, 3000, 5, 3, unseen=0.1)
    model = DiscreteNB(feature_weights=np.arange(5) < n_used).fit(coded)
    engine = CutAt(700, 1100, 2900)
    joint = model.predict_joint_log_proba(moved_to(coded, engine))
    np.testing.assert_array_equal(joint, model.predict_joint_log_proba(coded))
    assert engine.n_blocks == 4


def test_take_any_rows() -> None:
    coded = coded_table(3, 50, 4, 2)
    rows = np.array([4, -1, 4, 0])
    np.testing.assert_array_equal(moved_to(coded, CutAt(10)).take(rows).codes, coded.codes[:, rows])


@pytest.mark.parametrize("criterion", ["map", "error", "error_probability", "brier", "auc"])
@pytest.mark.parametrize(
    ("weighted", "mapped"), mostly_slow(product([False, True], [False, True]), [(True, False), (False, True)])
)
def test_rows_left_out_and_ratios_out_of_range(
    criterion: str, weighted: bool, mapped: bool, tmp_path: Path, limits: Limits
) -> None:
    """Which rows leave the scan, and when ratios are rescaled, is decided over all blocks, cut or in files."""
    limits(bytes_in_memory=0)
    n_features = 20 if criterion == "auc" else 90
    weights = np.random.default_rng(0).random(3000) if weighted else None
    coded = coded_table(2, 3000, n_features, 3, strength=1.0, weights=weights, n_levels=4).by_class
    engine = Mapped(tmp_path, 700, 1 << 14) if mapped else CutAt(600, 1100, 1300, 2500)
    table = moved_to(coded, engine)
    made = make_criterion(criterion, coded.n_features, coded.classes)
    one, other = (
        SearchState(SubsetProblem.of(rows, criterion=made), leave_out=True, n_jobs=1 + mapped)
        for rows in (coded, table)
    )
    every = np.arange(n_features)
    for step, move in enumerate([*range(0, n_features, 2), 3, 4, *range(0, n_features, 3)]):
        one.flip(move)
        other.flip(move)
        assert other.cost == one.cost
        if step % 10 == 0:
            np.testing.assert_array_equal(other.candidates(every), one.candidates(every))
    if criterion == "map":
        np.testing.assert_array_equal(other.add_all(every[45:89]), one.add_all(every[45:89]))
        assert other.candidates(every[:1]) == one.candidates(every[:1])
    np.testing.assert_array_equal(table.counts.counts, coded.counts.counts)
    assert mapped or engine.n_blocks > (5 if criterion == "auc" else n_features)

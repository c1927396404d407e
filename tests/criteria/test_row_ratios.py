"""The state of the rows under random moves against sums of logarithms."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from bayesieve.counts import CodedTable
from bayesieve.criteria import ClassBlock, ErrorProbability, scored_rows
from bayesieve.search import SearchState, SubsetProblem
from tests.cases import mostly_slow
from tests.criteria.coded_tables import coded_table, log_joint, slow_cost
from tests.limits import Limits


def walk_and_check(
    coded: CodedTable, moves: list[int], smoothing: float | str = "m-estimate", *, rel: float = 1e-11
) -> SearchState:
    """Flip one feature after the other; every subset on the way and its neighbours cost what the slow way says."""
    state = SearchState(SubsetProblem.of(coded, smoothing))
    subset: set[int] = set()
    features = np.arange(coded.n_features)
    for feature in [None, *moves]:
        if feature is not None:
            state.flip(feature)
            subset ^= {feature}
        assert set(np.flatnonzero(state.selected)) == subset
        assert state.n_selected == len(subset)
        assert state.cost == pytest.approx(slow_cost(coded, subset, smoothing), rel=rel, abs=1e-9)
        expected = [slow_cost(coded, subset ^ {k}, smoothing) for k in features.tolist()]
        np.testing.assert_allclose(state.candidates(features), expected, rtol=rel, atol=1e-9)
    return state


@st.composite
def problems(draw: st.DrawFn) -> tuple[CodedTable, list[int]]:
    n_rows, n_features, n_classes = draw(st.integers(2, 90)), draw(st.integers(1, 6)), draw(st.integers(2, 5))
    weights = None
    seed = draw(st.integers(0, 2**32 - 1))
    if draw(st.booleans()):
        weights = np.random.default_rng(seed).integers(0, 9, n_rows) / 4
        weights[0] += 0.5
    coded = coded_table(
        seed, n_rows, n_features, n_classes, strength=1.2, weights=weights, unseen=draw(st.sampled_from([0.0, 0.2]))
    )
    return coded, draw(st.lists(st.integers(0, n_features - 1), max_size=8))


@given(problems(), st.sampled_from(["m-estimate", 1.0, 1e-6]))
def test_random_moves(problem: tuple[CodedTable, list[int]], smoothing: float | str) -> None:
    coded, moves = problem
    walk_and_check(coded, moves, smoothing)


@settings(max_examples=20)
@given(problems())
def test_tables_built_when_asked_for(problem: tuple[CodedTable, list[int]]) -> None:
    coded, moves = problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scored_rows, "_PRECOMPUTED_BYTES", 0)
        assert not SubsetProblem.of(coded).objective.rows.tables.store()
        walk_and_check(coded, moves)


def test_many_classes_of_many_rows(limits: Limits) -> None:
    limits(precomputed_bytes=0)
    coded = coded_table(3, n_rows=900, n_features=6, n_classes=40, strength=0.9, n_levels=9)
    walk_and_check(coded, [0, 1, 2, 0, 3])


def test_more_rows_than_a_kernel_takes_at_once() -> None:
    coded = coded_table(5, n_rows=5000, n_features=4, n_classes=3)
    walk_and_check(coded, [2, 0, 1, 2])


def near_certain(n_features: int, n_classes: int, weighted: bool, wrong: float = 0.02) -> CodedTable:
    """Every feature nearly gives the class away, and all of them agree, also on the few rows where they are wrong."""
    rng = np.random.default_rng(n_classes)
    n_rows = 300
    labels = rng.integers(0, n_classes, n_rows)
    told = np.where(rng.random(n_rows) < wrong, (labels + 1) % n_classes, labels)
    codes = np.tile(told, (n_features, 1)).astype(np.uint8)
    lone = rng.random(codes.shape) < 0.002  # now and then a feature disagrees
    codes[lone] = rng.integers(0, n_classes, int(lone.sum()))
    return CodedTable(
        codes=codes,
        n_levels=np.full(n_features, n_classes),
        names=tuple(f"x{k}" for k in range(n_features)),
        class_codes=labels.astype(np.uint8),
        classes=np.arange(n_classes),
        weights=rng.integers(1, 5, n_rows) / 2 if weighted else None,
    )


@pytest.mark.parametrize(
    ("weighted", "n_classes"), mostly_slow(product([False, True], [2, 3]), [(True, 2), (False, 3)])
)
def test_hundreds_of_strong_features_and_back(n_classes: int, weighted: bool) -> None:
    """Ratios leave the range of plain numbers on both sides, and rows come back when features are dropped."""
    coded = near_certain(300, n_classes, weighted)
    problem = SubsetProblem.of(coded)
    up = list(range(300))
    state = SearchState(problem)
    empty = state.candidates(np.arange(300))
    subset: set[int] = set()
    some = np.array([0, 7, 150, 299])
    for step, feature in enumerate([*up, *reversed(up)]):
        state.flip(feature)
        subset ^= {feature}
        if step % 97 == 0 or step >= 597:
            expected = [slow_cost(coded, subset ^ {int(k)}) for k in some]
            np.testing.assert_allclose(state.candidates(some), expected, rtol=1e-9)
            assert state.cost == pytest.approx(slow_cost(coded, subset), rel=1e-9)
    # Moves undo each other.
    np.testing.assert_allclose(state.candidates(np.arange(300)), empty, rtol=1e-13)


def test_reset() -> None:
    coded = near_certain(100, 2, False)
    problem = SubsetProblem.of(coded)
    state = SearchState(problem)
    empty = state.cost
    for feature in range(100):
        state.flip(feature)
    full = state.candidates(np.arange(100))
    state.reset()
    assert state.cost == empty
    assert state.n_selected == 0
    assert not state.selected.any()
    np.testing.assert_array_equal(state.candidates(np.arange(100)), SearchState(problem).candidates(np.arange(100)))
    state.reset(np.ones(100, dtype=bool))
    assert state.n_selected == 100
    np.testing.assert_array_equal(state.candidates(np.arange(100)), full)


@pytest.mark.parametrize("n_features", [3, 200])
def test_a_class_without_weight(n_features: int) -> None:
    """Its rows count nothing and its probability is zero, however strong the features are."""
    base = near_certain(n_features, 3, False)
    coded = base.with_rows(weights=(base.class_codes != 1).astype(float))
    problem = SubsetProblem.of(coded)
    assert problem.objective.rows.class_totals[1] == 0.0
    state = SearchState(problem)
    subset: set[int] = set()
    for feature in range(n_features):
        state.flip(feature)
        subset.add(feature)
        if feature % 50 == 2:
            assert state.cost == pytest.approx(slow_cost(coded, subset), rel=1e-9)
            expected = slow_cost(coded, subset - {0})
            assert state.candidates(np.array([0]))[0] == pytest.approx(expected, rel=1e-9)
    for feature in range(n_features):
        state.flip(feature)
    assert state.cost == pytest.approx(SearchState(problem).cost, rel=1e-9)


def test_a_class_without_rows() -> None:
    base = coded_table(9, n_classes=2)
    coded = base.with_rows(classes=np.arange(3))
    walk_and_check(coded, [0, 1, 2])


def test_one_class_costs_its_prior_only() -> None:
    base = coded_table(9, n_classes=2)
    coded = base.with_rows(classes=np.arange(1), class_codes=np.zeros(base.n_rows, dtype=np.uint8))
    state = SearchState(SubsetProblem.of(coded))
    assert state.cost == pytest.approx(np.log(coded.n_features + 1))
    state.flip(0)
    assert state.cost == pytest.approx(slow_cost(coded, {0}))


def test_rows_are_sorted_by_class_and_unseen_codes_shared() -> None:
    coded = coded_table(2, n_rows=40, unseen=0.4, weights=np.arange(40.0))
    block = ClassBlock.of(coded)
    labels = block.classes[block.segments(np.arange(40))]
    np.testing.assert_array_equal(labels, np.sort(coded.class_codes))
    order = np.argsort(coded.class_codes, kind="stable")
    np.testing.assert_array_equal(block.weights, coded.weights[order])
    np.testing.assert_array_equal(block.codes, np.minimum(coded.codes, coded.n_levels[:, None])[:, order])
    assert coded.codes.max() > coded.n_levels.max()  # the table itself is not changed
    with pytest.raises(ValueError, match="needs the class of every row"):
        ClassBlock.of(coded.with_rows(class_codes=None))


def test_log_factors_by_hand() -> None:
    codes = np.array([[0, 1, 1, 0, 1, 1, 1, 0]], dtype=np.uint8)
    coded = CodedTable(
        codes=codes,
        n_levels=np.array([2]),
        names=("x",),
        class_codes=np.array([0, 0, 1, 1, 1, 2, 2, 2], dtype=np.uint8),
        classes=np.arange(3),
    )
    factors = SubsetProblem.of(coded, 1.0).objective.rows.tables.log_factors(0)
    assert factors.shape == (3, 2, 3)
    probability = np.array([2 / 4, 2 / 5, 2 / 5])  # of level 0
    np.testing.assert_allclose(np.exp(factors[1, :, 0]), [probability[0] / 0.4, probability[2] / 0.4])
    np.testing.assert_array_equal(factors[:, :, 2], 0.0)  # an unseen value changes no ratio


@pytest.mark.parametrize("smoothing", mostly_slow([1e-10, 1e-30, 1e-100, 1e-200, 1e-280], [1e-10, 1e-280]))
def test_tiny_smoothing(smoothing: float) -> None:
    coded = near_certain(12, 3, False, wrong=0.1)
    walk_and_check(coded, [*range(12), 3, 0, 11], smoothing, rel=1e-9)


def test_very_unequal_weights() -> None:
    rng = np.random.default_rng(4)
    base = near_certain(6, 3, False, wrong=0.1)
    coded = base.with_rows(weights=10.0 ** rng.uniform(-12, 12, base.n_rows))
    walk_and_check(coded, [0, 1, 2, 3, 1], rel=1e-9)


NEARLY_ONE_CLASS = list(product([5, 33, 39, 64, 70, 97, 129, 511, 513, 545], [1, 3, 31], [2, 3, 4]))


@pytest.mark.parametrize(("n_rows", "n_rare", "n_classes"), mostly_slow(NEARLY_ONE_CLASS, NEARLY_ONE_CLASS[::4]))
def test_a_class_that_fills_nearly_the_whole_table(n_rows: int, n_rare: int, n_classes: int) -> None:
    """The loops for two levels take rows by 32: there may be too few rows around those of a frequent class."""
    other = coded_table(n_rows, n_rows, 4, n_classes, strength=1.2, n_levels=2)
    labels = np.zeros(n_rows, dtype=np.uint8)
    labels[: min(n_rare, n_rows - 1)] = np.arange(min(n_rare, n_rows - 1)) % (n_classes - 1) + 1
    coded = CodedTable(
        codes=other.codes, n_levels=other.n_levels, names=other.names, class_codes=labels, classes=other.classes
    )
    problem = SubsetProblem.of(coded, 1.0, ErrorProbability())
    features = np.arange(4)
    state = SearchState(problem)
    state.flip(0)
    with np.errstate(divide="ignore"):
        expected = []
        for k in features.tolist():
            joint = log_joint(coded, {0} ^ {k}, 1.0)
            share = np.exp(joint - joint.max(axis=1, keepdims=True))
            expected.append(1 - (share[np.arange(n_rows), labels] / share.sum(axis=1)).mean())
    for _ in range(3):
        np.testing.assert_allclose(state.candidates(features), expected, rtol=1e-9, atol=1e-12)


def test_light_rows_count_next_to_heavy_ones() -> None:
    coded = coded_table(1, n_rows=20, n_classes=2)
    weights = np.where(np.asarray(coded.class_codes) == 0, 1e14, 1e-15)
    totals = ClassBlock.of(coded.with_rows(weights=weights)).class_totals(2)
    n_light = np.count_nonzero(coded.class_codes)
    np.testing.assert_allclose(totals, [(20 - n_light) * 1e14, n_light * 1e-15], rtol=1e-12)

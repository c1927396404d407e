"""Information of pairs of features against its definition, row by row, and against scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.metrics import mutual_info_score

from bayesieve.counts import CodedTable
from bayesieve.counts.pairs import PairInformation
from tests.limits import Limits
from tests.reference import information


def random_pairs(
    seed: int, n_rows: int, n_levels: list[int], *, weighted: bool = False, unseen: bool = False, n_classes: int = 3
) -> CodedTable:
    """Codes of which some depend on others; where asked for some are unseen, and rows have weights, zeros too."""
    rng = np.random.default_rng(seed)
    common = rng.random(n_rows)
    noise = rng.random((len(n_levels), n_rows))
    mixed = np.where(rng.random((len(n_levels), 1)) < 0.5, noise, (common + noise) / 2)
    codes = (mixed * np.array(n_levels)[:, None]).astype(np.uint16)
    if unseen:
        codes[(rng.random(codes.shape) < 0.2) & (np.arange(len(n_levels)) % 2 == 0)[:, None]] = 60_000
    return CodedTable(
        codes=codes,
        n_levels=np.array(n_levels),
        names=tuple(f"x{k}" for k in range(len(n_levels))),
        class_codes=rng.integers(0, n_classes, n_rows).astype(np.uint8),
        classes=np.arange(n_classes),
        weights=rng.integers(0, 5, n_rows) / 4 if weighted else None,
    )


def expected_pair(coded: CodedTable, i: int, j: int, *, given_class: bool) -> tuple[float, float]:
    """Information and symmetrical uncertainty of two features, of the rows where both are known."""
    known = (coded.codes[i] < coded.n_levels[i]) & (coded.codes[j] < coded.n_levels[j])
    if coded.weights is not None:
        known &= coded.weights > 0
    x, y = coded.codes[i][known].tolist(), coded.codes[j][known].tolist()
    weights = None if coded.weights is None else coded.weights[known].tolist()
    if not x:
        return 0.0, 0.0
    if not given_class:
        return information.mutual_information(x, y, weights), information.symmetrical_uncertainty(x, y, weights)
    labels = np.asarray(coded.class_codes)[known].tolist()
    found = information.conditional_information(x, y, labels, weights)
    entropies = sum(information.conditional_entropy(column, labels, weights) for column in (x, y))
    return found, 2 * found / entropies if entropies > 0 else 0.0


def check(coded: CodedTable, *, given_class: bool) -> None:
    pairs = PairInformation(coded, given_class=given_class)
    found, relative = pairs.mutual_information(), pairs.symmetrical_uncertainty()
    n = coded.n_features
    expected = np.array([[expected_pair(coded, i, j, given_class=given_class) for j in range(n)] for i in range(n)])
    np.testing.assert_allclose(found, expected[..., 0], atol=2e-14)
    # Both entropies may be as small as rounding.
    np.testing.assert_allclose(relative, expected[..., 1], atol=1e-11)
    np.testing.assert_array_equal(found, found.T)
    assert np.all(found >= 0)
    assert np.all((relative >= 0) & (relative <= 1))
    own = np.diag(found)
    whole = np.all(coded.codes < coded.n_levels[:, None], axis=1)
    if coded.weights is None:
        assert np.all((found <= np.minimum(own[:, None], own[None, :]))[np.ix_(whole, whole)])


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 80),
    n_levels=st.lists(st.sampled_from([1, 2, 2, 3, 5, 21, 40]), min_size=1, max_size=6),
    options=st.fixed_dictionaries({"weighted": st.booleans(), "unseen": st.booleans()}),
    given_class=st.booleans(),
)
def test_against_definition(
    seed: int, n_rows: int, n_levels: list[int], options: dict[str, bool], given_class: bool
) -> None:
    check(random_pairs(seed, n_rows, n_levels, **options), given_class=given_class)


@pytest.mark.parametrize("given_class", [False, True])
@pytest.mark.parametrize("n_rows", [63, 64, 255, 256, 257, 1000])
def test_edges_of_words(n_rows: int, given_class: bool) -> None:
    check(random_pairs(n_rows, n_rows, [2, 2, 3, 2, 20], n_classes=4), given_class=given_class)
    check(random_pairs(n_rows, n_rows, [2, 4, 2], n_classes=150), given_class=given_class)


@pytest.mark.parametrize("given_class", [False, True])
@pytest.mark.parametrize(
    ("features", "others"),
    [
        ([3], None),
        (None, [3]),
        ([5, 0, 2], [7, 1]),
        ([1, 1], [4, 4, 0]),
        (slice(2, 9), [8, 2]),
        ([9, 3, 4], [9, 3, 4]),
        ([], [1]),
        ([0, 1, 2, 3, 4, 5, 6], [3, 11]),
    ],
)
def test_any_block(features: Any, others: Any, given_class: bool) -> None:
    coded = random_pairs(4, 300, [2, 2, 3, 30, 2, 2, 4, 2, 25, 2, 2, 2], unseen=True)
    pairs = PairInformation(coded, given_class=given_class)
    rows = (
        np.arange(12)
        if features is None
        else np.arange(12)[features if isinstance(features, slice) else np.array(features, int)]
    )
    columns = np.arange(12) if others is None else np.array(others)
    for measure in (pairs.mutual_information, pairs.symmetrical_uncertainty):
        np.testing.assert_allclose(measure(features, others), measure()[np.ix_(rows, columns)], atol=1e-15)


def test_many_features_in_pieces_and_threads() -> None:
    coded = random_pairs(5, 700, [2] * 700 + [6] * 60 + [30] * 5, unseen=False)
    one, several = (PairInformation(coded, n_jobs=n_jobs) for n_jobs in (1, 3))
    found = one.mutual_information()
    np.testing.assert_array_equal(found, several.mutual_information())
    np.testing.assert_array_equal(found, found.T)
    for i, j in np.random.default_rng(0).integers(0, coded.n_features, (300, 2)).tolist():
        assert found[i, j] == pytest.approx(mutual_info_score(coded.codes[i], coded.codes[j]), abs=1e-13)
    np.testing.assert_array_equal(found[100:104], one.mutual_information(slice(100, 104)))


@pytest.mark.parametrize("given_class", [False, True])
@pytest.mark.parametrize(("counts_at_once", "right_at_once"), [(1, 1), (8, 3), (40, 7), (1000, 12)])
def test_small_pieces(limits: Limits, counts_at_once: int, right_at_once: int, given_class: bool) -> None:
    limits(counts_at_once=counts_at_once, right_at_once=right_at_once)
    coded = random_pairs(8, 90, [2, 3, 2, 2, 4, 2, 1, 30, 3, 2], unseen=True, n_classes=2)
    check(coded, given_class=given_class)
    check(coded.select([0, 2, 3, 5, 9]), given_class=given_class)
    pairs = PairInformation(coded, given_class=given_class)
    block = pairs.mutual_information([3, 0, 4], [9, 2, 1, 0])
    np.testing.assert_allclose(block, pairs.mutual_information()[np.ix_([3, 0, 4], [9, 2, 1, 0])], atol=1e-15)


@pytest.mark.parametrize("given_class", [False, True])
def test_weight_2_is_a_row_twice(given_class: bool) -> None:
    coded = random_pairs(6, 200, [2, 2, 3, 25])
    weights = np.random.default_rng(1).integers(0, 4, 200)
    repeated = coded.take(np.repeat(np.arange(200), weights))
    expected = PairInformation(repeated, given_class=given_class).mutual_information()
    for tiny in (1.0, 1e-300, 1e300):
        found = PairInformation(coded.with_rows(weights=weights * tiny), given_class=given_class).mutual_information()
        np.testing.assert_allclose(found, expected, atol=1e-13)


def test_independent_pairs_have_no_information() -> None:
    cells = np.array([(i, j, k) for i in range(2) for j in range(3) for k in range(2)] * 7)
    coded = CodedTable(cells.T.astype(np.uint8), np.array([2, 3, 2]), ("a", "b", "c"))
    found = PairInformation(coded).mutual_information()
    np.testing.assert_array_equal(found, np.diag(np.diag(found)))
    np.testing.assert_allclose(np.diag(found), np.log([2, 3, 2]))


def test_nothing_to_count() -> None:
    nothing = CodedTable(np.zeros((0, 5), np.uint8), np.zeros(0, int), ())
    assert PairInformation(nothing).mutual_information().shape == (0, 0)
    no_rows = CodedTable(np.zeros((3, 0), np.uint8), np.array([2, 3, 30]), ("a", "b", "c"))
    np.testing.assert_array_equal(PairInformation(no_rows).symmetrical_uncertainty(), np.zeros((3, 3)))
    with pytest.raises(ValueError, match="given_class=True needs the class of every row"):
        PairInformation(nothing, given_class=True)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("given_class", [False, True])
def test_pairs_of_very_many_values_do_not_take_a_table(limits: Limits, weighted: bool, given_class: bool) -> None:
    """Where a table of counts would be too large only its cells with rows are kept, with the same sums."""
    coded = random_pairs(5, 300, [60, 2, 300, 150, 30], weighted=weighted, unseen=True)
    tables = PairInformation(coded, given_class=given_class).mutual_information()
    limits(cells_of_a_pair=1)
    np.testing.assert_array_equal(PairInformation(coded, given_class=given_class).mutual_information(), tables)


def test_a_pair_of_identifiers() -> None:
    rows = np.random.default_rng(0).permutation(30_000)
    codes = np.array([rows, rows[::-1]], dtype=np.uint16)
    coded = CodedTable(codes=codes, n_levels=np.array([30_000, 30_000]), names=("a", "b"))
    np.testing.assert_allclose(PairInformation(coded).mutual_information(), np.log(30_000))

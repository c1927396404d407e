"""Counts of levels by class against counting row by row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bayesieve.counts import CodedTable, ContingencyCounts
from tests.reference import naive_bayes


def random_table(
    seed: int, n_rows: int, n_levels: list[int], n_classes: int, *, weighted: bool, dtype: type = np.uint8
) -> CodedTable:
    """Codes with some unseen ones (at or above the number of levels); integer and fractional weights, zeros too."""
    rng = np.random.default_rng(seed)
    codes = np.array([rng.integers(0, levels + 2, n_rows) for levels in n_levels], dtype=dtype)
    return CodedTable(
        codes=codes,
        n_levels=np.array(n_levels),
        names=tuple(f"x{k}" for k in range(len(n_levels))),
        class_codes=rng.integers(0, n_classes, n_rows).astype(np.uint8),
        classes=np.arange(n_classes),
        weights=rng.integers(0, 8, n_rows) / 4 if weighted else None,
    )


def check(counts: ContingencyCounts, coded: CodedTable) -> None:
    labels = coded.class_codes.tolist()
    weights = None if coded.weights is None else coded.weights.tolist()
    for k, n_levels in enumerate(coded.n_levels.tolist()):
        expected = naive_bayes.level_counts(coded.codes[k].tolist(), labels, n_levels, coded.n_classes, weights)
        np.testing.assert_array_equal(counts.feature(k), expected)
    np.testing.assert_array_equal(counts.class_counts, naive_bayes.class_counts(labels, coded.n_classes, weights))


@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 60),
    n_levels=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    n_classes=st.integers(2, 4),
    weighted=st.booleans(),
)
def test_against_counting_row_by_row(
    seed: int, n_rows: int, n_levels: list[int], n_classes: int, weighted: bool
) -> None:
    coded = random_table(seed, n_rows, n_levels, n_classes, weighted=weighted)
    counts = coded.counts
    check(counts, coded)
    assert counts.n_features == len(n_levels)
    assert counts.total == (n_rows if coded.weights is None else coded.weights.sum())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("dtype", "levels"), [(np.uint8, 254), (np.uint16, 1000), (np.uint32, 70_000)])
def test_every_width_of_codes(dtype: type, levels: int, weighted: bool) -> None:
    coded = random_table(1, 300, [levels, 3], 3, weighted=weighted, dtype=dtype)
    counts = coded.counts
    check(counts, coded)
    assert counts.offsets.tolist() == [0, levels, levels + 3]


@pytest.mark.parametrize("weighted", [False, True])
def test_two_blocks_of_rows_add_up_exactly(weighted: bool) -> None:
    coded = random_table(2, 101, [3, 1, 4], 3, weighted=weighted)
    whole = coded.counts
    parts = [coded.take(rows).counts for rows in np.array_split(np.arange(101), 3)]
    merged = parts[0] + parts[1] + parts[2]
    np.testing.assert_array_equal(merged.counts, whole.counts)
    np.testing.assert_array_equal(merged.class_counts, whole.class_counts)
    np.testing.assert_array_equal(merged.offsets, whole.offsets)


def test_counts_of_other_features_are_not_added() -> None:
    counts = random_table(3, 20, [2, 3], 2, weighted=False).counts
    for other in (random_table(3, 20, [3, 2], 2, weighted=False), random_table(3, 20, [2, 3], 3, weighted=False)):
        with pytest.raises(ValueError, match="different features, levels or classes"):
            counts + other.counts


def test_a_table_without_classes_cannot_be_counted() -> None:
    coded = random_table(4, 5, [2], 2, weighted=False)
    with pytest.raises(ValueError, match="Counting by class needs the class of every row"):
        coded.with_rows(class_codes=None).counts  # noqa: B018


@pytest.mark.parametrize("n_rows", [40, 1_003, 9_001])  # one by one, eight at a time, in copies of the histogram
def test_rows_listed_class_after_class(n_rows: int) -> None:
    coded = random_table(3, n_rows, [1, 2, 3, 12, 13, 90, 254], 3, weighted=False).by_class
    check(coded.counts, coded)
    for first in range(1, 9):  # wherever the rows begin in memory
        part = coded.take(slice(first, None))
        check(part.counts, part)


def test_many_rows_of_one_level() -> None:
    codes = np.ones((2, 300_000), dtype=np.uint8)
    coded = CodedTable(codes, np.array([2, 20]), ("a", "b"), np.zeros(300_000, dtype=np.uint8), np.arange(2))
    counts = coded.counts
    assert counts.feature(0).tolist() == [[0.0, 0.0], [300_000.0, 0.0]]
    assert counts.feature(1)[1].tolist() == [300_000.0, 0.0]

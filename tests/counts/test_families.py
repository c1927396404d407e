"""Indicators kept as one ordered code per score mean the same as their codes written out."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bayesieve.counts import CodedTable
from bayesieve.counts.coded import Families
from bayesieve.table import as_table
from bayesieve.table.derived_levels import IndicatorLevels, indicator_name, number_text, scores_of
from bayesieve.table.levels import smallest_unsigned


def indicators(
    seed: int,
    n_rows: int,
    n_thresholds: list[int],
    *,
    n_classes: int = 3,
    weighted: bool = False,
    missing: float = 0.2,
    as_level: bool = True,
) -> CodedTable:
    """All indicators of random scores; a share of the scores is missing."""
    rng = np.random.default_rng(seed)
    sizes = np.array(n_thresholds)
    codes = np.empty((sizes.size, n_rows), dtype=smallest_unsigned(int(sizes.max()) + 1))
    for f, size in enumerate(sizes):
        codes[f] = np.where(rng.random(n_rows) < missing, size + 1, rng.integers(0, size + 1, n_rows))
    has_level = (codes == sizes[:, None] + 1).any(axis=1) & as_level
    family_of = np.repeat(np.arange(sizes.size), sizes)
    threshold_of = np.concatenate([np.arange(size) for size in sizes])
    return CodedTable(
        codes,
        families=Families(sizes, family_of, threshold_of),
        n_levels=np.where(has_level[family_of], 3, 2),
        names=tuple(f"s{f}<={t}" for f, t in zip(family_of, threshold_of, strict=True)),
        class_codes=rng.integers(0, n_classes, n_rows).astype(np.uint8),
        classes=np.arange(n_classes),
        weights=rng.random(n_rows) * (rng.random(n_rows) < 0.8) if weighted else None,
    )


def families_of(table: CodedTable) -> Families:
    assert table.families is not None
    return table.families


def written_out(table: CodedTable) -> CodedTable:
    """The same table as plain codes, from the definition."""
    rows = []
    families = families_of(table)
    for family, threshold in zip(families.family_of, families.threshold_of, strict=True):
        size = families.n_thresholds[family]
        rows.append([2 if c > size else int(c > threshold) for c in table.stored[family].tolist()])
    return CodedTable(
        codes=np.array(rows, dtype=np.uint8),
        n_levels=table.n_levels.copy(),
        names=table.names,
        class_codes=table.class_codes,
        classes=table.classes,
        weights=table.weights,
    )


def check_same(table: CodedTable, plain: CodedTable) -> None:
    assert table.families is not None
    assert (table.n_rows, table.n_features, table.n_classes) == (plain.n_rows, plain.n_features, plain.n_classes)
    assert table.names == plain.names
    np.testing.assert_array_equal(table.n_levels, plain.n_levels)
    np.testing.assert_array_equal(table.codes, plain.codes)
    np.testing.assert_array_equal(table.class_codes, plain.class_codes)
    if plain.weights is not None:
        np.testing.assert_array_equal(table.weights, plain.weights)


def test_codes_are_written_out_when_asked_for_and_kept() -> None:
    table = indicators(0, 60, [3, 1, 5])
    check_same(table, written_out(table))
    assert table.codes is table.codes
    assert table.codes.flags.c_contiguous
    np.testing.assert_array_equal(table.codes_of([4, 0]), table.codes[[4, 0]])
    np.testing.assert_array_equal(table.codes_of(slice(1, 3)), written_out(table).codes_of(slice(1, 3)))
    assert table.codes_of([]).shape == (0, 60)


def test_one_code_per_score_is_stored() -> None:
    rows, families, size = 500, 74, 11
    table = indicators(1, rows, [size] * families)
    assert table.n_features == 814
    assert table.stored.nbytes == families * rows
    stored = [value for value in vars(table).values() if isinstance(value, np.ndarray)]
    for part in (table, table.take(np.arange(rows)), table.select(np.arange(814))):
        by_class = part.by_class
        assert by_class.counts.total == rows
        of_rows = [value for value in vars(by_class).values() if isinstance(value, np.ndarray) and value.ndim == 2]
        assert sum(array.nbytes for array in of_rows) == families * rows
    assert max(array.nbytes for array in stored) == families * rows


def test_some_rows_and_rows_class_after_class() -> None:
    table = indicators(2, 40, [2, 4], weighted=True)
    for rows in ([1, 3, 3], np.arange(40) % 3 == 0, slice(1, None, 2), slice(None)):
        check_same(table.take(rows), written_out(table).take(rows))
    assert table.codes.shape == (6, 40)  # written out before the rows move
    assert table.by_class.is_sorted_by_class
    check_same(table.by_class, written_out(table).by_class)


@pytest.mark.parametrize("features", [[5, 0, 1], np.array([False] * 4 + [True] * 3), slice(2, 5), [3]])
def test_select_drops_the_scores_nobody_asks_for(features: Any) -> None:
    table = indicators(3, 40, [2, 4, 1], weighted=True)
    part = table.select(features)
    check_same(part, written_out(table).select(features))
    assert families_of(part).n_families == len(np.unique(families_of(table).family_of[features]))
    check_same(part.take([0, 1]), written_out(table).select(features).take([0, 1]))
    counts, expected = part.counts, written_out(part).counts
    np.testing.assert_allclose(counts.counts, expected.counts, rtol=1e-13, atol=0)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 50),
    n_thresholds=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    n_classes=st.integers(1, 4),
    weighted=st.booleans(),
    as_level=st.booleans(),
)
def test_counts_from_one_histogram_per_score(
    seed: int, n_rows: int, n_thresholds: list[int], n_classes: int, weighted: bool, as_level: bool
) -> None:
    table = indicators(seed, n_rows, n_thresholds, n_classes=n_classes, weighted=weighted, as_level=as_level)
    counts, expected = table.counts, written_out(table).counts
    np.testing.assert_array_equal(counts.offsets, expected.offsets)
    np.testing.assert_array_equal(counts.class_counts, expected.class_counts)
    if weighted:  # the same sums in another order
        np.testing.assert_allclose(counts.counts, expected.counts, rtol=1e-13, atol=0)
    else:
        np.testing.assert_array_equal(counts.counts, expected.counts)
    assert "codes" not in vars(table)


def test_counts_of_a_family_with_more_thresholds_than_a_byte_holds() -> None:
    table = indicators(5, 400, [300, 2, 255], n_classes=2)
    assert table.stored.dtype == np.uint16
    np.testing.assert_array_equal(table.counts.counts, written_out(table).counts.counts)


def test_threads_and_processes_get_the_compact_form() -> None:
    table = indicators(6, 30, [4, 4])
    check_same(pickle.loads(pickle.dumps(table)), written_out(table))
    assert repr(table) == "CodedTable(30 rows, 8 features of 2 scores, 3 classes)"


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.05, "0.05"), (3, "3"), (-0.0, "0"), (1e-9, "1e-09"), (0.1 + 0.2, "0.30000000000000004"), (1e300, "1e+300")],
)
def test_names_are_exact(number: float, text: str) -> None:
    assert number_text(number) == text
    assert float(text) == number
    assert indicator_name("u", number) == f"u<={text}"


def test_levels_of_an_indicator() -> None:
    plain = IndicatorLevels.of("u", 0.25, missing=False)
    assert (plain.name, plain.labels, plain.n_levels, plain.unseen_code) == ("u<=0.25", ("<= 0.25", "> 0.25"), 2, 2)
    full = IndicatorLevels.of("u", 0.25, missing=True, counts=np.array([[1, 2], [3, 4], [0, 1]]), level_score=0.5)
    assert (full.all_labels, full.missing_code, full.threshold) == (("<= 0.25", "> 0.25", "missing"), 2, 0.25)
    column = as_table(np.array([[0.25], [0.2500001], [np.nan], [-np.inf], [np.inf]])).column(0)
    assert full.code(column).tolist() == plain.code(column).tolist() == [0, 1, 2, 0, 1]
    again = IndicatorLevels.from_json(json.loads(json.dumps(full.to_json())))
    assert (again.name, again.score, again.missing_code, again.level_score) == ("u<=0.25", "u", 2, 0.5)
    np.testing.assert_array_equal(again.counts, full.counts)
    assert scores_of([plain, again]) == ["u", "u"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": 3}, "score"),
        ({"missing": 1}, "missing"),
        ({"threshold": "0.5"}, "threshold"),
        ({"threshold": float("inf")}, "threshold"),
        ({"counts": [[1, 2], [3, 4], [5, 6]]}, "counts must have one row per level"),
        ({"level_score": 1.0}, "level_score must be in"),
        ({"other": 1}, "unknown field other"),
    ],
)
def test_damaged_levels_are_refused(change: dict[str, Any], message: str) -> None:
    data = {**IndicatorLevels.of("u", 0.5, missing=False, counts=np.ones((2, 2))).to_json(), **change}
    with pytest.raises(ValueError, match=message):
        IndicatorLevels.from_json(data)

"""Coded tables are frozen, refuse parts that contradict each other, and keep together what belongs to a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayesieve.counts import CodedTable
from bayesieve.table import FeatureLevels, Rows


def _table(**parts: Any) -> CodedTable:
    whole: dict[str, Any] = {
        "codes": np.array([[0, 1, 2, 1], [1, 0, 0, 1]], dtype=np.uint8),
        "n_levels": [3, 2],
        "names": ["a", "b"],
        "class_codes": np.array([0, 1, 1, 0], dtype=np.uint8),
        "classes": np.array(["no", "yes"]),
        "weights": np.array([1.0, 2.0, 3.0, 4.0]),
        "levels": tuple(
            FeatureLevels(n, "numeric", "number", cut_points=np.array(c)) for n, c in (("a", [1, 2]), ("b", [1]))
        ),
        **parts,
    }
    return CodedTable(**whole)


@pytest.mark.parametrize("features", [[1], np.array([False, True]), slice(1, 2)])
def test_select(features: Any) -> None:
    part = _table().select(features)
    assert part.codes.tolist() == [[1, 0, 0, 1]]
    assert (part.names, part.n_levels.tolist(), part.n_rows) == (("b",), [2], 4)
    assert part.levels is not None
    assert [level.name for level in part.levels] == ["b"]
    assert _table(levels=None).select(features).levels is None


@pytest.mark.parametrize("rows", [[1, 3], np.array([False, True, False, True]), slice(1, None, 2)])
def test_take(rows: Any) -> None:
    part = _table().take(rows)
    assert part.codes.tolist() == [[1, 1], [0, 1]]
    assert part.codes.flags.c_contiguous
    assert part.class_codes is not None
    assert part.class_codes.tolist() == [1, 0]
    assert part.weights is not None
    assert part.weights.tolist() == [2, 4]
    bare = _table(class_codes=None, weights=None).take(rows)
    assert bare.class_codes is None
    assert bare.weights is None


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"codes": np.zeros(4, dtype=np.uint8)}, "codes must be a 2-D array of unsigned integers"),
        ({"codes": np.zeros((2, 4))}, "codes must be a 2-D array of unsigned integers"),
        ({"n_levels": [3]}, "codes has 2 features but n_levels has 1 entries"),
        ({"names": ["a"]}, "codes has 2 features but names has 1 entries"),
        ({"class_codes": np.zeros(3)}, "codes has 4 rows but class_codes has 3"),
        ({"weights": np.zeros(3)}, "codes has 4 rows but weights has 3"),
    ],
)
def test_contradictions_are_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _table(**parts)


def test_rows_class_after_class() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, (3, 40)).astype(np.uint8)
    classes, weights = rng.integers(0, 3, 40).astype(np.uint8), rng.random(40)
    coded = CodedTable(codes.copy(), np.full(3, 5), ("a", "b", "c"), classes, np.arange(3), weights)
    assert not coded.rows.is_sorted_by_class
    by_class = coded.by_class
    order = np.argsort(classes, kind="stable")
    np.testing.assert_array_equal(by_class.codes, codes[:, order])
    np.testing.assert_array_equal(by_class.class_codes, classes[order])
    np.testing.assert_array_equal(by_class.weights, weights[order])
    assert by_class.rows.is_sorted_by_class
    assert by_class.by_class is by_class
    np.testing.assert_array_equal(coded.codes, codes)
    bare = coded.with_rows(class_codes=None, classes=None)
    assert (bare.by_class is bare, bare.rows.is_sorted_by_class, bare.n_classes) == (True, False, 0)


def test_a_table_is_frozen() -> None:
    table = _table()
    with pytest.raises(AttributeError, match="cannot assign"):
        table.class_codes = np.zeros(4)  # type: ignore[misc]
    with pytest.raises(AttributeError, match="cannot assign"):
        table.rows.weights = None  # type: ignore[misc]


def test_every_column_of_the_rows_moves_with_them() -> None:
    rows = Rows(
        np.array([1, 0, 1, 0], dtype=np.uint8),
        np.array(["no", "yes"]),
        groups=np.array(["a", "b", "b", "c"]),
        columns={"benefit": np.arange(8).reshape(4, 2)},
    )
    table = _table(class_codes=None, classes=None, weights=None, rows=rows)
    part = table.by_class.take([1, 2]).rows
    assert part.groups is not None
    assert (part.groups.tolist(), part.columns["benefit"].tolist()) == (["c", "a"], [[6, 7], [0, 1]])
    with pytest.raises(ValueError, match="codes has 4 rows but benefit has 3"):
        table.with_rows(columns={"benefit": np.zeros((3, 2))})


def test_counts_that_are_known_are_not_repeated() -> None:
    counts = _table().counts
    assert _table(counts=counts).counts is counts


def test_what_was_derived_from_other_parts_is_not_kept() -> None:
    table = _table()
    assert dict(table.by_class.rows.columns) == {}  # kept from here on
    further = table.with_columns(benefit=np.arange(4.0))
    assert further.by_class.rows.columns["benefit"].tolist() == [0.0, 3.0, 1.0, 2.0]
    assert further.by_class.levels is table.levels

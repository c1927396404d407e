"""Weights counted by joint codes against counting feature by feature."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bayesieve.counts import CodedTable
from bayesieve.counts.contingency import JointCodes
from bayesieve.engine import Mapped


def table_of(n_levels: list[int], n_rows: int, *, unseen: int, dtype: type = np.uint8) -> CodedTable:
    """Three classes; every feature whose position is a multiple of ``unseen`` has codes beyond its levels."""
    rng = np.random.default_rng(0)
    more = [levels + 2 * (unseen > 0 and k % max(unseen, 1) == 0) for k, levels in enumerate(n_levels)]
    codes = np.array([rng.integers(0, most, n_rows) for most in more]).astype(dtype)
    names = [f"x{k}" for k in range(len(n_levels))]
    return CodedTable(codes, n_levels, names, np.sort(rng.integers(0, 3, n_rows)).astype(np.uint8), np.arange(3))


def check(coded: CodedTable, joint: JointCodes) -> None:
    rng = np.random.default_rng(1)
    for classes in (np.arange(3), np.array([0, 1, 0])):
        weights = rng.random(coded.n_rows) ** 4
        codes = classes[np.asarray(coded.class_codes)].astype(np.uint8)
        expected = coded.with_rows(class_codes=codes, classes=np.unique(classes), weights=weights).counts
        counts = joint.weigh(weights, classes)
        np.testing.assert_allclose(counts.counts, expected.counts, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(counts.class_counts, expected.class_counts, rtol=1e-12)
        np.testing.assert_array_equal(counts.offsets, expected.offsets)


@pytest.mark.parametrize("n_rows", [5, 700, 5_000, 40_000])
@pytest.mark.parametrize("unseen", [0, 1, 3])
def test_weights_of_levels_are_those_of_each_feature(n_rows: int, unseen: int) -> None:
    n_levels = [2, 1, 3, 2, 5, 2, 2, 17, 2, 4, 1, 120, 2, 2, 2, 2, 3]
    coded = table_of(n_levels, n_rows, unseen=unseen)
    joint = JointCodes.of(coded)
    check(coded, joint)
    assert len(joint.codes) < len(n_levels) or n_rows < 700
    assert joint.n_cells.max() <= 256


@pytest.mark.parametrize(("dtype", "levels"), [(np.uint8, 254), (np.uint8, 255), (np.uint8, 256), (np.uint16, 1000)])
def test_features_of_many_levels_are_alone(dtype: type, levels: int) -> None:
    for unseen in (0, 4) if levels != 255 else (0,):
        coded = table_of([1, 1, 2, 2, levels], 5_000, unseen=unseen * (levels < 255), dtype=dtype)
        check(coded, JointCodes.of(coded))


def test_any_number_of_features_of_one_level_share_a_group() -> None:
    coded = table_of([2, *[1] * 90], 5_000, unseen=0)
    joint = JointCodes.of(coded)
    check(coded, joint)
    assert len(joint.codes) == 1


def test_rows_on_disk(tmp_path: Path) -> None:
    coded = table_of([2, 3, 4, 2, 2, 2, 2, 2, 2], 10_000, unseen=2)
    check(coded, JointCodes.of(coded.on(Mapped(tmp_path, block_rows=1_000))))

"""Bins of equal frequency and of equal width against their definitions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bayesieve import EqualFrequencyDiscretizer, EqualWidthDiscretizer


def column(values: list[float]) -> np.ndarray:
    return np.array(values, dtype=float)[:, None]


FLOATS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


def test_equal_frequency_of_distinct_values() -> None:
    fitted = EqualFrequencyDiscretizer(n_bins=4).fit(column(list(range(20))))
    assert fitted.cut_points_[0].tolist() == [4.5, 9.5, 14.5]
    assert np.bincount(fitted.transform(column(list(range(20))))[:, 0]).tolist() == [5, 5, 5, 5]
    tied = EqualFrequencyDiscretizer(n_bins=2).fit(column([1.0, 2.0, 2.0, 3.0]))
    assert tied.cut_points_[0].tolist() == [1.5]  # the lower of two bounds as near


@given(FLOATS, st.integers(1, 12))
def test_bins_of_equal_frequency(values: list[float], n_bins: int) -> None:
    X = column(values)
    fitted = EqualFrequencyDiscretizer(n_bins=n_bins).fit(X)
    counts = np.bincount(fitted.transform(X)[:, 0])
    assert len(counts) <= min(n_bins, len(set(values)))
    assert counts.min() > 0
    largest_tie = np.unique(values, return_counts=True)[1].max()
    # A bound is off its target by half of the largest tie at most, so a bin by one tie; rounding adds a row.
    assert counts.max() <= len(values) / n_bins + largest_tie + 1


@given(FLOATS, st.integers(1, 12))
def test_bins_of_equal_width(values: list[float], n_bins: int) -> None:
    X = column(values)
    fitted = EqualWidthDiscretizer(n_bins=n_bins).fit(X)
    cuts = fitted.cut_points_[0]
    low, high = min(values), max(values)
    grid = [low + (high - low) * b / n_bins for b in range(1, n_bins)]
    assert all(any(math.isclose(cut, g, rel_tol=1e-9, abs_tol=1e-6) for g in grid) for cut in cuts)
    assert np.bincount(fitted.transform(X)[:, 0], minlength=len(cuts) + 1).min() > 0  # no empty bin


def test_equal_width_drops_bins_nobody_falls_into() -> None:
    fitted = EqualWidthDiscretizer(n_bins=10).fit(column([0.0, 0.5, 10.0]))
    assert fitted.cut_points_[0].tolist() == [1.0]


COLUMNS = {
    "huge": np.array([-1.0, 1.0, 0.0, 0.5, -0.5, 0.9]) * np.finfo(float).max,
    "denormal": np.arange(12) * 5e-324,
    "wide": np.array([-1e300, -1e-300, 0.0, 5e-324, 1e-300, 1.0, 1e300]),
    **{f"nearly {number}": number + np.spacing(number) * np.arange(6) for number in (0.1, -7.3, 1e15, 1e300, 3e-308)},
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("kind", [EqualFrequencyDiscretizer, EqualWidthDiscretizer])
def test_edges_ascend_in_any_column(kind: Any, name: str) -> None:
    values = COLUMNS[name]
    for n_bins in (2, 3, 10, 37, 1000):
        fitted = kind(n_bins=n_bins).fit(column(values.tolist()))
        codes = fitted.transform(column(np.sort(values).tolist()))[:, 0].astype(int)
        assert np.all(np.diff(fitted.cut_points_[0]) > 0)
        assert np.unique(codes).size == fitted.levels_[0].n_levels  # no bin is empty
        assert np.all(np.diff(codes) >= 0)

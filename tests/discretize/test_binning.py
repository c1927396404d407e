"""Bins of equal frequency and equal width."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bayesieve import EqualFrequencyDiscretizer, EqualWidthDiscretizer
from tests.reference import modl


def column(values: list[float]) -> np.ndarray:
    return np.array(values, dtype=float)[:, None]


FLOATS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


def test_equal_frequency_of_distinct_values() -> None:
    fitted = EqualFrequencyDiscretizer(n_bins=4).fit(column(list(range(20))))
    assert fitted.cut_points_[0].tolist() == [4.5, 9.5, 14.5]
    assert np.bincount(fitted.transform(column(list(range(20))))[:, 0]).tolist() == [5, 5, 5, 5]


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


@pytest.mark.parametrize("kind", [EqualFrequencyDiscretizer, EqualWidthDiscretizer])
class TestBoth:
    def test_missing_values_are_a_level_of_their_own(self, kind: type) -> None:
        fitted = kind(n_bins=2).fit(column([1.0, np.nan, 2.0, 3.0, 4.0]))
        level = fitted.levels_[0]
        assert fitted.cut_points_[0][0] == -np.inf
        assert level.missing_code == 0
        assert level.counts[:, 0].tolist() == [1.0, 2.0, 2.0]
        assert fitted.transform(column([np.nan, 1.0, 4.0]))[:, 0].tolist() == [0, 1, 2]

    def test_a_missing_value_never_seen_has_no_level(self, kind: type) -> None:
        fitted = kind(n_bins=2).fit(column([1.0, 2.0]))
        assert fitted.transform(column([np.nan]))[0, 0] == 2

    @pytest.mark.parametrize("values", [[3.0] * 5, [np.nan] * 5])
    def test_nothing_to_cut(self, kind: type, values: list[float]) -> None:
        fitted = kind().fit(column(values))
        assert fitted.cut_points_[0].size == 0
        assert fitted.levels_[0].n_levels == 1

    def test_values_at_the_edge_of_what_floats_hold(self, kind: type) -> None:
        X = column([-1.7e308, -1e308, 0.0, 1e308, 1.7e308] * 3)
        fitted = kind(n_bins=5).fit(X)
        assert np.all(np.isfinite(fitted.cut_points_[0]))
        assert len(np.unique(fitted.transform(X))) >= 4

    def test_neighbouring_floats_are_separated(self, kind: type) -> None:
        X = column([1.0, np.nextafter(1.0, 2.0)] * 5)
        assert len(np.unique(kind(n_bins=2).fit_transform(X))) == 2

    def test_integer_weights_equal_repeated_rows(self, kind: type) -> None:
        rng = np.random.default_rng(3)
        X, times = column(rng.normal(size=80).round(1).tolist()), rng.integers(0, 4, 80)
        weighted = kind(n_bins=6).fit(X, sample_weight=times)
        repeated = kind(n_bins=6).fit(np.repeat(X, times, axis=0))
        np.testing.assert_array_equal(weighted.cut_points_[0], repeated.cut_points_[0])
        np.testing.assert_array_equal(weighted.levels_[0].counts, repeated.levels_[0].counts)

    def test_the_level_score_says_what_the_bins_tell_about_the_classes(self, kind: type) -> None:
        y = np.repeat([0, 1], 50)
        X = column((y + np.linspace(0, 0.5, 100)).tolist())
        fitted = kind(n_bins=2).fit(X, y)
        counts = fitted.levels_[0].counts.astype(int).tolist()
        assert fitted.costs_[0] == pytest.approx(modl.interval_cost(counts), abs=1e-9)
        assert fitted.level_scores_[0] == pytest.approx(1 - fitted.costs_[0] / fitted.null_costs_[0], abs=1e-12)
        assert fitted.level_scores_[0] > 0.5
        assert kind().fit(X).level_scores_[0] == 0.0  # without classes there is nothing to tell

    @pytest.mark.parametrize("n_bins", [0, -1, 2.5, "10", None])
    def test_the_number_of_bins_is_checked(self, kind: type, n_bins: object) -> None:
        with pytest.raises(ValueError, match="n_bins must be a positive whole number"):
            kind(n_bins=n_bins).fit(column([1.0, 2.0]))


@pytest.mark.parametrize("kind", [EqualFrequencyDiscretizer, EqualWidthDiscretizer])
def test_billions_of_bins_and_tables_without_numbers_are_refused(kind: type) -> None:
    for n_bins in (10**9, 2**70, True):
        with pytest.raises(ValueError, match=r"n_bins must be a positive whole number up to 1,000,000, got"):
            kind(n_bins=n_bins).fit([[1.0], [2.0]])
    with pytest.raises(ValueError, match=f"{kind.__name__} found no numeric column among the columns of X"):
        kind().fit([["a"], ["b"]])

"""The three grids of scores, and their 814 indicators."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bayesieve_lab.simulate import (
    WindowScore,
    engine_grid,
    engine_scores,
    engine_series,
    engine_thresholds,
    quantile_thresholds,
    score_columns,
    window_scores,
)

SIZES = {"levels": 135, "quantiles": 74, "coarse": 166}


@pytest.mark.parametrize("grid", SIZES)
def test_a_grid_has_different_readable_names_and_814_indicators(grid: str) -> None:
    scores, names = engine_scores(engine_series(600), grid=grid)
    assert scores.shape == (600, SIZES[grid])
    assert len(set(names)) == SIZES[grid]
    assert not np.isnan(scores).any()  # the shortest series are long enough for all windows
    thresholds = engine_thresholds(grid, scores if grid == "quantiles" else None)
    assert tuple(thresholds) == names
    assert sum(len(values) for values in thresholds.values()) == 814
    assert all(np.all(np.diff(values) > 0) for values in thresholds.values())
    assert all(isinstance(value, float) for values in thresholds.values() for value in values)


def test_scores_of_a_grid_are_those_of_its_names() -> None:
    data = engine_series(40)
    scores, names = engine_scores(data, grid="quantiles")
    assert np.array_equal(scores, window_scores(data, engine_grid("quantiles")))
    column = scores[:, names.index("KS(w=40, 5 in a row)")]
    assert np.array_equal(column, window_scores(data, [WindowScore("KS", 40, run=5)])[:, 0])
    scores, names = engine_scores(data, grid="levels")
    column = scores[:, names.index("longest[F(w=60)<=0.01]")]
    assert np.array_equal(column, window_scores(data, [WindowScore("F", 60, kept="longest", level=0.01)])[:, 0])


def test_no_level_is_out_of_reach_and_none_within_reach_is_left_out() -> None:
    thresholds = engine_thresholds("levels")
    reached = {name: values[0] for name, values in thresholds.items() if name[0] in "UKF"}
    assert reached["U(w=20)"] == 0.001
    assert reached["KS(w=20)"] == 1e-4
    assert reached["U(w=50)"] == 1e-8
    assert reached["KS(w=60)"] == reached["F(w=20)"] == 1e-10
    steps = [np.r_[np.zeros(width // 2), np.ones(width // 2)] + np.arange(width) * 1e-9 for width in (20, 30, 40, 50)]
    for test in ("U", "KS"):
        for width, step in zip((20, 30, 40, 50), steps, strict=True):
            smallest = window_scores([step], [WindowScore(test, width)])[0, 0]
            lowest = reached[f"{test}(w={width})"]
            assert smallest <= lowest
            assert lowest == 1e-10 or lowest / 10 < smallest


def test_indicators_of_the_levels_read_as_they_say() -> None:
    data = engine_series(50)
    scores, names = engine_scores(data, grid="levels")
    smallest = scores[:, names.index("U(w=30)")]
    share, longest = (scores[:, names.index(f"{kept}[U(w=30)<=0.01]")] for kept in ("share", "longest"))
    assert np.array_equal(smallest <= 0.01, share > 0)
    assert np.array_equal(smallest <= 0.01, longest > 0)
    assert np.all(longest <= share * (data.lengths - 29) + 1e-9)


def test_indicators_of_the_coarse_grid_read_as_they_say() -> None:
    data = engine_series(50)
    scores, names = engine_scores(data, grid="coarse")
    smallest = scores[:, names.index("F(w=50)")]
    longest, of_5, of_9 = (
        scores[:, names.index(f"{kept}[F(w=50)<=0.1]")] for kept in ("longest", "most of 5", "most of 9")
    )
    assert np.array_equal(smallest <= 0.1, of_5 > 0)
    assert np.array_equal(longest >= 5, of_5 == 5)
    assert np.all((np.minimum(longest, 9) <= of_9) & (of_5 <= of_9) & (of_9 <= 9))
    assert "most of 9[KS(w=30)<=0.5]" not in names
    thresholds = engine_thresholds("coarse")
    assert thresholds["KS(w=30)"] == [0.005, 0.1, 0.5]
    assert thresholds["most of 5[KS(w=30)<=0.5]"] == [1.0, 2.0, 3.0]  # not 2 of 5, not 3 of 5, not 4 of 5


def test_quantile_thresholds_cut_into_equal_parts() -> None:
    random = np.random.default_rng(0)
    scores = random.random((1200, 3))
    scores[::7, 1] = np.nan
    for column, values in zip(scores.T, quantile_thresholds(scores, "abc", total=33).values(), strict=True):
        assert len(values) == 11
        known = column[~np.isnan(column)]
        assert set(values) <= set(known)
        parts = np.diff([0, *(np.sum(known <= value) for value in values), known.size])
        assert parts.max() - parts.min() <= 1


def test_scores_of_few_values_give_their_places_to_others() -> None:
    scores = np.c_[np.arange(100) % 4, np.arange(100) ** 2, np.arange(100) % 2, np.ones(100)].astype(float)
    thresholds = quantile_thresholds(scores, ["four", "many", "two", "one"], total=24)
    assert thresholds["four"] == [0.0, 1.0, 2.0]
    assert thresholds["two"] == [0.0]
    assert thresholds["one"] == []
    assert len(thresholds["many"]) == 20
    indicators = np.hstack([scores[:, [k]] <= values for k, values in enumerate(thresholds.values())])
    assert np.all(indicators.any(axis=0) & ~indicators.all(axis=0))
    assert np.unique(indicators, axis=1).shape[1] == 24


def test_uneven_frequencies_keep_thresholds_apart() -> None:
    column = np.r_[np.zeros(90), np.arange(1.0, 11.0)]  # nine tenths are one value
    assert quantile_thresholds(column[:, None], ["a"], total=4)["a"] == [0.0, 1.0, 2.0, 3.0]
    column = np.r_[np.arange(1.0, 11.0), np.full(90, 11.0)]
    assert quantile_thresholds(column[:, None], ["a"], total=4)["a"] == [7.0, 8.0, 9.0, 10.0]


def test_columns_for_data_frames() -> None:
    scores, names = engine_scores(engine_series(12))
    columns = score_columns(scores, names)
    assert pl.DataFrame(columns).columns == pd.DataFrame(columns).columns.tolist() == list(names)
    assert np.array_equal(pl.DataFrame(columns).to_numpy(), scores)
    assert all(column.flags.c_contiguous for column in columns.values())


def test_the_same_scores_every_time() -> None:
    assert np.array_equal(engine_scores(engine_series(20))[0], engine_scores(engine_series(20))[0])


def test_bad_arguments() -> None:
    scores, _ = engine_scores(engine_series(12))
    with pytest.raises(ValueError, match='grid must be "levels", "quantiles" or "coarse", got \'both\''):
        engine_scores(engine_series(2), grid="both")  # type: ignore[arg-type]
    for fixed in ("levels", "coarse"):
        with pytest.raises(ValueError, match=f'grid="{fixed}" are fixed; omit scores'):
            engine_thresholds(fixed, scores)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="come from training scores; pass scores"):
        engine_thresholds("quantiles")
    with pytest.raises(ValueError, match=r"scores of shape \(12, 73\) do not match 74 names"):
        engine_thresholds("quantiles", scores[:, 1:])
    with pytest.raises(ValueError, match=r"12 series have too few .* for 814 thresholds \(at most \d+\); pass more"):
        engine_thresholds("quantiles", scores)
    for total in (-1, "a", 1.5):
        with pytest.raises(ValueError, match="total must be a whole number of at least 0, got"):
            quantile_thresholds(np.eye(3), ["a", "b", "c"], total=total)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="scores must be a matrix of numbers"):
        engine_thresholds("quantiles", "scores")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="series must be an EngineSeries or a list of arrays of numbers, not None"):
        engine_scores(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="and no name twice"):
        score_columns(scores[:, :2], ["same", "same"])

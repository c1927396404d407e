"""`IndicatorEncoder`: scores in, indicators "score <= threshold" out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bayesieve import DiscreteNB, EqualFrequencyDiscretizer, IndicatorEncoder
from bayesieve.table.cautions import CautionWarning
from tests.limits import Limits

RNG = np.random.default_rng(11)
N = 300
Y = np.array(["mean", "normal", "trend"])[RNG.integers(0, 3, N)]
P_VALUES = np.where(Y == "normal", RNG.random(N), RNG.random(N) ** 4).round(3)
HOLES = np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(size=N) + (Y == "trend"))
FRAME = pl.DataFrame({"p": P_VALUES, "slope": HOLES, "count": RNG.integers(0, 6, N)})
LEVELS = [0.01, 0.05, 0.5]


def test_indicators_are_what_their_names_say() -> None:
    encoder = IndicatorEncoder(LEVELS).fit(FRAME, Y)
    names = encoder.get_feature_names_out()
    assert names[:4].tolist() == ["p<=0.01", "p<=0.05", "p<=0.5", "slope<=0.01"]
    found = encoder.transform(FRAME)
    assert (found.shape, found.dtype) == ((N, 9), np.uint8)
    for k, name in enumerate(names):
        score, threshold = name.rsplit("<=", 1)
        np.testing.assert_array_equal(found[:, k], FRAME[score].to_numpy() <= float(threshold))
    assert not found[np.isnan(HOLES), 3:6].any()
    np.testing.assert_array_equal(IndicatorEncoder(LEVELS).fit_transform(FRAME, Y), found)
    np.testing.assert_array_equal(encoder.fit(FRAME).transform(FRAME), found)


def test_level_codes_are_the_other_way_round_and_know_missing_scores() -> None:
    encoder = IndicatorEncoder(LEVELS)
    coded = encoder.fit_transform_coded(FRAME, Y)
    assert coded.n_levels.tolist() == [2] * 3 + [3] * 3 + [2] * 3
    missing = np.isnan(HOLES)
    expected = 1 - encoder.transform(FRAME).T
    expected[3:6] = np.where(missing, 0, 1 + expected[3:6])  # as in every numeric feature, missing values come first
    np.testing.assert_array_equal(coded.codes, expected)
    np.testing.assert_array_equal(encoder.transform_coded(FRAME).codes, expected)
    assert encoder.levels_[4].labels == ("missing", "<= 0.05", "> 0.05")
    assert [level.column for level in encoder.levels_] == ["p"] * 3 + ["slope"] * 3 + ["count"] * 3
    for k, level in enumerate(encoder.levels_):
        np.testing.assert_array_equal(level.code(encoder.read(FRAME).column(encoder.family_of_[k])), expected[k])
    assert encoder.unseen_counts_.sum() == 0


def test_counts_and_scores_are_those_of_the_same_intervals_elsewhere() -> None:
    """Bins at the same cuts cost the same: the level score is that of the other discretizers."""
    for weights in (None, RNG.integers(0, 3, N).astype(float)):
        for name in FRAME.columns:
            cuts = EqualFrequencyDiscretizer(2).fit(FRAME.select(name), Y, weights)
            threshold = cuts.cut_points_[0][-1]
            encoder = IndicatorEncoder([threshold]).fit(FRAME.select(name), Y, weights)
            assert encoder.level_scores_[0] == pytest.approx(cuts.level_scores_[0], abs=1e-12)
            np.testing.assert_allclose(encoder.levels_[0].counts, cuts.levels_[0].counts)
            assert encoder.levels_[0].level_score == encoder.level_scores_[0]
    assert IndicatorEncoder([0.5]).fit(FRAME, Y).level_scores_[0] > 0.01
    assert IndicatorEncoder([0.5]).fit(FRAME).level_scores_.tolist() == [0.0] * 3


def test_weights_multiply_counts_and_quantiles() -> None:
    weights = RNG.integers(0, 4, N)
    rows = np.repeat(np.arange(N), weights)
    weighted = IndicatorEncoder(4).fit(FRAME, Y, weights)
    repeated = IndicatorEncoder(4).fit(FRAME[rows], Y[rows])
    assert weighted.get_feature_names_out().tolist() == repeated.get_feature_names_out().tolist()
    for mine, other in zip(weighted.levels_, repeated.levels_, strict=True):
        np.testing.assert_array_equal(mine.counts, other.counts)
    np.testing.assert_allclose(weighted.level_scores_, repeated.level_scores_, rtol=1e-12)


def test_quantile_thresholds_are_values_that_occur() -> None:
    ranks = np.arange(100.0)[::-1, None]
    assert IndicatorEncoder(3).fit(ranks).thresholds_["x0"].tolist() == [24, 49, 74]
    assert IndicatorEncoder(1).fit(ranks).thresholds_["x0"].tolist() == [49]
    tied = np.array([[1.0]] * 90 + [[2.0]] * 9 + [[3.0]])
    assert IndicatorEncoder(5).fit(tied).thresholds_["x0"].tolist() == [1]  # each value once
    assert IndicatorEncoder(500).fit(tied).thresholds_["x0"].tolist() == [1, 2]  # never the largest
    assert IndicatorEncoder(5).fit(np.full((4, 1), 7.5)).thresholds_["x0"].tolist() == [7.5]  # unless it is the only
    missing = np.array([[1.0], [2.0], [3.0], [np.nan]])
    assert IndicatorEncoder(2).fit(missing).thresholds_["x0"].tolist() == [1, 2]


def test_thresholds_by_name() -> None:
    encoder = IndicatorEncoder({"p": [0.5, 0.05, 0.05], "slope": 2, "count": (3,)}).fit(FRAME, Y)
    assert encoder.thresholds_["p"].tolist() == [0.05, 0.5]
    assert encoder.family_of_.tolist() == [0, 0, 1, 1, 2]
    assert encoder.get_feature_names_out()[-1] == "count<=3"


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ({"p": [0.1], "slope": [0]}, "thresholds lacks the score 'count'; add its thresholds, or drop the score"),
        ({"p": 1, "slope": 1, "count": 1, "q": 1}, "thresholds names 'q', which is not a score of X; the scores are"),
        ({"p": 1, "slope": [], "count": 1}, r"thresholds\['slope'\] must be a sequence of numbers"),
        ([0.1, np.nan], "thresholds holds nan; thresholds must be finite"),
        ([np.inf], "thresholds holds inf; thresholds must be finite"),
        ([[0.1]], "thresholds must be a sequence of numbers, or a whole number"),
        (["0.1"], "thresholds must be a sequence of numbers"),
        ("0.1", "thresholds must be a sequence of numbers"),
        (0.1, "thresholds must be a sequence of numbers"),
        (True, "thresholds must be a sequence of numbers"),
        (None, "thresholds must be a sequence of numbers"),
        (0, "thresholds must be at least 1"),
        (2**32, "thresholds must be at most 1,000,000"),
    ],
)
def test_thresholds_without_a_meaning_are_refused(thresholds: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        IndicatorEncoder(thresholds).fit(FRAME, Y)


@pytest.mark.parametrize(
    ("column", "type_"),
    [
        (["a", "b", None], "text"),
        ([True, False, True], "boolean"),
        (["2020-01-01"] * 3, "datetime"),
        ([1, "b", 2], "mixed"),
    ],
)
def test_a_score_is_a_number(column: list[Any], type_: str) -> None:
    series = pd.Series(column, dtype="datetime64[us]" if type_ == "datetime" else object)
    frame = pd.DataFrame({"ok": [1, 2, 3], "odd": series})
    with pytest.raises(ValueError, match=f"Column 'odd' contains values of type {type_}, but scores must be numbers"):
        IndicatorEncoder([1]).fit(frame, [0, 1, 1])
    encoder = IndicatorEncoder([1]).fit(frame.assign(odd=1.0), [0, 1, 1])
    if type_ == "datetime":
        with pytest.raises(ValueError, match="'odd'"):
            encoder.transform(frame)
    elif type_ != "boolean":  # as in every numeric column
        with pytest.warns(CautionWarning, match="Column 'odd' is read as a number but holds"):
            assert not encoder.transform(frame)[:, 1][pd.to_numeric(series, errors="coerce").isna()].any()


def test_a_score_without_values_needs_thresholds() -> None:
    frame = FRAME.with_columns(pl.lit(None).alias("slope"))
    with pytest.raises(ValueError, match="Score 'slope' has no finite value to learn thresholds from"):
        IndicatorEncoder(3).fit(frame, Y)
    coded = IndicatorEncoder([0.5]).fit_transform_coded(frame, Y)
    assert coded.codes[1].tolist() == [0] * N
    assert coded.n_levels.tolist() == [2, 3, 2]


def test_infinite_scores_are_refused_like_other_infinite_numbers() -> None:
    X = np.array([[-2.0], [0.0], [2.0], [np.nan]])
    encoder = IndicatorEncoder([-1, 0, 1]).fit(X, [0, 1, 0, 1])
    assert encoder.transform(X).tolist() == [[1, 1, 1], [0, 1, 1], [0, 0, 0], [0, 0, 0]]
    assert encoder.transform_coded(X).codes.T.tolist() == [[1, 1, 1], [2, 1, 1], [2, 2, 2], [0, 0, 0]]
    X[2] = np.inf
    for call in (encoder.transform, IndicatorEncoder([0]).fit):
        with pytest.raises(ValueError, match="Column 'x0' contains infinity"):
            call(X)


def test_missing_scores_without_a_level_are_counted_and_add_nothing() -> None:
    known = FRAME.filter(~np.isnan(HOLES))
    encoder = IndicatorEncoder(LEVELS).fit(known, Y[~np.isnan(HOLES)])
    ignoring = IndicatorEncoder(LEVELS, missing="ignore").fit(FRAME, Y)
    for fitted in (encoder, ignoring):
        coded = fitted.transform_coded(FRAME)
        assert coded.n_levels.tolist() == [2] * 9
        assert (coded.codes[3:6, np.isnan(HOLES)] == 2).all()
        holes = int(np.isnan(HOLES).sum())
        assert fitted.unseen_counts_.tolist() == [0] * 3 + [holes] * 3 + [0] * 3
    for mine, other in zip(encoder.levels_[3:6], ignoring.levels_[3:6], strict=True):
        np.testing.assert_array_equal(mine.counts, other.counts)
        assert mine.level_score == other.level_score
    model = DiscreteNB().fit(ignoring.fit_transform_coded(FRAME, Y))
    with_holes = FRAME.with_columns(pl.lit(None, dtype=pl.Float64).alias("slope"))
    without = DiscreteNB().fit(ignoring.fit_transform_coded(FRAME, Y).select([0, 1, 2, 6, 7, 8]))
    np.testing.assert_allclose(
        model.predict_joint_log_proba(ignoring.transform_coded(with_holes)),
        without.predict_joint_log_proba(ignoring.transform_coded(FRAME).select([0, 1, 2, 6, 7, 8])),
        rtol=1e-13,
    )


def test_rows_without_weight_teach_nothing() -> None:
    weights = np.where(np.isnan(HOLES), 0.0, 1.0)
    assert IndicatorEncoder(LEVELS).fit_transform_coded(FRAME, Y, weights).n_levels.tolist() == [2] * 9
    with pytest.raises(ValueError, match="all weights are zero"):
        IndicatorEncoder(LEVELS).fit(FRAME, Y, np.zeros(N))


@pytest.mark.parametrize("n_jobs", [None, 1, 3])
def test_results_do_not_depend_on_the_number_of_threads(n_jobs: int | None, limits: Limits) -> None:
    limits(parallel_columns=0, cells_coded_at_once=1)  # each score is a task of its own
    expected = IndicatorEncoder(7).fit_transform_coded(FRAME, Y)
    coded = IndicatorEncoder(7, n_jobs=n_jobs).fit_transform_coded(FRAME, Y)
    assert coded.names == expected.names
    np.testing.assert_array_equal(coded.codes, expected.codes)


def test_to_frame_lists_every_level() -> None:
    frame = IndicatorEncoder(LEVELS).fit(FRAME, Y).to_frame()
    assert frame.height == 2 * 3 + 3 * 3 + 2 * 3
    first = frame.row(0, named=True)
    assert (first["feature"], first["score"], first["threshold"], first["level"]) == ("p<=0.01", "p", 0.01, "<= 0.01")
    totals = frame.group_by("feature", maintain_order=True).agg(pl.col("count").sum())["count"]
    assert totals.to_list() == [N] * 9
    assert first["count_mean"] == ((P_VALUES <= 0.01) & (Y == "mean")).sum()

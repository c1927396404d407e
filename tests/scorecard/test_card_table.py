"""The table of a scorecard has a line for each level, and the strategy table counts what approval brings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve.scorecard.strategy import strategy_table
from tests.cases import mostly_slow
from tests.scorecard.exported import CASES, case

TWO_CLASSES = [name for name in CASES if name != "all kinds, three classes"]


@pytest.mark.parametrize("name", mostly_slow(TWO_CLASSES, sorted({*TWO_CLASSES} - {"levels", "booleans", "numbers"})))
def test_lines_hold_the_counts_and_points_of_each_cell(name: str) -> None:
    model, _ = case(name)
    card, points = model.scorecard_, model.points()
    table = pl.DataFrame(points.table())
    base = table.row(0, named=True)
    assert (base["kind"], base["points"], base["rows"]) == ("base", points.base, card.class_counts.sum())
    assert base["events"] == card.class_counts[1 - card.positive]
    for feature in card.used_features:
        own = table.filter(feature=feature.name)
        total = own.row(-1, named=True)
        *lines, unseen = own.rows(named=True)[:-1]
        assert (total["kind"], unseen["kind"], unseen["rows"], unseen["events"]) == ("total", "unseen", 0, 0)
        assert sorted([*own["points"]][:-1]) == sorted(points.points[feature.name].tolist())
        assert unseen["points"] == points.points[feature.name][-1]
        assert len(lines) == feature.cells.n_levels
        for column in ("rows", "events", "share", "iv"):
            assert math.fsum(line[column] for line in lines) == pytest.approx(total[column])
        assert total["rows"] == pytest.approx(feature.counts.sum())
        assert (sum(line["kind"] == "missing" for line in lines) > 0) == feature.cells.has_missing_level
        assert sum(line["kind"] == "special" for line in lines) == len(feature.cells.special)
        others, events = total["rows"] - total["events"], total["events"]
        for line in lines:
            good, bad = line["rows"] - line["events"], line["events"]
            if good > 0 and bad > 0:
                assert line["woe"] == pytest.approx(math.log(good / others) - math.log(bad / events))
                assert line["iv"] == pytest.approx((good / others - bad / events) * line["woe"])
            assert (line["event_rate"] is None) == (line["rows"] == 0)
            assert line["woe"] is None or math.isfinite(line["woe"])


def expected(score: np.ndarray, event: np.ndarray, weights: np.ndarray, low: float, high: float) -> dict[str, float]:
    own, approved = (score >= low) & (score <= high), score >= low
    return {
        "rows": weights[own].sum(),
        "share": weights[own].sum() / weights.sum(),
        "events": weights[own] @ event[own],
        "event_rate": weights[own] @ event[own] / weights[own].sum(),
        "approval_rate": weights[approved].sum() / weights.sum(),
        "approved_event_rate": weights[approved] @ event[approved] / weights[approved].sum(),
        "avoided_events": weights[~approved] @ event[~approved] / (weights @ event),
    }


@pytest.mark.parametrize("bands", [1, 4, 100, [10.0], [-5, 7, 12, 99]], ids=str)
def test_a_strategy_table_counts_what_approval_brings(bands: Any) -> None:
    rng = np.random.default_rng(0)
    score, weights = rng.integers(0, 21, 300), rng.integers(0, 4, 300).astype(float)
    event = rng.random(300) < 0.5 - score / 50
    table = strategy_table(score, event, weights, bands)
    kept = weights > 0
    assert table["high"][0] == score[kept].max()
    assert table["low"][-1] == score[kept].min()
    assert (table["low"][:-1] > table["high"][1:]).all()
    for line in table.iter_rows(named=True):
        sums = expected(score[kept], event[kept], weights[kept], line["low"], line["high"])
        assert {name: line[name] for name in sums} == pytest.approx(sums)
    assert table.equals(
        strategy_table(np.repeat(score, weights.astype(int)), np.repeat(event, weights.astype(int)), None, bands)
    )
    if isinstance(bands, int):
        assert table.height == min(bands, 21)
    else:
        assert all(not (low < limit <= high) for low, high in table.select("low", "high").rows() for limit in bands)


def test_points_have_a_strategy_table() -> None:
    model, frame = case("special values")
    y = model.predict(frame)
    points = model.points()
    table = points.strategy(frame.with_columns(y=pl.Series(y)), "y", bands=5)
    score, event = points.score(frame), y != model.classes_[1]
    assert table.equals(strategy_table(score, event, None, 5))
    assert table["event_rate"].is_sorted()
    with pytest.raises(ValueError, match="must be a class"):
        points.strategy(frame, ["other"] * frame.height)


@pytest.mark.parametrize("bands", [0, -1, True, [], [3, 2], "many", [[1, 2]]], ids=str)
def test_bands_that_are_none_are_refused(bands: Any) -> None:
    with pytest.raises(ValueError, match="bands must be a number of bands, at least 1, or ascending scores"):
        strategy_table(np.arange(4), np.arange(4) > 2, None, bands)


def test_a_strategy_table_needs_rows() -> None:
    with pytest.raises(ValueError, match="No row has a weight above 0"):
        strategy_table(np.arange(2), np.arange(2) > 0, np.zeros(2))

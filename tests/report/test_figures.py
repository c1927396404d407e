"""Positions of charts: everything keeps to its plot area, whatever the numbers, and stands where it should."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, strategies as st

from bayesieve.report import sections
from bayesieve.report.data import PathStep, SearchSummary
from bayesieve.report.drawing import (
    Scale,
    bar_width,
    diverging_bar,
    evidence_limit,
    spaced,
    stacked_segments,
    thinned,
    tick_values,
    waterfall,
)
from bayesieve.report.search import MAX_LINES, best_start, path_chart
from bayesieve.report.sections import reliability_chart, roc_area, roc_points
from bayesieve.statistics.metrics import Bin

anything = st.floats(allow_nan=True, allow_infinity=True)
finite = st.floats(-1e6, 1e6)


@given(anything, finite, finite, st.floats(1e-6, 1e6))
def test_scales_and_ticks_stay_in_the_plot_area(value, low, high, span):
    assert 0 <= Scale(min(low, high), max(low, high))(value) <= 100
    ticks = tick_values(low, low + span)
    assert len(ticks) <= 7
    assert all(low - 1e-6 * span - 1e-6 <= tick <= low + span + 1e-6 * span + 1e-6 for tick in ticks)
    assert ticks == sorted(ticks)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=500).map(sorted), st.integers(2, 300))
def test_thinning_and_spacing_keep_the_ends(positions, limit):
    for kept, most in ((thinned(len(positions), limit), limit), (spaced(positions, limit), limit + 2)):
        assert (kept[0], kept[-1]) == (0, len(positions) - 1)
        assert kept == sorted(set(kept))
        assert len(kept) <= most


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40))
def test_stacked_segments_fill_the_bar_without_gaps(shares):
    segments = stacked_segments(shares)
    if sum(shares) <= 0:
        assert segments == []
        return
    assert sum(s.width for s in segments) == pytest.approx(100, abs=0.05)
    for left, right in itertools.pairwise(segments):
        assert left.start + left.width == pytest.approx(right.start, abs=0.01)
    for s in segments:
        assert 0 <= s.start <= s.start + s.width <= 100.01
        if s.index is not None:
            assert s.share == pytest.approx(shares[s.index] / sum(shares))


def test_many_classes_are_ranked_and_the_rest_joined():
    assert [s.index for s in stacked_segments([0.1, 0.0, 0.5, 0.4])] == [0, 2, 3]  # few keep their order
    segments = stacked_segments([1.0] * 20 + [5.0, 9.0] + [0.0] * 4)
    assert [s.index for s in segments] == [21, 20, 0, 1, 2, None]
    assert (segments[-1].n_classes, segments[-1].share) == (21, pytest.approx(17 / 34))


def test_bars_are_proportional():
    assert [bar_width(*pair) for pair in ((1, 4), (8, 4), (-1, 4), (math.nan, 4), (1, 0))] == [25, 100, 0, 0, 0]
    small, large = diverging_bar(0.5, 2), diverging_bar(1.5, 2)
    assert large.width == pytest.approx(3 * small.width)


@given(anything, st.floats(1e-3, 1e3))
def test_diverging_bars_stay_on_their_side(value, limit):
    bar = diverging_bar(value, limit)
    assert 0 <= bar.start <= bar.start + bar.width <= 100.001
    if value > 0:
        assert bar.start == 50
    if value < 0:
        assert bar.start + bar.width == pytest.approx(50, abs=0.002)
    assert not bar.clipped or abs(value) > limit


def test_one_extreme_level_does_not_flatten_the_others():
    usual = [[-0.5, 0.4], [0.6, -0.2], [0.3, 0.5]]
    assert evidence_limit(usual) == 0.6
    assert evidence_limit([*usual, [-30.0, 0.1]]) == pytest.approx(4 * 0.55)
    assert evidence_limit([]) == evidence_limit([[0.0], [math.nan]]) == 1.0


def search(*starts, null=100.0, best=60.0):
    steps = (
        PathStep(s, i, "add" if i else "start", None, i, c) for s, own in enumerate(starts) for i, c in enumerate(own)
    )
    return SearchSummary("map", "", 1, 1, 0.1, null, best, True, tuple(steps))


def test_path_chart_emphasises_the_start_that_reached_the_best_criterion():
    summary = search([100, 90, 80], [100, 70, 60], [100, 95])
    chart = path_chart(summary)
    assert best_start(summary) == 1
    (panel,) = chart.panels
    assert [line.kind for line in panel.lines] == ["start", "start", "best"]
    best_line = panel.lines[-1].points
    assert [mark.point for mark in panel.marks] == [best_line[-1]]
    assert [p.x for p in best_line] == [0, 50, 100]
    assert panel.reference_y == best_line[0].y < best_line[-1].y
    assert path_chart(search()) is None


@given(st.lists(st.lists(anything, min_size=1, max_size=6), min_size=1, max_size=5), anything, anything)
def test_path_chart_stays_in_the_plot_area(starts, null, best):
    chart = path_chart(search(*starts, null=null, best=best))
    if not any(abs(c) < 1e300 for c in itertools.chain(*starts)):
        assert chart is None
        return
    for point in [*(p for line in chart.panels[0].lines for p in line.points), chart.panels[0].marks[0].point]:
        assert 0 <= point.x <= 100
        assert 0 <= point.y <= 100
    assert all(0 <= tick.position <= 100 for tick in chart.x_ticks + chart.panels[0].y_ticks)


def test_long_searches_are_thinned():
    starts = [[100 - s / 10, *(90 - s / 10 - i / 1000 for i in range(400))] for s in range(MAX_LINES + 9)]
    chart = path_chart(search(*starts, best=0.0))
    lines = chart.panels[0].lines
    assert len(lines) == MAX_LINES
    assert chart.n_hidden == 9
    assert max(len(line.points) for line in lines) <= 300
    assert lines[-1].points[-1].y == max(line.points[-1].y for line in lines)


def binned(predicted, observed, rows):
    return Bin(predicted, observed, rows, 0.1, 0.9, 1.0)


def test_reliability_positions():
    chart = reliability_chart([binned(0.25, 0.5, 10), binned(0.75, 1.0, 40), binned(0.5, 0.5, 0)])
    assert [(p.x, p.y) for p in chart.points] == [(25, 50), (75, 0)]
    assert [bar.height for bar in chart.bars] == [25, 100]
    assert chart.error == pytest.approx(0.25)
    assert [[(p.x, p.y) for p in ends] for ends in chart.intervals] == [[(x, 90), (x, 10)] for x in (25, 75)]
    assert reliability_chart([]) is reliability_chart([binned(math.nan, math.nan, 0)]) is None


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(0, 1000)), max_size=30))
def test_reliability_stays_in_the_plot_area(bins):
    chart = reliability_chart([binned(*b) for b in bins])
    for bar in chart.bars if chart else ():
        assert 0 <= bar.x <= bar.x + bar.width <= 100.01
        assert 0 <= bar.height <= 100


def test_roc_positions_and_area():
    curve = [(0.0, 0.0), (0.0, 0.5), (0.5, 1.0), (1.0, 1.0)]
    assert [(p.x, p.y) for p in roc_points(curve)] == [(0, 100), (0, 50), (50, 0), (100, 0)]
    assert roc_area(curve) == pytest.approx(0.875)
    assert math.isnan(roc_area([]))
    assert len(roc_points([(i / 5000, (i / 5000) ** 0.5) for i in range(5001)])) == sections.MAX_POINTS


@given(finite, st.lists(anything, max_size=20))
def test_waterfall_bars_meet_and_add_up(prior, amounts):
    chart = waterfall(prior, amounts)
    used = [a for a in amounts if math.isfinite(a) and abs(a) < 1e300]
    assert len(chart.bars) == len(amounts) + 2
    if all(abs(a) < 1e9 for a in used):
        assert chart.total == pytest.approx(prior + sum(used), rel=1e-9, abs=1e-6)
    for bar in chart.bars:
        assert 0 <= bar.start <= 100
        assert bar.start + bar.width <= 100.01


def test_waterfall_by_hand():
    chart, unit = waterfall(1.0, [2.0, -4.0]), 96 / 4
    assert (chart.total, chart.zero) == (-1.0, pytest.approx(2 + unit))
    places = [(2 + unit, unit), (2 + 2 * unit, 2 * unit), (2, 4 * unit), (2, unit)]
    assert [(bar.start, bar.width) for bar in chart.bars] == [pytest.approx(place) for place in places]
    assert [bar.value for bar in chart.bars] == [1.0, 2.0, -4.0, -1.0]

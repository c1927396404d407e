from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from bayesieve.report import sections
from bayesieve.report.data import PathStep, SearchSummary
from bayesieve.report.drawing import (
    Scale,
    bar_width,
    diverging_bar,
    evidence_limit,
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


@given(anything, finite, finite)
def test_scale_stays_in_the_plot_area(value, low, high):
    assert 0 <= Scale(min(low, high), max(low, high))(value) <= 100


@given(finite, st.floats(1e-6, 1e6))
def test_ticks_are_few_rounded_and_inside(low, span):
    ticks = tick_values(low, low + span)
    assert len(ticks) <= 7
    assert all(low - 1e-6 * span - 1e-6 <= tick <= low + span + 1e-6 * span + 1e-6 for tick in ticks)
    assert ticks == sorted(ticks)


@given(st.integers(1, 2000), st.integers(2, 300))
def test_thinning_keeps_the_ends(n, limit):
    kept = thinned(n, limit)
    assert kept[0] == 0
    assert kept[-1] == n - 1
    assert len(kept) <= max(limit, 1)
    assert kept == sorted(set(kept))


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


def test_up_to_eight_classes_keep_their_order():
    assert [s.index for s in stacked_segments([0.1, 0.5, 0.4])] == [0, 1, 2]
    assert [s.index for s in stacked_segments([0.1, 0.0, 0.9])] == [0, 2]


def test_many_classes_are_ranked_and_the_rest_joined():
    shares = [1.0] * 20 + [5.0, 9.0] + [0.0] * 4
    segments = stacked_segments(shares)
    assert [s.index for s in segments] == [21, 20, 0, 1, 2, None]
    assert segments[-1].n_classes == 21
    assert segments[-1].share == pytest.approx(17 / 34)


def test_bars_are_proportional():
    assert bar_width(1, 4) == 25
    assert bar_width(8, 4) == 100
    assert bar_width(-1, 4) == 0
    assert bar_width(math.nan, 4) == bar_width(1, 0) == 0
    small, large = diverging_bar(0.5, 2), diverging_bar(1.5, 2)
    assert large.width == pytest.approx(3 * small.width)
    assert small.start == large.start == 50


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


def search(path, **changes):
    base = SearchSummary("map", "", 1, 1, 0.1, 100.0, 60.0, True, tuple(path))
    return replace(base, **changes)


def moves(start, criteria):
    return [PathStep(start, i, "add" if i else "start", None, i, c) for i, c in enumerate(criteria)]


def test_path_chart_emphasises_the_start_that_reached_the_best_criterion():
    summary = search(moves(0, [100, 90, 80]) + moves(1, [100, 70, 60]) + moves(2, [100, 95]))
    chart = path_chart(summary)
    assert chart is not None
    assert best_start(summary) == 1
    (panel,) = chart.panels
    assert [line.kind for line in panel.lines] == ["start", "start", "best"]
    best_line = panel.lines[-1].points
    assert [mark.point for mark in panel.marks] == [best_line[-1]]
    assert [p.x for p in best_line] == [0, 50, 100]
    assert panel.reference_y == best_line[0].y < best_line[-1].y


@given(st.lists(st.lists(anything, min_size=1, max_size=6), min_size=1, max_size=5), anything, anything)
def test_path_chart_stays_in_the_plot_area(starts, null, best):
    summary = search([m for s, c in enumerate(starts) for m in moves(s, c)], null_criterion=null, best_criterion=best)
    chart = path_chart(summary)
    if not any(abs(c) < 1e300 for c in itertools.chain(*starts)):
        assert chart is None
        return
    assert chart is not None
    for point in [*(p for line in chart.panels[0].lines for p in line.points), chart.panels[0].marks[0].point]:
        assert 0 <= point.x <= 100
        assert 0 <= point.y <= 100
    assert all(0 <= tick.position <= 100 for tick in chart.x_ticks + chart.panels[0].y_ticks)


def test_long_searches_are_thinned():
    path = [m for s in range(200) for m in moves(s, [100 - s / 10, *(90 - s / 10 - i / 1000 for i in range(1000))])]
    chart = path_chart(search(path, best_criterion=0.0))
    assert chart is not None
    lines = chart.panels[0].lines
    assert len(lines) == MAX_LINES
    assert chart.n_hidden == 200 - MAX_LINES
    assert max(len(line.points) for line in lines) <= 300
    assert lines[-1].points[-1].y == max(line.points[-1].y for line in lines)


def test_no_moves_no_chart():
    assert path_chart(search([])) is None


def binned(predicted, observed, rows):
    return Bin(predicted, observed, rows, 0.1, 0.9, 1.0)


def test_reliability_positions():
    chart = reliability_chart([binned(0.25, 0.5, 10), binned(0.75, 1.0, 40), binned(0.5, 0.5, 0)])
    assert chart is not None
    assert [(p.x, p.y) for p in chart.points] == [(25, 50), (75, 0)]
    assert [bar.height for bar in chart.bars] == [25, 100]
    assert chart.error == pytest.approx(0.25)
    assert [[(p.x, p.y) for p in ends] for ends in chart.intervals] == [[(x, 90), (x, 10)] for x in (25, 75)]
    assert reliability_chart([]) is None
    assert reliability_chart([binned(math.nan, math.nan, 0)]) is None


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(0, 1000)), max_size=30))
def test_reliability_stays_in_the_plot_area(bins):
    chart = reliability_chart([binned(*b) for b in bins])
    if chart is None:
        return
    for bar in chart.bars:
        assert 0 <= bar.x <= bar.x + bar.width <= 100.01
        assert 0 <= bar.height <= 100


def test_roc_positions_and_area():
    curve = [(0.0, 0.0), (0.0, 0.5), (0.5, 1.0), (1.0, 1.0)]
    assert [(p.x, p.y) for p in roc_points(curve)] == [(0, 100), (0, 50), (50, 0), (100, 0)]
    assert roc_area(curve) == pytest.approx(0.875)
    assert math.isnan(roc_area([]))
    long = [(i / 5000, (i / 5000) ** 0.5) for i in range(5001)]
    assert len(roc_points(long)) == sections.MAX_POINTS


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
    chart = waterfall(1.0, [2.0, -4.0])
    assert chart.total == -1.0
    unit = 96 / 4
    assert chart.zero == pytest.approx(2 + unit)
    assert [(b.start, b.width, b.value) for b in chart.bars] == [
        (pytest.approx(2 + unit), pytest.approx(unit), 1.0),
        (pytest.approx(2 + 2 * unit), pytest.approx(2 * unit), 2.0),
        (pytest.approx(2), pytest.approx(4 * unit), -4.0),
        (pytest.approx(2), pytest.approx(unit), -1.0),
    ]

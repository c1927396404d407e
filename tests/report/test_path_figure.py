"""The path of a search, drawn: where everything stands, and what it says."""

from __future__ import annotations

import itertools
import math
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bayesieve.report import path_figure, render_report
from bayesieve.report.drawing import Line, Point, Scale, band, clipped_lines, labelled_mark, value_scale
from bayesieve.report.search import (
    MAX_MOVES,
    Facet,
    by_size,
    facets_in_turn,
    moves_table,
    needs_logarithm,
    phase_drawing,
    spread,
    spread_drawing,
    summarise_trace,
    ticks_of,
    value_at,
)
from tests.report.markup import drawings, read, texts
from tests.report.paths import floating_trace, forward_trace, summary, wrapper_trace
from tests.report.sample import synthetic

finite = st.floats(-1e6, 1e6)


def test_a_forward_search_stands_over_its_sizes():
    drawing = phase_drawing(summarise_trace(forward_trace(), [True, True, False, False]))
    guide, held_out = drawing.panels
    assert [p.x for p in guide.lines[0].points] == [0, 25, 50, 75, 100]
    assert [(t.position, t.label) for t in drawing.x_ticks] == [(0, "0"), (25, "1"), (50, "2"), (75, "3"), (100, "4")]
    assert drawing.x_label == "number of features"
    assert [(n.position, n.label) for n in drawing.names] == [(25, "a"), (50, "b"), (75, "c"), (100, "d")]
    assert drawing.chosen_x == 50
    assert held_out.marks[0].label == "2 features, 0.2000"
    assert guide.marks[0].label == "0.2000"
    assert guide.marks[0].point == guide.lines[0].points[2]
    heights = [p.y for p in guide.lines[0].points]
    assert heights == sorted(heights)  # a falling criterion falls on the page
    assert drawing.stretches == ()


def test_the_band_is_one_standard_error_of_the_error_rate():
    search = summarise_trace(forward_trace(validation_total=400.0))
    drawing = phase_drawing(search)
    guide, held_out = drawing.panels
    assert guide.bands == ()
    polygon = held_out.bands[0]
    line = held_out.lines[0].points
    per_unit = (line[2].y - line[0].y) / (0.5 - 0.2)  # both ends of the validation values are on the axis
    upper, lower = polygon[:5], polygon[5:][::-1]
    for value, above, below, point in zip([0.5, 0.36, 0.2, 0.25, 0.25], upper, lower, line, strict=True):
        error = math.sqrt(value * (1 - value) / 400) * per_unit
        assert point.y - above.y == pytest.approx(error, abs=0.01)
        assert below.y - point.y == pytest.approx(error, abs=0.01)
    assert "± one standard error, 400 rows" in held_out.note
    without = phase_drawing(replace(search, validation_name="log_loss"))
    assert without.panels[1].bands == ()


def test_phases_stand_side_by_side_each_from_its_own_subset():
    search = summarise_trace(floating_trace(), [True, True, False, False])
    drawing = phase_drawing(search)
    first, second = drawing.stretches
    assert [s.text for s in drawing.stretches] == ["1 dropping, from 4", "2 adding, from 2"]
    assert first.start == 0
    assert first.start + first.width < second.start
    assert second.start + second.width == pytest.approx(100)
    assert first.width / second.width == pytest.approx(4)  # four moves, and one
    down, up = drawing.panels[0].lines
    assert [p.x for p in down.points] == sorted(p.x for p in down.points)
    assert down.points[0].x == 0
    assert up.points[0].x == pytest.approx(second.start)
    assert up.points[0].y == down.points[2].y  # the same subset, met again
    assert search.chosen == (0, 2)
    assert drawing.names[0].label == "− d"


def test_starts_that_have_nothing_to_do_with_each_other_lie_over_one_another():
    walks = [
        [(0, True, 90.0, math.nan), (1, True, 80.0, math.nan)],
        [(1, True, 85.0, math.nan), (0, True, 70.0, math.nan)],
    ]
    trace = wrapper_trace(walks, starts=[([], 100.0, math.nan)] * 2, criterion="map", validation_total=None)
    drawing = phase_drawing(summarise_trace(trace))
    assert drawing.x_label == "moves made"
    assert [line.kind for line in drawing.panels[0].lines] == ["start", "best"]
    assert len(drawing.panels) == 1
    assert drawing.panels[0].lines[-1].points[-1].y > drawing.panels[0].lines[0].points[-1].y
    assert drawing.chosen_x is None


def test_thousands_of_steps_are_thinned_but_the_chosen_one_stays():
    n = 1500
    values = [0.6 - 0.00009 * i if i < 1321 else 0.49 + 0.00001 * i for i in range(n)]
    steps = [(i, True, v, v + 0.01) for i, v in enumerate(values)]
    trace = wrapper_trace([steps], names=tuple(f"feature {i}" for i in range(n)))
    figure = path_figure(trace)
    drawing = figure.drawing
    assert all(len(line.points) <= 302 for panel in drawing.panels for line in panel.lines)
    assert len(drawing.strips) <= 302
    assert drawing.panels[1].marks[0].point in drawing.panels[1].lines[0].points
    assert len(figure.to_html()) < 250_000
    assert len(figure.table.rows) == MAX_MOVES
    assert figure.table.rows[figure.table.marked][0] == "1,321"
    assert "200 of 1,501 lines, those around the chosen subset." in figure.to_html()


@given(st.integers(0, 5000), st.integers(0, 5000), st.booleans())
def test_sizes_stay_in_order_on_their_part_of_the_axis(first, last, logarithmic):
    facet = Facet(first, last, 20.0, 60.0, logarithmic)
    step = 1 if last >= first else -1
    places = [facet(size) for size in range(first, last + step, max(1, abs(last - first) // 7) * step)]
    assert places == sorted(places)
    assert all(20 <= place <= 60 for place in places)
    ticks = facet.ticks()
    assert ticks
    assert all(20 <= t.position <= 60 for t in ticks)


def test_the_axis_leaves_a_far_outlier_outside_and_what_is_wanted_inside():
    low, high = [0.7, *([0.1, 0.11, 0.12] * 20)], [0.2, *([0.9, 0.89, 0.88] * 20)]
    scale = value_scale(low, [], lower_is_better=True)
    assert (scale.low < 0.1, scale.high < 0.25) == (True, True)
    assert value_scale(low, [0.7], lower_is_better=True).high > 0.7
    assert value_scale(high, [], lower_is_better=False).low > 0.7
    assert value_scale([0.42, 0.35, 0.33, 0.3, 0.28, 0.27], [], lower_is_better=True).high > 0.42
    assert value_scale([math.nan, math.inf], [], lower_is_better=True) is None


@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=30), finite, st.floats(1e-3, 1e6))
def test_lines_and_bands_are_cut_at_the_ends_of_the_axis(rows, low, span):
    scale = Scale(low, low + span, 100, 0)
    pairs = [(float(i), value) for i, (value, _) in enumerate(rows)]
    inside = {x for x, y in pairs if low <= y <= low + span}
    drawn = clipped_lines(pairs, scale)
    assert all(0 <= p.y <= 100 for part in drawn for p in part)
    assert inside <= {p.x for part in drawn for p in part}
    for part in drawn:
        assert [p.x for p in part] == sorted(p.x for p in part)
    triples = [(float(i), value, value + abs(width)) for i, (value, width) in enumerate(rows)]
    assert all(0 <= p.y <= 100 for polygon in band(triples, scale) for p in polygon)


def test_a_line_leaves_the_axis_where_its_value_does():
    parts = clipped_lines([(0.0, 3.0), (1.0, 1.0), (2.0, -1.0), (3.0, 1.0)], Scale(0, 2, 100, 0))
    assert parts == [
        (Point(0.5, 0), Point(1, 50), Point(1.5, 100)),
        (Point(2.5, 100), Point(3, 50)),
    ]
    assert clipped_lines([(0.0, 1.0), (1.0, math.nan), (2.0, 1.0), (3.0, 1.0)], Scale(0, 2, 100, 0)) == [
        (Point(0, 50),),
        (Point(2, 50), Point(3, 50)),
    ]
    (polygon,) = band([(0.0, 0.0, 4.0), (1.0, 0.0, 4.0)], Scale(0, 2, 100, 0))
    assert set(polygon) == {Point(0, 0), Point(1, 0), Point(1, 100), Point(0, 100)}
    assert len(polygon) == 4


def test_labels_keep_out_of_the_way_of_lines_and_frame():
    falling = Line("best", (Point(0, 20), Point(40, 50), Point(100, 95)))
    assert labelled_mark(Point(40, 50), "0.1072", [falling], above=False).side == "left"
    assert labelled_mark(Point(99, 50), "0.1072", [], above=False).side == "left"
    assert labelled_mark(Point(50, 96), "0.1072", [], above=False).above


def test_several_traces_draw_their_mean_with_a_band():
    traces = [forward_trace(shift) for shift in (0.0, 0.02, 0.04)]
    figure = path_figure(traces)
    assert figure.caption == "3 searches. Dots are the subsets chosen: 2 features."
    held_out = figure.drawing.panels[1]
    assert [line.kind for line in held_out.lines] == ["start"] * 3 + ["best"]
    mean = held_out.lines[-1].points
    upper = held_out.bands[0][:5]
    scale_of = (mean[0].y - mean[2].y) / (0.5 - 0.22)
    assert (upper[2].y - mean[2].y) / scale_of == pytest.approx(0.02, abs=1e-3)
    assert mean[2].x == 50
    assert len(held_out.marks) == 3
    assert all(not mark.label for mark in held_out.marks)
    strip = figure.drawing.strips[2]
    assert (
        "2 features: error probability 0.2200 ± 0.0200, validation error rate 0.2200 ± 0.0200 over 3 searches"
        in strip.text
    )
    assert "0.2200 ± 0.0200" in figure.to_html()


def test_what_cannot_be_drawn_says_so():
    with pytest.raises(ValueError, match=r"error_probability \(error\), error_probability \(no validation\)"):
        path_figure([forward_trace(), forward_trace(validation_total=None)])
    for nothing in ([], 3, "trace", [forward_trace(), None]):
        with pytest.raises(ValueError, match="path_figure needs the trace_ of a fitted selector"):
            path_figure(nothing)


def test_hovering_tells_the_move():
    figure = path_figure(forward_trace(), title="Path")
    titles = [e.text for e in ElementTree.fromstring(figure.to_svg()).iter("{http://www.w3.org/2000/svg}title")]
    told = "2 features after adding b: error probability 0.2000, validation error rate 0.2000 ± 0.0200; chosen"
    assert titles.count(told) == 2  # in both panels
    strips = figure.drawing.strips
    assert strips[0].start == 0
    assert all(a.start + a.width == pytest.approx(b.start, abs=0.01) for a, b in itertools.pairwise(strips))
    assert strips[-1].start + strips[-1].width == pytest.approx(100)


def test_the_report_shows_a_wrapper_by_its_own_measures():
    search = summarise_trace(floating_trace(), [True, True, False, False], name="wrapper", description="Searched.")
    html = render_report(replace(synthetic(n_classes=2), search=search))
    elements = read(html)
    section = next(e.text for e in elements if e.attributes.get("id") == "search")
    words = " ".join(section.split())
    assert "the error probability is 0.5000 without features and 0.1600 at best" in words
    assert "The chosen subset has 2 features: error rate 0.2000 ± 0.0200 on the validation rows." in words
    assert "in 2 phases" in words
    assert "Validation: error rate" in words
    assert "Criterion after each move" not in words
    assert texts(elements, "tr", "chosen") == ["12dropc chosen20.18000.2000"]
    drawings(html)


def test_an_auc_is_better_high():
    values = [0.5, 0.7, 0.8, 0.79, 0.78]
    trace = wrapper_trace(
        [[(f, True, v, math.nan) for f, v in enumerate(values[1:])]],
        starts=[([], 0.5, math.nan)],
        criterion="auc",
        lower_is_better=False,
        validation_total=None,
        names=("U(w=60, 2 in a row)<=0.001114256468355765", "x" * 500, "c", "d"),
    )
    figure = path_figure([trace])
    assert figure.to_svg() == path_figure(trace).to_svg()  # one in a list is one search
    assert "the AUC is 0.5000 without features and 0.8000 at best" in figure.caption
    assert "The chosen subset has 2 features: AUC 0.8000." in figure.caption
    assert figure.drawing.panels[0].heading == "AUC on the rows that guide the search"
    line = figure.drawing.panels[0].lines[0].points
    assert min(line, key=lambda p: p.y).x == figure.drawing.chosen_x == 50
    first, second = (n.label for n in figure.drawing.names[:2])  # long names keep both ends
    assert first.startswith("U(w=60")
    assert first.endswith("<=0.001114")
    assert len(second) <= 24


def test_the_least_that_can_be_drawn():
    figure = path_figure(wrapper_trace([[]], complete=False))
    assert "The search was interrupted" in figure.caption
    assert [p.x for p in figure.drawing.panels[0].lines[0].points] == [50]
    assert [panel.marks[0].label for panel in figure.drawing.panels] == ["0.5000", "0 features, 0.5000"]
    one = path_figure(wrapper_trace([[(0, True, 0.1, 0.1)]], names=("only",)))
    assert [n.label for n in one.drawing.names] == ["only"]
    assert "1 feature: error rate 0.1000 ± 0.0150 on the validation rows" in one.caption
    nothing = path_figure(wrapper_trace([[]], starts=[([], math.nan, math.nan)], validation_total=None))
    assert nothing.drawing is None
    assert all("There is nothing to draw" in text for text in (nothing.to_html(), nothing.to_svg()))


def test_the_axis_of_a_search():
    turns = phase_drawing(replace(summary([(0, 0.5, 0.5), (1, 0.4, 0.4), (2, 0.3, 0.3), (1, 0.2, 0.2)]), chosen=(0, 3)))
    assert (turns.x_label, turns.chosen_x) == ("moves made", 100)  # it adds and drops in turn
    assert [line.kind for line in turns.panels[0].lines] == ["best"]
    facets = facets_in_turn([(800.0, 0.0), (20.0, 21.0)], logarithmic=False)
    assert facets[1].width > 8  # a tiny phase can be seen
    assert (facets[0](800), facets[0](0)) == (facets[0].start, facets[0].stop)
    assert facets[0].stop < facets[1].start
    ticks = ticks_of(facets_in_turn([(60.0, 0.0), (7.0, 60.0)], logarithmic=False))
    assert all(b.position - a.position >= 4.5 for a, b in itertools.pairwise(ticks))
    wide = summary([(i, 0.5, 0.5) for i in range(200)])
    assert phase_drawing(replace(wide, chosen=(0, 5))).x_label == "number of features (logarithmic)"
    assert needs_logarithm([814], [12])
    assert not needs_logarithm([40], [3])
    assert not needs_logarithm([814], [500])
    facet = Facet(0, 814, logarithmic=True)
    assert facet(12) - facet(0) > 30
    assert [t.label for t in facet.ticks()][:4] == ["0", "1", "2", "5"]
    values = [0.9, *([0.1, 0.11, 0.12] * 20)]
    outside = phase_drawing(summary([(i, v, 0.3) for i, v in enumerate(values)], validation_total=500.0))
    notes = ["the worst values lie outside", "band: ± one standard error, 500 rows"]
    assert [panel.note for panel in outside.panels] == notes
    assert outside.panels[0].lines[0].points[0].y == 0  # cut at the top


def test_searches_at_equal_sizes():
    one = by_size(summary([(0, 0.5, 0.5), (1, 0.3, 0.4), (2, 0.2, 0.3)]))
    two = by_size(summary([(0, 0.5, 0.5), (1, 0.4, 0.2), (2, 0.3, 0.1)]))
    found = spread([one, two], [0, 1, 2], on_validation=True)
    assert [s.mean for s in found] == [0.5, pytest.approx(0.3), pytest.approx(0.2)]
    spreads = [pytest.approx(np.std(values, ddof=1)) for values in ([0.5, 0.5], [0.4, 0.2], [0.3, 0.1])]
    assert [s.deviation for s in found] == spreads
    preferred = by_size(summary([(2, 0.2, 0.3), (1, 0.3, 0.1), (0, 0.5, 0.5), (1, 0.25, 0.4), (2, 0.21, 0.05)]))
    assert [(step.n_features, step.criterion) for step in preferred] == [(0, 0.5), (1, 0.25), (2, 0.2)]
    assert [step.validation for step in preferred] == [0.5, 0.4, 0.3]  # not the lowest: these rows are not asked
    passed_over = by_size(summary([(0, 0.5, 0.5), (3, 0.2, 0.3)]))
    at = [value_at(passed_over, size, on_validation=True) for size in (0, 2, 3, 4)]
    assert at == [0.5, 0.5, 0.3, pytest.approx(math.nan, nan_ok=True)]
    assert math.isnan(value_at(by_size(summary([(2, 0.1, 0.1)])), 1, on_validation=False))
    short = [by_size(summary([(0, 0.5, 0.5), (1, 0.4, 0.4)]))] * 3  # the mean ends if fewer than half go on
    last = spread([*short, by_size(summary([(0, 0.5, 0.5), (1, 0.4, 0.4), (2, 0.1, 0.1)]))], [2], on_validation=False)[
        0
    ]
    assert (math.isnan(last.mean), last.n_searches) == (True, 1)


def test_tables_and_panels_without_validation_rows():
    table = moves_table(summarise_trace(forward_trace()))
    assert [c.title for c in table.columns] == [
        "Step", "Move", "Feature", "Features", "Error probability", "Validation: error rate",
    ]  # fmt: skip
    assert table.rows[0] == ("0", "start", "–", "0", "0.5000", "0.5000")
    assert (table.marked, table.cap) == (None, None)
    drawing = spread_drawing([summarise_trace(forward_trace(shift, validation_total=None)) for shift in (0.0, 0.1)])
    assert [bool(panel.bands) for panel in drawing.panels] == [True]  # on the criterion
    html = render_report(synthetic(n_classes=2))
    assert "Criterion after each move" in html
    assert "Validation" not in html
    assert 'class="plot panel' not in html

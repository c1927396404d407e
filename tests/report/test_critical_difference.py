"""Geometry and words of the critical-difference diagram."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from bayesieve.report import Figure
from bayesieve.report.critical_difference import (
    LANE,
    MAX_NAME,
    ROW,
    WIDTH,
    critical_difference_figure,
    fold_rank_figure,
    lanes_of,
    rank_drawing,
)
from bayesieve.statistics import average_ranks, cliques, critical_difference
from bayesieve.statistics.data_set_tests import groups_not_apart
from tests.report.markup import drawings, read, texts

SVG = "{http://www.w3.org/2000/svg}"


def drawing_of(ranks, difference=1.0, names=None):
    names = names or [f"m{i}" for i in range(len(ranks))]
    return rank_drawing(names, ranks, cliques(ranks, difference), difference)


def test_positions_by_hand():
    drawing = drawing_of([3.0, 1.0, 2.0, 4.0], difference=1.5)
    third = (drawing.right - drawing.left) / 3
    assert [label.name for label in drawing.labels] == ["m1", "m2", "m0", "m3"]
    assert [label.side for label in drawing.labels] == ["left", "left", "right", "right"]
    assert [label.x for label in drawing.labels] == pytest.approx([drawing.left + i * third for i in range(4)])
    first, second, third_label, last = (label.y for label in drawing.labels)
    assert (first, second) == (last, third_label)
    assert second == first + ROW
    assert [tick.label for tick in drawing.ticks] == ["1", "2", "3", "4"]
    assert [tick.position for tick in drawing.ticks] == pytest.approx([label.x for label in drawing.labels])
    assert drawing.span.x2 - drawing.span.x1 == pytest.approx(1.5 * third)
    assert not drawing.span.cut
    # Groups {1, 2}, {2, 3}, {3, 4} meet at their ends: they must not look like one.
    assert [bar.methods for bar in drawing.bars] == [(1, 2), (2, 0), (0, 3)]
    assert [bar.y - drawing.bars[0].y for bar in drawing.bars] == [0, LANE, 0]


def segments(drawing):
    """Vertical and horizontal part of every line from the axis to a name, as (x1, x2, y1, y2)."""
    for label in drawing.labels:
        yield label, (label.x, label.x, drawing.axis_y, label.y)
        yield label, (*sorted((label.edge, label.x)), label.y, label.y)


ranks_of_methods = st.integers(2, 20).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 3), min_size=k, max_size=k), min_size=2, max_size=12)
)


@settings(deadline=None)
@given(ranks_of_methods, st.floats(0.05, 25))
def test_nothing_meets_that_should_not(scores, difference):
    ranks = average_ranks(np.array(scores)).tolist()
    names = [f"method {i}" * (1 + i % 5) for i in range(len(ranks))]
    drawing = drawing_of(ranks, difference, names)
    # Lines of methods of different rank do not cross.
    for (one, a), (other, b) in itertools.combinations(segments(drawing), 2):
        if one.x != other.x:
            apart_x, apart_y = a[1] < b[0] or b[1] < a[0], a[3] < b[2] or b[3] < a[2]
            assert apart_x or apart_y
    # Names of one side stand one below the other, beneath all bars and within the drawing.
    for side in ("left", "right"):
        heights = sorted(label.y for label in drawing.labels if label.side == side)
        assert all(b - a == pytest.approx(ROW) for a, b in itertools.pairwise(heights))
    lowest_bar = max((bar.y for bar in drawing.bars), default=drawing.axis_y)
    assert all(lowest_bar + 10 < label.y < drawing.height - 10 for label in drawing.labels)
    # Bars cover their methods, and no other bar of their lane.
    for bar in drawing.bars:
        own = [label.x for label in drawing.labels if names.index(label.name) in bar.methods]
        assert len(own) == len(bar.methods)
        assert bar.x1 < min(own) <= max(own) < bar.x2
    for one, other in itertools.combinations(drawing.bars, 2):
        assert one.y != other.y or one.x2 < other.x1 or other.x2 < one.x1
    assert 0 < drawing.left < drawing.right < WIDTH
    assert drawing.left <= drawing.span.x1 <= drawing.span.x2 <= drawing.right
    assert drawing.span.cut == (difference > len(ranks) - 1)
    assert all(drawing.left - 5 < bar.x1 < bar.x2 < drawing.right + 5 for bar in drawing.bars)


def test_ticks_are_whole_ranks_that_can_be_read():
    for n in range(1, 61):
        drawing = rank_drawing([f"m{i}" for i in range(n)], [(n + 1) / 2] * n, [], None)
        labels = [int(tick.label) for tick in drawing.ticks]
        assert labels[0] == 1
        assert labels[-1] == max(n, 2)
        gaps = [b.position - a.position for a, b in itertools.pairwise(drawing.ticks)]
        assert min(gaps) > 20


def test_lanes_are_the_first_that_are_free():
    assert lanes_of([(0, 100), (50, 150), (120, 200), (103, 119)]) == [0, 1, 0, 2]
    assert lanes_of([(0, 100), (200, 300)]) == [0, 0]
    assert lanes_of([]) == []


def test_short_names_leave_more_room_for_the_axis():
    short, long = drawing_of([1.0, 2.0], names=["A", "B"]), drawing_of([1.0, 2.0], names=["A" * 30, "B"])
    assert short.right - short.left > long.right - long.left
    assert short.left + short.right == pytest.approx(WIDTH)


def test_equal_ranks_keep_the_order_of_the_names():
    drawing = drawing_of([2.5, 2.5, 2.5, 2.5])
    assert [label.name for label in drawing.labels] == ["m0", "m1", "m2", "m3"]
    assert len({(label.side, label.y) for label in drawing.labels}) == 4
    (bar,) = drawing.bars
    assert bar.x2 - bar.x1 > 5  # seen, though it has no length


@pytest.mark.parametrize(
    ("ranks", "difference", "sentence"),
    [
        ([1.2, 2.0, 2.8], 0.9, "Bars join methods that do not differ significantly (Nemenyi, 5%)."),
        ([1.0, 2.0, 3.0], 0.9, "All methods differ significantly (Nemenyi, 5%)."),
        ([1.9, 2.0, 2.1], 0.9, "No two methods differ significantly (Nemenyi, 5%)."),
        ([1.0, 2.0, 3.0], 2.34, "with so few data sets the test (Nemenyi, 5%) can show nothing."),
        ([1.0, 2.0, 3.0], None, "No test is possible, so no methods are joined."),
        ([1.0], None, "Average ranks of 1 method over 7 data sets, 1 is best."),
    ],
)
def test_the_caption_says_what_was_found(ranks, difference, sentence):
    names = [f"m{i}" for i in range(len(ranks))]
    figure = critical_difference_figure(names, ranks, difference, n_data=7)
    assert figure.caption.endswith(sentence)
    assert "over 7 data sets" in figure.caption
    if difference is None:
        assert figure.drawing.bars == ()
        assert figure.drawing.span is None
    read(figure.to_html())
    ElementTree.fromstring(figure.to_svg())


def test_level_is_told():
    assert "(Nemenyi, 10%)" in critical_difference_figure(["a", "b"], [1, 2], 0.5, alpha=0.1).caption
    assert "(Nemenyi, 2.5%)" in critical_difference_figure(["a", "b"], [1, 2], 0.5, alpha=0.025).caption


def test_the_page_tells_the_numbers(tmp_path):
    names, ranks = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"], [3.143, 2.000, 2.893, 1.964]
    figure = critical_difference_figure(names, ranks, critical_difference(4, 14, 0.1), n_data=14, title="AUC")
    assert isinstance(figure, Figure)
    elements = read(figure.to_html())
    assert texts(elements, "h1") == ["AUC"]
    assert [texts(elements, "td")[i : i + 3] for i in range(0, 12, 3)] == [
        ["C4.5+m+cf", "1.96", "C4.5+m, C4.5+cf"],
        ["C4.5+m", "2.00", "C4.5+m+cf, C4.5+cf"],
        ["C4.5+cf", "2.89", "every other method"],
        ["C4.5", "3.14", "C4.5+cf"],
    ]
    assert len(drawings(figure.to_html())) == 1
    figure.save(tmp_path / "cd.svg")
    assert (tmp_path / "cd.svg").read_text(encoding="utf-8").startswith("<svg")
    assert figure._repr_html_().startswith("<svg")


@pytest.mark.parametrize("n", [2, 3, 7, 20])
@pytest.mark.parametrize("length", [1, 300])
def test_drawing_stays_in_its_frame(n, length):
    names = [f"{i}" + "n" * length for i in range(n)]
    ranks = average_ranks(np.random.default_rng(n).random((9, n)))
    svg = ElementTree.fromstring(critical_difference_figure(names, ranks, critical_difference(n, 9)).to_svg())
    width, height = float(svg.attrib["width"]), float(svg.attrib["height"])
    (group,) = [g for g in svg.iter(f"{SVG}g") if "transform" in g.attrib]
    down = float(group.attrib["transform"].split()[1].rstrip(")"))
    for text in group.iter(f"{SVG}text"):
        room = 7.0 * len(text.text or "")
        at, anchor = float(text.attrib["x"]), text.attrib.get("text-anchor", "start")
        start = at - {"start": 0, "middle": room / 2, "end": room}[anchor]
        assert 0 <= start <= start + room <= width
        assert down <= float(text.attrib["y"]) + down <= height
        assert len(text.text or "") <= max(MAX_NAME, 48)
    for line in group.iter(f"{SVG}line"):
        assert 0 <= float(line.attrib["x1"]) <= float(line.attrib["x2"]) <= width
        assert 0 <= float(line.attrib["y1"]) + down <= height


@pytest.mark.parametrize(
    ("names", "ranks", "difference", "sentence"),
    [
        (["a"], [1.0, 2.0], 1.0, "2 ranks cannot be drawn for 1 names"),
        (["a", "b"], [1.0, 3.0], 1.0, "rank of 'b' must be from 1 to 2, got 3.0"),
        (["a", "b"], [1.0, float("nan")], 1.0, "rank of 'b' must be"),
        (["a", "b"], [1.0, 2.0], float("nan"), "positive number of ranks or None"),
        (["a", "b"], [1.0, 2.0], 0.0, "positive number of ranks or None"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(names, ranks, difference, sentence):
    with pytest.raises(ValueError, match=sentence):
        critical_difference_figure(names, ranks, difference)


@given(st.integers(2, 9), st.data())
def test_runs_of_methods_not_told_apart(n, data):
    ranks = data.draw(st.lists(st.sampled_from([1.0, 1.5, 2.0, 2.5, 3.0]), min_size=n, max_size=n))
    pairs = list(itertools.combinations(range(n), 2))
    apart = data.draw(st.sets(st.sampled_from(pairs)))
    order = sorted(range(n), key=lambda i: (ranks[i], i))
    runs = [order[a:b] for a in range(n) for b in range(a + 2, n + 1)]
    alike = [set(run) for run in runs if not any(tuple(sorted(p)) in apart for p in itertools.combinations(run, 2))]
    largest = [run for run in alike if not any(run < other for other in alike)]
    assert [set(group) for group in groups_not_apart(ranks, sorted(apart))] == largest


@pytest.mark.parametrize(
    ("apart", "finding"),
    [
        ([], "No two methods differ significantly"),
        ([(0, 1), (0, 2), (1, 2)], "All methods differ significantly"),
        ([(2, 0)], "Bars join methods that do not differ significantly"),
    ],
)
def test_ranks_over_folds(apart, finding):
    figure = fold_rank_figure(["A", "B", "C"], [1.0, 2.0, 3.0], apart, n_folds=10, title="AUC")
    assert figure.caption.endswith(f"{finding} (corrected resampled t-test of the folds, 5% each).")
    assert figure.drawing is not None
    assert figure.drawing.span is None
    read(figure.to_html())
    ElementTree.fromstring(figure.to_svg())


def test_no_methods():
    figure = critical_difference_figure([], [], None)
    for text in (figure.to_html(), figure.to_svg()):
        assert "no methods were compared" in text


def test_the_caption_names_pairs_that_do_not_differ_though_no_bar_joins_them() -> None:
    figure = fold_rank_figure(["A", "B", "C"], [1.0, 2.0, 3.0], [(0, 1), (1, 2)], n_folds=10, title="AUC")
    assert figure.drawing is not None
    assert not figure.drawing.bars
    assert "All methods differ" not in figure.caption
    assert figure.caption.endswith("Without a bar, but not significantly different either: A and C.")
    joined = fold_rank_figure(["A", "B", "C"], [1.0, 2.0, 3.0], [(0, 2)], n_folds=10, title="AUC")
    assert "Without a bar" not in joined.caption

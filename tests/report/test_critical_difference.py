"""Geometry and words of the critical-difference diagram."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

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
from bayesieve.statistics import average_ranks, cliques, critical_difference, groups_not_apart
from tests.report.markup import read, texts

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


def test_equal_ranks_keep_the_order_of_the_names():
    drawing = drawing_of([2.5, 2.5, 2.5, 2.5])
    assert [label.name for label in drawing.labels] == ["m0", "m1", "m2", "m3"]
    assert len({(label.side, label.y) for label in drawing.labels}) == 4
    (bar,) = drawing.bars
    assert bar.x2 - bar.x1 > 5  # seen, though it has no length


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
    ("ranks", "difference", "alpha", "sentence"),
    [
        ([1.2, 2.0, 2.8], 0.9, 0.05, "Bars join methods that do not differ significantly (Nemenyi, 5%)."),
        ([1.0, 2.0, 3.0], 0.9, 0.1, "All methods differ significantly (Nemenyi, 10%)."),
        ([1.9, 2.0, 2.1], 0.9, 0.025, "No two methods differ significantly (Nemenyi, 2.5%)."),
        ([1.0, 2.0, 3.0], 2.34, 0.05, "with so few data sets the test (Nemenyi, 5%) can show nothing."),
        ([1.0, 2.0, 3.0], None, 0.05, "No test is possible, so no methods are joined."),
        ([1.0], None, 0.05, "Average ranks of 1 method over 7 data sets, 1 is best."),
    ],
)
def test_the_caption_says_what_was_found(ranks, difference, alpha, sentence):
    names = [f"m{i}" for i in range(len(ranks))]
    figure = critical_difference_figure(names, ranks, difference, n_data=7, alpha=alpha)
    assert figure.caption.endswith(sentence)
    assert "over 7 data sets" in figure.caption
    if difference is None:
        assert figure.drawing.bars == ()
        assert figure.drawing.span is None


@pytest.mark.parametrize(
    ("apart", "finding"),
    [
        ([], "No two methods differ significantly"),
        (
            [(0, 1), (0, 2), (1, 2)],
            "All methods differ significantly (corrected resampled t-test of the folds, 5% each).",
        ),
        (
            [(2, 0)],
            "Bars join methods that do not differ significantly (corrected resampled t-test of the folds, 5% each).",
        ),
        ([(0, 1), (1, 2)], "Without a bar, but not significantly different either: A and C."),
    ],
)
def test_ranks_over_folds(apart, finding):
    figure = fold_rank_figure(["A", "B", "C"], [1.0, 2.0, 3.0], apart, n_folds=10, title="AUC")
    assert finding in figure.caption
    assert "(corrected resampled t-test of the folds, 5% each)." in figure.caption
    assert figure.drawing is not None
    assert figure.drawing.span is None
    assert bool(figure.drawing.bars) == (len(apart) < 2)


def test_the_page_tells_the_numbers():
    names, ranks = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"], [3.143, 2.000, 2.893, 1.964]
    figure = critical_difference_figure(names, ranks, critical_difference(4, 14, 0.1), n_data=14, title="AUC")
    elements = read(figure.to_html())
    assert texts(elements, "h1") == ["AUC"]
    assert [texts(elements, "td")[i : i + 3] for i in range(0, 12, 3)] == [
        ["C4.5+m+cf", "1.96", "C4.5+m, C4.5+cf"],
        ["C4.5+m", "2.00", "C4.5+m+cf, C4.5+cf"],
        ["C4.5+cf", "2.89", "every other method"],
        ["C4.5", "3.14", "C4.5+cf"],
    ]
    nothing = critical_difference_figure([], [], None)
    assert all("no methods were compared" in text for text in (nothing.to_html(), nothing.to_svg()))


@pytest.mark.parametrize("n", [2, 20])
@pytest.mark.parametrize("length", [1, 300])
def test_names_fit_beside_the_axis(n, length):
    ranks = average_ranks(np.random.default_rng(n).random((9, n)))
    figure = critical_difference_figure([f"{i}" + "n" * length for i in range(n)], ranks, critical_difference(n, 9))
    assert lanes_of([(0, 100), (50, 150), (120, 200), (103, 119)]) == [0, 1, 0, 2]
    for text in ElementTree.fromstring(figure.to_svg()).iter(f"{SVG}text"):
        room = 7.0 * len(text.text or "")
        start = (
            float(text.attrib["x"])
            - {"start": 0, "middle": room / 2, "end": room}[text.attrib.get("text-anchor", "start")]
        )
        assert text.attrib.get("class") in ("head", "soft") or 0 <= start <= start + room <= WIDTH
    assert max(len(label.shown) for label in figure.drawing.labels) <= MAX_NAME


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

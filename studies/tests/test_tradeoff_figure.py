"""Methods by two criteria at a time."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given, settings, strategies as st

from bayesieve_studies.figures.tradeoff import beaten, tradeoff_figure
from tests.report.markup import read, texts

SVG = "{http://www.w3.org/2000/svg}"
VALUES = {
    "NB": {"ACC": 0.81, "AUC": 0.96, "CR": 0.3},
    "MAP": {"ACC": 0.80, "AUC": 0.94, "CR": 0.5},
    "CMA": {"ACC": 0.82, "AUC": 0.96, "CR": 0.6},
    "<new>": {"ACC": 0.90, "AUC": 0.99, "CR": 0.9},
}


def test_who_is_beaten():
    assert beaten(VALUES) == {"NB": "CMA", "MAP": "CMA", "CMA": "<new>", "<new>": None}
    equal = {"a": {"ACC": 0.5, "CR": 0.5}, "b": {"ACC": 0.5, "CR": 0.5}}
    assert beaten(equal) == {"a": None, "b": None}  # nobody is better by anything
    equal["c"] = {"ACC": 0.5, "CR": 0.6}
    assert beaten(equal) == {"a": "c", "b": "c", "c": None}


def test_places_and_kinds():
    figure = tradeoff_figure(VALUES, [("ACC", "AUC"), ("ACC", "CR")], apart=["<new>"])
    first, second = figure.drawing.planes
    assert first.right < second.left
    for plane in (first, second):
        assert [dot.kind for dot in plane.dots] == ["hollow", "hollow", "dot", "apart"]
        assert all(plane.left < dot.x < plane.right and plane.top < dot.y < plane.bottom for dot in plane.dots)
        by_accuracy = sorted(plane.dots, key=lambda dot: dot.x)
        assert [dot.name for dot in by_accuracy] == ["MAP", "NB", "CMA", "<new>"]
    assert [dot.name for dot in sorted(second.dots, key=lambda dot: -dot.y)] == ["NB", "MAP", "CMA", "<new>"]
    assert first.dots[0].y == first.dots[2].y
    drawing = ElementTree.fromstring(figure.to_svg())
    classes = [e.get("class") for e in drawing.iter() if e.tag in (f"{SVG}circle", f"{SVG}rect")]
    assert [classes.count(c) for c in ("hollow", "dot", "apart")] == [4, 2, 2]
    assert "<new>: ACC 0.9000, AUC 0.9900" in [element.text for element in drawing.iter(f"{SVG}title")]
    page = read(figure.to_html())
    assert {"<new>", "0.8200", "CMA"} <= set(texts(page, "td"))


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=9))
def test_names_stay_inside_and_apart_where_there_is_room(places):
    values = {f"method {i}": {"x": x, "y": y} for i, (x, y) in enumerate(places)}
    (plane,) = tradeoff_figure(values, [("x", "y")]).drawing.planes
    for dot in plane.dots:
        width = 7.3 * len(dot.name)
        begin = {"start": dot.label_x, "middle": dot.label_x - width / 2, "end": dot.label_x - width}[dot.anchor]
        assert begin >= plane.left - 1
        assert begin + width <= plane.right + 1
        assert abs(dot.label_y - dot.y) < 40


def test_names_of_neighbours_do_not_meet():
    values = {name: {"x": x, "y": 0.5 + 0.001 * x} for name, x in (("left", 0.5), ("right", 0.51), ("far", 1.0))}
    (plane,) = tradeoff_figure(values, [("x", "y")]).drawing.planes
    spans = []
    for dot in plane.dots:
        width = 7.3 * len(dot.name)
        begin = {"start": dot.label_x, "middle": dot.label_x - width / 2, "end": dot.label_x - width}[dot.anchor]
        spans.append((begin, begin + width, dot.label_y))
    for a, b in itertools.combinations(spans, 2):
        assert a[1] <= b[0] or b[1] <= a[0] or abs(a[2] - b[2]) >= 12


def test_one_method_alone():
    (plane,) = tradeoff_figure({"NB": {"x": 0.5, "y": 0.5}}, [("x", "y")]).drawing.planes
    assert plane.left < plane.dots[0].x < plane.right


def test_what_cannot_be_drawn():
    with pytest.raises(ValueError, match="at least one method"):
        tradeoff_figure({}, [("x", "y")])
    with pytest.raises(ValueError, match="'NB' has no value of 'y'"):
        tradeoff_figure({"NB": {"x": 1.0}}, [("x", "y")])

"""Figures of studies: methods by two criteria, weights as bars, and the most probable subsets as a matrix."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bayesieve_studies.figures.models import HEIGHT, models_figure, posterior_figure
from bayesieve_studies.figures.tradeoff import beaten, tradeoff_figure
from bayesieve_studies.figures.weights import BAR, weights_figure
from tests.report.markup import read, texts

VALUES = {
    "NB": {"ACC": 0.81, "AUC": 0.96, "CR": 0.3},
    "MAP": {"ACC": 0.80, "AUC": 0.94, "CR": 0.5},
    "CMA": {"ACC": 0.82, "AUC": 0.96, "CR": 0.6},
    "<new>": {"ACC": 0.90, "AUC": 0.99, "CR": 0.9},
}
FIGURES = {
    "tradeoff": (tradeoff_figure(VALUES, [("ACC", "CR")]), {"<new>", "0.8200", "CMA"}),
    "weights": (weights_figure(["<V1>", "V2"], {"A & B": [0.3, 1.0]}), {"0.30", "1.00", "<V1>"}),
    "models": (models_figure(["<a>", "b"], [[0], [0, 1], [1]], [0, 1, 2]), {"<a>", "2", "yes", "b"}),
    "posterior": (posterior_figure([1000.0, 400.0, 200.0, 100.0, 0.0], title="<All>"), {"25 %", "400.0"}),
}


@pytest.mark.parametrize("name", FIGURES)
def test_drawing_and_page_tell_the_numbers(name: str) -> None:
    figure, cells = FIGURES[name]
    drawing = ElementTree.fromstring(figure.to_svg())
    assert drawing.get("role") == "img"
    bottom = max(float(one.get("y", 0)) for one in drawing.iter() if one.tag.endswith(("text", "rect")))
    assert bottom < float(drawing.get("height", 0))
    assert cells <= set(texts(read(figure.to_html()), "td"))


def test_methods_by_two_criteria() -> None:
    assert beaten(VALUES) == {"NB": "CMA", "MAP": "CMA", "CMA": "<new>", "<new>": None}
    equal = {"a": {"ACC": 0.5, "CR": 0.5}, "b": {"ACC": 0.5, "CR": 0.5}}
    assert beaten(equal) == {"a": None, "b": None}  # nobody is better by anything
    assert beaten(equal | {"c": {"ACC": 0.5, "CR": 0.6}}) == {"a": "c", "b": "c", "c": None}
    first, second = tradeoff_figure(VALUES, [("ACC", "AUC"), ("ACC", "CR")], apart=["<new>"]).drawing.planes
    assert first.right < second.left
    for plane in (first, second):
        assert [dot.kind for dot in plane.dots] == ["hollow", "hollow", "dot", "apart"]
        assert all(plane.left < dot.x < plane.right and plane.top < dot.y < plane.bottom for dot in plane.dots)
        assert [dot.name for dot in sorted(plane.dots, key=lambda dot: dot.x)] == ["MAP", "NB", "CMA", "<new>"]
    assert [dot.name for dot in sorted(second.dots, key=lambda dot: -dot.y)] == ["NB", "MAP", "CMA", "<new>"]


def test_a_line_joins_the_settings_of_a_method() -> None:
    figure = tradeoff_figure(VALUES, [("ACC", "CR")], apart=["<new>"], joined=["MAP", "NB", "CMA"])
    (plane,) = figure.drawing.planes
    dots = {dot.name: dot for dot in plane.dots}
    assert [(point.x, point.y) for point in plane.line] == [(dots[n].x, dots[n].y) for n in ("MAP", "NB", "CMA")]
    assert [dot.kind for dot in plane.dots] == ["dot", "dot", "dot", "apart"]  # settings do not beat each other
    assert "<polyline" in figure.to_svg()


def spans(plane: Any) -> list[tuple[float, float, float]]:
    """Begin, end and height of every name."""
    found = []
    for dot in plane.dots:
        width = 7.3 * len(dot.name)
        begin = dot.label_x - {"start": 0.0, "middle": width / 2, "end": width}[dot.anchor]
        found.append((begin, begin + width, dot.label_y))
    return found


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=9))
def test_names_stay_inside_and_apart(places: list[tuple[float, float]]) -> None:
    values = {f"method {i}": {"x": x, "y": y} for i, (x, y) in enumerate(places)}
    (plane,) = tradeoff_figure(values, [("x", "y")]).drawing.planes
    for begin, end, _ in spans(plane):
        assert plane.left - 1 <= begin <= end <= plane.right + 1
    assert all(abs(dot.label_y - dot.y) < 40 for dot in plane.dots)
    near = {name: {"x": x, "y": 0.5 + 0.001 * x} for name, x in (("left", 0.5), ("right", 0.51), ("far", 1.0))}
    (plane,) = tradeoff_figure(near, [("x", "y")]).drawing.planes
    for a, b in itertools.combinations(spans(plane), 2):
        assert a[1] <= b[0] or b[1] <= a[0] or abs(a[2] - b[2]) >= 12


def test_weights_are_bars() -> None:
    figure = weights_figure(["a", "b", "c"], {"MAP": [1, 0, 1], "CMA": [0.5, 0.25, 0.75], "none": [0, 0, 0]})
    rows = figure.drawing.rows
    assert [[bar.height / BAR for bar in row.bars] for row in rows] == [[1, 0, 1], [0.5, 0.25, 0.75], [0, 0, 0]]
    assert all(bar.y + bar.height == pytest.approx(row.base) for row in rows for bar in row.bars)
    assert [row.note for row in rows] == ["2 features", "0.25 to 0.75", "0 features"]
    middles = [bar.x + bar.width / 2 for bar in rows[0].bars]
    assert middles == pytest.approx([name.position for name in figure.drawing.names], abs=0.02)


def test_runs_are_the_matrix_of_models() -> None:
    rng = np.random.default_rng(0)
    held = rng.random((57, 6)) < 0.6
    held[:, 4], held[:, 5] = True, False
    models = [np.flatnonzero(row).tolist() for row in held]
    picture = models_figure([f"x{k}" for k in range(6)], models, np.arange(57.0)).drawing
    found = np.zeros((57, 6), dtype=bool)
    for run in picture.runs:
        k = int((run.x + run.width / 2 - picture.left) / ((picture.right - picture.left) / 6))
        first, end = (round((y - picture.top) / (HEIGHT / 57)) for y in (run.y, run.y + run.height))
        assert not found[first:end, k].any()
        found[first:end, k] = True
    assert np.array_equal(found, held)
    assert [head.marked for head in picture.heads] == held[0].tolist()
    assert picture.heads[4].text == "x4: in 57 of 57 models"
    ticks = models_figure(["a", "b"], [[0]] * 200, [0.0, *np.linspace(0.4, 16.66, 199)]).drawing.ticks
    assert [tick.rank for tick in ticks] == [1, *range(20, 201, 20)]
    assert (ticks[0].exponent, ticks[-1].exponent) == ("", "\N{MINUS SIGN}16.7")


def test_distribution_of_probabilities() -> None:
    (panel,) = FIGURES["posterior"][0].drawing.panels
    (line,) = panel.lines
    heights = [point.y for point in line.points]
    assert [point.x for point in line.points] == [0, 25, 50, 75, 100]
    assert heights == sorted(heights, reverse=True)
    assert heights[1] == pytest.approx(heights[0] - 0.6 * (heights[0] - heights[-1]), abs=0.01)


@pytest.mark.parametrize(
    ("draw", "arguments", "message"),
    [
        (tradeoff_figure, ({}, [("x", "y")]), "at least one method"),
        (tradeoff_figure, ({"NB": {"x": 1.0}}, [("x", "y")]), "'NB' has no value of 'y'"),
        (weights_figure, (["a", "b"], {"m": [1]}), "'m' has 1 weights for 2 features"),
        (weights_figure, (["a", "b"], {"m": [1, 1.5]}), r"'m' gives 'b' the weight 1.5, which is not in \[0, 1\]"),
        (weights_figure, (["a"], {"m": [float("nan")]}), "gives 'a' the weight nan"),
        (weights_figure, ([], {"m": []}), "no features"),
        (models_figure, ([], [[0]], [0.0]), "at least one model and one feature"),
        (models_figure, (["a"], [], []), "at least one model and one feature"),
        (models_figure, (["a"], [[0], []], [0.0]), "2 models need as many powers of ten, got 1"),
        (posterior_figure, ([1.0],), "at least two.*falling"),
        (posterior_figure, ([1.0, 2.0],), "at least two.*falling"),
    ],
)
def test_what_cannot_be_drawn(draw: Any, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw(*arguments)

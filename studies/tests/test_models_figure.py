"""The most probable subsets as a matrix, and the distribution of all probabilities."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from bayesieve_studies.figures.models import HEIGHT, models_figure, posterior_figure
from tests.report.markup import read, texts

SVG = "{http://www.w3.org/2000/svg}"


def matrix_of(picture, n_models, n_features):
    """Which models hold which features, read back from the runs."""
    line = HEIGHT / n_models
    column = (picture.right - picture.left) / n_features
    held = np.zeros((n_models, n_features), dtype=bool)
    for run in picture.runs:
        k = int((run.x + run.width / 2 - picture.left) / column)
        first, end = round((run.y - picture.top) / line), round((run.y + run.height - picture.top) / line)
        assert not held[first:end, k].any()
        held[first:end, k] = True
    return held


def test_runs_are_the_matrix():
    rng = np.random.default_rng(0)
    held = rng.random((57, 6)) < 0.6
    held[:, 4], held[:, 5] = True, False
    models = [np.flatnonzero(row).tolist() for row in held]
    picture = models_figure([f"x{k}" for k in range(6)], models, np.arange(57.0)).drawing
    assert np.array_equal(matrix_of(picture, 57, 6), held)
    assert len([run for run in picture.runs if run.height == HEIGHT]) == 1
    assert [head.marked for head in picture.heads] == held[0].tolist()
    assert picture.heads[4].text == "x4: in 57 of 57 models"


def test_ranks_and_exponents():
    figure = models_figure(["a", "b"], [[0]] * 200, [0.0, *np.linspace(0.4, 16.66, 199)])
    ticks = figure.drawing.ticks
    assert [tick.rank for tick in ticks] == [1, *range(20, 201, 20)]
    assert ticks[0].exponent == ""
    assert ticks[-1].exponent == "\N{MINUS SIGN}16.7"
    assert [t.rank for t in models_figure(["a"], [[0]] * 3, [0, 1, 2]).drawing.ticks] == [1, 2, 3]
    drawing = ElementTree.fromstring(figure.to_svg())
    words = ["".join(element.itertext()) for element in drawing.iter(f"{SVG}text")]
    assert {"1", "10\N{MINUS SIGN}16.7"} <= set(words)
    assert all(float(e.get("y")) < float(drawing.get("height")) for e in drawing.iter(f"{SVG}rect") if e.get("y"))


def test_the_page_counts():
    page = read(models_figure(["<a>", "b"], [[0], [0, 1], [1]], [0, 1, 2]).to_html())
    assert texts(page, "td") == ["<a>", "2", "yes", "b", "2", ""]


def test_distribution():
    figure = posterior_figure([1000.0, 400.0, 200.0, 100.0, 0.0], title="All", caption="So many")
    (panel,) = figure.drawing.panels
    (line,) = panel.lines
    assert [point.x for point in line.points] == [0, 25, 50, 75, 100]
    heights = [point.y for point in line.points]
    assert heights == sorted(heights, reverse=True)
    span = heights[0] - heights[-1]
    assert heights[1] == pytest.approx(heights[0] - 0.6 * span, abs=0.01)
    assert {tick.label for tick in panel.y_ticks} >= {"0", "\N{MINUS SIGN}1,000"}
    assert figure.table.rows[1] == ("25 %", "400.0")
    ElementTree.fromstring(figure.to_svg())
    assert "25 %" in texts(read(figure.to_html()), "td")


def test_what_cannot_be_drawn():
    for names, models in (([], [[0]]), (["a"], [])):
        with pytest.raises(ValueError, match="at least one model and one feature"):
            models_figure(names, models, [0.0] * len(models))
    with pytest.raises(ValueError, match="2 models need as many powers of ten, got 1"):
        models_figure(["a"], [[0], []], [0.0])
    for wrong in ([1.0], [1.0, 2.0]):
        with pytest.raises(ValueError, match=r"at least two.*falling"):
            posterior_figure(wrong)

"""Folds and features, drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bayesieve.report import stability_figure
from bayesieve.report.drawing import strength
from bayesieve.report.figure import MAX_FOLDS, MAX_ROWS, fold_drawing
from tests.report.markup import read, texts
from tests.report.test_pages import stability_of


def folds(weights, **changes):
    return replace(stability_of("f", weights), **changes)


def test_rows_are_ordered_and_cells_stand_side_by_side():
    drawing = fold_drawing(("a", "b", "c", "d"), [[0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 0, 1], [0, 0, 0.5, 0]])
    assert [row.name for row in drawing.rows] == ["b", "c", "d"]
    assert [row.n_selected for row in drawing.rows] == [3, 2, 1]
    assert drawing.n_never == 1
    assert drawing.rows[1].weights == (1, 0, 0, 0.5)
    html = stability_figure(folds([[0, 1], [0.5, 0]])).to_html()
    assert '<rect class="on" x="0.0" width="41.0" y="0" height="100">' in html
    assert '<rect class="on" x="50.0" width="41.0" y="0" height="100" opacity="0.625">' in html
    assert '<span style="width:50.0%">' in html
    assert drawing.rows[1].mean_weight == pytest.approx(0.375)


def test_a_small_weight_is_seen():
    assert strength(1e-9) == pytest.approx(25)
    assert strength(0.0) == 0
    assert strength(1.0) == 100


def test_wide_tables_and_many_folds_are_capped_with_a_sentence():
    figure = stability_figure(folds(np.ones((300, 900))))
    drawing = figure.drawing
    assert len(drawing.rows) == MAX_ROWS
    assert drawing.n_hidden == 900 - MAX_ROWS
    assert len(drawing.rows[0].weights) == MAX_FOLDS
    html = figure.to_html()
    assert "840 further features left out" in html
    assert "Folds, the first 100" in html
    assert len(html) < 1_500_000


def test_the_page_tells_the_numbers():
    figure = stability_figure(folds([[1, 1, 0], [1, 0, 0]]), title="Which stay")
    assert figure.caption == (
        "2 folds of 3 features. Selected: 1 to 2 features, 1.5 on average. Stability 0.33, 95% interval 0.33 to 0.33 "
        "(Nogueira et al. 2018): 1 is the same features in every fold, 0 is the value expected by chance."
    )
    html = figure.to_html()
    elements = read(html)
    assert texts(elements, "h1") == ["Which stay"]
    labels = [e.attributes["aria-label"] for e in elements if e.tag == "svg"]
    assert labels == ["Selected in 2 of 2 folds", "Selected in 1 of 2 folds"]
    assert "1 feature was selected in no fold." in html
    assert "Mean weight" not in html
    assert "Mean weight" in stability_figure(folds([[0.5, 1], [1, 0]])).to_html()
    assert "weight 0.50" in stability_figure(folds([[0.5, 1], [1, 0]])).to_svg()


def test_nothing_selected_and_nothing_to_compare():
    figure = stability_figure(folds(np.zeros((3, 2)), complete=False))
    assert figure.caption == (
        "3 folds of 2 features. Selected: 0 features in every fold. The run was interrupted; only finished "
        "folds are shown."
    )
    for text in (figure.to_html(), figure.to_svg(), figure._repr_html_()):
        assert "No feature was selected in any fold." in text
    read(figure.to_html())

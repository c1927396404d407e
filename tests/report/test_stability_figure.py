"""Folds and features, drawn."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

import numpy as np
import pytest

from bayesieve.report import stability_figure
from bayesieve.report.figures.folds import MAX_FOLDS, MAX_ROWS, fold_drawing
from tests.report.markup import read, texts


@dataclass
class Folds:
    """What the figure reads of a `SelectionStability`."""

    names: tuple[str, ...]
    weights: np.ndarray
    stability: float = 0.731
    complete: bool = True
    selector: str = "WrapperSelector"

    @property
    def n_folds(self) -> int:
        return len(self.weights)

    @property
    def n_selected(self) -> np.ndarray:
        return (self.weights > 0).sum(axis=1)

    def stability_interval(self) -> tuple[float, float]:
        return self.stability - 0.1, self.stability + 0.5


def folds(weights, **changes):
    weights = np.asarray(weights, dtype=float)
    return Folds(tuple(f"f{k}" for k in range(weights.shape[1])), weights, **changes)


def test_rows_are_ordered_and_cells_stand_side_by_side():
    drawing = fold_drawing(("a", "b", "c", "d"), [[0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 0, 1], [0, 0, 0.5, 0]])
    assert [row.name for row in drawing.rows] == ["b", "c", "d"]
    assert [row.bar for row in drawing.rows] == [75, 50, 25]
    assert drawing.n_never == 1
    assert [c.strength for c in drawing.rows[1].cells] == [100, 0, 0, 62.5]
    assert [c.start for c in drawing.rows[0].cells] == [0, 25, 50, 75]
    assert all(c.start + c.width <= 100 for row in drawing.rows for c in row.cells)
    assert drawing.rows[1].mean_weight == pytest.approx(0.375)


def test_a_small_weight_is_seen():
    (row,) = fold_drawing(("a",), [[1e-9], [0.0]]).rows
    assert row.cells[0].strength == pytest.approx(25)
    assert row.cells[1].strength == 0


def test_wide_tables_and_many_folds_are_capped_with_a_sentence():
    figure = stability_figure(folds(np.ones((300, 900))))
    drawing = figure.drawing
    assert len(drawing.rows) == MAX_ROWS
    assert drawing.n_hidden == 900 - MAX_ROWS
    assert len(drawing.rows[0].cells) == MAX_FOLDS
    html = figure.to_html()
    assert "840 further features left out" in html
    assert "Folds, the first 100" in html
    assert len(html) < 1_500_000


def test_the_page_tells_the_numbers():
    figure = stability_figure(folds([[1, 1, 0], [1, 0, 0]]), title="Which stay")
    assert figure.caption == (
        "2 folds of 3 features. Selected: 1 to 2 features, 1.5 on average. Stability 0.73, 95% interval 0.63 to 1.00 "
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
    figure = stability_figure(folds(np.zeros((3, 2)), stability=float("nan"), complete=False))
    assert figure.caption == (
        "3 folds of 2 features. Selected: 0 features in every fold. The run was interrupted; only finished "
        "folds are shown."
    )
    for text in (figure.to_html(), figure.to_svg(), figure._repr_html_()):
        assert "No feature was selected in any fold." in text
    read(figure.to_html())


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", '"><img src=x>', "{{ 7 }}", "\x00\ud800"])
def test_names_stay_text(text):
    stability = folds([[1, 1], [1, 0]])
    stability.names = (text, text + "'")
    figure = stability_figure(stability)
    assert not {e.tag for e in read(figure.to_html())} & {"script", "img"}
    figure.to_html().encode()
    svg = ElementTree.fromstring(figure.to_svg())
    assert not {e.tag.rpartition("}")[2] for e in svg.iter()} & {"script", "img"}


def test_drawing_stays_in_its_frame():
    svg = ElementTree.fromstring(stability_figure(folds(np.eye(40))).to_svg())
    width, height = float(svg.attrib["width"]), float(svg.attrib["height"])
    rects = list(svg.iter("{http://www.w3.org/2000/svg}rect"))
    assert len(rects) > 40 * 40
    for rect in rects:
        assert 0 <= float(rect.attrib.get("x", 0)) <= width - float(rect.attrib["width"])
        assert 0 <= float(rect.attrib.get("y", 0)) <= height - float(rect.attrib["height"])

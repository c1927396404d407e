"""Weights of features by method, as rows of bars."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from bayesieve_studies.figures.weights import BAR, weights_figure
from tests.report.markup import drawings, read, texts

SVG = "{http://www.w3.org/2000/svg}"


def test_bars_by_hand():
    figure = weights_figure(["a", "b", "c"], {"MAP": [1, 0, 1], "CMA": [0.5, 0.25, 0.75]})
    first, second = figure.drawing.rows
    assert [bar.height for bar in first.bars] == [BAR, 0, BAR]
    assert [bar.height for bar in second.bars] == [BAR / 2, BAR / 4, 3 * BAR / 4]
    for row in (first, second):
        assert all(bar.y + bar.height == pytest.approx(row.base) for bar in row.bars)
    assert second.base - BAR > first.base
    assert (first.note, second.note) == ("2 features", "0.25 to 0.75")
    middles = [bar.x + bar.width / 2 for bar in first.bars]
    assert middles == pytest.approx([name.position for name in figure.drawing.names], abs=0.02)
    assert [name.label for name in figure.drawing.names] == ["a", "b", "c"]


def test_no_feature_selected():
    row = weights_figure(["a", "b"], {"none": [0, 0]}).drawing.rows[0]
    assert row.note == "0 features"


def test_svg_and_page_tell_the_numbers():
    figure = weights_figure(["<V1>", "V2"], {"A & B": [0.3, 1.0]}, title="T <1>", caption="Said & done")
    drawing = ElementTree.fromstring(figure.to_svg())
    assert drawing.get("role") == "img"
    assert drawing.get("aria-label") == "T <1>. Said & done"
    told = [element.text for element in drawing.iter(f"{SVG}title")]
    assert told == ["T <1>", "A & B, <V1>: 0.30", "A & B, V2: 1.00"]
    bars = [e for e in drawing.iter(f"{SVG}rect") if e.get("class") == "bar"]
    assert [float(bar.get("height")) for bar in bars] == pytest.approx([0.3 * BAR, BAR])
    bottom = max(float(e.get("y")) for e in drawing.iter(f"{SVG}text") if e.get("y"))
    assert bottom < float(drawing.get("height"))
    page = read(figure.to_html())
    assert {"0.30", "1.00", "<V1>"} <= set(texts(page, "td"))
    assert len(drawings(figure.to_html())) == 1


def test_what_cannot_be_drawn():
    with pytest.raises(ValueError, match="'m' has 1 weights for 2 features"):
        weights_figure(["a", "b"], {"m": [1]})
    with pytest.raises(ValueError, match=r"'m' gives 'b' the weight 1.5, which is not in \[0, 1\]"):
        weights_figure(["a", "b"], {"m": [1, 1.5]})
    with pytest.raises(ValueError, match="gives 'a' the weight nan"):
        weights_figure(["a"], {"m": [float("nan")]})
    with pytest.raises(ValueError, match="no features"):
        weights_figure([], {"m": []})

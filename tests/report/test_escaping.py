from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bayesieve.report import ReportData, render_card, render_report
from tests.report.markup import drawings, read
from tests.report.sample import synthetic

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</title></style></script><b>",
    "]]> --> <!-- <![CDATA[",
    "{{ 7 * 7 }} {% raw %} ${1}",
    "&lt;b&gt; &amp; &#60;",
    "<svg onload=alert(1)>",
    "javascript:alert(1)",
]


def hostile(text: str, n_classes: int) -> ReportData:
    """A report with the text in every place that data can reach."""
    classes = tuple(f"{text} {j}" for j in range(n_classes))
    data = synthetic(classes=classes, names=tuple(f"{text} {k}" for k in range(4)), label=text)
    assert data.search is not None
    assert data.performance is not None
    path = tuple(replace(step, feature=text) for step in data.search.path)
    explained = tuple(
        replace(
            row,
            title=text,
            truth=text,
            contributions=tuple(replace(c, value=text, level=text + "!") for c in row.contributions),
        )
        for row in data.explained
    )
    features = tuple(replace(f, note=text, kind=text, type=text) for f in data.features)
    levels = tuple(replace(level, label=text * 40) for level in features[0].levels)
    return replace(
        data,
        title=text,
        target=text,
        headline=text,
        warnings=(text, text),
        settings=((text, text),),
        version=text,
        created=text,
        features=(replace(features[0], levels=levels), *features[1:]),
        explained=explained,
        search=replace(data.search, name=text, description=text, path=path),
        performance=replace(data.performance, protocol=text),
    )


@pytest.mark.parametrize("n_classes", [2, 3, 12])
@pytest.mark.parametrize("text", HOSTILE)
def test_text_from_data_stays_text(text, n_classes):
    harmless = render_report(hostile("harmless".ljust(len(text), "s"), n_classes))
    html = render_report(hostile(text, n_classes))
    elements = read(html)
    assert [e.tag for e in elements] == [e.tag for e in read(harmless)]
    assert sum(e.tag == "script" for e in elements) == 1
    assert not {e.tag for e in elements} & {"img", "iframe", "object"}
    assert not any(name.startswith("on") for e in elements for name in e.attributes)
    assert all(e.attributes["href"].startswith("#") for e in elements if "href" in e.attributes)
    drawings(html)
    title = next(e for e in elements if e.tag == "title" and "head" in e.path)
    assert title.text == text
    assert next(e for e in elements if e.tag == "h1").text == text


@pytest.mark.parametrize("text", HOSTILE)
def test_cards_too(text):
    elements = read(render_card(hostile(text, 3)))
    assert {e.tag for e in elements} <= {"div", "span"}
    assert not any(name.startswith("on") for e in elements for name in e.attributes)
    assert text in elements[0].text


def test_characters_that_html_cannot_hold():
    html = render_report(hostile("a\x00b\ud800c\x1b", 3))
    html.encode("utf-8")
    assert "\x00" not in html
    assert "a\ufffdb\ufffdc" in html


TURNING = [*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))]


def test_no_name_turns_the_text_after_it():
    text = f"a{''.join(TURNING)}b"
    for page in (render_report(hostile(text, 3)), render_card(hostile(text, 3))):
        assert not any(character in page for character in TURNING)
        assert "a\\u202a\\u202b" in page


def test_names_of_figures_do_not_turn_the_text_after_them():
    import polars as pl

    from bayesieve import WrapperSelector, path_figure, selection_stability, stability_figure

    random = np.random.default_rng(0)
    y = random.integers(0, 2, 60)
    names = ["\u202eone", "two\u2067", "\u05e9\u05dd", "\u2069four"]
    X = pl.DataFrame({name: y + random.normal(size=60) for name in names})
    selector = WrapperSelector(direction="forward")
    figures = [
        path_figure(selector.fit(X, y), title="\u202etitle"),
        path_figure([selector.fit(X, y)] * 2),
        stability_figure(selection_stability(selector, X, y, cv=3)),
    ]
    for figure in figures:
        for drawn in (figure.to_svg(), figure.to_html(), figure._repr_html_()):
            assert not any(character in drawn for character in TURNING)
    assert "unicode-bidi: isolate" in figures[0].to_svg()
    assert "\\u202etitle" in figures[0].to_svg()


def test_empty_and_blank_texts_can_be_seen():
    html = render_report(synthetic(classes=("", " ", "x"), names=("", "  ", "y", "z")))
    read(html)
    assert "(empty)" in html
    assert "(blank)" in html

"""What holds of every page, card and figure: text stays text, and nothing is fetched."""

from __future__ import annotations

import base64
import hashlib
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import polars as pl
import pytest

from bayesieve import (
    DependenceClusterSelector,
    calibration_summary,
    gains_curve,
    gains_figure,
    path_figure,
    profit_curve,
    profit_figure,
    reliability_figure,
)
from bayesieve.report import Figure, ReportData, clusters_figure, render_card, render_report
from bayesieve.scorecard import Explanation
from tests.cases import mostly_slow
from tests.report.markup import payload, read
from tests.report.paths import floating_trace, forward_trace, wrapper_trace
from tests.report.sample import synthetic

TURNING = "".join([*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))])
HOSTILE = [
    """</title></style><script>alert(1)</script>"><img src=x onerror=alert(1)><b>""",
    "javascript:alert(1)' onmouseover='alert(1)]]> --> <!-- <![CDATA[",
    "{{ 7 * 7 }} {% raw %} ${1} &lt;b&gt; &amp; &#60;",
    "a\x00b\ud800c\x1b",
    f"a{TURNING}b",
    "",
]
SCORE = np.random.default_rng(5).random(400)
Y = (np.random.default_rng(6).random(400) < SCORE).astype(int)


def report_of(text: str, n_classes: int) -> ReportData:
    """A report with the text in every place that data can reach."""
    classes = tuple(f"{text} {j}" for j in range(n_classes))
    data = synthetic(classes=classes, names=tuple(f"{text} {k}" for k in range(4)), label=text)
    explained = []
    for row in data.explained:
        parts = [part | {"value": text, "level": text + "!"} for part in row["contributions"]]
        explained.append({**row, "title": text, "truth": text, "contributions": parts})
    features = [{**f, "note": text, "kind": text, "type": text} for f in data.features]
    features[0]["cells"] = {**features[0]["cells"], "label": [text * 40] * 5}
    return replace(
        data,
        **dict.fromkeys(("title", "target", "headline", "created"), text),
        warnings=(text, text),
        settings=((text, text),),
        features=features,
        explained=explained,
        selector={"name": text, "sentence": text},
        performance=replace(data.performance, protocol=text, measured=text),
    )


def clusters_of(text: str) -> Figure:
    X = pl.DataFrame({f"{text}{k}".replace("\ud800", ""): SCORE * (k + 1) + SCORE[::-1] for k in range(4)})
    return clusters_figure(DependenceClusterSelector().fit(X, Y), title=text)


def explained(text: str) -> Figure:
    names, texts = [f"{text}{k}" for k in range(3)], np.full((1, 3), text, dtype=object)
    nats, labels = np.array([[[-0.5, 0.5], [0.2, -0.2], [0.0, 0.0]]]), np.array([text, f"{text}'"], dtype=object)
    return Explanation(np.arange(1), names, labels, np.zeros(2), nats, texts, texts, np.ones(3)).plot(title=text)


PAGES: dict[str, Callable[[str], str]] = {
    **{f"report of {n} classes": lambda text, n=n: render_report(report_of(text, n)) for n in (2, 9)},
    "card": lambda text: render_card(report_of(text, 3)),
}
FIGURES: dict[str, Callable[[str], Figure]] = {
    "path": lambda text: path_figure(forward_trace(names=(text, text + "2", "c", "d")), title=text),
    "phases": lambda text: path_figure(floating_trace(), title=text),
    "start only": lambda text: path_figure(wrapper_trace([[]]), title=text),
    "several paths": lambda text: path_figure([forward_trace(), forward_trace(0.05), floating_trace()], title=text),
    "profit": lambda text: profit_figure(profit_curve(Y, SCORE, benefit=[[0, 0], [-1, 1]]), title=text, unit=text),
    "gains": lambda text: gains_figure(gains_curve(Y, SCORE), title=text),
    "reliability": lambda text: reliability_figure({text: calibration_summary(Y, SCORE)}, title=text),
    "clusters": clusters_of,
    "explanation": explained,
}


@cache
def page(name: str, text: str) -> str:
    return PAGES[name](text) if name in PAGES else figure(name, text).to_html()


@cache
def figure(name: str, text: str) -> Figure:
    return FIGURES[name](text)


every = pytest.mark.parametrize("name", [*PAGES, *FIGURES])


EVERY_TEXT = list(product([*PAGES, *FIGURES], HOSTILE))


@pytest.mark.parametrize(("name", "text"), mostly_slow(EVERY_TEXT, EVERY_TEXT[:: len(HOSTILE)] + EVERY_TEXT[::5]))
def test_text_from_data_stays_text(name: str, text: str) -> None:
    check_text(name, text, lambda text: page(name, text))


def check_text(name: str, text: str, page: Callable[[str], str]) -> None:
    """Check that a page of this text has the elements of the page of a harmless text."""
    html = page(text)
    html.encode("utf-8")
    assert not any(character in html for character in TURNING + "\x00\x1b")
    elements = read(html)
    if text:  # the elements are those of a harmless text as long
        assert [e.tag for e in elements] == [e.tag for e in read(page("harmless".ljust(len(text), "s")))]
    assert not {e.tag for e in elements} & {"img", "iframe", "object"}
    assert sum(e.tag == "script" for e in elements) == (0 if name == "card" else 3)
    assert not any(key.startswith("on") for e in elements for key in e.attributes)
    if text.isprintable():
        assert text in elements[0].text
    if text.startswith("a\x00"):
        assert "a\ufffdb\ufffdc" in elements[0].text
    if text.startswith(f"a{TURNING[0]}"):
        assert "a\\u202a\\u202b" in elements[0].text or name in ("phases", "start only", "several paths", "many folds")


@every
def test_pages_are_whole_and_ask_nothing_of_the_network(name: str) -> None:
    check_whole(name, page(name, "harmless"))


def check_whole(name: str, html: str) -> None:
    """Check that links and labels of a page lead somewhere, and that its policy allows its scripts and nothing else."""
    elements = read(html)
    ids = [e.attributes["id"] for e in elements if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    for e in elements:
        if e.tag == "a":
            assert e.attributes["href"][0] == "#"
            assert e.attributes["href"][1:] in ids
        assert {e.attributes[key] for key in ("aria-labelledby", "for") if key in e.attributes} <= set(ids)
        assert name == "card" or "style" not in e.attributes
    if name == "card":
        return
    shown = re.sub(r'<script type="text/plain".*?</script>', "", html)
    for forbidden in ("http", "src=", "url(", "@import", "<link", "fetch(", "XMLHttpRequest"):
        assert forbidden not in shown.replace("http-equiv", ""), forbidden
    (policy,) = (e for e in elements if e.attributes.get("http-equiv") == "Content-Security-Policy")
    assert policy.attributes["content"].startswith("default-src 'none'")
    assert "unsafe" not in policy.attributes["content"]
    allowed = set(re.findall(r"'sha256-(.*?)'", policy.attributes["content"]))
    inline = [e.text for e in elements if e.tag == "style" or (e.tag == "script" and not e.attributes)]
    assert {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in inline} < allowed
    data = payload(html)
    hosts = {e.attributes["data-chart"] for e in elements if "data-chart" in e.attributes}
    assert {key for key, one in data["charts"].items() if one["spec"]} <= hosts
    assert hosts - set(data["charts"]) <= set((data["more"] or {}).get("templates", ()))


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_pictures_whatever_the_text(name: str) -> None:
    check_picture(figure(name, "<script>alert(1)</script>"))


def check_picture(drawn: Figure) -> None:
    """Check that a picture has no scripts, images, links or positions that are no numbers."""
    svg = ElementTree.fromstring(drawn.to_svg())
    assert not {e.tag.rpartition("}")[2] for e in svg.iter()} & {"script", "image", "a"}
    assert not any("NaN" in value for e in svg.iter() for value in e.attrib.values())
    assert drawn.title in repr(drawn)

"""The report and the card: what they say of known numbers, and that they stand with any part left out."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from dataclasses import asdict, replace

import pytest

from bayesieve.report import render_card, render_report
from bayesieve.report.sections import explained_sections
from tests.report.markup import drawings, inside, read, texts
from tests.report.sample import synthetic

TWO = synthetic(n_classes=2)
BARE = replace(TWO, search=None, performance=None, explained=(), warnings=(), settings=())
NO_CURVES = replace(TWO.performance, confusion=None, roc=(), reliability=(), auc=float("nan"))
ALL = {
    **{f"{n} classes": synthetic(n_classes=n) for n in (1, 2, 3, 8, 26, 40)},
    "partly measured": replace(TWO, performance=NO_CURVES),
    "interrupted": replace(TWO, search=replace(TWO.search, complete=False)),
    "bare": BARE,
    "no features": replace(BARE, features=()),
    "nothing kept": replace(TWO, features=tuple(f for f in TWO.features if f.weight == 0)),
}


@pytest.fixture(scope="module")
def page():
    return render_report(TWO)


def test_only_the_script_of_the_report_may_run(page):
    (script,) = (e for e in read(page) if e.tag == "script")
    digest = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
    policy = next(e for e in read(page) if e.attributes.get("http-equiv") == "Content-Security-Policy")
    assert f"script-src 'sha256-{digest}'" in policy.attributes["content"]
    assert "default-src 'none'" in policy.attributes["content"]


def test_numbers_are_shown(page):
    elements = read(page)
    assert texts(elements, "dd", "value") == ["5 of 6", "0.870", "71.0%", "0.900 nats", "31.0%"]
    rows = texts(elements, "tr")
    f = TWO.features[0]
    assert f"1 {f.name} categorical 5 {f.level_score:.3f} {f.weight:.3f} {100 * f.importance:.1f}%" in rows
    level = next(level for f in TWO.features for level in f.levels if level.is_missing and level.label != "missing")
    odds = f"{level.evidence[1] - level.evidence[0]:+.2f}".replace("-", "\N{MINUS SIGN}")
    shown = f"{level.label}holds missing {level.count:.0f} {100 * level.class_probabilities[1]:.1f}% {odds}"
    assert any(row.replace(" ", "") == shown.replace(" ", "") for row in rows)
    assert "312 distinct models evaluated from 4 starts in 184 ms. The search ran to its end." in page
    assert TWO.warnings[0] in page
    assert texts(elements, "td", "is-right") == ["40", "40"]
    assert TWO.performance.protocol in page
    widths = re.findall(r'<span class="meter"><span style="width:([\d.]+)%"', page)
    assert [float(w) for w in widths] == [pytest.approx(100 * f.weight, abs=0.01) for f in TWO.features]
    assert json.loads(json.dumps(asdict(TWO)))["features"][0]["levels"]


def test_explained_rows_wear_the_colours_of_their_classes():
    data = synthetic(n_classes=5)
    section = explained_sections(data)[0]
    used = set(re.findall(r'<td class="fall"><i [^>]*></i><span class="(k\d)"', render_report(data)))
    assert used == {f"k{section.favoured}", f"k{section.against}"}


@pytest.mark.parametrize("name", ALL)
def test_any_report_is_whole(name):
    data = ALL[name]
    html = render_report(data)
    elements = read(html)
    for svg in drawings(html):
        inside(svg)
    ids = {e.attributes["id"] for e in elements if "id" in e.attributes}
    assert {e.attributes["href"][1:] for e in elements if e.tag == "a"} <= ids
    shown = {"search": data.search, "performance": data.performance, "explained": data.explained}
    for section, part in shown.items():
        assert (section in ids) == bool(part) or data.classes[1:] == (), section
    measured = data.performance
    for words, wanted in (
        ("Settings</h2>", data.settings),
        ("Worth knowing", data.warnings),
        ("The search was interrupted", data.search is not None and not data.search.complete),
        ("Confusion matrix", measured is not None and len(measured.confusion or ()) in range(1, 27)),
        ("ROC curve", measured is not None and measured.roc),
    ):
        assert (words in html) == bool(wanted), words
    assert ("levels" in ids) == any(f.selected and f.levels for f in data.features)
    card = render_card(data)
    text = " ".join(read(card)[0].text.split())
    assert ("No feature is selected" in text) == (not any(f.selected for f in data.features))
    assert all(warning in text for warning in data.warnings)
    assert len(card) < 12_000


def test_the_card_shows_the_essentials():
    text = " ".join(read(render_card(synthetic(n_classes=2, n_features=20)))[0].text.split())
    for shown in ("A synthetic table", "15 of 20", "0.870", "71.0%", "feature_00000", "0.93", "7 further features"):
        assert shown in text


def test_levels_of_missing_values_and_blank_names_can_be_seen():
    html = render_report(synthetic(n_classes=2, n_features=1))
    assert "missing" in " ".join(texts(read(html), "tr", "missing"))
    assert "holds missing" not in html
    html = render_report(synthetic(classes=("", " ", "x"), names=("", "  ", "y", "z")))
    assert "(empty)" in html
    assert "(blank)" in html


@pytest.mark.parametrize(
    "sizes",
    [
        {"n_classes": 26, "n_features": 2000, "n_levels": 2},
        {"n_classes": 2, "n_features": 150, "n_levels": 10, "label": "a category, " * 5000},
    ],
)
def test_big_reports_stay_small_and_quick(sizes):
    data = synthetic(**sizes)
    render_report(TWO)  # compiles the templates
    began = time.process_time()
    assert len(render_report(data).encode()) < 3_000_000
    assert time.process_time() - began < 2
    assert len(render_card(data)) < 12_000

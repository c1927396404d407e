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
from tests.report.markup import drawings, read, texts
from tests.report.sample import german_credit, synthetic
from tests.report.test_pages import inside


@pytest.fixture(scope="module")
def german():
    return render_report(german_credit())


def bare(data):
    return replace(data, search=None, performance=None, explained=(), warnings=(), settings=())


def partly_measured():
    data = german_credit()
    return replace(
        data, performance=replace(data.performance, confusion=None, roc=(), reliability=(), auc=float("nan"))
    )


ALL = {
    "partly measured": partly_measured,
    "german": german_credit,
    "three classes": lambda: synthetic(n_classes=3),
    "eight classes": lambda: synthetic(n_classes=8),
    "26 classes": lambda: synthetic(n_classes=26),
    "40 classes": lambda: synthetic(n_classes=40),
    "one class": lambda: synthetic(n_classes=1),
    "bare": lambda: bare(german_credit()),
    "no features": lambda: replace(bare(german_credit()), features=()),
    "nothing kept": lambda: replace(
        german_credit(), features=tuple(f for f in german_credit().features if f.weight == 0)
    ),
}


def test_only_the_script_of_the_report_may_run(german):
    scripts = [e for e in read(german) if e.tag == "script"]
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].text.encode()).digest()).decode()
    policy = next(e for e in read(german) if e.attributes.get("http-equiv") == "Content-Security-Policy").attributes[
        "content"
    ]
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert len(scripts[0].text.splitlines()) < 80


def test_numbers_are_shown(german):
    elements = read(german)
    data = german_credit()
    assert texts(elements, "dd", "value") == ["11 of 20", "0.790", "75.7%", "0.495 nats", "19.0%"]
    rows = texts(elements, "tr")
    f = data.features[0]
    assert f"1 {f.name} categorical 2 {f.level_score:.3f} {f.weight:.3f} {100 * f.importance:.1f}%" in rows
    level = f.levels[0]
    odds = level.evidence[1] - level.evidence[0]
    shown = f"{level.label}holds missing {level.count:.0f} {100 * level.class_probabilities[1]:.1f}% +{odds:.2f}"
    assert any(row.replace(" ", "") == shown.replace(" ", "") for row in rows)
    assert "363 distinct models evaluated from 14 starts in 184 ms. The search ran to its end." in german
    assert "183 rows (18.3%) have no value in savings_status" in german
    assert texts(elements, "td", "is-right") == ["135", "622"]
    assert data.performance is not None
    assert data.performance.protocol in german


def test_bars_are_as_wide_as_the_numbers_say(german):
    widths = re.findall(r'<span class="meter"><span style="width:([\d.]+)%"', german)
    assert [float(w) for w in widths] == [pytest.approx(100 * f.weight, abs=0.01) for f in german_credit().features]


def test_explained_rows_wear_the_colours_of_their_classes():
    data = synthetic(n_classes=5)
    section = explained_sections(data)[0]
    used = set(re.findall(r'<td class="fall"><i [^>]*></i><span class="(k\d)"', render_report(data)))
    assert used == {f"k{section.favoured}", f"k{section.against}"}


def test_data_go_to_json():
    text = json.dumps(asdict(german_credit()))
    assert json.loads(text)["features"][0]["levels"]


@pytest.mark.parametrize("name", ALL)
def test_any_report_is_whole(name):
    data = ALL[name]()
    html = render_report(data)
    elements = read(html)
    for svg in drawings(html):
        inside(svg)
    ids = {e.attributes["id"] for e in elements if "id" in e.attributes}
    assert {e.attributes["href"][1:] for e in elements if e.tag == "a"} <= ids
    shown = {"search": data.search, "performance": data.performance, "explained": data.explained}
    for section, part in shown.items():
        assert (section in ids) == bool(part) or data.classes[1:] == (), section
    assert ("Settings</h2>" in html) == bool(data.settings)
    assert ("Worth knowing" in html) == bool(data.warnings)
    assert ("levels" in ids) == any(f.selected and f.levels for f in data.features)
    assert ("The search was interrupted" in html) == (data.search is not None and not data.search.complete)
    assert ("Confusion matrix" in html) == (
        data.performance is not None and len(data.performance.confusion or ()) in range(1, 27)
    )
    assert ("ROC curve" in html) == (data.performance is not None and bool(data.performance.roc))
    read(render_card(data))


def test_levels_of_missing_values_and_blank_names_can_be_seen():
    html = render_report(synthetic(n_classes=2))
    assert "missing" in " ".join(texts(read(html), "tr", "missing"))
    assert "holds missing" not in html
    assert "holds missing" in render_report(german_credit())
    html = render_report(synthetic(classes=("", " ", "x"), names=("", "  ", "y", "z")))
    assert "(empty)" in html
    assert "(blank)" in html


@pytest.mark.parametrize(
    "sizes",
    [
        {"n_classes": 2, "n_features": 1000, "n_levels": 10},
        {"n_classes": 3, "n_features": 10_000, "n_levels": 2},
        {"n_classes": 2, "n_features": 150, "n_levels": 10, "label": "a category, " * 5000},
        {"n_classes": 26, "n_features": 3000, "n_levels": 2},
    ],
)
def test_big_reports_stay_small_and_quick(sizes):
    data = synthetic(**sizes)
    render_report(german_credit())  # compiles the templates
    began = time.process_time()
    assert len(render_report(data).encode()) < 3_000_000
    assert time.process_time() - began < 2
    assert len(render_card(data)) < 12_000

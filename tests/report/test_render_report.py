from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
import time
from dataclasses import asdict, replace

import pytest

from bayesieve.report import render_report
from bayesieve.report.sections.explained import explained_sections
from tests.report.markup import drawings, read, texts
from tests.report.sample import german_credit, synthetic


@pytest.fixture(scope="module")
def german():
    return render_report(german_credit())


def bare(data):
    return replace(data, search=None, performance=None, explained=(), warnings=(), settings=())


ALL = {
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


@pytest.mark.parametrize("name", ALL)
def test_well_formed(name):
    html = render_report(ALL[name]())
    elements = read(html)
    drawings(html)
    ids = [e.attributes["id"] for e in elements if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    for e in elements:
        if e.tag == "a":
            assert e.attributes["href"][1:] in ids
        for reference in ("aria-labelledby", "for"):
            if reference in e.attributes:
                assert e.attributes[reference] in ids


def test_asks_nothing_of_the_network(german):
    without_meta = german.replace("http-equiv", "")
    for forbidden in (
        "http",
        "src=",
        "url(",
        "@import",
        "<link",
        "<img",
        "<iframe",
        "<object",
        "fetch(",
        "XMLHttpRequest",
        "//cdn",
    ):
        assert forbidden not in without_meta, forbidden


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


@pytest.mark.parametrize("name", ["german", "26 classes"])
def test_drawings_stay_inside_their_view_box(name):
    html = render_report(ALL[name]())
    figures = drawings(html)
    assert figures
    for svg in figures:
        assert svg.attrib["viewBox"] == "0 0 100 100"
        assert svg.attrib["aria-label"]
        for line in svg.iter("polyline"):
            values = [float(v) for v in line.attrib["points"].replace(",", " ").split()]
            assert all(0 <= v <= 100 for v in values)
        for shape in svg.iter():
            assert all(
                0 <= float(shape.attrib[k]) <= 100 for k in ("x1", "x2", "y1", "y2", "x", "y") if k in shape.attrib
            )


def test_explained_rows_wear_the_colours_of_their_classes():
    data = synthetic(n_classes=5)
    section = explained_sections(data)[0]
    used = set(re.findall(r'<td class="fall"><i [^>]*></i><span class="(k\d)"', render_report(data)))
    assert used == {f"k{section.favoured}", f"k{section.against}"}


def test_missing_levels_stand_out():
    html = render_report(synthetic(n_classes=2))
    assert "missing" in " ".join(texts(read(html), "tr", "missing"))
    assert "holds missing" not in html
    assert "holds missing" in render_report(german_credit())


def test_sections_vanish_with_their_data():
    full, empty = render_report(german_credit()), render_report(bare(german_credit()))
    for section in ("search", "performance", "explained"):
        assert f'id="{section}"' in full
        assert f"#{section}" not in empty
        assert f'id="{section}"' not in empty
    assert "Worth knowing" not in empty
    assert "Settings</h2>" not in empty
    assert "Glossary" in empty
    assert 'id="levels"' not in render_report(ALL["nothing kept"]())


def test_partial_performance():
    data = german_credit()
    assert data.performance is not None
    html = render_report(
        replace(data, performance=replace(data.performance, confusion=None, roc=(), reliability=(), auc=float("nan")))
    )
    read(html)
    assert "Confusion matrix" not in html
    assert "ROC curve" not in html
    assert "–" in texts(read(html), "dd", "value")


def test_interrupted_search_says_so():
    assert "The search was interrupted" in render_report(synthetic())


def test_big_reports_stay_small_and_quick():
    data = synthetic(n_classes=2, n_features=1000, n_levels=10)
    render_report(german_credit())  # compiles the templates
    began = time.perf_counter()
    html = render_report(data)
    assert time.perf_counter() - began < 2
    assert len(html.encode()) < 3_000_000


def test_very_wide_tables():
    data = synthetic(n_classes=3, n_features=10_000, n_levels=2)
    html = render_report(data)
    assert len(html.encode()) < 3_000_000
    assert "1,000 heaviest of 10,000 features" in html


def test_long_group_labels_do_not_swell_the_file():
    data = synthetic(n_classes=2, n_features=150, n_levels=10, label="a category, " * 5000)
    assert len(render_report(data).encode()) < 3_000_000


def test_same_data_same_bytes():
    assert render_report(german_credit()) == render_report(german_credit())


def test_data_go_to_json():
    text = json.dumps(asdict(german_credit()))
    assert json.loads(text)["features"][0]["levels"]


def test_importing_the_package_does_not_import_jinja():
    code = "import sys, bayesieve.report; sys.exit('jinja2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

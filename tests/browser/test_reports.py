"""Reports in a real browser: every control answers, nothing of the data runs, and print shows everything."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve import IndicatorEncoder, SelectiveNB
from bayesieve.report import render_report
from tests.report.sample import synthetic
from tests.report.test_pages import HOSTILE, report_of

pytestmark = pytest.mark.slow
GERMAN = pl.read_csv(Path(__file__).parents[2] / "examples" / "data" / "german_credit.csv")
Visit = Callable[..., Any]


@cache
def models() -> dict[str, tuple[SelectiveNB, pl.DataFrame, Any]]:
    rng = np.random.default_rng(2)
    n = 700
    X = pl.DataFrame(
        {
            "size": rng.integers(0, 40, n),
            "weight": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "kind": rng.choice(["a, b", "c", None, '"d"'], n),
            "since": pl.Series(rng.integers(0, 4000, n)).cast(pl.Date),
        }
    )
    score = 0.1 * X["size"].to_numpy() + np.nan_to_num(X["weight"].to_numpy()) + rng.normal(size=n)
    three = np.digitize(score, [1.5, 2.8])
    hostile = {
        "=1+1, a": rng.integers(0, 9, n) + (score > 2),
        "@at": rng.choice(["=cmd|'/C calc'!A0", "-5", "x"], n),
    } | {
        f"{text} {k}".replace("\ud800", ""): rng.choice([text.replace("\ud800", ""), "x"], n)
        for k, text in enumerate(HOSTILE)
    }
    y = np.where((score > 2) ^ (hostile[next(iter(hostile))] == "x"), HOSTILE[0], HOSTILE[1])
    found = {
        "german": (GERMAN.drop("class"), GERMAN["class"]),
        "three classes": (X, three),
        "hostile": (pl.DataFrame(hostile), y),
    }
    return {name: (SelectiveNB(random_state=0).fit(*data), *data) for name, data in found.items()}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    paths = {}
    for name, (model, X, y) in models().items():
        paths[name] = folder / f"{name}.html"
        model.report(paths[name], X, y, cv=2, rows=2, min_count=1)
    return paths


def text_of(value: Any) -> str:
    return "" if value is None or value != value else str(value)


@pytest.mark.parametrize("name", ["german", "three classes", "hostile"])
def test_what_if_gives_the_probabilities_of_the_model(name: str, pages: dict[str, Path], visit: Visit) -> None:
    model, X, _ = models()[name]
    page = visit(pages[name])
    expected = model.predict_proba(X[:3])
    for at in range(3):
        for field in page.locator("[data-column]").all():
            value = text_of(X[field.get_attribute("data-column")][at])
            if field.evaluate("one => one.tagName") == "SELECT":
                last = (
                    "(one, value) => { one.selectedIndex = [...one.options].findLastIndex((o) => o.value === value); "
                )
                field.evaluate(last + "one.dispatchEvent(new Event('input')); }", value)
            else:
                field.fill(value)
        cells = page.locator("[data-part=what-if] [data-probability]").all()
        shown = {cell.get_attribute("data-probability"): float(cell.get_attribute("data-v")) for cell in cells}
        own = dict(zip(map(str, model.classes_), expected[at], strict=True))
        assert shown == pytest.approx(own, abs=1e-12)
        ends = page.locator("[data-part=what-if] [data-low]").evaluate_all(
            "all => all.map((one) => [Number(one.dataset.low), Number(one.dataset.high)])"
        )
        np.testing.assert_allclose(ends, model.predict_interval(X[at : at + 1])[0], atol=2e-4)
    page.select_option("#what-if-tools select", index=1)  # an explained row
    page.locator("#what-if-chart").scroll_into_view_if_needed()
    page.wait_for_selector("#what-if-chart svg")


@pytest.mark.parametrize("name", ["german", "three classes", "hostile"])
def test_changes_are_those_of_counterfactuals(name: str, pages: dict[str, Path], visit: Visit) -> None:
    """Never to a missing value, in the same order, and without the columns that are to be kept."""
    model, X, _ = models()[name]
    page = visit(pages[name])
    names = [one["name"] for one in page.evaluate("page.ready.then(({ more }) => more.changes)")]
    for at, fixed in ((0, ()), (1, names[:1]), (2, names[1:3])):
        values = {column: text_of(X[column][at]) or None for column in names}
        told = page.evaluate(
            """async ([row, fixed]) => {
              const { more } = await page.ready, columns = changes.prepared(globalThis.scoring, more.changes);
              const options = await changes.find(
                globalThis.scoring, columns, row, { fixed: new Set(fixed), pause: async () => false });
              return options.flatMap((option, k) => option.columns.map((c, i) =>
                [k + 1, columns[c].name, columns[c].labels[option.parts[i]], 1 / (1 + Math.exp(-option.certainty))]));
            }""",
            [values, list(fixed)],
        )
        expected = model.counterfactuals(X[at : at + 1], n=5, fixed=fixed)
        assert [line[:3] for line in told] == [list(line) for line in expected.select("option", "column", "to").rows()]
        assert [line[3] for line in told] == pytest.approx(expected["probability"].to_list(), abs=1e-9)
        assert not {line[1] for line in told} & set(fixed)
        assert not any(line[2] in ("missing", "(missing)") for line in told)


def test_a_kept_column_does_not_change(pages: dict[str, Path], visit: Visit) -> None:
    page = visit(pages["german"])
    page.wait_for_selector("#what-if-changes[aria-busy=false] tbody tr")
    first = page.locator("#what-if-changes tbody tr td").first.inner_text().split(":")[0]
    page.locator(f"[data-keep={first}]").press("Space")  # not by a click, which misses while the page is laid out
    page.wait_for_selector("#what-if-changes[aria-busy=false]")
    assert page.is_checked(f"[data-keep={first}]")
    assert not any(text.startswith(first) for text in page.locator("#what-if-changes tbody td").all_inner_texts())


def test_one_feature_after_the_other(pages: dict[str, Path], visit: Visit) -> None:
    page = visit(pages["german"])
    model = models()["german"][0]
    second = model.selected_features_[1]
    page.locator("[data-part=features] a", has_text=second).click()
    assert page.locator("#feature-panel h3").inner_text() == second
    page.locator("#feature-panel details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
    lines = page.locator("#feature-panel table").last.locator("tbody tr").all_inner_texts()
    feature = model.scorecard_[second]
    assert len(lines) == feature.cells.n_levels + 1
    told = [float(line.split("\t")[5].replace("−", "-")) for line in lines]
    contributions = feature.table[:, 1] - feature.table[:, 0]
    np.testing.assert_allclose(sorted(told), sorted(contributions), atol=5e-7)
    if feature.cells is not feature.levels:  # a line for each level, with the mean of its cells
        lines = page.locator("#feature-panel table").first.locator("tbody tr").all_inner_texts()
        levels = {line.split("\t")[0]: float(line.split("\t")[5].replace("−", "-")) for line in lines}
        means = np.diff(feature.by_level(), axis=1)[:, 0]
        assert [levels[label] for label in feature.levels.labels] == pytest.approx(means, abs=5e-7)
    page.locator("#feature-panel figure").first.scroll_into_view_if_needed()
    page.wait_for_selector("#feature-panel svg")
    labels = page.locator("#feature-panel svg [aria-label]").evaluate_all("all => all.map(one => one.ariaLabel)")
    assert any("contribution, nats" in label for label in labels)
    page.select_option("#feature-choice", label="duration")
    words = page.locator("#feature-panel p.soft").inner_text()
    for part in (
        "Without this feature the log loss of rows held out",
        "A column without effect",
        "Grey: the training rows",
    ):
        assert part in words
    page.locator("#feature-panel figure").first.scroll_into_view_if_needed()
    page.wait_for_selector("#feature-panel svg .mark-rect")
    assert page.locator("#feature-panel figure").first.locator(".mark-rect path").count() > 60  # density, then errors


def test_values_within_one_group_have_lines(tmp_path: Path, visit: Visit) -> None:
    """A column of one level whose values differ shows its cells."""
    data = synthetic(n_classes=2, n_features=4, n_levels=4)
    feature = {**data.features[0], "grid": None}
    feature["cells"] = {**feature["cells"], "level": ["all values"] * 4}
    path = tmp_path / "page.html"
    path.write_text(render_report(replace(data, features=[feature, *data.features[1:]])), encoding="utf-8")
    page = visit(path)
    lines = page.locator("#feature-panel table").first.locator("tbody tr").all_inner_texts()
    assert [line.split("\t")[0] for line in lines[:-1]] == sorted(
        feature["cells"]["label"],
        key=lambda label: -float(next(one for one in lines if one.startswith(label)).split("\t")[5].replace("−", "-")),
    )


def test_tables_sort_and_filter(pages: dict[str, Path], visit: Visit) -> None:
    page = visit(pages["german"])
    names = page.locator("#feature-table tbody tr td:nth-child(2)")
    page.locator("#feature-table th button", has_text="Column").click()
    first = names.all_inner_texts()
    assert first == sorted(first, key=str.lower)
    page.locator("#feature-table th button", has_text="Importance").click()
    assert names.first.inner_text() == models()["german"][0].selected_features_[0]
    page.fill("[data-filter]", "status")
    assert all("status" in text for text in page.locator("#feature-table tbody tr:visible td.name").all_inner_texts())
    with page.expect_download() as download:
        page.locator("[data-part=features] .tools button", has_text="CSV").first.click()
    assert "checking_status" in Path(download.value.path()).read_text()


def test_no_cell_of_a_copied_table_starts_a_formula(pages: dict[str, Path], visit: Visit) -> None:
    page = visit(pages["hostile"])
    with page.expect_download() as download:
        page.locator("[data-part=features] .tools button", has_text="CSV").first.click()
    rows = list(csv.reader(Path(download.value.path()).read_text().splitlines()))
    assert len({len(row) for row in rows}) == 1
    page.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }")
    page.locator("[data-part=features] .tools button", has_text="Copy").first.click()
    copied = list(csv.reader(page.evaluate("window.copied").splitlines(), delimiter="\t"))
    assert copied == rows
    cells = [cell for row in rows for cell in row]
    assert "'=1+1, a" in cells
    assert "'@at" in cells
    assert not [cell for cell in cells if re.match(r"[=@]|[+-](?![\d.,]+%?$)", cell)]


CUT = ("threshold", "gains", "lift")


def test_the_threshold_moves_everything(pages: dict[str, Path], visit: Visit) -> None:
    page = visit(pages["german"])
    page.fill("#gain-false", "-5")
    page.fill("#per-month", "2000")

    def told() -> tuple[list[int], dict[str, str]]:
        cells = page.locator("#threshold-matrix td").all_inner_texts()
        names = page.locator("#threshold-measures dt").all_inner_texts()
        values = page.locator("#threshold-measures dd").all_inner_texts()
        return [int(cell.replace(",", "")) for cell in cells if cell], dict(zip(names, values, strict=True))

    seen = []
    for position in (0, 40, 90):
        page.locator("#threshold-slider").evaluate(
            "(one, at) => { one.value = at; one.dispatchEvent(new Event('input')); }", position
        )
        (hit, missed, false, rest), measures = told()
        assert (hit + missed, false + rest) == (700, 300)
        precision, recall = (float(measures[name].rstrip("%")) for name in ("Precision", "Recall (gains)"))
        assert (precision, recall) == pytest.approx((100 * hit / (hit + false), 100 * hit / 700), abs=0.0501)
        assert float(measures["Profit"].replace(",", "").replace("−", "-")) == hit - 5 * false
        assert int(measures["Selected a month"].replace(",", "")) == pytest.approx(2 * (hit + false), abs=1)
        seen.append(hit + false)
        assert {page.evaluate(f"document.querySelector('[data-chart={name}]').chart.signals.cut") for name in CUT} == {
            (hit + false) / 1000
        }
    assert seen == sorted(seen)
    assert seen[0] < seen[-1]


def test_curves_and_features_of_another_class(pages: dict[str, Path], visit: Visit) -> None:
    page = visit(pages["three classes"])
    page.locator("#curves").scroll_into_view_if_needed()
    page.wait_for_selector("[data-chart=roc] svg")
    before = page.locator("[data-chart=roc] svg").inner_html()
    page.select_option("#curve-class", index=1)
    assert page.locator("[data-chart=roc] svg").inner_html() != before
    table = page.locator("#feature-panel table").first.inner_text()
    page.select_option("#feature-class", index=2)
    assert page.locator("#feature-panel table").first.inner_text() != table


def test_segments_of_another_column(pages: dict[str, Path], visit: Visit) -> None:
    page = visit(pages["german"])
    page.locator("#segments").scroll_into_view_if_needed()
    page.wait_for_selector("#segment-chart svg")
    page.select_option("#segment-choice", label="housing")
    assert page.locator("#segment-table tbody tr").count() == 2
    page.select_option("#segment-choice", label="checking_status")
    lines = page.locator("#segment-table tbody tr").all_inner_texts()
    rows = dict(GERMAN["checking_status"].value_counts().iter_rows())
    assert {line.split("\t")[0]: int(line.split("\t")[1]) for line in lines} == rows
    assert page.locator("#segments .tools button", has_text="CSV").count() == 1


def test_a_pair_has_slices(tmp_path: Path, visit: Visit) -> None:
    rng = np.random.default_rng(0)
    X = pl.DataFrame({name: rng.choice(["a", "b", "c"], 900) for name in ("first", "second")})
    y = np.where((X["first"] == X["second"]).to_numpy() ^ (rng.random(900) < 0.1), "alike", "different")
    model = SelectiveNB(random_state=0, pairs=[["first", "second"]]).fit(X, y)
    pair = next(name for name in model.selected_features_ if "×" in name)
    model.report(tmp_path / "page.html", X, y, cv=0)
    page = visit(tmp_path / "page.html")
    page.select_option("#feature-choice", label=pair)
    choice = page.locator("#feature-panel select")
    page.locator("#feature-panel figure").nth(1).scroll_into_view_if_needed()
    page.wait_for_selector("#feature-panel .tools ~ figure svg")
    before = page.locator("#feature-panel .tools ~ figure svg").inner_html()
    choice.select_option(index=1)
    assert page.locator("#feature-panel .tools ~ figure svg").inner_html() != before
    fields = page.locator("[data-part=what-if] [data-column]")
    for k in range(2):
        fields.nth(k).select_option("a")
    page.wait_for_selector("#what-if-changes[aria-busy=false]")
    told = page.locator("#what-if-changes tbody tr").all_inner_texts()
    assert len(told) == 2  # either column
    assert all(line.endswith("different") for line in told)


def test_a_usual_row_of_indicators_and_benefits_given_to_the_report(tmp_path: Path, visit: Visit) -> None:
    rng = np.random.default_rng(0)
    X = pl.DataFrame({name: rng.random(800) for name in ("a", "b")})
    score = (X["a"] > 0.4).to_numpy() + (X["b"] > 0.2).to_numpy().astype(float)
    y = np.where(score + rng.normal(0, 0.3, 800) > 1.2, "yes", "no")
    encoder = IndicatorEncoder({"a": [0.1, 0.4, 0.7], "b": [0.2, 0.7]})
    model = SelectiveNB(random_state=0, encoder=encoder).fit(X, y)
    model.report(tmp_path / "page.html", X, y, cv=2, benefit=[[0, -3], [-0.5, 12]])
    page = visit(tmp_path / "page.html")
    fields = page.locator("[data-part=what-if] [data-column]")
    row = {fields.nth(k).get_attribute("data-column"): float(fields.nth(k).input_value()) for k in range(2)}
    shown = page.locator("[data-probability=yes]").get_attribute("data-v")
    assert float(shown) == pytest.approx(model.predict_proba(pl.DataFrame([row]))[0, 1], abs=1e-12)
    same = pl.lit(True)
    for feature in model.selected_features_:  # a row that there is
        name, cut = feature.split("<=")
        same &= (pl.col(name) <= float(cut)) == (row[name] <= float(cut))
    assert X.filter(same).height > 0
    gains = ("gain-hit", "gain-false", "gain-missed", "gain-rest")
    assert [float(page.locator(f"#{name}").input_value()) for name in gains] == [12, -0.5, -3, 0]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_do_nothing(text: str, tmp_path: Path, visit: Visit) -> None:
    path = tmp_path / "page.html"
    path.write_text(render_report(report_of(text, 2)), encoding="utf-8")
    page = visit(path)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("img, iframe, object").count() == 0
    assert page.locator("script").count() == 4  # the data, the page's own, and what draws charts
    assert page.locator("#feature-panel h3").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_print_draws_everything_and_narrow_screens_fit(scheme: str, pages: dict[str, Path], visit: Visit) -> None:
    page = visit(pages["german"], viewport={"width": 420, "height": 800}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    pdf = page.pdf()
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) > 3
    n_features = len(models()["german"][0].selected_features_)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#feature-panel h3, #feature-others h3").count() == n_features
    charts = page.locator("figure.chart").evaluate_all("all => all.filter(one => !one.querySelector('svg')).length")
    assert charts == 0
    assert page.evaluate("document.querySelectorAll('details:not([open])').length") == 0


def test_a_page_of_300_features_is_shown_soon(tmp_path: Path, visit: Visit) -> None:
    path = tmp_path / "wide.html"
    path.write_text(render_report(synthetic(n_classes=2, n_features=300, n_levels=15)), encoding="utf-8")
    assert path.stat().st_size < 2_500_000
    page = visit(path)
    page.wait_for_selector("#feature-panel tbody tr")
    assert page.evaluate("performance.now()") < 4000  # 2 s on a machine that has nothing else to do


def test_no_table_is_cut(pages: dict[str, Path], visit: Visit) -> None:
    page = visit(pages["german"], viewport={"width": 420, "height": 800})
    boxes = page.locator(".scroll").evaluate_all("all => all.map((one) => [one.scrollHeight, one.clientHeight])")
    assert boxes
    assert all(inside <= outside for inside, outside in boxes)


@pytest.mark.parametrize(("scheme", "colour"), [("light", "#2a6fa8"), ("dark", "#5a9fd8")])
def test_bars_have_the_colours_of_the_theme(scheme: str, colour: str, pages: dict[str, Path], visit: Visit) -> None:
    page = visit(pages["german"], color_scheme=scheme)
    page.locator("#feature-panel figure").first.scroll_into_view_if_needed()
    page.wait_for_selector("#feature-panel svg")
    assert page.locator(f'#feature-panel svg path[fill="{colour}"]').count() > 0


def test_contributions_are_seen_first_on_narrow_screens_and_levels_on_one_printed_page(
    pages: dict[str, Path], visit: Visit
) -> None:
    page = visit(pages["german"], viewport={"width": 420, "height": 800})
    heads = page.locator("#feature-panel th")
    shown = heads.evaluate_all("all => all.filter((one) => one.getBoundingClientRect().width).map((o) => o.innerText)")
    assert "Contribution" in shown
    assert "Weight of evidence" not in shown
    right = heads.filter(has_text="Contribution").evaluate("one => one.getBoundingClientRect().right")
    assert right <= 420
    page.set_viewport_size({"width": 1280, "height": 800})
    page.locator("#all-levels").scroll_into_view_if_needed()
    page.wait_for_selector("#all-levels svg")
    height = page.locator("#all-levels svg").evaluate("one => one.getBoundingClientRect().height")
    page.emulate_media(media="print")
    printed = page.locator("#all-levels svg").evaluate("one => one.getBoundingClientRect().height")
    assert printed <= min(height, 195 / 25.4 * 96 + 1)

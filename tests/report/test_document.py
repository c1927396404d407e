"""The validation document: the same numbers in Markdown and HTML, and plain words for what was not measured."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from markdown_it import MarkdownIt

from bayesieve import SelectiveNB, evaluate
from bayesieve.report.document import render_document
from tests.cases import mostly_slow
from tests.report.markup import Element, read, texts
from tests.report.test_pages import HOSTILE, TURNING, report_of

RNG = np.random.default_rng(8)
N = 600
ROWS = pl.DataFrame(
    {
        "age": RNG.integers(18, 80, N),
        "purpose": RNG.choice(["car", "house", "boat"], N),
        "noise": RNG.random(N).round(2),
        "region": RNG.choice(["north", "south"], N),
        "month": [dt.date(2025, 1 + i // 60, 1 + i % 28) for i in range(N)],
    }
)
SCORE = 0.06 * (ROWS["age"].to_numpy() - 50) + 0.9 * (ROWS["purpose"] == "car").to_numpy()
ROWS = ROWS.with_columns(result=np.where(SCORE + RNG.normal(size=N) > 0, "good", "bad"))
TRAIN, TEST = ROWS[:420], ROWS[420:]
SECTIONS = ["Purpose", "Data", "Method", "Selection of columns", "Performance", "Stability", "Calibration by segment"]
SECTIONS += ["Limits", "Monitoring plan", "Changes by hand", "Sign-off"]
MARKDOWN = [
    "| a | b |",
    "*x* _y_ __z__ ~~w~~ [l](http://example.org) `c` $m$",
    "# h",
    "- item",
    "1. item",
    "a\n\n---\nb",
]


PLAIN = {
    "h1",
    "h2",
    "h3",
    "main",
    "section",
    "p",
    "ul",
    "li",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "pre",
    "code",
    "span",
}


def xy(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    return rows.drop("result"), rows["result"]


def elements_of(document: str) -> list[Element]:
    """Elements of a page, or of Markdown as other programs show it, which let HTML in it pass."""
    return read(document if document.startswith("<!doctype") else markdown(document))


def markdown(document: str) -> str:
    return str(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(document))


def tables(document: str) -> list[list[str]]:
    elements = elements_of(document)
    cells = [" ".join(e.text.split()) for e in elements if e.tag in ("th", "td")]  # pages have heads of rows, too
    return [*(texts(elements, tag) for tag in ("h2", "h3", "code")), cells]


def section(document: str, title: str) -> str:
    """Text of a section of a page."""
    (found,) = re.findall(rf"<section[^>]*>\s*<h2>\d+\. {title}</h2>.*?</section>", document, re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", found)).split())


@pytest.fixture(scope="module")
def model() -> SelectiveNB:
    known = TRAIN.select("age", "purpose", "noise")
    fitted = SelectiveNB(calibrate="levels", pairs=0, positive="good").fit(known, TRAIN["result"])
    fitted.target_name_ = "result"
    editor = fitted.edit()
    editor.flatten("purpose")
    return editor.done("The policy forbids it.", None, *xy(TEST.drop("month", "region")))


@pytest.fixture(scope="module")
def documents(model: SelectiveNB, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder, written = tmp_path_factory.mktemp("documents"), {}
    facts = {"Purpose": "Consumer loans", "Owner": "Risk", "Human oversight": "A clerk decides."}
    for ending in ("html", "md"):
        path = folder / f"validation.{ending}"
        model.document(path, *xy(TRAIN), test=xy(TEST), time="month", by=["region"], cv=2, facts=facts)
        written[ending] = re.sub(r"in \d[\d.]* m?s", "in 1 s", path.read_text(encoding="utf-8"))
    return written


def test_both_formats_have_the_same_sections_and_numbers(documents: dict[str, str]) -> None:
    page, text = tables(documents["html"]), tables(documents["md"])
    assert page == text
    assert page[0] == [f"{k}. {title}" for k, title in enumerate(SECTIONS, 1)]
    for document in documents.values():
        assert sum("does not claim compliance" in words for words in texts(elements_of(document), "p")) == 1


def test_it_tells_performance_in_and_out_of_time(model: SelectiveNB, documents: dict[str, str]) -> None:
    page = documents["html"]
    measured = (
        evaluate(model, *xy(TEST.drop("month", "region")))
        .to_frame()
        .row(by_predicate=pl.col("measure") == "auc", named=True)
    )
    auc = f"{measured['value']:.4f} ({measured['low']:.4f} to {measured['high']:.4f})"
    performance = section(page, "Performance")
    assert auc in performance
    assert "Time in time in time out of time out of time" in performance
    assert f"auc<{measured['low']:.3f}" in section(page, "Monitoring plan")
    stability = section(page, "Stability")
    assert "2025-08" in stability
    assert "Features against the training rows Feature" in stability
    calibration = section(page, "Calibration by segment")
    assert "By region" in calibration
    assert "Predicted and observed shares of class good on test rows." in calibration
    assert "By probability of good Predicted Rows Observed Outside" in calibration
    outside, n, chance = re.search(
        r"in (\d+) of (\d+) segments; chance alone gives about ([\d.]+)\.", calibration
    ).groups()
    assert int(outside) == calibration.partition("By month")[2].count(") yes ")
    assert chance == f"{0.05 * int(n):.1f}"


def test_it_tells_data_edits_and_what_people_must_complete(model: SelectiveNB, documents: dict[str, str]) -> None:
    page = documents["html"]
    data = section(page, "Data")
    assert data.count(str(model.scorecard_.provenance["table"]["sha256"])) == 2  # of the fit, and of the rows given
    assert "month 2025-08 to 2025-10" in data
    purpose = section(page, "Purpose")
    assert "Trained on" in data
    assert not any(words in purpose for words in ("Trained on", "SHA-256 of the values", "Human oversight"))
    edits = section(page, "Changes by hand")
    assert all(words in edits for words in ("flatten", model.edits_[0].who, "The policy forbids it.", " → "))
    selection = section(page, "Selection of columns")
    assert "Edited by hand 1 purpose" in selection
    assert "In the model Column Importance Levels" in selection
    assert "Owner Risk Users and decisions To be completed." in section(page, "Purpose")
    assert "Human oversight A clerk decides." in section(page, "Limits")
    assert "Approved for use" in section(page, "Sign-off")


def test_without_rows_it_says_what_was_not_measured(model: SelectiveNB, tmp_path: Path) -> None:
    for name in ("page.htm", "text.markdown"):
        assert model.document(tmp_path / name) is None
    page, text = (tmp_path / name for name in ("page.htm", "text.markdown"))
    html = page.read_text(encoding="utf-8")
    assert tables(html) == tables(text.read_text(encoding="utf-8"))
    assert "| Class | Training rows | Share |\n| --- | ---: | ---: |" in text.read_text(encoding="utf-8")
    assert "was not edited after its fit" not in section(html, "Changes by hand")
    for title in ("Performance", "Stability", "Calibration by segment", "Monitoring plan"):
        assert "not measured" in section(html, title).lower()


@pytest.mark.parametrize(
    ("options", "title", "words"),
    [
        ({"min_count": 20}, "Calibration by segment", "small counts are withheld"),
        ({}, "Performance", "Out of time: not measured."),
        ({}, "Stability", "The score by period: not measured."),
        ({"held_out": True}, "Calibration by segment", "by= adds others"),
    ],
)
def test_each_missing_part_is_stated(
    model: SelectiveNB, tmp_path: Path, options: dict[str, Any], title: str, words: str
) -> None:
    model.document(tmp_path / "page.html", *xy(TEST.drop("month", "region")), **options)
    assert words in section((tmp_path / "page.html").read_text(encoding="utf-8"), title)


def test_rows_of_one_class_bound_nothing(model: SelectiveNB, tmp_path: Path) -> None:
    rows = TEST.filter(result="good").drop("month", "region")
    model.document(tmp_path / "page.md", *xy(rows), facts={"Owner": 7})
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| AUC | – | To be set after it is measured |" in text
    assert "auc<" not in text
    assert "| Owner | 7 |" in text


def test_training_rows_alone_show_no_drift(model: SelectiveNB, tmp_path: Path) -> None:
    performance = model.document(tmp_path / "page.html", *xy(TRAIN.drop("month", "region")), cv=2)
    assert performance.name == "Folds"
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Features: not measured." in section(html, "Stability")


EVERY_TEXT = [*((text, 2) for text in [*HOSTILE, *MARKDOWN]), (MARKDOWN[0], 9)]


@pytest.mark.parametrize(("text", "n_classes"), mostly_slow(EVERY_TEXT, EVERY_TEXT[::2]))
def test_text_from_data_stays_text(model: SelectiveNB, text: str, n_classes: int) -> None:
    data = hostile_data(text, n_classes, model.edits_[0])
    html, source = (render_document(f"x.{ending}", data) for ending in ("html", "md"))
    assert tables(html) == tables(source)
    for document, more in (
        (html, {"html", "head", "meta", "title", "style", "body", "a", "div", "nav", "ol", "footer"}),
        (source, {"em"}),
    ):
        document.encode("utf-8")
        assert not any(character in document for character in TURNING + "\x00\x1b")
        tags = [e.tag for e in elements_of(document)]
        assert {*tags} - more <= PLAIN
        assert tags.count("em") in (0, len(SECTIONS))
        assert tags.count("a") in (0, 1 + len(SECTIONS))
    assert html.count("sha256-") == 1


@pytest.mark.parametrize("loss", [None, 0.5])
def test_edits_say_where_measures_come_from_if_there_are_any(model: SelectiveNB, loss: float | None) -> None:
    edit = replace(model.edits_[0], log_loss_before=loss, log_loss_after=loss)
    source = render_document("x.md", replace(report_of("t", 2), edits=(edit,)))
    assert ("measured on rows given, just before and after" in source) == (loss is not None)
    assert "was not edited after its fit" not in source
    assert "was not edited after its fit" in render_document("x.md", report_of("t", 2))


def hostile_data(text: str, n_classes: int, edit: Any) -> Any:
    """Data of a report with the text in every place that data can reach, also facts, edits and rules."""
    edit = replace(edit, **dict.fromkeys(("feature", "who", "why", "before", "after"), text))
    data = report_of(text, n_classes)
    features = [{**one, "by_hand": text, "caution": text} for one in data.features]
    facts = (("Limits", text), (text, text), ("Owner", text), ("Data, rows", f"{text}; SHA-256 of the values 1"))
    return replace(data, features=features, edits=(edit,), facts=facts, left_out={text: [text, text]})


@pytest.mark.parametrize("name", ["validation.pdf", "validation", "validation.html.gz"])
def test_other_formats_are_refused_before_any_work(model: SelectiveNB, tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"use a file name ending in \.html or \.md"):
        model.document(tmp_path / name, "not a table")


def test_a_scan_is_measured_on_rows_of_it(model: SelectiveNB, tmp_path: Path) -> None:
    from bayesieve import scan

    TEST.write_parquet(tmp_path / "rows.parquet")
    model.document(tmp_path / "page.html", scan(tmp_path / "rows.parquet"), "result", held_out=True, time="month")
    assert "2025-09" in section((tmp_path / "page.html").read_text(encoding="utf-8"), "Stability")

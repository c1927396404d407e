"""Points add up as the table tells, cost little, and mean what they did after saving and loading."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve import SelectiveNB, load
from bayesieve.scorecard.export.plan import Plan
from bayesieve.table.values import canonical_text
from tests.cases import mostly_slow
from tests.scorecard.exported import CASES, case, hostile
from tests.scorecard.test_export_plan import code, number_of

pytestmark = pytest.mark.filterwarnings("ignore:Column:UserWarning", "ignore:Some values:UserWarning")

TWO_CLASSES = [name for name in CASES if name != "all kinds, three classes"]
RANGE: dict[str, Any] = {"max_points": 5}


def rows_of(name: str) -> pl.DataFrame:
    model, frame = case(name)
    hard = hostile(model, frame)
    return pl.concat([frame[:40], hard.gather_every(1 + hard.height // 200)])


@pytest.mark.parametrize("options", [{}, RANGE], ids=str)
@pytest.mark.parametrize("name", TWO_CLASSES)
def test_scores_are_sums_of_points(name: str, options: dict[str, Any]) -> None:
    model, _ = case(name)
    points, plan, rows = model.points(**options), Plan.of(model.scorecard_, {}), rows_of(name)
    expected = []
    for row in rows.iter_rows(named=True):
        codes = [code(reader, row) for reader in plan.readers]
        at = [codes[t.readers[0]] if t.cell is None else t.cell[tuple(codes[k] for k in t.readers)] for t in plan.terms]
        expected.append(
            points.base + sum(points.points[t.feature.name][k] for t, k in zip(plan.terms, at, strict=True))
        )
    scores = points.score(rows)
    assert scores.dtype == np.int64
    assert scores.tolist() == expected
    odds = points.offset + points.slope * scores
    chances = points.predict_proba(rows)[:, model.scorecard_.positive]
    np.testing.assert_allclose(chances, 1 / (1 + np.exp(-odds)), atol=1e-12)


def holds(line: dict[str, Any], end: str, level: Any, value: Any, is_unseen: bool) -> bool:
    """Whether a line of the table is that of a value, read literally."""
    if line["is_unseen"] or is_unseen:
        return False
    if value is None:
        return bool(line[f"is_missing{end}"])
    if line[f"values{end}"] is not None:
        return value in line[f"values{end}"]
    if isinstance(value, str) or line[f"low{end}"] is None:
        return False
    return bool(line[f"low{end}"] < value <= line[f"high{end}"])


@pytest.mark.parametrize(
    ("name", "options"),
    mostly_slow(
        product(["all kinds", "surfaces", "special values", "labelled", "odd names"], [{}, RANGE]),
        [("all kinds", {}), ("surfaces", RANGE), ("special values", {}), ("labelled", RANGE), ("odd names", {})],
    ),
    ids=str,
)
def test_rows_score_as_the_table_tells(name: str, options: dict[str, Any]) -> None:
    model, _ = case(name)
    points, plan = model.points(**options), Plan.of(model.scorecard_, {})
    table = points.to_frame().to_dicts()
    base, *lines = table
    assert (base["feature"], base["cell"], base["points"]) == (None, "base", points.base)
    for term in plan.terms:  # missing values score as unseen ones if training had none
        (unseen,) = (line for line in lines if line["feature"] == term.feature.name and line["is_unseen"])
        for end, k in zip(("", "_2"), term.readers, strict=False):
            assert unseen[f"is_missing{end}"] == (plan.readers[k].level.missing_code is None)
    rows = rows_of(name)
    expected = points.score(rows).tolist()
    for row, score in zip(rows.iter_rows(named=True), expected, strict=True):
        total = base["points"]
        for term in plan.terms:
            own = [line for line in lines if line["feature"] == term.feature.name]
            for end, k in zip(("", "_2"), term.readers, strict=False):
                reader, at = plan.readers[k], code(plan.readers[k], row)
                value = text_or_number(reader, row[reader.column], at)
                own = [line for line in own if holds(line, end, reader.level, value, at == reader.unseen)]
            unseen = [line for line in lines if line["feature"] == term.feature.name and line["is_unseen"]]
            found = own or unseen
            assert len(found) == 1
            total += found[0]["points"]
        assert total == score


def text_or_number(reader: Any, value: Any, at: int) -> Any:
    """A value as the table has it: a number, the text of a category or special value, or None."""
    own = reader.level.special
    special = {code: values for code, (_, values) in enumerate(own, reader.first - len(own))}
    if at in special and reader.cuts is not None:
        return canonical_text(special[at][0])
    if isinstance(value, str):
        bare = value if value in reader.keys else value.strip()
        return bare if bare or bare in reader.keys else None
    if value is None or value != value:
        return None
    if reader.cuts is not None:
        return float(number_of(value, reader))
    return canonical_text(value)


@pytest.mark.parametrize("most", [1, 3, 5, 50])
def test_a_range_is_kept(most: int) -> None:
    model, _ = case("all kinds")
    points = np.concatenate([*model.points(max_points=most).points.values()])
    assert most / 2 < np.abs(points).max() <= most


def test_meaning_of_scores() -> None:
    model, frame = case("all kinds")
    points = model.points(pdo=40, base_score=500, base_odds=10)
    assert points.offset + points.slope * 500 == pytest.approx(math.log(10))
    assert points.slope * 40 == pytest.approx(math.log(2))
    fine = model.points(pdo=1e5)
    np.testing.assert_allclose(fine.predict_proba(frame), model.predict_proba(frame), atol=1e-4)


def test_roundings_by_error_beat_plain_ones() -> None:
    model, frame = case("surfaces")
    y = np.where(model.predict_proba(frame)[:, 1] > 0.5, "yes", "no")
    for options in ({"pdo": 2}, {"max_points": 3}):
        by_counts = model.points(**options)
        by_rows = model.points(**options, X=frame, y=y)
        exact = model.predict_proba(frame)[:, 1]

        def expected_loss(points: Any, exact: np.ndarray = exact) -> float:
            chance = points.predict_proba(frame)
            return float(-(exact * np.log(chance[:, 1]) + (1 - exact) * np.log(chance[:, 0])).mean())

        assert expected_loss(by_rows) < expected_loss(by_counts) - 1e-3
    plain = 0.0
    slope = math.log(2) / 2
    for feature in (model.scorecard_.features[k] for k in model.scorecard_.used):
        odds, share = np.diff(feature.contributions, axis=1)[:, 0], feature.counts.sum(axis=1)
        error, share = np.rint(odds / slope) * slope - odds, share / share.sum()
        plain += share @ error**2 - (share @ error) ** 2
    assert model.points(pdo=2).rounding_error < math.sqrt(plain + slope**2 / 4)


def test_loss_is_shown() -> None:
    model, frame = case("special values")
    y = model.predict(frame)
    points = model.points(pdo=5, X=frame, y=y)
    loss = points.loss(frame, y)
    assert loss["model"].to_list() == ["exact", "points"]
    exact = np.clip(model.predict_proba(frame)[np.arange(len(y)), (y == model.classes_[1]).astype(int)], 1e-300, 1)
    assert loss["log_loss"][0] == pytest.approx(-np.log(exact).mean())
    assert loss["auc"][0] == 1.0
    assert "auc_points" in repr(points)
    assert "points on rows: AUC" in model.export(to="points", format="markdown", pdo=5, X=frame, y=y)
    assert "rounding_error" in repr(model.points())


@pytest.mark.parametrize("options", [{}, RANGE], ids=str)
def test_saved_and_loaded(options: dict[str, Any], tmp_path: Path) -> None:
    model, frame = case("all kinds")
    model.save(tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert loaded.points(**options).to_frame().equals(model.points(**options).to_frame())
    assert loaded.points(**options).score(frame).tolist() == model.points(**options).score(frame).tolist()


@pytest.mark.parametrize("against", ["mean", "best"])
@pytest.mark.parametrize("name", ["all kinds", "surfaces", "indicators", "labelled"])
def test_reasons(name: str, against: Any) -> None:
    model, _ = case(name)
    rows = rows_of(name)
    fine, exact = model.points(pdo=1e5).reasons(rows, against=against), model.reasons(rows, against=against)
    both = exact.join(fine, on=["row", "column"], suffix="_points")
    assert both.height >= 0.99 * exact.height
    assert both["text"].to_list() == both["text_points"].to_list()
    nats = both["contribution_points"] * math.log(2) / 1e5
    np.testing.assert_allclose(nats, both["contribution"], atol=1e-4)
    assert model.points().reasons(rows, n=1, against=against)["rank"].max() == 1


def test_tables_in_three_formats(tmp_path: Path) -> None:
    model, _ = case("special values")
    points = model.points(max_points=9)
    for name in ("card.csv", "card.html", "card.md"):
        model.export(tmp_path / name, max_points=9, name="a|b, <i>")
    text = (tmp_path / "card.csv").read_text()
    read = pl.read_csv(io.StringIO(text), comment_prefix="#")
    assert read["points"].to_list() == points.to_frame()["points"].to_list()
    assert json.loads(read["values"].drop_nulls()[0]) == points.to_frame()["values"].drop_nulls()[0].to_list()
    assert text.startswith("# model: a b  <i>\n")
    page = (tmp_path / "card.html").read_text()
    assert "a|b, &lt;i&gt;" in page
    assert "<i>" not in page
    assert page.count("<tr>") == page.count("</tr>")
    style = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    (digest,) = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in style)
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in page
    lines = (tmp_path / "card.md").read_text().splitlines()
    table = [line for line in lines if line.startswith("|")]
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in table]
    assert {len(line) for line in cells} == {3}
    assert [int(line[2]) for line in cells[2:]] == points.to_frame()["points"].to_list()
    assert lines[0] == r"- model: a\|b, \<i\>"


def test_head_and_counts() -> None:
    model, _ = case("all kinds")
    for format in ("csv", "html", "markdown"):
        text = model.export(to="points", format=format, counts=True)
        assert all(word in text.replace("\\", "") for word in ("checksum", "exported", "400", "rows"))
    card = model.scorecard_
    frame = model.points().to_frame(counts=True).filter(pl.col("feature").is_not_null() & ~pl.col("is_unseen"))
    for feature, rows in frame.group_by("feature").agg(pl.col("^rows_.*$").sum()).rows_by_key("feature").items():
        assert list(rows[0]) == pytest.approx(card[feature].counts.sum(axis=0).tolist())


def test_formulas_and_odd_names_stay_text() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    odd = ["=1+1", "|", "*/", "-->", "a\nb"]
    frame = pl.DataFrame({"=cmd|' /C'!A0": [odd[int(v)] for v in rng.integers(0, 3, 300) + 2 * y]})
    model = SelectiveNB().fit(frame, y)
    text = model.export(to="points", name="x,=1+1\n=2")
    cells = pl.read_csv(io.StringIO(text), comment_prefix="#")
    texts = [v for column in ("feature", "cell") for v in cells[column].drop_nulls()]
    assert not any(v.startswith("=") for v in texts)
    head = [line for line in text.splitlines() if line.startswith("#")]
    assert not any(part.lstrip().startswith("=") for line in head for part in line.split(","))
    assert "\n=2" not in text
    assert len(model.export(to="points", format="markdown").splitlines()) == len(cells) + len(head) + 3


def test_what_is_refused() -> None:
    model, frame = case("all kinds, three classes")
    with pytest.raises(ValueError, match="two classes, not 3; fit"):
        model.points()
    model, frame = case("all kinds")
    for options in ({"pdo": 0}, {"base_odds": -1}, {"base_score": math.inf}, {"max_points": 0}, {"max_points": True}):
        with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
            model.points(**options)
    with pytest.raises(ValueError, match="pass the rows as X"):
        model.points(y=[0, 1])
    with pytest.raises(ValueError, match="format must be"):
        model.export(to="points", format="pdf")
    with pytest.raises(ValueError, match="must be a class"):
        model.points().loss(frame[:2], [0, 7])
    with pytest.raises(ValueError, match="infinite"):
        model.points().score(frame[:1].with_columns(number=pl.lit(math.inf)))


def test_labels_without_rows_are_refused() -> None:
    model, frame = case("numbers")
    with pytest.raises(ValueError, match="y holds the labels of rows; pass the rows as X, too"):
        model.points(y=model.predict(frame))

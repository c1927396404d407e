"""`bayesieve explain` prints what `explain` returns, for chosen rows, as text, table or file."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bayesieve import load
from tests.cli.conftest import GERMAN, Run
from tests.limits import Limits


@pytest.mark.parametrize(("row", "predicted", "other"), [(0, "good", "bad"), (3, "bad", "good")])
@pytest.mark.parametrize("against", [None, "good", "bad"])
def test_a_row_in_print(
    succeeds: Run, model: Path, german: pl.DataFrame, row: int, predicted: str, other: str, against: str | None
) -> None:
    """The lines are those of `explain` in Python, with its cells; they are about the same class in any row."""
    options = () if against is None else ("--against", against)
    lines = succeeds("explain", model, GERMAN, "--rows", row, *options).stdout.splitlines()
    assert lines[0] == f"row {row}: predicted {predicted}"
    assert re.fullmatch(rf"P\({predicted}\) = 0\.\d{{4}}, P\({other}\) = 0\.\d{{4}}", lines[1])
    shown = "bad against good" if against == "good" else "good against bad"
    assert lines[2] == f"contributions to the log odds of {shown}, in nats:"
    assert lines[4].split() == ["feature", "value", "cell", "contribution"]
    fitted = load(model)
    frame = fitted.explain(german[row : row + 1].drop("class"), against=against or "bad")
    frame = frame.sort(pl.col("contribution").abs(), descending=True, maintain_order=True)
    printed = [re.split(r"  +", line) for line in lines[5:]]
    assert printed[0] == ["prior", f"{frame['prior'][0]:+.4f}"]
    of_features = frame.select("feature", pl.col("cell"), pl.col("contribution")).rows()
    found = [(name, cell, number) for name, _, cell, number in printed[1:-1]]
    assert found == [(name, cell, f"{number:+.4f}") for name, cell, number in of_features]
    assert len(found) == fitted.n_features_selected_
    total = frame["prior"][0] + frame["contribution"].sum()
    assert printed[-1] == ["total", f"{total:+.4f}"]


def test_the_frame_may_be_against_a_class(succeeds: Run, fails: Run, model: Path, german: pl.DataFrame) -> None:
    expected = load(model).explain(german.drop("class"), against="good")
    for rows in ((), ("--rows", "0-999")):
        succeeds("explain", model, GERMAN, "--against", "good", "-o", "e.parquet", *rows)
        assert pl.read_parquet("e.parquet").equals(expected)
    assert "There is no class 'goof'; did you mean 'good'?" in fails("explain", model, GERMAN, "--against", "goof")


def test_the_frame_adds_up(succeeds: Run, model: Path, german: pl.DataFrame) -> None:
    result = succeeds("explain", model, GERMAN, "--rows", "3,999", "-o", "e.parquet")
    assert result.stdout == "2 rows explained in e.parquet\n"
    frame = pl.read_parquet("e.parquet")
    of_sum = ["row", "class", "feature", "value", "level", "cell", "weight", "contribution", "prior"]
    assert frame.columns == [*of_sum, "standard_error", "probability", "low", "high"]
    assert frame.select(
        ((pl.col("low") < pl.col("probability")) & (pl.col("probability") < pl.col("high"))).all()
    ).item()
    assert frame["row"].unique(maintain_order=True).to_list() == [3, 999]
    sums = frame.group_by("row", "class", maintain_order=True).agg(
        total=pl.col("prior").first() + pl.col("contribution").sum()
    )
    joint = load(model).scorecard_.joint(german[[3, 999]].drop("class"))
    assert sums["total"].to_numpy() == pytest.approx(joint.ravel(), abs=1e-12)


def test_long_groups_of_values_are_cut(succeeds: Run) -> None:
    """A group may hold thousands of values, and stands in every row that has one of them."""
    frame = pl.DataFrame({"k": [f"customer {i % 500:03d}" for i in range(4000)], "y": [i % 2 for i in range(4000)]})
    frame.write_csv("t.csv")
    succeeds("fit", "t.csv", "-t", "y", "--no-report", "-q")
    succeeds("explain", "bayesieve-output/model.json", "t.csv", "-o", "e.csv")
    explained = pl.read_csv("e.csv")
    assert explained["level"].str.len_chars().max() < 100
    assert explained["level"].unique().sort().to_list() == [
        "{customer 000, customer 002, customer 004, +247 more}",
        "{customer 001, customer 003, customer 005, +247 more}",
    ]


def test_missing_and_unseen_values(succeeds: Run, model: Path, german: pl.DataFrame) -> None:
    odd = german[:1].with_columns(checking_status=pl.lit(None, dtype=pl.String), savings_status=pl.lit("new\nline"))
    odd.write_parquet("odd.parquet")
    text = succeeds("explain", model, "odd.parquet").stdout
    assert re.search(r"^checking_status +missing +\(not seen in training\)", text, re.M)
    assert re.search(r"^savings_status +new\\nline +\(not seen in training\)", text, re.M)


@pytest.mark.slow
def test_files_are_explained_block_by_block(succeeds: Run, model: Path, german: pl.DataFrame, limits: Limits) -> None:
    german.write_parquet("t.parquet", row_group_size=170)
    Path("parts").mkdir()
    for i in range(2):
        german[i * 500 : (i + 1) * 500].write_parquet(f"parts/{i}.parquet")
    limits(explained_rows=300)
    for table in ("t.parquet", "parts/*.parquet"):
        succeeds("explain", model, table, "-o", "all.parquet")
        succeeds("explain", model, GERMAN, "-o", "expected.parquet")
        assert pl.read_parquet("all.parquet").equals(pl.read_parquet("expected.parquet"))
        rows = ("--rows", "999,3,500-501")
        assert succeeds("explain", model, table, *rows).stdout == succeeds("explain", model, GERMAN, *rows).stdout


def test_rows_and_their_numbers(succeeds: Run, model: Path) -> None:
    text = succeeds("explain", model, GERMAN, "--rows", "7,2, 10 - 11,2").stdout
    assert re.findall(r"^row (\d+):", text, re.M) == ["7", "2", "10", "11"]
    first = succeeds("explain", model, GERMAN)
    assert re.findall(r"^row (\d+):", first.stdout, re.M) == ["0", "1", "2"]
    assert first.stderr == "997 more rows: choose rows with --rows, or write all with --output\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, "--rows contains") for text in ("", "a", "1,,2", "-1", "1.5", "٣", "9" * 30)),
        ("5-3", "contains the range '5-3'"),
        ("1000", "contains row 1,000, but the table has 1,000 rows, counted from 0"),
        ("0-99999999999", "contains row 99,999,999,999"),
    ],
)
def test_row_numbers_that_are_none(fails: Run, model: Path, text: str, message: str) -> None:
    assert message in fails("explain", model, GERMAN, f"--rows={text}")


def test_three_classes_or_no_features(succeeds: Run) -> None:
    pl.DataFrame({"a": [1.0, 2.0, 3.0] * 30, "y": ["u", "v", "w"] * 30}).write_csv("three.csv")
    pl.DataFrame({"a": [1] * 90, "y": ["u", "v", "v"] * 30}).write_csv("silent.csv")
    for table, features in (("three.csv", ["a"]), ("silent.csv", [])):
        succeeds("fit", table, "-t", "y", "--no-report")
        lines = succeeds("explain", "bayesieve-output/model.json", table, "--rows", "1").stdout.splitlines()
        assert lines[0] == "row 1: predicted v"
        assert lines[1].count("P(") == 2 + len(features)
        assert lines[4].split()[3:] == (["u", "v", "w"] if features else ["contribution"])
        assert [line.split()[0] for line in lines[5:]] == ["prior", *features, "total"]
        result = succeeds("explain", "bayesieve-output/model.json", table, "--rows", "1", "--against", "v")
        of = "each class" if features else "u"
        assert f"log odds of {of} against v, in nats" in result.stdout
        numbers = np.array([line.split()[-1 - len(features) :] for line in result.stdout.splitlines()[5:]], dtype=float)
        assert numbers[:-1].sum(axis=0) == pytest.approx(numbers[-1], abs=2e-3)

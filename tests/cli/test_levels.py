"""`bayesieve levels` writes a file of levels that `fit --levels` accepts without changing the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import bayesieve
from tests.cli.conftest import GERMAN, Run


@pytest.mark.slow
def test_levels_are_written_edited_and_read_back(succeeds: Run, model: Path, tmp_path: Path) -> None:
    printed = succeeds("levels", model).stdout
    assert succeeds("levels", model, "--output", "levels.yaml").stdout == "levels in levels.yaml\n"
    assert Path("levels.yaml").read_text(encoding="utf-8") == printed
    assert "age:\n  cuts: [" in printed
    options = ("--target", "class", "--folds", 0, "--no-report", "--output")
    succeeds("fit", GERMAN, "--levels", "levels.yaml", *options, "same")
    first, same = bayesieve.load(model), bayesieve.load("same/model.json")
    for one, other in zip(first.scorecard_.features, same.scorecard_.features, strict=True):
        np.testing.assert_array_equal(one.contributions, other.contributions)
    Path("levels.yaml").write_text("age: {cuts: [30]}\njob: {exclude: true}\n", encoding="utf-8")
    succeeds("fit", GERMAN, "--levels", "levels.yaml", *options, "edited")
    assert bayesieve.load("edited/model.json").scorecard_["age"].levels.labels == ("<= 30", "> 30")


def test_values_of_a_file_are_those_of_the_table(succeeds: Run) -> None:
    rows = [
        ("007", "NO", "yes", "12:30:00", "1_000"),
        ("010", "SE", "no", "09:00:00", "~"),
        ("11", "DK", "yes", "18:45:00", "1e3"),
    ]
    lines = [",".join((*rows[(7 * k + k // 3) % 3], "ab"[k % 2])) for k in range(120)]
    Path("table.csv").write_text("\n".join(["code,land,paid,at,text,y", *lines]), encoding="utf-8")
    Path("levels.yaml").write_text(
        "code: {groups: [[007], [010, '11']]}\nland: {groups: [[NO], [SE]]}\npaid: {groups: [[yes], [no]]}\n"
        "at: {cuts: [12:30:00]}\ntext: {groups: [[1_000, '~'], [1e3]]}\n",
        encoding="utf-8",
    )
    options = ("--target", "y", "--folds", 0, "--no-report", "--levels", "levels.yaml", "--output", "out")
    succeeds("fit", "table.csv", *options)
    levels = [own.levels for own in bayesieve.load("out/model.json").scorecard_.features]
    counts = {level.name: np.asarray(level.counts).sum(axis=1).tolist() for level in levels}
    assert counts == {"code": [40, 80], "land": [40, 40, 40], "paid": [80, 40], "at": [80, 40], "text": [80, 40]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "nope: {cuts: [1]}",
            "error: levels names the column 'nope', which is not a feature column; remove it.",
        ),
        (
            "age: {cuts: [2, 1]}",
            "error: levels of the column 'age': it needs cuts in ascending order, each once; sort them",
        ),
        ("age: [", "error: levels.yaml, line 1 is not valid YAML of columns and their options: "),
    ],
)
def test_levels_that_cannot_be(fails: Run, text: str, message: str) -> None:
    Path("levels.yaml").write_text(text, encoding="utf-8")
    told = fails("fit", GERMAN, "--target", "class", "--levels", "levels.yaml", "--output", "out")
    assert told.replace("--levels names", "levels names").startswith(message)
    assert not Path("out").exists()
    assert "There is no model file no.json" in fails("levels", "no.json")
    assert "nowhere.yaml cannot be read" in fails("fit", GERMAN, "--target", "class", "--levels", "nowhere.yaml")


def test_models_are_merged_and_updated(succeeds: Run, fails: Run, model: Path) -> None:
    Path("same").mkdir()
    Path("same", "model.json").write_bytes(model.read_bytes())
    assert succeeds("merge", model, "same/model.json", "-o", "both.json").stdout == "model of 2,000 rows in both.json\n"
    assert succeeds("update", model, GERMAN, "-o", "new.json").stdout == "model of 2,000 rows in new.json\n"
    for name in ("both.json", "new.json"):
        np.testing.assert_array_equal(bayesieve.load(name).scorecard_.class_counts, [600, 1400])
    assert succeeds("info", "both.json").stdout.count("1,000 rows on 2") == 2
    assert "Merged from models of 1,000 and 1,000 rows." in bayesieve.load("both.json").scorecard_.describe()
    assert "Updated with further rows: 1,000 on 2" in bayesieve.load("new.json").scorecard_.describe()
    assert "has no column 'nope' (--target)" in fails("update", model, GERMAN, "-t", "nope", "-o", "x.json")
    hint = "has no column 'housin' (--by); did you mean 'housing'?"
    assert hint in fails("evaluate", model, GERMAN, "--by", "housin")

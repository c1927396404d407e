"""`bayesieve fit --scorecard` keeps the levels given, and its card is exported and decides as a bank expects."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import bayesieve
from tests.cli.conftest import GERMAN, Run

LEVELS = """
age: {cuts: [25, 35, 50]}
duration: {cuts: [12, 24, 36], monotone: -1}
foreign_worker: {exclude: true}
"""


def test_a_scorecard_is_fitted_and_written(succeeds: Run) -> None:
    Path("levels.yaml").write_text(LEVELS, encoding="utf-8")
    options = (
        "--target",
        "class",
        "--levels",
        "levels.yaml",
        "--pairs",
        "age:credit_amount",
        "--folds",
        0,
        "--no-report",
    )
    shown = succeeds("fit", GERMAN, "--scorecard", *options, "--output", "card").stdout
    assert "scorecard" in shown
    model, table = bayesieve.load("card/model.json"), pl.read_csv("card/scorecard.csv")
    assert table["points"].to_list() == model.points().table()["points"].to_list()
    lines = table.filter(feature="age", kind="level")
    assert lines["level"].to_list() == ["<= 25", "25 < .. <= 35", "35 < .. <= 50", "> 50"]
    assert lines["rows"].sum() == 1000
    assert (table.filter(feature="duration", kind="level")["points"].diff().drop_nulls() <= 0).all()
    assert "foreign_worker" not in table["feature"]
    assert model.classes_[model.scorecard_.positive] == "good"
    assert table.group_by("feature").len()["len"].max() <= 12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--selector", "map"], "--scorecard sets --selector; give only one of them"),
        (["--calibrate", "levels"], "--scorecard sets --calibrate; give only one of them"),
        (["--as-published", "NB"], "--as-published sets --scorecard; give only one of them"),
        (["--positive", "fine"], "'fine'"),
        (["--monotone", "agee=1"], "did you mean 'age'"),
        (["--pairs", "age:jobb"], "did you mean 'job'"),
        (["--ignore", "age", "--levels", "levels.yaml"], "names the column 'age', which is not a feature column"),
        (["--target", "property_magnitude"], "needs two classes, but the target has 4"),
    ],
    ids=str,
)
def test_what_is_refused(fails: Run, options: list[str], message: str) -> None:
    Path("levels.yaml").write_text(LEVELS, encoding="utf-8")
    target = [] if "--target" in options else ["--target", "class"]
    assert message in fails("fit", GERMAN, "--scorecard", *target, *options, "--output", "out")
    assert not Path("out").exists()


def test_codes_of_reasons_are_kept_with_the_model(succeeds: Run) -> None:
    Path("labels.yaml").write_text("duration: {name: Term, code: R01}\nage: {code: R02}\n", encoding="utf-8")
    options = ("--target", "class", "--labels", "labels.yaml", "--folds", 0, "--no-report")
    succeeds("fit", GERMAN, "--scorecard", *options, "--output", "card")
    succeeds("predict", "card/model.json", GERMAN, "--reasons", 2, "-o", "scored.csv")
    scored = pl.read_csv("scored.csv")
    assert scored.columns[-4:] == ["reason_1", "reason_2", "reason_code_1", "reason_code_2"]
    about_term = scored["reason_1"].str.starts_with("Term: ").fill_null(False)
    assert about_term.any()
    assert (scored["reason_code_1"].fill_null("") == "R01").equals(about_term)

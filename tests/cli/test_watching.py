"""`bayesieve monitor` and `evaluate` print and write what the library finds, and fail by `--fail-if`."""

from __future__ import annotations

import datetime as dt
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bayesieve import SelectiveNB, drift, evaluate, load
from tests.cases import mostly_slow
from tests.cli.conftest import GERMAN, Run


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the first 600 rows."""
    train = pl.read_csv(GERMAN)[:600]
    fitted = SelectiveNB().fit(train.drop("class"), train["class"])
    fitted.target_name_ = "class"
    path = tmp_path_factory.mktemp("watched") / "model.json"
    fitted.save(path)
    return path


@pytest.fixture
def model(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(saved, tmp_path / "model.json"))


def new_rows(name: str, **changes: pl.Expr) -> Path:
    rows = pl.read_csv(GERMAN)[600:]
    days = [dt.date(2024, 1, 1) + dt.timedelta(i % 90) for i in range(len(rows))]
    rows = rows.with_columns(when=pl.Series(days), weight=1.0).with_columns(**changes)
    if name.endswith(".csv"):
        rows.write_csv(name)
    else:
        rows.write_parquet(name)
    return Path(name)


@pytest.mark.parametrize("name", ["new.csv", "new.parquet"])
def test_monitor_writes_what_drift_finds(model: Path, succeeds: Run, name: str) -> None:
    table = new_rows(name)
    result = succeeds("monitor", model, table, "--by", "when", "--target", "class", "--weight", "weight", "-o", "out")
    heads = [line.split() for line in result.stdout.splitlines() if line.startswith("when")]
    assert heads[0] == ["when", "rows", "shift", "largest", "PSI", "95", "%", "by", "chance", "feature"]
    assert heads[1] == ["when", "labelled", "auc", "gini", "ks", "log", "loss", "calibration", "slope"]
    assert max(map(len, result.stdout.splitlines())) <= 80
    rows = pl.read_csv(GERMAN)[600:]
    days = [dt.date(2024, 1, 1) + dt.timedelta(i % 90) for i in range(len(rows))]
    found = drift(load(model), rows, rows["class"], days)
    for file, frame in (("features", found.to_frame()), ("periods", found.periods)):
        written = pl.read_csv(f"out/{file}.csv")
        assert written["by"].to_list() == frame["by"].to_list()
        assert written["shift"].to_list() == pytest.approx(frame["shift"].to_list(), abs=1e-9)
    assert "Whole score" in Path("out/drift.html").read_text(encoding="utf-8")
    assert len(pl.read_csv("out/levels.csv")) == len(found.levels)


@pytest.mark.parametrize(
    ("condition", "status"),
    mostly_slow(
        [
            ("psi>0.25", 0),
            ("psi_low>0", 0),
            ("psi>=0", 1),
            ("auc<.5", 0),
            ("auc < 0.99", 1),
            ("gini<0", 0),
            ("ks<0.9", 1),
            ("calibration_slope>9", 0),
            ("log_loss>1e3", 0),
            ("calibration>=0", 1),
            ("shift>-1", 1),  # by size
            ("score_shift>5", 0),
            ("unseen>0.5", 0),
        ],
        [
            ("psi>0.25", 0),
            ("psi>=0", 1),
            ("auc<.5", 0),
            ("auc < 0.99", 1),
            ("calibration>=0", 1),
            ("shift>-1", 1),
            ("unseen>0.5", 0),
        ],
    ),
)
def test_conditions_decide_the_exit_status(model: Path, run: Run, condition: str, status: int) -> None:
    table = new_rows("new.csv")
    arguments = ("--by", "when", "--target", "class", "--fail-if", condition)
    result = run("monitor", model, table, *arguments)
    assert result.exit_code == status, result.stderr
    assert ("warning" in result.stderr) == (status == 1)
    assert Path("bayesieve-drift/features.csv").exists()


def test_drift_is_found_and_several_conditions_count(model: Path, run: Run) -> None:
    table = new_rows("new.csv", duration=pl.col("duration") * 3, purpose=pl.lit("spaceship"))
    result = run("monitor", model, table, "-q", "--fail-if", "psi>19", "--fail-if", "psi_low>0.25")
    assert result.exit_code == 1
    assert "psi_low of 'duration'" in result.stderr
    assert "psi of" not in result.stderr
    assert run("monitor", model, table, "-q", "--fail-if", "unseen>0.99").exit_code == 1
    assert result.stdout == ""


def test_a_column_without_known_values_fails(model: Path, run: Run) -> None:
    table = new_rows("new.csv", checking_status="_" + pl.col("checking_status"), duration=pl.lit(None))
    for condition in ("psi>0.25", "psi_low>0.1"):
        result = run("monitor", model, table, "-q", "--fail-if", condition)
        assert result.exit_code == 1
        assert "contain no value seen in training" in result.stderr
        assert "of 'checking_status' is" in result.stderr
        assert "of 'duration' is" in result.stderr


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("auc<0.1", "auc has no value in p, because all labels are of one class"),
        ("ks<0.1", "ks has no value in p, because all labels are of one class"),
        ("brier>1", "brier has no value in q, because no row has a label and a weight above 0"),
        (
            "calibration_slope>9",
            "calibration_slope has no value in r, because the scores of the classes do not overlap",
        ),
        ("psi>9", "psi of 'duration' has no value in s, because no row has a weight above 0"),
        ("score_shift>9", "score_shift has no value in s, because no row has a weight above 0"),
    ],
)
def test_a_condition_without_a_value_fails(model: Path, run: Run, condition: str, reason: str) -> None:
    """Periods of one class, without labels, of classes that the scores separate, and without weight."""
    score = load(model).predict_proba(pl.read_csv(GERMAN)[600:].drop("class"))[:, 1]
    period = pl.Series(["p", "q", "r", "s"] * 100)
    classes = pl.when(period == "p").then(pl.lit("bad")).when(period == "r")
    classes = classes.then(pl.when(pl.Series(score) > 0.5).then(pl.lit("good")).otherwise(pl.lit("bad")))
    weight = pl.when(period == "s").then(0.0).otherwise(1.0)
    table = new_rows("new.csv", weight=weight, period=period, **{"class": classes})
    arguments = ("--by", "period", "--target", "class", "--weight", "weight", "--fail-if", condition)
    result = run("monitor", model, table, "-q", *arguments)
    assert result.exit_code == 1
    assert f"warning: {reason} ({condition})" in result.stderr


def test_a_model_without_features_cannot_pass(tmp_path: Path, run: Run) -> None:
    SelectiveNB().fit(pl.DataFrame({"a": [1.0] * 20}), [0, 1] * 10).save(tmp_path / "model.json")
    pl.DataFrame({"a": [1.0] * 20}).write_csv("new.csv")
    result = run("monitor", tmp_path / "model.json", "new.csv", "-q", "--fail-if", "psi>0.25")
    assert result.exit_code == 1
    assert "psi has no value, because no feature is in the model (psi>0.25)" in result.stderr
    pl.DataFrame({"a": [1.0] * 20, "t": [0, 1] * 10}).write_csv("labelled.csv")
    condition = "calibration_slope<0.5"
    result = run("monitor", tmp_path / "model.json", "labelled.csv", "-q", "--target", "t", "--fail-if", condition)
    assert result.exit_code == 1
    assert f"calibration_slope has no value in all, because all rows have one score ({condition})" in result.stderr


@pytest.mark.parametrize("command", ["monitor", "evaluate", "predict", "explain"])
def test_a_table_without_a_column_of_the_model_is_named(model: Path, run: Run, command: str) -> None:
    table = new_rows("new.csv", durration=pl.col("duration"))
    pl.read_csv(table).drop("duration").write_csv(table)
    result = run(command, model, table)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == (
        f"error: {table} lacks a column that the model needs: 'duration'; did you mean 'durration'?"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--fail-if", "psi"), "psi>0.25"),
        (("--fail-if", "psi>much"), "psi>much"),
        (("--fail-if", "pis>0.1"), "did you mean 'psi'"),
        (("--fail-if", "auc<0.7"), "--target"),
        (("--by", "nope"), "'nope' (--by)"),
        (("--by", "when", "--every", "hour"), "--every"),
        (("--target", "purpose"), "is not a class of the model"),
    ],
)
def test_errors_end_with_status_2(model: Path, run: Run, arguments: tuple[str, ...], words: str) -> None:
    result = run("monitor", model, new_rows("new.csv"), *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert not Path("bayesieve-drift").exists()


def test_evaluate_prints_and_writes(model: Path, succeeds: Run, run: Run) -> None:
    table = new_rows("new.parquet")
    result = succeeds("evaluate", model, table, "--by", "housing", "--output", "out")
    rows = pl.read_parquet(table)
    found = evaluate(load(model), rows, "class", "housing")
    written = pl.read_csv("out/measures.csv", infer_schema_length=None)
    assert written["value"].to_list() == pytest.approx(found.to_frame()["value"].to_list(), abs=1e-9)
    assert len(pl.read_csv("out/gaps.csv")) == len(found.gaps) == 9
    assert "housing rent" in result.stdout
    auc = next(line for line in result.stdout.splitlines() if line.startswith("auc"))
    assert auc.split()[1] == f"{found.to_frame()['value'][2]:.3f}"
    assert run("evaluate", model, table, "--target", "nope").exit_code == 2
    assert np.isfinite(found.to_frame()["value"].drop_nulls().to_numpy()).all()

"""`bayesieve monitor` and `bayesieve evaluate`."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bayesieve import SelectiveNB, drift, evaluate
from tests.cli.conftest import GERMAN, Run


@pytest.fixture
def model(tmp_path: Path) -> Path:
    train = pl.read_csv(GERMAN)[:600]
    fitted = SelectiveNB().fit(train.drop("class"), train["class"])
    fitted.target_name_ = "class"
    fitted.save(tmp_path / "model.json")
    return tmp_path / "model.json"


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
    assert result.stdout.splitlines()[0].split()[:5] == ["when", "rows", "shift", "auc", "log"]
    rows = pl.read_csv(GERMAN)[600:]
    days = [dt.date(2024, 1, 1) + dt.timedelta(i % 90) for i in range(len(rows))]
    found = drift(SelectiveNB().fit(*_train()), rows, rows["class"], days)
    for file, frame in (("features", found.to_frame()), ("periods", found.periods)):
        written = pl.read_csv(f"out/{file}.csv")
        assert written["by"].to_list() == frame["by"].to_list()
        assert written["shift"].to_list() == pytest.approx(frame["shift"].to_list(), abs=1e-9)
    assert "Whole score" in Path("out/drift.html").read_text(encoding="utf-8")
    assert len(pl.read_csv("out/levels.csv")) == len(found.levels)


def _train() -> tuple[pl.DataFrame, pl.Series]:
    train = pl.read_csv(GERMAN)[:600]
    return train.drop("class"), train["class"]


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        ("psi>0.25", 0),
        ("psi_low>0", 0),
        ("psi>=0", 1),
        ("auc<.5", 0),
        ("auc < 0.99", 1),
        ("log_loss>1e3", 0),
        ("calibration>=0", 1),
        ("shift>-1", 1),  # by size
        ("score_shift>5", 0),
        ("unseen>0.5", 0),
    ],
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
    result = run("monitor", model, table, "-q", "--fail-if", "psi>9", "--fail-if", "psi_low>0.25")
    assert result.exit_code == 1
    assert "psi_low of 'duration'" in result.stderr
    assert "psi of" not in result.stderr
    assert run("monitor", model, table, "-q", "--fail-if", "unseen>0.99").exit_code == 1
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--fail-if", "psi"), "psi>0.25"),
        (("--fail-if", "psi>much"), "psi>much"),
        (("--fail-if", "pis>0.1"), "did you mean 'psi'"),
        (("--fail-if", "auc<0.7"), "--target"),
        (("--by", "nope"), "'nope' (--by)"),
        (("--by", "when", "--every", "hour"), "--every"),
        (("--target", "purpose"), "does not know"),
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
    found = evaluate(SelectiveNB().fit(*_train()), rows, "class", "housing")
    written = pl.read_csv("out/measures.csv", infer_schema_length=None)
    assert written["value"].to_list() == pytest.approx(found.to_frame()["value"].to_list(), abs=1e-9)
    assert len(pl.read_csv("out/gaps.csv")) == len(found.gaps) == 9
    assert "housing rent" in result.stdout
    auc = next(line for line in result.stdout.splitlines() if line.startswith("auc"))
    assert auc.split()[1] == f"{found.to_frame()['value'][2]:.3f}"
    assert run("evaluate", model, table, "--target", "nope").exit_code == 2
    assert np.isfinite(found.to_frame()["value"].drop_nulls().to_numpy()).all()

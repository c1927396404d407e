"""`fit` from a folder or pattern of files, in pieces: the same model, a plan, one line for what cannot be."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

from bayesieve import SelectiveNB, load
from tests.classifier.test_scanned import claims, written
from tests.cli.conftest import Run
from tests.limits import Limits


@pytest.fixture
def table(tmp_path: Path) -> tuple[pl.DataFrame, str]:
    folder = tmp_path / "claims"
    folder.mkdir()
    frame = claims(1500).drop("agent")
    return frame, written(frame, folder, 5)


@pytest.mark.slow
def test_a_pattern_or_folder_just_works(succeeds: Run, table: tuple[pl.DataFrame, str]) -> None:
    frame, pattern = table
    options = ("--target", "paid", "--ignore", "noise", "--weight", "weight", "--folds", 2)
    shown = succeeds("fit", pattern, *options, "-o", "one").stdout
    assert "2-fold stratified cross-validation" in shown
    succeeds(
        "fit",
        Path(pattern).parent,
        *options,
        "-o",
        "other",
        "--no-report",
        "--memory-limit",
        "1GiB",
        "--engine",
        "disk",
    )
    X = frame.drop("paid", "weight", "noise")
    expected = SelectiveNB().fit(X, frame["paid"], frame["weight"])
    for folder in ("one", "other"):
        model = load(Path(folder, "model.json"))
        assert model.target_name_ == "paid"
        assert abs(model.predict_proba(X) - expected.predict_proba(X)).max() < 1e-9


def test_a_dry_run_prints_the_plan(succeeds: Run, table: tuple[pl.DataFrame, str]) -> None:
    shown = succeeds("fit", table[1], "--target", "paid", "--dry-run", "--selector", "all").stdout
    assert "1,500 rows of 8 features" in shown
    assert "time" in shown
    assert not Path("bayesieve-output").exists()


def test_errors_are_one_line(fails: Run, table: tuple[pl.DataFrame, str]) -> None:
    _, pattern = table
    assert "did you mean 'paid'" in fails("fit", pattern, "--target", "pade")
    assert "continuous" in fails("fit", pattern, "--target", "amount")
    assert "--memory-limit must be" in fails("fit", pattern, "--target", "paid", "--memory-limit", "many")
    damaged = sorted(Path(pattern).parent.glob("*.parquet"))[0]
    data = bytearray(damaged.read_bytes())
    data[4:200] = bytes(196)
    damaged.write_bytes(data)
    line = fails("fit", pattern, "--target", "paid", "--no-report")
    assert damaged.name in line
    assert not Path("bayesieve-output").exists()


def test_benefits_of_rows_in_files(succeeds: Run, run: Run, table: tuple[pl.DataFrame, str], limits: Limits) -> None:
    frame, pattern = table
    classes = sorted(frame["paid"].cast(pl.String).unique())
    rule = {
        "benefit": [[0] * len(classes), [*range(len(classes))]],
        "decisions": ["leave", "pay"],
        "amount": "weight",
        "amount_benefit": [[0] * len(classes), [1] * len(classes)],
    }
    Path("rule.json").write_text(json.dumps(rule), encoding="utf-8")
    frame.write_parquet("whole.parquet")
    options = ("--target", "paid", "--ignore", "weight", "--selector", "map", "--folds", 2, "--benefit", "rule.json")
    for source, folder in ((pattern, "files"), ("whole.parquet", "memory")):
        succeeds("fit", source, *options, "-o", folder)
    pages = [Path(folder, "report.html").read_text(encoding="utf-8") for folder in ("files", "memory")]
    assert load("files/model.json").benefit_rule_ == load("memory/model.json").benefit_rule_ is not None
    table_of = re.compile(r"<tr[^>]*>(?:(?!</tr>).)*>(?:pay|leave)</td>(?:(?!</tr>).)*</tr>", re.DOTALL)
    assert table_of.findall(pages[0]) == table_of.findall(pages[1]) != []
    first, second = sorted(Path(pattern).parent.glob("*.parquet"))[:2]
    unknown = pl.when(pl.int_range(pl.len()) > 6).then("paid").alias("paid")  # the target of seven rows of each
    pl.read_parquet(first).with_columns(unknown).write_parquet(first)
    pl.read_parquet(second).with_columns(unknown, pl.lit(None, pl.Float64).alias("weight")).write_parquet(second)
    row = pl.read_parquet(first).height + 8
    limits(block_rows=15)
    assert f"has no number in row {row} (counting from 1)" in run("fit", pattern, *options).stderr

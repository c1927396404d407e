"""`bayesieve predict` writes the probabilities of the library for any source, and no half-written file."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bayesieve import SelectiveNB, load
from bayesieve.engine.progress import RowProgress
from tests.cli.conftest import GERMAN, Run
from tests.limits import Limits, interrupted


@pytest.fixture
def expected(model: Path, german: pl.DataFrame) -> pl.DataFrame:
    fitted = load(model)
    X = german.drop("class")
    shares = fitted.predict_proba(X)
    return pl.DataFrame({"prediction": fitted.predict(X).tolist(), "P(bad)": shares[:, 0], "P(good)": shares[:, 1]})


def test_classes_of_any_type(succeeds: Run) -> None:
    for labels in ([3, 12], [False, True], ["не,т", 'a "b"']):
        pl.DataFrame({"a": [1.0, 2.0] * 30, "y": labels * 30}).write_parquet("t.parquet")
        succeeds("fit", "t.parquet", "-t", "y", "-s", "map", "--no-report")
        succeeds("predict", "bayesieve-output/model.json", "t.parquet", "-o", "p.csv")
        with open("p.csv", encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        assert header == ["prediction", *(f"P({label})" for label in sorted(labels))]
        assert [row[0].casefold() for row in rows] == [str(label).casefold() for label in labels * 30]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("p.xlsx", "p.xlsx has no known file extension"),
        ("model.json/p", "cannot be created, because part of it is a file"),
        ("p.parquet.gz", "no known file extension"),
        ("nowhere/p.csv", "nowhere to write p.csv in; create it first"),
        ("folder.csv", "folder.csv is a folder"),
    ],
)
def test_outputs_that_cannot_be(fails: Run, model: Path, name: str, message: str) -> None:
    Path("folder.csv").mkdir()
    assert message in fails("predict", model, GERMAN, "-o", name)


def test_a_write_that_fails_leaves_the_old_file(fails: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("old", encoding="utf-8")
    with interrupted(os, "replace", error=PermissionError(13, "Permission denied")):
        assert "p.csv cannot be written (Permission denied)" in fails("predict", model, GERMAN, "-o", "p.csv")
    assert (tmp_path / "p.csv").read_text("utf-8") == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.json", "p.csv"]


def test_files_that_are_not_there(fails: Run, model: Path) -> None:
    assert "There is no model file nothing.json" in fails("predict", "nothing.json", GERMAN)
    assert "There is no file nothing.csv" in fails("predict", model, "nothing.csv")
    assert "is a folder" in fails("predict", model.parent, GERMAN)


def test_a_column_whose_evidence_came_back_is_needed(fails: Run, german: pl.DataFrame) -> None:
    fitted = SelectiveNB(calibrate=False, pairs=0).fit(german.drop("class"), german["class"])
    column = int(np.flatnonzero(fitted.feature_weights_ == 0)[0])
    name = german.columns[column]
    fitted.edit().set(name, {0: -0.1}).done().save("back.json")
    german.drop(name).write_csv("less.csv")
    assert f"lacks a column that the model needs: '{name}'" in fails("predict", "back.json", "less.csv")


def _parts(german: pl.DataFrame, folder: Path) -> None:
    folder.mkdir()
    for i in range(3):
        german[i * 400 : (i + 1) * 400].write_parquet(folder / f"{i}.parquet", row_group_size=150)


@pytest.mark.parametrize(("table", "name"), [("parts", "p.csv"), ("parts/[0-9].parquet", "p.parquet")])
def test_folders_and_patterns(
    succeeds: Run,
    model: Path,
    german: pl.DataFrame,
    expected: pl.DataFrame,
    table: str,
    name: str,
    limits: Limits,
) -> None:
    _parts(german, Path("parts"))
    limits(scored_rows=70)
    assert "1,000 predictions in" in succeeds("predict", model, table, "-o", name).stdout
    assert pl.read_csv(io.StringIO(succeeds("predict", model, table).stdout)).equals(expected)  # one header
    read = pl.read_parquet(name) if name == "p.parquet" else pl.read_csv(name)
    assert read.equals(expected)


def test_the_output_is_no_input(fails: Run, model: Path, german: pl.DataFrame) -> None:
    _parts(german, Path("parts"))
    assert "is one of the files that are read" in fails("predict", model, "parts/*.parquet", "-o", "parts/1.parquet")
    german.write_csv("t.csv")
    assert "is one of the files that are read" in fails("predict", model, "t.csv", "-o", "t.csv")
    assert pl.read_parquet("parts/1.parquet").height == 400


def test_an_interrupted_prediction_leaves_nothing(fails: Run, model: Path, german: pl.DataFrame) -> None:
    _parts(german, Path("parts"))
    with interrupted(RowProgress, "__call__"):
        assert "Interrupted" in fails("predict", model, "parts", "-o", "p.parquet", status=130)
    assert sorted(path.name for path in Path().iterdir()) == ["model.json", "parts"]


def test_a_folder_of_files_with_columns_to_keep(
    succeeds: Run, fails: Run, model: Path, german: pl.DataFrame, expected: pl.DataFrame
) -> None:
    _parts(german, Path("parts"))
    for _ in range(2):
        result = succeeds("predict", model, "parts", "-o", "scored", "--keep", "age", "--memory-limit", "1GiB")
        assert result.stdout == "1,000 predictions in scored\n"
    paths = sorted(Path("scored").iterdir())
    assert [path.name for path in paths] == sorted(path.name for path in Path("parts").iterdir())
    read = pl.concat([pl.read_parquet(path) for path in paths])
    assert read.equals(german.select("age").hstack(expected))
    succeeds("predict", model, "parts", "-o", "all.csv", "--keep", "all")
    assert pl.read_csv("all.csv").columns == [*german.columns, *expected.columns]
    assert "There is no column 'agee'" in fails("predict", model, "parts", "-o", "new", "--keep", "agee")
    assert "--memory-limit must be" in fails("predict", model, "parts", "-o", "new", "--memory-limit", "1")
    assert "overlaps with the folder that is read" in fails("predict", model, "parts", "-o", "parts")
    Path("scored/notes.txt").write_text("mine", encoding="utf-8")
    assert "pass an empty folder" in fails("predict", model, "parts", "-o", "scored")
    assert not Path("new").exists()


@pytest.mark.parametrize("name", ["-", "p.csv", "p.tsv", "p.csv.gz", "p.parquet", "p.arrow", "P.PARQUET"])
def test_columns_in_any_order_into_any_file(
    succeeds: Run, model: Path, german: pl.DataFrame, expected: pl.DataFrame, name: str
) -> None:
    """Other columns are ignored, and columns that the model does not use may be missing."""
    needed = load(model).selected_features_[::-1]
    assert len(needed) < 20
    german.select(needed).with_columns(extra=pl.lit("x")).write_parquet("other.parquet")
    result = succeeds("predict", model, "other.parquet", "--output", name)
    if name == "-":
        found = pl.read_csv(io.StringIO(result.stdout))
    elif name.lower().endswith("parquet"):
        found = pl.read_parquet(name)
    else:
        found = pl.read_ipc(name) if name == "p.arrow" else pl.read_csv(name, separator="\t" if "tsv" in name else ",")
    assert found.equals(expected)
    assert result.stdout == f"1,000 predictions in {name}\n" or name == "-"
    assert not [path for path in os.listdir() if path.endswith(".tmp")]


def test_missing_columns(fails: Run, model: Path, german: pl.DataFrame) -> None:
    german.drop("checking_status").write_csv("less.csv")
    assert "less.csv lacks a column that the model needs: 'checking_status'." in fails("predict", model, "less.csv")
    german.select("age").write_csv("age.csv")
    assert "columns that the model needs: 'checking_status', 'duration'" in fails("predict", model, "age.csv")


def test_unseen_values_are_a_warning(succeeds: Run, model: Path, german: pl.DataFrame) -> None:
    names = [name for name in load(model).selected_features_ if german.schema[name] == pl.String]
    assert len(names) > 5  # as many as a warning in Python names
    rows = pl.int_range(german.height, eager=True)
    shares = {name: 200 + 10 * i for i, name in enumerate(names)}
    odd = [pl.when(rows < n).then(pl.lit("new")).otherwise(name).alias(name) for name, n in shares.items()]
    german.with_columns(odd).write_csv("odd.csv")
    result = succeeds("predict", model, "odd.csv", "-o", "p.csv", "-q")
    assert result.stdout == ""
    assert result.stderr.startswith("warning: Some values were never seen in training")
    assert result.stderr.count("\n") == 1
    for name, n in shares.items():
        assert f"'{name}' ({n / 10:.1f} %)" in result.stderr
    german.with_columns(pl.lit("new").alias(names[0])).write_csv("odd.csv")
    line = succeeds("predict", model, "odd.csv", "-o", "p.csv").stderr
    assert line.startswith(f"warning: Column '{names[0]}' contains no value seen in training (1,000 rows). ")
    assert pl.read_csv("p.csv").height == 1000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"not JSON", "does not hold valid JSON"),
        (b'{"format": "something else"}', "is not a bayesieve model"),
        (b'{"format": "bayesieve.SelectiveNB", "version": 99}', "Update bayesieve"),
        (None, "model.json"),
    ],
)
def test_models_that_are_none(fails: Run, model: Path, content: bytes | None, message: str) -> None:
    whole = model.read_bytes()
    model.write_bytes(whole[: len(whole) // 2] if content is None else content)
    for command in (("predict", model, GERMAN), ("info", model)):
        assert message in fails(*command)


@pytest.mark.parametrize("positive", [None, "0"])
def test_reasons_state_the_class_that_they_speak_against(
    succeeds: Run, german: pl.DataFrame, positive: str | None
) -> None:
    """1 means bad: unless a class is chosen, reasons are merits, and a line says so, once for any number of blocks."""
    german.with_columns(bad=(pl.col("class") == "bad").cast(int)).drop("class").write_csv("bad.csv")
    chosen = [] if positive is None else ["--positive", positive]
    succeeds("fit", "bad.csv", "-t", "bad", "-o", "bad", "--no-report", "--selector", "map", *chosen)
    direction = f"reasons against {positive or 1} of target 'bad'"
    result = succeeds("predict", "bad/model.json", "bad.csv", "--reasons", 2, "-o", "p.parquet")
    assert direction in result.stdout.splitlines()
    assert result.stderr.count("Reasons speak against 1") == (positive is None)
    result = succeeds("predict", "bad/model.json", "bad.csv", "--reasons", 2)
    assert direction in result.stderr.splitlines()
    assert direction not in result.stdout
    result = succeeds("export", "bad/model.json", "-o", "bad.sql", "--reasons", 2)
    assert f"-- reasons: against {positive or 1} of target 'bad'" in Path("bad.sql").read_text()
    assert result.stderr.count("Reasons speak against 1") == (positive is None)


def test_a_threshold_decides(succeeds: Run, fails: Run, model: Path, german: pl.DataFrame) -> None:
    german.write_parquet("german.parquet")
    usual = pl.read_csv(io.StringIO(succeeds("predict", model, GERMAN).stdout))
    for threshold in (0, 0.8, 1):
        options = ("--threshold", threshold, "--reasons", 1, "-o", "decided.parquet")
        succeeds("predict", model, "german.parquet", *options)
        decided = pl.read_parquet("decided.parquet")
        expected = pl.when(pl.col("P(good)") >= threshold).then(pl.lit("good")).otherwise(pl.lit("bad"))
        assert decided["prediction"].equals(usual.select(prediction=expected)["prediction"])
        assert decided.columns == [*usual.columns, "reason_1"]
    assert "--threshold must be a probability from 0 to 1, got 5" in fails("predict", model, GERMAN, "--threshold", 5)
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0] * 20, "y": ["a", "b", "c"] * 20})
    SelectiveNB().fit(frame, "y").save("three.json")
    frame.write_csv("three.csv")
    told = fails("predict", "three.json", "three.csv", "--threshold", 0.5)
    assert "--threshold needs a model of two classes; this one has 3" in told


def test_reasons_are_columns_of_predictions(succeeds: Run, fails: Run, model: Path, german: pl.DataFrame) -> None:
    german[:500].write_parquet("one.parquet")
    printed = succeeds("predict", model, GERMAN, "--reasons", 3, "--keep", "age").stdout
    read = pl.read_csv(io.StringIO(printed))
    assert read.columns == ["age", "prediction", "P(bad)", "P(good)", "reason_1", "reason_2", "reason_3"]
    found = load(model).reasons(german.drop("class"), 3)
    for rank in (1, 2, 3):
        of_rank = dict(found.filter(pl.col("rank") == rank).select("row", "text").iter_rows())
        assert read[f"reason_{rank}"].to_list() == [of_rank.get(row) for row in range(german.height)]
    succeeds("predict", model, "one.parquet", "--reasons", 3, "-o", "scored.parquet")
    scored = pl.read_parquet("scored.parquet")
    assert scored.equals(read[:500].drop("age"))
    rule = {"decisions": ["refuse", "grant"], "classes": ["bad", "good"], "benefit": [[0, 0], [-500, 100]]}
    Path("benefit.json").write_text(json.dumps(rule))
    succeeds("predict", model, "one.parquet", "--reasons", 1, "--benefit", "benefit.json", "-o", "decided.parquet")
    decided = pl.read_parquet("decided.parquet")
    assert decided.columns[3:] == ["decision", "benefit(refuse)", "benefit(grant)", "reason_1"]
    assert decided["reason_1"].equals(scored["reason_1"])
    german.with_columns(reason_1=1).write_parquet("odd.parquet")
    assert "'reason_1'" in fails("predict", model, "odd.parquet", "--reasons", 1, "--keep", "reason_1", "-o", "p.csv")
    assert "--reasons must be" in fails("predict", model, GERMAN, "--reasons", -1)


def test_reasons_have_values_and_codes(succeeds: Run, fails: Run, model: Path, german: pl.DataFrame) -> None:
    options = ("--reasons", 2, "--values", "--code", "duration=R04", "--code", "credit_amount=R03")
    read = pl.read_csv(io.StringIO(succeeds("predict", model, GERMAN, *options).stdout))
    codes = {"duration": "R04", "credit_amount": "R03"}
    found = load(model).reasons(german.drop("class"), 2, values=True, codes=codes)
    for kind, name in (("text", "reason"), ("code", "reason_code")):
        for rank in (1, 2):
            of_rank = dict(found.filter(pl.col("rank") == rank).select("row", kind).iter_rows())
            assert read[f"{name}_{rank}"].to_list() == [of_rank.get(row) for row in range(german.height)]
    assert read["reason_code_1"].drop_nulls().is_in(["R04", "R03"]).all()
    assert "--values needs reasons" in fails("predict", model, GERMAN, "--values")
    assert "did you mean 'duration'" in fails("predict", model, GERMAN, "--reasons", 1, "--code", "duratio=R04")
    assert "--code must be a column and its code" in fails("predict", model, GERMAN, "--reasons", 1, "--code", "R04")

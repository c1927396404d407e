"""`bayesieve predict`."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bayesieve import SelectiveNB, load
from bayesieve.classifier import scored_files
from bayesieve.engine.progress import RowProgress
from tests.cli.conftest import GERMAN, Run


@pytest.fixture
def expected(model: Path, german: pl.DataFrame) -> pl.DataFrame:
    fitted = load(model)
    X = german.drop("class")
    shares = fitted.predict_proba(X)
    return pl.DataFrame({"prediction": fitted.predict(X).tolist(), "P(bad)": shares[:, 0], "P(good)": shares[:, 1]})


def test_csv_on_standard_output(succeeds: Run, model: Path, expected: pl.DataFrame) -> None:
    result = succeeds("predict", model, GERMAN)
    assert pl.read_csv(io.StringIO(result.stdout)).equals(expected)
    assert result.stderr == ""


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.csv.gz", "p.parquet", "p.arrow", "P.PARQUET"])
def test_files(succeeds: Run, model: Path, expected: pl.DataFrame, name: str) -> None:
    result = succeeds("predict", model, GERMAN, "--output", name)
    assert result.stdout == f"1,000 predictions in {name}\n"
    if name.lower().endswith("parquet"):
        found = pl.read_parquet(name)
    elif name.endswith("arrow"):
        found = pl.read_ipc(name)
    else:
        found = pl.read_csv(name, separator="\t" if name.endswith("tsv") else ",")
    assert found.equals(expected)
    assert not [path for path in os.listdir() if path.endswith(".tmp")]


def test_columns_in_any_order_and_others_ignored(
    succeeds: Run, model: Path, german: pl.DataFrame, expected: pl.DataFrame
) -> None:
    columns = german.drop("class").columns[::-1]
    german.select(columns).with_columns(extra=pl.lit("x")).write_parquet("other.parquet")
    succeeds("predict", model, "other.parquet", "-o", "p.parquet")
    assert pl.read_parquet("p.parquet").equals(expected)


def test_columns_of_weight_0_are_not_needed(
    succeeds: Run, model: Path, german: pl.DataFrame, expected: pl.DataFrame
) -> None:
    needed = load(model).selected_features_
    assert len(needed) < 20
    german.select(needed).write_csv("needed.csv")
    succeeds("predict", model, "needed.csv", "-o", "p.parquet")
    assert pl.read_parquet("p.parquet").equals(expected)


def test_missing_columns(fails: Run, model: Path, german: pl.DataFrame) -> None:
    german.drop("checking_status").write_csv("less.csv")
    line = fails("predict", model, "less.csv")
    assert line == "error: less.csv lacks a column that the model needs: 'checking_status'."
    german.select("age").write_csv("age.csv")
    assert "lacks columns that the model needs: 'checking_status', 'duration'" in fails("predict", model, "age.csv")


def test_values_never_seen_are_no_error(succeeds: Run, model: Path, german: pl.DataFrame) -> None:
    strange = german.with_columns(checking_status=pl.lit("Ünseen 値"), duration=pl.lit(None, dtype=pl.Int64))
    strange.write_csv("strange.csv")
    result = succeeds("predict", model, "strange.csv", "-q", "-o", "p.csv")
    assert result.stdout == ""
    assert result.stderr.startswith(
        "warning: Columns 'checking_status' and 'duration' hold nothing in any of the 1,000 rows that the model has "
        "seen in training: check that they are the columns meant, and written as in training. 'checking_status' holds "
    )
    assert result.stderr.count("\n") == 1
    assert pl.read_csv("p.csv").height == 1000


def test_classes_of_any_type(succeeds: Run) -> None:
    for labels in ([3, 12], [False, True], ["не,т", 'a "b"']):
        pl.DataFrame({"a": [1.0, 2.0] * 30, "y": labels * 30}).write_parquet("t.parquet")
        succeeds("fit", "t.parquet", "-t", "y", "--no-report")
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


def test_a_write_that_fails_leaves_the_old_file(
    fails: Run, model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "p.csv").write_text("old", encoding="utf-8")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    assert "p.csv cannot be written (Permission denied)" in fails("predict", model, GERMAN, "-o", "p.csv")
    assert (tmp_path / "p.csv").read_text("utf-8") == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.json", "p.csv"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "does not hold valid JSON"),
        ("not JSON", "does not hold valid JSON"),
        ("\udcff", "does not hold valid JSON"),
        ("[" * 100_000, "does not hold valid JSON"),
        ("[1, 2]", "is not a bayesieve model"),
        ('{"format": "something else"}', "is not a bayesieve model"),
        ('{"format": "bayesieve.SelectiveNB", "version": 99}', "update bayesieve"),
        ('{"format": "bayesieve.SelectiveNB", "version": 2}', "is damaged"),
        ('{"format": "bayesieve.SelectiveNB", "version": 2, "parameters": []}', "is damaged"),
        ('{"format": "bayesieve.SelectiveNB", "version": NaN}', "is damaged"),
    ],
)
@pytest.mark.parametrize("command", ["predict", "info"])
def test_models_that_are_none(fails: Run, content: str, message: str, command: str) -> None:
    Path("bad.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    assert message in fails(command, "bad.json", *([GERMAN] if command == "predict" else []))


def test_a_model_cut_anywhere_is_refused(fails: Run, model: Path) -> None:
    whole = model.read_text("utf-8")
    for part in (0.1, 0.5, 0.999):
        model.write_text(whole[: int(len(whole) * part)], encoding="utf-8")
        assert "model.json" in fails("info", model)


def test_files_that_are_not_there(fails: Run, model: Path) -> None:
    assert "There is no model file nothing.json" in fails("predict", "nothing.json", GERMAN)
    assert "There is no file nothing.csv" in fails("predict", model, "nothing.csv")
    assert "is a folder" in fails("predict", model.parent, GERMAN)


def test_the_share_of_unseen_values_of_every_column_is_printed(succeeds: Run, model: Path, tmp_path: Path) -> None:
    table = pl.read_csv(GERMAN).drop("class")
    names = [name for name in load(model).selected_features_ if table.schema[name] == pl.String]
    assert len(names) > 5  # as many as a warning in Python names
    rows = pl.int_range(table.height, eager=True)
    shares = {name: 200 + 10 * i for i, name in enumerate(names)}
    odd = [pl.when(rows < n).then(pl.lit("new")).otherwise(name).alias(name) for name, n in shares.items()]
    table.with_columns(odd).write_csv(tmp_path / "odd.csv")
    line = succeeds("predict", model, tmp_path / "odd.csv", "-o", "p.csv", "-q").stderr
    assert line.startswith("warning: Some values were never seen in training")
    assert line.count("\n") == 1
    for name, n in shares.items():
        assert f"'{name}' ({n / 10:.1f} %)" in line


def test_a_column_that_is_unseen_in_all_rows(succeeds: Run, model: Path, tmp_path: Path) -> None:
    table = pl.read_csv(GERMAN).drop("class")
    name = next(name for name in load(model).selected_features_ if table.schema[name] == pl.String)
    table.with_columns(pl.lit("new").alias(name)).write_csv(tmp_path / "odd.csv")
    line = succeeds("predict", model, tmp_path / "odd.csv", "-o", "p.csv").stderr
    assert line.startswith(f"warning: Column '{name}' holds nothing in any of the 1,000 rows that the model has seen ")


def test_a_column_whose_evidence_came_back_is_needed(fails: Run, german: pl.DataFrame) -> None:
    fitted = SelectiveNB(pairs=0).fit(german.drop("class"), german["class"])
    column = int(np.flatnonzero(fitted.feature_weights_ == 0)[0])
    evidence = {column: np.zeros((int(fitted.encoder_.levels_[column].n_levels), 2))}
    fitted.naive_bayes_.set_evidence({**fitted.naive_bayes_.fitted_, **evidence}, fitted.naive_bayes_.intercept_)
    fitted.save("back.json")
    name = german.columns[column]
    german.drop(name).write_csv("less.csv")
    assert f"lacks a column that the model needs: '{name}'" in fails("predict", "back.json", "less.csv")


def _parts(german: pl.DataFrame, folder: Path) -> None:
    folder.mkdir()
    for i in range(3):
        german[i * 400 : (i + 1) * 400].write_parquet(folder / f"{i}.parquet", row_group_size=150)


@pytest.mark.parametrize("table", ["parts", "parts/*.parquet", "parts/[0-9].parquet"])
@pytest.mark.parametrize("name", ["p.parquet", "p.csv"])
def test_folders_and_patterns(
    succeeds: Run, model: Path, german: pl.DataFrame, expected: pl.DataFrame, table: str, name: str
) -> None:
    _parts(german, Path("parts"))
    assert "1,000 predictions in" in succeeds("predict", model, table, "-o", name).stdout
    read = pl.read_parquet(name) if name == "p.parquet" else pl.read_csv(name)
    assert read.equals(expected)


def test_blocks_on_standard_output_have_one_header(
    succeeds: Run, model: Path, german: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    _parts(german, Path("parts"))
    whole = succeeds("predict", model, "parts").stdout
    monkeypatch.setattr(scored_files, "_BLOCK_ROWS", 70)
    assert succeeds("predict", model, "parts").stdout == whole


def test_the_output_is_no_input(fails: Run, model: Path, german: pl.DataFrame) -> None:
    _parts(german, Path("parts"))
    assert "is one of the files that are read" in fails("predict", model, "parts/*.parquet", "-o", "parts/1.parquet")
    german.write_csv("t.csv")
    assert "is one of the files that are read" in fails("predict", model, "t.csv", "-o", "t.csv")
    assert pl.read_parquet("parts/1.parquet").height == 400


def test_an_interrupted_prediction_leaves_nothing(
    fails: Run, model: Path, german: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    _parts(german, Path("parts"))
    monkeypatch.setattr(RowProgress, "__call__", interrupt)
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
    assert "name an empty folder" in fails("predict", model, "parts", "-o", "scored")
    assert not Path("new").exists()

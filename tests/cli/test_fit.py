"""`bayesieve fit`."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import bayesieve
from tests.cli.conftest import GERMAN, Run, invoke


def test_what_it_writes(fitted: Path) -> None:
    files = {path.name for path in fitted.iterdir()} - {"printed.txt"}
    assert files == {"model.json", "features.csv", "report.html"}
    features = pl.read_csv(fitted / "features.csv")
    assert features.columns == ["feature", "kind", "weight", "level_score", "importance", "n_levels"]
    assert features.height == 20
    assert features["weight"].is_sorted(descending=True)
    assert json.loads((fitted / "model.json").read_text("utf-8"))["target"] == "class"
    assert "checking_status" in (fitted / "report.html").read_text("utf-8")


def test_what_it_prints(fitted: Path) -> None:
    lines = (fitted / "printed.txt").read_text("utf-8").splitlines()
    assert lines[0] == "table   1,000 rows, 20 features"
    assert lines[1] == "target  'class', 2 classes: good 70.0 %, bad 30.0 %"
    assert lines[2].startswith("kept    ")
    assert " of 20 features (selector 'compression', " in lines[2]
    assert lines[4].split() == ["feature", "kind", "levels", "level", "score", "importance", "weight"]
    assert ["checking_status", "categorical", "4"] in [line.split()[:3] for line in lines[5:15]]
    assert any(line.startswith("3-fold stratified cross-validation") for line in lines)
    figures = {
        line.split("  ")[0]: line for line in lines if line.startswith(("AUC", "accuracy", "log loss", "compression"))
    }
    assert list(figures) == ["AUC", "accuracy", "log loss", "compression rate"]
    assert 0.7 < float(figures["AUC"].split()[1]) < 0.85
    assert figures["compression rate"].endswith(" (1: always sure and right, 0: class shares alone)")
    assert "in 0.0 s" not in lines[2]
    assert [line.split()[0] for line in lines[-3:]] == ["model", "features", "report"]
    assert lines[-1].endswith("report.html")
    assert not any("\x1b" in line for line in lines)


@pytest.mark.parametrize("how", ["plain", "gz", "bom", "utf-16", "western", "crlf", "semicolons"])
def test_the_line_of_a_value_that_is_no_number(how: str) -> None:
    rows = [[f"{i / 7:.3f}", f"note {i}", "yes" if i % 3 else "no"] for i in range(40)]
    rows[3][0], rows[3][2] = "unlabelled", ""  # rows without target are left out
    rows[8][1] = '"a\nquoted line end"'
    rows[20][0], rows[30][0] = "wrong", "again"
    lines = ["x,note,y", *(",".join(row) for row in rows)]
    lines.insert(15, "")
    text = "\n".join(lines) + "\n"
    line = text[: text.index("wrong")].count("\n") + 1
    encoding = {"bom": "utf-8-sig", "utf-16": "utf-16", "western": "cp1252"}.get(how, "utf-8")
    text = text.replace("note 5", "notë 5").replace("\n", "\r\n" if how == "crlf" else "\n")
    content = text.replace(",", ";" if how == "semicolons" else ",").encode(encoding)
    path = Path("table.csv.gz" if how == "gz" else "table.csv")
    path.write_bytes(gzip.compress(content) if how == "gz" else content)
    for options in ((), ("--memory-limit", "2GiB")):
        message = invoke("fit", path, "-t", "y", "--numeric", "x", *options).stderr
        assert f"but line {line} holds 'wrong'" in message
    assert f"but line {line} holds 'wrong'" in invoke("compare", path, "-t", "y", "--numeric", "x").stderr


def test_the_row_of_a_value_that_is_no_number() -> None:
    frame = pl.DataFrame({"x": [str(i) for i in range(40)], "y": ["a", "b"] * 20})
    frame[7, "y"], frame[7, "x"], frame[20, "x"], frame[30, "x"] = None, "unlabelled", "wrong", "again"
    frame.write_parquet("table.parquet")
    for options in ((), ("--memory-limit", "2GiB")):
        message = invoke("fit", "table.parquet", "-t", "y", "--numeric", "x", *options).stderr
        assert "but row 21 (counting from 1) holds 'wrong'" in message


def test_the_line_of_an_infinite_number_to_be_scored(succeeds: Run, fails: Run) -> None:
    random = np.random.default_rng(0)
    x, y = random.normal(size=300), random.integers(0, 2, 300)
    pl.DataFrame({"x": x + 3 * y, "y": y}).write_csv("train.csv")
    succeeds("fit", "train.csv", "-t", "y", "--no-report", "-o", "out")
    Path("new.csv").write_text("x\n" + "1\n" * 70_000 + "inf\n")
    for command in ("predict", "explain"):
        assert "(first in line 70002)" in fails(command, "out/model.json", "new.csv", "-o", "scored.csv")
    pl.DataFrame({"x": [1.0] * 70_000 + [np.inf]}).write_parquet("new.parquet")
    assert "(first in row 70001 (counting from 1))" in fails(
        "predict", "out/model.json", "new.parquet", "-o", "scored.csv"
    )


def test_the_default_folder(succeeds: Run, toy: Path) -> None:
    result = succeeds("fit", toy, "--target", "ziel", "--no-report")
    assert sorted(os.listdir("bayesieve-output")) == ["features.csv", "model.json"]
    assert "report" not in result.stdout
    assert "AUC" not in result.stdout


def test_folders_are_made_and_names_may_be_anything(succeeds: Run, toy: Path) -> None:
    folder = Path("tief") / "日本 語"
    result = succeeds("fit", toy, "-t", "ziel", "-o", folder, "--folds", 2)
    assert str(folder / "model.json") in result.stdout
    assert "'ziel', 2 classes: nein 50.0 %, да 50.0 %" in result.stdout
    assert "größe" in result.stdout


def test_zero_folds_measure_nothing(succeeds: Run, toy: Path) -> None:
    result = succeeds("fit", toy, "-t", "ziel", "--folds", 0)
    assert "AUC" not in result.stdout
    assert Path("bayesieve-output", "report.html").exists()


def test_quiet(succeeds: Run, toy: Path) -> None:
    result = succeeds("fit", toy, "-t", "ziel", "--quiet", "--no-report")
    assert (result.stdout, result.stderr) == ("", "")


@pytest.mark.parametrize(
    ("name", "done"),
    [
        ("all", "model"),
        ("map", "model"),
        ("bayesian", "model"),
        ("compression", "model"),
        ("information-gain", "ranked"),
        ("imprecise-information-gain", "ranked"),
        ("mrmr", "ranked"),
        ("cfs", "subset"),
        ("boosted", "rounds made"),
    ],
)
def test_selectors(succeeds: Run, toy: Path, name: str, done: str) -> None:
    printed = succeeds("fit", toy, "-t", "ziel", "--selector", name, "--no-report").stdout
    assert re.search(rf"selector '{name}', [0-9,]+ .*{done}", printed)


def test_further_features_are_counted(succeeds: Run) -> None:
    printed = succeeds("fit", GERMAN, "-t", "class", "--selector", "information-gain", "--no-report").stdout
    assert "\nand 2 more features\n" in printed


def test_help_names_every_selector(succeeds: Run) -> None:
    from bayesieve.selection import SELECTORS

    text = "".join(succeeds("fit", "--help").stdout.split())  # names may be broken at their hyphens
    assert all(name in text for name in SELECTORS)


def test_a_cache_folder_changes_nothing(succeeds: Run, fails: Run, toy: Path) -> None:
    for folder, options in (("one", []), ("two", ["--cache", "codes"]), ("three", ["--cache", "codes"])):
        succeeds("fit", toy, "-t", "ziel", "-o", folder, *options, "--folds", 2)
    models = [json.loads(Path(folder, "model.json").read_text("utf-8")) for folder in ("one", "two", "three")]
    for model in models:
        del model["sha256"], model["search"]["seconds"], model["search"]["move_seconds"]
    assert models[0] == models[1] == models[2]
    kinds = sorted(name.partition("-")[0] for name in os.listdir("codes"))
    assert kinds == ["bayesieve", "codes", "search"]  # the manifest, and one file each
    line = fails("fit", toy, "-t", "ziel", "-o", "four", "--cache", "one")
    assert "one holds other files than a cache of bayesieve (features.csv); give a new or an empty folder" in line
    assert not Path("four").exists()


def test_runs_are_alike(succeeds: Run, toy: Path) -> None:
    for folder, jobs in (("one", 1), ("two", 2)):
        succeeds("fit", toy, "-t", "ziel", "-o", folder, "--seed", 3, "--jobs", jobs, "--no-report")
    first, second = (pl.read_csv(Path(folder, "features.csv")) for folder in ("one", "two"))
    assert first.equals(second)


def test_columns_left_out_and_kinds(succeeds: Run, toy: Path) -> None:
    options = ("--ignore", "id", "--ignore", "weight", "--categorical", "noise", "--no-report")
    succeeds("fit", toy, "-t", "ziel", *options)
    features = pl.read_csv("bayesieve-output/features.csv")
    assert set(features["feature"]) == {"größe", "farbe 色", "noise"}
    assert features.filter(pl.col("feature") == "noise")["kind"].item() == "categorical"


@pytest.mark.parametrize("selector", ["clusters", "wrapper"])
def test_constraints(succeeds: Run, fails: Run, selector: str) -> None:
    common = ("fit", GERMAN, "-t", "class", "--no-report", "-s", selector)
    succeeds(*common, "--constraint", "recall:bad=0.3", "--constraint", "log_loss=0.7")
    model = bayesieve.load(Path("bayesieve-output") / "model.json")
    assert model.selector.constraints == {"recall:bad": 0.3, "log_loss": 0.7}
    missed = succeeds(*common, "--constraint", "recall:bad=1", "--constraint", "accuracy=0.6").stderr
    assert "misses recall:bad > 1" in " ".join(missed.split())
    of_no_class = fails(*common, "--constraint", "recall:ugly=1")
    assert "must be 'recall:' or 'precision:' and one of the classes 'bad', 'good'" in of_no_class
    assert "such as recall:bad=0.85, got 'recall:bad'" in fails(*common, "--constraint", "recall:bad")
    others = fails(*common[:-1], "map", "--constraint", "accuracy=0.5")
    assert "--constraint needs --selector clusters or wrapper, got 'map'" in others


def test_refit(succeeds: Run, fails: Run) -> None:
    common = ("fit", GERMAN, "-t", "class", "--no-report", "-s")
    models = []
    for options in ((), ("--refit",)):
        succeeds(*common, "clusters", *options)
        models.append(bayesieve.load(Path("bayesieve-output") / "model.json"))
    assert [model.selector_.refit for model in models] == [False, True]
    n_rows = [model.naive_bayes_.class_count_.sum() for model in models]
    assert n_rows == [667, 1000]
    assert "--refit needs --selector clusters, got 'map'" in fails(*common, "map", "--refit")


def test_pairs(succeeds: Run) -> None:
    options = ("-t", "class", "--selector", "all", "--pairs", "age:duration, housing : purpose")
    printed = succeeds("fit", GERMAN, *options).stdout
    assert " of 22 features " in printed
    features = pl.read_csv("bayesieve-output/features.csv").filter(pl.col("kind") == "pair")
    assert sorted(features["feature"]) == ["age × duration", "housing × purpose"]
    succeeds("predict", "bayesieve-output/model.json", GERMAN, "-o", "predicted.csv")
    assert "housing × purpose" in succeeds("explain", "bayesieve-output/model.json", GERMAN, "--rows", 0).stdout
    assert "age × duration" in Path("bayesieve-output/report.html").read_text("utf-8")


def test_monotone(succeeds: Run) -> None:
    from bayesieve import load

    options = ("-t", "class", "--monotone", "duration=-1", "--monotone", "age = +1")
    succeeds("fit", GERMAN, *options, "--no-report")
    assert load("bayesieve-output/model.json").monotone == {"duration": -1, "age": 1}
    frame = pl.read_csv(GERMAN).head(1)
    rows = pl.concat([frame.with_columns(pl.lit(n).cast(frame["duration"].dtype).alias("duration")) for n in (4, 80)])
    short, long = load("bayesieve-output/model.json").predict_proba(rows.drop("class"))[:, 1]
    assert short > long + 0.1


def test_text_read_as_numbers(succeeds: Run, fails: Run) -> None:
    codes = ["10", "20", "30", "40"] * 20
    pl.DataFrame({"code": codes, "y": ["a", "a", "b", "b"] * 20}).write_parquet("codes.parquet")
    succeeds("fit", "codes.parquet", "-t", "y", "--numeric", "code", "--no-report")
    assert pl.read_csv("bayesieve-output/features.csv")["kind"].to_list() == ["numeric"]
    pl.DataFrame({"code": [*codes[1:], "x"], "y": ["a", "a", "b", "b"] * 20}).write_parquet("codes.parquet")
    assert "'code'" in fails("fit", "codes.parquet", "-t", "y", "--numeric", "code")


def test_weights_stand_for_repeated_rows(succeeds: Run, toy: Path) -> None:
    frame = pl.read_csv(toy)
    repeated = frame.select(pl.all().repeat_by("weight")).explode(pl.all())
    repeated.write_parquet("repeated.parquet")
    options = ("--no-report", "--ignore", "id")
    succeeds("fit", toy, "-t", "ziel", "--weight", "weight", "-o", "weighted", *options)
    succeeds("fit", "repeated.parquet", "-t", "ziel", "--ignore", "weight", "-o", "repeated", *options)
    first, second = (pl.read_csv(Path(folder, "features.csv")) for folder in ("weighted", "repeated"))
    assert first["feature"].to_list() == second["feature"].to_list()
    assert first["level_score"].to_list() == pytest.approx(second["level_score"].to_list(), rel=1e-9)


def test_rows_without_target_are_left_out_with_a_warning(succeeds: Run) -> None:
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0] * 10, "y": ["u", "v"] * 19 + [None, "v"]})
    frame.write_parquet("holes.parquet")
    result = succeeds("fit", "holes.parquet", "-t", "y", "--no-report")
    assert result.stderr == "warning: The target 'y' is missing in 1 row of 40, which are left out.\n"
    assert "39 rows" in result.stdout


@pytest.mark.parametrize("extension", ["tsv", "parquet", "arrow", "csv.gz"])
def test_formats(succeeds: Run, german: pl.DataFrame, fitted: Path, extension: str) -> None:
    path = Path(f"german.{extension}")
    if extension == "parquet":
        german.write_parquet(path)
    elif extension == "arrow":
        german.write_ipc(path)
    elif extension == "tsv":
        german.write_csv(path, separator="\t")
    else:
        import gzip

        path.write_bytes(gzip.compress(german.write_csv().encode()))
    succeeds("fit", path, "-t", "class", "--no-report")
    assert pl.read_csv("bayesieve-output/features.csv").equals(pl.read_csv(fitted / "features.csv"))


def test_a_class_of_one_row_is_not_measured(succeeds: Run) -> None:
    pl.DataFrame({"a": range(30), "y": ["u"] * 29 + ["v"]}).write_csv("rare.csv")
    result = succeeds("fit", "rare.csv", "-t", "y")
    assert "it needs at least two classes with two rows each; 'v' has only one" in result.stderr
    assert "AUC" not in result.stdout
    assert Path("bayesieve-output", "report.html").exists()


def test_nothing_to_find(succeeds: Run) -> None:
    pl.DataFrame({"constant": [1] * 40, "y": ["u", "v"] * 20}).write_csv("silent.csv")
    result = succeeds("fit", "silent.csv", "-t", "y", "--folds", 2)
    assert "kept    0 of 1 feature " in result.stdout
    assert "predictions are the class shares" in result.stdout


def broken(name: str) -> pl.DataFrame:
    """A table that nothing can be learnt from, for a reason."""
    n = 150
    y: dict[str, Any] = {
        "one class": ["a"] * n,
        "no class": pl.Series([None] * n, dtype=pl.String),
        "continuous": [i / 7 for i in range(n)],
        "many numbers": list(range(n)),
        "dates": pl.Series(range(n)).cast(pl.Date),
        "names": [f"name {i}" for i in range(n)],
        "lists": [[i] for i in range(n)],
    }
    return pl.DataFrame({"a": range(n), "y": y[name]})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("one class", "The target 'y' has only one class ('a')"),
        ("no class", "The target 'y' is missing in all rows."),
        ("continuous", "The target 'y' holds continuous numbers"),
        ("many numbers", "The target 'y' holds 150 different numbers"),
        ("dates", "The target 'y' holds dates"),
        ("names", "The target 'y' has 150 different values in 150 rows"),
        ("lists", "The target 'y' holds lists"),
    ],
)
def test_targets_that_are_no_classes(fails: Run, name: str, message: str) -> None:
    broken(name).write_parquet("broken.parquet")
    assert message in fails("fit", "broken.parquet", "-t", "y")
    assert not Path("bayesieve-output").exists()


@pytest.mark.parametrize("labels", [[0, 1], [0.0, 1.0], [True, False], [-5, 7]])
def test_targets_that_are_classes(succeeds: Run, labels: list[Any]) -> None:
    pl.DataFrame({"a": [1.0, 2.0] * 30, "y": labels * 30}).write_parquet("fine.parquet")
    succeeds("fit", "fine.parquet", "-t", "y", "--no-report")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-t", "Clas"], "has no column 'Clas' (--target); did you mean 'class'?"),
        (["-t", "qqqq"], "it has 'checking_status', 'duration', "),
        (["-t", "class", "--weight", "dura"], "'dura' (--weight); did you mean 'duration'?"),
        (["-t", "class", "--ignore", "nothing like it"], "'nothing like it' (--ignore)"),
        (["-t", "class", "--numeric", "Duration"], "did you mean 'duration'?"),
        (["-t", "class", "--numeric", "age", "--categorical", "age"], "cannot be both --numeric and --categorical"),
        (["-t", "class", "--ignore", "class"], "cannot be both --target and --ignore"),
        (["-t", "class", "--weight", "class"], "cannot be both --target and --weight"),
        (["-t", "class", "--weight", "housing"], "--weight must hold one number per row."),
        (["-t", "class", "--selector", "compresion"], "There is no selector 'compresion'; did you mean 'compression'?"),
        (["-t", "class", "--selector", "zzz"], "choose from 'all', 'map', 'bayesian', 'compression', 'wrapper', "),
        (["-t", "class", "--folds", "1"], "--folds must be a whole number from 2 up, got 1"),
        (["-t", "class", "--folds", "many"], "Invalid value for '--folds'"),
        (["-t", "class", "--seed", "-1"], "--seed must be None, a whole number from 0 to 4294967295, "),
        (["-t", "class", "--seed", "4294967296"], ", got 4294967296"),
        (["-t", "class", "--pairs", "-1"], "--pairs must be auto, a number, or pairs such as A:B,C:D, got '-1'"),
        (
            ["-t", "class", "--pairs", "age:Duration"],
            "no column 'Duration' of --pairs; did you mean 'duration'",
        ),
        (["-t", "class", "--pairs", "age:age"], "--pairs names the column 'age' twice in one pair"),
        (
            ["-t", "class", "--monotone", "age=up"],
            "--monotone must be a column and +1 or -1, such as income=+1, got 'age=up'",
        ),
        (["-t", "class", "--monotone", "Age=1"], "no column 'Age' of --monotone; did you mean 'age'"),
        (["-t", "class", "--monotone", "housing=1"], "'housing', whose categories have no"),
        (["-t", "class", "--calibrate", "weights", "--monotone", "age=1"], "monotone needs fitted evidence"),
        (["-t", "class", "--jobs", "0"], "--jobs must be a positive number of threads, -1 for all cores, "),
        (["-t", "class", "--sums", "-1"], "--sums must be a whole number of at least 1, got -1"),
        (["-t", "class", "--quantiles", "1"], "--quantiles must be a whole number of 2 or more, got 1"),
        (
            ["-t", "class", "--max-seconds", "nan"],
            "--max-seconds must be None or a number of seconds of at least 0",
        ),
        ([], "Missing option '--target'"),
    ],
)
def test_options_that_make_no_sense(fails: Run, options: list[str], message: str) -> None:
    assert message in fails("fit", GERMAN, *options)
    assert not Path("bayesieve-output").exists()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, -2.0], "Negative values in --weight"),
        ([1.0, None], "--weight contains NaN"),
        ([0.0, 0.0], "all weights are zero"),
        (["2024-05-01", "2024-05-02"], "--weight must hold one number per row"),
    ],
)
def test_weights_that_are_none(fails: Run, values: list[Any], message: str) -> None:
    pl.DataFrame({"a": [1, 2] * 9, "w": values * 9, "y": ["u", "v"] * 9}).write_csv("weights.csv")
    assert message in fails("fit", "weights.csv", "-t", "y", "--weight", "w")


def test_no_feature_left(fails: Run) -> None:
    pl.DataFrame({"a": [1, 2] * 9, "y": ["u", "v"] * 9}).write_csv("small.csv")
    assert "no column left to learn from besides 'a' and 'y'" in fails("fit", "small.csv", "-t", "y", "--ignore", "a")


def test_infinite_values_name_their_column(fails: Run) -> None:
    pl.DataFrame({"far": [1.0, float("inf")] * 9, "y": ["u", "v"] * 9}).write_parquet("far.parquet")
    assert "'far'" in fails("fit", "far.parquet", "-t", "y")


def test_output_that_is_a_file(fails: Run, toy: Path) -> None:
    assert "toy.csv is a file, not a folder" in fails("fit", toy, "-t", "ziel", "-o", toy)
    assert "part of it is a file" in fails("fit", toy, "-t", "ziel", "-o", toy / "inside")


def test_a_write_that_fails_leaves_the_old_file(
    fails: Run, toy: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "model.json").write_text("the old model", encoding="utf-8")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    line = fails("fit", toy, "-t", "ziel", "-o", folder, "-q", "--no-report")
    assert "model.json" in line
    assert "No space left on device" in line
    assert [path.name for path in folder.iterdir()] == ["model.json"]
    assert (folder / "model.json").read_text("utf-8") == "the old model"


def test_ctrl_c_while_measuring_ends_it(run: Run, toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import signal

    from bayesieve import SelectiveNB

    monkeypatch.setattr(SelectiveNB, "report", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    before = signal.getsignal(signal.SIGINT)
    result = run("fit", toy, "-t", "ziel", "-q")
    assert result.exit_code == 130
    assert result.stderr.startswith("error: Interrupted: model.json and features.csv are in bayesieve-output")
    assert sorted(os.listdir("bayesieve-output")) == ["features.csv", "model.json"]
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_during_a_search_keeps_the_best_subset(
    succeeds: Run, toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import signal

    from bayesieve.criteria import ErrorProbability

    of_scan, calls = ErrorProbability.of_scan, iter(range(10**9))

    def interrupted(self: Any, *arguments: Any) -> Any:
        if next(calls) == 1:
            signal.raise_signal(signal.SIGINT)
        return of_scan(self, *arguments)

    monkeypatch.setattr(ErrorProbability, "of_scan", interrupted)
    result = succeeds("fit", toy, "-t", "ziel", "-s", "wrapper", "--folds", 0)
    assert "warning: The search was interrupted after " in result.stderr
    assert "the best subset so far is written; run the same command again for a whole search." in result.stderr
    assert "trace_" not in result.stderr
    assert Path("bayesieve-output/model.json").exists()


def test_ctrl_c_elsewhere(run: Run, toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bayesieve.table import reading

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(reading, "read_table", interrupt)
    result = run("fit", toy, "-t", "ziel")
    assert (result.exit_code, result.stderr) == (130, "error: Interrupted.\n")


def test_an_unexpected_error_asks_to_be_reported(
    fails: Run, run: Run, toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bayesieve import SelectiveNB

    def stumble(*_: object, **__: object) -> None:
        raise ZeroDivisionError("here")

    monkeypatch.setattr(SelectiveNB, "fit", stumble)
    line = fails("fit", toy, "-t", "ziel", status=1)
    assert line == "error: Internal error (ZeroDivisionError: here); please report it with what --debug shows."
    shown = run("fit", toy, "-t", "ziel", "--debug").stderr
    assert "Traceback" in shown
    assert shown.endswith(f"{line}\n")


def test_warnings_of_the_library_are_lines(succeeds: Run, toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import warnings

    from bayesieve import SelectiveNB

    fit = SelectiveNB.fit

    def warn(self: Any, *arguments: Any) -> Any:
        warnings.warn("Something\nto know", UserWarning, stacklevel=1)
        warnings.warn("for programmers", DeprecationWarning, stacklevel=1)
        return fit(self, *arguments)

    monkeypatch.setattr(SelectiveNB, "fit", warn)
    assert succeeds("fit", toy, "-t", "ziel", "--no-report").stderr == "warning: Something to know.\n"


def weighted(path: Path) -> Path:
    rows = range(200)
    columns = {"x": [i % 2 + (i * 7 % 10) / 10 for i in rows], "name": [f"row {i}" for i in rows]}
    pl.DataFrame({**columns, "w": [1 / 200] * 200, "y": [i % 2 for i in rows]}).write_csv(path)
    return path


def test_cautions_are_lines_each_once(succeeds: Run, tmp_path: Path) -> None:
    table = weighted(tmp_path / "t.csv")
    lines = succeeds("fit", table, "-t", "y", "--weight", "w", "-o", "out", "--folds", 2).stderr.splitlines()
    warned = [line for line in lines if line.startswith("warning: ")]
    assert [line[:40] for line in warned] == [
        "warning: The row weights have a mean of ",
        "warning: Column 'name' looks like an ide",
        "warning: No feature is kept: every row i",
    ]
    assert "--normalize on the command line" in warned[0]
    assert "looks like an identifier" in (tmp_path / "out" / "report.html").read_text()


def test_normalize(succeeds: Run, fails: Run, tmp_path: Path) -> None:
    table = weighted(tmp_path / "t.csv")
    options = ("-t", "y", "--weight", "w", "--normalize", "--ignore", "name", "--no-report", "-q")
    assert succeeds("fit", table, *options).stderr == ""
    assert "--normalize scales row weights; name their column by --weight" in fails(
        "fit", table, "-t", "y", "--normalize"
    )


@pytest.mark.parametrize("separator", [",", ";"])
def test_names_that_are_patterns_elsewhere(succeeds: Run, separator: str) -> None:
    """Polars takes the names * and ^...$ of columns for patterns, also where a single column is worked on."""
    rows = [
        (i % 3 if i else "none", f"2020-01-0{i % 5 + 1}", "uvwx"[i % 4], "no" if i % 3 else "yes", 1) for i in range(60)
    ]
    for names in (("^a$", "*", "^.*$", "^y$", "^w$"), ("*", "^.+$", "a", "*y*", "w"), ("a", "b", "^$", "*", "^w")):
        lines = [separator.join(map(str, row)) for row in (names, *rows)]
        Path("odd.csv").write_text("\n".join(lines))
        succeeds("fit", "odd.csv", "-t", names[3], "--weight", names[4], "-s", "map", "--folds", 2)
        predicted = pl.read_csv(succeeds("predict", "bayesieve-output/model.json", "odd.csv").stdout.encode())
        assert predicted["prediction"].to_list()[1:] == [row[3] for row in rows[1:]]
        succeeds("explain", "bayesieve-output/model.json", "odd.csv", "--output", "why.csv")
    succeeds("compare", "odd.csv", "-t", "*", "-s", "map", "--folds", 2)


def test_sums_of_columns(succeeds: Run, tmp_path: Path) -> None:
    rows = [f"{a},{b},{'yes' if a + b == 1 else 'no'}" for a in (0, 1) for b in (0, 1) for _ in range(40)]
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["a,b,target", *rows]))
    printed = succeeds("fit", table, "-t", "target", "--sums", "10", "--pairs", "0", "-o", tmp_path / "out").stdout
    assert re.search(r"^a \+ b +numeric +3 ", printed, re.MULTILINE)
    predicted = succeeds("predict", tmp_path / "out" / "model.json", table, "-o", tmp_path / "predicted.csv")
    assert predicted.stderr.count("Error") == 0
    assert "yes" in (tmp_path / "predicted.csv").read_text()

"""`bayesieve fit` writes the model that the library fits, whole or not at all; wrong input gets one line."""

from __future__ import annotations

import datetime as dt
import gzip
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import bayesieve
from tests.cases import mostly_slow
from tests.cli.conftest import GERMAN, Run, invoke
from tests.limits import Limits, Watch, interrupted


def some_columns(*names: str) -> None:
    """Write the classes and a few columns of German credit to some.csv, which a default fit takes a moment for."""
    pl.read_csv(GERMAN).select(*names, "class").write_csv("some.csv")


def test_what_it_writes(fitted: Path) -> None:
    files = {path.name for path in fitted.iterdir()} - {"printed.txt"}
    assert files == {"model.json", "features.csv", "report.html"}
    features = pl.read_csv(fitted / "features.csv")
    assert features.columns == ["feature", "kind", "weight", "level_score", "importance", "n_levels"]
    assert features.height == 20
    assert features["importance"].is_sorted(descending=True)
    assert json.loads((fitted / "model.json").read_text("utf-8"))["target"] == "class"
    assert "checking_status" in (fitted / "report.html").read_text("utf-8")


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


def test_the_row_of_a_value_that_is_no_number() -> None:
    frame = pl.DataFrame({"x": [str(i) for i in range(40)], "y": ["a", "b"] * 20})
    frame[7, "y"], frame[7, "x"], frame[20, "x"], frame[30, "x"] = None, "unlabelled", "wrong", "again"
    frame.write_parquet("table.parquet")
    for options in ((), ("--memory-limit", "2GiB")):
        message = invoke("fit", "table.parquet", "-t", "y", "--numeric", "x", *options).stderr
        assert "but row 21 (counting from 1) holds 'wrong'" in message


def test_the_line_of_an_infinite_number_to_be_scored(succeeds: Run, fails: Run, limits: Limits) -> None:
    limits(scored_rows=3000, explained_rows=3000)
    random = np.random.default_rng(0)
    x, y = random.normal(size=300), random.integers(0, 2, 300)
    pl.DataFrame({"x": x + 3 * y, "y": y}).write_csv("train.csv")
    succeeds("fit", "train.csv", "-t", "y", "-s", "map", "--no-report", "-o", "out")
    Path("new.csv").write_text("x\n" + "1\n" * 7000 + "inf\n")
    for command in ("predict", "explain"):
        assert "(first in line 7002)" in fails(command, "out/model.json", "new.csv", "-o", "scored.csv")
    pl.DataFrame({"x": [1.0] * 7000 + [np.inf]}).write_parquet("new.parquet")
    assert "(first in row 7001 (counting from 1))" in fails(
        "predict", "out/model.json", "new.parquet", "-o", "scored.csv"
    )


def test_help_names_every_selector(succeeds: Run) -> None:
    from bayesieve.selection import SELECTORS

    text = "".join(succeeds("fit", "--help").stdout.split())  # names may be broken at their hyphens
    assert [name for name in SELECTORS if name not in text] == []


def test_columns_left_out_and_kinds(succeeds: Run, toy: Path) -> None:
    options = ("--ignore", "id", "--ignore", "weight", "--categorical", "noise", "--no-report")
    succeeds("fit", toy, "-t", "ziel", *options)
    features = pl.read_csv("bayesieve-output/features.csv")
    assert set(features["feature"]) == {"größe", "farbe 色", "noise"}
    assert features.filter(pl.col("feature") == "noise")["kind"].item() == "categorical"


@pytest.mark.parametrize("selector", ["clusters", "wrapper"])
def test_constraints(succeeds: Run, selector: str) -> None:
    common = ("fit", GERMAN, "-t", "class", "--no-report", "-s", selector)
    succeeds(*common, "--constraint", "recall:bad=0.3", "--constraint", "log_loss=0.7")
    model = bayesieve.load(Path("bayesieve-output") / "model.json")
    assert "constraints={'log_loss': 0.7, 'recall:bad': 0.3}" in model.selector
    missed = succeeds(*common, "--constraint", "recall:bad=1", "--constraint", "accuracy=0.6").stderr
    assert "violates recall:bad > 1" in " ".join(missed.split())


def test_refit(succeeds: Run) -> None:
    common = ("fit", GERMAN, "-t", "class", "--no-report", "-s")
    models = []
    for options in ((), ("--refit",)):
        succeeds(*common, "clusters", *options)
        models.append(bayesieve.load(Path("bayesieve-output") / "model.json"))
    assert ["refit=True" in model.selector for model in models] == [False, True]
    n_rows = [model.scorecard_.class_counts.sum() for model in models]
    assert n_rows == [667, 1000]


def test_pairs(succeeds: Run) -> None:
    options = ("-t", "class", "--selector", "all", "--pairs", "age:duration, housing : purpose")
    printed = succeeds("fit", GERMAN, *options, "--folds", 0).stdout
    assert " of 22 features " in printed
    features = pl.read_csv("bayesieve-output/features.csv").filter(pl.col("kind") == "pair")
    assert sorted(features["feature"]) == ["age × duration", "housing × purpose"]
    succeeds("predict", "bayesieve-output/model.json", GERMAN, "-o", "predicted.csv")
    assert "housing × purpose" in succeeds("explain", "bayesieve-output/model.json", GERMAN, "--rows", 0).stdout
    assert "age × duration" in Path("bayesieve-output/report.html").read_text("utf-8")


def test_monotone(succeeds: Run) -> None:
    from bayesieve import load

    options = ("-t", "class", "--monotone", "duration=-1", "--monotone", "age = +1", "--pairs", 7)
    some_columns("duration", "age", "credit_amount", "purpose")
    succeeds("fit", "some.csv", *options, "--no-report")
    assert load("bayesieve-output/model.json").monotone == {"duration": -1, "age": 1}
    assert load("bayesieve-output/model.json").pairs == 7
    frame = pl.read_csv("some.csv").head(1)
    rows = pl.concat([frame.with_columns(pl.lit(n).cast(frame["duration"].dtype).alias("duration")) for n in (4, 80)])
    short, long = load("bayesieve-output/model.json").predict_proba(rows.drop("class"))[:, 1]
    assert short > long + 0.1


def test_positive(succeeds: Run) -> None:
    from bayesieve import load

    options = ("-t", "class", "--positive", "bad", "--monotone", "duration=+1", "--folds", 0)
    some_columns("duration", "checking_status")
    succeeds("fit", "some.csv", *options)
    model = load("bayesieve-output/model.json")
    assert model.positive == "bad"
    assert model.summary().filter(feature="duration").select("monotone", "monotone_class").row(0) == (1, "bad")
    assert "never falls for bad" in Path("bayesieve-output/report.html").read_text("utf-8")
    succeeds("predict", "bayesieve-output/model.json", GERMAN, "--reasons", 1, "-o", "reasons.csv")
    reasons, X = pl.read_csv("reasons.csv"), pl.read_csv("some.csv").drop("class")
    assert reasons["reason_1"][0] == model.reasons(X[:1], 1, target_class="bad")["text"][0]
    measured = succeeds("evaluate", "bayesieve-output/model.json", GERMAN).stdout
    assert re.search(r"selection_rate +bad", measured)


def test_text_read_as_numbers(succeeds: Run, fails: Run) -> None:
    codes = ["10", "20", "30", "40"] * 20
    pl.DataFrame({"code": codes, "y": ["a", "a", "b", "b"] * 20}).write_parquet("codes.parquet")
    succeeds("fit", "codes.parquet", "-t", "y", "--numeric", "code", "--no-report")
    assert pl.read_csv("bayesieve-output/features.csv")["kind"].to_list() == ["numeric"]
    pl.DataFrame({"code": [*codes[1:], "x"], "y": ["a", "a", "b", "b"] * 20}).write_parquet("codes.parquet")
    assert "'code'" in fails("fit", "codes.parquet", "-t", "y", "--numeric", "code")


def test_rows_without_target_are_left_out_with_a_warning(succeeds: Run) -> None:
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0] * 10, "y": ["u", "v"] * 19 + [None, "v"]})
    frame.write_parquet("holes.parquet")
    result = succeeds("fit", "holes.parquet", "-t", "y", "--no-report")
    assert result.stderr == "warning: The target 'y' is missing in 1 row of 40, which were skipped.\n"
    assert "39 rows" in result.stdout


@pytest.mark.parametrize("labels", [[0, 1], [0.0, 1.0], [True, False], [-5, 7]])
def test_targets_that_are_classes(succeeds: Run, labels: list[Any]) -> None:
    pl.DataFrame({"a": [1.0, 2.0] * 30, "y": labels * 30}).write_parquet("fine.parquet")
    succeeds("fit", "fine.parquet", "-t", "y", "--no-report")


def test_a_write_that_fails_leaves_the_old_file(fails: Run, toy: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "model.json").write_text("the old model", encoding="utf-8")
    with interrupted(os, "fsync", error=OSError(28, "No space left on device")):
        line = fails("fit", toy, "-t", "ziel", "-o", folder, "-q", "--no-report")
    assert "model.json" in line
    assert "No space left on device" in line
    assert [path.name for path in folder.iterdir()] == ["model.json"]
    assert (folder / "model.json").read_text("utf-8") == "the old model"


@pytest.mark.usefixtures("interrupts")
def test_ctrl_c_while_measuring_ends_it(run: Run, toy: Path, watch: Watch) -> None:
    import signal

    from bayesieve import SelectiveNB

    watch(SelectiveNB, "report", lambda *_: signal.raise_signal(signal.SIGINT))
    before = signal.getsignal(signal.SIGINT)
    result = run("fit", toy, "-t", "ziel", "-q")
    assert result.exit_code == 130
    assert result.stderr.startswith("error: Interrupted: model.json and features.csv are in bayesieve-output")
    assert sorted(os.listdir("bayesieve-output")) == ["features.csv", "model.json"]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.usefixtures("interrupts")
def test_ctrl_c_during_a_search_keeps_the_best_subset(succeeds: Run, toy: Path, watch: Watch) -> None:
    import signal

    from bayesieve.criteria import ErrorProbability

    calls = iter(range(10**9))
    watch(ErrorProbability, "sums", lambda *_: next(calls) == 1 and signal.raise_signal(signal.SIGINT))
    result = succeeds("fit", toy, "-t", "ziel", "-s", "wrapper", "--folds", 0)
    assert "warning: The search was interrupted after " in result.stderr
    assert "the best model so far was written. Run the same command again for a complete search." in result.stderr
    assert "trace_" not in result.stderr
    assert Path("bayesieve-output/model.json").exists()


def test_an_unexpected_error_asks_to_be_reported(fails: Run, run: Run, toy: Path) -> None:
    from bayesieve import SelectiveNB

    with interrupted(SelectiveNB, "fit", error=ZeroDivisionError("here")):
        line = fails("fit", toy, "-t", "ziel", status=1)
    assert line == "error: Internal error (ZeroDivisionError: here); please report it with the output of --debug."
    with interrupted(SelectiveNB, "fit", error=ZeroDivisionError("here")):
        shown = run("fit", toy, "-t", "ziel", "--debug").stderr
    assert "Traceback" in shown
    assert shown.endswith(f"{line}\n")


def test_warnings_of_the_library_are_lines(succeeds: Run, toy: Path, watch: Watch) -> None:
    import warnings

    from bayesieve import SelectiveNB

    def warn(*_: Any) -> None:
        warnings.warn("Something\nto know", UserWarning, stacklevel=1)
        warnings.warn("for programmers", DeprecationWarning, stacklevel=1)

    watch(SelectiveNB, "fit", warn)
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
        "warning: No feature is in the model: it ",
    ]
    assert "--normalize on the command line" in warned[0]
    assert "looks like an identifier" in (tmp_path / "out" / "report.html").read_text()


def test_normalize(succeeds: Run, tmp_path: Path) -> None:
    table = weighted(tmp_path / "t.csv")
    options = ("-t", "y", "--weight", "w", "--normalize", "--ignore", "name", "--no-report", "-q")
    assert succeeds("fit", table, *options).stderr == ""


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


REPORT = ["features.csv", "model.json", "report.html"]


@pytest.mark.parametrize(
    ("options", "files", "is_measured"),
    [
        (("--no-report",), REPORT[:2], False),
        (("--folds", 0), REPORT, False),
        (("--folds", 2, "--output", "tief/日本 語"), REPORT, True),
    ],
)
def test_what_options_write(
    succeeds: Run, toy: Path, options: tuple[object, ...], files: list[str], is_measured: bool
) -> None:
    printed = succeeds("fit", toy, "-t", "ziel", "-s", "map", *options).stdout
    folder = options[-1] if "--output" in options else "bayesieve-output"
    assert sorted(os.listdir(str(folder))) == files
    assert f"{folder}/model.json" in printed
    assert ("AUC" in printed) == is_measured
    assert "'ziel', 2 classes: nein 50.0 %, да 50.0 %" in printed
    silent = succeeds("fit", toy, "-t", "ziel", "-s", "map", "--quiet", *options)
    assert (silent.stdout, silent.stderr) == ("", "")


@pytest.mark.parametrize(
    ("name", "done"),
    mostly_slow(
        [("all", "model"), ("information-gain", "ranked"), ("cfs", "subset"), ("boosted", "rounds made")],
        [("information-gain", "ranked"), ("boosted", "rounds made")],
    ),
)
def test_selectors(succeeds: Run, name: str, done: str) -> None:
    printed = succeeds("fit", GERMAN, "-t", "class", "--selector", name, "--no-report").stdout
    assert re.search(rf"selector '{name}', [0-9,]+ .*{done}", printed)
    assert ("\nand " in printed) == (name in ("all", "information-gain"))  # further features


def test_what_it_prints(fitted: Path) -> None:
    lines = (fitted / "printed.txt").read_text("utf-8").splitlines()
    assert lines[:2] == ["table   1,000 rows, 20 features", "target  'class', 2 classes: good 70.0 %, bad 30.0 %"]
    assert re.match(r"kept    \d+ of 20 features \(selector 'compression', .* evaluated in (?!0\.0 s)", lines[2])
    assert ["checking_status", "categorical", "4"] in [line.split()[:3] for line in lines[5:15]]
    figures = dict(re.findall(r"^(AUC|accuracy|log loss|compression rate) +([0-9.]+)", "\n".join(lines), re.M))
    assert list(figures) == ["AUC", "accuracy", "log loss", "compression rate"]
    assert 0.7 < float(figures["AUC"]) < 0.85
    assert [line.split()[0] for line in lines[-3:]] == ["model", "features", "report"]
    assert "\x1b" not in "".join(lines)


N = 150
NO_TARGETS: dict[str, tuple[Any, str]] = {
    "one class": (["a"] * N, "only one class ('a')"),
    "no class": (pl.Series([None] * N, dtype=pl.String), "missing in all rows"),
    "continuous": ([i / 7 for i in range(N)], "continuous"),
    "many numbers": (list(range(N)), "150 different numbers"),
    "dates": (pl.Series(range(N)).cast(pl.Date), "date"),
    "names": ([f"name {i}" for i in range(N)], "150 different values in 150 rows"),
    "lists": ([[i] for i in range(N)], "list"),
    "structs": ([{"a": i % 2} for i in range(N)], "struct"),
}


@pytest.mark.parametrize("what", NO_TARGETS)
def test_targets_that_are_no_classes(fails: Run, what: str) -> None:
    labels, message = NO_TARGETS[what]
    pl.DataFrame({"a": range(N), "y": labels}).write_parquet("broken.parquet")
    line = fails("fit", "broken.parquet", "-t", "y")
    assert message in line
    assert "The target 'y'" in line
    assert message in fails("fit", "broken.parquet", "-t", "y", "--memory-limit", "1GiB")
    assert not Path("bayesieve-output").exists()


def test_tables_with_little_to_learn(succeeds: Run, fails: Run) -> None:
    pl.DataFrame({"constant": [1] * 40, "y": ["u", "v"] * 20}).write_csv("silent.csv")
    printed = succeeds("fit", "silent.csv", "-t", "y", "--folds", 2).stdout
    assert "kept    0 of 1 feature " in printed
    assert "predictions are the class shares" in printed
    assert "besides 'constant' and 'y'" in fails("fit", "silent.csv", "-t", "y", "--ignore", "constant")
    pl.DataFrame({"a": range(30), "y": ["u"] * 29 + ["v"]}).write_csv("rare.csv")
    result = succeeds("fit", "rare.csv", "-t", "y", "-o", "rare")
    assert "'v' has only one" in result.stderr
    assert "AUC" not in result.stdout
    assert Path("rare", "report.html").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("-t Clas", "has no column 'Clas' (--target); did you mean 'class'?"),
        ("-t qqqq", "it has 'checking_status', 'duration', "),
        ("--weight dura", "'dura' (--weight); did you mean 'duration'?"),
        ("--ignore none", "'none' (--ignore)"),
        ("--numeric Duration", "did you mean 'duration'?"),
        ("--numeric age --categorical age", "both --numeric and --categorical"),
        ("--ignore class", "both --target and --ignore"),
        ("--weight class", "both --target and --weight"),
        ("--weight housing", "--weight must contain one number for each row"),
        ("--normalize", "--weight"),
        ("--selector compresion", "did you mean 'compression'?"),
        ("--selector zzz", "choose from 'all', 'map', 'bayesian', 'compression', 'wrapper', "),
        ("--folds 1", "--folds must be a whole number from 2 up, or 0, got 1"),
        ("--folds many", "'--folds'"),
        ("--seed -1", "--seed must be"),
        ("--pairs -1", "--pairs must be auto, a number, or pairs such as A:B,C:D, got '-1'"),
        ("--pairs age:Duration", "did you mean 'duration'"),
        ("--pairs age:age", "--pairs names the column 'age' twice"),
        ("--monotone age=up", "--monotone must be a column and +1 or -1, such as income=+1, got 'age=up'"),
        ("--monotone age=2", "--monotone must be +1 or -1 for the column 'age'"),
        ("--monotone Age=1", "did you mean 'age'"),
        ("--positive Bad", "There is no class 'Bad'; did you mean 'bad'?"),
        ("--positive 1", "There is no class '1'; choose from 'bad' and 'good'"),
        ("--monotone housing=1", "'housing', whose categories have no"),
        ("--calibrate weights --monotone age=1", "monotone needs fitted contributions"),
        ("--calibrate all", "--calibrate must be"),
        ("--prior none", "--prior must be"),
        ("--jobs 0", "--jobs must be a positive number of threads"),
        ("--quantiles 1", "--quantiles must be"),
        ("--max-seconds nan", "--max-seconds must be"),
        ("--min-count 0", "--min-count must be"),
        ("--min-count 5 --calibrate none", "--min-count needs --calibrate levels or cells"),
        ("--min-count 5 -s map", "--min-count needs --calibrate levels or cells"),
        ("--labels none.yaml", "none.yaml cannot be read"),
        ("--refit -s map", "--refit needs --selector clusters, got 'map'"),
        ("--constraint accuracy=0.5 -s map", "--constraint needs --selector clusters or wrapper, got 'map'"),
        ("--constraint recall:bad -s wrapper", "such as recall:bad=0.85, got 'recall:bad'"),
        ("--constraint recall:ugly=1 -s wrapper", "one of the classes 'bad', 'good'"),
    ],
)
def test_options_that_make_no_sense(fails: Run, options: str, message: str) -> None:
    target = () if options.startswith("-t") else ("-t", "class")
    assert message in fails("fit", GERMAN, *target, *options.split())
    assert not Path("bayesieve-output").exists()


def test_labels_and_hidden_counts(run: Run, fails: Run) -> None:
    labels = Path("labels.yaml")
    labels.write_text("age: {name: Age, unit: years}\nhousing: {levels: {own: a home, tent: a tent}}\n")
    some_columns("age", "housing", "duration")
    result = run("fit", "some.csv", "-t", "class", "--labels", labels, "--min-count", 5, "--folds", 0)
    assert result.exit_code == 0
    assert result.stderr.count("tent") == 1  # a warning: the model is not lost
    model = bayesieve.load("bayesieve-output/model.json")
    assert model.scorecard_.provenance["labels"]["age"] == {"name": "Age", "unit": "years"}
    assert all((feature.counts % 5 == 0).all() for feature in model.scorecard_.features)
    assert "Age" in Path("bayesieve-output/report.html").read_text(encoding="utf-8")
    labels.write_text("agee: Age\n")
    assert "did you mean 'age'?" in fails("fit", GERMAN, "-t", "class", "--labels", labels)


# ------------------------------------------------------------------------------------------------- time, and test rows


def campaign() -> pl.DataFrame:
    """Rows of 400 days; the share of yes rises from 3 to 47 %."""
    rng, n = np.random.default_rng(4), 2000
    y = rng.random(n) < np.linspace(0.03, 0.47, n)
    start = pl.Series([dt.date(2023, 1, 1)]).cast(pl.Int32)[0]
    return pl.DataFrame(
        {
            "signal": rng.normal(size=n) + y,
            "day": pl.Series(start + np.arange(n) // 5).cast(pl.Int32).cast(pl.Date),
            "y": np.where(y, "yes", "no"),
        }
    )


def printed(result: Any, name: str) -> str:
    (line,) = (line for line in result.stdout.splitlines() if line.startswith(name))
    return line


def test_both_figures_are_printed_where_the_order_matters(succeeds: Run) -> None:
    campaign().drop("day").write_csv("rows.csv")
    result = succeeds("fit", "rows.csv", "-t", "y", "-s", "map")
    assert "The order of the rows is informative" in result.stderr
    assert "Trained on earlier rows, measured on the last 20 % of the 2,000 training rows" in result.stdout
    assert re.search(r"AUC +0\.\d{4}; later rows: 0\.\d{4}", result.stdout)
    campaign().drop("day").sample(fraction=1.0, shuffle=True, seed=1).write_csv("shuffled.csv")
    result = succeeds("fit", "shuffled.csv", "-t", "y", "-s", "map")
    assert "order" not in result.stderr
    assert "later rows" not in result.stdout


@pytest.mark.parametrize("in_pieces", [False, True])
def test_time_orders_the_rows_and_is_not_learnt_from(succeeds: Run, in_pieces: bool) -> None:
    campaign().sample(fraction=1.0, shuffle=True, seed=1).write_parquet("rows.parquet")
    more = ("--memory-limit", "1GiB") if in_pieces else ()
    result = succeeds("fit", "rows.parquet", "-t", "y", "--time", "day", "-s", "map", "-o", "out", *more)
    model = bayesieve.load("out/model.json")
    assert model.feature_names_in_.tolist() == ["signal"]
    later = campaign()[1600:].with_columns(pl.col("y"))
    before = bayesieve.SelectiveNB("map", random_state=0).fit(campaign()[:1600][["signal"]], campaign()[:1600]["y"])
    auc = before.report("report.html", later[["signal"]], later["y"], held_out=True).auc
    assert printed(result, "AUC").endswith(f"later rows: {auc:.4f}")


MOMENTS = [("day", "2023-09-01"), ("number", "243"), ("text", "2023-09-01 00:00:00")]


@pytest.mark.parametrize(("time", "value"), mostly_slow(MOMENTS, [MOMENTS[0], MOMENTS[2]]))
def test_rows_from_a_moment_on_are_only_measured(succeeds: Run, time: str, value: str) -> None:
    table = campaign().with_columns(
        number=pl.Series(np.arange(2000) // 5).cast(float), text=pl.col("day").cast(pl.Datetime).cast(pl.String)
    )
    others = [name for name in ("day", "number", "text") if name != time]
    late = pl.col("day") >= dt.date(2023, 9, 1)
    table.sample(fraction=1.0, shuffle=True, seed=2).write_parquet("rows.parquet")
    options = [word for name in others for word in ("--ignore", name)]
    result = succeeds("fit", "rows.parquet", "-t", "y", "--time", time, "--test-from", value, "-s", "map", *options)
    model = bayesieve.load("bayesieve-output/model.json")
    assert model.n_rows_ == table.filter(~late).height
    test = table.filter(late)
    performance = model.report("report.html", test[["signal"]], test["y"], held_out=True)
    assert printed(result, "AUC").endswith(f"{performance.auc:.4f}")
    assert "Measured on held-out rows that the model was not trained on." in result.stdout
    # The same rows in a file give the same figures.
    table.filter(~late).write_parquet("before.parquet")
    test.write_csv("test.csv")
    drop = [word for name in ("day", "number", "text") for word in ("--ignore", name)]
    again = succeeds("fit", "before.parquet", "-t", "y", "--test", "test.csv", "-s", "map", *drop)
    assert printed(again, "log loss") == printed(result, "log loss")
    pieces = succeeds(
        "fit", "before.parquet", "-t", "y", "--test", "test.csv", "-s", "map", "--memory-limit", "1GiB", *drop
    )
    assert printed(pieces, "log loss") == printed(result, "log loss")


def test_test_rows_of_one_class_and_new_values_are_measured(succeeds: Run) -> None:
    table = campaign().with_columns(job=pl.Series(["a", "b"] * 1000))
    table.write_csv("rows.csv")
    table.filter(pl.col("y") == "no").with_columns(job=pl.lit("7")).head(50).write_csv("test.csv")
    result = succeeds("fit", "rows.csv", "-t", "y", "--test", "test.csv", "-s", "map", "--ignore", "day")
    assert printed(result, "AUC").endswith("nan")
    assert "held-out rows" in (Path("bayesieve-output") / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--test-from 2023-09-01", "--test-from needs --time"),
        ("--time day --test-from soon", "--test-from must be a date such as 2024-01-31, as 'day' holds, got 'soon'"),
        ("--time signal --test-from soon", "--test-from must be a number"),
        ("--time day --test-from 2033-01-01", "No rows have 'day' of at least 2033-01-01"),
        ("--time day --test-from 2013-01-01", "All rows have 'day' of at least 2013-01-01"),
        ("--time day --test-from 2023-09-01 --memory-limit 1GiB", "--test-from needs all rows in memory"),
        ("--time dya", "no column 'dya' (--time); did you mean 'day'?"),
        ("--time y", "cannot be both --target and --time"),
        ("--time text", "'text' of times must contain only numbers, or dates"),
        ("--time gappy --test-from 3", "'gappy' has no value in row 5"),
        ("--test nowhere.csv", "nowhere.csv"),
        ("--test unlabelled.csv", "unlabelled.csv has no column 'y' (--target)"),
        ("--test narrow.csv", "narrow.csv lacks feature columns: 'signal'"),
        ("--test rows.csv --no-report", "add test rows to the report"),
        ("--test rows.csv --time day --test-from 2023-09-01", "give only one of them"),
    ],
)
def test_impossible_test_rows(fails: Run, options: str, message: str) -> None:
    gappy = pl.Series([None if i == 5 else i for i in range(2000)])
    table = campaign().with_columns(text=pl.lit("words"), gappy=gappy)
    table.write_csv("rows.csv")
    table.drop("y").write_csv("unlabelled.csv")
    table.drop("signal").write_csv("narrow.csv")
    assert message in fails("fit", "rows.csv", "-t", "y", "-s", "map", *options.split())


def test_a_class_that_only_test_rows_have_loses_no_model(run: Run) -> None:
    campaign().write_csv("rows.csv")
    campaign().with_columns(y=pl.lit("maybe")).write_csv("new.csv")
    result = run("fit", "rows.csv", "-t", "y", "-s", "map", "--test", "new.csv")
    assert result.exit_code == 2
    assert "the label 'maybe', which is not a class of the model" in result.stderr.splitlines()[-1]
    assert bayesieve.load("bayesieve-output/model.json").n_rows_ == 2000


def test_the_report_tells_files_and_purpose(succeeds: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({"signal": rng.normal(size=300)}).with_columns(
        y=pl.when(pl.col("signal") > 0).then(1).otherwise(0)
    )
    frame[:200].write_csv("rows.csv")
    frame[200:].write_csv("test.csv")
    succeeds("fit", "rows.csv", "-t", "y", "--test", "test.csv", "-s", "map", "--purpose", "To try <it>", "-o", "found")
    page = (tmp_path / "found" / "report.html").read_text("utf-8")
    for name in ("rows.csv", "test.csv"):
        digest = hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
        assert f"<dd>{name}, SHA-256 {digest}</dd>" in page
    assert "<dd>To try &lt;it&gt;</dd>" in page
    heads = ("Training rows", "Test rows")
    assert all(f'<th scope="col" class="right">{name}</th>' in page for name in heads)
    assert '<th scope="col" class="right">Folds</th>' not in page


def test_a_method_of_a_paper_is_fitted_as_printed(succeeds: Run, fails: Run, tmp_path: Path) -> None:
    options = ("--target", "class", "--no-report", "--categorical", "age")
    succeeds("fit", GERMAN, *options, "--as-published", "snb(map)", "-o", "found")
    frame = pl.read_csv(GERMAN)
    expected = bayesieve.as_published("SNB(MAP)").set_params(
        encoder=bayesieve.TableEncoder(kinds={"age": "categorical"})
    )
    expected.fit(frame.drop("class"), frame["class"])
    model = bayesieve.load(tmp_path / "found" / "model.json")
    np.testing.assert_array_equal(model.feature_weights_, expected.feature_weights_)
    assert "Did you mean 'SNB(MAP)'" in fails("fit", GERMAN, *options, "--as-published", "SNB(MAPS)")
    message = fails("fit", GERMAN, *options, "--as-published", "NB", "--pairs", "0")
    assert message == "error: --as-published sets --pairs; give only one of them."

"""`bayesieve compare` on several tables: checked before work starts, read in turn, ranked over tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve.classifier import SelectiveNB as Classifier
from bayesieve.cli.commands import CommandError
from bayesieve_lab.comparison.command import ComparedTable, table_names
from bayesieve_lab.comparison.differences import average_ranks, critical_difference, friedman
from lab.tests.test_compare_command import notes
from tests.cli.conftest import GERMAN, Run, plain_surroundings  # noqa: F401
from tests.limits import Watch
from tests.report.markup import payload

N_ROWS = 90


def table(path: Path, seed: int, noise: float, target: str = "y") -> Path:
    """Three features, two of which know something of two classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(N_ROWS) % 2
    columns = {f"x{i}": (y * (i < 2) + rng.normal(0, noise, N_ROWS)).round(3) for i in range(3)}
    path.parent.mkdir(exist_ok=True)
    pl.DataFrame({**columns, target: [("no", "yes")[label] for label in y]}).write_csv(path)
    return path


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    return [table(tmp_path / f"{name}.csv", i, 0.4 + 0.3 * i) for i, name in enumerate(("one", "two", "three"))]


def test_ranks_over_tables(succeeds: Run, three: list[Path], tmp_path: Path) -> None:
    options = ("--folds", 3, "-s", "all,map,compression", "--measure", "brier", "-o", "found")
    result = succeeds("compare", *three, "--target", "y", *options)
    lines = result.stdout.splitlines()
    assert lines[0] == "3 methods on 3 tables by 3-fold cross-validation."
    frame = pl.read_csv(tmp_path / "found" / "folds.csv")
    assert frame["data"].unique(maintain_order=True).to_list() == ["one", "two", "three"]
    methods = ["all", "map", "compression"]
    briers = frame.group_by("data", "method", maintain_order=True).agg(
        pl.col("brier").mean(), pl.col("brier").std().alias("spread")
    )
    matrix = briers["brier"].to_numpy().reshape(3, 3)
    assert lines[2].split() == ["table", "rows", "best", "Brier", "score", "beats", "next", "Brier", "score"]
    for line, name, own in zip(lines[3:6], ("one", "two", "three"), matrix, strict=True):
        first, second = np.argsort(own.round(12), kind="stable")[:2]
        cells = line.split()
        assert cells[:4] == [name, str(N_ROWS), methods[first], f"{own[first]:.4f}"]
        assert cells[5:10] == [cells[5], "of", "2", methods[second], f"{own[second]:.4f}"]
    ranks = average_ranks(matrix, higher_is_better=False)
    order = np.argsort(ranks.round(9), kind="stable")
    accuracy = frame.group_by("data", "method", maintain_order=True).agg(pl.col("accuracy").mean())["accuracy"]
    assert [line.split()[:2] for line in lines[8:11]] == [
        [methods[j], f"{accuracy.to_numpy().reshape(3, 3)[:, j].mean():.4f}"] for j in order
    ]
    standings = [line.split() for line in lines[13:16]]
    assert [(row[0], row[1], row[5]) for row in standings] == [
        (methods[j], f"{matrix[:, j].mean():.4f}", f"{ranks[j]:.2f}") for j in order
    ]
    assert sum(int(row[6]) for row in standings) == (matrix <= matrix.min(axis=1, keepdims=True) + 1e-12).sum()
    assert sum(int(row[7]) for row in standings) == sum(int(row[8]) for row in standings)
    assert lines[17].startswith("By Brier score, ")
    assert f"the best average rank over 3 tables, {ranks.min():.2f} " in lines[17]
    assert f"p {friedman(matrix, higher_is_better=False).f_p_value:.3f}" in lines[18]
    assert f"ranks differ significantly if at least {critical_difference(3, 3):.2f} apart" in lines[19]
    assert "3 tables are too few for a significant difference between 3 methods; at least 7 are needed." in lines[20]
    page = (tmp_path / "found" / "comparison.html").read_text(encoding="utf-8")
    assert "Methods compared on 3 tables" in page
    assert f"critical difference {critical_difference(3, 3):.2f}" in json.dumps(payload(page)["charts"])
    assert lines[-3:] == [
        "report   found/comparison.html", "folds    found/folds.csv", "results  found/results.jsonl",
    ]  # fmt: skip


def test_each_table_is_read_in_turn_and_a_second_run_goes_on(
    succeeds: Run, three: list[Path], watch: Watch, tmp_path: Path
) -> None:
    read: list[str] = []

    def results_when_read(self: ComparedTable, *_: Any) -> None:
        n_results = 0
        if (kept := tmp_path / "found" / "results.jsonl").exists():
            n_results = sum('"result"' in line for line in kept.read_text().splitlines())
        read.append(f"{self.name} {n_results}")

    watch(ComparedTable, "read", results_when_read)
    known = ("--target", "y", "--folds", 2, "-s", "all,map", "-o", "found", "-j", 1)
    succeeds("compare", *three[:2], *known)
    assert read == ["one 0", "two 4"]  # the second when the folds of the first are done
    del read[:]
    result = succeeds("compare", *three, *known)
    assert "8 of 12 folds of methods were already finished." in notes(result)
    assert sorted(read) == [
        "one 12",
        "three 8",
        "two 12",
    ]  # those that are finished only to see whether they are the same
    straight = succeeds("compare", *three, *known[:-3], "straight", "-j", 2)
    assert straight.exit_code == 0
    seconds = ("fit_seconds", "predict_seconds")
    found, other = (pl.read_csv(tmp_path / name / "folds.csv").drop(seconds) for name in ("found", "straight"))
    assert found.equals(other)


def test_kept_results_of_a_table_that_changed_are_refused(run: Run, succeeds: Run, three: list[Path]) -> None:
    known = ("--target", "y", "--folds", 2, "-s", "all", "-o", "found")
    succeeds("compare", *three, *known)
    for changed in (("--ignore", "x1"), ("--weight", "x0")):
        if changed[0] == "--weight":
            frame = pl.read_csv(three[0]).with_columns(x0=pl.col("x0").abs())
            for path in three:
                frame.write_csv(path)
        result = run("compare", *three, *known, *changed)
        assert result.exit_code == 2
        assert "holds results of another table named 'one'" in notes(result)[-1]


def test_warnings_and_errors_name_the_table(run: Run, succeeds: Run, three: list[Path], tmp_path: Path) -> None:
    frame = pl.read_csv(three[1])
    frame.with_columns(y=pl.when(pl.int_range(pl.len()) > 2).then("y")).write_csv(three[1])
    known = ("--target", "y", "--folds", 2, "-s", "all", "-j", 1, "-o")
    result = succeeds("compare", *three, *known, "found")
    assert f"warning: {three[1]}: The target 'y' is missing in 3 rows of 90, which were skipped." in notes(result)
    frame.with_columns(y=pl.lit("yes")).write_csv(three[1])
    result = run("compare", *three, *known, "other")
    assert result.exit_code == 2
    assert notes(result)[-1].endswith(
        f"{three[1]}: The target 'y' has only one class ('yes'); at least two are needed."
    )
    kept = (tmp_path / "other" / "results.jsonl").read_text().splitlines()
    assert sum('"result"' in line for line in kept) == 2  # the first table is not lost


def test_a_method_that_fails_on_one_table(succeeds: Run, three: list[Path], watch: Watch, tmp_path: Path) -> None:
    pl.read_csv(three[1]).drop("x2").write_csv(three[1])

    def fail(self: Any, coded: Any, *_: Any) -> None:
        if (self.selector == "map" and coded.n_features < 3) or coded.n_features < 2:
            raise ValueError("It is too narrow.")

    watch(Classifier, "fit_coded", fail)
    known = ("--target", "y", "--folds", 2, "-s", "map,all", "-o")
    result = succeeds("compare", *three, *known, "found")
    assert notes(result) == ["warning: 'map' failed on 2 folds of 'two': It is too narrow."]
    lines = [line.split() for line in result.stdout.splitlines()]
    assert next(line for line in lines if line[:1] == ["two"])[-2:] == ["-", "-"]  # there is no second there
    assert [line[1:5] for line in lines if line[:1] == ["map"]] == [["-"] * 4, ["-"] * 4]
    assert "2 of 3 sets" in (tmp_path / "found" / "comparison.html").read_text(encoding="utf-8")
    # Nobody has figures of a table: it is left out of the ranks.
    pl.read_csv(three[1]).drop("x1").write_csv(three[1])
    result = succeeds("compare", *three, *known, "other")
    assert "over 2 tables" in result.stdout
    assert ["two", "90", *["-"] * 5] in [line.split() for line in result.stdout.splitlines()]


def test_names_are_as_long_as_it_takes(tmp_path: Path) -> None:
    def names(*files: str) -> list[str]:
        return table_names([tmp_path / file for file in files], ["y"] * len(files))

    assert names("iris.csv", "wine.csv.gz", "a.b.parquet") == ["iris", "wine", "a.b"]
    assert names("iris.csv", "iris.parquet", "wine.csv") == ["iris.csv", "iris.parquet", "wine"]
    assert names("a/iris.csv", "b/iris.csv", "wine.csv") == ["a/iris.csv", "b/iris.csv", "wine"]
    assert names("a/x/iris.csv", "b/x/iris.csv") == ["a/x/iris.csv", "b/x/iris.csv"]
    both = table_names([tmp_path / "iris.csv"] * 2, ["species", "size"])
    assert both == ["iris, target species", "iris, target size"]
    with pytest.raises(CommandError, match="given twice"):
        table_names([tmp_path / "iris.csv", tmp_path / "x" / ".." / "iris.csv"], ["y", "y"])


def test_a_pattern_is_one_table(succeeds: Run, fails: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    german = pl.read_csv(GERMAN)
    Path("parts").mkdir()
    for i in range(2):
        german[i * 500 : (i + 1) * 500].write_parquet(f"parts/{i}.parquet")
    german.write_parquet("whole.parquet")
    options = ("--target", "class", "--selectors", "all", "--folds", 2, "--repeats", 1, "--output")
    succeeds("compare", "parts/*.parquet", *options, "a")
    succeeds("compare", "whole.parquet", *options, "b")
    measures = [pl.read_csv(f"{folder}/folds.csv")["accuracy"].to_list() for folder in "ab"]
    assert measures[0] == measures[1]
    monkeypatch.setattr("bayesieve.cli.files._memory", lambda: 100_000)
    assert "1,000 rows of 21 columns, which do not fit in memory" in fails("compare", "parts/*.parquet", *options, "c")


def test_columns_of_several_tables(succeeds: Run, three: list[Path]) -> None:
    """Each may have a target of its own, and lack an ignored column."""
    pl.read_csv(three[1]).drop("x2").rename({"y": "label"}).write_csv(three[1])
    targets = ("-t", "y", "-t", "label", "-t", "y")
    succeeds("compare", *three, *targets, "--folds", 2, "-s", "all", "--ignore", "x2", "-o", "a")
    frame = pl.read_csv("a/folds.csv")
    assert frame["error"].null_count() == 6
    assert frame["n_features"].max() <= 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("other.csv -t y", "other.csv has no column 'y' (--target); it has"),
        ("-t y -t y", "--target is given 2 times for 3 tables"),
        ("one.csv -t y", "is given twice with the target 'y'"),
        ("nowhere.csv -t y", "There is no file"),
        (". -t y", "give all files the same columns"),
        ("-t y --ignore id", "None of the 3 tables has a column 'id' (--ignore)"),
        ("other.csv -t y --weight label", "(--weight)"),
        ("other.csv -t y -t y -t y -t label --categorical y2", "(--categorical)"),
        ("twice.csv -t y", "more than one column named 'a'"),
    ],
)
def test_mistakes_are_one_line_before_any_work(fails: Run, three: list[Path], arguments: str, message: str) -> None:
    table(Path("other.csv"), 5, 0.5, "label")
    if "twice" in arguments:
        Path("twice.csv").write_text("a,a,y\n1,2,x\n")
    assert message in fails("compare", *(path.name for path in three), *arguments.split())
    assert not Path("bayesieve-comparison").exists()

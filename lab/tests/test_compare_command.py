"""`bayesieve compare`: what it prints and writes, goes on from, and refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve import SelectiveNB, TableEncoder
from bayesieve.classifier import SelectiveNB as Classifier
from bayesieve.selection import SELECTORS
from bayesieve_lab import RepeatedFolds
from tests.cli.conftest import GERMAN, Run, plain_surroundings  # noqa: F401
from tests.limits import Watch

TOY = ("--target", "ziel", "--folds", 3)


def notes(result: Any) -> list[str]:
    return [line for line in result.stderr.splitlines() if not line.startswith(("Compiling", "Comparison:"))]


def test_all_selectors_are_measured_and_written(succeeds: Run, tmp_path: Path) -> None:
    result = succeeds("compare", GERMAN, "--target", "class", "--folds", 3, "--output", "found")
    lines = result.stdout.splitlines()
    assert lines[0] == f"{len(SELECTORS)} methods by 3-fold cross-validation:"
    assert lines[2].split() == ["method", "accuracy", "AUC", "compression", "balanced", "acc."]
    frame = pl.read_csv(tmp_path / "found" / "folds.csv")
    assert frame["method"].to_list() == list(SELECTORS) * 3
    assert frame["data"].unique().to_list() == ["german_credit"]
    assert frame["error"].null_count() == 3 * len(SELECTORS)
    means = frame.group_by("method", maintain_order=True).agg(
        pl.col("accuracy").mean().round(12), pl.col("accuracy").std().alias("spread")
    )
    order = means.sort("accuracy", descending=True, maintain_order=True)
    after = 3 + len(SELECTORS)
    assert [line.split()[0] for line in lines[3:after]] == order["method"].to_list()
    assert [line.split()[1] for line in lines[3:after]] == [f"{mean:.4f}" for mean in order["accuracy"]]
    assert [line.split()[2] for line in lines[3:after]] == [f"±{spread:.3f}" for spread in order["spread"]]
    assert lines[after + 1].split()[-4:] == ["rank", "beats", "loses", "p"]
    assert [line.split()[-1] for line in lines[after + 2 : after + 3]] == ["best"]
    assert f"By accuracy, '{order['method'][0]}' is best on average" in result.stdout
    assert lines[-3:] == [
        "report   found/comparison.html", "folds    found/folds.csv", "results  found/results.jsonl",
    ]  # fmt: skip
    page = (tmp_path / "found" / "comparison.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "Methods compared on german_credit.csv" in page
    assert all(name in page for name in SELECTORS)


def test_the_figures_are_those_of_the_classifier(succeeds: Run, toy: Path, tmp_path: Path) -> None:
    options = ("--weight", "weight", "--ignore", "id", "--categorical", "noise", "--seed", 4, "--repeats", 2)
    succeeds("compare", toy, *TOY, "-s", "map, compression,map", *options, "-o", "found")
    written = pl.read_csv(tmp_path / "found" / "folds.csv")
    assert written["method"].to_list() == ["map", "compression"] * 6
    frame = pl.read_csv(toy)
    X, y, weight = frame.drop("ziel", "weight", "id"), frame["ziel"].to_numpy(), frame["weight"].to_numpy()
    rows = iter(written.rows(named=True))
    for fold in RepeatedFolds(3, 2, 4).split(y):
        for selector in ("map", "compression"):
            model = SelectiveNB(selector, encoder=TableEncoder(kinds={"noise": "categorical"}), random_state=4)
            model.fit(X[fold.train], y[fold.train], weight[fold.train].astype(float))
            hit = model.predict(X[fold.test]) == y[fold.test]
            row = next(rows)
            assert row["accuracy"] == pytest.approx(np.average(hit, weights=weight[fold.test]))
            assert row["n_features"] == model.n_features_selected_


def test_threads_change_nothing_and_a_second_run_reads_the_first(succeeds: Run, toy: Path, tmp_path: Path) -> None:
    known = ("compare", toy, *TOY, "-s", "all,map,auc")
    first = succeeds(*known, "-o", "one", "-j", 1)
    succeeds(*known, "-o", "two", "-j", 2)
    one, two = (pl.read_csv(tmp_path / name / "folds.csv") for name in ("one", "two"))
    assert one.drop("fit_seconds", "predict_seconds").equals(two.drop("fit_seconds", "predict_seconds"))
    again = succeeds(*known, "-o", "one")
    assert again.stdout == first.stdout
    assert "9 of 9 folds of methods were already finished." in notes(again)
    assert pl.read_csv(tmp_path / "one" / "folds.csv").equals(one)
    silent = succeeds(*known, "-o", "one", "--quiet")
    assert (silent.stdout, silent.stderr) == ("", "")


def test_weights_far_from_one_are_pointed_at_and_scaled(succeeds: Run, toy: Path) -> None:
    pl.read_csv(toy).with_columns(weight=pl.col("weight") / 1000).write_csv("scaled.csv")
    options = ("scaled.csv", "-t", "ziel", "--weight", "weight", "--ignore", "id", "-s", "map,all", "--folds", 3)
    (line,) = notes(succeeds("compare", *options, "-o", "raw"))
    assert line.startswith("warning: The row weights have a mean of ")
    assert notes(succeeds("compare", *options, "--normalize", "-o", "scaled")) == []


def failing(watch: Watch, *selectors: str) -> None:
    """Let these selectors fail in every fold."""

    def fail(self: Any, *_: Any) -> None:
        if self.selector in selectors:
            raise RuntimeError("It is too cold.")

    watch(Classifier, "fit_coded", fail)


def test_methods_that_fail(run: Run, succeeds: Run, toy: Path, watch: Watch) -> None:
    failing(watch, "map")
    result = succeeds("compare", toy, *TOY, "-s", "map,all", "-o", "found", "--measure", "log_loss")
    assert notes(result) == ["warning: 'map' failed on 3 folds: RuntimeError: It is too cold."]
    lines = [line.split() for line in result.stdout.splitlines()]
    assert [line for line in lines if line[:1] == ["map"]] == [["map", *"-" * 4], ["map", *"-" * 8]]
    assert "It is too cold." in Path("found/comparison.html").read_text(encoding="utf-8")
    assert pl.read_csv("found/folds.csv")["error"].null_count() == 3
    failing(watch, "map", "all")
    result = run("compare", toy, *TOY, "-s", "map,all", "-o", "other")
    assert result.exit_code == 2
    assert notes(result) == ["error: All methods failed; 'map' with: RuntimeError: It is too cold."]
    assert pl.read_csv("other/folds.csv")["error"].null_count() == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("-s all,mapp", "There is no selector 'mapp'; did you mean 'map'?"),
        ("-s xyz", "'all', 'map'"),
        ("-s ,", "--selectors is empty"),
        ("--folds 1", "--folds must be a whole number from 2 up, got 1"),
        ("--folds 101", "--folds must be at most the rows of the most frequent class (100), got 101"),
        ("--repeats 0", "--repeats must be a whole number from 1 up, got 0"),
        ("--seed -1", "--seed must be"),
        ("--jobs 0", "--jobs must be"),
        ("--measure acuracy", "did you mean 'accuracy' or 'auc'?"),
        ("--prior none", "choose from 'sizes' and 'published'"),
        ("-t zeil", "zeil"),
        ("-o toy.csv", "is a file, not a folder"),
    ],
)
def test_options_that_make_no_sense(fails: Run, toy: Path, options: str, message: str) -> None:
    target = () if options.startswith("-t") else ("-t", "ziel")
    assert message in fails("compare", toy.name, *target, *options.split())
    assert not Path("bayesieve-comparison").exists()


def test_results_of_something_else_are_not_mixed(fails: Run, succeeds: Run, toy: Path) -> None:
    Path("lone.csv").write_text("a,b\n" + "1,x\n" * 30 + "2,y\n")
    assert "'y' has only one" in fails("compare", "lone.csv", "-t", "b")
    known = ("compare", toy, "--target", "ziel", "-s", "all", "-o", "found")
    succeeds(*known, "--folds", 3)
    before = Path("found/results.jsonl").read_text()
    assert "another protocol (folds 3 instead of 4)" in fails(*known, "--folds", 4)
    assert "another table named 'toy'" in fails(*known, "--folds", 3, "--ignore", "id")
    assert "other options named 'all'" in fails(*known, "--folds", 3, "--categorical", "noise")
    assert Path("found/results.jsonl").read_text() == before
    # Without results the protocol binds nobody.
    lines = before.splitlines(keepends=True)
    Path("found/results.jsonl").write_text("".join(line for line in lines if not line.startswith('{"result"')))
    succeeds(*known, "--folds", 4)


def test_blocks_in_the_order_of_time(succeeds: Run, fails: Run) -> None:
    rng = np.random.default_rng(0)
    day = rng.permutation(300)
    frame = pl.DataFrame({"x": rng.normal(size=300), "day": day, "y": rng.choice(["a", "b"], 300)})
    frame = frame.with_columns(x=pl.col("x") + 3 * ((pl.col("y") == "a") & (pl.col("day") < 200)))  # no use later
    frame.write_csv("rows.csv")
    command = ("compare", "rows.csv", "-t", "y", "-s", "map", "--folds", 3)
    result = succeeds(*command, "--cv", "time", "--time", "day")
    assert "1 method by 2 blocks of later rows, each predicted by models of all earlier rows:" in result.stdout
    folds = pl.read_csv("bayesieve-comparison/folds.csv")
    assert folds["n_train"].to_list() == [100, 200]
    assert folds["auc"][0] > 0.65 > folds["auc"][1]
    assert "another protocol" in fails(*command)
    assert "another protocol" in fails(*command, "--cv", "time")
    for options, message in (
        (("--cv", "tme"), "did you mean 'time'?"),
        (("--cv", "time", "--repeats", 2), "--repeats shuffles the rows"),
        (("--time", "when"), "no column 'when' (--time)"),
    ):
        assert message in fails(*command, *options)

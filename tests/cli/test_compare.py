"""`bayesieve compare`: what it prints and writes, goes on from, and refuses."""

from __future__ import annotations

import json
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve import RepeatedFolds, SelectiveNB, TableEncoder
from bayesieve.classifier import SelectiveNB as Classifier
from bayesieve.cli import compiling
from bayesieve.selection import SELECTORS
from tests.cli.conftest import GERMAN, Run

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


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupted_command_goes_on(
    run: Run, succeeds: Run, toy: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, jobs: int
) -> None:
    monkeypatch.setattr(compiling, "warm_up", lambda *_: None)  # its fits are not to be counted
    whole, fits = Classifier.fit_coded, []

    def interrupted(self: Any, *given: Any) -> Any:
        fits.append(self.selector)
        if len(fits) == 4:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        if len(fits) >= 4:
            time.sleep(0.3)  # until the main thread has heard of it: on a busy machine others might go on meanwhile
        return whole(self, *given)

    known = ("compare", toy, *TOY, "--selectors", "all,map,auc", "--jobs", jobs)
    monkeypatch.setattr(Classifier, "fit_coded", interrupted)
    result = run(*known, "-o", "found")
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == (
        "error: Interrupted: finished folds are in found/results.jsonl; run the same command to continue from there."
    )
    assert not (tmp_path / "found" / "folds.csv").exists()
    n_kept = sum('"result"' in line for line in (tmp_path / "found" / "results.jsonl").read_text().splitlines())
    assert 1 <= n_kept <= 5
    monkeypatch.setattr(Classifier, "fit_coded", whole)
    resumed = succeeds(*known, "-o", "found")
    assert f"{n_kept} of 9 folds of methods were already finished." in notes(resumed)
    succeeds(*known, "-o", "straight")
    found, straight = (pl.read_csv(tmp_path / name / "folds.csv") for name in ("found", "straight"))
    assert found.drop("fit_seconds", "predict_seconds").equals(straight.drop("fit_seconds", "predict_seconds"))


def test_a_method_that_fails_is_told(succeeds: Run, toy: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    whole = Classifier.fit_coded

    def failing(self: Any, *given: Any) -> Any:
        if self.selector == "map":
            raise ValueError("It is too cold.")
        return whole(self, *given)

    monkeypatch.setattr(Classifier, "fit_coded", failing)
    result = succeeds("compare", toy, *TOY, "-s", "map,all", "-o", "found", "--measure", "log_loss")
    assert notes(result) == ["warning: 'map' failed on 3 folds: It is too cold."]
    assert [line.split() for line in result.stdout.splitlines() if line.startswith("map")] == [
        ["map", *"-" * 4], ["map", *"-" * 8],
    ]  # fmt: skip
    assert "It is too cold." in (tmp_path / "found" / "comparison.html").read_text(encoding="utf-8")
    assert pl.read_csv(tmp_path / "found" / "folds.csv")["error"].drop_nulls().to_list() == ["It is too cold."] * 3


def test_nothing_but_failures_is_an_error(run: Run, toy: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def failing(self: Any, *given: Any) -> Any:
        raise RuntimeError("It is too cold.")

    monkeypatch.setattr(Classifier, "fit_coded", failing)
    result = run("compare", toy, *TOY, "-s", "map,all", "-o", "found")
    assert result.exit_code == 2
    assert notes(result) == ["error: All methods failed; 'map' with: RuntimeError: It is too cold."]
    assert pl.read_csv(tmp_path / "found" / "folds.csv")["error"].null_count() == 0


def test_mistakes_are_one_line(fails: Run, toy: Path, tmp_path: Path) -> None:
    assert "There is no selector 'mapp'; did you mean 'map'?" in fails("compare", toy, *TOY, "-s", "all,mapp")
    assert "'all', 'map'" in fails("compare", toy, *TOY, "-s", "xyz")
    assert "--selectors is empty" in fails("compare", toy, *TOY, "-s", ", ")
    assert "--folds must be a whole number from 2 up, got 1" in fails("compare", toy, "--target", "ziel", "--folds", 1)
    assert "--folds must be at most the rows of the most frequent class (100), got 101" in fails(
        "compare", toy, "--target", "ziel", "--folds", 101
    )
    assert "--repeats must be a whole number from 1 up, got 0" in fails("compare", toy, *TOY, "--repeats", 0)
    assert "--seed must be a whole number from 0 up, got -1" in fails("compare", toy, *TOY, "--seed", -1)
    assert "--jobs must be a positive number of threads" in fails("compare", toy, *TOY, "--jobs", 0)
    assert "no measure 'acuracy'; did you mean 'accuracy'?" in fails("compare", toy, *TOY, "--measure", "acuracy")
    assert "no column 'zeil'" in fails("compare", toy, "--target", "zeil")
    assert "There is no file nowhere.csv" in fails("compare", "nowhere.csv", *TOY)
    assert "is a file, not a folder" in fails("compare", toy, *TOY, "-o", toy)
    assert not (tmp_path / "bayesieve-comparison").exists()
    (tmp_path / "lone.csv").write_text("a,b\n" + "1,x\n" * 30 + "2,y\n")
    assert "needs at least two classes with two rows each; 'y' has only one" in fails("compare", "lone.csv", "-t", "b")


def test_results_of_something_else_are_not_mixed(fails: Run, succeeds: Run, toy: Path, tmp_path: Path) -> None:
    known = ("compare", toy, "--target", "ziel", "-s", "all", "-o", "found")
    succeeds(*known, "--folds", 3)
    before = (tmp_path / "found" / "results.jsonl").read_text()
    assert "another protocol (folds 3 instead of 4)" in fails(*known, "--folds", 4)
    assert "another table named 'toy'" in fails(*known, "--folds", 3, "--ignore", "id")
    assert "other options named 'all'" in fails(*known, "--folds", 3, "--categorical", "noise")
    assert (tmp_path / "found" / "results.jsonl").read_text() == before
    assert json.loads(before.splitlines()[0])["comparison"]["folds"] == 3


def test_weights_far_from_one_are_pointed_at_and_scaled(succeeds: Run, toy: Path) -> None:
    pl.read_csv(toy).with_columns(weight=pl.col("weight") / 1000).write_csv("scaled.csv")
    options = ("scaled.csv", "-t", "ziel", "--weight", "weight", "--ignore", "id", "-s", "map,all", "--folds", 3)
    (line,) = notes(succeeds("compare", *options, "-o", "raw"))
    assert line.startswith("warning: The row weights have a mean of ")
    assert notes(succeeds("compare", *options, "--normalize", "-o", "scaled")) == []

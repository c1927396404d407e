"""`bayesieve compare --peers`: other classifiers beside the selectors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bayesieve.cli.app import app
from bayesieve_lab.peers import PEERS
from lab.tests.test_compare_command import TOY
from lab.tests.test_compare_killed import results
from lab.tests.test_compare_tables import table, three  # noqa: F401
from tests.cli.conftest import Run, plain_surroundings  # noqa: F401
from tests.cli.test_process import surroundings


def test_a_peer_stands_beside_them(succeeds: Run, toy: Path, tmp_path: Path) -> None:
    known = ("compare", toy, *TOY, "-s", "map", "--peers", "hist-gradient-boosting", "--categorical", "noise")
    succeeds(*known, "-o", "found", "--weight", "weight")
    written = pl.read_csv(tmp_path / "found" / "folds.csv")
    assert written["method"].to_list() == ["map", "hist-gradient-boosting"] * 3
    assert written["error"].null_count() == 6
    assert written["n_features"].null_count() == 3
    assert written["auc"].null_count() == 0


def test_enough_tables_tell_methods_apart(succeeds: Run, tmp_path: Path) -> None:
    """A peer that is beaten on every table, which the tests over tables must see."""
    tables = [table(tmp_path / f"t{i}.csv", i, 0.5) for i in range(7)]
    result = succeeds("compare", *tables, "-t", "y", "--folds", 2, "-s", "all", "--peers", "gaussian-nb", "--measure",
                      "log_loss", "-o", "found")  # fmt: skip
    frame = pl.read_csv(tmp_path / "found" / "folds.csv")
    loss = frame.group_by("data", "method", maintain_order=True).agg(pl.col("log_loss").mean())["log_loss"]
    wins = (np.diff(loss.to_numpy().reshape(7, 2)) < 0).sum()
    assert wins in (0, 7)  # else the sentences below are others
    best, other = ("gaussian-nb", "all") if wins == 7 else ("all", "gaussian-nb")
    assert (
        "Friedman test: average ranks differ significantly (Iman and Davenport: all tables agree, p 0.016)."
        in result.stdout
    )
    assert (
        f"Nemenyi test: ranks differ significantly if at least 0.74 apart (5 %); '{best}' is better than 1 of 1 other."
        in result.stdout
    )
    assert f"1 of 1 pair differ significantly; '{best}' is better than 1 of 1 other." in result.stdout
    assert other in result.stdout


def test_a_peer_that_is_not_installed_is_told_before_any_work(
    fails: Run, three: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("bayesieve_lab.peers.installed.find_spec", lambda package: None)
    for peer in ("khiops", "khiops-trees-pairs", "catboost", "ebm", "scorecard", "figs", "fasterrisk"):
        line = fails("compare", *three, "-t", "y", "--peers", f"gaussian-nb,{peer}")
        assert "not installed; run pip install './lab[peers]' in the repository" in line
    assert not (tmp_path / "bayesieve-comparison").exists()


def test_help_names_all_peers() -> None:
    from typer.main import get_command

    compare = get_command(app).commands["compare"]  # type: ignore[attr-defined]
    (peers,) = [option for option in compare.params if option.name == "peers"]
    assert all(name in peers.help for name in PEERS)


DEAF = """
import ctypes
from bayesieve_lab import peers

class Deaf(peers.OneHotGaussianNB):
    def _learn(self, table, codes, weights):
        if table.n_rows > 100:  # not where kernels are compiled
            open("begun", "w").close()
            ctypes.CDLL(None).sleep(60)
        return super()._learn(table, codes, weights)

peers.PEERS["ebm"] = Deaf
from bayesieve.cli import main
main()
"""
"""A command line with a peer that hears nothing for a minute, as compiled code does."""


@pytest.mark.skipif(os.name == "nt", reason="processes end otherwise there")
@pytest.mark.parametrize("times", [1, 3])
def test_ctrl_c_does_not_wait_for_a_fit_that_does_not_hear_it(toy: Path, tmp_path: Path, times: int) -> None:
    known = ("--target", "ziel", "--folds", "3", "--selectors", "all", "--peers", "ebm", "--output", "found")
    with subprocess.Popen(
        [sys.executable, "-c", DEAF, "compare", str(toy), *known],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=surroundings(),
    ) as process:
        patience = time.monotonic() + 240
        while not (Path("begun").exists() and results(tmp_path / "found")) and time.monotonic() < patience:
            time.sleep(0.02)
        pressed = time.monotonic()
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            time.sleep(0.1)
        _, stderr = process.communicate(timeout=60)
    assert time.monotonic() - pressed < 20
    assert process.returncode == 130
    assert stderr.splitlines()[-1] == (
        "error: Interrupted: finished folds are in found/results.jsonl; run the same command to continue from there."
    )
    assert "Traceback" not in stderr
    assert results(tmp_path / "found") >= 1


def test_an_unknown_peer_is_named(fails: Run, toy: Path) -> None:
    line = fails("compare", toy, *TOY, "--peers", "random-forest")
    assert "There is no peer 'random-forest'; choose from 'hist-gradient-boosting'" in line

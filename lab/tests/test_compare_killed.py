"""`bayesieve compare` as a process that is interrupted, or killed, in the middle: given again it goes on."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.cli.conftest import Run, plain_surroundings  # noqa: F401
from tests.processes import CONTEXT, run_command

KNOWN = ("--target", "ziel", "--folds", "15", "--selectors", "all,map,compression,accuracy", "--output")
N_RESULTS = 15 * 4


def results(folder: Path) -> int:
    """Finished folds of methods in the file, and a line that is being written."""
    kept = folder / "results.jsonl"
    return kept.read_bytes().count(b'"result"') if kept.exists() else 0


@pytest.fixture(scope="module")
def straight() -> list[pl.DataFrame]:
    """The results of the comparison without an interruption, once there are any."""
    return []


@pytest.mark.skipif(os.name == "nt", reason="processes end otherwise there")
@pytest.mark.parametrize(("end", "jobs"), [("SIGINT", 2), ("SIGKILL", 1)])
def test_a_process_that_ends_in_the_middle_goes_on(
    succeeds: Run, toy: Path, tmp_path: Path, straight: list[pl.DataFrame], end: str, jobs: int
) -> None:
    known = (*KNOWN, "found", "--jobs", str(jobs))
    first = CONTEXT.Process(target=run_command, args=(tmp_path, ("compare", toy, *known)))
    first.start()
    patience = time.monotonic() + 240
    while results(tmp_path / "found") < 3 and first.is_alive() and time.monotonic() < patience:
        time.sleep(0.005)
    os.kill(first.pid, getattr(signal, end))
    first.join(60)
    n_kept = results(tmp_path / "found")
    assert 3 <= n_kept < N_RESULTS
    assert not (tmp_path / "found" / "folds.csv").exists()
    if end == "SIGINT":
        assert first.exitcode == 130
        assert (tmp_path / "stderr").read_text(encoding="utf-8").splitlines()[-1] == (
            "error: Interrupted: finished folds are in found/results.jsonl; "
            "run the same command to continue from there."
        )
    else:
        assert first.exitcode == -signal.SIGKILL
        with (tmp_path / "found" / "results.jsonl").open("ab") as file:
            file.write(b'{"result": {"data": "toy", "meth')  # as when it is killed while it writes
    resumed = succeeds("compare", toy, *known)
    assert f"{n_kept} of {N_RESULTS} folds of methods were already finished." in resumed.stderr
    if not straight:
        succeeds("compare", toy, *KNOWN, "straight")
        straight.append(pl.read_csv(tmp_path / "straight" / "folds.csv"))
    found = pl.read_csv(tmp_path / "found" / "folds.csv")
    assert found.height == N_RESULTS
    # Processes may differ in the last bit, because vector instructions depend on where arrays are in memory.
    seconds = ("fit_seconds", "predict_seconds")
    assert_frame_equal(found.drop(seconds), straight[0].drop(seconds), rel_tol=1e-14, abs_tol=1e-14)


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("command", ["compare", "reproduce"])
def test_nothing_stays_of_a_run_without_a_finished_fold(
    run: Run, toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, there: bool
) -> None:
    def interrupted(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)

    monkeypatch.setattr("bayesieve_lab.comparison.comparing._Source.fold", interrupted)
    (tmp_path / "a").mkdir() if there or command == "reproduce" else None
    before = sorted(tmp_path.rglob("*"))
    what = (toy, "--target", "ziel", "--selectors", "all", "--output", "a/b")
    if command == "reproduce":
        what = ("rabenoro2015", "--quick", "--output", "a/b.md")
    result = run(command, *what, "--jobs", 1)
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == "error: Interrupted: no fold was finished."
    assert sorted(tmp_path.rglob("*")) == before

"""`bayesieve reproduce`, on few series."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayesieve.evaluation.reproduce import rabenoro2015
from bayesieve.evaluation.reproduce.rabenoro2015 import Rabenoro2015
from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def few_series_and_indicators(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Rabenoro2015.halves
    monkeypatch.setattr(rabenoro2015, "N_SERIES_QUICK", 180)
    monkeypatch.setattr(Rabenoro2015, "halves", lambda self, number: whole(self, number, np.arange(0, 814, 20)))


def test_the_table_the_document_and_what_is_kept(succeeds: Run, tmp_path: Path) -> None:
    result = succeeds("reproduce", "rabenoro2015", "--quick", "--repetitions", 2, "--output", "found.md")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("T. Rabenoro")
    assert " ".join(lines[2].split()) == ("Method Guided by Features, paper Test error, paper Features Test error")
    assert lines[3].split()[:5] == ["MI", "filter", "error", "422", "0.1387"]
    assert "Wrappers err less than the filters: cannot be told in 16 of 16 comparisons." in lines
    assert lines[-2:] == ["document     found.md", "repetitions  found.jsonl"]
    notes = [line for line in result.stderr.splitlines() if "Compiling" not in line]
    assert notes == ["Repetition 1 of 2 is finished.", "Repetition 2 of 2 is finished."]
    markdown = (tmp_path / "found.md").read_text(encoding="utf-8")
    assert "| Backward-forward | probability |             122 |            0.1168 |" in markdown
    kept = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text().splitlines()]
    assert kept[0]["settings"] == {
        "paper": "rabenoro2015", "seed": 0, "grid": "levels", "smoothing": 1.0, "n_series": 180,
    }  # fmt: skip
    assert [line["repetition"] for line in kept[1:]] == [0, 1]

    again = succeeds("reproduce", "rabenoro2015", "--quick", "--repetitions", 2, "--output", "found.md")
    assert again.stdout == result.stdout
    assert again.stderr == "2 repetitions of 2 found in found.jsonl.\n"
    assert (tmp_path / "found.md").read_text(encoding="utf-8") == markdown


def test_an_interrupted_command_says_where_it_goes_on(
    run: Run, succeeds: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = Rabenoro2015.repetition

    def interrupted(self: Rabenoro2015, number: int, tell: Any) -> dict[str, Any]:
        if number == 1:
            signal.raise_signal(signal.SIGINT)
        return whole(self, number, tell)

    arguments = ("reproduce", "rabenoro2015", "--quick", "-r", 2, "-o", "found.md", "--smoothing", "m-estimate")
    monkeypatch.setattr(Rabenoro2015, "repetition", interrupted)
    result = run(*arguments)
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == (
        "error: Interrupted: finished repetitions are in found.jsonl; the same command goes on from there."
    )
    assert not (tmp_path / "found.md").exists()
    monkeypatch.setattr(Rabenoro2015, "repetition", whole)
    resumed = succeeds(*arguments)
    assert "1 repetition of 2 found in found.jsonl." in resumed.stderr
    assert "Repetition 2 of 2 is finished." in resumed.stderr
    straight = succeeds(*arguments[:6], "other.md", *arguments[7:])
    assert straight.stdout.replace("other", "found") == resumed.stdout


def test_data_is_accepted_and_said_to_be_unused(succeeds: Run, tmp_path: Path) -> None:
    result = succeeds("reproduce", "rabenoro2015", "--quick", "-r", 1, "--data", tmp_path)
    assert "rabenoro2015 simulates its data: --data is not used." in result.stderr.splitlines()
    assert list(tmp_path.iterdir()) == []
    silent = succeeds("reproduce", "rabenoro2015", "--quick", "-r", 1, "--quiet")
    assert (silent.stdout, silent.stderr) == ("", "")


def test_mistakes_are_one_line(fails: Run, tmp_path: Path) -> None:
    assert fails("reproduce", "boole1854") == (
        "error: There is no paper 'boole1854' to reproduce; choose 'rabenoro2015'."
    )
    assert "did you mean 'rabenoro2015'?" in fails("reproduce", "rabenoro2014")
    known = ("reproduce", "rabenoro2015")
    assert "'levels', 'quantiles'" in fails(*known, "--grid", "deciles")
    assert "--repetitions 0" in fails(*known, "--repetitions", 0)
    assert "--seed -1" in fails(*known, "--seed", -1)
    assert "--jobs 0" in fails(*known, "--jobs", 0)
    assert "--smoothing 'much'" in fails(*known, "--smoothing", "much")
    assert "--smoothing '0'" in fails(*known, "--smoothing", 0)
    assert "no folder nowhere" in fails(*known, "--data", "nowhere")
    assert "There is no folder nowhere" in fails(*known, "--output", "nowhere/found.md")
    assert "is a folder" in fails(*known, "--output", tmp_path)
    assert "end --output in .md" in fails(*known, "--output", "found.jsonl")


def test_results_of_other_settings_are_not_mixed(fails: Run, tmp_path: Path) -> None:
    (tmp_path / "found.jsonl").write_text('{"settings": {"paper": "rabenoro2015", "seed": 7}}\n')
    line = fails("reproduce", "rabenoro2015", "--output", "found.md")
    assert "other settings (seed, grid, smoothing, n_series)" in line

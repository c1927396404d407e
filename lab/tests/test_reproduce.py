"""`bayesieve reproduce`, on few series."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bayesieve_lab
from bayesieve_lab import Options
from bayesieve_lab.rabenoro2015 import study
from bayesieve_lab.rabenoro2015.study import Rabenoro2015
from lab.tests.test_parts import Flowers
from tests.cli.conftest import Run, plain_surroundings  # noqa: F401
from tests.limits import Limits


@pytest.fixture(autouse=True)
def few_series_and_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Rabenoro2015.draw

    def few(self: Rabenoro2015, number: int) -> tuple[Any, np.ndarray]:
        scores, labels = whole(self, number)
        return scores[:, :6], labels

    monkeypatch.setattr(study, "N_SERIES_QUICK", 180)
    monkeypatch.setattr(Rabenoro2015, "draw", few)


def test_the_table_the_document_and_what_is_kept(succeeds: Run, tmp_path: Path) -> None:
    result = succeeds("reproduce", "rabenoro2015", "--quick", "--repetitions", 2, "--output", "found.md")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("T. Rabenoro")
    assert lines[2] == "Table 1 of the paper, and ours"
    assert " ".join(lines[3].split()) == ("Method Guided by Features, paper Test error, paper Features Test error")
    assert lines[4].split()[:5] == ["MI", "filter", "error", "422", "0.1387"]
    assert "Wrappers err less than the filters: cannot be told (0 of 16)." in lines
    assert lines[-2:] == ["document  found.md", "results   found.jsonl"]
    markdown = (tmp_path / "found.md").read_text(encoding="utf-8")
    assert "| Backward-forward | probability |             122 |            0.1168 |" in markdown
    kept = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text().splitlines()]
    assert {name: kept[0]["comparison"][name] for name in ("train_rows", "seed")} == {"train_rows": 180, "seed": 0}
    results = [line["result"] for line in kept if "result" in line]
    assert [row["data"] for row in results].count("draw 2") == 22
    assert len(results) == 44

    again = succeeds("reproduce", "rabenoro2015", "--quick", "--repetitions", 2, "--output", "found.md")
    assert again.stdout == result.stdout
    assert again.stderr == "44 of 44 folds of methods were already finished.\n"
    assert (tmp_path / "found.md").read_text(encoding="utf-8") == markdown


@pytest.fixture
def flowers(monkeypatch: pytest.MonkeyPatch) -> list[Options]:
    """The study among the papers; the options it was asked for."""
    monkeypatch.setitem(bayesieve_lab.PAPERS, "flowers1936", Flowers)
    monkeypatch.setattr(Flowers, "asked", [])
    return Flowers.asked


def test_all_tables_are_shown_and_files_stand_beside_the_document(
    succeeds: Run, flowers: list[Options], tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    arguments = ("reproduce", "flowers1936", "--data", tmp_path, "--only", " wine, iris,wine", "-o", "out/found.md")
    lines = succeeds(*arguments).stdout.splitlines()
    assert lines[2:8] == ["How many", "Data set  Folds", "iris          3", "wine          3", "", "How many"]
    assert any(line.startswith("iris: 0.9") for line in lines)
    assert lines[-3:] == [
        "document  out/found.md",
        "linked    out/flowers.svg",
        "results   out/found.jsonl",
    ]
    assert (tmp_path / "out/flowers.svg").read_text() == "<svg/>"
    assert (tmp_path / "out/found.md").read_text() == "![flowers](flowers.svg)\n"
    assert (flowers[0].data, flowers[0].only) == (tmp_path, ("wine", "iris"))
    succeeds("reproduce", "flowers1936", "--only", "wine")
    assert sorted(path.name for path in tmp_path.rglob("*.svg")) == ["flowers.svg"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("boole1854", "choose from 'rabenoro2015', 'boulle2007', 'abellan2017', 'blanquero2021', 'gidofalvi' and "),
        ("rabenoro2014", "did you mean 'rabenoro2015' or 'abellan2017'?"),
        ("rabenoro2015 --grid deciles", "'levels', 'quantiles'"),
        ("rabenoro2015 --repetitions 0", "--repetitions must be at least 1, got 0"),
        ("rabenoro2015 --seed -1", "--seed must be at least 0, got -1"),
        ("rabenoro2015 --jobs 0", "--jobs must be a positive number of threads"),
        ("rabenoro2015 --smoothing much", "--smoothing must be a positive number or m-estimate, got 'much'"),
        ("rabenoro2015 --smoothing 0", "--smoothing must be a positive number or m-estimate, got '0'"),
        ("rabenoro2015 --data nowhere", "no folder nowhere"),
        ("rabenoro2015 --output nowhere/found.md", "There is no folder nowhere"),
        ("rabenoro2015 --output .", "is a folder"),
        ("rabenoro2015 --output found.jsonl", "end --output in .md"),
        ("rabenoro2015 --only iris", "rabenoro2015 simulates its data"),
        ("flowers1936 --only rose", "flowers1936 has no data set 'rose'; choose from 'iris', 'wine'."),
        ("flowers1936 --only ,", "--only ',' contains no data set"),
    ],
)
def test_mistakes_are_one_line(fails: Run, flowers: list[Options], arguments: str, message: str) -> None:
    assert message in fails("reproduce", *arguments.split())


def test_progress_and_unused_data(succeeds: Run, limits: Limits, tmp_path: Path) -> None:
    limits(seconds_between_lines=0.0)
    lines = succeeds("reproduce", "rabenoro2015", "--quick", "-r", 1, "--data", tmp_path).stderr.splitlines()
    assert "rabenoro2015 simulates its data: --data is not used." in lines
    assert lines[-1].startswith("Comparison: folds of methods: 22 of 22, 0 s left")
    silent = succeeds("reproduce", "rabenoro2015", "--quick", "-r", 1, "--quiet")
    assert (silent.stdout, silent.stderr) == ("", "")


def test_results_of_other_settings_are_not_mixed(fails: Run, succeeds: Run) -> None:
    command = ("reproduce", "rabenoro2015", "--quick", "-r", 1, "--output", "found.md")
    succeeds(*command)
    before = Path("found.jsonl").read_bytes()
    assert "another protocol (seed 0 instead of 7)" in fails(*command, "--seed", 7)
    assert Path("found.jsonl").read_bytes() == before
    Path("found.jsonl").write_text('{"settings": {"paper": "rabenoro2015", "seed": 7}}\n')
    assert "does not hold results of a comparison" in fails(*command)

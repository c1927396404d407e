"""The examples, the README and the pages run as they are printed, and print what they show."""

from __future__ import annotations

import re
import runpy
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import invoke, plain_surroundings  # noqa: F401
from tests.examples.pages import ROOT, blocks, names_of, shown

SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


@pytest.fixture(autouse=True)
def data(tmp_path: Path, plain_surroundings: None) -> None:  # noqa: F811
    shutil.copytree(ROOT / "examples", tmp_path / "examples")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_example(script: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [str(script)])
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize(
    ("page", "n_shown"),
    [
        ("filters.md", 2),
        ("filters-pairs.md", 4),
        ("working-on-a-model.md", 8),
        ("clusters.md", 3),
        ("levels-by-hand.md", 4),
        ("own-selector.md", 2),
        ("own-dependence.md", 4),
        ("reasons.md", 11),
        ("privacy.md", 2),
        ("update-and-merge.md", 6),
        ("watching-a-model.md", 15),
        ("deployment.md", 8),
        ("report.md", 1),
        ("the-model.md", 2),
        ("scorecard.md", 3),
        ("tutorials/credit.md", 31),
        ("tutorials/campaign.md", 15),
        ("tutorials/engines.md", 16),
        ("tutorials/medicine.md", 24),
    ],
)
def test_pages_print_what_they_show(page: str, n_shown: int, capsys: pytest.CaptureFixture[str]) -> None:
    names_of(page)
    assert capsys.readouterr().out.splitlines() == shown(page)
    assert len(shown(page)) == n_shown


@pytest.mark.parametrize(("page", "written"), [("README.md", "report.html"), ("wrapper-search.md", "path.html")])
def test_pages_write_files(page: str, written: str) -> None:
    names_of(page)
    assert Path(written).stat().st_size > 0


def test_boosted_selection() -> None:
    names = names_of("boosted-selection.md")
    assert len(names["boosted"].get_feature_names_out()) == 10


def test_honest_time(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": __name__}
    printed = []
    for kind, block in blocks("honest-time.md", r"(\w*)"):
        for command in block.splitlines() if kind == "sh" else ():
            result = invoke(*shlex.split(command)[1:])
            assert result.exit_code == 0, result.stderr
            printed.append(result.stdout)
        if kind == "python":
            exec(compile(block, "honest-time.md", "exec"), names)
    assert capsys.readouterr().out.splitlines() == shown("honest-time.md")
    assert "held-out rows" in printed[0]
    assert "later rows: " in printed[1]
    assert "measured on the rows that it was trained on" in printed[2]
    assert "3 blocks of later rows" in printed[3]


def test_decisions(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    exec("\n".join(blocks("decisions.md")[:2]), names)
    assert len(capsys.readouterr().out.splitlines()) == len(shown("decisions.md"))
    assert names["earned"] > 0 > names["curve"].profit[-1]
    assert names["recalibrated"].predict_proba(names["test"].drop("class")).shape == (400, 2)


def without_seconds(printed: str) -> list[list[str]]:
    """Words of the lines; where there are columns of seconds, the fourth and fifth of them are left out."""
    lines, timed = [], False
    for line in printed.strip().splitlines():
        words = line.split()
        if words[:3] == ["method", "Brier", "features"]:
            timed = True
            words = ["method", "Brier", "features", "-", "-", *words[7:]]
        timed = timed and bool(words)
        lines.append([*words[:3], *words[5:]] if timed else words)
    return lines


def test_comparing_methods() -> None:
    """Code and commands in the order of the page; the commands print what it shows."""
    names: dict[str, Any] = {}
    printed, kinds = "", []
    for kind, block in blocks("comparing-methods.md", r"(\w*)"):
        kinds.append(kind)
        if kind == "python":
            fewer = re.sub(r"n_folds=\d+", "n_folds=3", block)  # the page shows no results of these
            exec(compile(fewer, "comparing-methods.md", "exec"), names)
        elif kind == "text":
            assert without_seconds(printed) == without_seconds(block)
        else:
            program, *arguments = shlex.split(block)
            assert program == "bayesieve"
            result = invoke(*arguments)
            assert result.exit_code == 0, result.stderr
            printed = result.stdout
    assert kinds == ["sh", "text", "python", "sh", "text", *["python"] * 4]
    for written in ("comparison/comparison.html", "over-tables/folds.csv", "german.html", "german.jsonl", "many.jsonl"):
        assert Path(written).stat().st_size > 0
    corrected = names["corrected_resampled_t"](names["auc"]["compression"], names["auc"]["tree"], 1 / 9)
    student = names["paired_t"](names["auc"]["compression"], names["auc"]["tree"])
    assert student.p_value < corrected.p_value
    assert student.difference == corrected.difference

"""The pages of the documentation about the lab run as they are printed, and print what they show."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import invoke, plain_surroundings  # noqa: F401
from tests.examples.pages import blocks, shown
from tests.examples.test_pages import data  # noqa: F401


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
    assert kinds == ["sh", "text", "python", "sh", *["python"] * 4]
    for written in ("comparison/comparison.html", "over-tables/folds.csv", "german.html", "german.jsonl", "many.jsonl"):
        assert Path(written).stat().st_size > 0
    corrected = names["corrected_resampled_t"](names["auc"]["compression"], names["auc"]["tree"], 1 / 9)
    student = names["paired_t"](names["auc"]["compression"], names["auc"]["tree"])
    assert student.p_value < corrected.p_value
    assert student.difference == corrected.difference

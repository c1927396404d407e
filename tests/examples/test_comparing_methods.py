"""The page on comparing methods: all its code runs in its order, and the commands print what it shows."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import invoke, plain_surroundings  # noqa: F401

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "comparing-methods.md"


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


def test_the_page_runs_as_it_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert [kind for kind, _ in blocks] == ["sh", "text", "python", "sh", "text", *["python"] * 4]
    names: dict[str, Any] = {}
    printed = ""
    for kind, block in blocks:
        if kind == "python":
            exec(compile(block, str(PAGE), "exec"), names)
        elif kind == "text":
            assert without_seconds(printed) == without_seconds(block)
        else:
            program, *arguments = shlex.split(block)
            assert program == "bayesieve"
            result = invoke(*arguments)
            assert result.exit_code == 0, result.stderr
            printed = result.stdout
    for written in ("comparison/comparison.html", "over-tables/folds.csv", "german.html", "german.jsonl", "many.jsonl"):
        assert (tmp_path / written).stat().st_size > 0
    corrected = names["corrected_resampled_t"](names["auc"]["compression"], names["auc"]["tree"], 1 / 9)
    student = names["paired_t"](names["auc"]["compression"], names["auc"]["tree"])
    assert student.p_value < corrected.p_value
    assert student.difference == corrected.difference


def test_the_number_of_data_sets_that_signed_ranks_take() -> None:
    from bayesieve.report.sections.comparison_ranks import fewest_data_sets

    assert (fewest_data_sets(3, 0.05), fewest_data_sets(7, 0.05)) == (7, 10)

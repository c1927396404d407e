"""The page on decisions: its code runs, and prints as many lines as it shows."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    shutil.copytree(ROOT / "examples" / "data", tmp_path / "examples" / "data")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks[:2]:
        exec(compile(block, "decisions.md", "exec"), names)
    assert len(capsys.readouterr().out.splitlines()) == page.count("#> ")
    assert names["earned"] > 0 > names["curve"].profit[-1]
    assert names["recalibrated"].predict_proba(names["test"].drop("class")).shape == (400, 2)

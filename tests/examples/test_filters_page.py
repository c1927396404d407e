"""The page on filters: its code runs, and prints what it should."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "filters.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    shutil.copytree(ROOT / "examples" / "data", tmp_path / "examples" / "data")
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "filters.md", "exec"), {})
    printed = capsys.readouterr().out
    shown = re.findall(r"#> (.*)", block)
    assert len(shown) == 2
    assert printed.splitlines() == shown

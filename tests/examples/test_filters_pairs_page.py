"""The page on filters that look at pairs: its code runs, and prints what it should."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "filters-pairs.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    shutil.copytree(ROOT / "examples" / "data", tmp_path / "examples" / "data")
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "filters-pairs.md", "exec"), {})
    shown = re.findall(r"#> (.*)", block)
    assert len(shown) == 4
    assert capsys.readouterr().out.splitlines() == shown

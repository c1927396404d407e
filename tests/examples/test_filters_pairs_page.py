"""The pages on filters that look at pairs and on clusters: their code runs, and prints what it should."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("name", "n_shown"), [("filters-pairs.md", 4), ("clusters.md", 3)])
def test_the_page_runs(
    name: str, n_shown: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    shutil.copytree(ROOT / "examples" / "data", tmp_path / "examples" / "data")
    monkeypatch.chdir(tmp_path)
    exec(compile(block, name, "exec"), {})
    shown = re.findall(r"#> (.*)", block)
    assert len(shown) == n_shown
    assert capsys.readouterr().out.splitlines() == shown

"""The examples and the code of the README run as they are printed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


def run(arguments: list[str], folder: Path) -> str:
    """Run Python in a folder and return what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8"}
    result = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_example(script: Path, tmp_path: Path) -> None:
    assert run([str(script)], tmp_path).strip()


@pytest.mark.parametrize(
    ("page", "n_blocks", "written"), [("README.md", 4, "report.html"), ("docs/wrapper-search.md", 4, "path.html")]
)
def test_code_of_the_pages(page: str, n_blocks: int, written: str, tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) == n_blocks
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "page.py").write_text("\n".join(blocks), encoding="utf-8")
    run(["page.py"], tmp_path)
    assert (tmp_path / written).stat().st_size > 0

"""The examples run as they are printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.test_examples import run

SCRIPTS = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_example(script: Path, tmp_path: Path) -> None:
    assert run([str(script)], tmp_path).strip()

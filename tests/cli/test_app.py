"""What belongs to no command: versions and shell completion."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import polars as pl
import pytest

from bayesieve import __version__
from tests.cases import mostly_slow
from tests.cli.conftest import Run


def test_versions(succeeds: Run) -> None:
    first, second = succeeds("--version").stdout.splitlines()
    assert first == f"bayesieve {__version__}"
    assert second.startswith(f"Python {platform.python_version()}, numpy ")
    assert f"polars {pl.__version__}" in second


def answered(arguments: list[str], **surroundings: str) -> str:
    code = "from bayesieve.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | surroundings,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    mostly_slow(
        [
            ("bayesieve mer", {"merge"}),
            ("bayesieve predict --re", {"--reasons"}),
            ("bayesieve fit --calib", {"--calibrate"}),
        ],
        [("bayesieve fit --calib", {"--calibrate"})],
    ),
)
def test_shell_completion(words: str, expected: set[str]) -> None:
    """As Bash asks for it, in a process."""
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    assert set(answered([], _BAYESIEVE_COMPLETE="complete_bash", **asked).split()) == expected


def test_a_script_for_the_shell() -> None:
    script = answered(["--show-completion", "bash"], _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert "_BAYESIEVE_COMPLETE=complete_bash" in script

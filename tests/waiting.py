"""Tests wait for what other threads do, and no longer."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest


def wait_until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Return once a condition holds; fail if it does not in time."""
    end = time.perf_counter() + seconds
    while not condition():
        assert time.perf_counter() < end
        time.sleep(0.005)


def printed_errors(capsys: pytest.CaptureFixture[str]) -> str:
    """Wait for a whole line on the error stream; return all that stands there."""
    texts: list[str] = []

    def has_line() -> bool:
        texts.append(capsys.readouterr().err)
        return "".join(texts).endswith("\n")

    wait_until(has_line)
    return "".join(texts)

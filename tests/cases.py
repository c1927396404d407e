"""Cases of a test: a few of them run in `make test`, and all others in `make test-all`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def mostly_slow(cases: Iterable[Any], fast: Iterable[Any]) -> list[Any]:
    """Return the parameters of a test, marked as slow except for those in `fast`. A tuple holds several arguments."""
    cases, fast = list(cases), list(fast)
    assert all(one in cases for one in fast), f"not among the cases: {fast}"
    return [
        case if case in fast else pytest.param(*(case if isinstance(case, tuple) else [case]), marks=pytest.mark.slow)
        for case in cases
    ]

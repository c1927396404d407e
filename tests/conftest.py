"""Settings shared by all tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from bayesieve.compiling import ALONE
from tests.limits import LIMITS, Limits, Watch

os.environ[ALONE] = "1"  # no test waits for processes that compile what others test

# Kernels compile the first time they run, so the first example of a property may take seconds: no deadlines.
# Continuous integration draws the same examples each time, few in `make test` and many in `make test-all`; elsewhere
# every run draws new ones.
settings.register_profile(
    "default", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, max_examples=25)
settings.register_profile("all", settings.get_profile("default"), derandomize=True, max_examples=200)
settings.load_profile("ci" if os.environ.get("CI") else "default")


# Half a million objects live from the collection of the tests to their end. To look through them again and again takes
# a quarter of the time of the collection, and some of that of every test.
gc.disable()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(2000, 20, 50)  # models that tests keep are looked through again and again, too
    gc.enable()


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Limits:
    """Set limits by their names in `LIMITS` until the test ends: ``limits(block_rows=100)``."""

    def change(**values: Any) -> None:
        for name, value in values.items():
            monkeypatch.setattr(f"bayesieve.{LIMITS[name]}", value)

    return change


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Until the test ends, call ``before`` with the arguments of every call of a function of a module or class."""

    def change(owner: Any, name: str, before: Callable[..., object]) -> None:
        original = getattr(owner, name)

        def function(*arguments: Any, **options: Any) -> Any:
            before(*arguments)
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, function)

    return change

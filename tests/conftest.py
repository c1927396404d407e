"""Settings shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

# Kernels compile the first time they run, so the first example of a property may take seconds: no deadlines.
# Continuous integration draws the same examples each time; elsewhere every run draws new ones.
settings.register_profile(
    "default", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_configure(config: object) -> None:
    """Forget machine code that is older than any kernel: Numba notices a change of the kernel itself only, not of one
    that it calls from another file.
    """
    if hasattr(config, "workerinput"):
        return  # of the workers of one run, the first process has done it
    source = Path(__file__).resolve().parent.parent / "src" / "bayesieve"
    newest = max((path.stat().st_mtime for path in source.rglob("_*kernels.py")), default=0.0)
    for cached in source.rglob("*.nbi"):
        if cached.stat().st_mtime < newest:
            cached.unlink(missing_ok=True)

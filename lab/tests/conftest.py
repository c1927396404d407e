"""Settings and fixtures that these tests share with those of the library."""

from __future__ import annotations

from tests.cli.conftest import fails, run, succeeds, toy  # noqa: F401
from tests.conftest import limits, watch  # noqa: F401

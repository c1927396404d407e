"""What must be found, for tests of the fuzzer; run by name only."""

from __future__ import annotations

import os
import time

from tests.fuzz.case import Case, operation


@operation(0)
def hangs(case: Case) -> None:
    """Never ends."""
    with case.step("sleep"):
        time.sleep(3600)


@operation(0)
def dies(case: Case) -> None:
    """Takes its process along."""
    with case.step("exit"):
        os._exit(7)

"""Kernels work where nothing can be written."""

from __future__ import annotations

import subprocess
import sys

READ_ONLY = """
import warnings
from numba.core import caching

# As in a read-only installation without a home folder. Older versions of Numba hide the class.
cache = getattr(caching, "CacheImpl", None) or caching._CacheImpl
cache._locator_classes = []
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    from bayesieve.compiling import jit
    add, subtract = jit(lambda a, b: a + b), jit(lambda a, b: a - b)
assert (add(1, 2), subtract(1, 2)) == (3, -1)
assert [warning.category for warning in told] == [RuntimeWarning]
assert "set NUMBA_CACHE_DIR" in str(told[0].message)
"""


def test_nowhere_to_keep_compiled_code() -> None:
    found = subprocess.run([sys.executable, "-c", READ_ONLY], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr

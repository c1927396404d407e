"""A fit from files keeps within ``memory_limit``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

pytest.importorskip("resource")

FIT = """
import resource, sys, warnings
import numpy as np
import bayesieve

def peak():
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else 1024 * size

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, y = rng.normal(size=(3000, 4)), np.arange(3000) % 2
bayesieve.SelectiveNB().fit(X + y[:, None], y)  # libraries and compiled code
before = peak()
model = bayesieve.SelectiveNB(memory_limit=sys.argv[2], pairs=0).fit(bayesieve.scan(sys.argv[1]), "y")
assert set(model.selected_features_) & {"x0", "x1"}
print(peak() - before)
"""


def fitted_within(path: Path, limit: str) -> int:
    """Bytes that a fit takes in a process of its own, besides Python and the libraries."""
    run = subprocess.run([sys.executable, "-c", FIT, path, limit], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return int(run.stdout)


def test_distinct_numbers_of_all_columns_take_no_more_than_the_limit(tmp_path: Path) -> None:
    """All of them counted value by value take 700 MB."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60_000)
    columns = {f"x{k}": rng.normal(size=60_000).astype(np.float32) + y * (k < 2) for k in range(100)}
    path = tmp_path / "rows.parquet"
    pl.DataFrame({**columns, "y": y}).write_parquet(path)
    assert fitted_within(path, "512MiB") < 512 << 20

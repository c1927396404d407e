"""Where the code of kernels is saved, and when it is found again."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import time
import warnings
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path

import numba
import pytest

from bayesieve import compiling
from bayesieve.compiling import hashed_kernels, kernel_sources
from bayesieve.engine.progress import Clock
from tests.processes import in_a_process

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
assert "Set NUMBA_CACHE_DIR" in str(told[0].message)
"""


def printed(code: str, **environment: str) -> str:
    """What code prints in this process, which must not have compiled anything; a warning is an error."""
    os.environ.update(environment)
    numba.core.config.reload_config()
    with redirect_stdout(io.StringIO()) as lines, warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(code, {})
    return lines.getvalue()


def test_nowhere_to_keep_compiled_code() -> None:
    in_a_process(printed, READ_ONLY)


KERNELS = """
from bayesieve.compiling import jit

@jit
def inner(x):
    return x + {number}

@jit
def outer(x):
    return inner(x)
"""

CALL = """
import sys
sys.path.insert(0, {folder!r})
{setting}
import kernels
print(kernels.outer(1), sum(kernels.outer.stats.cache_hits.values()))
"""


def call(folder: Path, setting: str = "", **environment: str) -> str:
    """What a process prints that calls the kernels of a folder: the result, and how many it need not compile."""
    code = CALL.format(folder=str(folder), setting=setting)
    if "NUMBA_CPU_NAME" not in environment:
        return in_a_process(partial(printed, code, **environment)).strip()
    found = subprocess.run(  # the processor is looked up once, when numba is imported
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    assert (found.returncode, found.stderr) == (0, "")
    return found.stdout.strip()


def written(folder: Path) -> Path:
    (folder / "kernels.py").write_text(KERNELS.format(number=1), encoding="utf-8")
    return folder


@pytest.mark.slow
def test_kept_code_is_forgotten_when_any_kernel_changes(tmp_path: Path) -> None:
    """As where a kernel calls another one from a file that changed, while its own did not."""
    written(tmp_path)
    old, new = (
        f"from bayesieve import compiling; compiling.kernel_sources = lambda: {text!r}" for text in ("old", "new")
    )
    assert call(tmp_path, old) == "2 0"
    assert call(tmp_path, old) == "2 1"  # kept
    assert call(tmp_path, new) == "2 0"  # compiled anew
    assert call(tmp_path, new) == "2 1"


ANY_PROCESSOR = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
NOWHERE = """
import tempfile
from numba.core import caching

def refuse(*arguments, **options):
    raise PermissionError("a read-only file system")

tempfile.TemporaryFile = caching.os.makedirs = refuse
"""


@pytest.mark.slow
@pytest.mark.parametrize("processor", [ANY_PROCESSOR, {}], ids=["any", "own"])
def test_kept_code_is_found_from_other_folders_at_other_times(tmp_path: Path, processor: dict[str, str]) -> None:
    """As where a container image sets NUMBA_CACHE_DIR, which need not be writable later."""
    first, second, cached = (tmp_path / name for name in ("first", "second", "cached"))
    for folder, changed in ((first, 1), (second, 10**9)):
        folder.mkdir()
        os.utime(written(folder) / "kernels.py", (changed, changed))
    assert call(first, NUMBA_CACHE_DIR=str(cached), **processor) == "2 0"
    assert call(second, NUMBA_CACHE_DIR=str(cached)) == "2 1"
    assert call(second, NOWHERE, NUMBA_CACHE_DIR=str(cached)) == "2 1"


@pytest.mark.slow
def test_kept_code_comes_with_the_package(tmp_path: Path) -> None:
    """As in a wheel, installed where nothing can be written."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    assert call(written(first), NUMBA_CACHE_DIR="", **ANY_PROCESSOR) == "2 0"
    shutil.copytree(first, second)
    os.utime(second / "kernels.py", (1, 1))
    assert call(second, NOWHERE, NUMBA_CACHE_DIR="") == "2 1"
    (second / "kernels.py").write_text(KERNELS.format(number=2), encoding="utf-8")
    assert call(second, NUMBA_CACHE_DIR="") == "3 0"


def double(number: int) -> int:
    return 2 * number


def test_kernels_saved_with_types_that_are_gone_are_compiled_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def load(self: object) -> None:
        raise AttributeError("Can't get attribute 'Layout' on <module 'bayesieve.criteria._auc_kernels'>")

    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._load_index", load)
    assert compiling.jit(double)(21) == 42


def test_sources_are_those_of_all_kernels() -> None:
    names = [name for name, *_ in kernel_sources()]
    assert {"criteria/_kernels.py", "criteria/_decision_kernels.py", "table/_kernels.py"} <= set(names)
    assert names == sorted(names)


def test_constants_that_kernels_import_are_part_of_their_sources(tmp_path: Path) -> None:
    """Numba writes the value of a constant into compiled code, wherever it was defined."""
    folder = tmp_path / "criteria"
    folder.mkdir()
    (folder / "_kernels.py").write_text("from bayesieve.criteria.rows import WIDE, code\n", encoding="utf-8")

    def hashed(*lines: str) -> tuple[tuple[str, str], ...]:
        (folder / "rows.py").write_text("\n".join(lines), encoding="utf-8")
        return hashed_kernels(tmp_path)

    found = hashed("NARROW, WIDE = range(2)", "def code():", "    return 1")
    assert found == hashed("NARROW, WIDE = range(2)", "def code():", "    return 2")
    assert found != hashed("WIDE, NARROW = range(2)", "def code():", "    return 1")
    several = hashed("WIDE: int = (", "    3", ")")  # not defined in one line: the whole file counts
    assert several != hashed("WIDE: int = (", "    4", ")") or several != found


def test_seconds_of_a_search_leave_out_the_compiling_of_its_kernels() -> None:
    timer = compiling.COMPILE_TIME
    inner = timer.timed(lambda: time.sleep(0.1))
    clock, began, compiled = Clock(None), time.perf_counter(), compiling.COMPILE_TIME.seconds
    timer.timed(lambda: (inner(), inner()))()  # a kernel that calls others is counted once
    spent = compiling.COMPILE_TIME.seconds - compiled
    assert spent >= 0.2
    time.sleep(0.05)
    whole = time.perf_counter() - began
    assert clock.seconds == pytest.approx(whole - spent, abs=0.02)
    with pytest.raises(ZeroDivisionError):
        timer.timed(lambda: 1 / 0)()
    assert timer._depth == 0


def kernels_of_a_first_fit() -> tuple[int, int]:
    import numpy as np
    import polars as pl

    from bayesieve import SelectiveNB

    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 6000)
    number = rng.normal(size=y.size) + y
    word, place = rng.integers(0, 4, y.size) + y, rng.integers(0, 40, y.size)
    frame = pl.DataFrame({"number": number, "few": np.round(2 * number), "word": word, "place": place})
    frame = frame.with_columns(pl.col("word", "place").cast(pl.String))
    SelectiveNB().fit(frame, y).predict_proba(frame)
    names = [name for name in sys.modules if name.startswith("bayesieve.") and name.endswith("kernels")]
    kernels = {value for name in names for value in vars(sys.modules[name]).values() if hasattr(value, "py_func")}
    used = [kernel for kernel in kernels if kernel.signatures and "no_cpython_wrapper" not in kernel.targetoptions]
    return len(used), sum(len(kernel.signatures) for kernel in used)


@pytest.mark.slow
def test_a_first_fit_compiles_no_more_kernels_than_it_did() -> None:
    """Those of a fit to numbers and words, of few and of many values, and the types that they are compiled for."""
    kernels, compiled = in_a_process(kernels_of_a_first_fit)
    assert 10 < kernels <= 23
    assert compiled <= 24

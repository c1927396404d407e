"""The wheel with compiled kernels, as `make wheel` installs it: nothing is compiled, unless Numba is another one."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PYTHON = os.environ.get("BAYESIEVE_WHEEL")
pytestmark = pytest.mark.skipif(PYTHON is None, reason="`make wheel` builds the wheel that these tests are about")

FIRST_FIT = """
import json, sys
{before}
import bayesieve
X, y = bayesieve.datasets.load_german_credit(return_X_y=True)
model = bayesieve.SelectiveNB().fit(X, y)
probability = model.predict_proba(X)
model.explain(X), model.predict_interval(X)
names = [name for name in sys.modules if name.startswith("bayesieve.") and name.endswith("kernels")]
kernels = {{value for name in names for value in vars(sys.modules[name]).values() if hasattr(value, "py_func")}}
stats = [kernel.stats for kernel in kernels if "no_cpython_wrapper" not in kernel.targetoptions]
loaded, compiled = (sum(sum(getattr(one, kind).values()) for one in stats) for kind in ("cache_hits", "cache_misses"))
sums = probability[:5, 1].tolist()
print(json.dumps([bayesieve.__file__, loaded, compiled, sums]))
"""


def first_fit(home: Path, before: str = "") -> list[Any]:
    """What a fresh process without any saved code prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "PYTHON"))}
    done = subprocess.run(
        [str(PYTHON), "-c", FIRST_FIT.format(before=before)],
        cwd=home, env={**environment, "HOME": str(home)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    result: list[Any] = json.loads(done.stdout)
    return result


def test_a_first_fit_compiles_nothing(tmp_path: Path) -> None:
    file, loaded, compiled, _ = first_fit(tmp_path)
    assert not Path(file).is_relative_to(ROOT / "src")
    assert loaded > 10
    assert compiled == 0
    assert not list(tmp_path.rglob("*.nbi"))


@pytest.mark.parametrize("features", ["", "+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe"])
def test_processors_with_and_without_long_vectors_compile_nothing(tmp_path: Path, features: str) -> None:
    *_, sums = first_fit(tmp_path)
    has = f'import numba.core.codegen as codegen; codegen.get_host_cpu_features = lambda: "{features}"'
    _, loaded, compiled, again = first_fit(tmp_path, has)
    assert (loaded > 10, compiled) == (True, 0)
    assert again == pytest.approx(sums, abs=1e-9)


def test_another_numba_compiles_as_ever(tmp_path: Path) -> None:
    *_, sums = first_fit(tmp_path)
    _, loaded, compiled, again = first_fit(tmp_path, 'import numba; numba.__version__ = "0.0.0"')
    assert loaded == 0
    assert compiled > 10
    assert again == pytest.approx(sums, abs=1e-6)


def test_the_command_line_has_nothing_to_announce(tmp_path: Path) -> None:
    program, table = Path(str(PYTHON)).with_name("bayesieve"), ROOT / "examples" / "data" / "german_credit.csv"
    fit = [str(program), "fit", str(table), "--target", "class", "--output", str(tmp_path / "out"), "--selector", "map"]
    done = subprocess.run(fit, capture_output=True, text=True, check=True, env={**os.environ, "HOME": str(tmp_path)})
    assert "Compiling" not in done.stdout + done.stderr


def test_what_the_wheels_hold() -> None:
    compiled, pure = sorted((ROOT / "dist").glob("bayesieve-*.whl"), key=lambda path: "py3-none-any" in path.name)
    version = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    assert f"-{version}-{version}-" in compiled.name
    files = {path: set(zipfile.ZipFile(path).namelist()) for path in (compiled, pure)}
    extra = {name for name in files[compiled] - files[pure] if ".dist-info/" not in name}
    assert files[pure] <= files[compiled] | {name for name in files[pure] if ".dist-info/" in name}
    assert all(name.startswith("bayesieve/machine_code/kernels_") for name in extra)
    assert {Path(name).suffix for name in extra} == {".nbi", ".nbc", ""}
    families = [Path(name).name.rpartition("-")[0] for name in extra if "/compiled-" in name]
    n_processors = 2 if platform.machine() in ("x86_64", "AMD64") else 1
    assert len(families) == n_processors * len(set(families))
    assert not any("__pycache__" in name for names in files.values() for name in names)

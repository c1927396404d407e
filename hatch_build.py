"""Wheels that bring compiled kernels: for one platform and version of Python, and for any processor of its kind; on
x86-64 also for those with vectors of 256 bits, as wrapper searches take up to twice as long without.

With ``BAYESIEVE_MACHINE_CODE=1`` in the environment, and bayesieve's dependencies installed beside hatchling, the build
compiles all kernels and packs Numba's files into the package; without, the wheel is pure. The code is found again if
the sources, the version of Numba and that of Python are the same; else kernels are compiled as from the pure wheel.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MachineCodeHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable" or os.environ.get("BAYESIEVE_MACHINE_CODE") != "1":
            return
        folder = Path(self.root, "build", "machine_code")
        shutil.rmtree(folder, ignore_errors=True)
        wide = ["x86-64-v3"] if platform.machine() in ("x86_64", "AMD64") else []
        for processor in (*wide, "generic"):  # in this order: generic code would do for the others
            target = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(folder)}
            environment = {**os.environ, **target, "PYTHONPATH": str(Path(self.root, "src"))}
            subprocess.run([sys.executable, "-m", "bayesieve", "compile"], env=environment, check=True)
        build_data["force_include"][str(folder)] = "bayesieve/machine_code"
        build_data["pure_python"] = False
        build_data["tag"] = _tag_of_numba()


def _tag_of_numba() -> str:
    """The code calls nothing but what Numba provides, so it runs wherever that wheel of Numba does."""
    lines = (distribution("numba").read_text("WHEEL") or "").splitlines()
    python, abi, platforms = zip(*(line[5:].split("-") for line in lines if line.startswith("Tag: ")), strict=True)
    return f"{python[0]}-{abi[0]}-{'.'.join(platforms)}"

"""`bayesieve compile`: what each family compiles, and where that is written down."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve import SelectiveNB, compiling
from bayesieve.cli.compiling import FAMILIES
from bayesieve.selection import make_selector
from tests.cli.conftest import GERMAN, Run
from tests.processes import in_a_process


def compiled() -> set[str]:
    """The kernels of this process, with the types that they were compiled for."""
    modules = [module for name, module in sys.modules.items() if name.startswith("bayesieve.") and "kernels" in name]
    kernels = {value for module in modules for value in vars(module).values() if hasattr(value, "py_func")}
    return {f"{kernel.py_func.__name__} {signature}" for kernel in kernels for signature in kernel.signatures}


def missed(selector: str) -> tuple[set[str], set[str]]:
    """What is compiled before the families of a selector, and what fits need beyond these."""
    start = compiled()
    for family in ("columns", *make_selector(selector).kernel_families):
        FAMILIES[family]()
    before = compiled()
    table = pl.read_csv(GERMAN)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 6000)
    number = rng.normal(size=y.size) + y  # no cut tells the classes apart, and there are many cells
    place = rng.integers(0, 40, y.size).astype(str)
    frame = pl.DataFrame({"number": number, "few": np.round(2 * number), "place": place})
    for X, labels in ((table.drop("class"), table["class"]), (frame, y)):
        SelectiveNB(selector).fit(X, labels).predict_proba(X)
    return start, compiled() - before


@pytest.mark.slow
@pytest.mark.parametrize("selector", ["compression", "auc", "clusters"])
def test_a_fit_needs_nothing_that_its_families_did_not_compile(selector: str) -> None:
    """In a process that compiled nothing before."""
    assert in_a_process(missed, selector) == (set(), set())


def test_rows_of_many_scores_are_compiled_apart() -> None:
    FAMILIES["auc-levels"]()
    assert any(kernel.startswith("pair_sums ") for kernel in compiled())


def test_compiled_families_are_not_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, succeeds: Run
) -> None:
    started: list[str] = []

    def start(family: str) -> Any:
        started.append(family)
        return SimpleNamespace(wait=lambda: 0)

    monkeypatch.setattr(compiling, "_folder", lambda: tmp_path / "kernels")
    monkeypatch.setattr(compiling, "start", start)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setitem(FAMILIES, "search", lambda: None)
    with compiling.compiling_elsewhere(["search"]):
        assert not started  # the tests ask for no other processes
    monkeypatch.delenv(compiling.ALONE)
    with compiling.compiling_elsewhere(["search", "pairs"]):
        assert started == ["search", "pairs"]
    succeeds("compile", "search", "--quiet")
    with compiling.compiling_elsewhere(["search", "pairs"]):
        assert started == ["search", "pairs", "pairs"]
    monkeypatch.setattr(compiling, "kernel_sources", lambda: ("changed",))
    with compiling.compiling_elsewhere(["search"]):
        assert started[3:] == ["search"]


def test_everything_is_compiled_by_other_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, fails: Run
) -> None:
    codes = dict.fromkeys(FAMILIES, 0)
    monkeypatch.setattr(compiling, "_folder", lambda: tmp_path)
    monkeypatch.setattr(compiling, "start", lambda family: SimpleNamespace(wait=lambda: codes[family]))
    result = run("compile")
    assert result.exit_code == 0
    assert sorted(result.stderr.splitlines()) == sorted(f"Compiling kernels of {name} ..." for name in FAMILIES)
    assert result.stdout.startswith("compiled in ")
    codes["pairs"] = 1
    assert "kernels of pairs cannot be compiled" in fails("compile", "--quiet")
    assert "did you mean 'search'?" in fails("compile", "serach")
    monkeypatch.setattr(compiling, "_folder", lambda: None)
    assert "set NUMBA_CACHE_DIR" in fails("compile")

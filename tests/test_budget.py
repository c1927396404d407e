"""Limits on the length of functions, the share of import lines, and the files that a call visits."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from tests.processes import in_a_process

SOURCE = Path(__file__).parents[1] / "src" / "bayesieve"

MOST_IMPORTS = 0.085  # share of lines
LONGEST_FUNCTION = 60
MOST_VISITED = {"fit": 48, "predict_proba": 10}
"""Files of the library that a call visits, those of compiled code not counted."""


def visited_files() -> dict[str, set[str]]:
    """The files of the library that each call visits, in a process that did nothing else before."""
    import numpy as np
    import polars as pl

    from bayesieve import SelectiveNB

    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    frame = pl.DataFrame({"a": rng.normal(size=400) + y, "b": rng.integers(0, 9, 400)})
    frame = frame.with_columns(c=pl.Series(rng.choice(list("abcdef"), 400)), d=pl.Series(rng.choice(list("uvw"), 400)))
    SelectiveNB().fit(frame, y).predict_proba(frame)  # imports and compiled code do not count

    def visits(call: Callable[[], Any]) -> tuple[Any, set[str]]:
        seen: set[str] = set()
        sys.setprofile(lambda at, *_: seen.add(at.f_code.co_filename))
        try:
            return call(), {path for path in seen if "/bayesieve/" in path and not path.endswith("_kernels.py")}
        finally:
            sys.setprofile(None)

    model, fit = visits(lambda: SelectiveNB(n_jobs=1).fit(frame, y))
    return {"fit": fit, "predict_proba": visits(lambda: model.predict_proba(frame))[1]}


@cache
def code() -> dict[Path, tuple[list[ast.stmt], frozenset[int]]]:
    """The statements of every file, and the numbers of its lines that hold code."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        statements = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)]
        texts = {
            number
            for node in statements
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
            for number in span(node)
        }
        lines = {number for number, line in enumerate(text.split("\n"), 1) if line.strip() and line.lstrip()[0] != "#"}
        found[path] = statements, frozenset(lines - texts)
    return found


def span(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def test_imports_are_a_small_share_of_the_lines() -> None:
    n_lines = sum(len(lines) for _, lines in code().values())
    imports = [
        len(span(node)) for statements, _ in code().values() for node in statements
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]  # fmt: skip
    assert sum(imports) <= MOST_IMPORTS * n_lines


def test_no_function_is_long() -> None:
    long = {
        f"{path.name}: {node.name}": size
        for path, (statements, lines) in code().items()
        for node in statements
        if isinstance(node, ast.FunctionDef) and (size := len(lines.intersection(span(node)))) > LONGEST_FUNCTION
    }
    assert not long


visited = cache(partial(in_a_process, visited_files))


@pytest.mark.parametrize("call", MOST_VISITED)
def test_a_call_visits_few_files(call: str) -> None:
    assert 1 < len(visited()[call]) <= MOST_VISITED[call]

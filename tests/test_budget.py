"""Limits on the length of functions, the share of import lines, and the functions that a call enters."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from tests.processes import in_a_process
from tests.sources import statements

SOURCE = Path(__file__).parents[1] / "src" / "bayesieve"

MOST_IMPORTS = 0.095  # share of lines; one topic a file takes more of them than large files
LONGEST_FUNCTION = 60
MOST_SET_FROM_OUTSIDE = 20
"""Statements that set an attribute of another object than self; most of those left are of other libraries' objects."""
MOST_ENTERED = {"fit": 508, "predict_proba": 55}
"""Functions of the library that a call enters; comprehensions and lambdas belong to the function around them."""


def entered_functions() -> dict[str, int]:
    """Count the functions of the library that each call enters, in a process that did nothing else before."""
    import numpy as np
    import polars as pl

    from bayesieve import SelectiveNB

    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    frame = pl.DataFrame({"a": rng.normal(size=400) + y, "b": rng.integers(0, 9, 400)})
    frame = frame.with_columns(c=pl.Series(rng.choice(list("abcdef"), 400)), d=pl.Series(rng.choice(list("uvw"), 400)))
    SelectiveNB().fit(frame, y).predict_proba(frame)  # imports and compiled code do not count

    def entered(call: Callable[[], Any]) -> tuple[Any, int]:
        codes: set[CodeType] = set()
        sys.setprofile(lambda at, *_: codes.add(at.f_code))
        try:
            result = call()
        finally:
            sys.setprofile(None)
        return result, sum(str(SOURCE) in code.co_filename and not code.co_name.startswith("<") for code in codes)

    model, fit = entered(lambda: SelectiveNB(n_jobs=1).fit(frame, y))
    return {"fit": fit, "predict_proba": entered(lambda: model.predict_proba(frame))[1]}


@cache
def code() -> dict[Path, tuple[list[ast.stmt], frozenset[int]]]:
    """The statements of every file, and the numbers of its lines that hold code."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        nodes = list(statements(ast.parse(text)))
        texts = {
            number
            for node in nodes
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
            for number in span(node)
        }
        lines = {number for number, line in enumerate(text.split("\n"), 1) if line.strip() and line.lstrip()[0] != "#"}
        found[path] = nodes, frozenset(lines - texts)
    return found


def span(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def test_imports_are_a_small_share_of_the_lines() -> None:
    n_lines = sum(len(lines) for _, lines in code().values())
    imports = [
        len(span(node)) for nodes, _ in code().values() for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]  # fmt: skip
    assert sum(imports) <= MOST_IMPORTS * n_lines


def test_no_function_is_long() -> None:
    long = {
        f"{path.name}: {node.name}": size
        for path, (nodes, lines) in code().items()
        for node in nodes
        if isinstance(node, ast.FunctionDef) and (size := len(lines.intersection(span(node)))) > LONGEST_FUNCTION
    }
    assert not long


def test_few_attributes_are_set_from_outside() -> None:
    targets = [
        (path, target)
        for path, (nodes, _) in code().items()
        for node in nodes
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    outside = [
        f"{path.name}: {ast.unparse(target)}"
        for path, target in targets
        if isinstance(target, ast.Attribute) and not (isinstance(target.value, ast.Name) and target.value.id == "self")
    ]
    assert len(outside) <= MOST_SET_FROM_OUTSIDE, outside


entered = cache(partial(in_a_process, entered_functions))


@pytest.mark.parametrize("call", MOST_ENTERED)
def test_a_call_enters_few_functions(call: str) -> None:
    assert 1 < entered()[call] <= MOST_ENTERED[call]

"""The size of the library: a guard against growth. A new capability finds its room by a simplification elsewhere."""

from __future__ import annotations

import ast
import io
import json
import subprocess
import sys
import tokenize
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "bayesieve"

MOST_FILES = 140
MOST_LINES = 29_290  # of code, without docstrings, comments and blank lines
MOST_IMPORTS = 0.08  # share of lines
LONGEST_FUNCTION = 60
MOST_VISITED = {"fit": 40, "predict_proba": 10}
"""Files of the library that a call visits, those of compiled code not counted."""

_TRACE = """
import json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np, polars as pl
from bayesieve import SelectiveNB

rng = np.random.default_rng(0)
y = rng.integers(0, 2, 400)
frame = pl.DataFrame({"a": rng.normal(size=400) + y, "b": rng.integers(0, 9, 400)})
frame = frame.with_columns(c=pl.Series(rng.choice(list("abcdef"), 400)), d=pl.Series(rng.choice(list("uvw"), 400)))
SelectiveNB().fit(frame, y).predict_proba(frame)  # imports and compiled code do not count
visited = {}

def visits(call):
    seen = set()
    sys.setprofile(lambda at, *_: seen.add(at.f_code.co_filename))
    try:
        return call(), seen
    finally:
        sys.setprofile(None)

model, visited["fit"] = visits(lambda: SelectiveNB(n_jobs=1).fit(frame, y))
_, visited["predict_proba"] = visits(lambda: model.predict_proba(frame))
ours = lambda path: "/bayesieve/" in path and not path.endswith("_kernels.py")
print(json.dumps({name: sorted(filter(ours, seen)) for name, seen in visited.items()}))
"""


@cache
def code() -> dict[Path, tuple[ast.Module, frozenset[int]]]:
    """The tree of every file, and the numbers of its lines that hold code."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        texts = {
            number
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }
        passed_over = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        lines = {
            number
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type not in (*passed_over, tokenize.ENDMARKER)
            for number in range(token.start[0], token.end[0] + 1)
        }
        found[path] = tree, frozenset(lines - texts)
    return found


def span(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def test_files_and_lines() -> None:
    n_lines = sum(len(lines) for _, lines in code().values())
    assert len(code()) <= MOST_FILES
    assert n_lines <= MOST_LINES
    imports = [
        len(span(node)) for tree, _ in code().values() for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]  # fmt: skip
    assert sum(imports) <= MOST_IMPORTS * n_lines


def test_no_function_is_long() -> None:
    long = {
        f"{path.name}: {node.name}": size
        for path, (tree, lines) in code().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and (size := len(lines.intersection(span(node)))) > LONGEST_FUNCTION
    }
    assert not long


@pytest.mark.parametrize("call", MOST_VISITED)
def test_a_call_visits_few_files(call: str) -> None:
    assert len(visited()[call]) <= MOST_VISITED[call]


@cache
def visited() -> dict[str, list[str]]:
    done = subprocess.run([sys.executable, "-c", _TRACE], capture_output=True, text=True, check=True)
    found: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    return found

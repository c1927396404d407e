"""Mutation testing: the share of small faults, planted one at a time in a package, that its tests notice.

    python -m tests.mutation search --count 200
    python -m tests.mutation report --first 0 --last 50 --output report.json

Faults are drawn with a seed from all that `Mutator` can plant in functions: another comparison or arithmetic operation,
a negated condition, a number changed by one, a result or a call dropped. Each fault runs in a forked process, whose
functions get the code of the changed file, with the tests of ``tests/PACKAGE`` until the first failure: those that
enter the changed function, the fastest first, then others of the same files. The functions that each test enters are
measured once and kept beside the output. Compiled kernels, and lines outside functions, are not changed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import importlib
import json
import os
import pkgutil
import random
import resource
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

import bayesieve

ROOT = Path(bayesieve.__file__).parent
BUDGET = 15.0
"""Processor time of the tests chosen for a fault, in seconds, as measured without it."""

SECONDS = 45
"""Processor time after which a fault counts as caught, as its tests no longer end."""

_COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATIONS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass(frozen=True)
class Mutant:
    """One planted fault: the file, the outermost function that holds it, and the change in words."""

    file: Path
    function: str
    line: int
    change: str
    number: int
    """Position among the faults of the file, by which `planted` finds it again."""


class Mutator(ast.NodeTransformer):
    """List the faults that a module can hold, or plant the one with a given number."""

    def __init__(self, chosen: int = -1) -> None:
        self.chosen = chosen
        self.faults: list[tuple[str, int, str]] = []
        self._names: list[str] = []
        self._function = ""

    def _plant(self, node: Any, other: ast.AST, change: str) -> ast.AST:
        self.faults.append((self._function, node.lineno, change))
        return ast.copy_location(other, node) if len(self.faults) - 1 == self.chosen else node

    def _scope(self, node: Any) -> ast.AST:
        outer = self._function
        self._names.append(node.name)
        if not isinstance(node, ast.ClassDef):
            self._function = outer or ".".join(self._names)
            node.body = [self.visit(statement) for statement in node.body]
        else:
            node.body = [self.visit(statement) for statement in node.body]
        self._names.pop()
        self._function = outer
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _scope

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not self._function and not isinstance(node, ast.Module | ast.If):
            return node
        return super().generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        other = copy.copy(node)
        kind = type(node.ops[0])
        other.ops = [_COMPARISONS[kind](), *node.ops[1:]]
        return self._plant(node, other, f"{kind.__name__} -> {_COMPARISONS[kind].__name__}")

    def _operation(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        kind = type(node.op)
        if kind not in _OPERATIONS:
            return node
        other = copy.copy(node)
        other.op = _OPERATIONS[kind]()
        return self._plant(node, other, f"{kind.__name__} -> {_OPERATIONS[kind].__name__}")

    visit_BinOp = visit_BoolOp = visit_AugAssign = _operation

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return self._plant(node, node.operand, f"{type(node.op).__name__} dropped")

    def _test(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        if not self._function:
            return node
        other = copy.copy(node)
        other.test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
        return self._plant(node, ast.fix_missing_locations(other), "condition negated")

    visit_If = visit_IfExp = visit_While = _test

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool):
            return self._plant(node, ast.Constant(not node.value), f"{node.value} -> {not node.value}")
        if isinstance(node.value, int | float):
            return self._plant(node, ast.Constant(node.value + 1), f"{node.value} -> {node.value + 1}")
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            return node
        return self._plant(node, ast.fix_missing_locations(ast.Return(ast.Constant(None))), "return None")

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Constant):  # a docstring
            return node
        self.generic_visit(node)
        if not isinstance(node.value, ast.Call):
            return node
        return self._plant(node, ast.Pass(), "call dropped")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node  # formats of texts

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        return node  # defaults are evaluated with the module


def mutants(package: Path) -> list[Mutant]:
    """List all faults of the functions of a package that are not compiled."""
    every = []
    for file in sorted(package.rglob("*.py")):
        if "kernels" in file.name:
            continue
        mutator = Mutator()
        mutator.visit(ast.parse(file.read_text(encoding="utf-8")))
        every += [Mutant(file, *fault, number) for number, fault in enumerate(mutator.faults)]
    return every


def planted(mutant: Mutant) -> CodeType:
    """Compile the file with its fault."""
    tree = Mutator(mutant.number).visit(ast.parse(mutant.file.read_text(encoding="utf-8")))
    return compile(ast.fix_missing_locations(tree), str(mutant.file), "exec")


def _codes(code: CodeType, outer: str = "") -> Iterator[tuple[str, CodeType]]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            name = f"{outer}{inner.co_name}"
            yield f"{name}:{inner.co_firstlineno}", inner
            yield from _codes(inner, f"{name}.")


def exchange(mutant: Mutant) -> int:
    """Give the live functions of a file the code with the fault; return how many there are."""
    changed = dict(_codes(planted(mutant)))
    original = dict(_codes(compile(mutant.file.read_text(encoding="utf-8"), str(mutant.file), "exec")))
    new = {code: changed[name] for name, code in original.items() if name in changed and code != changed[name]}
    functions = [item for item in gc.get_objects() if isinstance(item, FunctionType) and item.__code__ in new]
    for function in functions:
        function.__code__ = new[function.__code__]
    return len(functions)


class Trace:
    """Pytest plugin that records the functions of a package that each test enters, and its processor time."""

    def __init__(self, package: Path) -> None:
        self.prefix = str(package) + os.sep
        self.entered: dict[str, list[str]] = {}
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        places: set[str] = set()

        def enter(frame: FrameType, event: str, _: Any) -> None:
            if event == "call" and frame.f_code.co_filename.startswith(self.prefix):
                places.add(f"{frame.f_code.co_filename}:{frame.f_code.co_qualname.split('.<locals>')[0]}")

        began = time.process_time()
        threading.setprofile(enter)
        sys.setprofile(enter)
        result = yield
        sys.setprofile(None)
        threading.setprofile(None)
        self.seconds[item.nodeid] = time.process_time() - began
        for place in places:
            self.entered.setdefault(place, []).append(item.nodeid)
        return result


class Chosen:
    """Pytest plugin that runs the chosen tests in their order, and remembers which one failed."""

    def __init__(self, tests: list[str]) -> None:
        self.order = {name: place for place, name in enumerate(tests)}
        self.name = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.order), key=lambda item: self.order[item.nodeid]
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.name = report.nodeid


def run(tests: list[str], *plugins: object) -> int:
    options = ["-q", "-x", "-n0", "-p", "no:cacheprovider", "-m", "not slow"]
    return int(pytest.main([*options, *tests], plugins=list(plugins)))


def trace(package: Path) -> tuple[dict[str, list[str]], dict[str, float]]:
    plugin = Trace(package)
    run([f"tests/{package.name}"], plugin)
    return plugin.entered, plugin.seconds


def chosen(names: list[str], seconds: dict[str, float]) -> list[str]:
    """Choose the tests that enter a function, then others of their modules, whose results fixtures may share."""
    total: dict[str, float] = defaultdict(float)
    for name in names:
        total[_module(name)] += seconds[name]
    near = [name for name in seconds if _module(name) in total]
    near.sort(key=lambda name: (name not in names, total[_module(name)], seconds[name]))
    totals = accumulate(seconds[name] for name in near)
    return [name for name, until in zip(near, totals, strict=True) if until < BUDGET]


def outcome(mutant: Mutant, tests: list[str]) -> str:
    if not exchange(mutant):
        return "no function"
    plugin = Chosen(tests)
    code = run(list(dict.fromkeys(map(_module, tests))), plugin)
    return f"caught by {plugin.name or code}" if code else "survived"


def _module(name: str) -> str:
    return name.split("::")[0]


def _forked(work: Callable[[], Any], seconds: int) -> Any:
    """Return what a function returns in a forked process, or None if it takes longer or ends otherwise."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        sys.stderr.flush()
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        signal.alarm(20 * seconds)  # for those that wait forever
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        try:
            result = work()
            with os.fdopen(write, "w") as stream:
                json.dump(result, stream)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--last", type=int)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    package = ROOT / options.package
    every = mutants(package)
    drawn = random.Random(options.seed).sample(every, min(options.count, len(every)))[options.first : options.last]
    output = options.output or Path(f"mutation-{options.package}.json")
    for module in pkgutil.walk_packages(bayesieve.__path__, "bayesieve."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    known = output.with_name(f"{package.name}-trace.json")
    if not known.exists():
        known.write_text(json.dumps(_forked(partial(trace, package), 600)), encoding="utf-8")
    entered, seconds = json.loads(known.read_text(encoding="utf-8"))
    results = []
    for mutant in drawn:
        tests = chosen(entered.get(f"{mutant.file}:{mutant.function}", []), seconds)
        found = "not entered"
        if tests:
            found = _forked(partial(outcome, mutant, tests), SECONDS) or "time limit"
        file = mutant.file.relative_to(ROOT).as_posix()
        results.append({**vars(mutant), "file": file, "tests": len(tests), "outcome": found})
        output.write_text(json.dumps(results, indent=1), encoding="utf-8")
        sys.stderr.write(f"{file}:{mutant.line} {mutant.function}: {mutant.change}: {found} ({len(tests)} tests)\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

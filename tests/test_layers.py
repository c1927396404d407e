"""The contract of layers reads import statements, so no module of the package may be imported by string."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.sources import statements

SOURCE = Path(__file__).parents[1] / "src" / "bayesieve"
BY_NAME = {SOURCE / "__init__.py", SOURCE / "cli" / "commands.py"}  # names and commands are imported when first used


def test_no_module_is_imported_by_string() -> None:
    for path in sorted(set(SOURCE.rglob("*.py")) - BY_NAME):
        text = path.read_text(encoding="utf-8")
        if "import_module" not in text and "__import__" not in text:
            continue  # without parsing it
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
        names = [getattr(call.func, "attr", getattr(call.func, "id", "")) for call in calls]
        assert not {"import_module", "__import__"} & set(names), path.name


def imports() -> dict[str, set[str]]:
    """Return the files that each file imports, at its top or in its functions, but not for type hints only."""
    names = {".".join(path.relative_to(SOURCE.parent).with_suffix("").parts): path for path in SOURCE.rglob("*.py")}
    names = {name.removesuffix(".__init__"): path for name, path in names.items()}
    found: dict[str, set[str]] = {}
    for name, path in names.items():
        nodes = list(statements(ast.parse(path.read_text(encoding="utf-8"))))
        hints = [node for node in nodes if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"]
        of_hints = {inner for node in hints for inner in statements(node)}
        imported = [node for node in nodes if isinstance(node, ast.ImportFrom) and node not in of_hints]
        pairs = [(node.module or "", f"{node.module}.{alias.name}") for node in imported for alias in node.names]
        found[name] = {inside if inside in names else module for module, inside in pairs} & set(names)
    return found


def test_at_most_two_files_import_one_another() -> None:
    direct = imports()
    reached: dict[str, set[str]] = {}
    for name in direct:
        seen, waiting = set[str](), [name]
        while waiting:
            new = direct[waiting.pop()] - seen
            seen |= new
            waiting += new
        reached[name] = seen
    circles = {frozenset(other for other in seen if name in reached[other]) for name, seen in reached.items()}
    assert [sorted(circle) for circle in circles if len(circle) > 2] == []


@pytest.mark.parametrize("path", sorted((SOURCE / "evidence").glob("[!_]*.py")), ids=lambda path: path.stem)
def test_evidence_is_made_of_few_facts(path: Path) -> None:
    """Counts, codes and weights go in, contributions come out: no function takes an estimator, or many arguments."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    for function in functions:
        names = [one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
        assert len([name for name in names if name not in ("self", "cls")]) <= 6, function.name
        assert not {"model", "estimator", "classifier"}.intersection(names), function.name
    imported = [getattr(node, "module", None) or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not [name for name in imported if name.startswith("sklearn.base")]


EDGES = ("cli", "decision", "evaluation", "report")
INSIDE = {
    "cli/test_predict.py": {"bayesieve.engine.progress"},  # interrupted between two blocks of rows
    "cli/test_process.py": {"bayesieve.evidence._kernels"},  # kernels as they are before anything is compiled
    "report/sample.py": {"bayesieve.evaluation.judged", "bayesieve.evaluation.performance"},  # figures without a model
    "report/test_report_page.py": {"bayesieve.evaluation.rule_effects"},  # effects of rules without a model
}


@pytest.mark.parametrize("package", EDGES)
def test_tests_at_the_edge_use_public_names(package: str) -> None:
    """They import modules of the package that they test, and otherwise what packages export."""
    for path in sorted((Path(__file__).parent / package).glob("*.py")):
        nodes = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)]
        private = {f"{node.module}.{name.name}" for node in nodes for name in node.names if name.name[0] == "_"}
        names = {node.module or "" for node in nodes} | private
        inner = {name for name in names if name.startswith("bayesieve.") and name.count(".") > 1}
        others = {name for name in inner if name.split(".")[1] != package}
        assert others == INSIDE.get(f"{package}/{path.name}", set()), path.name

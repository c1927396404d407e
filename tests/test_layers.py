"""The contract of layers reads import statements, so no module of the package may be imported by string."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "bayesieve"
BY_NAME = {SOURCE / "__init__.py"}  # public names are imported when they are first used


@pytest.mark.parametrize("path", sorted(set(SOURCE.rglob("*.py")) - BY_NAME), ids=lambda path: path.stem)
def test_no_module_is_imported_by_string(path: Path) -> None:
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    names = [getattr(call.func, "attr", getattr(call.func, "id", "")) for call in calls]
    assert not {"import_module", "__import__"} & set(names)

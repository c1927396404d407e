"""Docstrings make sense on their own."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for root in ("src", "lab/src") for path in (ROOT / root).rglob("*.py"))
LEANS_ON_OTHERS = re.compile(r"(What|The same|As|Those|These|Whose|Where)\b")


@pytest.mark.parametrize("folder", sorted({path.parent for path in SOURCES}), ids=lambda path: path.name)
def test_docstrings_begin_with_a_noun_or_an_imperative(folder: Path) -> None:
    found = []
    for path in sorted(folder.glob("*.py")):
        source = path.read_text(encoding="utf-8")
        if not re.search(rf'"\s*{LEANS_ON_OTHERS.pattern}', source):
            continue  # without parsing it
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node) or ""
                if LEANS_ON_OTHERS.match(text):
                    found.append(f"{path.relative_to(ROOT)}: {text.splitlines()[0]}")
    assert not found

"""Statements of Python files, without a look at the expressions in them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield all statements below a node, each before those in it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        if isinstance(child, _BLOCKS):
            yield from statements(child)

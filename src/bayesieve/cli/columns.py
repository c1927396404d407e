"""Columns that a model needs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bayesieve.cli.errors import CommandError
from bayesieve.cli.text import listed, shown


def require_needed(model: Any, names: Sequence[str], path: Path) -> None:
    """CommandError unless a table has all columns that predictions depend on."""
    from bayesieve.classifier.own_columns import columns_needed

    lacking = [name for name in columns_needed(model)[1] if name not in names]
    if lacking:
        column = "a column" if len(lacking) == 1 else "columns"
        raise CommandError(f"{shown(path)} lacks {column} that the model needs: {listed(lacking)}")

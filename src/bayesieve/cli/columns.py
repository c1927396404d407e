"""Columns that a model needs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesieve.cli.errors import CommandError
from bayesieve.cli.text import listed, shown

if TYPE_CHECKING:
    from bayesieve.table import FeatureLevels


def levels_of_columns(model: Any) -> dict[str, FeatureLevels]:
    """The levels of the columns that a model was trained on, by name; they define how values are read."""
    from bayesieve.table.indicator_levels import scores_of
    from bayesieve.table.pair_levels import columns_of

    levels = columns_of(model.encoder_.levels_)
    return dict(zip(scores_of(levels), levels, strict=True))


def require_needed(model: Any, names: Sequence[str], path: Path) -> None:
    """CommandError unless a table has all columns that predictions depend on."""
    from bayesieve.classifier.own_columns import columns_needed

    lacking = [name for name in columns_needed(model)[1] if name not in names]
    if lacking:
        column = "a column" if len(lacking) == 1 else "columns"
        raise CommandError(f"{shown(path)} lacks {column} that the model needs: {listed(lacking)}")

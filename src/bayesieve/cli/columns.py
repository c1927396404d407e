"""Columns that a model needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesieve.cli.errors import CommandError
from bayesieve.cli.text import listed, shown

if TYPE_CHECKING:
    import polars as pl

    from bayesieve.table import FeatureLevels


def levels_of_columns(model: Any) -> dict[str, FeatureLevels]:
    """The levels of the columns that a model was trained on, by name; they define how values are read."""
    from bayesieve.table.indicator_levels import scores_of
    from bayesieve.table.pair_levels import columns_of

    levels = columns_of(model.encoder_.levels_)
    return dict(zip(scores_of(levels), levels, strict=True))


def model_columns(model: Any, frame: pl.DataFrame, path: Path) -> Any:
    """The columns that a model was trained on, in its order, without any others, and without names where it had none.

    A missing column that predictions do not depend on is filled with missing values.
    """
    import numpy as np
    import polars as pl

    from bayesieve.classifier.own_columns import columns_needed

    names, needed = columns_needed(model)
    missing = [name for name in names if name not in frame.columns]
    lacking = [name for name in missing if name in needed]
    if lacking:
        column = "a column" if len(lacking) == 1 else "columns"
        raise CommandError(f"{shown(path)} lacks {column} that the model needs: {listed(lacking)}")
    chosen = frame.with_columns(pl.lit(None).alias(name) for name in missing)[names]
    if hasattr(model, "feature_names_in_"):
        return chosen
    return np.array(chosen.rows(), dtype=object)  # trained on an array

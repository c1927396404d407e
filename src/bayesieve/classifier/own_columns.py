"""The columns of a frame that a fitted model was trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from bayesieve.table.frames import whole_frame
from bayesieve.table.indicator_levels import scores_of
from bayesieve.table.pair_levels import columns_behind, columns_of
from bayesieve.table.sources.scanning import scan_to_score

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB
    from bayesieve.table import FeatureLevels
    from bayesieve.table.sources import Source


def columns_needed(model: SelectiveNB) -> tuple[list[str], list[str]]:
    """The columns that a model was trained on, and those of them that predictions depend on."""
    levels = model.encoder_.levels_
    sources = scores_of(columns_of(levels))  # the columns that features are made from
    used = columns_behind(levels, np.isin(np.arange(len(levels)), model.naive_bayes_.used_))
    names = list(dict.fromkeys(sources))
    needed = {name for name, is_used in zip(sources, used, strict=True) if is_used}
    return names, [name for name in names if name in needed]


def levels_of_columns(model: SelectiveNB) -> dict[str, FeatureLevels]:
    """The levels of the columns that a model was trained on, by name; they define how values are read."""
    levels = columns_of(model.encoder_.levels_)
    return dict(zip(scores_of(levels), levels, strict=True))


def scan_for(model: SelectiveNB, source: Any) -> Source:
    """A source whose text, in files without types, is read by the levels of a model."""
    return scan_to_score(source, levels_of_columns(model))


def columns_to_read(model: SelectiveNB, source: Source) -> list[str]:
    """The columns of a source that predictions depend on; at least one, or no row is read."""
    needed = set(columns_needed(model)[1])
    return [name for name in source.names if name in needed] or list(source.names[:1])


def own_columns(model: SelectiveNB, frame: Any) -> Any:
    """The columns that a model was trained on, in its order, without names where it had none. Columns that predictions
    do not depend on may be missing, and are empty then.

    ValueError, which names it, if another column is missing.
    """
    names, needed = columns_needed(model)
    whole = nw.from_native(whole_frame(frame), eager_only=True)
    lacking = [name for name in needed if name not in whole.columns]
    if lacking:
        others = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise ValueError(f"The table has no column {lacking[0]!r}{others}, which the model needs.")
    empty = [nw.lit(None, nw.Float64).alias(name) for name in names if name not in whole.columns]
    chosen = whole.with_columns(*empty)[:, names]  # `select` takes some names for patterns
    if hasattr(model, "feature_names_in_"):
        return chosen.to_native()
    return np.array(chosen.rows(), dtype=object)  # trained on an array

"""Encoders of saved models: what they need to code new rows, and to be fitted again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from bayesieve.discretize import IndicatorEncoder, TableEncoder
from bayesieve.discretize.thresholds import thresholds_of
from bayesieve.table import FeatureLevels
from bayesieve.table.columns import KINDS
from bayesieve.table.indicator_levels import IndicatorLevels
from bayesieve.table.table_levels import TableLevels

_INDICATORS = "indicators"


def encoder_to_json(encoder: TableEncoder | IndicatorEncoder) -> dict[str, Any]:
    """Options of an encoder; its levels are kept with the features.

    Raises
    ------
    ValueError
        If it calls functions, which no file can hold.
    """
    if isinstance(encoder, TableEncoder):
        return {name: plain(value) for name, value in encoder.get_params(deep=False).items()}
    if encoder.scores is not None:
        raise ValueError(
            "This model computes its scores with functions, which cannot be saved as JSON; fit it on the table of "
            "scores that its encoder's compute_scores(X) gives, or pickle it."
        )
    scores = list(encoder.thresholds_)
    asked = [
        found if isinstance(found, int) else found.tolist()
        for found in thresholds_of(encoder.thresholds, scores, scores)
    ]
    by_name = isinstance(encoder.thresholds, Mapping)
    return {
        "kind": _INDICATORS,
        "thresholds": dict(zip(scores, asked, strict=True)) if by_name else asked[0],
        "missing": encoder.missing,
    }


def levels_from_json(options: Mapping[str, Any], levels: Sequence[Any]) -> tuple[FeatureLevels, ...]:
    """The levels of the features, of the kind that the encoder makes."""
    kind = IndicatorLevels if _is_indicators(options) else FeatureLevels
    return tuple(kind.from_json(level) for level in levels)


def encoder_from_json(
    options: Mapping[str, Any], levels: tuple[FeatureLevels, ...], classes: np.ndarray, *, named: bool
) -> TableEncoder | IndicatorEncoder:
    """A fitted encoder; ValueError with half a sentence if the parts do not fit."""
    if options["missing"] not in ("level", "ignore"):
        raise ValueError("missing must be 'level' or 'ignore'")
    encoder = _indicator_encoder(options, levels) if _is_indicators(options) else _table_encoder(options, levels)
    if isinstance(encoder, TableEncoder):
        encoder.levels_ = TableLevels.of(levels)
    else:
        encoder.levels_ = levels  # type: ignore[assignment]  # checked where they are read
    encoder.level_scores_ = np.array([level.level_score for level in levels])
    encoder.unseen_counts_ = np.zeros(len(levels), dtype=np.int64)
    encoder.classes_ = classes
    columns = [level.name for level in levels] if isinstance(encoder, TableEncoder) else list(encoder.thresholds_)
    encoder.n_features_in_ = len(columns)
    if named:
        encoder.feature_names_in_ = np.asarray(columns, dtype=object)
    return encoder


def plain(value: Any) -> Any:
    """Options are kept for the record: what JSON does not know is kept as its text."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return repr(value)


def _is_indicators(options: Mapping[str, Any]) -> bool:
    kind = options.get("kind")
    if kind not in (None, _INDICATORS):
        raise ValueError(f"it names the unknown encoder {kind!r}")
    return kind is not None


def _table_encoder(options: Mapping[str, Any], levels: tuple[FeatureLevels, ...]) -> TableEncoder:
    kinds = options["kinds"]
    names = {level.name for level in levels}
    if kinds is not None and not (
        isinstance(kinds, dict) and set(kinds.values()) <= set(KINDS) and set(kinds) <= names
    ):
        raise ValueError("the kinds of its columns must be 'numeric' or 'categorical'")
    for name in ("numeric", "categorical"):
        if not isinstance(options[name], str):
            raise ValueError(f"{name} is not text")
    # Kinds as they were read: a text column of a CSV file must not turn numeric because new rows happen to hold digits
    # only.
    return TableEncoder(
        numeric=options["numeric"], categorical=options["categorical"], missing=options["missing"], kinds=kinds
    )


def _indicator_encoder(options: Mapping[str, Any], levels: tuple[Any, ...]) -> IndicatorEncoder:
    encoder = IndicatorEncoder(options["thresholds"], missing=options["missing"])
    families = [(score, list(family)) for score, family in groupby(levels, key=lambda level: level.score)]
    scores = [score for score, _ in families]
    if len(set(scores)) != len(scores):
        raise ValueError("the indicators of a score do not stand together")
    for score, family in families:
        ascending = all(low.threshold < high.threshold for low, high in pairwise(family))
        if not ascending or len({level.missing_code for level in family}) > 1:
            raise ValueError(f"the indicators of the score {score!r} contradict each other")
    thresholds_of(encoder.thresholds, scores, scores)  # refuses what has no meaning
    encoder.thresholds_ = {score: np.array([level.threshold for level in family]) for score, family in families}
    encoder.family_of_ = np.repeat(np.arange(len(families)), [len(family) for _, family in families])
    return encoder

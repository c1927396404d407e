"""Encoders of saved models: they code new rows, and can be fitted again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from types import NoneType
from typing import Any

import numpy as np

from bayesieve.classifier.option_json import option_from_json, option_to_json
from bayesieve.discretize import IndicatorEncoder, RandomSums, TableEncoder
from bayesieve.discretize.column_coder import ColumnCoder
from bayesieve.discretize.criterion import check_prior
from bayesieve.discretize.indicators import thresholds_of
from bayesieve.discretize.pairs import check_pairs
from bayesieve.discretize.scanned_columns import QUANTILES
from bayesieve.parts import options_of
from bayesieve.plain_values import Damaged, count, member, numbers, read_by
from bayesieve.table import FeatureLevels
from bayesieve.table.columns import KINDS
from bayesieve.table.indicator_levels import IndicatorLevels
from bayesieve.table.pair_levels import columns_of, features_from_json
from bayesieve.table.table_levels import TableLevels

_INDICATORS = "indicators"


def encoder_to_json(encoder: TableEncoder | IndicatorEncoder) -> dict[str, Any]:
    """Options of an encoder; its levels are kept with the features.

    ValueError if it calls functions, or has a coder from outside the package, which no file can hold.
    """
    if isinstance(encoder, TableEncoder):
        options = options_of(encoder)
        kinds = options.pop("kinds")
        if options["sums"] is None:
            del options["sums"]
        if options["n_quantiles"] == QUANTILES:
            del options["n_quantiles"]
        written = None if kinds is None else {str(name): str(kind) for name, kind in kinds.items()}
        return {name: option_to_json(value, name) for name, value in options.items()} | {"kinds": written}
    if encoder.scores is not None:
        raise ValueError(
            "This model computes its scores with functions, which cannot be saved as JSON; fit it on the table of "
            "scores that its encoder's compute_scores(X) gives, or pickle it."
        )
    scores = list(encoder.thresholds_)
    asked = [
        thresholds if isinstance(thresholds, int) else thresholds.tolist()
        for thresholds in thresholds_of(encoder.thresholds, scores, scores)
    ]
    by_name = isinstance(encoder.thresholds, Mapping)
    return {
        "kind": _INDICATORS,
        "thresholds": dict(zip(scores, asked, strict=True)) if by_name else asked[0],
        "missing": str(encoder.missing),
        "n_jobs": option_to_json(encoder.n_jobs, "n_jobs"),
    }


def levels_from_json(options: Mapping[str, Any], levels: Sequence[Any]) -> tuple[FeatureLevels, ...]:
    """The levels of the features, of the kind that the encoder makes."""
    if _is_indicators(options):
        return tuple(read_by(IndicatorLevels.from_json, level) for level in levels)
    return read_by(features_from_json, levels)


def encoder_from_json(
    options: Mapping[str, Any], levels: tuple[FeatureLevels, ...], classes: np.ndarray, *, named: bool
) -> TableEncoder | IndicatorEncoder:
    """A fitted encoder; `Damaged` if the parts do not fit."""
    if member(options, "missing", str) not in ("level", "ignore"):
        raise Damaged("missing must be 'level' or 'ignore'")
    encoder = _indicator_encoder(options, levels) if _is_indicators(options) else _table_encoder(options, levels)
    if isinstance(encoder, TableEncoder):
        encoder.levels_ = TableLevels.of(levels)
    else:
        encoder.levels_ = levels  # checked where they are read
    encoder.level_scores_ = np.array([level.level_score for level in levels])
    encoder.unseen_counts_ = np.zeros(len(levels), dtype=np.int64)
    encoder.classes_ = classes
    mixed = isinstance(encoder, TableEncoder)
    columns = [level.name for level in columns_of(levels)] if mixed else list(encoder.thresholds_)
    encoder.n_features_in_ = len(columns)
    if named:
        encoder.feature_names_in_ = np.asarray(columns, dtype=object)
    return encoder


def _is_indicators(options: Any) -> bool:
    kind = options.get("kind") if type(options) is dict else options
    if kind not in (None, _INDICATORS):
        raise Damaged("it names an unknown encoder")
    return kind is not None


def _table_encoder(options: Mapping[str, Any], levels: tuple[FeatureLevels, ...]) -> TableEncoder:
    kinds = member(options, "kinds", dict, NoneType)
    names = {level.name for level in columns_of(levels)}
    if kinds is not None and not (all(kind in KINDS for kind in kinds.values()) and set(kinds) <= names):
        raise Damaged("the kinds of its columns must be 'numeric' or 'categorical'")
    coders = {kind: option_from_json(member(options, kind, str, dict)) for kind in KINDS}
    for kind, coder in coders.items():
        if getattr(coder, "kind", kind) != kind or not isinstance(coder, (str, ColumnCoder)):
            raise Damaged(f"{kind} is not a coder of {kind} columns")
    pairs = option_from_json(member(options, "pairs"))
    read_by(check_pairs, pairs)
    sums = option_from_json(options["sums"]) if "sums" in options else None
    if not (sums is None or isinstance(sums, RandomSums)):
        raise Damaged("sums are not random sums")
    # Kinds as they were read: a text column of a CSV file must not turn numeric because new rows happen to hold digits
    # only.
    prior = member(options, "prior")
    read_by(check_prior, prior)
    own: dict[str, Any] = {"n_quantiles": count(options, "n_quantiles")} if "n_quantiles" in options else {}
    own |= {"missing": options["missing"], "n_jobs": _n_jobs(options)}
    return TableEncoder(**coders, prior=prior, kinds=kinds, pairs=pairs, sums=sums, **own)


def _n_jobs(options: Mapping[str, Any]) -> int | None:
    n_jobs = member(options, "n_jobs")
    if n_jobs is not None and (type(n_jobs) is not int or n_jobs == 0):
        raise Damaged("n_jobs is neither null nor a number of threads")
    return n_jobs


def _indicator_encoder(options: Mapping[str, Any], levels: tuple[Any, ...]) -> IndicatorEncoder:
    thresholds = member(options, "thresholds", int, list, dict)
    encoder = IndicatorEncoder(thresholds, missing=options["missing"], n_jobs=_n_jobs(options))
    families = [(score, list(family)) for score, family in groupby(levels, key=lambda level: level.score)]
    scores = [score for score, _ in families]
    if len(set(scores)) != len(scores):
        raise Damaged("the indicators of a score do not stand together")
    for score, family in families:
        ascending = all(low.threshold < high.threshold for low, high in pairwise(family))
        if not ascending or len({level.missing_code for level in family}) > 1:
            raise Damaged(f"the indicators of the score {score!r} contradict each other")
    for option in thresholds.values() if isinstance(thresholds, dict) else [thresholds]:
        if type(option) is not int:
            numbers(option, (len(option),) if type(option) is list else (), "thresholds")
    read_by(thresholds_of, thresholds, scores, scores)
    encoder.thresholds_ = {score: np.array([level.threshold for level in family]) for score, family in families}
    encoder.family_of_ = np.repeat(np.arange(len(families)), [len(family) for _, family in families])
    return encoder

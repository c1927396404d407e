"""Schema of model files, and exact conversion between scorecards and plain values. All values read from a file are
checked.

Levels are the intervals or groups of values of a feature; cells are levels or pieces of them, and have contributions.
Invalid content raises `Damaged`, whose message is half a sentence ("its class counts are all 0") that the caller
completes with the name of the file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from bayesieve.counts import check_smoothing
from bayesieve.counts.contingency import Shrinkage
from bayesieve.discretize.rules import TableRules
from bayesieve.evidence.problem import N_FACTORS, n_logits_of
from bayesieve.evidence.terms import coarser_codes
from bayesieve.plain_values import (
    Counts,
    Damaged,
    Finite,
    Number,
    number,
    number_to_json,
    numbers,
    read_by,
    table,
)
from bayesieve.scorecard.provenance import Provenance, Share
from bayesieve.scorecard.record import Feature, Scorecard, with_importances
from bayesieve.scorecard.withheld import without_unused_values
from bayesieve.scorecard.wording import read_labels
from bayesieve.table import FeatureLevels
from bayesieve.table.cautions import Caution
from bayesieve.table.levels import SavedLevels, WithheldLevels
from bayesieve.table.pair_levels import PairLevels, SavedPair

FORMAT = "bayesieve.SelectiveNB"
VERSION = 5
_MAX_WEIGHT = 1e100  # largest accepted count; larger ones could overflow in sums, and no table reaches it
_MAX_NATS = 1e5  # largest accepted contribution or error; larger ones could overflow in sums
_LABELS: dict[str, type] = {"str": str, "int": int, "bool": bool, "float": float}
_LABEL_TYPES = {
    "int": {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float": {"float16", "float32", "float64"},
}
Matrix = list[list[Finite]]


class SavedClasses(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Class labels in ascending order, and the type of the array that held them."""

    kind: Literal["str", "int", "bool", "float"]
    values: Annotated[list[str | int | Finite | bool], msgspec.Meta(min_length=2)]
    object: bool = False
    type: str | None = None


class SavedFeature(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A feature in a model file: its levels, or those of a pair, and the arrays of `Feature`.

    ``cells`` is present only if it differs from the levels, ``counts`` only if it differs from the counts of the
    levels.
    """

    levels: SavedLevels | None = None
    pair: SavedPair | None = None
    cells: SavedLevels | None = None
    counts: Counts = None
    weight: Share
    search_weight: Share
    contributions: Matrix
    unseen: list[Finite]
    standard_errors: Matrix
    factors: list[Matrix] | None = None
    sign: Literal[-1, 0, 1] = 0
    log_bayes: Finite | None = None


class ModelFile(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Content of a model file: the arrays of a `Scorecard`, its provenance, and further attributes of the model.

    ``columns`` are the columns of the training table, ``named`` is whether they had names, and ``search`` is the trace
    of the search.
    """

    format: Literal["bayesieve.SelectiveNB"]
    version: Literal[5]
    written_by: str
    target: str | None
    columns: list[str]
    named: bool
    classes: SavedClasses
    class_counts: list[Finite]
    intercept: list[Number]
    intercept_factors: list[list[Finite]]
    omitted_variances: list[Finite]
    features: Annotated[list[SavedFeature], msgspec.Meta(min_length=1)]
    provenance: Provenance
    cautions: list[Caution]
    search: dict[str, Any]
    benefit_rule: dict[str, Any] | None = None
    id_columns: list[str] = []


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of model files. It covers neither the checksum nor rules between several values."""
    schema = msgspec.json.schema(ModelFile)
    for part in schema["$defs"].values():
        part.pop("description", None)
    return schema | {"title": "Model file of bayesieve"}


def card_to_plain(card: Scorecard) -> dict[str, Any]:
    """Return a scorecard as plain values, by the names of `ModelFile`. Raise ValueError if JSON cannot represent its
    class labels.
    """
    features = without_unused_values(card)
    columns = {id(feature.levels): feature.levels.name for feature in features if feature.kind != "pair"}
    withheld = {feature.name for feature in features if isinstance(feature.levels, WithheldLevels)}
    provenance = dict(card.provenance)
    if "rules" in provenance:  # rules may contain the withheld values
        rules = card.provenance["rules"].items()
        provenance["rules"] = {
            name: {"exclude": True} if name in withheld and "groups" in rule else rule for name, rule in rules
        }
    labels = card.classes
    values = [value.item() if isinstance(value, np.generic) else value for value in labels.tolist()]
    kinds = [name for name, type_ in _LABELS.items() if all(type(value) is type_ for value in values)]
    if not kinds:
        raise ValueError(f"Classes of type {type(values[0]).__name__} cannot be saved; use text, numbers or booleans.")
    classes = {"kind": kinds[0], "object": labels.dtype == object, "values": values}
    if labels.dtype.name in _LABEL_TYPES.get(kinds[0], ()):
        classes["type"] = labels.dtype.name
    return {
        "columns": list(card.columns),
        "classes": classes,
        "class_counts": card.class_counts.tolist(),
        "intercept": [number_to_json(value) for value in card.intercept.tolist()],
        "intercept_factors": card.intercept_factors.tolist(),
        "omitted_variances": card.omitted_variances.tolist(),
        "features": [_feature_to_plain(feature, columns) for feature in features],
        "provenance": msgspec.to_builtins(provenance),
    }


def _feature_to_plain(feature: Feature, columns: Mapping[int, str]) -> dict[str, Any]:
    """Return a feature as plain values, by the names of `SavedFeature`. ``columns`` gives the name of a column by the
    identity of its levels, to which pairs refer.
    """
    levels = feature.levels
    more: dict[str, Any] = {}
    if isinstance(levels, PairLevels):
        more["pair"] = levels.to_json(columns)
    else:
        more["levels"] = levels.to_json()
    if feature.is_split:
        more["cells"] = feature.cells.to_json()
    if np.any(feature.counts != feature.cells.counts):  # the fit may use other row weights than the coding
        more["counts"] = feature.counts.tolist()
    if feature.factors.size:
        more["factors"] = feature.factors.tolist()
    if feature.sign:
        more["sign"] = feature.sign
    if not math.isnan(feature.log_bayes):
        more["log_bayes"] = feature.log_bayes
    return {
        **more,
        "weight": feature.weight,
        "search_weight": feature.search_weight,
        "contributions": feature.contributions.tolist(),
        "unseen": feature.unseen.tolist(),
        "standard_errors": feature.standard_errors.tolist(),
    }


def card_from_file(file: ModelFile) -> Scorecard:
    """Return the scorecard of a parsed model file. Raise `Damaged` if its values contradict each other."""
    classes = _classes_of(file.classes)
    n_classes, n_logits = classes.size, n_logits_of(classes.size)
    class_counts = numbers(file.class_counts, (n_classes,), "class counts", 0.0, _MAX_WEIGHT)
    if not class_counts.any():
        raise Damaged("its class counts are all 0")
    intercept = numbers(np.array([number(value) for value in file.intercept]), (n_classes,), "intercepts")
    if not np.array_equal(np.isneginf(intercept), class_counts == 0) or np.isposinf(intercept).any():
        raise Damaged("its intercepts and class counts contradict each other")
    n_factors = len(file.intercept_factors[0]) if file.intercept_factors else 0
    if n_factors > N_FACTORS:
        raise Damaged("the intercept has more error factors than there can be")
    shared = numbers(file.intercept_factors, (n_logits, n_factors), "factors", -_MAX_NATS, _MAX_NATS)
    omitted = numbers(file.omitted_variances, (n_logits,), "variances of omitted columns", 0.0, _MAX_NATS)
    levels = _levels_of(file)
    features = [
        _feature_of(saved, level, n_classes, n_factors) for saved, level in zip(file.features, levels, strict=True)
    ]
    provenance = _checked_provenance(file.provenance, file.columns, class_counts)
    facts = {"classes": classes, "class_counts": class_counts, "columns": tuple(file.columns), "provenance": provenance}
    facts |= {"intercept": intercept, "intercept_factors": shared, "omitted_variances": omitted}
    return Scorecard(features=with_importances(features, class_counts), **facts)


def _checked_provenance(provenance: Provenance, columns: Sequence[str], class_counts: np.ndarray) -> Provenance:
    """Return the provenance of a file, with labels in the form that `read_labels` returns. Raise `Damaged` if it
    contradicts the ``columns`` or the ``class_counts`` (n_classes,) of the file.
    """
    n_classes, smoothing = class_counts.size, provenance["smoothing"]
    if provenance.get("positive", 0) >= n_classes:
        raise Damaged("its positive class is not one of its classes")
    if isinstance(smoothing, Shrinkage):
        numbers(smoothing.rows, (), "smoothing", np.finfo(float).tiny, 1e6)
    else:
        read_by(check_smoothing, smoothing)
    if "prior" in provenance:
        prior = numbers(list(provenance["prior"]), (n_classes,), "shares of the classes", 0.0, 1.0)
        if not np.array_equal(prior > 0, class_counts > 0):
            raise Damaged("its shares of the classes and class counts contradict each other")
    if "rules" in provenance:
        read_by(TableRules.of, provenance["rules"])
    if "labels" in provenance:
        labels: Any = read_by(read_labels, msgspec.to_builtins(provenance["labels"]), columns)
        return {**provenance, "labels": labels}
    return provenance


def _levels_of(file: ModelFile) -> list[FeatureLevels]:
    """Return the levels of all features of a file: those of columns first, then those of pairs. Raise `Damaged` if they
    are invalid, or contradict each other or the columns.
    """
    levels: list[FeatureLevels] = []
    shared: dict[str, FeatureLevels] = {}
    for feature in file.features:
        if (feature.levels is None) == (feature.pair is None):
            raise Damaged("each of its features needs either levels or a pair")
        if feature.levels is not None:
            levels.append(read_by(FeatureLevels.from_saved, feature.levels))
        elif feature.pair is not None:
            columns = [level for level in levels if level.kind != "pair"]
            levels.append(read_by(PairLevels.of_saved, feature.pair, columns, shared))
    names, single = [level.name for level in levels], [level for level in levels if level.kind != "pair"]
    if len(set(names)) != len(names) or len(set(file.columns)) != len(file.columns):
        raise Damaged("two of its features or columns have the same name")
    if levels[: len(single)] != single:
        raise Damaged("its pairs must come after all other features")
    if list(dict.fromkeys(level.column for level in single)) != file.columns:
        raise Damaged("its features refer to other columns than it has")
    _check_indicators([level for level in single if level.column != level.name])
    for pair in levels[len(single) :]:
        if not {part.name for part in pair.by_column} <= {level.name for level in single} & set(file.columns):
            raise Damaged(f"the pair {pair.name!r} refers to columns that the file does not contain")
    return levels


def _check_indicators(indicators: Sequence[FeatureLevels]) -> None:
    """Raise `Damaged` unless the indicators ("x <= threshold") of a column have the same type and the same level for
    missing values.
    """
    first: dict[str, FeatureLevels] = {}
    for level in indicators:
        same = first.setdefault(level.column, level)
        alike = all(getattr(level, part) == getattr(same, part) for part in ("kind", "type", "missing_code", "special"))
        if level.cut_points is None or not alike:
            raise Damaged(f"the features of the column {level.column!r} contradict each other")


def _feature_of(saved: SavedFeature, level: FeatureLevels, n_classes: int, n_factors: int) -> Feature:
    """Return a feature from its saved arrays and its ``level``, its division into levels. Raise `Damaged` if shapes or
    values are invalid.

    ``n_classes`` and ``n_factors`` are the numbers of classes and of error factors of the model.
    """
    name, cells = repr(level.name), level
    if saved.cells is not None:
        cells = _cells_of(saved.cells, level)
    shape = (cells.n_levels, n_classes)
    of_levels = table(level.counts, (level.n_levels, n_classes), f"counts of {name}")
    written = cells.counts if saved.counts is None else saved.counts
    counts = of_levels if written is level.counts else table(written, shape, f"counts of the cells of {name}")
    for part in (of_levels, counts):
        numbers(part, part.shape, f"counts of {name}", 0.0, _MAX_WEIGHT)
    contributions, most = f"contributions of {name}", _MAX_NATS
    n_logits = n_logits_of(n_classes)
    factors = np.zeros((shape[0], n_logits, 0))
    if saved.factors is not None:
        factors = numbers(saved.factors, (shape[0], n_logits, n_factors), f"factors of {name}", -most, most)
    if saved.sign and (level.cut_points is None or n_classes != 2):
        raise Damaged(f"the sign of {name} is only allowed for a numeric feature and two classes")
    return Feature(
        levels=level,
        cells=cells,
        contributions=numbers(saved.contributions, shape, contributions, -most, most),
        unseen=numbers(saved.unseen, (n_classes,), f"contributions of unseen values of {name}", -most, most),
        counts=counts,
        standard_errors=numbers(saved.standard_errors, shape, f"standard errors of {name}", 0.0, most),
        factors=factors,
        weight=saved.weight,
        search_weight=saved.search_weight,
        sign=saved.sign,
        log_bayes=math.nan if saved.log_bayes is None else saved.log_bayes,
    )


def _cells_of(saved: SavedLevels, level: FeatureLevels) -> FeatureLevels:
    """Return the saved cells of a feature. Raise `Damaged` unless each of them lies within one of the feature's
    levels.
    """
    cells = read_by(FeatureLevels.from_saved, saved)
    alike = all(getattr(cells, part) == getattr(level, part) for part in ("name", "kind", "type", "special"))
    if not alike or (cells.missing_code is None) != (level.missing_code is None) or not _is_nested(cells, level):
        raise Damaged(f"its levels and cells of {level.name!r} contradict each other")
    return cells


def _is_nested(cells: FeatureLevels, level: FeatureLevels) -> bool:
    """Return whether each cell lies within one level. Both divide the same column."""
    if cells.cut_points is not None and level.cut_points is not None:
        return bool(np.isin(level.cut_points[np.isfinite(level.cut_points)], cells.cut_points).all())
    if cells.groups is None or level.groups is None:
        return False
    values = {value for group in level.groups for value in group}
    if values != {value for group in cells.groups for value in group}:
        return False
    group_of: Mapping[Any, int] = {value: at for at, group in enumerate(level.groups) for value in group}
    first = coarser_codes(cells, level).tolist()
    return all(group_of[value] == at for at, group in zip(first, cells.groups, strict=True) for value in group)


def _classes_of(saved: SavedClasses) -> np.ndarray:
    """Return the class labels of a file, shape (n_classes,), as an array of the type that it had when it was saved.
    Raise `Damaged` if they are invalid.
    """
    values, type_ = saved.values, saved.type
    if not all(type(value) is _LABELS[saved.kind] for value in values):
        raise Damaged("its classes must be at least two labels of one type")
    if sorted(set(values)) != values:
        raise Damaged("its classes are not in ascending order")
    if type_ is not None and type_ not in _LABEL_TYPES.get(saved.kind, ()):
        raise Damaged("its classes have an unknown type")
    try:
        labels = np.array(values, dtype=object if saved.object else type_)
    except OverflowError:
        labels = np.zeros(0)
    if labels.tolist() != values:
        raise Damaged("its class labels do not match their type")
    return labels

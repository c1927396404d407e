"""A fitted `SelectiveNB` as plain values for JSON, and back: exact, with checks of everything that is read."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby, pairwise
from numbers import Integral
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from sklearn import model_selection
from sklearn.base import clone

from bayesieve import discretize, search
from bayesieve.classifier.fit_steps import header_of, signs_of
from bayesieve.classifier.plan import FitPlan, check_options, chosen_encoder, new_encoder
from bayesieve.classifier.selective import SelectiveNB
from bayesieve.counts import Smoothing, check_smoothing
from bayesieve.counts.contingency import Shrinkage
from bayesieve.counts.dependence import DEPENDENCES
from bayesieve.criteria import CRITERIA
from bayesieve.decision.benefit_classifier import BenefitRule
from bayesieve.discretize import IndicatorEncoder, TableEncoder
from bayesieve.discretize.column_coder import ColumnCoder
from bayesieve.discretize.criterion import check_prior
from bayesieve.discretize.indicators import thresholds_of
from bayesieve.discretize.pairs import check_pairs
from bayesieve.discretize.refitting import coarser_codes
from bayesieve.discretize.row_blocks import QUANTILES
from bayesieve.discretize.ruled_coders import AS_LEARNT
from bayesieve.discretize.rules import TableRules
from bayesieve.evidence.standard_errors import N_FACTORS, counting_variances
from bayesieve.parts import Registry, arguments, options_of
from bayesieve.plain_values import (
    Count,
    Damaged,
    Number,
    converted,
    member,
    number,
    number_to_json,
    numbers,
    read_by,
    table,
)
from bayesieve.scorecard.combining import Note
from bayesieve.scorecard.edits import Edit
from bayesieve.scorecard.record import Feature, Scorecard, scorecard_of, with_importances
from bayesieve.scorecard.wording import read_labels
from bayesieve.search import SearchTrace
from bayesieve.selection import SELECTORS, CodedSelector
from bayesieve.table import FeatureLevels
from bayesieve.table.cautions import Caution
from bayesieve.table.columns import KINDS
from bayesieve.table.derived_levels import IndicatorLevels, features_from_json, features_to_json
from bayesieve.table.frames import copy_features
from bayesieve.table.levels import TableLevels, columns_of
from bayesieve.table.target import sign_of_positive

_INDICATORS = "indicators"
_NOTES = ("merged", "updated")
_MOST_WEIGHT = 1e100  # of counts beyond which sums could overflow: no table has them
_LEAST_LOG = -1e5  # log probabilities and evidence beyond which sums could overflow: no table has them
_LABELS: dict[str, type] = {"str": str, "int": int, "bool": bool, "float": float}
_LABEL_TYPES = {
    "int": {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float": {"float16", "float32", "float64"},
}
_Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
_Missing = Literal["level", "ignore"]
_PARTS: dict[str, dict[str, type]] = {
    kind: {name: getattr(module, name) for name in names.split()}
    for kind, module, names in (
        (
            "coder",
            discretize,
            "EqualFrequencyDiscretizer EqualWidthDiscretizer MDLPDiscretizer MODLDiscretizer MODLGrouper",
        ),
        ("search", search, "BestFirst ClusterSearch ExhaustiveSearch GreedySearch MultiStart RankedPath"),
        (
            "splitter",
            model_selection,
            "GroupKFold GroupShuffleSplit KFold LeaveOneGroupOut LeaveOneOut LeavePGroupsOut LeavePOut PredefinedSplit "
            "RepeatedKFold RepeatedStratifiedKFold ShuffleSplit StratifiedGroupKFold StratifiedKFold "
            "StratifiedShuffleSplit TimeSeriesSplit",
        ),
    )
}
"""Objects that a file may name, by kind: loading creates nothing but these and registered parts."""
_REGISTRIES: dict[str, Registry[Any]] = {"criterion": CRITERIA, "dependence": DEPENDENCES}
_KINDS = (*_PARTS, *_REGISTRIES)
_INFINITE = {"inf": math.inf, "-inf": -math.inf}


class _Labels(msgspec.Struct):
    kind: Literal["str", "int", "bool", "float"]
    values: Annotated[list[Any], msgspec.Meta(min_length=2)]
    object: Any = False
    type: str | None = None


class _Feature(msgspec.Struct):
    levels: Any
    selector_weight: _Share
    weight: _Share
    contributions: Any
    unseen: Any
    standard_errors: Any
    factors: Any = None
    counts: Any = None
    cells: Any = None
    sign: Literal[-1, 0, 1] | None = None
    log_bayes: float | None = None


class _Feature2(msgspec.Struct):
    """A feature of a file of version 2, with counted evidence and, unless that predicts, fitted evidence."""

    levels: Any
    selector_weight: _Share
    weight: _Share
    log_prob: Any
    evidence: Any = None
    cells: Any = None
    factors: None = None
    counts: None = None
    sign: None = None
    log_bayes: None = None


class _Content(msgspec.Struct, kw_only=True):
    """The parts of a model file; those of type Any are checked where they are read."""

    target: str | None
    classes: _Labels
    n_rows: Count
    named: bool
    parameters: dict[str, Any]
    encoder: dict[str, Any]
    class_count: Any
    weight_factor: _Share
    calibrated_smoothing: Any
    search: Any
    cautions: list[Caution]
    benefit_rule: Any = None
    id_columns: list[str] = []
    labels: Any = None
    edits: list[Edit] = []
    merged: list[Note] = []
    updated: list[Note] = []
    prior: Any = None
    positive: Annotated[int, msgspec.Meta(ge=0)] | None = None
    min_count: Annotated[int, msgspec.Meta(ge=2)] | None = None


class _Model(_Content, kw_only=True):
    intercept: list[Number]
    intercept_factors: Any = None
    omitted_variances: Any = None
    n_factors: Annotated[int, msgspec.Meta(ge=0, le=N_FACTORS)] = 0
    evidence: Literal["counted", "levels", "cells"]
    features: Annotated[list[_Feature], msgspec.Meta(min_length=1)]


class _Model2(_Content, kw_only=True):
    """Content of version 2."""

    class_log_prior: list[Number]
    features: Annotated[list[_Feature2], msgspec.Meta(min_length=1)]
    intercept: list[Number] | None = None
    intercept_factors: None = None
    omitted_variances: None = None
    n_factors: Literal[0] = 0


class _Choices(msgspec.Struct):
    """The parameters of a file that are no options of the model."""

    selector: str
    selector_by_name: bool
    selector_options: dict[str, Any]
    encoder_by_name: bool


class _TableOptions(msgspec.Struct):
    numeric: Any
    categorical: Any
    prior: Any
    missing: _Missing
    pairs: Any
    n_jobs: int | None
    kinds: dict[str, Literal["numeric", "categorical"]] | None
    n_quantiles: Count = QUANTILES
    levels: Any = None


class _IndicatorOptions(msgspec.Struct):
    thresholds: int | list[float] | dict[str, int | list[float]]
    missing: _Missing
    n_jobs: int | None


def model_to_json(model: SelectiveNB) -> dict[str, Any]:
    """The parts of a fitted model; ValueError if a file cannot hold one of its parts; the sentence names it."""
    card, signs = model.scorecard_, model.monotone or {}
    return {
        "target": model.target_name_,
        "classes": _labels_to_json(model.classes_),
        "n_rows": model.n_rows_,
        "named": hasattr(model, "feature_names_in_"),
        "parameters": _parameters_to_json(model),
        "encoder": _encoder_to_json(model.encoder_),
        "class_count": card.class_counts.tolist(),
        "intercept": [number_to_json(value) for value in card.intercept.tolist()],
        "n_factors": card.intercept_factors.shape[1],
        "intercept_factors": card.intercept_factors.tolist(),
        "omitted_variances": card.omitted_variances.tolist(),
        "evidence": card.provenance["evidence"],
        "weight_factor": float(model.weight_factor_),
        "calibrated_smoothing": _smoothing_to_json(model.smoothing_),
        "features": [
            {
                "levels": levels,
                "selector_weight": feature.search_weight,
                "weight": feature.weight,
                "contributions": feature.contributions.tolist(),
                "unseen": feature.unseen.tolist(),
                "standard_errors": feature.standard_errors.tolist(),
                **({"factors": feature.factors.tolist()} if feature.factors.size else {}),
                # Codes may be fitted with other weights than coded.
                **({"counts": feature.counts.tolist()} if np.any(feature.counts != feature.cells.counts) else {}),
                **({} if feature.cells is feature.levels else {"cells": feature.cells.to_json()}),
                **({} if card.side * feature.sign == signs.get(feature.name, 0) else {"sign": feature.sign}),
                **({} if math.isnan(feature.log_bayes) else {"log_bayes": feature.log_bayes}),
            }
            for feature, levels in zip(card.features, features_to_json([f.levels for f in card.features]), strict=True)
        ],
        **({} if model.benefit_rule_ is None else {"benefit_rule": model.benefit_rule_.to_json()}),
        **({"id_columns": list(model.id_columns_)} if model.id_columns_ else {}),
        **({"labels": card.provenance["labels"]} if card.provenance.get("labels") else {}),
        **({"edits": [asdict(edit) for edit in model.edits_]} if model.edits_ else {}),
        **{key: [asdict(note) for note in card.provenance[key]] for key in _NOTES if card.provenance.get(key)},
        **({"prior": list(card.provenance["prior"])} if "prior" in card.provenance else {}),
        **{key: card.provenance[key] for key in ("positive", "min_count") if key in card.provenance},
        "search": model.trace_.to_json(),
        "cautions": [asdict(caution) | {"columns": list(caution.columns)} for caution in model.cautions_],
    }


def model_from_json(data: dict[str, Any], version: int) -> SelectiveNB:
    """The model whose parts `model_to_json` gave; `Damaged` if they are not such, or contradict each other."""
    parts: Any = converted(data, _Model if version > 2 else _Model2, "content")
    choices = converted(parts.parameters, _Choices, "parameters")
    model = _unfitted(parts.parameters, choices)
    classes = _labels_from_json(parts.classes)
    model.classes_, model.target_name_ = classes, parts.target
    levels = _levels_from_json(parts.encoder, [feature.levels for feature in parts.features])
    names = tuple(level.name for level in levels)
    if len(set(names)) != len(names):
        raise Damaged("feature names must differ from each other")
    if parts.positive is not None and parts.positive >= classes.size:
        raise Damaged("its positive class is none of its classes")
    side = sign_of_positive(classes, parts.positive)
    learnt = {name for caution in parts.cautions if caution.kind == AS_LEARNT for name in caution.columns}
    encoder = _encoder_from_json(parts.encoder, levels, classes, side, learnt, named=parts.named)
    plan = read_by(FitPlan.of, model, encoder)
    signs, selector = read_by(signs_of, plan, classes.size, side), plan.selector
    selector.weights_ = np.array([feature.selector_weight for feature in parts.features])
    selector.support_ = selector.weights_ > 0
    selector.n_features_in_ = len(levels)
    selector.trace_ = SearchTrace.from_json(parts.search, names)
    smoothing = _smoothing_from_json(parts.calibrated_smoothing)
    copy_features(model, encoder)
    model.encoder_, model.selector_, model.trace_ = encoder, selector, selector.trace_
    evidence = parts.evidence if isinstance(parts, _Model) else _evidence_of(parts)
    facts = header_of(selector, encoder, evidence, parts.weight_factor, smoothing, parts.n_rows, parts.positive)
    if parts.min_count is not None:
        facts["provenance"]["min_count"] = parts.min_count
    if parts.labels is not None:
        facts["provenance"]["labels"] = read_by(read_labels, parts.labels, facts["columns"])
    model.scorecard_ = _scorecard(parts, levels, signs, classes=classes, **facts)
    if not choices.encoder_by_name:
        model.encoder = clone(encoder)
    if parts.benefit_rule is not None:
        model.benefit_rule_ = BenefitRule.from_json(parts.benefit_rule, classes)
    if parts.id_columns:
        model.id_columns_ = tuple(parts.id_columns)
    model.cautions_ = tuple(parts.cautions)
    return model


class _Shrinkage(msgspec.Struct, forbid_unknown_fields=True):
    shrinkage: Annotated[float, msgspec.Meta(gt=0.0, le=1e6)]
    fades: bool


def _smoothing_to_json(smoothing: Smoothing) -> Any:
    if isinstance(smoothing, Shrinkage):
        return {"shrinkage": smoothing.rows, "fades": smoothing.fades}
    return option_to_json(smoothing, "smoothing")


def _smoothing_from_json(data: Any) -> Smoothing:
    if isinstance(data, dict) and "shrinkage" in data:
        own = converted(data, _Shrinkage, "smoothing")
        return Shrinkage(own.shrinkage, own.fades)
    smoothing: Smoothing = option_from_json(data)
    read_by(check_smoothing, smoothing)
    return smoothing


def _scorecard(parts: Any, levels: Sequence[FeatureLevels], signs: Mapping[int, int], **facts: Any) -> Scorecard:
    n_classes = facts["classes"].size
    class_counts = numbers(parts.class_count, (n_classes,), "class counts", 0.0, _MOST_WEIGHT)
    if not class_counts.any():
        raise Damaged("its class counts leave no class")
    written = parts.class_log_prior if parts.intercept is None else parts.intercept
    intercept = numbers(np.array([number(value) for value in written]), (n_classes,), "intercepts")
    if not np.array_equal(np.isneginf(intercept), class_counts == 0) or np.isposinf(intercept).any():
        raise Damaged("its intercepts and class counts contradict each other")
    features = [
        _feature(feature, level, (n_classes, parts.n_factors), signs.get(k, 0))
        for k, (feature, level) in enumerate(zip(parts.features, levels, strict=True))
    ]
    n_numbers = 1 if n_classes == 2 else n_classes
    if parts.intercept_factors is None and parts.n_factors > 0:
        raise Damaged("its intercept lacks the factors of its error")
    shared = _factors(parts.intercept_factors, (n_numbers,), parts.n_factors, "the intercept")
    omitted = np.zeros(n_numbers)
    if parts.omitted_variances is not None:
        what = "variances of omitted columns"
        omitted = numbers(parts.omitted_variances, (n_numbers,), what, 0.0, -_LEAST_LOG)
    facts |= {"class_counts": class_counts, "intercept_factors": shared, "omitted_variances": omitted}
    if parts.edits:
        facts["provenance"]["edits"] = tuple(parts.edits)
    facts["provenance"] |= {key: tuple(getattr(parts, key)) for key in _NOTES if getattr(parts, key)}
    if parts.prior is not None:
        prior = numbers(parts.prior, (n_classes,), "shares of the classes", 0.0, 1.0)
        if not np.array_equal(prior > 0, class_counts > 0):
            raise Damaged("its shares of the classes and class counts contradict each other")
        facts["provenance"]["prior"] = tuple(prior.tolist())
    if isinstance(parts, _Model2):
        return scorecard_of(features, intercept, **facts)
    return Scorecard(intercept=intercept, features=with_importances(features, class_counts), **facts)


def _evidence_of(parts: _Model2) -> str:
    if parts.intercept is None:
        return "counted"
    return "levels" if all(feature.cells is None for feature in parts.features) else "cells"


def _feature(feature: _Feature | _Feature2, level: FeatureLevels, sizes: tuple[int, int], sign: int) -> Feature:
    """A feature; ``sizes`` are the numbers of classes and of factors of errors."""
    name, (n_classes, n_factors) = repr(level.name), sizes
    cells = level if feature.cells is None else _cells(feature.cells, level)
    shape, of_levels = (cells.n_levels, n_classes), (level.n_levels, n_classes)
    counts = table(level.counts, of_levels, f"counts of {name}")
    written = cells.counts if feature.counts is None else feature.counts
    own = counts if written is level.counts else table(written, shape, f"counts of the cells of {name}")
    for part in (counts, own):
        _check_range(part, f"counts of {name}", 0.0, _MOST_WEIGHT)
    if isinstance(feature, _Feature):
        contributions = table(feature.contributions, shape, f"contributions of {name}")
        errors = table(feature.standard_errors, shape, f"standard errors of {name}")
        unseen = table(feature.unseen, (n_classes,), f"contributions of unseen values of {name}")
        _check_range(errors, f"standard errors of {name}", 0.0, -_LEAST_LOG)
        _check_range(unseen, f"contributions of unseen values of {name}", _LEAST_LOG, -_LEAST_LOG)
    else:
        logs = table(feature.log_prob, of_levels, f"log probabilities of {name}")
        _check_range(logs, f"log probabilities of {name}", _LEAST_LOG, 0.0)
        fitted = feature.evidence
        contributions = feature.weight * logs if fitted is None else table(fitted, shape, f"evidence of {name}")
        errors, unseen = feature.weight * np.sqrt(counting_variances(own)), np.zeros(n_classes)
    _check_range(contributions, f"contributions of {name}", _LEAST_LOG, -_LEAST_LOG)
    weights = feature.weight, feature.selector_weight
    n_numbers = 1 if n_classes == 2 else n_classes
    factors = _factors(feature.factors, (shape[0], n_numbers), n_factors, name)
    sign = sign if feature.sign is None else feature.sign
    if sign and (level.cut_points is None or n_classes != 2):
        raise Damaged(f"the sign of {name} is of no number, or of several classes")
    log_bayes = math.nan if feature.log_bayes is None else feature.log_bayes
    return Feature(level, cells, contributions, unseen, own, errors, factors, *weights, sign, log_bayes=log_bayes)


def _factors(written: Any, n_numbers: tuple[int, ...], n_factors: int, name: str) -> np.ndarray:
    """The factors of errors, (..., n_numbers, n_factors), or none if the file has none."""
    if written is None:
        return np.zeros((*n_numbers, 0))
    factors = table(written, (*n_numbers, n_factors), f"factors of {name}")
    _check_range(factors, f"factors of {name}", _LEAST_LOG, -_LEAST_LOG)
    return factors


def _parameters_to_json(model: SelectiveNB) -> dict[str, Any]:
    kind = type(model.selector_)
    if not SELECTORS.has(kind):
        raise ValueError(
            f"Selector {kind.__name__} is not part of bayesieve, nor registered by another package (entry points "
            "'bayesieve.selectors'), so its model cannot be saved as JSON; pickle it."
        )
    by_name = isinstance(model.selector, str)
    options = options_of(model)
    unsaved = ("selector", "encoder", "engine", "memory_limit", *["positive"] * (model.positive is None))
    options = _with_rules({name: value for name, value in options.items() if name not in unsaved}, model.encoder_)
    return {
        "selector": kind.name,
        "selector_by_name": by_name,
        "selector_options": {} if by_name else _selector_options(model),
        "encoder_by_name": _encoder_is_default(model),
        **{name: option_to_json(value, name) for name, value in _with_seed(options, model.selector_).items()},
    }


def _selector_options(model: SelectiveNB) -> dict[str, Any]:
    selector = model.selector if type(model.selector) is type(model.selector_) else model.selector_
    options = {k: value for k, value in options_of(selector).items() if k not in selector.unsaved_options}
    return {name: option_to_json(value, name) for name, value in _with_seed(options, model.selector_).items()}


def _with_seed(options: dict[str, Any], selector: CodedSelector) -> dict[str, Any]:
    """In place of a random generator the seed that it gave to the search."""
    state = options.get("random_state")
    if state is None or isinstance(state, Integral):
        return options
    return options | {"random_state": getattr(selector, "random_state", None)}


def _encoder_is_default(model: SelectiveNB) -> bool:
    """Whether ``fit`` would take this encoder without being given one."""
    asked = chosen_encoder(model.encoder, model.selector)
    if not (isinstance(asked, str) and isinstance(model.encoder_, TableEncoder)):
        return False
    encoder = new_encoder(options_of(model))
    encoder.rules_ = getattr(model.encoder_, "rules_", None)
    return _encoder_to_json(model.encoder_) == _encoder_to_json(encoder)


def _unfitted(parameters: dict[str, Any], choices: _Choices) -> SelectiveNB:
    options = {name: value for name, value in parameters.items() if name not in choices.__struct_fields__}
    if choices.selector not in SELECTORS:
        reason = "or a package that registers it is not installed"
        raise Damaged(f"it names the unknown selector {choices.selector[:40]!r}, {reason}")
    selector = SELECTORS[choices.selector]()
    if not choices.selector_by_name:
        selector.set_params(**_known(type(selector), choices.selector_options))
        read_by(selector.check_options)
    given = choices.selector if choices.selector_by_name else selector
    model = SelectiveNB(given, **_known(SelectiveNB, options))
    _rules(model.levels)
    read_by(check_options, options_of(model))
    return model


def _known(kind: type, options: dict[str, Any]) -> dict[str, Any]:
    unknown = set(options) - set(arguments(kind))
    if unknown:
        raise Damaged(f"it has an option {min(unknown)!r} that this bayesieve does not know")
    return {name: option_from_json(value) for name, value in options.items()}


def _cells(data: Any, level: FeatureLevels) -> FeatureLevels:
    """Cells that are nested in the levels of their feature."""
    cells = read_by(FeatureLevels.from_json, data)
    alike = all(getattr(cells, part) == getattr(level, part) for part in ("name", "kind", "type", "special"))
    if not alike or (cells.missing_code is None) != (level.missing_code is None) or not _is_nested(cells, level):
        raise Damaged(f"its levels and cells of {level.name!r} contradict each other")
    return cells


def _is_nested(cells: FeatureLevels, level: FeatureLevels) -> bool:
    if cells.cut_points is not None and level.cut_points is not None:
        return bool(np.isin(level.cut_points[np.isfinite(level.cut_points)], cells.cut_points).all())
    assert cells.groups is not None
    assert level.groups is not None
    values = {value for group in level.groups for value in group}
    if values != {value for group in cells.groups for value in group}:
        return False
    group_of: Mapping[Any, int] = {value: at for at, group in enumerate(level.groups) for value in group}
    first = coarser_codes(cells, level).tolist()
    return all(group_of[value] == at for at, group in zip(first, cells.groups, strict=True) for value in group)


def _check_range(part: np.ndarray, what: str, low: float, high: float) -> None:
    if not ((part >= low) & (part <= high)).all():
        raise Damaged(f"its {what} are out of range")


def _labels_to_json(labels: np.ndarray) -> dict[str, Any]:
    """Labels of one kind: text, whole numbers, booleans or floats; ValueError for labels of any other kind."""
    values = [value.item() if isinstance(value, np.generic) else value for value in labels.tolist()]
    kinds = [name for name, type_ in _LABELS.items() if all(type(value) is type_ for value in values)]
    if not kinds:
        raise ValueError(f"Classes of type {type(values[0]).__name__} cannot be saved; use text, numbers or booleans.")
    written = {"kind": kinds[0], "object": labels.dtype == object, "values": values}
    return written | ({"type": labels.dtype.name} if labels.dtype.name in _LABEL_TYPES.get(kinds[0], ()) else {})


def _labels_from_json(written: _Labels) -> np.ndarray:
    values, type_ = written.values, written.type
    if not all(type(value) is _LABELS[written.kind] for value in values):
        raise Damaged("its classes are not at least two labels of one kind")
    if sorted(set(values)) != values:
        raise Damaged("its classes are not in order")
    if type_ is not None and type_ not in _LABEL_TYPES.get(written.kind, ()):
        raise Damaged("its classes are of an unknown type")
    try:
        labels = np.array(values, dtype=object if written.object is True else type_)
    except OverflowError:
        labels = np.zeros(0)
    if labels.tolist() != values:
        raise Damaged("its classes do not fit their type")
    return labels


def _encoder_to_json(encoder: TableEncoder | IndicatorEncoder) -> dict[str, Any]:
    """Options of an encoder; its levels are kept with the features.

    ValueError if it has a coder from outside the package, which no file can hold.
    """
    if isinstance(encoder, TableEncoder):
        options = _with_rules(options_of(encoder), encoder)
        kinds = options.pop("kinds")
        for name in encoder.unsaved_options:
            del options[name]
        if options["n_quantiles"] == QUANTILES:
            del options["n_quantiles"]
        written = None if kinds is None else {str(name): str(kind) for name, kind in kinds.items()}
        return {name: option_to_json(value, name) for name, value in options.items()} | {"kinds": written}
    scores = list(encoder.thresholds_)
    asked = [
        thresholds if isinstance(thresholds, int) else thresholds.tolist()
        for thresholds in thresholds_of(encoder.thresholds, scores)
    ]
    by_name = isinstance(encoder.thresholds, Mapping)
    return {
        "kind": _INDICATORS,
        "thresholds": dict(zip(scores, asked, strict=True)) if by_name else asked[0],
        "missing": str(encoder.missing),
        "n_jobs": option_to_json(encoder.n_jobs, "n_jobs"),
    }


def _with_rules(options: dict[str, Any], encoder: Any) -> dict[str, Any]:
    """The options with rules for levels as plain values, as far as there are any, whatever file they came from."""
    levels, rules = options.pop("levels", None), getattr(encoder, "rules_", None)
    return options if levels is None else options | {"levels": {} if rules is None else rules.given}


def _levels_from_json(options: Mapping[str, Any], levels: Sequence[Any]) -> tuple[FeatureLevels, ...]:
    """The levels of the features, of the kind that the encoder makes."""
    kind = options.get("kind")
    if kind not in (None, _INDICATORS):
        raise Damaged("it names an unknown encoder")
    if kind is None:
        return read_by(features_from_json, levels)
    return tuple(read_by(IndicatorLevels.from_json, level) for level in levels)


def _encoder_from_json(
    data: Mapping[str, Any],
    levels: tuple[FeatureLevels, ...],
    classes: np.ndarray,
    side: int,
    learnt: Collection[str],
    *,
    named: bool,
) -> TableEncoder | IndicatorEncoder:
    """A fitted encoder; `Damaged` if the parts do not fit."""
    options: Any = converted(data, _IndicatorOptions if "kind" in data else _TableOptions, "encoder")
    if options.n_jobs == 0:
        raise Damaged("n_jobs is neither null nor a number of threads")
    if isinstance(options, _TableOptions):
        encoder: Any = _table_encoder(options, {level.name for level in columns_of(levels)}, side, learnt)
        encoder._remember(TableLevels.of(levels), classes)
        columns = [level.name for level in columns_of(levels)]
    else:
        encoder = _indicator_encoder(options, levels)
        encoder.classes_ = classes
        columns = list(encoder.thresholds_)
    encoder.n_features_in_ = len(columns)
    if named:
        encoder.feature_names_in_ = np.asarray(columns, dtype=object)
    return encoder


def _table_encoder(options: _TableOptions, names: set[str], side: int, learnt: Collection[str]) -> TableEncoder:
    # Kinds as they were read: a text column of a CSV file must not turn numeric because new rows happen to hold digits
    # only.
    if options.kinds is not None and not set(options.kinds) <= names:
        raise Damaged("the kinds are of columns that it does not have")
    parts = {name: option_from_json(getattr(options, name)) for name in (*KINDS, "pairs", "prior")}
    for kind in KINDS:
        if getattr(parts[kind], "kind", kind) != kind or not isinstance(parts[kind], (str, ColumnCoder)):
            raise Damaged(f"{kind} is not a coder of {kind} columns")
    read_by(check_pairs, parts["pairs"])
    read_by(check_prior, parts["prior"])
    plain = {name: getattr(options, name) for name in ("kinds", "missing", "n_jobs", "n_quantiles")}
    encoder = TableEncoder(**parts, **plain, levels=option_from_json(options.levels))
    rules = _rules(encoder.levels, side)
    encoder.rules_ = None if rules is None else rules.as_learnt(learnt)
    return encoder


def _rules(levels: Any, side: int = 1) -> TableRules | None:
    if not isinstance(levels, Mapping | None):
        raise Damaged("what it asks of the levels of columns is not a mapping")
    rules: TableRules | None = None if levels is None else read_by(TableRules.of, levels, side)
    return rules


def _indicator_encoder(options: _IndicatorOptions, levels: tuple[Any, ...]) -> IndicatorEncoder:
    encoder = IndicatorEncoder(options.thresholds, missing=options.missing, n_jobs=options.n_jobs)
    families = [(score, list(family)) for score, family in groupby(levels, key=lambda level: level.column)]
    scores = [score for score, _ in families]
    if len(set(scores)) != len(scores):
        raise Damaged("the indicators of a score do not stand together")
    for score, family in families:
        ascending = all(low.threshold < high.threshold for low, high in pairwise(family))
        if not ascending or len({level.missing_code for level in family}) > 1:
            raise Damaged(f"the indicators of the score {score!r} contradict each other")
    read_by(thresholds_of, options.thresholds, scores)
    encoder.thresholds_ = {score: np.array([level.threshold for level in family]) for score, family in families}
    encoder.family_of_ = np.repeat(np.arange(len(families)), [len(family) for _, family in families])
    encoder.levels_ = levels
    encoder.level_scores_ = np.array([level.level_score for level in levels])
    encoder.unseen_counts_ = np.zeros(len(levels), dtype=np.int64)
    return encoder


def option_to_json(value: Any, name: str) -> Any:
    """An option as plain values; ValueError if a file cannot hold it; the sentence names the option."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    for plain in (int, str):
        if isinstance(value, plain):
            return plain(value)
    if isinstance(value, float) and not math.isnan(value):
        return float(value) if math.isfinite(value) else {"number": str(float(value))}
    if isinstance(value, (list, tuple, range, np.ndarray)):
        return [option_to_json(item, name) for item in value]
    if isinstance(value, Mapping):
        return {"mapping": [[option_to_json(item, name) for item in pair] for pair in value.items()]}
    for kind in _KINDS:
        if _part(kind, type(value).__name__) is type(value):
            options = {key: option_to_json(item, f"{name}'s {key}") for key, item in _options_of(value).items()}
            return {kind: type(value).__name__, "options": options}
    raise ValueError(
        f"{name}={' '.join(repr(value).split())[:100]} cannot be saved as JSON, as it is neither plain data nor a part "
        "of bayesieve or scikit-learn with options that are; pickle the model."
    )


def option_from_json(data: Any) -> Any:
    """The option that `option_to_json` wrote; `Damaged` for anything else."""
    if data is None or type(data) in (bool, int, float, str):
        return data
    if type(data) is list:
        return [option_from_json(item) for item in data]
    if type(data) is dict and set(data) == {"number"} and member(data, "number", str) in _INFINITE:
        return _INFINITE[data["number"]]
    if type(data) is dict and set(data) == {"mapping"}:
        pairs = [option_from_json(pair) for pair in member(data, "mapping", list)]
        if not all(type(pair) is list and len(pair) == 2 and isinstance(pair[0], Hashable) for pair in pairs):
            raise Damaged("a mapping in it is not a list of pairs")
        return dict(pairs)
    for kind in _KINDS:
        if type(data) is not dict or set(data) != {kind, "options"}:
            continue
        part = _part(kind, member(data, kind, str))
        if part is not None:
            options = {key: option_from_json(item) for key, item in member(data, "options", dict).items()}
            try:
                return part(**options)
            except Exception:  # whatever the constructors of two packages raise
                raise Damaged(f"the options of its {data[kind]} cannot be used") from None
    raise Damaged("an option in it is neither a plain value nor a known part")


def _part(kind: str, name: str) -> type | None:
    if kind in _REGISTRIES:
        return next((part for part in _REGISTRIES[kind].values() if part.__name__ == name), None)
    return _PARTS[kind].get(name)


def _options_of(part: Any) -> dict[str, Any]:
    """The arguments of a part's constructor, from its attributes, as scikit-learn names them."""
    more = getattr(part, "cvargs", {})  # of splitters that are repeated
    unsaved = getattr(part, "unsaved_options", ())
    names = [name for name in arguments(type(part)) if name not in unsaved]  # type: ignore[arg-type]
    return {name: getattr(part, name) if hasattr(part, name) else more[name] for name in names}

"""A fitted `SelectiveNB` as plain values for JSON, and back: exact, with checks of everything that is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from numbers import Integral
from types import NoneType
from typing import Any

import numpy as np
from sklearn.base import clone

from bayesieve.classifier.encoder_json import encoder_from_json, encoder_to_json, levels_from_json
from bayesieve.classifier.evidence_json import LEAST_LOG, check_range, evidence_to_json, set_evidence_from_json
from bayesieve.classifier.label_json import labels_from_json, labels_to_json
from bayesieve.classifier.model_parts import (
    check_options,
    encoder_asked_for,
    new_encoder_of,
    new_selector_of,
    signs_of,
)
from bayesieve.classifier.option_json import option_from_json, option_to_json
from bayesieve.classifier.selective import SelectiveNB
from bayesieve.counts import check_smoothing
from bayesieve.decision.benefit_rule import BenefitRule
from bayesieve.discretize import TableEncoder
from bayesieve.naive_bayes import DiscreteNB
from bayesieve.parts import arguments, options_of
from bayesieve.plain_values import (
    Damaged,
    count,
    member,
    number_to_json,
    numbers,
    numbers_from_json,
    read_by,
    shares,
    table,
)
from bayesieve.search import SearchTrace
from bayesieve.selection import SELECTORS, CodedSelector
from bayesieve.table import FeatureLevels
from bayesieve.table.cautions import Caution
from bayesieve.table.estimator_input import copy_features
from bayesieve.table.pair_levels import features_to_json

_MOST_WEIGHT = 1e100  # of counts beyond which sums could overflow: no table has them


def model_to_json(model: SelectiveNB) -> dict[str, Any]:
    """The parts of a fitted model; ValueError if a file cannot hold one of its parts; the sentence names it."""
    predictor = model.naive_bayes_
    return {
        "target": model.target_name_,
        "classes": labels_to_json(model.classes_),
        "n_rows": model.n_rows_,
        "named": hasattr(model, "feature_names_in_"),
        "parameters": _parameters_to_json(model),
        "encoder": encoder_to_json(model.encoder_),
        "class_count": predictor.class_count_.tolist(),
        "class_log_prior": [number_to_json(value) for value in predictor.class_log_prior_.tolist()],
        **({"intercept": [number_to_json(v) for v in predictor.intercept_.tolist()]} if predictor.fitted_ else {}),
        "weight_factor": float(model.weight_factor_),
        "calibrated_smoothing": option_to_json(model.smoothing_, "smoothing"),
        "features": [
            {
                "levels": level,
                "selector_weight": selector_weight,
                "weight": weight,
                "log_prob": log_prob.tolist(),
                **evidence_to_json(model, k),
            }
            for k, (level, selector_weight, weight, log_prob) in enumerate(
                zip(
                    features_to_json(model.encoder_.levels_),
                    model.selector_.weights_.tolist(),
                    model.feature_weights_.tolist(),
                    predictor.feature_log_prob_,
                    strict=True,
                )
            )
        ],
        **({} if model.benefit_rule_ is None else {"benefit_rule": model.benefit_rule_.to_json()}),
        "search": model.trace_.to_json(),
        "cautions": [asdict(caution) | {"columns": list(caution.columns)} for caution in model.cautions_],
    }


def model_from_json(data: dict[str, Any]) -> SelectiveNB:
    """The model whose parts `model_to_json` gave; `Damaged` if they are not such, or contradict each other."""
    parameters = member(data, "parameters", dict)
    model = _unfitted(parameters)
    selector = new_selector_of(model)
    classes = labels_from_json(member(data, "classes", dict))
    model.classes_ = classes
    model.target_name_ = member(data, "target", str, NoneType)
    model.n_rows_ = count(data, "n_rows")
    features = member(data, "features", list)
    options = member(data, "encoder", dict)
    levels = levels_from_json(options, [member(feature, "levels") for feature in features])
    names = tuple(level.name for level in levels)
    if len(set(names)) != len(names) or not names:
        raise Damaged("feature names must be present and differ from each other")
    read_by(signs_of, model, levels, classes.size)
    weights = shares([member(feature, "weight") for feature in features], (len(levels),), "feature weights")
    selector.weights_ = shares([member(f, "selector_weight") for f in features], weights.shape, "weights")
    selector.support_ = selector.weights_ > 0
    selector.n_features_in_ = len(levels)
    model.weight_factor_ = float(shares(member(data, "weight_factor"), (), "weight factor"))
    selector.trace_ = SearchTrace.from_json(member(data, "search", dict), names)
    smoothing = option_from_json(member(data, "calibrated_smoothing"))
    read_by(check_smoothing, smoothing)
    predictor = _predictor(data, levels, classes, smoothing, weights)
    encoder = encoder_from_json(options, levels, classes, named=member(data, "named", bool))
    copy_features(model, encoder)
    model.encoder_, model.selector_, model.trace_ = encoder, selector, selector.trace_
    model.cells_ = set_evidence_from_json(predictor, data, levels)
    if not member(parameters, "encoder_by_name", bool):
        model.encoder = clone(encoder)
    model._adopt(predictor)
    if "benefit_rule" in data:
        model.benefit_rule_ = BenefitRule.from_json(data["benefit_rule"], classes)
    model.cautions_ = tuple(map(_caution, member(data, "cautions", list)))
    return model


def _caution(data: Any) -> Caution:
    columns = member(data, "columns", list)
    if not all(type(name) is str for name in columns):
        raise Damaged("a column of a caution is not text")
    kind, sentence = member(data, "kind", str), member(data, "sentence", str)
    return Caution(kind, tuple(columns), sentence, member(data, "warns", bool))


def _parameters_to_json(model: SelectiveNB) -> dict[str, Any]:
    kind = type(model.selector_)
    if not SELECTORS.has(kind):
        raise ValueError(
            f"Selector {kind.__name__} is not part of bayesieve, nor registered by another package (entry points "
            "'bayesieve.selectors'), so its model cannot be saved as JSON; pickle it."
        )
    by_name = isinstance(model.selector, str)
    options = options_of(model)
    unsaved = ("selector", "encoder", "engine", "cache", "memory_limit")
    options = {name: value for name, value in options.items() if name not in unsaved}
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
    if not (isinstance(encoder_asked_for(model), str) and isinstance(model.encoder_, TableEncoder)):
        return False
    return encoder_to_json(model.encoder_) == encoder_to_json(new_encoder_of(model))


def _unfitted(parameters: dict[str, Any]) -> SelectiveNB:
    own = ("selector", "selector_by_name", "selector_options", "encoder_by_name")
    options = _known(SelectiveNB, {name: value for name, value in parameters.items() if name not in own})
    selector = _selector_of(parameters)
    if not member(parameters, "selector_by_name", bool):
        selector.set_params(**_known(type(selector), member(parameters, "selector_options", dict)))
        read_by(selector.check_options)
    model = SelectiveNB(parameters["selector"] if parameters["selector_by_name"] else selector, **options)
    read_by(check_options, model)
    return model


def _known(kind: type, options: dict[str, Any]) -> dict[str, Any]:
    unknown = set(options) - set(arguments(kind))
    if unknown:
        raise Damaged(f"it has an option {min(unknown)!r} that this bayesieve does not know")
    return {name: option_from_json(value) for name, value in options.items()}


def _selector_of(parameters: dict[str, Any]) -> CodedSelector:
    name = member(parameters, "selector", str)
    if name not in SELECTORS:
        raise Damaged(
            f"it names the unknown selector {str(name)[:40]!r}, or a package that registers it is not installed"
        )
    return SELECTORS[name]()


def _predictor(
    data: dict[str, Any],
    levels: Sequence[FeatureLevels],
    classes: np.ndarray,
    smoothing: Any,
    weights: np.ndarray,
) -> DiscreteNB:
    n_classes = classes.size
    predictor = DiscreteNB(smoothing=smoothing, feature_weights=weights)
    predictor.classes_ = classes
    predictor.class_count_ = numbers(member(data, "class_count"), (n_classes,), "class counts", 0.0, _MOST_WEIGHT)
    prior = numbers_from_json(member(data, "class_log_prior", list), "class priors")
    predictor.class_log_prior_ = numbers(prior, (n_classes,), "class priors", high=0.0)
    if not (predictor.class_count_.any() and np.isfinite(predictor.class_log_prior_).any()):
        raise Damaged("its class counts or class priors leave no class")
    predictor.n_features_in_ = len(levels)
    predictor.feature_log_prob_ = [
        table(member(feature, "log_prob"), (level.n_levels, n_classes), f"log probabilities of {level.name!r}")
        for level, feature in zip(levels, data["features"], strict=True)
    ]
    predictor.feature_count_ = [
        table(level.counts, (level.n_levels, n_classes), f"counts of {level.name!r}") for level in levels
    ]
    check_range(predictor.feature_log_prob_, levels, "log probabilities", LEAST_LOG, 0.0)
    check_range(predictor.feature_count_, levels, "counts", 0.0, _MOST_WEIGHT)
    return predictor.update_weights()

"""Models as JSON: every number exact, nothing executed on reading, what is not understood refused."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from bayesieve.classifier.encoder_json import encoder_from_json, encoder_to_json, levels_from_json, plain
from bayesieve.classifier.selective import SelectiveNB
from bayesieve.counts import Smoothing, check_smoothing
from bayesieve.discretize import TableEncoder
from bayesieve.naive_bayes import DiscreteNB
from bayesieve.search import SearchTrace
from bayesieve.selection import SELECTORS
from bayesieve.selection.evaluation_rows import NAMES as EVALUATIONS
from bayesieve.table import FeatureLevels
from bayesieve.table.estimator_input import copy_features
from bayesieve.table.writing import write_atomically

FORMAT = "bayesieve.SelectiveNB"
VERSION = 1

_MOST_WEIGHT = 1e100  # counts, and
_LEAST_LOG = -1e5  # log probabilities beyond which sums could overflow: no table has them

_RESTORED = (
    *("n_starts", "max_iter", "exhaustive", "max_seconds", "random_state", "smoothing"),
    *("criterion", "direction", "evaluation", "n_features_to_select", "tol", "validation", "validation_size"),
    *("threshold", "alpha", "s", "level_probabilities"),
    *("form", "search", "locally_predictive", "independent_as_redundant"),
)
"""Options of selectors that a loaded model takes over; the others concern the machine it ran on."""

_LABEL_KINDS = {"str": str, "int": int, "bool": bool, "float": float}


class _Damaged(ValueError):
    """What is wrong with the content of a model file, without the file's name."""


def save(model: SelectiveNB, path: str | os.PathLike[str]) -> None:
    """Write a fitted model as JSON, whole or not at all."""
    write_atomically(path, json.dumps(_to_json(model), ensure_ascii=False, allow_nan=False, indent=1) + "\n")


def load(path: str | os.PathLike[str]) -> SelectiveNB:
    """Read a model that `SelectiveNB.save` wrote; its predictions are identical to the last bit.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    SelectiveNB

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not a model, is damaged, or was written by a newer version; one sentence says what is wrong.

    Examples
    --------
    >>> import bayesieve, tempfile, pathlib
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.json"
    >>> model = bayesieve.SelectiveNB().fit(X, y)
    >>> model.save(path)
    >>> bool((bayesieve.load(path).predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    file = Path(path)
    if not file.exists():
        raise FileNotFoundError(f"There is no model file {file}; check the name, or fit a model first.")
    if file.is_dir():
        raise ValueError(f"{file} is a folder; give the model file in it.")
    try:
        data = _parse(file.read_bytes().decode("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{file} is not a model file: it does not hold valid JSON ({_first_line(error)}).") from None
    except OSError as error:
        raise ValueError(f"{file} cannot be read ({error.strerror}).") from None
    except ValueError as error:
        raise ValueError(f"{file} is damaged: {_first_line(error)}.") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(f"{file} is not a bayesieve model: it does not say that its format is {FORMAT}.")
    if type(data.get("version")) is not int or data["version"] != VERSION:
        written = str(data.get("version", "unknown"))[:20]
        raise ValueError(
            f"{file} has model version {written}, this bayesieve reads version {VERSION}; "
            "update bayesieve or fit again."
        )
    try:
        return _from_json(data)
    except (_Damaged, KeyError, TypeError, ValueError, OverflowError, AttributeError, IndexError) as error:
        reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) and error.args else _first_line(error)
        raise ValueError(f"{file} is damaged: {reason.rstrip('.')}; restore the file or fit the model again.") from None


def _parse(text: str) -> Any:
    data = json.loads(text, parse_constant=_refuse_constant)
    if "\\ud" in text.lower():
        json.dumps(data, ensure_ascii=False).encode("utf-8")  # half a character, which no library can show, is refused
    return data


def _to_json(model: SelectiveNB) -> dict[str, Any]:
    from bayesieve.version import __version__

    predictor = model.naive_bayes_
    return {
        "format": FORMAT,
        "version": VERSION,
        "written_by": __version__,
        "target": model.target_name_,
        "classes": _labels_to_json(model.classes_),
        "n_rows": model.n_rows_,
        "named": hasattr(model, "feature_names_in_"),
        "parameters": _parameters_to_json(model),
        "encoder": encoder_to_json(model.encoder_),
        "class_count": predictor.class_count_.tolist(),
        "class_log_prior": [_float_to_json(value) for value in predictor.class_log_prior_.tolist()],
        "weight_factor": model.weight_factor_,
        "calibrated_smoothing": _smoothing_to_json(model.smoothing_),
        "features": [
            {
                "levels": level.to_json(),
                "selector_weight": selector_weight,
                "weight": weight,
                "log_prob": log_prob.tolist(),
            }
            for level, selector_weight, weight, log_prob in zip(
                model.encoder_.levels_,
                model.selector_.weights_.tolist(),
                model.feature_weights_.tolist(),
                predictor.feature_log_prob_,
                strict=True,
            )
        ],
        "search": model.trace_.to_json(),
    }


def _from_json(data: dict[str, Any]) -> SelectiveNB:
    model = _unfitted(data["parameters"])
    selector = model._make_selector()
    classes = _labels_from_json(data["classes"])
    model.classes_ = classes
    model.target_name_ = _optional_text(data["target"], "target")
    model.n_rows_ = _count(data["n_rows"], "n_rows")
    levels = levels_from_json(data["encoder"], [feature["levels"] for feature in data["features"]])
    names = tuple(level.name for level in levels)
    if len(set(names)) != len(names) or not names:
        raise _Damaged("feature names must be present and differ from each other")
    weights = _shares([feature["weight"] for feature in data["features"]], (len(levels),), "feature weights")
    selector.weights_ = _shares([feature["selector_weight"] for feature in data["features"]], weights.shape, "weights")
    selector.support_ = selector.weights_ > 0
    selector.n_features_in_ = len(levels)
    model.weight_factor_ = float(_shares(data["weight_factor"], (), "weight factor"))
    selector.trace_ = SearchTrace.from_json(data["search"], names)
    smoothing = data.get("calibrated_smoothing", model.smoothing)  # files of the first versions have none
    check_smoothing(smoothing)
    predictor = _predictor(data, levels, classes.size, smoothing, weights)
    if type(data["named"]) is not bool:
        raise _Damaged("'named' is neither true nor false")
    encoder = encoder_from_json(data["encoder"], levels, classes, named=data["named"])
    copy_features(model, encoder)
    model.encoder_, model.selector_, model.trace_ = encoder, selector, selector.trace_
    if encoder.get_params() != TableEncoder().get_params():
        model.encoder = clone(encoder)
    model._adopt(predictor)
    return model


def _unfitted(parameters: dict[str, Any]) -> SelectiveNB:
    name, calibrate, state = parameters["selector"], parameters["calibrate"], parameters["random_state"]
    if name not in SELECTORS:
        raise _Damaged(f"it names the unknown selector {name!r}")
    check_smoothing(parameters["smoothing"])
    if type(calibrate) is not bool and calibrate != "auto":
        raise _Damaged("calibrate must be true, false or 'auto'")
    if state is not None and (type(state) is not int or not 0 <= state < 2**32):
        raise _Damaged("random_state must be a whole number or null")
    selector = SELECTORS[name]()
    known = selector.get_params(deep=False)
    options = {key: value for key, value in parameters["selector_options"].items() if key in _RESTORED and key in known}
    if isinstance(options.get("evaluation"), str) and options["evaluation"] not in EVALUATIONS:
        del options["evaluation"]  # a splitter, kept as text only
    selector.set_params(**options)
    if any(type(value) not in (int, float, bool, str, type(None)) for value in options.values()):
        raise _Damaged("the options of its selector are not plain values")
    check_smoothing(selector.smoothing)
    selector._check_options()
    by_name = parameters["selector_by_name"]
    if type(by_name) is not bool:
        raise _Damaged("selector_by_name is neither true nor false")
    return SelectiveNB(
        name if by_name else selector,
        smoothing=parameters["smoothing"],
        calibrate=calibrate,
        max_seconds=options.get("max_seconds") if by_name else None,
        random_state=state,
    )


def _predictor(
    data: dict[str, Any], levels: tuple[FeatureLevels, ...], n_classes: int, smoothing: Any, weights: np.ndarray
) -> DiscreteNB:
    predictor = DiscreteNB(smoothing=smoothing, feature_weights=weights)
    predictor.classes_ = _labels_from_json(data["classes"])
    predictor.class_count_ = _numbers(data["class_count"], (n_classes,), "class counts", low=0.0, high=_MOST_WEIGHT)
    prior = [-math.inf if value == "-inf" else value for value in data["class_log_prior"]]
    predictor.class_log_prior_ = _numbers(prior, (n_classes,), "class priors", high=0.0, finite=False)
    if not (predictor.class_count_.any() and np.isfinite(predictor.class_log_prior_).any()):
        raise _Damaged("its class counts or class priors leave no class")
    predictor.n_features_in_ = len(levels)
    predictor.feature_log_prob_, predictor.feature_count_ = [], []
    for level, feature in zip(levels, data["features"], strict=True):
        shape = (level.n_levels, n_classes)
        log_prob = _numbers(
            feature["log_prob"], shape, f"log probabilities of {level.name!r}", low=_LEAST_LOG, high=0.0
        )
        counts = _numbers(level.counts, shape, f"counts of {level.name!r}", low=0.0, high=_MOST_WEIGHT)
        predictor.feature_log_prob_.append(log_prob)
        predictor.feature_count_.append(counts)
    return predictor.update_weights()


def _parameters_to_json(model: SelectiveNB) -> dict[str, Any]:
    names = {kind: name for name, kind in SELECTORS.items()}
    kind = type(model.selector_)
    if kind not in names:
        raise ValueError(
            f"Selector {kind.__name__} is not part of bayesieve, so its model cannot be saved as JSON; pickle it."
        )
    state = model.random_state
    return {
        "selector": names[kind],
        "selector_by_name": isinstance(model.selector, str),
        "selector_options": {name: plain(value) for name, value in model.selector_.get_params(deep=False).items()},
        "smoothing": _smoothing_to_json(model.smoothing),
        "calibrate": model.calibrate if isinstance(model.calibrate, str) else bool(model.calibrate),
        "random_state": int(state) if isinstance(state, (int, np.integer)) else None,
    }


def _smoothing_to_json(smoothing: Smoothing) -> Smoothing:
    return smoothing if isinstance(smoothing, str) else float(smoothing)


def _float_to_json(value: float) -> float | str:
    return "-inf" if value == -math.inf else value


def _labels_to_json(labels: np.ndarray) -> dict[str, Any]:
    values = labels.tolist()
    kind = next(
        (name for name, type_ in _LABEL_KINDS.items() if all(type(value) is type_ for value in values)),
        None,
    )
    if kind is None:
        raise ValueError(
            f"Classes of type {type(values[0]).__name__} cannot be saved; use text, numbers or booleans as labels."
        )
    return {"kind": kind, "object": labels.dtype == object, "values": values}


def _labels_from_json(data: dict[str, Any]) -> np.ndarray:
    type_ = _LABEL_KINDS.get(data["kind"])
    values = data["values"]
    if (
        type_ is None
        or not isinstance(values, list)
        or len(values) < 2
        or not all(type(value) is type_ for value in values)
    ):
        raise _Damaged("its classes are not at least two labels of one kind")
    if sorted(set(values)) != values:
        raise _Damaged("its classes are not in order")
    return np.array(values, dtype=object if data["object"] is True else None)


def _numbers(
    values: Any,
    shape: tuple[int, ...],
    what: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    finite: bool = True,
) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind not in "iuf" or array.shape != shape:
        raise _Damaged(f"its {what} are not {' x '.join(map(str, shape)) or 'one'} number(s)")
    array = array.astype(float)
    if (
        np.any(np.isnan(array))
        or (finite and not np.all(np.isfinite(array)))
        or np.any(array < low)
        or np.any(array > high)
    ):
        raise _Damaged(f"its {what} are out of range")
    return array


def _count(value: Any, what: str) -> int:
    if type(value) is not int or value < 1:
        raise _Damaged(f"{what} is not a positive whole number")
    return value


def _shares(values: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    return _numbers(values, shape, what, low=0.0, high=1.0)


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise _Damaged(f"{what} is not text")
    return value


def _optional_text(value: Any, what: str) -> str | None:
    return None if value is None else _text(value, what)


def _refuse_constant(text: str) -> float:
    raise _Damaged(f"it holds {text}, which no model contains")


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__

"""Runs of all methods on one fold, whose rows are extracted and coded once."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from sklearn.base import clone

from bayesieve.counts import CodedTable
from bayesieve.evaluation.fold_measures import fold_measures, log_probabilities
from bayesieve.evaluation.folds import Fold
from bayesieve.evaluation.identity import describe
from bayesieve.statistics.metrics import MEASURES
from bayesieve.table.cautions import silenced
from bayesieve.table.frames import take_rows


@runtime_checkable
class CodedClassifier(Protocol):
    """A classifier that can also be fitted to coded rows, so that several classifiers share one coding.

    ``new_encoder()`` returns the encoder that ``fit`` would fit; ``fit_coded(coded, encoder)`` learns from rows coded
    by it, without changing them; ``predict_log_proba`` and ``predict_proba`` take a `CodedTable`.
    """

    def new_encoder(self) -> Any: ...

    def fit_coded(self, coded: CodedTable, encoder: Any) -> Any: ...


@runtime_checkable
class FiguresOfItsOwn(Protocol):
    """A classifier with measures of its own, saved next to the common performance measures.

    ``rows`` are the test rows in the form it predicts (a `CodedTable` for a `CodedClassifier`), ``codes`` (n_rows,)
    their classes as positions among the sorted labels of the data set.
    """

    def fold_figures(self, rows: Any, codes: np.ndarray) -> Mapping[str, float | None]: ...


@dataclass(frozen=True)
class DataSet:
    """A table with the codes (n_rows,) of its classes, their sorted labels, and row weights or None."""

    name: str
    X: Any
    codes: np.ndarray
    classes: np.ndarray
    weights: np.ndarray | None


class FoldRun:
    """One fold of a data set; call with a method to get its result as plain values.

    Methods whose encoders have the same options share a coding, whose seconds count for each of them.
    """

    def __init__(self, data: DataSet, fold: Fold) -> None:
        self._data = data
        self._fold = fold
        self._codings: dict[str, _Coding] = {}
        self._train_X = take_rows(data.X, fold.train)
        self._test_X = take_rows(data.X, fold.test)
        self._labels = data.classes[data.codes[fold.train]]
        self._train_weights = None if data.weights is None else data.weights[fold.train]
        self._test_weights = None if data.weights is None else data.weights[fold.test]

    def __call__(self, name: str, estimator: Any, check: Callable[[Any], None] | None = None) -> dict[str, Any]:
        """Measures of a method, or its error message. ``check`` gets the fitted model and may raise to end the run."""
        row: dict[str, Any] = {
            "data": self._data.name,
            "method": name,
            "repeat": self._fold.repeat,
            "fold": self._fold.fold,
            "n_train": int(self._fold.train.size),
            "n_test": int(self._fold.test.size),
            "n_classes": int(self._data.classes.size),
        }
        row |= dict.fromkeys((*MEASURES, "n_features", "fit_seconds", "predict_seconds", "figures", "error"))
        try:
            self._check_weights()
            model = clone(estimator)
            # A classifier that normalizes weights cannot share a coding with the original ones.
            shares = isinstance(model, CodedClassifier) and not getattr(model, "normalize", False)
            with silenced():
                measured = self._fit_coded(model) if shares else self._fit(model)
            if check is not None:
                check(model)
            row |= measured
        except Exception as error:
            row["error"] = one_line(error)
            error.__traceback__ = None  # its frames would keep the rows of this fold in memory
        return row

    def _check_weights(self) -> None:
        for part, weights in (("training", self._train_weights), ("test", self._test_weights)):
            if weights is not None and not weights.any():
                raise ValueError(f"All {part} rows of this fold have weight 0.")

    def _fit(self, model: Any) -> dict[str, Any]:
        began = time.perf_counter()
        model.fit(self._train_X, self._labels, **self._weight_option(model))
        return self._measured(model, self._test_X, time.perf_counter() - began, 0.0)

    def _fit_coded(self, model: Any) -> dict[str, Any]:
        encoder = model.new_encoder()
        coding = self._codings.setdefault(describe(encoder), _Coding(encoder))
        encoder = coding.encoder  # perhaps fitted already
        coded, train_seconds = coding.once(
            "train", lambda: encoder.fit_transform_coded(self._train_X, self._labels, self._train_weights)
        )
        began = time.perf_counter()
        model.fit_coded(coded, encoder)
        fit_seconds = time.perf_counter() - began + train_seconds
        rows, test_seconds = coding.once("test", lambda: encoder.transform_coded(self._test_X))
        return self._measured(model, rows, fit_seconds, test_seconds)

    def _weight_option(self, model: Any) -> dict[str, Any]:
        if self._train_weights is None:
            return {}
        if "sample_weight" not in inspect.signature(model.fit).parameters:
            raise ValueError(f"{type(model).__name__}.fit does not accept sample_weight.")
        return {"sample_weight": self._train_weights}

    def _measured(self, model: Any, rows: Any, fit_seconds: float, test_seconds: float) -> dict[str, Any]:
        """Results on the test rows, in the form the model predicts, which took ``test_seconds`` to get."""
        codes, train, test = self._data.codes, self._fold.train, self._fold.test
        began = time.perf_counter()
        log_proba = log_probabilities(model, rows, self._data.classes, train.size)
        predict_seconds = time.perf_counter() - began + test_seconds
        if len(log_proba) != test.size:
            raise ValueError(f"Probabilities were predicted for {len(log_proba)} of {test.size} rows.")
        counts = np.bincount(codes[train], weights=self._train_weights, minlength=self._data.classes.size)
        n_features = getattr(model, "n_features_selected_", None)
        has_figures = isinstance(model, FiguresOfItsOwn)
        return _finite(fold_measures(log_proba, codes[test], counts, self._test_weights)) | {
            "n_features": None if n_features is None else int(n_features),
            "fit_seconds": round(fit_seconds, 6),
            "predict_seconds": round(predict_seconds, 6),
            "figures": _finite(model.fold_figures(rows, codes[test])) if has_figures else None,
        }


class _Coding:
    """Training and test rows of a fold as codes, computed on first use; all methods that share it share its failure."""

    def __init__(self, encoder: Any) -> None:
        self.encoder = encoder
        self._parts: dict[str, tuple[CodedTable, float] | Exception] = {}

    def once(self, part: str, make: Callable[[], CodedTable]) -> tuple[CodedTable, float]:
        """The rows of a part, and the seconds it took to code them."""
        if part not in self._parts:
            began = time.perf_counter()
            try:
                self._parts[part] = (make(), time.perf_counter() - began)
            except Exception as error:
                self._parts[part] = error
        coded = self._parts[part]
        if isinstance(coded, Exception):
            raise coded
        return coded


def _finite(figures: Mapping[str, float | None]) -> dict[str, Any]:
    """Plain floats, None in place of missing or infinite ones."""
    return {name: None if value is None or not np.isfinite(value) else float(value) for name, value in figures.items()}


def one_line(error: Exception) -> str:
    """The message of an exception as one line of at most 300 characters."""
    text = " ".join(str(error).split()) or "no message"
    text = text if isinstance(error, ValueError) else f"{type(error).__name__}: {text}"
    return text if len(text) <= 300 else f"{text[:297]}..."


def check_methods(estimators: Mapping[str, Any]) -> None:
    """Raise ValueError unless all estimators are classifiers with probabilities."""
    if not isinstance(estimators, Mapping) or not estimators:
        raise ValueError("estimators must be a mapping from names to classifiers, with at least one of them.")
    for name, estimator in estimators.items():
        if not isinstance(name, str) or not name:
            raise ValueError(f"Names of methods must be texts, got {name!r}.")
        if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
            raise ValueError(f"Method {name!r} must be a scikit-learn classifier, got {estimator!r}.")
        if not (hasattr(estimator, "predict_proba") or hasattr(estimator, "predict_log_proba")):
            kind = type(estimator).__name__
            raise ValueError(
                f"Method {name!r} must be a classifier with predict_proba, got {kind}; a selector becomes one as "
                "SelectiveNB(selector)."
            )

"""Runs of all methods on one fold, whose rows are extracted and coded once."""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from bayesieve.engine import effective_jobs
from bayesieve.evaluation.comparison_file import NUMBERS, describe, fingerprint
from bayesieve.evaluation.folds import Fold
from bayesieve.statistics import metrics
from bayesieve.table.cautions import silenced
from bayesieve.table.frames import take_rows

_LEAST_PROBABILITY = float(np.finfo(np.float64).eps)
_SUM_TOLERANCE = 1e-3  # more than the rounding of single-precision models with many classes
_LOWEST = -1e300  # log of a probability of 0: finite, so that scores can be compared


@dataclass(frozen=True)
class DataSet:
    """A table with the codes (n_rows,) of its classes, their sorted labels, and row weights or None."""

    name: str
    X: Any
    codes: np.ndarray
    classes: np.ndarray
    weights: np.ndarray | None

    @property
    def n_rows(self) -> int:
        return int(self.codes.size)

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.X, self.codes, self.classes, self.weights)

    def take(self, rows: np.ndarray) -> DataSet:
        """The data set of these rows; it has all classes."""
        weights = None if self.weights is None else self.weights[rows]
        return DataSet(self.name, take_rows(self.X, rows), self.codes[rows], self.classes, weights)


class FoldRun:
    """One fold of a data set; call with a method to get its result as plain values.

    A method may have a ``fit_coded(coded, encoder)``, which learns from rows coded by ``new_encoder()`` and does not
    change them, and predict a `CodedTable`: methods whose encoders have the same options share a coding, whose seconds
    count for each of them. It may also have further measures, ``fold_figures(rows, codes)`` -> dict: ``rows`` are the
    test rows in the form it predicts, ``codes`` (n_rows,) their classes as positions among the sorted labels.
    """

    def __init__(self, data: DataSet, fold: Fold) -> None:
        self._fold = fold
        self._train, self._test = data.take(fold.train), data.take(fold.test)
        self._labels = data.classes[self._train.codes]
        self._codings: dict[str, tuple[Any, ...]] = {}

    def __call__(self, name: str, estimator: Any) -> dict[str, Any]:
        """Measures of a method, or its error message. After Ctrl-C in its search, a KeyboardInterrupt is raised."""
        row: dict[str, Any] = {
            "data": self._train.name,
            "method": name,
            "repeat": self._fold.repeat,
            "fold": self._fold.fold,
            "n_train": self._train.n_rows,
            "n_test": self._test.n_rows,
            "n_classes": int(self._train.classes.size),
        }
        row |= dict.fromkeys((*NUMBERS, "figures", "error"))
        try:
            for part, rows in (("training", self._train), ("test", self._test)):
                if rows.weights is not None and not rows.weights.any():
                    raise ValueError(f"All {part} rows of this fold have weight 0.")
            model = clone(estimator)
            with silenced():
                measured = self._measured(model)
            raise_if_interrupted(model)
            row |= measured
        except Exception as error:
            row["error"] = one_line(error)
            error.__traceback__ = None  # its frames would keep the rows of this fold in memory
        return row

    def _measured(self, model: Any) -> dict[str, Any]:
        """Fit a model, and measure it on the test rows, in the form that it predicts."""
        test, rows = self._test, self._test.X
        fit_seconds = predict_seconds = 0.0
        # A classifier that normalizes weights cannot share a coding with the original ones.
        if hasattr(model, "fit_coded") and not getattr(model, "normalize", False):
            encoder, coded, rows, fit_seconds, predict_seconds = self._coding(model.new_encoder())
            began = time.perf_counter()
            model.fit_coded(coded, encoder)
        else:
            weights = self._train.weights
            if weights is not None and "sample_weight" not in inspect.signature(model.fit).parameters:
                raise ValueError(f"{type(model).__name__}.fit does not accept sample_weight.")
            began = time.perf_counter()
            model.fit(self._train.X, self._labels, **({} if weights is None else {"sample_weight": weights}))
        fit_seconds += time.perf_counter() - began
        began = time.perf_counter()
        log_proba = log_probabilities(model, rows, test.classes, self._train.n_rows)
        predict_seconds += time.perf_counter() - began
        if len(log_proba) != test.n_rows:
            raise ValueError(f"Probabilities were predicted for {len(log_proba)} of {test.n_rows} rows.")
        counts = np.bincount(self._train.codes, weights=self._train.weights, minlength=test.classes.size)
        n_features = getattr(model, "n_features_selected_", None)
        return _finite(fold_measures(log_proba, test.codes, counts, test.weights)) | {
            "n_features": None if n_features is None else int(n_features),
            "fit_seconds": round(fit_seconds, 6),
            "predict_seconds": round(predict_seconds, 6),
            "figures": _finite(model.fold_figures(rows, test.codes)) if hasattr(model, "fold_figures") else None,
        }

    def _coding(self, encoder: Any) -> tuple[Any, ...]:
        """An encoder, or one with the same options that was fitted before, with the training and test rows coded by it,
        and the seconds that each took.
        """
        options = describe(encoder)
        if options not in self._codings:
            began = time.perf_counter()
            train = encoder.fit_transform_coded(self._train.X, self._labels, self._train.weights)
            middle = time.perf_counter()
            test = encoder.transform_coded(self._test.X)
            self._codings[options] = encoder, train, test, middle - began, time.perf_counter() - middle
        return self._codings[options]


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
        is_estimator = hasattr(estimator, "fit") and hasattr(estimator, "get_params")
        predicts = hasattr(estimator, "predict_proba") or hasattr(estimator, "predict_log_proba")
        if isinstance(estimator, type) or not (is_estimator and predicts):
            raise ValueError(
                f"Method {name!r} must be a scikit-learn classifier with predict_proba, got {estimator!r:.200}; a "
                "selector becomes one as SelectiveNB(selector)."
            )


def quiet_clone(estimator: Any, n_jobs: int | None) -> Any:
    """A clone that prints nothing in any part, and uses one thread if folds run in parallel."""
    copy = clone(estimator)
    one_thread = n_jobs is not None and effective_jobs(n_jobs) > 1
    changes: dict[str, int] = {}
    for name, value in copy.get_params(deep=True).items():
        option = name.rpartition("__")[2]
        if option == "verbose" and value:
            changes[name] = 0
        if option == "n_jobs" and one_thread and value is not None:  # None is one thread already
            changes[name] = 1
    return copy.set_params(**changes)


def raise_if_interrupted(model: Any) -> None:
    """Raise KeyboardInterrupt if a search returned its best subset so far because of Ctrl-C: its fold is unfinished."""
    trace = getattr(model, "trace_", None)
    limits = [getattr(part, "max_seconds", None) for part in (model, getattr(model, "selector_", None))]
    limit = min((limit for limit in limits if limit is not None), default=None)
    if trace is not None and trace.was_interrupted(limit):
        raise KeyboardInterrupt


def log_probabilities(model: Any, X: Any, classes: np.ndarray, n_train: int) -> np.ndarray:
    """Log probabilities (n_rows, n_classes) of all ``classes`` (sorted) from a classifier that may know fewer.

    A class without training rows gets the probability of half a row, as in `out_of_fold_log_proba`. A ValueError is
    raised if probabilities or classes are invalid.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # probabilities <= 0 are handled below
        if hasattr(model, "predict_log_proba"):
            predicted = np.asarray(model.predict_log_proba(X), dtype=float)
        else:
            predicted = np.log(np.asarray(model.predict_proba(X), dtype=float))
    own = np.asarray(model.classes_)
    known = np.searchsorted(classes, own)
    if not np.array_equal(classes[np.minimum(known, classes.size - 1)], own):
        raise ValueError(f"The model has classes that the data set lacks: {own.tolist()}.")
    if predicted.ndim != 2 or predicted.shape[1] != known.size:
        raise ValueError(f"Predicted probabilities have shape {predicted.shape}, not one column for each class.")
    if np.isnan(predicted).any():
        raise ValueError("Predicted probabilities are not numbers (NaN), or negative.")
    sums = np.exp(np.minimum(predicted, 99.0)).sum(axis=1)
    if predicted.size and np.abs(sums - 1.0).max() > _SUM_TOLERANCE:
        worst = float(sums[np.argmax(np.abs(sums - 1.0))])
        raise ValueError(f"Predicted probabilities of a row add up to {worst:.4g}, not to 1.")
    log_proba = np.full((len(predicted), classes.size), np.log(0.5 / n_train))
    log_proba[:, known] = np.maximum(predicted, _LOWEST)
    return log_proba


def fold_measures(
    log_proba: np.ndarray, codes: np.ndarray, train_counts: np.ndarray, weights: np.ndarray | None = None
) -> dict[str, float]:
    """All performance measures on the test rows of a fold.

    Parameters
    ----------
    log_proba : (n_rows, n_classes); the predicted class is the first one with the largest probability.
    codes : (n_rows,) true class of each row.
    train_counts : (n_classes,) rows, or their weight, of each class in training.
    weights : (n_rows,) row weights, or None.

    Returns
    -------
    dict by names in `MEASURES`. ``log_loss`` (nats a row) clips probabilities at 2.2e-16, as scikit-learn does, so that
    methods with saturated probabilities are treated like those with logarithms. ``compression_rate`` is 1 - log loss /
    log loss of the null model (Boulle 2007, section 5.2), which predicts the class shares of the training rows; with
    exactly stratified folds, its log loss is H(Y). ``auc`` is NaN if all rows are of one class.
    """
    clipped = np.maximum(log_proba, np.log(_LEAST_PROBABILITY))
    loss = metrics.log_loss(clipped, codes, weights)
    return {
        "accuracy": metrics.accuracy(log_proba, codes, weights),
        "auc": metrics.auc(log_proba, codes, weights),
        "compression_rate": metrics.compression_rate(loss, _null_loss(codes, train_counts, weights)),
        "log_loss": loss,
        "brier": metrics.brier_score(log_proba, codes, weights),
        "balanced_accuracy": balanced_accuracy(log_proba, codes, weights),
    }


def _null_loss(codes: np.ndarray, train_counts: np.ndarray, weights: np.ndarray | None) -> float:
    shares = np.where(train_counts > 0, train_counts, 0.5) / train_counts.sum()
    return float(np.average(-np.log(shares[codes]), weights=weights))


def balanced_accuracy(log_proba: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Mean recall over the classes present."""
    every = np.ones(codes.size) if weights is None else weights
    total = np.bincount(codes, weights=every, minlength=log_proba.shape[1])
    right = np.bincount(codes, weights=every * (log_proba.argmax(axis=1) == codes), minlength=log_proba.shape[1])
    present = total > 0
    return float((right[present] / total[present]).mean())

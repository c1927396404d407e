"""Folds of rows, reproducible by a seed, and the run of methods on a fold."""

from __future__ import annotations

import hashlib
import inspect
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import RepeatedStratifiedKFold

from bayesieve.engine import effective_jobs
from bayesieve.evaluation.splits import fingerprint, time_splits
from bayesieve.selection.row_splits import is_splitter, pairs_of, row_splits
from bayesieve.statistics import metrics
from bayesieve.statistics.metrics import MEASURES
from bayesieve.table.cautions import silenced
from bayesieve.table.frames import take_rows
from bayesieve.words import ShortRepr, plural
from bayesieve_lab.coding import encoder_of

NUMBERS = (*MEASURES, "n_features", "fit_seconds", "predict_seconds")
"""Numeric columns of `Comparison.frame`, and numbers of every result."""
_IRRELEVANT = frozenset(("n_jobs", "verbose"))  # results do not depend on them
_LEAST_PROBABILITY = float(np.finfo(np.float64).eps)
_SUM_TOLERANCE = 1e-3  # more than the rounding of single-precision models with many classes
_LOWEST = -1e300  # log of a probability of 0: finite, so that scores can be compared


@dataclass(frozen=True)
class Fold:
    """Row positions of a fold.

    Attributes
    ----------
    repeat, fold : numbers of the repeat and of the fold in it, from 0.
    train, test : positions of the training rows and of the test rows.
    """

    repeat: int
    fold: int
    train: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class RepeatedFolds(ShortRepr):
    """Repeated stratified cross-validation, shuffled differently in each repeat.

    The folds are those of scikit-learn's ``RepeatedStratifiedKFold`` with the same three numbers; adding repeats does
    not change the first ones.

    Parameters
    ----------
    n_folds : int, default=10
        At least 2, at most the number of rows of the most frequent class.
    n_repeats : int, default=1
        At least 1.
    seed : int, default=0
        At least 0.

    Raises
    ------
    ValueError
        If a number is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve_lab import RepeatedFolds
    >>> folds = RepeatedFolds(n_folds=5, n_repeats=2).split(np.array(["no", "yes"] * 10))
    >>> len(folds), folds[0].train.size, folds[0].test.size
    (10, 16, 4)
    """

    n_folds: int = 10
    n_repeats: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        _make_whole(self, n_folds=2, n_repeats=1, seed=0)

    @property
    def n_splits(self) -> int:
        """Number of folds over all repeats."""
        return self.n_folds * self.n_repeats

    @property
    def in_words(self) -> str:
        """Description of the folds, for reports."""
        repeats = f"{self.n_repeats} times " if self.n_repeats > 1 else ""
        return f"{repeats}{self.n_folds}-fold cross-validation"

    @property
    def settings(self) -> dict[str, Any]:
        """Number of folds and seed, by name, as saved in files.

        The number of repeats is omitted, because adding repeats does not change the earlier folds.
        """
        return {"folds": self.n_folds, "seed": self.seed}

    def split(self, labels: np.ndarray) -> list[Fold]:
        """Return the folds of rows with these class labels (n_rows,), repeat after repeat.

        A ValueError is raised if the most frequent class has fewer than ``n_folds`` rows.
        """
        largest = int(np.unique(labels, return_counts=True)[1].max(initial=0))
        if self.n_folds > largest:
            raise ValueError(
                f"n_folds must be at most the rows of the most frequent class ({largest}), got {self.n_folds}."
            )
        splitter = RepeatedStratifiedKFold(n_splits=self.n_folds, n_repeats=self.n_repeats, random_state=self.seed)
        pairs = enumerate(pairs_of(splitter, labels))
        return [Fold(i // self.n_folds, i % self.n_folds, train, test) for i, (train, test) in pairs]


@dataclass(frozen=True)
class FixedSplit(ShortRepr):
    """One fold: the first rows of the table are for training, all others for testing.

    Parameters
    ----------
    n_train : int
        Number of training rows, at least 2.
    seed : int, default=0
        Seed with which the rows were drawn. It does not affect the split; it is saved with results, to distinguish them
        from results on other rows.

    Raises
    ------
    ValueError
        If a number is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve_lab import FixedSplit
    >>> fold, = FixedSplit(3).split(np.array(["no", "yes", "no", "yes", "yes"]))
    >>> fold.train.tolist(), fold.test.tolist()
    ([0, 1, 2], [3, 4])
    """

    n_folds: ClassVar[int] = 1
    n_repeats: ClassVar[int] = 1
    n_splits: ClassVar[int] = 1

    n_train: int
    seed: int = 0

    def __post_init__(self) -> None:
        _make_whole(self, n_train=2, seed=0)

    in_words: ClassVar[str] = "the rows after the first, by models of the first ones"

    @property
    def settings(self) -> dict[str, Any]:
        """Numbers that identify the fold, as saved in files."""
        return {"train_rows": self.n_train, "seed": self.seed}

    def split(self, labels: np.ndarray) -> list[Fold]:
        """Return the fold of rows with these class labels (n_rows,); ValueError if no rows are left for testing."""
        if labels.size <= self.n_train:
            raise ValueError(
                f"n_train must be below the number of rows ({labels.size}), to leave rows for testing, got "
                f"{self.n_train}."
            )
        return [Fold(0, 0, np.arange(self.n_train), np.arange(self.n_train, labels.size))]


@dataclass(frozen=True)
class TimeFolds(ShortRepr):
    """Blocks of rows in the order of time; each block except the first is predicted by a model of all earlier rows.

    Parameters
    ----------
    n_blocks : int, default=5
        Number of blocks of about equal size, at least 2; rows of equal time are in the same block.
    time : str, array-like of shape (n_rows,) or None, default=None
        Numbers or dates by which rows are ordered, or the name of the column that holds them, which is then not a
        feature; None if the rows are in order.

    Raises
    ------
    ValueError
        If ``n_blocks`` is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve_lab import TimeFolds
    >>> folds = TimeFolds(n_blocks=3).split(np.array(["no", "yes"] * 3))
    >>> [(fold.train.tolist(), fold.test.tolist()) for fold in folds]
    [([0, 1], [2, 3]), ([0, 1, 2, 3], [4, 5])]
    """

    n_repeats: ClassVar[int] = 1

    n_blocks: int = 5
    time: Any = None

    def __post_init__(self) -> None:
        _make_whole(self, n_blocks=2)

    @property
    def n_folds(self) -> int:
        """Number of blocks that are tested."""
        return self.n_blocks - 1

    n_splits = n_folds

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that identify the folds in files of results: number of blocks, and name of the column of times."""
        return {"blocks": self.n_blocks, "time": self.time if isinstance(self.time, str) else ""}

    @property
    def in_words(self) -> str:
        """Description of the folds, for reports."""
        return f"{self.n_folds} blocks of later rows, each predicted by models of all earlier rows"

    def split(self, labels: np.ndarray, moments: np.ndarray | None = None) -> list[Fold]:
        """Return the folds of rows with the class labels ``labels`` and the times ``moments``, both (n_rows,).

        Without ``moments``, rows are in the order of time. A ValueError is raised if there are too few different times.
        """
        pairs = time_splits(np.arange(labels.size) if moments is None else moments, self.n_blocks)
        if len(pairs) < self.n_folds:
            raise ValueError(f"There are too few different times for {self.n_blocks} blocks of rows; use fewer blocks.")
        return [Fold(0, i, train, test) for i, (train, test) in enumerate(pairs)]


@dataclass(frozen=True)
class Splits(ShortRepr):
    """Folds of a scikit-learn splitter, or pairs of (train, test) row positions; ``cv`` is the splitter or a list of
    pairs.
    """

    n_repeats: ClassVar[int] = 1

    cv: Any

    @property
    def n_folds(self) -> int:
        """Number of splits; ValueError if it depends on the rows."""
        try:
            return int(self.cv.get_n_splits()) if is_splitter(self.cv) else len(self.cv)
        except (AttributeError, TypeError, ValueError):
            raise ValueError(f"{self.cv!r:.200} has no known number of folds; pass pairs of row positions.") from None

    n_splits = n_folds

    @property
    def settings(self) -> dict[str, Any]:
        """Return the settings that identify the folds in files; ValueError if they differ from run to run."""
        if not is_splitter(self.cv):
            pairs = [[np.asarray(rows) for rows in pair] for pair in self.cv]
            return {"pairs": hashlib.sha256(describe(pairs).encode()).hexdigest()[:16]}
        options = dict(sorted(getattr(self.cv, "__dict__", {"": repr(self.cv)}).items()))
        if options.get("shuffle", True) and not isinstance(options.get("random_state", 0), Integral):
            raise ValueError(f"{self.in_words} must have a number as random_state, or its folds cannot be resumed.")
        return {"splitter": f"{type(self.cv).__name__}({describe(options)})"}

    @property
    def in_words(self) -> str:
        """Description of the folds, for reports."""
        return plural(self.n_folds, "split") + (f" by {type(self.cv).__name__}" if is_splitter(self.cv) else "")

    def split(self, labels: np.ndarray) -> list[Fold]:
        """Return the folds of rows with these class labels (n_rows,)."""
        return [Fold(0, i, train, test) for i, (train, test) in enumerate(row_splits(self.cv, labels, name="protocol"))]


Split = RepeatedFolds | FixedSplit | TimeFolds | Splits
"""Ways to split the rows of a table."""


def split_of(protocol: Any) -> Split:
    """Return an object that splits rows into folds.

    ``protocol`` is such an object, "time", a scikit-learn splitter, or pairs of (train, test) row positions.
    """
    if isinstance(protocol, Split):
        return protocol
    if isinstance(protocol, str) and protocol == "time":
        return TimeFolds()
    if is_splitter(protocol) or (isinstance(protocol, Iterable) and not isinstance(protocol, (str, bytes, Mapping))):
        return Splits(protocol if is_splitter(protocol) else list(protocol))
    raise ValueError(
        'protocol must be a RepeatedFolds, a FixedSplit, a TimeFolds or "time", a scikit-learn splitter or pairs of '
        f"(train, test) row positions, got {protocol!r:.200}."
    )


def _make_whole(split: Any, **lowest: int) -> None:
    """Convert fields of a dataclass of folds, such as `RepeatedFolds`, to plain integers, in place.

    ``lowest`` has the names of the fields and their lowest values; a ValueError is raised for other values.
    """
    for name, least in lowest.items():
        value: Any = getattr(split, name)
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not whole or not least <= int(value) < 2**32:
            raise ValueError(f"{name} must be a whole number from {least} up, got {value!r}.")
        object.__setattr__(split, name, int(value))


@dataclass(frozen=True)
class DataSet:
    """A table with classes and weights of its rows.

    Attributes
    ----------
    name : name of the data set.
    X : dataframe, array or sparse matrix of the features.
    codes : (n_rows,) class of each row, as a position in ``classes``.
    classes : (n_classes,) sorted labels.
    weights : (n_rows,) row weights, or None.
    moments : hash of the times that order the rows, as text; empty if there are none.
    """

    name: str
    X: Any
    codes: np.ndarray
    classes: np.ndarray
    weights: np.ndarray | None
    moments: str = ""  # that order the rows, as `describe` has them

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.codes.size)

    @property
    def fingerprint(self) -> str:
        """Hash of the content, by which saved results are recognised as those of this data set."""
        return fingerprint(self.X, self.codes, self.classes, self.weights) + self.moments

    def take(self, rows: np.ndarray) -> DataSet:
        """Return the data set restricted to the rows at positions ``rows``; it keeps all classes."""
        weights = None if self.weights is None else self.weights[rows]
        return DataSet(self.name, take_rows(self.X, rows), self.codes[rows], self.classes, weights)


class FoldRun:
    """Run of methods on one fold of a data set; a call with a method returns its result as plain values.

    A method may have ``fit_coded(coded, encoder)``, which fits it to rows coded by the encoder of `encoder_of` without
    changing them, and predict a `CodedTable`. Methods whose encoders have equal options then share a coding, whose
    seconds count for each of them. If ``fit_coded`` also has a parameter ``refitter``, like that of `SelectiveNB`, the
    method predicts raw rows. A method may also report further measures by ``fold_figures(rows, codes)``, which returns
    a dict: ``rows`` are the test rows in the form that it predicts, and ``codes`` (n_rows,) their classes as positions
    among the sorted labels.
    """

    def __init__(self, data: DataSet, fold: Fold) -> None:
        self._fold = fold
        self._train, self._test = data.take(fold.train), data.take(fold.test)
        self._labels = data.classes[self._train.codes]
        self._codings: dict[str, tuple[Any, ...]] = {}
        self._coded_tests: dict[str, tuple[Any, float]] = {}

    def __call__(self, name: str, estimator: Any) -> dict[str, Any]:
        """Run the unfitted classifier ``estimator`` on the fold; return its measures, or an error message, as a
        `Result`.

        ``name`` is its name in the results. KeyboardInterrupt is raised after Ctrl-C in its search.
        """
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
                    raise ValueError(
                        f"All {part} rows of this fold have weight 0; use fewer folds, or remove rows of weight 0."
                    )
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
        """Fit an unfitted classifier to the training rows, and measure it on the test rows.

        Returns the performance measures, number of features and seconds by name; "figures" has further measures by
        name.
        """
        test, rows = self._test, self._test.X
        fit_seconds = predict_seconds = 0.0
        # A classifier that normalizes weights cannot share a coding with the original ones.
        if hasattr(model, "fit_coded") and not getattr(model, "normalize", False):
            encoder, coded, refitter, fit_seconds = self._coding(encoder_of(model))
            if "refitter" in inspect.signature(model.fit_coded).parameters:
                began = time.perf_counter()
                model.fit_coded(coded, encoder, refitter)
            else:
                rows, predict_seconds = self._coded_test(encoder)
                began = time.perf_counter()
                model.fit_coded(coded, encoder)
        else:
            weights = self._train.weights
            if weights is not None and "sample_weight" not in inspect.signature(model.fit).parameters:
                raise ValueError(
                    f"{type(model).__name__}.fit does not accept sample_weight; omit the weights of the data set, or "
                    "this method."
                )
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
        """Return a fitted encoder, the coded training rows, a refitter of its levels, and the seconds of fitting and
        coding.

        If an encoder with equal options was fitted before, its results are returned. The refitter is None for encoders
        without one.
        """
        options = describe(encoder)
        if options not in self._codings:
            began, X, weights = time.perf_counter(), self._train.X, self._train.weights
            if hasattr(encoder, "fit_with_refitter"):
                coded, refitter = encoder.fit_with_refitter(X, self._labels, weights)
            else:
                coded, refitter = encoder.fit_transform_coded(X, self._labels, weights), None
            self._codings[options] = encoder, coded, refitter, time.perf_counter() - began
        return self._codings[options]

    def _coded_test(self, encoder: Any) -> tuple[Any, float]:
        """Return the test rows coded by a fitted encoder, and the seconds of coding; both are cached by the encoder's
        options.
        """
        options = describe(encoder)
        if options not in self._coded_tests:
            began = time.perf_counter()
            coded = encoder.transform_coded(self._test.X)
            self._coded_tests[options] = coded, time.perf_counter() - began
        return self._coded_tests[options]


def _finite(figures: Mapping[str, float | None]) -> dict[str, Any]:
    """Return a dictionary with the values as plain floats; missing or infinite ones become None."""
    return {name: None if value is None or not np.isfinite(value) else float(value) for name, value in figures.items()}


def one_line(error: Exception) -> str:
    """Return the message of an exception as one line of at most 300 characters."""
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
    """Return a clone of an estimator that prints nothing, also in nested estimators.

    Unless ``n_jobs`` is None, folds run in parallel, and the clone uses one thread.
    """
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
    """Raise KeyboardInterrupt if Ctrl-C ended the search of a fitted model, so that its fold counts as unfinished."""
    trace = getattr(model, "trace_", None)
    limits = [getattr(part, "max_seconds", None) for part in (model, getattr(model, "selector_", None))]
    limit = min((limit for limit in limits if limit is not None), default=None)
    if trace is not None and trace.was_interrupted(limit):
        raise KeyboardInterrupt


def log_probabilities(model: Any, X: Any, classes: np.ndarray, n_train: int) -> np.ndarray:
    """Return log probabilities of all classes, (n_rows, n_classes), by a classifier fitted to some or all of them.

    ``X`` are the rows to predict, ``classes`` (n_classes,) sorted labels, and ``n_train`` the number of training rows.
    A class without training rows gets the probability that half a row would have, as in `log_proba_of_splits`. A
    ValueError is raised if probabilities or classes are invalid.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # probabilities <= 0 are handled below
        if hasattr(model, "predict_log_proba"):
            predicted = np.asarray(model.predict_log_proba(X), dtype=float)
        else:
            predicted = np.log(np.asarray(model.predict_proba(X), dtype=float))
    model_classes = np.asarray(model.classes_)
    positions = np.searchsorted(classes, model_classes)
    if not np.array_equal(classes[np.minimum(positions, classes.size - 1)], model_classes):
        raise ValueError(
            f"The model has other classes ({model_classes.tolist()}) than the data set ({classes.tolist()}); correct "
            "its classes_."
        )
    if predicted.ndim != 2 or predicted.shape[1] != positions.size:
        raise ValueError(
            f"Predicted probabilities have shape {predicted.shape}, instead of one row per test row and one column "
            "per class; correct predict_proba of this method."
        )
    if np.isnan(predicted).any():
        raise ValueError("Predicted probabilities are missing (NaN) or negative; correct predict_proba of this method.")
    sums = np.exp(np.minimum(predicted, 99.0)).sum(axis=1)
    if predicted.size and np.abs(sums - 1.0).max() > _SUM_TOLERANCE:
        worst = float(sums[np.argmax(np.abs(sums - 1.0))])
        raise ValueError(
            f"Predicted probabilities of a row add up to {worst:.4g}, not to 1; correct predict_proba of this method."
        )
    log_proba = np.full((len(predicted), classes.size), np.log(0.5 / n_train))
    log_proba[:, positions] = np.maximum(predicted, _LOWEST)
    return log_proba


def fold_measures(
    log_proba: np.ndarray, codes: np.ndarray, train_counts: np.ndarray, weights: np.ndarray | None = None
) -> dict[str, float]:
    """Return all performance measures on the test rows of a fold.

    Parameters
    ----------
    log_proba : (n_rows, n_classes); the predicted class is the first one with the largest probability.
    codes : (n_rows,) true class of each row.
    train_counts : (n_classes,) rows, or their weight, of each class in training.
    weights : (n_rows,) row weights, or None.

    Returns
    -------
    dict by names in `MEASURES`. ``log_loss`` (nats per row) clips probabilities at 2.2e-16, as scikit-learn does, so
    that methods with saturated probabilities are treated like those with logarithms. ``compression_rate`` is 1 - log
    loss / log loss of the null model (Boulle 2007, section 5.2), which predicts the class shares of the training rows;
    with exactly stratified folds, its log loss is H(Y). ``auc`` is NaN if all rows are of one class.
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
    """Return the log loss, in nats per row, of predicting the class shares of the training rows.

    ``codes`` (n_rows,) are the classes of the test rows, ``train_counts`` (n_classes,) the numbers of training rows by
    class, and ``weights`` (n_rows,) the weights of the test rows, or None. A class without training rows has half a
    row.
    """
    shares = np.where(train_counts > 0, train_counts, 0.5) / train_counts.sum()
    return float(np.average(-np.log(shares[codes]), weights=weights))


def balanced_accuracy(log_proba: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the mean recall of the classes that have rows.

    ``log_proba`` (n_rows, n_classes) are predicted log probabilities, ``codes`` (n_rows,) the true classes, and
    ``weights`` (n_rows,) row weights, or None.
    """
    every = np.ones(codes.size) if weights is None else weights
    total = np.bincount(codes, weights=every, minlength=log_proba.shape[1])
    right = np.bincount(codes, weights=every * (log_proba.argmax(axis=1) == codes), minlength=log_proba.shape[1])
    present = total > 0
    return float((right[present] / total[present]).mean())


def describe(value: Any) -> str:
    """Return a text of an estimator or parameter value that is equal for equal options, in every process.

    An estimator is named by its package and class. Threads, verbosity and options with default values are omitted, so
    that moved modules and new options do not invalidate saved results.

    Examples
    --------
    >>> from sklearn.preprocessing import FunctionTransformer, Normalizer
    >>> describe([Normalizer("l1"), FunctionTransformer, 0.5])  # doctest: +ELLIPSIS
    "[sklearn.Normalizer(norm='l1'),sklearn...FunctionTransformer,0.5]"
    """
    if isinstance(value, BaseEstimator):
        options = {k: describe(v) for k, v in value.get_params(deep=False).items() if k not in _IRRELEVANT}
        defaults = {k: describe(p.default) for k, p in inspect.signature(type(value)).parameters.items()}
        inside = ",".join(f"{k}={text}" for k, text in sorted(options.items()) if text != defaults.get(k))
        return f"{type(value).__module__.partition('.')[0]}.{type(value).__qualname__}({inside})"
    if isinstance(value, np.ndarray):
        content = repr(value.tolist()).encode() if value.dtype == object else np.ascontiguousarray(value).tobytes()
        return f"array({value.dtype.str},{value.shape},{hashlib.sha256(content).hexdigest()[:16]})"
    if isinstance(value, np.generic):
        return describe(value.item())
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{describe(k)}:{describe(v)}' for k, v in value.items())}}}"
    if isinstance(value, (set, frozenset)):
        return f"set({','.join(sorted(map(describe, value)))})"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(describe, value))}]"
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return f"{value.__module__}.{value.__qualname__}"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))

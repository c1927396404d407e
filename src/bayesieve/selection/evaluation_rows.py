"""Where a wrapper measures its criterion: training rows, held-out rows, leave-one-out or cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.search import ScoredRows

NAMES = ("train", "holdout", "loo")


@dataclass(frozen=True)
class EvaluationRows:
    """The rows that guide a search, and those that choose the size of the subset, if any."""

    guide: ScoredRows
    validation: ScoredRows | None = None


def evaluation_rows(
    coded: CodedTable, evaluation: Any, smoothing: Smoothing, *, seed: int, validation_size: float, groups: Any = None
) -> EvaluationRows:
    """Rows and tables for ``evaluation``: a name, a number of folds, a splitter or pairs of (train, test) rows.

    Raises
    ------
    ValueError
        If the rows cannot be split that way.
    """
    if isinstance(evaluation, str) and evaluation == "holdout":
        fit, rest = hold_out(coded, validation_size, seed)
        counts = fit.counts
        return EvaluationRows(ScoredRows.training(fit, counts, smoothing), ScoredRows.training(rest, counts, smoothing))
    counts = coded.counts
    if isinstance(evaluation, str) and evaluation == "train":
        return EvaluationRows(ScoredRows.training(coded, counts, smoothing))
    if isinstance(evaluation, str):
        return EvaluationRows(ScoredRows.leave_one_out(coded, counts, smoothing))
    splits = _splits(coded, evaluation, groups)
    return EvaluationRows(ScoredRows.folds(coded, counts, splits, smoothing))


def check_evaluation(evaluation: Any) -> None:
    """Raise ValueError unless ``evaluation`` says where to measure."""
    if isinstance(evaluation, str):
        if evaluation in NAMES:
            return
    elif isinstance(evaluation, Integral) and not isinstance(evaluation, bool):
        if int(evaluation) >= 2:
            return
    elif (hasattr(evaluation, "split") or isinstance(evaluation, Iterable)) and not isinstance(evaluation, bytes):
        return
    raise ValueError(
        "evaluation must be 'train', 'holdout', 'loo', a number of folds of at least 2, a scikit-learn splitter or "
        f"pairs of (train, test) row positions, got {evaluation!r}."
    )


def hold_out(
    coded: CodedTable,
    validation_size: float,
    seed: int,
    remedy: str = "use evaluation='loo' or 'train'",
) -> tuple[CodedTable, CodedTable]:
    """Rows to fit and rows to validate, with the shares of the classes; a class of one row is fitted.

    Raises
    ------
    ValueError
        If there are too few rows; ``remedy`` says what to do then.
    """
    rng = np.random.default_rng(seed)
    classes = np.asarray(coded.class_codes)
    counted = np.ones(coded.n_rows, dtype=bool) if coded.weights is None else np.asarray(coded.weights) > 0
    held = np.zeros(coded.n_rows, dtype=bool)
    for code in range(coded.n_classes):
        rows = rng.permutation(np.flatnonzero(counted & (classes == code)))
        held[rows[: min(max(0, rows.size - 1), round(rows.size * validation_size))]] = True
    fitted = counted & ~held  # rows of weight 0 are in neither half
    if not held.any() or not fitted.any():
        n_rows = np.count_nonzero(counted)
        raise ValueError(f"There are too few rows ({n_rows}) to hold {validation_size:g} of them out; {remedy}.")
    return coded.take(fitted).by_class, coded.take(held).by_class


def _splits(coded: CodedTable, evaluation: Any, groups: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    classes = np.asarray(coded.class_codes)
    if isinstance(evaluation, Integral):
        most = int(np.bincount(classes).max())
        if int(evaluation) > most:
            raise ValueError(f"evaluation={evaluation} folds need a class of as many rows, the largest has {most}.")
        evaluation = StratifiedKFold(int(evaluation))  # as scikit-learn takes a number
    if hasattr(evaluation, "split"):
        labels = classes if coded.classes is None else np.asarray(coded.classes)[classes]
        pairs = pairs_of(evaluation, labels, groups)
    else:
        pairs = list(evaluation)
    splits = [tuple(_positions(part, coded.n_rows) for part in pair) for pair in pairs]
    if not splits or any(len(pair) != 2 or not pair[0].size or not pair[1].size for pair in splits):
        raise ValueError("evaluation must give at least one pair of (train, test) row positions, none of them empty.")
    return splits  # type: ignore[return-value]


def _positions(rows: Any, n_rows: int) -> np.ndarray:
    rows = np.asarray(rows)
    if rows.dtype == bool and rows.shape == (n_rows,):
        return np.flatnonzero(rows)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or (rows.size and not 0 <= rows.min() <= rows.max() < n_rows):
        raise ValueError(f"evaluation must give row positions from 0 to {n_rows - 1}, got {rows!r}.")
    return rows.astype(np.int64)


def pairs_of(splitter: Any, labels: np.ndarray, groups: Any = None) -> list[tuple[np.ndarray, np.ndarray]]:
    """Positions of training and test rows by a scikit-learn splitter, of rows with these class labels (n_rows,).

    A class smaller than the number of folds is missing from some of them: no reason to warn, whoever asks knows of it.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        return list(splitter.split(np.zeros((labels.size, 1)), labels, groups))

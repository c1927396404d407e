"""Where a wrapper measures its criterion: training rows, held-out rows, leave-one-out or cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.model_selection import StratifiedKFold

from bayesieve.counts import CodedTable, Recoder, Smoothing
from bayesieve.criteria import Criterion
from bayesieve.criteria.registry import make_criterion
from bayesieve.search import ScoredRows

NAMES = ("train", "holdout", "loo")
RECODED_FOLDS = 10
"""Times that levels are learnt again for leave-one-out, each time from the rows of all folds but one."""
MOST_RECODED_CELLS = 10_000_000
"""Rows x columns x times up to which levels are learnt again unless asked otherwise."""
BLIND_SHARE = 0.8
"""Share of a class beyond which most subsets have the same error: that of always answering this class."""


@dataclass(frozen=True)
class EvaluationRows:
    """The rows that guide a search, and those that choose the size of the subset.

    evaluation : where that is, as a `SearchTrace` has it; recoded : whether the levels were learnt without the rows
    that are scored, None where levels do not depend on the classes, or all rows are training rows; learnt : the rows
    that the probabilities are learnt from, None for all.
    """

    guide: ScoredRows
    validation: ScoredRows | None = None
    evaluation: str = "train"
    recoded: bool | None = None
    learnt: CodedTable | None = None


def evaluation_rows(
    coded: CodedTable,
    evaluation: Any,
    smoothing: Smoothing,
    *,
    seed: int,
    validation_size: float,
    groups: Any = None,
    recode: bool | Literal["auto"] = False,
) -> EvaluationRows:
    """Rows and tables for ``evaluation``: a name, a number of folds, a splitter or pairs of (train, test) rows.

    Of ``"holdout"`` the fitted half guides, of ``"validation"`` the rows held out. ``recode`` is `WrapperSelector`'s.

    ValueError if the rows cannot be split that way, or their levels cannot be learnt again.
    """
    if isinstance(evaluation, str) and evaluation == "holdout":
        recoder, recoded = recoder_for(coded, recode, 1)
        fit, rest = hold_out(coded, validation_size, seed, recoder=recoder)
        guide, validation = (ScoredRows.training(half, fit.counts, smoothing) for half in (fit, rest))
        return EvaluationRows(guide, validation, "holdout", recoded, fit)
    if isinstance(evaluation, str) and evaluation == "validation":
        recoder, recoded = recoder_for(coded, recode, 1)
        fit, rest = hold_out(coded, validation_size, seed, recoder=recoder)
        return EvaluationRows(ScoredRows.training(rest, fit.counts, smoothing), None, evaluation, recoded, fit)
    if isinstance(evaluation, str) and evaluation == "train":
        return EvaluationRows(ScoredRows.training(coded, coded.counts, smoothing))
    if isinstance(evaluation, str):
        n_folds = min(RECODED_FOLDS, coded.n_rows)
        recoder, recoded = recoder_for(coded, recode, n_folds)
        if recoder is not None and recoder.uses_classes:
            rows = ScoredRows.leave_one_out_of_folds(coded, recoder, n_folds, smoothing)
        else:  # a row's own count is all that it has to do with its levels
            rows = ScoredRows.leave_one_out(coded, coded.counts, smoothing)
        return EvaluationRows(rows, None, "loo", recoded)
    splits = _splits(coded, evaluation, groups)
    recoder, recoded = recoder_for(coded, recode, len(splits))
    rows = ScoredRows.folds(coded, coded.counts, splits, smoothing, recoder=recoder)
    return EvaluationRows(rows, None, f"{len(splits)} folds", recoded)


def recoder_for(coded: CodedTable, recode: bool | Literal["auto"], n_times: int) -> tuple[Recoder | None, bool | None]:
    """The recoder that learns the levels again this many times, and whether it does; None where there is no need.

    ValueError if it is asked for, and the raw values are not at hand.
    """
    recoder = coded.recoder
    learnt = coded.levels is not None and coded.families is None
    if not isinstance(recode, str) and recode:
        if recoder is None and coded.families is None:
            raise ValueError(
                "recode=True learns levels again from raw values, but the table is coded already; fit the selector on "
                "the raw table, or use recode=False."
            )
        return recoder, True if recoder is not None and recoder.uses_classes else None
    if not learnt or (recoder is not None and not recoder.uses_classes):
        return None, None
    if recode == "auto" and recoder is not None and coded.n_rows * coded.n_features * n_times <= MOST_RECODED_CELLS:
        return recoder, True
    return None, False


def validation_criterion(validation: str | Criterion, coded: CodedTable) -> Criterion:
    """The criterion of the held-out rows; ``"auto"``: the log loss where the error is blind, for a class has over 80 %
    of the rows, or of their weight.
    """
    if isinstance(validation, str) and validation == "auto":
        shares = np.bincount(np.asarray(coded.class_codes), weights=coded.weights, minlength=coded.n_classes)
        validation = "log_loss" if shares.max() > BLIND_SHARE * shares.sum() else "error"
    return make_criterion(validation, coded.n_features, coded.classes)


def is_splitter(value: Any) -> bool:
    """Whether this splits rows as scikit-learn's splitters do: texts split, too, and classes are no objects yet."""
    return hasattr(value, "split") and not isinstance(value, (str, bytes, bytearray, type))


def check_evaluation(evaluation: Any) -> None:
    """Raise ValueError unless ``evaluation`` says where to measure."""
    if isinstance(evaluation, str):
        if evaluation in NAMES:
            return
    elif isinstance(evaluation, Integral) and not isinstance(evaluation, bool):
        if int(evaluation) >= 2:
            return
    elif is_splitter(evaluation) or (isinstance(evaluation, Iterable) and not isinstance(evaluation, bytes)):
        return
    raise ValueError(
        "evaluation must be 'train', 'holdout', 'loo', a number of folds of at least 2, a scikit-learn splitter or "
        f"pairs of (train, test) row positions, got {evaluation!r}."
    )


def n_held_out(n_rows: int, validation_size: float) -> int:
    """Rows of a class with so many that `hold_out` holds out."""
    return min(max(0, n_rows - 1), round(n_rows * validation_size))


def hold_out(
    coded: CodedTable,
    validation_size: float,
    seed: int,
    remedy: str = "use evaluation='loo' or 'train'",
    recoder: Recoder | None = None,
) -> tuple[CodedTable, CodedTable]:
    """Rows to fit and rows to validate, with the shares of the classes; a class of one row is fitted.

    ``recoder`` learns the levels again, from the rows to fit.

    ValueError if there are too few rows; ``remedy`` says what to do then.
    """
    rng = np.random.default_rng(seed)
    classes = np.asarray(coded.class_codes)
    counted = np.ones(coded.n_rows, dtype=bool) if coded.weights is None else np.asarray(coded.weights) > 0
    held = np.zeros(coded.n_rows, dtype=bool)
    for code in range(coded.n_classes):
        rows = rng.permutation(np.flatnonzero(counted & (classes == code)))
        held[rows[: n_held_out(rows.size, validation_size)]] = True
    fitted = counted & ~held  # rows of weight 0 are in neither half
    if not held.any() or not fitted.any():
        n_rows = np.count_nonzero(counted)
        raise ValueError(f"There are too few rows ({n_rows}) to hold {validation_size:g} of them out; {remedy}.")
    if recoder is None:
        return coded.take(fitted).by_class, coded.take(held).by_class
    fit, rest = recoder.learn(np.flatnonzero(fitted), np.flatnonzero(held))
    return fit.by_class, rest.by_class


def _splits(coded: CodedTable, evaluation: Any, groups: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    classes, weights = np.asarray(coded.class_codes), None
    if isinstance(evaluation, Integral):
        weights = coded.weights
        most = int(np.bincount(classes if coded.weights is None else classes[coded.weights > 0]).max())
        if int(evaluation) > most:
            raise ValueError(f"evaluation={evaluation} folds need a class of as many rows, the largest has {most}.")
        evaluation = StratifiedKFold(int(evaluation))  # as scikit-learn takes a number
    if is_splitter(evaluation):
        labels = classes if coded.classes is None else np.asarray(coded.classes)[classes]
        pairs = pairs_of(evaluation, labels, groups, weights)
    else:
        pairs = list(evaluation)
    are_pairs = all(isinstance(pair, Iterable) for pair in pairs)
    splits = [tuple(_positions(part, coded.n_rows) for part in pair) for pair in pairs] if are_pairs else []
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


def pairs_of(
    splitter: Any, labels: np.ndarray, groups: Any = None, weights: np.ndarray | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Positions of training and test rows by a scikit-learn splitter, of rows with these class labels (n_rows,).

    With ``weights``, rows of weight 0 are in no part, as if they were not there.
    A class smaller than the number of folds is missing from some of them: no reason to warn.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        if weights is None or np.all(weights):
            return list(splitter.split(np.zeros((labels.size, 1)), labels, groups))
        rows = np.flatnonzero(weights)
        groups = None if groups is None else np.asarray(groups)[rows]
        pairs = splitter.split(np.zeros((rows.size, 1)), labels[rows], groups)
        return [(rows[train], rows[test]) for train, test in pairs]

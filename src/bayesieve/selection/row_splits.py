"""Splits into rows on which probabilities are counted and rows that are scored: training, held-out, leave-one-out,
folds.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils.validation import check_consistent_length

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.criteria import Criterion, ScoredRows, make_criterion
from bayesieve.discretize.refitting import LevelRefitter

RowSplits = list[tuple[np.ndarray, np.ndarray]]
NAMES = ("train", "holdout", "loo")
RECODED_FOLDS = 10
"""Number of folds for which levels are refitted in leave-one-out, each time on the rows of all other folds."""
MOST_RECODED_CELLS = 10_000_000
"""Largest rows x columns x refits for which ``recode="auto"`` refits the levels."""
BLIND_SHARE = 0.8
"""Share of a class above which most subsets have the same error: that of always predicting this class."""


@dataclass(frozen=True)
class EvaluationRows:
    """Rows on which a search compares subsets, and rows that choose the number of features afterwards.

    Attributes
    ----------
    guide : rows on which the search compares subsets
    validation : rows on which the number of features is chosen; None if the guiding rows choose it
    evaluation : name of the evaluation: "train", "holdout", "validation", "loo" or "K folds"
    recoded : whether levels were refitted without the scored rows; None if levels do not depend on the classes, or
        all rows are training rows
    learnt : rows on which probabilities are counted; None for all rows
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
    refitter: LevelRefitter | None = None,
) -> EvaluationRows:
    """Split a coded table into the rows on which a search counts probabilities and the rows on which it compares
    subsets.

    Parameters
    ----------
    coded : coded training table.
    evaluation : "train", "holdout", "validation", "loo", a number of folds, a splitter or (train, test) pairs. With
        "holdout", the fitted half guides the search and the held-out rows choose the number of features. With
        "validation", the held-out rows guide the search.
    smoothing : smoothing of the counted probabilities.
    seed : seed of random splits.
    validation_size : share of held-out rows.
    groups : group of each row, (n_rows,), or None; folds keep groups together.
    recode : whether levels are refitted without the scored rows; see `WrapperSelector`.
    refitter : refits the levels; None if the raw values are not available.

    Raises
    ------
    ValueError
        If the rows cannot be split, or if refitting is required but not possible.
    """
    if isinstance(evaluation, str) and evaluation in ("holdout", "validation"):
        refitter, recoded = used_refitter(coded, refitter, recode, 1)
        fit, held_out_table = hold_out(coded, validation_size, seed, refitter=refitter)
        held_out = ScoredRows.training(held_out_table, fit.counts, smoothing)
        if evaluation == "validation":
            return EvaluationRows(held_out, None, evaluation, recoded, fit)
        guide = ScoredRows.training(fit, fit.counts, smoothing)
        return EvaluationRows(guide, held_out, evaluation, recoded, fit)
    if isinstance(evaluation, str) and evaluation == "train":
        return EvaluationRows(ScoredRows.training(coded, coded.counts, smoothing))
    if isinstance(evaluation, str):
        n_folds = min(RECODED_FOLDS, coded.n_rows)
        refitter, recoded = used_refitter(coded, refitter, recode, n_folds)
        if refitter is not None and refitter.uses_classes:
            rows = ScoredRows.leave_one_out_of_folds(coded, refitter, n_folds, smoothing)
        else:  # levels do not depend on the classes, so that removing the row's own count is enough
            rows = ScoredRows.leave_one_out(coded, coded.counts, smoothing)
        return EvaluationRows(rows, None, "loo", recoded)
    classes = np.asarray(coded.class_codes)
    labels = classes if coded.classes is None or not is_splitter(evaluation) else np.asarray(coded.classes)[classes]
    splits = row_splits(evaluation, labels, groups, seed=seed, weights=coded.weights, name="evaluation")
    refitter, recoded = used_refitter(coded, refitter, recode, len(splits))
    rows = ScoredRows.folds(coded, coded.counts, splits, smoothing, refitter=refitter)
    return EvaluationRows(rows, None, f"{len(splits)} folds", recoded)


def used_refitter(
    coded: CodedTable, refitter: LevelRefitter | None, recode: bool | Literal["auto"], n_times: int
) -> tuple[LevelRefitter | None, bool | None]:
    """Return ``refitter`` if levels have to be refitted (otherwise None), and whether they are, as in
    `EvaluationRows.recoded`.

    ``recode`` is the option of `WrapperSelector`. If it is "auto", levels are refitted only if ``n_times``, the number
    of refits, is small for the size of the table. Raise ValueError if ``recode`` is True but ``refitter`` is None,
    unless all features are indicators, whose levels do not depend on classes.
    """
    # Indicators are named differently from their columns. Their thresholds do not depend on the classes.
    are_indicators = coded.levels is not None and all(level.column != level.name for level in coded.levels)
    depend_on_classes = coded.levels is not None and not are_indicators
    if not isinstance(recode, str) and recode:
        if refitter is None and not are_indicators:
            raise ValueError(
                "recode=True refits the levels to raw values, but the table is coded already; fit the selector on "
                "the raw table, pass refitter= to fit_coded (encoder.fit_with_refitter returns one), or use "
                "recode=False."
            )
        return refitter, True if refitter is not None and refitter.uses_classes else None
    if not depend_on_classes or (refitter is not None and not refitter.uses_classes):
        return None, None
    if recode == "auto" and refitter is not None and coded.n_rows * coded.n_features * n_times <= MOST_RECODED_CELLS:
        return refitter, True
    return None, False


def validation_criterion(validation: str | Criterion, coded: CodedTable) -> Criterion:
    """Return the criterion for the held-out rows; ``validation`` is its name, a criterion or ``"auto"``.

    ``"auto"`` is the error rate or, if a class has over 80 % of the rows (or of their weight), the log loss, because
    the error rate then hardly depends on the features. ``coded`` gives the classes.
    """
    if isinstance(validation, str) and validation == "auto":
        shares = np.bincount(np.asarray(coded.class_codes), weights=coded.weights, minlength=coded.n_classes)
        validation = "log_loss" if shares.max() > BLIND_SHARE * shares.sum() else "error"
    return make_criterion(validation, coded.n_features, coded.classes, "validation")


def check_evaluation(evaluation: Any) -> None:
    """Raise ValueError unless ``evaluation`` is "train", "holdout", "loo", a number of folds, a splitter or row
    positions.
    """
    if isinstance(evaluation, str):
        if evaluation in NAMES:
            return
    elif is_number_of_folds(evaluation):
        if int(evaluation) >= 2:
            return
    elif is_splitter(evaluation) or (isinstance(evaluation, Iterable) and not isinstance(evaluation, bytes)):
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
    refitter: LevelRefitter | None = None,
) -> tuple[CodedTable, CodedTable]:
    """Split a coded table at random, class by class, and return the table of the rows to fit and that of the held-out
    rows.

    ``validation_size`` is the share of held-out rows, and ``seed`` the seed of the draw. A class with one row goes to
    the rows to fit; rows of weight 0 are dropped. ``refitter`` refits the levels on the rows to fit; None keeps the
    levels. Raise ValueError if there are too few rows; ``remedy`` ends the message.
    """
    rng = np.random.default_rng(seed)
    classes = np.asarray(coded.class_codes)
    has_weight = np.ones(coded.n_rows, dtype=bool) if coded.weights is None else np.asarray(coded.weights) > 0
    is_held_out = np.zeros(coded.n_rows, dtype=bool)
    for code in range(coded.n_classes):
        rows = rng.permutation(np.flatnonzero(has_weight & (classes == code)))
        is_held_out[rows[: min(max(0, rows.size - 1), round(rows.size * validation_size))]] = True
    is_fitted = has_weight & ~is_held_out  # rows of weight 0 are in neither half
    if not is_held_out.any() or not is_fitted.any():
        n_rows = np.count_nonzero(has_weight)
        raise ValueError(
            f"There are too few rows ({n_rows}) to hold out a share of {validation_size:g} of each class; {remedy}."
        )
    if refitter is None:
        return coded.take(is_fitted).by_class, coded.take(is_held_out).by_class
    fit, held_out = refitter.refit(coded.rows, np.flatnonzero(is_fitted), np.flatnonzero(is_held_out))
    return fit.by_class, held_out.by_class


def is_number_of_folds(value: Any) -> bool:
    """Return whether ``value``, an option for cross-validation, is an integer; booleans do not count."""
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))


def is_splitter(value: Any) -> bool:
    """Return whether the value is an instance of a scikit-learn splitter. Strings are not, although they have a method
    ``split``.
    """
    return hasattr(value, "split") and not isinstance(value, (str, bytes, bytearray, type))


def takes_groups(value: Any) -> bool:
    """Return whether ``value``, an option for cross-validation, can keep the rows of a group together: whether it is a
    number of folds or a splitter.
    """
    return is_number_of_folds(value) or is_splitter(value)


def row_splits(
    cv: Any,
    labels: np.ndarray,
    groups: Any = None,
    *,
    seed: int = 0,
    weights: np.ndarray | None = None,
    name: str = "cv",
    with_tests: bool = True,
) -> RowSplits:
    """Return pairs of (train, test) row positions for cross-validation.

    Folds by number are stratified and shuffled, because rows are often sorted by time or class. With ``groups``, all
    rows of a group are in one fold; rows of weight 0 are ignored. Splitters and pairs are used as they are.

    Parameters
    ----------
    cv : number of folds, scikit-learn splitter or pairs of row positions.
    labels : class of each row, (n_rows,).
    groups : group of each row, (n_rows,), or None.
    seed : seed of the shuffle.
    weights : row weights, (n_rows,), or None.
    name : name of the option, for messages.
    with_tests : whether test rows are checked; False if the caller does not use them.

    Raises
    ------
    ValueError
        If ``cv`` is none of these, or cannot split the rows.
    """
    if is_number_of_folds(cv):
        pairs = _numbered(int(cv), labels, groups, seed, weights, name)
    elif is_splitter(cv):
        pairs = pairs_of(cv, labels, groups)
    elif isinstance(cv, Iterable) and not isinstance(cv, (str, bytes)):
        pairs = list(cv)
    else:
        raise ValueError(
            f"{name} must be a number of folds, a scikit-learn splitter or pairs of (train, test) row positions, got "
            f"{cv!r}."
        )
    if not pairs or any(not isinstance(pair, (tuple, list, np.ndarray)) or len(pair) != 2 for pair in pairs):
        raise ValueError(f"{name} must give at least one pair of (train, test) row positions.")
    trains = [_positions(train, labels.size, f"The training rows of {name}") for train, _ in pairs]
    tests = [_positions(test, labels.size, f"The test rows of {name}") if with_tests else test for _, test in pairs]
    return list(zip(trains, tests, strict=True))


def pairs_of(splitter: Any, labels: np.ndarray, groups: Any = None, weights: np.ndarray | None = None) -> RowSplits:
    """Return the pairs of (train, test) row positions of a scikit-learn splitter.

    ``labels`` are the classes of the rows, ``groups`` their groups or None, and ``weights`` row weights or None, each
    of shape (n_rows,). Rows of weight 0 are in no pair. scikit-learn's warning that a class has fewer rows than there
    are folds is suppressed.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        if weights is None or np.all(weights):
            return list(splitter.split(np.zeros((labels.size, 1)), labels, groups))
        positions = np.flatnonzero(weights)
        groups = None if groups is None else np.asarray(groups)[positions]
        pairs = splitter.split(np.zeros((positions.size, 1)), labels[positions], groups)
        return [(positions[train], positions[test]) for train, test in pairs]


def _numbered(
    n_folds: int, labels: np.ndarray, groups: Any, seed: int, weights: np.ndarray | None, name: str
) -> RowSplits:
    """Return ``n_folds`` stratified and shuffled folds as pairs of (train, test) row positions.

    ``labels`` (n_rows,) are classes, ``groups`` (n_rows,) are kept in one fold each, or None, ``seed`` is that of the
    shuffle, and rows whose ``weights`` (n_rows,) are 0 are ignored. Raise ValueError if there are fewer rows of the
    most frequent class, or fewer groups, than folds; ``name`` is the option that the message names.
    """
    counted = labels if weights is None else labels[weights > 0]
    largest = int(np.unique(counted, return_counts=True)[1].max(initial=0))
    if not 2 <= n_folds <= largest:
        raise ValueError(
            f"{name} must be between 2 and {largest}, the number of rows of the most frequent class, got {n_folds}."
        )
    if groups is None:
        return pairs_of(StratifiedKFold(n_folds, shuffle=True, random_state=seed), labels, weights=weights)
    check_consistent_length(labels, groups)
    groups = np.asarray(groups)
    n_groups = np.unique(groups if weights is None else groups[weights > 0]).size
    if n_groups < n_folds:
        raise ValueError(f"{name} must be at most the number of groups ({n_groups}), got {n_folds}.")
    return pairs_of(StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed), labels, groups, weights)


def _positions(rows_or_mask: Any, n_rows: int, subject: str) -> np.ndarray:
    """Return the positions of rows, given as positions or as a boolean mask (n_rows,).

    Raise ValueError, whose message starts with ``subject``, if there are none or they are not whole numbers from 0 to
    n_rows - 1.
    """
    array = np.asarray(rows_or_mask)
    is_mask = array.dtype == bool and array.shape == (n_rows,)
    positions = np.flatnonzero(array) if is_mask else array
    whole = positions.ndim == 1 and positions.size > 0 and positions.dtype.kind in "iu"
    if not whole or positions.min() < 0 or positions.max() >= n_rows:
        raise ValueError(f"{subject} must be positions from 0 to {n_rows - 1}, at least one in every fold.")
    return positions.astype(np.int64)

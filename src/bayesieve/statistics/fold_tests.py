"""Tests of paired folds, and significant wins and losses over data sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_consistent_length

DIGITS = 12  # smaller differences between means of shares are rounding errors
_LARGEST_ROUNDED, _LARGEST_SQUARED = 1e290, 1e150


def check_alpha(alpha: float) -> None:
    """Raise ValueError unless ``alpha`` is the level of a test."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is the chance of a false difference, between 0 and 1; got {alpha!r}.")


@dataclass(frozen=True)
class PairedTest:
    """First against second method on the same folds.

    Attributes
    ----------
    difference : mean of first - second; NaN without a pair.
    statistic, p_value : Student's t and its two-tailed p-value; NaN for fewer than two pairs or infinite values.
    n_pairs : pairs of known values.
    """

    difference: float
    statistic: float
    p_value: float
    n_pairs: int

    def sign(self, alpha: float = 0.05) -> int:
        """1 if the first is significantly larger, -1 if smaller, 0 otherwise."""
        check_alpha(alpha)
        return int(np.sign(self.difference)) if self.p_value <= alpha else 0


@dataclass(frozen=True)
class WinsLosses:
    """Data sets on which the reference is significantly better (wins) or worse (losses) than another method.

    `unknown` counts data sets without a test, because a method failed or there is a single fold; `outcomes` has 1 for a
    win, -1 for a loss, 0 for a tie and None if unknown, by data set.
    """

    wins: int
    losses: int
    ties: int
    unknown: int
    outcomes: dict[str, int | None]


def paired_t(first: Sequence[float] | np.ndarray, second: Sequence[float] | np.ndarray) -> PairedTest:
    """Two-tailed Student test of paired values, one pair per fold, as in Boulle (2007, section 6.1).

    Folds share training rows, so the test finds differences too often; `corrected_resampled_t` corrects for that.

    Parameters
    ----------
    first, second : (n_folds,) values of two methods on the same folds; NaN where unknown.

    Raises
    ------
    ValueError
        If the two differ in length.

    Examples
    --------
    >>> from bayesieve.statistics import paired_t
    >>> test = paired_t([0.90, 0.92, 0.91, 0.95], [0.88, 0.89, 0.90, 0.91])
    >>> round(test.difference, 3), round(test.statistic, 3), round(test.p_value, 3), test.sign()
    (0.025, 3.873, 0.03, 1)
    """
    return _student(first, second, 0.0)


def corrected_resampled_t(
    first: Sequence[float] | np.ndarray, second: Sequence[float] | np.ndarray, test_share: float
) -> PairedTest:
    """Student test of paired values, corrected for overlapping training sets: recommended.

    The variance of the mean is (1/n + n_test/n_train) times that of the differences (Nadeau & Bengio 2003, section
    5.1; for repeated cross-validation Bouckaert & Frank 2004).

    Parameters
    ----------
    first, second : (n_folds,) values of two methods on the same folds, of all repeats; NaN where unknown.
    test_share : test rows for each training row, n_test / n_train: 1/9 for ten folds.

    Raises
    ------
    ValueError
        If the two differ in length, or the share is not a positive number.

    Examples
    --------
    >>> from bayesieve.statistics import corrected_resampled_t
    >>> test = corrected_resampled_t([0.90, 0.92, 0.91, 0.95], [0.88, 0.89, 0.90, 0.91], test_share=1 / 3)
    >>> round(test.statistic, 3), round(test.p_value, 3), test.sign()
    (2.535, 0.085, 0)
    """
    if not 0 < test_share < np.inf:
        raise ValueError(
            f"test_share is n_test / n_train, a positive number such as 1/9 for ten folds; got {test_share!r}."
        )
    return _student(first, second, test_share)


def wins_and_losses(
    data: Sequence[str],
    method: Sequence[str],
    fold: Sequence[object],
    value: Sequence[float | None],
    *,
    reference: str,
    higher_is_better: bool = True,
    test_share: float | None = None,
    alpha: float = 0.05,
) -> dict[str, WinsLosses]:
    """Significant wins and losses of one method against each other one, counted over data sets.

    Parameters
    ----------
    data, method, fold, value : columns of one length, one row per data set, method and fold
        `fold` identifies the split of a data set, such as (repeat, fold); a value is NaN or None if the method failed.
    reference : the method whose wins are counted.
    higher_is_better : of the measure.
    test_share : n_test / n_train, for `corrected_resampled_t`; None for `paired_t`, as in the papers.
    alpha : level of each test, not adjusted for multiple tests.

    Returns
    -------
    dict of WinsLosses by method, in order of appearance, without the reference

    Raises
    ------
    ValueError
        If columns differ in length, a fold appears twice, there is no method `reference`, or `alpha` is not between 0
        and 1.

    Examples
    --------
    >>> from bayesieve.statistics import wins_and_losses
    >>> records = wins_and_losses(["iris"] * 6, ["A", "B"] * 3, [0, 0, 1, 1, 2, 2],
    ...                           [0.9, 0.5, 0.8, 0.5, 0.9, 0.6], reference="A")
    >>> records["B"].wins, records["B"].losses, records["B"].outcomes
    (1, 0, {'iris': 1})
    """
    check_alpha(alpha)
    check_consistent_length(data, method, fold, value)
    cells: dict[tuple[str, str], dict[object, float]] = {}
    for where, who, split, number in zip(data, method, fold, value, strict=True):
        own = cells.setdefault((where, who), {})
        if split in own:
            raise ValueError(f"Fold {split} of method {who!r} on {where!r} appears twice; each split counts once.")
        own[split] = np.nan if number is None else float(number)
    methods, data_names = list(dict.fromkeys(method)), list(dict.fromkeys(data))
    if reference not in methods:
        raise ValueError(
            f"There is no method {reference!r} to count wins of; there are {', '.join(methods) or 'none'}."
        )

    def outcome(where: str, other: str) -> int | None:
        ours, theirs = cells.get((where, reference), {}), cells.get((where, other), {})
        splits = [split for split in ours if split in theirs]
        pair = ([ours[s] for s in splits], [theirs[s] for s in splits])
        test = paired_t(*pair) if test_share is None else corrected_resampled_t(*pair, test_share)
        return None if np.isnan(test.p_value) else test.sign(alpha) * (1 if higher_is_better else -1)

    records = {}
    for other in filter(lambda method: method != reference, methods):
        outcomes = {where: outcome(where, other) for where in data_names}
        counts = Counter(outcomes.values())
        records[other] = WinsLosses(counts[1], counts[-1], counts[0], counts[None], outcomes)
    return records


def _student(first: Sequence[float] | np.ndarray, second: Sequence[float] | np.ndarray, overlap: float) -> PairedTest:
    """t of the mean difference, whose variance is (1/n + overlap) times that of a difference."""
    from scipy.stats import t as student

    check_consistent_length(first, second)
    differences = settled(np.asarray(first, dtype=float), np.asarray(second, dtype=float))
    n = differences.size
    with np.errstate(invalid="ignore", over="ignore"):
        mean = float(differences.sum() / n) if n else np.nan  # NaN also of infinities of both signs
    if n < 2 or not np.isfinite(differences).all():
        return PairedTest(mean, np.nan, np.nan, n)
    if np.ptp(differences) == 0:  # no variance: the difference is certain, or there is none
        return PairedTest(mean, float(np.copysign(np.inf, mean)) if mean else 0.0, 0.0 if mean else 1.0, n)
    unit = 1.0 if np.abs(differences).max() < _LARGEST_SQUARED else np.abs(differences).max()
    statistic = mean / unit / np.sqrt((1 / n + overlap) * (differences / unit).var(ddof=1))
    return PairedTest(mean, float(statistic), float(2 * student.sf(abs(statistic), n - 1)), n)


def settled(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Differences of the known pairs without rounding errors, 0 where both are equal, even if infinite."""
    known = ~(np.isnan(first) | np.isnan(second))
    first, second = first[known], second[known]
    differences = np.zeros(first.size)
    unequal = first != second
    with np.errstate(over="ignore"):
        differences[unequal] = rounded(first[unequal] - second[unequal])
    return differences


def rounded(values: np.ndarray) -> np.ndarray:
    """Without the noise of rounding; numbers so large that a round would overflow stay as they are."""
    small = np.abs(values) < _LARGEST_ROUNDED
    return np.where(small, np.round(np.where(small, values, 0.0), DIGITS), values)

"""Tests of whether one method is better than another, by the folds of a table or over many tables (Demsar 2006).

NaN means that a method failed on a table. It then ranks last; the signed-rank test, which needs the size of
differences, ignores the table.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from sklearn.utils.validation import check_consistent_length

__all__ = [
    "Friedman",
    "PairedTest",
    "SignedRanks",
    "WinsLosses",
    "average_ranks",
    "cliques",
    "corrected_resampled_t",
    "critical_difference",
    "friedman",
    "paired_t",
    "ranks",
    "wilcoxon_holm",
    "wins_and_losses",
]

DIGITS = 12  # smaller differences between means of shares are rounding errors
_LARGEST_ROUNDED, _LARGEST_SQUARED = 1e290, 1e150


def check_alpha(alpha: float) -> None:
    """Raise ValueError unless ``alpha``, the level of a test, is between 0 and 1."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be a significance level between 0 and 1, got {alpha!r}.")


@dataclass(frozen=True)
class PairedTest:
    """Paired test of two methods on the same folds.

    Attributes
    ----------
    difference : mean of first - second; NaN without a pair.
    statistic, p_value : Student's t and its two-tailed p-value; NaN for fewer than two pairs or infinite values.
    n_pairs : number of pairs without missing values.
    """

    difference: float
    statistic: float
    p_value: float
    n_pairs: int

    def sign(self, alpha: float = 0.05) -> int:
        """Return 1 if the first method has significantly larger values, -1 if smaller, 0 otherwise.

        A difference is significant if its p-value is below ``alpha``.
        """
        check_alpha(alpha)
        return int(np.sign(self.difference)) if self.p_value <= alpha else 0


@dataclass(frozen=True)
class WinsLosses:
    """Data sets on which a reference method is significantly better (wins) or worse (losses) than another method.

    Attributes
    ----------
    wins, losses, ties : numbers of data sets.
    unknown : number of data sets without a test, because a method failed or there is a single fold.
    outcomes : by data set, 1 for a win, -1 for a loss, 0 for a tie, and None if unknown.
    """

    wins: int
    losses: int
    ties: int
    unknown: int
    outcomes: dict[str, int | None]


def paired_t(first: Sequence[float] | np.ndarray, second: Sequence[float] | np.ndarray) -> PairedTest:
    """Test the paired values of two methods, one pair per fold, by Student's t, as in Boulle (2007, section 7.1).

    Folds share training rows, so the test finds differences too often; `corrected_resampled_t` corrects for that.

    Parameters
    ----------
    first, second : (n_folds,) values of two methods on the same folds; NaN if missing.

    Raises
    ------
    ValueError
        If the two differ in length.

    Examples
    --------
    >>> from bayesieve_lab.comparison.differences import paired_t
    >>> test = paired_t([0.90, 0.92, 0.91, 0.95], [0.88, 0.89, 0.90, 0.91])
    >>> round(test.difference, 3), round(test.statistic, 3), round(test.p_value, 3), test.sign()
    (0.025, 3.873, 0.03, 1)
    """
    return _student(first, second, 0.0)


def corrected_resampled_t(
    first: Sequence[float] | np.ndarray, second: Sequence[float] | np.ndarray, test_share: float
) -> PairedTest:
    """Test the paired values of two methods by Student's t, corrected for overlapping training sets.

    This is the recommended test over folds.

    The variance of the mean is (1/n + n_test/n_train) times that of the differences (Nadeau & Bengio 2003, section
    5.1; for repeated cross-validation Bouckaert & Frank 2004).

    Parameters
    ----------
    first, second : (n_folds,) values of two methods on the same folds of all repeats; NaN if missing.
    test_share : test rows for each training row, n_test / n_train: 1/9 for ten folds.

    Raises
    ------
    ValueError
        If the two differ in length, or the share is not a positive number.

    Examples
    --------
    >>> from bayesieve_lab.comparison.differences import corrected_resampled_t
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
    """Return significant wins and losses of one method against each other one, counted over data sets.

    Parameters
    ----------
    data, method, fold, value : columns of one length, one row per data set, method and fold
        `fold` identifies the split of a data set, such as (repeat, fold); a value is NaN or None if the method failed.
    reference : the method whose wins are counted.
    higher_is_better : whether higher values of the measure are better.
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
    >>> from bayesieve_lab.comparison.differences import wins_and_losses
    >>> records = wins_and_losses(["iris"] * 6, ["A", "B"] * 3, [0, 0, 1, 1, 2, 2],
    ...                           [0.9, 0.5, 0.8, 0.5, 0.9, 0.6], reference="A")
    >>> records["B"].wins, records["B"].losses, records["B"].outcomes
    (1, 0, {'iris': 1})
    """
    check_alpha(alpha)
    check_consistent_length(data, method, fold, value)
    cells: dict[tuple[str, str], dict[object, float]] = {}
    for where, who, split, number in zip(data, method, fold, value, strict=True):
        by_split = cells.setdefault((where, who), {})
        if split in by_split:
            raise ValueError(f"Fold {split} of method {who!r} on {where!r} appears twice; remove one of the two.")
        by_split[split] = np.nan if number is None else float(number)
    methods, data_names = list(dict.fromkeys(method)), list(dict.fromkeys(data))
    if reference not in methods:
        raise ValueError(
            f"There is no method {reference!r} to count wins of; there are {', '.join(methods) or 'none'}."
        )

    def outcome(where: str, other: str) -> int | None:
        """Return 1, -1 or 0 if the reference wins, loses or ties against the method ``other`` on the data set
        ``where``.

        It is None without a test.
        """
        by_split, others_by_split = cells.get((where, reference), {}), cells.get((where, other), {})
        splits = [split for split in by_split if split in others_by_split]
        ours, theirs = [by_split[split] for split in splits], [others_by_split[split] for split in splits]
        test = paired_t(ours, theirs) if test_share is None else corrected_resampled_t(ours, theirs, test_share)
        return None if np.isnan(test.p_value) else test.sign(alpha) * (1 if higher_is_better else -1)

    records = {}
    for other in filter(lambda method: method != reference, methods):
        outcomes = {where: outcome(where, other) for where in data_names}
        counts = Counter(outcomes.values())
        records[other] = WinsLosses(counts[1], counts[-1], counts[0], counts[None], outcomes)
    return records


def _student(first: Sequence[float] | np.ndarray, second: Sequence[float] | np.ndarray, overlap: float) -> PairedTest:
    """Return the paired t-test of two methods on the same folds.

    ``first`` and ``second``, both (n_folds,), are their values. The variance of the mean difference is taken to be (1/n
    + overlap) times that of one difference.
    """
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
    """Return the differences of paired values, free of rounding noise, without pairs that have a missing value.

    ``first`` and ``second`` have shape (n,). A difference is 0 if both values are equal, even if infinite.
    """
    has_both = ~(np.isnan(first) | np.isnan(second))
    first, second = first[has_both], second[has_both]
    differences = np.zeros(first.size)
    unequal = first != second
    with np.errstate(over="ignore"):
        differences[unequal] = rounded(first[unequal] - second[unequal])
    return differences


def rounded(values: np.ndarray) -> np.ndarray:
    """Return the values rounded to 12 decimals, to remove rounding noise; very large numbers stay as they are."""
    small = np.abs(values) < _LARGEST_ROUNDED
    return np.where(small, np.round(np.where(small, values, 0.0), DIGITS), values)


@dataclass(frozen=True)
class SignedRanks:
    """Result of Wilcoxon's signed-rank test of two methods over data sets.

    Attributes
    ----------
    first, second : names of the methods.
    p_value, adjusted : p-value of the test, and after Holm's adjustment (1979) for several pairs.
    wins, ties, losses : numbers of data sets on which the first method is better, equal and worse by any amount,
        without data sets on which either method failed.
    """

    first: str
    second: str
    p_value: float
    adjusted: float
    wins: int
    ties: int
    losses: int

    @property
    def n_data(self) -> int:
        """Number of data sets that were compared."""
        return self.wins + self.ties + self.losses


@dataclass(frozen=True)
class Friedman:
    """Result of Friedman's test of whether all methods rank alike.

    Attributes
    ----------
    chi2, p_value : Friedman's statistic with k - 1 degrees of freedom, and its p-value.
    f, f_p_value : the less conservative F of Iman & Davenport (1980) with k - 1 and (k - 1)(N - 1) degrees of freedom.
        If every data set ranks the methods alike, F is infinite and its p-value the exact chance of that, one over the
        N - 1st power of the number of rankings (Conover 1999, section 5.8).
    n_data, n_methods : number of data sets (N) and of methods (k).
    """

    chi2: float
    p_value: float
    f: float
    f_p_value: float
    n_data: int
    n_methods: int


def ranks(matrix: np.ndarray, higher_is_better: bool = True) -> np.ndarray:
    """Return the ranks of methods on every data set: 1 is best, ties share their mean rank, and failures (NaN) are
    last.

    Parameters
    ----------
    matrix : (n_data, n_methods) means of a measure.
    higher_is_better : whether higher values of the measure are better.

    Returns
    -------
    (n_data, n_methods); a row is NaN if every method failed.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve_lab.comparison.differences import ranks
    >>> ranks(np.array([[0.9, 0.8, 0.9], [0.5, np.nan, 0.6]])).tolist()
    [[1.5, 3.0, 1.5], [2.0, 3.0, 1.0]]
    """
    from scipy.stats import rankdata

    values = rounded(_as_matrix(matrix))
    order = -values if higher_is_better else values
    unknown = np.isnan(values)
    n_known = values.shape[1] - unknown.sum(axis=1, keepdims=True)
    ranked = np.where(unknown, (n_known + 1 + values.shape[1]) / 2, rankdata(order, axis=1, nan_policy="omit"))
    return np.where(n_known > 0, ranked, np.nan)


def average_ranks(matrix: np.ndarray, higher_is_better: bool = True) -> np.ndarray:
    """Return the mean of `ranks` over the data sets on which at least one method succeeded.

    Parameters
    ----------
    matrix : (n_data, n_methods) means of a measure; NaN where a method failed.
    higher_is_better : whether high means rank first.

    Returns
    -------
    (n_methods,), between 1 and n_methods

    Raises
    ------
    ValueError
        If every method failed on every data set.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve_lab.comparison.differences import average_ranks
    >>> average_ranks(np.array([[0.9, 0.8, 0.7], [0.5, 0.6, 0.5]])).tolist()
    [1.75, 1.5, 2.75]
    """
    ranked = _known_ranks(matrix, higher_is_better)
    if not ranked.size:
        raise ValueError("Methods cannot be ranked: none of them has a value on any data set.")
    return ranked.mean(axis=0)


def _known_ranks(matrix: np.ndarray, higher_is_better: bool) -> np.ndarray:
    """Return the ranks of methods on the data sets on which at least one method succeeded, (n_known, n_methods).

    ``matrix`` (n_data, n_methods) are means of a measure; 1 is the best rank, and failures (NaN) rank last.
    """
    ranked = ranks(matrix, higher_is_better)
    return ranked[~np.isnan(ranked).any(axis=1)]


def friedman(matrix: np.ndarray, higher_is_better: bool = True, *, correct_ties: bool = True) -> Friedman:
    """Test whether all methods rank alike (Friedman 1937), before comparing pairs (Demsar 2006, section 3.2.2).

    Parameters
    ----------
    matrix : (n_data, n_methods) means of a measure; NaN where a method failed, which ranks last.
    higher_is_better : whether high means rank first.
    correct_ties : correct chi2 for ties, as scipy does; False follows Demsar (2006).

    Raises
    ------
    ValueError
        If there are fewer than two data sets or two methods.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve_lab.comparison.differences import friedman
    >>> test = friedman(np.array([[3, 2, 1], [3, 1, 2], [3, 2, 1], [2, 3, 1]]))
    >>> test.chi2, round(test.f, 2), round(test.f_p_value, 3)
    (4.5, 3.86, 0.084)
    """
    from scipy import stats

    ranked = _known_ranks(matrix, higher_is_better)
    n, k = ranked.shape
    _need(n, k)
    spread = float(((ranked - (k + 1) / 2) ** 2).sum()) if correct_ties else n * k * (k * k - 1) / 12
    between = n * float(((ranked.mean(axis=0) - (k + 1) / 2) ** 2).sum())
    chi2 = n * (k - 1) * between / spread if spread > 0 else 0.0
    room = n * (k - 1) - chi2
    chance = float(stats.chi2.sf(chi2, k - 1))
    if room <= 1e-9:
        return Friedman(chi2, chance, np.inf, _chance_of_agreement(ranked[0], n), n, k)
    f = (n - 1) * chi2 / room
    return Friedman(chi2, chance, float(f), float(stats.f.sf(f, k - 1, (k - 1) * (n - 1))), n, k)


def critical_difference(n_methods: int, n_data: int, alpha: float = 0.05) -> float:
    """Return the smallest significant difference between two average ranks (Nemenyi 1963; Demsar 2006, section 3.2.2).

    CD = q sqrt(k (k + 1) / (6 N)) for k = ``n_methods`` and N = ``n_data`` data sets; q is the (1 - ``alpha``) quantile
    of the studentized range of k methods, divided by sqrt(2).

    Raises
    ------
    ValueError
        If there are fewer than two data sets or two methods, or `alpha` is not between 0 and 1.

    Examples
    --------
    >>> from bayesieve_lab.comparison.differences import critical_difference
    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    from scipy.stats import studentized_range

    _need(n_data, n_methods)
    check_alpha(alpha)
    quantile = float(studentized_range.ppf(1 - alpha, n_methods, np.inf)) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_data)))


def cliques(ranks: Sequence[float] | np.ndarray, difference: float) -> list[tuple[int, ...]]:
    """Return the largest groups of methods whose average ranks all differ by less than the critical difference.

    Parameters
    ----------
    ranks : (n_methods,) average ranks, in any order.
    difference : from `critical_difference`.

    Returns
    -------
    list of tuples of places in `ranks`, best rank first; groups of two or more may overlap, but none contains another.

    Examples
    --------
    >>> from bayesieve_lab.comparison.differences import cliques
    >>> cliques([3.143, 2.0, 2.893, 1.964], 1.12)  # Demsar (2006), figure 1, at 10 %
    [(3, 1, 2), (2, 0)]
    """
    values = np.asarray(ranks, dtype=float)
    near = np.abs(values[:, None] - values) < difference - 1e-9
    return groups_not_apart(values, [(int(i), int(j)) for i, j in np.argwhere(~near)])


def groups_not_apart(ranks: Sequence[float] | np.ndarray, apart: Iterable[tuple[int, int]]) -> list[tuple[int, ...]]:
    """Return the largest runs of two or more neighbours by rank in which no two differ significantly.

    ``ranks`` (n_methods,) are average ranks, and ``apart`` the pairs of positions that differ significantly. Groups are
    tuples of positions, best rank first.

    Examples
    --------
    >>> from bayesieve_lab.comparison.differences import groups_not_apart
    >>> groups_not_apart([3.0, 1.0, 2.0], [(0, 1)])
    [(1, 2), (2, 0)]
    """
    order = np.argsort(ranks, kind="stable").tolist()
    distinct = {frozenset(pair) for pair in apart}
    groups: list[tuple[int, ...]] = []
    reached = 0
    for i in range(len(order)):
        stop = i + 1
        while stop < len(order) and not any({order[stop], one} in distinct for one in order[i:stop]):
            stop += 1
        if stop - i > 1 and stop > reached:
            groups.append(tuple(order[i:stop]))
        reached = max(reached, stop)
    return groups


def wilcoxon_holm(matrix: np.ndarray, names: Sequence[str], higher_is_better: bool = True) -> list[SignedRanks]:
    """Return exact Wilcoxon signed-rank tests of all pairs of methods over data sets, with Holm's adjustment.

    Parameters
    ----------
    matrix : (n_data, n_methods) means of a measure; NaN where a method failed.
    names : (n_methods,)
    higher_is_better : whether higher values of the measure are better; it determines wins and losses.

    Returns
    -------
    list of SignedRanks, in the order of the names: (0, 1), (0, 2) ... (n - 2, n - 1)

    Raises
    ------
    ValueError
        If there are fewer than two data sets or two methods, or names and columns differ in number.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve_lab.comparison.differences import wilcoxon_holm
    >>> (pair,) = wilcoxon_holm(np.array([[0.9, 0.8], [0.7, 0.5], [0.6, 0.3], [0.8, 0.4]]), ["A", "B"])
    >>> pair.p_value, pair.wins, pair.losses
    (0.125, 4, 0)
    """
    values = rounded(_as_matrix(matrix))
    if len(names) != values.shape[1]:
        raise ValueError(
            f"The matrix has {values.shape[1]} columns for {len(names)} names; pass one column per method."
        )
    _need(*values.shape)
    sign = 1.0 if higher_is_better else -1.0
    pairs = list(combinations(range(len(names)), 2))
    differences = [settled(sign * values[:, i], sign * values[:, j]) for i, j in pairs]
    chances = [signed_rank_test(of_pair) for of_pair in differences]
    return [
        SignedRanks(names[i], names[j], chance, adjusted, int((d > 0).sum()), int((d == 0).sum()), int((d < 0).sum()))
        for (i, j), d, chance, adjusted in zip(pairs, differences, chances, holm(chances), strict=True)
    ]


def signed_rank_test(differences: np.ndarray) -> float:
    """Return the exact two-sided p-value of the Wilcoxon signed-rank test of ``differences``, (n,), which may have
    ties.

    Differences of error rates are multiples of 1 / n_rows, so their sizes may be equal. Tables of the test do not cover
    ties, and the normal approximation is poor for ten differences. Here all combinations of signs are enumerated for
    the given ranks. Differences of 0 are dropped (Wilcoxon 1945); if no others remain, the result is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve_lab.comparison.differences import signed_rank_test
    >>> signed_rank_test(np.array([3.0, 1.0, 1.0, 2.0, 0.0]))  # 2 of 16 choices of signs
    0.125
    """
    from scipy.stats import rankdata

    differences = differences[differences != 0]
    ranks = np.rint(2 * rankdata(np.abs(differences))).astype(np.int64)  # doubled: mean ranks may be halves
    chances = np.ones(1)  # of every sum of the ranks of positive differences, if all signs are equally likely
    for rank in ranks.tolist():
        shifted = np.concatenate([np.zeros(rank), chances])
        shifted[: chances.size] += chances
        chances = shifted / 2
    positive = int(ranks[differences > 0].sum())
    return float(min(1.0, 2 * min(chances[: positive + 1].sum(), chances[positive:].sum())))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for multiple tests (Holm 1979), in the order of ``p_values``.

    If all tests with an adjusted p-value below 0.05 are called significant, the probability of any false positive is
    below 0.05.

    Examples
    --------
    >>> from bayesieve_lab.comparison.differences import holm
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, factors * np.asarray(p_values, dtype=float)[order]))
    return adjusted.tolist()


def _chance_of_agreement(row: np.ndarray, n_data: int) -> float:
    """Return the probability that ``n_data`` data sets rank the methods alike, if each ranking is equally likely.

    ``row`` (n_methods,) are the ranks on a data set; only rankings with its ties are considered.
    """
    tied = np.unique(row, return_counts=True)[1].tolist()
    return float(math.factorial(row.size) // math.prod(map(math.factorial, tied))) ** (1 - n_data)


def _as_matrix(matrix: np.ndarray) -> np.ndarray:
    """Return a matrix of floats, (n_data, n_methods); ValueError for another shape."""
    values = np.asarray(matrix, dtype=float)
    if values.ndim != 2 or values.shape[1] < 1:
        raise ValueError(f"A matrix of data sets by methods has two dimensions, got the shape {values.shape}.")
    return values


def _need(n_data: int, n_methods: int) -> None:
    """Raise ValueError unless there are at least two data sets and two methods."""
    if n_methods < 2:
        raise ValueError(f"A comparison needs at least two methods, got {n_methods}; add one.")
    if n_data < 2:
        raise ValueError(
            f"A test over data sets needs at least two of them on which some method worked, got {n_data}; add data "
            "sets, or use the test of the folds of one (corrected_resampled_t)."
        )

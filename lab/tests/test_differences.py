"""Tests of methods on one data set and over many, against scipy, published numbers and cases by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from bayesieve_lab.comparison.differences import (
    average_ranks,
    cliques,
    corrected_resampled_t,
    critical_difference,
    friedman,
    paired_t,
    ranks,
    wilcoxon_holm,
    wins_and_losses,
)

nan, inf = math.nan, math.inf

# Demsar (2006), table 6: AUC of C4.5, C4.5+m, C4.5+cf, C4.5+m+cf on 14 data sets. Two values of "voting" that the table
# prints alike, but ranks 2 and 3, are told apart.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9752, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)


def test_worked_example_of_demsar():
    assert average_ranks(DEMSAR).round(3).tolist() == [3.143, 2.0, 2.893, 1.964]
    test = friedman(DEMSAR, correct_ties=False)
    assert test.chi2 == pytest.approx(9.28, abs=0.005)
    assert test.f == pytest.approx(3.69, abs=0.005)
    assert (test.n_data, test.n_methods) == (14, 4)
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)
    assert critical_difference(4, 14, alpha=0.1) == pytest.approx(1.12, abs=0.005)
    # At 10 %, C4.5 is significantly worse than both with m, and nothing else is shown.
    assert cliques(average_ranks(DEMSAR), critical_difference(4, 14, alpha=0.1)) == [(3, 1, 2), (2, 0)]


@pytest.mark.parametrize(
    ("alpha", "published"),
    [
        (0.05, [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]),
        (0.10, [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]),
    ],
)
def test_quantiles_of_nemenyi(alpha, published):
    """Demsar (2006), table 5(a): 2 to 10 classifiers."""
    for k, q in enumerate(published, start=2):
        assert critical_difference(k, 30, alpha) / math.sqrt(k * (k + 1) / 180) == pytest.approx(q, abs=0.0011)


def test_friedman_is_that_of_scipy_with_ties_and_without():
    rng = np.random.default_rng(0)
    for matrix in (rng.random((12, 5)), rng.integers(0, 4, (9, 4)), DEMSAR):
        ours, theirs = friedman(matrix), stats.friedmanchisquare(*np.asarray(matrix, dtype=float).T)
        assert ours.chi2 == pytest.approx(theirs.statistic)
        assert ours.p_value == pytest.approx(theirs.pvalue)


def test_friedman_at_its_ends():
    alike = friedman(np.ones((5, 3)))
    assert (alike.chi2, alike.p_value, alike.f, alike.f_p_value) == (0.0, 1.0, 0.0, 1.0)
    agreed = friedman(np.tile([3.0, 2.0, 1.0], (6, 1)))
    assert agreed.chi2 == pytest.approx(12.0)  # N (k - 1), its largest value
    assert agreed.f == inf
    assert agreed.f_p_value == pytest.approx(6.0**-5)  # five times the one of 3! rankings that came first
    tied = friedman(np.tile([2.0, 2.0, 1.0], (4, 1)))
    assert tied.f_p_value == pytest.approx(3.0**-3)


def test_ranks_by_hand():
    matrix = [[0.9, 0.8, 0.9], [0.5, nan, nan], [0.1 + 0.2, 0.3, 0.2], [-inf, nan, 1.0], [nan, nan, nan]]
    found = ranks(np.array(matrix))
    assert found[:4].tolist() == [[1.5, 3, 1.5], [1, 2.5, 2.5], [1.5, 1.5, 3], [2, 3, 1]]
    assert np.isnan(found[4]).all()
    assert average_ranks(np.array(matrix)).tolist() == [1.5, 2.5, 2.0]
    assert ranks(np.array([[0.3, 0.1, inf, nan]]), higher_is_better=False).tolist() == [[2, 1, 3, 4]]


@given(
    st.integers(2, 6).flatmap(
        lambda k: st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0, nan, inf]), min_size=k, max_size=k), min_size=1)
    )
)
def test_ranks_of_a_data_set_always_add_up(rows):
    found = ranks(np.array(rows))
    n_methods = found.shape[1]
    for own, row in zip(found, rows, strict=True):
        if np.isnan(row).all():
            assert np.isnan(own).all()
        else:
            assert own.sum() == pytest.approx(n_methods * (n_methods + 1) / 2)
            assert 1 <= own.min() <= own.max() <= n_methods


def test_student_is_that_of_scipy():
    rng = np.random.default_rng(1)
    first, second = rng.random(10), rng.random(10)
    ours, theirs = paired_t(first, second), stats.ttest_rel(first, second)
    assert ours.statistic == pytest.approx(theirs.statistic)
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert ours.difference == pytest.approx((first - second).mean())
    swapped = paired_t(second, first)
    assert (swapped.statistic, swapped.p_value) == pytest.approx((-ours.statistic, ours.p_value))
    holes = paired_t(np.append(first, [nan, 0.5]), np.append(second, [0.5, nan]))
    assert holes == ours


def test_resampled_t_by_hand():
    """Ten folds: the variance of the mean is (1/10 + 1/9) s^2 in place of s^2 / 10."""
    first, second = np.arange(10.0), np.array([0, 1, 1, 2, 2, 4, 5, 5, 7, 8.0])
    plain, corrected = paired_t(first, second), corrected_resampled_t(first, second, test_share=1 / 9)
    assert plain.statistic / corrected.statistic == pytest.approx(math.sqrt(1 + 10 / 9))
    assert corrected.p_value == pytest.approx(2 * stats.t.sf(corrected.statistic, 9))
    assert corrected.p_value > plain.p_value


def test_resampled_t_keeps_its_level_where_student_does_not():
    """Two equal methods on overlapping training sets: correlation of folds 1/K, as Nadeau & Bengio assume."""
    rng = np.random.default_rng(2)
    n_folds, n_trials, correlation = 10, 2000, 0.1
    common = rng.normal(size=(n_trials, 1)) * math.sqrt(correlation)
    noise = common + rng.normal(size=(n_trials, n_folds)) * math.sqrt(1 - correlation)
    zero = np.zeros(n_folds)
    plain = np.mean([paired_t(row, zero).p_value < 0.05 for row in noise])
    corrected = np.mean([corrected_resampled_t(row, zero, 1 / 9).p_value < 0.05 for row in noise])
    assert plain > 0.1
    assert corrected == pytest.approx(0.05, abs=0.02)


@pytest.mark.parametrize(
    ("first", "second", "p_value", "sign"),
    [
        ([0.8, 0.9, 0.7], [0.8, 0.9, 0.7], 1.0, 0),
        ([0.3, 0.3], [0.1 + 0.2, 0.3], 1.0, 0),  # rounding is no difference
        ([0.8, 0.9, 0.7], [0.7, 0.8, 0.6], 0.0, 1),
        ([0.1, 0.2], [0.2, 0.3], 0.0, -1),
        ([0.5], [0.4], nan, 0),
        ([], [], nan, 0),
        ([nan, 0.5], [0.4, 0.4], nan, 0),
        ([-inf, 0.5, 0.6], [0.4, 0.4, 0.4], nan, 0),
        ([-inf, inf, 0.6], [0.4, 0.4, 0.4], nan, 0),
        ([-inf, 0.5, 0.5], [-inf, 0.5, 0.5], 1.0, 0),
    ],
)
def test_student_at_its_ends(first, second, p_value, sign):
    test = paired_t(first, second)
    assert test.p_value == pytest.approx(p_value, nan_ok=True)
    assert test.sign() == sign


def test_wins_and_losses_by_hand():
    better, alike, other = [0.90, 0.91, 0.93], [0.80, 0.95, 0.90], [0.80, 0.82, 0.80]
    values = {
        ("a", "ours"): better, ("a", "theirs"): other,
        ("b", "ours"): other, ("b", "theirs"): better,
        ("c", "ours"): better, ("c", "theirs"): alike,
        ("d", "ours"): better, ("d", "theirs"): [None, nan, 0.5],
    }  # fmt: skip
    rows = [(d, m, fold, v) for (d, m), own in values.items() for fold, v in enumerate(own)]
    rows.append(("e", "ours", 0, 0.5))  # not yet run with the other method
    np.random.default_rng(3).shuffle(rows)
    columns = [list(column) for column in zip(*rows, strict=True)]
    columns[3] = [None if v is None else float(v) for v in columns[3]]
    found = wins_and_losses(*columns, reference="ours")["theirs"]
    assert (found.wins, found.losses, found.ties, found.unknown) == (1, 1, 1, 2)
    assert found.outcomes == {"a": 1, "b": -1, "c": 0, "d": None, "e": None}
    swapped = wins_and_losses(*columns, reference="ours", higher_is_better=False)["theirs"]
    assert swapped.outcomes == {"a": -1, "b": 1, "c": 0, "d": None, "e": None}
    careful = wins_and_losses(*columns, reference="ours", test_share=1.0, alpha=0.01)["theirs"]
    assert (careful.wins, careful.losses, careful.ties) == (0, 0, 3)


def test_repeats_are_told_apart_by_the_split():
    splits = [(repeat, fold) for repeat in range(2) for fold in range(3)]
    found = wins_and_losses(
        ["a"] * 12, ["m"] * 6 + ["n"] * 6, splits * 2, [0.9, 0.8, 0.9, 0.8, 0.9, 0.9] + [0.5] * 6, reference="m"
    )
    assert found["n"].wins == 1
    with pytest.raises(ValueError, match="appears twice"):
        wins_and_losses(["a", "a"], ["m", "m"], [0, 0], [1.0, 1.0], reference="m")


def test_signed_ranks_of_all_pairs():
    rng = np.random.default_rng(4)
    matrix = rng.random((11, 3)) + [0.0, 0.3, 0.6]
    found = wilcoxon_holm(matrix, ["a", "b", "c"])
    assert [(f.first, f.second) for f in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    expected = [stats.wilcoxon(matrix[:, i], matrix[:, j], mode="exact").pvalue for i, j in ((0, 1), (0, 2), (1, 2))]
    assert [f.p_value for f in found] == pytest.approx(expected)
    assert [f.adjusted for f in found] == pytest.approx(stats_holm(expected))
    assert all(f.n_data == 11 for f in found)
    turned = wilcoxon_holm(matrix, ["a", "b", "c"], higher_is_better=False)
    assert [f.wins for f in turned] == [f.losses for f in found]
    assert [f.p_value for f in turned] == pytest.approx([f.p_value for f in found])


def stats_holm(p_values):
    """Holm by its definition: step down, times the number of hypotheses that are left."""
    ordered = sorted(p_values)
    stepped = [min(1.0, max((len(ordered) - j) * ordered[j] for j in range(i + 1))) for i in range(len(ordered))]
    return [stepped[ordered.index(p)] for p in p_values]


def test_signed_ranks_with_ties_and_failures():
    matrix = np.array([[0.9, 0.8], [0.7, 0.7], [nan, 0.5], [0.6, 0.4], [0.5, nan], [inf, inf], [0.3, 0.1]])
    (pair,) = wilcoxon_holm(matrix, ["a", "b"])
    assert (pair.wins, pair.ties, pair.losses, pair.n_data) == (3, 2, 0, 5)
    assert pair.p_value == pytest.approx(0.25)  # three differences of one sign: 2 of 8


@given(st.lists(st.floats(1, 7), min_size=1, max_size=8), st.floats(0.01, 8))
def test_cliques_are_all_largest_groups(values, difference):
    found = cliques(values, difference)
    groups = [set(group) for group in found]
    for group in found:
        spread = max(values[i] for i in group) - min(values[i] for i in group)
        assert len(group) > 1
        assert spread < difference
        assert [values[i] for i in group] == sorted(values[i] for i in group)
    assert not any(one < other for one in groups for other in groups)
    for i in range(len(values)):
        for j in range(i):
            if abs(values[i] - values[j]) < difference - 1e-6:
                assert any({i, j} <= group for group in groups)


def test_groups_by_hand():
    assert cliques([1.0, 2.0, 3.0], 0.5) == []
    assert cliques([1.0, 2.0, 3.0], 1.5) == [(0, 1), (1, 2)]
    assert cliques([3.0, 1.0, 2.0], 9.0) == [(1, 2, 0)]
    assert cliques([1.0, 2.0], 1.0) == []  # at least the critical difference is significant
    assert cliques([2.0, 2.0, 2.0], 0.1) == [(0, 1, 2)]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: friedman(np.ones((1, 3))), "needs at least two of them .* got 1"),
        (lambda: friedman(np.array([[1, 2], [nan, nan]])), "needs at least two of them .* got 1"),
        (lambda: friedman(np.ones((3, 1))), "at least two methods, got 1"),
        (lambda: friedman(np.ones(3)), "two dimensions"),
        (lambda: wilcoxon_holm(np.ones((1, 2)), ["a", "b"]), "needs at least two of them"),
        (lambda: wilcoxon_holm(np.ones((4, 2)), ["a"]), "2 columns for 1 names"),
        (lambda: critical_difference(3, 1), "needs at least two of them"),
        (lambda: critical_difference(1, 5), "at least two methods"),
        (lambda: critical_difference(3, 5, alpha=5), "between 0 and 1, got 5"),
        (lambda: average_ranks(np.full((2, 2), nan)), "none of them has a value"),
        (lambda: paired_t([1, 2], [1, 2, 3]), "inconsistent numbers of samples"),
        (lambda: corrected_resampled_t([1, 2], [1, 2], 0), "n_test / n_train, a positive number .* got 0"),
        (lambda: wins_and_losses(["a"], ["m"], [0], [1.0], reference="x"), "no method 'x' .* there are m"),
        (lambda: wins_and_losses(["a"], ["m"], [0], [], reference="m"), "inconsistent numbers of samples"),
    ],
)
def test_what_cannot_be_tested_is_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence) as told:
        call()
    assert "\n" not in str(told.value)


@pytest.mark.filterwarnings("error")
def test_numbers_too_large_to_round_are_compared_as_they_are():
    assert ranks(np.array([[1e308, 9e307, -1e308]])).tolist() == [[1.0, 2.0, 3.0]]
    assert paired_t([1e300, 3e300], [0.0, 0.0]).difference == 2e300
    assert paired_t([1e300, 3e300], [0.0, 0.0]).p_value == pytest.approx(paired_t([1.0, 3.0], [0.0, 0.0]).p_value)
    assert math.isnan(paired_t([1e308, 1e308], [-1e308, 0.0]).p_value)

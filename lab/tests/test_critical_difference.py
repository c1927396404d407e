"""Bars and words of the critical-difference diagram."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st

from bayesieve_lab.comparison.critical_difference import critical_difference_figure, fold_rank_figure
from bayesieve_lab.comparison.differences import critical_difference, groups_not_apart
from tests.report.markup import read, texts


def test_bars_begin_at_a_method_and_reach_to_the_last_that_they_join():
    figure = critical_difference_figure(["m0", "m1", "m2", "m3"], [3.0, 1.0, 2.0, 4.0], 1.5)
    assert figure.data.rows() == [
        ("m1", 1.0, "m2"), ("m2", 2.0, "m1, m0"), ("m0", 3.0, "m2, m3"), ("m3", 4.0, "m0"),
    ]  # fmt: skip
    bars = figure.frames["bars"]
    assert list(zip(bars["method"], bars["rank"], bars["last"], strict=True)) == [
        ("m1", 1.0, 2.0), ("m2", 2.0, 3.0), ("m0", 3.0, 4.0),
    ]  # fmt: skip
    equal = critical_difference_figure(["a", "b", "c"], [2.0, 2.0, 2.0], 1.5)
    assert equal.data["method"].to_list() == ["a", "b", "c"]
    assert len(equal.frames["bars"]["method"]) == 1


@given(st.integers(2, 9), st.data())
def test_runs_of_methods_not_told_apart(n, data):
    ranks = data.draw(st.lists(st.sampled_from([1.0, 1.5, 2.0, 2.5, 3.0]), min_size=n, max_size=n))
    pairs = list(itertools.combinations(range(n), 2))
    apart = data.draw(st.sets(st.sampled_from(pairs)))
    order = sorted(range(n), key=lambda i: (ranks[i], i))
    runs = [order[a:b] for a in range(n) for b in range(a + 2, n + 1)]
    alike = [set(run) for run in runs if not any(tuple(sorted(p)) in apart for p in itertools.combinations(run, 2))]
    largest = [run for run in alike if not any(run < other for other in alike)]
    assert [set(group) for group in groups_not_apart(ranks, sorted(apart))] == largest


@pytest.mark.parametrize(
    ("ranks", "difference", "alpha", "sentence"),
    [
        ([1.2, 2.0, 2.8], 0.9, 0.05, "Bars join methods that do not differ significantly (Nemenyi, 5%)."),
        ([1.0, 2.0, 3.0], 0.9, 0.1, "All methods differ significantly (Nemenyi, 10%)."),
        ([1.9, 2.0, 2.1], 0.9, 0.025, "No two methods differ significantly (Nemenyi, 2.5%)."),
        ([1.0, 2.0, 3.0], 2.34, 0.05, "with so few data sets the test (Nemenyi, 5%) can show nothing."),
        ([1.0, 2.0, 3.0], None, 0.05, "No test is possible, so no methods are joined."),
        ([1.0], None, 0.05, "Average ranks of 1 method over 7 data sets, 1 is best."),
    ],
)
def test_the_caption_says_what_was_found(ranks, difference, alpha, sentence):
    names = [f"m{i}" for i in range(len(ranks))]
    figure = critical_difference_figure(names, ranks, difference, n_data=7, alpha=alpha)
    assert figure.caption.endswith(sentence)
    assert "over 7 data sets" in figure.caption
    if difference is None:
        assert figure.frames["bars"]["method"] == []


@pytest.mark.parametrize(
    ("apart", "finding"),
    [
        ([], "No two methods differ significantly"),
        (
            [(0, 1), (0, 2), (1, 2)],
            "All methods differ significantly (corrected resampled t-test of the folds, 5% each).",
        ),
        (
            [(2, 0)],
            "Bars join methods that do not differ significantly (corrected resampled t-test of the folds, 5% each).",
        ),
        ([(0, 1), (1, 2)], "Without a bar, but not significantly different either: A and C."),
    ],
)
def test_ranks_over_folds(apart, finding):
    figure = fold_rank_figure(["A", "B", "C"], [1.0, 2.0, 3.0], apart, n_folds=10, title="AUC")
    assert finding in figure.caption
    assert "(corrected resampled t-test of the folds, 5% each)." in figure.caption
    assert bool(figure.frames["bars"]["method"]) == (len(apart) < 2)


def test_the_page_tells_the_numbers():
    names, ranks = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"], [3.143, 2.000, 2.893, 1.964]
    figure = critical_difference_figure(names, ranks, critical_difference(4, 14, 0.1), n_data=14, title="AUC")
    elements = read(figure.to_html())
    assert texts(elements, "h1") == ["AUC"]
    assert [texts(elements, "td")[i : i + 3] for i in range(0, 12, 3)] == [
        ["C4.5+m+cf", "1.9640", "C4.5+m, C4.5+cf"],
        ["C4.5+m", "2.0000", "C4.5+m+cf, C4.5+cf"],
        ["C4.5+cf", "2.8930", "every other method"],
        ["C4.5", "3.1430", "C4.5+cf"],
    ]
    nothing = critical_difference_figure([], [], None)
    assert "There is nothing to draw." in nothing.to_html()


@pytest.mark.parametrize(
    ("names", "ranks", "difference", "sentence"),
    [
        (["a"], [1.0, 2.0], 1.0, "2 ranks cannot be drawn for 1 names"),
        (["a", "b"], [1.0, 3.0], 1.0, "rank of 'b' must be from 1 to 2, got 3.0"),
        (["a", "b"], [1.0, float("nan")], 1.0, "rank of 'b' must be"),
        (["a", "b"], [1.0, 2.0], float("nan"), "positive number of ranks or None"),
        (["a", "b"], [1.0, 2.0], 0.0, "positive number of ranks or None"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(names, ranks, difference, sentence):
    with pytest.raises(ValueError, match=sentence):
        critical_difference_figure(names, ranks, difference)

"""Subsets of largest merit: Weka's subsets and merits, an oracle, options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bayesieve import CFSSelector
from bayesieve.search import ClusterSearch, MultiStart, Search
from tests.reference import information

SEARCHES = ("best-first", "forward", "backward")


def best_subset(codes: np.ndarray, classes: np.ndarray, search: str, quirk: bool) -> tuple[set[int], float]:
    """The searches with a merit that is computed anew for every subset."""
    columns, y = codes.T.tolist(), classes.tolist()

    def merit(subset: set[int]) -> float:
        return round(information.cfs_merit(sorted(subset), columns, y, independent_as_redundant=quirk), 11)

    everything = set(range(len(columns)))
    if search == "best-first":
        best: set[int] = set()
        waiting, stale = [(0.0, best)], 0
        top = 0.0
        while waiting and stale < 5:
            _, subset = waiting.pop(0)
            stale += 1
            for k in sorted(everything - subset):
                extended = subset | {k}
                value = merit(extended)
                if value - top > 1e-5:
                    best, top, stale = extended, value, 0
                waiting.append((value, extended))
                waiting = sorted(waiting, key=lambda entry: -entry[0])[:5]
        return best, merit(best)
    adding = search == "forward"
    subset = set() if adding else everything
    while True:
        moves = sorted(everything - subset) if adding else sorted(subset, reverse=True)
        if not moves:
            return subset, merit(subset)
        values = [merit(subset ^ {k}) for k in moves]
        top = max(values)
        if top < merit(subset) or (adding and top <= merit(subset)):
            return subset, merit(subset)
        subset = subset ^ {moves[values.index(top)]}


@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(3, 40),
    n_features=st.integers(1, 6),
    search=st.sampled_from(SEARCHES),
    quirk=st.booleans(),
)
def test_against_oracle(seed: int, n_rows: int, n_features: int, search: Any, quirk: bool) -> None:
    rng = np.random.default_rng(seed)
    classes = np.append(rng.integers(0, 2, n_rows), [0, 1])
    codes = rng.integers(0, rng.integers(1, 4, n_features), (n_rows + 2, n_features))
    copied = rng.random(n_features) < 0.3
    codes[:, copied] = classes[:, None] ^ (rng.random((n_rows + 2, int(copied.sum()))) < 0.2)
    selector = CFSSelector(search, independent_as_redundant=quirk, encoder=None).fit(codes, classes)
    expected, merit = best_subset(codes, classes, search, quirk)
    assert set(np.flatnonzero(selector.support_).tolist()) == expected
    assert selector.merit_ == pytest.approx(merit, abs=1e-10)
    assert selector.trace_.n_models <= 2**n_features
    frame = selector.trace_.to_frame(evaluated=True)
    assert selector.merit_ == pytest.approx(frame["criterion"].max(), abs=1e-5)
    subset, columns, y = set(range(n_features) if search == "backward" else ()), codes.T.tolist(), classes.tolist()
    path = selector.trace_.to_frame().rows(named=True) if search != "best-first" else ()
    for step in path[1:]:
        subset ^= {int(step["feature"][1:])}
        merit = information.cfs_merit(sorted(subset), columns, y, independent_as_redundant=quirk)
        assert step["criterion"] == pytest.approx(merit, abs=1e-10)


def test_copies_are_left_out_and_features_without_information_never_added() -> None:
    a, b, tenth = np.array([(i, j, k) for i in range(2) for j in range(2) for k in range(10)] * 10).T
    classes = np.where(tenth < 9, a, b)  # a and b are independent of each other
    codes = np.column_stack([np.zeros(400, int), a, a, b])
    for search in SEARCHES:
        plain = CFSSelector(search, encoder=None).fit(codes, classes)
        assert np.flatnonzero(plain.support_).tolist() == [1]
        predictive = CFSSelector(search, locally_predictive=True, encoder=None).fit(codes, classes)
        assert np.flatnonzero(predictive.support_).tolist() == [1, 3]
        assert predictive.merit_ < plain.merit_


@pytest.mark.parametrize("search", [MultiStart(), ClusterSearch()])
def test_a_search_that_evaluates_models(search: Search) -> None:
    with pytest.raises(ValueError, match=f"{type(search).__name__} evaluates naive Bayes"):
        CFSSelector(search, encoder=None).fit([[0, 1], [1, 0]], [0, 1])

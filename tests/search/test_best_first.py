"""Best-first search by the criteria of wrappers: a slow oracle, the trace, limits."""

from __future__ import annotations

import numpy as np
import pytest

from bayesieve import CFSSelector, WrapperSelector
from bayesieve.search import BestFirst, GreedySearch, MultiStart, SubsetProblem
from tests.criteria.coded_tables import coded_table, slow_cost


def slow_search(coded: object, n_features: int, n_waiting: int, n_stale: int) -> tuple[list[int], float]:
    """As the documentation says, with costs that are computed from scratch."""

    def cost(subset: frozenset[int]) -> float:
        return float(slow_cost(coded, sorted(subset)))  # type: ignore[arg-type]

    best = frozenset[int]()
    lowest, stale, waiting = cost(best), 0, [(cost(best), best)]
    while stale < n_stale and waiting:
        subset = waiting.pop(0)[1]
        better = False
        for larger in [subset | {k} for k in range(n_features) if k not in subset]:
            value = cost(larger)
            if value < lowest - 1e-5:
                best, lowest, better = larger, value, True
            waiting = sorted([*waiting, (value, larger)], key=lambda pair: pair[0])[:n_waiting]
        stale = 0 if better else stale + 1
    return sorted(best), lowest


@pytest.mark.parametrize("seed", range(4))
def test_the_subset_of_a_slow_search(seed: int) -> None:
    coded = coded_table(seed, n_rows=90, n_features=8, strength=0.8)
    trace = BestFirst(n_waiting=4, n_stale=3).run(SubsetProblem.of(coded))
    chosen, lowest = slow_search(coded, 8, 4, 3)
    assert np.flatnonzero(trace.chosen).tolist() == chosen
    assert trace.best_criterion == pytest.approx(lowest, abs=1e-9)
    np.testing.assert_array_equal(trace.best_subset(), trace.chosen)
    assert trace.complete


def test_it_goes_on_where_a_forward_search_of_improvements_ends() -> None:
    gains = []
    for seed in range(12):
        problem = SubsetProblem.of(coded_table(seed, n_rows=90, n_features=8, strength=0.8))
        best, forward = BestFirst().run(problem), GreedySearch("forward", tol=0.0).run(problem)
        gains.append(forward.best_criterion - best.best_criterion)
    assert min(gains) > -1e-4


def test_time_and_callers_end_it_early() -> None:
    problem = SubsetProblem.of(coded_table(1, n_rows=90, n_features=8))
    assert BestFirst(max_seconds=0.0).run(problem).chosen.sum() == 0
    part = BestFirst().run(problem, lambda *_: True)
    assert not part.complete
    assert part.n_starts == 1


def test_selectors_take_search_objects() -> None:
    coded = coded_table(2, n_rows=120, n_features=8, n_classes=2, strength=0.8)
    named = WrapperSelector(direction="forward", tol=0.0).fit_coded(coded)
    given = WrapperSelector(search=GreedySearch("forward", tol=0.0)).fit_coded(coded)
    assert given.trace_.to_frame().drop("seconds").equals(named.trace_.to_frame().drop("seconds"))
    np.testing.assert_array_equal(given.support_, named.support_)
    for search in (BestFirst(), MultiStart(2)):
        for evaluation in ("train", "holdout", "loo"):
            selector = WrapperSelector(search=search, evaluation=evaluation).fit_coded(coded)
            np.testing.assert_array_equal(selector.support_, selector.trace_.chosen)
    forward, same = CFSSelector("best-first").fit_coded(coded), CFSSelector(BestFirst()).fit_coded(coded)
    assert forward.merit_ == same.merit_


def test_the_best_area_is_found_where_high_is_good() -> None:
    coded = coded_table(2, n_rows=120, n_features=8, n_classes=2, strength=0.8)
    for search in (BestFirst(), MultiStart(2)):
        trace = WrapperSelector("auc", search=search, evaluation="train").fit_coded(coded).trace_
        assert trace.best_criterion > trace.null_criterion
        assert trace.to_frame(evaluated=True)["criterion"].max() == trace.best_criterion


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": 0.1}, "tol is an option of the search object"),
        ({"direction": "fast"}, "direction is an option of the search object"),
        ({"n_features_to_select": 2}, "n_features_to_select is an option of the search object"),
        ({"search": "forward"}, "search must be a search such as BestFirst"),
    ],
)
def test_options_that_belong_to_the_search_object(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WrapperSelector(**{"search": BestFirst(), **options}, encoder=None).fit([[0], [1], [1]], [0, 1, 1])

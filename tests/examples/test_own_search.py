"""The page on searches of one's own: its code runs as printed, and its search finds what it says it does."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from bayesieve import WrapperSelector
from bayesieve.search import GreedySearch, SubsetProblem
from tests.criteria.coded_tables import coded_table, slow_cost
from tests.examples.pages import names_of


@pytest.fixture(scope="module")
def printed() -> dict[str, Any]:
    """What is defined once all code of the page has run."""
    return names_of("own-search.md")


def test_results_of_the_page(printed: dict[str, Any]) -> None:
    selector, constrained, evaluated = (printed[name] for name in ("selector", "constrained", "evaluated"))
    assert 1 <= selector.support_.sum() <= 8
    assert selector.trace_.best_criterion < selector.trace_.null_criterion
    np.testing.assert_array_equal(selector.support_, selector.trace_.chosen)
    assert constrained.support_.any()
    assert evaluated.feasible[evaluated.best]
    assert evaluated.values[evaluated.best] == evaluated.values[evaluated.feasible].max()


def test_a_wide_beam_finds_the_best_subset_and_a_narrow_one_is_greedy(printed: dict[str, Any]) -> None:
    beam = printed["BeamSearch"]
    coded = coded_table(3, n_rows=90, n_features=6, strength=0.9)
    problem = SubsetProblem.of(coded)
    trace = beam(width=100).run(problem)
    subsets = [subset for size in range(6) for subset in combinations(range(5), size)]
    lowest = min(subsets, key=lambda subset: slow_cost(coded, subset))
    assert np.flatnonzero(trace.chosen).tolist() == list(lowest)
    assert trace.n_models == 2**5
    greedy = GreedySearch("forward").run(problem)
    np.testing.assert_array_equal(beam(width=1).run(problem).chosen, greedy.chosen)


@pytest.mark.parametrize("criterion", ["error_probability", "auc"])
@pytest.mark.parametrize("evaluation", ["train", "holdout", "loo", 3])
def test_it_works_wherever_criteria_are_measured(printed: dict[str, Any], criterion: str, evaluation: Any) -> None:
    coded = coded_table(4, n_rows=120, n_features=7, strength=0.9)
    search = printed["BeamSearch"](width=2)
    selector = WrapperSelector(criterion, search=search, evaluation=evaluation).fit_coded(coded)
    greedy = WrapperSelector(criterion, direction="forward", evaluation=evaluation).fit_coded(coded)
    sign = 1 if selector.trace_.lower_is_better else -1
    assert sign * selector.trace_.best_criterion <= sign * greedy.trace_.best_criterion + 1e-12
    assert selector.support_.any()

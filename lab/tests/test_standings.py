"""How methods stand to each other on one data set."""

from __future__ import annotations

import numpy as np
import pytest

from bayesieve_lab import Comparison
from bayesieve_lab.comparison.differences import corrected_resampled_t
from bayesieve_lab.comparison.results import standings
from lab.tests.compared import compared, rows_of


def comparison(measure: str, **values: list[float | None]) -> Comparison:
    """A comparison whose folds have these values of one measure."""
    return compared(rows_of(values, measure=measure))


def test_the_best_the_ranks_and_who_beats_whom() -> None:
    good, fair, poor = [0.90, 0.92, 0.91, 0.93, 0.92], [0.89, 0.92, 0.92, 0.91, 0.92], [0.70, 0.73, 0.71, 0.72, 0.71]
    found = standings(comparison("auc", poor=poor, fair=fair, good=good), "auc")
    assert [s.method for s in found] == ["good", "fair", "poor"]
    assert [s.rank for s in found] == [pytest.approx(1.4), pytest.approx(1.6), 3.0]
    assert [(s.beats, s.loses_to) for s in found] == [(1, 0), (1, 0), (0, 2)]
    assert found[0].against_best is None
    assert found[1].against_best == corrected_resampled_t(fair, good, 1 / 4)
    assert found[2].against_best is not None
    assert found[2].against_best.p_value < 0.001


def test_a_measure_that_is_better_when_low() -> None:
    low, high = [0.10, 0.12, 0.11, 0.13], [0.40, 0.44, 0.43, 0.41]
    found = standings(comparison("log_loss", high=high, low=low), "log_loss")
    assert [(s.method, s.rank, s.beats, s.loses_to) for s in found] == [("low", 1.0, 1, 0), ("high", 2.0, 0, 1)]


def test_methods_that_failed() -> None:
    part, whole, never = [0.95, 0.95, None], [0.90, 0.80, 0.85], [None, None, None]
    found = standings(comparison("auc", part=part, never=never, whole=whole), "auc")
    assert [s.method for s in found] == ["whole", "part"]  # the mean of easier folds is no match
    assert found[1].rank == pytest.approx((1 + 1 + 2.5) / 3)
    assert standings(comparison("auc", never=never), "auc") == []


def test_a_fold_that_no_method_has_is_left_out() -> None:
    one, other = [0.9, 0.8, None, 0.9], [0.8, 0.7, None, 0.9]
    found = comparison("auc", one=one, other=other)
    assert [s.rank for s in standings(found, "auc")] == [pytest.approx(3.5 / 3), pytest.approx(5.5 / 3)]
    np.testing.assert_allclose(found.matrix("auc"), [[2.6 / 3, 0.8]])


def test_equal_means_keep_their_order() -> None:
    found = standings(comparison("auc", b=[0.1, 0.3], a=[0.3, 0.1]), "auc")
    assert [s.method for s in found] == ["b", "a"]
    assert found[1].against_best is not None
    assert found[1].against_best.p_value == 1.0

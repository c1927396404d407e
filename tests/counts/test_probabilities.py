"""Log probabilities of levels against the formulas of the papers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bayesieve.counts import check_smoothing, log_probabilities
from tests.reference import naive_bayes

COUNTS = st.integers(1, 5).flatmap(
    lambda n_classes: st.lists(
        st.lists(st.integers(0, 9), min_size=n_classes, max_size=n_classes), min_size=1, max_size=5
    ).filter(lambda table: sum(map(sum, table)) > 0)
)


@given(counts=COUNTS, smoothing=st.sampled_from(["m-estimate", 1.0, 0.01, 3]))
def test_against_the_formula(counts: list[list[int]], smoothing: float | str) -> None:
    table = np.array(counts, dtype=float)
    classes = table.sum(axis=0).tolist()
    expected = naive_bayes.log_conditionals(counts, smoothing, classes)
    np.testing.assert_allclose(log_probabilities(table, table.sum(), smoothing), expected, rtol=1e-13, atol=1e-14)


def test_rows_without_a_level_say_nothing_about_the_others() -> None:
    # Two of ten rows have no level: the shares are those of the eight that have one, N stays 10.
    table = np.array([[3.0, 1.0], [1.0, 3.0]])
    assert log_probabilities(table, 10.0, "m-estimate")[0, 0] == pytest.approx(math.log(3.1 / 4.2), abs=1e-14)


def test_a_class_without_rows_is_finite() -> None:
    for smoothing in ("m-estimate", 1.0):
        found = log_probabilities(np.array([[3.0, 0.0], [1.0, 0.0]]), 4.0, smoothing)
        assert np.all(np.isfinite(found))
        np.testing.assert_allclose(np.exp(found[:, 1]), 0.5, rtol=1e-14)


@pytest.mark.parametrize("smoothing", ["m-estimate", 1, 0.5, 1e-9, np.float32(2), np.int64(1)])
def test_smoothing_accepted(smoothing: object) -> None:
    check_smoothing(smoothing)


@pytest.mark.parametrize(
    "smoothing", ["laplace", "", None, 0, 0.0, 1e-300, 1e200, -1.0, math.nan, math.inf, True, [1.0], np.ones(2)]
)
def test_smoothing_refused(smoothing: object) -> None:
    with pytest.raises(ValueError, match=r"smoothing must be 'm-estimate' or a positive number .* got"):
        check_smoothing(smoothing)

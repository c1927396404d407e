"""Blocks of correlated features: their correlations, and the classes they make."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayesieve_studies.simulate import correlated_blocks


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, 1.0])
def test_correlations_are_those_of_the_blocks(rho: float) -> None:
    X, y = correlated_blocks(20_000, 12, correlation=rho, random_state=1)
    expected = np.zeros((12, 12))
    expected[:3, :3] = expected[3:, 3:] = rho
    np.fill_diagonal(expected, 1.0)
    np.testing.assert_allclose(np.corrcoef(X.T), expected, atol=0.03)
    assert 0.45 < y.mean() < 0.55
    sides = [np.corrcoef(X[:, k], y)[0, 1] for k in (0, 5)]
    assert sides[0] > 0.1
    assert sides[1] < -0.02


def test_it_is_the_same_every_time_and_refuses_the_rest() -> None:
    np.testing.assert_array_equal(correlated_blocks(50, 8)[0], correlated_blocks(50, 8)[0])
    wrong: list[tuple[Any, str]] = [
        ({"correlation": 1.5}, "correlation must be a number from 0 to 1, got 1.5"),
        ({"n_features": 3}, "n_features must be a whole number of at least 4, got 3"),
    ]
    for options, message in wrong:
        with pytest.raises(ValueError, match=message):
            correlated_blocks(50, **options)

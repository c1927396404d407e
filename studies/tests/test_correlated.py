"""Blocks of correlated features: their correlations, and the classes they make."""

from __future__ import annotations

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

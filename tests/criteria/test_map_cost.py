"""The cost of Boulle (2007), equation 4: the prior of a subset."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bayesieve import WrapperSelector
from bayesieve.criteria import MAPCost
from tests.reference import selective


@pytest.mark.parametrize("n_features", [1, 2, 7, 100, 5000])
def test_prior_of_every_size(n_features: int) -> None:
    cost = MAPCost(n_features)
    sizes = sorted({0, 1, 2, n_features // 2, n_features})
    expected = [selective.prior_cost(n_features, min(size, n_features)) for size in sizes]
    np.testing.assert_allclose(cost.prior(np.minimum(sizes, n_features)), expected, rtol=1e-11, atol=1e-12)


def test_nothing_is_chosen_from_an_empty_subset() -> None:
    assert MAPCost(10).prior(0) == math.log(11)


def test_values_add_the_prior_to_the_sums() -> None:
    cost = MAPCost(4)
    found = cost.values(np.array([[1.0], [2.0]]), np.array([1, 3]), np.array([5.0, 5.0]))
    np.testing.assert_allclose(found, [1.0 + selective.prior_cost(4, 1), 2.0 + selective.prior_cost(4, 3)], rtol=1e-14)
    assert cost.lower_is_better


def test_a_cost_of_too_few_features_is_refused() -> None:
    X, y = np.arange(40).reshape(10, 4) % 3, np.arange(10) % 2
    selector = WrapperSelector(MAPCost(3), encoder=None, direction="forward", evaluation="train")
    with pytest.raises(ValueError, match=r"^MAPCost\(3\) is for 3 features, but the table has 4; pass 'map' instead"):
        selector.fit(X, y)

"""The cost of Boulle (2007), equation 4: the prior of a subset."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from bayesieve import DiscreteNB, WrapperSelector
from bayesieve.counts import CodedTable
from bayesieve.criteria import MAPCost
from bayesieve.search import SearchState, SubsetProblem
from tests.reference import selective


@pytest.mark.parametrize("n_features", [1, 2, 7, 100, 5000])
def test_prior_of_every_size(n_features: int) -> None:
    cost = MAPCost(n_features)
    sizes = sorted({0, 1, 2, n_features // 2, n_features})
    expected = [selective.prior_cost(n_features, min(size, n_features)) for size in sizes]
    np.testing.assert_allclose(cost.prior(np.minimum(sizes, n_features)), expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("smoothing", ["m-estimate", 1.0])
def test_posterior_relative_to_the_null_model(smoothing: Any) -> None:
    """Boulle (2007), equation 8: the ratio of priors times (exp H(Y) / exp ILF)^N, by refitted models.

    As printed, with (H(Y) / ILF)^N, it is not an identity.
    """
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    X = (y[:, None] + rng.integers(0, 3, (200, 4))) % 4
    shares = np.bincount(y) / y.size
    entropy, n, (null, *costs) = -float(shares @ np.log(shares)), y.size, map_costs(X, y, smoothing)
    for subset, cost in zip(SUBSETS[1:], costs, strict=True):
        model = DiscreteNB(smoothing=smoothing).fit(X[:, subset], y)
        ilf = -float(model.predict_log_proba(X[:, subset])[np.arange(n), y].mean())
        priors = selective.prior_cost(4, 0) - selective.prior_cost(4, len(subset))
        assert null - cost == pytest.approx(priors + n * (entropy - ilf), rel=1e-9)
        assert null - cost != pytest.approx(priors + n * math.log(entropy / ilf), rel=1e-3)


SUBSETS = ([], [0], [1, 3], [0, 1, 2, 3])


def map_costs(X: np.ndarray, y: np.ndarray, smoothing: Any) -> list[float]:
    """Minus log posterior of every subset, up to a constant, by the search's criterion."""
    table = CodedTable(
        X.T.astype(np.uint8), np.full(4, 4), tuple("abcd"), class_codes=y.astype(np.uint8), classes=np.arange(3)
    )
    state = SearchState(SubsetProblem.of(table, smoothing))
    costs = []
    for subset in SUBSETS:
        state.reset(np.isin(np.arange(4), subset))
        costs.append(state.cost)
    return costs


def test_a_cost_of_too_few_features_is_refused() -> None:
    X, y = np.arange(40).reshape(10, 4) % 3, np.arange(10) % 2
    selector = WrapperSelector(MAPCost(3), encoder=None, direction="forward", evaluation="train")
    with pytest.raises(ValueError, match=r"^MAPCost\(3\) is for 3 features, but the table has 4; pass 'map' instead"):
        selector.fit(X, y)

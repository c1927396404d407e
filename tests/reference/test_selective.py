"""The selective naive Bayes oracle against hand-made values and the golden enumerations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests import golden
from tests.reference import selective


def golden_data(name: str) -> selective.Data:
    return selective.Data.estimate(golden.snb_codes(name).tolist(), golden.class_codes(name).tolist())


def test_prior_cost_by_hand() -> None:
    assert selective.prior_cost(4, 0) == pytest.approx(math.log(5))
    # K = 4, K_m = 2: C(5, 2) = 10.
    assert selective.prior_cost(4, 2) == pytest.approx(math.log(5) + math.log(10))


def test_averages_by_hand() -> None:
    costs = {(): 10.0, (0,): 5.0, (1,): 8.0, (0, 1): 12.0}
    # Compressions 0, 0.5, 0.2 and -0.2; the empty subset and the one that does not compress are left out.
    assert selective.compression_weights(costs, 2) == pytest.approx([0.5 / 0.7, 0.2 / 0.7])
    weights = {subset: math.exp(-value) for subset, value in costs.items()}
    total = sum(weights.values())
    expected = [(weights[0,] + weights[0, 1]) / total, (weights[1,] + weights[0, 1]) / total]
    assert selective.bayesian_weights(costs, 2) == pytest.approx(expected)
    assert selective.best_subset(costs) == (0,)
    assert selective.compression_weights({(): 1.0, (0,): 2.0}, 1) == [0.0]


@pytest.mark.parametrize("name", golden.SNB_TABLES)
def test_golden_costs_of_the_best_subsets(name: str) -> None:
    values = golden.values("snb_exact", name)
    entry = values["variants"]["A_all"]
    data = golden_data(name)
    assert [values["variables"][k] for k in data.informative()] == values["informative_variables"]
    assert selective.cost(data, ()) == pytest.approx(entry["null_cost"], abs=1e-9)
    for model in entry["top5"]:
        subset = tuple(values["variables"].index(column) for column in model["subset"])
        assert selective.cost(data, subset) == pytest.approx(model["cost"], abs=1e-9)


@pytest.mark.parametrize("name", golden.SNB_TABLES)
def test_golden_averages(name: str) -> None:
    values = golden.values("snb_exact", name)
    entry = values["variants"]["A_all"]
    costs = selective.all_costs(golden_data(name))
    assert len(costs) == entry["n_models"]
    columns = values["variables"]
    assert [columns[k] for k in selective.best_subset(costs)] == entry["map_subset"]
    assert min(costs.values()) == pytest.approx(entry["map_cost"], abs=1e-9)
    for weights, key in [
        (selective.bayesian_weights(costs, len(columns)), "bma_weights"),
        (selective.compression_weights(costs, len(columns)), "cma_weights"),
    ]:
        np.testing.assert_allclose(weights, [entry[key].get(column, 0.0) for column in columns], rtol=0, atol=1e-10)

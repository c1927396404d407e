"""Selective naive Bayes of Boullé (2007) against the golden enumerations of all subsets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayesieve import BayesianAveraging, CompressionAveraging, MAPSelector
from tests import golden


@pytest.mark.parametrize("name", golden.SNB_TABLES)
@pytest.mark.parametrize("options", [{"exhaustive": True}, *({"random_state": state} for state in (None, 0, 1, 2))])
@pytest.mark.parametrize("kind", [MAPSelector, BayesianAveraging, CompressionAveraging])
def test_best_subsets_and_weights(name: str, kind: Any, options: dict[str, Any]) -> None:
    values = golden.values("snb_exact", name)  # m-estimate on P(level | class), K = all columns
    entry, columns = values["variants"]["A_all"], values["variables"]
    codes = golden.snb_codes(name)
    selector = kind(encoder=None, **{"exhaustive": False, **options}).fit(codes, golden.target(name))
    assert selector.trace_.best_criterion == pytest.approx(entry["map_cost"], rel=0, abs=1e-8)
    assert not selector.weights_[codes.max(axis=0) == 0].any()  # one level
    if kind is MAPSelector:
        np.testing.assert_array_equal(selector.weights_, np.isin(columns, entry["map_subset"]).astype(float))
    elif "exhaustive" in options:
        key = "bma_weights" if kind is BayesianAveraging else "cma_weights"
        np.testing.assert_allclose(selector.weights_, [entry[key].get(name, 0.0) for name in columns], atol=1e-9)

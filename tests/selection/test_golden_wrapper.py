"""Wrapper selection against the golden greedy paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayesieve import WrapperSelector
from tests import golden


@pytest.mark.parametrize("name", golden.WRAPPER_TABLES)
@pytest.mark.parametrize("criterion", golden.WRAPPER_CRITERIA.values())
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_golden_paths(name: str, criterion: str, direction: str) -> None:
    entry = golden.wrapper_path(name, "frequency_prior", criterion, direction)
    columns, codes, y = golden.coded_table(name)
    every, order = set(range(len(columns))), entry["order"]
    forward = direction == "forward"

    def fit(**more: Any) -> WrapperSelector:
        selector = WrapperSelector(criterion, direction=direction, evaluation="train", smoothing=1.0, encoder=None)
        return selector.set_params(**more).fit(pd.DataFrame(codes, columns=list(columns)), y)

    def kept(selector: WrapperSelector) -> list[int]:
        return np.flatnonzero(selector.support_).tolist()

    def after(moves: int) -> list[int]:
        return sorted(order[:moves] if forward else every - set(order[:moves]))

    selector = fit()
    frame = selector.trace_.to_frame()
    assert frame["feature"].to_list() == [None, *(columns[k] for k in order)]
    assert frame["move"].to_list() == ["start", *["add" if forward else "drop"] * len(columns)]
    sizes = list(range(len(columns) + 1))[:: 1 if forward else -1]
    assert frame["n_features"].to_list() == sizes
    np.testing.assert_allclose(frame["criterion"], entry["values"], rtol=0, atol=1e-12)
    costs = np.array(entry["values"]) * (-1 if criterion == "auc" else 1)
    best = min(np.flatnonzero(costs <= costs.min() + 1e-12).tolist(), key=lambda step: sizes[step])
    assert kept(selector) == after(best)
    assert kept(fit(tol=0.0)) == sorted(entry["selected_at_stop"])
    assert kept(fit(n_features_to_select=3)) == after(3 if forward else len(columns) - 3)

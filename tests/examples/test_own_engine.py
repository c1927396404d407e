"""The page on engines of one's own: its code runs as printed, and its engine keeps its budget and changes no model."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from bayesieve import SelectiveNB, WrapperSelector
from bayesieve.engine import Engine, Mapped
from tests.examples.pages import names_of


@pytest.fixture(scope="module")
def printed() -> dict[str, Any]:
    """What is defined once all code of the page has run."""
    return names_of("own-engine.md")


def test_results_of_the_page(printed: dict[str, Any]) -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = SelectiveNB().fit(X, y)
    np.testing.assert_array_equal(printed["model"].feature_weights_, model.feature_weights_)
    selector = WrapperSelector("error_probability", direction="forward").fit(X, y)
    np.testing.assert_array_equal(printed["selector"].support_, selector.support_)


@pytest.mark.parametrize("budget", [0, 30_000, 1 << 30])
def test_the_budget_is_kept(
    printed: dict[str, Any], budget: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bayesieve.engine.files._IN_MEMORY_BYTES", 0)
    engine = printed["WithinBudget"](tmp_path, budget, block_rows=150)
    assert isinstance(engine, Engine)
    used, in_files = [], []

    def array(self: Any, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        in_files.append(shape)
        return of_mapped(self, shape, dtype)

    of_mapped, of_engine = Mapped.array, engine.array
    monkeypatch.setattr(Mapped, "array", array)
    monkeypatch.setattr(engine, "array", lambda *options: (of_engine(*options), used.append(engine.used))[0])
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = SelectiveNB("map", cache=engine).fit(X, y)
    np.testing.assert_array_equal(model.feature_weights_, SelectiveNB("map").fit(X, y).feature_weights_)
    assert 0 <= max(used) <= budget
    assert bool(in_files) == (budget < 1 << 20)
    gc.collect()
    assert engine.used == 0

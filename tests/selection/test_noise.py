"""On tables of noise, the model predicts the class shares; columns that matter stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayesieve import SelectiveNB


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No feature is in the model")
@pytest.mark.parametrize(("n_columns", "n_classes", "n_seeds"), [(10, 2, 10), (200, 2, 4), (200, 5, 3), (1000, 2, 1)])
@pytest.mark.parametrize("calibrate", ["auto", "weights"])
def test_noise_is_predicted_by_the_class_shares(n_columns: int, n_classes: int, n_seeds: int, calibrate: Any) -> None:
    losses = []
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(660, n_columns)), rng.integers(0, n_classes, 660)
        model = SelectiveNB(calibrate=calibrate, n_jobs=1).fit(X[:60], y[:60])
        shares = np.bincount(y[:60]) / 60
        own = model.predict_proba(X[60:])[np.arange(600), np.searchsorted(model.classes_, y[60:])]
        losses.append(np.log(shares[y[60:]] / own).mean())
    assert np.mean(losses) < (0.02 if calibrate == "auto" else 0.06)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No feature is in the model")
def test_columns_that_say_something_stay_among_columns_of_noise() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 300))
    X[:, :5] += y[:, None]
    model = SelectiveNB(pairs=0).fit(X, y)
    assert set(range(5)) <= set(np.flatnonzero(model.selector_.weights_).tolist())

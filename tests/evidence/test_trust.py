"""The default can be trusted: little noise, no cliffs, calibrated and covered probabilities.

Bounds are a little looser than those of benchmarks/results/trust.md, and far from what models without tests of their
features gave.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve import SelectiveNB, load
from bayesieve.datasets import load_german_credit
from benchmarks.common import trust_tables as tables


def fit(X: pl.DataFrame, y: Any, **parameters: Any) -> SelectiveNB:
    return SelectiveNB(random_state=0, **parameters).fit(X, y)


@pytest.fixture(scope="module")
def among_noise() -> tuple[SelectiveNB, tables.Sample, tables.Sample]:
    """A model of 2 true columns among 15 of noise, its 1,000 training rows, and new rows."""
    train, new = tables.samples(tables.two_true_columns, 1000, 20_000, seed=0)
    return fit(train.X, train.y), train, new


def test_noise_adds_little_and_costs_little(among_noise: tuple[SelectiveNB, tables.Sample, tables.Sample]) -> None:
    model, train, new = among_noise
    assert tables.noise_share(model.scorecard_, new.X, tables.TRUE_COLUMNS) < 0.1
    of_true = fit(train.X.select(tables.TRUE_COLUMNS), train.y)
    best = tables.loss(of_true, new.X.select(tables.TRUE_COLUMNS), new.y)
    assert tables.loss(model, new.X, new.y) - best < 0.006


def test_a_straight_effect_has_no_cliffs(among_noise: tuple[SelectiveNB, tables.Sample, tables.Sample]) -> None:
    model, train, _ = among_noise
    assert tables.largest_change(model, train.X, "x") < 0.35


def test_intervals_hold_the_probabilities_of_new_rows(
    among_noise: tuple[SelectiveNB, tables.Sample, tables.Sample],
) -> None:
    model, _, new = among_noise
    assert tables.coverage(model, new) > 0.8


def test_intervals_allow_for_columns_that_were_dropped(tmp_path: Path) -> None:
    models, shares = [], []
    for seed in range(3):
        train, new = tables.samples(tables.weak_effects, 500, 4000, seed)
        models.append(fit(train.X, train.y))
        shares.append(tables.coverage(models[-1], new))
        assert models[-1].scorecard_.omitted_variances > 0.1
    assert np.mean(shares) > 0.8
    models[0].save(tmp_path / "model.json")
    variances = [model.scorecard_.omitted_variances for model in (load(tmp_path / "model.json"), models[0])]
    assert variances[0] == variances[1] == models[0].update(train.X, train.y).scorecard_.omitted_variances
    train, _ = tables.samples(tables.two_true_columns, 5000, 0, seed=0)
    assert fit(train.X, train.y).scorecard_.omitted_variances < 0.02


def test_weak_effects_survive() -> None:
    train, new = tables.samples(tables.weak_effects, 2000, 20_000, seed=100)
    model = fit(train.X, train.y)
    assert len(model.scorecard_.used) > 12
    assert tables.loss(model, new.X, new.y) < 0.65


def test_shuffled_copies_stay_out() -> None:
    X, y = load_german_credit(return_X_y=True)
    card = fit(tables.with_shuffled_copies(X, seed=1), y).scorecard_
    copies = [f for f in card.used_features if any(name.startswith("shuffled_") for name in f.columns)]
    assert len(copies) <= 2
    assert sum(feature.importance for feature in copies) < 0.05
    assert tables.largest_change(fit(X, y), X.with_columns(pl.col("credit_amount").cast(float)), "credit_amount") < 0.35


def test_unequal_weights_let_no_noise_in() -> None:
    random = np.random.default_rng(0)
    columns = {f"n{k}": random.normal(size=500) for k in range(40)} | {"x": random.normal(size=500)}
    y = random.random(500) < 1.0 / (1.0 + np.exp(-1.5 * columns["x"]))
    model = SelectiveNB().fit(pl.DataFrame(columns), y, sample_weight=random.exponential(size=500))
    names = [feature.columns for feature in model.scorecard_.used_features]
    assert ("x",) in names
    assert len(names) <= 3


def test_a_jump_stays() -> None:
    ends = pl.DataFrame({"x0": [0.1, 0.5], "x1": [0.0, 0.0]})
    trains = [tables.samples(tables.jump, 1200, 0, seed)[0] for seed in range(3)]
    assert np.mean([np.diff(tables.log_odds(fit(X, y), ends)) for X, y, _ in trains]) > 1.2


@pytest.mark.slow
def test_wide_noise_costs_little() -> None:
    train, new = tables.samples(tables.wide_noise(2000), 200, 2000, seed=0)
    share = np.full(new.y.size, train.y.mean())
    of_shares = -np.mean(new.y * np.log(share) + (1 - new.y) * np.log(1.0 - share))
    assert tables.loss(fit(train.X, train.y), new.X, new.y) - of_shares < 0.06


@pytest.mark.slow
def test_weak_indicators_of_few_causes_are_as_good_as_levels() -> None:
    train, new = tables.samples(tables.wide_binary, 2000, 10_000, seed=0)
    of_levels = tables.loss(fit(train.X, train.y, calibrate="levels"), new.X, new.y)
    model = fit(train.X, train.y)
    assert tables.loss(model, new.X, new.y) < of_levels + 0.004
    assert 0.8 < tables.slope(model, new) < 1.2


@pytest.mark.slow
def test_the_best_of_many_weak_indicators_are_not_overconfident() -> None:
    train, new = tables.samples(tables.wide_binary, 1000, 4000, seed=2)
    some = train.X.columns[::2]
    model = fit(train.X.select(some), train.y)
    assert 5 < len(model.selected_features_) < 50
    assert tables.slope(model, new) > 0.85  # .7 without held-out rows
    mean = model.predict_proba(train.X.select(some))[:, 1].mean()  # of contributions that were shrunk
    assert mean == pytest.approx(train.y.mean(), abs=1e-3)

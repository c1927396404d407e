"""Profit, gains and lift against hand counts and loops."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from bayesieve import gains_curve, profit_curve, total_benefit

RNG = np.random.default_rng(2)
N = 60
Y = (RNG.random(N) < 0.3).astype(int)
SCORE = np.round(0.5 * Y + RNG.random(N), 1)  # with ties
WEIGHTS = RNG.integers(0, 3, N).astype(float)
BENEFIT = RNG.normal(size=(N, 2, 2))


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_every_point_is_the_profit_of_its_contacts(weights: Any) -> None:
    curve = profit_curve(Y, SCORE, benefit=BENEFIT, sample_weight=weights, n_bootstrap=0)
    counted = np.ones(N) if weights is None else weights
    assert curve.threshold[1:].tolist() == sorted(set(SCORE[counted > 0].tolist()), reverse=True)
    for share, threshold, profit in zip(curve.share, curve.threshold, curve.profit, strict=True):
        contacted = threshold <= SCORE
        assert share == pytest.approx(counted[contacted].sum() / counted.sum())
        direct = total_benefit(Y, contacted.astype(int), benefit=BENEFIT, sample_weight=weights)
        assert profit == pytest.approx(direct, abs=1e-12)
    assert curve.profit[curve.best] == curve.profit.max()
    assert np.isnan(curve.low).all()


def test_gains_and_lift_by_hand() -> None:
    # Ten rows, four of them positive; of the best three, two are.
    y = ["yes", "no", "yes", "no", "no", "yes", "no", "no", "yes", "no"]
    curve = gains_curve(y, [9, 8, 7, 6, 5, 5, 3, 2, 1, 0])
    assert curve.share.tolist() == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 1])
    assert curve.gain.tolist() == [0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75, 0.75, 1, 1]
    assert curve.lift[1:4].tolist() == pytest.approx([2.5, 1.25, 5 / 3])
    assert np.isnan(curve.lift[0])
    assert curve.lift[-1] == 1
    doubled = gains_curve(y, [9, 8, 7, 6, 5, 5, 3, 2, 1, 0], sample_weight=[2, *[1] * 9])
    assert doubled.gain[1] == 0.4
    assert doubled.share[1] == pytest.approx(2 / 11)


def test_weights_are_repetitions() -> None:
    rows = np.repeat(np.arange(N), WEIGHTS.astype(int))
    for weighted, repeated in (
        (gains_curve(Y, SCORE, sample_weight=WEIGHTS), gains_curve(Y[rows], SCORE[rows])),
        (
            profit_curve(Y, SCORE, benefit=BENEFIT, sample_weight=WEIGHTS, n_bootstrap=0),
            profit_curve(Y[rows], SCORE[rows], benefit=BENEFIT[rows], n_bootstrap=0),
        ),
    ):
        for name in weighted.__dataclass_fields__:
            np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), atol=1e-12)


def test_the_band_is_that_of_resampled_rows() -> None:
    y, score = (RNG.random(4000) < 0.4).astype(int), RNG.random(4000)
    curve = profit_curve(y, score, benefit=[[0, 0], [-1, 1]], n_bootstrap=400, confidence=0.9)
    # At the last threshold every row is contacted: the profit is a sum of 4000 independent draws of +1 and -1.
    spread = 2 * np.sqrt(4000 * y.mean() * (1 - y.mean())) * 1.645
    assert curve.high[-1] - curve.profit[-1] == pytest.approx(spread, rel=0.15)
    assert curve.profit[-1] - curve.low[-1] == pytest.approx(spread, rel=0.15)
    assert curve.low[0] == curve.high[0] == 0
    assert (curve.low <= curve.profit).mean() > 0.99
    assert (curve.profit <= curve.high).mean() > 0.99
    again = profit_curve(y, score, benefit=[[0, 0], [-1, 1]], n_bootstrap=400, confidence=0.9)
    np.testing.assert_array_equal(again.low, curve.low)
    other = profit_curve(y, score, benefit=[[0, 0], [-1, 1]], n_bootstrap=400, confidence=0.9, random_state=1)
    assert (other.low != curve.low).any()
    assert curve.low.shape == curve.high.shape == curve.share.shape == (4001,)  # of all its points
    assert np.isfinite(curve.low).all()


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (profit_curve, {"benefit": np.ones((3, 2))}, "A profit curve needs two decisions, but benefit has 3 rows"),
        (profit_curve, {"score": [0.1, np.nan, 0.2]}, "score is missing in row 1"),
        (profit_curve, {"score": [0.1, 0.2]}, "score has 2 values, but there are 3 rows"),
        (profit_curve, {"n_bootstrap": -1}, "n_bootstrap must be a whole number, at least 0"),
        (profit_curve, {"confidence": 95}, "confidence must lie between 0 and 1"),
        (gains_curve, {"y": [0, 1, 2]}, "y has 3 classes; name the positive one as pos_label"),
        (gains_curve, {"pos_label": "x"}, "pos_label is 'x', which no row of y has"),
        (gains_curve, {"sample_weight": [1, 0, 0]}, "No row of the positive class has a weight above 0"),
    ],
)
def test_one_clear_sentence(function: Any, arguments: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"y": [0, 1, 1], "score": [0.1, 0.2, 0.3]} | arguments
    if function is profit_curve:
        given = {"benefit": np.eye(2)} | given
    with pytest.raises(ValueError, match=re.escape(message)):
        function(given.pop("y"), given.pop("score"), **given)


def test_the_positive_class_may_be_named() -> None:
    assert gains_curve([0, 1, 2], [1, 2, 3], pos_label=2).gain.tolist() == [0, 1, 1, 1]

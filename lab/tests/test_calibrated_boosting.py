"""Boosted selection by calibration errors, against loops over features, levels and rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from bayesieve import CodedTable, DiscreteNB, SelectiveNB
from bayesieve_lab.gidofalvi.calibrated import CalibratedBoosting, calibrated

NO_SMOOTHING = 1e-9


def rows(weighted: bool = False) -> tuple[CodedTable, np.ndarray]:
    """Seven columns of three levels, of which two copy one that tells the class, and one tells it alone."""
    rng = np.random.default_rng(5)
    y = (rng.random(3000) < 0.2).astype(int)
    told = [np.clip(rng.normal(size=y.size) + shift * y, -1, 1).round().astype(int) + 1 for shift in (1.2, 0.9, 0.4)]
    noisy = [np.where(rng.random(y.size) < 0.1, rng.integers(0, 3, y.size), told[0]) for _ in range(2)]
    codes = np.column_stack([*told, *noisy, rng.integers(0, 3, (y.size, 2))]).astype(np.uint8)
    weights = rng.uniform(0.5, 2.0, y.size) if weighted else np.ones(y.size)
    return CodedTable(codes.T, np.full(7, 3), "abcdefg", y, np.array([0, 1]), weights), codes


@pytest.mark.parametrize("weighted", [False, True])
def test_each_round_selects_the_feature_on_whose_levels_calibrated_naive_bayes_errs_most(weighted: bool) -> None:
    coded, codes = rows(weighted)
    y, weights = np.asarray(coded.class_codes), np.asarray(coded.weights)
    selector = CalibratedBoosting(6, smoothing=NO_SMOOTHING, encoder=None).fit_coded(coded)
    order = selector.trace_.walk_moves(0).feature.tolist()
    edges = selector.trace_.walk_moves(0).cost
    assert len({*order}) == 6
    for k, (winner, found) in enumerate(zip(order, edges, strict=True)):
        p = np.full(y.size, np.average(y, weights=weights))
        if k:
            model = DiscreteNB(smoothing=NO_SMOOTHING).fit(coded.select(order[:k]), y, sample_weight=weights)
            log_proba = model.predict_log_proba(coded.select(order[:k]))
            score = (log_proba[:, 1] - log_proba[:, 0])[:, None]
            p = LogisticRegression(C=1e9, tol=1e-10).fit(score, y, weights).predict_proba(score)[:, 1]
        errors, expected = weights * (y - p), []
        for column in codes.T:
            at_levels = [column == level for level in range(3)]
            squares = [errors[at].sum() ** 2 / np.abs(errors[at]).sum() for at in at_levels]
            expected.append(sum(squares) / np.abs(errors).sum())
        left = [j for j in range(7) if j not in order[:k]]
        assert winner == max(left, key=expected.__getitem__)
        assert found == pytest.approx(expected[winner], rel=0.02, abs=1e-7)


def test_copies_of_selected_features_wait() -> None:
    coded, _ = rows()
    boosted = [*CalibratedBoosting(3, encoder=None).fit_coded(coded).trace_.walk_moves(0).feature]
    assert set(boosted) == {0, 1, 2}  # not the noisy copies of the first


def test_probabilities_are_calibrated_on_their_rows() -> None:
    rng = np.random.default_rng(0)
    score = rng.normal(size=4000)
    y = (rng.random(4000) < 1 / (1 + np.exp(2 - 0.5 * score))).astype(int)
    weights = rng.uniform(0.5, 2.0, 4000)
    p = calibrated(4 * score + 3, y, weights)
    assert np.average(p, weights=weights) == pytest.approx(np.average(y, weights=weights), abs=1e-5)
    np.testing.assert_allclose(np.log(p / (1 - p)), 0.5 * score - 2, atol=0.4)
    np.testing.assert_array_equal(calibrated(np.ones(4), np.array([0, 0, 0, 1]), np.ones(4)), 0.25)


def test_ends_and_refusals() -> None:
    coded, codes = rows()
    y = np.asarray(coded.class_codes)
    trace = CalibratedBoosting(2, encoder=None).fit_coded(coded).trace_
    assert (trace.n_features, trace.ended, trace.n_models) == (7, "with 2 features", 15)
    assert np.flatnonzero(trace.chosen).tolist() == sorted(trace.walk_moves(0).feature.tolist())
    crossed = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    with pytest.warns(UserWarning, match="selects 0 of n_features_to_select=1"):
        none = CalibratedBoosting(1, encoder=None).fit(crossed, crossed[:, 0] ^ crossed[:, 1])
    assert none.trace_.ended == "when the probabilities were calibrated on the levels of every other feature"
    with pytest.warns(UserWarning, match="the search ended early"):
        stopped = CalibratedBoosting(1, max_seconds=0, encoder=None).fit(codes, y)
    assert not stopped.trace_.complete
    with pytest.raises(ValueError, match="needs two classes, got 3"):
        CalibratedBoosting(encoder=None).fit(codes, codes[:, 0])


def test_a_model_selects_with_it() -> None:
    coded, codes = rows()
    model = SelectiveNB(CalibratedBoosting(2), pairs=0, calibrate=False).fit(codes, np.asarray(coded.class_codes))
    assert model.n_features_selected_ == 2
    assert model.trace_.ended == "with 2 features"

"""Boosted selection: an oracle from table 2 of the paper, the ends of boosting, several classes, saved models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from sklearn.datasets import load_breast_cancer

from bayesieve import BoostedSelector, DiscreteNB, SelectiveNB
from bayesieve.counts import CodedTable
from bayesieve.selection import boosted as boosting
from tests.reference.boosting import boost


def draw(seed: int, n_rows: int, n_features: int, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n_rows, n_features) that follow the classes more or less, with a copy of the first feature at the end."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    rng.shuffle(y)
    codes = np.empty((n_rows, n_features), dtype=np.int64)
    for k in range(n_features):
        n_levels = 2 + k % 4
        codes[:, k] = np.where(
            rng.random(n_rows) < 0.15 * (1 + k % 5), (y + k) % n_levels, rng.integers(0, n_levels, n_rows)
        )
    codes[:, -1] = codes[:, 0]
    return codes, y


def coded_table(codes: np.ndarray, y: np.ndarray, n_levels: Any = None, weights: Any = None) -> CodedTable:
    return CodedTable(
        codes.T.astype(np.uint8),
        codes.max(axis=0) + 1 if n_levels is None else n_levels,
        tuple(f"x{k}" for k in range(codes.shape[1])),
        class_codes=y.astype(np.uint8),
        classes=np.arange(int(y.max()) + 1),
        weights=weights,
    )


ENDS = {
    "rounds": "after",
    "chance": "chance",
    "separated": "separated",
    "concentrated": "concentrated",
    "features": "with",
}


@given(
    st.integers(0, 2**32 - 1),
    st.integers(4, 60),
    st.integers(2, 6),
    st.sampled_from(["m-estimate", 1.0, 0.01, 1e-280]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, 1, 2]),
)
@example(145, 4, 5, "m-estimate", False, True, 2)  # the last of 12 rounds adds the last of two features
def test_rounds_equal_those_of_the_paper(
    seed: int, n_rows: int, n_features: int, smoothing: Any, weighted: bool, unseen: bool, most: int | None
) -> None:
    codes, y = draw(seed, n_rows, n_features)
    n_levels = codes.max(axis=0) + 1
    if unseen:
        n_levels = np.maximum(n_levels - 1, 1)  # the last level of each feature is not known
    weights = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 3.0], n_rows) if weighted else None
    if weights is not None:
        weights[:4] = 1.0
    coded = coded_table(codes, y, n_levels, weights)
    present = np.unique(y if weights is None else y[weights > 0])
    if present.size < 2:
        return
    selector = BoostedSelector(12, most, smoothing=smoothing, encoder=None).fit_coded(coded)
    expected = boost(codes.T.tolist(), (2 * y - 1).tolist(), n_levels.tolist(), 12, smoothing, weights, most)
    assert selector.trace_.moves.feature.tolist() == expected.winners
    np.testing.assert_allclose(selector.trace_.moves.cost, expected.edges, rtol=0, atol=1e-10)
    np.testing.assert_allclose(selector.alphas_, expected.alphas, rtol=1e-9, atol=1e-10)
    assert ENDS[expected.end] in selector.trace_.ended
    assert np.flatnonzero(selector.support_).tolist() == sorted(set(expected.winners))
    sums = np.zeros(n_features)
    np.add.at(sums, expected.winners, expected.alphas)
    np.testing.assert_allclose(selector.scores_, sums, rtol=1e-9, atol=1e-10)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["m-estimate", 1.0]), st.booleans())
def test_weights_of_rows_equal_those_of_the_paper(seed: int, smoothing: Any, weighted: bool) -> None:
    codes, y = draw(seed, 50, 5)
    codes, y = codes[np.argsort(y, kind="stable")], np.sort(y)
    given_weights = np.random.default_rng(seed).choice([0.5, 1.0, 3.0], 50) if weighted else None
    coded = coded_table(codes, y, weights=given_weights)
    rows = boosting._Weights(coded, [1])
    walk = boosting._AgainstRest(coded, rows, 0, 1, smoothing)
    expected = boost(
        codes.T.tolist(), (2 * y - 1).tolist(), (codes.max(axis=0) + 1).tolist(), 8, smoothing, given_weights
    )
    for weights in expected.weights:
        walk.round(np.arange(5), boosting.Clock(None))
        np.testing.assert_allclose(rows._weights[0] / rows._weights[0].sum(), weights, rtol=1e-10, atol=1e-10)


def test_the_first_round_is_plain_naive_bayes() -> None:
    codes, y = draw(3, 200, 6)
    s = np.array([DiscreteNB().fit(codes[:, [k]], y).predict_proba(codes[:, [k]])[:, 1] for k in range(6)])
    edges = ((2 * y - 1) * (2 * s - 1)).mean(axis=1)
    trace = BoostedSelector(1, encoder=None).fit(codes, y).trace_
    assert trace.moves.feature[0] == np.argmax(edges)
    assert trace.moves.cost[0] == pytest.approx(edges.max(), abs=1e-13)
    assert trace.null_criterion == pytest.approx((2 * y.mean() - 1) ** 2, abs=1e-15)


def test_each_class_is_boosted_against_the_rest() -> None:
    codes, y = draw(13, 150, 6, n_classes=3)
    selector = BoostedSelector(6, encoder=None).fit(codes, y)
    alone = [BoostedSelector(6, encoder=None).fit(codes, (y == c).astype(int)) for c in range(3)]
    for c, one in enumerate(alone):
        moves = selector.trace_.walk_moves(c)
        assert moves.feature.tolist() == one.trace_.moves.feature.tolist()
        np.testing.assert_allclose(moves.cost, one.trace_.moves.cost, atol=1e-12)
    assert selector.support_.tolist() == np.any([one.support_ for one in alone], axis=0).tolist()
    one_feature = BoostedSelector(n_features_to_select=1, encoder=None).fit(codes, y)
    assert one_feature.trace_.moves.feature.tolist() == alone[0].trace_.moves.feature[:1].tolist()


def test_without_replacement_every_round_adds_another_feature() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (6, 300)).astype(np.uint8)
    y = ((codes[0] + codes[1] + codes[2] > 3) ^ (rng.random(300) < 0.1)).astype(int)
    again = BoostedSelector(12)
    X = codes.T.astype(str)
    selector = BoostedSelector(6, replacement=False).fit(X, y)
    won = selector.trace_.moves.feature.tolist()
    assert len(won) == len(set(won)) == selector.n_features_selected_
    first = again.fit(X, y).trace_.moves.feature.tolist()
    assert won[0] == first[0]
    assert len(set(first)) < len(first)
    everything = BoostedSelector(None, selector.n_features_selected_, replacement=False).fit(X, y)
    assert everything.trace_.moves.feature.tolist() == won


def test_rounds_and_features_both_limit() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    assert BoostedSelector().fit(X, y).trace_.ended == "after 20 rounds"
    five = BoostedSelector(n_features_to_select=5).fit(X, y)
    assert (five.n_features_selected_, five.trace_.ended) == (5, "with 5 features")
    assert BoostedSelector(1, 5).fit(X, y).trace_.ended == "after 1 round"
    many = BoostedSelector(None, 12).fit(X, y)
    assert (many.n_features_selected_, many.trace_.ended) == (12, "with 12 features")
    assert many.alphas_.size > 20


HALF = np.arange(40) % 2
CROSSED = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)
CODES, CLASSES = draw(17, 300, 3)  # the copy at the end never wins


@pytest.mark.parametrize(
    ("selector", "codes", "y", "support", "ended"),
    [
        (BoostedSelector(smoothing=1e-280), np.column_stack([HALF // 2, HALF]), HALF, [False, True], "when x1"),
        (BoostedSelector(), CROSSED, CROSSED[:, 0] ^ CROSSED[:, 1], [False, False], "when no feature was better than"),
        (BoostedSelector(500), np.minimum(np.arange(2000) % 2 + (np.arange(2000) == 0), 1)[:, None],
         np.arange(2000) % 2, [True], "when the weight was concentrated on "),
        (BoostedSelector(), np.ones((20, 1)), np.arange(20) % 2, [False], "at once, for no feature has"),
        (BoostedSelector(None, 3), CODES, CLASSES, [True, True, False], "after 100 rounds without a new feature"),
    ],
)  # fmt: skip
def test_ends(selector: BoostedSelector, codes: np.ndarray, y: np.ndarray, support: list[bool], ended: str) -> None:
    selector.set_params(encoder="modl" if codes.dtype == float else None).fit(codes, y)
    assert selector.support_.tolist() == support
    assert selector.trace_.ended.startswith(ended)
    assert selector.alphas_.size == selector.trace_.moves.cost.size


def test_a_class_without_rows() -> None:
    coded = coded_table(*draw(1, 30, 3))
    one_class = coded.with_rows(weights=(np.asarray(coded.class_codes) == 0).astype(float))
    selector = BoostedSelector(encoder=None).fit_coded(one_class)
    assert not selector.support_.any()
    assert selector.trace_.ended == "at once, for the rows have one class"


def test_where_classes_end_differently_each_is_named() -> None:
    y = np.array([0] * 400 + [1] * 400 + [2] * 400)
    codes = np.column_stack([y == 0, np.random.default_rng(0).integers(0, 2, y.size)]).astype(int)
    codes[0, 0], codes[-1, 0] = 0, 1
    ended = BoostedSelector(500, encoder=None).fit(codes, y).trace_.ended
    assert ended.startswith("class 0 when the weight was concentrated")
    assert "class 1 " in ended


def test_no_time_and_options_that_exclude_each_other() -> None:
    codes, y = draw(19, 100, 6)
    none = BoostedSelector(max_seconds=0, encoder=None).fit(codes, y)
    assert (none.trace_.complete, none.trace_.ended, none.n_features_selected_) == (False, None, 0)
    for wrong in (BoostedSelector(None), BoostedSelector(n_features_to_select=7)):
        with pytest.raises(ValueError, match="n_features_to_select"):
            wrong.set_params(encoder=None).fit(codes, y)


def test_the_classifier_itself_is_not_weighted() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = SelectiveNB("boosted", calibrate=False).fit(X, y)
    coded = model.encoder_.fit_transform_coded(X, y)
    kept = coded.select(model.selector_.support_)
    np.testing.assert_allclose(model.predict_proba(X), DiscreteNB().fit(kept).predict_proba(kept), atol=1e-12)

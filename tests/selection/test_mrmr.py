"""Rankings by minimal redundancy and maximal relevance: golden rankings, an oracle, sizes chosen on held-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.datasets import load_breast_cancer

from bayesieve import DiscreteNB, MRMRSelector
from bayesieve.counts import CodedTable
from bayesieve.selection.filters import rank_by_mrmr
from bayesieve.selection.row_splits import hold_out
from tests.reference import information


def coded_table(codes: Any, classes: Any, n_levels: list[int] | None = None) -> CodedTable:
    codes = np.asarray(codes, dtype=np.uint8)
    return CodedTable(
        codes=codes,
        n_levels=np.array(n_levels or (codes.max(axis=1) + 1).tolist()),
        names=tuple(f"x{k}" for k in range(len(codes))),
        class_codes=np.asarray(classes, dtype=np.uint8),
        classes=np.arange(int(np.max(classes)) + 1),
    )


@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(1, 6), st.sampled_from(["difference", "quotient"]))
def test_against_oracle(seed: int, n_rows: int, n_features: int, form: Any) -> None:
    rng = np.random.default_rng(seed)
    classes = np.append(rng.integers(0, 2, n_rows), [0, 1])
    codes = rng.integers(0, 3, (n_features, n_rows + 2))
    codes[rng.integers(n_features)] = codes[0]  # perhaps a copy
    ranking, scores = rank_by_mrmr(coded_table(codes, classes), form)
    expected, expected_scores = information.mrmr_ranking(codes.tolist(), classes.tolist(), form)
    if form == "quotient" and np.abs(scores).max() > 1e6:
        return  # nearly independent pairs: how small their information is decides, and is rounding
    assert ranking.tolist() == expected
    np.testing.assert_allclose(scores, expected_scores, atol=1e-9, rtol=1e-7)


@pytest.mark.parametrize("validation", ["error", "accuracy"])
def test_size_is_that_of_the_smallest_best_subset_on_held_out_rows(validation: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    selector = MRMRSelector(smoothing=1.0, recode=False, validation=validation).fit(X, y)
    coded = selector.encoder_.transform_coded(X)
    coded = coded.with_rows(class_codes=y.astype(np.uint8), classes=np.array([0, 1])).by_class
    fit, held_out = hold_out(coded, 0.5, 0)
    ranking, _ = rank_by_mrmr(fit, first=coded.n_levels > 1)
    assert selector.ranking_.tolist() == ranking.tolist()
    errors = []
    for size in range(coded.n_features + 1):
        weights = np.zeros(coded.n_features)
        weights[ranking[:size]] = 1.0
        model = DiscreteNB(smoothing=1.0, feature_weights=weights).fit(fit)
        errors.append(np.mean(model.predict(held_out) != held_out.class_codes))
    frame = selector.trace_.to_frame()
    values = errors if validation == "error" else 1.0 - np.array(errors)
    np.testing.assert_allclose(frame["validation"].to_list(), values, atol=1e-12)
    assert selector.n_features_selected_ == int(np.argmin(np.round(errors, 12)))
    assert set(np.flatnonzero(selector.support_)) == set(ranking[: selector.n_features_selected_].tolist())
    assert frame["criterion"].to_list()[1:] == selector.scores_[selector.ranking_].tolist()


def test_levels_of_one_kind_are_ranked_last_and_not_selected() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = np.column_stack([np.ones(len(y)), X, np.random.default_rng(0).random(len(y))])
    selector = MRMRSelector(32).fit(X, y)
    silent = [k for k, level in enumerate(selector.encoder_.levels_) if level.n_levels == 1]
    assert 0 in silent
    assert selector.ranking_[-len(silent) :].tolist() == silent
    assert not selector.support_[silent].any()
    assert selector.n_features_selected_ == 32 - len(silent)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_features_to_select": 9}, "n_features_to_select=9 is more than the 2 features"),
        ({"validation": "loss"}, "loss"),
        ({}, r"too few rows \(2\).*pass n_features_to_select as a number"),
    ],
)
def test_what_cannot_be_done(options: dict[str, Any], message: str) -> None:
    n_times = 5 if options else 1
    with pytest.raises(ValueError, match=message):
        MRMRSelector(**options, encoder=None).fit(np.tile([[0, 1], [1, 0]], (n_times, 1)), np.tile([0, 1], n_times))

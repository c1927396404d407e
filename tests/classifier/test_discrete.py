"""`DiscreteNB` against naive Bayes row by row, and the importances of its features against their formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bayesieve import DiscreteNB
from bayesieve.counts import CodedTable
from tests.criteria.coded_tables import coded_table
from tests.reference import naive_bayes


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, list[int], int]:
    """Codes, class codes (all present), row weights, levels of each feature, number of classes."""
    n_classes, n_features = draw(st.integers(2, 4)), draw(st.integers(1, 5))
    n_rows = draw(st.integers(n_classes, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_levels = rng.integers(1, 6, n_features)
    codes = np.column_stack([rng.integers(0, levels, n_rows) for levels in n_levels])
    y = rng.integers(0, n_classes, n_rows)
    y[:n_classes] = np.arange(n_classes)
    weights = None
    if draw(st.booleans()):
        weights = rng.integers(0, 9, n_rows) / 4
        weights[:n_classes] += 0.25  # every class has some weight
    return codes, y, weights, n_levels.tolist(), n_classes


def slow_joint(
    codes: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    n_levels: list[int],
    n_classes: int,
    smoothing: float | str,
    feature_weights: np.ndarray,
    rows: np.ndarray,
) -> np.ndarray:
    sample_weight = None if weights is None else weights.tolist()
    classes = naive_bayes.class_counts(y.tolist(), n_classes, sample_weight)
    conditionals = [
        naive_bayes.log_conditionals(
            naive_bayes.level_counts(codes[:, k].tolist(), y.tolist(), levels, n_classes, sample_weight),
            smoothing,
            classes,
        )
        for k, levels in enumerate(n_levels)
    ]
    priors = naive_bayes.log_priors(classes)
    return np.array([naive_bayes.log_joint(row, priors, conditionals, feature_weights) for row in rows.tolist()])


@given(tables(), st.sampled_from(["m-estimate", 1.0, 0.3]), st.integers(0, 2**32 - 1))
def test_against_the_oracle(table: Any, smoothing: float | str, seed: int) -> None:
    codes, y, weights, n_levels, n_classes = table
    rng = np.random.default_rng(seed)
    feature_weights = rng.choice([0.0, 0.5, 1.0, 2.5], len(n_levels))
    model = DiscreteNB(smoothing=smoothing, feature_weights=feature_weights, min_categories=n_levels)
    model.fit(codes, y, sample_weight=weights)
    new = np.column_stack([rng.integers(0, levels + 3, 20) for levels in n_levels])  # unseen codes among them
    joint = slow_joint(codes, y, weights, n_levels, n_classes, smoothing, feature_weights, new)
    np.testing.assert_allclose(model.predict_joint_log_proba(new), joint, rtol=1e-12, atol=1e-12)
    posterior = np.array([naive_bayes.log_posterior(row) for row in joint.tolist()])
    np.testing.assert_allclose(model.predict_log_proba(new), posterior, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(new), np.exp(posterior), rtol=1e-11, atol=1e-14)
    np.testing.assert_array_equal(model.predict(new), model.predict_joint_log_proba(new).argmax(axis=1))


def test_rows_without_a_level_in_training_are_left_out_of_their_feature() -> None:
    """An unseen code is no level: a feature's shares are those of its known rows."""
    table = coded_table(3, n_rows=50, n_features=3, unseen=0.3)
    model = DiscreteNB(smoothing=1.0).fit(table)
    for k in range(3):
        known = table.codes[k] < table.n_levels[k]
        alone = DiscreteNB(smoothing=1.0, min_categories=int(table.n_levels[k]))
        alone.fit(table.codes[k][known, None].astype(int), table.class_codes[known])
        np.testing.assert_allclose(model.feature_log_prob_[k], alone.feature_log_prob_[0], rtol=1e-13)
    assert model.class_count_.sum() == 50


@given(tables(), st.integers(1, 6), st.sampled_from(["m-estimate", 1.0]))
def test_pieces_add_up_to_one_fit(table: Any, n_pieces: int, smoothing: float | str) -> None:
    codes, y, weights, _, n_classes = table
    weights = np.ones(len(y)) if weights is None else weights
    parts = np.array_split(np.arange(len(y)), min(n_pieces, len(y)))
    parts = [rows for rows in parts if weights[rows].any()]  # others are refused: no row is left to learn from
    pieces = DiscreteNB(smoothing=smoothing)
    for rows in parts:
        pieces.partial_fit(codes[rows], y[rows], classes=np.arange(n_classes), sample_weight=weights[rows])
    seen = np.concatenate(parts)
    whole = DiscreteNB(smoothing=smoothing).partial_fit(
        codes[seen], y[seen], classes=np.arange(n_classes), sample_weight=weights[seen]
    )
    np.testing.assert_array_equal(pieces.class_count_, whole.class_count_)
    for one, other in zip(pieces.feature_log_prob_, whole.feature_log_prob_, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)
    np.testing.assert_allclose(pieces.predict_proba(codes), whole.predict_proba(codes), rtol=1e-12)


def test_fit_forgets_what_partial_fit_saw() -> None:
    X, y = np.array([[0], [1], [1]]), ["a", "b", "b"]
    model = DiscreteNB().partial_fit(X, y).fit(X, y)
    assert model.class_count_.tolist() == [1, 2]
    model.fit(np.zeros((4, 2), dtype=int), ["x", "y", "x", "y"])
    assert model.classes_.tolist() == ["x", "y"]
    assert model.n_features_in_ == 2


def test_classes_announced_before_they_come() -> None:
    model = DiscreteNB().partial_fit([[0], [1]], ["a", "b"], classes=["c", "b", "a"])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.class_log_prior_[2] == -np.inf
    probabilities = model.predict_proba([[0], [5]])
    assert probabilities[:, 2].tolist() == [0.0, 0.0]
    assert np.all(np.isfinite(probabilities))
    model.partial_fit([[3]], ["c"])
    assert np.all(np.isfinite(model.class_log_prior_))
    assert model.feature_log_prob_[0].shape == (4, 3)


def test_explanations_add_up_exactly() -> None:
    table = coded_table(8, n_rows=80, n_features=7, n_classes=3, strength=1.0)
    codes = table.codes.T.astype(int)
    model = DiscreteNB(feature_weights=[0.3, 0, 1, 0.7, 0.123, 1, 0.5]).fit(codes, table.class_codes)
    rows = np.vstack([codes[:5], codes[:1] + 50])
    joint, frame = model.predict_joint_log_proba(rows), model.explain(rows)
    assert frame.columns == ["row", "class", "feature", "value", "level", "weight", "contribution", "prior"]
    contributions = frame["contribution"].to_numpy().reshape(6, 3, 6)
    total = frame["prior"].to_numpy().reshape(6, 3, 6)[:, :, 0].copy()
    for k in range(6):
        total += contributions[:, :, k]
    np.testing.assert_array_equal(total, joint)
    assert "x1" not in frame["feature"].to_list()
    assert not contributions[5].any()
    assert frame.filter(row=0, feature="x2")["value"].to_list() == [str(codes[0, 2])] * 3


TWO = ([[0, 1], [1, 0]], [0, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feature_weights": [1.0]}, r"one weight for each of the 2 features, got shape \(1,\)"),
        ({"feature_weights": [1.0, -0.5]}, "weight of feature 1 is -0.5"),
        ({"feature_weights": [np.nan, 1.0]}, "weight of feature 0 is nan"),
        ({"feature_weights": [1.0, np.inf]}, "weight of feature 1 is inf"),
        *(({"feature_weights": wrong}, "got shape") for wrong in ([[1.0, 1.0]], 1.0)),
        *(({"feature_weights": wrong}, "one number for each of the 2 features") for wrong in ("a", [1.0, {}])),
        *(({"fit_prior": wrong}, "fit_prior must be True or False") for wrong in (None, "yes", [True], np.ones(2))),
        *(
            ({"min_categories": wrong}, "min_categories must be a whole number or one for each of the 2 features")
            for wrong in ("many", 2.5, [2], [2, 3, 4], [[2, 2]])
        ),
        ({"min_categories": 2**32}, "Column 0 has 4294967296 levels, whose counts in 2 classes would fill"),
    ],
    ids=str,
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DiscreteNB(**options).fit(*TWO)


@pytest.mark.parametrize(
    ("classes", "first", "new", "message"),
    [
        (None, ["a", "b"], ["c"], "label 'c', which was not a class .*; in that call, pass all labels as classes="),
        (["a", "b"], ["a", "b"], ["b", "c"], "label 'c', which was not a class"),
        (None, ["a", "b"], [1], "label 1, which was not a class"),
        ([0, 1], [0, 1], ["c"], "label 'c', which was not a class"),
        (["a", "b"], ["a", "b"], [True], "label True, which was not a class"),
        (["a", "b"], [0, 1], [], "y contains the label 0, which"),
        ([], [0, 1], [], "0 sample"),
        ([0, None], [0, 1], [], "missing|NaN"),
        (3, [0, 1], [], "array-like"),
    ],
)
def test_a_class_not_announced(classes: Any, first: list[Any], new: list[Any], message: str) -> None:
    model = DiscreteNB()
    with pytest.raises(ValueError, match=message):
        model.partial_fit([[0], [1]], first, classes=classes).partial_fit([[0]] * len(new), new)
    assert not new or model.class_count_.sum() == 2  # nothing more was counted


def test_levels_without_rows_must_not_fill_the_memory() -> None:
    codes = np.zeros((40, 4), dtype=int)
    codes[0] = 10_000_000
    with pytest.raises(ValueError, match="Column 0 has 10000001 levels, whose counts in 40 classes would fill"):
        DiscreteNB().fit(codes, np.arange(40))


def test_changed_weights_are_taken_over_without_counting_again() -> None:
    model = DiscreteNB().fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    expected = DiscreteNB(feature_weights=[0.0, 0.5]).fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    model.set_params(feature_weights=[0.0, 0.5]).update()
    np.testing.assert_array_equal(model.predict_proba([[0, 0]]), expected.predict_proba([[0, 0]]))
    model = DiscreteNB().fit([[0], [1]], ["a", "\udcff"])  # half a character is spelt out
    assert model.explain([[0]])["class"].to_list() == ["a", "\\udcff"]


@pytest.mark.parametrize("absent", ["a", "b", "c"])
def test_a_class_of_weight_zero_is_as_if_its_rows_were_not_there(absent: str) -> None:
    X, y = np.array([[0], [1], [2], [1], [2]]), np.array(["a", "b", "c", "a", "b"])
    kept = y != absent
    weighted = DiscreteNB(min_categories=3).fit(X, y, sample_weight=kept * 2.0)
    without = DiscreteNB(min_categories=3).fit(X[kept], y[kept], sample_weight=np.full(kept.sum(), 2.0))
    assert weighted.classes_.tolist() == without.classes_.tolist() == [name for name in "abc" if name != absent]
    np.testing.assert_array_equal(weighted.predict_proba(X), without.predict_proba(X))


def test_a_class_announced_without_rows_of_weight_is_impossible() -> None:
    with np.errstate(all="raise"):
        model = DiscreteNB().partial_fit([[0], [1], [2]], [0, 1, 2], classes=[0, 1, 2], sample_weight=[1.0, 2.0, 0.0])
        np.testing.assert_allclose(np.exp(model.class_log_prior_), [1 / 3, 2 / 3, 0.0], rtol=1e-14)
        probabilities = model.predict_proba([[0], [2], [9]])
    assert probabilities[:, 2].tolist() == [0.0, 0.0, 0.0]
    assert model.predict([[2]])[0] == 1
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


@pytest.mark.parametrize(("least", "levels"), [(None, [2, 3]), (1, [2, 3]), (4, [4, 4]), ([5, 1], [5, 3])])
def test_least_number_of_levels(least: Any, levels: list[int]) -> None:
    model = DiscreteNB(min_categories=least).fit([[0, 2], [1, 0]], [0, 1])
    assert [len(table) for table in model.feature_log_prob_] == levels


def test_hundreds_of_features_do_not_underflow() -> None:
    y = np.arange(100) % 2
    codes = np.repeat(y[:, None], 3000, axis=1)
    model = DiscreteNB().fit(codes, y)
    probabilities = model.predict_proba(codes)
    np.testing.assert_allclose(probabilities[np.arange(100), y], 1.0)
    assert np.all(np.isfinite(model.predict_log_proba(codes)))


def test_a_coded_table_carries_its_classes_and_weights() -> None:
    table = coded_table(4, n_rows=30, weights=np.arange(30.0)).with_rows(classes=np.array(["no", "yes"]))
    model = DiscreteNB().fit(table)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.class_count_.sum() == np.arange(30).sum()
    assert set(model.predict(table)) <= {"no", "yes"}
    with pytest.raises(ValueError, match="requires y to be passed"):
        DiscreteNB().fit(table.with_rows(class_codes=None))
    with pytest.raises(ValueError, match="features"):
        model.predict(CodedTable(table.codes[:2], table.n_levels[:2], table.names[:2]))

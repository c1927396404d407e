"""Many columns fitted at once are, to the last bit, what each is alone; sparse tables give what dense ones do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import bayesieve
from bayesieve import (
    EqualFrequencyDiscretizer,
    IndicatorEncoder,
    MODLDiscretizer,
    SelectiveNB,
    TableEncoder,
    WrapperSelector,
)
from bayesieve.discretize import intervals
from bayesieve.discretize.class_order import ClassOrder
from bayesieve.table import as_table

CODERS = (MODLDiscretizer(), EqualFrequencyDiscretizer(4), EqualFrequencyDiscretizer(1), EqualFrequencyDiscretizer(60))


def draw_table(seed: int, n_rows: int, n_classes: int, values: str) -> tuple[np.ndarray, np.ndarray]:
    """Columns from noise to a copy of the class, with missing values in every third one."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n_rows).astype(np.uint8)
    X = rng.standard_normal((n_rows, 7)) + codes[:, None] * np.linspace(0, 3, 7)
    X = {"distinct": X, "few": np.round(X), "sparse": np.where(X > 2.5, np.round(X), 0.0), "huge": X * 1e306}[values]
    X[:, ::3] = np.where(rng.random((n_rows, 3)) < 0.2, np.nan, X[:, ::3])
    X[:, 5] = 0.0
    return X, codes


@pytest.mark.parametrize("coder", CODERS, ids=repr)
@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(1, 120),
    n_classes=st.sampled_from([1, 2, 3, 9, 20]),
    values=st.sampled_from(["distinct", "few", "sparse", "huge"]),
    apart=st.booleans(),
)
def test_a_block_is_its_columns(coder: Any, seed: int, n_rows: int, n_classes: int, values: str, apart: bool) -> None:
    X, classes = draw_table(seed, n_rows, n_classes, values)
    order = ClassOrder.of(classes, n_classes, None)
    table = as_table(X)
    codes = np.empty((7, n_rows), dtype=np.uint8)
    block = coder.fit_block(table.numbers(np.arange(7)), order, codes, apart=apart)
    assert coder.takes_blocks(order)
    cut, line = 0, 0
    for i, n_levels in enumerate(block.n_levels.tolist()):
        alone = coder.fit_column(table.column(i), order, missing_apart=apart)
        assert n_levels == alone.levels.n_levels
        assert block.cuts[cut : cut + n_levels - 1].tobytes() == np.asarray(alone.levels.cut_points).tobytes()
        assert block.counts[line : line + n_levels].tolist() == np.asarray(alone.levels.counts).tolist()
        assert block.missing[i] == (-1 if alone.levels.missing_code is None else alone.levels.missing_code)
        assert (block.costs[i], block.null_cost) == (alone.cost, alone.null_cost)
        assert block.level_scores[i] == alone.levels.level_score
        assert codes[i].tolist() == alone.codes.tolist()
        cut, line = cut + n_levels - 1, line + n_levels
    assert (block.cuts.size, len(block.counts)) == (cut, line)


def test_columns_too_large_for_a_block_are_fitted_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    X, classes = draw_table(1, 200, 2, "distinct")
    monkeypatch.setattr(intervals, "_EXACT_WORK", 2_000)
    order = ClassOrder.of(classes, 2, None)
    together, coder = TableEncoder().fit(X, classes), MODLDiscretizer()
    for i, levels in enumerate(together.levels_):
        alone = coder.fit_column(as_table(X).column(i), order, missing_apart=True).levels
        assert levels.to_json() == alone.to_json()
    block = coder.fit_block(as_table(X).numbers(np.arange(7)), order, np.empty((7, 200), dtype=np.uint8), apart=True)
    assert (block.n_levels == 0).any()


def test_weights_of_one_change_nothing() -> None:
    X, classes = draw_table(2, 90, 3, "few")
    for coder in CODERS:
        plain = coder.fit(X, classes).levels_
        weighted = coder.fit(X, classes, sample_weight=np.ones(90)).levels_
        assert [level.to_json() for level in plain] == [level.to_json() for level in weighted]


@pytest.mark.parametrize("missing", ["level", "ignore"])
@pytest.mark.parametrize("values", ["few", "sparse"])
def test_levels_are_made_when_asked_for(missing: Any, values: str) -> None:
    X, classes = draw_table(3, 80, 2, values)
    encoder = TableEncoder(missing=missing).fit(X, classes)
    levels = encoder.levels_
    assert len(levels) == 7
    assert levels[-1] is levels[6]
    assert [level.name for level in levels[1:3]] == ["x1", "x2"]
    assert levels.n_levels.tolist() == [level.n_levels for level in levels]
    with pytest.raises(IndexError):
        levels[7]
    one_by_one = np.array([level.code(as_table(X).column(i)) for i, level in enumerate(levels)])
    assert encoder.transform(X).T.tolist() == one_by_one.tolist()
    assert encoder.unseen_counts_.tolist() == [
        int((codes == level.n_levels).sum()) for codes, level in zip(one_by_one, levels, strict=True)
    ]


def sparse_data(dtype: Any = np.float64, n_rows: int = 150) -> tuple[np.ndarray, Any, np.ndarray]:
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, n_rows)
    X = (rng.random((n_rows, 12)) < 0.05 + 0.4 * y[:, None] * (np.arange(12) < 5)) * rng.integers(1, 9, (n_rows, 12))
    X[:, 7] = 0
    return X.astype(dtype), sparse.csr_matrix(X.astype(dtype)), y


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.bool_])
@pytest.mark.parametrize("selector", ["all", "accuracy", "auc", "map", "bayesian", "compression", WrapperSelector()])
def test_models_of_sparse_rows_are_those_of_dense_rows(selector: Any, dtype: Any) -> None:
    dense, rows, y = sparse_data(dtype)
    expected, found = SelectiveNB(selector).fit(dense, y), SelectiveNB(selector).fit(rows, y)
    assert found.feature_weights_.tobytes() == expected.feature_weights_.tobytes()
    assert found.predict_log_proba(rows).tobytes() == expected.predict_log_proba(dense).tobytes()
    assert found.predict_proba(rows[:1]).tobytes() == expected.predict_proba(dense[:1]).tobytes()


def test_indicators_of_sparse_rows() -> None:
    dense, rows, y = sparse_data()
    expected, found = IndicatorEncoder([0.5, 3.0]).fit(dense, y), IndicatorEncoder([0.5, 3.0]).fit(rows, y)
    assert found.transform(rows).tolist() == expected.transform(dense).tolist()


def test_a_selector_keeps_the_format() -> None:
    dense, rows, y = sparse_data()
    selector = bayesieve.MAPSelector().fit(rows, y)
    kept = selector.transform(rows)
    assert kept.format == "csr"
    assert kept.toarray().tolist() == dense[:, selector.support_].tolist()


def test_a_model_of_sparse_rows_is_saved_explained_and_reported(tmp_path: Any) -> None:
    dense, rows, y = sparse_data()
    model = SelectiveNB("map").fit(rows, y)
    model.save(tmp_path / "model.json")
    loaded = bayesieve.load(tmp_path / "model.json")
    assert loaded.predict_log_proba(rows).tobytes() == model.predict_log_proba(dense).tobytes()
    assert model.explain(rows[:3]).equals(model.explain(dense[:3]))
    performance = model.report(tmp_path / "report.html", rows, y, cv=3)
    assert performance is not None
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert model.summary()["feature"].len() == 12


def test_one_row_and_nothing_but_zeros() -> None:
    _, rows, y = sparse_data()
    empty = sparse.csr_matrix((150, 3))
    model = SelectiveNB("all").fit(empty, y)
    assert model.selected_features_ == []
    assert TableEncoder().fit(rows[:1], y[:1]).transform(rows[:1]).tolist() == [[0] * 12]

"""Many columns fitted at once, or from blocks of rows, are to the last bit what each is alone; sparse tables give what
dense ones do.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from scipy import sparse
from sklearn.base import clone

import bayesieve
from bayesieve import (
    EqualFrequencyDiscretizer,
    EqualWidthDiscretizer,
    IndicatorEncoder,
    MDLPDiscretizer,
    MODLDiscretizer,
    SelectiveNB,
    TableEncoder,
    WrapperSelector,
)
from bayesieve.discretize.coding_options import CodingOptions
from bayesieve.discretize.column_coders import code_columns
from bayesieve.discretize.value_counts import ClassOrder, ValueBlocks, ValueCounts
from bayesieve.engine import Engine
from bayesieve.table import FeatureLevels, as_table
from bayesieve.table.columns import special_number
from bayesieve.table.levels import TableLevels
from tests.cases import mostly_slow
from tests.discretize.columns import Found, fit_intervals
from tests.limits import Limits

CODERS = (
    MODLDiscretizer(),
    MDLPDiscretizer(),
    EqualWidthDiscretizer(5),
    EqualFrequencyDiscretizer(4),
    EqualFrequencyDiscretizer(1),
    EqualFrequencyDiscretizer(60),
)


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
@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(1, 120),
    n_classes=st.sampled_from([1, 2, 3, 9, 20]),
    values=st.sampled_from(["distinct", "few", "sparse", "huge"]),
    apart=st.booleans(),
)
def test_a_block_is_its_columns(coder: Any, seed: int, n_rows: int, n_classes: int, values: str, apart: bool) -> None:
    X, classes = draw_table(seed, n_rows, n_classes, values)
    together = Found.each(fit_intervals(coder, X.T, ClassOrder.of(classes, n_classes, None), apart))
    parts = np.array_split(np.arange(n_rows), 3)
    for i, expected in enumerate(together):
        alone = Found.each(fit_intervals(coder, X.T[i : i + 1], ClassOrder.of(classes, n_classes, None), apart))
        blocks = [ValueCounts.of_numbers(X[rows, i], ClassOrder.of(classes[rows], n_classes, None)) for rows in parts]
        counted = ValueBlocks.of_counts(ValueCounts.sum(blocks), joined=coder.joins, apart=apart)
        for found in (alone[0], Found.each(coder.fit_blocks(counted, apart=apart))[0]):
            assert repr(found) == repr(expected)
            assert found.cut_points.tobytes() == expected.cut_points.tobytes()


def test_columns_too_large_for_the_exact_search_are_searched_greedily(limits: Limits) -> None:
    X, classes = draw_table(1, 200, 2, "distinct")
    order = ClassOrder.of(classes, 2, None)
    exact = Found.each(fit_intervals(MODLDiscretizer(), X.T, order, True))
    limits(exact_work=2_000, coarse_work=400)
    together = Found.each(fit_intervals(MODLDiscretizer(), X.T, order, True))
    for i, found in enumerate(together):
        alone = Found.each(fit_intervals(MODLDiscretizer(), X.T[i : i + 1], order, True))[0]
        assert repr(found) == repr(alone)
        assert exact[i].cost <= found.cost + 1e-9 <= exact[i].cost * 1.01


CODERS = [
    (numeric, categorical, missing, weighted)
    for numeric in ("modl", "mdlp", "equal-frequency", "equal-width")
    for categorical in ("modl", "values")
    for missing in ("level", "ignore")
    for weighted in (False, True)
]


@pytest.mark.parametrize(("numeric", "categorical", "missing", "weighted"), mostly_slow(CODERS, CODERS[1::3]))
def test_levels_of_blocks_of_rows_are_those_of_all_rows(
    numeric: str, categorical: str, missing: Any, weighted: bool
) -> None:
    X, classes = draw_table(5, 300, 3, "few")
    rng = np.random.default_rng(6)
    words = np.array(["a", "b", "c", None], dtype=object)[np.minimum(rng.integers(0, 4, 300), classes + 1)]
    dates = np.datetime64("2020-01-01") + (classes * 30 + rng.integers(0, 30, 300)).astype("timedelta64[D]")
    frame = pl.DataFrame({**{f"x{i}": X[:, i] for i in range(7)}, "word": words, "date": dates, "no": [None] * 300})
    weights = rng.integers(0, 3, 300).astype(float) if weighted else None
    encoder = TableEncoder(numeric=numeric, categorical=categorical, missing=missing)
    expected = clone(encoder).fit(frame, classes, weights)
    for block_rows in (1000, 130, 7):
        found = clone(encoder)
        coded = found.fit_transform_coded(frame, classes, weights, CodingOptions(Engine(block_rows)))
        assert coded.codes.T.tolist() == expected.transform(frame).tolist()
        assert [level.to_json() for level in found.levels_] == [level.to_json() for level in expected.levels_]
        assert found.level_scores_.tolist() == expected.level_scores_.tolist()
        assert found.transform(frame).tolist() == expected.transform(frame).tolist()


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


@pytest.mark.parametrize("dtype", mostly_slow([np.float64, np.int32, np.bool_], [np.int32]))
@pytest.mark.parametrize("selector", ["all", "compression", WrapperSelector()])
def test_models_of_sparse_rows_are_those_of_dense_rows(selector: Any, dtype: Any) -> None:
    dense, rows, y = sparse_data(dtype)
    expected, found = SelectiveNB(selector).fit(dense, y), SelectiveNB(selector).fit(rows, y)
    assert found.feature_weights_.tobytes() == expected.feature_weights_.tobytes()
    assert found.predict_log_proba(rows).tobytes() == expected.predict_log_proba(dense).tobytes()
    assert found.predict_proba(rows[:1]).tobytes() == expected.predict_proba(dense[:1]).tobytes()


def test_selectors_and_indicators_of_sparse_rows() -> None:
    dense, rows, y = sparse_data()
    selector = bayesieve.MAPSelector().fit(rows, y)
    kept = selector.transform(rows)
    assert (kept.format, kept.toarray().tolist()) == ("csr", dense[:, selector.support_].tolist())
    expected, found = IndicatorEncoder([0.5, 3.0]).fit(dense, y), IndicatorEncoder([0.5, 3.0]).fit(rows, y)
    assert found.transform(rows).tolist() == expected.transform(dense).tolist()


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


@pytest.mark.parametrize("columns", [[0, 0, 0, 1, 2, 2, 3, 3], [2, 0, 3, 0, 2, 1, 0, 3]], ids=["in order", "mixed"])
@pytest.mark.parametrize("together", [True, False], ids=["small", "large"])
@pytest.mark.parametrize("cells", [1, 250, 10**6])
def test_features_of_one_column_are_coded_as_each_alone(
    columns: list[int], together: bool, cells: int, limits: Limits
) -> None:
    limits(cells_coded_at_once=cells, columns_together=10**6 if together else 0)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 4)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    frame = pl.DataFrame({name: pl.Series(X[:, i]).fill_nan(None) for i, name in enumerate("abcd")})
    frame = frame.with_columns(d=pl.col("d").cast(pl.String).replace("0.0", "zero"))
    cuts = [[-np.inf, 0.3], [-0.5], [-np.inf, -1.0, 0.0, 1.0], [0.0], [-np.inf], [], [-np.inf, 0.1], [0.2]]
    levels = []
    for k, (column, cut_points) in enumerate(zip(columns, cuts, strict=True)):
        missing = 0 if -np.inf in cut_points else None
        levels.append(
            FeatureLevels(f"x{k}", "numeric", "number", np.array(cut_points), None, missing, column="abcd"[column])
        )
    # A special value has a level of its own, which other features of the column do not have.
    special = (("special", (0.5,)),)
    levels[1] = replace(levels[1], cut_points=np.array([special_number(0), -0.5]), special=special)
    table = as_table(frame)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        codes, unseen = code_columns(table, TableLevels.of(levels), 2, np.array(columns))
    expected = np.array([level.code(table.column(i), []) for level, i in zip(levels, columns, strict=True)])
    np.testing.assert_array_equal(codes, expected)
    assert unseen.tolist() == [(row == level.unseen_code).sum() for row, level in zip(expected, levels, strict=True)]
    assert len({str(warning.message) for warning in caught}) == len(caught) == 1  # about "zero", once for its column

"""Tables of extreme shapes, and drawn ones, from end to end: every step works, or says in one sentence why not."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import tests.fuzz.operations  # noqa: F401  (registers them)
from bayesieve import SelectiveNB, TableEncoder
from tests.cases import mostly_slow
from tests.fuzz.case import run_case


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 60, 10))
def test_drawn_tables_are_fitted_explained_and_saved(first: int) -> None:
    """More cases of the fuzzer's longest operation than its own short run has."""
    for number in range(first, first + 10):
        case, _ = run_case(11, number, only=("fit_and_use",))
        assert [finding.key for finding in case.findings] == [], f"python -m tests.fuzz --case 11:{number}"


def check_probabilities(probabilities: np.ndarray, n_rows: int, n_classes: int) -> None:
    assert probabilities.shape == (n_rows, n_classes)
    assert np.all(np.isfinite(probabilities))
    assert np.all(probabilities >= 0)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-9)


VALUES = [st.none(), st.floats(allow_nan=False, allow_infinity=False), st.integers(-9, 9), st.text(max_size=2)]


@pytest.mark.slow
@given(
    data=st.data(),
    n_rows=st.integers(1, 30),
    numeric=st.sampled_from(["modl", "equal-frequency", "equal-width"]),
    categorical=st.sampled_from(["modl", "values"]),
)
def test_codes_are_levels_and_are_counted(data: st.DataObject, n_rows: int, numeric: str, categorical: str) -> None:
    kinds = data.draw(st.lists(st.sampled_from([st.one_of(*VALUES), *VALUES[1:], st.none() | VALUES[1]]), min_size=1))
    columns = {f"c{i}": data.draw(st.lists(kind, min_size=n_rows, max_size=n_rows)) for i, kind in enumerate(kinds)}
    y = data.draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows))
    X = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})
    encoder = TableEncoder(numeric=numeric, categorical=categorical)
    coded = encoder.fit_transform_coded(X, y)
    assert np.all(coded.codes < coded.n_levels[:, None])  # in training every value has a level
    np.testing.assert_array_equal(encoder.transform(X), coded.codes.T)
    for codes, level in zip(coded.codes, encoder.levels_, strict=True):
        counts: Any = np.zeros_like(level.counts)
        np.add.at(counts, (codes, coded.class_codes), 1)
        np.testing.assert_array_equal(level.counts, counts)
        assert len(level.labels) == level.n_levels
        missing = np.array([value is None for value in columns[level.name]])
        if missing.any() and level.n_levels > 1:
            np.testing.assert_array_equal(codes == level.missing_code, missing)
    assert encoder.unseen_counts_.sum() == 0
    assert len(encoder.to_frame()) > 0


@pytest.mark.parametrize(
    ("n_rows", "n_columns"), mostly_slow(product([2, 3, 10], [1, 300]), [(2, 1), (3, 300), (10, 1)])
)
def test_wide_and_short_tables(n_rows: int, n_columns: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n_rows, n_columns)), np.arange(n_rows) % 2
    for selector in ("all", "map", "bayesian", "compression"):
        model = SelectiveNB(selector).fit(X, y)
        check_probabilities(model.predict_proba(rng.normal(size=(5, n_columns))), 5, 2)


@pytest.mark.parametrize("selector", ["all", "map", "bayesian", "compression"])
def test_many_classes(selector: str) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(60), 5)
    X = pd.DataFrame(
        {"near": y + rng.normal(size=300), "text": [f"t{c // 3}" for c in y], "noise": rng.normal(size=300)}
    )
    model = SelectiveNB(selector).fit(X, y)
    check_probabilities(model.predict_proba(X), 300, 60)
    assert model.score(X, y) > 0.1


def test_every_row_its_own_class() -> None:
    X, y = np.arange(12.0)[:, None], [f"row {i}" for i in range(12)]
    model = SelectiveNB().fit(X, y)
    check_probabilities(model.predict_proba(X), 12, 12)

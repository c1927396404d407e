"""The tables that come with the package load whole, with documented columns and types."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bayesieve
from bayesieve import SelectiveNB, datasets
from tests.cli.conftest import GERMAN

LOADERS = [getattr(datasets, name) for name in dir(datasets) if name.startswith("load_")]
FOLDER = Path(datasets.__file__ or "").parent


@pytest.mark.parametrize("load", LOADERS, ids=lambda load: load.__name__)
def test_tables_are_those_that_the_docstrings_describe(load: Callable[..., Any]) -> None:
    """Rows, columns, classes and missing values; `load` reads each of them alike."""
    X, y = load(return_X_y=True)
    bunch, text = load(), load.__doc__
    assert bunch.frame.equals(X.hstack([y]))
    assert bunch.data.equals(X)
    assert bunch.target.equals(y)
    assert bunch.feature_names == X.columns
    assert bunch.target_names == sorted(set(y))
    assert text == bunch.DESCR
    assert "doi.org/10.24432/" in text
    assert "CC BY 4.0" in text
    assert f"{X.height:,} rows, " in text
    assert f" {X.width} " in re.sub(r"\s+", " ", text)
    assert f"``{y.name}``" in text
    for label, n in y.value_counts().iter_rows():
        assert f"``{label}`` ({n:,})" in re.sub(r"\s+", " ", text)
    n_missing = X.null_count().sum_horizontal()[0]
    assert f"{n_missing:,} values" in text if n_missing else "no missing values" in text
    assert y.null_count() == 0


def test_there_are_four_and_they_are_small() -> None:
    assert [load.__name__[5:] for load in LOADERS] == ["adult_sample", "dermatology", "german_credit", "heart_disease"]
    assert sum(path.stat().st_size for path in FOLDER.glob("*.parquet")) < 150_000
    assert bayesieve.datasets is datasets


def test_german_credit_is_that_of_the_examples() -> None:
    assert datasets.load_german_credit().frame.equals(pl.read_csv(GERMAN))


def test_a_model_of_several_classes() -> None:
    X, y = datasets.load_dermatology(return_X_y=True)
    model = SelectiveNB().fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.9

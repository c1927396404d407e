"""Repeated rows: copies are counted once, with a caution; rows that are equal by chance make no difference."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import bayesieve
from bayesieve import SelectiveNB, TableEncoder
from bayesieve.discretize.coding_options import CodingOptions
from bayesieve.discretize.repeats import REPEATED, find_repeats
from bayesieve.table import as_table
from bayesieve.table.target import as_target
from tests.cases import mostly_slow

Drawn = tuple[pl.DataFrame, np.ndarray]
N = 1200


def drawn(seed: int, n: int = N, shift: float = 0.0) -> Drawn:
    """Two informative numbers, one more that is noise, and the classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = rng.random(n) < 1 / (1 + np.exp(shift - 1.5 * X[:, 0] - 0.5 * X[:, 1]))
    return pl.DataFrame(X, schema=["a", "b", "noise"]), y.astype(int)


def log_loss(model: SelectiveNB, X: pl.DataFrame, y: np.ndarray, weights: np.ndarray | None = None) -> float:
    return float(-np.average(model.predict_log_proba(X)[np.arange(y.size), y], weights=weights))


def repeats_of(X: Any, y: np.ndarray, weights: np.ndarray | None = None) -> Any:
    return find_repeats(as_table(X), as_target(y), weights, 1)


def one_copy_each(frame: pl.DataFrame, times: np.ndarray) -> pl.DataFrame:
    return frame[np.repeat(np.arange(frame.height), times)]


def identified(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    rng, n = np.random.default_rng(5), frame.height
    columns: dict[str, Any] = {
        "counter": np.arange(n),
        "identifier": rng.permutation(n) + 10_000,
        "text": [f"row {i}" for i in rng.permutation(n)],
    }
    return frame.with_columns(pl.Series(name, columns[name]))


def orders(frame: pl.DataFrame, y: np.ndarray) -> pl.DataFrame:
    """Columns that differ between the rows of one customer."""
    rng = np.random.default_rng(6)
    return frame.with_columns(amount=pl.Series(rng.normal(size=y.size) + 0.5 * y))


RNG = np.random.default_rng(7)
TIMES = {
    "all of them": np.full(N, 3),
    "unevenly": RNG.geometric(0.4, N),
}
TABLES: dict[str, Callable[[pl.DataFrame, np.ndarray], pl.DataFrame]] = {
    "equal in all columns": lambda frame, y: frame,
    "but for a counter": lambda frame, y: identified(frame, "counter"),
    "but for an identifier": lambda frame, y: identified(frame, "identifier"),
    "but for a text": lambda frame, y: identified(frame, "text"),
    "but for orders": orders,
}


@pytest.fixture(scope="module")
def distinct() -> tuple[float, Drawn]:
    """Log loss of a model of distinct rows, and rows to measure it on."""
    new = drawn(1, 5000)
    return log_loss(SelectiveNB(n_jobs=1).fit(*drawn(0)), *new), new


FAST = [("all of them", "equal in all columns"), ("unevenly", "but for a counter"), ("unevenly", "but for orders")]


@pytest.mark.parametrize(("times", "table"), mostly_slow(product(TIMES, TABLES), FAST))
def test_copies_are_counted_once(times: str, table: str, distinct: tuple[float, Drawn]) -> None:
    expected, (X_new, y_new) = distinct
    (X, y), order = drawn(0), np.random.default_rng(2).permutation(int(TIMES[times].sum()))
    X, y = one_copy_each(X, TIMES[times])[order], np.repeat(y, TIMES[times])[order]
    with pytest.warns(UserWarning, match=r"% of the rows repeat others \([0-9,]+ of [0-9,]+\), as after oversampling"):
        model = SelectiveNB(n_jobs=1).fit(TABLES[table](X, y), y)
    new = TABLES[table](X_new, y_new)
    assert log_loss(model, new, y_new) < expected + 0.02
    assert [caution.kind for caution in model.cautions_].count(REPEATED) == 1


@pytest.mark.parametrize("table", mostly_slow(["equal in all columns", "but for orders"], ["equal in all columns"]))
def test_a_report_keeps_copies_in_one_fold(table: str, distinct: tuple[float, Drawn]) -> None:
    X, y = drawn(0)
    X, y = one_copy_each(X, TIMES["unevenly"]), np.repeat(y, TIMES["unevenly"])
    X = TABLES[table](X, y)
    with pytest.warns(UserWarning, match="of the rows repeat others"):
        report = SelectiveNB(n_jobs=1).fit(X, y).report(X=X, y=y, cv=3)
    assert report.performance.protocol.startswith("3-fold")
    assert "training rows" in report.performance.protocol
    assert distinct[0] - 0.06 < report.performance.log_loss < distinct[0] + 0.03


@pytest.mark.parametrize("weighted", [False, True])
def test_copies_of_the_rare_class(weighted: bool) -> None:
    X, y = drawn(0, 2000, 3.0)
    times = np.where(y == 1, 8, 1)
    order = np.random.default_rng(2).permutation(int(times.sum()))
    rows = np.repeat(np.arange(y.size), times)[order]
    model = SelectiveNB(n_jobs=1)
    with pytest.warns(UserWarning, match="of the rows repeat others"):
        model.fit(X[rows], y[rows], np.tile([0.5, 1.5], rows.size)[: rows.size] if weighted else None)
    shares = times @ np.stack([y == 0, y == 1], axis=1) / times.sum()
    np.testing.assert_allclose(model.scorecard_.class_shares, shares, atol=0.01)
    X_new, y_new = drawn(1, 5000, 3.0)
    weights = np.where(y_new == 1, 8.0, 1.0)
    other = SelectiveNB(n_jobs=1).fit(X, y).with_prior(dict(enumerate(shares.tolist())))
    assert log_loss(model, X_new, y_new, weights) < log_loss(other, X_new, y_new, weights) + 0.05


def test_a_table_repeated_is_the_table() -> None:
    X, y = drawn(0)
    rows = np.tile(np.arange(N), 3)
    repeats = repeats_of(X[rows], y[rows])
    assert (repeats.n_rows, repeats.n_repeated, repeats.is_whole) == (3 * N, 2 * N, True)
    assert sorted(rows[repeats.weights > 0]) == list(range(N))
    assert set(repeats.weights.tolist()) == {0.0, 1.0}
    once, thrice = TableEncoder(), TableEncoder()
    once.fit(X, y)
    assert thrice.fit_transform_coded(X[rows], y[rows], coding=CodingOptions(merges_copies=True)).weights is not None
    for one, other in zip(once.levels_, thrice.levels_, strict=True):
        np.testing.assert_array_equal(one.cut_points, other.cut_points)


@pytest.mark.parametrize("times", TIMES)
def test_rounded_numbers_show_copies_together(times: str) -> None:
    rng = np.random.default_rng(8)
    X, y = np.round(rng.normal(size=(N, 8)), 1), rng.integers(0, 2, N)
    rows = np.repeat(np.arange(N), TIMES[times])
    repeats = repeats_of(X[rows], y[rows])
    assert repeats.n_repeated == rows.size - N
    assert len(repeats.columns) > 1
    assert repeats_of(X, y) is None


def natural(name: str) -> tuple[Any, np.ndarray]:
    rng, n = np.random.default_rng(3), 3000
    y = rng.integers(0, 2, n)
    prices = np.cumsum(rng.exponential(size=300))
    tables: dict[str, Any] = {
        "indicators": (rng.random((n, 12)) < 0.1 + 0.1 * y[:, None]).astype(float),
        "whole numbers": rng.poisson(40 + y)[:, None],
        "rounded": np.round(rng.normal(size=(n, 1)) + y[:, None], 2),
        "prices": prices[rng.integers(0, 300, n), None],
        "repeated measures": np.repeat(rng.normal(size=(n // 4, 3)), 4, axis=0),
        "named rows": pl.DataFrame(
            {
                "name": [f"row {i}" for i in rng.permutation(n)],
                "age": rng.poisson(40 + y),
                "children": rng.poisson(1, n),
            }
        ),
        "zeros": np.where(rng.random((n, 1)) < 0.4, 0.0, rng.exponential(size=(n, 1))),
        "categories": pl.DataFrame({"color": rng.choice(["red", "blue"], n), "size": rng.choice(["s", "m", "l"], n)}),
        "numbers": rng.normal(size=(n, 3)),
    }
    return tables[name], y


@pytest.mark.parametrize(
    "name",
    [
        "indicators",
        "whole numbers",
        "rounded",
        "prices",
        "repeated measures",
        "zeros",
        "categories",
        "numbers",
        "named rows",
    ],
)
def test_rows_that_are_equal_by_chance_are_no_copies(name: str) -> None:
    X, y = natural(name)
    assert repeats_of(X, y) is None
    assert repeats_of(X, y, np.ones(y.size)) is None


def test_whole_numbers_that_decide_the_class_are_no_copies() -> None:
    numbers = np.arange(4000) % 1000
    assert repeats_of(numbers[:, None], (numbers > 300).astype(int)) is None


def test_few_columns_of_a_wide_table_show_copies() -> None:
    rng = np.random.default_rng(4)
    rows = np.repeat(np.arange(200), 2)
    X, y = rng.normal(size=(200, 300)), rng.integers(0, 2, 200)
    assert repeats_of(X[rows], y[rows]).n_repeated == 200
    assert repeats_of(X, y) is None
    find_repeats(as_table(X), as_target(y), None, 1, lambda: pytest.fail("all columns are hashed"))


@pytest.mark.parametrize("copies", [1, 3])
def test_a_scan_warns_of_repeated_rows(copies: int, tmp_path: Path) -> None:
    X, y = drawn(0)
    rows = np.tile(np.arange(N), copies)
    X.with_columns(y=pl.Series(y))[rows].write_parquet(tmp_path / "rows.parquet")
    encoder = TableEncoder(n_jobs=1).fit(bayesieve.scan(tmp_path / "rows.parquet"), "y")
    assert [caution.kind for caution in encoder.cautions_] == [REPEATED] * (copies > 1)

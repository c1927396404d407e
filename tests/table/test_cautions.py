"""Cautions, warnings at the caller's line, and columns that mark rows or moments."""

from __future__ import annotations

import warnings
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.pipeline import make_pipeline

import bayesieve
from bayesieve import MODLDiscretizer, SelectiveNB, TableEncoder
from bayesieve.discretize.coding_options import CodingOptions
from bayesieve.engine.files import Mapped
from bayesieve.table import cautions as rule
from bayesieve.table.cautions import Caution, issue, possible_marks, silenced, weights_caution
from bayesieve.table.frames import as_table
from bayesieve.table.target import normalized_weights
from bayesieve.words import named
from tests.cases import mostly_slow
from tests.limits import Limits


def test_many_columns_are_counted() -> None:
    assert named(["a"]) == "'a'"
    assert named(list("abcde")) == "'a', 'b', 'c', 'd' and 'e'"
    assert named([f"x{i}" for i in range(2005)]) == "'x0', 'x1', 'x2', 'x3', 'x4' and 2,000 more"


def test_what_is_silenced_or_for_the_report_only_is_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        issue([None, Caution("a", (), "To be read.", warns=False)])
        with silenced():
            issue([Caution("a", (), "Not now.")])
    with pytest.warns(UserWarning, match=r"^Now\.$"):
        issue([Caution("a", (), "Now.")])


@pytest.mark.parametrize("through", [lambda one: one, make_pipeline], ids=["alone", "in a pipeline"])
def test_warnings_point_to_the_line_of_the_caller(through: object) -> None:
    X = np.array([[i % 7, "ab"[i % 2]] for i in range(40)], dtype=object)
    estimator = through(MODLDiscretizer())  # type: ignore[operator]
    with pytest.warns(UserWarning, match="MODLDiscretizer codes only numeric columns") as seen:
        estimator.fit_transform(X, [0, 1] * 20)
    assert [warning.filename for warning in seen] == [__file__]


@pytest.mark.parametrize("mean", [0.0025, 0.45, 1.6, 11.0, 1e9])
def test_weights_far_from_one(mean: float) -> None:
    caution = weights_caution(np.array([0.0, 0.5, 1.5, 0.0]) * mean)  # rows of weight zero do not count
    assert caution is not None
    assert caution.sentence.startswith(f"The row weights have a mean of {mean:.3g}, so that 2 rows count as ")
    effect = "informative features look uninformative" if mean < 1 else "chance looks like information"
    assert effect in caution.sentence
    assert "SelectiveNB(normalize=True), or --normalize" in caution.sentence


@pytest.mark.parametrize("weights", [None, np.array([0.5, 0.5]), np.array([0.0, 0.0, 1.0]), np.array([0.2, 2.7])])
def test_weights_about_one(weights: np.ndarray | None) -> None:
    assert weights_caution(weights) is None


def test_normalized_weights() -> None:
    assert normalized_weights(None) is None
    assert normalized_weights(3.0) is None
    scaled = normalized_weights([0, 1, 3])
    assert scaled is not None
    assert scaled.tolist() == [0.0, 0.5, 1.5]
    with pytest.raises(ValueError, match=r"Negative values in sample_weight \(first in row 1\)"):
        normalized_weights([1, -1])


FIRST = date(2020, 1, 1)


def marked(n: int, seed: int) -> dict[str, Any]:
    """Columns that mark rows or moments, by what they mark."""
    rng = np.random.default_rng(seed)
    some = rng.permutation(n)
    days = [FIRST + timedelta(int(k)) for k in rng.integers(0, 900, n)]
    return {
        "counter": np.arange(n),
        "counter down": 9000 - 2 * np.arange(n),
        "counter in floats": np.where(rng.random(n) < 0.2, np.nan, np.arange(n) * 10.0),
        "counter of varying steps": np.cumsum(rng.integers(1, 50, n)),
        "counter of lines": np.repeat(np.arange(n), 2)[:n],
        "identifier": some + 100_000,
        "identifier with gaps": rng.choice(3 * n, n, replace=False),
        "identifier in blocks": np.where(some < n // 3, some, some + 10 * n),
        "identifier of a few repeats": np.append(some[: n - n // 20], rng.choice(some, n // 20)),
        "identifier of pairs": rng.permutation(np.repeat(np.arange(n), 2)[:n]),
        "identifier of customers": rng.permutation(np.repeat(np.arange(n), 1 + rng.poisson(1, n))[:n]),
        "identifier in text": [f"C{k:05d}" for k in some],
        "identifier in text, repeated": [f"C{k:05d}" for k in rng.integers(0, n, n)],
        "identifier in words": [f"{k * 7919 % 65537:x}-{k:08x}" for k in some],
        "date": days,
        "date as a number": [int(day.strftime("%Y%m%d")) for day in days],
        "date as a month": [int(day.strftime("%Y%m")) for day in days],
        "date in seconds": 1_600_000_000 + rng.integers(0, 30_000_000, n),
        "date in milliseconds": 1_600_000_000_000 + 1000 * np.sort(rng.integers(0, 30_000_000, n)),
    }


def unmarked(n: int, seed: int) -> dict[str, Any]:
    """Columns that measure or describe something."""
    rng = np.random.default_rng(seed)
    income = np.round(np.exp(rng.normal(10.5, 0.5, n)))
    even = rng.integers(20_000, 90_000, n)
    different = rng.choice(np.unique(np.round(np.exp(rng.normal(11, 0.6, 4 * n)))), n, replace=False)
    return {
        "income": income,
        "income, even": even,
        "income, sorted": np.sort(income),
        "income, sorted and even": np.sort(even)[::-1],
        "income, sorted and different": np.sort(different),
        "income, different": different,
        "income, rounded": np.round(rng.normal(40_000, 9_000, n) / 100) * 100,
        "amounts in cents": np.round(np.exp(rng.normal(4, 1, n)), 2),
        "turnover": np.round(np.exp(rng.normal(18, 2, n))),
        "age": rng.integers(18, 90, n),
        "age, sorted": np.sort(rng.integers(18, 90, n)),
        "year": rng.integers(1990, 2024, n),
        "year, sorted": np.sort(rng.integers(1990, 2024, n)),
        "postal code": rng.integers(10_000, 99_999, n),
        "share": rng.random(n),
        "share, sorted": np.sort(rng.random(n)),
        "score": rng.normal(size=n),
        "hour": np.arange(n) % 24,
        "count": rng.poisson(3, n),
        "constant": np.ones(n),
        "city": [f"city {k}" for k in rng.integers(0, n // 10, n)],
        "job": [f"job {k}" for k in rng.integers(0, 8, n)],
    }


def marks_of(columns: dict[str, Any], weights: Any = None) -> dict[str, str]:
    frame = pl.DataFrame(columns)
    y = np.random.default_rng(0).integers(0, 2, frame.height)
    return TableEncoder().fit(frame, y, weights).marks_


@pytest.mark.slow
@pytest.mark.parametrize(("n", "seed"), [(400, 0), (3000, 1), (3000, 2), (30_000, 3)])
def test_what_marks_rows_and_moments_and_what_does_not(n: int, seed: int) -> None:
    columns = marked(n, seed)
    if n > rule.MOST_JUDGED_ROWS:  # a sample of so irregular a number of rows does not show it
        del columns["identifier of customers"]
    assert marks_of(columns) == {name: name.split()[0] for name in columns}
    assert marks_of(unmarked(n, seed)) == {}


@pytest.mark.parametrize("seed", range(6))
def test_amounts_of_few_rows_are_never_marked(seed: int) -> None:
    for n in (20, 50, 200):
        columns = unmarked(n, seed)
        del columns["hour"]  # counts the rows of a day
        assert marks_of(columns) == {}


def test_numbers_of_very_few_rows_mark_nothing() -> None:
    assert marks_of({"counter": np.arange(19), "name": [f"n{k}" for k in range(19)]}) == {}


def test_rows_of_weight_zero_are_none() -> None:
    n = 600
    counts = np.arange(n) // 2
    weights = np.where(np.arange(n) % 2, 0.0, 1.5)
    text = [f"t{k}" if k % 2 == 0 else "other" for k in range(n)]
    other = np.where(weights > 0, 3, np.arange(n))
    assert marks_of({"counter": counts, "identifier": text, "three": other}, weights) == {
        "counter": "counter",
        "identifier": "identifier",
    }


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_marks_do_not_depend_on_where_the_rows_are(weighted: bool, tmp_path: Path, limits: Limits) -> None:
    n = 2500
    limits(evaluated_rows=1000)
    rng = np.random.default_rng(4)
    columns = marked(n, 4) | unmarked(n, 4) | {"y": rng.integers(0, 2, n)}
    frame = pl.DataFrame(columns).with_columns(weight=pl.Series(rng.integers(0, 3, n).astype(float)))
    for part in range(5):
        frame[part * 500 : part * 500 + 500].write_parquet(tmp_path / f"{part}.parquet")
    X, y, weights = frame.drop("y", "weight"), frame["y"], frame["weight"] if weighted else None
    expected = TableEncoder().fit(X, y, weights).marks_
    assert {"counter", "identifier", "date"} <= set(expected)
    source = bayesieve.scan(f"{tmp_path}/*.parquet")
    source = source if weighted else source.select([name for name in source.names if name != "weight"])
    name = "weight" if weighted else None
    assert TableEncoder(pairs=1).fit(source, "y", name).marks_ == expected
    for rows in ((X, y, weights), (source, "y", name)):
        encoder = TableEncoder(pairs="auto")
        encoder.fit_transform_coded(*rows, coding=CodingOptions(Mapped(tmp_path)))
        assert encoder.marks_ == expected


@pytest.mark.parametrize(
    ("special", "mark"),
    mostly_slow(
        product([[-999], {"refused": -999}, {"refused": -999, "unknown": "n.a."}], [None, "counter", "identifier"]),
        [([-999], None), ([-999], "counter"), ({"refused": -999, "unknown": "n.a."}, "identifier")],
    ),
)
def test_special_values_are_no_part_of_a_mark(special: Any, mark: str | None) -> None:
    """Their numbers lie below all floats that are of any use, and whatever is computed from those would overflow."""
    rng, n = np.random.default_rng(0), 2000
    values = {None: rng.lognormal(8, 0.5, n).round(), "counter": np.arange(n), "identifier": rng.permutation(n)}
    number = np.where(rng.random(n) < 0.08, -999, values[mark])
    y = (rng.random(n) < np.where(number < np.median(number), 0.2, 0.6)).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)
        model = SelectiveNB(levels={"x": {"special": special}}).fit(pl.DataFrame({"x": number}), y)
    assert model.encoder_.marks_ == ({} if mark is None else {"x": mark})


def test_numbers_too_far_apart_to_subtract_are_no_mark() -> None:
    rows = np.arange(200)
    for numbers in ((rows - 100) * 1.7e306, np.where(rows % 2, 1.7e308, -1.7e308), np.sort(rows * 9e305)):
        with np.errstate(all="raise"):
            assert rule.mark_of_numbers(numbers, rows) is None


def test_infinite_numbers_are_no_marks() -> None:
    """The fit refuses them later, by name."""
    numbers = np.where(np.arange(60) % 2, np.inf, np.arange(60.0))
    table = as_table(np.stack([np.full(60, np.inf), numbers, np.arange(60.0)], axis=1))
    with np.errstate(invalid="raise"):
        assert 0 not in possible_marks(table, range(3), np.arange(60), 60)

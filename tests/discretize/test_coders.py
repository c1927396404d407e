"""What holds for every coder of columns, whatever its criterion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from bayesieve import (
    EqualFrequencyDiscretizer,
    EqualWidthDiscretizer,
    MDLPDiscretizer,
    MODLDiscretizer,
    MODLGrouper,
)
from tests.limits import Limits
from tests.reference import modl

BINNERS = [EqualFrequencyDiscretizer(2), EqualWidthDiscretizer(2)]
SUPERVISED = [MODLDiscretizer(), MDLPDiscretizer()]
NUMERIC = [*BINNERS, *SUPERVISED]
RNG = np.random.default_rng(0)
N = 300
Y = RNG.integers(0, 3, N)
X = pd.DataFrame(
    {
        "strong": Y + RNG.normal(scale=0.3, size=N),
        "noise": RNG.normal(size=N),
        "colour": np.array(["red", "green", "blue", "grey"])[(Y + (RNG.random(N) < 0.1)) % 4],
        "weak": np.where(RNG.random(N) < 0.3, np.nan, Y + RNG.normal(scale=3, size=N)).round(1),
    }
)


def column(values: Any) -> np.ndarray:
    return np.asarray(values, dtype=float)[:, None]


@pytest.mark.parametrize("coder", [*NUMERIC, MODLGrouper()], ids=repr)
def test_columns_of_the_kind_are_coded_with_the_same_result_by_threads_and_weights(coder: Any) -> None:
    fitted = clone(coder).set_params(n_jobs=1).fit(X, Y)
    names = ["colour"] if isinstance(coder, MODLGrouper) else ["strong", "noise", "weak"]
    assert fitted.get_feature_names_out().tolist() == names
    assert fitted.transform(X).shape == (N, len(names))
    assert len(fitted.costs_) == len(fitted.null_costs_) == len(names)
    saved = np.maximum(0.0, 1 - fitted.costs_ / fitted.null_costs_)
    np.testing.assert_allclose(fitted.level_scores_, saved, atol=1e-12)
    if coder in SUPERVISED:
        assert (fitted.cut_points_[1].size, fitted.level_scores_[1]) == (0, 0.0)
    threads = clone(coder).set_params(n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(threads.transform(X), fitted.transform(X))
    times = RNG.integers(0, 4, N)
    weighted = clone(coder).fit(X, Y, sample_weight=times)
    repeated = clone(coder).fit(X.loc[np.repeat(X.index, times)], np.repeat(Y, times))
    np.testing.assert_array_equal(weighted.costs_, repeated.costs_)
    np.testing.assert_array_equal(weighted.transform(X), repeated.transform(X))
    for one, other in zip(weighted.levels_, repeated.levels_, strict=True):
        np.testing.assert_array_equal(one.counts, other.counts)
    with pytest.raises(ValueError, match="zero"):
        clone(coder).fit(X, Y, sample_weight=np.zeros(N))


@pytest.mark.parametrize("coder", NUMERIC, ids=repr)
def test_codes_are_the_intervals_between_the_cut_points(coder: Any) -> None:
    fitted = clone(coder).fit(X[["strong"]], Y)
    expected = np.searchsorted(fitted.cut_points_[0], X["strong"].to_numpy(), side="left")
    assert expected.max() > 0
    np.testing.assert_array_equal(fitted.transform(X[["strong"]])[:, 0], expected)
    counts = np.zeros((expected.max() + 1, 3))
    np.add.at(counts, (expected, Y), 1)
    np.testing.assert_array_equal(fitted.levels_[0].counts, counts)
    if not isinstance(coder, MODLDiscretizer):
        assert fitted.costs_[0] == pytest.approx(modl.interval_cost(counts.astype(int).tolist()), abs=1e-9)


@pytest.mark.parametrize("coder", NUMERIC, ids=repr)
def test_missing_values_are_the_lowest_level_and_have_none_if_never_seen(coder: Any) -> None:
    values = np.concatenate([np.arange(40.0), np.full(20, np.nan)])
    for of_missing in (1, 2) if isinstance(coder, MODLDiscretizer) else (0, 1, 2):
        fitted = clone(coder).fit(column(values), np.repeat([0, 1, of_missing], 20))
        level = fitted.levels_[0]
        assert (level.cut_points[0], level.missing_code, level.counts[0].sum()) == (-np.inf, 0, 20.0)
        assert fitted.transform(column([np.nan, 3.0, 30.0]))[:, 0].tolist() == [0, 1, 2]
    known = clone(coder).fit(column([1.0, 2.0]), [0, 1])
    assert known.transform(column([np.nan]))[0, 0] == known.levels_[0].n_levels


@pytest.mark.parametrize("values", [[3.0] * 8, [np.nan] * 8, [1.0]])
@pytest.mark.parametrize("coder", NUMERIC, ids=repr)
def test_nothing_to_cut(coder: Any, values: list[float]) -> None:
    fitted = clone(coder).fit(column(values), np.arange(len(values)) % 2)
    assert (fitted.cut_points_[0].size, fitted.levels_[0].n_levels, fitted.level_scores_[0]) == (0, 1, 0.0)


MAX = np.finfo(float).max
EDGES = [
    *((-1.7e308, 1.7e308), (-MAX, MAX)),
    *((low, float(np.nextafter(low, np.inf))) for low in (1.0, 1.7e308, 0.0, 5e-324, -5e-324, -MAX)),
    *((float(np.nextafter(high, -np.inf)), high) for high in (1.0, MAX)),
]


@pytest.mark.parametrize("coder", NUMERIC, ids=repr)
def test_values_at_the_edge_of_what_floats_hold_are_told_apart(coder: Any) -> None:
    # The middle of a range may round to its upper end, above which there is nothing.
    for low, high in EDGES[:4] if isinstance(coder, EqualWidthDiscretizer) else EDGES:
        fitted = clone(coder).fit(column([low, high] * 15), [0, 1] * 15)
        assert low <= fitted.cut_points_[0][0] < high
        assert fitted.transform(column([low, high]))[:, 0].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("coder", "message"),
    [
        *[
            (clone(binner).set_params(n_bins=n), "n_bins")
            for binner in BINNERS
            for n in (0, 2.5, "10", None, 2**70, True)
        ],
        (MODLDiscretizer(method="best"), "method must be 'greedy' or 'optimal', got 'best'"),  # type: ignore[arg-type]
        (MODLGrouper(method="best"), "method must be 'greedy' or 'optimal', got 'best'"),  # type: ignore[arg-type]
    ],
    ids=repr,
)
def test_options_are_checked(coder: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        coder.fit(column([1.0, 2.0]), [0, 1])


@pytest.mark.parametrize("coder", NUMERIC, ids=repr)
def test_tables_without_numbers_are_told_what_to_do(coder: Any) -> None:
    with pytest.raises(ValueError, match=f"{type(coder).__name__} found no numeric column .* use MODLGrouper"):
        coder.fit(X[["colour"]], Y)


def test_too_many_distinct_values_name_the_column(limits: Limits) -> None:
    limits(most_optimal_blocks=50)
    with pytest.raises(ValueError, match=r"^Column 'noise': \d+ distinct values .* use method='greedy'\.$"):
        MODLDiscretizer(method="optimal").fit(X[["noise"]], Y)
    cities = pd.DataFrame({"city": [f"c{i % 40}" for i in range(N)]})
    with pytest.raises(ValueError, match=r"^Column 'city': 40 values .* with 3 classes.* use method='greedy'\.$"):
        MODLGrouper(method="optimal").fit(cities, RNG.integers(0, 3, N))


def test_groups_are_coded_numbers_may_be_grouped_and_unseen_values_get_the_number_of_levels() -> None:
    grouper = MODLGrouper().fit(X[["colour"]], Y)
    of_value = {value: code for code, group in enumerate(grouper.groups_[0]) for value in group}
    np.testing.assert_array_equal(grouper.transform(X[["colour"]])[:, 0], X["colour"].map(of_value))
    codes = grouper.transform(pd.DataFrame({"colour": ["red", "purple", None]}))
    assert codes[1:, 0].tolist() == [grouper.levels_[0].n_levels] * 2
    numbers = MODLGrouper().fit(pl.DataFrame({"code": (Y * 2).tolist()}), Y)
    assert sorted(value for group in numbers.groups_[0] for value in group) == [0, 2, 4]

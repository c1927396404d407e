"""`MODLDiscretizer` and `MODLGrouper` as scikit-learn transformers."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bayesieve import MODLDiscretizer, MODLGrouper
from bayesieve.discretize import intervals

RNG = np.random.default_rng(0)
N = 300
Y = RNG.integers(0, 3, N)
X = pd.DataFrame(
    {
        "strong": Y + RNG.normal(scale=0.3, size=N),
        "noise": RNG.normal(size=N),
        "colour": np.array(["red", "green", "blue", "grey"])[(Y + (RNG.random(N) < 0.1)) % 4],
        "weak": np.where(RNG.random(N) < 0.3, np.nan, Y + RNG.normal(scale=3, size=N)),
    }
)


def test_only_numeric_columns_are_cut_and_only_categories_grouped() -> None:
    cut, grouped = MODLDiscretizer().fit(X, Y), MODLGrouper().fit(X, Y)
    assert cut.get_feature_names_out().tolist() == ["strong", "noise", "weak"]
    assert grouped.get_feature_names_out().tolist() == ["colour"]
    assert cut.transform(X).shape == (N, 3)
    assert grouped.transform(X).shape == (N, 1)
    assert len(cut.cut_points_) == len(cut.costs_) == len(cut.null_costs_) == len(cut.level_scores_) == 3
    assert cut.cut_points_[1].size == 0
    assert cut.level_scores_[1] == 0.0
    np.testing.assert_allclose(cut.level_scores_, 1 - cut.costs_ / cut.null_costs_, atol=1e-12)


def test_codes_are_the_intervals_and_groups_found() -> None:
    cut, grouped = MODLDiscretizer().fit(X, Y), MODLGrouper().fit(X, Y)
    np.testing.assert_array_equal(
        cut.transform(X)[:, 0], np.searchsorted(cut.cut_points_[0], X["strong"].to_numpy(), side="left")
    )
    of_value = {value: code for code, group in enumerate(grouped.groups_[0]) for value in group}
    np.testing.assert_array_equal(grouped.transform(X)[:, 0], X["colour"].map(of_value))


def test_a_missing_value_is_the_smallest_of_all() -> None:
    cut = MODLDiscretizer().fit(X, Y)
    codes = cut.transform(X)
    assert set(codes[X["weak"].isna(), 2]) == {0}
    assert cut.levels_[2].missing_code == 0


@pytest.mark.parametrize("estimator", [MODLDiscretizer(), MODLGrouper()])
def test_results_do_not_depend_on_threads(estimator: MODLDiscretizer | MODLGrouper) -> None:
    one = clone(estimator).set_params(n_jobs=1).fit(X, Y)
    two = clone(estimator).set_params(n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(one.transform(X), two.transform(X))
    np.testing.assert_array_equal(one.costs_, two.costs_)


@pytest.mark.parametrize("estimator", [MODLDiscretizer(method="optimal"), MODLGrouper(method="optimal")])
def test_pickle_and_clone(estimator: MODLDiscretizer | MODLGrouper) -> None:
    fitted = clone(estimator).fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(X), fitted.transform(X))
    assert clone(fitted).get_params() == estimator.get_params()
    assert not hasattr(clone(fitted), "levels_")
    with pytest.raises(NotFittedError):
        clone(fitted).transform(X)


def test_integer_weights_equal_repeated_rows() -> None:
    times = RNG.integers(0, 3, N)
    repeated = X.loc[np.repeat(X.index, times)]
    for estimator in (MODLDiscretizer(), MODLGrouper()):
        weighted = clone(estimator).fit(X, Y, sample_weight=times)
        other = clone(estimator).fit(repeated, np.repeat(Y, times))
        np.testing.assert_array_equal(weighted.costs_, other.costs_)
        np.testing.assert_array_equal(weighted.transform(X), other.transform(X))


@pytest.mark.parametrize("kind", [MODLDiscretizer, MODLGrouper])
def test_method_is_checked(kind: type) -> None:
    with pytest.raises(ValueError, match="method must be 'greedy' or 'optimal', got 'best'"):
        kind(method="best").fit(X, Y)
    with pytest.raises(ValueError, match=f"{kind.__name__} requires y to be passed"):
        kind().fit(X)


def test_too_many_distinct_values_name_the_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "MAX_OPTIMAL_BLOCKS", 50)
    with pytest.raises(ValueError, match=r"^Column 'noise': \d+ distinct values .* use method='greedy'\.$"):
        MODLDiscretizer(method="optimal").fit(X[["noise"]], Y)
    cities = pd.DataFrame({"city": [f"c{i % 40}" for i in range(N)]})
    with pytest.raises(ValueError, match=r"^Column 'city': 40 values .* with 3 classes.* use method='greedy'\.$"):
        MODLGrouper(method="optimal").fit(cities, RNG.integers(0, 3, N))


def test_no_numbers_to_cut() -> None:
    with pytest.raises(ValueError, match=r"no numeric column .* use MODLGrouper"):
        MODLDiscretizer().fit(X[["colour"]], Y)


def test_a_table_of_numbers_may_be_grouped_too() -> None:
    codes = pl.DataFrame({"code": (Y * 2).tolist()})
    grouper = MODLGrouper().fit(codes, Y)
    assert sorted(value for group in grouper.groups_[0] for value in group) == [0, 2, 4]


def test_unseen_values_get_the_number_of_levels() -> None:
    grouper = MODLGrouper().fit(X[["colour"]], Y)
    codes = grouper.transform(pd.DataFrame({"colour": ["red", "purple", None]}))
    assert codes[1:, 0].tolist() == [grouper.levels_[0].n_levels] * 2


def test_all_weights_zero() -> None:
    with pytest.raises(ValueError, match="zero"):
        MODLDiscretizer().fit(X, Y, sample_weight=np.zeros(N))


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MODLGrouper().fit(X, Y[:-1])

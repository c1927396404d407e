"""Measures of values against SciPy, dcor and their definitions; the strongest dependence within classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import mutual_info_score

from bayesieve import EqualFrequencyDiscretizer, MRMRSelector, TableEncoder, pair_statistics
from bayesieve.counts import CodedTable
from bayesieve.counts.dependence import DEPENDENCES, ColumnValues, ValueDependence, make_dependence
from bayesieve.counts.pairs import strongest_within_classes

ORACLES: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "pearson": lambda x, y: abs(stats.pearsonr(x, y).statistic),
    "spearman": lambda x, y: abs(stats.spearmanr(x, y).statistic),
}
WEIGHED = [name for name, part in DEPENDENCES.own.items() if name in ORACLES and part.weighs_rows]  # type: ignore[attr-defined]


def columns(seed: int, n_rows: int = 70) -> np.ndarray:
    """Smooth ones, dependent ones, and some with ties."""
    x = np.random.default_rng(seed).normal(size=(6, n_rows))
    x[1] = x[0] ** 2 + 0.1 * x[1]
    x[2:4] = np.round(2 * x[2:4])
    x[4] = np.round(x[4] + x[2])
    x[5] = 1e9 + x[5] - 3 * x[0]
    return x


def measure_of(name: str) -> ValueDependence:
    measure = make_dependence(name)
    assert isinstance(measure, ValueDependence)
    return measure


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("seed", range(3))
def test_values_are_those_of_the_definition(name: str, seed: int) -> None:
    x = columns(seed)
    expected = [[ORACLES[name](a, b) for b in x] for a in x]
    np.testing.assert_allclose(measure_of(name).of_columns(x, x, None), expected, rtol=1e-9, atol=1e-9)


def test_every_measure_of_values_has_an_oracle() -> None:
    assert {name for name, part in DEPENDENCES.own.items() if issubclass(part, ValueDependence)} == set(ORACLES)


@pytest.mark.parametrize("name", WEIGHED)
def test_a_weight_of_two_is_the_row_repeated(name: str) -> None:
    x, weights = columns(5), np.random.default_rng(1).integers(1, 4, 70)
    repeated = np.repeat(x, weights, axis=1)
    measure = measure_of(name)
    expected = measure.of_columns(repeated, repeated, None)
    np.testing.assert_allclose(measure.of_columns(x, x, weights.astype(float)), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ORACLES)
def test_constants_few_rows_and_large_numbers(name: str) -> None:
    measure = measure_of(name)
    x = np.stack([np.full(20, 0.1), np.arange(20.0), np.arange(20.0) ** 3, np.full(20, -1.7e308)])
    x[3, 0] = 1.7e308
    values = measure.of_columns(x, x, None)
    assert not values[0].any()
    assert values[1, 1] == pytest.approx(1.0)
    assert np.isfinite(values).all()
    assert np.isfinite(measure.within(x[:, :1], x[:, :1], None)).all()
    assert not measure.within(x[:, :0], x[:, :0], None).any()


def frame(seed: int) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 120)
    size = rng.normal(2.0 * y)
    columns = {
        "size": size,
        "cube": [None if gone else float(s**3) for s, gone in zip(size, rng.random(120) < 0.2, strict=True)],
        "town": np.array(["Ulm", "Jena", "Köln", "Bonn"])[y + rng.integers(0, 3, 120)],
        "noise": rng.random(120),
    }
    return pl.DataFrame(columns), y


def test_raw_numbers_pairwise_complete_and_categories_in_the_order_of_the_classes() -> None:
    X, y = frame(0)
    encoder = TableEncoder(categorical="values")
    values = pair_statistics(X, y, statistic="pearson", encoder=encoder)
    known = X["cube"].is_not_null().to_numpy()
    cube = X["cube"].to_numpy()[known].astype(float)
    assert values[0, 1] == pytest.approx(np.corrcoef(X["size"].to_numpy()[known], cube)[0, 1], abs=1e-12)
    np.testing.assert_array_equal(values, values.T)
    shares = {town: y[(X["town"] == town).to_numpy()].mean() for town in set(X["town"])}
    places = np.array([sorted(shares, key=shares.__getitem__).index(town) for town in X["town"]])
    assert values[0, 2] == pytest.approx(np.corrcoef(X["size"], places)[0, 1], abs=1e-12)
    within = pair_statistics(X, y, statistic="spearman", encoder=encoder, given_class=True, features=[0], others=[3])
    parts = [np.mean(y == c) * abs(stats.spearmanr(X["size"].to_numpy()[y == c], X["noise"].to_numpy()[y == c])[0])
             for c in range(2)]  # fmt: skip
    assert within[0, 0] == pytest.approx(sum(parts), abs=1e-12)


def test_more_classes_order_levels_along_an_axis() -> None:
    codes = np.array([[0, 0, 1, 1, 2, 2]], dtype=np.uint8)
    coded = TableEncoder(categorical="values").fit_transform_coded(
        pl.DataFrame({"v": ["x", "x", "b", "b", "a", "a"]}), ["c", "d", "d", "e", "e", "e"]
    )
    numbers = ColumnValues(coded).numbers[0]
    assert numbers.tolist() in ([0, 0, 1, 1, 2, 2], [2, 2, 1, 1, 0, 0])
    assert ColumnValues(CodedTable(codes, [3], ("v",))).numbers[0].tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("name", [*ORACLES, "mutual_information", "symmetrical_uncertainty"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_strongest_within_classes(name: str, weighted: bool) -> None:
    if weighted and name in ORACLES and name not in WEIGHED:
        pytest.skip("it weighs no rows")
    X, y = frame(1)
    weights = np.random.default_rng(2).integers(0, 3, 120).astype(float) if weighted else None
    coded, refitter = TableEncoder().fit_with_refitter(X, y, weights)
    measure, raw = make_dependence(name), refitter.numbers(None)
    strongest = strongest_within_classes(coded, measure, numbers=raw)
    numbers = ColumnValues(coded, raw).numbers
    within = []
    for code in range(2):
        of_class = coded.take(np.asarray(coded.class_codes) == code)
        if isinstance(measure, ValueDependence):  # levels keep the order of all rows
            plain = CodedTable(of_class.codes, of_class.n_levels, of_class.names, weights=of_class.weights)
            values = ColumnValues(plain)
            values.numbers = numbers[:, np.asarray(coded.class_codes) == code]
            values._complete = ~np.isnan(values.numbers).any(axis=1)
            within.append(values.of(measure))
        else:
            within.append(pair_statistics(of_class, statistic=measure))
    np.testing.assert_allclose(strongest, np.maximum(*within), atol=1e-12)
    np.testing.assert_array_equal(strongest, strongest_within_classes(coded, measure, n_jobs=3, numbers=raw))


def test_the_strongest_within_classes_is_that_of_other_libraries() -> None:
    rng = np.random.default_rng(8)
    y = rng.integers(0, 3, 100)
    X = rng.normal(size=(100, 4))
    X[:, 1] += X[:, 0] * (y - 1)
    X[:, 3] = np.round(X[:, 2] + y)
    coded, refitter = TableEncoder(numeric=EqualFrequencyDiscretizer(4)).fit_with_refitter(X, y)
    parts = [(X[y == c].T, coded.codes[:, y == c]) for c in range(3)]
    expected = {
        "pearson": [np.abs(np.corrcoef(x)) for x, _ in parts],
        "spearman": [np.abs(stats.spearmanr(x, axis=1).statistic) for x, _ in parts],
        "mutual_information": [[[mutual_info_score(a, b) for b in codes] for a in codes] for _, codes in parts],
    }
    for name, of_classes in expected.items():
        strongest = strongest_within_classes(coded, make_dependence(name), numbers=refitter.numbers(None))
        np.testing.assert_allclose(strongest, np.max(of_classes, axis=0), rtol=1e-9, atol=1e-9)


def test_huge_weights_are_not_written_out_as_rows() -> None:
    tables = np.array([[[1e13, 2e13], [3e13, 0.0]]])
    assert make_dependence("spearman").of_tables(tables)[0] > 0
    with pytest.raises(ValueError, match="'<lambda>' does not support row weights; omit sample_weight"):
        make_dependence(lambda x, y: 1.0).of_tables(tables)


def test_a_function_is_a_measure_that_cannot_weigh_rows() -> None:
    X, y = frame(2)

    def tau(x: np.ndarray, other: np.ndarray) -> float:
        return abs(float(stats.kendalltau(x, other).statistic))

    options: dict[str, Any] = {"statistic": tau, "features": [0], "others": [3]}
    assert pair_statistics(X, y, **options)[0, 0] == pytest.approx(tau(X["size"].to_numpy(), X["noise"].to_numpy()))
    assert pair_statistics(X, y, sample_weight=np.ones(120), **options)[0, 0] > 0
    with pytest.raises(
        ValueError, match="measure 'tau' does not support row weights; omit sample_weight, or choose another"
    ):
        pair_statistics(X, y, sample_weight=np.arange(120), **options)
    with pytest.raises(ValueError, match="'broken' must return one finite number"):
        pair_statistics(X, y, statistic=type("B", (ValueDependence,), {"name": "broken", "of_columns": lambda *_: 1})())


@pytest.mark.parametrize("name", ORACLES)
def test_mrmr_takes_measures_of_values(name: str) -> None:
    X, y = frame(3)
    assert MRMRSelector(2, dependence=name).fit(X, y).ranking_[0] in (0, 1, 2)

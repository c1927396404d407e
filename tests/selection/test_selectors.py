"""Selectors as scikit-learn transformers: options, encoders, what they keep of a table."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bayesieve import (
    AllFeatures,
    BayesianAveraging,
    CFSSelector,
    CompressionAveraging,
    DiscreteNB,
    MAPSelector,
    MRMRSelector,
    TableEncoder,
    WrapperSelector,
    pair_statistics,
)
from bayesieve.selection import SELECTORS, CodedSelector, make_selector
from tests.criteria.coded_tables import coded_table
from tests.limits import Limits
from tests.reference import selective

KINDS = (AllFeatures, MAPSelector, BayesianAveraging, CompressionAveraging)
SEARCHING = KINDS[1:]
RNG = np.random.default_rng(7)
N = 200
Y = RNG.integers(0, 2, N)
FRAME = pl.DataFrame(
    {
        "number": Y + RNG.normal(scale=0.5, size=N),
        "noise": RNG.normal(size=N),
        "text": [None if RNG.random() < 0.1 else f"t{(c + (RNG.random() < 0.25)) % 3}" for c in Y],
        "same": ["constant"] * N,
    }
)


def test_all_features_weigh_one() -> None:
    selector = AllFeatures().fit(FRAME, Y)
    assert selector.weights_.tolist() == [1.0, 0.0, 1.0, 0.0]
    assert selector.trace_.to_frame()["move"].to_list() == ["start", "add", "add"]
    coded = TableEncoder().fit_transform_coded(FRAME.drop("same"), Y)  # a constant column is no choice
    data = selective.Data.estimate(coded.codes.T.tolist(), Y.tolist())
    assert selector.trace_.to_frame()["criterion"].to_list()[-1] == pytest.approx(
        selective.cost(data, (0, 2)), abs=1e-9
    )


def test_map_and_averages_against_all_subsets() -> None:
    table = coded_table(5, n_rows=70, n_features=6, strength=1.0)
    codes, y = table.codes.T.astype(int), table.class_codes
    data = selective.Data.estimate(codes.tolist(), y.tolist())
    costs = selective.all_costs(data)
    options = {"encoder": None, "exhaustive": True}
    best = MAPSelector(**options).fit(codes, y)
    assert tuple(np.flatnonzero(best.support_)) == selective.best_subset(costs)
    bayesian, compression = BayesianAveraging(**options).fit(codes, y), CompressionAveraging(**options).fit(codes, y)
    np.testing.assert_allclose(bayesian.weights_, selective.bayesian_weights(costs, 6), atol=1e-10)
    np.testing.assert_allclose(compression.weights_, selective.compression_weights(costs, 6), atol=1e-10)


def test_features_that_say_nothing_at_all() -> None:
    every = np.array(list(itertools.product(range(2), range(3), range(4), range(2))))  # exactly independent columns
    codes, y = every[:, :3], every[:, 3]
    options = {"encoder": None, "smoothing": 1e-9}
    assert not MAPSelector(**options).fit(codes, y).support_.any()
    assert not CompressionAveraging(**options).fit(codes, y).support_.any()
    # All subsets explain the labels equally well: the prior of their sizes is left, C(K+m-1, m) = 1, 3, 6, 10.
    models = {size: 1 / weight for size, weight in enumerate((1, 3, 6, 10))}
    total = models[0] + 3 * models[1] + 3 * models[2] + models[3]
    expected = (models[1] + 2 * models[2] + models[3]) / total
    np.testing.assert_allclose(BayesianAveraging(**options).fit(codes, y).weights_, expected, atol=1e-6)


def test_very_large_costs_do_not_underflow() -> None:
    rows = np.arange(42_000)
    y = rows % 2
    codes = np.column_stack([np.where(rows % 7 == 0, 1 - y, y), rows % 3])  # the second says nothing
    weights = BayesianAveraging(encoder=None).fit(codes, y).weights_
    # Adding the second costs log C(3, 2) - log C(2, 1) of prior and brings nothing: odds of 3 to 2 against it.
    np.testing.assert_allclose(weights, [1.0, 0.4], atol=1e-3)


@pytest.mark.parametrize("wrong", ["maps", "", None, 3, MAPSelector, ["map"]])
def test_what_is_no_selector(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"selector must be one of 'all', 'map'.* or a selector object, got"):
        make_selector(wrong)


def test_the_number_of_threads_is_checked(limits: Limits) -> None:
    limits(quick_work=0)
    for kind in SEARCHING:
        with pytest.raises(ValueError, match="n_jobs must be a positive number of threads"):
            kind(n_jobs=0, exhaustive=False).fit(FRAME, Y)


@pytest.mark.parametrize("kind", [BayesianAveraging, CompressionAveraging])
def test_models_count_once_or_as_often_as_they_are_evaluated(kind: type[CodedSelector]) -> None:
    table = coded_table(5, 100, 6)
    codes, y = table.codes.T.astype(int), table.class_codes
    weights = {
        count: kind(encoder=None, exhaustive=False, count=count).fit(codes, y).weights_
        for count in ("distinct", "evaluations")
    }
    assert np.abs(weights["distinct"] - weights["evaluations"]).max() > 1e-3
    for count in weights:  # nothing is evaluated twice
        selector = kind(encoder=None, exhaustive=True, count=count).fit(codes, y)
        np.testing.assert_allclose(selector.weights_, kind(encoder=None, exhaustive=True).fit(codes, y).weights_)


EQUAL_NAMES = {
    "pandas": lambda codes: pd.DataFrame(codes, columns=["a", "b", "a"]),
    "pandas numbers": lambda codes: pd.DataFrame(codes, columns=[1, 2, 1]),
    "pyarrow": lambda codes: pa.table(list(codes.T), names=["a", "b", "a"]),
    "record batch": lambda codes: pa.record_batch(list(map(pa.array, codes.T)), names=["a", "b", "a"]),
}


@pytest.mark.parametrize("table", EQUAL_NAMES)
@pytest.mark.parametrize("encoder", [None, "modl"])
def test_equal_names_are_refused_by_all_selectors(table: str, encoder: str | None) -> None:
    codes = np.random.default_rng(0).integers(0, 3, (40, 3))
    X, y = EQUAL_NAMES[table](codes), codes[:, 0] > 0
    for name in SELECTORS:
        with pytest.raises(ValueError, match=r"Column name '[a1]' appears more than once; give every column its own"):
            make_selector(name).set_params(encoder=encoder).fit(X, y)
    with pytest.raises(ValueError, match="appears more than once"):
        DiscreteNB().fit(X, y)
    with pytest.raises(ValueError, match="appears more than once"):
        DiscreteNB().fit(codes, y).predict(X)
    with pytest.raises(ValueError, match="appears more than once"):
        pair_statistics(X, y, encoder=encoder)


def test_an_encoder_with_options() -> None:
    encoder = TableEncoder(numeric="equal-width")
    selector = AllFeatures(encoder=encoder).fit(FRAME, Y)
    assert selector.encoder_ is not encoder
    assert not hasattr(encoder, "levels_")
    assert selector.encoder_.levels_[1].n_levels == 10
    assert selector.weights_.tolist() == [1.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize("kind", [AllFeatures, MAPSelector])
def test_transform_keeps_the_kind_of_table(kind: type[CodedSelector]) -> None:
    frame = FRAME.select("noise", "number", "text")
    selector = kind().fit(frame, Y)
    kept = [name for name, on in zip(frame.columns, selector.support_, strict=True) if on]
    assert kept[0] == "number"
    pandas = frame.to_pandas()
    pandas.index = range(1000, 1000 + N)
    found = selector.transform(pandas)
    pd.testing.assert_frame_equal(found, pandas[kept])
    assert selector.transform(frame).equals(frame.select(kept))
    arrow = selector.transform(frame.to_arrow())
    assert isinstance(arrow, pa.Table)
    assert arrow.column_names == kept
    assert selector.get_feature_names_out().tolist() == kept
    array = np.array(frame.rows(), dtype=object)
    by_position = kind().fit(array, Y)
    np.testing.assert_array_equal(by_position.transform(array), array[:, by_position.support_])
    assert by_position.transform(array).dtype == object
    assert by_position.get_feature_names_out().tolist() == [f"x{k}" for k in np.flatnonzero(by_position.support_)]


def test_dataframes_with_numbers_as_names() -> None:
    pandas = FRAME.select("noise", "number").to_pandas()
    pandas.columns = [0, 1]
    selector = MAPSelector().fit(pandas, Y)
    assert not hasattr(selector, "feature_names_in_")
    pd.testing.assert_frame_equal(selector.transform(pandas), pandas[[1]])


def test_columns_must_be_those_of_the_fit() -> None:
    selector = MAPSelector().fit(FRAME, Y)
    with pytest.raises(ValueError, match="feature names should match"):
        selector.transform(FRAME.rename({"text": "texts"}))


@pytest.mark.parametrize(("output", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("default", None)])
def test_set_output(output: str, kind: Any) -> None:
    frame = FRAME.select("noise", "number")
    selector = MAPSelector().set_output(transform=output).fit(frame, Y)
    for X in (frame, frame.to_pandas(), frame.to_arrow()):
        found = selector.transform(X)
        assert isinstance(found, kind or type(X))
        assert list(getattr(found, "column_names", None) or found.columns) == ["number"]


@pytest.mark.parametrize("kind", SEARCHING)
def test_seeds(kind: type[CodedSelector]) -> None:
    table = coded_table(11, n_rows=150, n_features=30, n_classes=3, strength=0.9)
    codes, y = table.codes.T.astype(int), table.class_codes

    def fitted(random_state: Any) -> Any:
        selector = kind(encoder=None, exhaustive=False, n_starts=3, random_state=random_state).fit(codes, y)
        return selector.trace_.to_frame(evaluated=True)["feature"].to_list()

    assert fitted(None) == fitted(None) == fitted(0)
    assert fitted(3) == fitted(np.int64(3)) != fitted(0)
    assert fitted(np.random.RandomState(5)) == fitted(np.random.RandomState(5)) != fitted(np.random.RandomState(6))


def test_auto_enumerates_small_tables_only(limits: Limits) -> None:
    table = coded_table(1, n_rows=50, n_features=8)
    codes, y = table.codes.T.astype(int), table.class_codes
    assert MAPSelector(encoder=None).fit(codes, y).trace_.n_models == 2**7
    limits(averaged_work=2**7 * 50 - 1)
    assert MAPSelector(encoder=None).fit(codes, y).trace_.n_starts > 1
    assert MAPSelector(encoder=None, exhaustive=True).fit(codes, y).trace_.n_models == 2**7
    limits(averaged_work=2**7 * 50)
    assert MAPSelector(encoder=None).fit(codes, y).trace_.n_models == 2**7
    limits(averaged_features=6)
    assert MAPSelector(encoder=None).fit(codes, y).trace_.n_starts > 1
    assert CompressionAveraging(encoder=None).fit(codes, y).trace_.n_starts > 1


@pytest.mark.parametrize(
    ("frame", "kept", "refused", "column"),
    [
        (pd.DataFrame({"a": Y + 0.5, "m * x": ["x" if label else 1.5 for label in Y]}), "pandas", "polars", "'m . x'"),
        (pl.DataFrame({"a": pl.Series(Y + 1, dtype=pl.Int128)}), "polars", "pandas", "A selected column"),
        (pl.DataFrame({"\0": Y * 1.0, "a": Y + 1.0}), "polars", "pandas", "Column"),
    ],
)
def test_set_output_names_a_column_that_a_library_cannot_hold(frame: Any, kept: str, refused: str, column: str) -> None:
    selector = AllFeatures().set_output(transform=kept).fit(frame, Y)
    assert list(selector.transform(frame).columns) == list(frame.columns)
    message = rf"{column}.* cannot become a {refused} column \(.*\); convert .*set_output\(transform='{kept}'\)\.$"
    with pytest.raises(ValueError, match=message):
        selector.set_output(transform=refused).transform(frame)


def test_pairs_keep_both_their_columns() -> None:
    rng = np.random.default_rng(0)
    left, right, noise = rng.normal(size=(3, 600))
    frame = pl.DataFrame({"left": left, "noise": noise, "right": right})
    y = (left * right > 0).astype(int)
    for selector in (MAPSelector(), CFSSelector(), MRMRSelector(1), WrapperSelector("brier"), CompressionAveraging()):
        selector.set_params(encoder=TableEncoder(pairs="auto")).fit(frame, y)
        assert selector.support_.tolist() == [False, False, False, True], selector
        assert selector.transform(frame).columns == ["left", "right"]
        assert selector.get_feature_names_out().tolist() == ["left", "right"]
        assert selector.get_support().tolist() == [True, False, True]
        assert selector.inverse_transform(selector.transform(frame).to_numpy()).shape == (600, 3)

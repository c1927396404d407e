"""The donation campaign: the shape, the response and the gifts of the KDD Cup 1998, and where its signal is."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

from bayesieve_studies.simulate import donations
from bayesieve_studies.simulate.donations import N_FEATURES, N_ROWS


def auc(column: pl.Series, gives: np.ndarray) -> float:
    return float(roc_auc_score(gives, column.cast(pl.Float64).fill_null(-1).to_numpy()))


def test_it_has_the_shape_of_the_cup() -> None:
    table, amounts = donations()
    gives = amounts > 0
    given = amounts[gives]
    assert table.shape == (N_ROWS, N_FEATURES)
    assert gives.mean() == pytest.approx(0.05, abs=0.003)
    assert given.min() >= 1
    assert given.max() <= 200
    assert given.mean() == pytest.approx(15.7, abs=0.6)
    assert given.mean() > 1.15 * np.median(given)  # skewed
    assert 5_000 < (amounts - 0.68).sum() < 16_000  # a letter to all hardly pays: 10,560 in the cup
    texts = [column for column in table if column.dtype == pl.String]
    assert len(texts) > 60
    assert sum(column.null_count() > 0 for column in table) > 100
    constant = [column.name for column in table if column.drop_nulls().n_unique() < 2]
    assert set(constant) == {name for name in table.columns if name.startswith("interest_")}  # "Y" or missing


def test_those_who_give_more_give_less_often() -> None:
    table, amounts = donations(n_features=40)
    gives = amounts > 0
    assert auc(table["last_gift"], gives) < 0.48
    assert auc(table["frequency"], gives) > 0.54
    last = table["last_gift"].to_numpy()
    assert np.corrcoef(np.log(last[gives]), np.log(amounts[gives]))[0, 1] > 0.5


def test_most_columns_are_noise_or_repeat_others() -> None:
    table, amounts = donations(30_000)
    numbers = table.select(pl.selectors.numeric().cast(pl.Float64).fill_null(-1.0))
    correlation = np.abs(np.corrcoef(np.vstack([amounts > 0, numbers.to_numpy().T])))
    telling = correlation[0, 1:] > 0.03  # over five times the spread of noise
    assert 10 < telling.sum() < 100
    assert not any(name.startswith("noise") for name in np.array(numbers.columns)[telling])
    census = [name.startswith("census") for name in numbers.columns]
    among_them = correlation[1:, 1:][np.ix_(census, census)] - np.eye(266)
    assert np.mean(among_them.max(axis=1) > 0.3) > 0.9


def test_the_response_is_the_one_wanted() -> None:
    for share in (0.01, 0.5, 0.9):
        assert np.mean(donations(20_000, 20, response=share)[1] > 0) == pytest.approx(share, abs=0.02)


def test_fewer_columns_are_the_first_ones() -> None:
    table, amounts = donations(500, 60)
    fewer, same = donations(500, 25)
    assert fewer.equals(table[:, :25])
    assert np.array_equal(amounts, same)
    assert donations(1, 20)[0].shape == (1, 20)

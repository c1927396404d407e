"""Simulators: the seed decides, numbers without meaning are refused, and draws are those that their papers describe."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB

from bayesieve_lab.simulate import correlated_blocks, donations, engine_series, led_display, waveform
from bayesieve_lab.simulate.breiman import SEGMENTS, base_waves
from bayesieve_lab.simulate.correlated import population_accuracy
from bayesieve_lab.simulate.donations import N_FEATURES, N_ROWS

SIMULATORS: dict[str, tuple[Any, dict[str, list[Any]]]] = {
    "engine_series": (engine_series, {"n_series": [0, -3, 2.5, True, "ten"], "random_state": [-1, 1.5, "seed", True]}),
    "waveform": (waveform, {"n_rows": [0, True], "n_irrelevant": [-1], "random_state": [-1]}),
    "led_display": (
        led_display,
        {"n_rows": [0, 1.5], "n_irrelevant": [-1], "noise": [1.1, float("nan")], "random_state": ["one"]},
    ),
    "correlated_blocks": (correlated_blocks, {"correlation": [1.5], "n_features": [3]}),
    "donations": (
        donations,
        {"n_rows": [0], "n_features": [19], "response": [0.0, 1], "random_state": [-1]},
    ),
}
OF_20_COLUMNS = {"donations": {"n_features": 20}, "correlated_blocks": {"n_features": 8}}


def drawn(name: str, **options: Any) -> list[Any]:
    """The arrays that a simulator draws, 60 rows each."""
    simulate, _ = SIMULATORS[name]
    found = simulate(60, **OF_20_COLUMNS.get(name, {}), **options)
    if name == "engine_series":
        found = [getattr(found, part) for part in ("values", "offsets", "labels", "change_points", "amplitudes")]
    return [part.to_numpy() if hasattr(part, "to_numpy") else part for part in found]


def same(some: list[Any], others: list[Any]) -> bool:
    return all(np.array_equal(a.astype(str), b.astype(str)) for a, b in zip(some, others, strict=True))


@pytest.mark.parametrize("name", SIMULATORS)
def test_the_seed_decides(name: str) -> None:
    first = drawn(name)
    assert same(first, drawn(name))
    assert same(first, drawn(name, random_state=0))
    other = drawn(name, random_state=1)
    assert not same(first[:1], other[:1])
    generator = np.random.default_rng(1)
    assert same(other, drawn(name, random_state=generator))
    assert not same(other, drawn(name, random_state=generator))


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [(name, option, value) for name, (_, wrong) in SIMULATORS.items() for option in wrong for value in wrong[option]],
)
def test_numbers_without_meaning_are_refused(name: str, option: str, value: Any) -> None:
    simulate, _ = SIMULATORS[name]
    count = "n_series" if name == "engine_series" else "n_rows"
    with pytest.raises(ValueError, match=rf"{option} must be"):
        simulate(**{count: 50, **OF_20_COLUMNS.get(name, {}), option: value})


def test_led_digits_are_equally_likely_and_a_tenth_of_the_lights_is_wrong() -> None:
    bits, digits = led_display(40_000, n_irrelevant=17, random_state=3)
    assert bits.shape == (40_000, 24)
    assert bits.dtype == np.uint8
    assert stats.chisquare(np.bincount(digits, minlength=10)).pvalue > 1e-4
    wrong = bits[:, :7] != SEGMENTS[digits]
    assert np.allclose(wrong.mean(axis=0), 0.1, atol=0.007)
    assert np.allclose(np.corrcoef(wrong.T), np.eye(7), atol=0.025)
    assert np.allclose(bits[:, 7:].mean(axis=0), 0.5, atol=0.0125)
    shares = [bits[digits == digit, 7:].mean() for digit in range(10)]
    assert np.allclose(shares, 0.5, atol=0.01)  # they say nothing about the digit


def test_led_the_best_rule_is_right_on_74_percent() -> None:
    """Over all 128 displays; Breiman et al. give a Bayes rate of 0.26."""
    displays = np.array(list(product((0, 1), repeat=7)))
    n_wrong = (displays[:, None] != SEGMENTS[None]).sum(axis=2)
    likelihoods = 0.1**n_wrong * 0.9 ** (7 - n_wrong)
    exact = likelihoods.max(axis=1).sum() / 10
    assert exact == pytest.approx(0.74, abs=0.005)
    bits, digits = led_display(40_000)
    guesses = (bits[:, None, :] != SEGMENTS[None]).sum(axis=2).argmin(axis=1)
    assert (guesses == digits).mean() == pytest.approx(exact, abs=0.008)


def test_led_digits_without_noise_are_those_of_a_display() -> None:
    bits, digits = led_display(500, noise=0)
    assert np.array_equal(bits, SEGMENTS[digits])
    assert SEGMENTS.sum(axis=1).tolist() == [6, 2, 5, 5, 4, 5, 6, 3, 7, 6]
    assert len({tuple(row) for row in SEGMENTS.tolist()}) == 10


def test_led_irrelevant_bits_leave_digits_and_lights_alone() -> None:
    without, with_them = led_display(100), led_display(100, n_irrelevant=17)
    assert np.array_equal(without[0], with_them[0][:, :7])
    assert np.array_equal(without[1], with_them[1])


# Triangles of the two-wave mixtures, written out: points 1 to 21, peaks at 7, 15 and 11.
FIRST = [0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
SECOND = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1, 0]
THIRD = [0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0]
MIXED = {0: (FIRST, SECOND), 1: (FIRST, THIRD), 2: (SECOND, THIRD)}


def test_waves_base_waves_are_those_of_the_book() -> None:
    assert np.array_equal(base_waves(), [FIRST, SECOND, THIRD])


def test_waves_classes_have_their_shares_means_and_variances() -> None:
    values, classes = waveform(60_000, n_irrelevant=19, random_state=2)
    assert values.shape == (60_000, 40)
    assert stats.chisquare(np.bincount(classes)).pvalue > 1e-4
    for class_, (one, other) in MIXED.items():
        rows = values[classes == class_]
        half = (np.array(one) + np.array(other)) / 2
        # The share of the mixture is uniform: variance 1 / 12 of the difference of the waves, and 1 of the noise.
        variance = 1 + (np.array(one) - np.array(other)) ** 2 / 12
        assert np.allclose(rows[:, :21].mean(axis=0), half, atol=0.06)
        assert np.allclose(rows[:, :21].var(axis=0), variance, rtol=0.05)
        assert np.allclose(rows[:, 21:].mean(axis=0), 0, atol=0.04)
        assert np.allclose(rows[:, 21:].var(axis=0), 1, atol=0.06)


def test_waves_the_best_rule_is_right_on_86_percent() -> None:
    """Breiman et al. give a Bayes rate of 0.14: the densities, integrated over the share of the mixture."""
    values, classes = waveform(6000, random_state=4)
    shares = (np.arange(200) + 0.5) / 200
    likelihoods = []
    for one, other in MIXED.values():
        centres = shares[:, None] * np.array(one) + (1 - shares[:, None]) * np.array(other)
        distances = (values**2).sum(axis=1)[:, None] - 2 * values @ centres.T + (centres**2).sum(axis=1)
        likelihoods.append(np.exp(-distances / 2).mean(axis=1))
    guesses = np.argmax(likelihoods, axis=0)
    assert (guesses == classes).mean() == pytest.approx(0.86, abs=0.015)


def test_waves_irrelevant_columns_come_last() -> None:
    assert np.array_equal(waveform(50, n_irrelevant=19)[0][:, :21], waveform(50)[0])


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, 1.0])
def test_blocks_correlations_are_those_of_the_blocks(rho: float) -> None:
    X, y = correlated_blocks(20_000, 12, correlation=rho, random_state=1)
    expected = np.zeros((12, 12))
    expected[:3, :3] = expected[3:, 3:] = rho
    np.fill_diagonal(expected, 1.0)
    np.testing.assert_allclose(np.corrcoef(X.T), expected, atol=0.03)
    assert 0.45 < y.mean() < 0.55
    sides = [np.corrcoef(X[:, k], y)[0, 1] for k in (0, 5)]
    assert sides[0] > 0.1
    assert sides[1] < -0.02


def auc(column: pl.Series, gives: np.ndarray) -> float:
    return float(roc_auc_score(gives, column.cast(pl.Float64).fill_null(-1).to_numpy()))


def test_donors_it_has_the_shape_of_the_cup() -> None:
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


def test_donors_those_who_give_more_give_less_often() -> None:
    table, amounts = donations(n_features=40)
    gives = amounts > 0
    assert auc(table["last_gift"], gives) < 0.48
    assert auc(table["frequency"], gives) > 0.54
    last = table["last_gift"].to_numpy()
    assert np.corrcoef(np.log(last[gives]), np.log(amounts[gives]))[0, 1] > 0.5


def test_donors_most_columns_are_noise_or_repeat_others() -> None:
    table, amounts = donations(30_000)
    numbers = table.select(pl.selectors.numeric().cast(pl.Float64).fill_null(-1.0))
    correlation = np.abs(np.corrcoef(np.vstack([amounts > 0, numbers.to_numpy().T])))
    telling = correlation[0, 1:] > 0.03  # over five times the spread of noise
    assert 10 < telling.sum() < 100
    assert not any(name.startswith("noise") for name in np.array(numbers.columns)[telling])
    census = [name.startswith("census") for name in numbers.columns]
    among_them = correlation[1:, 1:][np.ix_(census, census)] - np.eye(266)
    assert np.mean(among_them.max(axis=1) > 0.3) > 0.9


def test_donors_the_response_is_the_one_wanted() -> None:
    for share in (0.01, 0.5, 0.9):
        assert np.mean(donations(20_000, 20, response=share)[1] > 0) == pytest.approx(share, abs=0.02)


def test_donors_fewer_columns_are_the_first_ones() -> None:
    table, amounts = donations(500, 60)
    fewer, same = donations(500, 25)
    assert fewer.equals(table[:, :25])
    assert np.array_equal(amounts, same)
    assert donations(1, 20)[0].shape == (1, 20)


@pytest.mark.parametrize("correlation", [0.1, 0.9])
def test_the_population_accuracy_is_that_of_many_rows(correlation: float) -> None:
    X, y = correlated_blocks(60_000, 20, correlation=correlation)
    found = GaussianNB().fit(X[:40_000], y[:40_000]).score(X[40_000:], y[40_000:])
    assert population_accuracy(20, correlation) == pytest.approx(found, abs=0.012)

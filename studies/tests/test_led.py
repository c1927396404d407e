"""The LED display: what is known about it from Breiman et al. (1984)."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from bayesieve_studies.simulate import led_display
from bayesieve_studies.simulate.breiman import SEGMENTS


def test_digits_are_equally_likely_and_a_tenth_of_the_lights_is_wrong() -> None:
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


def test_the_best_rule_is_right_on_74_percent() -> None:
    """Over all 128 displays; Breiman et al. give a Bayes rate of 0.26."""
    displays = np.array(list(product((0, 1), repeat=7)))
    n_wrong = (displays[:, None] != SEGMENTS[None]).sum(axis=2)
    likelihoods = 0.1**n_wrong * 0.9 ** (7 - n_wrong)
    exact = likelihoods.max(axis=1).sum() / 10
    assert exact == pytest.approx(0.74, abs=0.005)
    bits, digits = led_display(40_000)
    guesses = (bits[:, None, :] != SEGMENTS[None]).sum(axis=2).argmin(axis=1)
    assert (guesses == digits).mean() == pytest.approx(exact, abs=0.008)


def test_digits_without_noise_are_those_of_a_display() -> None:
    bits, digits = led_display(500, noise=0)
    assert np.array_equal(bits, SEGMENTS[digits])
    assert SEGMENTS.sum(axis=1).tolist() == [6, 2, 5, 5, 4, 5, 6, 3, 7, 6]
    assert len({tuple(row) for row in SEGMENTS.tolist()}) == 10


def test_irrelevant_bits_leave_digits_and_lights_alone() -> None:
    without, with_them = led_display(100), led_display(100, n_irrelevant=17)
    assert np.array_equal(without[0], with_them[0][:, :7])
    assert np.array_equal(without[1], with_them[1])

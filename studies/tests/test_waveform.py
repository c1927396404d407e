"""The waveforms: what is known about them from Breiman et al. (1984)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bayesieve_studies.simulate import waveform
from bayesieve_studies.simulate.breiman import base_waves

# Triangles of the two-wave mixtures, written out: points 1 to 21, peaks at 7, 15 and 11.
FIRST = [0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
SECOND = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1, 0]
THIRD = [0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0]
MIXED = {0: (FIRST, SECOND), 1: (FIRST, THIRD), 2: (SECOND, THIRD)}


def test_base_waves_are_those_of_the_book() -> None:
    assert np.array_equal(base_waves(), [FIRST, SECOND, THIRD])


def test_classes_have_their_shares_means_and_variances() -> None:
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


def test_the_best_rule_is_right_on_86_percent() -> None:
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


def test_irrelevant_columns_come_last() -> None:
    assert np.array_equal(waveform(50, n_irrelevant=19)[0][:, :21], waveform(50)[0])

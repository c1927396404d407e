"""Simulated data of Breiman et al. (1984): LED displays with faults, and noisy mixtures of two of three triangles."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve_lab.simulate.randomness import as_count, as_generator

_LIGHTS = ("1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011")
SEGMENTS = np.array([[int(light) for light in digit] for digit in _LIGHTS], dtype=np.uint8)
"""Lights of the digits 0 to 9, shape (10, 7): top, upper left, upper right, middle, lower left, lower right, bottom."""

N_POINTS = 21
PEAKS = (7, 15, 11)
"""Peaks of the three triangles; points count from 1."""
PAIRS = ((0, 1), (0, 2), (1, 2))
"""The two triangles that are mixed in each of the three classes."""


def led_display(
    n_rows: int = 1000, *, n_irrelevant: int = 0, noise: float = 0.1, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw digits shown by an LED display with faults (Breiman et al. 1984, section 2.6.1).

    The ten digits are equally likely. Each of the seven lights is independently in the wrong state with probability
    ``noise``; with 10 % noise no classifier is right on more than 74 % of new rows. Irrelevant bits are 0 or 1 with
    equal probability: 17 of them give the data known as LED17, or LED24.

    Parameters
    ----------
    n_rows : number of rows, at least 1.
    n_irrelevant : number of irrelevant bits after the seven lights.
    noise : probability that a light is in the wrong state, from 0 to 1.
    random_state : int, numpy.random.Generator or None, default=None
        None is a fixed seed: the same rows every time.

    Returns
    -------
    bits (n_rows, 7 + n_irrelevant) uint8, and digits (n_rows,) int64.

    Raises
    ------
    ValueError
        If a parameter is invalid.

    References
    ----------
    L. Breiman, J. H. Friedman, R. A. Olshen and C. J. Stone (1984), Classification and Regression Trees, Wadsworth.

    Examples
    --------
    >>> from bayesieve_lab.simulate import led_display
    >>> bits, digits = led_display(1000, n_irrelevant=17)
    >>> bits.shape, digits.min(), digits.max()
    ((1000, 24), np.int64(0), np.int64(9))
    """
    n_rows = as_count("n_rows", n_rows, 1)
    n_irrelevant = as_count("n_irrelevant", n_irrelevant, 0)
    if not 0 <= noise <= 1:
        raise ValueError(f"noise must be a probability from 0 to 1, got {noise!r}.")
    random = as_generator(random_state)
    digits = random.integers(0, len(SEGMENTS), n_rows)
    lights = SEGMENTS[digits] ^ (random.random((n_rows, SEGMENTS.shape[1])) < noise)
    irrelevant = random.integers(0, 2, (n_rows, n_irrelevant)).astype(np.uint8)
    return np.hstack([lights, irrelevant]), digits


def base_waves() -> np.ndarray:
    """Return the three triangles, 6 high at their peaks and 0 from 6 points away on, shape (3, 21)."""
    points = np.arange(1, N_POINTS + 1)
    return np.array([np.maximum(6.0 - np.abs(points - peak), 0.0) for peak in PEAKS])


def waveform(n_rows: int = 5000, *, n_irrelevant: int = 0, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Draw waveforms of three classes (Breiman et al. 1984, section 2.6.2).

    The classes are equally likely. A row of a class is ``u * h + (1 - u) * g`` with ``u`` uniform in [0, 1] and ``h``
    and ``g`` the two triangles of the class, plus Gaussian noise of standard deviation 1 at each of its 21 points. No
    classifier is right on more than about 86 % of new rows. Irrelevant columns are standard Gaussian; 19 of them give
    the 40 columns of the data known as waveform-5000.

    Parameters
    ----------
    n_irrelevant : number of columns of noise after the 21 points.
    n_rows, random_state : see `led_display`, which also has the reference.

    Returns
    -------
    values (n_rows, 21 + n_irrelevant) float64, and classes (n_rows,) int64: 0, 1 or 2.

    Raises
    ------
    ValueError
        If a parameter is invalid.

    Examples
    --------
    >>> from bayesieve_lab.simulate import waveform
    >>> values, classes = waveform(300, n_irrelevant=19)
    >>> values.shape, sorted(set(classes.tolist()))
    ((300, 40), [0, 1, 2])
    """
    n_rows = as_count("n_rows", n_rows, 1)
    n_irrelevant = as_count("n_irrelevant", n_irrelevant, 0)
    random = as_generator(random_state)
    classes = random.integers(0, len(PAIRS), n_rows)
    shares = random.random((n_rows, 1))
    waves, pairs = base_waves(), np.array(PAIRS)[classes]
    mixed = shares * waves[pairs[:, 0]] + (1.0 - shares) * waves[pairs[:, 1]]
    points = mixed + random.standard_normal((n_rows, N_POINTS))
    return np.hstack([points, random.standard_normal((n_rows, n_irrelevant))]), classes

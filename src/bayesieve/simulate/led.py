"""The LED display of Breiman et al. (1984): seven faulty lights, and bits that say nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.simulate.randomness import as_count, as_generator

SEGMENTS = np.array(
    [
        [1, 1, 1, 0, 1, 1, 1],
        [0, 0, 1, 0, 0, 1, 0],
        [1, 0, 1, 1, 1, 0, 1],
        [1, 0, 1, 1, 0, 1, 1],
        [0, 1, 1, 1, 0, 1, 0],
        [1, 1, 0, 1, 0, 1, 1],
        [1, 1, 0, 1, 1, 1, 1],
        [1, 0, 1, 0, 0, 1, 0],
        [1, 1, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 0, 1, 1],
    ],
    dtype=np.uint8,
)
"""Lights of the digits 0 to 9, shape (10, 7): top, upper left, upper right, middle, lower left, lower right, bottom."""


def led_display(
    n_rows: int = 1000, *, n_irrelevant: int = 0, noise: float = 0.1, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw digits as an LED display with faults shows them (Breiman et al. 1984, section 2.6.1).

    The ten digits are equally likely. Each of the seven lights is in the wrong state with probability ``noise``, one
    independently of the other; with 10 % noise no classifier is right on more than 74 % of new rows. Irrelevant bits
    are 0 or 1 with equal probability: 17 of them make the set that is known as LED17, or LED24.

    Parameters
    ----------
    n_rows : number of rows, at least 1.
    n_irrelevant : number of irrelevant bits behind the seven lights.
    noise : probability that a light is in the wrong state, from 0 to 1.
    random_state : int, numpy.random.Generator or None, default=None
        None is a fixed seed: the same rows every time.

    Returns
    -------
    bits (n_rows, 7 + n_irrelevant) uint8, and digits (n_rows,) int64.

    Raises
    ------
    ValueError
        If a number has no meaning.

    References
    ----------
    L. Breiman, J. H. Friedman, R. A. Olshen and C. J. Stone (1984), Classification and Regression Trees, Wadsworth.

    Examples
    --------
    >>> from bayesieve.simulate import led_display
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

"""The waveforms of Breiman et al. (1984): random mixtures of two of three triangles, with noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.simulate.randomness import as_count, as_generator

N_POINTS = 21
PEAKS = (7, 15, 11)
"""Where the three triangles have their peaks, points counted from 1."""
PAIRS = ((0, 1), (0, 2), (1, 2))
"""The two triangles that are mixed in each of the three classes."""


def base_waves() -> np.ndarray:
    """The three triangles, 6 high at their peaks and 0 from 6 points away on, shape (3, 21)."""
    points = np.arange(1, N_POINTS + 1)
    return np.array([np.maximum(6.0 - np.abs(points - peak), 0.0) for peak in PEAKS])


def waveform(n_rows: int = 5000, *, n_irrelevant: int = 0, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Draw waveforms of three classes (Breiman et al. 1984, section 2.6.2).

    The classes are equally likely. A row of a class is ``u * h + (1 - u) * g`` with ``u`` uniform in [0, 1] and ``h``
    and ``g`` the two triangles of the class, plus Gaussian noise of standard deviation 1 at each of its 21 points. No
    classifier is right on more than about 86 % of new rows. Irrelevant columns are standard Gaussian; 19 of them make
    the 40 columns of the set known as waveform-5000.

    Parameters
    ----------
    n_rows : number of rows, at least 1.
    n_irrelevant : number of columns of noise behind the 21 points.
    random_state : int, numpy.random.Generator or None, default=None
        None is a fixed seed: the same rows every time.

    Returns
    -------
    values (n_rows, 21 + n_irrelevant) float64, and classes (n_rows,) int64: 0, 1 or 2.

    Raises
    ------
    ValueError
        If a number has no meaning.

    References
    ----------
    L. Breiman, J. H. Friedman, R. A. Olshen and C. J. Stone (1984), Classification and Regression Trees, Wadsworth.

    Examples
    --------
    >>> from bayesieve.simulate import waveform
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

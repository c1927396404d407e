"""Two classes from two blocks of correlated normal features, as in Blanquero et al. (2021), section 4.2."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve_lab.simulate.randomness import as_count, as_generator

NOISE = 2.5
"""Standard deviation of the noise."""


def correlated_blocks(
    n_rows: int = 2000, n_features: int = 100, *, correlation: float = 0.5, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw correlated features X, and classes that are the sign of X beta + noise with coefficients beta other than 0.

    The first quarter of the features and the others are two blocks, independent of each other; any two features of a
    block have the same correlation. Coefficients are between 0.9 and 1.1 in the first block, between -1/3 - 0.1 and
    -1/3 + 0.1 in the second; the noise is normal with standard deviation 2.5.

    Parameters
    ----------
    n_rows : number of rows, at least 1.
    n_features : at least 4.
    correlation : correlation of two features of a block, from 0 to 1.
    random_state : int, numpy.random.Generator or None, default=None
        None is a fixed seed: the same rows every time.

    Returns
    -------
    X (n_rows, n_features) float64, and classes (n_rows,) bool.

    Raises
    ------
    ValueError
        If a parameter is invalid.

    References
    ----------
    Blanquero, Carrizosa, Ramirez-Cobo & Sillero-Denamiel (2021), Variable selection for naive Bayes classification,
    Computers & Operations Research 135; Witten, Shojaie & Zhang (2014), The cluster elastic net, Technometrics 56 (1).

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve_lab.simulate import correlated_blocks
    >>> X, y = correlated_blocks(2000, 8, correlation=0.9)
    >>> np.abs(np.corrcoef(X.T))[[0, 0, 2], [1, 2, 3]].round(1).tolist()
    [0.9, 0.0, 0.9]
    """
    n_rows, n_features = as_count("n_rows", n_rows, 1), as_count("n_features", n_features, 4)
    if not 0 <= correlation <= 1:
        raise ValueError(f"correlation must be a number from 0 to 1, got {correlation!r}.")
    rng = as_generator(random_state)
    first = n_features // 4
    X = np.sqrt(1.0 - correlation) * rng.normal(size=(n_rows, n_features))
    X[:, :first] += np.sqrt(correlation) * rng.normal(size=(n_rows, 1))
    X[:, first:] += np.sqrt(correlation) * rng.normal(size=(n_rows, 1))
    beta = np.concatenate([rng.uniform(0.9, 1.1, first), rng.uniform(-1 / 3 - 0.1, -1 / 3 + 0.1, n_features - first)])
    return X, X @ beta + rng.normal(0.0, NOISE, n_rows) > 0.0


def population_accuracy(n_features: int, correlation: float) -> float:
    """Return the accuracy of naive Bayes fitted to infinitely many rows of `correlated_blocks`, of the same parameters.

    Coefficients are in the middle of their ranges. This naive Bayes has the normal densities with the true means and
    variances of every feature in both classes. Its score w X and the response X beta + noise are jointly normal, so
    that their signs agree with probability 1 - arccos(their correlation) / pi.

    Examples
    --------
    >>> from bayesieve_lab.simulate.correlated import correlated_blocks, population_accuracy
    >>> round(population_accuracy(100, 0.5), 3)
    0.852
    """
    first = np.arange(n_features) < n_features // 4
    beta = np.where(first, 1.0, -1 / 3)
    covariance = np.where(first[:, None] == first, correlation, 0.0)
    np.fill_diagonal(covariance, 1.0)
    of_response = covariance @ beta
    variance = float(beta @ of_response) + NOISE**2
    # In both classes, the variance of a feature is 1 - 2 / pi times its squared correlation with the response.
    weights = of_response / (1.0 - 2.0 / np.pi * of_response**2 / variance)
    agreement = weights @ of_response / np.sqrt(weights @ covariance @ weights * variance)
    return float(1.0 - np.arccos(agreement) / np.pi)

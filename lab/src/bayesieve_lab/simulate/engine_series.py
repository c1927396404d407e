"""Simulated signals of aircraft engines: noise, and in half of the series a change of mean, of variance or a trend."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesieve_lab.simulate.randomness import as_count, as_generator

CLASSES = ("normal", "mean", "variance", "trend")
"""Classes of series: noise only, or from a change point on another mean, another variance or a linear trend."""

_SHORTEST, _LONGEST = 100, 200


@dataclass(frozen=True)
class EngineSeries:
    """Time series of different lengths, with their classes and changes; ``data[i]`` is series ``i``.

    Attributes
    ----------
    values : (n_points,) float64, all series one after the other.
    offsets : (n_series + 1,) int64; series ``i`` is ``values[offsets[i]:offsets[i + 1]]``.
    labels : (n_series,) text, one of `CLASSES`.
    change_points : (n_series,) int64, index of the first changed point of the series; -1 for normal series.
    amplitudes : (n_series,) float64: the mean or the standard deviation after the change, or the height of the trend at
        the end of the series; NaN for normal series.

    Examples
    --------
    >>> from bayesieve_lab.simulate import engine_series
    >>> data = engine_series(60)
    >>> len(data), bool(100 <= data.series(0).size <= 200)
    (60, True)
    """

    values: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray
    change_points: np.ndarray
    amplitudes: np.ndarray

    @property
    def n_series(self) -> int:
        """Number of series."""
        return self.labels.size

    @property
    def lengths(self) -> np.ndarray:
        """Number of points of each series, shape (n_series,)."""
        return np.diff(self.offsets)

    def series(self, index: int) -> np.ndarray:
        """Return the values of one series, shape (length,); a negative index counts from the end."""
        if not -self.n_series <= index < self.n_series:
            raise IndexError(f"There is no series {index}; series are numbered from 0 to {self.n_series - 1}.")
        index %= self.n_series
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def __len__(self) -> int:
        return self.n_series

    __getitem__ = series

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self.series(index) for index in range(self.n_series))


def engine_series(n_series: int = 6000, *, random_state: Any = None) -> EngineSeries:
    """Simulate the engine signals of Rabenoro et al. (2015), section 5.1.

    Half of the series are normal: Gaussian white noise of standard deviation 1. The others change at a point uniform in
    the central 60 % of the series, in equal parts to

    - another mean, uniform in [1, 5];
    - another standard deviation, uniform in [2, 6];
    - a linear trend, 0 at the change point and uniform in [1, 5] at the last point.

    Lengths are whole numbers uniform in [100, 200]. The classes are in random order.

    Parameters
    ----------
    n_series : number of series. If it is odd, one more series changes than not; the three kinds of changes differ by at
        most one series.
    random_state : int, numpy.random.Generator or None, default=None
        None is a fixed seed: the same series every time. Use another seed for an independent test set.

    Returns
    -------
    EngineSeries

    Raises
    ------
    ValueError
        If a parameter is invalid.

    References
    ----------
    T. Rabenoro, J. Lacaille, M. Cottrell and F. Rossi (2015), Search strategies for binary feature selection for a
    naive Bayes classifier, ESANN.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve_lab.simulate import engine_series
    >>> train, test = engine_series(6000, random_state=1), engine_series(6000, random_state=2)
    >>> {str(label): int(count) for label, count in zip(*np.unique(train.labels, return_counts=True))}
    {'mean': 1000, 'normal': 3000, 'trend': 1000, 'variance': 1000}
    """
    count = as_count("n_series", n_series, 1)
    random = as_generator(random_state)
    codes = np.zeros(count, dtype=np.int64)
    codes[count // 2 :] = 1 + np.arange(count - count // 2) % 3
    codes = random.permutation(codes)
    lengths = random.integers(_SHORTEST, _LONGEST, size=count, endpoint=True)
    # ceil(L / 5) and floor(4 L / 5) in whole numbers: both ends of the central 60 % can be drawn.
    changes = random.integers(-(-lengths // 5), 4 * lengths // 5, endpoint=True)
    smallest = np.array([0.0, 1.0, 2.0, 1.0])[codes]
    amplitudes = smallest + 4.0 * random.random(count)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    values = random.standard_normal(int(offsets[-1]))
    _change(values, offsets, codes, changes, amplitudes)
    normal = codes == 0
    return EngineSeries(
        values=values,
        offsets=offsets,
        labels=np.array(CLASSES)[codes],
        change_points=np.where(normal, -1, changes),
        amplitudes=np.where(normal, np.nan, amplitudes),
    )


def _change(
    values: np.ndarray, offsets: np.ndarray, codes: np.ndarray, changes: np.ndarray, amplitudes: np.ndarray
) -> None:
    """Change white noise to the series of each class, in place.

    ``values`` are all series one after the other, with the bounds ``offsets`` (n_series + 1,). ``codes``, ``changes``
    and ``amplitudes``, all (n_series,), are the class, the index of the first changed point, and the size of the
    change.
    """
    lengths = np.diff(offsets)
    until_end = np.repeat(lengths - 1 - changes, lengths)
    since = np.arange(values.size) - np.repeat(offsets[:-1] + changes, lengths)
    codes, amplitudes = np.repeat(codes, lengths), np.repeat(amplitudes, lengths)
    mean, variance, trend = ((since >= 0) & (codes == code) for code in (1, 2, 3))
    values[mean] += amplitudes[mean]
    values[variance] *= amplitudes[variance]
    values[trend] += amplitudes[trend] * since[trend] / until_end[trend]

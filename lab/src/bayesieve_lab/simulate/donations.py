"""Simulated donation campaign like that of the KDD Cup 1998: many donors, hundreds of columns, few gifts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesieve_lab.simulate.randomness import as_count, as_generator

N_ROWS, N_FEATURES = 95_412, 478
"""Numbers of donors and columns of the training set of the KDD Cup 1998."""
SMALLEST, LARGEST = 1.0, 200.0
"""Smallest and largest gift in dollars."""

_FEWEST = 20
_CAMPAIGNS = 22
_EFFECTS = np.array([0.22, 0.13, 0.08, -0.08, 0.06, 0.0, 0.0, 0.0], dtype=np.float32)
"""Effects of the eight factors of the neighbourhood on the log odds of a gift."""
_FACTORS = _EFFECTS.size
_ROUND_SUMS = np.array([1, 2, 3, 5, 7, 10, 12, 15, 20, 25, 30, 35, 40, 50, 75, 100, 150, 200], dtype=np.float32)
_Columns = Iterator[tuple[str, Any]]


@dataclass(frozen=True)
class _Donors:
    """Hidden traits of donors, all standard normal.

    Attributes
    ----------
    giving : (n_rows,) logarithm of the usual gift.
    loyalty : (n_rows,) frequency of gifts.
    age : (n_rows,) age of the donor.
    area : (8, n_rows) factors of the neighbourhood; the first one is its wealth.
    """

    giving: np.ndarray
    loyalty: np.ndarray
    age: np.ndarray
    area: np.ndarray

    @classmethod
    def draw(cls, n_rows: int, rng: np.random.Generator) -> _Donors:
        """Draw the traits of ``n_rows`` donors."""
        area, (individual, loyal, age) = _normal(rng, _FACTORS, n_rows), _normal(rng, 3, n_rows)
        giving = 0.35 * area[0] + np.float32(np.sqrt(1 - 0.35**2)) * individual
        return cls(giving, -0.45 * giving + np.float32(np.sqrt(1 - 0.45**2)) * loyal, age, area)

    @property
    def n_rows(self) -> int:
        """Number of donors."""
        return self.giving.size

    @property
    def gift(self) -> np.ndarray:
        """Usual gift in dollars, (n_rows,)."""
        return np.asarray(np.exp(np.float32(2.63) + np.float32(0.5) * self.giving))

    def response(self, mean: float) -> np.ndarray:
        """Return the probability of a gift for each donor, (n_rows,), scaled such that its mean is ``mean``."""
        logit = 0.28 * self.loyalty - 0.15 * self.giving + 0.08 * self.age + np.tensordot(_EFFECTS, self.area, 1)
        low, high = -40.0, 40.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if _logistic(logit + middle).mean() < mean else (low, middle)
        return _logistic(logit + low)


def donations(
    n_rows: int = N_ROWS, n_features: int = N_FEATURES, *, response: float = 0.05, random_state: Any = None
) -> tuple[Any, np.ndarray]:
    """Draw donors who got a letter, and the gifts that they sent.

    A few hidden traits decide on everything: how much a donor usually gives, how loyal the donor is, the age, and
    eight factors of the neighbourhood. Those who give more give less often. The columns are, in this order: 20 on the
    history of gifts, 14 on the person, 88 on 22 earlier campaigns, 20 interests, 266 census figures of the
    neighbourhood, and noise. Most of them are redundant or independent of the answer.

    Parameters
    ----------
    n_rows : number of donors, at least 1.
    n_features : number of columns, at least 20. Fewer columns are the first ones.
    response : share of donors expected to give, between 0 and 1.
    random_state : int, numpy.random.Generator or None, default=None
        None is a fixed seed: the same rows every time.

    Returns
    -------
    table : polars.DataFrame, shape (n_rows, n_features)
        Numbers, texts and missing values; ``last_gift`` and ``average_gift`` are in dollars.
    amounts : float64 array, shape (n_rows,)
        Dollars given, from 1 to 200 and skewed; 0 of donors who do not give.

    Raises
    ------
    ValueError
        If a parameter is invalid.

    References
    ----------
    Bay (2000), UCI KDD archive: the KDD Cup 1998 data, whose shape, response and sums these have.

    Examples
    --------
    >>> from bayesieve_lab.simulate import donations
    >>> table, amounts = donations(5000, 40)
    >>> table.shape, float((amounts > 0).mean().round(2)), float(amounts.max())
    ((5000, 40), 0.05, 100.0)
    """
    import polars as pl

    n_rows, n_features = as_count("n_rows", n_rows, 1), as_count("n_features", n_features, _FEWEST)
    if not 0 < response < 1:
        raise ValueError(f"response must be a share between 0 and 1, got {response!r}.")
    rng = as_generator(random_state)
    donors = _Donors.draw(n_rows, rng)
    gives = rng.random(n_rows) < donors.response(response)
    amounts = np.where(gives, _dollars(donors.gift * np.exp(0.4 * _normal(rng, n_rows)), rng), 0.0)
    columns: dict[str, Any] = {}
    for name, column in _columns(donors, rng):
        columns[name] = column
        if len(columns) == n_features:
            break
    return pl.DataFrame(columns), amounts


def _columns(donors: _Donors, rng: np.random.Generator) -> _Columns:
    """Yield the name and values of every column of the table, in order and without end: noise follows all others.

    ``donors`` are the hidden traits on which columns depend; ``rng`` is the random number generator.
    """
    yield from _history(donors, rng)
    yield from _person(donors, rng)
    yield from _campaigns(donors, rng)
    for k in range(1, 21):
        keen = _normal(rng, donors.n_rows) + 0.15 * donors.age > 1.3
        yield f"interest_{k}", _text(("Y",), np.zeros(donors.n_rows, dtype=int), ~keen)
    for k in range(1, 267):
        yield f"census_{k}", _census(donors, rng)
    k = 0
    while True:
        k += 1
        noise = rng.gamma(1.5, 20.0, donors.n_rows) if k % 3 else rng.integers(0, 9 * k, donors.n_rows)
        yield f"noise_{k}", _whole(noise) if k % 2 else _text(tuple(f"n{i}" for i in range(9 * k)), noise % (9 * k))


def _history(donors: _Donors, rng: np.random.Generator) -> _Columns:
    """Yield the name and values of 20 columns that summarize the gifts so far.

    ``donors`` are the hidden traits on which they depend; ``rng`` is the random number generator.
    """

    def near(trait: np.ndarray, noise: float) -> np.ndarray:
        """Return ``trait`` (n_rows,) with added normal noise of standard deviation ``noise``."""
        return trait + np.float32(noise) * _normal(rng, donors.n_rows)

    months = _whole(12 + 50 * _logistic(near(donors.age, 1.0)), 1, 120)
    gifts = rng.poisson(2.0 + months / 14 * np.exp(0.5 * donors.loyalty)) + 1
    last = _whole(9 * np.exp(-0.35 * near(donors.loyalty, 1.0)), 1, 40)
    average = np.clip(donors.gift * np.exp(0.2 * _normal(rng, donors.n_rows)), SMALLEST, 1000.0)
    yield "last_gift", _dollars(donors.gift * np.exp(0.35 * _normal(rng, donors.n_rows)), rng)
    yield "average_gift", np.round(average, 2)
    yield "n_gifts", _whole(gifts)
    yield "months_since_first", months
    yield "months_since_last", np.minimum(last, months)
    yield "n_gifts_card", _whole(rng.binomial(gifts, 0.5))
    yield "n_gifts_36_months", _whole(rng.binomial(gifts, np.minimum(36 / months, 1.0)))
    yield "total_amount", np.round(average * gifts, 2)
    yield "largest_gift", _dollars(average * 1.4 * np.exp(0.3 * np.abs(_normal(rng, donors.n_rows))), rng)
    yield "smallest_gift", _dollars(average * 0.6 * np.exp(-0.3 * np.abs(_normal(rng, donors.n_rows))), rng)
    yield "n_letters", _whole(rng.poisson(months / 2) + gifts)
    yield "n_letters_12_months", _whole(rng.poisson(12 * np.exp(0.08 * donors.loyalty)))
    yield "months_to_second", _missing(_whole(6 * np.exp(-0.4 * near(donors.loyalty, 1.2)), 1, 60), gifts == 1)
    yield "gifts_a_year", np.round(12.0 * gifts / months, 3)
    codes = _whole(np.clip(near(donors.loyalty, 0.7) + 2.0, 0, 3.99)).astype(int)
    yield "frequency", _whole(codes + 1)
    yield "amount_class", _text(tuple("ABCDEFG"), np.digitize(average, (2, 3, 5, 10, 15, 25)))
    yield (
        "status",
        _text(("first", "lapsing", "new", "active", "star"), np.minimum(codes + rng.integers(0, 2, codes.size), 4)),
    )
    yield "star", _text(("no", "yes"), (near(donors.loyalty, 0.6) > 0.6).astype(int))
    yield "months_since_largest", _whole(months * rng.random(donors.n_rows))
    yield "first_gift", _dollars(donors.gift * 0.8 * np.exp(0.5 * _normal(rng, donors.n_rows)), rng)


def _person(donors: _Donors, rng: np.random.Generator) -> _Columns:
    """Yield the name and values of 14 columns on the person and the address.

    ``donors`` are the hidden traits on which they depend; ``rng`` is the random number generator.
    """
    n_rows, wealth = donors.n_rows, donors.area[0]
    yield "age", _missing(_whole(62 + 16 * donors.age, 18, 98), rng.random(n_rows) < 0.25)
    income = np.digitize(0.7 * wealth + 0.7 * _normal(rng, n_rows), (-1.2, -0.7, -0.2, 0.2, 0.7, 1.2)) + 1
    yield "income", _missing(_whole(income), rng.random(n_rows) < 0.22)
    yield "wealth", _missing(_whole(np.clip(income + rng.integers(-1, 3, n_rows), 0, 9)), rng.random(n_rows) < 0.46)
    yield "gender", _text(("F", "M", "J"), np.digitize(rng.random(n_rows), (0.54, 0.97)), rng.random(n_rows) < 0.03)
    owns = _normal(rng, n_rows) + 0.5 * wealth > 0.0
    yield "home_owner", _text(("H", "U"), (~owns).astype(int), rng.random(n_rows) < 0.2)
    area = np.digitize(donors.area[1], np.linspace(-2.0, 2.0, 6)) * 7 + np.digitize(wealth, np.linspace(-2.0, 2.0, 6))
    yield "cluster", _text(tuple(f"{k:02d}" for k in range(1, 50)), area)
    states = tuple(f"S{k:02d}" for k in range(1, 51))
    yield "state", _text(states, np.clip(25 + 8 * donors.area[2] + 5 * _normal(rng, n_rows), 0, 49).astype(int))
    sources = tuple(f"L{k:03d}" for k in range(1, 401))
    yield "source", _text(sources, np.minimum(rng.exponential(60.0, n_rows).astype(int), 399))
    yield "title", _text(("NONE", "MR", "MRS", "MISS", "DR"), rng.choice(5, n_rows, p=(0.3, 0.3, 0.25, 0.12, 0.03)))
    yield "children", _missing(_whole(rng.poisson(0.4, n_rows)), rng.random(n_rows) < 0.8)
    yield "mail_orders", _whole(rng.poisson(np.exp(0.3 * donors.age)))
    yield "phone", _text(("no", "yes"), rng.integers(0, 2, n_rows))
    yield "veterans", _whole(30 + 11 * donors.area[3] + 5 * _normal(rng, n_rows), 0, 99)
    yield "urban", _text(("U", "C", "S", "T", "R"), np.digitize(donors.area[1], (-1.0, -0.3, 0.3, 1.0)))


def _campaigns(donors: _Donors, rng: np.random.Generator) -> _Columns:
    """Yield the name and values of four columns on each of 22 earlier campaigns, the last one first.

    ``donors`` are the hidden traits on which they depend; ``rng`` is the random number generator.
    """
    codes = tuple(f"{frequency}{letter}" for frequency in range(1, 5) for letter in "CDEFG")
    frequency = np.digitize(donors.loyalty, (-0.7, 0.1, 0.9))
    for k in range(1, _CAMPAIGNS + 1):
        was_mailed = rng.random(donors.n_rows) < 0.97 - 0.03 * k
        gave = was_mailed & (rng.random(donors.n_rows) < _logistic(-2.2 + 0.55 * donors.loyalty))
        gift = _dollars(donors.gift * np.exp(0.35 * _normal(rng, donors.n_rows)), rng)
        frequencies = np.clip(
            frequency + (rng.random(donors.n_rows) < 0.04 * k) - (rng.random(donors.n_rows) < 0.2), 0, 3
        )
        letter = np.digitize(gift, (5, 10, 15, 25))
        yield f"mailed_{k}", _missing(_whole(30 * k + rng.integers(0, 5, donors.n_rows)), ~was_mailed)
        yield f"rfa_{k}", _text(codes, frequencies * 5 + letter, ~was_mailed)
        yield f"answered_{k}", _missing(_whole(30 * k - rng.integers(1, 28, donors.n_rows)), ~gave)
        yield f"gift_{k}", _missing(gift, ~gave)


def _census(donors: _Donors, rng: np.random.Generator) -> Any:
    """Return a census column, (n_rows,): shares in percent that depend on two random factors of the neighbourhood.

    ``donors`` have these factors; ``rng`` is the random number generator.
    """
    first, second = rng.choice(_FACTORS, 2, replace=False, p=_SHARES)
    size, side = rng.uniform(0.4, 0.95), rng.choice((-1.0, 1.0))
    trait = size * donors.area[first] + rng.uniform(0.0, 0.4) * donors.area[second]
    trait += np.float32(np.sqrt(max(1.1 - size**2, 0.1))) * _normal(rng, donors.n_rows)
    return _whole(100 * _logistic(side * trait + rng.uniform(-2.0, 1.0)), 0, 99)


_SHARES = np.array([0.25, 0.15, *[0.1] * (_FACTORS - 2)])
"""Probabilities with which the factors of a census figure are drawn, (_FACTORS,)."""


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Return standard normal numbers of the given shape.

    ``rng`` is the random number generator.
    """
    return rng.standard_normal(shape, dtype=np.float32)


def _logistic(logit: np.ndarray) -> np.ndarray:
    """Return the probabilities of log odds, 1 / (1 + exp(-``logit``)), elementwise."""
    return np.asarray(1.0 / (1.0 + np.exp(-logit)))


def _dollars(amounts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return amounts (n_rows,) rounded to dollars from 1 to 200.

    A random 85 % are rounded to round sums, the others to whole dollars; ``rng`` is the random number generator.
    """
    middle = np.sqrt(_ROUND_SUMS[1:] * _ROUND_SUMS[:-1])
    sums = np.where(rng.random(amounts.size) < 0.85, _ROUND_SUMS[np.digitize(amounts, middle)], np.round(amounts))
    return np.clip(sums, SMALLEST, LARGEST).astype(np.float64)


def _whole(numbers: Any, low: int = 0, high: int = 30_000) -> np.ndarray:
    """Return numbers as integers, clipped to the range from ``low`` to ``high``."""
    return np.clip(numbers, low, high).astype(np.int16)


def _missing(numbers: np.ndarray, missing: np.ndarray) -> Any:
    """Return a polars series of numbers that is null where the mask ``missing`` is True."""
    import polars as pl

    return pl.Series(numbers).set(pl.Series(missing), None)


def _text(labels: tuple[str, ...], codes: np.ndarray, missing: np.ndarray | None = None) -> Any:
    """Return a polars series of the labels at positions ``codes`` (n_rows,); null where the mask ``missing`` is
    True.
    """
    import polars as pl

    texts = pl.Series(np.asarray(labels, dtype=object).tolist(), dtype=pl.String).gather(
        np.asarray(codes, dtype=np.uint32)
    )
    return texts if missing is None else texts.set(pl.Series(missing), None)

"""Numbers of things and seeds, as what simulates data takes them."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

_DEFAULT_SEED = 0


def as_count(name: str, value: Any, lowest: int) -> int:
    """A whole number of things.

    Raises
    ------
    ValueError
        If it is no whole number, or below ``lowest``.
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < lowest:
        raise ValueError(f"{name} must be a whole number of at least {lowest}, not {value!r}.")
    return int(value)


def as_generator(random_state: Any) -> np.random.Generator:
    """A generator as it is, or one from a seed; None is a fixed seed.

    Raises
    ------
    ValueError
        If it is none of these.
    """
    if random_state is None:
        return np.random.default_rng(_DEFAULT_SEED)
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, Integral) and not isinstance(random_state, bool) and int(random_state) >= 0:
        return np.random.default_rng(int(random_state))
    raise ValueError(
        f"random_state must be None, a whole number of at least 0 or a numpy.random.Generator, not {random_state!r}."
    )

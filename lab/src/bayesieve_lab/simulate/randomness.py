"""Checks of the parameters of simulations: counts and random states."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

_DEFAULT_SEED = 0


def as_count(name: str, value: Any, lowest: int) -> int:
    """Return ``value`` as an int; raise ValueError, which names the parameter ``name``, unless it is at least
    ``lowest``.
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < lowest:
        raise ValueError(f"{name} must be a whole number of at least {lowest}, got {value!r}.")
    return int(value)


def as_generator(random_state: Any) -> np.random.Generator:
    """Return ``random_state`` if it is a generator, or a generator from a seed; None is a fixed seed.

    Raise ValueError for any other value.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    seed = _DEFAULT_SEED if random_state is None else random_state
    if isinstance(seed, Integral) and not isinstance(seed, bool) and int(seed) >= 0:
        return np.random.default_rng(int(seed))
    raise ValueError(
        f"random_state must be None, a whole number of at least 0 or a numpy.random.Generator, got {random_state!r}."
    )

"""Data sets that the papers generated, with the same rows every time."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from bayesieve_lab.simulate import led_display, waveform


def generate(name: str) -> tuple[Any, np.ndarray]:
    """Return features (a polars frame) and text labels (n_rows,) of "led", "led17" or "waveform21".

    The lights and bits of the LED sets are categories "0" and "1".
    """
    if name == "waveform21":
        values, classes = waveform(5000, random_state=20070121)
        names = [f"x{k}" for k in range(1, 22)]
        return pl.DataFrame(values, schema=names), _text(classes)
    rows, n_irrelevant, seed = {"led": (1000, 0, 20070101), "led17": (10_000, 17, 20070117)}[name]
    bits, digits = led_display(rows, n_irrelevant=n_irrelevant, random_state=seed)
    names = [f"led{k}" for k in range(1, 8)] + [f"noise{k}" for k in range(1, n_irrelevant + 1)]
    return pl.DataFrame(bits, schema=names).cast(pl.String), _text(digits)


def _text(codes: np.ndarray) -> np.ndarray:
    """Return integers as an array of text objects."""
    return codes.astype(str).astype(object)

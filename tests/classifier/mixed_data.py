"""A mixed, dirty table with its target, and models of it."""

from __future__ import annotations

import datetime as dt
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from bayesieve import SelectiveNB

N = 200


def _holes(rng: np.random.Generator, values: list[Any], share: float = 0.15) -> list[Any]:
    return [None if rng.random() < share else value for value in values]


@cache
def data() -> dict[str, list[Any]]:
    """Columns of every type, with missing values and odd names; the last one is the class, 0 to 2."""
    rng = np.random.default_rng(21)
    y = rng.integers(0, 3, N)
    day, hour = dt.date(2021, 5, 1), dt.timedelta(hours=1)
    moved = y + (rng.random(N) < 0.25)
    return {
        "âge (années)": _holes(rng, (30 + 8 * y + rng.normal(scale=5, size=N)).tolist()),
        "<script>alert(1)</script>": _holes(rng, [f"ville {'αβγδ'[m]} & co" for m in moved]),
        "membre": _holes(rng, [bool(m % 2) for m in moved]),
        "depuis": _holes(rng, [day + dt.timedelta(days=int(40 * c + rng.integers(60))) for c in y]),
        "à": [dt.datetime(2021, 5, 1, 12) + hour * int(10 * c + rng.integers(15)) for c in y],
        "visites": _holes(rng, [int(v) for v in rng.poisson(1 + 2 * y)]),
        "bruit": rng.normal(size=N).tolist(),
        "vide": [None] * N,
        "class": y.tolist(),
    }


def frame() -> pl.DataFrame:
    return pl.DataFrame({name: values for name, values in data().items() if name != "class"}, strict=False)


def labels(kind: str = "str") -> np.ndarray:
    """The target as text, whole numbers, booleans (two classes) or text objects."""
    y = np.array(data()["class"])
    if kind == "bool":
        return y == 2
    if kind == "int":
        return 10 * y - 10
    texts = np.array(["basse", "élevée", "<b>moyenne</b>"])[y]
    return texts.astype(object) if kind == "object" else texts


@cache
def fitted(selector: str = "compression", kind: str = "str") -> SelectiveNB:
    """A model that tests must not change."""
    return SelectiveNB(selector).fit(frame(), labels(kind))

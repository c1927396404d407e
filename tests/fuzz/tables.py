"""Whole tables: columns of drawn kinds and names, classes that some of them follow, and row weights."""

from __future__ import annotations

import datetime as dt
import decimal
import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from tests.fuzz.case import Case
from tests.fuzz.values import ODD, POOLS

PLAIN = ("float", "rounded", "int", "few", "bool", "letter", "word", "id", "date", "datetime")
"""Kinds of columns that every library holds."""

NAMES = (
    *(
        "",
        " ",
        "a,b",
        '"',
        "'",
        "<script>alert(1)</script>",
        "row",
        "class",
        "été",
        "日本",
        "__class__",
        "\n",
        "{{ 1 }}",
    ),
    *("*", "^x.*$", "=1+1", "x" * 300, "x0", "x1", "0", "nan", "None", "count_0", "prediction", "weight", "a=b"),
    *("a<=1", "\x00", "\ufeffa", "{{ 1 }}"),
)


@dataclass(frozen=True)
class Column:
    """A column as Python values; None, NaN and their like are missing."""

    name: Any
    kind: str
    values: list[Any]


@dataclass(frozen=True)
class Drawn:
    """A table before a library holds it; ``codes`` are the classes of its rows, from 0."""

    columns: tuple[Column, ...]
    codes: np.ndarray

    @property
    def n_rows(self) -> int:
        return self.codes.size

    @property
    def names(self) -> list[Any]:
        return [column.name for column in self.columns]

    def rows(self, positions: Any) -> Drawn:
        """Some of the rows."""
        positions = np.asarray(positions, dtype=int)
        columns = tuple(replace(c, values=[c.values[i] for i in positions]) for c in self.columns)
        return Drawn(columns, self.codes[positions])


LARGE = "BAYESIEVE_FUZZ_LARGE"
"""Environment variable: anything but an empty text for tables of at least 10,000 rows or more than 100 columns."""


def draw_table(case: Case, *, plain: float = 0.3, n_classes: int | None = None, most_rows: int = 3000) -> Drawn:
    """A table; a share ``plain`` of them has only columns that every library holds."""
    n = min(draw_size(case, 1, 60, 300, 3000), most_rows)
    width = draw_size(case, 1, 8, 30, 200)
    if os.environ.get(LARGE):
        is_long = case.chance(0.5)
        n, width = (case.integer(10_000, 30_000), min(width, 10)) if is_long else (n, case.integer(101, 300))
    codes = draw_classes(case, n, n_classes)
    kinds = list(PLAIN) if case.chance(plain) else list(POOLS)
    if width > 30:
        kinds = ["float", "few", "letter"]
    elif not case.chance(0.4):
        kinds = [kind for kind in kinds if kind not in ODD]
    names = draw_names(case, width)
    columns = [draw_column(case, name, case.pick(kinds), codes) for name in names]
    if width > 1 and case.chance(0.1):
        columns[-1] = replace(columns[0], name=names[-1])  # a copy
    return Drawn(tuple(columns), codes)


def draw_task(case: Case, **options: Any) -> tuple[Drawn, Any, Any]:
    """A table, its target, and row weights or None."""
    table = draw_table(case, **options)
    return table, draw_labels(case, table.codes), draw_weights(case, table.codes)


def draw_size(case: Case, least: int, usual: int, large: int, most: int) -> int:
    """Usually small, seldom large."""
    at = case.rng.random()
    if at < 0.9:
        return case.integer(least, usual)
    return case.integer(usual, large) if at < 0.985 else case.integer(large, most)


def draw_classes(case: Case, n: int, n_classes: int | None = None) -> np.ndarray:
    """Codes of the classes: even, rare, one only, or nearly as many as rows."""
    rng = case.rng
    how = case.pick(("even", "even", "even", "rare", "once", "one", "many", "every row"))
    if n_classes is not None or how in ("even", "rare", "once"):
        k = n_classes or int(rng.choice([2, 2, 2, 3, 4, 7]))
        codes = rng.integers(0, k, n)
        if how == "rare":
            codes[rng.random(n) < 0.9] = 0
        elif how == "once":
            codes = np.minimum(codes, k - 2)
            codes[rng.integers(n)] = k - 1
        return codes
    if how == "one":
        return np.zeros(n, dtype=int)
    return rng.permutation(n) if how == "every row" else rng.integers(0, min(n, 60), n)


def draw_names(case: Case, width: int) -> list[Any]:
    """Names: plain, or odd ones."""
    names: list[Any] = [f"x{i}" for i in range(width)]
    if case.chance(0.3):
        for i in range(width):
            if case.chance(0.5):
                other = case.pick(NAMES)
                if other not in names:
                    names[i] = other
    return names


def draw_column(case: Case, name: Any, kind: str, codes: np.ndarray) -> Column:
    """A column that follows the classes or not, with or without missing values."""
    rng, n = case.rng, codes.size
    pool = POOLS[kind](rng, n)
    if case.chance(0.1) and kind in ("letter", "word", "int"):
        pool = pool + [None]
    if kind == "id":
        at = np.arange(n)
    elif case.chance(0.5):
        at = (codes + (rng.random(n) < 0.1)) % len(pool)
    else:
        at = rng.integers(0, len(pool), n)
    missing = rng.random(n) < case.pick((0.0, 0.0, 0.0, 0.05, 0.3, 1.0 if case.chance(0.2) else 0.5))
    values = [None if gone else pool[i] for i, gone in zip(at.tolist(), missing.tolist(), strict=True)]
    return Column(name, kind, values)


def draw_again(case: Case, table: Drawn, *, other_kinds: float = 0.15) -> Drawn:
    """Another table with the same columns, some of them perhaps of another kind, for rows to be predicted."""
    n = case.integer(1, 12)
    codes = case.rng.choice(table.codes, n)
    columns = []
    for column in table.columns:
        kind = case.pick(list(POOLS)) if case.chance(other_kinds) else column.kind
        columns.append(draw_column(case, column.name, kind, codes))
    return Drawn(tuple(columns), codes)


def draw_weights(case: Case, codes: np.ndarray) -> Any:
    """Row weights or None: whole, zeros, tiny, huge, sum 1, on one class, and ones that must be refused."""
    if case.chance(0.6):
        return None
    rng, n = case.rng, codes.size
    whole = rng.integers(1, 4, n).astype(float)
    usual: tuple[Any, ...] = (
        *(whole, whole.astype(int).tolist(), rng.random(n), np.where(rng.random(n) < 0.5, 0.0, whole)),
        *(np.where(codes == codes[0], 1.0, 0.0), whole / whole.sum(), whole * 1e-12, whole * 1e12),
        *(10.0 ** rng.integers(-15, 15, n), rng.random(n) < 0.5, pd.Series(whole), pl.Series(whole), 2.0),
    )
    odd = (
        *(np.where(rng.random(n) < 0.1, np.nan, 1.0), -whole, np.zeros(n), whole[:-1], whole * 1e-305, whole * 1e300),
        *(["1"] * n, np.full((n, 1), 1.0), "balanced", [None] * n, whole.astype(complex)),
    )
    return case.pick(usual if case.chance(0.85) else usual + odd)


def draw_labels(case: Case, codes: np.ndarray) -> Any:
    """The target: the classes as labels of some type, in some container."""
    if case.chance(0.5):
        return [f"class {c}" for c in codes.tolist()] if case.chance(0.5) else codes.copy()
    kinds: list[Callable[[int], Any]] = [
        *(lambda c: f"class {c}", lambda c: c, lambda c: c - 1, lambda c: c % 2 == 1, lambda c: float(c)),
        *(lambda c: "é" * c, lambda c: 2**60 + c, lambda c: 2**63 + c, lambda c: 10**25 + c, lambda c: "\ud800" * c),
        *(lambda c: dt.date(2020, 1, 1) + dt.timedelta(days=c), lambda c: decimal.Decimal(c) / 2, lambda c: (c, 1)),
        *(lambda c: uuid.UUID(int=c), lambda c: pd.Interval(c, c + 1), lambda c: c + 0.5, lambda c: float("inf") * c),
        *(lambda c: None if c == 1 else c, lambda c: "1" if c else 1, lambda c: bytes([c % 256]), lambda c: [c]),
        *(lambda c: None if c == 0 else "a", lambda c: True if c else 1, lambda c: complex(c), lambda c: f"={c}"),
        *(lambda c: 10**30 + c, lambda c: float(2**53 + c), lambda c: pd.NA if c == 1 else str(c)),
        lambda c: "" if c else " ",
    ]
    kind = case.pick(kinds)
    return first_of(case, [kind(c) for c in codes.tolist()])


def first_of(case: Case, values: list[Any]) -> Any:
    """The values in a drawn container that can hold them."""
    containers: list[Callable[[list[Any]], Any]] = [
        *(list, list, np.array, pd.Series, lambda v: pd.Series(v, dtype=object), pl.Series, pa.array, tuple),
        *(lambda v: pd.Series(v, index=range(5, 5 + len(v)), name="target"), lambda v: pd.Series(v, dtype="category")),
        *(lambda v: np.array(v)[:, None], lambda v: pl.DataFrame({"y": v}), lambda v: pa.chunked_array([v, v[:0]])),
        *(lambda v: pd.Series(v).convert_dtypes(), lambda v: np.ma.array(v), lambda v: pl.Series(v, dtype=pl.Object)),
    ]
    try:
        return case.pick(containers)(values)
    except Exception:
        return values
    except BaseException as error:  # a panic of polars
        if type(error).__name__ != "PanicException":
            raise
        return values

"""Values of columns: each kind is a function from a random source and a number of rows to a pool of Python values.

A column draws its rows from a pool, so that a new kind of value is one function here.
"""

from __future__ import annotations

import datetime as dt
import decimal
import fractions
import string
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

Pool = Callable[[np.random.Generator, int], list[Any]]


def _some(rng: np.random.Generator, values: list[Any], most: int = 12) -> list[Any]:
    """A few of the values, in random order."""
    size = int(rng.integers(1, min(len(values), most) + 1))
    return [values[i] for i in rng.choice(len(values), size, replace=False)]


def _extreme(rng: np.random.Generator, n: int) -> list[Any]:
    edge = np.finfo(float)
    values = [0.0, -0.0, 5e-324, -5e-324, 1e-308, float(edge.max), -float(edge.max), 1e300, 1.0, 1 + 2**-52, 2.0**53]
    return _some(rng, [*values, float("inf"), float("-inf"), float("nan")])


def _long(rng: np.random.Generator, n: int) -> list[Any]:
    base = 2 ** int(rng.integers(50, 64))
    return _some(
        rng, [base + int(i) for i in rng.integers(-9, 9, 8)] + [2**63 - 1, -(2**63), 2**53 + 1, 2**53, 2**64 - 1]
    )


def _huge(rng: np.random.Generator, n: int) -> list[Any]:
    base = 10 ** int(rng.integers(19, 38))
    return [base + int(i) for i in rng.integers(-50, 50, int(rng.integers(1, 20)))]


def _far_datetime(rng: np.random.Generator, n: int) -> list[Any]:
    early, late = dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)
    return _some(rng, [early, late, dt.datetime(1677, 1, 1), dt.datetime(2262, 5, 1), dt.datetime(2020, 1, 1)])


def _very_far(rng: np.random.Generator, n: int) -> list[Any]:
    unit = str(rng.choice(["Y", "M", "D", "s", "ms", "us", "ns"]))
    edge = {"Y": 10**6, "M": 10**7, "D": 10**8, "s": 10**13, "ms": 10**16, "us": 2 * 10**18, "ns": 2 * 10**18}[unit]
    return [np.datetime64(int(i), unit) for i in rng.integers(-edge, edge, 5)]


def _zoned(rng: np.random.Generator, n: int) -> list[Any]:
    zones = [dt.UTC, dt.timezone(dt.timedelta(hours=5, minutes=30))]
    zone = zones[int(rng.integers(2))]
    return [dt.datetime(2020, 3, 29, tzinfo=zone) + dt.timedelta(hours=int(h)) for h in rng.integers(0, 99, 9)]


def _odd_decimal(rng: np.random.Generator, n: int) -> list[Any]:
    texts = ["NaN", "sNaN", "Infinity", "-Infinity", "1E+400", "1E-400", "0.1", "12345678901234567890.5", "1", "-0"]
    return _some(rng, [decimal.Decimal(text) for text in texts])


def _one_odd_type(rng: np.random.Generator, n: int) -> list[Any]:
    kinds: list[list[Any]] = [
        [uuid.UUID(int=i) for i in range(5)],
        [fractions.Fraction(i, 3) for i in range(5)],
        [pd.Interval(i, i + 1) for i in range(5)],
        [pd.Period(f"20{i:02d}-01", "M") for i in range(10, 15)],
        [complex(i, 1) for i in range(5)],
        [_Plain(i) for i in range(5)],
        [frozenset({i}) for i in range(5)],
        [np.float16(i / 3) for i in range(5)],
        [pd.Timestamp("2020-01-01") + pd.Timedelta(days=i) for i in range(5)],
    ]
    return kinds[int(rng.integers(len(kinds)))]


def _missing_marks(rng: np.random.Generator, n: int) -> list[Any]:
    marks = [None, float("nan"), pd.NaT, pd.NA, np.datetime64("NaT"), decimal.Decimal("NaN")]
    return [*_some(rng, marks), *_some(rng, ["a", 1, 2.5, True], 2)]


class _Plain:
    """An object that can do nothing but be compared with itself."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"<plain {self.number}>"


_ODD_TEXTS = [
    "",
    " ",
    "\t",
    "a\nb",
    "a,b",
    '"',
    "'",
    "=1+1",
    "@x",
    "-",
    "<script>alert(1)</script>",
    "{{ 1 }}",
    "\x00",
    "\x00a",
] + ["é", "e\u0301", "日本", "\u202eabc", "\ufeff", "x" * 3000, "nan", "None", "<NA>", "NaT", "NULL", "\\N", "?"]
_PLAIN: dict[str, Pool] = {
    "float": lambda rng, n: (rng.normal(size=n) * 10.0 ** rng.integers(-3, 6)).tolist(),
    "rounded": lambda rng, n: np.round(rng.normal(size=n), 1).tolist(),
    "int": lambda rng, n: rng.integers(-50, 1000, n).tolist(),
    "few": lambda rng, n: list(range(int(rng.integers(1, 5)))),
    "bool": lambda rng, n: [True, False],
    "letter": lambda rng, n: _some(rng, list(string.ascii_lowercase)),
    "word": lambda rng, n: [
        "".join(rng.choice(list("abcé日 "), int(rng.integers(0, 7)))) for _ in range(int(rng.integers(1, n + 2)))
    ],
    "id": lambda rng, n: [f"id-{i:05d}" for i in rng.permutation(n)],
    "date": lambda rng, n: [
        dt.date(2000, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(-9000, 9000, min(n, 40))
    ],
    "datetime": lambda rng, n: [
        dt.datetime(2020, 1, 1) + dt.timedelta(seconds=int(s)) for s in rng.integers(-(10**8), 10**8, min(n, 40))
    ],
    "duration": lambda rng, n: [dt.timedelta(seconds=int(s)) for s in rng.integers(-(10**6), 10**6, min(n, 40))],
    "time": lambda rng, n: [dt.time(int(h), int(m), 0, int(u)) for h, m, u in rng.integers(0, 24, (min(n, 40), 3))],
    "constant": lambda rng, n: _some(rng, [0, 1.5, "x", "", True, dt.date(2020, 1, 1), float("inf")], 1),
    "nothing": lambda rng, n: [None],
    "extreme float": _extreme,
    "infinite": lambda rng, n: [float("inf"), float("-inf"), *rng.normal(size=3).tolist()],
    "long int": _long,
    "text numbers": lambda rng, n: _some(
        rng, ["1", "007", "1e3", "1.0", "-0", "NA", "none", "nan", "", " ", "true", "False", "inf", "0x1", "1_0"]
    ),
    "odd text": lambda rng, n: _some(rng, _ODD_TEXTS),
    "zoned datetime": _zoned,
    "decimal": lambda rng, n: [decimal.Decimal(int(i)) / 4 for i in rng.integers(-50, 50, 8)],
    "mixed": lambda rng, n: _some(rng, ["a", "1", 1, 1.0, 2.5, True, False, "", dt.date(2020, 1, 1), "nan", 0, 2**60]),
}
_ODD: dict[str, Pool] = {
    "huge int": _huge,
    "surrogates": lambda rng, n: _some(rng, ["\ud800", "a\udcff", "b", "\udfff\ud800", "c"]),
    "bytes": lambda rng, n: _some(
        rng, [b"a", b"b", b"", b"\xff", b"\xfe", b"\xff\xfe", b"a\x00", "é".encode(), b"\xc3"]
    ),
    "far date": lambda rng, n: _some(
        rng, [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1500, 2, 28), dt.date(2020, 2, 29)]
    ),
    "far datetime": _far_datetime,
    "very far datetime64": _very_far,
    "long duration": lambda rng, n: _some(
        rng, [dt.timedelta.max, dt.timedelta.min, dt.timedelta(days=200_000), dt.timedelta(microseconds=1)]
    ),
    "odd decimal": _odd_decimal,
    "tuple": lambda rng, n: _some(rng, [(1, 2), (1, 3), (), ("a",), (1, "a"), (None,), (float("nan"), 1)]),
    "list": lambda rng, n: _some(rng, [[1, 2], [1, 3], [], [0]]),
    "object": lambda rng, n: _some(
        rng,
        [{"a": 1}, {1, 2}, frozenset({1}), 1j, fractions.Fraction(1, 3), uuid.UUID(int=5), pd.Interval(0, 1), dict]
        + [pd.Period("2020-01", "M"), np.float32(1.5), np.int8(3), np.datetime64("NaT"), np.array([1, 2]), _Plain(1)]
        + [Ellipsis],
    ),
    "one odd type": _one_odd_type,
    "missing marks": _missing_marks,
}
POOLS = _PLAIN | _ODD
ODD = tuple(_ODD)
"""Kinds that a table may well be refused for, or that only some libraries hold."""

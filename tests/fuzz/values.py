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
POOLS: dict[str, Pool] = {}
ODD: list[str] = []
"""Kinds that a table may well be refused for, or that only some libraries hold."""


def _pool(name: str, *, odd: bool = False) -> Callable[[Pool], Pool]:
    def register(function: Pool) -> Pool:
        POOLS[name] = function
        if odd:
            ODD.append(name)
        return function

    return register


def _some(rng: np.random.Generator, values: list[Any], most: int = 12) -> list[Any]:
    """A few of the values, in random order."""
    size = int(rng.integers(1, min(len(values), most) + 1))
    return [values[i] for i in rng.choice(len(values), size, replace=False)]


@_pool("float")
def _float(rng: np.random.Generator, n: int) -> list[Any]:
    return (rng.normal(size=n) * 10.0 ** rng.integers(-3, 6)).tolist()


@_pool("rounded")
def _rounded(rng: np.random.Generator, n: int) -> list[Any]:
    return np.round(rng.normal(size=n), 1).tolist()


@_pool("int")
def _int(rng: np.random.Generator, n: int) -> list[Any]:
    return rng.integers(-50, 1000, n).tolist()


@_pool("few")
def _few(rng: np.random.Generator, n: int) -> list[Any]:
    return list(range(int(rng.integers(1, 5))))


@_pool("bool")
def _bool(rng: np.random.Generator, n: int) -> list[Any]:
    return [True, False]


@_pool("letter")
def _letter(rng: np.random.Generator, n: int) -> list[Any]:
    return _some(rng, list(string.ascii_lowercase))


@_pool("word")
def _word(rng: np.random.Generator, n: int) -> list[Any]:
    return ["".join(rng.choice(list("abcé日 "), int(rng.integers(0, 7)))) for _ in range(int(rng.integers(1, n + 2)))]


@_pool("id")
def _id(rng: np.random.Generator, n: int) -> list[Any]:
    return [f"id-{i:05d}" for i in rng.permutation(n)]


@_pool("date")
def _date(rng: np.random.Generator, n: int) -> list[Any]:
    return [dt.date(2000, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(-9000, 9000, min(n, 40))]


@_pool("datetime")
def _datetime(rng: np.random.Generator, n: int) -> list[Any]:
    return [dt.datetime(2020, 1, 1) + dt.timedelta(seconds=int(s)) for s in rng.integers(-(10**8), 10**8, min(n, 40))]


@_pool("duration")
def _duration(rng: np.random.Generator, n: int) -> list[Any]:
    return [dt.timedelta(seconds=int(s)) for s in rng.integers(-(10**6), 10**6, min(n, 40))]


@_pool("time")
def _time(rng: np.random.Generator, n: int) -> list[Any]:
    return [dt.time(int(h), int(m), 0, int(u)) for h, m, u in rng.integers(0, 24, (min(n, 40), 3))]


@_pool("constant")
def _constant(rng: np.random.Generator, n: int) -> list[Any]:
    return _some(rng, [0, 1.5, "x", "", True, dt.date(2020, 1, 1), float("inf")], 1)


@_pool("nothing")
def _nothing(rng: np.random.Generator, n: int) -> list[Any]:
    return [None]


@_pool("extreme float")
def _extreme(rng: np.random.Generator, n: int) -> list[Any]:
    edge = np.finfo(float)
    values = [0.0, -0.0, 5e-324, -5e-324, 1e-308, float(edge.max), -float(edge.max), 1e300, 1.0, 1 + 2**-52, 2.0**53]
    return _some(rng, [*values, float("inf"), float("-inf"), float("nan")])


@_pool("infinite")
def _infinite(rng: np.random.Generator, n: int) -> list[Any]:
    return [float("inf"), float("-inf"), *rng.normal(size=3).tolist()]


@_pool("long int")
def _long(rng: np.random.Generator, n: int) -> list[Any]:
    base = 2 ** int(rng.integers(50, 64))
    return _some(
        rng, [base + int(i) for i in rng.integers(-9, 9, 8)] + [2**63 - 1, -(2**63), 2**53 + 1, 2**53, 2**64 - 1]
    )


@_pool("huge int", odd=True)
def _huge(rng: np.random.Generator, n: int) -> list[Any]:
    base = 10 ** int(rng.integers(19, 38))
    return [base + int(i) for i in rng.integers(-50, 50, int(rng.integers(1, 20)))]


@_pool("text numbers")
def _text_numbers(rng: np.random.Generator, n: int) -> list[Any]:
    return _some(
        rng, ["1", "007", "1e3", "1.0", "-0", "NA", "none", "nan", "", " ", "true", "False", "inf", "0x1", "1_0"]
    )


@_pool("odd text")
def _odd_text(rng: np.random.Generator, n: int) -> list[Any]:
    return _some(
        rng,
        [
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
        ]
        + ["é", "é", "日本", "\u202eabc", "\ufeff", "x" * 3000, "nan", "None", "<NA>", "NaT", "NULL", "\\N", "?"],
    )


@_pool("surrogates", odd=True)
def _surrogates(rng: np.random.Generator, n: int) -> list[Any]:
    return _some(rng, ["\ud800", "a\udcff", "b", "\udfff\ud800", "c"])


@_pool("bytes", odd=True)
def _bytes(rng: np.random.Generator, n: int) -> list[Any]:
    return _some(rng, [b"a", b"b", b"", b"\xff", b"\xfe", b"\xff\xfe", b"a\x00", "é".encode(), b"\xc3"])


@_pool("far date", odd=True)
def _far_date(rng: np.random.Generator, n: int) -> list[Any]:
    return _some(rng, [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1500, 2, 28), dt.date(2020, 2, 29)])


@_pool("far datetime", odd=True)
def _far_datetime(rng: np.random.Generator, n: int) -> list[Any]:
    early, late = dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)
    return _some(rng, [early, late, dt.datetime(1677, 1, 1), dt.datetime(2262, 5, 1), dt.datetime(2020, 1, 1)])


@_pool("very far datetime64", odd=True)
def _very_far(rng: np.random.Generator, n: int) -> list[Any]:
    unit = str(rng.choice(["Y", "M", "D", "s", "ms", "us", "ns"]))
    edge = {"Y": 10**6, "M": 10**7, "D": 10**8, "s": 10**13, "ms": 10**16, "us": 2 * 10**18, "ns": 2 * 10**18}[unit]
    return [np.datetime64(int(i), unit) for i in rng.integers(-edge, edge, 5)]


@_pool("zoned datetime")
def _zoned(rng: np.random.Generator, n: int) -> list[Any]:
    zones = [dt.UTC, dt.timezone(dt.timedelta(hours=5, minutes=30))]
    zone = zones[int(rng.integers(2))]
    return [dt.datetime(2020, 3, 29, tzinfo=zone) + dt.timedelta(hours=int(h)) for h in rng.integers(0, 99, 9)]


@_pool("long duration", odd=True)
def _long_duration(rng: np.random.Generator, n: int) -> list[Any]:
    return _some(rng, [dt.timedelta.max, dt.timedelta.min, dt.timedelta(days=200_000), dt.timedelta(microseconds=1)])


@_pool("decimal")
def _decimal(rng: np.random.Generator, n: int) -> list[Any]:
    return [decimal.Decimal(int(i)) / 4 for i in rng.integers(-50, 50, 8)]


@_pool("odd decimal", odd=True)
def _odd_decimal(rng: np.random.Generator, n: int) -> list[Any]:
    texts = ["NaN", "sNaN", "Infinity", "-Infinity", "1E+400", "1E-400", "0.1", "12345678901234567890.5", "1", "-0"]
    return _some(rng, [decimal.Decimal(text) for text in texts])


@_pool("mixed")
def _mixed(rng: np.random.Generator, n: int) -> list[Any]:
    return _some(rng, ["a", "1", 1, 1.0, 2.5, True, False, "", dt.date(2020, 1, 1), "nan", 0, 2**60])


@_pool("tuple", odd=True)
def _tuple(rng: np.random.Generator, n: int) -> list[Any]:
    return _some(rng, [(1, 2), (1, 3), (), ("a",), (1, "a"), (None,), (float("nan"), 1)])


@_pool("list", odd=True)
def _list(rng: np.random.Generator, n: int) -> list[Any]:
    return _some(rng, [[1, 2], [1, 3], [], [0]])


@_pool("object", odd=True)
def _object(rng: np.random.Generator, n: int) -> list[Any]:
    return _some(
        rng,
        [
            {"a": 1},
            {1, 2},
            frozenset({1}),
            1j,
            fractions.Fraction(1, 3),
            uuid.UUID(int=5),
            pd.Interval(0, 1),
            Ellipsis,
            dict,
        ]
        + [pd.Period("2020-01", "M"), np.float32(1.5), np.int8(3), np.datetime64("NaT"), np.array([1, 2]), _Plain(1)],
    )


@_pool("one odd type", odd=True)
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


@_pool("missing marks", odd=True)
def _missing_marks(rng: np.random.Generator, n: int) -> list[Any]:
    marks = [None, float("nan"), pd.NaT, pd.NA, np.datetime64("NaT"), decimal.Decimal("NaN")]
    return [*_some(rng, marks), *_some(rng, ["a", 1, 2.5, True], 2)]


class _Plain:
    """An object that can do nothing but be compared with itself."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"<plain {self.number}>"

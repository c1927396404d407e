"""Models of every kind to be exported, and rows that are hard on exports: what any target must agree on."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from bayesieve import IndicatorEncoder, SelectiveNB, TableEncoder

N = 400
SCORED = 150
DAY, NOON = dt.date(2021, 3, 1), dt.datetime(2021, 3, 1, 12, 0, 0, 123)
ODD = ['a "quoted" name', "it's", "select", "x;y--", "%s {0}", "日本", "<b>&amp;", "tab\there", "1st", "A", "a"]
TEXTS = ["a", " a", "b ", "", "  ", "c", "é", "1", "01", "it's", 'say "hi"', "A", "<&>", "null", "*~?", "\U0001f600"]


def table(y: np.ndarray, seed: int = 0) -> pl.DataFrame:
    """Columns of every type that depend on the classes, with missing values."""
    rng = np.random.default_rng(seed)

    def moved(n: int) -> list[int]:
        return (rng.integers(0, n, y.size) + n // 2 * y).tolist()

    columns: dict[str, Any] = {
        "number": np.where(rng.random(y.size) < 0.1, np.nan, rng.normal(y)),
        "whole": pl.Series(moved(6), dtype=pl.Int64),
        "text": [TEXTS[v] for v in moved(8)],
        "yes": [v > 3 for v in moved(5)],
        "day": [DAY + dt.timedelta(days=v) for v in moved(200)],
        "moment": [NOON + dt.timedelta(minutes=v) for v in moved(900)],
        "hour": [dt.time(v % 24, v % 60, v % 7) for v in moved(30)],
    }
    frame = pl.DataFrame(columns)
    return frame.with_columns(
        pl.when(pl.Series(rng.random(y.size) < 0.1)).then(None).otherwise(pl.col(name)).alias(name)
        for name in frame.columns
        if name != "hour"
    )


def _classes(n: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, n, N)


def _all_kinds(n_classes: int = 2, labels: Any = None, **options: Any) -> tuple[SelectiveNB, pl.DataFrame]:
    y = _classes(n_classes)
    frame = table(y)
    return SelectiveNB(**options).fit(frame, y if labels is None else np.array(labels)[y]), frame


def _surfaces(**options: Any) -> tuple[SelectiveNB, pl.DataFrame]:
    rng = np.random.default_rng(2)
    a, b, c = rng.normal(size=(3, 3000))
    word = rng.choice(list("uvwx"), 3000)
    odds = 2 * np.sin(2 * a) * b + c + 1.5 * (word == "u") * np.sign(a)
    y = rng.random(3000) < 1 / (1 + np.exp(-odds))
    frame = pl.DataFrame({"a": a, "b": b, "c": np.where(rng.random(3000) < 0.05, np.nan, c), "word": word})
    return SelectiveNB(**options).fit(frame, np.where(y, "yes", "no")), frame[:N]


def _special() -> tuple[SelectiveNB, pl.DataFrame]:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 2 * N)
    income = rng.normal(50 + 10 * y, 10)
    income[rng.random(2 * N) < 0.1 + 0.1 * y] = -999.0
    income[rng.random(2 * N) < 0.05] = -99.0
    frame = pl.DataFrame({"income": income, "age": rng.integers(18, 60, 2 * N) + 10 * y})
    rules = {"income": {"special": {"refused": -999, "unknown": -99}}, "age": {"monotone": 1}}
    return SelectiveNB(levels=rules).fit(frame, y), frame


def _neutral() -> tuple[SelectiveNB, pl.DataFrame]:
    """Levels without training rows, and values in no level that are neutral."""
    rng = np.random.default_rng(5)
    y = (rng.random(2 * N) < 0.2).astype(int)
    frame = pl.DataFrame(
        {
            "income": rng.normal(50 + 10 * y, 10),
            "word": np.where(rng.random(2 * N) < 0.3 + 0.4 * y, "u", "v"),
            "age": pl.Series(rng.integers(18, 60, 2 * N) + 10 * y).set(pl.Series(rng.random(2 * N) < 0.3), None),
        }
    )
    rules = {
        "income": {"special": [-999], "missing": "apart", "cuts": [-50, 40, 55, 200]},
        "word": {"groups": [["u"], ["v"], ["w"]]},
        "age": {"missing": "unseen"},
    }
    return SelectiveNB(levels=rules).fit(frame, y), frame


def _indicators() -> tuple[SelectiveNB, pl.DataFrame]:
    y = _classes(2)
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({"s": np.where(rng.random(N) < 0.1, np.nan, rng.normal(y)), "t": rng.normal(-y)})
    return SelectiveNB(encoder=IndicatorEncoder([-1.0, 0.0, 0.5, 1.0])).fit(frame, y), frame


def _numbers() -> tuple[SelectiveNB, pl.DataFrame]:
    y = _classes(2)
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({name: y + sign * rng.normal(size=N) for name, sign in (("a", 1), ("b", -1), ("c", 1))})
    model = SelectiveNB("all", pairs=0).fit(frame, y)
    return model, frame.with_columns(pl.when(pl.int_range(N) % 9 == 0).then(None).otherwise("a").alias("a"))


def _codes() -> tuple[SelectiveNB, pl.DataFrame]:
    y = _classes(2)
    rng = np.random.default_rng(6)
    frame = pl.DataFrame(
        {
            "id": pl.Series((2**60 + rng.integers(0, 5, N) + 2 * y).tolist(), dtype=pl.Int64),
            "code": pl.Series((rng.integers(0, 5, N) + 2 * y).tolist(), dtype=pl.Int64),
            "rate": ((rng.integers(0, 5, N) + 2 * y) / 10).tolist(),
        }
    )
    kinds = dict.fromkeys(frame.columns, "categorical")
    return SelectiveNB(encoder=TableEncoder(kinds=kinds)).fit(frame, y), frame


def _odd_names() -> tuple[SelectiveNB, pl.DataFrame]:
    y = _classes(2)
    rng = np.random.default_rng(7)
    frame = pl.DataFrame({name: rng.normal(y, 1.5).round(2) for name in ODD})
    return SelectiveNB().fit(frame, np.array(["it's", 'n"o'])[y]), frame


def _nothing() -> tuple[SelectiveNB, pl.DataFrame]:
    frame = pl.DataFrame({"noise": np.random.default_rng(8).normal(size=N)})
    return SelectiveNB().fit(frame, _classes(2)), frame


def _durations() -> tuple[SelectiveNB, pl.DataFrame]:
    y = _classes(2)
    took = [dt.timedelta(milliseconds=int(v)) for v in np.random.default_rng(9).integers(0, 900, N) + 400 * y]
    return SelectiveNB().fit(frame := pl.DataFrame({"took": took}), y), frame


def _far_numbers() -> tuple[SelectiveNB, pl.DataFrame]:
    """Numbers near the largest and smallest of all, with several cuts each, and special values beside them."""
    y = _classes(2)
    rng = np.random.default_rng(10)
    steps = rng.integers(0, 40, (5, N)).astype(float)
    y = np.where(rng.random(N) < 0.2, y, (steps // 8).sum(axis=0) % 2 < 1).astype(int)
    scale = np.array([4e306, 1e300, 1e-300, 5e-324])[:, None]
    far = (steps[:4] - [[20], [0], [0], [0]] + (y == 1) * 9 * (steps[:4] // 8 % 2)) * scale
    columns = dict(zip(["largest", "huge", "tiny", "denormal"], far, strict=True))
    frame = pl.DataFrame({**columns, "special": np.where(steps[4] < 8, -999.0, far[1])})
    rules = {"special": {"special": {"refused": -999}}}
    return SelectiveNB("all", levels=rules, pairs=0).fit(frame, y), frame


def _labelled() -> tuple[SelectiveNB, pl.DataFrame]:
    model, frame = _all_kinds(labels=["bad", "good"])
    return model.with_labels({"number": {"name": "Ratio", "unit": "%"}, "text": "Word"}), frame


CASES: dict[str, Callable[[], tuple[SelectiveNB, pl.DataFrame]]] = {
    "all kinds": _all_kinds,
    "all kinds, three classes": lambda: _all_kinds(3, ["low", "it's", "<high>"]),
    "levels": lambda: _all_kinds(calibrate="levels", pairs=0),
    "booleans": lambda: _all_kinds(labels=[False, True], positive=False),
    "surfaces": _surfaces,
    "special values": _special,
    "neutral values": _neutral,
    "indicators": _indicators,
    "numbers": _numbers,
    "codes": _codes,
    "odd names": _odd_names,
    "nothing": _nothing,
    "durations": _durations,
    "labelled": _labelled,
    "far numbers": _far_numbers,
}


@cache
def case(name: str) -> tuple[SelectiveNB, pl.DataFrame]:
    """A fitted model, which tests must not change, and a frame of some of its rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, frame = CASES[name]()
    return model, frame[:SCORED]


def hostile(model: SelectiveNB, frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of which each has one value that is hard on exports; none is infinite."""
    rows: list[dict[str, Any]] = []
    first = frame.row(0, named=True)
    for name, dtype in frame.schema.items():
        rows += [{**first, name: value} for value in _hard_values(model, name, dtype)]
    return pl.DataFrame(rows, schema=frame.schema)


def _hard_values(model: SelectiveNB, name: str, dtype: pl.DataType) -> Iterable[Any]:
    levels = {level.name: level for feature in model.scorecard_.features for level in feature.cells.by_column}
    level = levels.get(name)
    cuts = [] if level is None or level.cut_points is None else level.number_cuts.tolist()
    if dtype == pl.Float64:
        near = [own for cut in cuts for own in (cut, np.nextafter(cut, -np.inf), np.nextafter(cut, np.inf))]
        return [None, float("nan"), -0.0, 0.0, 5e-324, 1e300, -1e300, 2.0**63, -999.0, 0.1 + 0.2, *near]
    if dtype == pl.Int64:
        whole = [int(v) for group in (level.groups if level and level.groups else ()) for v in group if v is not None]
        return [None, 0, -1, 2**53, 2**53 + 1, 2**60 + 1, 2**63 - 1, -(2**63), *whole, *(int(cut) for cut in cuts)]
    if dtype == pl.String:
        known = [v for group in (level.groups if level and level.groups else ()) for v in group if v is not None]
        odd = [None, "", " ", "\t", "\u3000", "NULL", "NaN", "unseen", "' OR 1=1 --", "\\", "a\nb", "é", "e\u0301"]
        return odd + [form for text in known for form in (text, f" {text}", f"{text} ", text.upper(), text.lower())]
    if dtype == pl.Boolean:
        return [None, True, False]
    if dtype == pl.Date:
        return [None, dt.date(1970, 1, 1), dt.date(1900, 2, 28), dt.date(2262, 1, 1)]
    if isinstance(dtype, pl.Datetime):
        exact = [dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=int(cut)) for cut in cuts]
        return [None, dt.datetime(1970, 1, 1), dt.datetime(1900, 2, 28, 23, 59, 59), dt.datetime(2262, 1, 1), *exact]
    if dtype == pl.Time:
        return [None, dt.time(0), dt.time(23, 59, 59, 999999)]
    if isinstance(dtype, pl.Duration):
        return [None, dt.timedelta(0), dt.timedelta(days=-3), dt.timedelta(days=400)]
    raise AssertionError(f"no hard values of {dtype}")


def probabilities(model: SelectiveNB, frame: pl.DataFrame) -> np.ndarray:
    """What every export has to give."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(model.predict_proba(frame))


def check(name: str, score: Callable[[SelectiveNB, pl.DataFrame], Any], tolerance: float = 1e-12) -> None:
    """Compare an export, as a function of a model and of rows, with the model on its own and on hostile rows."""
    model, frame = case(name)
    for rows in (frame, hostile(model, frame)):
        expected, ours = probabilities(model, rows), np.asarray(score(model, rows), dtype=float)
        worst = int(np.argmax(np.abs(expected - ours).max(axis=1)))
        message = f"row {rows.row(worst, named=True)}: {expected[worst]} expected, got {ours[worst]}"
        np.testing.assert_allclose(ours, expected, rtol=0, atol=tolerance, err_msg=message)

"""The smallest changes against all changes there are, one after another, on raw values."""

from __future__ import annotations

import tracemalloc
from datetime import date, timedelta
from functools import cache
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve import IndicatorEncoder, SelectiveNB, TableEncoder
from bayesieve.table.pair_levels import PairLevels
from tests.cases import mostly_slow

N_ROWS = 200


def rows(n_classes: int, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    """Numbers, some missing, categories, truth values and dates; the first two and two others interact."""
    rng = np.random.default_rng(seed)
    n = 700
    a, b, c = rng.normal(size=n).round(1), rng.normal(size=n).round(1), rng.choice(list("pqrst"), n)
    d, e = rng.random(n) < 0.4, rng.integers(0, 400, n)
    log_odds = np.where(a > 0.3, 1.5 * b, -1.2 * b) + 2.0 * (c == "p") - 1.5 * ((c == "t") & d) + 0.004 * (e - 200)
    noise = rng.logistic(size=n)
    y = np.digitize(log_odds + noise, [-1.0, 1.0] if n_classes == 3 else [0.0])
    frame = pl.DataFrame(
        {
            "a": a,
            "b": pl.Series(b).set(pl.Series(rng.random(n) < 0.1), None),
            "c": pl.Series(c).set(pl.Series(rng.random(n) < 0.1), None),
            "d": d,
            "e": [date(2024, 1, 1) + timedelta(days=int(day)) for day in e],
        }
    )
    return frame, np.array(["low", "middle", "top"])[y]


PAIRS = [["b", "a"], ["c", "d"], ["a", "c"]]
MODELS: dict[str, dict[str, Any]] = {
    "cells": {"pairs": PAIRS},
    "levels": {"pairs": PAIRS, "calibrate": "levels"},
    "weights": {"pairs": PAIRS, "calibrate": "weights"},
    "counted": {"pairs": PAIRS, "calibrate": False},
    "columns": {"pairs": 0},
    "ignored": {"encoder": TableEncoder(missing="ignore")},
}


@cache
def fitted(name: str, n_classes: int) -> tuple[SelectiveNB, pl.DataFrame]:
    X, y = rows(n_classes)
    model = SelectiveNB(random_state=0, n_jobs=1, **MODELS[name]).fit(X.drop("e") if n_classes == 3 else X, y)
    if name in ("cells", "levels", "counted"):
        assert any(model.scorecard_[feature].kind == "pair" for feature in model.selected_features_)
    return model, X.drop("e") if n_classes == 3 else X


def values_of(model: SelectiveNB, column: str) -> tuple[list[Any], list[float]]:
    """A value of every part of a column that features tell apart, and the cuts between them (none of categories)."""
    card = model.scorecard_
    used = [card.features[k].cells for k in card.used.tolist()]
    parts = [part for cells in used for part in (cells.parts if isinstance(cells, PairLevels) else (cells,))]
    own = [part for part in parts if part.column == column]
    if not own:
        return [], []
    if own[0].groups is not None:
        values = {value for part in own for group in part.groups or () for value in group if value is not None}
        return sorted(values, key=str), []
    cuts = sorted({cut for part in own for cut in np.asarray(part.cut_points).tolist() if np.isfinite(cut)})
    if not cuts:
        return [0.0], []
    inner = [(low + high) / 2 for low, high in pairwise(cuts)]
    return [cuts[0] - 1.0, *inner, cuts[-1] + 1.0], cuts


def part_of(value: Any, cuts: list[float]) -> int | None:
    return None if value is None else int(np.searchsorted(cuts, value, side="left"))


class Oracle:
    """All changes of a row of numbers of days and raw values, by the predictions of the changed rows."""

    def __init__(self, model: SelectiveNB, X: pl.DataFrame, **options: Any) -> None:
        self.model, self.options = model, options
        self.dates = [name for name in X.columns if X[name].dtype == pl.Date]
        self.X = X.with_columns(pl.col(name).cast(pl.Int32).cast(pl.Float64) for name in self.dates)
        fixed = options.get("fixed", ())
        self.values = {name: values_of(model, name) for name in X.columns if name not in fixed}

    def predict(self, table: pl.DataFrame) -> np.ndarray:
        """Probabilities; half a day is read as a moment by the scorecard only through numbers, so codes are taken."""
        whole = table.with_columns(
            (pl.col(name) * 86_400_000_000).cast(pl.Int64).cast(pl.Datetime("us")) for name in self.dates
        )
        return self.model.predict_proba(whole)

    def moves(self, row: dict[str, Any], name: str) -> list[tuple[Any, int]]:
        values, cuts = self.values[name]
        own, sign = row[name], self.options.get("directions", {}).get(name, 0)
        if not cuts:
            return [(value, 1) for value in values if value != own and not (sign and own is None) and len(values) > 1]
        at = part_of(own, cuts)
        if at is None:
            return [] if sign else [(value, 1) for value in values]
        return [(v, abs(i - at)) for i, v in enumerate(values) if i != at and (not sign or (i - at) * sign > 0)]

    def best(self, row: dict[str, Any], wanted: Any) -> tuple[float, int, float] | None:
        """Cost, steps and certainty of the best; ``wanted`` says which probabilities are as wanted, and how sure."""
        costs = self.options.get("costs", {})
        changed, prices = [], []
        for k in range(1, self.options.get("max_changes", 3) + 1):
            for names in combinations(self.values, k):
                for moves in product(*(self.moves(row, name) for name in names)):
                    changed.append(row | {n: value for n, (value, _) in zip(names, moves, strict=True)})
                    prices.append((sum(costs.get(n, 1.0) for n in names), sum(steps for _, steps in moves)))
        if not changed:
            return None
        fine, sure = wanted(self.predict(pl.DataFrame(changed, schema=self.X.schema)))
        options = [(*prices[i], -round(float(sure[i]), 7)) for i in np.flatnonzero(fine).tolist()]
        return min(options, default=None)


def wanted_class(of: list[int], least: float | None = None) -> Any:
    def judge(probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        best, sure = probability.argmax(axis=1), probability[:, of]
        if least is not None:
            return sure[:, 0] >= least, sure[:, 0]
        return np.isin(best, of), probability.max(axis=1)

    return judge


CASES: list[tuple[str, int, dict[str, Any], Any]] = [
    *[(name, 2, {}, None) for name in MODELS],
    ("cells", 2, {"fixed": ["a"], "max_changes": 2}, None),
    ("cells", 2, {"directions": {"b": 1, "e": -1}, "costs": {"c": 2.5, "d": 0.5}}, None),
    ("cells", 2, {"target": "middle", "probability": 0.8}, wanted_class([1], 0.8)),
    ("levels", 2, {"probability": 0.3}, wanted_class([1], 0.3)),
    ("levels", 3, {"max_changes": 2}, None),
    ("cells", 3, {"max_changes": 2, "costs": {"c": 3.0}}, None),
    ("levels", 3, {"target": "middle", "probability": 0.34, "max_changes": 2}, wanted_class([1], 0.34)),
    ("levels", 3, {"target": "top", "max_changes": 2}, wanted_class([2])),
]


@pytest.mark.parametrize(("name", "n_classes", "options", "judge"), mostly_slow(CASES, [CASES[3], CASES[9], CASES[13]]))
def test_options_are_the_best_of_all_changes(name: str, n_classes: int, options: dict[str, Any], judge: Any) -> None:
    model, X = fitted(name, n_classes)
    X = X[: N_ROWS if name == "levels" or options.get("max_changes", 3) < 3 else 20]
    found = model.counterfactuals(X, **options)
    predicted = model.predict_proba(X)
    oracle = Oracle(model, X, **options)
    assert found["row"].n_unique() > 0
    for row, own in enumerate(oracle.X.iter_rows(named=True)):
        now = int(predicted[row].argmax())
        wanted = judge or wanted_class([j for j in range(n_classes) if j != now])
        changes = found.filter(pl.col("row") == row)
        is_there = bool(wanted(predicted[row : row + 1])[0][0])
        best = None if is_there else oracle.best(own, wanted)
        if best is None:
            assert changes.height == 0
            continue
        new = dict(own)
        cost, steps = 0.0, 0
        for change in changes.iter_rows(named=True):
            column, (_, cuts) = change["column"], oracle.values[change["column"]]
            if change["values"] is not None:
                texts = {str(v).lower(): v for v in oracle.values[column][0]}
                new[column] = texts[change["values"][0].lower()]
                steps += 1
            else:
                low, high = change["low"], change["high"]
                new[column] = high if np.isfinite(high) else low + 1.0
                at, to = part_of(own[column], cuts), part_of(new[column], cuts)
                steps += 1 if at is None or to is None else abs(at - to)
            cost += options.get("costs", {}).get(column, 1.0)
        after = oracle.predict(pl.DataFrame([new], schema=oracle.X.schema))[0]
        label = model.classes_.tolist().index(changes["class"][0])
        assert changes["probability"].to_list() == pytest.approx([after[label]] * changes.height, abs=1e-9)
        assert (cost, steps) == best[:2]
        if n_classes == 2:
            assert after[label] == pytest.approx(-best[2], abs=2e-7)


def test_indicators_move_between_thresholds() -> None:
    X, y = rows(2)
    X = X.select("a", pl.col("b").fill_null(0.0))
    model = SelectiveNB(encoder=IndicatorEncoder(7), random_state=0, calibrate="weights").fit(X, y)
    found = model.counterfactuals(X[:100])
    assert found.height > 0
    for (row,), changes in found.group_by("row"):
        new = X[int(str(row))].row(0, named=True)
        for change in changes.iter_rows(named=True):
            new[change["column"]] = change["high"] if np.isfinite(change["high"]) else change["low"] + 1.0
        after = model.predict_proba(pl.DataFrame([new]))[0]
        assert after[model.classes_.tolist().index(change["class"])] == pytest.approx(change["probability"], abs=1e-9)


def test_options_are_for_different_columns() -> None:
    model, X = fitted("cells", 2)
    found = model.counterfactuals(X[:30], n=4)
    assert found["option"].max() > 1
    first = found.filter(pl.col("option") == 1).drop("option")
    assert first.equals(model.counterfactuals(X[:30]).drop("option"))
    for _, of_row in found.group_by("row"):
        sets = [set(option["column"]) for _, option in of_row.group_by("option")]
        assert all(not one <= other for one in sets for other in sets if one is not other)


def test_single_rows_and_unseen_values() -> None:
    model, X = fitted("levels", 2)
    row = X.row(0, named=True)
    whole = model.counterfactuals(X[:1])
    assert model.counterfactuals(row).equals(whole)
    others = model.counterfactuals(X[:20], fixed=["a"])  # which is half of two pairs
    assert others.height > 0
    assert "a" not in others["column"].to_list()
    odd = model.counterfactuals(X[:20].with_columns(c=pl.lit("new")))
    moved = odd.filter(pl.col("column") == "c")
    assert set(moved["from"]) <= {"(not seen in training)"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 0}, "n must"),
        ({"max_changes": 4}, "max_changes"),
        ({"probability": 1.0}, "probability"),
        ({"target": "none"}, "one of 'low', 'middle'"),
        ({"fixed": ["z"]}, "'z'"),
        ({"costs": {"a": 0}}, "'a'"),
        ({"directions": {"a": 2}}, "'a'"),
        ({"directions": {"c": 1}}, "'c'"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], words: str) -> None:
    model, X = fitted("levels", 2)
    with pytest.raises(ValueError, match=words):
        model.counterfactuals(X[:1], **options)


def test_changes_to_a_large_group_share_one_list_in_pandas() -> None:
    names = [f"category {i}" for i in range(400)]
    X, y = pl.DataFrame({"c": names}).to_pandas(), np.array(["low", "high"] * 200)
    model = SelectiveNB(levels={"c": {"groups": [names[::2], names[1::2]]}}, n_jobs=1).fit(X, y)
    model.counterfactuals(X[:1])
    tracemalloc.start()
    try:
        changes = model.counterfactuals(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert changes["values"].tolist() == [names[1::2], names[::2]] * 200
    assert peak < 1 << 20  # 0.2 MB, and 5.7 MB if each of the 400 rows has a list of 200 texts of its own
    plain = model.counterfactuals(pl.from_pandas(X))["values"]
    assert plain.dtype == pl.List(pl.String)
    assert plain.to_list() == changes["values"].tolist()


def test_memory_is_linear_in_the_number_of_categories() -> None:
    names = [f"category {i}" for i in range(900)]
    X, y = pl.DataFrame({"c": names * 2}), np.array(["low", "high", "high"] * 600)
    model = SelectiveNB(encoder=TableEncoder(categorical="values"), calibrate=False, n_jobs=1).fit(X, y)
    model.counterfactuals(X[:1])
    tracemalloc.start()
    try:
        assert len(model.counterfactuals(X[:900])) == 900
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20  # 13 MB if the moves from all categories are kept

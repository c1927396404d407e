"""Reasons against contributions of columns that are added up here, cell by cell."""

from __future__ import annotations

import datetime as dt
import re
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve import IndicatorEncoder, SelectiveNB
from tests.scorecard.exported import case
from tests.scorecard.test_counterfactuals import rows


@cache
def fitted(n_classes: int, kind: str = "pairs") -> tuple[SelectiveNB, pl.DataFrame]:
    X, y = rows(n_classes)
    X = X.drop("e")
    options: dict[str, Any] = {"pairs": [["a", "b"], ["c", "d"]]}
    if kind == "indicators":
        X, options = X.select("a", "b"), {"encoder": IndicatorEncoder(9)}
    return SelectiveNB(random_state=0, n_jobs=1, **options).fit(X, y), X


def by_columns(model: SelectiveNB, X: pl.DataFrame, against: str, score: Any) -> dict[tuple[int, str], float]:
    """For each row and column the sum of its shares of what features add to a score of contributions."""
    card, sums = model.scorecard_, {}
    codes = card.cells(X)
    for k, own in zip(card.used.tolist(), codes, strict=True):
        feature = card.features[k]
        best = max(score(line, 0) for line in feature.contributions) if against == "best" else 0.0
        for row, code in enumerate(own.tolist()):
            line = feature.unseen if code == len(feature.contributions) else feature.contributions[code]
            for column in feature.columns:
                share = (score(line, row) - best) / len(feature.columns)
                sums[row, column] = sums.get((row, column), 0.0) + share
    return sums


@pytest.mark.parametrize("against", ["mean", "best"])
@pytest.mark.parametrize(("n_classes", "kind", "of"), [(2, "pairs", 1), (2, "pairs", 0), (3, "pairs", 2)])
def test_columns_share_what_features_add(n_classes: int, kind: str, of: int, against: Any) -> None:
    model, X = fitted(n_classes, kind)
    X = X[:150].with_columns(pl.lit(None, pl.Float64).alias("a")) if against == "best" else X[:150]
    others = [j for j in range(n_classes) if j != of]
    sums = by_columns(model, X, against, lambda line, _: line[of] - np.mean(line[others]))
    every = model.reasons(X, None, against, model.classes_[of])
    expected = {key: value for key, value in sums.items() if round(value, 9) < 0}
    found = {(row, column): value for row, _, column, _, value in every.iter_rows()}
    assert found == pytest.approx(expected, abs=1e-12)
    order = list(X.columns)
    for (row,), reasons in every.group_by("row", maintain_order=True):
        ranked = sorted((round(sums[key], 9), order.index(key[1])) for key in expected if key[0] == row)
        assert reasons["column"].to_list() == [order[at] for _, at in ranked]
        assert reasons["rank"].to_list() == list(range(1, reasons.height + 1))
    assert model.reasons(X, 2, against, model.classes_[of]).equals(every.filter(pl.col("rank") <= 2))


def test_all_columns_add_up_to_the_log_odds_less_the_reference() -> None:
    model, X = fitted(2)
    card = model.scorecard_
    joint, base = model.scorecard_.joint(X), card.intercept
    towards = by_columns(model, X[:50], "mean", lambda line, _: line[1] - line[0])
    for row in range(50):
        whole = sum(value for (at, _), value in towards.items() if at == row)
        assert whole == pytest.approx(joint[row, 1] - joint[row, 0] - base[1] + base[0], abs=1e-10)
    best = model.reasons(X[:50], None, "best").group_by("row").agg(pl.col("contribution").sum()).sort("row")
    most = sum(float((f.contributions[:, 1] - f.contributions[:, 0]).max()) for f in card.features if f.is_used)
    assert best["contribution"].to_numpy() == pytest.approx((joint[:50, 1] - joint[:50, 0] - base[1] + base[0]) - most)


def test_of_several_classes_reasons_speak_for_the_predicted_one() -> None:
    model, X = fitted(3)
    predicted = model.predict_proba(X).argmax(axis=1)
    score = lambda line, row: 1.5 * line[predicted[row]]  # contributions add up to 0 over the classes  # noqa: E731
    sums = by_columns(model, X[:100], "mean", score)
    found = {(row, column): value for row, _, column, _, value in model.reasons(X[:100], None).iter_rows()}
    assert found == pytest.approx({key: value for key, value in sums.items() if round(value, 9) > 0}, abs=1e-12)


def test_the_best_of_indicators_is_a_value_of_their_score() -> None:
    model, X = fitted(2, "indicators")
    odds = np.diff(model.scorecard_.joint(X), axis=1).ravel()
    for column in ("a", "b"):
        other = "b" if column == "a" else "a"
        values = [*np.unique(X[column].drop_nulls()).tolist(), 99.0]
        shares = model.reasons(X, None, "best").filter(pl.col("column") == column)
        for row in (0, 5, 11):
            copies = pl.DataFrame({column: values, other: [X[other][row]] * len(values)}, schema_overrides=X.schema)
            reach = np.diff(model.scorecard_.joint(copies.select(X.columns)), axis=1).ravel()
            if column == "b":  # missing values are a level, too
                empty = copies[:1].with_columns(b=pl.lit(None, pl.Float64)).select(X.columns)
                reach = np.append(reach, np.diff(model.scorecard_.joint(empty), axis=1))
            short = shares.filter(pl.col("row") == row)["contribution"].sum()
            assert short == pytest.approx(odds[row] - reach.max(), abs=1e-9)


def test_texts_hold_for_the_row() -> None:
    model, X = fitted(2)
    found = model.reasons(X, None)
    for row, _, column, text, _ in found.iter_rows():
        value = X[column][row]
        words = text.removeprefix(f"{column}: ")
        if value is None:
            assert "missing" in words
        elif X[column].dtype == pl.Float64:
            low, high = -np.inf, np.inf
            if words.startswith("at most"):
                high = float(words.split()[2])
            elif "and at most" in words:
                low, high = float(words.split()[2]), float(words.split()[6])
            else:
                low = float(words.split()[2])
            assert low < value <= high
        else:
            assert words.lower() == str(value).lower()
    unseen = model.reasons(X[:40].with_columns(c=pl.lit("new")), None)
    assert set(unseen.filter(pl.col("column") == "c")["text"]) <= {"c: not seen in training"}


@pytest.mark.parametrize("name", ["all kinds", "special values", "indicators", "labelled", "odd names", "surfaces"])
def test_texts_with_values_name_the_number_and_its_interval(name: str) -> None:
    model, frame = case(name)
    plain, found = (model.reasons(frame[:60], None, values=values) for values in (False, True))
    assert plain.drop("text").equals(found.drop("text"))
    for (row, column, before), after in zip(plain.select("row", "column", "text").rows(), found["text"], strict=True):
        if before != after:
            value, interval = re.fullmatch(r".* (\S+|\S+ \S+) \((.*)\)", after, re.DOTALL).groups()  # type: ignore[union-attr]
            assert before.endswith(f": {interval}")
            if isinstance(frame[column][row], float):
                assert float(value) == pytest.approx(frame[column][row])


def test_thousands_are_separated_in_texts_with_values() -> None:
    amount = np.tile([1000.0, 2500.0, 7500.0, 12000.0], 50)
    X = pl.DataFrame({"amount": amount, "day": [dt.date(2021, 3, 1), dt.date(2022, 3, 1)] * 100})
    model = SelectiveNB.scorecard({"amount": {"cuts": [1500, 6420]}}).fit(X, np.where(amount > 5000, "bad", "good"))
    model = model.with_labels({"amount": {"name": "credit amount", "unit": "DM"}})
    assert model.reasons(X[2:3], values=True)["text"][0] == "credit amount 7,500 (more than 6,420 DM)"
    model = SelectiveNB.scorecard({"amount": {"cuts": [-6420, -1500]}}).fit(
        X.with_columns(-pl.col("amount")), np.where(amount > 5000, "bad", "good")
    )
    below = X[2:3].with_columns(-pl.col("amount"))
    assert model.reasons(below, values=True)["text"][0] == "amount -7,500 (at most -6,420)"


def test_reasons_have_codes() -> None:
    model, X = fitted(2)
    labelled = model.with_labels({"a": {"name": "A", "code": "R01"}, "c": {"code": "R02"}})
    assert "code" not in model.reasons(X[:30]).columns
    for found in (model.reasons(X[:30], codes={"a": "R01", "c": "R02"}), labelled.reasons(X[:30])):
        codes = dict(found.select("column", "code").unique().rows())
        assert codes == {"a": "R01", "b": None, "c": "R02", "d": None}
        assert found["contribution"].equals(model.reasons(X[:30])["contribution"])


def test_rows_of_any_kind_have_the_same_reasons() -> None:
    model, X = fitted(2)
    whole = model.reasons(X[:30])
    assert pl.from_pandas(model.reasons(X[:30].to_pandas())).equals(whole)
    assert model.reasons(X.row(7, named=True)).drop("row").equals(whole.filter(pl.col("row") == 7).drop("row"))


def test_a_model_without_features_gives_no_reasons() -> None:
    rng = np.random.default_rng(3)
    X, y = pl.DataFrame({"x": rng.normal(size=60)}), rng.integers(0, 2, 60)
    with pytest.warns(UserWarning, match="No feature"):
        model = SelectiveNB(random_state=0).fit(X, y)
    assert model.reasons(X).height == model.counterfactuals(X).height == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 0}, "n must"),
        ({"n": True}, "n must"),
        ({"against": "worst"}, "against"),
        ({"target_class": 7}, "class"),
        ({"values": "all"}, "values must"),
        ({"codes": ["R01"]}, "codes must map names of columns to codes"),
        ({"codes": {"a": 1}}, "codes must map the column 'a' to a text, got 1"),
        ({"codes": {"aa": "R01"}}, "codes names the column 'aa', which the model does not have; "),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], words: str) -> None:
    model, X = fitted(2)
    with pytest.raises(ValueError, match=words):
        model.reasons(X[:3], **options)

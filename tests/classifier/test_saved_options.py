"""Options in model files: plain values come back, objects as the text that says what to pass."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn import model_selection

import bayesieve
from bayesieve import (
    EqualWidthDiscretizer,
    IndicatorEncoder,
    MODLDiscretizer,
    SelectiveNB,
    TableEncoder,
    WrapperSelector,
    criteria as c,
    search as s,
)

N = 60


@cache
def table() -> pl.DataFrame:
    rng = np.random.default_rng(4)
    y = codes()
    moved = np.where(rng.random(N) < 0.3, rng.integers(0, 2, N), y)
    return pl.DataFrame(
        {
            "size": rng.normal(2.0 * y, 1.5),
            "visits": rng.poisson(1 + y).astype(float),
            "town": [None if rng.random() < 0.1 else ["Köln", "Jena", "Ulm"][m + rng.integers(2)] for m in moved],
            "noise": rng.random(N),
        }
    )


@cache
def codes() -> np.ndarray:
    return np.random.default_rng(3).permutation(np.arange(N) % 2)


LABELS: dict[str, Any] = {
    "str": lambda y: np.array(["no", "yés"])[y],
    "object": lambda y: np.array(["no", "yés"], dtype=object)[y],
    "list": lambda y: ["b" if one else "a" for one in y],
    "bool": lambda y: y == 1,
    "object-bool": lambda y: (y == 1).astype(object),
    "object-int": lambda y: (y - 1).astype(object),
    **{
        kind: lambda y, kind=kind: y.astype(kind)
        for kind in ("int8", "uint8", "int16", "uint32", "int64", "uint64", "float16", "float32", "float64")
    },
    "large": lambda y: y.astype(np.uint64) + np.uint64(2**63),
    "polars": lambda y: pl.Series("target", ["a", "b"])[y],
    "pandas": lambda y: pl.Series("target", ["a", "b"])[y].to_pandas(),
    "categorical": lambda y: pl.Series("target", ["a", "b"])[y].cast(pl.Categorical).to_pandas(),
}


def loaded(model: SelectiveNB, folder: Path, X: Any) -> SelectiveNB:
    """The model from its file, which it writes again as it was."""
    path = folder / "model.json"
    model.save(path)
    again = bayesieve.load(path)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    predicted, expected = again.predict(X), model.predict(X)
    assert predicted.dtype == expected.dtype
    np.testing.assert_array_equal(predicted, expected)
    again.save(folder / "again.json")
    assert (folder / "again.json").read_bytes() == path.read_bytes()
    return again


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_every_type(tmp_path: Path, kind: str) -> None:
    y = LABELS[kind](codes())
    model = SelectiveNB("map").fit(table(), y)
    again = loaded(model, tmp_path, table())
    assert again.target_name_ == model.target_name_ == getattr(y, "name", None)
    assert [type(label) for label in again.classes_.tolist()] == [type(label) for label in model.classes_.tolist()]


PLAIN: dict[str, list[tuple[Any, Any]]] = {
    "calibrate": [(np.str_("cells"), "cells"), (np.True_, True), (False, False)],
    "levels": [({"size": {"cuts": np.array([1.5])}}, {"size": {"cuts": [1.5]}})],
    "max_seconds": [(np.float64(1e6), 1e6), (1000, 1000)],
    "monotone": [({"size": np.int64(1)}, {"size": 1})],
    "n_jobs": [(None, None), (np.int64(1), 1)],
    "normalize": [(np.True_, True)],
    "pairs": [(np.int64(2), 2), ((("town", "noise"), ("noise", "size")), [["town", "noise"], ["noise", "size"]])],
    "positive": [("no", "no")],
    "prior": [("published", "published")],
    "random_state": [(np.uint8(7), 7)],
    "selector": [("map", "map"), (np.str_("all"), "all")],
    "smoothing": [(np.float32(0.25), 0.25), (1, 1)],
}


@pytest.mark.parametrize(
    ("name", "given", "read"),
    [
        pytest.param(name, *pair, marks=[pytest.mark.slow] * (pair is not own[0]))
        for name, own in PLAIN.items()
        for pair in own
    ],
)
def test_plain_options_come_back_and_fit_the_same_model(tmp_path: Path, name: str, given: Any, read: Any) -> None:
    y = LABELS["str"](codes())
    quick = {} if name in ("calibrate", "monotone", "pairs") else {"calibrate": False, "pairs": 0}
    model = SelectiveNB(**quick, **{name: given}).fit(table(), y)
    again = loaded(model, tmp_path, table())
    option = again.get_params()[name]
    assert (type(option), option) == (type(read), read)
    np.testing.assert_array_equal(again.fit(table(), y).predict_proba(table()), model.predict_proba(table()))


class Mine(c.RowLoss):
    name = "mine"

    def losses(self, probability: np.ndarray, true_class: int) -> np.ndarray:
        return 1.0 - probability[true_class]


class MyCoder(MODLDiscretizer):
    pass


OBJECTS: list[tuple[dict[str, Any], str]] = [
    ({"selector": WrapperSelector("log_loss", evaluation=model_selection.KFold(3))}, "WrapperSelector(criterion='log_"),
    ({"selector": WrapperSelector(search=s.GreedySearch(max_seconds=1e6))}, "WrapperSelector(search=GreedySearch("),
    ({"selector": WrapperSelector(Mine())}, "WrapperSelector(criterion=<"),
    ({"encoder": TableEncoder(numeric=MyCoder())}, "TableEncoder(numeric=MyCoder())"),
    ({"encoder": TableEncoder(numeric=EqualWidthDiscretizer(4)), "selector": "all"}, "TableEncoder(numeric=EqualWidth"),
    ({"max_seconds": math.inf}, "inf"),
]


@pytest.mark.parametrize(("options", "text"), OBJECTS, ids=lambda value: str(value)[:40])
def test_objects_are_text_that_says_what_to_pass(tmp_path: Path, options: dict[str, Any], text: str) -> None:
    y, (name, value) = LABELS["str"](codes()), next(iter(options.items()))
    model = SelectiveNB(**options).fit(table(), y)
    again = loaded(model, tmp_path, table())
    assert str(getattr(again, name)).startswith(text)
    assert " at 0x" not in getattr(again, name)
    with pytest.raises(ValueError, match=rf"keeps its {name} as text: give it the object, such as set_params\({name}="):
        again.fit(table(), y)
    again.set_params(**{name: value}).fit(table(), y)
    np.testing.assert_array_equal(again.predict_proba(table()), model.predict_proba(table()))


def test_a_given_encoder_is_kept_as_text_if_it_is_not_the_usual_one(tmp_path: Path) -> None:
    y = LABELS["str"](codes())
    for encoder, kept in (
        (TableEncoder(numeric="equal-width"), "TableEncoder(numeric='equal-width')"),
        (IndicatorEncoder(3), "IndicatorEncoder(thresholds=3)"),
    ):
        X = table().drop("town")
        model = SelectiveNB("all").fit_coded(encoder.fit_transform_coded(X, y), encoder)
        assert loaded(model, tmp_path, X).encoder == kept


def test_the_options_of_a_scorecard_come_back(tmp_path: Path) -> None:
    y = LABELS["str"](codes())
    model = SelectiveNB.scorecard({"size": {"cuts": [1.0]}}, max_levels=3).fit(table(), y)
    again = loaded(model, tmp_path, table())
    assert again.levels["size"] == {"cuts": [1.0], "include": True}
    assert again.positive == "majority"
    with pytest.raises(ValueError, match="keeps its encoder as text"):
        again.fit(table(), y)
    again.set_params(encoder=model.encoder).fit(table(), y)
    np.testing.assert_array_equal(again.predict_proba(table()), model.predict_proba(table()))


def test_a_random_generator_is_kept_as_the_seed_that_it_gave(tmp_path: Path) -> None:
    y = LABELS["str"](codes())
    for state in (np.random.RandomState(5), np.random.default_rng(5)):
        model = SelectiveNB("map", random_state=state).fit(table(), y)
        again = loaded(model, tmp_path, table())
        assert again.random_state == model.selector_.random_state
        np.testing.assert_array_equal(again.fit(table(), y).predict_proba(table()), model.predict_proba(table()))


def test_categories_that_are_infinite(tmp_path: Path) -> None:
    X = pl.DataFrame({"x": [math.inf if one else -1.5 for one in codes()]})
    y = LABELS["str"](codes())
    loaded(SelectiveNB("all", encoder=TableEncoder(kinds={"x": "categorical"})).fit(X, y), tmp_path, X)
    texts = np.where(codes() == 1, "inf", "nan").astype(object)[:, None]
    loaded(SelectiveNB("all").fit(texts, y), tmp_path, texts)


@pytest.mark.parametrize("where", ["Column 'x0'", "The target"])
def test_half_a_character_is_refused_before_anything_is_searched(where: str) -> None:
    texts = np.array(["caf\ud800" if one else "a" for one in codes()], dtype=object)
    X, y = (codes()[:, None], texts) if where == "The target" else (texts[:, None], codes())
    with pytest.raises(ValueError, match=rf"^{where} holds 'caf\\ud800', which is not valid Unicode; decode it again"):
        SelectiveNB("all").fit(X, y)

"""Random, dirty tables from end to end: every step works, or says in one sentence why not."""

from __future__ import annotations

import datetime as dt
import string
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import bayesieve
from bayesieve import SelectiveNB, TableEncoder

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    [
        "",
        " ",
        "a,b",
        '"',
        "<script>alert(1)</script>",
        "row",
        "class",
        "été",
        "日本",
        "x0",
        "__class__",
        "\n",
        "{{ 1 }}",
    ]
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.sampled_from(
    ["", " ", "nan", "None", "1", "-"]
)
MOMENTS = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "tiny and huge": st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1e-308, 1.7976931348623157e308, -1e308, 1.0]),
    "int": st.integers(-(2**62), 2**62),
    "few": st.integers(0, 3),
    "bool": st.booleans(),
    "text": TEXTS,
    "letter": st.sampled_from(string.ascii_lowercase),
    "date": st.dates(dt.date(1700, 1, 1), dt.date(2200, 1, 1)),
    "datetime": MOMENTS,
    "duration": st.timedeltas(dt.timedelta(-1000), dt.timedelta(1000)),
    "time": st.times(),
    "mixed": TEXTS | st.integers(-9, 9) | st.booleans() | st.floats(-1, 1),
    "nothing": st.none(),
}


@st.composite
def tables(draw: st.DrawFn, max_rows: int = 30, max_columns: int = 6) -> tuple[dict[str, list[Any]], list[Any]]:
    """Columns of drawn kinds, some with missing values, constant or telling the class; and the classes."""
    n_rows = draw(st.integers(1, max_rows))
    n_classes = draw(st.integers(1, 5))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    label = draw(st.sampled_from([str, int, bool]))
    codes = rng.integers(0, n_classes, n_rows)
    y = [label(code) if label is not str else f"class {code}" for code in codes.tolist()]
    names = draw(st.lists(NAMES, min_size=1, max_size=max_columns, unique=True))
    columns = {}
    for name in names:
        pool = draw(st.lists(VALUES[draw(st.sampled_from(sorted(VALUES)))], min_size=1, max_size=12))
        follows = rng.random() < 0.5
        chosen = codes % len(pool) if follows else rng.integers(0, len(pool), n_rows)
        missing = rng.random(n_rows) < draw(st.sampled_from([0.0, 0.0, 0.3, 1.0]))
        columns[name] = [None if gone else pool[at] for at, gone in zip(chosen.tolist(), missing, strict=True)]
    return columns, y


def as_pandas(columns: dict[str, list[Any]]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})


def as_objects(columns: dict[str, list[Any]]) -> np.ndarray:
    rows = np.empty((len(next(iter(columns.values()))), len(columns)), dtype=object)
    for i, values in enumerate(columns.values()):
        rows[:, i] = values
    return rows


def as_polars(columns: dict[str, list[Any]]) -> pl.DataFrame:
    return pl.DataFrame({name: polars_column(values) for name, values in columns.items()})


def polars_column(values: list[Any]) -> pl.Series:
    kinds = {type(value) for value in values if value is not None}
    return pl.Series([None if v is None else str(v) for v in values] if len(kinds) > 1 else values)


LIBRARIES = {"pandas": as_pandas, "objects": as_objects, "polars": as_polars}


def check_sentence(error: Exception, *words: str) -> None:
    """What a refusal says fits on a few lines and is not the text of some inner failure."""
    text = str(error)
    assert text
    assert len(text) < 800
    assert not words or any(word in text for word in words), text
    for inner in ("broadcast", "index out of", "unhashable", "object has no attribute", "not supported between"):
        assert inner not in text


def check_probabilities(probabilities: np.ndarray, n_rows: int, n_classes: int) -> None:
    assert probabilities.shape == (n_rows, n_classes)
    assert np.all(np.isfinite(probabilities))
    assert np.all(probabilities >= 0)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-9)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@settings(max_examples=120, suppress_health_check=list(HealthCheck))
@given(
    table=tables(),
    new=tables(max_rows=4),
    library=st.sampled_from(sorted(LIBRARIES)),
    selector=st.sampled_from(["all", "map", "bayesian", "compression"]),
    missing=st.sampled_from(["level", "ignore"]),
    weighted=st.booleans(),
)
def test_fit_predict_explain_save_and_load(
    tmp_path: Any,
    capfd: pytest.CaptureFixture[str],
    table: tuple[dict[str, list[Any]], list[Any]],
    new: tuple[dict[str, list[Any]], list[Any]],
    library: str,
    selector: str,
    missing: str,
    weighted: bool,
) -> None:
    columns, y = table
    X = LIBRARIES[library](columns)
    weights = np.random.default_rng(len(y)).integers(1, 5, len(y)) / 2 if weighted else None
    model = SelectiveNB(selector, encoder=TableEncoder(missing=missing))
    try:
        model.fit(X, y, sample_weight=weights)
    except (ValueError, TypeError) as error:
        check_sentence(error, "olumn", *["1 class only"] * (len(set(y)) < 2))
        return
    classes = sorted(set(y))
    assert model.classes_.tolist() == classes
    assert np.all((model.feature_weights_ >= 0) & (model.feature_weights_ <= 1))
    probabilities = model.predict_proba(X)
    check_probabilities(probabilities, len(y), len(classes))
    assert set(model.predict(X).tolist()) <= set(classes)
    joint = model.predict_joint_log_proba(X)
    np.testing.assert_array_equal(model.explanation(X).joint_log_proba(), joint)
    assert model.explain(X).height == len(y) * len(classes) * model.n_features_selected_
    assert model.summary().height == len(columns)
    assert model.describe()
    assert model._repr_html_()
    # The same columns with other values: unseen, missing, perhaps of another kind.
    others = list(new[0].values())
    n_new = len(new[1])
    changed = {name: others[i % len(others)] for i, name in enumerate(columns)}
    try:
        check_probabilities(model.predict_proba(LIBRARIES[library](changed)), n_new, len(classes))
    except (ValueError, TypeError) as error:
        check_sentence(error, "olumn", "eature")
    model.save(tmp_path / "model.json")
    again = bayesieve.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(X), probabilities)
    assert again.explain(X).equals(model.explain(X))
    assert capfd.readouterr().out == ""


@pytest.mark.filterwarnings("error::RuntimeWarning")
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(table=tables(), library=st.sampled_from(sorted(LIBRARIES)))
def test_reports(tmp_path: Any, table: tuple[dict[str, list[Any]], list[Any]], library: str) -> None:
    columns, y = table
    X = LIBRARIES[library](columns)
    if len(set(y)) < 2:
        return
    try:
        model = SelectiveNB("map").fit(X, y)
    except (ValueError, TypeError) as error:
        check_sentence(error)
        return
    performance = model.report(tmp_path / "report.html", X, y, cv=2)
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in html
    assert html.rstrip().endswith("</html>")
    assert performance is None or np.isfinite(performance.log_loss)


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(table=tables(), numeric=st.sampled_from(["modl", "equal-frequency", "equal-width"]), values=st.booleans())
def test_codes_stay_below_the_number_of_levels(
    table: tuple[dict[str, list[Any]], list[Any]], numeric: str, values: bool
) -> None:
    columns, y = table
    encoder = TableEncoder(numeric=numeric, categorical="values" if values else "modl")
    X = as_pandas(columns)
    try:
        coded = encoder.fit_transform_coded(X, y)
    except (ValueError, TypeError) as error:
        check_sentence(error)
        return
    assert np.all(coded.codes < coded.n_levels[:, None])  # in training every value has a level
    np.testing.assert_array_equal(encoder.transform(X), coded.codes.T)
    for k, level in enumerate(encoder.levels_):
        counts = np.zeros_like(level.counts)
        np.add.at(counts, (coded.codes[k], coded.class_codes), 1)
        np.testing.assert_array_equal(level.counts, counts)
        assert 0.0 <= level.level_score < 1.0
        assert len(level.labels) == level.n_levels
        missing = np.array([value is None for value in columns[level.name]])
        if missing.any() and level.n_levels > 1:
            np.testing.assert_array_equal(coded.codes[k] == level.missing_code, missing)
    assert encoder.unseen_counts_.sum() == 0
    encoder.to_frame()


@pytest.mark.parametrize("n_columns", [1, 300])
@pytest.mark.parametrize("n_rows", [2, 3, 10])
def test_wide_and_short_tables(n_rows: int, n_columns: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n_rows, n_columns)), np.arange(n_rows) % 2
    for selector in ("all", "map", "bayesian", "compression"):
        model = SelectiveNB(selector).fit(X, y)
        check_probabilities(model.predict_proba(rng.normal(size=(5, n_columns))), 5, 2)


@pytest.mark.parametrize("selector", ["all", "map", "bayesian", "compression"])
def test_many_classes(selector: str) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(60), 5)
    X = pd.DataFrame(
        {"near": y + rng.normal(size=300), "text": [f"t{c // 3}" for c in y], "noise": rng.normal(size=300)}
    )
    model = SelectiveNB(selector).fit(X, y)
    check_probabilities(model.predict_proba(X), 300, 60)
    assert model.score(X, y) > 0.1


def test_every_row_its_own_class() -> None:
    X, y = np.arange(12.0)[:, None], [f"row {i}" for i in range(12)]
    model = SelectiveNB().fit(X, y)
    check_probabilities(model.predict_proba(X), 12, 12)

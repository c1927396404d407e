"""Predictions as expressions of a query equal those of `predict_proba`, for every kind of column and engine."""

from __future__ import annotations

import datetime as dt
import sys
import warnings
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from bayesieve import IndicatorEncoder, RandomSums, SelectiveNB, TableEncoder
from bayesieve.classifier import expressions
from bayesieve.table.values import BLANKS

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

N = 300
DAY = dt.date(2021, 3, 1)
NOON = dt.datetime(2021, 3, 1, 12, 0, 0, 123)
KINDS = {"id": "categorical", "single": "categorical", "on": "categorical", "since": "categorical"}


def table(rng: np.random.Generator, y: np.ndarray) -> pl.DataFrame:
    """Columns of every type that depend on the classes, with missing values."""

    def moved(n: int) -> list[int]:
        return (rng.integers(0, n, y.size) + n // 2 * y).tolist()

    numbers = np.where(rng.random(y.size) < 0.1, np.nan, rng.normal(y))
    columns: dict[str, Any] = {
        "number": numbers,
        "whole": pl.Series(moved(6), dtype=pl.Int16),
        "other": rng.normal(-y),
        "short": pl.Series(rng.normal(y).round(1), dtype=pl.Float32),
        "text": [["a", " a", "b ", "", "  ", "c", "é", "1", "01"][v % 9] for v in moved(9)],
        "often": [f"value {v}" for v in moved(400)],
        "category": pl.Series([f"c{v}" for v in moved(5)], dtype=pl.Categorical),
        "yes": [v > 3 for v in moved(5)],
        "day": [DAY + dt.timedelta(days=v) for v in moved(200)],
        "on": [DAY + dt.timedelta(days=v) for v in moved(4)],
        "moment": [NOON + dt.timedelta(minutes=v) for v in moved(900)],
        "since": pl.Series([NOON + dt.timedelta(minutes=v) for v in moved(4)], dtype=pl.Datetime("ms", "Asia/Tokyo")),
        "took": [dt.timedelta(milliseconds=v) for v in moved(900)],
        "hour": [dt.time(v % 24, v % 60) for v in moved(30)],
        "id": [2**60 + v for v in moved(5)],
        "single": pl.Series([v / 10 for v in moved(5)], dtype=pl.Float32),
    }
    frame = pl.DataFrame(columns)
    return frame.with_columns(
        pl.when(pl.Series(rng.random(y.size) < 0.1)).then(None).otherwise(pl.col(name)).alias(name)
        for name in frame.columns
        if rng.random() < 0.6
    )


def assert_same(model: SelectiveNB, scored: Any, rows: Any) -> None:
    """The prediction columns of a frame are what the model says about the rows."""
    probability = model.predict_proba(rows)
    columns = nw.from_native(scored, eager_only=True)
    found = np.column_stack([columns[f"P({label})"].to_numpy() for label in model.classes_.tolist()])
    np.testing.assert_allclose(found, probability, rtol=0, atol=1e-12)
    assert columns["prediction"].to_list() == model.predict(rows).tolist()


def fitted(seed: int, **options: Any) -> tuple[SelectiveNB, pl.DataFrame]:
    """A model of a random part of the columns, and new rows for it with values never seen in training."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2 + seed % 3, N)
    frame = table(rng, y)
    names = [name for name in frame.columns if seed == 0 or rng.random() < 0.6] or ["number"]
    kinds = {name: kind for name, kind in KINDS.items() if name in names}
    sums = RandomSums(4, random_state=seed) if seed % 2 else None
    encoder = TableEncoder(kinds=kinds, sums=sums if {"number", "other"} <= set(names) else None)
    weights = rng.random(N) if seed % 3 == 1 else None
    labels = np.array(["no", "yes", "maybe", "never"])[y] if seed % 2 else y
    model = SelectiveNB(encoder=encoder, **options).fit(frame.select(names), labels, sample_weight=weights)
    return model, table(rng, rng.integers(0, 5, N)).select(names)


OPTIONS: list[dict[str, Any]] = [
    {},
    {"selector": "all", "calibrate": False, "pairs": 0},
    {"pairs": 3, "selector": "all", "calibrate": "levels"},
]


@pytest.mark.parametrize("seed", range(9))
def test_expressions_of_polars_predict_as_the_model(seed: int) -> None:
    model, rows = fitted(seed, **OPTIONS[seed % 3])
    assert_same(model, rows.lazy().with_columns(*model.expressions()).collect(), rows)
    assert_same(model, rows.lazy().with_columns(*model.expressions(rows)).collect(engine="streaming"), rows)
    scored = model.with_predictions(rows.lazy()).collect()
    assert_same(model, scored, rows)
    assert scored.columns[: rows.width] == rows.columns
    assert scored.width == rows.width + 1 + len(model.classes_)
    if seed in (1, 3):
        scored = model.with_predictions(in_engine(rows, "duckdb"))
        assert_same(model, scored.select("prediction, COLUMNS('^P')").pl(), rows)


SMALL = ["number", "whole", "text", "yes", "moment"]


@pytest.fixture(scope="module")
def small() -> tuple[SelectiveNB, pl.DataFrame]:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 4 * N)
    model = SelectiveNB("all", calibrate=False, pairs=0).fit(table(rng, y).select(SMALL), y)
    return model, table(rng, rng.integers(0, 5, N)).select(SMALL).with_columns(pl.col("yes").fill_null(False))


def in_engine(rows: pl.DataFrame, engine: str) -> Any:
    if engine == "duckdb":
        return pytest.importorskip("duckdb").from_arrow(rows.to_arrow())
    if engine == "dask":
        return pytest.importorskip("dask.dataframe").from_pandas(rows.to_pandas(), npartitions=2)
    return rows.to_pandas() if engine == "pandas" else rows.to_arrow()


@pytest.mark.parametrize("engine", ["duckdb", "dask", "pandas", "pyarrow"])
@pytest.mark.filterwarnings("ignore:Dask support is moving out of Narwhals")
def test_frames_of_any_engine_get_predictions(small: tuple[SelectiveNB, pl.DataFrame], engine: str) -> None:
    model, rows = small
    frame = in_engine(rows.with_columns(extra=1).select("extra", *reversed(rows.columns)), engine)
    scored = model.with_predictions(frame)
    assert type(scored) is type(frame)
    names = scored.column_names if engine == "pyarrow" else list(scored.columns)
    assert names[:2] == ["extra", rows.columns[-1]]
    collected = scored.compute() if engine == "dask" else scored.pl() if engine == "duckdb" else scored
    assert_same(model, collected, rows)
    lazy: Any = nw.from_native(frame).with_columns(*model.expressions(frame))
    assert_same(model, lazy.collect().to_native() if isinstance(lazy, nw.LazyFrame) else lazy.to_native(), rows)


def test_partitions_of_dask_are_predicted_lazily_also_without_rows(small: tuple[SelectiveNB, pl.DataFrame]) -> None:
    model, rows = small
    frame = in_engine(rows.with_columns(at=pl.int_range(pl.len())), "dask")
    computed: list[int] = []
    half = frame[frame["at"] >= N // 2]
    scored = model.with_predictions(half.map_partitions(lambda part: computed.append(1) or part, meta=half._meta))
    assert not computed
    first, second = (scored.get_partition(i).compute(scheduler="sync") for i in range(2))
    assert (len(first), len(second), len(computed)) == (0, N // 2, 2)
    assert dict(first.dtypes) == dict(second.dtypes) == dict(scored.dtypes)
    assert_same(model, second, rows[N // 2 :])


def interacting(rng: np.random.Generator, n_rows: int) -> tuple[pl.DataFrame, np.ndarray]:
    """Two columns that say more about the class together than alone, and others that depend on it."""
    a, b = rng.normal(size=(2, n_rows))
    y = (a * b + a / 2 + rng.normal(size=n_rows) / 2 > 0).astype(int)
    return table(rng, y).with_columns(a=pl.Series(a), b=pl.when(pl.Series(b < 2)).then(pl.Series(b))), y


def test_a_query_of_duckdb_reads_moments_pairs_and_large_groups() -> None:
    rng = np.random.default_rng(3)
    names = ["day", "moment", "took", "hour", "often", "a", "b"]
    frame, y = interacting(rng, 3000)
    model = SelectiveNB("all", calibrate=False, pairs=1).fit(frame.select(names), y)
    assert {"day", "moment", "took", "hour", "often", "a × b"} <= {*model.selected_features_}
    assert max(level.n_values for level in model.encoder_.levels_ if level.kind == "categorical") > 256
    rows = interacting(rng, N)[0].select(names)
    relation = in_engine(rows, "duckdb")
    assert_same(model, model.with_predictions(relation).select("prediction, COLUMNS('^P')").pl(), rows)


def test_surfaces_of_pairs_are_expressions() -> None:
    rng = np.random.default_rng(3)
    frame, y = interacting(rng, 5000)
    model = SelectiveNB().fit(frame.select("a", "b"), y)
    (surface,) = (level for level in model.encoder_.levels_ if level.name.startswith("a × b") and not level.level_score)
    assert surface.name in model.selected_features_
    rows = interacting(rng, N)[0].select("a", "b")
    assert_same(model, rows.lazy().select(*model.expressions()).collect(), rows)


def test_spark_predicts_where_its_rows_are(
    small: tuple[SelectiveNB, pl.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    sql = pytest.importorskip("pyspark.sql")
    model, rows = small
    builder = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", False)
    session = (
        builder.config("spark.sql.session.timeZone", "UTC").config("spark.sql.shuffle.partitions", 1).getOrCreate()
    )
    try:
        whole = rows.to_arrow().cast(rows.with_columns(pl.col("whole").cast(pl.Int64)).to_arrow().schema)
        scored = model.with_predictions(session.createDataFrame(whole))
        assert_same(model, scored.toArrow(), rows)
    finally:
        session.stop()


def test_infinite_numbers_get_no_prediction() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N)
    encoder = TableEncoder(sums=RandomSums(3, random_state=0))
    frame = table(rng, y).select("number", -pl.col("other"))
    model = SelectiveNB("all", encoder=encoder, calibrate=False).fit(frame, y)
    assert model.n_features_selected_ > 2
    rows = pl.DataFrame({"number": [1.0, np.inf, np.inf, None, np.nan], "other": [0.0, 1.0, -np.inf, -np.inf, 2.0]})
    scored = rows.lazy().select(*model.expressions()).collect()
    assert scored["prediction"].is_null().to_list() == scored["P(0)"].is_nan().to_list() == [0, 1, 1, 1, 0]
    assert_same(model, scored[[0, 4]], rows[[0, 4]])


def test_indicators_compare_infinite_scores() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N)
    scores = pl.DataFrame({"p": rng.normal(y), "q": np.where(rng.random(N) < 0.2, np.nan, rng.normal(y))})
    model = SelectiveNB("all", encoder=IndicatorEncoder(5)).fit(scores, y)
    rows = pl.DataFrame({"p": [np.inf, -np.inf, 0.3, None], "q": [0.1, np.nan, np.inf, -1.0]})
    assert_same(model, rows.lazy().select(*model.expressions()).collect(), rows)
    computed = SelectiveNB("all", encoder=IndicatorEncoder(5, scores={"sum": lambda X: X["p"] + X["q"]})).fit(scores, y)
    with pytest.raises(ValueError, match="Python functions"):
        computed.expressions()


def test_many_classes_and_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(12), 20)
    frame = pl.DataFrame({"x": rng.normal(y), "z": rng.normal(-y), "const": np.zeros(y.size)})
    model = SelectiveNB("all", calibrate=False).fit(frame, y)
    assert_same(model, frame.lazy().select(*model.expressions()).collect(), frame)
    tied = SelectiveNB("all", calibrate=False).fit(frame[["const"]], y)
    assert_same(tied, frame.lazy().select(*tied.expressions()).collect(), frame[["const"]])
    monkeypatch.setattr(expressions, "_MOST_NODES", 100)
    with pytest.raises(ValueError, match="use with_predictions"):
        model.expressions(in_engine(frame, "duckdb"))


def test_columns_that_do_not_fit_are_named_and_outputs_chosen(small: tuple[SelectiveNB, pl.DataFrame]) -> None:
    model, rows = small
    for frame in (rows.lazy(), rows):
        with pytest.raises(ValueError, match="lacks 'whole'"):
            model.with_predictions(frame.drop("whole"))
    with pytest.raises(ValueError, match=r"Column 'whole' holds values of type text where values of type number"):
        model.expressions(rows.with_columns(whole=pl.lit("a")))
    with pytest.raises(ValueError, match="outputs must be one of"):
        model.expressions(outputs="odds")  # type: ignore[arg-type]
    named = {"prediction": ["prediction"], "probabilities": ["P(0)", "P(1)", "P(2)"]}
    for outputs, names in named.items():
        found = rows.lazy().select(*model.expressions(outputs=outputs))  # type: ignore[arg-type]
        assert found.collect_schema().names() == names
    assert sorted(BLANKS) == [character for character in map(chr, range(0x110000)) if character.isspace()]


def test_columns_without_a_type_or_rows(small: tuple[SelectiveNB, pl.DataFrame]) -> None:
    model, rows = small
    for name in rows.columns:
        empty = rows.with_columns(pl.lit(None).alias(name))
        assert empty[name].dtype == pl.Null
        assert_same(model, model.with_predictions(empty.lazy()).collect(), empty)
    assert model.with_predictions(rows.head(0)).schema == model.with_predictions(rows).schema
    assert isinstance(model.with_predictions(rows.head(0).to_pandas()), pd.DataFrame)


MARRIED = np.random.default_rng(5).choice(["yes", "no"], 400)
WAYS = {
    "text": lambda: pl.Series(MARRIED),
    "boolean": lambda: pl.Series(MARRIED == "yes"),
    "lower": lambda: pl.Series(np.where(MARRIED == "yes", "true", "false")),
    "upper": lambda: pl.Series(np.where(MARRIED == "yes", "YES", "NO")),
    "title": lambda: pl.Series(np.where(MARRIED == "yes", "True", "False")),
    "digits": lambda: pl.Series(np.where(MARRIED == "yes", "1", "0")),
    "decimals": lambda: pl.Series(np.where(MARRIED == "yes", "1.0", "0.0")),
    "whole": lambda: pl.Series((MARRIED == "yes").astype(int)),
    "float": lambda: pl.Series((MARRIED == "yes").astype(float)),
    "date": lambda: pl.Series([dt.date(2020, 1, 1 + (value == "yes")) for value in MARRIED]),
    "date text": lambda: pl.Series([f"2020-01-0{1 + (value == 'yes')}" for value in MARRIED]),
}


def _cannot_be_compared(old: str, new: str) -> bool:
    """Whether expressions would have to parse text, or to write moments as text."""
    kind = {"boolean": "boolean", "whole": "number", "float": "number", "date": "date"}
    before, after = kind.get(old, "text"), kind.get(new, "text")
    return before != after and after in ("text", "date")


@pytest.mark.parametrize("new", WAYS)
@pytest.mark.parametrize("old", WAYS)
@pytest.mark.filterwarnings("ignore:Column 'married' holds dates")
def test_a_column_of_another_type_is_read_as_in_memory_or_named(old: str, new: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    y = np.where(np.random.default_rng(6).random(400) < 0.8, MARRIED == "yes", MARRIED == "no")
    kinds = {"married": "categorical"}
    X, rows = (pl.DataFrame({"married": WAYS[way]()}) for way in (old, new))
    model = SelectiveNB("all", encoder=TableEncoder(kinds=kinds)).fit(X, y)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        expected = model.predict_proba(rows)
    unseen = not np.allclose(expected, model.predict_proba(X))
    warned = [str(one.message) for one in said if "never seen" in str(one.message) or "seen in" in str(one.message)]
    assert bool(warned) == unseen
    for query in (rows.lazy(), duckdb.from_arrow(rows.to_arrow())):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            if _cannot_be_compared(old, new):
                with pytest.raises(ValueError, match=r"Column 'married' holds values of type .* expected, such as '"):
                    model.with_predictions(query)
                continue
            found = model.with_predictions(query)
        frame = found.collect() if isinstance(found, pl.LazyFrame) else found.pl()
        np.testing.assert_allclose(frame["P(True)"].to_numpy(), expected[:, 1], rtol=1e-12)
        assert any("'married' holds" in str(one.message) for one in said) == unseen


def test_a_query_that_fails_is_not_run_before_its_time() -> None:
    X = pl.DataFrame({"married": MARRIED})
    model = SelectiveNB("all").fit(X, MARRIED)
    query = X.lazy().with_columns(pl.col("married").map_elements(lambda _: 1 // 0, return_dtype=pl.String))
    before = model.encoder_.unseen_counts_.copy()
    scored = model.with_predictions(query)
    with pytest.raises(Exception, match="division"):
        scored.collect()
    assert (model.encoder_.unseen_counts_ == before).all()

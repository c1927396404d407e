"""Predictions added to frames and queries equal those of `predict_proba`, for every kind of column and engine."""

from __future__ import annotations

import datetime as dt
import sys
import warnings
from functools import cache
from itertools import product
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from bayesieve import IndicatorEncoder, SelectiveNB, TableEncoder
from tests.cases import mostly_slow
from tests.limits import absent

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

N = 300
DAY = dt.date(2021, 3, 1)
NOON = dt.datetime(2021, 3, 1, 12, 0, 0, 123)
PREDICTIONS = "prediction, COLUMNS('^P')"  # polars does not read the durations of DuckDB
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
    encoder = TableEncoder(kinds=kinds)
    weights = rng.random(N) if seed % 3 == 1 else None
    labels = np.array(["no", "yes", "maybe", "never"])[y] if seed % 2 else y
    model = SelectiveNB(encoder=encoder, **options).fit(frame.select(names), labels, sample_weight=weights)
    return model, table(rng, rng.integers(0, 5, N)).select(names)


OPTIONS: list[dict[str, Any]] = [
    {},
    {"selector": "all", "calibrate": False, "pairs": 0},
    {"pairs": 3, "selector": "all", "calibrate": "levels"},
]


@pytest.mark.parametrize("seed", mostly_slow(range(6), range(3)))
def test_queries_predict_as_the_model(seed: int) -> None:
    model, rows = fitted(seed, **OPTIONS[seed % 3])
    scored = model.with_predictions(rows.lazy())
    assert_same(model, scored.collect(), rows)
    assert_same(model, scored.collect(engine="streaming"), rows)
    assert scored.collect_schema() == model.with_predictions(rows).schema
    assert scored.collect_schema().names()[: rows.width] == rows.columns
    assert_same(model, model.with_predictions(in_engine(rows, "duckdb")).select(PREDICTIONS).pl(), rows)


SMALL = ["number", "whole", "text", "yes", "moment"]


@pytest.fixture(scope="module")
def small() -> tuple[SelectiveNB, pl.DataFrame]:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 4 * N)
    model = SelectiveNB("all", calibrate=False, pairs=0).fit(table(rng, y).select(SMALL), y)
    return model, table(rng, rng.integers(0, 5, N)).select(SMALL).with_columns(pl.col("yes").fill_null(False))


def in_engine(rows: pl.DataFrame, engine: str) -> Any:
    if engine in ("polars", "lazy"):
        return rows.lazy() if engine == "lazy" else rows
    if engine == "duckdb":
        return pytest.importorskip("duckdb").from_arrow(rows.to_arrow())
    if engine == "dask":
        return pytest.importorskip("dask.dataframe").from_pandas(rows.to_pandas(), npartitions=2)
    return rows.to_pandas() if engine == "pandas" else rows.to_arrow()


def collected(frame: Any) -> Any:
    """A frame or query in memory."""
    for method in ("collect", "compute", "pl"):
        if hasattr(frame, method):
            return getattr(frame, method)()
    return frame


@pytest.mark.parametrize("engine", ["duckdb", "dask", "pandas", "pyarrow"])
def test_frames_of_any_engine_get_predictions(small: tuple[SelectiveNB, pl.DataFrame], engine: str) -> None:
    model, rows = small
    frame = in_engine(rows.with_columns(extra=1).select("extra", *reversed(rows.columns)), engine)
    scored = model.with_predictions(frame)
    assert type(scored) is type(frame)
    names = scored.column_names if engine == "pyarrow" else list(scored.columns)
    assert names[:2] == ["extra", rows.columns[-1]]
    assert_same(model, collected(scored), rows)


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
    assert_same(model, model.with_predictions(relation).select(PREDICTIONS).pl(), rows)


def test_surfaces_of_pairs_are_predicted_in_queries() -> None:
    rng = np.random.default_rng(3)
    frame, y = interacting(rng, 2000)
    model = SelectiveNB().fit(frame.select("a", "b"), y)
    (surface,) = (level for level in model.encoder_.levels_ if level.name.startswith("a × b") and not level.level_score)
    assert surface.name in model.selected_features_
    rows = interacting(rng, N)[0].select("a", "b")
    for frames in (rows.lazy(), in_engine(rows, "duckdb")):
        assert_same(model, collected(model.with_predictions(frames)), rows)


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


@pytest.mark.parametrize("engine", ["polars", "lazy", "pandas", "duckdb", "dask"])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_numbers_are_refused_by_name_everywhere(
    small: tuple[SelectiveNB, pl.DataFrame], engine: str, value: float
) -> None:
    model, rows = small
    rows = rows.with_columns(number=pl.when(pl.int_range(pl.len()) == 7).then(value).otherwise("number"))
    with pytest.raises(Exception, match=r"Column 'number' contains infinity.*; replace infinite values by a missing"):
        collected(model.with_predictions(in_engine(rows, engine)))


@pytest.mark.parametrize("engine", ["polars", "lazy", "duckdb"])
def test_indicators_read_missing_scores_and_refuse_infinite_ones(engine: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N)
    scores = pl.DataFrame({"p": rng.normal(y), "q": np.where(rng.random(N) < 0.2, np.nan, rng.normal(y))})
    model = SelectiveNB("all", encoder=IndicatorEncoder(5)).fit(scores, y)
    rows = pl.DataFrame({"p": [9.0, -9.0, 0.3, None], "q": [0.1, np.nan, 9.0, -1.0]})
    assert_same(model, collected(model.with_predictions(in_engine(rows, engine))), rows)
    infinite = rows.with_columns(p=pl.lit(np.inf))
    with pytest.raises(Exception, match="Column 'p' contains infinity"):  # of any type: each engine has its own
        collected(model.with_predictions(in_engine(infinite, engine)))


@pytest.mark.parametrize("engine", ["polars", "lazy", "duckdb"])
def test_many_classes_and_ties(engine: str) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(12), 20)
    frame = pl.DataFrame({"x": rng.normal(y), "z": rng.normal(-y), "const": np.zeros(y.size)})
    for names in (frame.columns, ["const"]):
        model = SelectiveNB("all", calibrate=False).fit(frame[names], y)
        assert_same(model, collected(model.with_predictions(in_engine(frame, engine))), frame[names])


@pytest.mark.parametrize("engine", ["polars", "lazy", "duckdb"])
def test_columns_named_as_predictions_are_replaced_in_their_place(
    small: tuple[SelectiveNB, pl.DataFrame], engine: str
) -> None:
    model, rows = small
    once = in_engine(rows.with_columns(prediction=pl.lit("old"), p_0=0, predicted=1), engine)
    twice = collected(model.with_predictions(model.with_predictions(once)))
    assert twice.columns == [*rows.columns, "prediction", "p_0", "predicted", "P(0)", "P(1)", "P(2)"]
    assert_same(model, twice, rows)


def test_columns_that_do_not_fit_are_named(small: tuple[SelectiveNB, pl.DataFrame]) -> None:
    model, rows = small
    for engine in ("lazy", "polars", "duckdb"):
        with pytest.raises(ValueError, match="lacks 'whole'"):
            model.with_predictions(in_engine(rows.drop("whole"), engine))
    with pytest.raises(ValueError, match=r"'whole' holds values of type String where values of type number"):
        model.with_predictions(in_engine(rows.with_columns(whole=pl.lit("a")), "duckdb"))
    objects = rows.with_columns(whole=pl.Series([object()] * rows.height, dtype=pl.Object))
    with pytest.raises(ValueError, match="'whole' holds Python objects"):
        model.with_predictions(objects.lazy())


def test_columns_without_a_type_or_rows(small: tuple[SelectiveNB, pl.DataFrame]) -> None:
    model, rows = small
    for name in rows.columns:
        empty = rows.with_columns(pl.lit(None).alias(name))
        assert empty[name].dtype == pl.Null
        for engine in ("lazy", "duckdb"):
            assert_same(model, collected(model.with_predictions(in_engine(empty, engine))), empty)
    assert model.with_predictions(rows.head(0)).schema == model.with_predictions(rows).schema
    assert isinstance(model.with_predictions(rows.head(0).to_pandas()), pd.DataFrame)


def test_relations_need_the_extra_for_exports(
    small: tuple[SelectiveNB, pl.DataFrame],
) -> None:
    model, rows = small
    relation = in_engine(rows, "duckdb")
    message = r"needs sqlglot; install the extra: pip install 'bayesieve\[export\]'"
    with absent("sqlglot", "bayesieve.scorecard.export.sql"), pytest.raises(ModuleNotFoundError, match=message):
        model.with_predictions(relation)


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


@cache
def married(way: str) -> SelectiveNB:
    """A model of one column, written in one of the ways."""
    y = np.where(np.random.default_rng(6).random(400) < 0.8, MARRIED == "yes", MARRIED == "no")
    X = pl.DataFrame({"married": WAYS[way]()})
    return SelectiveNB("all", encoder=TableEncoder(kinds={"married": "categorical"})).fit(X, y)


def _type_of(way: str) -> str:
    return {"boolean": "boolean", "whole": "number", "float": "number", "date": "date"}.get(way, "text")


# Each way after itself and after the next, and truth values beside all others.
SOME_WAYS = [
    (old, new)
    for (i, old), (j, new) in product(enumerate(WAYS), repeat=2)
    if "boolean" in (old, new) or j - i in (0, 1)
]


@pytest.mark.parametrize(("old", "new"), mostly_slow(product(WAYS, WAYS), SOME_WAYS))
@pytest.mark.filterwarnings("ignore:Column 'married' contains dates")
def test_a_column_of_another_type_is_read_as_in_memory_or_named(old: str, new: str) -> None:
    X, rows = (pl.DataFrame({"married": WAYS[way]()}) for way in (old, new))
    model = married(old)
    if new == "boolean" and old.startswith("date"):  # no value of training is true or false
        for refused in (rows, in_engine(rows, "duckdb")):
            with pytest.raises(
                ValueError, match=r"Column 'married' holds (true and false|values of type Boolean).*'(2020|18263)"
            ):
                model.with_predictions(refused)
        return
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        expected = model.predict_proba(rows)
    unseen = not np.allclose(expected, model.predict_proba(X))
    warned = [str(one.message) for one in said if "never seen" in str(one.message) or "seen in" in str(one.message)]
    assert bool(warned) == unseen
    for engine in ("lazy", "duckdb"):
        is_converted = (_type_of(old), _type_of(new)) == ("text", "boolean")
        if engine == "duckdb" and not is_converted and _type_of(old) != _type_of(new):
            with pytest.raises(ValueError, match=r"Column 'married' holds values of type .* expected, such as '"):
                model.with_predictions(in_engine(rows, engine))
            continue
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = collected(model.with_predictions(in_engine(rows, engine)))
        np.testing.assert_allclose(found["P(True)"].to_numpy(), expected[:, 1], rtol=1e-12)
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

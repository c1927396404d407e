"""Queries give the probabilities, classes and reasons of the model, in DuckDB and SQLite."""

from __future__ import annotations

import datetime as dt
import math
import os
import re
import warnings
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
import sqlglot

from bayesieve import SelectiveNB, TableEncoder
from bayesieve.scorecard.export.sql import TESTED
from tests.cases import mostly_slow
from tests.scorecard.exported import CASES, ODD, case, check, hostile, table
from tests.scorecard.sql_engines import Engine, Rows, run_duckdb, run_sqlite

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
DIALECTS = ["duckdb", "sqlite", *(["postgres", "mariadb"] if os.environ.get("BAYESIEVE_SQL_SERVERS") else [])]
REFUSED = {(dialect, "odd names"): "differ only in case" for dialect in ("duckdb", "sqlite", "mariadb")}
REFUSED |= {(dialect, "durations"): "duration" for dialect in ("sqlite", "mariadb")}


@pytest.fixture(scope="module", params=DIALECTS)
def engine(request: pytest.FixtureRequest) -> Iterator[tuple[str, Engine]]:
    """A dialect, and what runs its queries."""
    if request.param in ("postgres", "mariadb"):
        from tests.scorecard import sql_servers

        with getattr(sql_servers, request.param)() as run:
            yield request.param, run
    else:
        yield request.param, {"duckdb": run_duckdb, "sqlite": run_sqlite}[request.param]


def rows_of(engine: tuple[str, Engine], model: SelectiveNB, frame: pl.DataFrame, **options: Any) -> Rows:
    dialect, run = engine
    return run(frame, model.export(to="sql", dialect=dialect, **{"keep": "row_id", **options}))


@pytest.mark.parametrize("name", mostly_slow(CASES, sorted({*CASES} - {"levels", "booleans", "numbers"})))
def test_probabilities(engine: tuple[str, Engine], name: str) -> None:
    def score(model: SelectiveNB, frame: pl.DataFrame) -> Any:
        rows = rows_of(engine, model, frame)
        columns = [column for column in rows[0] if column.startswith("p_")]
        for row in rows:
            shares = [row[column] for column in columns]
            best = columns[int(np.argmax(shares))].removeprefix("p_")
            assert str(row["predicted"]) == best
            if "score" in row:
                odds = model.scorecard_.side * math.log(shares[1] / shares[0])
                assert row["score"] == pytest.approx(odds, abs=1e-9)
        return [[row[column] for column in columns] for row in rows]

    if (engine[0], name) in REFUSED:
        with pytest.raises(ValueError, match=REFUSED[engine[0], name]):
            case(name)[0].export(to="sql", dialect=engine[0])
    else:
        check(name, score)


REASONS: list[tuple[str, dict[str, Any]]] = [
    ("all kinds", {}),
    ("surfaces", {}),
    ("booleans", {}),
    ("special values", {"against": "best"}),
    ("indicators", {"against": "best"}),
    ("labelled", {"target_class": "bad"}),
    ("all kinds, three classes", {"target_class": "low"}),
]


@pytest.mark.parametrize(("name", "options"), mostly_slow(REASONS, [REASONS[k] for k in (0, 1, 3, 5, 6)]))
def test_reasons(engine: tuple[str, Engine], name: str, options: dict[str, Any]) -> None:
    model, frame = case(name)
    rows = pl.concat([frame[:30], hostile(model, frame)[::7]])
    found = rows_of(engine, model, rows, reasons=4, **options)
    given = {"against": options.get("against", "mean"), "target_class": options.get("target_class")}
    expected = model.reasons(rows, n=4, **given)
    names = {column: model.scorecard_.provenance.get("labels", {}).get(column, {}) for column in frame.columns}
    for i, row in enumerate(found):
        columns = expected.filter(pl.col("row") == i)["column"].to_list()
        texts = [names[column].get("name", column) for column in columns]
        assert [row[f"reason_{k}"] for k in range(1, 5)] == texts + [None] * (4 - len(texts))


SCALES: list[dict[str, Any]] = [{}, {"reasons": 2}, {"pdo": 50, "base_score": 300, "base_odds": 5}]
WITH_POINTS = ("all kinds", "surfaces", "special values", "indicators")


@pytest.mark.parametrize(
    ("options", "name"),
    mostly_slow(product(SCALES, WITH_POINTS), [*zip(SCALES, WITH_POINTS, strict=False), (SCALES[2], "indicators")]),
    ids=str,
)
def test_points(engine: tuple[str, Engine], name: str, options: dict[str, Any]) -> None:
    model, frame = case(name)
    rows = pl.concat([frame[:30], hostile(model, frame)[::7]])
    found = rows_of(engine, model, rows, points=True, **options)
    card = model.points(**{name: value for name, value in options.items() if name != "reasons"})
    assert [int(row["points"]) for row in found] == card.score(rows).tolist()  # servers return texts
    assert [name for name in found[0] if name in ("score", "points", "reason_1")][:2] == ["score", "points"]


def test_more_reasons_than_columns(engine: tuple[str, Engine]) -> None:
    model, frame = case("nothing")
    assert rows_of(engine, model, frame[:1], reasons=2)[0]["reason_2"] is None


def test_points_need_two_classes() -> None:
    with pytest.raises(ValueError, match="Points need two classes, not 3"):
        case("all kinds, three classes")[0].export(to="sql", points=True)


def test_odd_names(engine: tuple[str, Engine]) -> None:
    model, frame = case("odd names")
    names = {**dict(zip(ODD, ODD, strict=True)), "a": "line\n-- b", "A": "back`tick \\ ]"}
    frame = frame.rename(names)
    labels = {name: f"name of {k}" for k, name in enumerate(frame.columns)}
    y = model.predict(case("odd names")[1])
    renamed = SelectiveNB().fit(frame, y).with_labels(labels)
    rows = rows_of(engine, renamed, frame, keep=["row_id", *frame.columns[:2]], reasons=1)
    shares = [[row["p_it's"], row['p_n"o']] for row in rows]
    np.testing.assert_allclose(shares, renamed.predict_proba(frame), rtol=0, atol=1e-12)
    assert {row["reason_1"] for row in rows} <= {*labels.values(), None}


def test_missing_and_infinite(engine: tuple[str, Engine]) -> None:
    model, frame = case("numbers")
    bad = [math.inf, -math.inf] if engine[0] != "mariadb" else []
    rows = pl.DataFrame([{**frame.row(0, named=True), "b": value, "a": math.nan} for value in [*bad, math.nan]])
    *infinite, missing = rows_of(engine, model, rows, reasons=2)
    for row in infinite:
        assert {value for name, value in row.items() if name != "row_id"} == {None}
    assert missing["p_1"] == pytest.approx(model.predict_proba(rows[-1:])[0, 1], abs=1e-12)


def test_infinite_scores_of_indicators_have_no_probability() -> None:
    model, frame = case("indicators")
    rows = frame[:2].with_columns(s=pl.Series([math.inf, -math.inf]))
    found = rows_of(("duckdb", run_duckdb), model, rows)
    assert [row["p_0"] for row in found] == [None, None]
    with pytest.raises(ValueError, match="Column 's' contains infinity"):
        model.predict_proba(rows)


def test_extreme_scores(engine: tuple[str, Engine]) -> None:
    """Many copies of the classes: long sums, and probabilities that are 0 as floats."""
    y = np.arange(60) % 2
    frame = pl.DataFrame({f"c{k}": y == 1 for k in range(60)})
    model = SelectiveNB("all", pairs=0, calibrate=False, smoothing=1e-6).fit(frame, y)
    rows = frame[:2]
    found = rows_of(engine, model, rows)
    expected = model.predict_proba(rows)
    assert expected.min() == 0
    np.testing.assert_allclose([[row["p_0"], row["p_1"]] for row in found], expected, rtol=0, atol=1e-12)


def test_names_that_are_taken_get_numbers() -> None:
    frame = pl.DataFrame({"score": [1.0, 2.0] * 50, "p_A": [0.0, 0.0, 1.0, 1.0] * 25, "code": ["x", "y"] * 50})
    model = SelectiveNB().fit(frame, np.where(np.arange(100) % 2, "A", "a"))
    row = rows_of(("duckdb", run_duckdb), model, frame, keep=["row_id", *frame.columns])[0]
    assert list(row) == ["row_id", "score", "p_A", "code", "p_A_2", "p_a_3", "predicted", "score_2"]
    assert row["p_A_2"] + row["p_a_3"] == pytest.approx(1)
    assert (row["score"], row["predicted"]) == (1.0, "a")


def test_view_of_a_table_in_a_schema() -> None:
    model, frame = case("surfaces")
    with duckdb.connect() as connection:
        connection.register("rows", frame)
        connection.execute('CREATE SCHEMA "my shop"; CREATE TABLE "my shop"."new ""rows""" AS SELECT * FROM rows')
        connection.execute(model.export(to="sql", table='my shop.new "rows"', view="my shop.scored"))
        scored = connection.sql('SELECT * FROM "my shop".scored').pl()
    assert scored.columns == [*frame.columns, "p_no", "p_yes", "predicted", "score"]
    assert scored.height == frame.height


TWO_ENGINES = (("duckdb", run_duckdb), ("sqlite", run_sqlite))
TWO_WORDS = (["yes", "no"], ["ja", "nein"], [True, False])


@pytest.mark.parametrize(
    ("training", "engine"),
    mostly_slow(
        product(TWO_WORDS, TWO_ENGINES), [(TWO_WORDS[0], TWO_ENGINES[0]), *product(TWO_WORDS[1:], TWO_ENGINES[1:])]
    ),
    ids=lambda value: str(value) if isinstance(value, list) else value[0],
)
def test_booleans_and_words_stand_for_each_other(training: list[Any], engine: Any) -> None:
    paid = np.random.default_rng(0).random(400) < 0.5
    model = SelectiveNB("all").fit(pl.DataFrame({"paid": [training[not one] for one in paid]}), paid)
    expected = model.predict_proba(pl.DataFrame({"paid": training}))[:, 1].tolist()
    for values in ([True, False], [1, 0], [1.0, 0.0], ["true", "false"], ["T", "F"], [" YES", "n"], ["Ja", "NEIN"]):
        rows = pl.DataFrame({"paid": values})
        scored = rows_of(engine, model, rows)
        assert [row["p_True"] for row in scored] == pytest.approx(expected)
        assert model.predict_proba(rows)[:, 1].tolist() == expected


def test_dates_may_be_timestamps() -> None:
    model, frame = case("all kinds")
    moved = frame.with_columns(pl.col("day").cast(pl.Datetime), pl.col("yes").cast(pl.Int8))
    rows = rows_of(("duckdb", run_duckdb), model, moved)
    expected = model.predict_proba(frame)
    np.testing.assert_allclose([[row["p_0"], row["p_1"]] for row in rows], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("text", ["2021-03-02T09:30:00.5", "2021-03-02 09:30", "2021-03-02 09:30:00.500"])
def test_texts_of_moments_in_sqlite(text: str) -> None:
    model, frame = case("all kinds")
    exact = dt.datetime(2021, 3, 2, 9, 30, 0, 500_000 if "5" in text else 0)
    plain = frame[:1].with_columns(moment=pl.lit(exact).cast(pl.Datetime("us")))
    (row,) = rows_of(("sqlite", run_sqlite), model, plain.with_columns(moment=pl.lit(text)))
    assert row["p_1"] == pytest.approx(model.predict_proba(plain)[0, 1], abs=1e-12)


def test_numbers_beyond_those_of_oracle_are_texts() -> None:
    """A literal of Oracle is a NUMBER, which ends at 1e126."""
    query = case("far numbers")[0].export(to="sql", dialect="oracle")
    assert "<= CAST('1.8e+307' AS BINARY_DOUBLE)" in query
    literals = map(float, re.findall(r"(?<![\w.'-])\d[\d.]*e[+-]?\d+", query))
    assert all(1e-129 < number < 1e125 for number in literals if number)


@cache
def small(n_classes: int) -> SelectiveNB:
    """A model of few levels that every dialect holds."""
    y = np.random.default_rng(1).integers(0, n_classes, 300)
    frame = table(y).drop("hour").with_columns(pl.col("text").str.replace_all(r"\s+$", "*"))
    frame = frame.with_columns(pl.col("text").replace("", "'\\\\\n\"é"), id=pl.Series(2**60 + y))
    encoder = TableEncoder(kinds={"id": "categorical"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SelectiveNB(calibrate="levels", pairs=0, encoder=encoder).fit(frame, np.array(["it's", "b", "c"])[y])


@pytest.mark.parametrize(
    ("n_classes", "dialect"),
    mostly_slow(
        product([2, 3], TESTED.split(", ")),
        [(2, name) for name in ("bigquery", "mysql", "oracle", "postgres", "snowflake", "tsql")],
    ),
)
def test_every_dialect_is_parsed_again(dialect: str, n_classes: int) -> None:
    query = small(n_classes).export(to="sql", dialect=dialect, view="a.b", table="c.d", reasons=2, target_class="b")
    (tree,) = sqlglot.parse(query, dialect=dialect)
    assert tree is not None
    again = tree.sql(dialect, pretty=True, comments=False)
    (twice,) = sqlglot.parse(again, dialect=dialect)
    assert twice is not None
    assert twice.sql(dialect, pretty=True, comments=False) == again
    assert again.count("CASE") == query.count("CASE")
    texts = {literal.this for literal in tree.find_all(sqlglot.exp.Literal, sqlglot.exp.National)}
    keys = {"'\\\\\n\"é", " a"} if n_classes == 2 else {"c"}
    assert keys | {"b", "it's"} <= texts


def test_head_and_counts_are_comments() -> None:
    model, frame = case("surfaces")
    frame = frame.rename({"word": "*/ x\n; DROP TABLE data; --"})
    model = SelectiveNB().fit(
        frame, np.where(np.arange(frame.height) % 2, frame["a"] > 0, frame[frame.columns[3]] == "u")
    )
    query = model.export(to="sql", name="a\nb */ --", counts=True, keep="row_id")
    comments = [line for line in query.splitlines() if line.startswith("-- ")]
    head = [fact for line in comments for fact in line.removeprefix("-- ").split("; ")]
    assert "model: a\\nb */ --" in head
    assert any(fact.startswith("checksum: ") for fact in head)
    assert any(line.startswith("-- rows of ") for line in comments)
    assert len(run_duckdb(frame, query)) == frame.height


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dialect": "basic"}, "such as bigquery"),
        ({"table": ""}, "must be names"),
        ({"view": "a..b"}, "must be names"),
        ({"reasons": -1}, "reasons must"),
        ({"against": "worst"}, "against must"),
        ({"reasons": 1, "target_class": "maybe"}, "must be a class"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        case("surfaces")[0].export(to="sql", **options)


def test_refusals() -> None:
    y = np.arange(200) % 2
    large = [0.5 if k % 10 == 0 else 7 if own else 2**60 + 1 for k, own in enumerate(y.tolist())]
    mixed = ["x" if own else 1 for own in y.tolist()]
    for values in (large, mixed):
        frame = pl.DataFrame({"m": pl.Series(values, dtype=pl.Object)})
        model = SelectiveNB(encoder=TableEncoder(kinds={"m": "categorical"})).fit(frame, y)
        with pytest.raises(ValueError, match="values of several types in column 'm'; convert"):
            model.export(to="sql")
    times, _ = case("all kinds")
    for dialect, what in (
        ("spark", "the type time"),
        ("tsql", "blanks at the end"),
        ("oracle", "empty texts|type time"),
    ):
        with pytest.raises(ValueError, match=what):
            times.export(to="sql", dialect=dialect)


@pytest.mark.slow
def test_sqlite_has_2_000_columns_at_most() -> None:
    y = np.arange(80) % 2
    frame = pl.DataFrame({f"c{k}": np.roll(y, 2 * k).astype(float) for k in range(2001)})
    model = SelectiveNB("all", calibrate=False, pairs=0).fit(frame, y)
    assert "c2000" in model.export(to="sql", dialect="duckdb", keep=())
    with pytest.raises(ValueError, match="more than 2,000 columns in a table; fit the model with fewer features"):
        model.export(to="sql", dialect="sqlite")

"""Identifier columns never enter a model, and `predict` and `explain` copy them to their output."""

from __future__ import annotations

import io
import json
from pathlib import Path

import polars as pl
import pytest

from bayesieve import load, merge
from tests.cli.conftest import GERMAN, Run


@pytest.fixture
def named_rows(german: pl.DataFrame) -> pl.DataFrame:
    """German credit with numbers of customers, which have leading zeros, and what would give the class away."""
    return german.with_columns(customer=pl.int_range(german.height).cast(pl.String).str.zfill(6))


def learn(succeeds: Run, frame: pl.DataFrame, *options: object) -> tuple[Path, str]:
    frame.write_csv("rows.csv")
    errors = succeeds("fit", "rows.csv", "-t", "class", "-o", ".", "-s", "map", "--no-report", *options).stderr
    return Path("model.json"), errors


@pytest.mark.slow
def test_identifiers_are_kept_and_not_learnt_from(succeeds: Run, named_rows: pl.DataFrame) -> None:
    model, errors = learn(succeeds, named_rows, "--id", "customer")
    assert "warning" not in errors
    fitted = load(model)
    assert fitted.id_columns_ == ("customer",)
    assert "customer" not in fitted.feature_names_in_
    assert "identified by  'customer'" in succeeds("info", model).stdout
    succeeds("predict", model, "rows.csv", "-o", "p.parquet", "--keep", "age", "--keep", "customer")
    read = pl.read_parquet("p.parquet")
    assert read.columns == ["customer", "age", "prediction", "P(bad)", "P(good)"]
    assert read["customer"].to_list() == named_rows["customer"].to_list()
    assert "row 7 (customer 000007): predicted" in succeeds("explain", model, "rows.csv", "--rows", "7").stdout
    succeeds("explain", model, "rows.csv", "--rows", "7,3", "-o", "few.parquet")
    few = pl.read_parquet("few.parquet")
    assert few.columns[:3] == ["row", "customer", "class"]
    assert few.select("row", "customer").unique(maintain_order=True).rows() == [(7, "000007"), (3, "000003")]
    succeeds("explain", model, "rows.csv", "-o", "all.parquet")
    every = pl.read_parquet("all.parquet")
    assert (every["customer"].cast(pl.Int64) == every["row"]).all()
    assert few.equals(pl.concat([every.filter(pl.col("row") == row) for row in (7, 3)]))


@pytest.mark.slow
def test_identifiers_stay_with_a_model(succeeds: Run, named_rows: pl.DataFrame) -> None:
    model, _ = learn(succeeds, named_rows, "--id", "customer")
    fitted = load(model)
    succeeds("update", model, "rows.csv", "-o", "updated.json")
    assert load("updated.json").id_columns_ == merge([fitted, fitted]).id_columns_ == ("customer",)
    assert fitted.fit(named_rows.drop("class", "customer"), named_rows["class"]).id_columns_ == ()


def test_files_in_pieces_and_several_identifiers(succeeds: Run, named_rows: pl.DataFrame) -> None:
    Path("parts").mkdir()
    rows = named_rows.with_columns(row=pl.int_range(1000) % 2)
    for i in range(2):
        rows[i * 500 : (i + 1) * 500].write_parquet(f"parts/{i}.parquet")
    succeeds("fit", "parts", "-t", "class", "--id", "customer", "--id", "row", "-s", "map", "--no-report", "-o", ".")
    succeeds("predict", "model.json", "parts", "-o", "scored")
    read = pl.read_parquet("scored/*.parquet")
    assert read.select("customer", "row").equals(rows.select("customer", "row"))
    succeeds("explain", "model.json", "parts", "--rows", "999", "-o", "one.parquet")
    assert pl.read_parquet("one.parquet").select("customer", "row", "id(row)").row(0) == ("000999", 999, 1)


@pytest.mark.slow
def test_rows_that_share_an_identifier_or_lack_it(succeeds: Run, named_rows: pl.DataFrame) -> None:
    number = pl.int_range(1000)
    twice = named_rows.with_columns(customer=pl.when(number < 3).then(pl.lit("x")).when(number < 998).then("customer"))
    model, errors = learn(succeeds, twice, "--id", "customer")
    assert errors == (
        "warning: 2 rows of 1,000 have no identifier in 'customer'.\n"
        "warning: 3 rows of 1,000 share their identifier ('customer'); cross-validation may put them in different "
        "folds.\n"
    )
    read = pl.read_csv(io.StringIO(succeeds("predict", model, "rows.csv").stdout), infer_schema=False)
    assert read["customer"].to_list() == twice["customer"].to_list()
    result = succeeds("predict", model, GERMAN)
    assert "german_credit.csv lacks the identifier 'customer'; the results do not contain it" in result.stderr
    assert result.stdout.startswith("prediction,P(bad),P(good)\n")
    assert "lacks the identifier 'customer'" in succeeds("explain", model, GERMAN).stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--id", "custommer"), "has no column 'custommer' (--id); did you mean 'customer'?"),
        (("--id", "class"), "'class' cannot be both --target and --id"),
        (("--id", "age", "--weight", "age"), "'age' cannot be both --weight and --id"),
        (("--id", "age", "--numeric", "age"), "'age' cannot be both --numeric and --id"),
        (("--id", "P(bad)"), "'P(bad)' (--id) has the name of a column"),
    ],
)
def test_columns_that_are_no_identifiers(
    fails: Run, named_rows: pl.DataFrame, options: tuple[str, ...], message: str
) -> None:
    named_rows.with_columns(pl.lit(1).alias("P(bad)")).write_csv("rows.csv")
    assert message in fails("fit", "rows.csv", "-t", "class", "--no-report", *options)


def test_an_identifier_may_be_ignored_too(succeeds: Run, named_rows: pl.DataFrame) -> None:
    model, _ = learn(succeeds, named_rows, "--id", "customer", "--ignore", "customer")
    assert load(model).id_columns_ == ("customer",)


def test_a_table_of_identifiers_only(fails: Run, named_rows: pl.DataFrame) -> None:
    named_rows.select("customer", "class").write_csv("rows.csv")
    assert "at least one feature is needed" in fails("fit", "rows.csv", "-t", "class", "--id", "customer")


def test_columns_in_the_order_asked_for(succeeds: Run, fails: Run, model: Path, german: pl.DataFrame) -> None:
    rule = {"decisions": ["refuse", "grant"], "classes": ["bad", "good"], "benefit": [[0, 0], [-500, 100]]}
    Path("benefit.json").write_text(json.dumps(rule))
    german.with_columns(pl.lit(1).alias("a,b"), probability=99).write_parquet("t.parquet")
    options = ("--reasons", 1, "--benefit", "benefit.json", "-o", "p.parquet")
    asked = ("--columns", "probability, age,P(bad)", "--columns", "a,b", "--columns", "reason_1,benefit(grant)")
    succeeds("predict", model, "t.parquet", *options, *asked)
    read = pl.read_parquet("p.parquet")
    assert read.columns == ["probability", "age", "P(bad)", "a,b", "reason_1", "benefit(grant)"]
    whole = load(model).predict_proba(german.drop("class"))
    assert read["probability"].to_list() == whole[:, 1].tolist()
    assert read["P(bad)"].to_list() == whole[:, 0].tolist()
    printed = succeeds("predict", model, "t.parquet", "--columns", "prediction,age").stdout
    assert pl.read_csv(io.StringIO(printed))["age"].equals(german["age"])
    for texts, message in (
        (("agee",), "There is no column 'agee'; did you mean 'age'?"),
        (("reason_1",), "There is no column 'reason_1'"),
        ((" , ",), "--columns must name columns"),
    ):
        assert message in fails("predict", model, "t.parquet", "--columns", *texts)
    assert "remove --keep" in fails("predict", model, "t.parquet", "--columns", "age", "--keep", "age")


def test_probability_of_more_than_two_classes(succeeds: Run, fails: Run) -> None:
    pl.DataFrame({"a": [1, 2, 3] * 40, "y": ["u", "v", "w"] * 40}).write_csv("t.csv")
    succeeds("fit", "t.csv", "-t", "y", "--no-report", "-o", ".")
    assert "name P(CLASS) in --columns" in fails("predict", "model.json", "t.csv", "--columns", "probability")
    succeeds("fit", "t.csv", "-t", "y", "--no-report", "-o", ".", "--positive", "v")
    result = succeeds("predict", "model.json", "t.csv", "--columns", "probability,P(v)")
    read = pl.read_csv(io.StringIO(result.stdout))
    assert read.columns == ["probability", "P(v)"]
    assert read["probability"].equals(read["P(v)"].alias("probability"))

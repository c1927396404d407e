"""Commands accept tables of databases in place of files, with the same results."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Run
from tests.table.test_databases import WRITE


@pytest.mark.slow
@pytest.mark.parametrize("engine", WRITE)
def test_commands_take_tables(engine: str, german: pl.DataFrame, succeeds: Run, fails: Run) -> None:
    frame = german.with_columns(month=pl.lit("2024-05"))
    WRITE[engine]("credit.db", customers=frame, **{"late.csv": frame.tail(300)})
    frame.write_csv("customers.csv")
    for table, output in (("customers.csv", "a"), ("credit.db::customers", "b")):
        options = ("-t", "class", "--ignore", "month", "--folds", 0, "-o", output)
        succeeds("fit", table, *options, "--test", "credit.db::late.csv")
    assert Path("a/features.csv").read_bytes() == Path("b/features.csv").read_bytes()
    assert "credit.db::customers, SHA-256" in Path("b/report.html").read_text(encoding="utf-8")
    model = "b/model.json"
    succeeds("predict", model, "credit.db::SELECT * FROM customers WHERE age > 30", "-o", "p.csv", "--reasons", 2)
    assert pl.read_csv("p.csv").height == frame.filter(pl.col("age") > 30).height
    assert "row 7: predicted" in succeeds("explain", model, "credit.db::late.csv", "--rows", "7").stdout
    assert "accuracy" in succeeds("evaluate", model, "credit.db::late.csv", "--by", "month").stdout
    succeeds("monitor", model, "credit.db::late.csv", "--by", "month", "-o", "drift")
    succeeds("fit", "credit.db::customers", "-t", "class", "--memory-limit", "1GiB", "-o", "d", "--no-report")
    assert "holds several tables" in fails("fit", "credit.db", "-t", "class")
    assert "has no table 'x'" in fails("predict", model, "credit.db::x")
    assert "must not contain //" in fails("fit", "credit.db::SELECT age // 2 AS a FROM customers", "-t", "a")
    dirty = frame.with_columns(age=pl.when(pl.int_range(1000) == 5).then(pl.lit("old")).otherwise("age"))
    WRITE[engine]("dirty.db", **{"t.csv": dirty})
    assert "row 6 (counting from 1)" in fails("fit", "dirty.db", "-t", "class", "--numeric", "age")

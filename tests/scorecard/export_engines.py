"""The engines that exports are run in, as functions of a model and of rows that give probabilities."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from bayesieve import SelectiveNB
from tests.scorecard.sql_engines import run_duckdb, run_sqlite
from tests.scorecard.test_export_excel import of_workbook
from tests.scorecard.test_export_onnx import run
from tests.scorecard.test_export_programs import in_node, of_python

EVERY = 10**9


class Engine(NamedTuple):
    """What gives probabilities, and the most rows, and columns of a model, that it scores in a minute."""

    score: Callable[[SelectiveNB, pl.DataFrame], Any]
    most_rows: int
    most_columns: int = EVERY


def of_query(dialect: str, model: SelectiveNB, frame: pl.DataFrame) -> Any:
    rows = {"duckdb": run_duckdb, "sqlite": run_sqlite}[dialect](
        frame, model.export(to="sql", dialect=dialect, keep="row_id")
    )
    return [[value for name, value in row.items() if name.startswith("p_")] for row in rows]


def of_javascript(model: SelectiveNB, frame: pl.DataFrame) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        found = in_node(model, frame.iter_rows(named=True), Path(folder), reasons=0)
    return [row["probabilities"] for row in found]


ENGINES = {
    "DuckDB": Engine(partial(of_query, "duckdb"), EVERY, 1_000),
    "SQLite": Engine(partial(of_query, "sqlite"), EVERY, 1_000),
    "onnxruntime": Engine(lambda model, frame: run(model, frame)[1], EVERY),
    "Python": Engine(of_python, EVERY),
    "node": Engine(of_javascript, 5_000),
    "formualizer": Engine(of_workbook, 30, 200),
}

"""Seconds to score rows by exported models in their engines, beside `predict_proba` and other models' exporters."""

from __future__ import annotations

import json
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import numpy as np
import onnxruntime
import polars as pl
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from bayesieve import SelectiveNB
from benchmarks.common.measuring import Report, alternate, markdown_table, options
from benchmarks.common.tables import mixed_table

N_TRAIN, N_ROWS, N_SLOW, ROUNDS = 50_000, 1_000_000, 50_000, 3
SLOW = "in rows read one by one"
Scorer = Callable[[], np.ndarray]


def main() -> None:
    arguments = options(__doc__).parse_args()
    warnings.simplefilter("ignore")
    n_train, n_rows, n_slow, rounds = (2_000, 5_000, 500, 1) if arguments.quick else (N_TRAIN, N_ROWS, N_SLOW, ROUNDS)
    report = Report("exports", "Rows scored by exported models", arguments)
    X, y, kinds = mixed_table(n_train, rows_seed=1)
    rows = mixed_table(n_rows, rows_seed=2)[0]
    report.add(
        f"Models of {n_train:,} rows by 15 numbers and 15 texts score {n_rows:,} other rows ({n_slow:,} where rows are "
        "read one by one, and by the graph of an EBM), all in memory before the clock starts; median of "
        f"{rounds} rounds in turns, all cores. The difference is the largest between the probabilities of an export "
        "and those of its model.\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        named = {**ours(X, y, rows, n_slow, Path(folder)), **peers(X, y, rows, kinds, n_slow)}
        expected = {name: model for name, (model, _, _) in named.items()}
        seconds = alternate({name: task for name, (_, task, _) in named.items()}, rounds)
        lines = []
        for name, (_, task, n) in named.items():
            found, own = task(), expected[name]
            difference = "" if own is None else f"{np.abs(found - own[:n]).max():.1e}"
            taken = median(seconds[name])
            lines.append([name, f"{n:,}", f"{taken:.2f}", f"{1e6 * taken / n:.2f}", difference])
    report.add(markdown_table(["engine", "rows", "seconds", "microseconds a row", "difference"], lines))
    report.close(["onnxruntime", "duckdb", "interpret-core", "ebm2onnx", "skl2onnx", "polars"])


Named = dict[str, tuple[np.ndarray | None, Scorer, int]]


def ours(X: pl.DataFrame, y: np.ndarray, rows: pl.DataFrame, n_slow: int, folder: Path) -> Named:
    """The exports of a default model, by engine."""
    model = SelectiveNB().fit(X, y)
    whole, few = model.predict_proba(rows), rows[:n_slow]
    model.export(folder / "score.js")
    few.select(model.scorecard_.reader.needed).write_ndjson(folder / "rows.jsonl")
    program: dict[str, Any] = {"__name__": "score"}
    exec(model.export(to="python"), program)
    listed = few.to_dicts()
    connection = duckdb.connect()
    connection.register("arrow", rows.to_arrow())
    connection.execute("CREATE TABLE data AS SELECT * FROM arrow")
    queries = [model.export(to="sql", keep=(), reasons=reasons) for reasons in (0, 4)]
    session = onnxruntime.InferenceSession(model.export(to="onnx"))
    inputs = onnx_inputs(session, rows)
    labels = model.classes_.tolist()

    def in_python() -> np.ndarray:
        found = [program["score"](row)["probabilities"] for row in listed]
        return np.array([[own[label] for label in labels] for own in found])

    return {
        "predict_proba": (None, lambda: model.predict_proba(rows), len(rows)),
        **{
            f"SQL in DuckDB{text}": (
                whole,
                lambda query=query: connection.sql(query).pl().select("p_no", "p_yes").to_numpy(),
                len(rows),
            )
            for text, query in zip(("", ", with reasons"), queries, strict=True)
        },
        "ONNX in onnxruntime": (whole, lambda: session.run(["probabilities"], inputs)[0], len(rows)),
        "plain Python, with reasons": (whole, in_python, n_slow),
        "JavaScript in node, with reasons, started": (whole, lambda: in_node(folder), n_slow),
    }


def onnx_inputs(session: onnxruntime.InferenceSession, rows: pl.DataFrame) -> dict[str, np.ndarray]:
    """The columns of a frame as the inputs of a graph."""
    inputs = {}
    for own in session.get_inputs():
        column = rows[own.name]
        if own.type == "tensor(string)":
            inputs[own.name] = column.fill_null("").to_numpy().astype(object).reshape(-1, 1)
        else:
            inputs[own.name] = column.cast(pl.Float64).fill_null(np.nan).to_numpy().reshape(-1, 1)
    return inputs


def in_node(folder: Path) -> np.ndarray:
    """The rows of a file as the exported module scores them."""
    script = (
        "const fs = require('fs'); const m = require('./score.js');"
        "const lines = fs.readFileSync('rows.jsonl', 'utf8').trimEnd().split('\\n');"
        "const out = lines.map(line => m.score(JSON.parse(line)).probabilities);"
        "fs.writeFileSync('out.json', JSON.stringify(out));"
    )
    subprocess.run(["node", "-e", script], cwd=folder, check=True)
    return np.array(json.loads((folder / "out.json").read_text("utf-8")))


def peers(X: pl.DataFrame, y: np.ndarray, rows: pl.DataFrame, kinds: dict[str, str], n_slow: int) -> Named:
    """Other models, and their usual exports to ONNX."""
    import ebm2onnx
    from interpret.glassbox import ExplainableBoostingClassifier
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    numeric = [name for name, kind in kinds.items() if kind == "numeric"]
    texts = [name for name in kinds if name not in numeric]
    train, test = (frame.with_columns(pl.col(texts).fill_null("missing")).to_pandas() for frame in (X, rows))
    coded = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    pipelines = {
        "logistic regression": make_pipeline(
            make_column_transformer(
                (make_pipeline(SimpleImputer(), StandardScaler()), numeric),
                (OneHotEncoder(handle_unknown="ignore"), texts),
            ),
            LogisticRegression(max_iter=1000),
        ),
        "gradient boosting": make_pipeline(
            make_column_transformer((SimpleImputer(), numeric), (coded, texts)), GradientBoostingClassifier()
        ),
    }
    types = [(n, FloatTensorType([None, 1]) if n in numeric else StringTensorType([None, 1])) for n in kinds]
    named: Named = {}
    for name, pipeline in pipelines.items():
        pipeline.fit(train, y)
        final = {type(pipeline[-1]): {"zipmap": False}}
        graph = to_onnx(pipeline, initial_types=types, options=final)
        named |= _both(name, pipeline, graph, test, len(test))
    ebm = ExplainableBoostingClassifier(n_jobs=1, random_state=0).fit(train, y)
    dtypes = {n: "float" if n in numeric else "str" for n in kinds}
    graph = ebm2onnx.to_onnx(ebm, dtype=dtypes, predict_proba=True)
    named |= _both("EBM", ebm, graph, test, n_slow)  # takes gigabytes for a million rows
    return named


def _both(name: str, model: Any, graph: Any, test: Any, n: int) -> Named:
    """Of the first ``n`` rows by the graph."""
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    inputs = {}
    for own in session.get_inputs():
        is_text = own.type == "tensor(string)"
        values = test[own.name][:n].to_numpy(dtype=object if is_text else np.float32)
        inputs[own.name] = values.reshape([-1] + [1] * (len(own.shape) - 1))
    output = next(own.name for own in session.get_outputs() if "prob" in own.name.lower())
    return {
        f"{name}, predict_proba": (None, lambda: model.predict_proba(test), len(test)),
        f"{name}, ONNX": (model.predict_proba(test), lambda: session.run([output], inputs)[0], n),
    }


if __name__ == "__main__":
    main()

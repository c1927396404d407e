"""Probabilities for 100,000 rows of a raw, mixed frame, against a Khiops classifier trained on the same rows; and from
Parquet to Parquet, and in queries of polars and DuckDB, against copying the file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from statistics import median
from typing import Any

import duckdb
import numpy as np
import polars as pl

from benchmarks.common.khiops_peer import NOT_INSTALLED, as_khiops_frame, khiops_classifier, khiops_core
from benchmarks.common.measuring import Report, alternate, markdown_table, options, spread, verdict
from benchmarks.common.tables import mixed_table

SECONDS = 0.3
TRAINING_ROWS = 20_000


def main() -> None:
    """Train on few rows, then time the prediction of many."""
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, help="rows to predict (default 100,000; 5,000 with --quick)")
    arguments = parser.parse_args()
    n_rows = arguments.rows or (5_000 if arguments.quick else 100_000)
    rounds = 2 if arguments.quick else 7
    report = Report("predict", "Predicting from a raw frame", arguments)
    frame, labels, kinds = mixed_table(TRAINING_ROWS + n_rows)
    report.add(
        f"`predict_proba` of {n_rows:,} rows x {frame.width} mixed raw features, trained on {TRAINING_ROWS:,} "
        f"other rows; {rounds} rounds in turns after one that does not count. Target: under {SECONDS} s."
    )
    runs, kept = measure(report, frame, labels, kinds, rounds)
    rows = [
        [name, spread(times), f"{median(times) / n_rows * 1e9:.0f}", f"{median(times) / median(runs['polars']):.1f}"]
        for name, times in runs.items()
    ]
    report.add("\n" + markdown_table(["predict_proba", "median (range)", "ns per row", "times ours on polars"], rows))
    for name in ("polars", "pandas"):
        report.add(f"\n{name}, {kept} features kept: {verdict(median(runs[name]), SECONDS, unit=' s')}.")
    streamed(report, 20_000 if arguments.quick else 20 * n_rows, rounds)
    report.close(["polars", "pandas", "pyarrow", "khiops", "khiops-core"])


def streamed(report: Report, n_rows: int, rounds: int) -> None:
    """Predictions of a Parquet file into another one, against polars' copy of it, and in queries."""
    from bayesieve import SelectiveNB

    frame, labels, _ = mixed_table(TRAINING_ROWS + n_rows)
    model = SelectiveNB().fit(frame[:TRAINING_ROWS], labels[:TRAINING_ROWS])
    new = frame[TRAINING_ROWS:]
    with tempfile.TemporaryDirectory() as folder:
        path, other = f"{folder}/rows.parquet", f"{folder}/other.parquet"
        new.write_parquet(path, row_group_size=1 << 17)
        relation = duckdb.from_arrow(new.to_arrow())
        tasks: dict[str, Callable[[], Any]] = {
            "polars copies the file": lambda: pl.scan_parquet(path).sink_parquet(other),
            "with_predictions, file to file": lambda: model.with_predictions(pl.scan_parquet(path)).sink_parquet(other),
            "predict_proba of the rows in memory": lambda: model.predict_proba(new),
            "with_predictions, query of polars": lambda: model.with_predictions(new.lazy()).collect(),
            "with_predictions, relation of DuckDB": lambda: model.with_predictions(relation).arrow().read_all(),
        }
        alternate(tasks, 1)
        runs = alternate(tasks, rounds)
    floor, in_memory = (
        median(runs[name]) for name in ("polars copies the file", "predict_proba of the rows in memory")
    )
    rows = [
        [name, f"{n_rows / median(t) / 1e6:.2f}", f"{median(t) / floor:.1f}", f"{median(t) / in_memory:.1f}"]
        for name, t in runs.items()
    ]
    report.add(
        f"\n{n_rows:,} rows x {frame.width} columns, {model.n_features_selected_} features used. Queries return all "
        "columns and the predictions."
    )
    report.add("\n" + markdown_table(["", "million rows/s", "times the copy", "times predict_proba"], rows))


def measure(
    report: Report, frame: pl.DataFrame, labels: np.ndarray, kinds: dict[str, str], rounds: int
) -> tuple[dict[str, list[float]], int]:
    """Seconds per kind of frame, and the number of features the model keeps."""
    import pandas as pd

    from bayesieve import SelectiveNB

    new = frame[TRAINING_ROWS:]
    model = SelectiveNB().fit(frame[:TRAINING_ROWS], labels[:TRAINING_ROWS])
    new_pandas = new.to_pandas()
    strings = new.select(pl.selectors.string())
    objects = {
        name: pd.Series(np.array(strings[name].to_list(), dtype=object), dtype=object) for name in strings.columns
    }
    new_objects = new_pandas.assign(**objects)
    tasks: dict[str, Callable[[], Any]] = {
        "polars": lambda: model.predict_proba(new),
        "pandas": lambda: model.predict_proba(new_pandas),
        "pandas with object strings": lambda: model.predict_proba(new_objects),
    }
    if khiops_core() is None:
        report.add(f"\n{NOT_INSTALLED}")
    else:
        khiops_train, khiops_new = as_khiops_frame(frame[:TRAINING_ROWS], kinds), as_khiops_frame(new, kinds)
        peer = khiops_classifier().fit(khiops_train, labels[:TRAINING_ROWS].astype(object))
        tasks["Khiops (pandas)"] = lambda: peer.predict_proba(khiops_new)
    alternate(tasks, 1)
    return alternate(tasks, rounds), model.n_features_selected_


if __name__ == "__main__":
    main()

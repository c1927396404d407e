"""Drift of 1,000,000 raw rows by month, bounds included, against `predict_proba` of the same rows."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from benchmarks.common.measuring import Report, alternate, markdown_table, options, spread, verdict
from benchmarks.common.tables import mixed_table

TIMES = 1.5
TRAINING_ROWS = 20_000


def main() -> None:
    """Train on few rows, then time what is done with many."""
    arguments = options(__doc__).parse_args()
    n_rows, rounds = (20_000, 2) if arguments.quick else (1_000_000, 9)
    from bayesieve import SelectiveNB, drift

    report = Report("drift", "Watching a model", arguments)
    frame, labels, _ = mixed_table(TRAINING_ROWS + n_rows)
    model = SelectiveNB().fit(frame[:TRAINING_ROWS], labels[:TRAINING_ROWS])
    new = frame[TRAINING_ROWS:]
    days = np.datetime64("2024-01-01") + np.random.default_rng(0).integers(0, 366, n_rows)
    dated = new.with_columns(day=pl.Series(days))
    tasks: dict[str, Callable[[], Any]] = {
        "predict_proba": lambda: model.predict_proba(new),
        "drift, all rows together": lambda: drift(model, new),
        "drift, by month": lambda: drift(model, dated, by="day"),
        "drift, by month, with labels": lambda: drift(model, dated, labels[TRAINING_ROWS:], "day"),
    }
    alternate(tasks, 1)
    runs = alternate(tasks, rounds)
    alone = median(runs["predict_proba"])
    report.add(
        f"{n_rows:,} rows x {new.width} mixed raw features, {model.n_features_selected_} in the model; 12 months, 200 "
        f"resamples; {rounds} rounds in turns after one that does not count. Target: {TIMES} times `predict_proba`."
    )
    rows = [[name, spread(times), f"{median(times) / alone:.2f}"] for name, times in runs.items()]
    report.add("\n" + markdown_table(["", "seconds, median (range)", "times predict_proba"], rows))
    ratio = median(runs["drift, by month"]) / alone
    report.add(f"\nBy month, without labels: {verdict(ratio, TIMES, unit=' times')}.")
    report.close(["polars"])


if __name__ == "__main__":
    main()

"""Exports of models of all tables of the catalogue, run in their engines, against `predict_proba`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from bayesieve import SelectiveNB
from bayesieve.words import listed
from benchmarks.common.measuring import Report, catalogue, markdown_table, options_with_data, verdict
from tests.scorecard.export_engines import ENGINES

MOST_ROWS, TOLERANCE = 50_000, 1e-9
Scorer = Callable[[SelectiveNB, pl.DataFrame], Any]


def main() -> None:
    parser = options_with_data(__doc__)
    parser.add_argument("--engines", nargs="*", default=[*ENGINES], choices=[*ENGINES])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    report = Report("exports_exact", "Exported models against predict_proba", arguments)
    limits = [f"{engine.most_rows:,} in {name}" for name, engine in ENGINES.items() if engine.most_rows < MOST_ROWS]
    report.add(
        "The largest difference between the probabilities of a default model of each table and those of its export, "
        f"over all rows of tables of at most {MOST_ROWS:,}, or the first {listed(limits, 9)}. "
        "A dash: refused, for the reason below. Not run: a model of "
        "more than 1,000 columns in databases, or 200 in a workbook.\n"
    )
    known, lines, refused, worst = catalogue(arguments.data), [], [], dict.fromkeys(arguments.engines, 0.0)
    for name in list(known)[:3] if arguments.quick else known:
        frame = table_of(arguments.data, known[name])
        if frame is None:
            continue
        target = known[name]["target"]
        X = frame.drop(target)
        model = SelectiveNB().fit(X, frame[target].cast(pl.String))
        line = [name, f"{frame.height:,}", f"{model.n_features_selected_}"]
        for engine in arguments.engines:
            if len(model.scorecard_.reader.needed) > ENGINES[engine].most_columns:
                line.append("not run")
                continue
            try:
                difference = largest_difference(model, X[: ENGINES[engine].most_rows], ENGINES[engine].score)
            except ValueError as error:
                refused.append(f"- {name}, {engine}: {error}")
                line.append("–")
            else:
                worst[engine] = max(worst[engine], difference)
                line.append(f"{difference:.0e}")
        lines.append(line)
        print(*line, flush=True)
    report.add(markdown_table(["table", "rows", "features", *arguments.engines], lines))
    report.add("\nLargest: " + "; ".join(f"{name} {verdict(value, TOLERANCE)}" for name, value in worst.items()) + ".")
    report.add("\n".join(["\nRefused:\n", *refused]) if refused else "\nNothing is refused.")
    report.close(["duckdb", "onnxruntime", "polars"])


def table_of(folder: Any, line: dict[str, str]) -> pl.DataFrame | None:
    """The rows of a table; None if it has too many, or is no Parquet file."""
    if not line["file"].endswith(".parquet") or int(line["rows"]) > MOST_ROWS:
        return None
    frame = pl.read_parquet(folder / line["file"])
    return frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))


def largest_difference(model: SelectiveNB, rows: pl.DataFrame, score: Scorer) -> float:
    """Between the probabilities of the model and of an engine."""
    used = rows.select(model.scorecard_.reader.needed)
    found = np.asarray(score(model, used), dtype=float)
    return float(np.nanmax(np.abs(found - model.predict_proba(rows))))


if __name__ == "__main__":
    main()

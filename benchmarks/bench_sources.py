"""Processor seconds and peak memory of scanning a table, reading it, and counting as a fit does, from every source.

Usage: bench_sources.py [TABLE.parquet --target NAME]; without a table, one is generated.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.common.measuring import Report, in_fresh_process, markdown_table, options
from benchmarks.common.tables import mixed_table

SOURCES = ("polars in memory", "Parquet", "Arrow", "CSV", "polars query", "DuckDB")
CODE = "import sys, bench_sources; bench_sources.measure(*sys.argv[1:])"


def given(source: str, folder: str) -> Any:
    """What `scan` takes."""
    parquet = f"{folder}/rows.parquet"
    if source == "polars in memory":
        return pl.read_parquet(parquet)
    if source == "polars query":
        return pl.scan_parquet(parquet)
    if source == "DuckDB":
        import duckdb

        return duckdb.read_parquet(parquet)
    return {"Parquet": parquet, "Arrow": f"{folder}/rows.arrow", "CSV": f"{folder}/rows.csv"}[source]


def number(table: Any, target: str) -> None:
    """What a fit does before it knows levels: it reads all columns, and counts their values."""
    from bayesieve.discretize.row_blocks import CountedColumns
    from bayesieve.discretize.scan_passes import ScannedBlocks
    from bayesieve.engine import Mapped
    from bayesieve.table.scanned import scanned_rows

    rows = scanned_rows(table, target)
    blocks = ScannedBlocks(rows.table, rows.target, None, Mapped(tempfile.gettempdir()), None)
    CountedColumns(blocks, None)


def measure(source: str, folder: str, target: str) -> None:
    """Print what a scan, a pass over all rows, and the counts of a fit take in this process."""
    from bayesieve import scan

    start, seconds = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, []

    def lap() -> None:
        seconds.append(time.process_time() + sum(os.times()[2:4]))

    data = given(source, folder)
    lap()
    table = scan(data)
    lap()
    n_rows = sum(block.height for block in table.blocks())
    lap()
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) / 2**10
    number(scan(next(table.blocks()).head(1000)), target)  # compiles
    compiled = len(seconds)
    lap()
    number(table, target)
    lap()
    seconds = [after - before for before, after in itertools.pairwise(seconds)]
    del seconds[compiled - 1]
    print(json.dumps({"seconds": seconds, "peak": peak, "rows": n_rows}))


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("table", type=Path, nargs="?")
    parser.add_argument("--target", default="class")
    arguments = parser.parse_args()
    if arguments.table is None:
        frame, y, _ = mixed_table(10_000 if arguments.quick else 1_000_000)
        frame = frame.with_columns(pl.Series("class", y))
    else:
        frame = pl.read_parquet(arguments.table)
    name = "generated" if arguments.table is None else arguments.table.stem
    report = Report(f"sources-{name}", f"Sources: {name}, {frame.height:,} rows, {frame.width} columns", arguments)
    with tempfile.TemporaryDirectory() as folder:
        frame.write_parquet(f"{folder}/rows.parquet")
        frame.write_ipc(f"{folder}/rows.arrow", record_batch_size=1 << 18)
        frame.write_csv(f"{folder}/rows.csv")
        n_rows = frame.height
        del frame
        rows = []
        for source in SOURCES:
            result = json.loads(in_fresh_process(CODE, source, folder, arguments.target).splitlines()[-1])
            assert result["rows"] == n_rows
            rows.append([source, *(f"{s:.2f}" for s in result["seconds"]), f"{result['peak']:.0f}"])
    header = ["source", "scan (s)", "read all rows (s)", "count as a fit does (s)", "peak memory (MiB)"]
    report.add(markdown_table(header, rows))
    report.add(
        "\nProcessor seconds of all threads. A fit counts all columns while it reads them once, and numbers the values "
        "of rows. Memory is\nthe most that the process needs beyond its imports, before the last of these. Parquet is "
        "read in place; all\nothers are copied to Parquet by the scan."
    )
    report.close(("polars", "duckdb", "dask", "pyarrow"))


if __name__ == "__main__":
    main()

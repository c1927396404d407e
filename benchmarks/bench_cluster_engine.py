"""A fit of Parquet files by the workers of a Dask cluster: round trips, bytes and seconds by their number."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from measuring import Report, markdown_table, options, verdict
from tables import large_piece

SIZES, QUICK_SIZES = (1_000_000, 5_000_000, 10_000_000), (40_000,)
WORKERS = (2,)
PIECE_ROWS = 250_000
MOST_ROUND_TRIPS = 3_000
MOST_TIMES = 1.2  # the seconds of one process, by two workers


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", help="sizes of the table")
    arguments = parser.parse_args()
    report = Report("cluster_engine", "A Dask cluster as the engine", arguments)
    sizes = arguments.rows or (QUICK_SIZES if arguments.quick else SIZES)
    measured_lines = {n_rows: measured(n_rows) for n_rows in sizes}
    rows = [row for lines in measured_lines.values() for row in lines]
    header = ["rows", "workers", "seconds", "of them CPU here", "round trips", "sent", "received", "largest difference"]
    report.add(
        "`SelectiveNB(engine=Cluster(client)).fit(bayesieve.scan(folder), 'target')` of a table of 30 mixed columns, "
        "by workers in processes of one thread on this machine; 0 workers: `SelectiveNB().fit` of the same scan. The "
        "last column is that of the feature weights, against 0 workers.\n"
    )
    report.add(markdown_table(header, rows))
    most = max(int(row[4].replace(",", "")) for row in rows)
    report.add(f"\nAt most {most:,} round trips (target: at most {MOST_ROUND_TRIPS:,}).\n")
    for n_rows, lines in measured_lines.items():
        seconds = {line[1]: float(line[2]) for line in lines}
        times = verdict(seconds["2"] / seconds["0"], MOST_TIMES, unit=" times")
        report.add(f"{n_rows:,} rows, two workers against one process on the same cores: {times}.")
    report.close(["distributed", "numpy", "polars"])


def measured(n_rows: int) -> list[list[str]]:
    """A line for each number of workers."""
    from distributed import Client, LocalCluster

    import bayesieve
    from bayesieve import SelectiveNB
    from bayesieve.engine import Cluster

    def line(
        n_workers: int, seconds: tuple[float, float], counts: tuple[int, int, int], difference: float
    ) -> list[str]:
        trips, sent, received = counts
        megabytes = [f"{n_bytes / 1e6:,.0f} MB" for n_bytes in (sent, received)]
        times = [f"{each:.1f}" for each in seconds]
        return [f"{n_rows:,}", str(n_workers), *times, f"{trips:,}", *megabytes, f"{difference:.0e}"]

    with tempfile.TemporaryDirectory() as folder:
        for number, begin in enumerate(range(0, n_rows, PIECE_ROWS)):
            large_piece(min(PIECE_ROWS, n_rows - begin), number).write_parquet(Path(folder) / f"{number:03d}.parquet")
        scanned, small = bayesieve.scan(folder), large_piece(20_000, 0)
        SelectiveNB().fit(small.drop("target"), small["target"])  # loads the compiled code
        alone, seconds = timed(lambda: SelectiveNB().fit(scanned, "target"))
        lines = [line(0, seconds, (0, 0, 0), 0.0)]
        for n_workers in WORKERS:
            options = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": ":0"}
            with LocalCluster(**options) as cluster, Client(cluster) as client:
                with Cluster(client) as warm:  # compiles, and imports
                    SelectiveNB(engine=warm).fit(small.drop("target"), small["target"])
                with Cluster(client) as engine:
                    model, seconds = timed(lambda engine=engine: SelectiveNB(engine=engine).fit(scanned, "target"))
                    counts = (engine.round_trips, engine.bytes_sent, engine.bytes_received)
            difference = float(np.abs(model.feature_weights_ - alone.feature_weights_).max())
            lines.append(line(n_workers, seconds, counts, difference))
    return lines


def timed(task: Any) -> tuple[Any, tuple[float, float]]:
    """What a task returns, and its seconds: wall clock, and CPU of this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = task()
    return result, (time.perf_counter() - wall, time.process_time() - cpu)


if __name__ == "__main__":
    main()

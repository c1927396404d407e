"""A scan read by two workers of Dask against one process, on the same cores: seconds, and bytes sent and received."""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.common.measuring import Report, alternate, markdown_table, options, verdict
from benchmarks.common.tables import large_piece

SIZE, QUICK_SIZE = 5_000_000, 40_000
ROUNDS = 3
PIECE_ROWS = 250_000
MOST_TIMES = 1.2  # the seconds of one process, by two workers
LARGE = (10**8, 10**9)
_PASS = re.compile(r"Pass for ([a-z]+): .*; (\S+) MB sent, (\S+) MB received")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, help="size of the table")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    report = Report("executors", "Rows read by an executor", arguments)
    n_rows = arguments.rows or (QUICK_SIZE if arguments.quick else SIZE)
    with tempfile.TemporaryDirectory() as folder:
        for number, begin in enumerate(range(0, n_rows, PIECE_ROWS)):
            large_piece(min(PIECE_ROWS, n_rows - begin), number).write_parquet(Path(folder) / f"{number:03d}.parquet")
        seconds, passes, difference = measured(folder, arguments.rounds)
    report.add(
        f"{n_rows:,} rows of 30 mixed columns in Parquet files of {PIECE_ROWS:,} rows; two workers of Dask, each a "
        "process of one thread on this machine, against one process with the same cores. Medians of "
        f"{arguments.rounds} rounds in turns.\n"
    )
    names = {"coding": "`TableEncoder().fit`", "fit": "`SelectiveNB().fit`"}
    rows = []
    for what, name in names.items():
        here, there = (seconds[f"{what} {where}"] for where in ("here", "there"))
        ratio = median(b / a for a, b in zip(here, there, strict=True))
        rows.append([name, f"{median(here):.1f} s", f"{median(there):.1f} s", f"{ratio:.2f}"])
    report.add(markdown_table(["", "one process", "two workers", "median of the ratios"], rows))
    report.add(f"\nThe fit by two workers takes {verdict(float(rows[-1][-1]), MOST_TIMES, unit=' times')} as long.")
    report.add(f"The largest difference of a log probability is {difference:g}.\n")
    report.add("Bytes of the fit:\n")
    lines = [
        [name, f"{sent:.3g} MB", f"{received:,.4g} MB", f"{sent * 1e6 / n_rows:.2g}", f"{received * 1e6 / n_rows:.3g}"]
        for name, sent, received in passes
    ]
    report.add(markdown_table(["pass", "sent", "received", "sent, bytes a row", "received, bytes a row"], lines))
    report.add("\nComputed for 30 columns of up to 255 levels, two classes and no weights, on the machine that fits:\n")
    received = sum(own for *_, own in passes) * 1e6 / n_rows
    report.add(markdown_table(["", *(f"{n:,} rows" for n in LARGE)], computed(received)))
    report.close(["distributed", "numpy", "polars"])


def computed(received: float) -> list[list[str]]:
    """What large tables take; ``received`` : bytes a row."""
    per_row = {
        "received": received,
        "disk: row hashes, 8 bytes a row": 8,
        "disk: codes, 30 bytes a row": 30,
        "disk: numbers of the search, 16 bytes a row and class but one": 16,
        "memory: classes, 2 bytes a row": 2,
    }
    rows = [[name, *(f"{n * size / 1e9:,.1f} GB" for n in LARGE)] for name, size in per_row.items()]
    sample = ["memory: sampled rows, at most 2,000,000", *["up to 0.5 GB"] * len(LARGE)]
    return [*rows, sample, ["memory: values, results that wait, blocks", *["within `memory_limit`"] * len(LARGE)]]


def measured(folder: str, rounds: int) -> tuple[dict[str, list[float]], list[tuple[str, float, float]], float]:
    """Seconds of all tasks, names and megabytes of the passes, and the largest difference of a log probability."""
    from distributed import Client, LocalCluster

    import bayesieve
    from bayesieve import SelectiveNB, TableEncoder
    from bayesieve.discretize.coding_options import CodingOptions
    from bayesieve.engine.executors import executor_of

    scanned, few = bayesieve.scan(folder), bayesieve.scan(Path(folder) / "000.parquet")
    models: dict[str, Any] = {}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster, direct_to_workers=True) as client,
    ):
        engines = {"here": "memory", "there": client}
        executors = {where: executor_of(engine) for where, engine in engines.items()}
        log = io.StringIO()

        def coding(where: str, rows: Any = scanned) -> None:
            TableEncoder().fit_transform_coded(rows, "target", coding=CodingOptions(executor=executors[where]))

        def fit(where: str) -> None:
            with contextlib.redirect_stderr(log):
                models[where] = SelectiveNB(engine=engines[where], verbose=int(where == "there")).fit(scanned, "target")

        for where in engines:  # imports and compiled code
            coding(where, few)
        tasks = {f"coding {where}": lambda where=where: coding(where) for where in engines}
        tasks |= {f"fit {where}": lambda where=where: fit(where) for where in engines}
        seconds = alternate(tasks, rounds)
    passes: list[tuple[str, float, float]] = []
    for name, sent, received in _PASS.findall(log.getvalue()):
        passes.append((name, float(sent.replace(",", "")), float(received.replace(",", ""))))
    head = large_piece(20_000, 0).drop("target")
    one, other = (models[where].scorecard_.joint(head) for where in engines)
    return seconds, passes[: len(passes) // rounds], float(np.abs(one - other).max())


if __name__ == "__main__":
    main()

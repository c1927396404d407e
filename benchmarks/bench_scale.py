"""Fits from Parquet files of 1 to 100 million rows, in constant memory: time, growth, memory; Khiops from a file."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.common.khiops_peer import NOT_INSTALLED, khiops_core, train_from_file, write_dictionary
from benchmarks.common.measuring import Report, in_fresh_process, markdown_table, options, seconds_of, verdict
from benchmarks.common.tables import large_piece

SIZES = (1_000_000, 3_000_000, 10_000_000, 100_000_000)
QUICK_SIZES = (20_000, 60_000)
PIECE = 1_000_000
LIMIT = "4GiB"
MOST_SECONDS, MOST_LOSS = 480.0, 0.1  # at 100 million rows; per cent
KHIOPS_ROWS = 10_000_000
TARGET = "target"

# Runs in a process of its own: only there do times and memory belong to one fit.
_FIT = """
import json, sys, tempfile, threading, time
import bayesieve
from bayesieve import SelectiveNB

def status():
    with open("/proc/self/status") as lines:
        facts = dict(line.split(":", 1) for line in lines)
    return [int(facts[key].split()[0]) * 1024 for key in ("RssAnon", "VmRSS")]

limit, small, *paths = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    SelectiveNB(memory_limit=limit).fit(small, "target")  # compiles, and imports
    before, peaks, done = status(), status(), threading.Event()

    def watch():
        while not done.wait(0.05):
            peaks[:] = map(max, peaks, status())

    thread = threading.Thread(target=watch)
    thread.start()
    began, cpu = time.perf_counter(), time.process_time()
    model = SelectiveNB(memory_limit=limit, n_jobs=-1).fit(bayesieve.scan(paths), "target")
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    done.set()
    thread.join()
print(json.dumps({"seconds": seconds, "cpu": cpu, "own": peaks[0], "all": peaks[1], "before": before[0],
                  "models": model.trace_.n_models, "features": model.n_features_selected_}))
"""

_READ = """
import sys, time
import polars as pl
began = time.perf_counter()
for path in sys.argv[1:]:
    pl.read_parquet(path)
print(time.perf_counter() - began)
"""


def pieces(folder: Path, n_rows: int) -> list[str]:
    """The files of so many rows; those that are not there yet are made."""
    paths = []
    for number, begin in enumerate(range(0, n_rows, PIECE)):
        n = min(PIECE, n_rows - begin)
        path = folder / f"{number:05d}-{n}.parquet"
        if not path.exists():
            part = path.with_suffix(".part")
            large_piece(n, number).write_parquet(part, row_group_size=1 << 18)
            part.rename(path)
        paths.append(str(path))
    return paths


def khiops_seconds(core: Any, folder: Path, paths: Sequence[str]) -> float:
    """Seconds of training by Khiops from a CSV file of the same rows."""
    table = folder / "table.csv"
    with open(table, "wb") as file:
        for number, path in enumerate(paths):
            pl.read_parquet(path).fill_nan(None).write_csv(file, include_header=number == 0)
    schema = pl.read_parquet_schema(paths[0])
    kinds = {name: "numeric" if dtype.is_numeric() else "categorical" for name, dtype in schema.items()}
    del kinds[TARGET]
    write_dictionary(folder / "mixed.kdic", kinds, TARGET)
    seconds = seconds_of(lambda: train_from_file(core, table, TARGET))
    table.unlink()
    return seconds


def grid_losses(path: str) -> list[list[str]]:
    """What cells of a grid lose against single values: MODL cost of the levels of columns of many distinct numbers."""
    import bayesieve
    from bayesieve import TableEncoder
    from bayesieve.discretize import row_blocks
    from bayesieve.discretize.modl import interval_costs

    names = ["number_02", "number_05", "number_11", "number_14"]
    source = bayesieve.scan(path, columns=[*names, TARGET])
    exact = TableEncoder().fit(source, TARGET).levels_
    row_blocks.EXACT_ROWS, most = 0, row_blocks.MOST_NUMBERS
    row_blocks.MOST_NUMBERS = 1000
    on_grid = TableEncoder().fit(source, TARGET).levels_
    row_blocks.EXACT_ROWS, row_blocks.MOST_NUMBERS = 1 << 20, most
    lines = []
    for name, one, other in zip(names, exact, on_grid, strict=True):
        n_values = pl.read_parquet(path, columns=[name])[name].n_unique()
        costs = []
        for level in (one, other):
            counts, size = np.asarray(level.counts, dtype=float), np.array([level.n_levels])
            costs.append(float(interval_costs(counts, size, np.array([float(n_values)]), "sizes", 0.0)[0]))
        loss = 100.0 * (costs[1] / costs[0] - 1.0)
        lines.append([name, f"{n_values:,}", one.n_levels, other.n_levels, f"{costs[0]:,.1f}", f"{loss:+.4f} %"])
    return lines


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", help="rows of the tables")
    parser.add_argument("--folder", type=Path, help="where the tables are made, and stay; by default they are removed")
    parser.add_argument("--memory-limit", default=LIMIT)
    parser.add_argument("--no-khiops", action="store_true")
    parser.add_argument("--khiops-rows", type=int, default=KHIOPS_ROWS, help="of the largest table that Khiops reads")
    arguments = parser.parse_args()
    sizes = sorted(arguments.rows or (QUICK_SIZES if arguments.quick else SIZES))
    report = Report("scale", "Tables larger than memory", arguments)
    report.add(
        '`SelectiveNB().fit(bayesieve.scan(files), "target")` on mixed tables of 30 columns in Parquet files of a '
        "million rows: 15 of numbers (few to 30,000 distinct values, one of a million, two all distinct), 15 of 2 to "
        "30,000 categories, missing values, two classes. Each fit runs in a fresh process, after a small one that "
        f"compiles, within memory_limit={arguments.memory_limit!r}. Memory is the peak of the whole process, Python "
        "and libraries included: its own, and with the pages of mapped files that are in memory. The floor is polars "
        "reading the files, and nothing else.\n"
    )
    lines, seconds = [], {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        small = pieces(folder, 20_000)
        core = None if arguments.no_khiops else khiops_core()
        for n_rows in sizes:
            paths = pieces(folder, n_rows)
            fit = json.loads(in_fresh_process(_FIT, arguments.memory_limit, *small, *paths).splitlines()[-1])
            floor = float(in_fresh_process(_READ, *paths))
            seconds[n_rows] = fit["seconds"]
            khiops = "-"
            if core is not None and n_rows <= arguments.khiops_rows:
                taken = khiops_seconds(core, Path(temporary), paths)
                khiops = f"{taken:.0f} s ({taken / fit['seconds']:.0f} times)"
            size = sum(Path(path).stat().st_size for path in paths)
            lines.append(
                [
                    *(f"{n_rows:,}", f"{size / 1e9:.2f} GB", f"{fit['seconds']:.1f} s", f"{fit['cpu']:.1f} s"),
                    *(f"{1e6 * fit['seconds'] / n_rows:.2f} s", f"{fit['own'] / 2**20:,.0f} MiB"),
                    *(f"{fit['all'] / 2**20:,.0f} MiB", f"{floor:.1f} s", khiops),
                ]
            )
            print(lines[-1], flush=True)
        losses = grid_losses(pieces(folder, min(PIECE, sizes[-1]))[0])
    header = ["rows", "files", "fit", "processor time", "per million rows", "own memory", "with mapped pages"]
    report.add(markdown_table([*header, "reading alone", "Khiops"], lines))
    if core is None and not arguments.no_khiops:
        report.add(f"\n{NOT_INSTALLED}")
    first, last = sizes[0], sizes[-1]
    growth = (seconds[last] / seconds[first]) / (last / first)
    report.add(f"\nTime per row at {last:,} rows against {first:,}: {verdict(growth, 1.0, unit=' times')}.")
    if last >= SIZES[-1]:
        report.add(f"\nSeconds at {last:,} rows: {verdict(seconds[last], MOST_SECONDS, unit=' s')}.")
    report.add("\nMODL cost of levels from a grid of 65,535 quantiles, against those from all distinct numbers:\n")
    report.add(markdown_table(["column", "distinct", "levels", "on the grid", "cost in nats", "loss"], losses))
    worst = max(float(line[-1].split()[0]) for line in losses)
    report.add(f"\nLargest loss: {verdict(worst, MOST_LOSS, unit=' %')}.")
    report.close(("polars", "khiops"))


if __name__ == "__main__":
    main()

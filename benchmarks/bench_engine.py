"""Rows in memory against rows mapped from files: time and peak memory of a fit, in fresh processes in turns."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
from measuring import Report, in_fresh_process, markdown_table, options, verdict
from tables import mixed_table

SIZES = (500_000, 1_000_000, 2_000_000)
QUICK_SIZES = (20_000, 40_000)
MOST_TIMES = 2.0
WAYS = ("in memory", "mapped", "mapped, codes kept")

# Runs in a process of its own, on a table mapped from a file: its columns take no memory that counts.
_FIT = """
import hashlib, json, sys, tempfile, threading, time
import pyarrow as pa
from bayesieve import SelectiveNB

def anonymous():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))

def mapped():  # pages of the codes and the search that are in memory
    with open("/proc/self/smaps") as lines:
        within, total = False, 0
        for line in lines:
            if "-" in line.split()[0]:
                within = folder in line
            elif within and line.startswith("Rss"):
                total += int(line.split()[1]) * 1024
    return total

way, path, folder, n_rows = sys.argv[1:]
table = pa.ipc.open_file(pa.memory_map(path)).read_all()[: int(n_rows)]
X, y = table.drop(["target"]), table["target"].to_numpy()
with tempfile.TemporaryDirectory() as small:  # compiles, and imports
    SelectiveNB(cache=None if way == "in memory" else small).fit(X[:20_000], y[:20_000])
before, peak, resident, done = anonymous(), 0, 0, threading.Event()

def watch():
    global peak, resident
    while not done.wait(0.02):
        peak, resident = max(peak, anonymous()), max(resident, mapped())

thread = threading.Thread(target=watch)
thread.start()
began, cpu = time.perf_counter(), time.process_time()
model = SelectiveNB(cache=None if way == "in memory" else folder).fit(X, y)
seconds = time.perf_counter() - began
end, cpu = anonymous(), time.process_time() - cpu
done.set()
thread.join()
weights = hashlib.sha256(model.feature_weights_.tobytes()).hexdigest()
print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": peak - before, "end": end - before, "mapped": resident,
                  "weights": weights}))
"""


def write_table(path: Path, n_rows: int) -> None:
    """A mixed table, its categories as indices into their values, in one batch."""
    X, y, _ = mixed_table(n_rows)
    arrow = X.to_arrow()
    columns = {
        name: arrow[name]
        if pa.types.is_floating(arrow[name].type)
        else arrow[name].cast(pa.string()).dictionary_encode()
        for name in arrow.column_names
    }
    table = pa.table(columns | {"target": pa.array(y)}).combine_chunks()
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="fits of each kind")
    arguments = parser.parse_args()
    sizes = QUICK_SIZES if arguments.quick else SIZES
    report = Report("engine", "Rows in memory and rows mapped from files", arguments)
    report.add(
        "`SelectiveNB()` on a mixed table of 30 columns (15 numeric, up to 30,000 values each; 15 categorical), "
        "against `SelectiveNB(cache=FOLDER)` with an empty folder, and with one that holds the codes. The table itself "
        "is mapped from an Arrow file. Memory is anonymous memory of a fresh process beyond that before the fit, at "
        "its peak and when the fit ends, and pages of the folder's files in memory at their peak, at most 256 MiB by "
        "default. Processor time includes the clock that looks at the memory every 20 ms.\n"
    )
    lines, ratios = [], {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.arrow")
        write_table(path, sizes[-1])
        for n_rows in sizes:
            runs: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
            for number in range(arguments.rounds):
                cache = Path(folder, f"cache-{n_rows}-{number}")
                for way in WAYS:
                    printed = in_fresh_process(_FIT, way, str(path), str(cache), str(n_rows))
                    runs[way].append(json.loads(printed.splitlines()[-1]))
            if len({run["weights"] for of_way in runs.values() for run in of_way}) != 1:
                sys.exit("The weights differ.")
            for way, of_way in runs.items():
                keys = ("seconds", "cpu", "peak", "end", "mapped")
                middle = {key: median(run[key] for run in of_way) for key in keys}
                of_base = {key: median(run[key] for run in runs[WAYS[0]]) for key in ("seconds", "cpu")}
                ratios[n_rows, way] = middle["seconds"] / of_base["seconds"]
                times = [f"{middle[key]:.1f} s ({middle[key] / of_base[key]:.2f})" for key in ("seconds", "cpu")]
                memory = [f"{middle[key] / 2**20:.0f} MiB" for key in ("peak", "end", "mapped")]
                lines.append([f"{n_rows:,}", way, *times, *memory])
    header = ["rows", "fit", "median time (times in memory)", "processor time", "peak", "end", "mapped pages"]
    report.add(markdown_table(header, lines))
    reached = verdict(ratios[sizes[-1], "mapped"], MOST_TIMES, unit=" times")
    report.add(f"\nMapped against in memory at {sizes[-1]:,} rows: {reached}. Weights are the same, bit for bit.")
    report.close(("pyarrow",))


if __name__ == "__main__":
    main()

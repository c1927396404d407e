"""A mixed table of a million rows: a fit with "compression" against Khiops training from a file; peak memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from benchmarks.common.khiops_peer import (
    NOT_INSTALLED,
    features_used,
    khiops_core,
    probabilities_from_file,
    train_from_file,
    write_dictionary,
)
from benchmarks.common.measuring import (
    Report,
    against_fastest,
    alternate,
    fastest_of,
    in_fresh_process,
    markdown_table,
    options,
    verdict,
)
from benchmarks.common.scores import scores
from benchmarks.common.tables import mixed_table

TIMES_FASTER = 20.0
BYTES_PER_CELL, BYTES_PER_ROW = 3, 40
TARGET = "target"
NEW_ROWS = 100_000

# Runs in a process of its own: only there does the high-water mark of memory belong to one fit.
_MEMORY = """
import ctypes, gc, sys
import polars as pl
from bayesieve import SelectiveNB

def status(key):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key + ":"))

library, path = sys.argv[1:]
table = pl.read_parquet(path).rechunk()
small = table[:20_000]
if library == "pandas":
    import pyarrow
    small, table = small.to_pandas(), table.to_pandas()
    pyarrow.default_memory_pool().release_unused()
features = [name for name in table.columns if name != "target"]
numbers = [name for name in features if name.startswith("number")]
SelectiveNB("compression").fit(small[features], small["target"])
SelectiveNB("compression").fit(small[numbers] // 500, small["target"])  # repeated values take another way
X, y = table[features], table["target"]
del table, small
gc.collect()
ctypes.CDLL(None).malloc_trim(0)
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # reset the high-water mark
before = status("VmRSS")
SelectiveNB("compression").fit(X, y)
print(before, status("VmHWM") - before)
"""

# Memory kept by an allocator after reading the table would hide what the fit takes: polars and pyarrow give freed pages
# back at once. That of NumPy is measured as it is (it keeps some of what was freed), and giving back at once as well.
_PROMPT = {
    "_RJEM_MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0",
    "MIMALLOC_PURGE_DELAY": "0",
}
_ALLOCATORS = {
    "the system's": _PROMPT,
    "freed pages returned at once": {**_PROMPT, "MALLOC_MMAP_THRESHOLD_": "131072"},
}


def main() -> None:
    """Time both sides in turns, compare quality, measure memory."""
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, help="rows of the table (default 1,000,000; 20,000 with --quick)")
    parser.add_argument("--rounds", type=int, help="rounds of alternating runs (default 3; 1 with --quick)")
    arguments = parser.parse_args()
    n_rows = arguments.rows or (20_000 if arguments.quick else 1_000_000)
    report = Report("khiops_million", "A mixed table of a million rows", arguments)
    frame, labels, kinds = mixed_table(n_rows)
    distinct = [frame[name].n_unique() for name, kind in kinds.items() if kind == "numeric"]
    report.add(
        f"{n_rows:,} rows x {frame.width} features, two classes: {len(distinct)} numeric ones with {min(distinct):,} "
        f"to {max(distinct):,} distinct values, the others categorical with 3 to 40 strings; two of each kind miss 3 % "
        "of their values. bayesieve fits dataframes in memory, in a warm process. Khiops trains from a CSV file, "
        "written with its dictionary before the clock starts; no trees, no pairs, no constructed features, all rows."
    )
    with tempfile.TemporaryDirectory() as folder:
        compare(report, Path(folder), frame, labels, kinds, arguments.rounds or (1 if arguments.quick else 3))
        memory(report, Path(folder), frame, labels)
    report.close(["polars", "pandas", "pyarrow", "khiops", "khiops-core"])


def compare(
    report: Report, folder: Path, frame: pl.DataFrame, labels: np.ndarray, kinds: dict[str, str], rounds: int
) -> None:
    """Seconds of both sides in turns, their ratio, and their quality."""
    from bayesieve import SelectiveNB

    tasks: dict[str, Callable[[], Any]] = {}
    for library, X, y in _frames(frame, labels):
        tasks[f"bayesieve, {library}"] = lambda X=X, y=y: SelectiveNB("compression").fit(X, y)
    alternate(tasks, 1)
    core, table = khiops_core(), folder / "table.csv"
    if core is None:
        report.add(f"\n{NOT_INSTALLED}")
    else:
        write_dictionary(folder / "mixed.kdic", kinds, TARGET)
        _write_csv(table, frame, labels)
        for name, n_cores in (("Khiops, all cores (its default)", None), ("Khiops, one core", 1)):
            tasks[name] = lambda n_cores=n_cores: train_from_file(core, table, TARGET, n_cores)
    runs = alternate(tasks, rounds)
    report.add("\n" + against_fastest(runs, peer="Khiops"))
    if fastest := fastest_of(runs, "Khiops"):
        for library in ("polars", "pandas"):
            ratio = fastest / median(runs[f"bayesieve, {library}"])
            report.add(f"\nTimes faster than Khiops, {library}: {verdict(ratio, TIMES_FASTER, at_least=True)}.")
    report.add("\n" + quality(core, table, frame, labels))


def quality(core: Any, table: Path, frame: pl.DataFrame, labels: np.ndarray) -> str:
    """Quality of both on new rows."""
    from bayesieve import SelectiveNB

    unseen, truth, _ = mixed_table(NEW_ROWS, rows_seed=2)
    rows = []
    for selector in ("compression", "map", "all"):
        model = SelectiveNB(selector).fit(frame, labels)
        figures = scores(model.predict_proba(unseen), model.classes_, truth)
        rows.append([f'bayesieve, "{selector}"', model.n_features_selected_, *(f"{v:.4f}" for v in figures.values())])
    if core is not None:
        trained = train_from_file(core, table, TARGET)
        new = table.parent / "new.csv"
        _write_csv(new, unseen, truth)
        figures = scores(probabilities_from_file(core, trained, new, TARGET, ["no", "yes"]), ["no", "yes"], truth)
        rows.append(["Khiops", features_used(trained), *(f"{v:.4f}" for v in figures.values())])
    header = ["features kept", "AUC", "log loss", "accuracy", "compression rate"]
    return markdown_table([f"{NEW_ROWS:,} new rows of the same kind", *header], rows)


def memory(report: Report, folder: Path, frame: pl.DataFrame, labels: np.ndarray) -> None:
    """Peak memory of a fit above the memory in use before it, in separate processes."""
    path = folder / "table.parquet"
    _with_target(frame, labels).write_parquet(path)
    allowed = BYTES_PER_CELL * frame.width * frame.height + BYTES_PER_ROW * frame.height
    rows = []
    for library in ("polars", "pandas"):
        for allocator, environment in _ALLOCATORS.items():
            printed = in_fresh_process(_MEMORY, library, str(path), environment=environment)
            before, peak = map(int, printed.split())
            row = [library, allocator, f"{before / 2**20:,.0f} MiB", f"{peak / 2**20:,.0f} MiB"]
            row += [f"{peak / frame.height:.0f}", f"{peak / frame.height / frame.width:.2f}"]
            rows.append([*row, f"{allowed / 2**20:,.0f} MiB: {'reached' if peak <= allowed else 'MISSED'}"])
    header = ["fit of", "allocator", "process before", "peak above that", "bytes per row", "bytes per cell"]
    target = f"target: {BYTES_PER_CELL} bytes per cell + {BYTES_PER_ROW} per row"
    report.add("\n" + markdown_table([*header, target], rows))


def _frames(frame: pl.DataFrame, labels: np.ndarray) -> Iterator[tuple[str, Any, Any]]:
    """The same table as every kind of dataframe."""
    import pandas as pd

    yield "polars", frame, pl.Series(TARGET, labels)
    yield "pandas", frame.to_pandas(), pd.Series(labels, name=TARGET)
    strings = frame.select(pl.selectors.string())
    objects = {
        name: pd.Series(np.array(strings[name].to_list(), dtype=object), dtype=object) for name in strings.columns
    }
    yield "pandas with object strings", frame.to_pandas().assign(**objects), pd.Series(labels, name=TARGET)


def _write_csv(path: Path, frame: pl.DataFrame, labels: np.ndarray) -> None:
    """As Khiops reads it: missing numbers are empty."""
    _with_target(frame, labels).with_columns(pl.selectors.float().fill_nan(None)).write_csv(path)


def _with_target(frame: pl.DataFrame, labels: np.ndarray) -> pl.DataFrame:
    return frame.with_columns(pl.Series(TARGET, labels))


if __name__ == "__main__":
    main()

"""Growth of the time of a step and the memory of a search with rows and candidates."""

from __future__ import annotations

import argparse
from statistics import median
from typing import Any

import numpy as np

from bayesieve import CodedTable, WrapperSelector
from benchmarks.common.measuring import Report, in_fresh_process, markdown_table, options
from benchmarks.common.wrapper_tables import categories, step_seconds

_CRITERIA = ("error", "error_probability", "log_loss", "auc")

# Runs in a separate process, where the high-water mark of memory belongs to one search. The table is made
# before the mark is reset; a small search has loaded the compiled code by then.
_MEMORY = """
import ctypes, gc, sys
import numpy as np
from benchmarks.common.wrapper_tables import categories
from bayesieve import WrapperSelector

def status(key):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(key)) * 1024

def search(coded):
    evaluation = sys.argv[2] if sys.argv[2] in ("train", "holdout", "loo") else int(sys.argv[2])
    return WrapperSelector(criterion=sys.argv[1], direction="forward", evaluation=evaluation, n_features_to_select=5,
                           encoder=None, smoothing=1.0, n_jobs=1).fit_coded(coded)

rows, features, classes = map(int, sys.argv[3:])
search(categories(5_000, features, 5, classes))
coded = categories(rows, features, 5, classes)
gc.collect()
ctypes.CDLL(None).malloc_trim(0)
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # reset the high-water mark
before = status("VmRSS")
search(coded)
print(status("VmHWM") - before)
"""
_FEW_FEATURES = 20


def main() -> None:
    """Steps over ten times the rows, over ten times the candidates, then memory."""
    arguments = options(__doc__).parse_args()
    report = Report("wrapper_scaling", "Growth of a wrapper search with rows and candidates", arguments)
    small = 2_000 if arguments.quick else 20_000
    report.add(
        "Categorical features of five levels, two classes, one core; forward on the training rows, five steps, of "
        "which the median counts (from the trace). Linear growth keeps the nanoseconds per row and candidate.\n"
    )
    sizes = [(small, 20), (10 * small, 20), (small, 200), (10 * small, 200)]
    rows = [time_of(criterion, sizes, 2 if arguments.quick else 5) for criterion in _CRITERIA]
    header = ["criterion", *(f"{n_rows:,} rows x {n_features}" for n_rows, n_features in sizes)]
    header += ["10 times the rows", "10 times the candidates"]
    report.add(markdown_table(header, rows))
    memory(report, arguments)
    report.close()


def time_of(criterion: str, sizes: list[tuple[int, int]], rounds: int) -> list[Any]:
    """Nanoseconds per row and candidate at every size, and the cost of ten times as many."""
    tables = [categories(*size, 5) for size in sizes]
    seconds: list[list[float]] = [[] for _ in sizes]
    for round_ in range(rounds + 1):
        for coded, found in zip(tables, seconds, strict=True):
            steps = step_seconds(search(coded, criterion))
            if round_:  # the first round loads the compiled code
                found.append(float(np.median(steps)))
    cost = [median(found) for found in seconds]
    figures = [f"{s / n_rows / n_features * 1e9:.2f} ns" for s, (n_rows, n_features) in zip(cost, sizes, strict=True)]
    return [criterion, *figures, f"{cost[1] / cost[0]:.1f} times", f"{cost[2] / cost[0]:.1f} times"]


def search(coded: CodedTable, criterion: str) -> WrapperSelector:
    """Five steps."""
    return WrapperSelector(
        criterion=criterion,
        direction="forward",
        evaluation="train",
        n_features_to_select=5,
        encoder=None,
        smoothing=1.0,
        n_jobs=1,
    ).fit_coded(coded)


def memory(report: Report, arguments: argparse.Namespace) -> None:
    """Peak memory above that before the search, which includes the codes, in separate processes."""
    sizes = (20_000,) if arguments.quick else (100_000, 1_000_000)
    cases = [
        ("error_probability", "train", 2),
        ("error_probability", "train", 4),
        ("error_probability", "holdout", 2),
        ("error_probability", "loo", 2),
        ("error_probability", "5", 2),
        ("auc", "train", 2),
        ("auc", "train", 4),
    ]
    rows = []
    for case in cases:
        peaks = []
        for n_rows in sizes:
            criterion, evaluation, n_classes = case
            printed = in_fresh_process(_MEMORY, criterion, evaluation, str(n_rows), str(_FEW_FEATURES), str(n_classes))
            peaks.append(f"{int(printed) / n_rows:.0f}")
        rows.append([*case, *peaks])
    header = ["criterion", "evaluation", "classes", *(f"bytes per row, {n_rows:,} rows" for n_rows in sizes)]
    report.add(
        f"\nPeak memory of a search above the table of codes, {_FEW_FEATURES} features ({_FEW_FEATURES} bytes of codes "
        "per row); evaluations other than on training rows copy the codes:\n"
    )
    report.add(markdown_table(header, rows))


if __name__ == "__main__":
    main()

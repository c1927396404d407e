"""MODL intervals of a numeric column of distinct values against sorting it with NumPy; growth with the rows."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from benchmarks.common.measuring import Report, alternate, markdown_table, options, spread, verdict
from benchmarks.common.tables import distinct_column

TIMES_ARGSORT = 6.0
DEPENDENCES = ("noise", "steps", "smooth")


def main() -> None:
    """Time both on every kind of column, then on growing ones."""
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, help="rows of the column (default 1,000,000; 20,000 with --quick)")
    arguments = parser.parse_args()
    n_rows = arguments.rows or (20_000 if arguments.quick else 1_000_000)
    rounds = 3 if arguments.quick else 7
    report = Report("discretize", "Discretizing a numeric column", arguments)
    report.add(
        f"`MODLDiscretizer().fit` of one float column against `numpy.argsort` of the same column (its default, and "
        f"the stable sort), {rounds} rounds in turns. All {n_rows:,} values are distinct, in random order; the classes "
        "depend on them not at all, in 20 steps, or smoothly."
    )
    rows, worst = [], 0.0
    for dependence in DEPENDENCES:
        for n_classes in (2, 5):
            row, ratio = compare(n_rows, dependence, n_classes, rounds)
            rows.append(row)
            worst = max(worst, ratio)
    header = ["dependence", "classes", "intervals", "MODL", "argsort", "stable argsort", "MODL / argsort"]
    report.add("\n" + markdown_table(header, rows))
    report.add(f"\nLargest ratio: {verdict(worst, TIMES_ARGSORT, unit=' x')}.")
    sizes = (
        [n_rows // 100, n_rows // 10, n_rows // 3, n_rows]
        if arguments.quick
        else [10_000, 100_000, 1_000_000, 4_000_000]
    )
    report.add("\n" + scaling(sizes, rounds=3))
    report.close()


def compare(n_rows: int, dependence: str, n_classes: int, rounds: int) -> tuple[list[Any], float]:
    """One row of the table of ratios, and the ratio."""
    from bayesieve import MODLDiscretizer

    values, codes = distinct_column(n_rows, dependence, n_classes)
    X = values[:, None]
    fitted = MODLDiscretizer().fit(X, codes)
    tasks: dict[str, Callable[[], Any]] = {
        "modl": lambda: MODLDiscretizer().fit(X, codes),
        "argsort": lambda: np.argsort(values),
        "stable": lambda: np.argsort(values, kind="stable"),
    }
    runs = alternate(tasks, rounds)
    ratio = median(runs["modl"]) / median(runs["argsort"])
    times = [spread(runs["modl"]), f"{median(runs['argsort']):.3g} s", f"{median(runs['stable']):.3g} s"]
    return [dependence, n_classes, fitted.cut_points_[0].size + 1, *times, f"{ratio:.2f}"], ratio


def scaling(sizes: list[int], rounds: int) -> str:
    """Seconds and nanoseconds per row of growing columns, smooth dependence."""
    from bayesieve import MODLDiscretizer

    rows = []
    for n_rows in sizes:
        for n_classes in (2, 5):
            values, codes = distinct_column(n_rows, "smooth", n_classes)
            X = values[:, None]
            tasks: dict[str, Callable[[], Any]] = {
                "modl": lambda X=X, codes=codes: MODLDiscretizer().fit(X, codes),
                "argsort": lambda values=values: np.argsort(values),
            }
            alternate(tasks, 1)
            times = {name: median(runs) for name, runs in alternate(tasks, rounds).items()}
            per_row = f"{times['modl'] / n_rows * 1e9:.0f}"
            rows.append(
                [f"{n_rows:,}", n_classes, f"{times['modl']:.3g} s", per_row, f"{times['modl'] / times['argsort']:.2f}"]
            )
    return markdown_table(["rows", "classes", "MODL", "ns per row", "MODL / argsort"], rows)


if __name__ == "__main__":
    main()

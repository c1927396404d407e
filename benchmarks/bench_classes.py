"""Processor seconds of fits by number of classes, each of 20 rows, and what tables by class save.

The search scores rows of many classes by tables of levels x classes. Those of two classes each, levels x classes x
classes, are what it takes for fewer classes, and for other criteria.
"""

from __future__ import annotations

import json
import os

from benchmarks.common.measuring import Report, cores, in_fresh_process, markdown_table, options, verdict

CLASSES = (10, 50, 100, 200, 400)
ROWS_OF_CLASS, COLUMNS, INFORMATIVE = 20, 14, 8
MOST_SECONDS = 8.0

FIT = """
import json, resource, sys, time, warnings
import numpy as np, polars as pl
import bayesieve
from bayesieve.criteria import scored_rows

n_classes, by_class, rows, columns, informative = map(int, sys.argv[1:])
if not by_class:
    scored_rows.MANY_CLASSES = 1 << 30
warnings.simplefilter("ignore")

def table(n):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n), rows)
    X = rng.normal(size=(y.size, columns))
    X[:, :informative] += 1.5 * rng.normal(size=(n, informative))[y]
    return pl.DataFrame({f"x{k}": X[:, k] for k in range(columns)}), y

for n in (5, 40):
    bayesieve.SelectiveNB().fit(*table(n))  # kernels are compiled
X, y = table(n_classes)
begin = time.process_time()
model = bayesieve.SelectiveNB().fit(X, y)
seconds = time.process_time() - begin
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps([seconds, peak, len(model.selected_features_)]))
"""


def main() -> None:
    parser = options(__doc__)
    arguments = parser.parse_args()
    report, lines, seconds = Report("classes", "Many classes", arguments), [], 0.0
    for n in (10, 30) if arguments.quick else CLASSES:
        sizes = (str(ROWS_OF_CLASS), str(COLUMNS), str(INFORMATIVE))
        by_class, by_two = (json.loads(in_fresh_process(FIT, str(n), by, *sizes)) for by in "10")
        cells = n * n * ROWS_OF_CLASS
        lines.append(
            [n, f"{by_class[0]:.2f}", f"{1e6 * by_class[0] / cells:.2f}", f"{by_class[1]:.2f}"]
            + [f"{by_two[0]:.2f}", f"{by_two[1]:.2f}", f"{by_two[0] / by_class[0]:.1f}", by_class[2]]
        )
        seconds = by_class[0] if n == 200 else seconds
    report.add(
        f"`SelectiveNB().fit` of classes of {ROWS_OF_CLASS} rows, {COLUMNS} columns of which {INFORMATIVE} inform.\n"
    )
    header = [
        "classes",
        "seconds",
        "µs a row and class",
        "peak, GiB",
        "by two classes, s",
        "peak, GiB",
        "ratio",
        "kept",
    ]
    report.add(markdown_table(header, lines))
    if seconds:
        report.add(f"\n200 classes: {verdict(seconds, MOST_SECONDS, unit=' s')}")
    if os.getloadavg()[0] > 1.5 * cores():
        report.add("\nThe machine was busy with other work meanwhile: seconds are upper bounds.")
    report.close(("numpy", "polars"))


if __name__ == "__main__":
    main()

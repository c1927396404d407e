"""Default fits of frames of 200,000 and 1,000,000 rows and of many classes, and single rows, also against another
version of the library.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from statistics import median

from benchmarks.common.measuring import Report, in_fresh_process, markdown_table, options, verdict

SECONDS = {
    "200,000 x 30": 1.2,
    "200,000 x 30, half categories": 1.6,
    "1,000,000 x 30": 3.0,
    "20,000 x 16, 26 classes": 6.0,
}
MOST_OF_A_ROW = 1.0  # milliseconds

# Prints seconds, processor seconds and milliseconds of single rows. A fit of fewer rows loads the compiled code.
_FIT = """
import json, sys, time, warnings
import numpy as np
import polars as pl
from bayesieve import SelectiveNB
warnings.simplefilter("ignore")
n, n_columns, n_classes, repeats = map(int, sys.argv[1:5])
rng = np.random.default_rng(0)
hidden = rng.normal(size=(n, 3))
n_words = n_columns // 4 if n_classes == 2 else 0
columns = {f"x{k}": hidden[:, k % 3] * (k % 2) + rng.normal(size=n) for k in range(n_columns - n_words)}
codes, effects = rng.integers(0, 30, (n_words, n)), rng.normal(size=(n_words, 30)) * 0.2
columns |= {f"w{k}": pl.Series([f"v{i}" for i in range(30)]).gather(codes[k]) for k in range(n_words)}
if n_classes == 2:
    score = 0.7 * hidden[:, 0] - 0.5 * hidden[:, 1] + sum(effects[k][codes[k]] for k in range(0, n_words, 2)) - 1
    y = rng.random(n) < 1 / (1 + np.exp(-score))
else:
    centres = rng.normal(size=(n_classes, n_columns)) * 1.2
    y = rng.integers(0, n_classes, n)
    columns = {f"x{k}": np.round(3 * (centres[y, k] + rng.normal(size=n))) for k in range(n_columns)}
X = pl.DataFrame(columns)
if sys.argv[5].endswith("half categories"):
    from benchmarks.common.tables import half_categories
    X, y = half_categories(n, n_columns)
SelectiveNB().fit(X[:3000], y[:3000])
fits = []
for _ in range(repeats):
    begin, work = time.perf_counter(), time.process_time()
    model = SelectiveNB().fit(X, y)
    fits.append((time.perf_counter() - begin, time.process_time() - work))
def milliseconds(call):
    call()
    times = []
    for _ in range(200):
        begin = time.perf_counter()
        call()
        times.append(1000 * (time.perf_counter() - begin))
    return float(np.median(times))
row, frame = X.row(0, named=True), X[:1]
single = [milliseconds(lambda: of(one)) for of in (model.predict_proba, model.explain) for one in (row, frame)]
print(json.dumps([fits, single]))
"""


def main() -> None:
    """Fit in fresh processes, the versions in turns."""
    parser = options(__doc__)
    parser.add_argument("--before", type=Path, help="the folder src of another version")
    arguments = parser.parse_args()
    report = Report("fit", "A default fit", arguments)
    report.add(
        "`SelectiveNB().fit` of a frame, three fits in each of three fresh processes; medians, seconds of wall time "
        "with those of the processor in parentheses."
        + (" Versions take turns, process by process." if arguments.before else "")
    )
    names = ["before", "now"] if arguments.before else ["now"]
    tables = {"200,000 x 30": (200_000, 30, 2), "200,000 x 30, half categories": (200_000, 30, 2)}
    tables |= {"1,000,000 x 30": (1_000_000, 30, 2), "20,000 x 16, 26 classes": (20_000, 16, 26)}
    rows, single = [], dict[str, list[list[float]]]()
    for title, (n_rows, *others) in tables.items():
        fits: dict[str, list[list[float]]] = {name: [] for name in names}
        for _ in range(1 if arguments.quick else 3):
            for name in names:
                path = {"PYTHONPATH": os.fspath(arguments.before.resolve())} if name == "before" else {}
                size = 2000 if arguments.quick else n_rows
                done = in_fresh_process(_FIT, *map(str, (size, *others, 3)), title, environment=path)
                times, of_rows = json.loads(done)
                fits[name] += times
                single.setdefault(name, []).append(of_rows)
        wall = {name: median(one[0] for one in fits[name]) for name in names}
        cells = [f"{wall[name]:.2f} ({median(one[1] for one in fits[name]):.2f})" for name in names]
        ratio = [f"{wall['now'] / wall['before']:.2f}"] if arguments.before else []
        rows.append([title, *cells, *ratio, verdict(wall["now"], SECONDS[title], unit=" s")])
    report.add("\n" + markdown_table(["table", *names, *(["now / before"] if arguments.before else []), ""], rows))
    kinds = ["`predict_proba`, dict", "`predict_proba`, frame", "`explain`, dict", "`explain`, frame"]
    lines = []
    for k, kind in enumerate(kinds):
        of_row = {name: median(one[k] for one in single[name]) for name in names}
        lines.append(
            [kind, *(f"{of_row[name]:.2f}" for name in names), verdict(of_row["now"], MOST_OF_A_ROW, unit=" ms")]
        )
    report.add("\nOne row, milliseconds:\n\n" + markdown_table(["", *names, ""], lines))
    report.close(["polars"])


if __name__ == "__main__":
    main()

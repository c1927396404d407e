"""Importing the package against importing scikit-learn's feature selection; the first fit, which compiles."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from measuring import ROOT, Report, alternate, in_fresh_process, markdown_table, options, spread, verdict

SECONDS_MORE = 0.2
SECONDS_TO_COMPILE = 8.0
SECONDS_TO_COMPILE_AUC = 6.0
IMPORTS = {
    "nothing": "pass",
    "sklearn": "import sklearn.feature_selection",
    "package": "import bayesieve",
    "classifier": "from bayesieve import SelectiveNB",
}
LABELS = {
    "nothing": "nothing (the interpreter alone)",
    "sklearn": "`import sklearn.feature_selection`",
    "package": "`import bayesieve`",
    "classifier": "`from bayesieve import SelectiveNB`",
}

# Prints the seconds of every step from the import on. The larger table takes ways that the small one does not need.
_FIRST_FIT = """
import time
begin = time.perf_counter()
import numpy as np
import polars as pl
from bayesieve import SelectiveNB
imported = time.perf_counter()
rng = np.random.default_rng(0)
n = 400
y = rng.integers(0, 3, n)
frame = pl.DataFrame({
    "number": rng.normal(size=n) + y,
    "other": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
    "count": rng.integers(0, 9, n) + y,
    "word": np.array(["red", "green", "blue", "grey"])[np.minimum(rng.integers(0, 3, n) + (y > 0), 3)],
    "flag": rng.random(n) < 0.3 + 0.2 * y,
})
start = time.perf_counter()
two = SelectiveNB().fit(frame, y > 0)
between = time.perf_counter()
three = SelectiveNB().fit(frame, y)
fitted = time.perf_counter()
two.predict_proba(frame), three.predict_proba(frame)
predicted = time.perf_counter()
n = 20_000
larger = pl.DataFrame({
    "few": rng.integers(0, 300, n) * 0.5,
    "many": rng.normal(size=n),
    "word": rng.choice(["red", "green", "blue"], n),
})
SelectiveNB().fit(larger, larger["few"] + 40 * larger["many"] > 70)
done = time.perf_counter()
print(imported - begin, between - start, fitted - between, predicted - fitted, done - predicted, predicted - begin)
"""


def main() -> None:
    """Medians of imports in fresh processes; seconds of the first runs with an empty cache of compiled code."""
    arguments = options(__doc__).parse_args()
    report = Report("startup", "Starting up", arguments)
    rounds = 2 if arguments.quick else 11
    with tempfile.TemporaryDirectory() as folder:  # of bytecode, which every installation has
        os.environ |= {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        imports(report, rounds)
        first_fits(report)
        first_commands(report)
    report.close(["polars", "narwhals"])


def imports(report: Report, rounds: int) -> None:
    """Seconds of processes that import the package, or something else."""
    tasks = {name: (lambda code=code: in_fresh_process(code)) for name, code in IMPORTS.items()}
    alternate(tasks, 1)
    runs = alternate(tasks, rounds)
    medians = {name: median(times) for name, times in runs.items()}
    rows = [
        [LABELS[name], spread(times), f"{medians[name] - medians['sklearn']:+.3f} s"] for name, times in runs.items()
    ]
    report.add(f"Whole processes, {rounds} rounds in turns, files in the system's cache, bytecode saved.\n")
    report.add(markdown_table(["a process that does", "median (range)", "more than scikit-learn"], rows))
    for name in ("package", "classifier"):
        more = medians[name] - medians["sklearn"]
        report.add(f"\n{LABELS[name]} costs more than {LABELS['sklearn']}: {verdict(more, SECONDS_MORE, unit=' s')}.")


def first_fits(report: Report) -> None:
    """The first and the second run of a process that fits a small mixed table, the first one without compiled code."""
    rows, totals = [], []
    with tempfile.TemporaryDirectory() as cache:
        for run in ("first", "second", "third"):
            figures = [
                float(figure) for figure in in_fresh_process(_FIRST_FIT, environment={"NUMBA_CACHE_DIR": cache}).split()
            ]
            totals.append(figures)
            rows.append([run, *(f"{figure:.2f} s" for figure in figures)])
    report.add(
        "\nFit of a small table (400 rows; numbers with missing values, whole numbers, strings, booleans), with an "
        "empty folder for compiled code at first.\n"
    )
    header = [
        "run",
        "imports",
        "fit, two classes",
        "fit, three classes",
        "predict",
        "then a fit of 20,000 rows",
        "until predicted",
    ]
    report.add(markdown_table(header, rows))
    more = totals[0][-1] - totals[1][-1]
    report.add(f"\nThe first run ever takes {more:.3g} s longer than the second, with the larger table ")
    report.add(f"{more + totals[0][-2] - totals[1][-2]:.3g} s.")


def first_commands(report: Report) -> None:
    """`make demo` as the first command, then the first search by AUC; both again with everything compiled."""
    table = str(ROOT / "examples" / "data" / "german_credit.csv")
    searches = {"compression": SECONDS_TO_COMPILE, "auc": SECONDS_TO_COMPILE_AUC}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, NUMBA_CACHE_DIR=str(Path(folder) / "kernels"))
        command = [sys.executable, "-m", "bayesieve", "fit", table, "--target", "class", "--output", folder, "--quiet"]
        for selector, target in searches.items():
            seconds = []
            for _ in range(2):
                start = time.perf_counter()
                subprocess.run([*command, "--selector", selector], env=environment, check=True)
                seconds.append(time.perf_counter() - start)
            compiling = verdict(seconds[0] - seconds[1], target, unit=" s")
            rows.append([f"`fit --selector {selector}`", *(f"{second:.2f} s" for second in seconds), compiling])
    report.add("\nCommands on German credit, the first with an empty folder for compiled code, the report included.\n")
    report.add(markdown_table(["command, in this order", "first", "again", "compiling"], rows))


if __name__ == "__main__":
    main()

"""Importing the package against importing scikit-learn's feature selection; the first fit, which compiles."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.common.measuring import (
    ROOT,
    Report,
    alternate,
    in_fresh_process,
    markdown_table,
    options,
    spread,
    verdict,
)

SECONDS_MORE = 0.2
SECONDS_TO_FIT = 3.0
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

# Prints the seconds of every step of a first default fit.
_FIRST_FIT = """
import time
begin = time.perf_counter()
import bayesieve
X, y = bayesieve.datasets.load_german_credit(return_X_y=True)
read = time.perf_counter()
model = bayesieve.SelectiveNB().fit(X, y)
fitted = time.perf_counter()
model.predict_proba(X)
predicted = time.perf_counter()
print(read - begin, fitted - read, predicted - fitted, predicted - begin)
"""


def main() -> None:
    """Medians of imports in fresh processes; seconds of the first runs with an empty cache of compiled code."""
    arguments = options(__doc__).parse_args()
    report = Report("startup", "Starting up", arguments)
    rounds = 2 if arguments.quick else 11
    with tempfile.TemporaryDirectory() as folder:  # of bytecode, which every installation has
        os.environ |= {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        imports(report, rounds)
    del os.environ["PYTHONPYCACHEPREFIX"]  # installing wheels saves their bytecode beside them
    first_fits(report, 1 if arguments.quick else 3)
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
        report.add(f"\n{LABELS[name]}, beyond {LABELS['sklearn']}: {verdict(more, SECONDS_MORE, unit=' s')}.")


def first_fits(report: Report, rounds: int) -> None:
    """The first processes after an installation of either wheel: a fit in Python, then commands."""
    table = str(ROOT / "examples" / "data" / "german_credit.csv")
    wheels = {"with machine code": "bayesieve-*-cp*.whl", "pure": "bayesieve-*-none-any.whl"}
    rows, commands = [], []
    for name, pattern in wheels.items():
        wheel = max((ROOT / "dist").glob(pattern), default=None)
        if wheel is None:
            report.add(f"\nThere is no dist/{pattern}: first fits are left out; `make wheel` builds the wheels.")
            return
        figures: dict[str, list[list[float]]] = {"first": [], "second": []}
        searches: dict[str, list[list[float]]] = {"compression": [], "auc": []}
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                target = str(Path(folder) / "installed")
                install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", target, wheel]
                subprocess.run([*map(str, install)], check=True)
                environment = {"PYTHONPATH": target, "HOME": folder, "NUMBA_CACHE_DIR": ""}
                for run in figures.values():
                    run.append(
                        [float(figure) for figure in in_fresh_process(_FIRST_FIT, environment=environment).split()]
                    )
                command = [sys.executable, "-m", "bayesieve", "fit", table, "--target", "class", "--output", folder]
                for selector, runs in searches.items():
                    runs.append([])
                    for _ in range(2):
                        start = time.perf_counter()
                        fit = [*command, "--quiet", "--selector", selector]
                        subprocess.run(fit, env={**os.environ, **environment}, check=True)
                        runs[-1].append(time.perf_counter() - start)
        for run, lines in figures.items():
            rows.append([name, run, *(f"{median(column):.2f} s" for column in zip(*lines, strict=True))])
        for selector, runs in searches.items():
            medians = [f"{median(column):.2f} s" for column in zip(*runs, strict=True)]
            commands.append([f"`fit --selector {selector}`", name, *medians])
        if name != "pure":
            first = median(line[-1] for line in figures["first"])
            report.add(f"\nFirst default fit after the installation of a wheel with machine code: "
                       f"{verdict(first, SECONDS_TO_FIT, unit=' s')}.\n")  # fmt: skip
    report.add(f"German credit, medians of {rounds} installations of each wheel, nothing compiled before.\n")
    report.add(markdown_table(["wheel", "process", "import, read", "fit", "predict", "together"], rows))
    report.add("\nCommands after these fits, the report included.\n")
    report.add(markdown_table(["command", "wheel", "first", "again"], commands))


if __name__ == "__main__":
    main()

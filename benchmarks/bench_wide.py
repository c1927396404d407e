"""Seconds per fold and peak memory on very wide tables, dense and sparse, by every method of the comparison.

Reads a folder with `catalogue.csv` (columns `name`, `file`, `target`) and the files it names: Parquet, or `.npz` of a
SciPy sparse matrix with its labels in a CSV file. Every data set and method runs in a separate process.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks.common.measuring import Report, cores, in_fresh_process, markdown_table, options

DATA_SETS = ("ada", "madelon", "arcene", "dexter_train", "dorothea")
METHODS = ("NB(EF)", "all", "accuracy", "auc", "map", "bayesian", "compression")
MOST_GIBIBYTES = 8.0
N_FOLDS = 10


def load(folder: Path, name: str) -> tuple[Any, Any]:
    """A table and its labels."""
    import polars as pl

    with open(folder / "catalogue.csv", encoding="utf-8") as lines:
        facts = next(row for row in csv.DictReader(lines) if row["name"] == name)
    path = folder / facts["file"]
    if path.suffix == ".npz":
        from scipy import sparse

        return sparse.load_npz(path), pl.read_csv(path.with_name(f"{path.stem}_labels.csv")).to_numpy().ravel()
    frame = pl.read_parquet(path)
    return frame.drop(facts["target"]), frame[facts["target"]].to_numpy()


def classifier(method: str) -> Any:
    """The classifier of a method's name."""
    from bayesieve import SelectiveNB, TableEncoder

    if method == "NB(EF)":
        return SelectiveNB("all", encoder=TableEncoder(numeric="equal-frequency", categorical="values"))
    return SelectiveNB(method)


def measure(folder: str, name: str, method: str, most_folds: int) -> dict[str, Any]:
    """Seconds to fit and to predict on the first folds of ten, mean accuracy, and peak memory of this process."""
    import resource
    import time

    import numpy as np
    from sklearn.model_selection import StratifiedKFold

    from bayesieve.table.frames import take_rows

    X, y = load(Path(folder), name)
    loaded = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    folds = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(np.zeros(len(y)), y))
    classifier(method).fit(*_few(X, y)).predict(_few(X, y)[0])  # compiled code is loaded once
    seconds, right, kept = [], [], []
    for train, test in folds[:most_folds]:
        begin = time.perf_counter()
        model = classifier(method).fit(take_rows(X, train), y[train])
        found = model.predict(take_rows(X, test))
        seconds.append(time.perf_counter() - begin)
        right.append(float((found == y[test]).mean()))
        kept.append(model.n_features_selected_)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "shape": X.shape,
        "seconds": seconds,
        "accuracy": float(np.mean(right)),
        "kept": float(np.mean(kept)),
        "loaded": loaded / 2**20,
        "peak": peak / 2**20,
    }


def _few(X: Any, y: Any) -> tuple[Any, Any]:
    """A few rows and columns."""
    import numpy as np
    import polars as pl

    from bayesieve.table.frames import take_rows

    rows = np.unique(np.concatenate([np.flatnonzero(y == label)[:20] for label in np.unique(y)]))
    columns = X[:, :20] if isinstance(X, pl.DataFrame) else X.tocsc()[:, :20]
    return take_rows(columns, rows), y[rows]


_CODE = """
import json, sys
from benchmarks.bench_wide import measure
print(json.dumps(measure(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))))
"""


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--data", type=Path, help="folder with catalogue.csv and the files it names")
    parser.add_argument("--folds", type=int, default=3, help=f"how many of {N_FOLDS} folds to run")
    arguments = parser.parse_args()
    if arguments.data is None or not (arguments.data / "catalogue.csv").is_file():
        sys.exit(
            "bench_wide.py reads real tables: pass --data DIR, a folder with catalogue.csv and the files it names."
        )
    report = Report("wide", "Very wide tables", arguments)
    n_folds = 1 if arguments.quick else arguments.folds
    report.add(
        f"Mean of {n_folds} of {N_FOLDS} folds: seconds to code, fit and predict, from the raw table on, nothing "
        f"shared between methods. Memory: peak of the process (target: at most {MOST_GIBIBYTES:g} GiB), Python, "
        "libraries and the table itself included."
    )
    largest = 0.0
    for name in DATA_SETS[:2] if arguments.quick else DATA_SETS:
        rows, total, shape, loaded = [], 0.0, (0, 0), 0.0
        for method in METHODS:
            found = json.loads(in_fresh_process(_CODE, str(arguments.data), name, method, str(n_folds)))
            seconds = sum(found["seconds"]) / len(found["seconds"])
            total, shape, loaded = total + seconds, found["shape"], found["loaded"]
            largest = max(largest, found["peak"])
            rows.append([
                method, f"{seconds:.3f}", f"{found['peak']:.2f}", f"{found['accuracy']:.4f}", f"{found['kept']:.1f}"
            ])  # fmt: skip
        report.add(f"\n## {name}: {shape[0]:,} rows x {shape[1]:,} columns\n")
        header = ["method", "seconds a fold", "peak, GiB", "accuracy", "features kept"]
        report.add(markdown_table(header, rows))
        report.add(
            f"\nAll methods together: {total:.2f} s a fold; before the first fit the process had {loaded:.2f} GiB."
        )
    reached = "reached" if largest <= MOST_GIBIBYTES else "MISSED"
    report.add(f"\nLargest peak: {largest:.2f} GiB ({reached}).")
    if os.getloadavg()[0] > 1.5 * cores():
        report.add("\nThe machine was busy with other work meanwhile: seconds are upper bounds.")
    report.close(("scipy", "polars"))


if __name__ == "__main__":
    main()

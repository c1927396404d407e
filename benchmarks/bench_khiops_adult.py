"""Adult: a fit of `SelectiveNB()` in a warm process against `KhiopsClassifier`; quality of both on the test rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from benchmarks.common.khiops_peer import (
    NOT_INSTALLED,
    as_khiops_frame,
    khiops_classifier,
    khiops_core,
    n_features_used,
)
from benchmarks.common.measuring import (
    ROOT,
    Report,
    against_fastest,
    alternate,
    fastest_of,
    markdown_table,
    options,
    verdict,
)
from benchmarks.common.scores import scores

TIMES_FASTER = 8.0
TARGET = "__class__"


def main() -> None:
    """Time both sides in turns, then score both on the test rows."""
    parser = options(__doc__)
    parser.add_argument(
        "--data",
        type=Path,
        default=ROOT.parent / "shared" / "goldens" / "csv",
        help=f"folder with adult.csv and adult_test.csv (last column {TARGET}); default ../shared/goldens/csv",
    )
    arguments = parser.parse_args()
    files = [arguments.data / name for name in ("adult.csv", "adult_test.csv")]
    if not all(file.exists() for file in files):
        print(
            f"Adult is not there: pass --data DIR, a folder with adult.csv and adult_test.csv (last column {TARGET})."
        )
        return
    train, test = (pl.read_csv(file) for file in files)
    if arguments.quick:
        train, test = train[:3000], test[:3000]
    report = Report("khiops_adult", "Adult", arguments)
    report.add(
        f"{train.height:,} training and {test.height:,} test rows, {train.width - 1} features, two classes. Both sides "
        "fit dataframes in memory and ran once before the clock started; Khiops without trees, pairs and constructed "
        "features."
    )
    compare(report, train, test, rounds=1 if arguments.quick else 5)
    report.close(["polars", "pandas", "khiops", "khiops-core"])


def compare(report: Report, train: pl.DataFrame, test: pl.DataFrame, rounds: int) -> None:
    """Seconds in turns, ratios, and a table of quality on the test rows."""
    from bayesieve import SelectiveNB

    X, y = train.drop(TARGET), train[TARGET]
    X_test, truth = test.drop(TARGET), test[TARGET].to_numpy()
    pandas_X, pandas_y = X.to_pandas(), y.to_pandas()
    tasks: dict[str, Callable[[], Any]] = {
        "bayesieve, polars": lambda: SelectiveNB().fit(X, y),
        "bayesieve, pandas": lambda: SelectiveNB().fit(pandas_X, pandas_y),
    }
    kinds = {name: "numeric" if kind.is_numeric() else "categorical" for name, kind in X.schema.items()}
    installed = khiops_core() is not None
    if installed:
        khiops_X, khiops_y = as_khiops_frame(X, kinds), np.array(y.to_list(), dtype=object)
        tasks["Khiops, all cores (its default)"] = lambda: khiops_classifier().fit(khiops_X, khiops_y)
        tasks["Khiops, one core"] = lambda: khiops_classifier(1).fit(khiops_X, khiops_y)
    else:
        report.add(f"\n{NOT_INSTALLED}")
    alternate(tasks, 1)
    runs = alternate(tasks, rounds)
    report.add("\n" + against_fastest(runs, peer="Khiops"))
    if fastest := fastest_of(runs, "Khiops"):
        ratio = fastest / max(median(runs["bayesieve, polars"]), median(runs["bayesieve, pandas"]))
        report.add(f"\nTimes faster than Khiops: {verdict(ratio, TIMES_FASTER, at_least=True)}.")
    rows = []
    for selector in ("compression", "bayesian", "map", "all"):
        model = SelectiveNB(selector).fit(X, y)
        figures = scores(model.predict_proba(X_test), model.classes_, truth)
        rows.append([f'bayesieve, "{selector}"', model.n_features_selected_, *(f"{v:.4f}" for v in figures.values())])
    if installed:
        model = khiops_classifier().fit(khiops_X, khiops_y)
        figures = scores(model.predict_proba(as_khiops_frame(X_test, kinds)), model.classes_, truth)
        rows.append(["Khiops", n_features_used(model), *(f"{v:.4f}" for v in figures.values())])
    header = ["test rows", "features kept", "AUC", "log loss", "accuracy", "compression rate"]
    report.add("\n" + markdown_table(header, rows))


if __name__ == "__main__":
    main()

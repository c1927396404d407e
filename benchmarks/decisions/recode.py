"""Optimism of a criterion measured on the rows that levels were learnt from, and the cost of honest levels."""

from __future__ import annotations

import csv
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.model_selection import StratifiedKFold

from bayesieve import SelectiveNB, WrapperSelector
from benchmarks.common.measuring import Report, markdown_table, options

FOLDS = 10
TABLES = (
    *("iris", "wine", "glass", "hepatitis", "sonar", "heart_statlog", "haberman", "ecoli", "ionosphere", "autos"),
    *("horse_colic_orig", "dermatology", "australian", "breast_wisconsin_diagnostic", "pima_diabetes", "vehicle"),
    *("german_credit", "yeast", "car", "segment"),
)


def many_values() -> tuple[pl.DataFrame, np.ndarray]:
    """540 rows, eight columns of 300 to 400 categories, each of which favours a class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 540)
    columns = {}
    for k in range(8):
        n_values = int(rng.integers(300, 401))
        values = rng.integers(0, n_values, y.size)
        leaning = np.minimum(values // 2 * 2 + y, n_values - 1)
        columns[f"c{k}"] = np.where(rng.random(y.size) < 0.7, leaning, values).astype(str)
    return pl.DataFrame(columns), y


def real_table(folder: Path, name: str) -> tuple[pl.DataFrame, np.ndarray]:
    with open(folder / "catalogue.csv", encoding="utf-8") as file:
        entry = next(row for row in csv.DictReader(file) if row["name"] == name)
    table = pl.read_parquet(folder / entry["file"])
    return table.drop(entry["target"]), table[entry["target"]].to_numpy()


def refitted(X: pl.DataFrame, y: np.ndarray, seed: int) -> tuple[float, float]:
    """Log loss of encoders and models fitted again in other folds, and its standard error."""
    losses = []
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(np.zeros(y.size), y):
        model = SelectiveNB("all").fit(X[train], y[train])
        places = np.searchsorted(model.classes_, y[test])
        losses.append(-model.predict_log_proba(X[test])[np.arange(test.size), places])
    joined = np.concatenate(losses)
    return float(joined.mean()), float(joined.std() / np.sqrt(joined.size))


def line_of(name: str, X: pl.DataFrame, y: np.ndarray) -> list[str]:
    line = [name]
    for evaluation in (FOLDS, "loo"):
        asked: dict[str, Any] = {"direction": "forward", "evaluation": evaluation}
        search = WrapperSelector("log_loss", recode=False, **asked).fit(X, y)
        subset = X.select(search.get_feature_names_out().tolist())
        size = max(1, subset.width)
        criteria, seconds = [], []
        for recode in (False, True):
            began = time.perf_counter()
            selector = WrapperSelector("log_loss", n_features_to_select=size, recode=recode, **asked).fit(subset, y)
            seconds.append(time.perf_counter() - began)
            criteria.append(selector.trace_.to_frame()["criterion"].to_list()[-1])
        again, error = refitted(subset, y, seed=1)
        line += [f"{value:.3f}" for value in criteria]
        line += [f"{again:.3f} ± {error:.3f}", f"{seconds[1] / seconds[0]:.1f}", f"{seconds[1] - seconds[0]:.2f}"]
    return line


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--data", type=Path, help="folder with catalogue.csv and the files it names")
    arguments = parser.parse_args()
    report = Report("recode", "Honest levels", arguments)
    warnings.simplefilter("ignore")
    report.add(
        f"Log loss of the subset that a forward search with levels of all rows chooses, by {FOLDS} folds and by "
        "leave-one-out: with levels of all rows, with levels learnt again (`recode=True`), and by encoders and models "
        "fitted again in ten other folds (± one standard error); the search with levels learnt again against the one "
        "without, as a ratio and in seconds more.\n"
    )
    many = many_values()
    WrapperSelector("log_loss", evaluation=3).fit(*many)  # compiled
    lines = [line_of("300 to 400 values a column", *many)]
    if arguments.data is not None:
        lines += [line_of(name, *real_table(arguments.data, name)) for name in TABLES[: 2 if arguments.quick else None]]
    one = ["all rows", "again", "refitted", "ratio", "s more"]
    report.add(markdown_table(["table", *(f"folds: {n}" for n in one), *(f"loo: {n}" for n in one)], lines))
    report.close(("polars",))


if __name__ == "__main__":
    main()

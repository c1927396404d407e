"""Time of reasons and of the smallest changes that flip decisions, row by row."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bayesieve import SelectiveNB
from benchmarks.common.measuring import Report, alternate, markdown_table, options, seconds_of, spread, verdict
from benchmarks.common.tables import mixed_table

GERMAN = Path(__file__).parents[1] / "examples" / "data" / "german_credit.csv"
ASKED: dict[str, dict[str, Any]] = {
    "the other class": {},
    "three options": {"n": 3},
    "probability .9 of the second": {"probability": 0.9},
}
TARGET = 0.05  # seconds a row


def tables(quick: bool) -> dict[str, tuple[pl.DataFrame, Any]]:
    german = pl.read_csv(GERMAN)
    mixed, y, _ = mixed_table(2_000 if quick else 50_000)
    numbers = mixed["number_00"].fill_null(0.0)
    sizes = np.digitize(numbers, np.quantile(numbers, [0.3, 0.7]))
    return {
        "German credit, 1,000 x 20": (german.drop("class"), german["class"]),
        f"mixed, {mixed.height:,} x 30": (mixed, y),
        f"mixed, {mixed.height:,} x 29, three classes": (mixed.drop("number_00"), sizes),
    }


def of_rows(model: SelectiveNB, X: pl.DataFrame, how: dict[str, Any]) -> float:
    return seconds_of(lambda: model.counterfactuals(X, **how))


def main() -> None:
    arguments = options(__doc__).parse_args()
    warnings.simplefilter("ignore")
    report = Report("counterfactuals", "Reasons and changes that flip decisions", arguments)
    report.add(
        "Up to three columns change, default models. The results equal those of trying all changes on 200 rows of "
        "models with pairs, missing values and three classes (tests/scorecard/test_counterfactuals.py)."
    )
    lines, worst, n_rows = [], 0.0, 20 if arguments.quick else 200
    for name, (X, y) in tables(arguments.quick).items():
        model = SelectiveNB(random_state=0).fit(X, y)
        cells = sum(model.scorecard_[feature].cells.n_levels for feature in model.selected_features_)
        for asked, how in ASKED.items():
            how = how | ({"target": 2} if "probability" in how and model.classes_.size > 2 else {})
            times = [1000 * of_rows(model, X[i : i + 1], how) for i in range(n_rows)]
            whole = 1000 * of_rows(model, X[:n_rows], how) / n_rows
            worst = max(worst, whole / 1000) if name.startswith("German") else worst
            figures = (f"{np.median(times):.1f}", f"{np.max(times):.1f}", f"{whole:.1f}")
            lines.append([name, f"{model.n_features_selected_}, {cells:,}", asked, *figures])
            print(lines[-1], flush=True)
    report.add()
    report.add(
        markdown_table(
            (
                "table",
                "features, cells",
                "asked for",
                "median ms, one row a call",
                "longest",
                f"ms a row, {n_rows} rows",
            ),
            lines,
        )
    )
    report.add()
    report.add(f"Longest mean on German credit: {verdict(worst, TARGET, unit=' s')}.")
    german = pl.read_csv(GERMAN)
    X = german.drop("class")
    model = SelectiveNB(random_state=0).fit(X, german["class"])
    many = X[np.random.default_rng(0).integers(0, X.height, 1_000 if arguments.quick else 100_000)]
    runs = alternate({"predict_proba": lambda: model.predict_proba(many), "reasons": lambda: model.reasons(many)}, 5)
    report.add()
    report.add(f"{many.height:,} rows of German credit:")
    report.add()
    report.add(markdown_table(("task", "median (range)"), [[task, spread(times)] for task, times in runs.items()]))
    report.close()


if __name__ == "__main__":
    main()

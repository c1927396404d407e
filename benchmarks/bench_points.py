"""Scorecards of points from -5 to 5 beside those of FasterRisk, on the two tables that risk scores are compared on."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from bayesieve import SelectiveNB
from bayesieve_lab.peers.faster_risk import RiskScore
from benchmarks.common.measuring import Report, markdown_table, options_with_data

MOST = 5
Scores = Callable[[pl.DataFrame], np.ndarray]


def tables(folder: Path) -> dict[str, tuple[pl.DataFrame, np.ndarray, np.ndarray]]:
    """Rows, classes and folds; those of breastcancer are given, of mammo drawn."""
    cancer, mammo = (pl.read_csv(folder / f"{name}_data.csv") for name in ("breastcancer", "mammo"))
    folds = np.loadtxt(folder / "breastcancer_cvindices.csv", dtype=int)
    malignant, drawn = mammo["Malignant"].to_numpy(), np.zeros(mammo.height, dtype=int)
    for k, (_, test) in enumerate(StratifiedKFold(5, shuffle=True, random_state=0).split(mammo, malignant)):
        drawn[test] = k
    return {
        "breastcancer": (cancer.drop("Benign"), cancer["Benign"].to_numpy(), folds),
        "mammo": (mammo.drop("Malignant"), malignant, drawn),
    }


def exact(X: pl.DataFrame, y: np.ndarray) -> tuple[Scores, int, int]:
    model = SelectiveNB(random_state=0).fit(X, y)
    card = model.scorecard_
    used = [card.features[k] for k in card.used]
    return model.predict_proba, len(used), sum(feature.cells.n_levels for feature in used)


def points(X: pl.DataFrame, y: np.ndarray, with_rows: bool = False, **options: Any) -> tuple[Scores, int, int]:
    model = SelectiveNB(random_state=0, **options).fit(X, y)
    card = model.points(max_points=MOST, **({"X": X, "y": y} if with_rows else {}))
    lines = card.to_frame().filter((pl.col("points") != 0) & ~pl.col("is_unseen") & pl.col("feature").is_not_null())
    return card.predict_proba, lines["feature"].n_unique(), lines.height


def risk_score(n_terms: int) -> Callable[[pl.DataFrame, np.ndarray], tuple[Scores, int, int]]:
    def fit(X: pl.DataFrame, y: np.ndarray) -> tuple[Scores, int, int]:
        model = RiskScore(n_terms=n_terms).fit(X, y)
        return model.predict_proba, model.n_features_selected_, int((model.model_.coefficients != 0).sum())

    return fit


METHODS: dict[str, Callable[[pl.DataFrame, np.ndarray], tuple[Scores, int, int]]] = {
    "bayesieve, exact": exact,
    "bayesieve, points by counts": points,
    "bayesieve, points by rows": lambda X, y: points(X, y, with_rows=True),
    "bayesieve, points by rows, whole levels, no pairs": lambda X, y: points(X, y, True, calibrate="levels", pairs=0),
    "FasterRisk, 5 terms": risk_score(5),
    "FasterRisk, 10 terms": risk_score(10),
}


def main() -> None:
    arguments = options_with_data(__doc__).parse_args()
    warnings.simplefilter("ignore")
    report = Report("points", "Scorecards of whole points", arguments)
    report.add(
        f"Points from -{MOST} to {MOST}; means of 5 folds, all methods on the same folds in one run. Features with "
        "points, and terms: lines of the card whose points are not 0 (of the exact model, cells; of FasterRisk, "
        "columns of 0 and 1). FasterRisk gets numbers as deciles. RiskSLIM, in whose repository the tables are, needs "
        "the commercial solver CPLEX and was not run.\n"
    )
    for table, (X, y, folds) in tables(arguments.data / "points").items():
        results: dict[str, list[tuple[float, ...]]] = {name: [] for name in METHODS}
        for fold in np.unique(folds)[: 1 if arguments.quick else None]:
            train = folds != fold
            for name, fit in METHODS.items():
                begin = time.perf_counter()
                predict, n_features, n_terms = fit(X.filter(train), y[train])
                seconds = time.perf_counter() - begin
                second = predict(X.filter(~train))[:, 1]
                losses = roc_auc_score(y[~train], second), log_loss(y[~train], second)
                results[name].append((*losses, n_features, n_terms, seconds))
        lines = [[name, *_shown(np.mean(own, axis=0))] for name, own in results.items()]
        report.add(f"\n## {table}: {X.height:,} rows x {X.width}\n")
        report.add(markdown_table(["method", "AUC", "log loss", "features", "terms", "seconds"], lines))
    report.close(("fasterrisk",))


def _shown(means: np.ndarray) -> list[str]:
    auc, loss, n_features, n_terms, seconds = means.tolist()
    return [f"{auc:.4f}", f"{loss:.4f}", f"{n_features:.1f}", f"{n_terms:.1f}", f"{seconds:.2f}"]


if __name__ == "__main__":
    main()

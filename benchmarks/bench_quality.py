"""Real tables, the same stratified folds for all: AUC, log loss, accuracy, compression rate, size and seconds."""

from __future__ import annotations

import csv
import time
import warnings
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import polars as pl
from khiops_peer import NOT_INSTALLED, as_khiops_frame, khiops_classifier, khiops_core, n_features_used
from measuring import ROOT, Report, markdown_table, options
from scores import scores
from sklearn.model_selection import StratifiedKFold

TABLES = (
    "spambase",
    "german_credit",
    "page_blocks",
    "satimage",
    "segment",
    "waveform21",
    "hypothyroid_uci",
    "mushroom_8124",
    "kr_vs_kp",
    "credit_approval_crx",
    "letter",
)
METHODS: dict[str, dict[str, Any]] = {
    "compression": {"selector": "compression"},
    "compression, smoothing=0.1": {"selector": "compression", "smoothing": 0.1},
    "compression, calibrate=False": {"selector": "compression", "calibrate": False},
    "map": {"selector": "map"},
    "all": {"selector": "all"},
}
KHIOPS = "Khiops"
# Higher is better, and by how much two means must differ to count as different.
MEASURES = {"auc": (True, 5e-4), "log loss": (False, 1e-3), "accuracy": (True, 1e-3), "compression": (True, 1e-3)}


def main() -> None:
    """Cross-validate every method on every table: means, wins and losses."""
    parser = options(__doc__)
    parser.add_argument(
        "--data",
        type=Path,
        default=ROOT.parent / "shared" / "data",
        help="folder with catalogue.csv (columns name, file, target) and Parquet files; default ../shared/data",
    )
    parser.add_argument("--folds", type=int, help="folds (default 5; 2 with --quick)")
    parser.add_argument("--tables", help="names from the catalogue, separated by commas")
    arguments = parser.parse_args()
    catalogue = arguments.data / "catalogue.csv"
    if not catalogue.exists():
        print("The tables are not there: pass --data DIR, a folder with catalogue.csv and the Parquet files it names.")
        return
    with open(catalogue, encoding="utf-8", newline="") as file:
        known = {row["name"]: row for row in csv.DictReader(file)}
    names = arguments.tables.split(",") if arguments.tables else TABLES[1:6:4] if arguments.quick else TABLES
    n_folds = arguments.folds or (2 if arguments.quick else 5)
    report = Report("quality", "Quality on real tables", arguments)
    methods = [*METHODS, KHIOPS] if khiops_core() is not None else list(METHODS)
    if KHIOPS not in methods:
        report.add(f"{NOT_INSTALLED}\n")
    report.add(
        f"{n_folds} stratified folds (shuffled, seed 0), the same rows for all; means over the folds on rows held out. "
        "AUC: one class against the rest, weighted by class share. Log loss in nats. Compression rate: 1 - log loss / "
        "entropy of the classes. Kept: features of positive weight. Seconds: one fit. Khiops on its default number of "
        "cores, without trees, pairs and constructed features; its fit has a fixed cost of seconds for processes and "
        "files.\n"
    )
    warm_up(methods)
    results: dict[tuple[str, str], dict[str, float]] = {}
    for name in names:
        frame = pl.read_parquet(arguments.data / known[name]["file"])
        for method, figures in cross_validate(frame, known[name]["target"], methods, n_folds).items():
            results[name, method] = figures
        report.add(_table_of(name, frame, methods, results))
    summarise(report, list(names), methods, results)
    report.close(["polars", "khiops", "khiops-core"])


def warm_up(methods: list[str]) -> None:
    """One small fit each, so that compiling or reading compiled code is not counted with the first table."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"number": rng.normal(size=300), "word": rng.choice(["a", "b", "c"], 300)})
    for n_classes in (2, 3):
        labels = pl.Series("class", rng.integers(0, n_classes, 300))
        cross_validate(frame.with_columns(labels), "class", methods, 2)


def cross_validate(frame: pl.DataFrame, target: str, methods: list[str], n_folds: int) -> dict[str, dict[str, float]]:
    """Mean figures of every method over the folds; the methods take turns within each fold."""
    frame = frame.filter(pl.col(target).is_not_null())
    X, labels = frame.drop(target), frame[target].cast(pl.String).to_numpy().astype(object)
    kinds = {name: "numeric" if kind.is_numeric() else "categorical" for name, kind in X.schema.items()}
    # Khiops is given what it takes for missing and for strings; booleans and categories become strings for all.
    X = X.with_columns(pl.col([n for n, kind in kinds.items() if kind == "categorical"]).cast(pl.String))
    khiops_X = as_khiops_frame(X, kinds) if KHIOPS in methods else None
    figures: dict[str, list[dict[str, float]]] = {method: [] for method in methods}
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=0).split(labels, labels):
        for method in methods:
            if method == KHIOPS:
                one = _fold(khiops_classifier(), khiops_X.iloc[train], labels[train], khiops_X.iloc[test], labels[test])
            else:
                one = _fold(_ours(method), X[train], labels[train], X[test], labels[test])
            figures[method].append(one)
    return {method: {key: mean(one[key] for one in folds) for key in folds[0]} for method, folds in figures.items()}


def _ours(method: str) -> Any:
    from bayesieve import SelectiveNB

    return SelectiveNB(**METHODS[method])


def _fold(model: Any, X: Any, y: np.ndarray, X_test: Any, truth: np.ndarray) -> dict[str, float]:
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    seconds = time.perf_counter() - begin
    kept = getattr(model, "n_features_selected_", None)
    figures = scores(model.predict_proba(X_test), model.classes_, truth)
    return {**figures, "kept": n_features_used(model) if kept is None else kept, "seconds": seconds}


def _table_of(
    name: str, frame: pl.DataFrame, methods: list[str], results: dict[tuple[str, str], dict[str, float]]
) -> str:
    rows = []
    for method in methods:
        one = results[name, method]
        figures = [f"{one[measure]:.4f}" for measure in MEASURES]
        rows.append([method, *figures, f"{one['kept']:.1f}", f"{one['seconds']:.3g}"])
    header = ["AUC", "log loss", "accuracy", "compression rate", "kept", "seconds"]
    return markdown_table([f"{name}: {frame.height:,} x {frame.width - 1}", *header], rows) + "\n"


def summarise(
    report: Report, names: list[str], methods: list[str], results: dict[tuple[str, str], dict[str, float]]
) -> None:
    """Means over the tables; per measure, tables won, tied and lost by "compression" against the other methods."""
    rows = []
    for method in methods:
        ours = [results[name, method] for name in names]
        figures = [f"{mean(one[measure] for one in ours):.4f}" for measure in MEASURES]
        rows.append([method, *figures, *(f"{mean(one[key] for one in ours):.3g}" for key in ("kept", "seconds"))])
    header = ["AUC", "log loss", "accuracy", "compression rate", "kept", "seconds"]
    report.add(markdown_table([f"Means over {len(names)} tables", *header], rows))
    rows = []
    pairs = [
        (one, other) for other in methods[::-1] for one in methods[:2] if one != other and other not in methods[:2]
    ]
    for one, other in pairs:
        row: list[Any] = [f'"{one}" against {other}']
        for measure, (higher, margin) in MEASURES.items():
            sign = 1.0 if higher else -1.0
            gains = [sign * (results[name, one][measure] - results[name, other][measure]) for name in names]
            won, lost = sum(gain > margin for gain in gains), sum(gain < -margin for gain in gains)
            row.append(f"{won} / {len(names) - won - lost} / {lost}")
        rows.append(row)
    margins = [f"{measure} (margin {margin:g})" for measure, (_, margin) in MEASURES.items()]
    report.add("\n" + markdown_table(["tables won / level / lost", *margins], rows))


if __name__ == "__main__":
    main()

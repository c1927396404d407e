"""Our default beside AODE, WAODE and HNB of Weka, FIGS and FasterRisk, and beside published figures of interpret."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from functools import partial
from statistics import mean, pstdev
from typing import Any

import numpy as np
import polars as pl
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedShuffleSplit

from bayesieve_lab.comparison.folds import DataSet, Fold, describe
from bayesieve_lab.comparison.results import Key
from bayesieve_lab.data_sets import DataSets
from bayesieve_lab.peers.weka import weka_command
from benchmarks.bench_quality import (
    FOLDS,
    finished,
    listed,
    load_folds,
    packages_of,
    results_of,
    run_arguments,
    shown,
    values_of,
)
from benchmarks.common.measuring import Report, markdown_table, options, version

OURS = "bayesieve"
PEERS = ("weka-aode", "weka-waode", "weka-hnb", "figs", "fasterrisk")
METHODS = (OURS, *PEERS)
_TABLES = (
    "australian breast_wisconsin_original credit_approval_crx german_credit heart_cleveland hepatitis horse_colic "
    "hypothyroid_uci ionosphere kr_vs_kp pima_diabetes sick_euthyroid spambase mushroom_8124 adult"
)
TABLES = tuple(_TABLES.split())
"""The tables of two classes among the thirty of peers.md."""
_LARGE = ("mushroom_8124", "adult")  # run on one fold
_N_SPLITS = 3
_PUBLISHED = {"adult.data": (0.928, 0.002), "breast cancer of scikit-learn": (0.995, 0.006)}
"""AUC of the explainable boosting machine by interpret's own notebook: mean and deviation over three splits."""
_PUBLISHED_OTHERS = {"adult.data": ("0.922", "0.907"), "breast cancer of scikit-learn": ("0.995", "0.995")}
_PACKAGES = {"figs": "imodels", "fasterrisk": "fasterrisk"}
_TITLES = {"accuracy": "accuracy", "auc": "AUC", "log_loss": "log loss", "n_features": "features", "seconds": "seconds"}
Rows = dict[Key, dict[str, Any]]


def main() -> None:
    """Run the folds that the results lack, then write the tables."""
    arguments = run_arguments(options(__doc__), "anchors", METHODS)
    names = listed(arguments.tables) or (("hepatitis",) if arguments.quick else (*TABLES, *_PUBLISHED))
    rows = finished(
        "anchors", arguments, METHODS, names, _described, partial(_loaded, DataSets(arguments.data)), _n_folds
    )
    report = Report("anchors", "Anchors: AODE, WAODE, HNB, FIGS, FasterRisk, and the table of interpret", arguments)
    write(report, rows)
    report.add(packages_of(results_of("anchors", arguments)))
    report.close(["polars"])


def _n_folds(method: str, name: str) -> int:
    if name in _PUBLISHED:
        return _N_SPLITS if method == OURS else 0
    return 1 if name in _LARGE else FOLDS.n_folds


def _described(name: str, model: Any) -> str:
    """A method as the results file describes it; ours changes from version to version, see --again."""
    if name == OURS:
        return OURS
    if name in _PACKAGES:
        return f"{describe(model)} of {_PACKAGES[name]} {version(_PACKAGES[name])}"
    weka = subprocess.run([*weka_command(), "weka.core.Version"], capture_output=True, text=True, check=True)
    return f"{describe(model)} of Weka {weka.stdout.split()[0]}"


def _loaded(data_sets: DataSets, name: str) -> tuple[DataSet, list[Fold]]:
    return _published_splits(data_sets, name) if name in _PUBLISHED else load_folds(data_sets, name)


def _published_splits(data_sets: DataSets, name: str) -> tuple[DataSet, list[Fold]]:
    """Table and splits of interpret's notebook, which takes only the training file of Adult."""
    if name == "adult.data":
        data, (fold,) = load_folds(data_sets, "adult by official rows")
        data = data.take(fold.train)
    else:
        X, codes = load_breast_cancer(return_X_y=True)
        data = DataSet(name, pl.DataFrame(X), codes.astype(np.int64), np.arange(2), None)
    splits = StratifiedShuffleSplit(_N_SPLITS, test_size=0.25, random_state=1337).split(data.codes, data.codes)
    folds = [Fold(0, number, train, test) for number, (train, test) in enumerate(splits)]
    return DataSet(name, data.X, data.codes, data.classes, None), folds


_INTRODUCTION = """\
Means over held-out rows of five stratified folds (shuffled, seed 0), the same for all; of the first fold for Adult and
mushroom. The tables are those of two classes among the thirty of [peers.md](peers.md). `bayesieve` is `SelectiveNB()`,
the others are those of `bayesieve compare --peers`, as
[described](../../docs/other-classifiers.md).

* Weka cuts numbers by Fayyad and Irani on the training rows; WAODE and HNB get modes and means for missing cells, AODE
  skips them. FIGS has at most 12 splits, FasterRisk at most 10 terms of columns of 0 and 1.
* Log loss in nats. FIGS takes a softmax of sums that are probabilities already, which keeps all of its probabilities
  between 0.27 and 0.73 or near: read its AUC and accuracy, not its log loss.
* Features: columns of the table, for bayesieve also pairs. Seconds: processor time of one fit, child processes (Java)
  included; the less of two fits if they are short. Java takes about 0.3 s to start, included.
"""


def write(report: Report, rows: Rows) -> None:
    """Means, single tables, then the splits of interpret."""
    report.add(_INTRODUCTION)
    tables = [name for name in TABLES if all(_values(rows, name, method, "auc") for method in METHODS)]
    lines = [_means(rows, tables, method) for method in METHODS] if tables else []
    wins = [f"tables with better {_TITLES[measure]} by bayesieve" for measure in ("auc", "log_loss")]
    report.add(markdown_table([f"means over {len(tables)} tables", *_TITLES.values(), *wins], lines) + "\n")
    for name, method in sorted({(row["data"], row["method"]) for row in rows.values() if row["error"]}):
        errors = [
            row["error"] for row in rows.values() if row["error"] and (row["data"], row["method"]) == (name, method)
        ]
        report.add(f"{method} failed on {len(errors)} folds of {name}: {errors[0]}\n")
    for measure in _TITLES:
        lines = []
        for name in TABLES:
            values = [_values(rows, name, method, measure) for method in METHODS]
            if any(values):
                lines.append([name, *(shown(mean(of) if of else None, measure) for of in values)])
        report.add(markdown_table([_TITLES[measure], *METHODS], lines) + "\n")
    report.add("## The published table of interpret, on its own splits\n")
    report.add(
        "AUC over `StratifiedShuffleSplit(3, test_size=0.25, random_state=1337)`, mean and standard deviation. The "
        "others are as published by interpret (EBM Classification Comparison), not run again. Adult is its training "
        "file only, 32,561 rows, as there.\n"
    )
    lines = []
    for name, (published, deviation) in _PUBLISHED.items():
        values = _values(rows, name, OURS, "auc")
        ours = f"{mean(values):.4f} ± {pstdev(values):.4f}" if values else ""
        lines.append([name, ours, f"{published:.3f} ± {deviation:.3f}", *_PUBLISHED_OTHERS[name]])
    report.add(markdown_table(["table", OURS, "EBM", "XGBoost", "logistic regression"], lines) + "\n")


def _values(rows: Rows, name: str, method: str, measure: str) -> list[float]:
    return values_of(rows, name, method, measure, FOLDS.n_folds)


def _means(rows: Rows, tables: Sequence[str], method: str) -> list[str]:
    cells = [method]
    for measure in _TITLES:
        values = [_values(rows, name, method, measure) for name in tables]
        cells.append(shown(mean(map(mean, values)) if all(values) else None, measure))
    for measure, sign in (("auc", 1), ("log_loss", -1)):
        gains = [
            sign * (mean(_values(rows, name, OURS, measure)) - mean(_values(rows, name, method, measure)))
            for name in tables
        ]
        cells.append("" if method == OURS else f"{sum(gain > 0 for gain in gains)}")
    return cells


if __name__ == "__main__":
    main()

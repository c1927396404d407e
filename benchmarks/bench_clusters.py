"""Clusters of dependent features (Blanquero et al. 2021, algorithm 1), against refitting scikit-learn per candidate."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

import numpy as np
from sklearn.naive_bayes import CategoricalNB

from bayesieve import CodedTable, DependenceClusterSelector, TableEncoder
from bayesieve.counts.dependence import DEPENDENCES
from bayesieve.counts.pairs import strongest_within_classes
from bayesieve_lab.simulate import correlated_blocks
from benchmarks.common.measuring import Report, markdown_table, options, spread, verdict

SECONDS = 2.0
SECONDS_OF_CLASSES = 15.0
TIMES_FASTER = 100.0
_SAMPLE = 40  # candidates that scikit-learn is fitted to


def main() -> None:
    """The sizes of the paper, many classes, and the measures of dependence."""
    arguments = options(__doc__).parse_args()
    quick = arguments.quick
    report = Report("clusters", "Clusters of dependent features", arguments)
    n_features, n_rows, rounds = (60, 400, 2) if quick else (500, 2000, 5)
    X, y = correlated_blocks(n_rows, n_features)
    coded = TableEncoder(numeric="mdlp").fit_transform_coded(X, y)
    report.add("All times are of the processor, the threads together: what one core takes at most.\n")
    report.add(f"## {n_features} features x {n_rows:,} rows, two classes, correlation 0.5\n")
    against_refits(report, coded, rounds)
    report.add("\n## Many classes\n")
    many_classes(report, quick)
    report.add("\n## Matrices of dependence within classes\n")
    matrices(report, coded.select(np.arange(min(40, n_features))), min(rounds, 2), (X, y))
    report.close(["scipy"])


def against_refits(report: Report, coded: CodedTable, rounds: int) -> None:
    """The search with its matrix, and a model of scikit-learn for some of its candidates."""
    selector = DependenceClusterSelector(recode=False).fit_coded(coded)
    names = np.array(coded.names)
    features = selector.candidates_["features"].to_list()
    picked = np.random.default_rng(0).choice(len(features), min(_SAMPLE, len(features)), replace=False)
    columns = [np.flatnonzero(np.isin(names, features[number])) for number in picked]
    codes, classes = coded.codes.T, np.asarray(coded.class_codes)
    rows = np.arange(len(codes)) % 3 > 0

    def refit() -> None:
        for subset in columns:
            model = CategoricalNB(min_categories=coded.n_levels[subset]).fit(codes[rows][:, subset], classes[rows])
            model.score(codes[~rows][:, subset], classes[~rows])

    seconds = alternate({"ours": lambda: selector.fit_coded(coded), "refits": refit}, rounds)
    ours, each = median(seconds["ours"]), median(seconds["refits"]) / picked.size
    lines = [
        (f"bayesieve, {len(features):,} candidates and the matrix", spread(seconds["ours"])),
        (f"scikit-learn, {picked.size} candidates", spread(seconds["refits"])),
        ("scikit-learn, all of them by extrapolation", f"{each * len(features):.3g} s"),
    ]
    report.add(markdown_table(("task", "median (range)"), lines))
    report.add(f"\nThe search: {verdict(ours, SECONDS, unit=' s')}.")
    report.add(f"Times faster than refitting: {verdict(each * len(features) / ours, TIMES_FASTER, at_least=True)}.")


def alternate(tasks: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Processor seconds, all threads together, of every task in turns: other work on the machine does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            begin = time.process_time()
            task()
            seconds[name].append(time.process_time() - begin)
    return seconds


def many_classes(report: Report, quick: bool) -> None:
    """A table as large as a fold of ISOLET: 26 classes, 617 features of three levels."""
    n_features, n_rows = (60, 500) if quick else (617, 7017)
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 26, n_rows).astype(np.uint8)
    hidden = rng.normal(size=(n_rows, 60)) + 0.8 * rng.normal(size=(26, 60))[classes]
    numbers = hidden[:, rng.integers(0, 60, n_features)] + rng.normal(size=(n_rows, n_features))
    codes = (numbers.T[:, :, None] > np.array([-0.7, 0.7])).sum(axis=2).astype(np.uint8)
    names = tuple(f"x{k}" for k in range(n_features))
    coded = CodedTable(codes, np.full(n_features, 3), names, class_codes=classes, classes=np.arange(26))
    selector = DependenceClusterSelector()
    (seconds,) = alternate({"ours": lambda: selector.fit_coded(coded)}, 2).values()
    table = f"26 classes, {n_features} features of three levels, {n_rows:,} rows, as a fold of ISOLET"
    report.add(f"{table}: {verdict(min(seconds), SECONDS_OF_CLASSES, unit=' s')}.")


def matrices(report: Report, coded: CodedTable, rounds: int, raw: tuple[np.ndarray, np.ndarray]) -> None:
    """All measures on the same features; those of values see the raw numbers."""
    table = TableEncoder(numeric="mdlp").fit_transform_coded(raw[0][:, : coded.n_features], raw[1])
    measures = {name: part() for name, part in DEPENDENCES.own.items()}
    tasks = {
        name: lambda of=measure: strongest_within_classes(table, of, n_jobs=-1) for name, measure in measures.items()
    }
    seconds = alternate(tasks, rounds)
    pairs = table.n_features**2 / 2
    lines = [(name, f"{1e6 * median(taken) / pairs:.3g}") for name, taken in seconds.items()]
    report.add(markdown_table(("measure", f"microseconds a pair of {table.n_features} features"), lines))


if __name__ == "__main__":
    main()

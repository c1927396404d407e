"""The exact best threshold on probabilities against scikit-learn's measure at every threshold of its grid."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from bayesieve.decision.thresholds import MEASURES, best_class_weights, best_threshold
from benchmarks.common.measuring import Report, markdown_table, options, verdict

SIZES = (10_000, 100_000, 1_000_000, 4_000_000)
QUICK_SIZES = (1_000, 10_000)
GRID = 100  # thresholds that TunedThresholdClassifierCV tries
MOST_SECONDS = 0.2


def probabilities(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    positive = rng.random(n_rows) < 0.2
    return 1 / (1 + np.exp(1.5 - 2 * positive - 1.5 * rng.normal(size=n_rows))), positive


def on_grid(score: np.ndarray, positive: np.ndarray) -> float:
    grid = np.linspace(score.min(), score.max(), GRID)
    return max(balanced_accuracy_score(positive, score >= threshold) for threshold in grid)


def tasks_on(n_rows: int) -> dict[str, Callable[[], Any]]:
    score, positive = probabilities(n_rows)
    three = np.stack([score, 1 - score, 0.3 * np.ones(n_rows)], axis=1) / 1.3
    codes = np.where(positive, 0, np.where(np.arange(n_rows) % 9 == 0, 2, 1))
    tasks: dict[str, Callable[[], Any]] = {
        name: partial(best_threshold, score, positive, measure) for name, measure in MEASURES.items()
    }
    tasks["three classes"] = partial(best_class_weights, three, codes, MEASURES["balanced_accuracy"])
    if n_rows <= 100_000:
        tasks["grid"] = partial(on_grid, score, positive)
    return tasks


def processor_seconds(tasks: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median of each task, which runs in one thread."""
    runs: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            began = time.process_time()
            task()
            runs[name].append(time.process_time() - began)
    return {name: float(np.median(seconds)) for name, seconds in runs.items()}


def main() -> None:
    arguments = options(__doc__).parse_args()
    report = Report("thresholds", "Best threshold", arguments)
    report.add(
        f"{__doc__} Of the latter, {GRID} thresholds. Processor seconds, the median of rounds in turns; "
        "three classes have their weights tuned."
    )
    lines = []
    for n_rows in QUICK_SIZES if arguments.quick else SIZES:
        tasks = tasks_on(n_rows)
        seconds = processor_seconds(tasks, 2 if arguments.quick else 3)
        ours = seconds["balanced_accuracy"]
        lines.append(
            [
                f"{n_rows:,}",
                *(f"{seconds[name]:.3f}" for name in ("balanced_accuracy", "f1", "matthews_corrcoef", "three classes")),
                f"{seconds['grid'] / ours:.0f}" if "grid" in seconds else "",
            ]
        )
        if n_rows == 1_000_000:
            slowest = max(seconds[name] for name in MEASURES)
            report.add()
            report.add(f"Slowest measure on 1,000,000 rows: {verdict(slowest, MOST_SECONDS, unit=' s')}.")
    report.add()
    heads = ("rows", "balanced accuracy, s", "F1, s", "Matthews, s", "three classes, s", "grid against ours")
    report.add(markdown_table(heads, lines))
    report.close()


if __name__ == "__main__":
    main()

"""Reports to draw in tests, of any size."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from bayesieve.report.data import (
    CellRow,
    Contribution,
    ExplainedRow,
    FeatureSummary,
    PathStep,
    Performance,
    ReportData,
    SearchSummary,
)
from bayesieve.statistics.metrics import Bin


def cell_rows(counts: list[tuple[str, bool, tuple[float, ...]]], weight: float) -> tuple[CellRow, ...]:
    """Cells with evidence and contributions, from (label, is missing, class counts)."""
    table = np.array([per_class for *_, per_class in counts])
    logs = np.log((table + 1 / table.sum()) / table.sum(axis=0))
    evidence = logs - logs.mean(axis=1, keepdims=True)
    rows = zip(counts, table.sum(axis=1).tolist(), evidence.tolist(), (weight * evidence).tolist(), strict=True)
    return tuple(
        CellRow(label, label, None, None, missing, n, per_class, tuple(own), tuple(added), (0.1,) * len(added))
        for (label, missing, per_class), n, own, added in rows
    )


def with_importance(features: list[FeatureSummary]) -> tuple[FeatureSummary, ...]:
    """Importances from the mean absolute evidence, and the most important first."""
    raw = [sum(cell.rows * max(map(abs, cell.contributions)) for cell in f.cells) for f in features]
    total = sum(raw) or 1.0
    features = [replace(f, importance=value / total) for f, value in zip(features, raw, strict=True)]
    return tuple(sorted(features, key=lambda f: (-f.weight, -f.importance, f.name)))


def explained_row(
    title: str, truth: str, classes: tuple[str, ...], prior: tuple[float, ...], parts: tuple[Contribution, ...]
) -> ExplainedRow:
    """An explained row whose probabilities follow from prior and contributions."""
    joint = np.array(prior) + np.sum([part.contributions for part in parts], axis=0)
    chances = tuple((np.exp(joint - joint.max()) / np.exp(joint - joint.max()).sum()).tolist())
    intervals = tuple((0.9 * chance, 0.1 + 0.9 * chance) for chance in chances)
    return ExplainedRow(title, 17, truth, classes[chances.index(max(chances))], chances, intervals, prior, parts)


def synthetic(
    *,
    n_classes: int = 3,
    n_features: int = 6,
    n_levels: int = 5,
    classes: tuple[str, ...] | None = None,
    names: tuple[str, ...] | None = None,
    label: str = "level",
) -> ReportData:
    """A report with the wanted sizes; numbers are made up but fit together."""
    classes = classes or tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[j % 26] * (1 + j // 26) for j in range(n_classes))
    n_classes = len(classes)
    names = names or tuple(f"feature_{k:05d}" for k in range(n_features))
    features = []
    for k, name in enumerate(names):
        weight = max(0.0, 1 - k / (0.75 * len(names))) if len(names) > 3 else 1.0
        counts = [
            (
                "missing" if i == n_levels - 1 and k % 6 == 0 else f"{label} {i} of feature {k}",
                i == n_levels - 1 and k % 3 == 0,  # a level of its own, or one that holds the missing values, too
                tuple(
                    float(3 + (7 * i + 5 * j + 3 * k + i * j) % 29 + (60 if (i + k) % n_classes == j else 0))
                    for j in range(n_classes)
                ),
            )
            for i in range(n_levels)
        ]
        cells = cell_rows(counts, weight)
        kind, type_ = ("numeric", "number") if k % 2 else ("categorical", "text")
        features.append(
            FeatureSummary(name, kind, type_, weight, 0.3 * weight, len(cells), 0.0, None, cells, (0.0,) * n_classes)
        )
    class_counts = tuple(float(400 - 9 * (j % 30)) for j in range(n_classes))
    n_rows = int(sum(class_counts))
    prior = tuple(math.log(n / n_rows) for n in class_counts)
    parts = tuple(
        Contribution(f.name, "a value", f.cells[0].label, f.weight, f.cells[0].contributions) for f in features
    )
    bins = tuple(Bin(p / 10 + 0.05, min(1.0, p / 10 + 0.08), 10 + 5 * p, 0.0, 1.0, 1.0) for p in range(10))
    curve = tuple((x / 20, (x / 20) ** 0.4) for x in range(21))
    path = [
        PathStep(s, i, "add" if i else "start", names[0] if i else None, i, 900.0 - 300 * (1 - 0.6**i) + 4 * s)
        for s in range(4)
        for i in range(8)
    ]
    return ReportData(
        title="A synthetic table",
        target="kind",
        n_rows=n_rows,
        n_columns=len(names),
        classes=classes,
        class_counts=class_counts,
        headline=f"All of {len(names)} features say something about the target.",
        features=with_importance(features),
        search=SearchSummary(
            "map", "Finds the most probable subset of features.", 312, 4, 0.184, 900.0, 608.5, True, tuple(path)
        ),
        performance=Performance(
            protocol="Held-out rows, 30% of the table.",
            n_rows=n_rows // 3,
            accuracy=0.71,
            auc=0.87,
            log_loss=0.9,
            compression_rate=0.31,
            brier=0.4,
            majority_accuracy=max(class_counts) / n_rows,
            class_entropy=-sum(math.exp(p) * p for p in prior),
            reliability=tuple((c, bins) for c in classes),
            confusion=tuple(
                tuple(40 if i == j else (i * j + i) % 7 for j in range(n_classes)) for i in range(n_classes)
            ),
            roc=tuple((c, curve) for c in classes),
        ),
        explained=(explained_row("A typical row", classes[0], classes, prior, parts),),
        warnings=("9 rows (1.2%) have no value in feature_00000.",),
        settings=(("selector", "map"),),
        version="0.1.0",
        created="2025-11-20",
        intercept=prior,
    )

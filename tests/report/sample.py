"""Reports to draw in tests, of any size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import log_softmax

from bayesieve.evaluation.judged import EvaluatedRows
from bayesieve.evaluation.performance import Performance, performance_on
from bayesieve.report import ReportData
from tests.report.paths import wrapper_trace


def feature(name: str, k: int, weight: float, counts: Sequence[tuple[str, bool, Sequence[float]]]) -> dict[str, Any]:
    """A feature with evidence and contributions, from (label, is missing, class counts)."""
    table = np.array([per_class for *_, per_class in counts])
    logs = np.log((table + 1 / table.sum()) / table.sum(axis=0))
    evidence = logs - logs.mean(axis=1, keepdims=True)
    rows = table.sum(axis=1)
    kind, type_ = ("numeric", "number") if k % 2 else ("categorical", "text")
    cells = {"label": [label for label, *_ in counts], "is_missing": [missing for _, missing, _ in counts]}
    cells |= dict.fromkeys(("low", "high"), [None] * len(counts))
    cells |= {"rows": rows.tolist(), "counts": table.tolist(), "evidence": evidence.tolist()}
    cells |= {"contributions": (weight * evidence).tolist(), "errors": np.full(table.shape, 0.1).tolist()}
    raw = float(rows @ np.abs(weight * evidence).max(axis=1))
    texts = {"name": name, "kind": kind, "type": type_, "columns": (name,), "note": None, "caution": None}
    numbers = {"position": k, "weight": weight, "level_score": 0.3 * weight, "n_levels": len(counts), "monotone": 0}
    nothing = dict.fromkeys(
        ("gain", "chance_tables", "information_value", "by_hand", "effect", "others", "grid", "variances")
    )
    unseen = [0.0] * table.shape[1]
    whole = texts | numbers | nothing | {"by_chance": "", "cells": cells, "unseen": unseen, "importance": raw}
    return whole | {"selected": raw > 0}


def with_importance(features: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Importances that sum to 1, and the most important first."""
    total = sum(f["importance"] for f in features) or 1.0
    features = [f | {"importance": f["importance"] / total} for f in features]
    return sorted(features, key=lambda f: (-f["weight"], -f["importance"], f["name"]))


def explained_row(
    title: str, truth: str, classes: Sequence[str], prior: Sequence[float], features: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """An explained row whose probabilities follow from prior and contributions."""
    parts = [
        {"feature": f["name"], "value": "a value", "level": f["cells"]["label"][0]}
        | {"contributions": f["cells"]["contributions"][0]}
        for f in features
    ]
    joint = np.array(prior) + np.sum([part["contributions"] for part in parts], axis=0)
    chances = np.exp(log_softmax(joint)).tolist()
    row = {"title": title, "row": 17, "truth": truth, "predicted": classes[int(joint.argmax())]}
    row |= {"probabilities": chances, "intervals": [(0.9 * chance, 0.1 + 0.9 * chance) for chance in chances]}
    return row | {"prior": prior, "contributions": parts}


def performance(classes: Sequence[str], n_rows: int, protocol: str = "Held-out rows, 30% of the table.") -> Performance:
    """Performance of probabilities that are right for most rows."""
    rng, n = np.random.default_rng(0), len(classes)
    labels = np.arange(n_rows) % n
    log_proba = log_softmax(rng.normal(size=(n_rows, n)) + 2.0 * np.eye(n)[labels], axis=1)
    cells, decided = np.zeros((0, n_rows), dtype=int), log_proba.argmax(axis=1)
    positive = 1 if n == 2 else None
    rows = EvaluatedRows(np.array(classes, dtype=object), positive, labels, None, cells, log_proba, decided)
    return performance_on(rows, "Test rows", protocol, "")


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
                [
                    float(3 + (7 * i + 5 * j + 3 * k + i * j) % 29 + (60 if (i + k) % n_classes == j else 0))
                    for j in range(n_classes)
                ],
            )
            for i in range(n_levels)
        ]
        features.append(feature(name, k, weight, counts))
    class_counts = [float(400 - 9 * (j % 30)) for j in range(n_classes)]
    n_rows = int(sum(class_counts))
    prior = [math.log(n / n_rows) for n in class_counts]
    values = [900.0 - 300 * (1 - 0.6**i) for i in range(8)]
    trace = wrapper_trace(
        [[(0, True, value + 4 * start, math.nan) for value in values[1:]] for start in range(4)],
        names=names,
        starts=[([], values[0] + 4 * start, math.nan) for start in range(4)],
        validation_total=None,
        criterion="map",
    )
    measured = performance(classes, n_rows // 3)
    return ReportData(
        title="A synthetic table",
        target="kind",
        n_rows=n_rows,
        n_columns=len(names),
        classes=classes,
        class_counts=class_counts,
        headline=f"All of {len(names)} features say something about the target.",
        features=with_importance(features),
        search=trace,
        selector={"name": "map", "sentence": "Finds the most probable subset of features."},
        performance=measured,
        samples=[measured],
        explained=[explained_row("A typical row", classes[0], classes, prior, features)],
        warnings=["9 rows (1.2%) have no value in feature_00000."],
        settings=[("selector", "map")],
        created="2025-11-20",
        intercept=prior,
    )

"""Reports to draw in tests: a real one from German credit counts, and synthetic ones of any size.

`german_credit.json` holds counts per level, the path of a search and cross-validated quality, so that no data file is
needed here. The data are German credit (Statlog) by H. Hofmann, UCI Machine Learning Repository, CC BY 4.0; "no known
savings" is taken as missing.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from bayesieve.evaluation import Comparison, FixedSplit, RepeatedFolds
from bayesieve.evaluation.folds import NUMBERS
from bayesieve.report.data import (
    Contribution,
    ExplainedRow,
    FeatureSummary,
    LevelRow,
    PathStep,
    Performance,
    ReportData,
    SearchSummary,
)
from bayesieve.statistics.metrics import Bin


def rows_of(scores: dict[str, list[Any]], data: str = "credit", measure: str = "accuracy") -> list[dict[str, Any]]:
    """Lines of a comparison, from the values of every method by fold."""
    return [
        dict.fromkeys((*NUMBERS, "figures", "error"))
        | {"data": data, "method": method, "repeat": 0, "fold": fold, "n_train": 9, "n_test": 1, measure: value}
        for method, own in scores.items()
        for fold, value in enumerate(own)
    ]


def compared(rows: list[dict[str, Any]], seed: int = 0, *, complete: bool = True) -> Comparison:
    """The comparison of these lines."""
    data, methods = (tuple(dict.fromkeys(row[name] for row in rows)) for name in ("data", "method"))
    n_folds = len({row["fold"] for row in rows})
    split = RepeatedFolds(n_folds, seed=seed) if n_folds > 1 else FixedSplit(9, seed)
    return Comparison(data, methods, split, tuple(rows), complete)


def level_rows(counts: list[tuple[str, bool, tuple[float, ...]]], weight: float) -> tuple[LevelRow, ...]:
    """Levels with smoothed probabilities and evidence, from (label, is missing, class counts)."""
    n_classes = len(counts[0][2])
    totals = [sum(c[2][j] for c in counts) for j in range(n_classes)]
    n_rows = sum(totals)
    rows = []
    for label, is_missing, per_class in counts:
        count = sum(per_class)
        chances = tuple((n + 1 / n_rows) / (count + n_classes / n_rows) for n in per_class)
        logs = [
            weight * math.log((n + 1 / n_rows) / (t + n_classes / n_rows))
            for n, t in zip(per_class, totals, strict=True)
        ]
        mean = sum(logs) / n_classes
        evidence = tuple(value - mean for value in logs)
        rows.append(LevelRow(label, is_missing, count, count / n_rows, tuple(per_class), chances, evidence))
    return tuple(rows)


def with_importance(features: list[FeatureSummary]) -> tuple[FeatureSummary, ...]:
    """Importances from the mean absolute evidence, and the most important first."""
    raw = [sum(level.share * max(map(abs, level.evidence)) for level in f.levels) for f in features]
    total = sum(raw) or 1.0
    features = [replace(f, importance=value / total) for f, value in zip(features, raw, strict=True)]
    return tuple(sorted(features, key=lambda f: (-f.weight, -f.importance, f.name)))


def german_credit() -> ReportData:
    """The report that the main job writes on German credit, two classes, one feature with a missing level."""
    source = json.loads(Path(__file__).with_name("german_credit.json").read_text(encoding="utf-8"))
    features = []
    for f in source["features"]:
        levels = level_rows([(label, missing, tuple(counts)) for label, missing, *counts in f["levels"]], f["weight"])
        note = "One level: no cut point pays for itself." if len(levels) == 1 else None
        head = (f["name"], f["kind"], f["type"], f["weight"], f["level_score"])
        features.append(FeatureSummary(*head, len(levels), 0.0, note, levels))
    kept = sum(f.weight > 0 for f in features)
    return ReportData(
        title="German credit: who repays",
        target="class",
        n_rows=1000,
        n_columns=20,
        classes=tuple(source["classes"]),
        class_counts=tuple(map(float, source["class_counts"])),
        headline=(
            f"{kept} of 20 features tell good from bad credit risks. On rows that the model had not seen, it ranks "
            "them with an AUC of 0.790 and is right for 75.7% of them, where always answering “good” is right for "
            "70.0%. The state of the checking account carries most of the evidence, followed by savings, credit "
            "history and duration."
        ),
        features=with_importance(features),
        search=_search(source["search"]),
        performance=_performance(source["performance"], source["classes"][1]),
        explained=tuple(_explained(row, source, features) for row in source["rows"]),
        warnings=("183 rows (18.3%) have no value in savings_status; they share a level with the larger savings.",),
        settings=(
            ("selector", "compression"),
            ("encoder", "modl"),
            ("smoothing", "m-estimate"),
            ("random_state", "None (fixed seed)"),
            ("table", "german_credit.parquet"),
        ),
        version="0.1.0",
        created="2025-11-20 14:05",
    )


def _search(source: dict[str, Any]) -> SearchSummary:
    return SearchSummary(
        name="compression",
        description="Averages all distinct models that compress the target, each with its compression rate as weight.",
        n_models=source["n_models"],
        n_starts=source["n_starts"],
        seconds=0.184,
        null_criterion=source["null"],
        best_criterion=source["best"],
        complete=True,
        path=tuple(PathStep(*step) for step in source["path"]),
    )


def _performance(source: dict[str, Any], label: str) -> Performance:
    bins = tuple(Bin(*b, 0.0, 1.0, 1.0) for b in source["reliability"])
    single = {
        k: source[k]
        for k in ("accuracy", "auc", "log_loss", "compression_rate", "brier", "majority_accuracy", "class_entropy")
    }
    return Performance(
        protocol="Stratified 10-fold cross-validation: every row is predicted by a model that has not seen it.",
        n_rows=source["n_rows"],
        **single,
        reliability=((label, bins),),
        confusion=tuple(map(tuple, source["confusion"])),
        roc=((label, tuple((fpr, tpr) for fpr, tpr in source["roc"])),),
    )


def _explained(row: dict[str, Any], source: dict[str, Any], features: list[FeatureSummary]) -> ExplainedRow:
    prior = tuple(math.log(n / 1000) for n in source["class_counts"])
    parts = []
    for feature, value, code in zip(features, row["values"], row["codes"], strict=True):
        level = feature.levels[code]
        parts.append(Contribution(feature.name, value, level.label, feature.weight, level.evidence))
    return explained_row(row["title"], row["row"], row["truth"], tuple(source["classes"]), prior, tuple(parts))


def explained_row(
    title: str,
    row: int,
    truth: str | None,
    classes: tuple[str, ...],
    prior: tuple[float, ...],
    parts: tuple[Contribution, ...],
) -> ExplainedRow:
    """An explained row whose probabilities follow from prior and contributions."""
    joint = [p + sum(c.contributions[j] for c in parts) for j, p in enumerate(prior)]
    top = max(joint)
    total = sum(math.exp(value - top) for value in joint)
    chances = tuple(math.exp(value - top) / total for value in joint)
    intervals = tuple((0.9 * chance, 0.1 + 0.9 * chance) for chance in chances)
    return ExplainedRow(title, row, truth, classes[chances.index(max(chances))], chances, intervals, prior, parts)


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
                "missing" if i == n_levels - 1 and k % 3 == 0 else f"{label} {i} of feature {k}",
                i == n_levels - 1 and k % 3 == 0,
                tuple(
                    float(3 + (7 * i + 5 * j + 3 * k + i * j) % 29 + (60 if (i + k) % n_classes == j else 0))
                    for j in range(n_classes)
                ),
            )
            for i in range(n_levels)
        ]
        levels = level_rows(counts, weight)
        kind, type_ = ("numeric", "number") if k % 2 else ("categorical", "text")
        features.append(FeatureSummary(name, kind, type_, weight, 0.3 * weight, len(levels), 0.0, None, levels))
    class_counts = tuple(float(400 - 9 * (j % 30)) for j in range(n_classes))
    n_rows = int(sum(class_counts))
    prior = tuple(math.log(n / n_rows) for n in class_counts)
    parts = tuple(Contribution(f.name, "a value", f.levels[0].label, f.weight, f.levels[0].evidence) for f in features)
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
            "map", "Finds the most probable subset of features.", 312, 4, 75.2, 900.0, 608.5, False, tuple(path)
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
        explained=(explained_row("A typical row", 17, classes[0], classes, prior, parts),),
        warnings=(),
        settings=(("selector", "map"),),
        version="0.1.0",
        created="2025-11-20",
    )

"""A model in print: its features, selector and performance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bayesieve.cli.screen import Screen
from bayesieve.cli.tables import Column, numbers
from bayesieve.cli.text import counted, quoted, thousands, visible

_MOST_CLASSES = 6
_COLUMNS = (
    Column("feature"),
    Column("kind"),
    *numbers("levels", "level score", "importance", "weight"),
    Column("", bar=True),
)


def show_summary(screen: Screen, model: Any, performance: Any, written: Sequence[tuple[str, Path]]) -> None:
    """Print the selected features, the performance and the written files."""
    facts = [
        ("table", f"{counted(model.n_rows_, 'row')}, {counted(model.n_features_in_, 'feature')}"),
        ("target", f"{quoted(model.target_name_)}, {class_shares(model)}"),
        ("kept", f"{n_kept(model)} ({search(model)})"),
    ]
    screen.pairs(facts)
    screen.line()
    show_features(screen, model, model.selected_features_[:10])
    if performance is not None:
        screen.line()
        screen.line(performance.protocol, "dim")
        screen.pairs(figures(performance))
    screen.line()
    screen.pairs([(name, str(path)) for name, path in written])


def class_shares(model: Any) -> str:
    """`2 classes: good 70.0 %, bad 30.0 %`, the most frequent first."""
    counts = model.naive_bayes_.class_count_
    order = sorted(range(len(counts)), key=lambda j: (-counts[j], j))
    shares = [f"{visible(model.classes_[j])} {100 * counts[j] / counts.sum():.1f} %" for j in order[:_MOST_CLASSES]]
    more = f", {len(order) - _MOST_CLASSES} more" if len(order) > _MOST_CLASSES else ""
    return f"{len(order)} classes: {', '.join(shares)}{more}"


def n_kept(model: Any) -> str:
    """`12 of 20 features`."""
    return f"{thousands(model.n_features_selected_)} of {counted(len(model.feature_weights_), 'feature')}"


def search(model: Any) -> str:
    """The selector, the number of evaluations and the seconds."""
    from bayesieve.report.measures import Measure

    trace = model.trace_
    early = "" if trace.complete else ", stopped early"
    measure = Measure(trace.criterion_name)
    if measure.evaluated == "round":
        done = f"{counted(trace.moves.cost.size, 'round')} made"
    elif measure.is_of_features:  # no model takes part
        done = f"{counted(len(model.feature_weights_), 'feature')} ranked"
    else:
        done = f"{counted(trace.n_models, measure.evaluated)} evaluated"
    return f"selector {model.selector!r}, {done} in {_seconds(trace.seconds)}{early}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 0.1 else "less than 0.1 s"


def figures(performance: Any) -> list[tuple[str, str]]:
    return [
        ("AUC", f"{performance.auc:.4f}"),
        ("accuracy", f"{performance.accuracy:.4f} (most frequent class: {performance.majority_accuracy:.4f})"),
        ("log loss", f"{performance.log_loss:.4f} nats per row (class shares alone: {performance.class_entropy:.4f})"),
        ("compression rate", f"{performance.compression_rate:.4f} (1: always sure and right, 0: class shares alone)"),
    ]


def show_features(screen: Screen, model: Any, names: Sequence[str]) -> None:
    """Print these features by descending weight, and the number of other selected features."""
    if not model.selected_features_:
        screen.line("No feature is reliably informative about the target: predictions are the class shares.")
        return
    chosen = set(names)
    rows = [row for row in model.summary().iter_rows(named=True) if row["feature"] in chosen]
    screen.table(_COLUMNS, [_cells(row) for row in rows])
    more = model.n_features_selected_ - len(rows)
    if more > 0:
        screen.line(f"and {counted(more, 'more feature')}", "dim")


def _cells(row: dict[str, Any]) -> list[Any]:
    return [
        row["feature"],
        row["kind"],
        str(row["n_levels"]),
        f"{row['level_score']:.4f}",
        f"{100 * row['importance']:.1f} %",
        f"{row['weight']:.4f}",
        row["weight"],
    ]

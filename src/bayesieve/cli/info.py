"""A model in print: its features, selector and performance, and `bayesieve info`, which shows them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bayesieve.cli import files, options
from bayesieve.cli.options import Option, command
from bayesieve.cli.screen import Column, Screen, numbers
from bayesieve.words import format_count, plural, quoted, visible

MOST_CLASSES = 6
_COLUMNS = [*map(Column, ("feature", "kind")), *numbers("levels", "level score", "importance", "weight")]


@command({"": [options.MODEL, Option("--all", "List features of weight 0 as well.")]})
def info(given: Any) -> None:
    """Show the target, classes, features and weights of MODEL."""
    from bayesieve.classifier.description import smoothing_in_words, weights_in_words

    screen = Screen()
    model, version = files.read_model(given.model, screen), files.written_by(given.model)
    target = quoted(model.target_name_) if model.target_name_ else "without a name"
    screen.pairs(
        [
            ("model", str(given.model)),
            *([("written by", f"bayesieve {version}")] if version else []),
            ("target", f"{target}, {_class_shares(model)}"),
            ("trained on", f"{plural(model.n_rows_, 'row')}, {plural(len(model.feature_weights_), 'feature')}"),
            ("kept", _kept(model)),
            ("smoothing", smoothing_in_words(model)),
            ("calibration", weights_in_words(model)),
        ]
    )
    screen.line()
    _show_features(screen, model, model.summary()["feature"].to_list() if given.all else model.selected_features_)


def show_summary(screen: Screen, model: Any, performance: Any, written: Sequence[tuple[str, Path]]) -> None:
    """Print the selected features, the performance and the written files."""
    screen.pairs(
        [
            ("table", f"{plural(model.n_rows_, 'row')}, {plural(model.n_features_in_, 'feature')}"),
            ("target", f"{quoted(model.target_name_)}, {_class_shares(model)}"),
            ("kept", _kept(model)),
        ]
    )
    screen.line()
    _show_features(screen, model, model.selected_features_[:10])
    if performance is not None:
        screen.line()
        screen.line(performance.protocol, "dim")
        screen.pairs(_figures(performance))
    screen.line()
    screen.pairs([(name, str(path)) for name, path in written])


def _class_shares(model: Any) -> str:
    """`2 classes: good 70.0 %, bad 30.0 %`, the most frequent first."""
    counts = model.naive_bayes_.class_count_
    order = sorted(range(len(counts)), key=lambda j: (-counts[j], j))
    shares = [f"{visible(model.classes_[j])} {100 * counts[j] / counts.sum():.1f} %" for j in order]
    return f"{len(order)} classes: {first_of(shares)}"


def first_of(texts: Sequence[str]) -> str:
    """The first few texts, one for each class, and how many more there are."""
    more = f", {len(texts) - MOST_CLASSES} more" if len(texts) > MOST_CLASSES else ""
    return ", ".join(texts[:MOST_CLASSES]) + more


def _kept(model: Any) -> str:
    """How many features are kept, and by what search: the selector, its evaluations and seconds."""
    from bayesieve.report.measures import Measure

    n_features, trace = plural(len(model.feature_weights_), "feature"), model.trace_
    early = "" if trace.complete else ", stopped early"
    measure = Measure(trace.criterion_name)
    if measure.evaluated == "round":
        done = f"{plural(trace.moves.cost.size, 'round')} made"
    elif measure.is_of_features:  # no model takes part
        done = f"{n_features} ranked"
    else:
        done = f"{plural(trace.n_models, measure.evaluated)} evaluated"
    seconds = f"{trace.seconds:.1f} s" if trace.seconds >= 0.1 else "less than 0.1 s"
    kept = f"{format_count(model.n_features_selected_)} of {n_features}"
    return f"{kept} (selector {model.selector!r}, {done} in {seconds}{early})"


def _figures(performance: Any) -> list[tuple[str, str]]:
    return [
        ("AUC", f"{performance.auc:.4f}"),
        ("accuracy", f"{performance.accuracy:.4f} (most frequent class: {performance.majority_accuracy:.4f})"),
        ("log loss", f"{performance.log_loss:.4f} nats per row (class shares alone: {performance.class_entropy:.4f})"),
        ("compression rate", f"{performance.compression_rate:.4f} (1: always sure and right, 0: class shares alone)"),
    ]


def _show_features(screen: Screen, model: Any, names: Sequence[str]) -> None:
    """Print these features by descending weight, and the number of other selected features."""
    if not model.selected_features_:
        screen.line("No feature is reliably informative about the target: predictions are the class shares.")
        return
    chosen, rows = set(names), []
    for row in model.summary().iter_rows(named=True):
        if row["feature"] in chosen:
            figures = (f"{row['level_score']:.4f}", f"{100 * row['importance']:.1f} %", f"{row['weight']:.4f}")
            rows.append([row["feature"], row["kind"], row["n_levels"], *figures, row["weight"]])
    screen.table([*_COLUMNS, Column("", bar=True)], rows)
    more = model.n_features_selected_ - len(rows)
    if more > 0:
        screen.line(f"and {plural(more, 'more feature')}", "dim")

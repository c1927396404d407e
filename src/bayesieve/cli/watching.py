"""Commands that compare new rows with a model: `bayesieve monitor` and `evaluate`.

``args`` holds the values of the options as attributes.
"""

from __future__ import annotations

import operator
import re
from typing import Any

import typer

from bayesieve.cli import compiling, files
from bayesieve.cli.commands import CommandError, Heading, OptionValues, Screen, numbers, require_choice
from bayesieve.evaluation import drift as drift_of, evaluate as evaluation_of
from bayesieve.evaluation.judged import EVERY
from bayesieve.words import format_count, format_number, named, quoted

CONDITION_FAILS = 1
_OF_FEATURES = ("psi", "psi_low", "psi_high", "unseen", "missing", "shift")
_OF_PERIODS = ("score_shift", "auc", "gini", "ks", "log_loss", "brier", "calibration", "calibration_slope")
_BY_SIZE = ("shift", "score_shift", "calibration")
_CONDITION = re.compile(r"\s*(\w+)\s*(<=|>=|<|>)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")
_HOLDS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_MOST_SHOWN = 10
_PRINTED = {name: name.replace("_", " ") for name in ("auc", "gini", "ks", "log_loss", "calibration")}
_PRINTED["calibration_slope"] = "slope"
_SHOWN = ("accuracy", "auc", "log_loss", "calibration", "selection_rate", "true_positive_rate", "false_positive_rate")


def monitor(args: OptionValues) -> None:
    """Compare rows with the training rows of a model, and check the conditions of --fail-if."""
    conditions = [_condition(text, args.target is not None) for text in args.fail_if]
    files.check_folder(args.output)
    screen, result = _on_rows(args, drift_of, args.target)
    frames = {"features": result.to_frame(), "periods": result.periods, "levels": result.levels}
    written = [(name, args.output / f"{name}.csv") for name in frames]
    with files.opened_folder(args.output):
        for name, path in written:
            files.write_frame(frames[name], path)
        result.report(args.output / "drift.html")
    _show_periods(screen, result, args.by or "period")
    screen.pairs([(name, str(path)) for name, path in (*written, ("report", args.output / "drift.html"))])
    failures = [line for name, sign, bound in conditions for line in _failures(result, name, sign, bound)]
    more = [f"and {len(failures) - _MOST_SHOWN} more"] if len(failures) > _MOST_SHOWN else []
    for line in failures[:_MOST_SHOWN] + more:
        screen.warn(line)
    if failures:
        raise typer.Exit(CONDITION_FAILS)


def _show_periods(screen: Screen, result: Any, name: str) -> None:
    """Print the stability of each period and, with labels, the performance. ``result`` is a `Drift`, ``name`` the
    heading of the column of periods.
    """
    features: dict[Any, list[dict[str, Any]]] = {}
    for row in result.to_frame().iter_rows(named=True):
        features.setdefault(row["by"], []).append(row)
    stability, performance = [], []
    for period in result.periods.iter_rows(named=True):
        label = _label(period["by"])
        worst = max(features.get(period["by"], []), key=lambda row: row["psi"] or 0.0, default={})
        psi = [_text(worst.get("psi")), _interval(worst, "psi_low", "psi_high"), _text(worst.get("psi_chance"))]
        stability.append([label, period["rows"], _text(period["shift"]), *psi, worst.get("feature", "")])
        if "labelled" in period:
            performance.append([label, period["labelled"], *(_text(period[measure]) for measure in _PRINTED)])
    titles = numbers("rows", "shift", "largest PSI", "95 %", "by chance")
    screen.table([Heading(name), *titles, Heading("feature")], stability)
    screen.line()
    if performance:
        titles = numbers("labelled", *_PRINTED.values())
        screen.table([Heading(name), *titles], performance)
        screen.line()


def evaluate(args: OptionValues) -> None:
    """Measure a model on rows with labels, print the measures, and write them if a folder is given."""
    if args.output is not None:
        files.check_folder(args.output)
    screen, result = _on_rows(args, evaluation_of, args.target or "")
    if args.output is not None:
        with files.opened_folder(args.output):
            files.write_frame(result.to_frame(), args.output / "measures.csv")
            files.write_frame(result.gaps, args.output / "gaps.csv")
    segments: dict[Any, list[dict[str, Any]]] = {}
    for row in result.to_frame().iter_rows(named=True):
        segments.setdefault((row["segment"], row["by"]), []).append(row)
    for at, ((name, _), measures) in enumerate(segments.items()):
        if at:
            screen.line()
            screen.line(f"{args.by} {name}, {format_count(measures[0]['rows'])} rows", "bold")
        shown = [row for row in measures if not at or row["measure"] in _SHOWN]
        lines = [[r["measure"], r["class"] or "", _text(r["value"]), _interval(r, "low", "high")] for r in shown]
        screen.table([Heading("measure"), Heading("class"), *numbers("value", "95 %")], lines)


def _on_rows(args: OptionValues, measure: Any, target: str | None) -> tuple[Screen, Any]:
    """Read the rows that the options name, and measure a model on them. Return the screen, and the result of
    ``measure``.

    ``measure`` is a function such as `drift`, called as ``measure(model, X, y, by, every=..., sample_weight=...)``.
    ``target`` is the name of the label column, an empty text for the target of the model, or None for no labels.
    """
    screen = Screen(args.quiet)
    if args.every not in EVERY:
        raise CommandError(f"--every must be one of {named(EVERY)}, got {quoted(args.every)}")
    model = files.read_model(args.model, screen)
    target = files.target_of(model, None) if target == "" else target
    frame = files.read_table(args.table, screen, model)
    files.require_columns(args.table, frame, by=args.by, target=target, weight=args.weight)
    files.require_needed(args.table, frame.columns, model)
    with files.locating(args.table), compiling.announced(screen), screen.working("Measuring ..."):
        return screen, measure(model, frame, target, args.by, every=args.every, sample_weight=args.weight)


def _condition(text: str, labelled: bool) -> tuple[str, str, float]:
    """Parse a condition of --fail-if, such as psi>0.25. Return the name of the measure, the sign and the bound.

    ``labelled`` is whether the rows have labels, which some measures need. Raise CommandError if the condition is
    invalid.
    """
    match, names = _CONDITION.fullmatch(text), (*_OF_FEATURES, *_OF_PERIODS)
    if match is None:
        raise CommandError(f"--fail-if must be a name, < or > and a number, such as psi>0.25, got {quoted(text)}")
    require_choice(match[1], names, "measure")
    if match[1] in _OF_PERIODS[1:] and not labelled:
        raise CommandError(f"--fail-if {match[1]} needs the true classes; name their column with --target")
    return match[1], match[2], float(match[3])


def _failures(result: Any, name: str, sign: str, bound: float) -> list[str]:
    """Return a sentence for each period and feature in which a condition of --fail-if holds, or the measure has no
    value.

    ``result`` is a `Drift`; the condition is the measure ``name``, a ``sign`` such as ">" and a ``bound``.
    """
    frame, sentences = result.to_frame() if name in _OF_FEATURES else result.periods, []
    if not len(frame):
        reason = "no feature is in the model" if len(result.periods) else "there are no rows"
        return [f"{name} has no value, because {reason} ({name}{sign}{bound:g})"]
    for row in frame.iter_rows(named=True):
        value = row["shift" if name == "score_shift" else name]
        where = f" of {quoted(row['feature'])}" if "feature" in row else ""
        if value is None:
            reason = _reason_of_null(name, row)
            place = f"in {_label(row['by'])}, because {reason}"
            sentences.append(f"{name}{where} has no value {place} ({name}{sign}{bound:g})")
            continue
        if not _HOLDS[sign](abs(value) if name in _BY_SIZE else value, bound):
            continue
        within = name == "psi" and row["psi_chance"] is not None and value <= row["psi_chance"]
        chance = f"; by chance alone it may be {_text(row['psi_chance'])} in {row['rows']} rows" if within else ""
        sentences.append(f"{name}{where} is {_text(value)} in {_label(row['by'])} ({name}{sign}{bound:g}){chance}")
    return sentences


def _reason_of_null(name: str, row: dict[str, Any]) -> str:
    """Return in words why the measure ``name`` of a period has no value. ``row`` is the row of the period in
    `Drift.periods`.
    """
    if "labelled" not in row or name == "score_shift":
        return "no row has a weight above 0"
    if not row["labelled"]:
        return "no row has a label and a weight above 0"
    if name == "calibration_slope" and row["auc"] is not None:
        return "all rows have one score" if row["ks"] == 0 else "the scores of the classes do not overlap"
    return "all labels are of one class"


def _label(by: Any) -> str:
    """Return the name of a period as text."""
    return "missing" if by is None else str(by)


def _text(value: float | None) -> str:
    """Return a number as text, "-" for None."""
    return "-" if value is None else format_number(value)


def _interval(row: dict[str, Any], low: str, high: str) -> str:
    """Return an interval as text. ``low`` and ``high`` are the names of its ends in ``row``."""
    return f"{_text(row.get(low))} to {_text(row.get(high))}"

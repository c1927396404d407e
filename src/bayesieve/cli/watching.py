"""Commands that watch a model: `bayesieve monitor` and `evaluate`."""

from __future__ import annotations

import operator
import re
from typing import Any

import typer

from bayesieve.cli import compiling, files
from bayesieve.cli.commands import Column, CommandError, Screen, numbers
from bayesieve.evaluation import drift as drift_of
from bayesieve.evaluation import evaluate as evaluation_of
from bayesieve.evaluation.judged import EVERY
from bayesieve.words import format_number, named, quoted

CONDITION_HOLDS = 1
_OF_FEATURES = ("psi", "psi_low", "psi_high", "unseen", "missing", "shift")
_OF_PERIODS = {"score_shift": "shift", "auc": "auc", "log_loss": "log_loss", "brier": "brier"}
_OF_PERIODS["calibration"] = "calibration"
_BY_SIZE = ("shift", "score_shift", "calibration")
_CONDITION = re.compile(r"\s*(\w+)\s*(<=|>=|<|>)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")
_HOLDS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_MOST_SHOWN = 10
_SHOWN = ("accuracy", "auc", "log_loss", "calibration", "selection_rate", "true_positive_rate", "false_positive_rate")


def monitor(given: Any) -> None:
    """Compare rows with the training rows of a model."""
    import polars as pl

    conditions = [_condition(text, given.target is not None) for text in given.fail_if]
    files.check_folder(given.output)
    screen, result = _on_rows(given, drift_of)
    with files.opened_folder(given.output):
        names = {"features": result.to_frame(), "periods": result.periods, "levels": result.levels}
        for name, frame in names.items():
            files.write_frame(frame, given.output / f"{name}.csv")
        result.report(given.output / "drift.html")
    largest = result.to_frame().filter(pl.col("psi") == pl.col("psi").max().over("by")).unique("by", keep="first")
    lines, of_period = [], {row["by"]: row for row in largest.iter_rows(named=True)}
    for period in result.periods.iter_rows(named=True):
        own = of_period.get(period["by"], {})
        bounds = f"{_text(own.get('psi_low'))} to {_text(own.get('psi_high'))}"
        figures = [_text(period[name]) for name in ("auc", "log_loss", "calibration") if name in period]
        psi = (_text(own.get("psi")), bounds, _text(own.get("psi_chance")), own.get("feature") or "-")
        lines.append([_label(period["by"]), period["rows"], _text(period["shift"]), *figures, *psi])
    labelled = ["AUC", "log loss", "calibration"] if "auc" in result.periods.columns else []
    columns = [Column(given.by or "rows"), *numbers("rows", "shift", *labelled, "largest PSI", "95 %", "by chance")]
    screen.table([*columns, Column("feature")], lines)
    screen.line()
    screen.pairs([(name, str(given.output / f"{name}.csv")) for name in names])
    screen.pairs([("report  ", str(given.output / "drift.html"))])
    held = [line for condition in conditions for line in _held(result, *condition)]
    for line in held[:_MOST_SHOWN]:
        screen.warn(line)
    if len(held) > _MOST_SHOWN:
        screen.warn(f"and {len(held) - _MOST_SHOWN} more")
    if held:
        raise typer.Exit(CONDITION_HOLDS)


def evaluate(given: Any) -> None:
    """Measure a model on rows with labels."""
    if given.output is not None:
        files.check_folder(given.output)
    screen, result = _on_rows(given, evaluation_of)
    frame = result.to_frame()
    if given.output is not None:
        with files.opened_folder(given.output):
            files.write_frame(frame, given.output / "measures.csv")
            files.write_frame(result.gaps, given.output / "gaps.csv")
    heads = [Column("measure"), Column("class"), *numbers("value", "95 %")]
    rows = [
        [row["measure"], row["class"] or "", _text(row["value"]), f"{_text(row['low'])} to {_text(row['high'])}"]
        for row in frame.iter_rows(named=True)
        if row["segment"] == "all" and row["by"] is None
    ]
    screen.table(heads, rows)
    if given.by is None:
        return
    screen.line()
    lines = []
    for (segment, _, n_rows), own in frame.group_by("segment", "by", "rows", maintain_order=True):
        values: dict[str, list[str]] = {}
        for row in own.iter_rows(named=True):
            interval = f"{_text(row['value'], 2)} ({_text(row['low'], 2)} to {_text(row['high'], 2)})"
            values.setdefault(row["measure"], []).append(interval)
        shown = [values[name][0] if len(values[name]) == 1 else "" for name in _SHOWN]
        lines.append([segment, n_rows, *shown])
    screen.table([Column(given.by), *numbers("rows", *(name.replace("_", " ") for name in _SHOWN))], lines)


def _on_rows(given: Any, measure: Any) -> tuple[Screen, Any]:
    """What a function of the library finds in the rows of a table."""
    screen = Screen(given.quiet)
    if given.every not in EVERY:
        raise CommandError(f"--every must be one of {named(EVERY)}, got {quoted(given.every)}")
    model = files.read_model(given.model, screen)
    target = given.target or (model.target_name_ if measure is evaluation_of else None)
    if target is None and measure is evaluation_of:
        raise CommandError("The model does not know the name of its target; give it with --target")
    source = files.source_to_score(model, given.table, None, screen)
    for option, name in (("--by", given.by), ("--target", target), ("--weight", given.weight)):
        if name is not None and name not in source.names:
            raise CommandError(f"{files.shown(given.table)} has no column {quoted(name)} ({option})")
    with files.locating(given.table), compiling.announced(screen), screen.working("Measuring ..."):
        return screen, measure(model, source, target, given.by, every=given.every, sample_weight=given.weight)


def _condition(text: str, labelled: bool) -> tuple[str, str, float]:
    """Name, comparison and number of a condition; CommandError if it cannot be read."""
    match = _CONDITION.fullmatch(text)
    known = [*_OF_FEATURES, *_OF_PERIODS]
    if match is None:
        raise CommandError(f"--fail-if must be a name, < or > and a number, such as psi>0.25, got {quoted(text)}")
    if match[1] not in known:
        raise CommandError(f"--fail-if knows no {quoted(match[1])}; choose from {named(known, most=len(known))}")
    if match[1] in _OF_PERIODS and match[1] != "score_shift" and not labelled:
        raise CommandError(f"--fail-if {match[1]} needs the true classes; name their column with --target")
    return match[1], match[2], float(match[3])


def _held(result: Any, name: str, sign: str, bound: float) -> list[str]:
    """A sentence for each period, and feature, in which the condition holds."""
    frame = result.to_frame() if name in _OF_FEATURES else result.periods
    sentences = []
    for row in frame.iter_rows(named=True):
        value = row[_OF_PERIODS.get(name, name)]
        if value is None or not _HOLDS[sign](abs(value) if name in _BY_SIZE else value, bound):
            continue
        where = f" of {quoted(row['feature'])}" if "feature" in row else ""
        chance = ""
        if name == "psi" and row["psi_chance"] is not None and value <= row["psi_chance"]:
            chance = f"; chance alone gives up to {_text(row['psi_chance'])} in {row['rows']} rows"
        sentences.append(f"{name}{where} is {_text(value)} in {_label(row['by'])} ({name}{sign}{bound:g}){chance}")
    return sentences


def _label(by: Any) -> str:
    return "missing" if by is None else str(by)


def _text(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else format_number(value, digits)

"""Commands that write pages about a fitted model: `bayesieve report` and `document`.

``args`` holds the values of the options as attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from bayesieve.classifier.report_data import report_data
from bayesieve.cli import compiling, files
from bayesieve.cli.commands import CommandError, Heading, OptionValues, Screen, interruptible
from bayesieve.cli.fit import deciding
from bayesieve.report import Report, render_report
from bayesieve.report.document import check_ending
from bayesieve.report.report import challenge_figures
from bayesieve.table.writing import check_html
from bayesieve.words import plural, quoted

_ABOUT_ROWS = ("test", "by", "time", "target", "weight")


@dataclass(frozen=True)
class RowsToReport:
    """Labelled rows for a report.

    ``frame`` holds all columns, ``X`` the columns that the report reads, ``y`` the classes, and ``weights`` the row
    weights or None.
    """

    frame: pl.DataFrame
    X: pl.DataFrame
    y: pl.Series
    weights: pl.Series | None


def report(args: OptionValues) -> None:
    """Write the report of a model. If a challenger is given, also print its comparison with the model."""
    check_html(args.output)
    screen, model, facts = _opened(args, (*_ABOUT_ROWS, "challenger"))
    challenger = None if args.challenger is None else files.read_model(args.challenger, screen)
    options: dict[str, Any] = {}
    X = y = weights = None
    if args.table is not None:
        models = [model] if challenger is None else [model, challenger]
        rows, test = _rows(args, models, screen)
        X, y, weights = rows.X, rows.y, rows.weights
        options = {"time": args.time, "by": args.by, "challenger": challenger}
        options["test"] = None if test is None else (test.X, test.y, test.weights)
        if model.benefit_rule_ is not None:
            shown, path = (rows, args.table) if test is None else (test, args.test)
            options["benefit"] = deciding(model, shown.X, shown.frame, path)
    options |= {"min_count": args.min_count if args.min_count > 1 else None, "facts": facts}
    with interruptible("the report was not written"), compiling.announced(screen), screen.working("Measuring ..."):
        data = report_data(model, X, y, weights, **options)
        Report(render_report(data)).save(args.output)
    for figure in {} if data.challenged is None else challenge_figures(data.challenged).values():
        table = figure.table()
        screen.line(figure.title, "bold")
        screen.table([Heading(head, k not in table.texts) for k, head in enumerate(table.heads)], table.rows)
        screen.line()
    screen.line(f"report in {args.output}")


def document(args: OptionValues) -> None:
    """Write the validation document of a model."""
    check_ending(args.output)
    screen, model, facts = _opened(args, _ABOUT_ROWS)
    options: dict[str, Any] = {}
    if args.table is not None:
        rows, test = _rows(args, [model], screen)
        options = {"X": rows.X, "y": rows.y, "sample_weight": rows.weights, "time": args.time, "by": args.by}
        options["test"] = None if test is None else (test.X, test.y, test.weights)
    options |= {"min_count": args.min_count if args.min_count > 1 else None, "facts": facts}
    with interruptible("the document was not written"), compiling.announced(screen), screen.working("Measuring ..."):
        model.document(args.output, **options)
    screen.line(f"document in {args.output}")


def _opened(args: OptionValues, about_rows: Sequence[str]) -> tuple[Screen, Any, dict[str, str]]:
    """Return the screen, the model, and facts (such as file names with hashes) to print on a page.

    Raise CommandError if one of the options ``about_rows`` is set without a TABLE.
    """
    if args.table is None and (needless := [name for name in about_rows if getattr(args, name)]):
        raise CommandError(f"--{needless[0]} needs rows; add TABLE, the file of labelled rows, after MODEL")
    facts = {} if args.purpose is None else {"Purpose": args.purpose}
    for text in args.fact:
        name, equals, value = text.partition("=")
        if not equals:
            raise CommandError(f"--fact must be NAME=TEXT, got {quoted(text)}")
        facts[name] = value
    tables = {"Data file": args.table, "Test file": args.test}
    facts |= {name: files.with_hash(path) for name, path in tables.items() if path is not None}
    screen = Screen(args.quiet)
    return screen, files.read_model(args.model, screen), facts


def _rows(args: OptionValues, models: Sequence[Any], screen: Screen) -> tuple[RowsToReport, RowsToReport | None]:
    """Return the rows of TABLE, which the page describes, and the rows of --test (None without). ``models`` are the
    models that read them.
    """
    test = None if args.test is None else _labelled_rows(models, args.test, args, screen)
    return _labelled_rows(models, args.table, args, screen), test


def _labelled_rows(models: Sequence[Any], path: Path, args: OptionValues, screen: Screen) -> RowsToReport:
    """Read the rows of a file that have a class, with the columns that the models and options use. Warn if some have
    none.
    """
    target = files.target_of(models[0], args.target)
    frame = files.read_table(path, screen, *models)
    files.require_columns(path, frame, target=target, weight=args.weight, time=args.time)
    for name in args.by:
        files.require_columns(path, frame, by=name)
    for model in models:
        files.require_needed(path, frame.columns, model)
    rows = frame.filter(frame[target].is_not_null())
    if n_unknown := len(frame) - len(rows):
        screen.warn(f"{plural(n_unknown, 'row')} of {path} without a class in {quoted(target)} were skipped")
    if args.time is not None:
        rows = rows.with_columns(_numbers_of(rows[args.time]))
    # Select columns by name: a file may have them in another order, and lack columns that the model does not use.
    names = [name for model in models for name in model.scorecard_.columns] + [*args.by]
    names = list(dict.fromkeys([*names, *filter(None, [args.time])]))
    columns = {name: rows[name] if name in rows.columns else pl.lit(None, pl.Float64) for name in names}
    X = rows.select(values.alias(name) for name, values in columns.items())
    return RowsToReport(rows, X, rows[target], rows[args.weight] if args.weight else None)


def _numbers_of(column: pl.Series) -> pl.Series:
    """Return a text column as numbers if all its texts are numbers, otherwise unchanged.

    It serves columns that no model uses, which are read as texts.
    """
    for dtype in (pl.Int64, pl.Float64):
        with suppress(pl.exceptions.InvalidOperationError):
            return column.cast(dtype) if column.dtype == pl.String else column
    return column

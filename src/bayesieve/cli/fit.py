"""The command `bayesieve fit`: fit a model to a table in memory or in files, and write the model, a list of features
and a report.

``args`` holds the values of the options as attributes; ``data`` are the training rows.
"""

from __future__ import annotations

import inspect
import itertools
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
from sklearn.base import clone

from bayesieve import SelectiveNB, TableEncoder, as_published
from bayesieve.classifier.scoring import labelled
from bayesieve.cli import compiling, files
from bayesieve.cli.commands import CommandError, OptionValues, Screen, assigned, interruptible, require_choice
from bayesieve.cli.files import amounts_of, shown
from bayesieve.cli.models import decision_names, show_summary
from bayesieve.cli.training import Columns, CommandRows
from bayesieve.discretize.row_blocks import QUANTILES
from bayesieve.engine.files import bytes_of
from bayesieve.scorecard.export.point_card import Points
from bayesieve.scorecard.hidden_counts import with_hidden_counts
from bayesieve.scorecard.wording import read_labels, unknown_levels
from bayesieve.selection import SELECTORS
from bayesieve.table.cautions import silenced
from bayesieve.table.scanning import scan
from bayesieve.table.scans import Scan
from bayesieve.words import format_count, format_seconds, named, plural, quoted

_SIGNS = "a column and +1 or -1, such as income=+1"

_SET_BY_SCORECARDS = {
    "selector": "compression", "prior": "sizes", "calibrate": "auto", "constraint": [], "refit": False,
}  # fmt: skip
"""Options that `--scorecard` sets, with their defaults."""
_SET_BY_PAPERS = {**_SET_BY_SCORECARDS, "pairs": "auto", "monotone": [], "scorecard": False}
"""Options that `--as-published` sets, with their defaults."""
_TRIED_ROWS = (20_000, 50_000, 200_000)  # sizes of trial fits for --dry-run: to compile, and to extrapolate the time


def fit(args: OptionValues) -> None:
    """Fit a model with the options of the command line, and write it with a list of its features and a report."""
    require_choice(args.selector, SELECTORS, "selector")
    published = None if args.as_published is None else _estimator_of_paper(args)
    if args.scorecard:
        _check_not_set(args, "--scorecard", _SET_BY_SCORECARDS)
    if args.folds < 0 or args.folds == 1:
        raise CommandError(f"--folds must be a whole number from 2 up, or 0, got {args.folds}")
    screen, table, output = Screen(args.quiet), args.table, args.output
    columns = Columns.of_options(args, args.target)
    files.check_folder(output)
    if args.min_count < 1:
        raise CommandError(f"--min-count must be a number of rows, at least 1, got {args.min_count}")
    fitted = ("auto", "levels", "cells") if args.selector == "compression" else ("levels", "cells")
    if args.min_count > 1 and (published or args.calibrate not in fitted):
        raise CommandError(
            "--min-count needs --calibrate levels or cells; otherwise contributions would reveal the hidden counts"
        )
    data = _training_rows(args, columns, screen)
    with files.locating(table, args.target):
        rule = data.rule_in(args.benefit)
    _check_ids(data, decision_names(rule) if rule else [], screen)
    data, test = _split_test_rows(args, data)
    model = _model(args, data) if published is None else _with_user_options(published, args, data)
    labels = {} if args.labels is None else read_labels(args.labels, data.names)
    if args.dry_run:
        with compiling.announced(screen), screen.working("Trying a few rows ..."):
            plan = _dry_run_facts(model, data)
        screen.pairs(plan)
        return
    with files.locating(table, args.target):
        model = _fit_with_progress(model, data, screen)
    if labels:
        if unknown := unknown_levels(model.scorecard_, labels):
            screen.warn(unknown)  # a warning only, because the fit is done
        model = labelled(model, labels)
    model = model._with_facts_for_commands(args.target, rule, columns.ids)
    model.set_params(verbose=0, engine="memory", memory_limit=None)
    with files.opened_folder(output):
        written = [("model", output / "model.json"), ("features", output / "features.csv")]
        model.save(output / "model.json", min_count=args.min_count)
        files.write_frame(model.summary(), output / "features.csv")
        if args.scorecard:
            table = Points(with_hidden_counts(model.scorecard_, args.min_count)).table()
            files.write_frame(table.with_columns(pl.col("values").list.join("; ")), output / "scorecard.csv")
            written.append(("scorecard", output / "scorecard.csv"))
        performance = None
        if not args.no_report:
            if args.test is not None:
                frame = files.read_table(args.test, screen, model)
                test_columns = replace(columns, time=None).within(frame.columns)
                test = replace(CommandRows.of(frame, test_columns, args.test, screen, new=True), names=data.names)
            if test is not None and not data.in_memory:  # no rows of files are in memory
                data, test = test, None
            measured, model = (data, model) if args.test is not None else data.measured(model)
            performance = _write_report(model, measured, test, output / "report.html", args, screen)
            written.append(("report", output / "report.html"))
    show_summary(screen, model, performance, written)


def _split_test_rows(args: OptionValues, data: CommandRows) -> tuple[CommandRows, CommandRows | None]:
    """Split off the test rows that --test-from names by time. Return the training rows and the test rows, which are
    None without that option.

    Raise CommandError for contradicting options, or if the table of --test lacks columns.
    """
    if (args.test or args.test_from) and (args.no_report or (args.test and args.test_from)):
        raise CommandError(
            "--test and --test-from add test rows to the report; give only one of them, and not with --no-report"
        )
    if args.test is not None:
        header, columns = files.header_of(args.test), replace(data.columns, time=None)
        columns.within(header).require_in(args.test, header)
        if lacking := [name for name in data.names if name not in header]:
            raise CommandError(f"{shown(args.test)} lacks feature columns: {named(lacking)}; add them")
    if args.test_from is None:
        return data, None
    if args.time is None:
        raise CommandError("--test-from needs --time, the column of numbers or dates that orders the rows")
    if not data.in_memory:
        raise CommandError("--test-from needs all rows in memory; pass one file, without --memory-limit and --engine")
    return data.parted(args.test_from)


def _training_rows(args: OptionValues, columns: Columns, screen: Screen) -> CommandRows:
    """Open the training rows.

    They are read in blocks for folders, patterns, memory limits, dry runs and engines other than memory; otherwise they
    are loaded into memory.
    """
    in_blocks = args.memory_limit is not None or args.dry_run or args.engine != "memory"
    if in_blocks or files.is_several(args.table):
        return CommandRows.of(files.open_source(args.table, screen), columns, args.table, screen)
    date_orders: dict[str, bool] = {}
    frame = files.read_table(args.table, screen, date_orders=date_orders)
    return replace(CommandRows.of(frame, columns, args.table, screen), date_orders=date_orders)


def _check_ids(data: CommandRows, decisions: Sequence[str], screen: Screen) -> None:
    """Raise CommandError if an identifier column has the name of a result column. Warn if rows in memory share an
    identifier.

    ``decisions`` are the names of the columns with decisions and their benefits.
    """
    ids = data.columns.ids
    written = ["prediction", *(f"P({label})" for label in data.target.classes.tolist()), *decisions]
    if clashes := [name for name in ids if name in written]:
        raise CommandError(
            f"Column {quoted(clashes[0])} (--id) has the name of a column that predict writes; rename it in the table"
        )
    if not ids or not data.in_memory:
        return
    identifiers = data.frame[list(ids)].drop_nulls()
    if n := data.n_rows - identifiers.height:
        have = f"{plural(n, 'row')} of {format_count(data.n_rows)} {'has' if n == 1 else 'have'}"
        screen.warn(f"{have} no identifier in {named(ids)}")
    if n := int(identifiers.is_duplicated().sum()):
        share = f"{plural(n, 'row')} of {format_count(data.n_rows)} share their identifier ({named(ids)})"
        screen.warn(f"{share}; cross-validation may put them in different folds")


def _model(args: OptionValues, data: CommandRows) -> Any:
    """Return the unfitted classifier that the options describe."""
    if args.scorecard:
        return _scorecard_estimator(args, data)
    selector, encoder = SELECTORS[args.selector], {"kinds": data.columns.kinds or None, "n_quantiles": args.quantiles}
    changed = _changed_options(selector, args)
    monotone, pairs = _signs(args, data), _pairs_in(args.pairs, data)
    is_usual = not data.columns.kinds and args.quantiles == QUANTILES
    return SelectiveNB(
        selector(**changed) if changed else args.selector,
        encoder="modl" if is_usual else TableEncoder(**encoder, n_jobs=args.jobs),
        calibrate=False if args.calibrate == "none" else args.calibrate,
        monotone=monotone or None,
        positive=_positive(args.positive, data),
        levels=args.levels,
        pairs=pairs,
        prior=args.prior,
        **_computing(args),
    )


def _scorecard_estimator(args: OptionValues, data: CommandRows) -> Any:
    """Return the unfitted estimator for --scorecard, with the other options applied."""
    options = {"pairs": 0 if args.pairs == "auto" else _pairs_in(args.pairs, data), **_computing(args)}
    if args.positive is not None:
        options["positive"] = _positive(args.positive, data)
    model = SelectiveNB.scorecard(args.levels, monotone=_signs(args, data) or None, **options)
    model.encoder.set_params(kinds=data.columns.kinds or None, n_quantiles=args.quantiles, n_jobs=args.jobs)
    return model


def _signs(args: OptionValues, data: CommandRows) -> dict[str, int]:
    """Parse the option --monotone into a dict from columns to +1 or -1. Raise CommandError for an unknown column."""
    signs = assigned(args.monotone, int, f"--monotone must be {_SIGNS}")
    for name in signs:
        require_choice(name, data.names, "column")
    return signs


def _estimator_of_paper(args: OptionValues) -> Any:
    """Return the estimator of the paper that the option --as-published names. Raise CommandError for contradicting
    options.
    """
    _check_not_set(args, "--as-published", _SET_BY_PAPERS)
    return as_published(args.as_published)


def _check_not_set(args: OptionValues, by: str, defaults: Mapping[str, Any]) -> None:
    """Raise CommandError if an option has another value than its default, although another option sets it.

    ``by`` is the other option as written, and ``defaults`` holds the defaults of the options that it sets, by name.
    """
    for option, default in defaults.items():
        if getattr(args, option) != default:
            raise CommandError(f"{by} sets --{option}; give only one of them")


def _with_user_options(model: Any, args: OptionValues, data: CommandRows) -> Any:
    """Return the estimator of a paper with the options that users may still set: kinds of columns, rules for levels,
    seed, time limit and threads.
    """
    if data.columns.kinds or args.quantiles != QUANTILES:
        encoder = TableEncoder(n_jobs=args.jobs) if model.encoder == "modl" else model.encoder
        model.set_params(encoder=encoder.set_params(kinds=data.columns.kinds or None, n_quantiles=args.quantiles))
    return model.set_params(positive=_positive(args.positive, data), levels=args.levels, **_computing(args))


def _computing(args: OptionValues) -> dict[str, Any]:
    """Return the options of `SelectiveNB` for seed, time limit, threads and memory."""
    return {
        "max_seconds": args.max_seconds,
        "random_state": args.seed,
        "n_jobs": args.jobs,
        "verbose": 0 if args.quiet else 1,
        "engine": args.engine,
        "memory_limit": args.memory_limit,
    }


def _positive(text: str | None, data: CommandRows) -> Any:
    """Return the class label with this text; None if ``text`` is None. Raise CommandError if no class has it."""
    if text is None:
        return None
    classes = {str(label): label for label in data.target.classes.tolist()}
    require_choice(text, classes, "class")
    return classes[text]


def _changed_options(selector: type, args: OptionValues) -> dict[str, Any]:
    """Return the selector parameters set by --constraint and --refit. Raise CommandError if the selector lacks them."""
    parameters = inspect.signature(selector).parameters
    if args.constraint and "constraints" not in parameters:
        raise CommandError(f"--constraint needs --selector clusters or wrapper, got {quoted(args.selector)}")
    if args.refit and "refit" not in parameters:
        raise CommandError(f"--refit needs --selector clusters, got {quoted(args.selector)}")
    bounds = assigned(args.constraint, float, "--constraint must be a measure and its bound, such as recall:bad=0.85")
    return ({"refit": True} if args.refit else {}) | ({"constraints": bounds} if bounds else {})


def _pairs_in(text: str, data: CommandRows) -> Any:
    """Parse the option --pairs into "auto", an integer, or a list of pairs of column names. Raise CommandError for any
    other text or an unknown column.
    """
    if text == "auto":
        return text
    if text.isdecimal() and len(text) < 10:
        return int(text)
    pairs = [[name.strip() for name in part.split(":")] for part in text.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise CommandError(f"--pairs must be auto, a number, or pairs such as A:B,C:D, got {quoted(text)}")
    for name in itertools.chain(*pairs):
        require_choice(name, data.names, "column")
    return pairs


def _fit_with_progress(model: Any, data: CommandRows, screen: Screen) -> Any:
    """Fit the model to the rows with progress on the screen, and return it. Warn if Ctrl-C or the time limit ended the
    search early.
    """
    if screen.shows_progress:
        screen.note(f"Fitting {plural(data.n_rows, 'row')} of {plural(len(data.names), 'feature')} ...")
    # The library's warning refers to Python attributes; the command prints a warning of its own.
    warnings.filterwarnings("ignore", message="The search was interrupted", category=UserWarning)
    with compiling.announced(screen):
        model = data.fit(model)
    if model.trace_.was_interrupted(model.max_seconds):
        screen.warn(
            f"The search was interrupted after {plural(model.trace_.n_models, 'model')}; the best model so far was "
            "written. Run the same command again for a complete search"
        )
    return model


def _write_report(
    model: Any, data: CommandRows, test: CommandRows | None, path: Path, args: OptionValues, screen: Screen
) -> Any:
    """Write the report to ``path``, with performance measures if the rows allow them, and return the measured
    performance or None.

    ``test`` are the rows of --test-from. Ctrl-C ends only the report, because the model is already written.
    """
    held_out, folds = bool(args.test or args.test_from), args.folds
    if folds and not held_out and (lacking := data.too_few_classes()):
        screen.warn(f"The report has no cross-validation, which needs {lacking}")
        folds = 0
    folds = min(folds, int(data.y.value_counts()["count"].max()))  # type: ignore[arg-type]
    by = "" if held_out else f" by {folds}-fold cross-validation"
    what = f"Measuring{by}" if folds or held_out else "Writing the report"
    consequence = f"model.json and features.csv are in {path.parent}; the report was not written"
    shown = data if test is None else test
    benefit = None if model.benefit_rule_ is None else deciding(model, shown.X, shown.frame, shown.path)
    if test is not None:
        options: dict[str, Any] = {"cv": 0, "test": (test.X, test.y, test.weights)}
    else:
        options = {"held_out": True} if held_out else {"cv": folds, "time": data.moments}
    files_read = {"Data file": args.table, "Test file": args.test}
    facts = {name: files.with_hash(file) for name, file in files_read.items() if file is not None}
    facts |= {} if args.purpose is None else {"Purpose": args.purpose}
    with interruptible(consequence), screen.working(f"{what} ..."):
        options |= {"benefit": benefit, "min_count": args.min_count if args.min_count > 1 else None, "facts": facts}
        return model.report(path, data.X, data.y, sample_weight=data.weights, **options)


def _dry_run_facts(model: Any, data: CommandRows) -> list[tuple[str, str]]:
    """Return (name, value) pairs for --dry-run: what a fit would read and write, and its memory and time."""
    source = data.to_learn
    assert isinstance(source, Scan)
    n_columns, n_classes = len(data.names), data.target.n_classes
    target = quoted(data.columns.target)
    quantiles = getattr(model.encoder, "n_quantiles", QUANTILES)
    n_bytes = 2 * n_columns * source.n_rows + 2 * 16 * (n_classes - 1) * source.n_rows
    seconds = format_seconds(_seconds(model, data, source))
    return [
        ("table", f"{plural(source.n_rows, 'row')} of {plural(n_columns, 'feature')}, {_size(source.n_bytes)}"),
        ("target", f"{target}, {plural(n_classes, 'class', 'classes')}"),
        ("pass 1", f"{target} alone"),
        ("pass 2", "all columns: values are counted"),
        ("more", f"columns of over 100,000 distinct numbers, if any, once to thrice: {quantiles:,} quantiles"),
        ("last pass", "all columns: codes are written to disk, class after class"),
        ("then", "the search reads the codes"),
        ("on disk", f"up to {_size(n_bytes)} while it runs, in the folder for temporary files"),
        ("memory", f"up to {_size(bytes_of(model.memory_limit))}"),
        ("time", f"about {seconds}, judged by {format_count(_TRIED_ROWS[-1])} rows at most"),
    ]


def _seconds(model: Any, data: CommandRows, source: Scan) -> float:
    """Return the estimated seconds of a fit to all rows of ``source``, extrapolated from fits to its first rows.
    ``data`` holds the roles of its columns.
    """
    began = time.perf_counter()
    frame = next(source.blocks())
    reading = (time.perf_counter() - began) / frame.height
    timings = []
    with silenced():
        for n_rows in _TRIED_ROWS:
            some_rows = replace(data, rows=scan(frame.head(n_rows)))
            began = time.perf_counter()
            some_rows.fit(clone(model).set_params(verbose=0))
            timings.append((min(n_rows, frame.height), time.perf_counter() - began))
    (some, short), (more, long) = timings[-2:]
    per_row = max(long - short, 0.1 * long) / (more - some) if more > some else long / more
    return long + max(0, source.n_rows - more) * (per_row + reading)


def _size(n_bytes: float) -> str:
    """Return a number of bytes as text, such as "1.5 MB"."""
    for unit in ("bytes", "KB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:,.3g} GB"


def deciding(model: Any, X: pl.DataFrame, frame: pl.DataFrame, path: Path) -> Any:
    """Return a `BenefitClassifier` that takes decisions in the rows ``X`` by the benefit rule of a model.

    ``frame`` holds all columns of the rows, including the amounts; ``path`` is their file, for messages.
    """
    rule = model.benefit_rule_
    classifier = rule.around(model, model.scorecard_.class_counts)
    values = classifier.benefits_of(X, amounts_of(rule, frame, path), len(X)).values
    return classifier.set_params(benefit=values, amount=None, amount_benefit=None)

"""The command `bayesieve fit`: fit a model to a table in memory or in files, and write the model, a list of features
and a report.
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
from bayesieve.cli.commands import CommandError, Screen, assigned, interruptible, require_choice
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
_TRIED_ROWS = (20_000, 50_000, 200_000)  # to compile, and to see how time grows


def fit(given: Any) -> None:
    """Fit a model by the options of the command line, and write it with a list of features and a report."""
    require_choice(given.selector, SELECTORS, "selector")
    published = None if given.as_published is None else _published(given)
    if given.scorecard:
        _check_not_set(given, "--scorecard", _SET_BY_SCORECARDS)
    if given.folds < 0 or given.folds == 1:
        raise CommandError(f"--folds must be a whole number from 2 up, or 0, got {given.folds}")
    screen, table, output = Screen(given.quiet), given.table, given.output
    columns = Columns.given(given, given.target)
    files.check_folder(output)
    if given.min_count < 1:
        raise CommandError(f"--min-count must be a number of rows, at least 1, got {given.min_count}")
    fitted = ("auto", "levels", "cells") if given.selector == "compression" else ("levels", "cells")
    if given.min_count > 1 and (published or given.calibrate not in fitted):
        raise CommandError(
            "--min-count needs contributions that are fitted to the rows; set --calibrate levels or cells"
        )
    data = _training(given, columns, screen)
    with files.locating(table, given.target):
        rule = data.rule_in(given.benefit)
    _check_ids(data, decision_names(rule) if rule else [], screen)
    data, test = _apart(given, data)
    model = _model(given, data) if published is None else _with_options(published, given, data)
    labels = {} if given.labels is None else read_labels(given.labels, data.names)
    if given.dry_run:
        with compiling.announced(screen), screen.working("Trying a few rows ..."):
            plan = _plan(model, data)
        screen.pairs(plan)
        return
    with files.locating(table, given.target):
        model = _learn(model, data, screen)
    if labels:
        if unknown := unknown_levels(model.scorecard_, labels):
            screen.warn(unknown)  # of this fit; it is too late to stop
        model = labelled(model, labels)
    model.target_name_, model.benefit_rule_, model.id_columns_ = given.target, rule, columns.ids
    model.set_params(verbose=0, engine="memory", memory_limit=None)
    with files.opened_folder(output):
        written = [("model", output / "model.json"), ("features", output / "features.csv")]
        model.save(output / "model.json", min_count=given.min_count)
        files.write_frame(model.summary(), output / "features.csv")
        if given.scorecard:
            table = Points(with_hidden_counts(model.scorecard_, given.min_count)).table()
            files.write_frame(table.with_columns(pl.col("values").list.join("; ")), output / "scorecard.csv")
            written.append(("scorecard", output / "scorecard.csv"))
        performance = None
        if not given.no_report:
            if given.test is not None:
                frame = files.read_table(given.test, screen, model)
                test_columns = replace(columns, time=None).within(frame.columns)
                test = replace(CommandRows.of(frame, test_columns, given.test, screen, new=True), names=data.names)
            if test is not None and not data.in_memory:  # rows in files, of which none are at hand
                data, test = test, None
            measured = data if given.test is not None else data.measured(model)
            performance = _write_report(model, measured, test, output / "report.html", given, screen)
            written.append(("report", output / "report.html"))
    show_summary(screen, model, performance, written)


def _apart(given: Any, data: CommandRows) -> tuple[CommandRows, CommandRows | None]:
    """Return the training rows and, with --test-from, the test rows split off by time.

    Raise CommandError for contradicting options, or if the table of --test lacks columns.
    """
    if (given.test or given.test_from) and (given.no_report or (given.test and given.test_from)):
        raise CommandError("--test and --test-from are measured in the report; give one of them, without --no-report")
    if given.test is not None:
        header, columns = files.header_of(given.test), replace(data.columns, time=None)
        columns.within(header).require_in(given.test, header)
        if lacking := [name for name in data.names if name not in header]:
            raise CommandError(f"{shown(given.test)} lacks feature columns: {named(lacking)}; add them")
    if given.test_from is None:
        return data, None
    if given.time is None:
        raise CommandError("--test-from needs --time, the column of numbers or dates that orders the rows")
    if not data.in_memory:
        raise CommandError("--test-from needs all rows in memory; give one file, without --memory-limit and --engine")
    return data.parted(given.test_from)


def _training(given: Any, columns: Columns, screen: Screen) -> CommandRows:
    """Open the training rows.

    They are read in blocks for folders, patterns, memory limits, dry runs and engines other than memory; otherwise they
    are loaded into memory.
    """
    in_blocks = given.memory_limit is not None or given.dry_run or given.engine != "memory"
    if in_blocks or files.is_several(given.table):
        return CommandRows.of(files.open_source(given.table, screen), columns, given.table, screen)
    date_orders: dict[str, bool] = {}
    frame = files.read_table(given.table, screen, date_orders=date_orders)
    return replace(CommandRows.of(frame, columns, given.table, screen), date_orders=date_orders)


def _check_ids(data: CommandRows, decisions: Sequence[str], screen: Screen) -> None:
    """Raise CommandError if identifier columns clash with columns of results; warn if rows in memory share an
    identifier.
    """
    ids = data.columns.ids
    written = ["prediction", *(f"P({label})" for label in data.target.classes.tolist()), *decisions]
    if clashes := [name for name in ids if name in written]:
        raise CommandError(f"Column {quoted(clashes[0])} (--id) has the name of a prediction or decision; rename it")
    if not ids or not data.in_memory:
        return
    identifiers = data.frame[list(ids)].drop_nulls()
    if n := data.n_rows - identifiers.height:
        have = f"{plural(n, 'row')} of {format_count(data.n_rows)} {'has' if n == 1 else 'have'}"
        screen.warn(f"{have} no identifier in {named(ids)}")
    if n := int(identifiers.is_duplicated().sum()):
        share = f"{plural(n, 'row')} of {format_count(data.n_rows)} share their identifier ({named(ids)})"
        screen.warn(f"{share}; cross-validation may put them in different folds")


def _model(given: Any, data: CommandRows) -> Any:
    """Return the unfitted classifier with the options of the command line."""
    if given.scorecard:
        return _card(given, data)
    selector, encoder = SELECTORS[given.selector], {"kinds": data.columns.kinds or None, "n_quantiles": given.quantiles}
    changed = _changed_options(selector, given)
    monotone, pairs = _signs(given, data), _pairs_in(given.pairs, data)
    is_usual = not data.columns.kinds and given.quantiles == QUANTILES
    return SelectiveNB(
        selector(**changed) if changed else given.selector,
        encoder="modl" if is_usual else TableEncoder(**encoder, n_jobs=given.jobs),
        calibrate=False if given.calibrate == "none" else given.calibrate,
        monotone=monotone or None,
        positive=_positive(given.positive, data),
        levels=given.levels,
        pairs=pairs,
        prior=given.prior,
        **_computing(given),
    )


def _card(given: Any, data: CommandRows) -> Any:
    """Return the unfitted estimator of a point scorecard."""
    options = {"pairs": 0 if given.pairs == "auto" else _pairs_in(given.pairs, data), **_computing(given)}
    if given.positive is not None:
        options["positive"] = _positive(given.positive, data)
    model = SelectiveNB.scorecard(given.levels, monotone=_signs(given, data) or None, **options)
    model.encoder.set_params(kinds=data.columns.kinds or None, n_quantiles=given.quantiles, n_jobs=given.jobs)
    return model


def _signs(given: Any, data: CommandRows) -> dict[str, int]:
    """Return the signs of the option --monotone by column. Raise CommandError for an unknown column."""
    signs = assigned(given.monotone, int, f"--monotone must be {_SIGNS}")
    for name in signs:
        require_choice(name, data.names, "column")
    return signs


def _published(given: Any) -> Any:
    """Return the estimator of a paper by the option --as-published. Raise CommandError for contradicting options."""
    _check_not_set(given, "--as-published", _SET_BY_PAPERS)
    return as_published(given.as_published)


def _check_not_set(given: Any, by: str, defaults: Mapping[str, Any]) -> None:
    """Raise CommandError if an option differs from its default although the option ``by`` determines its value."""
    for option, default in defaults.items():
        if getattr(given, option) != default:
            raise CommandError(f"{by} sets --{option}; give one of them only")


def _with_options(model: Any, given: Any, data: CommandRows) -> Any:
    """Return the estimator of a paper with the options that remain free: kinds of columns, levels, seeds, time and
    threads.
    """
    if data.columns.kinds or given.quantiles != QUANTILES:
        encoder = TableEncoder(n_jobs=given.jobs) if model.encoder == "modl" else model.encoder
        model.set_params(encoder=encoder.set_params(kinds=data.columns.kinds or None, n_quantiles=given.quantiles))
    return model.set_params(positive=_positive(given.positive, data), levels=given.levels, **_computing(given))


def _computing(given: Any) -> dict[str, Any]:
    """Return the options of `SelectiveNB` for seed, time limit, threads and memory."""
    return {
        "max_seconds": given.max_seconds,
        "random_state": given.seed,
        "n_jobs": given.jobs,
        "verbose": 0 if given.quiet else 1,
        "engine": given.engine,
        "memory_limit": given.memory_limit,
    }


def _positive(text: str | None, data: CommandRows) -> Any:
    """Return the class label with this text. Raise CommandError if no class has it."""
    if text is None:
        return None
    classes = {str(label): label for label in data.target.classes.tolist()}
    require_choice(text, classes, "class")
    return classes[text]


def _changed_options(selector: type, given: Any) -> dict[str, Any]:
    """Return the selector parameters set by --constraint and --refit. Raise CommandError if the selector lacks them."""
    parameters = inspect.signature(selector).parameters
    if given.constraint and "constraints" not in parameters:
        raise CommandError(f"--constraint needs --selector clusters or wrapper, got {quoted(given.selector)}")
    if given.refit and "refit" not in parameters:
        raise CommandError(f"--refit needs --selector clusters, got {quoted(given.selector)}")
    bounds = assigned(given.constraint, float, "--constraint must be a measure and its bound, such as recall:bad=0.85")
    return ({"refit": True} if given.refit else {}) | ({"constraints": bounds} if bounds else {})


def _pairs_in(text: str, data: CommandRows) -> Any:
    """Parse the option --pairs: "auto", a number, or pairs of column names. Raise CommandError for anything else."""
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


def _learn(model: Any, data: CommandRows, screen: Screen) -> Any:
    """Fit the model with progress on the screen, and return it; warn if the search was interrupted."""
    if screen.shows_progress:
        screen.note(f"Fitting {plural(data.n_rows, 'row')} of {plural(len(data.names), 'feature')} ...")
    # The library's warning speaks of Python objects; the command prints its own.
    warnings.filterwarnings("ignore", message="The search was interrupted", category=UserWarning)
    with compiling.announced(screen):
        model = data.fit(model)
    if model.trace_.was_interrupted(model.max_seconds):
        screen.warn(
            f"The search was interrupted after {plural(model.trace_.n_models, 'model')}: the best subset so far is "
            "written; run the same command again for a whole search"
        )
    return model


def _write_report(
    model: Any, data: CommandRows, test: CommandRows | None, path: Path, given: Any, screen: Screen
) -> Any:
    """Write the report, with measures if the rows allow them. Ctrl-C ends the report, not the command: the model is
    written.
    """
    held_out, folds = bool(given.test or given.test_from), given.folds
    if folds and not held_out and (lacking := data.too_few_classes()):
        screen.warn(f"Nothing is measured by cross-validation: it needs {lacking}")
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
    files_read = {"Data file": given.table, "Test file": given.test}
    facts = {name: files.with_hash(file) for name, file in files_read.items() if file is not None}
    facts |= {} if given.purpose is None else {"Purpose": given.purpose}
    with interruptible(consequence), screen.working(f"{what} ..."):
        options |= {"benefit": benefit, "min_count": given.min_count if given.min_count > 1 else None, "facts": facts}
        return model.report(path, data.X, data.y, sample_weight=data.weights, **options)


def _plan(model: Any, data: CommandRows) -> list[tuple[str, str]]:
    """Return, for --dry-run, names and values of the files that a fit would read and write, and of its memory
    and time.
    """
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
    """Return an estimate of the seconds that a fit takes, extrapolated from fits to the first rows."""
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
    for unit in ("bytes", "KB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:,.3g} GB"


def deciding(model: Any, X: pl.DataFrame, frame: pl.DataFrame, path: Path) -> Any:
    """Return a classifier that takes decisions in these rows by the benefit rule of a model.

    ``frame`` has all columns of the rows, among them the amounts.
    """
    rule = model.benefit_rule_
    classifier = rule.around(model, model.scorecard_.class_counts)
    values = classifier.benefits_of(X, amounts_of(rule, frame, path), len(X)).values
    return classifier.set_params(benefit=values, amount=None, amount_benefit=None)

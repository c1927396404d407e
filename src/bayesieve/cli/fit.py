"""`bayesieve fit`: a table becomes a model, a list of features and a report."""

from __future__ import annotations

import inspect
import itertools
import warnings
from pathlib import Path
from typing import Any

from bayesieve.cli import compiling, files, options
from bayesieve.cli.benefit import deciding
from bayesieve.cli.errors import CommandError, interruptible
from bayesieve.cli.models import show_summary
from bayesieve.cli.options import Option, command, plugins, require_choice
from bayesieve.cli.screen import Screen
from bayesieve.cli.training import Columns, ScannedTraining, TrainingTable, rule_in
from bayesieve.words import plural, quoted

SELECTOR_TITLES = {
    "all": "every feature",
    "map": "the most probable subset",
    "bayesian": "average of models by posterior probability",
    "compression": "average of models by compression",
    "wrapper": "search by the classifier's own performance",
    "boosted": "boosted search by confident features",
    "clusters": "search in clusters of dependent features",
    "accuracy": "forward search by training accuracy",
    "auc": "forward search by training AUC",
    "information-gain": "filter by information gain",
    "imprecise-information-gain": "filter by imprecise information gain",
    "mrmr": "filter by minimal redundancy, maximal relevance",
    "cfs": "filter by correlations",
}
"""Title of each selector of bayesieve. The help shows them without importing the selectors, which takes a second."""

_SELECTORS = [f"{name} ({title})" for name, title in SELECTOR_TITLES.items()]
_SELECTORS += sorted(point.name for point in plugins("selectors"))
_SIGNS = "a column and +1 or -1, such as income=+1"
_CALIBRATIONS = ("auto", "weights", "levels", "cells", "none")

OPTIONS = {
    "": [options.TABLE],
    "Columns": [
        options.TARGET,
        *options.COLUMNS,
        Option(
            "--pairs PAIRS", "Pairs of columns as features: auto, a number at most, or the pairs as A:B,C:D.", "auto"
        ),
        Option("--sums N", "Sums of two columns of numbers, drawn at random, to try as features.", 0),
        Option("--quantiles N", "In pieces: quantiles of a column of over 100,000 different numbers.", 65_535),
    ],
    "Search": [
        Option("--selector -s NAME", f"Method to weigh features: {'; '.join(_SELECTORS)}.", "compression"),
        Option(
            "--constraint MEASURE=BOUND",
            "Bound that a measure must beat, such as recall:bad=0.85, for the selectors clusters and wrapper; may be "
            "repeated.",
            [],
        ),
        Option("--refit", "Selector clusters: learn from all rows in the end, not only from two thirds of them."),
        Option(
            "--max-seconds SECONDS",
            "Time limit of the search, which returns its best result so far; if reading takes too long, fewer pieces "
            "of TABLE are read.",
            type=float,
        ),
        Option("--calibrate NAME", f"What is fitted after the search: {', '.join(_CALIBRATIONS)}.", "auto"),
        Option(
            "--monotone COLUMN=SIGN",
            "Let fitted evidence of the second of two classes never fall (+1) or never rise (-1) with the numbers of "
            "COLUMN; may be repeated.",
            [],
        ),
        Option("--seed N", "Seed of the search.", 0),
        options.JOBS,
        Option("--engine WHERE", "Where rows live: memory, disk, or a Dask cluster: dask://host:8786.", "memory"),
        Option("--cache DIR", "Folder for the coded rows, to save memory; later fits use them again.", type=Path),
        Option("--memory-limit SIZE", "Read TABLE in pieces within this memory, such as 4GiB; folders always are."),
        Option("--dry-run", "Print what a fit in pieces would read, write and take, and end."),
    ],
    "Options": [options.BENEFIT],
    "Output": [
        options.folder("bayesieve-output"),
        Option("--folds N", "Cross-validation folds for the report's measures; 0: none.", 5),
        Option("--no-report", "Skip report.html and its measures."),
        options.QUIET,
    ],
}


@command(OPTIONS)
def fit(given: Any) -> None:
    """Learn a model from TABLE.

    Writes model.json, features.csv and report.html, and prints a summary.

    Ctrl-C during the search keeps the best model so far.
    """
    from bayesieve import RepeatedFolds
    from bayesieve.selection import SELECTORS

    require_choice(given.selector, SELECTORS, "selector")
    if given.folds:
        RepeatedFolds(given.folds)  # refuses other numbers
    screen, table, output = Screen(given.quiet), given.table, given.output
    columns = Columns.given(given, given.target)
    files.check_folder(output)
    data = _training(given, columns, screen)
    with files.locating(table, given.target):
        rule = rule_in(given.benefit, data)
    model = _model(given, data)
    if given.dry_run:
        with compiling.announced(screen), screen.working("Trying a few rows ..."):
            plan = data.plan(model)
        screen.pairs(plan)
        return
    with files.locating(table, given.target):
        _learn(model, data, screen)
    model.target_name_, model.benefit_rule_ = given.target, rule
    model.set_params(verbose=0, engine="memory", cache=None, memory_limit=None)
    with files.opened_folder(output):
        written = [("model", output / "model.json"), ("features", output / "features.csv")]
        model.save(output / "model.json")
        files.write_frame(model.summary(), output / "features.csv")
        performance = None
        if not given.no_report:
            performance = _write_report(model, data.measured(model), output / "report.html", given.folds, screen)
            written.append(("report", output / "report.html"))
    show_summary(screen, model, performance, written)


def _training(given: Any, columns: Columns, screen: Screen) -> Any:
    """The rows, in memory or, for folders, patterns, memory limits, plans and other engines, in pieces."""
    in_pieces = given.memory_limit is not None or given.dry_run or given.engine != "memory"
    if not files.is_several(given.table) and not in_pieces:
        return TrainingTable.of(files.read_table(given.table, screen), columns, given.table, screen)
    if given.sums:
        raise CommandError("--sums needs all rows in memory; give one file, without --memory-limit and --engine")
    return ScannedTraining.of(given.table, columns, screen)


def _model(given: Any, data: Any) -> Any:
    """The classifier, not fitted yet."""
    from bayesieve import RandomSums, SelectiveNB, TableEncoder
    from bayesieve.discretize.scanned_columns import QUANTILES
    from bayesieve.selection import SELECTORS

    selector, encoder = SELECTORS[given.selector], {"kinds": data.columns.kinds or None, "n_quantiles": given.quantiles}
    changed = _changed_options(selector, given)
    monotone = _assigned(given.monotone, int, f"--monotone must be {_SIGNS}")
    pairs = _pairs_in(given.pairs)
    for name in [*monotone, *(itertools.chain(*pairs) if isinstance(pairs, list) else [])]:
        require_choice(name, data.names, "column")
    sums = RandomSums(given.sums, random_state=given.seed) if given.sums else None
    is_usual = not data.columns.kinds and sums is None and given.quantiles == QUANTILES
    return SelectiveNB(
        selector(**changed) if changed else given.selector,
        encoder="modl" if is_usual else TableEncoder(**encoder, sums=sums, n_jobs=given.jobs),
        calibrate=False if given.calibrate == "none" else given.calibrate,
        monotone=monotone or None,
        pairs=pairs,
        prior=given.prior,
        max_seconds=given.max_seconds,
        random_state=given.seed,
        n_jobs=given.jobs,
        verbose=0 if given.quiet else 1,
        engine=given.engine,
        cache=given.cache,
        memory_limit=given.memory_limit,
    )


def _changed_options(selector: type, given: Any) -> dict[str, Any]:
    """Options of a selector that --constraint and --refit change; CommandError unless it has them."""
    known = inspect.signature(selector).parameters
    if given.constraint and "constraints" not in known:
        raise CommandError(f"--constraint needs --selector clusters or wrapper, got {quoted(given.selector)}")
    if given.refit and "refit" not in known:
        raise CommandError(f"--refit needs --selector clusters, got {quoted(given.selector)}")
    bounds = _assigned(given.constraint, float, "--constraint must be a measure and its bound, such as recall:bad=0.85")
    return ({"refit": True} if given.refit else {}) | ({"constraints": bounds} if bounds else {})


def _assigned(texts: list[str], read: type, rule: str) -> dict[str, Any]:
    """Values by name from texts such as NAME=VALUE; CommandError, beginning with the rule, for anything else."""
    values = {}
    for text in texts:
        name, _, value = (part.strip() for part in text.rpartition("="))
        try:
            values[name] = read(value)
        except ValueError:
            name = ""
        if not name:
            raise CommandError(f"{rule}, got {quoted(text)}")
    return values


def _pairs_in(text: str) -> Any:
    """The value of --pairs: "auto", a number, or lists of two names of columns; CommandError for anything else."""
    if text == "auto":
        return text
    if text.isdecimal() and len(text) < 10:
        return int(text)
    pairs = [[name.strip() for name in part.split(":")] for part in text.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise CommandError(f"--pairs must be auto, a number, or pairs such as A:B,C:D, got {quoted(text)}")
    return pairs


def _learn(model: Any, data: Any, screen: Screen) -> None:
    """Fit the model, with a warning if the search was interrupted."""
    if screen.shows_progress:
        screen.note(f"Fitting {plural(data.n_rows, 'row')} of {plural(len(data.names), 'feature')} ...")
    # The library's own warning of an interrupted search is about Python objects.
    warnings.filterwarnings("ignore", message="The search was interrupted", category=UserWarning)
    with compiling.announced(screen):
        data.fit(model)
    if model.trace_.was_interrupted(model.max_seconds):
        screen.warn(
            f"The search was interrupted after {plural(model.trace_.n_models, 'model')}: the best subset so far is "
            "written; run the same command again for a whole search"
        )


def _write_report(model: Any, data: TrainingTable, path: Path, folds: int, screen: Screen) -> Any:
    """Write the report, with measures where possible; Ctrl-C ends it, searches included."""
    if folds and (lacking := data.too_few_classes()):
        screen.warn(f"Nothing is measured by cross-validation: it needs {lacking}")
        folds = 0
    folds = min(folds, int(data.y.value_counts()["count"].max()))  # type: ignore[arg-type]
    what = f"Measuring by {folds}-fold cross-validation" if folds else "Writing the report"
    left = f"model.json and features.csv are in {path.parent}; the report was not written"
    benefit = None if model.benefit_rule_ is None else deciding(model, data.X, data.frame, data.path)
    with interruptible(left), screen.working(f"{what} ..."):
        return model.report(path, data.X, data.y, sample_weight=data.weights, benefit=benefit, cv=folds)

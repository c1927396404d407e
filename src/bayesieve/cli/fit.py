"""`bayesieve fit`: a table becomes a model, a list of features and a report."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesieve.cli import compiling, files, options
from bayesieve.cli.benefit import amounts_of, deciding
from bayesieve.cli.choices import (
    CALIBRATIONS,
    changed_options,
    pairs_in,
    require_choice,
    require_jobs,
    require_seed,
    signs_in,
)
from bayesieve.cli.errors import CommandError, interruptible
from bayesieve.cli.fit_summary import show_summary
from bayesieve.cli.scanned import check_target, is_scanned, scanned_training
from bayesieve.cli.screen import Screen
from bayesieve.cli.text import counted
from bayesieve.cli.training import TrainingTable, columns_of, training_table

if TYPE_CHECKING:
    from bayesieve import SelectiveNB

search_option = partial(typer.Option, rich_help_panel="Search")


def fit(
    table: options.TableFile,
    target: options.Target,
    weight: options.Weight = None,
    normalize: options.Normalize = False,
    ignore: options.Ignore = [],  # noqa: B006
    numeric: options.Numeric = [],  # noqa: B006
    categorical: options.Categorical = [],  # noqa: B006
    prior: options.Prior = "sizes",
    selector: Annotated[
        str, search_option("--selector", "-s", metavar="NAME", help="Method to weigh features: {selectors}.")
    ] = "compression",
    constraint: Annotated[
        list[str],
        search_option(
            metavar="MEASURE=BOUND",
            help="Bound that a measure must beat, such as recall:bad=0.85; may be repeated; for the selectors clusters "
            "and wrapper.",
        ),
    ] = [],  # noqa: B006
    refit: Annotated[
        bool,
        search_option(
            "--refit",
            help="Learn the probabilities again from all rows, not only from the two thirds that the search learnt "
            "from; for the selector clusters.",
        ),
    ] = False,
    pairs: options.Pairs = "auto",
    sums: options.Sums = 0,
    quantiles: options.Quantiles = 65_535,
    max_seconds: Annotated[
        float | None,
        search_option(
            metavar="SECONDS",
            help="Time limit of the search, which then returns its best result so far, and of the reading before it: "
            "where time is short, fewer pieces of TABLE are read.",
            show_default=False,
        ),
    ] = None,
    calibrate: Annotated[
        str,
        search_option(metavar="NAME", help=f"What is fitted to the rows after the search: {', '.join(CALIBRATIONS)}."),
    ] = "auto",
    monotone: Annotated[
        list[str],
        search_option(
            metavar="COLUMN=SIGN",
            help="Evidence of the second of two classes, in the order of the alphabet or of numbers, never falls over "
            "the numbers of COLUMN (+1), or never rises (-1); may be repeated; for fitted evidence.",
        ),
    ] = [],  # noqa: B006
    seed: Annotated[int, search_option(metavar="N", help="Seed of the search.")] = 0,
    jobs: Annotated[int, search_option("--jobs", "-j", metavar="N", help="Threads; -1 is one per core.")] = -1,
    engine: Annotated[
        str,
        search_option(
            metavar="WHERE",
            help="Where the rows live: memory, disk, or with a Dask cluster, such as dask://host:8786.",
        ),
    ] = "memory",
    cache: Annotated[
        Path | None,
        search_option(
            metavar="DIR",
            help="Folder for the coded rows, which then take no memory; later fits of TABLE use them again.",
            show_default=False,
        ),
    ] = None,
    memory_limit: Annotated[
        str | None,
        search_option(
            metavar="SIZE",
            help="Read TABLE in pieces, and keep within so much memory, such as 4GiB; a folder or pattern always is.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, search_option("--dry-run", help="Print what a fit in pieces would read, write and take, and end.")
    ] = False,
    benefit: options.Benefit = None,
    output: options.OutputFolder = Path("bayesieve-output"),
    folds: Annotated[
        int, options.output_option(metavar="N", help="Cross-validation folds for the report's measures; 0: none.")
    ] = 5,
    no_report: Annotated[bool, options.output_option("--no-report", help="Skip report.html and its measures.")] = False,
    quiet: options.QuietOutput = False,
    debug: options.Debug = False,
) -> None:
    """Learn a model from TABLE.

    Writes model.json, features.csv and report.html, and prints a summary.

    Ctrl-C during the search keeps the best model so far.
    """
    from bayesieve import RandomSums, SelectiveNB, TableEncoder
    from bayesieve.discretize.criterion import PRIORS
    from bayesieve.discretize.scanned_columns import QUANTILES
    from bayesieve.selection import SELECTORS

    require_choice(selector, SELECTORS, "selector")
    require_choice(calibrate, CALIBRATIONS, "calibrate")
    require_choice(prior, PRIORS, "prior")
    _check_numbers(max_seconds, seed, jobs, folds)
    screen = Screen(quiet)
    columns = columns_of(target, weight, ignore, numeric, categorical, normalize)
    files.check_folder(output)
    data: Any
    if is_scanned(table, memory_limit, dry_run or engine != "memory"):
        if sums:
            raise CommandError("--sums needs all rows in memory; give one file, without --memory-limit and --engine")
        data = scanned_training(table, columns, screen)
        check_target(data, screen)
    else:
        data = training_table(files.read_table(table, screen), columns, table, screen)
    with files.locating(table, target):
        rule = data.rule_in(benefit, table)
    made = RandomSums(sums, random_state=seed) if sums else None
    changed = changed_options(selector, SELECTORS[selector], constraint, refit)
    model = SelectiveNB(
        SELECTORS[selector](**changed) if changed else selector,
        encoder=TableEncoder(kinds=columns.kinds or None, sums=made, n_quantiles=quantiles, n_jobs=jobs)
        if columns.kinds or made or quantiles != QUANTILES
        else "modl",
        calibrate=False if calibrate == "none" else calibrate,  # type: ignore[arg-type]
        monotone=signs_in(monotone, data.names) or None,
        pairs=pairs_in(pairs, data.names),
        prior=prior,  # type: ignore[arg-type]
        max_seconds=max_seconds,
        random_state=seed,
        n_jobs=jobs,
        verbose=0 if quiet else 1,
        engine=engine,
        cache=cache,
        memory_limit=memory_limit,
    )
    if dry_run:
        with compiling.announced(screen), screen.working("Trying a few rows ..."):
            plan = data.plan(model)
        screen.pairs(plan)
        return
    with files.locating(table, target):
        _learn(model, data, screen)
    model.target_name_, model.benefit_rule_ = target, rule
    model.set_params(verbose=0, engine="memory", cache=None, memory_limit=None)
    files.open_folder(output)
    written = [("model", output / "model.json"), ("features", output / "features.csv")]
    model.save(output / "model.json")
    files.write_frame(model.summary(), output / "features.csv")
    performance = None
    if not no_report:
        performance = _write_report(model, data.measured(model), output / "report.html", folds, screen, table)
        written.append(("report", output / "report.html"))
    show_summary(screen, model, performance, written)


def _learn(model: SelectiveNB, data: Any, screen: Screen) -> None:
    """Fit the model, and say so where the search was interrupted."""
    if screen.shows_progress:
        screen.note(f"Fitting {counted(data.n_rows, 'row')} of {counted(len(data.names), 'feature')} ...")
    # The library's own warning of an interrupted search is about Python objects.
    warnings.filterwarnings("ignore", message="The search was interrupted", category=UserWarning)
    with compiling.announced(screen):
        data.fit(model)
    if model.trace_.was_interrupted(model.max_seconds):
        screen.warn(
            f"The search was interrupted after {counted(model.trace_.n_models, 'model')}: the best subset so far is "
            "written; run the same command again for a whole search"
        )


def _check_numbers(max_seconds: float | None, seed: int, jobs: int, folds: int) -> None:
    if max_seconds is not None and not max_seconds >= 0:
        raise CommandError(f"--max-seconds must be at least 0, got {max_seconds:g}")
    require_seed(seed)
    require_jobs(jobs)
    if folds < 0 or folds == 1:
        raise CommandError(f"--folds must be at least 2, or 0 for no cross-validation, got {folds}")


def _write_report(model: Any, data: TrainingTable, path: Path, folds: int, screen: Screen, table: Path) -> Any:
    """Write the report, with measures where possible; Ctrl-C ends it, searches included."""
    if folds and (lacking := data.too_few_classes()):
        screen.warn(f"Nothing is measured by cross-validation: it needs {lacking}")
        folds = 0
    folds = min(folds, int(data.y.value_counts()["count"].max()))  # type: ignore[arg-type]
    what = f"Measuring by {folds}-fold cross-validation" if folds else "Writing the report"
    left = f"model.json and features.csv are in {path.parent}; the report was not written"
    rule, benefit = model.benefit_rule_, None
    if rule is not None:
        benefit = deciding(rule, model, data.X, amounts_of(rule, data.frame, table))
    with interruptible(left), screen.working(f"{what} ..."):
        return model.report(path, data.X, data.y, sample_weight=data.weights, benefit=benefit, cv=folds)

"""`bayesieve compare`: selectors compared on one or more tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

import typer

from bayesieve.cli import compiling, files, options
from bayesieve.cli.choices import names_in, require_at_least, require_choice, require_jobs, require_seed
from bayesieve.cli.compared_tables import ComparedTable, compared_tables
from bayesieve.cli.errors import NO_STUDIES, CommandError, interruptible
from bayesieve.cli.screen import Screen
from bayesieve.cli.text import listed, quoted, shown, visible

_KEPT, _FOLDS, _PAGE = "results.jsonl", "folds.csv", "comparison.html"
method_option = partial(typer.Option, rich_help_panel="Methods and folds")


def compare(
    tables: options.TableFiles,
    target: Annotated[
        list[str],
        options.columns_option(
            "--target",
            "-t",
            metavar="NAME",
            help="Column to predict; may be repeated, once for each TABLE.",
            show_default=False,
        ),
    ],
    weight: options.Weight = None,
    normalize: options.Normalize = False,
    ignore: options.Ignore = [],  # noqa: B006
    numeric: options.Numeric = [],  # noqa: B006
    categorical: options.Categorical = [],  # noqa: B006
    prior: options.Prior = "sizes",
    selectors: Annotated[
        str | None,
        method_option("--selectors", "-s", metavar="A,B,...", help="Selectors to compare.", show_default="all"),
    ] = None,
    peers: Annotated[
        str | None,
        method_option(
            metavar="A,B,...",
            help="Other classifiers to include, on the raw columns: hist-gradient-boosting, categorical-nb, "
            "gaussian-nb, l1-logistic (scikit-learn's), khiops, khiops-trees-pairs, ebm, scorecard (if installed).",
            show_default="none",
        ),
    ] = None,
    folds: Annotated[int, method_option(metavar="N", help="Folds of each repeat.")] = 10,
    repeats: Annotated[int, method_option(metavar="N", help="Repeats, each with a different shuffle.")] = 1,
    seed: Annotated[int, method_option(metavar="N", help="Seed of the folds and of the searches.")] = 0,
    measure: Annotated[
        str,
        method_option(
            metavar="NAME",
            help="Measure to order, rank and test methods by: accuracy, auc, compression_rate, log_loss, brier or "
            "balanced_accuracy.",
        ),
    ] = "accuracy",
    jobs: Annotated[
        int, method_option("--jobs", "-j", metavar="N", help="Folds run in parallel; -1 is one per core.")
    ] = -1,
    output: options.OutputFolder = Path("bayesieve-comparison"),
    quiet: options.QuietOutput = False,
    debug: options.Debug = False,
) -> None:
    """Compare selectors on one TABLE or several by repeated stratified cross-validation.

    Writes comparison.html, folds.csv and results.jsonl, and prints a ranking of the methods; for several tables also
    average ranks. One table is in memory at a time.

    Run an interrupted command again to continue where it stopped.
    """
    from bayesieve.discretize.criterion import PRIORS
    from bayesieve.evaluation import RepeatedFolds
    from bayesieve.statistics.metrics import MEASURES

    require_at_least("--folds", folds, 2)
    require_at_least("--repeats", repeats, 1)
    require_seed(seed)
    require_jobs(jobs)
    require_choice(measure, MEASURES, "measure")
    require_choice(prior, PRIORS, "prior")
    chosen = _method_names(selectors, peers)
    screen = Screen(quiet)
    files.check_folder(output)
    compared = compared_tables(tables, target, weight, ignore, numeric, categorical, normalize, folds)
    methods = _methods(*chosen, compared[0].columns.kinds, prior, seed, jobs)
    # Errors in a single table show before a folder is made; several tables are read one by one later.
    data = {table.name: table.read(screen) if len(compared) == 1 else table for table in compared}
    comparison = _measured(
        methods, compared, data, RepeatedFolds(folds, repeats, seed), output, weight is not None, jobs, screen
    )
    written = _write(comparison, compared, measure, output)

    from bayesieve.cli.comparison_summary import show_comparison

    show_comparison(screen, comparison, measure, written)


def _method_names(selectors: str | None, peers: str | None) -> tuple[list[str], list[str]]:
    """Names of the selectors and the peers, each once."""
    from bayesieve.selection import SELECTORS

    ours = list(SELECTORS) if selectors is None else _names(selectors, SELECTORS, "selector")
    if peers is None:
        return ours, []
    known = _peers()
    if not known:
        raise CommandError(NO_STUDIES.format("--peers"))
    return ours, _names(peers, known, "peer")


def _peers() -> dict[str, Any]:
    """Other classifiers by name, from the entry points of installed packages."""
    return {name: make for point in entry_points(group="bayesieve.peers") for name, make in point.load().items()}


def _names(text: str, known: Collection[str], what: str) -> list[str]:
    names = names_in(text)
    if not names:
        raise CommandError(f"--{what}s is empty; choose from {listed(known, most=len(known))}")
    for name in names:
        require_choice(name, known, what)
    return names


def _methods(
    selectors: list[str], peers: list[str], kinds: dict[str, str], prior: str, seed: int, jobs: int
) -> dict[str, Any]:
    """Classifiers by name; a peer whose package is missing raises here, before any work is done."""
    from bayesieve import SelectiveNB, TableEncoder

    encoder = TableEncoder(kinds=kinds, n_jobs=jobs) if kinds else "modl"
    options: dict[str, Any] = {"encoder": encoder, "prior": prior, "random_state": seed, "n_jobs": jobs}
    ours = {name: SelectiveNB(name, **options) for name in selectors}
    known = _peers() if peers else {}
    return ours | {name: known[name](kinds=kinds or None, random_state=seed) for name in peers}


def _measured(
    methods: dict[str, Any],
    tables: Sequence[ComparedTable],
    data: Mapping[str, Any],
    protocol: Any,
    output: Path,
    weighted: bool,
    jobs: int,
    screen: Screen,
) -> Any:
    """Run all folds that the file of results lacks."""
    from bayesieve.evaluation import compare_many

    results = output / _KEPT
    with interruptible(lambda: files.finished_in(results)), compiling.announced(screen):
        compiling.warm_up(methods.values(), weighted)
        with files.opened_folder(output):
            comparison = compare_many(
                methods, data, protocol, results=results, n_jobs=jobs, verbose=0 if screen.quiet else 1
            )
        for table in tables:
            if not table.was_read:  # all its results were saved: still the same table?
                compare_many(methods, {table.name: table()}, protocol, results=results)
    return comparison


def _write(comparison: Any, tables: Sequence[ComparedTable], measure: str, output: Path) -> list[tuple[str, Path]]:
    """Write the folds and the page; CommandError if all methods failed."""
    files.write_frame(comparison.frame, output / _FOLDS)
    if all(row["error"] is not None for row in comparison.rows):
        _, name, _, error = comparison.errors()[0]
        raise CommandError(f"All methods failed; {quoted(name)} with: {error}")
    first = tables[0]
    title = f"Methods compared on {visible(shown(Path(first.path.name)))}, target {quoted(first.columns.target)}"
    if len(tables) > 1:
        title = f"Methods compared on {len(tables)} tables"
    comparison.report(output / _PAGE, title=title, measure=measure)
    return [("report", output / _PAGE), ("folds", output / _FOLDS), ("results", output / _KEPT)]

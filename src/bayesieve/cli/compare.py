"""`bayesieve compare`: which selector is best on a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from bayesieve.cli import compiling, files
from bayesieve.cli.choices import require_choice, require_jobs
from bayesieve.cli.comparison_summary import show_comparison
from bayesieve.cli.errors import CommandError, interruptible
from bayesieve.cli.options import Categorical, Debug, Ignore, Numeric, Quiet, TableFile, Target, Weight
from bayesieve.cli.screen import Screen
from bayesieve.cli.text import listed, quoted, visible
from bayesieve.cli.training import TrainingTable, columns_of, training_table

_METHODS, _OUTPUT = "Methods and folds", "Output"
_KEPT, _PAGE = "results.jsonl", "comparison.html"


def compare(
    table: TableFile,
    target: Target,
    weight: Weight = None,
    ignore: Ignore = [],  # noqa: B006
    numeric: Numeric = [],  # noqa: B006
    categorical: Categorical = [],  # noqa: B006
    selectors: Annotated[
        str | None,
        typer.Option(
            "--selectors",
            "-s",
            metavar="A,B,...",
            help="Selectors to compare.",
            rich_help_panel=_METHODS,
            show_default="all there are",
        ),
    ] = None,
    peers: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Other classifiers beside them: hist-gradient-boosting (scikit-learn's, on the raw columns).",
            rich_help_panel=_METHODS,
            show_default="none",
        ),
    ] = None,
    folds: Annotated[int, typer.Option(metavar="N", help="Folds of each repeat.", rich_help_panel=_METHODS)] = 10,
    repeats: Annotated[
        int,
        typer.Option(metavar="N", help="Cross-validations, each shuffled anew.", rich_help_panel=_METHODS),
    ] = 1,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Seed of the folds and of the searches.", rich_help_panel=_METHODS)
    ] = 0,
    measure: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What methods are ordered, ranked and tested by: accuracy, auc, compression_rate, log_loss, brier or "
            "balanced_accuracy.",
            rich_help_panel=_METHODS,
        ),
    ] = "accuracy",
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs",
            "-j",
            metavar="N",
            help="Folds at the same time; -1 is one for each core.",
            rich_help_panel=_METHODS,
        ),
    ] = -1,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to write into.", rich_help_panel=_OUTPUT)
    ] = Path("bayesieve-comparison"),
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compare selectors on TABLE by repeated stratified cross-validation.

    Writes comparison.html, folds.csv and results.jsonl, and prints how the methods stand to each other.

    An interrupted command goes on where it was when it is given again.
    """
    from bayesieve.evaluation.fold_measures import MEASURES
    from bayesieve.evaluation.peers import PEERS
    from bayesieve.selection import SELECTORS

    names = list(SELECTORS) if selectors is None else _names(selectors, list(SELECTORS), "selector")
    others = [] if peers is None else _names(peers, list(PEERS), "peer")
    _check_numbers(folds, repeats, seed, jobs)
    require_choice(measure, MEASURES, "measure")
    screen = Screen(quiet)
    columns = columns_of(target, weight, ignore, numeric, categorical)
    data = training_table(files.read_table(table, screen), columns, table, screen)
    _check_classes(data, folds)
    files.open_folder(output)

    methods = _methods(names, columns.kinds, seed, jobs)
    methods |= {name: PEERS[name](kinds=columns.kinds or None, random_state=seed) for name in others}
    kept = output / _KEPT
    from bayesieve.evaluation import Protocol
    from bayesieve.evaluation import compare as measured
    from bayesieve.evaluation.standings import standings

    left = f"finished folds are in {kept}; the same command goes on from there"
    with interruptible(left), compiling.announced(screen):
        found = measured(
            methods,
            data.X,
            data.y,
            Protocol(folds, repeats, seed),
            data_name=table.stem,
            sample_weight=data.weights,
            results=kept,
            n_jobs=jobs,
            verbose=0 if quiet else 1,
        )
    found.write_csv(output / "folds.csv")
    order = standings(found, measure)
    if not order:
        _, name, _, error = found.errors()[0]
        raise CommandError(f"No method could be measured; {quoted(name)} says: {error}")
    title = f"Methods compared on {visible(table.name)}, target {quoted(target)}"
    found.report(output / _PAGE, title=title, measure=measure)
    written = [("report", output / _PAGE), ("folds", output / "folds.csv"), ("results", kept)]
    show_comparison(screen, found, measure, order, written)


def _names(text: str, known: Sequence[str], what: str) -> list[str]:
    """The names asked for, each once."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise CommandError(f"--{what}s names none; choose from {listed(known, most=len(known))}")
    for name in names:
        require_choice(name, known, what)
    return names


def _check_numbers(folds: int, repeats: int, seed: int, jobs: int) -> None:
    if folds < 2:
        raise CommandError(f"--folds {folds} has no meaning; use 2 or more")
    if repeats < 1:
        raise CommandError(f"--repeats {repeats} has no meaning; use 1 or more")
    if not 0 <= seed < 2**32:
        raise CommandError(f"--seed {seed} has no meaning; use a whole number from 0 to {2**32 - 1}")
    require_jobs(jobs)


def _check_classes(data: TrainingTable, folds: int) -> None:
    lone = data.classes_too_rare_to_measure()
    if lone:
        raise CommandError(f"Cross-validation needs two classes of two rows, and {listed(lone)} has one")
    largest = int(data.y.value_counts()["count"].max())  # type: ignore[arg-type]
    if folds > largest:
        raise CommandError(f"--folds {folds} is more than the most frequent class has rows; use at most {largest}")


def _methods(names: list[str], kinds: dict[str, str], seed: int, jobs: int) -> dict[str, Any]:
    from bayesieve import SelectiveNB, TableEncoder

    encoder = TableEncoder(kinds=kinds, n_jobs=jobs) if kinds else "modl"
    return {name: SelectiveNB(name, encoder=encoder, random_state=seed, n_jobs=jobs) for name in names}

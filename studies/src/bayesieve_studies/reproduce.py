"""`bayesieve reproduce`: the results of papers, reproduced."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bayesieve.cli import compiling, files, options
from bayesieve.cli.choices import names_in, require_at_least, require_choice, require_jobs
from bayesieve.cli.errors import CommandError, interruptible
from bayesieve.cli.screen import Screen
from bayesieve.cli.tables import Column
from bayesieve.cli.text import quoted

if TYPE_CHECKING:
    from bayesieve.counts import Smoothing
    from bayesieve_studies import Report, Study

_KEPT = ".jsonl"


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="PAPER",
            help="The paper: rabenoro2015, boulle2007, abellan2017, blanquero2021 or gidofalvi.",
            show_default=False,
        ),
    ],
    repetitions: Annotated[
        int | None,
        typer.Option(
            "--repetitions",
            "-r",
            metavar="N",
            help="Default: 10 for rabenoro2015 (3 with --quick) and gidofalvi (2); cross-validations for the others, 1 "
            "for boulle2007, 10 for abellan2017, up to 10 for blanquero2021 (1 with --quick).",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Random seed.")] = 0,
    grid: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Variant. rabenoro2015: thresholds at levels (of p-values), quantiles, or coarse; abellan2017: weka "
            "(its estimates), imputed (the same, missing values replaced) or observed (no more states than occur).",
            show_default="the first",
        ),
    ] = None,
    smoothing: Annotated[
        str | None,
        typer.Option(
            metavar="ALPHA",
            help="Smoothing of probabilities: Laplace's alpha, or m-estimate.",
            show_default="m-estimate for boulle2007 and gidofalvi, none for blanquero2021, else 1",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        options.file_option("Markdown file to write; finished folds are saved next to it, and a run can be continued."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of data sets, for papers that need them; by default they are downloaded.",
            show_default=False,
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Only these data sets of the paper.", show_default=False),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", metavar="N", help="Threads; -1 is one per core.")] = -1,
    challenge: Annotated[
        bool,
        typer.Option("--challenge", help="Section 8 of boulle2007: guesses for the performance prediction challenge."),
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Quick trial on little data.")] = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Reproduce the results of PAPER, and print them next to the published ones.

    With --output, run an interrupted command again to continue where it stopped.
    """
    _check(paper, repetitions, seed, jobs, output, data)
    from bayesieve_studies.registry import PAPERS, Options, make_study

    names = () if only is None else tuple(names_in(only))
    if only is not None and not names:
        raise CommandError(f"--only {quoted(only)} contains no data set; separate names by commas")
    if names and not PAPERS[paper].uses_data:
        raise CommandError(f"{paper} simulates its data and has no data sets to choose from; omit --only")
    study = make_study(
        paper, Options(repetitions, seed, grid, _smoothing(smoothing), jobs, quick, data, names, challenge)
    )
    screen = Screen(quiet)
    if data is not None and not study.uses_data:
        screen.note(f"{paper} simulates its data: --data is not used.")
    results = None if output is None else output.with_suffix(_KEPT)
    report = _run(study, results, screen)
    screen.line(PAPERS[paper].citation)
    screen.line()
    _show(report, screen)
    if output is not None and results is not None:
        _write(report, output, results, screen)


def _check(paper: str, repetitions: int | None, seed: int, jobs: int, output: Path | None, data: Path | None) -> None:
    """Raise CommandError for invalid options before any work is done."""
    from bayesieve_studies.registry import PAPERS

    require_choice(paper, PAPERS, "paper", " to reproduce")
    if repetitions is not None:
        require_at_least("--repetitions", repetitions, 1)
    require_at_least("--seed", seed, 0)
    require_jobs(jobs)
    if data is not None and not data.is_dir():
        raise CommandError(f"There is no folder {data}; --data must be the folder with the data sets")
    if output is not None:
        from bayesieve.table.writing import refuse_other_format

        if output.suffix == _KEPT:
            raise CommandError(f"{output} is the name of the file for finished folds; end --output in .md")
        refuse_other_format(output, "Markdown", ".md")
        files.check_file(output)


def _smoothing(text: str | None) -> Smoothing | None:
    if text is None:
        return None
    if text == "m-estimate":
        return "m-estimate"
    try:
        alpha = float(text)
    except ValueError:
        alpha = 0.0
    if not 0 < alpha < float("inf"):
        raise CommandError(f"--smoothing must be a positive number or m-estimate, got {quoted(text)}")
    return alpha


def _run(study: Study, results: Path | None, screen: Screen) -> Report:
    with interruptible(lambda: files.finished_in(results)), compiling.announced(screen):
        return study.run(results, verbose=int(not screen.quiet))


def _show(report: Report, screen: Screen) -> None:
    for title, table in report.tables:
        screen.line(title)
        columns = [Column(name, number) for name, number in zip(table.titles, table.numbers, strict=True)]
        screen.table(columns, table.rows)
        screen.line()
    for finding in report.findings:
        screen.line(finding)


def _write(report: Report, output: Path, results: Path, screen: Screen) -> None:
    """Write the files before the document that links to them."""
    from bayesieve.table import write_atomically

    linked = [(output.with_name(name), content) for name, content in report.files.items()]
    for path, content in [*linked, (output, report.markdown)]:
        write_atomically(path, content)
    screen.line()
    screen.pairs([("document", str(output)), *(("linked", str(path)) for path, _ in linked), ("results", str(results))])

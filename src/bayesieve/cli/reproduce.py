"""`bayesieve reproduce`: the tables of papers, measured anew."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bayesieve.cli import compiling, files
from bayesieve.cli.choices import require_choice, require_jobs
from bayesieve.cli.errors import CommandError, interruptible
from bayesieve.cli.options import Debug
from bayesieve.cli.screen import Screen
from bayesieve.cli.tables import Column
from bayesieve.cli.text import quoted

if TYPE_CHECKING:
    from bayesieve.counts import Smoothing
    from bayesieve.studies import Report, Study

_KEPT = ".jsonl"


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(metavar="PAPER", help="The paper: rabenoro2015, boulle2007 or abellan2017.", show_default=False),
    ],
    repetitions: Annotated[
        int | None,
        typer.Option(
            "--repetitions",
            "-r",
            metavar="N",
            help="Unless given 10 of rabenoro2015 (3 with --quick); of the others cross-validations, 1 of boulle2007 "
            "and 10 of abellan2017 (1 with --quick).",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of everything random.")] = 0,
    grid: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Thresholds of rabenoro2015: levels (of p-values) or quantiles.",
            show_default="levels",
        ),
    ] = None,
    smoothing: Annotated[
        str | None,
        typer.Option(
            metavar="ALPHA",
            help="Smoothing of probabilities: Laplace's alpha, or m-estimate.",
            show_default="m-estimate for boulle2007, else 1",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Markdown file to write; what is finished is kept beside it, for a run that is interrupted.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of data sets, for papers that need them; they are downloaded unless given.",
            show_default=False,
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Data sets to take, of those of the paper.", show_default=False),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", metavar="N", help="Threads; -1 is one for each core.")] = -1,
    quick: Annotated[bool, typer.Option("--quick", help="A trial on little data.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print warnings and errors only.")] = False,
    debug: Debug = False,
) -> None:
    """Measure the table of PAPER anew, and print it beside the paper's.

    With --output, an interrupted command goes on where it was when it is given again.
    """
    _check(paper, repetitions, seed, jobs, output, data)
    from bayesieve.studies import PAPERS, Options, make_study, study_class

    names = _names(only)
    options = Options(repetitions, seed, grid, _smoothing(smoothing), jobs, quick, data, names)
    if names and not study_class(paper).uses_data:
        raise CommandError(f"{paper} simulates its data, there is nothing to choose by name; leave --only out")
    study = make_study(paper, options)
    screen = Screen(quiet)
    if data is not None and not study.uses_data:
        screen.note(f"{paper} simulates its data: --data is not used.")
    kept = None if output is None else output.with_suffix(_KEPT)
    report = _run(study, kept, screen)
    screen.line(PAPERS[paper].citation)
    screen.line()
    _show(report, screen)
    if output is not None and kept is not None:
        _write(report, output, kept, screen)


def _check(paper: str, repetitions: int | None, seed: int, jobs: int, output: Path | None, data: Path | None) -> None:
    """Refuse what has no meaning before any work is done."""
    from bayesieve.studies import PAPERS

    require_choice(paper, PAPERS, "paper", " to reproduce")
    if repetitions is not None and repetitions < 1:
        raise CommandError(f"--repetitions {repetitions} has no meaning; use a whole number from 1 up")
    if seed < 0:
        raise CommandError(f"--seed {seed} has no meaning; use a whole number from 0 up")
    require_jobs(jobs)
    if data is not None and not data.is_dir():
        raise CommandError(f"There is no folder {data}; give the --data folder that holds the data sets")
    if output is None:
        return
    if output.suffix == _KEPT:
        raise CommandError(f"{output} is where finished folds would be kept; end --output in .md")
    if output.is_dir():
        raise CommandError(f"{output} is a folder; give the name of a file to write")
    if not output.parent.is_dir():
        raise CommandError(f"There is no folder {output.parent} to write {output.name} in; create it first")


def _names(text: str | None) -> tuple[str, ...]:
    if text is None:
        return ()
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise CommandError(f"--only {quoted(text)} names no data set; use names with commas between them")
    return names


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
        raise CommandError(f"--smoothing {quoted(text)} has no meaning; use a positive number or m-estimate")
    return alpha


def _run(study: Study, kept: Path | None, screen: Screen) -> Report:
    with interruptible(lambda: files.finished_in(kept)), compiling.announced(screen):
        return study.run(kept, verbose=int(not screen.quiet))


def _show(report: Report, screen: Screen) -> None:
    for title, table in report.tables:
        screen.line(title)
        columns = [Column(name, number) for name, number in zip(table.titles, table.numbers, strict=True)]
        screen.table(columns, table.rows)
        screen.line()
    for finding in report.findings:
        screen.line(finding)


def _write(report: Report, output: Path, kept: Path, screen: Screen) -> None:
    """The files first: a document that stands there has all it links to."""
    from bayesieve.table import write_atomically

    beside = [(output.with_name(name), content) for name, content in report.files.items()]
    for path, content in [*beside, (output, report.markdown)]:
        write_atomically(path, content)
    screen.line()
    screen.pairs([("document", str(output)), *(("beside it", str(path)) for path, _ in beside), ("results", str(kept))])

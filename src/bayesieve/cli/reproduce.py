"""`bayesieve reproduce`: the tables of papers, measured anew."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bayesieve.cli import compiling
from bayesieve.cli.choices import require_choice, require_jobs
from bayesieve.cli.errors import CommandError, interruptible
from bayesieve.cli.options import Debug
from bayesieve.cli.screen import Screen
from bayesieve.cli.tables import Column
from bayesieve.cli.text import counted, quoted

if TYPE_CHECKING:
    from bayesieve.counts import Smoothing
    from bayesieve.evaluation.reproduce import Report, Study
    from bayesieve.evaluation.reproduce.results_file import ResultsFile
    from bayesieve.evaluation.reproduce.study import Tell

_KEPT = ".jsonl"


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="The paper: rabenoro2015.", show_default=False)],
    repetitions: Annotated[
        int | None,
        typer.Option("--repetitions", "-r", metavar="N", help="10 unless given, 3 with --quick.", show_default=False),
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
            show_default="1 for rabenoro2015",
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
        typer.Option(metavar="DIR", help="Folder of data sets, for papers that need them.", show_default=False),
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
    from bayesieve.evaluation.reproduce import PAPERS, Options, make_study

    options = Options(repetitions, seed, grid, _smoothing(smoothing), jobs, quick)
    study = make_study(paper, options)
    screen = Screen(quiet)
    if data is not None and not study.uses_data:
        screen.note(f"{paper} simulates its data: --data is not used.")
    kept = None if output is None else output.with_suffix(_KEPT)
    results = study.results(kept)
    report = _run(study, results, kept, screen)
    screen.line(PAPERS[paper].citation)
    screen.line()
    _show(report, screen)
    if output is not None:
        from bayesieve.table import write_atomically

        write_atomically(output, report.markdown)
        screen.line()
        screen.pairs([("document", str(output)), ("repetitions", str(kept))])


def _check(paper: str, repetitions: int | None, seed: int, jobs: int, output: Path | None, data: Path | None) -> None:
    """Refuse what has no meaning before any work is done."""
    from bayesieve.evaluation.reproduce import PAPERS

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
        raise CommandError(f"{output} is where finished repetitions would be kept; end --output in .md")
    if output.is_dir():
        raise CommandError(f"{output} is a folder; give the name of a file to write")
    if not output.parent.is_dir():
        raise CommandError(f"There is no folder {output.parent} to write {output.name} in; create it first")


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


def _run(study: Study, results: ResultsFile, kept: Path | None, screen: Screen) -> Report:
    missing = study.missing(results)
    finished = study.repetitions - len(missing)
    if finished:
        screen.note(f"{counted(finished, 'repetition')} of {study.repetitions} found in {kept}.")
    left = f"finished repetitions are in {kept}; the same command goes on from there" if kept else "nothing was kept"
    with interruptible(left), compiling.announced(screen), _progress(study, len(missing), screen) as tell:
        return study.run(results, tell)


@contextmanager
def _progress(study: Study, n_missing: int, screen: Screen) -> Iterator[Tell | None]:
    """A bar on a terminal, a line for every repetition elsewhere."""
    if screen.quiet or not n_missing:
        yield None
    elif screen.shows_progress:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, TimeRemainingColumn(), console=screen.err, transient=True) as progress:
            bar = progress.add_task("Simulating ...", total=n_missing * len(study.parts))

            def draw(number: int, what: str) -> None:
                done = f"Repetition {number + 1} of {study.repetitions}: {what}"
                progress.update(bar, advance=1, description=done)

            yield draw
    else:
        yield _Lines(study, screen)


class _Lines:
    """Says when all parts of a repetition are finished, from whatever thread is the last."""

    def __init__(self, study: Study, screen: Screen) -> None:
        self._study, self._screen = study, screen
        self._finished: dict[int, int] = {}
        self._lock = threading.Lock()

    def __call__(self, number: int, what: str) -> None:
        with self._lock:
            self._finished[number] = self._finished.get(number, 0) + 1
            complete = self._finished[number] == len(self._study.parts)
        if complete:
            self._screen.note(f"Repetition {number + 1} of {self._study.repetitions} is finished.")


def _show(report: Report, screen: Screen) -> None:
    table = report.table
    columns = [Column(title, number) for title, number in zip(table.titles, table.numbers, strict=True)]
    screen.table(columns, table.rows)
    screen.line()
    for finding in report.findings:
        screen.line(finding)

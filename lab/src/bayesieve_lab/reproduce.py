"""Command `bayesieve reproduce`, which reproduces the results of papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesieve.cli import commands
from bayesieve.cli.commands import (
    CommandError,
    Heading,
    Option,
    Screen,
    command,
    interruptible,
    names_in,
    require_choice,
)
from bayesieve.words import quoted

if TYPE_CHECKING:
    from bayesieve.counts import Smoothing
    from bayesieve_lab import Report, Study

_KEPT = ".jsonl"

OPTIONS = [
    Option("PAPER", "The paper: rabenoro2015, boulle2007, abellan2017, blanquero2021 or gidofalvi."),
    Option(
        "--repetitions -r N",
        "Default: 10 for rabenoro2015 (3 with --quick) and gidofalvi (2); cross-validations for the others, 1 "
        "for boulle2007, 10 for abellan2017, up to 10 for blanquero2021 (1 with --quick).",
        type=int,
    ),
    Option("--seed N", "Random seed.", 0),
    Option(
        "--grid NAME",
        "Variant. rabenoro2015: thresholds at levels (of p-values), quantiles, or coarse; abellan2017: weka "
        "(its estimates), imputed (the same, missing values replaced) or observed (no more states than occur).",
        default_in_words="the first",
    ),
    Option(
        "--smoothing ALPHA",
        "Smoothing of probabilities: Laplace's alpha, or m-estimate.",
        default_in_words="m-estimate for boulle2007 and gidofalvi, none for blanquero2021, else 1",
    ),
    Option(
        "--output -o FILE",
        "Markdown file to write; finished folds are saved next to it, and a run can be continued.",
        type=Path,
    ),
    Option(
        "--data DIR",
        "Folder of data sets, for papers that need them; by default they are downloaded.",
        type=Path,
    ),
    Option("--only A,B,...", "Only these data sets of the paper."),
    commands.JOBS,
    Option(
        "--challenge",
        "Section 8 of boulle2007: guesses for the performance prediction challenge.",
    ),
    Option("--quick", "Quick trial on little data."),
    commands.QUIET,
]


@command({"": OPTIONS})
def reproduce(given: Any) -> None:
    """Reproduce the results of PAPER, and print them next to the published ones.

    With --output, run an interrupted command again to continue where it stopped.
    """
    from bayesieve_lab.registry import PAPERS, Options, make_study

    require_choice(given.paper, PAPERS, "paper")
    _check_output(given.output)
    if given.data is not None and not given.data.is_dir():
        raise CommandError(f"There is no folder {given.data}; --data must be the folder with the data sets")
    study = make_study(
        given.paper,
        Options(
            repetitions=given.repetitions,
            seed=given.seed,
            grid=given.grid,
            smoothing=_smoothing(given.smoothing),
            n_jobs=given.jobs,
            quick=given.quick,
            data=given.data,
            only=_data_sets(given.only, given.paper),
            challenge=given.challenge,
        ),
    )
    screen, output = Screen(given.quiet), given.output
    if given.data is not None and not study.uses_data:
        screen.note(f"{given.paper} simulates its data: --data is not used.")
    results = None if output is None else output.with_suffix(_KEPT)
    report = _run(study, results, screen)
    screen.line(PAPERS[given.paper].citation)
    screen.line()
    _show(report, screen)
    if output is not None and results is not None:
        _write(report, output, results, screen)


def _data_sets(only: str | None, paper: str) -> tuple[str, ...]:
    """Return the names in ``only``, the text of the option --only, separated by commas; none if it is None.

    A CommandError is raised if the text has no names, or the paper has no data sets.
    """
    from bayesieve_lab.registry import PAPERS

    names = () if only is None else tuple(names_in(only))
    if only is not None and not names:
        raise CommandError(f"--only {quoted(only)} contains no data set; separate names by commas")
    if names and not PAPERS[paper].uses_data:
        raise CommandError(f"{paper} simulates its data and has no data sets to choose from; omit --only")
    return names


def _check_output(output: Path | None) -> None:
    """Raise an error, before any work is done, if the report could not be written to the path ``output`` at the end."""
    from bayesieve.table.writing import refuse_other_format

    if output is None:
        return
    if output.suffix == _KEPT:
        raise CommandError(f"{output} is the name of the file for finished folds; end --output in .md")
    refuse_other_format(output, "Markdown", ".md")
    if output.is_dir():
        raise CommandError(f"{output} is a folder; give the name of a file to write")
    if not output.parent.is_dir():
        raise CommandError(f"There is no folder {output.parent} to write {output.name} in; create it first")


def _smoothing(text: str | None) -> Smoothing | None:
    """Return the value of the option --smoothing from its text: a number or "m-estimate"; None if it is not given.

    A CommandError is raised if it is invalid.
    """
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
    """Run the study and return its report; ``results`` is the file for finished folds, or None."""
    from bayesieve.cli import compiling, files

    with interruptible(lambda: files.finished_in(results)), compiling.announced(screen):
        return study.run(results, verbose=int(not screen.quiet))


def _show(report: Report, screen: Screen) -> None:
    """Print the tables and findings of a report."""
    for title, table in report.tables:
        screen.line(title)
        columns = [Heading(name, number) for name, number in zip(table.titles, table.numbers, strict=True)]
        screen.table(columns, table.rows)
        screen.line()
    for finding in report.findings:
        screen.line(finding)


def _write(report: Report, output: Path, results: Path, screen: Screen) -> None:
    """Write the report to the path ``output``, after the files that it links to, and print all paths.

    ``results`` is the file for finished folds.
    """
    from bayesieve.table import write_atomically

    linked = [(output.with_name(name), content) for name, content in report.files.items()]
    for path, content in [*linked, (output, report.markdown)]:
        write_atomically(path, content)
    screen.line()
    screen.pairs([("document", str(output)), *(("linked", str(path)) for path, _ in linked), ("results", str(results))])

"""The command line application."""

from __future__ import annotations

from typing import Annotated

import typer

from bayesieve.cli.commands import DEBUG, NO_STUDIES, CommandError, Commands, command, plugins
from bayesieve.cli.compare import compare
from bayesieve.cli.compiling import compile_kernels
from bayesieve.cli.fit import fit
from bayesieve.cli.models import explain, info, predict


@command({})
def reproduce(_: object) -> None:
    """Reproduce the results of papers (after pip install bayesieve-studies)."""
    raise CommandError(NO_STUDIES.format("reproduce"))


def _show_version(is_given: bool) -> None:
    if is_given:
        from bayesieve.version import __version__

        typer.echo(f"bayesieve {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
for function in (fit, predict, explain, info, compare):
    app.command()(function)
app.command("compile")(compile_kernels)
added = plugins("commands")
for point in added:
    app.command(point.name)(point.load())
if "reproduce" not in [point.name for point in added]:
    app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(reproduce)


@app.callback(invoke_without_command=True)
def bayesieve(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help=DEBUG.help)] = False,
) -> None:
    """Selective naive Bayes: a raw table becomes a small, calibrated and explained classifier.

    Tables are CSV, TSV, Parquet or Arrow files with numbers, categories, dates and missing values mixed.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)

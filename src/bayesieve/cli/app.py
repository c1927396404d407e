"""The command line application."""

from __future__ import annotations

from importlib.metadata import entry_points

import typer

from bayesieve.cli.choices import ListsSelectors
from bayesieve.cli.compare import compare
from bayesieve.cli.compile import compile_kernels
from bayesieve.cli.errors import NO_STUDIES, CommandError, Commands
from bayesieve.cli.explain import explain
from bayesieve.cli.fit import fit
from bayesieve.cli.info import info
from bayesieve.cli.options import Debug, Version
from bayesieve.cli.predict import predict

app = typer.Typer(
    cls=Commands,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
app.command(cls=ListsSelectors)(fit)
for command in (predict, explain, info, compare):
    app.command()(command)
app.command("compile")(compile_kernels)
for point in entry_points(group="bayesieve.commands"):
    app.command(point.name)(point.load())
if not any(command.name == "reproduce" for command in app.registered_commands):

    @app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
    def reproduce(context: typer.Context, debug: Debug = False) -> None:
        """Reproduce the results of papers (after pip install bayesieve-studies)."""
        raise CommandError(NO_STUDIES.format("reproduce"))


@app.callback(invoke_without_command=True)
def bayesieve(context: typer.Context, version: Version = False, debug: Debug = False) -> None:
    """Selective naive Bayes: a raw table becomes a small, calibrated and explained classifier.

    Tables are CSV, TSV, Parquet or Arrow files with numbers, categories, dates and missing values mixed.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)

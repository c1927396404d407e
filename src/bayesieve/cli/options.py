"""Arguments and options that several commands share."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

# The panels that group the options of a command in its help.
columns_option = partial(typer.Option, rich_help_panel="Columns")
output_option = partial(typer.Option, rich_help_panel="Output")


def file_option(help: str) -> Any:
    return typer.Option("--output", "-o", metavar="FILE", help=help, show_default=False)


def _show_version(is_given: bool) -> None:
    if is_given:
        from bayesieve.version import __version__

        typer.echo(f"bayesieve {__version__}")
        raise typer.Exit


_TABLES = "CSV, TSV, Parquet or Arrow file{}; text files may end in .gz; - is standard input."
TableFile = Annotated[Path, typer.Argument(metavar="TABLE", help=_TABLES.format(""), show_default=False)]
TableFiles = Annotated[list[Path], typer.Argument(metavar="TABLE...", help=_TABLES.format("s"), show_default=False)]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model.json that `fit` wrote.", show_default=False)]

Target = Annotated[str, columns_option("--target", "-t", metavar="NAME", help="Column to predict.", show_default=False)]
Weight = Annotated[str | None, columns_option(metavar="COLUMN", help="Column of row weights.", show_default=False)]
Normalize = Annotated[bool, columns_option("--normalize", help="Scale the row weights to a mean of 1.")]
Ignore = Annotated[list[str], columns_option(metavar="COLUMN", help="Column to leave out; may be repeated.")]
Numeric = Annotated[list[str], columns_option(metavar="COLUMN", help="Column to read as numbers; may be repeated.")]
Categorical = Annotated[
    list[str], columns_option(metavar="COLUMN", help="Column to read as categories; may be repeated.")
]
Pairs = Annotated[
    str,
    columns_option(
        metavar="PAIRS",
        help="Pairs of columns as further features: auto, a number of pairs at most, or the pairs as A:B,C:D.",
    ),
]
Sums = Annotated[
    int,
    columns_option(
        metavar="N", min=0, help="Sums of two columns of numbers, chosen at random, to try as further features."
    ),
]
Quantiles = Annotated[
    int,
    columns_option(
        metavar="N", min=2, help="Quantiles in which numbers of over 100,000 different values are counted, in pieces."
    ),
]
Prior = Annotated[
    str, columns_option(metavar="NAME", help="How the cost of levels announces them: sizes or published (the papers').")
]

Benefit = Annotated[
    Path | None,
    typer.Option(
        "--benefit",
        metavar="FILE",
        help="JSON file of what decisions bring by class: benefit (a row for each decision), classes, decisions, "
        "amount (a column), amount_benefit, class_prior.",
        show_default=False,
    ),
]

OutputFolder = Annotated[Path, output_option("--output", "-o", metavar="DIR", help="Folder to write into.")]
QuietOutput = Annotated[bool, output_option("--quiet", "-q", help="Print warnings and errors only.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print warnings and errors only.")]
# The error handling reads this option from the raw arguments, because parsing them may be what fails.
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Version = Annotated[
    bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
]

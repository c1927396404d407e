"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def _show_version(wanted: bool) -> None:
    if wanted:
        from bayesieve.version import __version__

        typer.echo(f"bayesieve {__version__}")
        raise typer.Exit


TableFile = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV, Parquet or Arrow file; text files may end in .gz; - is standard input.",
        show_default=False,
    ),
]
# Options about the data have a panel of their own in the help, as have options about output.
_DATA, _OUTPUT = "Columns", "Output"
Target = Annotated[
    str,
    typer.Option(
        "--target", "-t", metavar="NAME", help="Column to predict.", rich_help_panel=_DATA, show_default=False
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column of row weights.", rich_help_panel=_DATA, show_default=False),
]
Normalize = Annotated[
    bool,
    typer.Option("--normalize", help="Scale the row weights to a mean of 1.", rich_help_panel=_DATA),
]
Ignore = Annotated[
    list[str],
    typer.Option(metavar="COLUMN", help="Column to leave out; may be repeated.", rich_help_panel=_DATA),
]
Numeric = Annotated[
    list[str],
    typer.Option(metavar="COLUMN", help="Column to read as numbers; may be repeated.", rich_help_panel=_DATA),
]
Categorical = Annotated[
    list[str],
    typer.Option(metavar="COLUMN", help="Column to read as categories; may be repeated.", rich_help_panel=_DATA),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print warnings and errors only.", rich_help_panel=_OUTPUT)]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model.json that `fit` wrote.", show_default=False)]
# The error handling reads this option from the raw arguments, because parsing them may be what fails.
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Version = Annotated[
    bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
]

"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def _show_version(wanted: bool) -> None:
    if wanted:
        from bayesieve import __version__

        typer.echo(f"bayesieve {__version__}")
        raise typer.Exit


TableFile = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE", help="CSV, TSV, Parquet or Arrow file; text files may end in .gz.", show_default=False
    ),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model.json that `fit` wrote.", show_default=False)]
# Read by the error handling from the arguments themselves, because they may be what is wrong.
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Version = Annotated[
    bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
]

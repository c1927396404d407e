"""Options in tables: a command has rows of them, from which its signature is made, and gets their values."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple

import typer

from bayesieve.cli.errors import CommandError
from bayesieve.words import named, quoted, similar


class Option(NamedTuple):
    """An option as the help shows it, such as ``--jobs -j N``; a flag, such as ``--all``; or an argument: TABLE.

    Arguments must be given unless they are in brackets, as must options with the default `...`. Values have the type of
    the default, or `type`.
    """

    usage: str
    help: str
    default: Any = None
    type: Any = None
    default_in_words: str | None = None

    def parameter(self, panel: str) -> inspect.Parameter:
        """The parameter of a function that typer makes this of, in a panel of the help."""
        names = [word for word in self.usage.split() if word.startswith("-")]
        metavar = self.usage.split()[-1] if names != self.usage.split() else None
        default = False if metavar is None else self.default if names or self.usage.startswith("[") else ...
        of_type = self.type or (str if default in (..., None) else list[str] if default == [] else type(default))
        if default is None:
            of_type = of_type | None
        shown = self.default_in_words or default not in (..., None)
        told: dict[str, Any] = {"metavar": metavar, "help": self.help, "show_default": shown}
        made = typer.Option(*names, **told, rich_help_panel=panel or None) if names else typer.Argument(**told)
        return inspect.Parameter(
            re.sub(r"\W", "", names[0][2:].replace("-", "_") if names else self.usage.lower()),
            inspect.Parameter.KEYWORD_ONLY,
            annotation=Annotated[of_type, made],
            default=inspect.Parameter.empty if default is ... else default,
        )


def command(options: Mapping[str, Iterable[Option]]) -> Callable[[Callable[[Any], None]], Callable[..., None]]:
    """Make a command of a function that takes the values of its options, listed by their panel in the help."""
    parameters = [option.parameter(panel) for panel, rows in options.items() for option in rows]

    def decorate(function: Callable[[Any], None]) -> Callable[..., None]:
        def run(**values: Any) -> None:
            function(SimpleNamespace(**values))

        run.__name__, run.__doc__, run.__module__ = function.__name__, function.__doc__, function.__module__
        run.__signature__ = inspect.Signature([*parameters, DEBUG.parameter("")])  # type: ignore[attr-defined]
        return run

    return decorate


def plugins(what: str) -> Iterable[Any]:
    """Entry points of what installed packages add: commands, selectors or peers."""
    return entry_points(group=f"bayesieve.{what}")


_TABLES = "CSV, TSV, Parquet or Arrow file{}; text files may end in .gz; - is standard input."
TABLE = Option("TABLE", _TABLES.format(""), type=Path)
TABLES = Option("TABLE...", _TABLES.format("s"), type=list[Path])
MODEL = Option("MODEL", "A model.json that `fit` wrote.", type=Path)
TARGET = Option("--target -t NAME", "Column to predict.", ...)
COLUMNS = (
    Option("--weight COLUMN", "Column of row weights."),
    Option("--normalize", "Scale the row weights to a mean of 1."),
    Option("--ignore COLUMN", "Column to leave out; may be repeated.", []),
    Option("--numeric COLUMN", "Column to read as numbers; may be repeated.", []),
    Option("--categorical COLUMN", "Column to read as categories; may be repeated.", []),
    Option("--prior NAME", "Prior of levels: sizes, or published (the papers').", "sizes"),
)
BENEFIT = Option(
    "--benefit FILE",
    "JSON file of what decisions bring by class: benefit (a row for each decision), classes, decisions, "
    "amount (a column), amount_benefit, class_prior.",
    type=Path,
)
JOBS = Option("--jobs -j N", "Threads; -1 is one per core.", -1)
QUIET = Option("--quiet -q", "Print warnings and errors only.")
# The error handling reads this option from the raw arguments, because parsing them may be what fails.
DEBUG = Option("--debug", "Show the traceback of an error.")


def folder(default: str) -> Option:
    """The folder that a command writes into."""
    return Option("--output -o DIR", "Folder to write into.", Path(default))


def require_choice(name: str, known: Collection[str], what: str) -> None:
    """Raise CommandError for an unknown name, and suggest the closest known name or list all of them."""
    if name in known:
        return
    known = list(known)
    meant = similar(name, known)
    hint = f"did you mean {quoted(meant[0])}?" if meant else f"choose from {named(known, most=len(known))}"
    raise CommandError(f"There is no {what} {quoted(name)}; {hint}")


def names_in(text: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))

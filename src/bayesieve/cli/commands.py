"""Base of all commands: options, terminal output, and errors as one line with an exit status.

Functions of commands get one argument ``args`` with the values of all options.
"""

from __future__ import annotations

import inspect
import os
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

from bayesieve.words import did_you_mean, named, quoted, sentence, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

BAD_INPUT = 2
INTERNAL = 1
INTERRUPTED = 130  # exit status 128 + SIGINT, as in shells
BROKEN_PIPE = 141  # exit status 128 + SIGPIPE

LAB_MISSING = "{} needs bayesieve-lab: pip install bayesieve-lab, or pip install ./lab in the repository"

_UsageError: type[Any] = typer.BadParameter.__bases__[0]  # depending on its version, typer contains or imports click
# Messages of the library name Python parameters. The command line replaces such a name at the start of a sentence, and
# "sample_weight" everywhere, by the option of the same meaning. `_OPTIONS` lists options whose name differs.
_OPTIONS = {"random_state": "seed", "sample_weight": "weight"}
_KNOWN = r"n_\w+|random_state|seed|max_seconds|memory_limit|engine|pairs|monotone|levels|prior|calibrate|repetitions"
_PARAMETER = re.compile(rf"^({_KNOWN})(?= (must|names|needs) )|(?<![\w'])sample_weight(?![\w'])")
_TABLES = (
    "CSV, TSV, Parquet, Arrow or Excel file{}; text files may end in .gz; - is standard input; of a SQLite or DuckDB "
    "file a table or query: shop.db::customers, 'shop.db::SELECT ...'."
)
# `Path` turns // into / and drops a final /, which would silently change a query after ::. Such arguments are errors.
_LOST_IN_PATH = re.compile(r"\.(db3?|sqlite3?|duckdb|ddb)::.*(/\.?/|/$)", re.IGNORECASE | re.DOTALL)
_BAR_CELLS, _LONGEST_TEXT, _READABLE_TEXT = 12, 40, 14


class CommandError(Exception):
    """Error that the user can correct. Its message is the only line that the command prints about it."""


class Interrupted(BaseException):
    """Exception on Ctrl-C that ends the whole command. During a search, Ctrl-C only ends the search, which keeps its
    best result.
    """


@contextmanager
def interruptible(consequence: str | Callable[[], str]) -> Iterator[None]:
    """Let Ctrl-C end the command during the block of this context.

    ``consequence`` is the text printed then, which states what was written, or a function that returns it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set signal handlers
        return

    def interrupt(*_: Any) -> None:
        """Raise `Interrupted`; the signal handler for Ctrl-C."""
        signal.signal(signal.SIGINT, lambda *_: None)  # ignore a second Ctrl-C, which would print a traceback
        raise Interrupted(consequence if isinstance(consequence, str) else consequence())

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Commands(TyperGroup):
    """Typer group that reports every error of its commands as one line on the error stream, with an exit status."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, *_: Any, **__: Any) -> Any:
        """Run the command that ``args`` (by default, the arguments of the process) name, and exit with its status."""
        arguments = list(sys.argv[1:] if args is None else args)
        status = 0
        self._main_shell_completion(
            {}, prog_name or "bayesieve"
        )  # if a shell asks for completions, print them and exit
        try:
            if lost := next(filter(_LOST_IN_PATH.search, arguments), None):
                raise CommandError(
                    f"The query after :: in {quoted(lost)} must not contain // or end in /; create a view in the "
                    "database and name the view after ::"
                )
            with _warnings_as_lines(), self.make_context(prog_name, list(arguments)) as context:
                self.invoke(context)
                sys.stdout.flush()
        except SystemExit:  # raised by options that show or install completion
            raise
        except BaseException as error:
            message, status = _explained(error)
            if message:
                if "--debug" in arguments:
                    traceback.print_exception(error)
                typer.echo(f"error: {sentence(message)}", err=True)
        sys.exit(status)


def _explained(error: BaseException) -> tuple[str, int]:
    """Return the line to print for an exception, and the exit status of the command. The line is empty if nothing
    should be printed.
    """
    if isinstance(error, typer.Exit):
        return "", error.exit_code
    if isinstance(error, _UsageError):
        return _usage(error), BAD_INPUT
    if isinstance(error, BrokenPipeError):
        _silence_stdout()
        return "", BROKEN_PIPE
    interruption = _interruption(error)
    if interruption is not None:
        return f"Interrupted: {interruption}" if str(interruption) else "Interrupted", INTERRUPTED
    if isinstance(error, CommandError):
        return str(error), BAD_INPUT
    if isinstance(error, (ValueError, ImportError)) and _raised_by_bayesieve(error):
        return _PARAMETER.sub(_its_option, str(error)), BAD_INPUT
    if isinstance(error, FileNotFoundError) and error.errno is not None and error.filename is None:
        return "The current folder no longer exists; change to another folder", BAD_INPUT
    if isinstance(error, OSError):  # errors of the system have a number; others have a sentence by the library
        place = "Standard output" if error.filename is None else error.filename
        return str(error) if error.errno is None else f"{place}: {error.strerror}", BAD_INPUT
    if isinstance(error, MemoryError):
        return f"Not enough memory{f' ({error})' if str(error) else ''}; use fewer rows or columns", INTERNAL
    what = "".join(traceback.format_exception_only(error)).strip().splitlines()[0]
    return f"Internal error ({what[:200]}); please report it with the output of --debug", INTERNAL


def _usage(error: Any) -> str:
    """Return the message of an error by typer in the options of a command, with a hint to its help."""
    if "embedded null byte" in str(error):
        return "An argument contains a null character, which names of files and columns cannot have; remove it"
    hint = f" (see {error.ctx.command_path} --help)" if error.ctx is not None else ""
    return f"{error.format_message().removesuffix('.')}{hint}"


def _interruption(error: BaseException | None) -> BaseException | None:
    """Return the KeyboardInterrupt that caused an error, or None. Compiled code may have wrapped it in a
    SystemError.
    """
    while isinstance(error, SystemError):
        error = error.__cause__ or error.__context__
    return error if isinstance(error, (KeyboardInterrupt, Interrupted)) else None


def _its_option(match: re.Match[str]) -> str:
    """Return the command line option that corresponds to a Python parameter, given as the match of its name in a
    message.
    """
    name = match[0]
    return "--" + _OPTIONS.get(name, name.removeprefix("n_")).replace("_", "-")


def _raised_by_bayesieve(error: Exception) -> bool:
    """Return whether bayesieve or its lab raised the error, rather than a library that they call."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return str(frames[-1].f_globals.get("__name__", "")).startswith(("bayesieve.", "bayesieve_lab."))


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Print warnings for users as lines on the error stream, and hide warnings for programmers, during the block."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = lambda text, *_, **__: typer.echo(f"warning: {sentence(str(text))}", err=True)
        yield


def _silence_stdout() -> None:
    """Redirect standard output to the null device after its reader has closed it; otherwise the flush at exit would
    fail, too.
    """
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class OptionValues(SimpleNamespace):
    """Values of the options of a command as attributes, such as ``output`` for ``--output``."""


class Option(NamedTuple):
    """Description of a command line option such as ``--jobs -j N``, a flag such as ``--all``, or an argument such as
    TABLE.

    Attributes
    ----------
    usage : names and placeholder of the value, as in the examples; arguments in brackets are optional
    help : text for the help
    default : default value; `...` makes an option required
    type : type of the value; by default that of ``default``
    default_in_words : text for the default in the help
    """

    usage: str
    help: str
    default: Any = None
    type: Any = None
    default_in_words: str | None = None

    def parameter(self, panel: str) -> inspect.Parameter:
        """Return a function parameter from which typer creates this option; ``panel`` is its section of the help."""
        names = [word for word in self.usage.split() if word.startswith("-")]
        metavar = self.usage.split()[-1] if names != self.usage.split() else None
        default = False if metavar is None else self.default if names or self.usage.startswith("[") else ...
        of_type = self.type or (str if default in (..., None) else list[str] if default == [] else type(default))
        if default is None:
            of_type = of_type | None
        shown = self.default_in_words or default not in (..., None)
        settings: dict[str, Any] = {"metavar": metavar, "help": self.help, "show_default": shown}
        parameter = (
            typer.Option(*names, **settings, rich_help_panel=panel or None) if names else typer.Argument(**settings)
        )
        return inspect.Parameter(
            re.sub(r"\W", "", names[0][2:].replace("-", "_") if names else self.usage.lower()),
            inspect.Parameter.KEYWORD_ONLY,
            annotation=Annotated[of_type, parameter],
            default=inspect.Parameter.empty if default is ... else default,
        )


def command(
    options: Mapping[str, Iterable[Option]], module: str = ""
) -> Callable[[Callable[[OptionValues], None]], Callable[..., None]]:
    """Return a decorator that turns a function of option values into a command.

    ``options`` maps titles of sections of the help to the options in them. The docstring of the function is the help of
    the command. If ``module`` is set, the command imports that module only when it runs, and calls its function of the
    same name.
    """
    parameters = [option.parameter(panel) for panel, rows in options.items() for option in rows]

    def decorate(function: Callable[[OptionValues], None]) -> Callable[..., None]:
        """Return the command that runs this function."""

        def run(**values: Any) -> None:
            """Import the code of the command, and call it with the values of the options."""
            runs = getattr(import_module(module), function.__name__) if module else function
            runs(OptionValues(**values))

        run.__name__, run.__doc__, run.__module__ = function.__name__, function.__doc__, function.__module__
        run.__signature__ = inspect.Signature([*parameters, DEBUG.parameter("")])  # type: ignore[attr-defined]
        return run

    return decorate


def plugins(what: str) -> Iterable[Any]:
    """Return the entry points that installed packages provide for ``what``: "commands", "selectors" or "peers"."""
    return entry_points(group=f"bayesieve.{what}")


TABLE = Option("TABLE", _TABLES.format(""), type=Path)
TABLES = Option("TABLE...", _TABLES.format("s"), type=list[Path])
MODEL = Option("MODEL", "A model.json that `fit` wrote.", type=Path)
TARGET = Option("--target -t NAME", "Column to predict.", ...)
COLUMNS = (
    Option("--weight COLUMN", "Column of row weights."),
    Option("--normalize", "Scale the row weights to a mean of 1."),
    Option("--ignore COLUMN", "Column to ignore; may be repeated.", []),
    Option("--numeric COLUMN", "Column to read as numbers; may be repeated.", []),
    Option("--categorical COLUMN", "Column to read as categories; may be repeated.", []),
    Option("--prior NAME", "Prior of the levels: sizes, or published (as in the papers).", "sizes"),
)
BENEFIT = Option(
    "--benefit FILE",
    "JSON file of the benefit of each decision by class: benefit (a row for each decision), classes, decisions, "
    "amount (a column), amount_benefit, class_prior.",
    type=Path,
)
JOBS = Option("--jobs -j N", "Threads; -1 is one per core.", -1)
QUIET = Option("--quiet -q", "Print warnings and errors only.")
# `Commands.main` also looks for --debug in the raw arguments, because parsing them may fail.
DEBUG = Option("--debug", "Show the traceback of an error.")


def folder(default: str) -> Option:
    """Return the option ``--output`` for the folder into which a command writes; ``default`` is its default."""
    return Option("--output -o DIR", "Folder to write into.", Path(default), Path)


def require_choice(name: str, choices: Collection[str], what: str) -> None:
    """Raise CommandError unless ``name`` is one of the choices. The message suggests the closest choice, or lists all.

    ``what`` is the noun for the choices in the message, such as "column".
    """
    if name in choices:
        return
    choices = list(choices)
    hint = did_you_mean(name, choices) or f"choose from {named(choices, most=len(choices))}"
    raise CommandError(f"There is no {what} {quoted(name)}; {hint}")


def names_in(text: str) -> list[str]:
    """Return the distinct names in a text with commas, in order."""
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def assigned(texts: list[str], read: type, rule: str) -> dict[str, Any]:
    """Parse texts of the form NAME=VALUE into a dict, with values converted by the type ``read``.

    Raise CommandError for a text of any other form. Its message is ``rule`` (such as "--code must be a column and its
    code"), followed by the text.
    """
    values = {}
    for text in texts:
        name, _, value = (half.strip() for half in text.rpartition("="))
        try:
            values[name] = read(value)
        except ValueError:
            name = ""
        if not name:
            raise CommandError(f"{rule}, got {quoted(text)}")
    return values


@dataclass(frozen=True)
class Heading:
    """Heading of a column of a table on the terminal.

    Columns with ``number`` are right-aligned and never shortened. Columns with ``bar`` hold numbers that are drawn as
    bars, coloured by sign; they repeat another column and are dropped if the terminal is narrow.
    """

    title: str
    number: bool = False
    bar: bool = False


def numbers(*titles: str) -> list[Heading]:
    """Return headings of numeric columns with these titles."""
    return [Heading(title, number=True) for title in titles]


@dataclass(frozen=True)
class Screen:
    """Output of a command on the terminal: results on standard output, warnings and progress on the error stream.

    If ``quiet`` is True, only warnings and errors are shown. ``about`` is the start of every warning.
    """

    quiet: bool = False
    about: str = ""

    @cached_property
    def out(self) -> Console:
        """Console of standard output."""
        from rich.console import Console

        return Console(highlight=False, soft_wrap=False)

    @cached_property
    def err(self) -> Console:
        """Console of the error stream."""
        from rich.console import Console

        return Console(stderr=True, highlight=False)

    @property
    def shows_progress(self) -> bool:
        """Whether progress is shown: the error stream is a terminal, and ``quiet`` is off."""
        return not self.quiet and self.err.is_terminal

    def line(self, text: str = "", style: str = "") -> None:
        """Print a line on standard output without cutting or wrapping it."""
        if not self.quiet:
            _show(self.out, (text, style))

    def pairs(self, rows: Sequence[tuple[str, str]]) -> None:
        """Print names and values, one pair per line."""
        width = max(len(name) for name, _ in rows)
        for name, value in rows if not self.quiet else ():
            _show(self.out, (f"{name:<{width}}  ", "dim"), (value, ""))

    def table(self, columns: Sequence[Heading], rows: Sequence[Sequence[Any]], strong: Sequence[int] = ()) -> None:
        """Print a table; the rows at the positions ``strong`` are highlighted on a terminal."""
        if self.quiet:
            return
        if self.out.is_terminal:
            self.out.print(table_of(columns, rows, strong, self.out.width))
            return
        from rich.console import Console

        wide = Console(width=1 << 30)
        with wide.capture() as lines:
            wide.print(table_of(columns, rows))
        typer.echo("\n".join(line.rstrip() for line in lines.get().splitlines()))

    def warn(self, text: str) -> None:
        """Print a warning on the error stream, even with ``quiet``."""
        _show(self.err, ("warning: ", "yellow"), (sentence(self.about + text), ""))

    def note(self, text: str) -> None:
        """Print a line about progress on the error stream, unless ``quiet``."""
        if not self.quiet:
            _show(self.err, (text, "dim"))

    @contextmanager
    def working(self, text: str) -> Iterator[Callable[[str], None]]:
        """Show a text with a running clock on the terminal during the block of this context. Yield a function that
        replaces the text.
        """
        from bayesieve.engine.progress import stage

        with stage(visible(text), verbose=int(self.shows_progress)) as rename:
            yield lambda text: rename(visible(text))


def _show(console: Console, *texts: tuple[str, str]) -> None:
    """Print a line of (text, style) segments; styles are dropped outside terminals."""
    from rich.text import Text

    line = Text.assemble(*((visible(text), style) for text, style in texts))
    if console.is_terminal:
        console.print(line, soft_wrap=True)
    else:
        typer.echo(line.plain.rstrip(), err=console.stderr)


def table_of(
    columns: Sequence[Heading], rows: Sequence[Sequence[Any]], strong: Sequence[int] = (), room: int | None = None
) -> Table:
    """Return a table for the terminal. Texts are shortened to its width, and bars dropped if they leave too little room
    for texts.

    ``rows`` hold a value for each of the ``columns``; those at the positions ``strong`` are bold. ``room`` is the width
    in characters; if it is None (output to a file), the table is plain, uncut and without bars.
    """
    from rich import box
    from rich.table import Table

    look: dict[str, Any] = {"box": None, "padding": (0, 2, 0, 0)}
    if room is not None:
        look = {"box": box.SIMPLE_HEAD, "show_edge": False, "header_style": "bold", "padding": (0, 1, 0, 0)}
    table = Table(pad_edge=False, **look)
    has_bars = room is not None and _needed(columns, rows) <= room
    shown = [i for i, column in enumerate(columns) if has_bars or not column.bar]
    for i in shown:
        column = columns[i]
        fixed = _width(column, rows, i) if room is not None and (column.number or column.bar) else None
        most = None if room is None or fixed is not None else _LONGEST_TEXT
        justify: Any = "right" if column.number else "left"
        table.add_column(_text(column.title), justify=justify, no_wrap=room is None, width=fixed, max_width=most)
    for number, row in enumerate(rows):
        cells = [_bar(row[i], [other[i] for other in rows]) if columns[i].bar else _text(row[i]) for i in shown]
        table.add_row(*cells, style="bold" if number in strong else None)
    return table


def _needed(columns: Sequence[Heading], rows: Sequence[Sequence[Any]]) -> int:
    """Return the least width of a table in characters, with texts shortened as far as they stay readable."""
    widths = [_width(column, rows, i) for i, column in enumerate(columns)]
    is_text = [not column.number and not column.bar for column in columns]
    needed = sum(min(width, _READABLE_TEXT) if text else width for width, text in zip(widths, is_text, strict=True))
    return needed + 2 * (len(columns) - 1)


def _width(column: Heading, rows: Sequence[Sequence[Any]], i: int) -> int:
    """Return the width in characters that the longest text of ``column`` needs, the entry ``i`` of each row."""
    from rich.cells import cell_len

    return _BAR_CELLS if column.bar else max(cell_len(visible(text)) for text in (column.title, *(r[i] for r in rows)))


def _text(content: object) -> Text:
    """Return a value as text of one line that is cut with an ellipsis."""
    from rich.text import Text

    return Text(visible(content), no_wrap=True, overflow="ellipsis")


def _bar(value: float | None, others: Sequence[float | None]) -> Text:
    """Return a bar of up to `_BAR_CELLS` characters for the number ``value``; empty for None. ``others`` are all
    numbers of the column, the largest of which has the full length.
    """
    from rich.text import Text

    largest = max(abs(other or 0) for other in others)
    if value is None or largest == 0:
        return Text()
    eighths = round(8 * _BAR_CELLS * abs(value) / largest)
    blocks = "█" * (eighths // 8) + ("", *"▏▎▍▌▋▊▉")[eighths % 8]
    return Text(blocks, style="green" if value > 0 else "red")

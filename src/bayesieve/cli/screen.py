"""Output for people: rich tables and spinners on a terminal, plain lines everywhere else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import typer

from bayesieve.cli.tables import Column, plain_table, rich_table
from bayesieve.cli.text import sentence, visible

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Screen:
    """Standard output and the error stream; `quiet` shows only warnings and errors."""

    quiet: bool = False

    @cached_property
    def out(self) -> Console:
        from rich.console import Console

        return Console(highlight=False, soft_wrap=False)

    @cached_property
    def err(self) -> Console:
        from rich.console import Console

        return Console(stderr=True, highlight=False)

    @property
    def shows_progress(self) -> bool:
        """Whether the error stream is a terminal that shows progress."""
        return not self.quiet and self.err.is_terminal

    def line(self, text: str = "", style: str = "") -> None:
        """Print a line on standard output, never cut or wrapped."""
        if not self.quiet:
            _show(self.out, (text, style))

    def pairs(self, rows: Sequence[tuple[str, str]]) -> None:
        """Print names and values, one pair per line."""
        width = max(len(name) for name, _ in rows)
        for name, value in rows if not self.quiet else ():
            _show(self.out, (f"{name:<{width}}  ", "dim"), (value, ""))

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[Any]], strong: Sequence[int] = ()) -> None:
        """Print a table; rows whose numbers are in `strong` stand out on a terminal."""
        if self.quiet:
            return
        if self.out.is_terminal:
            self.out.print(rich_table(columns, rows, strong, self.out.width))
        else:
            for line in plain_table(columns, rows):
                typer.echo(line)

    def warn(self, text: str) -> None:
        """Print a warning on the error stream, also when quiet."""
        _show(self.err, ("warning: ", "yellow"), (sentence(text), ""))

    def note(self, text: str) -> None:
        """Print a line about the progress on the error stream."""
        if not self.quiet:
            _show(self.err, (text, "dim"))

    @contextmanager
    def working(self, text: str) -> Iterator[None]:
        """Show a spinner on a terminal while the block runs."""
        if not self.shows_progress:
            yield
            return
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        with Progress(*columns, console=self.err, transient=True) as progress:
            progress.add_task(visible(text), total=None)
            yield


def _show(console: Console, *parts: tuple[str, str]) -> None:
    """A line of parts in styles, plain where no terminal shows it."""
    from rich.text import Text

    line = Text.assemble(*((visible(text), style) for text, style in parts))
    if console.is_terminal:
        console.print(line, soft_wrap=True)
    else:
        typer.echo(line.plain.rstrip(), err=console.stderr)

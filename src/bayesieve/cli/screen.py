"""What people see: rich tables and spinners on a terminal, plain lines everywhere else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import typer

from bayesieve.cli.text import one_line, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_BAR_CELLS = 12


@dataclass(frozen=True)
class Column:
    """A column of a printed table.

    The texts of a `number` column stand to the right. A `bar` column holds numbers, drawn as bars of their size and
    coloured by their sign; it repeats others for the eye and is left out of plain lines. A `name` column is cut when
    very long.
    """

    title: str
    number: bool = False
    bar: bool = False
    name: bool = False


@dataclass(frozen=True)
class Screen:
    """Standard output and the error stream. `quiet` silences everything but warnings and errors."""

    quiet: bool = False

    @cached_property
    def out(self) -> Console:
        """Standard output as rich sees it."""
        from rich.console import Console

        return Console(highlight=False, soft_wrap=False)

    @cached_property
    def err(self) -> Console:
        """The error stream as rich sees it."""
        from rich.console import Console

        return Console(stderr=True, highlight=False)

    @property
    def shows_progress(self) -> bool:
        """Whether somebody may be waiting in front of the error stream."""
        return not self.quiet and self.err.is_terminal

    def line(self, text: str = "", style: str | None = None) -> None:
        """A line of standard output; it is never cut or wrapped."""
        if self.quiet:
            return
        if self.out.is_terminal:
            self.out.print(_text(text, style), soft_wrap=True)
        else:
            typer.echo(visible(text))

    def pairs(self, rows: Sequence[tuple[str, str]]) -> None:
        """Names and what belongs to them, one a line."""
        width = max(len(name) for name, _ in rows)
        for name, value in rows:
            if self.out.is_terminal and not self.quiet:
                line = _text(f"{name:<{width}}  ", "dim")
                self.out.print(line.append_text(_text(value)), soft_wrap=True)
            else:
                self.line(f"{name:<{width}}  {value}".rstrip())

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[Any]], strong: Sequence[int] = ()) -> None:
        """A table; rows whose numbers are in `strong` stand out on a terminal."""
        if self.quiet:
            return
        if self.out.is_terminal:
            self.out.print(_rich_table(columns, rows, strong))
        else:
            for line in _plain_table(columns, rows):
                typer.echo(line)

    def warn(self, text: str) -> None:
        """A line on the error stream, also when quiet."""
        if self.err.is_terminal:
            self.err.print(_text("warning: ", "yellow").append_text(_text(one_line(text))), soft_wrap=True)
        else:
            typer.echo(f"warning: {one_line(text)}", err=True)

    def note(self, text: str) -> None:
        """A line on the error stream about what is going on."""
        if self.shows_progress:
            self.err.print(_text(text, "dim"), soft_wrap=True)
        elif not self.quiet:
            typer.echo(visible(text), err=True)

    @contextmanager
    def working(self, text: str) -> Iterator[None]:
        """A spinner on a terminal, while the block runs."""
        if not self.shows_progress:
            yield
            return
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        with Progress(*columns, console=self.err, transient=True) as progress:
            progress.add_task(visible(text), total=None)
            yield


def _text(text: str, style: str | None = None) -> Text:
    from rich.text import Text

    return Text(visible(text), style=style or "")


def _rich_table(columns: Sequence[Column], rows: Sequence[Sequence[Any]], strong: Sequence[int]) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns:
        table.add_column(
            _text(column.title),
            justify="right" if column.number else "left",
            no_wrap=True,
            overflow="ellipsis",
            min_width=_BAR_CELLS if column.bar else None,
            max_width=40 if column.name else None,
        )
    largest = [_largest(row[i] for row in rows) if column.bar else 0.0 for i, column in enumerate(columns)]
    for number, row in enumerate(rows):
        cells = [_bar(v, top) if c.bar else _text(v) for c, v, top in zip(columns, row, largest, strict=True)]
        table.add_row(*cells, style="bold" if number in strong else None)
    return table


def _largest(values: Iterable[float | None]) -> float:
    return max((abs(value) for value in values if value is not None), default=0.0)


def _bar(value: float | None, largest: float) -> Text:
    """A bar of the size of a number, in eighths of a cell; nothing for None."""
    if value is None or largest <= 0:
        return _text("")
    eighths = round(8 * _BAR_CELLS * abs(value) / largest)
    blocks = "█" * (eighths // 8) + ("", *"▏▎▍▌▋▊▉")[eighths % 8]
    return _text(blocks, "green" if value > 0 else "red")


def _plain_table(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> list[str]:
    from rich.cells import cell_len

    kept = [i for i, column in enumerate(columns) if not column.bar]
    cells = [[columns[i].title for i in kept], *([visible(row[i]) for i in kept] for row in rows)]
    widths = [max(cell_len(row[at]) for row in cells) for at in range(len(kept))]
    lines = []
    for row in cells:
        padded = []
        for at, text in enumerate(row):
            space = " " * (widths[at] - cell_len(text))
            padded.append(space + text if columns[kept[at]].number else text + space)
        lines.append("  ".join(padded).rstrip())
    return lines

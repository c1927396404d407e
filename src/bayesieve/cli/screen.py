"""Output for people: rich tables and spinners on a terminal, plain lines everywhere else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import typer

from bayesieve.words import sentence, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

_BAR_CELLS, _LONGEST_TEXT, _READABLE_TEXT = 12, 40, 14


@dataclass(frozen=True)
class Column:
    """A column of a printed table.

    The texts of a `number` column are right-aligned and never cut. A `bar` column holds numbers, drawn as bars coloured
    by their sign; it repeats another column and is dropped if it does not fit.
    """

    title: str
    number: bool = False
    bar: bool = False


def numbers(*titles: str) -> list[Column]:
    """Columns of numbers with these titles."""
    return [Column(title, number=True) for title in titles]


@dataclass(frozen=True)
class Screen:
    """Standard output and the error stream; `quiet` shows only warnings and errors. Warnings begin with `about`."""

    quiet: bool = False
    about: str = ""

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
            self.out.print(table_of(columns, rows, strong, self.out.width))
            return
        from rich.console import Console

        wide = Console(width=1 << 30)
        with wide.capture() as lines:
            wide.print(table_of(columns, rows))
        typer.echo("\n".join(line.rstrip() for line in lines.get().splitlines()))

    def warn(self, text: str) -> None:
        """Print a warning on the error stream, also when quiet."""
        _show(self.err, ("warning: ", "yellow"), (sentence(self.about + text), ""))

    def note(self, text: str) -> None:
        """Print a line about the progress on the error stream."""
        if not self.quiet:
            _show(self.err, (text, "dim"))

    @contextmanager
    def working(self, text: str) -> Iterator[None]:
        """Show a running clock on a terminal while the block runs."""
        from bayesieve.engine.progress import stage

        with stage(visible(text), verbose=int(self.shows_progress)):
            yield


def _show(console: Console, *parts: tuple[str, str]) -> None:
    """Print a line of parts in styles, plain unless on a terminal."""
    from rich.text import Text

    line = Text.assemble(*((visible(text), style) for text, style in parts))
    if console.is_terminal:
        console.print(line, soft_wrap=True)
    else:
        typer.echo(line.plain.rstrip(), err=console.stderr)


def table_of(
    columns: Sequence[Column], rows: Sequence[Sequence[Any]], strong: Sequence[int] = (), room: int | None = None
) -> Table:
    """A table for a terminal `room` cells wide: bars are dropped if texts have little room, texts are cut. Without
    `room`, plain lines: no bars, and nothing is cut.
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


def _needed(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> int:
    """Cells that a table takes if its texts are cut as far as they stay readable."""
    widths = [_width(column, rows, i) for i, column in enumerate(columns)]
    is_text = [not column.number and not column.bar for column in columns]
    needed = sum(min(width, _READABLE_TEXT) if text else width for width, text in zip(widths, is_text, strict=True))
    return needed + 2 * (len(columns) - 1)


def _width(column: Column, rows: Sequence[Sequence[Any]], i: int) -> int:
    from rich.cells import cell_len

    return _BAR_CELLS if column.bar else max(cell_len(visible(text)) for text in (column.title, *(r[i] for r in rows)))


def _text(content: object) -> Text:
    from rich.text import Text

    return Text(visible(content), no_wrap=True, overflow="ellipsis")


def _bar(value: float | None, others: Sequence[float | None]) -> Text:
    """A bar as long as a number is large among others, in eighths of a cell; empty for None."""
    from rich.text import Text

    largest = max(abs(other or 0) for other in others)
    if value is None or largest == 0:
        return Text()
    eighths = round(8 * _BAR_CELLS * abs(value) / largest)
    blocks = "█" * (eighths // 8) + ("", *"▏▎▍▌▋▊▉")[eighths % 8]
    return Text(blocks, style="green" if value > 0 else "red")

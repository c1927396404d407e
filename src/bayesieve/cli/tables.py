"""Tables of text, drawn for a terminal or as plain lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayesieve.cli.text import visible

if TYPE_CHECKING:
    from rich.text import Text

_GAP = 2
_BAR_CELLS = 12
_LONGEST_TEXT = 40
_READABLE = 14  # cells a column of text should keep
_SHORTEST_TEXT = 6


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


def plain_table(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> list[str]:
    """The lines of a table, without bars and with nothing cut."""
    from rich.cells import cell_len

    visible_columns = [i for i, column in enumerate(columns) if not column.bar]
    widths = _natural_widths(columns, rows)
    lines = []
    for row in [[column.title for column in columns], *rows]:
        padded = []
        for i in visible_columns:
            text = visible(row[i])
            space = " " * (widths[i] - cell_len(text))
            padded.append(space + text if columns[i].number else text + space)
        lines.append((" " * _GAP).join(padded).rstrip())
    return lines


def rich_table(columns: Sequence[Column], rows: Sequence[Sequence[Any]], strong: Sequence[int], room: int) -> Any:
    """A table for a terminal `room` cells wide; rows whose numbers are in `strong` stand out."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    widths = _fitting_widths(columns, rows, room)
    visible_columns = [i for i, width in enumerate(widths) if width]
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, _GAP - 1, 0, 0)
    )
    for i in visible_columns:
        side: Any = "right" if columns[i].number else "left"
        title = Text(visible(columns[i].title))
        table.add_column(title, justify=side, no_wrap=True, overflow="ellipsis", width=widths[i])
    largest = [_largest(row[i] for row in rows) if column.bar else 0.0 for i, column in enumerate(columns)]
    for number, row in enumerate(rows):
        cells = [_bar(row[i], largest[i]) if columns[i].bar else Text(visible(row[i])) for i in visible_columns]
        table.add_row(*cells, style="bold" if number in strong else None)
    return table


def _natural_widths(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> list[int]:
    from rich.cells import cell_len

    return [
        _BAR_CELLS if column.bar else max(cell_len(visible(text)) for text in (column.title, *(row[i] for row in rows)))
        for i, column in enumerate(columns)
    ]


def _fitting_widths(columns: Sequence[Column], rows: Sequence[Sequence[Any]], room: int) -> list[int]:
    """Widths that fit: bars are dropped first, then the longest texts are shortened; numbers are never cut."""
    widths = _natural_widths(columns, rows)
    texts = [i for i, column in enumerate(columns) if not column.number and not column.bar]
    for i in texts:
        widths[i] = min(widths[i], _LONGEST_TEXT)
    readable = [min(width, _READABLE) if i in texts else width for i, width in enumerate(widths)]
    if _total(readable) > room:
        widths = [0 if column.bar else width for column, width in zip(columns, widths, strict=True)]
    while _total(widths) > room and max(widths[i] for i in texts) > _SHORTEST_TEXT:
        widths[max(texts, key=lambda i: widths[i])] -= 1
    return widths


def _total(widths: Sequence[int]) -> int:
    shown = [width for width in widths if width]
    return sum(shown) + _GAP * (len(shown) - 1)


def _largest(values: Iterable[float | None]) -> float:
    return max((abs(value) for value in values if value is not None), default=0.0)


def _bar(value: float | None, largest: float) -> Text:
    """A bar as long as a number is large, in eighths of a cell; empty for None."""
    from rich.text import Text

    if value is None or largest <= 0:
        return Text()
    eighths = round(8 * _BAR_CELLS * abs(value) / largest)
    blocks = "█" * (eighths // 8) + ("", *"▏▎▍▌▋▊▉")[eighths % 8]
    return Text(blocks, style="green" if value > 0 else "red")

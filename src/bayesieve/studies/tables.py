"""Markdown tables, and their numbers as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TextTable:
    """A table of texts.

    Attributes
    ----------
    titles : titles of the columns.
    numbers : which columns hold numbers, aligned to the right.
    rows : texts, one for each column.
    """

    titles: tuple[str, ...]
    numbers: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]]) -> TextTable:
        """Build a table from rows and columns; a column is (title, whether it holds numbers)."""
        titles, numbers = zip(*columns, strict=True)
        for row in rows:
            if len(row) != len(titles):
                raise ValueError(f"A row of {len(row)} texts does not fit a table of {len(titles)} columns: {row!r}.")
        return cls(titles, numbers, tuple(tuple(row) for row in rows))

    def to_markdown(self) -> str:
        """The table in Markdown, padded so that it reads well as plain text too.

        Examples
        --------
        >>> from bayesieve.studies.tables import TextTable
        >>> print(TextTable.of([("method", False), ("error", True)], [["MI filter", ".1"]]).to_markdown())
        | method    | error |
        |:----------|------:|
        | MI filter |    .1 |
        """
        cells = [[text.replace("|", "\\|") for text in row] for row in (self.titles, *self.rows)]
        widths = [max(3, *(len(row[k]) for row in cells)) for k in range(len(self.titles))]
        lines = [self._line(row, widths) for row in cells]
        rule = [
            "-" * (width + 1) + ":" if number else ":" + "-" * (width + 1)
            for width, number in zip(widths, self.numbers, strict=True)
        ]
        return "\n".join([lines[0], f"|{'|'.join(rule)}|", *lines[1:]])

    def _line(self, row: Sequence[str], widths: Sequence[int]) -> str:
        texts = [
            text.rjust(width) if number else text.ljust(width)
            for text, width, number in zip(row, widths, self.numbers, strict=True)
        ]
        return f"| {' | '.join(texts)} |"


def mean_and_spread(values: Sequence[float] | np.ndarray, digits: int) -> str:
    """Mean ± standard deviation; the mean alone of one value."""
    mean = f"{np.mean(values):.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {np.std(values, ddof=1):.{digits}f}"


def signed(value: float, digits: int) -> str:
    """A difference, with its sign."""
    return f"{value:+.{digits}f}"


def p_text(p_value: float) -> str:
    """A p-value."""
    return "< 0.0001" if p_value < 0.0001 else f"{p_value:.2g}" if p_value < 0.1 else f"{p_value:.2f}"

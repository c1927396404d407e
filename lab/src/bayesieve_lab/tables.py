"""Markdown documents, their tables, and texts of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bayesieve.counts import Smoothing

_PADDED = 40  # characters to which cells are padded: longer ones are not aligned in plain text


@dataclass(frozen=True)
class TextTable:
    """A table of texts.

    Attributes
    ----------
    titles : titles of the columns.
    numbers : whether each column has numbers, which are aligned to the right.
    rows : texts, one for each column.
    """

    titles: tuple[str, ...]
    numbers: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> TextTable:
        """Return a table from the titles of its columns and its rows.

        A title that begins with ">" is that of a column of numbers, which is aligned to the right.
        """
        for row in rows:
            if len(row) != len(columns):
                raise ValueError(
                    f"A row of {len(row)} texts does not fit a table of {len(columns)} columns: {row!r}. Give one "
                    "text for each column."
                )
        numbers = tuple(title.startswith(">") for title in columns)
        return cls(tuple(title.removeprefix(">") for title in columns), numbers, tuple(map(tuple, rows)))

    @classmethod
    def of_data_sets(cls, names: Sequence[str], methods: Iterable[str], matrix: np.ndarray, digits: int) -> TextTable:
        """Return a table of numbers, ``matrix`` (n_data, n_methods), with one row per data set and one column per
        method.

        ``names`` and ``methods`` are those of rows and columns; numbers have ``digits`` decimals.
        """
        lines = zip(names, matrix.tolist(), strict=True)
        rows = [(name, *(number_text(value, f".{digits}f") for value in line)) for name, line in lines]
        return cls.of(("Data set", *(f">{method}" for method in methods)), rows)

    def to_markdown(self) -> str:
        """Return the table in Markdown, with short columns padded so that it reads well as plain text too.

        Examples
        --------
        >>> from bayesieve_lab.tables import TextTable
        >>> print(TextTable.of(("method", ">error"), [["MI filter", ".1"]]).to_markdown())
        | method    | error |
        |:----------|------:|
        | MI filter |    .1 |
        """
        cells = [[text.replace("|", "\\|") for text in row] for row in (self.titles, *self.rows)]
        widths = [min(_PADDED, max(3, *(len(row[k]) for row in cells))) for k in range(len(self.titles))]
        marks = [">" if number else "<" for number in self.numbers]
        lines = [
            " | ".join(f"{text:{mark}{width}}" for text, mark, width in zip(row, marks, widths, strict=True))
            for row in cells
        ]
        rules = ["-" * (width + 1) for width in widths]
        rule = "|".join(
            f"{dashes}:" if number else f":{dashes}" for dashes, number in zip(rules, self.numbers, strict=True)
        )
        return "\n".join([f"| {lines[0]} |", f"|{rule}|", *(f"| {line} |" for line in lines[1:])])


def document(template: Path, **context: Any) -> str:
    """Return a Markdown document from a Jinja template, with ``context`` as its variables.

    Variables may be tables, and tuples of sentences, which become lists.
    """
    import jinja2

    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, finalize=_markdown)
    text = environment.from_string(template.read_text(encoding="utf-8")).render(**context)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _markdown(part: Any) -> Any:
    """Return a table as Markdown, a tuple of sentences as a Markdown list, and other variables unchanged."""
    if isinstance(part, TextTable):
        return part.to_markdown()
    return "\n".join(f"- {sentence}" for sentence in part) if isinstance(part, tuple) else part


def mean_and_spread(values: Sequence[float] | np.ndarray, digits: int) -> str:
    """Return mean ± standard deviation of values as text with ``digits`` decimals; only the mean of a single value.

    It is a dash if any value is NaN.
    """
    if np.isnan(values).any():
        return "–"
    mean = f"{np.mean(values):.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {np.std(values, ddof=1):.{digits}f}"


def signed(value: float, digits: int) -> str:
    """Return a number as text with its sign and ``digits`` decimals."""
    return f"{value:+.{digits}f}"


def number_text(value: float, form: str) -> str:
    """Return a number as text in the Python format ``form``; a dash for NaN.

    If the format ends in "pt", the number is a share that is shown in percentage points.

    Examples
    --------
    >>> from bayesieve_lab.tables import number_text
    >>> number_text(-0.0448, "+.2pt"), number_text(1033, ",.0f")
    ('-4.48 points', '1,033')
    """
    if value != value:
        return "–"
    return f"{100 * value:{form.removesuffix('pt')}f} points" if form.endswith("pt") else f"{value:{form}}"


def p_text(p_value: float) -> str:
    """Return a p-value as text: "< 0.0001", two significant digits below 0.1, otherwise two decimals."""
    return "< 0.0001" if p_value < 0.0001 else f"{p_value:.2g}" if p_value < 0.1 else f"{p_value:.2f}"


def p_range(p_values: Iterable[float]) -> str:
    """Return the range of p-values as text, such as "p = 0.01 to 0.20"; empty if there are none."""
    ascending = sorted(p_values)
    ends = dict.fromkeys(p_text(ascending[k]) for k in (0, -1)) if ascending else {}
    return f"p = {' to '.join(ends)}".replace("= <", "<") if ends else ""


def smoothing_text(smoothing: Smoothing, m_estimate: str) -> str:
    """Return the smoothing in words; ``m_estimate`` is the text for the m-estimate."""
    return m_estimate if smoothing == "m-estimate" else f"Laplace's alpha = {smoothing:g}"

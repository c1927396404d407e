"""Detection of text columns that hold numbers or dates, with a few other values or in an unusual notation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bayesieve.table.text_dates import DayMonthOrder, moments
from bayesieve.table.text_types import trimmed_values

_MOST_OTHERS = 0.1  # share of the different texts that have another form
_FEWEST = {"number": 10, "formatted number": 10, "date": 3, "short date": 10}  # different texts
_DAY, _MONTH = r"(0?[1-9]|[12]\d|3[01])", r"(0?[1-9]|1[0-2])"
_SHORT_DATE = rf"^({_DAY}[./-]{_MONTH}|{_MONTH}[./-]{_DAY})[./-]\d\d$"
_BEGINNING = r"^([\d\s€$£+.-]|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|inf|nan))"  # of numbers and dates
# Numbers with separators of thousands or a unit, such as 1,234.5 or 1.234,5 or 12 %.
_FORMATTED = r"^[€$£]?\s?[+-]?(\d{1,3}([,.'’ \x{a0}\x{202f}]\d{3})+|\d+)([.,]\d+)?\s?[%€$£]?$"


@dataclass(frozen=True)
class TextForm:
    """Form (number or date) of at least 90 % of the distinct texts of a column.

    Attributes
    ----------
    kind : "number", "formatted number" (with thousands separators, decimal commas, signs of percent or currencies),
        "date" or "short date" (with years of two digits)
    example : str
        A text of this form.
    others : list of str
        Texts of other forms; empty if all are numbers or marks of missing numbers.
    n_texts : int
        Number of distinct texts, without blanks and marks of missing numbers.
    is_ordered : bool
        Whether the texts prove one order of day and month; True for numbers.
    """

    kind: Literal["number", "formatted number", "date", "short date"]
    example: str
    others: list[str]
    n_texts: int
    is_ordered: bool = True


def form_of(texts: Sequence[str]) -> TextForm | None:
    """Return the form of a text column from its distinct texts, if most of them are numbers or dates; None for plain
    text.

    Columns of codes of digits, such as 007, are plain text unless a mark of a missing number is among them.
    """
    import polars as pl

    column = pl.Series(list(texts), dtype=pl.String)
    values = trimmed_values(column).unique(maintain_order=True)
    numbers = values.cast(pl.Float64, strict=False).is_not_null()
    if numbers.all():  # of no values, too
        is_marked = (
            len(values) >= _FEWEST["number"] and len(trimmed_values(column)) < (column.str.strip_chars() != "").sum()
        )
        return TextForm("number", values[0], [], len(values)) if is_marked else None
    # Skip columns of words early: matching patterns and calendars is slow.
    if int((~values.str.contains(_BEGINNING)).sum()) > _MOST_OTHERS * len(values):
        return None
    formatted = numbers | values.str.contains(_FORMATTED)
    order = DayMonthOrder()
    order.add(values)
    dates = moments(order.to_iso(values, default=True)).is_not_null()
    short = values.str.contains(_SHORT_DATE)
    for kind, fits in (("number", numbers), ("formatted number", formatted), ("date", dates), ("short date", short)):
        n_others = int((~fits).sum())
        if len(values) >= _FEWEST[kind] and n_others <= _MOST_OTHERS * len(values):
            others = values.filter(~fits).to_list()
            examples = values.filter(fits & ~numbers if kind == "formatted number" else fits)
            is_ordered = kind != "date" or order.is_clear
            return TextForm(kind, examples[0], others, len(values), is_ordered)  # type: ignore[arg-type]
    return None

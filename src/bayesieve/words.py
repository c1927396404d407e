"""Formatting of numbers, names and lists as text, for messages, reports, notebooks and the command line."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from html import escape
from typing import Any

ABSENT = "–"
MINUS = "\N{MINUS SIGN}"
# Control characters and lone surrogates are invalid in HTML, and files in UTF-8 cannot hold lone surrogates.
_INVALID = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# Characters that reverse the direction of following text could change the meaning of a line.
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
_UNPRINTABLE = frozenset(("Cc", "Cs", "Zl", "Zp"))
_MOST_NAMED, _LONGEST = 5, 200

_LONGEST_REPR, _LONGEST_VALUE = 400, 60
_FEW = 4  # numbers that are shown as they are


def format_number(value: float | None, digits: int = 3) -> str:
    """Return a number with ``digits`` decimals and thousands separators; a dash for None or NaN.

    Examples
    --------
    >>> format_number(0.80905), format_number(1234.5, 1), format_number(float("nan"))
    ('0.809', '1,234.5', '–')
    """
    if value is None or math.isnan(value):
        return ABSENT
    text = f"{value:,.{digits}f}"
    if text.startswith("-"):  # a typographic minus, but no sign of what rounds to zero
        return MINUS + text[1:] if any(digit in text for digit in "123456789n") else text[1:]
    return text


def format_count(value: float | None) -> str:
    """Return a number of rows with thousands separators, with one decimal if row weights make it fractional.

    Examples
    --------
    >>> format_count(12345.0), format_count(12.34)
    ('12,345', '12.3')
    """
    return format_number(value, 0 if value is None or float(value).is_integer() or abs(value) >= 1000 else 1)


def format_money(value: float, unit: str = "") -> str:
    """Return an amount with its unit, rounded to whole units if it is large.

    A sign such as "$" precedes the amount, a word such as "EUR" follows it.

    Examples
    --------
    >>> format_money(1234.5), format_money(-3.2, "$"), format_money(12.0, "EUR")
    ('1,234', '$−3.20', '12.00 EUR')
    """
    text = format_count(round(value)) if abs(value) >= 1000 else format_number(value, 2)
    return f"{unit}{text}" if len(unit) == 1 else f"{text} {unit}".strip()


def format_percent(value: float | None, digits: int = 1) -> str:
    """Return a share from 0 to 1 as a percentage with ``digits`` decimals; a dash for None or NaN.

    Examples
    --------
    >>> format_percent(0.775), format_percent(None)
    ('77.5%', '–')
    """
    if value is None or not math.isfinite(value):
        return format_number(value, digits)
    return format_number(100 * value, digits) + "%"


def format_signed(value: float | None, digits: int = 2) -> str:
    """Return a number with ``digits`` decimals that always shows its sign, unless it rounds to zero.

    Examples
    --------
    >>> format_signed(1.234), format_signed(-0.5), format_signed(-0.001)
    ('+1.23', '−0.50', '0.00')
    """
    text = format_number(value, digits)
    if value is None or not value > 0 or not any(digit in text for digit in "123456789n"):
        return text
    return "+" + text


def format_seconds(value: float | None) -> str:
    """Return a duration, given in seconds, with a suitable unit.

    Examples
    --------
    >>> format_seconds(0.0123), format_seconds(3.21), format_seconds(754)
    ('12 ms', '3.2 s', '12 min 34 s')
    """
    if value is None or not math.isfinite(value):
        return ABSENT
    if value < 1:
        return f"{1000 * value:.0f} ms"
    if value < 60:
        return f"{value:.1f} s"
    minutes, seconds = divmod(round(value), 60)
    return f"{minutes} min {seconds} s"


def utc_now() -> str:
    """Return the current time in UTC as ISO 8601, to the second.

    >>> len(utc_now()), utc_now()[-6:]
    (25, '+00:00')
    """
    return datetime.now(UTC).isoformat(timespec="seconds")


def local_now() -> str:
    """Return the current local time, to the minute.

    >>> len(local_now())
    16
    """
    return datetime.now().astimezone().strftime("%Y-%m-%d %H:%M")


def p_text(p_value: float) -> str:
    """Return a p-value as text; "no test" for NaN.

    Examples
    --------
    >>> p_text(0.0312), p_text(0.00001), p_text(float("nan"))
    ('p 0.031', 'p < 0.001', 'no test')
    """
    if math.isnan(p_value):
        return "no test"
    return "p < 0.001" if p_value < 0.001 else f"p {format_number(p_value, 3)}"


def plural(number: float, singular: str, several: str | None = None) -> str:
    """Return a number with its noun: ``singular`` for 1, otherwise ``several``, by default with an added s.

    Examples
    --------
    >>> plural(1, "level"), plural(1200, "level"), plural(2, "class", "classes")
    ('1 level', '1,200 levels', '2 classes')
    """
    noun = singular if number == 1 else several or singular + "s"
    return f"{format_count(number)} {noun}"


def shorten(text: str, limit: int) -> str:
    """Return a text of at most ``limit`` characters; a longer one ends with an ellipsis in place of the rest.

    Examples
    --------
    >>> shorten("a long label", 8)
    'a long …'
    """
    return text if len(text) <= limit else text[: limit - 1] + "…"


def not_blank(text: str) -> str:
    """Return the text, or a description such as "(blank)" if no character is visible."""
    return text if text.strip() else "(empty)" if not text else "(blank)"


def visible(text: object) -> str:
    """Return a text with control characters escaped, so that a name from data cannot move the cursor or break a
    line.
    """
    return "".join(_escaped(c) if unicodedata.category(c) in _UNPRINTABLE else c for c in _spelt_out(str(text)))


def _escaped(character: str) -> str:
    """Return the escape sequence of a character."""
    return character.encode("unicode_escape").decode("ascii")


def _spelt_out(text: str) -> str:
    """Return a text in which characters that change its direction are escaped."""
    return _TURNING.sub(lambda match: _escaped(match.group()), text)


def printable(text: str) -> str:
    """Replace characters that are invalid in HTML by U+FFFD, and escape those that change the direction of text.

    Examples
    --------
    >>> printable("a\\x00b \\u202ec")
    'a\ufffdb \\\\u202ec'
    """
    return _INVALID.sub("\N{REPLACEMENT CHARACTER}", _spelt_out(text))


def sentence(text: str) -> str:
    """Return a message on one line, with a full stop at its end unless it ends with a mark such as ? or a bracket."""
    line = visible(" ".join(text.split()))
    return line if line.endswith((".", "?", "!", ")")) else f"{line}."


def cut(text: str, limit: int) -> str:
    """Return a text of at most ``limit`` characters; a longer one ends with three dots in place of the rest."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def quoted(name: object) -> str:
    """Return a name in quotation marks, shortened if it is long."""
    return f"'{visible(cut(str(name), _LONGEST))}'"


def quoted_text(text: str) -> str:
    """Return a text as a Python literal, cut to 60 characters before it is quoted."""
    return repr(cut(text, 60))


def named(names: Iterable[object], most: int = _MOST_NAMED) -> str:
    """Return names in quotation marks as one list; if there are more than ``most``, the first ``most`` and how many
    others.

    Examples
    --------
    >>> named(["a", "b", "c"]), named(["a", "b", "c"], most=2)
    ("'a', 'b' and 'c'", "'a', 'b' and 1 more")
    """
    names = list(names)
    return listed([*map(quoted, names[:most]), *map(str, names[most:])], most)


def listed(texts: Sequence[str], most: int = _MOST_NAMED) -> str:
    """Return texts joined to a list such as "a, b and c"; if there are more than ``most``, the first ``most`` and how
    many others.
    """
    shown = [*texts[:most], *([f"{len(texts) - most:,} more"] if len(texts) > most else [])]
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else "".join(shown)


def agreeing(columns: Sequence[str], sentence: str, most: int = 5) -> str:
    """Return a sentence about one or several columns.

    In ``sentence``, ``[one|several]`` marks wording that depends on the number of columns, and ``{}`` stands for their
    names, of which at most ``most`` are listed.
    """
    words = re.sub(r"\[(.*?)\|(.*?)\]", r"\1" if len(columns) == 1 else r"\2", sentence)
    return words.replace("{}", named(columns, most))


def similar(name: str, names: Sequence[str]) -> list[str]:
    """Return up to three of ``names`` that are spelt like ``name``, the most similar first; case is ignored."""
    import difflib

    folded = {other.casefold(): other for other in reversed(names)}
    close = difflib.get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.6)
    return [folded[other] for other in close]


def did_you_mean(unknown: str | Sequence[str], names: Iterable[str]) -> str:
    """Return a question that suggests the most similar `names` for one unknown name or several; empty if none is
    similar.

    Examples
    --------
    >>> did_you_mean("agee", ["age", "wage", "job"])
    "did you mean 'age' or 'wage'?"
    """
    names, unknown = list(names), [unknown] if isinstance(unknown, str) else unknown
    if len(unknown) == 1:
        meant, word = similar(unknown[0], names), " or "
    else:
        meant, word = list(dict.fromkeys(name for one in unknown for name in similar(one, names)[:1])), " and "
    return f"did you mean {word.join(map(quoted, meant))}?" if meant else ""


class ShortRepr:
    """Mixin for a repr of bounded length, shown as a small table in notebooks.

    The repr shows what `_facts` returns: by default the fields of a dataclass, which must set ``repr=False``. Classes
    that are not dataclasses override `_facts`. In notebooks, a second table shows the columns that `_head` returns, if
    any.
    """

    def _facts(self) -> dict[str, Any]:
        """Return the values that the repr shows, by name."""
        assert is_dataclass(self)
        return {field.name: getattr(self, field.name) for field in fields(self) if field.repr}

    def _head(self) -> Mapping[str, Sequence[Any]]:
        """Return the first rows of the content, at most ten, as a mapping from column titles to values. It must need no
        further computation; by default it is empty.
        """
        return {}

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={shown(value)}" for name, value in self._facts().items())
        return f"{type(self).__name__}({cut(inside, _LONGEST_REPR)})"

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show: a table of the values of `_facts` and, if `_head` has columns, a table
        of these.
        """
        lines = "".join(
            f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(shown(value))}'
            "</td></tr>"
            for name, value in self._facts().items()
        )
        html = f"<table><caption>{escape(type(self).__name__)}</caption><tbody>{lines}</tbody></table>"
        if not (head := self._head()):
            return html
        rows = [map(_cell, row) for row in zip(*head.values(), strict=True)]
        body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
        titles = "".join(f"<th>{_cell(name)}</th>" for name in head)
        return f"{html}<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    """Return one value in a table for notebooks as escaped HTML text, shortened if it is long."""
    return escape(visible(cut(value, 2 * _LONGEST_VALUE)) if isinstance(value, str) else shown(value))


def shown(value: Any) -> str:
    """Return a value as short text: the value itself, its first entries, or its type and size.

    Examples
    --------
    >>> shown(0.1234567), shown("a" * 100), shown(list(range(1000)))
    ('0.123457', "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...", '[0, 1, 2, ... 997 more]')
    """
    import numpy as np  # late: the help of the command line needs words only

    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, np.ndarray):
        told = _entries(value[: _FEW + 1].tolist(), value.size) if value.ndim == 1 else None
        return told or f"<{value.dtype} array {' x '.join(map(str, value.shape))}>"
    if isinstance(value, (list, tuple)) and value and (told := _entries(value[: _FEW + 1], len(value))):
        return told
    if isinstance(value, (Sequence, Mapping)) and not isinstance(value, (str, bytes)):
        if len(value) > _FEW or len(text := repr(value)) > _LONGEST_VALUE:
            return f"<{len(value):,} {'entry' if len(value) == 1 else 'entries'}>"
        return text
    if isinstance(value, str):
        return cut(repr(value[: 2 * _LONGEST_VALUE]), _LONGEST_VALUE)
    return cut(repr(value), _LONGEST_VALUE)


def _entries(values: list[Any] | tuple[Any, ...], n: int) -> str | None:
    """Return the beginning of a list or tuple as text, such as "[0, 1, 2, ... 997 more]"; None if not even one entry
    fits.

    ``values`` are the first entries, and ``n`` is the number of all entries.
    """
    texts = [shown(value) for value in values]
    for k in (n, 3, 2, 1):
        inside = ", ".join([*texts[:k], *([f"... {n - k:,} more"] if k < n else [])])
        text = f"[{inside}]" if isinstance(values, list) else f"({inside},)" if n == 1 else f"({inside})"
        if k <= min(n, _FEW) and len(text) <= _LONGEST_VALUE:
            return text
    return None

"""Formats of numbers and texts in reports."""

from __future__ import annotations

import math
import re

ABSENT = "–"
MINUS = "\N{MINUS SIGN}"
# Control characters and lone surrogates are invalid in HTML; the latter cannot even be written to a file.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# Characters that turn the direction of the text after them, beyond the end of a name.
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")

_MANY_DIGITS = re.compile(r"(?<!\d)\d{1,15}\.\d{5,}(e[+-]?\d{1,3})?", re.ASCII)


def _with_minus(text: str) -> str:
    """Typographic minus, and no sign on a number that rounds to zero."""
    if text.startswith("-"):
        return MINUS + text[1:] if any(digit in text for digit in "123456789n") else text[1:]
    return text


def format_number(value: float | None, digits: int = 3) -> str:
    """A number with a fixed number of decimals, or a dash for none.

    Examples
    --------
    >>> format_number(0.80905), format_number(1234.5, 1), format_number(float("nan"))
    ('0.809', '1,234.5', '–')
    """
    if value is None or math.isnan(value):
        return ABSENT
    return _with_minus(f"{value:,.{digits}f}")


def format_count(value: float | None) -> str:
    """A number of rows, with one decimal if row weights make it fractional.

    Examples
    --------
    >>> format_count(12345.0), format_count(12.34)
    ('12,345', '12.3')
    """
    return format_number(value, 0 if value is None or float(value).is_integer() or abs(value) >= 1000 else 1)


def format_money(value: float, unit: str = "") -> str:
    """An amount, whole where it is large, with its unit: a sign before it, a word after it.

    Examples
    --------
    >>> format_money(1234.5), format_money(-3.2, "$"), format_money(12.0, "EUR")
    ('1,234', '$−3.20', '12.00 EUR')
    """
    text = format_count(round(value)) if abs(value) >= 1000 else format_number(value, 2)
    return f"{unit}{text}" if len(unit) == 1 else f"{text} {unit}".strip()


def format_percent(value: float | None, digits: int = 1) -> str:
    """A share as a percentage.

    Examples
    --------
    >>> format_percent(0.775), format_percent(None)
    ('77.5%', '–')
    """
    if value is None or not math.isfinite(value):
        return format_number(value, digits)
    return format_number(100 * value, digits) + "%"


def format_signed(value: float | None, digits: int = 2) -> str:
    """A number that always shows its sign, unless it rounds to zero.

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
    """A duration with a suitable unit.

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


def p_text(p_value: float) -> str:
    """A p-value as text.

    Examples
    --------
    >>> p_text(0.0312), p_text(0.00001), p_text(float("nan"))
    ('p 0.031', 'p < 0.001', 'no test')
    """
    if math.isnan(p_value):
        return "no test"
    return "p < 0.001" if p_value < 0.001 else f"p {format_number(p_value, 3)}"


def plural(number: float, singular: str, several: str | None = None) -> str:
    """The number with its noun.

    Examples
    --------
    >>> plural(1, "level"), plural(1200, "level"), plural(2, "class", "classes")
    ('1 level', '1,200 levels', '2 classes')
    """
    noun = singular if number == 1 else several or singular + "s"
    return f"{format_count(number)} {noun}"


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters, an ellipsis in place of the rest.

    Examples
    --------
    >>> shorten("a long label", 8)
    'a long …'
    """
    return text if len(text) <= limit else text[: limit - 1] + "…"


def shorten_middle(text: str, limit: int) -> str:
    """At most `limit` characters, keeping both ends: names with numbers or thresholds differ at the end.

    Examples
    --------
    >>> shorten_middle("score of window 12<=0.05", 16)
    'score o…12<=0.05'
    """
    if len(text) <= limit:
        return text
    tail = limit // 2
    return text[: limit - tail - 1].rstrip() + "…" + text[len(text) - tail :]


def visible(text: str) -> str:
    """The text, or a description if it is invisible."""
    return text if text.strip() else "(empty)" if not text else "(blank)"


def printable(text: str) -> str:
    """Replace characters that are invalid in HTML by U+FFFD, and spell out those that turn the direction of the text.

    Examples
    --------
    >>> printable("a\\x00b \\u202ec")
    'a\ufffdb \\\\u202ec'
    """
    text = _TURNING.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def few_digits(text: str) -> str:
    """Shorten decimals in a name, such as a learnt threshold, to four digits.

    Examples
    --------
    >>> few_digits("U(w=60)<=0.0005264041831877983"), few_digits("v1.25")
    ('U(w=60)<=0.0005264', 'v1.25')
    """
    return _MANY_DIGITS.sub(lambda match: f"{float(match.group()):.4g}", text)

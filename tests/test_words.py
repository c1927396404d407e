"""Lists, numbers and quoted names in messages read as people write them."""

from __future__ import annotations

import math

import pytest

from bayesieve import words as formats


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.000"),
        (0.12345, "0.123"),
        (-0.0001, "0.000"),
        (-2.5, "−2.500"),
        (12345.6, "12,345.600"),
        (math.nan, "–"),
        (None, "–"),
    ],
)
def test_number(value, text):
    assert formats.format_number(value) == text


def test_infinite_numbers_are_printed_as_such():
    assert formats.format_number(math.inf) == "inf"
    assert formats.format_number(-math.inf) == "−inf"
    assert formats.format_signed(math.inf) == "+inf"
    assert formats.format_percent(math.inf) == "inf"


@pytest.mark.parametrize(
    ("value", "text"), [(7, "7"), (7.0, "7"), (7.25, "7.2"), (123456.7, "123,457"), (math.nan, "–"), (None, "–")]
)
def test_count(value, text):
    assert formats.format_count(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "+0.50"), (-0.5, "−0.50"), (0.001, "0.00"), (-0.001, "0.00"), (0.0, "0.00"), (math.nan, "–")],
)
def test_signed(value, text):
    assert formats.format_signed(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0004, "0 ms"), (0.25, "250 ms"), (59.9, "59.9 s"), (61, "1 min 1 s"), (None, "–"), (math.nan, "–")],
)
def test_seconds(seconds, text):
    assert formats.format_seconds(seconds) == text


def test_shorten_never_exceeds_the_limit():
    for n in range(1, 30):
        assert len(formats.shorten("x" * n, 10)) == min(n, 10)


def test_text_that_would_not_be_seen_is_named():
    assert formats.not_blank("") == "(empty)"
    assert formats.not_blank(" \t") == "(blank)"
    assert formats.not_blank(" a") == " a"


def test_unprintable_characters_are_replaced():
    text = formats.printable("a\x00b\x1fc\ud800d\uffffe\tf\n")
    assert text == "a\ufffdb\ufffdc\ufffdd\ufffde\tf\n"
    text.encode("utf-8")


def test_texts_are_lines_that_people_can_read() -> None:
    assert formats.visible("a\x1b[31m\nb\u2028\u202e") == "a\\x1b[31m\\nb\\u2028\\u202e"
    assert formats.visible("[bold]größe 色 👩‍👧[/bold]") == "[bold]größe 色 👩‍👧[/bold]"
    assert [formats.quoted("it's"), formats.quoted("x" * 1_000_000)] == ["'it's'", f"'{'x' * 197}...'"]
    assert [formats.sentence("one\n  two"), formats.sentence("Done.")] == ["one two.", "Done."]
    assert formats.named("abcdefg") == "'a', 'b', 'c', 'd', 'e' and 2 more"
    assert [formats.similar("CLAS", ["class", "age"]), formats.similar("x", ["class"])] == [["class"], []]

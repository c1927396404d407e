"""Names from data as readable text."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

# Characters that change the direction of the following text, which could change the meaning of a line.
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def visible(text: object) -> str:
    """A text with escaped control characters, so that a name cannot move the cursor or break a line."""
    return "".join(_escaped(c) if c in _TURNING or unicodedata.category(c) in _UNPRINTABLE else c for c in str(text))


_UNPRINTABLE = frozenset(("Cc", "Cs", "Zl", "Zp"))


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def sentence(text: str) -> str:
    """A message as one line that ends like a sentence."""
    line = visible(" ".join(text.split()))
    return line if line.endswith((".", "?", "!", ")")) else f"{line}."


def quoted(name: object) -> str:
    """A name in quotation marks, cut short where it would fill the screen."""
    text = str(name)
    return f"'{visible(text if len(text) <= _LONGEST else text[: _LONGEST - 3] + '...')}'"


_LONGEST = 200


def listed(names: Iterable[object], most: int = 5) -> str:
    """Names in quotation marks, the first few of many."""
    names = list(names)
    shown = [quoted(name) for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def shown(path: Path) -> str:
    """The name of a file in messages."""
    return "standard input" if str(path) == "-" else str(path)


def similar(name: str, names: Sequence[str]) -> list[str]:
    """Up to three names similar to `name`, the closest first."""
    folded = {other.casefold(): other for other in reversed(names)}
    close = difflib.get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.6)
    return [folded[other] for other in close]


def thousands(number: float) -> str:
    """A number of rows with digits in groups of three."""
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:,.2f}"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 row`, `2 rows`."""
    return f"{thousands(number)} {noun if number == 1 else plural or noun + 's'}"

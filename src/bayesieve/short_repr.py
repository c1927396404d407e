"""Short reprs of objects that hold much: what they are, and how large, in at most some hundred characters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from typing import Any

import numpy as np

from bayesieve.words import cut

_LONGEST, _LONGEST_VALUE = 400, 60
_FEW = 4  # numbers that are shown as they are


class ShortRepr:
    """Gives a class a repr of bounded length, and the same as a small table in notebooks.

    Shows the fields of a dataclass; another class overrides `_facts`. A dataclass needs ``repr=False``.
    """

    def _facts(self) -> dict[str, Any]:
        """What is shown, by name."""
        assert is_dataclass(self)
        return {field.name: getattr(self, field.name) for field in fields(self) if field.repr}

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={shown(value)}" for name, value in self._facts().items())
        return f"{type(self).__name__}({cut(inside, _LONGEST)})"

    def _repr_html_(self) -> str:
        lines = "".join(
            f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(shown(value))}'
            "</td></tr>"
            for name, value in self._facts().items()
        )
        return f"<table><caption>{escape(type(self).__name__)}</caption><tbody>{lines}</tbody></table>"


def shown(value: Any) -> str:
    """A value in a few characters: itself where it is short, else its type and size.

    Examples
    --------
    >>> shown(0.1234567), shown("a" * 100), shown(list(range(1000)))
    ('0.123457', "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...", '<1,000 entries>')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, np.ndarray):
        if value.ndim == 1 and value.size <= _FEW and value.dtype.kind in "iufb":
            return f"[{', '.join(shown(number) for number in value.tolist())}]"
        return f"<{value.dtype} array {' x '.join(map(str, value.shape))}>"
    if isinstance(value, (Sequence, Mapping)) and not isinstance(value, (str, bytes)):
        if len(value) > _FEW or len(text := repr(value)) > _LONGEST_VALUE:
            return f"<{len(value):,} {'entry' if len(value) == 1 else 'entries'}>"
        return text
    if isinstance(value, str):
        return cut(repr(value[: 2 * _LONGEST_VALUE]), _LONGEST_VALUE)
    return cut(repr(value), _LONGEST_VALUE)

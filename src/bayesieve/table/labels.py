"""How levels are written for people: intervals and groups as short text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from bayesieve.table.temporal import TEMPORAL, format_temporal
from bayesieve.table.values import canonical_text

_VALUES_SHOWN = 4
_CHARACTERS_SHOWN = 40


def interval_labels(cut_points: np.ndarray, type_: str, missing_code: int | None) -> tuple[str, ...]:
    """Labels of the intervals between cut points, such as ``"3.5 < .. <= 7"``."""
    missing_first = len(cut_points) > 0 and cut_points[0] == -math.inf
    texts = cut_texts(cut_points[1:] if missing_first else cut_points, type_)
    labels = _between(texts)
    if missing_first:
        labels.insert(0, "missing" if missing_code == 0 else "no value")
    if missing_code is not None and not (missing_first and missing_code == 0):
        labels[missing_code] += " or missing"
    return tuple(labels)


def _between(texts: Sequence[str]) -> list[str]:
    if not texts:
        return ["any value"]
    inner = [f"{low} < .. <= {high}" for low, high in pairwise(texts)]
    return [f"<= {texts[0]}", *inner, f"> {texts[-1]}"]


def cut_texts(cut_points: np.ndarray, type_: str) -> list[str]:
    """Cut points with as few digits as tell each from its neighbours."""
    if type_ in TEMPORAL:
        return [format_temporal(float(cut), type_) for cut in cut_points]
    cuts = [float(cut) for cut in cut_points]
    return [_short_number(cut, cuts[i - 1] if i else None, cuts[i + 1] if i + 1 < len(cuts) else None)
            for i, cut in enumerate(cuts)]  # fmt: skip


def _short_number(number: float, below: float | None, above: float | None) -> str:
    """At least 4 digits, and enough that the rounding error stays below a hundredth of the distance to a neighbour."""
    gaps = [abs(number - other) for other in (below, above) if other is not None]
    allowed = min(gaps) / 100 if gaps else math.inf
    for digits in range(4, 17):
        text = f"{number:.{digits}g}"
        if abs(float(text) - number) <= allowed:
            return _plain_digits(text)
    return repr(number)


def _plain_digits(text: str) -> str:
    """Without an exponent where that reads better: 1e+04 is 10000."""
    if "e" not in text:
        return "0" if text == "-0" else text
    number = float(text)
    return (
        str(int(number)) if number.is_integer() and abs(number) < 1e9 else text.replace("e+0", "e").replace("e+", "e")
    )


def group_labels(groups: Sequence[Sequence[object]], *, full: bool) -> tuple[str, ...]:
    """Labels of groups of values, such as ``"{a, b, +12 more}"``; a group of one value is the value itself."""
    return tuple(_group_label(group, full) for group in groups)


def _group_label(group: Sequence[object], full: bool) -> str:
    texts = [canonical_text(value) for value in group if value is not None]
    suffix = " or missing" if len(texts) < len(group) else ""
    if not texts:
        return "missing" if suffix else "no value"
    if full:
        return (texts[0] if len(texts) == 1 else "{" + ", ".join(texts) + "}") + suffix
    if len(texts) == 1:
        return _shorten(texts[0]) + suffix
    shown = texts if len(texts) <= _VALUES_SHOWN else texts[: _VALUES_SHOWN - 1]
    parts = [_shorten(text) for text in shown]
    if len(texts) > len(shown):
        parts.append(f"+{len(texts) - len(shown)} more")
    return "{" + ", ".join(parts) + "}" + suffix


def _shorten(text: str) -> str:
    return text if len(text) <= _CHARACTERS_SHOWN else text[: _CHARACTERS_SHOWN - 1] + "…"

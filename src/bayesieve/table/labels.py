"""Readable labels of levels: intervals and groups as short text."""

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
    labels = [f"{low} < .. <= {high}" for low, high in pairwise(texts)]
    labels = [f"<= {texts[0]}", *labels, f"> {texts[-1]}"] if texts else ["any value"]
    if missing_first:
        labels.insert(0, "missing" if missing_code == 0 else "no value")
    if missing_code is not None and not (missing_first and missing_code == 0):
        labels[missing_code] += " or missing"
    return tuple(labels)


def cut_texts(cut_points: np.ndarray, type_: str) -> list[str]:
    """Cut points as short texts that differ from those of their neighbours; exact if the exact text is short."""
    cuts = [float(cut) for cut in cut_points]
    if type_ == "date":
        return _date_texts(cuts)
    steps = [math.inf, *(abs(low - high) for low, high in pairwise(cuts)), math.inf]
    gaps = [min(steps[i : i + 2]) for i in range(len(cuts))]  # to the nearer neighbour
    if type_ in TEMPORAL:
        return [_short_temporal(cut, type_, gap) for cut, gap in zip(cuts, gaps, strict=True)]
    return [_short_number(cut, gap) for cut, gap in zip(cuts, gaps, strict=True)]


def _date_texts(cuts: Sequence[float]) -> list[str]:
    """A cut between two days is named after the first: no date lies between them."""
    days = [math.floor(cut) for cut in cuts]
    distinct = len(set(days)) == len(days)
    return [format_temporal(day if distinct else cut, "date") for day, cut in zip(days, cuts, strict=True)]


def _short_temporal(cut: float, type_: str, gap: float) -> str:
    """Whole seconds if neighbours are far enough away."""
    seconds = round(cut / 1e6) * 1e6
    return format_temporal(seconds if abs(cut - seconds) <= gap / 100 else cut, type_)


def _short_number(number: float, gap: float) -> str:
    """Up to 7 digits if they are exact (a rounded 5119.5 would misplace 5120), else rounded by a hundredth of a gap."""
    exact = f"{number:.7g}"
    if float(exact) == number:
        return _plain_digits(exact)
    before_point = len(str(int(abs(number)))) if abs(number) < 1e9 else 0
    for digits in range(max(4, before_point + 1), 17):
        text = f"{number:.{digits}g}"
        if abs(float(text) - number) <= gap / 100:
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

"""Short labels of levels: intervals of numbers and groups of values as text."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from bayesieve.table.values import TEMPORAL, canonical_text, format_temporal
from bayesieve.words import shorten

_VALUES_SHOWN = 4
_CHARACTERS_SHOWN = 40
_TERMS_SHOWN = 3


AS_SIGNS = ("<= {}", "{} < .. <= {}", "> {}")
AS_WORDS = ("at most {}", "more than {} and at most {}", "more than {}")


def interval_labels(
    cut_points: np.ndarray,
    type_: str,
    missing_code: int | None,
    special: Sequence[str] = (),
    patterns: Sequence[str] = AS_SIGNS,
    unit: str = "",
) -> tuple[str, ...]:
    """Return a label of each interval between cut points, such as ``"3.5 < .. <= 7"``.

    Parameters
    ----------
    cut_points : ascending cut points, shape (n_levels - 1,); see `FeatureLevels`.
    type_ : `Column.type` of the column, which decides how cut points are printed.
    missing_code : code of the level of missing values; None if there is none.
    special : names of special values; they label the first intervals.
    patterns : templates of the labels of the first interval of ordinary numbers, of intervals between two cut points,
        and of the last one.
    unit : text that is appended to each label, such as " EUR".
    """
    missing_first = len(cut_points) > 0 and cut_points[0] == -math.inf
    texts = cut_texts(cut_points[missing_first + len(special) :], type_)
    first, between, last = (pattern.format for pattern in patterns)
    labels = [first(texts[0]), *map(between, texts, texts[1:]), last(texts[-1])] if texts else []
    labels = [*special, *([label + unit for label in labels] or ["any value"])]
    if missing_first:
        labels.insert(0, "missing" if missing_code == 0 else "no value")
    if missing_code is not None and not (missing_first and missing_code == 0):
        labels[missing_code] += " or missing"
    return tuple(labels)


def cut_texts(cut_points: np.ndarray, type_: str) -> list[str]:
    """Return a text for each cut point of a column of type ``type_`` (see `Column.type`).

    The text is exact if that is short, otherwise it has enough digits to differ from its neighbours.
    """
    cuts = [float(cut) for cut in cut_points]
    if type_ == "date":
        return _date_texts(cuts)
    steps = [math.inf, *(abs(low - high) for low, high in pairwise(cuts)), math.inf]
    gaps = [min(steps[i : i + 2]) for i in range(len(cuts))]  # to the nearer neighbour
    if type_ in TEMPORAL:
        return [_short_temporal(cut, type_, gap) for cut, gap in zip(cuts, gaps, strict=True)]
    return [_short_number(cut, gap) for cut, gap in zip(cuts, gaps, strict=True)]


def _date_texts(cuts: Sequence[float]) -> list[str]:
    """Return the text of each cut point of a column of dates, in days since 1970.

    A cut between two days is shown as the earlier day, because no date lies between them.
    """
    days = [math.floor(cut) for cut in cuts]
    distinct = len(set(days)) == len(days)
    return [format_temporal(day if distinct else cut, "date") for day, cut in zip(days, cuts, strict=True)]


def _short_temporal(cut: float, type_: str, gap: float) -> str:
    """Return the text of a cut point of dates or times, in microseconds, of type ``type_`` (see `Column.type`).

    Fractions of a second are dropped if ``gap``, the distance to the nearest other cut, is large.
    """
    seconds = round(cut / 1e6) * 1e6
    return format_temporal(seconds if abs(cut - seconds) <= gap / 100 else cut, type_)


def _short_number(number: float, gap: float) -> str:
    """Return the text of a cut point, with up to 7 digits if they are exact (5119.5 rounded to 5120 would misplace
    5120).

    Other cut points are rounded to a hundredth of ``gap``, the distance to the nearest other cut point.
    """
    text = f"{number:.7g}"
    if float(text) != number:
        before_point = len(str(int(abs(number)))) if abs(number) < 1e9 else 0
        candidates = (f"{number:.{digits}g}" for digits in range(max(4, before_point + 1), 17))
        text = next((one for one in candidates if abs(float(one) - number) <= gap / 100), "")
    if not text:
        return repr(number)
    if "e" not in text:
        return "0" if text == "-0" else text
    # Write 1e+04 as 10000.
    rounded = float(text)
    is_short = rounded.is_integer() and abs(rounded) < 1e9
    return str(int(rounded)) if is_short else text.replace("e+0", "e").replace("e+", "e")


def group_labels(groups: Iterable[Sequence[object]], *, full: bool) -> tuple[str, ...]:
    """Return a label for each group of values, such as ``"{a, b, +12 more}"``; that of a single value is the value
    itself.

    None stands for missing values. With ``full``, labels list all values.
    """
    labels = []
    for group in groups:
        texts = [canonical_text(value) for value in group if value is not None]
        is_cut = not full and len(texts) > _VALUES_SHOWN
        shown = texts[: _VALUES_SHOWN - 1] if is_cut else texts
        if not full:
            shown = [shorten(text, _CHARACTERS_SHOWN) for text in shown]
        if is_cut:
            shown.append(f"+{len(texts) - len(shown)} more")
        label = "{" + ", ".join(shown) + "}" if len(texts) > 1 else "".join(shown)
        if len(texts) < len(group):
            label += " or missing" if texts else "missing"
        labels.append(label if texts or group else "no value")
    return tuple(labels)


def cell_labels(parts: Sequence[Any], grid: np.ndarray, n_levels: int, *, full: bool) -> tuple[str, ...]:
    """Return a label for each level of a pair of columns, such as ``"age <= 32.5 & job in {a, b} | age > 32.5 & job =
    c"``.

    Here a cell is a combination of a level of the first column and a level of the second; a level of the pair is a
    group of cells.

    Parameters
    ----------
    parts : levels of both columns: `FeatureLevels`, or objects with attributes of the same names.
    grid : array of shape (levels of the first column, levels of the second): the level of each cell. Cells without
        training rows have the entry ``n_levels``; a label may include them if that makes it shorter.
    n_levels : number of levels of the pair.
    full : whether labels list all values and cells.
    """
    named = [functools.cache(functools.partial(_named_levels, part, full)) for part in parts]
    labels = []
    for group in range(n_levels):
        inside, free = grid == group, grid == n_levels
        ways = [_terms(inside, free), _terms(inside.T, free.T)]
        swapped = len(ways[1]) < len(ways[0])
        terms = []
        for one, other in ways[swapped]:
            texts = [named[0](other), named[1](one)] if swapped else [named[0](one), named[1](other)]
            terms.append(" & ".join(filter(None, texts)) or "any value")
        shown = terms if full or len(terms) <= _TERMS_SHOWN else terms[: _TERMS_SHOWN - 1]
        more = f" | +{len(terms) - len(shown)} more" if len(terms) > len(shown) else ""
        labels.append(" | ".join(shown) + more)
    return tuple(labels)


def _terms(inside: np.ndarray, free: np.ndarray) -> list[tuple[tuple[int, ...] | None, tuple[int, ...] | None]]:
    """Split a group of cells of a pair of columns into rectangles, for a short label.

    ``inside`` and ``free`` are masks (levels of the first column, levels of the second) of the cells of the group, and
    of cells without training rows, which may be included. Levels of the first column for which the group has the same
    levels of the second form one rectangle. Return the levels of the first and of the second column for each rectangle,
    with None for all levels of a column.
    """
    rows: dict[tuple[int, ...] | None, list[int]] = {}
    for i, row in enumerate(inside):
        if row.any():
            whole = bool((row | free[i]).all())
            rows.setdefault(None if whole else tuple(np.flatnonzero(row).tolist()), []).append(i)
    every = len(inside) - int(free.all(axis=1).sum())
    return [(None if len(group) == every else tuple(group), columns) for columns, group in rows.items()]


def _named_levels(part: Any, full: bool, codes: tuple[int, ...] | None) -> str:
    """Return the condition that a column has one of the levels ``codes`` as text, such as ``"age <= 32.5"``.

    ``part`` holds the levels of the column, as for `cell_labels`. None for ``codes`` means all levels and gives an
    empty text. With ``full``, the text lists all values.
    """
    if codes is None:
        return ""
    if part.groups is not None:
        (text,) = group_labels([[value for code in codes for value in part.groups[code]]], full=full)
        if text in ("missing", "no value"):
            return f"{part.name} {text}"
        return f"{part.name} {'in' if text.startswith('{') else '='} {text}"
    if part.cut_points is None:
        return f"{part.name} in {', '.join(part.labels[code] for code in codes)}"
    is_special = range(part.n_special_levels - len(part.special), part.n_special_levels)
    texts = [f"{part.name} {part.labels[code]}" for code in codes if code in is_special]
    for first, last in _spans(codes, part.n_special_levels):
        bounded_below = first > part.n_special_levels
        ends = [*([part.cut_points[first - 1]] if bounded_below else []), *part.cut_points[last : last + 1]]
        text = interval_labels(np.array(ends), part.type, None)[int(bounded_below)]
        text = "known" if text == "any value" else text
        texts.append(text.replace("..", part.name) if " .. " in text else f"{part.name} {text}")
    if part.missing_code in codes:
        texts.append(f"{part.name} missing")
    return texts[0] if len(texts) == 1 else "(" + " or ".join(texts) + ")"


def _spans(codes: Sequence[int], n_apart: int) -> list[tuple[int, int]]:
    """Return the first and last code of each run of neighbouring intervals among ``codes``, ascending codes of levels.

    The first ``n_apart`` levels of the column, for missing and special values, are not intervals and are skipped.
    """
    numbers = [code for code in codes if code >= n_apart]
    starts = [code for code in numbers if code - 1 not in numbers]
    return [(start, next(code for code in numbers if code >= start and code + 1 not in numbers)) for start in starts]

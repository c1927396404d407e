"""Features of a scorecard as plain data, for the tables and scripts of a report.

A level is an interval or group of values of a feature; levels are divided into cells, each with a contribution to the
log joint probability of every class. A line of a table shows one cell, or several cells of few training rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayesieve.counts import log_probabilities
from bayesieve.report.features import curve_ends, density_frame, finite_or_none
from bayesieve.report.page import in_five_digits
from bayesieve.scorecard.record import Feature, Scorecard, bounds_of
from bayesieve.scorecard.support import FEW_ROWS, weakly_supported
from bayesieve.scorecard.wording import Wording
from bayesieve.table.labels import interval_labels
from bayesieve.table.pair_levels import PairLevels
from bayesieve.words import named, plural

_MOST_TABLES = 1e6  # larger numbers are not informative


def feature_data(
    card: Scorecard,
    k: int,
    side: int = 1,
    min_count: int = 1,
    *,
    note: str | None = None,
    gain: float | None = None,
    others: np.ndarray | None = None,
    by_hand: str | None = None,
    effect: Any = None,
) -> dict[str, Any]:
    """Return one feature of a scorecard as a dict for reports. It includes a table of its cells if the feature is in
    the model.

    Parameters
    ----------
    card : the scorecard.
    k : position of the feature.
    side : 1 to show contributions to the second of two classes, -1 to show them for the first.
    min_count : cells with fewer rows are joined by `cell_lines`.
    note : sentence to print with the feature, such as why it has a single level, or None.
    gain : nats per row by which the feature lowers the log loss of rows on which the model was not trained, or None.
    by_hand : rules by which a user set the levels of the column, in words, or None.
    effect : `evaluation.rule_effects.RuleEffect` of these rules, or None if it was not measured.
    others : (n_cells + 1, n_classes) rows of a second table in each cell, unseen values last, or None.
    """
    feature, words = card.features[k], Wording.of(card)
    levels, tested = feature.levels, math.isfinite(feature.log_bayes)
    data = {
        "name": words.named(levels),
        "kind": levels.kind,
        "type": levels.type,
        "columns": feature.columns,
        "position": k,
        "selected": feature.is_used,
        "weight": feature.weight,
        "importance": feature.importance,
        "level_score": levels.level_score,
        "n_levels": levels.n_levels,
        "monotone": side * feature.sign,
        "note": note,
        "by_hand": by_hand,
        "effect": effect,
        "caution": support_caution(feature, words, min_count),
        "information_value": information_value(card, feature),
        "gain": gain,
        "chance_tables": chance_tables(feature.log_bayes) if tested else None,
        "by_chance": by_chance(feature.log_bayes),
        "others": None,
        "grid": None,
    }
    return data | _cells(card, feature, words, min_count, others) if feature.is_used else data


def information_value(card: Scorecard, feature: Feature) -> float | None:
    """Return the information value of a feature: the sum over its levels of (share of one class - share of the other
    class) times the weight of evidence, in nats. Return None for more than two classes or a single level.
    """
    if card.classes.size != 2 or feature.levels.n_levels < 2 or feature.levels.counts is None:
        return None
    counts = np.asarray(feature.levels.counts, dtype=float)
    logs = log_probabilities(counts, float(card.class_counts.sum()), card.provenance["smoothing"])
    shares = counts / np.maximum(counts.sum(axis=0), np.finfo(float).tiny)
    return float(np.diff(shares, axis=1)[:, 0] @ np.diff(logs, axis=1)[:, 0])


def chance_tables(log_bayes: float) -> float:
    """Return the number n of tables, at most 1e6, in one of which a column without effect reaches the log Bayes factor
    ``log_bayes`` (in nats).
    """
    return min(math.exp(min(max(log_bayes, 0.0), 99.0)), _MOST_TABLES)


def by_chance(log_bayes: float) -> str:
    """Return the number of tables, in one of which a column without effect reaches the log Bayes factor ``log_bayes``
    (in nats), as text with two significant digits; an empty text if it is NaN, because the feature was not tested.

    Examples
    --------
    >>> by_chance(3.7), by_chance(-1.0), by_chance(50.0)
    ('40', 'under 2', 'over 1,000,000')
    """
    if not math.isfinite(log_bayes):
        return ""
    tables = chance_tables(log_bayes)
    digits = f"{float(f'{tables:.2g}'):,.0f}"
    return "under 2" if tables < 2.0 else f"over {digits}" if tables == _MOST_TABLES else digits


def support_caution(feature: Feature, words: Wording, min_count: int) -> str | None:
    """Return a caution as text if cells of a feature have large contributions but few training rows; otherwise None.

    ``words`` are the readable texts of the scorecard. The caution names the cells unless ``min_count`` is above 1,
    because counts of few rows are then hidden.
    """
    weak = weakly_supported(feature) if feature.is_used else []
    if not weak:
        return None
    labels = words.levels(feature.cells)
    names = [labels[first] if first == last else f"{labels[first]} to {labels[last]}" for first, last in weak]
    cells = plural(len(weak), "cell") if min_count > 1 else named(names, most=3)
    few = f"Contributions above 1 rest on fewer than {FEW_ROWS} training rows"
    return f"{few}: {cells}. Check them against what you know."


def _cells(card: Scorecard, feature: Feature, words: Wording, least: int, others: np.ndarray | None) -> dict[str, Any]:
    """Return the table of a feature's cells as plain values, with its contributions of unseen values and the variances
    from which the page computes intervals.

    Cells with fewer than ``least`` training rows are joined. ``others`` (n_cells + 1, n_classes) are the rows of a
    second table in each cell, unseen values last, or None.
    """
    cells, counts, n_classes = feature.cells, np.asarray(feature.levels.counts), card.classes.size
    bounds = [bounds_of(cells, code) for code in range(cells.n_levels)]
    low, high = ([finite_or_none(one.get(end)) for one in bounds] for end in ("low", "high"))
    of_level = words.levels(feature.levels, full=True)
    smoothed = log_probabilities(counts, float(card.class_counts.sum()), card.provenance["smoothing"])
    evidence = (smoothed - smoothed.mean(axis=1, keepdims=True))[feature.level_of_cell]
    grid = None
    if isinstance(feature.levels, PairLevels) and not feature.is_split:
        grid = _grid(feature.levels, words)
    every = [[code] for code in range(cells.n_levels)]
    lines = every if grid is not None else cell_lines(feature, least)  # the grid refers to cells by position
    row_counts, levels = feature.counts.sum(axis=1), [{*feature.level_of_cell[line].tolist()} for line in lines]
    shown = [row_counts[line].sum() >= least and len(codes) == 1 for line, codes in zip(lines, levels, strict=True)]
    # Means over the cells of each line, weighted by their training rows.
    both = np.hstack([feature.contributions, evidence])
    means = [
        both[line[0]] if len(line) == 1 else np.average(both[line], axis=0, weights=row_counts[line] + 1e-300)
        for line in lines
    ]
    columns: dict[str, list[Any]] = {
        "label": [_label(feature, words, line, least) for line in lines],
        "level": [of_level[min(codes)] if len(codes) == 1 else "" for codes in levels],
        "low": [low[line[0]] if is_shown else None for line, is_shown in zip(lines, shown, strict=True)],
        "high": [high[line[-1]] if is_shown else None for line, is_shown in zip(lines, shown, strict=True)],
        "is_missing": [cells.missing_code in line for line in lines],
        "rows": [float(row_counts[line].sum()) for line in lines],
        "counts": [feature.counts[line].sum(axis=0).tolist() for line in lines],
        "contributions": [mean[:n_classes].tolist() for mean in means],
        "evidence": in_five_digits([mean[n_classes:].tolist() for mean in means]),
        "errors": in_five_digits([feature.total_errors[line].max(axis=0).tolist() for line in lines]),
    }
    columns["level"] = [level or label for level, label in zip(columns["level"], columns["label"], strict=True)]
    if columns["level"] == columns["label"]:
        del columns["level"]
    data: dict[str, Any] = {"cells": columns, "unseen": feature.unseen.tolist(), "grid": grid}
    data["variances"] = [in_five_digits(array.tolist()) for array in feature.errors]
    if others is not None:
        data["others"] = [others[line].sum(axis=0).tolist() for line in [*lines, [-1]]]
    intervals = list(zip(*(columns[name] for name in ("low", "high", "rows")), strict=True))
    ends = curve_ends(intervals) if feature.kind == "numeric" else None
    return data if ends is None else data | {"ends": ends, "density": density_frame(intervals, ends[0], ends[1])}


def cell_lines(feature: Feature, least: int) -> list[list[int]]:
    """Group the cells of a feature into lines of a table, so that no line describes fewer than ``least`` training rows.
    Return the codes of the cells in each line.

    Intervals with few rows are joined with their neighbours, other cells with cells of the same level, and small levels
    with each other.
    """
    row_counts, cells = feature.counts.sum(axis=1), feature.cells
    lines: list[list[int]] = []
    few: list[int] = []  # cells of all levels with few rows
    for level in dict.fromkeys(feature.level_of_cell.tolist()):
        codes = np.flatnonzero(feature.level_of_cell == level).tolist()
        if row_counts[codes].sum() < least:
            few += codes
            continue
        ordered = [code for code in codes if cells.groups is None and code >= cells.n_special_levels]
        rest = sorted((code for code in codes if code not in ordered), key=lambda code: row_counts[code] < least)
        for part in (ordered, rest):
            first = len(lines)
            for code in part:
                if len(lines) == first or row_counts[lines[-1]].sum() >= least:
                    lines.append([])
                lines[-1].append(code)
            if len(lines) > first + 1 and row_counts[lines[-1]].sum() < least:
                lines[-2:] = [lines[-2] + lines[-1]]
    return [*lines, few] if few else lines


def _label(feature: Feature, words: Wording, line: list[int], least: int) -> str:
    """Return the text of a line of the table: the label of its only cell, the interval that its cells form, or the
    number of cells with fewer than ``least`` rows in it. ``line`` holds the codes of the cells.
    """
    cells, labels = feature.cells, words.levels(feature.cells, full=True)
    if len(line) == 1 and feature.counts[line].sum() >= least:
        return labels[line[0]]
    if (
        len(line) > 1
        and cells.groups is None
        and min(line) >= cells.n_special_levels
        and len({*feature.level_of_cell[line].tolist()}) == 1
    ):
        ends = [
            finite_or_none(bounds_of(cells, line[0]).get("low")),
            finite_or_none(bounds_of(cells, line[-1]).get("high")),
        ]
        unit = words.labels.get(cells.column, {}).get("unit", "")
        cuts = np.array([end for end in ends if end is not None])
        texts = interval_labels(cuts, cells.type, None, unit=f" {unit}" if unit else "")
        text = texts[0] if ends[0] is None else texts[-1] if ends[1] is None else texts[1]
        return f"{text} or missing" if cells.missing_code in line else text
    few = [code for code in line if feature.counts[code].sum() < least]
    named_ones = [labels[code] for code in line if code not in few]
    return " and ".join([*named_ones, f"{plural(len(few), 'cell')} of fewer than {least} rows"])


def _grid(levels: PairLevels, words: Wording) -> dict[str, Any]:
    """Return a pair as a grid of levels of its two columns.

    The dict has the ``names`` and level ``labels`` of both columns and, as nested lists with a row for each level of
    the first column, ``levels`` (codes of the cells, None without training rows) and ``counts`` of training rows.
    """
    first, second = levels.parts
    codes = np.where(levels.grid < levels.n_levels, levels.grid, -1).tolist()  # -1 for combinations without rows
    return {
        "names": (words.named(first), words.named(second)),
        "labels": (words.levels(first), words.levels(second)),
        "levels": [[None if code < 0 else code for code in line] for line in codes],
        "counts": levels.cells.sum(axis=2).tolist(),
    }

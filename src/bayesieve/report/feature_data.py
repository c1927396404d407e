"""Features of a scorecard as plain data, for tables and for the scripts of a page."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayesieve.counts import log_probabilities
from bayesieve.report.features import curve_ends, density_frame
from bayesieve.report.page import in_five_digits
from bayesieve.scorecard.record import Feature, Scorecard, bounds_of
from bayesieve.scorecard.support import FEW_ROWS, weakly_supported
from bayesieve.scorecard.wording import Wording
from bayesieve.table.derived_levels import PairLevels
from bayesieve.words import named, plural

_MOST_TABLES = 1e6  # beyond which more digits say nothing


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
) -> dict[str, Any]:
    """Return one feature as plain data, with its cells if it is in the model.

    Parameters
    ----------
    k : position of the feature.
    side : -1 if the page is about the first of two classes, else 1.
    min_count : cells of fewer rows are joined in one line.
    note : one sentence that a reader should not miss, such as why the feature has a single level.
    gain : mean nats by which the feature lowers the log loss of rows that its model did not learn from.
    by_hand : rules by hand for the levels of the column, in words.
    others : (n_cells + 1, n_classes) rows among other rows than those of training, unseen values last.
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
        "caution": support_caution(feature, words, min_count),
        "information_value": information_value(card, feature),
        "gain": gain,
        "chance_tables": chance_tables(feature.log_bayes) if tested else None,
        "by_chance": by_chance(feature.log_bayes) if tested else "",
        "others": None if others is None else others.tolist(),
        "grid": None,
    }
    return data | _cells(card, feature, words, min_count) if feature.is_used else data


def information_value(card: Scorecard, feature: Feature) -> float | None:
    """Return the sum over the levels of (share of one class - share of the other) x weight of evidence; None for more
    than two classes or a single level.
    """
    if card.classes.size != 2 or feature.levels.n_levels < 2 or feature.levels.counts is None:
        return None
    counts = np.asarray(feature.levels.counts, dtype=float)
    logs = log_probabilities(counts, float(card.class_counts.sum()), card.provenance["smoothing"])
    shares = counts / np.maximum(counts.sum(axis=0), np.finfo(float).tiny)
    return float(np.diff(shares, axis=1)[:, 0] @ np.diff(logs, axis=1)[:, 0])


def chance_tables(log_bayes: float) -> float:
    """Return the number of tables, at most a million, of which one gives a column without effect as high a Bayes
    factor.
    """
    return min(math.exp(min(max(log_bayes, 0.0), 99.0)), _MOST_TABLES)


def by_chance(log_bayes: float) -> str:
    """Return `chance_tables` in two digits.

    Examples
    --------
    >>> by_chance(3.7), by_chance(-1.0), by_chance(50.0)
    ('40', 'under 2', 'over 1,000,000')
    """
    tables = chance_tables(log_bayes)
    digits = f"{float(f'{tables:.2g}'):,.0f}"
    return "under 2" if tables < 2.0 else f"over {digits}" if tables == _MOST_TABLES else digits


def support_caution(feature: Feature, words: Wording, min_count: int) -> str | None:
    """Return a caution about cells whose large contributions few rows support; it names them unless they are joined."""
    weak = weakly_supported(feature) if feature.is_used else []
    if not weak:
        return None
    labels = words.levels(feature.cells)
    names = [labels[first] if first == last else f"{labels[first]} to {labels[last]}" for first, last in weak]
    cells = plural(len(weak), "cell") if min_count > 1 else named(names, most=3)
    few = f"Contributions above 1 rest on fewer than {FEW_ROWS} training rows"
    return f"{few}: {cells}. Check them against what you know."


def _cells(card: Scorecard, feature: Feature, words: Wording, min_count: int) -> dict[str, Any]:
    """Return the cells as columns, the contributions of unseen values, and variances for intervals."""
    cells, codes = feature.cells, range(feature.cells.n_levels)
    bounds = [bounds_of(cells, code) for code in codes]
    labels, of_level = words.levels(cells, full=True), words.levels(feature.levels, full=True)
    levels = [of_level[code] for code in feature.level_of_cell.tolist()]
    counts = np.asarray(feature.levels.counts)
    smoothed = log_probabilities(counts, float(card.class_counts.sum()), card.provenance["smoothing"])
    evidence = (smoothed - smoothed.mean(axis=1, keepdims=True))[feature.level_of_cell]
    numbers = {
        "counts": feature.counts,
        "evidence": evidence,
        "contributions": feature.contributions,
        "errors": feature.total_errors[:-1],
    }
    columns: dict[str, list[Any]] = {"label": list(labels), "level": levels}
    columns |= {end: [_finite(one.get(end)) for one in bounds] for end in ("low", "high")}
    columns["is_missing"] = [code == cells.missing_code for code in codes]
    grid = None
    if isinstance(feature.levels, PairLevels) and feature.cells is feature.levels:
        grid = _grid(feature.levels, words)
    few = feature.counts.sum(axis=1) < min_count
    is_whole = grid is not None or few.sum() < 2  # cells of a pair are numbered
    if not is_whole:
        columns = {
            name: [one for one, is_few in zip(column, few, strict=True) if not is_few]
            for name, column in columns.items()
        }
        label = f"{few.sum()} cells of fewer than {min_count} rows"
        for name, value in {"label": label, "level": label, "low": None, "high": None, "is_missing": False}.items():
            columns[name].append(value)
        joined = {
            name: table[few].sum(axis=0) if name == "counts" else table[few].mean(axis=0)
            for name, table in numbers.items()
        }
        numbers = {name: np.vstack([table[~few], joined[name]]) for name, table in numbers.items()}
    if columns["level"] == columns["label"]:
        del columns["level"]
    columns |= {"rows": numbers["counts"].sum(axis=1).tolist(), "counts": numbers["counts"].tolist()}
    columns |= {name: in_five_digits(numbers[name].tolist()) for name in ("evidence", "errors")}
    columns["contributions"] = numbers["contributions"].tolist()
    data: dict[str, Any] = {"cells": columns, "unseen": feature.unseen.tolist(), "grid": grid}
    data["variances"] = [in_five_digits(own.tolist()) for own in feature.errors] if is_whole else None
    intervals = list(zip(*(columns[name] for name in ("low", "high", "rows")), strict=True))
    ends = curve_ends(intervals) if feature.kind == "numeric" else None
    return data if ends is None else data | {"ends": ends, "density": density_frame(intervals, *ends)}


def _finite(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _grid(levels: PairLevels, words: Wording) -> dict[str, Any]:
    """Return the cells of a pair of columns, a line for each level of the first: the code at each place, None without
    training rows, and the training rows.
    """
    first, second = levels.parts
    codes = np.where(levels.grid < levels.n_levels, levels.grid, -1).tolist()  # of a surface, cells without rows, too
    return {
        "names": (words.named(first), words.named(second)),
        "labels": (words.levels(first), words.levels(second)),
        "levels": [[None if code < 0 else code for code in line] for line in codes],
        "counts": levels.cells.sum(axis=2).tolist(),
    }

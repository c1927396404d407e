"""Data for the "what if" controls of a report: for each column of the model, the levels that a reader can choose.

A level is an interval of numbers or a group of categories within which no feature of the model distinguishes values.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayesieve.scorecard import Scorecard
from bayesieve.scorecard.counterfactuals import Parts, codes_in, fixed_columns
from bayesieve.scorecard.reasons import code_by
from bayesieve.scorecard.record import bounds_of
from bayesieve.scorecard.wording import Wording
from bayesieve.table import FeatureLevels, Table
from bayesieve.table.values import canonical_text, format_temporal

_MOST_ROWS = 5000  # rows among which the typical row is chosen


def change_data(card: Scorecard, table: Table | None = None) -> list[dict[str, Any]]:
    """Return the columns of the model as dicts, from which a page lets its reader change a row value by value.

    Each dict has ``name``; ``labels``, the intervals or groups of the column as texts; ``values``, one representative
    value of each as text; ``ordered``, whether the labels are intervals; ``fixed``, whether the column must not change
    (see `fixed_columns`); and ``usual``, the position of the level at which the page starts. The page starts with a
    typical row of the table or, without a table, with the level of each column that has the most training rows.
    """
    words, fixed, levels = Wording.of(card), fixed_columns(card), Parts(card).levels
    usual = _of_training(card, levels) if table is None or not table.n_rows else _usual_row(card, table, levels)
    columns = []
    for level, code in zip(levels, usual, strict=True):
        first = max(1, level.n_special_levels)
        columns.append(
            {
                "name": level.name,
                "fixed": level.name in fixed,
                "ordered": level.groups is None,
                "labels": words.levels(level)[first:],
                "values": [_value_in(level, part) for part in range(first, level.n_levels)],
                "usual": code - first if first <= code < level.n_levels else None,
            }
        )
    return columns


def _usual_row(card: Scorecard, table: Table, levels: list[FeatureLevels]) -> list[int]:
    """Return the position of the level of each column in a typical row of ``table``. ``levels`` are those of the
    columns.

    The row is the one whose contributions are closest to their medians, among rows without missing values if there are
    any.
    """
    every = slice(None, None, 1 + table.n_rows // _MOST_ROWS)
    codes = code_by(card, table, levels)[:, every]
    added = card.tables.contributions(
        np.minimum(card.reader.code(table)[0][:, every], card.tables.n_lines[:, None] - 1)
    )
    distance = np.abs(added - np.median(added, axis=0)).sum(axis=(1, 2))
    first = np.array([[max(1, level.n_special_levels)] for level in levels])
    last = np.array([[level.n_levels] for level in levels])
    n_missing = ((codes < first) | (codes >= last)).sum(axis=0)
    usual: list[int] = codes[:, np.lexsort((distance, n_missing))[0]].tolist()
    return usual


def _of_training(card: Scorecard, levels: list[FeatureLevels]) -> list[int]:
    """Return the position of the level with the most training rows, for each of ``levels``, those of the columns of the
    model.
    """
    position = {level.name: k for k, level in enumerate(levels)}
    rows = [np.zeros(level.n_levels + 1) for level in levels]
    for feature in card.used_features:
        alone = feature.kind != "pair"
        for column_levels in (feature.cells if alone else feature.levels).by_column:
            counts = feature.counts if alone else column_levels.counts
            k = position[column_levels.column]
            if counts is not None:
                of_levels = np.append(np.asarray(counts).sum(axis=1), 0.0)
                rows[k] += np.log1p(of_levels[codes_in(column_levels, levels[k])])
    first = [max(1, level.n_special_levels) for level in levels]
    return [low + int(column_rows[low:-1].argmax()) for low, column_rows in zip(first, rows, strict=True)]


def _value_in(level: FeatureLevels, code: int) -> str:
    """Return a value of the level at position ``code`` as text: the first category of a group, or the shortest number
    near the middle of an interval.
    """
    if level.groups is not None:
        return canonical_text(level.groups[code][0])
    bounds = bounds_of(level, code)
    low, high = float(bounds["low"]), float(bounds["high"])
    if math.isinf(low) and math.isinf(high):
        near = 0.0
    elif math.isinf(low):
        near = high - (abs(high) / 10 or 1.0)
    elif math.isinf(high):
        near = low + (abs(low) / 10 or 1.0)
    else:
        near = low / 2 + high / 2
    if level.type == "number" or level.type == "boolean":
        rounded = (float(f"{near:.{digits}g}") for digits in range(1, 18))
        value = next((one for one in rounded if low < one <= high), high)
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    whole = [math.floor(near)] if level.type == "date" else [math.floor(near / 1e6) * 1e6, math.floor(near)]
    value = next((one for one in whole if low < one <= high), high)
    return format_temporal(value, level.type)

"""Explanations of rows by a scorecard: by feature, by column, or by score (all indicators "x <= threshold" of a column
together).

A cell is a level of a feature (interval or group of values) or a piece of one, and has one contribution for each class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.parts import is_choice
from bayesieve.scorecard.explanation import EXPLAINED_LEVEL, UNSEEN, Explanation, columns_of_texts
from bayesieve.scorecard.look_up import Cell, is_row, table_of, text_of
from bayesieve.scorecard.reasons import code_by, columns_in_use, distinguishing_levels, part_texts
from bayesieve.scorecard.wording import Wording, described
from bayesieve.table import Table

if TYPE_CHECKING:
    from bayesieve.scorecard.record import Scorecard


def explain(card: Scorecard, X: Any, by: str) -> Explanation:
    """Return the contributions that explain the predictions of rows, as documented in `Scorecard.explain`."""
    by = explanation_kind(card, by)
    if is_row(X, "Scorecard"):
        cells = card.reader.read_row(X) if by == "feature" else None
        if cells is not None:
            return explain_cells(card, cells)
    table = table_of(X)
    if by == "column":
        return _by_column(card, table)
    explanation = _by_feature(card, table)
    return described(card, _by_score(card, table, explanation) if by == "score" else explanation)


def explanation_kind(card: Scorecard, by: Any) -> str:
    """Return ``by`` if it is a kind of explanation: "feature", "score" or "column". "score" becomes "feature" if the
    scorecard has no indicators.

    Raise ValueError for anything else.
    """
    if not is_choice(by, ("feature", "score", "column")):
        raise ValueError(f"by must be 'feature', 'score' or 'column', got {by!r}.")
    has_indicators = any(feature.levels.column != feature.name for feature in card.used_features)
    return str(by) if by != "score" or has_indicators else "feature"


def explain_cells(card: Scorecard, cells: Sequence[Cell]) -> Explanation:
    """Return the explanation of one row. ``cells`` holds, for each feature in the model, the code of the row's cell and
    its value.
    """
    codes = np.array([[code] for code, _ in cells], dtype=np.int64).reshape(-1, 1)
    return described(card, _explained(card, codes, [[text_of(cell)] for cell in cells]))


def _by_feature(card: Scorecard, table: Table) -> Explanation:
    """Return the explanation of the rows of a table with one entry for each feature in the model."""
    return _explained(card, card.cells(table), card.reader.texts(table))


def _explained(card: Scorecard, codes: np.ndarray, texts: Sequence[Any]) -> Explanation:
    """Return the explanation by feature of rows that are already coded.

    ``codes`` (n_used, n_rows) are the cells of the features in the model. ``texts`` holds, for each feature, a list of
    n_rows values as texts.
    """
    used, n_rows = card.used_features, codes.shape[1]
    codes = np.minimum(codes, card.tables.n_lines[:, None] - 1).astype(np.int64)  # unseen values come last
    labels = [feature.level_labels[of_rows] for feature, of_rows in zip(used, codes, strict=True)]
    cells = [feature.all_labels[of_rows] for feature, of_rows in zip(used, codes, strict=True)]
    return Explanation(
        rows=np.arange(n_rows),
        features=[feature.name for feature in used],
        classes=card.classes,
        prior=card.intercept,
        contributions=card.tables.contributions(codes),
        standard_errors=card.standard_errors.contributions(codes),
        intervals=card.interval_of_cells(codes, EXPLAINED_LEVEL),
        values=columns_of_texts(texts, n_rows),
        levels=columns_of_texts(labels, n_rows),
        weights=np.array([feature.weight for feature in used]),
        cells=columns_of_texts(cells, n_rows),
    )


def _by_score(card: Scorecard, table: Table, explanation: Explanation) -> Explanation:
    """Add up the contributions of all indicators of a column in an explanation by feature. The level of the column is
    the interval between the cut points of all its indicators.
    """
    read, levels = card.reader.read(table), card.reader.column_levels
    values = [level.texts(read.column(i)) for i, level in enumerate(levels)]
    labels = [
        np.array([*level.labels, UNSEEN], dtype=object)[codes]
        for level, codes in zip(levels, code_by(card, table, levels), strict=True)
    ]
    return explanation.grouped(
        groups=[feature.levels.column for feature in card.used_features],
        values=columns_of_texts(values, table.n_rows),
        levels=columns_of_texts(labels, table.n_rows),
    )


def _by_column(card: Scorecard, table: Table) -> Explanation:
    """Return the explanation of the rows of a table with one entry for each column in use.

    Each column gets an equal share of the contributions and weights of every feature that uses it. Levels are described
    by the texts of reasons.
    """
    by_feature, names = _by_feature(card, table), columns_in_use(card)
    shares, errors = np.zeros((len(by_feature.features), len(names))), np.asarray(by_feature.standard_errors)
    for k, columns in enumerate(feature.columns for feature in card.used_features):
        shares[k, [names.index(name) for name in columns]] = 1.0 / len(columns)
    levels_of_columns, read = distinguishing_levels(card, names), card.reader.read(table)
    parts = [part_texts(card, level) for level in levels_of_columns]
    codes = code_by(card, table, [single for single, _ in parts])
    texts = [np.array(of, dtype=object)[row] for (_, of), row in zip(parts, codes, strict=True)]
    values = [
        level.texts(read.column(card.reader.needed.index(name)))
        for name, level in zip(names, levels_of_columns, strict=True)
    ]
    words = Wording.of(card)
    return replace(
        by_feature,
        features=names,
        names=[*map(words.name, names)] if words.labels else None,
        contributions=np.einsum("rfc,fk->rkc", by_feature.contributions, shares),
        standard_errors=np.sqrt(np.einsum("rfc,fk->rkc", np.square(errors), np.square(shares))),
        values=columns_of_texts(values, table.n_rows),
        levels=(levels := columns_of_texts(texts, table.n_rows)),
        cells=levels,
        weights=by_feature.weights @ shares,
    )

"""Rows taken apart by feature, or by the score behind the indicators."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.classifier.rows import coded_twice
from bayesieve.counts import CodedTable
from bayesieve.discretize import IndicatorEncoder
from bayesieve.naive_bayes import Explanation
from bayesieve.table import FeatureLevels, Table
from bayesieve.table.choices import is_choice
from bayesieve.table.indicator_levels import scores_of
from bayesieve.table.labels import interval_labels
from bayesieve.table.pair_levels import PairLevels
from bayesieve.table.table_levels import TableLevels

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB

_UNSEEN = "(not seen in training)"


def explain_rows(model: SelectiveNB, X: Any, by: str) -> Explanation:
    """What `SelectiveNB.explanation` gives; ValueError if ``by`` is neither "feature" nor "score"."""
    if not is_choice(by, ("feature", "score")):
        raise ValueError(f"by must be 'feature' or 'score', got {by!r}.")
    table = model.encoder_.read(X, owner=model)
    coded, cells = coded_twice(model, table)
    used, contributions = model.naive_bayes_.contributions(cells.codes)
    # The score that each indicator is made from.
    sources = (np.arange(coded.n_features) if coded.families is None else coded.families.family_of)[used]
    levels = dict(zip(sources.tolist(), (model.encoder_.levels_[k] for k in used.tolist()), strict=True))
    names = TableLevels.of(model.encoder_.levels_).names  # the table may lack them
    raw = {source: _texts(levels[source], source, table, names) for source in sorted(levels)}
    explanation = Explanation(
        rows=np.arange(coded.n_rows),
        features=[coded.names[k] for k in used],
        classes=model.classes_,
        prior=model.naive_bayes_.intercept_,
        contributions=contributions,
        values=_columns([raw[source] for source in sources.tolist()], coded.n_rows),
        levels=_columns([_labels(model, coded, k) for k in used.tolist()], coded.n_rows),
        weights=model.feature_weights_[used],
    )
    if by == "feature" or coded.families is None:
        return explanation
    return explanation.grouped(
        groups=scores_of([model.encoder_.levels_[k] for k in used]),
        values=_columns([raw[source] for source in raw], coded.n_rows),
        levels=_columns([_interval(model, coded, used[sources == source]) for source in raw], coded.n_rows),
    )


def _texts(level: FeatureLevels, source: int, table: Table, names: Sequence[str]) -> list[str | None]:
    if isinstance(level, PairLevels):
        return level.texts([table.column(names.index(part.name)) for part in level.parts])
    return level.texts(table.column(source))


def on_scores(model: SelectiveNB, X: Any) -> tuple[SelectiveNB, Any]:
    """A model whose scores are functions, and rows for it, as a model that reads scores, and a table of them.

    Anything can be done with rows of a table, and the functions are called once.
    """
    encoder = model.encoder_
    if not isinstance(encoder, IndicatorEncoder) or encoder.scores is None:
        return model, X
    reader = copy(model)
    reader.encoder = reader.encoder_ = encoder.on_columns()
    reader.feature_names_in_ = reader.encoder_.feature_names_in_
    return reader, encoder.compute_scores(X)


def _labels(model: SelectiveNB, coded: CodedTable, k: int) -> np.ndarray:
    """The label of every row's level of one feature."""
    level = model.encoder_.levels_[k]
    names = np.array([*level.labels, _UNSEEN], dtype=object)
    return names[np.minimum(coded.codes[k], level.n_levels)]


def _interval(model: SelectiveNB, coded: CodedTable, indicators: np.ndarray) -> np.ndarray:
    """Between which of the thresholds of these indicators of one score every row lies."""
    levels = [model.encoder_.levels_[k] for k in indicators]
    cuts = np.concatenate([np.asarray(level.cut_points) for level in levels])
    missing = _UNSEEN if levels[0].missing_code is None else levels[0].labels[-1]
    names = np.array([*interval_labels(cuts, "number", None), missing], dtype=object)
    families = coded.families
    assert families is not None
    family = int(families.family_of[indicators[0]])
    ordered = coded.stored[family]
    passed = np.searchsorted(families.threshold_of[indicators], ordered)  # thresholds of these that are below the score
    return names[np.where(ordered >= families.missing_codes[family], len(names) - 1, passed)]


def _columns(columns: list[Any], n_rows: int) -> np.ndarray:
    """Columns of texts as an object array, shape (n_rows, n_columns)."""
    table = np.empty((n_rows, len(columns)), dtype=object)
    for at, column in enumerate(columns):
        table[:, at] = column
    return table

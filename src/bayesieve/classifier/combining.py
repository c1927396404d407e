"""`merge`, which joins fitted models, and `update`, which refits a model with further rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayesieve.classifier.predicting import Predicting
from bayesieve.classifier.scoring import table_of_rows, with_card
from bayesieve.discretize.pairs import cells_of_pair
from bayesieve.evaluation.judged import known_labels
from bayesieve.scorecard import combining
from bayesieve.scorecard.combining import Note
from bayesieve.scorecard.look_up import RowReader
from bayesieve.scorecard.record import Scorecard
from bayesieve.table import Rows, Table
from bayesieve.table.frames import refuse_scan, split_columns
from bayesieve.table.pair_levels import PairLevels

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB


def merge(models: Sequence[SelectiveNB]) -> SelectiveNB:
    """Merge models with equal levels that were fitted separately, for example at sites that cannot share rows, or in
    different months.

    Row counts by class and level are added up. Counted contributions (``calibrate`` False or True) are therefore exact,
    except for the weights of the features, which are averaged over the models. Fitted contributions are averaged with
    the numbers of rows as weights, after the counts of each model are replaced by the total. They are scaled up
    slightly, because fits to fewer rows shrink more. If models divide a level into different cells, the cells are
    divided further, and the rows of a divided cell are split equally. All pairs of columns of any model are kept.
    Standard errors are those of a mean of independent estimates. Merge all models at once rather than in pairs. See
    docs/update-and-merge.md.

    Parameters
    ----------
    models : sequence of SelectiveNB
        Fitted models with equal classes, columns and levels: fit all but the first with ``levels=first.scorecard_``.
        The merged model has the options, search, cautions and benefits of the first.

    Returns
    -------
    SelectiveNB
        Merged model; the given models stay unchanged.

    Raises
    ------
    ValueError
        If classes, columns or levels differ; the message names the first difference.

    Examples
    --------
    >>> import polars as pl
    >>> import bayesieve
    >>> from bayesieve import SelectiveNB
    >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 10})
    >>> here = SelectiveNB().fit(frame, ["no", "no", "yes", "yes"] * 10)
    >>> there = SelectiveNB(levels=here.scorecard_).fit(frame, ["no", "no", "no", "yes"] * 10)
    >>> both = bayesieve.merge([here, there])
    >>> both.n_rows_, both.scorecard_.class_counts.tolist()
    (80, [50.0, 30.0])
    """
    models = list(models)
    if not models or not all(isinstance(model, Predicting) for model in models):
        raise ValueError(f"merge needs a list of fitted SelectiveNB models, got {models!r:.80}.")
    for model in models:
        check_is_fitted(model, "scorecard_")
    card = combining.merged([model.scorecard_ for model in models])
    notes = tuple(Note.now(model.n_rows_) for model in models) if len(models) > 1 else ()
    return with_card(models[0], _noted(card, "merged", notes))


def update(model: SelectiveNB, X: Any, y: Any, sample_weight: Any) -> SelectiveNB:
    """Return a model refitted with further rows, as documented in `SelectiveNB.update`."""
    refuse_scan(X, y if isinstance(y, str) else "", "update", "pass a dataframe, such as polars.read_parquet(path)")
    X, y, sample_weight = split_columns(X, y, sample_weight)
    table = table_of_rows(model, X)
    _, codes, weights = known_labels(model, table, y, sample_weight)
    card = model.scorecard_
    every = np.arange(len(card.features))
    reader = RowReader([feature.cells for feature in card.features], every, card.columns)
    cells, _ = reader.code(table, model.n_jobs)
    grids = _grids(card, reader, table, Rows(codes, card.classes, weights))
    updated = combining.updated(card, cells, grids, codes, weights)
    return with_card(model, _noted(updated, "updated", (Note.now(codes.size),)))


def _grids(card: Scorecard, reader: RowReader, table: Table, rows: Rows) -> dict[int, np.ndarray]:
    """Return the number (or weight) of rows by level of the first column, level of the second column and class, for
    each feature that is a pair, by its position.

    Each array has the shape (n_levels of the first column, n_levels of the second, n_classes).
    """
    pairs = {k: f.levels for k, f in enumerate(card.features) if isinstance(f.levels, PairLevels)}
    if not pairs:
        return {}
    columns = reader.read(table)
    position = {name: i for i, name in enumerate(columns.names)}
    parts = {id(part): part for pair in pairs.values() for part in pair.parts}
    codes = {key: part.code(columns.column(position[part.name]), []) for key, part in parts.items()}
    grids = {}
    for k, pair in pairs.items():
        first, second = (codes[id(part)] for part in pair.parts)
        grids[k] = cells_of_pair(first, second, (pair.grid.shape[0], pair.grid.shape[1]), rows)
    return grids


def _noted(card: Scorecard, key: str, notes: tuple[Note, ...]) -> Scorecard:
    """Return a copy of a scorecard with ``notes`` appended to the list ``key`` of its provenance."""
    return replace(card, provenance={**card.provenance, key: (*card.provenance.get(key, ()), *notes)})

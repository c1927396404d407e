"""Rows taken apart by feature, or by the score behind the indicators."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from bayesieve.classifier.rows import cells_of_row, read
from bayesieve.discretize import IndicatorEncoder
from bayesieve.naive_bayes import Explanation
from bayesieve.parts import is_choice
from bayesieve.scorecard.look_up import ScoreReader
from bayesieve.scorecard.record import UNSEEN, columns_of_texts

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB


def explain_rows(model: SelectiveNB, X: Any, by: str) -> Explanation:
    """Compute `SelectiveNB.explanation`; ValueError if ``by`` is neither "feature" nor "score"."""
    if not is_choice(by, ("feature", "score")):
        raise ValueError(f"by must be 'feature' or 'score', got {by!r}.")
    card, cells = model.scorecard_, cells_of_row(model, X)
    if cells is not None:
        return card.explain_cells(cells)
    table = read(model, X)
    explanation = card.explain(table)
    if by == "feature" or not isinstance(card.reader, ScoreReader):
        return explanation
    return explanation.grouped(
        groups=card.reader.scores,
        values=columns_of_texts(card.reader.score_texts(table), table.n_rows),
        levels=columns_of_texts(card.reader.score_labels(table, UNSEEN), table.n_rows),
    )


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

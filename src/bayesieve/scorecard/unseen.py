"""Warnings about values without a level: never seen in training, or missing in a column that was complete then.

A level is an interval or group of values of a column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import numpy as np

from bayesieve.scorecard.record import Scorecard
from bayesieve.table import FeatureLevels, Table
from bayesieve.table.cautions import Caution, issue
from bayesieve.table.columns import Categories
from bayesieve.table.values import canonical_text
from bayesieve.words import listed, named, quoted_text

EXAMPLE_ROWS = 1000  # rows that are searched for examples of unseen values
_NEARLY_ALL = 0.9  # share of unseen values from which the warning compares the values with those of training
_FEWEST_ROWS = 5  # fewer unseen values of a column raise no warning
_MANY = 0.05  # share of unseen values of a column that raises a warning
_MAX_EXAMPLES = 3


@dataclass
class _Unseen:
    """Counts of values without a level in some rows.

    counts : (n_columns,) number of rows without a level, for each column that the model needs.
    contents : for each column with almost only unseen values, a description of its values now and in training.
    """

    counts: np.ndarray
    contents: dict[str, str] = field(default_factory=dict)

    def add(self, other: _Unseen) -> None:
        """Add the counts of further rows, given as ``other``. If a column is described already, that description
        remains.
        """
        self.counts += other.counts
        self.contents = other.contents | self.contents


_collected: ContextVar[_Unseen | None] = ContextVar("unseen", default=None)


@contextmanager
def one_unseen_warning(card: Scorecard, n_rows: int, most: int = 5) -> Iterator[None]:
    """Collect the unseen values of all rows that are predicted in this context, and issue one warning at its end.

    ``n_rows`` is the number of rows that will be predicted; the warning names up to ``most`` columns.
    """
    unseen = _Unseen(np.zeros(len(card.reader.needed), dtype=np.int64))
    token = _collected.set(unseen)
    try:
        yield
    finally:
        _collected.reset(token)
    issue([_caution(card, unseen, n_rows, most)])


def warn_of_unseen(card: Scorecard, table: Table, counts: np.ndarray, rows: str = "") -> None:
    """Warn about unseen values; within `one_unseen_warning`, collect their counts instead.

    Parameters
    ----------
    card : the fitted model.
    table : the rows.
    counts : (n_columns,) number of rows without a level, from `RowReader.code`.
    rows : the rows in words, such as "400 rows"; by default their number.
    """
    # Compare the values of columns with almost only unseen values with those of training.
    reader, contents = card.reader, dict[str, str]()
    for k in np.flatnonzero(counts >= max(1, _NEARLY_ALL * table.n_rows)).tolist():
        level = reader.column_levels[k]
        column = reader.read(table).select([k]).take(np.arange(min(EXAMPLE_ROWS, table.n_rows))).column(0)
        values = column.categories(merged=False).values
        if level.groups is not None and values:
            codes = level.code_categories(Categories(np.arange(len(values)), values))
            values = [values[i] for i in np.flatnonzero(codes == level.unseen_code).tolist()]
        if values:
            now = f"holds {_examples([canonical_text(value) for value in values])} ({column.type})"
            contents[level.name] = f"'{level.name}' {now}, but held {_training_values(level)} in training"
    unseen = _Unseen(counts, contents)
    collected = _collected.get()
    if collected is not None:
        collected.add(unseen)
    issue([_caution(card, unseen, table.n_rows, rows=rows)])


def _training_values(level: FeatureLevels) -> str:
    """Return a description of a column's values in training, for a sentence: "numbers", or examples of categories."""
    if level.groups is None:
        return "numbers" if level.type == "number" else f"values of type {level.type}"
    values = [canonical_text(value) for group in level.groups for value in group if value is not None]
    return f"{_examples(values)} ({level.type})" if values else "no value"


def _examples(texts: Sequence[str]) -> str:
    """Return the first few texts in quotes, as a list for a sentence."""
    return listed([quoted_text(text) for text in texts], _MAX_EXAMPLES)


def _caution(card: Scorecard, unseen: _Unseen, n_rows: int, most: int = 5, rows: str = "") -> Caution | None:
    """Return a warning that names up to ``most`` columns with many unseen values; None if there are none. ``rows`` are
    the rows in words, by default ``n_rows``.
    """
    if n_rows < _FEWEST_ROWS:
        return None
    rows, names = rows or f"{n_rows:,} rows", card.reader.needed
    many = np.flatnonzero(unseen.counts >= max(_FEWEST_ROWS, _MANY * n_rows))
    many = many[np.argsort(-unseen.counts[many], kind="stable")]
    counts = {names[k]: int(unseen.counts[k]) for k in many.tolist()}
    everywhere = [name for name, count in counts.items() if count == n_rows]
    shares = [f"'{name}' ({100 * count / n_rows:.1f} %)" for name, count in counts.items() if count < n_rows]
    sentences = []
    if everywhere:
        subject, verb, check = "Column", "contains", "it is the right column"
        if len(everywhere) > 1:
            subject, verb, check = "Columns", "contain", "they are the right columns"
        sentences.append(
            f"{subject} {named(everywhere, most)} {verb} no value seen in training ({rows}). "
            f"Check that {check}, spelt as in training."
        )
    if shares:
        sentences.append(
            f"Some values were never seen in training, or are missing in columns that were complete in training; they "
            f"contribute nothing to predictions (share of the {rows}): {listed(shares, most)}."
        )
    contents = [unseen.contents[name] for name in counts if name in unseen.contents]
    if contents:
        sentences.append(f"{'; '.join(contents[:most])}: convert the values to those of training.")
    return Caution("unseen", tuple(counts), " ".join(sentences)) if sentences else None

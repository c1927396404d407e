"""Effect of a user's rules for levels: predictive power of a column with its levels by hand and with learnt levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax
from sklearn.model_selection import StratifiedKFold

from bayesieve.counts import log_probabilities
from bayesieve.counts.contingency import class_log_prior
from bayesieve.discretize import TableEncoder
from bayesieve.evaluation.judged import EvaluatedRows
from bayesieve.table import FeatureLevels
from bayesieve.table.cautions import silenced
from bayesieve.table.frames import as_table

_FOLDS = 5


class RuleEffect(NamedTuple):
    """Effect of a user's rule for the levels of one column, measured on held-out rows.

    ``by_hand`` and ``learnt`` are the nats per row by which the column alone lowers the log loss of the class shares:
    with levels by hand, and with learnt levels. ``n_learnt`` is the number of levels learnt from all rows.
    """

    by_hand: float
    learnt: float
    n_learnt: int


def effects_of_rules(rows: EvaluatedRows, levels: Sequence[FeatureLevels]) -> dict[str, RuleEffect]:
    """Compare levels set by hand with levels learnt without them, column by column, in cross-validation.

    Parameters
    ----------
    rows : labelled rows.
    levels : levels by hand of each column to compare.

    Returns
    -------
    dict
        `RuleEffect` by name of the column; empty if a class has too few rows for folds.
    """
    labels, table = np.asarray(rows.labels), as_table(rows.X)
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    present, classes = np.unique(labels[weights > 0], return_inverse=True)
    if present.size < 2 or np.bincount(classes).min() < _FOLDS:
        return {}
    table, weights = table.take(np.flatnonzero(weights > 0)), weights[weights > 0]
    folds = list(StratifiedKFold(_FOLDS, shuffle=True, random_state=0).split(classes, classes))
    effects = {}
    for level in levels:
        column = table.select([table.names.index(level.column)]).read_once()
        gains = np.zeros(2)
        codes = level.code(column.column(0), []).astype(np.int64)
        encoder = TableEncoder(kinds={level.column: level.kind}, n_jobs=1)
        with silenced():
            for train, test in folds:
                fitted = encoder.fit(column.take(train), classes[train], weights[train])
                learnt_codes = fitted.transform_coded(column).codes[0].astype(np.int64)
                for k, level_codes in enumerate((codes, learnt_codes)):
                    gains[k] += _gain(level_codes, classes, weights, train, test)
            n_learnt = int(encoder.fit(column, classes, weights).levels_[0].n_levels)
        by_hand, learnt_gain = (gains / weights.sum()).tolist()
        effects[level.column] = RuleEffect(by_hand, learnt_gain, n_learnt)
    return effects


def _gain(codes: np.ndarray, classes: np.ndarray, weights: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    """Return the nats, summed over the test rows, by which one column lowers the log loss of the class shares. Both
    predictions are estimated from the training rows.

    ``codes``, ``classes`` and ``weights`` (n_rows,) are levels, classes and weights of the rows; ``train`` and ``test``
    are row positions.
    """
    counts = np.zeros((int(codes.max()) + 1, int(classes.max()) + 1))
    np.add.at(counts, (codes[train], classes[train]), weights[train])
    prior = class_log_prior(counts.sum(axis=0))
    logs = log_softmax(prior + log_probabilities(counts, float(counts.sum()), "m-estimate"), axis=1)
    labels = classes[test]
    return float(weights[test] @ (logs[codes[test], labels] - prior[labels]))

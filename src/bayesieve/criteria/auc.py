"""Area under the ROC curve of every candidate, exact: all pairs of rows counted, ties one half."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesieve.criteria.base import Criterion
from bayesieve.criteria.class_block import TWO_WAY, ClassBlock
from bayesieve.criteria.ratio_tables import RatioTables
from bayesieve.criteria.row_scores import RowScores

if TYPE_CHECKING:
    from bayesieve.criteria._auc_kernels import Moves

_MOST_CELLS = 0.5  # per row, for which counting cells is faster than keys of all rows


class AUC(Criterion):
    """Area under the ROC curve of the log odds of class 1; higher is better.

    The share of pairs of a row of class 1 and a row of class 0 that the model puts in the right order, a tie counting
    one half (Mann-Whitney). Several classes: the areas of every class against the rest, weighted by class share
    (Provost & Domingos 2001). Classes without rows, or with all of them, are left out; NaN when none is left. Scores
    are pooled over all rows, whatever tables they come from; the empty subset puts no row before another: 0.5. A pair
    of weighted rows counts the product of the weights.

    With leave-one-out, rows of the same levels do not tie: each lacks its own count, which puts it behind those of
    other classes. Where many rows share their levels, folds measure the area better.

    Scores are sums of logarithms rounded to whole steps, so that rows with the same product of probabilities tie
    however it came about, and no others do: scores tie when they differ by no more than rounding can explain, about
    1e-14 times the number of selected features.

    Notes
    -----
    Cost of a candidate, as measured on 50,000 rows: two classes, 0.7 to 2 ns a row while the rows have few different
    scores (cells of equal score and level are counted and put in order); then 0.9 to 2.4 ns for features of two levels
    (positives, or the levels of their different scores, are looked up in a bit map of the sorted negatives) and 4 to
    7 ns for others and for folds (a bit map of the shifted negatives; a positive row is compared with one key of its
    bucket). Weighted rows take 6 to 9 ns, for they are distributed to buckets and put in order there. None of this
    depends on the number of levels or folds.

    Several classes: a level does not shift the scores by a constant, so that all scores are computed again, one
    division a row and class, and counted once per class: 7 to 8 ns a row and class once scores differ. Rows of which a
    class is more than e^340 times as likely as another need logarithms: with four in five such rows 38 ns a row and
    class with three classes, 47 ns with four.

    References
    ----------
    Provost & Domingos (2001), Well-trained PETs: improving probability estimation trees, CeDER working paper 00-04-IS.
    """

    name = "auc"
    title = "AUC"
    lower_is_better = False
    best = 1.0
    of_empty = 0.5
    additive = False

    def start(
        self, block: ClassBlock, tables: RatioTables, priors: np.ndarray, *, leave_out: bool = False
    ) -> RowScores:
        return RowScores(block, tables, priors)  # every row counts in the order, however certain its class

    def sums(self, rows: RowScores, tables: RatioTables, features: np.ndarray, adding: np.ndarray) -> np.ndarray:
        """(n_candidates, 1) weight of pairs in the right order, or (n_candidates, n_classes) against the rest."""
        return _pair_sums(rows, rows.moves(features, adding))

    def own_sums(self, rows: RowScores, tables: RatioTables) -> np.ndarray:
        return _pair_sums(rows, rows.no_move())[0]

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        totals = np.asarray(class_totals, dtype=float)
        rest = _others(totals)
        usable = np.flatnonzero(totals * rest > 0.0)  # the weights of a class may be too small to multiply
        sums = np.atleast_2d(sums)
        if usable.size == 0:
            return np.full(sums.shape[0], np.nan)
        if totals.size == 2:
            return sums[:, 0] / (totals[0] * totals[1])
        areas = sums[:, usable] / (totals[usable] * rest[usable])
        return np.average(areas, axis=1, weights=totals[usable])


def _pair_sums(rows: RowScores, moves: Moves) -> np.ndarray:
    block, n_classes = rows.block, rows.tables.n_classes
    totals = block.class_totals(n_classes)
    rest = _others(totals)
    targets = np.array([1]) if n_classes == 2 else np.arange(n_classes)
    sums = np.zeros((moves.features.size, targets.size))
    counted = (totals[targets] > 0.0) & (rest[targets] > 0.0)
    if counted.any():
        positive = block.classes == targets[counted][:, None]
        sums[:, counted] = _count_pairs(rows, moves, targets[counted], positive)
    return sums


def _count_pairs(rows: RowScores, moves: Moves, targets: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """(n_candidates, n_targets) sums, each candidate's by the fastest way that does not give up. A kernel for each way:
    those that never run are never compiled.
    """
    from bayesieve.criteria._auc_kernels import Work, cell_sums, pair_sums
    from bayesieve.criteria._ladder_kernels import ladder_sums

    block, scan, features = rows.block, rows.scan(), moves.features
    sums = np.full((features.size, targets.size), np.nan)
    ladder = rows.ladder(features)
    if ladder is not None:
        chosen = np.flatnonzero((features >= 0) & (block.kinds[features] == TWO_WAY))
        ladder_sums(scan, moves, chosen, *ladder, sums)
        if chosen.size == features.size:
            return sums
    work = Work.of(block.n_rows)
    n_cells = scan.first_of.size * np.where(features >= 0, scan.n_codes[features], 1)
    chosen = np.flatnonzero(np.isnan(sums).any(axis=1) & (n_cells <= _MOST_CELLS * block.n_rows))
    if chosen.size:
        cell_sums(scan, moves, chosen, targets, positive, work, sums)
    for weights in (scan.weights,) if scan.weights.size else (None, np.ones(block.n_rows)):
        chosen = np.flatnonzero(np.isnan(sums).any(axis=1))
        if chosen.size:
            pair_sums(scan, moves, chosen, targets, positive, weights, work, sums)
    return sums


def _others(totals: np.ndarray) -> np.ndarray:
    """Weight of all other classes."""
    return np.array([np.delete(totals, j).sum() for j in range(totals.size)])

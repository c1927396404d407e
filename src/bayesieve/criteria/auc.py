"""Exact area under the ROC curve of every candidate, by counting all pairs of rows, ties as one half."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesieve.criteria.base import Criterion, LogRatios
from bayesieve.criteria.scored_rows import TWO_WAY, ClassBlock, RatioTables

if TYPE_CHECKING:
    from bayesieve.criteria._auc_kernels import AreaMoves, Scores
    from bayesieve.criteria._ladder_kernels import Ladder

_MOST_CELLS = 0.5  # cells per row up to which counting cells is faster
_STEP_ERROR = 64 * np.finfo(float).eps  # nats: bound of the error of a log ratio of two probabilities
_DOUBLE_RANGE = 340.0  # nats: the quotient of two such ratios is still a finite double
_FEW_SCORES = 0.015  # distinct scores per row up to which counting cells is tried


class AUC(Criterion):
    """Area under the ROC curve of the log odds of class 1; higher is better.

    It is the share of pairs of a row of class 1 and a row of class 0 that the model orders correctly, a tie counting
    one half (Mann-Whitney). For several classes, the areas of every class against the rest are weighted by class share
    (Provost & Domingos 2001). Classes without rows, or with all rows, are skipped; the result is NaN if no class
    remains. Rows scored by different tables (of folds) are ranked together. The empty subset has the area 0.5. A pair
    of weighted rows counts with the product of the weights.

    With leave-one-out, rows with equal levels are not ties: each is scored without its own count, which ranks it behind
    rows of other classes. If many rows have equal levels, cross-validation estimates the area better.

    Scores are sums of logarithms, which are rounded to integer steps. Rows with the same product of probabilities are
    ties, whatever the order of the factors: scores are ties if their difference may be due to rounding, that is, up to
    about 1e-14 times the number of selected features.

    Notes
    -----
    Time per row and candidate, measured on 50,000 rows. With two classes, it is 0.7 to 2 ns if the rows have few
    distinct scores (cells of equal score and level are counted and sorted). Otherwise, features of two levels take 0.9
    to 2.4 ns (positives are looked up in a bit map of the sorted negatives), and other features, and folds, 4 to 7 ns
    (positives are compared with one key of their bucket in a bit map of the negatives). Weighted rows take 6 to 9 ns,
    because they are sorted. None of this depends on the number of levels or folds.

    With several classes, a level does not shift scores by a constant. All scores are recomputed, with one division per
    row and class, and counted for each class: 7 to 8 ns per row and class if scores differ. Rows in which a class is
    more than e^340 times as likely as another need logarithms: if four fifths of the rows are of this kind, it takes 38
    ns per row and class with three classes, and 47 ns with four.

    References
    ----------
    Provost & Domingos (2001), Well-trained PETs: improving probability estimation trees, CeDER working paper 00-04-IS.
    """

    name = "auc"
    title = "AUC"
    lower_is_better = False
    best = 1.0
    additive = False

    def start(
        self, block: ClassBlock, tables: RatioTables, prior_ratios: np.ndarray, *, leave_out: bool = False
    ) -> RowScores:
        """Return the scores of the rows under the empty subset of features.

        ``block`` holds the rows, ``tables`` the factors of the levels, and ``prior_ratios`` the ratios P(other class) /
        P(true class) without features. No rows are skipped, whatever ``leave_out``.
        """
        return RowScores(block, tables, prior_ratios)  # no rows are skipped: all of them are ranked

    def sums(self, rows: RowScores, moves: AreaMoves) -> np.ndarray:
        """Return the weight of the pairs of a positive and a negative row that each candidate subset of features ranks
        correctly.

        The shape is (n_candidates, 1) for two classes, otherwise (n_candidates, n_classes), for each class against the
        rest. ``rows`` holds the rows with their probabilities under the current subset, ``moves`` the candidate
        subsets, from ``rows.moves()``.
        """
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

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        """Return the area under the ROC curve of each candidate subset of features, (n_candidates,).

        ``sums`` are the results of the method `sums`; ``class_totals`` (n_classes,) the rows (or weight) by class;
        ``n_selected`` (n_candidates,) the numbers of selected features.
        """
        totals = np.asarray(class_totals, dtype=float)
        rest = _others(totals)
        usable = np.flatnonzero(totals * rest > 0.0)  # the weights of a class may be too small to multiply
        sums = np.atleast_2d(sums)
        if usable.size == 0:
            return np.full(sums.shape[0], np.nan)
        if totals.size == 2:
            areas = sums[:, 0] / (totals[0] * totals[1])
        else:
            by_class = sums[:, usable] / (totals[usable] * rest[usable])
            areas = np.average(by_class, axis=1, weights=totals[usable])
        return np.where((n_selected == 0) & ~np.isnan(areas), 0.5, areas)  # the empty subset orders no rows


def _count_pairs(rows: RowScores, moves: AreaMoves, targets: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Return the weight of correctly ordered pairs, (n_candidates, n_targets), each from the fastest kernel that does
    not fail.

    Every method has a separate kernel, so that methods that are never used are never compiled.

    Parameters
    ----------
    rows : scores of the rows under the current subset.
    moves : candidates.
    targets : (n_targets,) classes that are compared with the rest.
    positive : (n_targets, n_segments) whether the rows of a segment are of that class.
    """
    from bayesieve.criteria._auc_kernels import Work, cell_sums, pair_sums
    from bayesieve.criteria._ladder_kernels import ladder_sums

    block, scan, features = rows.block, rows.scan(), moves.features
    sums = np.full((features.size, targets.size), np.nan)
    ladder_and_lists = rows.ladder(features)
    if ladder_and_lists is not None:
        ladder, lists = ladder_and_lists
        chosen = np.flatnonzero((features >= 0) & (block.kinds[features] == TWO_WAY))
        ladder_sums(scan, moves, chosen, ladder, lists, sums)
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
    """Return for each class the total weight of all other classes, (n_classes,); ``totals`` (n_classes,) are the
    weights of the classes.
    """
    return np.array([np.delete(totals, j).sum() for j in range(totals.size)])


class RowScores(LogRatios):
    """Scores of the rows of a block under the current subset, for criteria that rank rows.

    The score of a row is the log odds of class 1 for two classes; otherwise it is computed from the log ratios of the
    other classes to the true one. Scores are integers (steps), so that adding and dropping a feature cancel exactly,
    and equal products differ by at most one step per factor: scores within ``tolerance`` steps are ties. No rows are
    skipped, however certain their class is.
    """

    _ladder: tuple[Scores, Ladder | None] | None = None  # sorted rows, and the scores by which they were sorted

    def scan(self) -> Scores:
        """Return the arrays that a pass over candidate subsets reads, computed once after each change of the current
        subset.
        """
        # No lock is needed: several threads may compute the same arrays, and the last one stores them.
        scores: Scores | None = self._scan
        if scores is None:
            self._ladder = None
            scores = self._scan = self._prepare()
        return scores

    def ladder(self, features: np.ndarray) -> tuple[Ladder, np.ndarray] | None:
        """Return the sorted rows for candidates that add or drop a feature of two levels, and the positions of their
        two segments, negatives first.

        ``features`` (n_candidates,) are the features of the candidates, -1 for none. Return None if no candidate has
        two levels, or if sorting is not worthwhile.
        """
        from bayesieve.criteria._ladder_kernels import build_ladder

        block, scan = self.block, self.scan()
        sizes = np.diff(block.offsets)
        filled = np.flatnonzero(sizes > 0)
        if (
            self.n_others != 1
            or filled.size != 2
            or block.classes[filled[0]] == block.classes[filled[1]]
            or block.weights.size
            or scan.first_of.size <= _FEW_SCORES * block.n_rows
            or not np.any(block.kinds[features[features >= 0]] == TWO_WAY)
        ):
            return None
        # Look up the rows of the smaller class in the list of the larger one, because a look-up takes longer than a
        # step of the passes over the list.
        lists = filled[np.argsort(-sizes[filled], kind="stable")]
        ladder = self._ladder
        if ladder is None or ladder[0] is not scan:
            negative, positive = (tuple(block.offsets[segment : segment + 2]) for segment in lists)
            ladder = self._ladder = scan, build_ladder(scan.logs[0], negative, positive, scan.tolerance)
        return None if ladder[1] is None else (ladder[1], lists)

    def _prepare(self) -> Scores:
        """Return the arrays of `scan`, computed from log ratios: scores, ratios for several classes, and groups of rows
        with equal scores.
        """
        from bayesieve.criteria._auc_kernels import Scores, group_rows

        block, logs = self.block, self.updated_steps()
        if self.n_others == 1:
            logs = logs * np.repeat(np.where(block.classes == 1, -1, 1), np.diff(block.offsets))
        n_rows = block.n_rows
        slots = np.full(1 << int(np.ceil(np.log2(2 * n_rows + 2))), -1, dtype=np.int32)
        group_of, first_of = np.empty(n_rows, dtype=np.int32), np.empty(n_rows, dtype=np.int32)
        first_of = first_of[: group_rows(logs, block.offsets, slots, group_of, first_of)].copy()
        ratios, is_wide, tolerance = self._ratios(logs)
        return Scores(
            codes=block.codes,
            columns=block.columns.astype(np.int64),
            lows=block.lows,
            highs=block.highs,
            kinds=block.kinds,
            n_codes=block.n_codes.astype(np.int64),
            offsets=block.offsets,
            classes=block.classes,
            weights=block.weights.astype(float),
            logs=logs,
            ratios=ratios,
            is_wide=is_wide,
            group_of=group_of,
            first_of=first_of,
            group_offsets=np.searchsorted(first_of, block.offsets),
            unit=self.tables.log_unit,
            tolerance=tolerance,
        )

    def _ratios(self, steps: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None, int]:
        """Return the ratios (n_others, n_rows) of the other classes to the true class, a mask (1, n_rows) of the rows
        with ratios beyond the range of doubles, and the largest difference of tied scores.

        For two classes, the first two are None. ``steps`` (n_others, n_rows) are the log ratios in integer steps.
        """
        from bayesieve.criteria._auc_kernels import SPARE_BITS

        unit = self.tables.log_unit
        error = (self.n_selected + 3) * (unit + _STEP_ERROR)
        if self.n_others <= 1:
            return None, None, int(np.ceil(error / unit))
        logs = steps * unit
        largest = np.abs(logs[np.abs(logs) <= self.tables.log_reach]).max(initial=0.0)
        logs[logs < -self.tables.log_reach] = -np.inf  # impossible
        limit = _DOUBLE_RANGE - self.tables.largest_log_factor
        is_wide = np.any((np.abs(logs) > limit) & (logs > -np.inf), axis=0, keepdims=True)
        ratios = np.exp(np.clip(logs, None, _DOUBLE_RANGE))
        # A score is a quotient of two sums of ratios, each of which has the relative error of its logarithm.
        error = 4.0 * error + 8.0 * np.finfo(float).eps * (largest + self.n_others + 1)
        return ratios, is_wide if is_wide.any() else is_wide[:0], int(np.ceil(error * 2.0 ** (53 - SPARE_BITS))) + 2

    def moves(self, features: np.ndarray, adding: np.ndarray) -> AreaMoves:
        """Return candidates, the current subset with one feature added or dropped, as arrays for the compiled kernels.

        ``features`` (n_candidates,) are positions of features; ``adding`` (n_candidates,) is a mask of those that are
        added, not dropped.
        """
        from bayesieve.criteria._auc_kernels import AreaMoves

        features = np.asarray(features, dtype=np.int64)
        steps, starts = self.tables.gather_steps(features)
        factors, factor_starts = np.zeros(1), np.zeros(features.size, dtype=np.int64)
        if self.n_others > 1 and features.size:
            factors, factor_starts = self.tables.gather(features, np.asarray(adding, dtype=bool))
        return AreaMoves(features, np.where(adding, 1, -1), steps, starts, factors, factor_starts)

    def no_move(self) -> AreaMoves:
        """Return the current subset as a single candidate, in the format of `moves`."""
        from bayesieve.criteria._auc_kernels import AreaMoves

        size = self.block.n_segments * max(self.n_others, 1)
        one, start = np.ones(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
        return AreaMoves(-one, one, np.zeros(size, dtype=np.int64), start, np.ones(size), start)

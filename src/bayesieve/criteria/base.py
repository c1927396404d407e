"""Base class of criteria, the state of rows under the current subset, and the log losses.

Class probabilities are stored as ratios P(other class) / P(true class). A *move* adds a feature to the current subset
or drops one; it multiplies the ratios by factors from tables. A *candidate* is the current subset after one move. A
criterion is computed for all candidates in one pass over the rows. Rows are stored in *segments* of one class (and
fold), and read in *blocks*. A *level* is an interval or group of values of a feature.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import gammaln

from bayesieve.criteria.scored_rows import IMPOSSIBLE, VERY_MANY_CLASSES, ClassBlock, RatioTables, ScoredRows
from bayesieve.engine import effective_jobs, map_in_threads

SURE = 33.0
"""Nats by which a class must lead for its row to be taken as certain: all rows together then change a mean by less than
1e-14.
"""

_PARALLEL_WORK = 20_000_000  # rows x candidates x other classes below which threads are not worthwhile
_CANDIDATES_AT_ONCE = 1024  # candidates per call of a kernel, which needs a few cache lines for each
_MAX_MULTIPLIED = 80.0  # nats: products of larger factors may overflow

MANY_MOVES = 3  # from this number of moves at once on, log ratios are updated instead of ratios
# Limits of the ratios P(other class) / P(true class) that are kept for each row, and of their logarithms.
_NEVER = 2**61  # beyond all limits, in steps
_HIGHEST_EXACT = 82.0  # nats: the product of eight such ratios does not overflow
_HIGHEST = 165.0  # nats: the common denominator of four such ratios does not overflow
_CERTAIN = 40.0  # nats: if the true class is so far behind, its probability is lost in rounding
_LOWEST = 60.0  # nats: smaller ratios, which no moves make relevant, are set to 0 to avoid denormal numbers

_MAX_STEPS = 1 << 23  # log ratios of subsets in memory at once
_MAX_SUMMED = 1 << 33  # additions of log factors before Python handles signals
_KEPT_SHARE = 0.75  # rows to scan are chosen again if fewer than this share of them can change
_SCANNED_CODES = 1 << 18  # codes below which skipping rows is not worthwhile


class Criterion(ABC):
    """Base class of criteria, which measure a subset of features on a set of rows.

    A criterion is evaluated for many candidates at once; a candidate is the current subset with one feature added or
    dropped. `start` returns the state of the rows under the current subset. The state's methods ``moves(features,
    adding)`` and ``no_move()`` describe candidates and the current subset for `sums`, which passes once over the rows;
    `values` computes the criterion from these sums. If NumPy on class probabilities is fast enough, derive from
    `RowLoss` instead.

    Attributes
    ----------
    name : str
        Name in traces, saved models and options of selectors.
    title, unit : str
        Name for use within a sentence, and unit, for reports. If the title is empty, reports show ``name``.
    lower_is_better : bool
    best : float or None
        Best possible value of the criterion, if there is one.
    additive : bool
        Whether the sums of several blocks of rows may be added; False if the criterion needs all rows at once.
    exact : bool
        Whether probabilities of the true class below 1e-17 must be exact, as for the log loss. For other criteria, such
        rows are certainly wrong.
    needs_options : bool
        Whether the criterion cannot be chosen by its name alone.
    row_columns : tuple of str
        Further columns of `Rows` that it reads, such as ``"benefit"``.
    """

    name: str = ""
    title: ClassVar[str] = ""
    unit: ClassVar[str] = ""
    lower_is_better: bool = True
    best: ClassVar[float | None] = None
    additive: ClassVar[bool] = True
    exact: ClassVar[bool] = False
    needs_options: ClassVar[bool] = False
    row_columns: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def by_default(cls, n_features: int) -> Criterion:
        """Return the criterion with default options, for a table of ``n_features`` features."""
        return cls()

    def saturation(self, n_classes: int) -> Saturation | None:
        """Return the condition under which no single added or dropped feature can change the contribution of a row to
        the criterion.

        Passes skip such rows. If it is None, no row is skipped.
        """
        return None

    def check(self, classes: Any) -> None:  # noqa: B027  # most criteria take any classes
        """Raise ValueError if the criterion does not support these class labels, shape (n_classes,) in sorted order."""

    def start(
        self, block: ClassBlock, tables: RatioTables, prior_ratios: np.ndarray, *, leave_out: bool = False
    ) -> Any:
        """Return the rows with their state (such as class probabilities) under the empty subset of features, which the
        criterion's other methods read.

        Parameters
        ----------
        block : coded rows, sorted by class.
        tables : factors by which the levels of features change the ratios P(other class) / P(true class).
        prior_ratios : (n_segments, n_classes - 1) these ratios under the empty subset.
        leave_out : whether passes may skip rows that satisfy the condition returned by `saturation`.
        """
        saturation = self.saturation(tables.n_classes) if leave_out else None
        return RowRatios(block, tables, prior_ratios, exact=self.exact, saturation=saturation)

    @abstractmethod
    def sums(self, rows: Any, moves: Any) -> np.ndarray:
        """Return sums over the rows for each candidate subset, shape (n_candidates, n_sums).

        ``rows`` holds the rows with their probabilities under the current subset, from `start`; ``moves`` are the
        candidates, from ``rows.moves()``, or the current subset, from ``rows.no_move()``.
        """

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        """Return the criterion of each candidate subset of features, shape (n_candidates,): by default, the first sum
        divided by the number (or weight) of all rows.

        ``sums`` (n_candidates, n_sums) are the results of `sums`, added over all rows; ``n_selected`` (n_candidates,)
        the numbers of features in the candidate subsets; ``class_totals`` (n_classes,) the rows (or weight) by class.
        """
        return sums[:, 0] / class_totals.sum()


class RunningCriterion:
    """Running evaluation of a criterion during a search for a subset of features: costs of the current subset, and of
    candidates (the current subset with one feature added or dropped).

    Costs are values of the criterion, times -1 if higher values are better.

    Parameters
    ----------
    rows : rows on which the criterion is measured.
    criterion : the criterion.
    leave_out : whether passes may skip rows that no single move can change.
    n_jobs : number of threads.

    Attributes
    ----------
    sign : float
    1 if lower values of the criterion are better, otherwise -1.
    move, reset : functions
    ``move(features, adding)`` adds features to the current subset or drops them; ``reset()`` makes it empty.
    """

    def __init__(self, rows: ScoredRows, criterion: Criterion, leave_out: bool, n_jobs: int | None) -> None:
        effective_jobs(n_jobs)  # raises an error for invalid values before anything runs
        self._rows, self._criterion, self._n_jobs = rows, criterion, n_jobs
        self.sign = 1.0 if criterion.lower_is_better else -1.0
        self._move_work = rows.block.n_rows * (rows.tables.n_classes - 1)
        leaves = leave_out and criterion.saturation(rows.tables.n_classes) is not None
        options: dict[str, Any] = {"leave_out": True} if leaves else {}  # user-defined criteria may not have the option
        self._state: Any = criterion.start(rows.block, rows.tables, rows.prior_ratios, **options)
        self.move, self.reset = self._state.multiply, self._state.reset

    def of_subsets(self, subsets: np.ndarray) -> np.ndarray:
        """Return the costs of subsets of features, shape (n_subsets,); the last subset becomes the current one.

        ``subsets`` (n_subsets, n_features) is a mask of the features of each subset.
        """
        # Compute each subset from exact log ratios, so that results do not depend on the order of the subsets.
        state, criterion = self._state, self._criterion
        sums = np.array([criterion.sums(state, state.no_move())[0] for _ in state.iterate(subsets)])
        return self.sign * criterion.values(sums, subsets.sum(axis=1), self._rows.class_totals)

    def candidates(self, features: np.ndarray, adding: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return the costs of the candidates, (n_candidates,): the current subset with one feature added or dropped.

        ``features`` (n_candidates,) are the positions of these features; ``adding`` (n_candidates,) is a mask of those
        that are added, not dropped; ``sizes`` (n_candidates,) are the numbers of features in the candidates.
        """
        state, criterion, n = self._state, self._criterion, features.size
        very_many = self._rows.tables.n_classes > VERY_MANY_CLASSES
        if n <= _CANDIDATES_AT_ONCE and self._move_work * n < _PARALLEL_WORK and not very_many:
            sums = criterion.sums(state, state.moves(features, adding))
        else:

            def piece(chosen: slice) -> np.ndarray:
                """Return the sums of the criterion for a slice of the candidates, (n, n_sums)."""
                return criterion.sums(state, state.moves(features[chosen], adding[chosen]))

            state.scan()  # computed once, before threads share it
            # With very many classes, use a single thread: Ctrl-C would have to wait too long for the work of other
            # threads.
            sums = np.concatenate(map_in_threads(piece, self._pieces(n), 1 if very_many else self._n_jobs))
        return self.sign * criterion.values(sums, sizes, self._rows.class_totals)

    def path(self, features: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Add features to the current subset one after another; return the cost after each addition, (n_features,).

        ``features`` (n_features,) are their positions, ``sizes`` (n_features,) the numbers of features in the subset
        after each addition.
        """
        sums = self._criterion.path_sums(self._state, features)  # type: ignore[attr-defined]
        return self.sign * self._criterion.values(sums, sizes, self._rows.class_totals)

    def current(self, size: int) -> float:
        """Return the cost of the current subset, which has ``size`` features."""
        sums = self._criterion.sums(self._state, self._state.no_move())
        return self.sign * float(self._criterion.values(sums, np.array([size]), self._rows.class_totals)[0])

    def _pieces(self, n: int) -> list[slice]:
        """Divide ``n`` candidates into slices, each evaluated by one thread; results do not depend on the slices."""
        if self._rows.tables.n_classes > VERY_MANY_CLASSES:
            return [slice(a, a + 1) for a in range(max(1, n))]
        n_pieces = -(-n // _CANDIDATES_AT_ONCE)
        if self._move_work * n >= _PARALLEL_WORK:
            workers = effective_jobs(self._n_jobs)
            n_pieces = min(n, max(workers, -(-n_pieces // workers) * workers))
        ends = np.linspace(0, n, max(1, n_pieces) + 1).astype(int)
        return [slice(a, b) for a, b in pairwise(ends.tolist())]


class LogRatios:
    """State of a block of rows under the current subset: log ratios of the other classes to the true one.

    Log ratios are integer multiples (steps) of ``tables.log_unit``, so that sums are exact, and adding and dropping a
    feature cancel after any number of moves.

    Parameters
    ----------
    block : coded rows, sorted by class.
    tables : log factors by which the levels of features change the ratios.
    prior_ratios : (n_segments, n_classes - 1) ratios P(other class) / P(true class) under the empty subset.
    """

    def __init__(self, block: ClassBlock, tables: RatioTables, prior_ratios: np.ndarray) -> None:
        self.block, self.tables = block, tables
        self.n_others = tables.n_classes - 1
        self.n_selected = 0
        self._steps = block.engine.array((self.n_others, block.n_rows), np.int64)
        with np.errstate(divide="ignore"):
            logs = np.log(prior_ratios)
        # A class with prior 0 stays impossible, however large the contributions of features to it are.
        never = 2.0 * tables.log_reach
        logs = np.where(prior_ratios > 0.0, logs + np.where(prior_ratios > IMPOSSIBLE * 1e-20, never, 0.0), -never)
        self._empty = np.rint(logs / tables.log_unit).astype(np.int64)
        self._start: np.ndarray | None = self._empty  # steps of the segments, for rows that do not have them yet
        self._pending: list[tuple[int, bool]] = []
        self._scan: Any = None  # arrays that a criterion reads, computed from the logarithms when needed

    def reset(self) -> None:
        """Reset the state of the rows to the empty subset of features."""
        self._start, self.n_selected, self._scan = self._empty, 0, None
        self._pending.clear()

    def free_memory(self) -> None:
        """Delete arrays that can be recomputed from the log ratios, to free memory."""
        self._scan = None

    def multiply(self, features: Sequence[int], adding: Sequence[bool]) -> None:
        """Add features to the current subset (``adding`` True) or drop them; the log ratios are updated before the next
        pass.

        ``features`` are positions of features; ``adding`` has one entry for each of them.
        """
        self._pending += zip(features, adding, strict=True)
        self.n_selected += 2 * sum(adding) - len(adding)
        self._scan = None

    def updated_steps(self) -> np.ndarray:
        """Return the log ratios of the current subset, in integer steps, shape (n_classes - 1, n_rows), after applying
        the features that were added or dropped since the last call.
        """
        if self._start is not None:
            self._fill(self._steps, self._start)
            self._start = None
        together = self.tables.store()
        for moves in [self._pending] if together and self._pending else [[move] for move in self._pending]:
            features, adding = np.array([move[0] for move in moves]), np.array([move[1] for move in moves])
            self._add(self._steps[None], features, adding, np.array([features.size]), np.arange(features.size))
        self._pending.clear()
        return self._steps

    def iterate(self, subsets: np.ndarray) -> Iterator[None]:
        """Make each of several subsets of features the current one in turn, and yield after each.

        ``subsets`` is a mask (n_subsets, n_features). If memory allows, the log ratios of many subsets are computed in
        one pass.
        """
        assert self._start is not None
        start, n_ratios = self._start, max(1, self.n_others * self.block.n_rows)
        at_once = 1
        if self.block.is_whole and self.tables.store():
            room = min(_MAX_STEPS // n_ratios, _MAX_SUMMED // (n_ratios * max(1, subsets.shape[1])))
            at_once = max(at_once, room)
        for begin in range(0, len(subsets), at_once):
            batch = subsets[begin : begin + at_once]
            summed = self._steps_of(batch, start) if at_once > 1 else [None]
            for subset, steps in zip(batch, summed, strict=True):
                features = np.flatnonzero(subset)
                if steps is None:
                    self._start, self._pending = start, [(int(feature), True) for feature in features]
                else:
                    self._start, self._pending, self._steps = None, [], steps
                self.n_selected, self._scan = features.size, None
                yield

    def _steps_of(self, subsets: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return the log ratios under each of several subsets of features, in integer steps, shape (n_subsets,
        n_classes - 1, n_rows).

        ``subsets`` is a mask (n_subsets, n_features); ``start`` (n_segments, n_classes - 1) are the log ratios of the
        segments (rows of one class) under the empty subset, in steps.
        """
        steps = np.empty((len(subsets), self.n_others, self.block.n_rows), dtype=np.int64)
        for of_subset in steps:
            self._fill(of_subset, start)
        used = np.flatnonzero(subsets.any(axis=0))
        number, members = np.nonzero(subsets[:, used])
        ends = np.bincount(number, minlength=len(subsets)).cumsum()
        self._add(steps, used, np.ones(used.size, dtype=bool), ends, np.ascontiguousarray(members))
        return steps

    def _fill(self, array: np.ndarray, of_segments: np.ndarray) -> None:
        """Set each row of ``array`` (n_classes - 1, n_rows) to the value of its segment in ``of_segments`` (n_segments,
        n_classes - 1).
        """
        for bounds in self.block.blocks(8 * self.n_others):
            for values, (begin, end) in zip(of_segments, pairwise(bounds.tolist()), strict=True):
                array[:, begin:end] = values[:, None]

    def _add(
        self, steps: np.ndarray, features: np.ndarray, adding: np.ndarray, ends: np.ndarray, members: np.ndarray
    ) -> None:
        """Add the log factors of features to the log ratios of the subsets to which they are added, and subtract
        dropped ones.

        Parameters
        ----------
        steps : (n_subsets, n_classes - 1, n_rows) log ratios in integer steps, updated in place.
        features, adding : (n_features,) positions of features, and mask of those that are added.
        ends, members : positions among ``features`` of the features of each subset: members[ends[s - 1] : ends[s]] for
            subset s.
        """
        from bayesieve.criteria._kernels import add_steps

        block = self.block
        table, starts = self.tables.gather_steps(features)
        places = (block.columns, block.lows, block.highs, block.kinds, block.n_codes)
        moves = (np.where(adding, 1, -1), *(place[features] for place in places), starts, table)
        for bounds in block.blocks(8 * self.n_others, self.n_others, features.size):
            add_steps(steps, block.codes, bounds, *moves, ends, members)


@dataclass(frozen=True)
class Saturation:
    """Condition under which a row contributes the same, up to rounding, after any single move.

    right : log odds of the true class, in nats, above which a row is certainly right.
    wrong : log odds against the true class, in nats, above which a row is certainly wrong; infinite if a wrong row can
        always change.
    """

    right: float
    wrong: float = np.inf


class RatioMoves(NamedTuple):
    """Candidates, the current subset with one feature added or dropped, as arguments for the compiled kernels.

    Attributes
    ----------
    columns, lows, highs, kinds : (n_candidates,) where kernels find the levels of each feature, see `ClassBlock`.
    starts, n_codes : (n_candidates,) first entry of each candidate in ``table``, and number of codes of the feature.
    table : flat table of the factors by which the levels change the ratios.
    """

    columns: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    kinds: np.ndarray
    starts: np.ndarray
    n_codes: np.ndarray
    table: np.ndarray


@dataclass(frozen=True)
class RatioScan:
    """Rows whose losses an added or dropped feature may change, and their ratios, as input of the kernels.

    Ratios that are too large to multiply are divided by a scale of the row, which sums of log losses take into account.
    For other criteria, such ratios are only reduced to a safe size, because the probability of the true class is
    negligible in any case.

    Attributes
    ----------
    block : the rows
    ratios : (n_classes - 1, n_rows) P(other class) / P(true class), divided by the row's scale
    base : (n_rows,) 1 divided by the row's scale; empty if all scales are 1
    log_scale : sum over rows of the logarithm of the scale (times the weight)
    wrong : (n_segments,) rows (or weight) that were skipped as certainly wrong
    """

    block: ClassBlock
    ratios: np.ndarray
    base: np.ndarray
    log_scale: float
    wrong: np.ndarray

    def blocks(self, moves: RatioMoves) -> Iterable[np.ndarray]:
        """Yield one array for each block of rows, for kernels that add up sums block by block: the first row of each
        segment (rows of one class) in the block, then its end, (n_segments + 1,).

        ``moves`` are the candidates; the more there are, the smaller are the blocks.
        """
        n_others, n_moves = len(self.ratios), moves.columns.size
        if self.block.is_whole and n_others < VERY_MANY_CLASSES:
            return (self.block.offsets,)
        return self.block.blocks(8 * n_others + n_moves * self.block.codes.itemsize, n_others, n_moves)

    def add(self, kernel: Callable[..., None], moves: RatioMoves, sums: np.ndarray, *facts: Any) -> np.ndarray:
        """Run a kernel on all blocks of rows; it adds its results for each candidate subset of features to ``sums``,
        which is returned.

        Parameters
        ----------
        kernel : compiled function of ratios, codes, offsets of the segments, ``facts``, ``moves`` and ``sums``.
        moves : candidates.
        sums : array (n_candidates, ...) to add to.
        facts : further arguments of the kernel.
        """
        for bounds in self.blocks(moves):
            kernel(self.ratios, self.block.codes, bounds, *facts, *moves, sums)
        return sums

    def wrong_by_class(self) -> np.ndarray:
        """Return the rows (or weight) of each class that were skipped as certainly wrong, shape (n_classes,)."""
        return np.bincount(self.block.classes, weights=self.wrong, minlength=len(self.ratios) + 1)


class RowRatios(LogRatios):
    """State of a block of rows under the current subset, for criteria that need class probabilities.

    Ratios are multiplied by factors when a feature is added or dropped. They are recomputed from exact log ratios
    before rounding errors or ratios out of range could matter.

    Parameters
    ----------
    block : coded rows, sorted by class.
    tables : log factors by which the levels of features change the ratios.
    prior_ratios : (n_segments, n_classes - 1) ratios P(other class) / P(true class) under the empty subset.
    exact : whether probabilities of the true class below 1e-17 must be exact, as for the log loss.
    saturation : condition under which passes skip a row, because no single move can change its loss; None to skip none.
    """

    def __init__(
        self,
        block: ClassBlock,
        tables: RatioTables,
        prior_ratios: np.ndarray,
        *,
        exact: bool = False,
        saturation: Saturation | None = None,
    ) -> None:
        self._exact = exact
        largest = tables.largest_log_factor
        self._highest = (_HIGHEST_EXACT if exact else _HIGHEST) - np.log(tables.n_classes) - largest
        if not exact and self._highest < _CERTAIN:
            raise ValueError(
                "smoothing is so small that probabilities become too extreme to compare; use a larger number, such as "
                "1e-9, or 'm-estimate'."
            )
        # A ratio that underflows to 0 would stay 0 until all ratios are recomputed. The limit leaves room for the moves
        # until then.
        self._max_moves = tables.max_moves
        self._lowest = -min(700.0, _LOWEST + (self._max_moves + 1) * largest)
        self._ratios = block.engine.array(((tables.n_classes - 1) * block.n_rows,), np.float64)  # of the last scan
        self._n_multiplied = 0
        self._clipped = False
        self._saturation = saturation if block.n_rows * block.n_features >= _SCANNED_CODES else None
        self._is_scanned = block.engine.array((block.n_rows if self._saturation else 0,), bool)
        self._is_scanned[:] = True
        self._scanned_rows: np.ndarray | None = None
        self._scanned_block = block
        self._no_move: RatioMoves | None = None
        super().__init__(block, tables, prior_ratios)

    def moves(self, features: np.ndarray, adding: np.ndarray) -> RatioMoves:
        """Return candidates, the current subset with one feature added or dropped.

        ``features`` (n_candidates,) are positions of features; ``adding`` is a mask of those that are added, not
        dropped.
        """
        table, starts = self.tables.gather(features, adding)
        block = self.block
        return RatioMoves(
            columns=block.columns[features],
            lows=block.lows[features],
            highs=block.highs[features],
            kinds=block.kinds[features],
            starts=starts,
            n_codes=block.n_codes[features],
            table=table,
        )

    def no_move(self) -> RatioMoves:
        """Return the current subset as a single candidate."""
        if self._no_move is None:
            dtype = self.block.codes.dtype
            first, highest_code = np.zeros(1, dtype=np.int64), np.full(1, np.iinfo(dtype).max, dtype=dtype)
            self._no_move = RatioMoves(
                columns=first,
                lows=highest_code,
                highs=highest_code,
                kinds=np.zeros(1, dtype=np.uint8),
                starts=first,
                n_codes=np.full(1, 3),
                table=np.ones(3 * self.block.n_segments * self.n_others),
            )
        return self._no_move

    def multiply(self, features: Sequence[int], adding: Sequence[bool]) -> None:
        """Add features to the current subset (``adding`` True) or drop them.

        ``features`` are positions of features; ``adding`` has one entry for each of them.
        """
        scan = self._scan
        super().multiply(features, adding)  # postpone the scan until all moves are applied
        if scan is None or self._saturation is not None or len(features) >= MANY_MOVES:
            return
        from bayesieve.criteria._kernels import multiply_ratios

        for feature, add in zip(features, adding, strict=True):
            if self._clipped or self._n_multiplied >= self._max_moves:
                return
            move = RowRatios.moves(self, np.array([feature]), np.array([add]))
            codes = scan.block.codes[move.columns[0]]
            self._n_multiplied += 1
            is_too_large = False
            for bounds in scan.blocks(move):
                is_too_large |= multiply_ratios(
                    scan.ratios,
                    codes,
                    bounds,
                    move.lows[0],
                    move.highs[0],
                    move.kinds[0],
                    move.starts[0],
                    move.n_codes[0],
                    move.table,
                    np.exp(self._highest),
                )
            if is_too_large:
                return
        self._scan = scan

    def path(self, features: np.ndarray, by_row: bool) -> np.ndarray:
        """Add features to the current subset one after another; return the sum of log losses after each addition, shape
        (n_features, 1), in nats.

        ``features`` (n_features,) are their positions. With ``by_row``, a logarithm is taken for each row, for factors
        too large to multiply.
        """
        from bayesieve.criteria._kernels import log_losses_of_path

        sums = np.zeros((features.size, 1))
        at = 0
        while at < features.size:
            scan, block = self.scan(), self._scanned_block
            most = self._max_moves - self._n_multiplied
            batch = features[at : at + most + 1]
            done = log_losses_of_path(
                scan.ratios,
                scan.base,
                block.codes,
                block.offsets,
                block.weights,
                *self.moves(batch, np.ones(batch.size, dtype=bool)),
                by_row,
                np.exp(self._highest),
                most,
                sums[at : at + batch.size],
            )
            sums[at : at + done] += scan.log_scale
            self._pending += [(int(feature), True) for feature in batch[:done]]
            self._scan = None
            at += done
        return sums

    def scan(self) -> RatioScan:
        """Return the rows that an added or dropped feature may change, and their ratios under the current subset."""
        if self._scan is None:
            start, unit = self._start, self.tables.log_unit
            is_empty = self._saturation is None and not self._pending and start is not None
            if is_empty and start is not None and start.max(initial=0) * unit <= self._highest:
                # Under the empty subset, with which a search begins, all rows of a segment have the same ratios.
                ratios = self._ratios.reshape(self.n_others, self.block.n_rows)
                self._fill(ratios, np.exp(start * unit))
                self._n_multiplied, self._clipped = 0, False
                self._scan = RatioScan(self.block, ratios, np.zeros(0), 0.0, np.zeros(self.block.n_segments))
            else:
                self.updated_steps()
                self._scan = self._scale(self._choose_rows())
        scan: RatioScan = self._scan
        return scan

    def _scale(self, wrong: np.ndarray) -> RatioScan:
        """Compute ratios from log ratios, for the rows that passes read; divide those that are too large by a scale of
        the row.

        ``wrong`` (n_segments,) is the number (or weight) of skipped rows, which the result stores.
        """
        block = self._scanned_block
        ratios = self._ratios[: self.n_others * block.n_rows].reshape(self.n_others, block.n_rows)
        base = np.zeros(0)
        scales = []
        self._n_multiplied, self._clipped = 0, False
        for bounds in block.blocks(24 * self.n_others):
            begin, end = bounds[[0, -1]].tolist()
            rows, logs = slice(begin, end), ratios[:, begin:end]
            scanned = rows if self._scanned_rows is None else self._scanned_rows[rows]
            np.multiply(self._steps[:, scanned], self.tables.log_unit, out=logs)
            if logs.max(initial=-np.inf) > self._highest:
                top = logs.max(axis=0)
                over = np.flatnonzero(top > self._highest)
                if self._exact:
                    logs[:, over] -= top[over]
                    if not base.size:
                        base = block.engine.array((block.n_rows,), np.float64)
                        base[:] = 1.0
                    base[begin + over] = np.exp(-top[over])
                    scales.append(top[over] * (block.weights[begin + over] if block.weights.size else 1.0))
                else:
                    logs[:, over] -= top[over] - self._highest
                    self._clipped = True
            low = logs < self._lowest if logs.min(initial=np.inf) < self._lowest else None
            np.exp(logs, out=logs)
            if low is not None:
                logs[low] = 0.0
        return RatioScan(block, ratios, base, float(np.concatenate(scales).sum()) if scales else 0.0, wrong)

    def _choose_rows(self) -> np.ndarray:
        """Choose the rows that passes read; return the number (or weight) of the rows that are skipped as certainly
        wrong, by segment, (n_segments,).
        """
        block = self.block
        if self._saturation is None:
            return np.zeros(block.n_segments)
        from bayesieve.criteria._kernels import classify

        away = self.tables.bounds  # largest change of a log ratio by one move
        right, wrong = (
            np.clip(log_odds / self.tables.log_unit, -float(_NEVER), float(_NEVER)).astype(np.int64)
            for log_odds in (
                -self._saturation.right - np.log(self.n_others) - away,
                self._saturation.wrong + away,
            )
        )
        margin = int(2.0 * away.max(initial=0.0) / self.tables.log_unit)
        states = block.engine.array((block.n_rows,), np.uint8)
        near, lost, row_bytes = 0, False, 8 * self.n_others + 2
        for bounds in block.blocks(row_bytes):
            of_block = classify(self._steps, bounds, right, wrong, margin, self._is_scanned, states)
            near, lost = near + of_block[0], lost or of_block[1]
        n_scanned = self._scanned_block.n_rows
        if lost or near < _KEPT_SHARE * n_scanned:
            if near < _KEPT_SHARE * block.n_rows:
                for bounds in block.blocks(row_bytes):
                    rows = slice(*bounds[[0, -1]])
                    np.greater_equal(states[rows], 4, out=self._is_scanned[rows])
                self._scanned_rows = np.flatnonzero(self._is_scanned)
                self._scanned_block = block.take(self._scanned_rows)
            elif self._scanned_rows is not None:
                self._is_scanned[:] = True
                self._scanned_rows, self._scanned_block = None, block
        if self._scanned_rows is None:
            return np.zeros(block.n_segments)
        wrong_rows = np.flatnonzero((states & 3 == 2) & ~self._is_scanned)
        weights = block.weights[wrong_rows] if block.weights.size else None
        return np.bincount(block.segments(wrong_rows), weights=weights, minlength=block.n_segments).astype(float)


class LogLoss(Criterion):
    """Mean of -log P_S(y_i | x_i) over the rows, in nats per row, for the subset S; lower is better."""

    name = "log_loss"
    unit = "nats per row"
    exact = True

    def saturation(self, n_classes: int) -> Saturation:
        """Return the condition under which a row has no loss after any single added or dropped feature: high log odds
        of its class.
        """
        return Saturation(right=SURE)

    def start(
        self, block: ClassBlock, tables: RatioTables, prior_ratios: np.ndarray, *, leave_out: bool = False
    ) -> RowRatios | RowJoints:
        """Return the rows with their state under the empty subset of features: joint probabilities for many classes,
        otherwise ratios.

        ``block`` holds the rows, ``tables`` the factors of the levels, and ``prior_ratios`` (n_segments, n_classes - 1)
        the ratios P(other class) / P(true class) without features; with ``leave_out``, passes skip rows without a loss.
        """
        # With many classes, one factor per level and class is faster than one per pair of classes. It is exact unless a
        # class is practically impossible.
        is_safe = tables.largest_log_factor <= _MAX_MULTIPLIED and not np.any(prior_ratios > IMPOSSIBLE * 1e-20)
        if not leave_out and tables.by_class is not None and is_safe:
            return RowJoints(block, tables, prior_ratios)
        saturation = Saturation(right=SURE) if leave_out else None
        return RowRatios(block, tables, prior_ratios, exact=True, saturation=saturation)

    def path_sums(self, rows: RowRatios | RowJoints, features: np.ndarray) -> np.ndarray:
        """Return the sums of log losses of subsets that grow by one feature after another, (n_features, 1), in nats.

        ``rows`` holds the rows with their probabilities under the current subset, ``features`` (n_features,) the
        positions of the features. The last subset becomes the current one.
        """
        if isinstance(rows, RowRatios) and rows.block.is_whole:
            return rows.path(features, rows.tables.largest_log_factor > _MAX_MULTIPLIED)
        sums = np.zeros((features.size, 1))
        for at, feature in enumerate(features.tolist()):
            sums[at] = self.sums(rows, rows.moves(features[at : at + 1], np.array([True])))
            rows.multiply([feature], [True])
        rows.free_memory()  # probabilities are invalid after a path
        return sums

    def sums(self, rows: RowRatios | RowJoints, moves: RatioMoves | JointMoves) -> np.ndarray:
        """Return the sum of log losses over the rows for each candidate subset of features, (n_candidates, 1), in nats.

        ``rows`` holds the rows with their probabilities under the current subset, ``moves`` the candidate subsets, from
        ``rows.moves()``.
        """
        from bayesieve.criteria._kernels import LANES, log_loss_sums

        if isinstance(rows, RowJoints):
            assert isinstance(moves, JointMoves)
            return rows.sums(moves)
        assert isinstance(moves, RatioMoves)
        scan = rows.scan()
        block, losses = scan.block, np.zeros(moves.columns.size)
        by_row = rows.tables.largest_log_factor > _MAX_MULTIPLIED
        products = np.empty((losses.size, 2, LANES))
        for number, bounds in enumerate(scan.blocks(moves)):
            is_last = bool(bounds[-1] == block.offsets[-1])
            log_loss_sums(
                scan.ratios,
                scan.base,
                block.codes,
                bounds,
                block.weights,
                *moves,
                by_row,
                products,
                number == 0,
                is_last,
                losses,
            )
        return (losses + scan.log_scale)[:, None]


class MAPCost(LogLoss):
    """Maximum a posteriori (MAP) cost of a subset: its description length plus the log losses, in nats; lower is
    better.

    cost(M) = log(K + 1) + log C(K + K_m - 1, K_m) - sum_n log P_M(y_n | x_n), where K = ``n_features`` is the number of
    features of the table, and K_m the number of selected ones. Selectors do not count constant columns in K unless
    ``constant_columns=True``.

    References
    ----------
    Boulle (2007), Compression-based averaging of selective naive Bayes classifiers, JMLR 8, equation 4.
    """

    name = "map"
    title = "MAP cost"
    unit = "nats"

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        selected = np.arange(1, n_features + 1)
        self._prior = np.full(n_features + 1, np.log(n_features + 1))
        # Add log C(K + m - 1, m), which is 0 for the empty subset.
        self._prior[1:] += gammaln(n_features + selected) - gammaln(selected + 1.0) - gammaln(max(n_features, 1))

    @classmethod
    def by_default(cls, n_features: int) -> MAPCost:
        """Return the criterion for a table of ``n_features`` features."""
        return cls(n_features)

    def prior(self, n_selected: np.ndarray | int) -> np.ndarray | float:
        """Return the description length of subsets of m = ``n_selected`` features, log(K + 1) + log C(K + m - 1, m), in
        nats.
        """
        return self._prior[n_selected]

    def values(self, sums: np.ndarray, n_selected: np.ndarray, class_totals: np.ndarray) -> np.ndarray:
        """Return the cost of each candidate subset of features, (n_candidates,), in nats: log loss plus description
        length.

        ``sums`` (n_candidates, 1) are the log losses over all rows, ``n_selected`` (n_candidates,) the numbers of
        features; ``class_totals`` is not used.
        """
        return sums[:, 0] + self._prior[n_selected]


class JointMoves(NamedTuple):
    """Candidates, the current subset with one feature added or dropped, as arguments for the compiled kernels.

    Attributes
    ----------
    columns, lows, highs, kinds : (n_candidates,) where kernels find the levels of each feature, see `ClassBlock`.
    starts : (n_candidates,) first line of each candidate in the table of factors.
    true_sums : (n_candidates,) change in the sum over rows of log P(level | true class), in nats.
    """

    columns: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    kinds: np.ndarray
    starts: np.ndarray
    true_sums: np.ndarray


class RowJoints:
    """State of a block of rows under the current subset, for log losses of many classes.

    It holds the joint probabilities P(row, class) of all classes. Unlike the ratios of `RowRatios`, they need tables
    with one factor per level and class, instead of one per level and pair of classes, and the classes of a row are
    contiguous in memory.

    Parameters
    ----------
    block : coded rows, sorted by class.
    tables : log probabilities of the levels by class.
    prior_ratios : (n_segments, n_classes - 1) ratios P(other class) / P(true class) under the empty subset.
    """

    def __init__(self, block: ClassBlock, tables: RatioTables, prior_ratios: np.ndarray) -> None:
        assert tables.by_class is not None
        self.block, self.tables, self._logs = block, tables, tables.by_class
        n_classes = self._logs.shape[1]
        self._starts = np.concatenate([[0], np.cumsum(block.n_codes)]).astype(np.int64)
        factors = np.exp(self._logs)
        # Factors for adding each level, for dropping it, and for no move.
        self._factors = np.concatenate([factors, 1.0 / factors, np.ones((2, n_classes))])
        self._max_moves = tables.max_moves
        self._joint = block.engine.array((block.n_rows, n_classes), np.float64)
        self._true_sums = self._sum_true_logs()
        with np.errstate(divide="ignore"):
            logs = np.log(prior_ratios)
        true_classes = block.classes
        self._priors = np.zeros((true_classes.size, prior_ratios.shape[1] + 1))
        others = np.arange(prior_ratios.shape[1]) + (np.arange(prior_ratios.shape[1]) >= true_classes[:, None])
        np.put_along_axis(self._priors, others, logs, axis=1)
        self.reset()

    def reset(self) -> None:
        """Reset the state of the rows to the empty subset of features."""
        self._selected = np.zeros(self.block.n_features, dtype=bool)
        self._left = 0

    def free_memory(self) -> None:
        """Discard the joint probabilities; they are recomputed from logarithms when needed."""
        self._left = 0

    def multiply(self, features: Sequence[int], adding: Sequence[bool]) -> None:
        """Add features to the current subset (``adding`` True) or drop them.

        ``features`` are positions of features; ``adding`` has one entry for each of them.
        """
        from bayesieve.criteria._kernels import multiply_joint

        self._selected[list(features)] = adding
        if len(features) >= MANY_MOVES:
            self.free_memory()
        for feature, add in zip(features, adding, strict=True):
            if self._left == 0:
                return
            self._left -= 1
            move, block = self.moves(np.array([feature]), np.array([add])), self.block
            for bounds in self._blocks(1):
                multiply_joint(
                    self._joint,
                    block.codes,
                    bounds,
                    block.weights,
                    move.columns[0],
                    move.lows[0],
                    move.highs[0],
                    move.kinds[0],
                    move.starts[0],
                    self._factors,
                    self._lead,
                )
            self._lead[0] -= move.true_sums[0]

    def iterate(self, subsets: np.ndarray) -> Iterator[None]:
        """Make each of several subsets of features the current one in turn, and yield after each.

        ``subsets`` is a mask (n_subsets, n_features).
        """
        for self._selected in subsets.astype(bool):
            self.free_memory()
            yield

    def scan(self) -> RowJoints:
        """Update the joint probabilities of rows and classes to the current subset of features if needed, and return
        this state.
        """
        if self._left == 0:
            self._start()
        return self

    def sums(self, moves: JointMoves) -> np.ndarray:
        """Return the sum of log losses over the rows for each candidate subset of features, shape (n_candidates, 1), in
        nats.
        """
        from bayesieve.criteria._kernels import joint_sums

        self.scan()
        sums, block = np.zeros(moves.columns.size), self.block
        for bounds in self._blocks(sums.size):
            joint_sums(
                self._joint,
                block.codes,
                bounds,
                block.weights,
                moves.columns,
                moves.lows,
                moves.highs,
                moves.kinds,
                moves.starts,
                self._factors,
                sums,
            )
        return (sums + self._lead - moves.true_sums)[:, None]

    def moves(self, features: np.ndarray, adding: np.ndarray) -> JointMoves:
        """Return candidates, the current subset with one feature added or dropped.

        ``features`` (n_candidates,) are positions of features; ``adding`` is a mask of those that are added, not
        dropped.
        """
        columns, lows, highs, kinds, starts = self._added(features)
        starts = starts + np.where(adding, 0, self._starts[-1])
        true_sums = np.where(adding, 1.0, -1.0) * self._true_sums[features]
        return JointMoves(columns, lows, highs, kinds, starts, true_sums)

    def no_move(self) -> JointMoves:
        """Return the current subset as a single candidate."""
        dtype = self.block.codes.dtype
        highest_code = np.full(1, np.iinfo(dtype).max, dtype=dtype)
        return JointMoves(
            columns=np.zeros(1, dtype=np.int64),
            lows=highest_code,
            highs=highest_code,
            kinds=np.zeros(1, dtype=np.uint8),
            starts=np.array([len(self._factors) - 2]),  # for level 0, and 1 of the highest code
            true_sums=np.zeros(1),
        )

    def _start(self) -> None:
        """Compute the joint probabilities of the current subset from logarithms."""
        from bayesieve.criteria._kernels import start_joint

        block, features = self.block, np.flatnonzero(self._selected)
        places = self._added(features)
        self._lead, self._left = np.zeros(1), self._max_moves
        for bounds in self._blocks(features.size):
            start_joint(
                self._joint,
                block.codes,
                bounds,
                block.weights,
                block.classes,
                *places,
                self._priors,
                self._logs,
                self._lead,
            )

    def _sum_true_logs(self) -> np.ndarray:
        """Return the sum of log P(level | true class) over the rows for each feature, shape (n_features,)."""
        from bayesieve.criteria._kernels import sum_true_logs

        block, every, sums = self.block, np.arange(self.block.n_features), np.zeros(self.block.n_features)
        for bounds in block.blocks(block.codes.itemsize * every.size):
            sum_true_logs(block.codes, bounds, block.weights, block.classes, *self._added(every), self._logs, sums)
        return sums

    def _added(self, features: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return where kernels find the levels and factors of features: columns, lows, highs, kinds and starts, each
        (n_features,).

        ``features`` (n_features,) are the positions of the features.
        """
        block = self.block
        places = block.columns[features], block.lows[features], block.highs[features], block.kinds[features]
        return *places, self._starts[features]

    def _blocks(self, n_features: int) -> Iterable[np.ndarray]:
        """Yield one array for each block of rows: the first row of each segment (rows of one class) in the block, then
        its end, (n_segments + 1,). Blocks are small enough for ``n_features`` candidates.
        """
        return self.block.blocks(8 * self._joint.shape[1] + n_features * self.block.codes.itemsize)

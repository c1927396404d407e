"""Pairs of columns as features: the choice of pairs that are more informative together than separately, and their
levels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import xlogy

from bayesieve.compiling import read_only
from bayesieve.counts import CodedTable
from bayesieve.counts.pairs import PairInformation
from bayesieve.discretize.binning import EqualFrequencyDiscretizer
from bayesieve.discretize.column_coders import LEAST_VALUES, PARALLEL_ROWS, ColumnCoder, GroupCoder, ValueCoder
from bayesieve.discretize.modl import Groups, Prior, group_values, level_scores, part_cost, saved_by_values
from bayesieve.engine import Engine, map_in_threads
from bayesieve.table import Rows
from bayesieve.table.levels import TableLevels
from bayesieve.table.pair_levels import PairLevels, unused_pair_name
from bayesieve.words import did_you_mean

if TYPE_CHECKING:
    from bayesieve.discretize.column_coders import FittedColumns
    from bayesieve.discretize.table_coding import TrainingTable

FitLevels = Callable[..., "tuple[FittedColumns, Any]"]
"""Function of coders, positions of columns and ``coded``: levels of these columns and, if coded, codes of all rows."""

MOST_PAIRS = 60
"""Pairs that ``pairs="auto"`` keeps at most."""
MOST_COLUMNS = 1000
"""Columns whose pairs are looked at unasked, those of highest level score."""
N_BINS, N_VALUES = 6, 12
"""Quantile bins, and most frequent values, by which a column with one level takes part."""

_SAFETY = math.log(100)  # nats: about one table of pure noise in a hundred gets a pair, however many are looked at
_MOST_CELLS = 4096  # largest number of cells of a pair that is not named by the user
_MOST_ASKED_CELLS = 1 << 22
_MOST_GROUPED = 400  # number of pairs whose cells are grouped; the most promising ones if there are more
_PATIENCE = 100  # the search ends after this number of pairs without gain
_MOST_RANKED_ROWS = 50_000  # number of rows by which pairs are ranked
_RANKED_AT_ONCE = 1 << 22  # pairs
_COUNTED_AT_ONCE = 16
_FITTINGS, _TINY = 20, 1e-300
_VARIANCES = (0.003, 0.03, 0.3)  # prior variances of interactions that are compared for each pair


class FrequentValues(GroupCoder):
    """Coder that gives each of the most frequent values a level, and all other values a common level."""

    supervised = False

    def fit_values(self, values: Sequence[Any], counts: np.ndarray, *, apart: bool) -> Groups:
        counts = counts.astype(float)
        row_counts = counts.sum(axis=1)
        present = np.flatnonzero(row_counts)
        ranked = present[np.argsort(-row_counts[present], kind="stable")]
        groups = [ranked[at : at + 1] for at in range(min(N_VALUES, ranked.size))]
        if ranked.size > N_VALUES:
            groups.append(np.sort(ranked[N_VALUES:]))
        sums = np.array([counts[group].sum(axis=0) for group in groups])
        return Groups(tuple(groups), sums, 0.0, 0.0)


_FINER: dict[str, ColumnCoder] = {"numeric": EqualFrequencyDiscretizer(N_BINS), "categorical": FrequentValues()}


def check_pairs(pairs: Any) -> None:
    """Raise ValueError unless ``pairs`` is a valid option ``pairs`` of `TableEncoder`."""
    if isinstance(pairs, Integral) and not isinstance(pairs, bool):
        is_option = int(pairs) >= 0
    elif isinstance(pairs, (list, tuple)):
        is_option = all(
            isinstance(pair, (list, tuple)) and len(pair) == 2 and all(isinstance(name, str) for name in pair)
            for pair in pairs
        )
    else:
        is_option = isinstance(pairs, str) and pairs == "auto"
    if not is_option:
        raise ValueError(f"pairs must be 'auto', a number of pairs or a list of pairs of names, got {pairs!r:.80}.")


def positions_of(pairs: Sequence[Sequence[str]], names: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions in ``names`` of both columns of each pair, without duplicate pairs.

    Raise ValueError for an unknown column, or a pair of a column with itself.
    """
    position = {name: i for i, name in enumerate(names)}
    for pair in pairs:
        for name in pair:
            if name not in position:
                hint = did_you_mean(name, names) or "name its columns only."
                raise ValueError(f"pairs names the column {name!r}, which is not in the table; {hint}")
        if pair[0] == pair[1]:
            raise ValueError(f"pairs names the column {pair[0]!r} twice in one pair; name two columns.")
    positions = {frozenset(pair): (position[pair[0]], position[pair[1]]) for pair in reversed(pairs)}
    return list(positions.values())[::-1]


def fit_of_sum(cells: np.ndarray) -> float:
    """Return by how many nats the additive model of two columns encodes the labels better than both columns separately.

    In the additive model, the log odds of a cell are the sum of terms of both columns, without interaction. Two columns
    that depend on each other within the classes may be more informative together than separately even then. Returns 0
    if there is an interaction, that is, if a model with deviations of the cells has the higher marginal likelihood (in
    a Laplace approximation). The model is fitted by iterative proportional fitting (Deming and Stephan 1940).

    Parameters
    ----------
    cells : array of shape (levels of the first column, levels of the second, n_classes): numbers of rows.
    """
    fitted = np.ones_like(cells, dtype=float)
    for axis in (0, 1, 2) * _FITTINGS:
        fitted *= cells.sum(axis=axis, keepdims=True) / np.maximum(fitted.sum(axis=axis, keepdims=True), _TINY)
    probability = fitted / np.maximum(cells.sum(axis=2, keepdims=True), _TINY)
    spread = 1.0 + np.multiply.outer(_VARIANCES, fitted * (1.0 - probability))
    nats = 0.5 * (np.multiply.outer(_VARIANCES, (cells - fitted) ** 2) / spread - np.log(spread))
    if nats.sum(axis=(1, 2, 3)).max() > 0.0:
        return 0.0
    margins = [cells.sum(axis=axis) for axis in ((0, 1), 0, 1)]
    null, *columns = (float(xlogy(n, n / np.maximum(n.sum(axis=-1, keepdims=True), _TINY)).sum()) for n in margins)
    return max(0.0, float(xlogy(cells, np.where(cells > 0, probability, 1.0)).sum()) - sum(columns) + null)


def with_pairs(
    codes: np.ndarray, coded: Sequence[tuple[PairLevels, np.ndarray, np.ndarray]], into: np.ndarray, engine: Engine
) -> np.ndarray:
    """Write the codes of columns, followed by those of their pairs, into the array ``into`` of the engine, and return
    it.

    ``codes`` are those of the columns, (n_columns, n_rows). ``coded`` holds, for each pair, its levels and the codes
    (n_rows,) of both columns. ``into`` has the shape (n_columns + n_pairs, n_rows).
    """
    for k, of_column in enumerate(codes):
        into[k] = of_column
        engine.release(into[k].nbytes)
    for k, (pair, one, other) in enumerate(coded, len(codes)):
        into[k] = pair.code_parts(one, other)
        engine.release(into[k].nbytes)
    return into


def cells_of_pair(one: np.ndarray, other: np.ndarray, n_levels: tuple[int, int], rows: Rows) -> np.ndarray:
    """Count rows (or weight) by the levels of two columns and the class, shape (levels of the first, levels of the
    second, n_classes).

    ``one`` and ``other`` (n_rows,) are the codes of the columns, ``n_levels`` their numbers of levels, and ``rows`` the
    classes and weights.
    """
    from bayesieve.counts._kernels import count_cells

    cells = np.zeros((2, *n_levels, len(np.asarray(rows.classes))))
    weights = np.zeros(0) if rows.weights is None else rows.weights
    count_cells(one, other, rows.class_codes, read_only(weights), cells)
    return cells.sum(axis=0)


def most_saved(cells: np.ndarray, null: float, prior: Prior) -> float:
    """Return an upper bound of the nats that a grouping of cells can save, to skip the search for hopeless pairs.

    ``cells`` (levels of the first column, levels of the second, n_classes) are class counts, and ``null`` is the cost
    of the labels of all rows in one group, in nats. The cost of two or more groups is at least the entropy of the
    labels with separate class shares for each cell, plus the cost of encoding two groups. With the prior "sizes", one
    group per cell costs nothing to encode, but the cost of its labels can be computed. With two classes, n H(k/n) -
    log(2n) / 2 <= log C(n, k) <= n H(k/n) (Ash 1965, lemma 4.7.1), so the labels of n rows cost at least log(n/2 + 1) /
    2 beyond their entropy in one group, and no less in two.
    """
    row_counts = cells.sum(axis=2)
    cells, row_counts = cells[row_counts > 0], row_counts[row_counts > 0]
    entropy = float(xlogy(row_counts, row_counts).sum() - xlogy(cells, cells).sum())
    if cells.shape[1] == 2 and cells.dtype != np.float64:  # the inequalities hold for integer counts
        entropy += 0.5 * math.log(0.5 * float(row_counts.sum()) + 1.0)
    n = max(2, row_counts.size)
    if prior == "published":
        return null - entropy - (n - 1) * math.log(2.0)
    return null - min(entropy + math.log((n - 1) * n / 2), float(part_cost(cells).sum()))


@dataclass(frozen=True)
class PairFinder:
    """Search for pairs of columns that are more informative together than separately, and for the levels of such pairs.

    Parameters
    ----------
    training : training rows.
    prior : MODL prior of the groups of cells, which are grouped like the values of a categorical column.
    n_jobs : threads.
    """

    training: TrainingTable
    prior: Prior
    n_jobs: int | None

    def add(
        self,
        pairs: Any,
        fitted: FittedColumns,
        codes: np.ndarray,
        fit_levels: FitLevels,
        unpaired: Collection[str] = (),
        skips_numbers: bool = False,
    ) -> tuple[TableLevels, np.ndarray]:
        """Choose and group pairs; return the levels and codes, (n_features, n_rows), of the columns, followed by the
        pairs.

        Parameters
        ----------
        pairs : see `TableEncoder`; pairs that are named keep their order.
        fitted, codes : levels, and codes (n_columns, n_rows), of the columns.
        fit_levels : function that fits and codes columns by other coders; see `LevelFitter.fit`.
        unpaired : names of columns that form only pairs that are named.
        skips_numbers : whether two numeric columns form a pair only if it is named.
        """
        kinds, engine = self.training.table.kinds(), self.training.engine
        named = None if isinstance(pairs, (str, Integral)) else positions_of(pairs, fitted.levels.names)
        if named is None:
            best_first = np.argsort(-fitted.levels.level_scores, kind="stable").tolist()
            columns = sorted([i for i in best_first if fitted.levels.names[i] not in unpaired][:MOST_COLUMNS])
        else:
            columns = sorted({i for pair in named for i in pair})
        # A column with a single level is cut into quantile bins, or into its most frequent values, to form pairs.
        n_levels = fitted.levels.n_levels.tolist()
        parts = {i: _PairColumn(fitted.levels, i, codes[i], n_levels[i]) for i in columns if n_levels[i] > 1}
        uncut = [i for i in columns if n_levels[i] == 1]
        if uncut:
            finer, finer_codes = fit_levels([_FINER[kinds[i]] for i in uncut], uncut)
            n_finer = finer.levels.n_levels.tolist()
            parts |= {i: _PairColumn(finer.levels, k, finer_codes[k], n_finer[k]) for k, i in enumerate(uncut)}
            parts = dict(sorted(parts.items()))
        if named is None:
            most = MOST_PAIRS if isinstance(pairs, str) else int(pairs)
            values = ((i, fitted.levels[i].groups) for i in parts if kinds[i] == "categorical")
            many = [i for i, groups_ in values if groups_ is not None and sum(map(len, groups_)) >= LEAST_VALUES]
            saved = {i: cache(partial(self._saved_by_values, i, fit_levels)) for i in many}
            skipped = {i for i in parts if skips_numbers and kinds[i] == "numeric"}
            chosen = self._best(parts, most, skipped, saved)
        else:
            counted = self._counted(parts, named, _MOST_ASKED_CELLS)
            cells_of_pairs = ((i, j, cells, cells.reshape(-1, cells.shape[2])) for i, j, cells in counted)
            chosen = [(i, j, cells, group_values(rows, prior=self.prior)) for i, j, cells, rows in cells_of_pairs]
        if not chosen:
            return fitted.levels, codes
        names = set(fitted.levels.names)
        levels: list[PairLevels] = []
        coded = []
        for i, j, cells, groups in chosen:
            one, other = (parts[k].levels[parts[k].at] for k in (i, j))
            grid = np.full(cells.shape[:2], len(groups.groups) if cells.any() else 0)
            for g, members in enumerate(groups.groups):
                grid.flat[members] = g
            name = unused_pair_name(one.name, other.name, names)
            names.add(name)
            score = float(level_scores(np.array([groups.cost]), np.array([groups.null_cost]))[0])
            levels.append(PairLevels.of((one, other), grid, cells, score, name))
            coded.append((levels[-1], parts[i].codes, parts[j].codes))
        dtype = max(codes.dtype, *(pair.code_dtype for pair in levels))
        into = engine.array((len(codes) + len(coded), codes.shape[1]), dtype)
        return fitted.levels.replaced(pairs=levels), with_pairs(codes, coded, into, engine)

    def _best(
        self,
        parts: dict[int, _PairColumn],
        most: int,
        skipped: Collection[int],
        saved: Mapping[int, Callable[[], float]],
    ) -> list[_Grouped]:
        """Return at most ``most`` pairs whose groups of cells save nats, the best first, as tuples: positions of both
        columns, class counts of the cells, and groups.

        Parameters
        ----------
        parts : columns of the pairs, by position.
        most : largest number of pairs.
        skipped : positions of columns that form no pair with each other.
        saved : for columns with many values, by position, functions that return the nats that one level per value
            saves. A pair must save more than that, not only more than the coarser levels of the column.
        """
        columns = [i for i, part in parts.items() if part.n_levels > 1]
        is_skipped = np.array([i in skipped for i in columns], dtype=bool)
        n_looked_at = math.comb(is_skipped.size, 2) - math.comb(int(is_skipped.sum()), 2)
        if n_looked_at == 0 or most == 0:
            return []
        is_ranked = n_looked_at > _MOST_GROUPED
        if is_ranked:
            candidates = self._promising([parts[i] for i in columns], max(most, _MOST_GROUPED), is_skipped)
        else:
            candidates = np.stack(np.triu_indices(len(columns), 1), axis=1)
        candidates = np.array(columns)[candidates[~is_skipped[candidates].all(axis=1)]]
        n_levels = np.array([parts[i].n_levels if i in parts else 0 for i in range(columns[-1] + 1)])
        candidates = candidates[n_levels[candidates].prod(axis=1) <= _MOST_CELLS]
        price = float(np.log(n_looked_at)) + _SAFETY
        n_jobs = self.n_jobs if self.training.order.n_rows >= PARALLEL_ROWS else 1
        gains, rank, last_gain = [], 0, 0
        counted = self._counted(parts, candidates.tolist())
        while batch := list(islice(counted, _COUNTED_AT_ONCE)):
            fitted = map_in_threads(partial(self._fitted, price=price), [cells for *_, cells in batch], n_jobs)
            for (i, j, cells), (gain, fits, groups) in zip(batch, fitted, strict=True):
                for k, fit in zip((i, j), fits, strict=True):
                    if gain > 0.0 and k in saved:
                        gain -= max(0.0, saved[k]() - fit)
                if groups is not None and gain > 0.0:
                    gains.append((gain, (i, j, cells, groups)))
                    last_gain = rank
                if is_ranked and rank - last_gain >= _PATIENCE:
                    counted = iter(())
                    break
                rank += 1
        gains.sort(key=lambda one: (-one[0], *one[1][:2]))
        return [grouped for _, grouped in gains[:most]]

    def _fitted(self, cells: np.ndarray, price: float) -> tuple[float, Sequence[float], Groups | None]:
        """Group the cells of a pair, and return the nats that the groups save.

        Parameters
        ----------
        cells : (levels of the first column, levels of the second, n_classes) class counts.
        price : cost of choosing a pair, in nats.

        Returns
        -------
        gain : float
            Nats that the groups save, minus those that the levels of both columns save, and minus ``price``; without
            interaction, also minus `fit_of_sum`.
        fits : sequence of two floats
            Nats that the levels of each column save.
        groups : Groups or None
            Groups of the cells; None, with a gain of 0, if no grouping can have a positive gain.
        """
        # The cost of encoding the levels of both columns is not counted as saved: they remain in the model beside the
        # pair.
        null = float(part_cost(cells.sum(axis=(0, 1))))
        fits = [max(0.0, null - float(part_cost(cells.sum(axis=axis)).sum())) for axis in (1, 0)]
        if most_saved(cells, null, self.prior) <= sum(fits) + price:
            return 0.0, fits, None
        groups = group_values(cells.reshape(-1, cells.shape[2]), prior=self.prior, least=sum(fits) + price)
        gain = groups.null_cost - groups.cost - sum(fits) - price
        return gain - fit_of_sum(cells) if gain > 0.0 else gain, fits, groups

    def _saved_by_values(self, i: int, fit_levels: FitLevels) -> float:
        """Return the nats that one level per value of the column at position ``i`` saves in encoding the labels.
        ``fit_levels`` fits and codes the column by another coder; see `LevelFitter.fit`.
        """
        by_value, _ = fit_levels([ValueCoder()], [i], coded=False)
        return saved_by_values(np.asarray(by_value.levels[0].counts))

    def _promising(self, parts: Sequence[_PairColumn], most: int, is_skipped: np.ndarray) -> np.ndarray:
        """Return the most promising pairs, the best first, as positions of their columns in ``parts``, shape (at most
        ``most``, 2).

        The score of a pair is its mutual information given the class, minus its mutual information without the class
        and minus the difference expected by chance. Pairs of two columns in the mask ``is_skipped`` (n_parts,) come
        last.
        """
        rows: Rows = self.training.rows
        n_classes = rows.n_classes
        sample: Any = slice(None)
        if len(np.asarray(rows.class_codes)) > _MOST_RANKED_ROWS:
            sample = self.training.samples.draw(_MOST_RANKED_ROWS)
            rows = rows.take(sample)
        n_levels = np.array([part.n_levels for part in parts])
        names = [part.levels.names[part.at] for part in parts]
        dtype = max(part.codes.dtype for part in parts)
        codes = np.stack([part.codes[sample].astype(dtype, copy=False) for part in parts])
        coded = CodedTable(codes, n_levels, names, rows=rows)
        given, plain = (PairInformation(coded, given_class=by, n_jobs=self.n_jobs) for by in (True, False))
        free = (n_levels - 1.0) / np.sqrt(2.0 * self.training.order.total)
        first, second, scores = np.zeros(0, dtype=int), np.zeros(0, dtype=int), np.zeros(0)
        at_once = max(1, _RANKED_AT_ONCE // len(parts))
        for begin in range(0, len(parts), at_once):
            here, later = np.arange(begin, min(begin + at_once, len(parts))), np.arange(begin, len(parts))
            score = given.mutual_information(here, later) - plain.mutual_information(here, later)
            score -= np.outer(free[here], free[later]) * (n_classes - 1)
            score[np.logical_and.outer(is_skipped[here], is_skipped[later])] = -np.inf
            i, j = np.triu_indices(here.size, 1, later.size)
            first, second = np.append(first, here[i]), np.append(second, later[j])
            scores = np.append(scores, score[i, j])
            best = np.argsort(-scores, kind="stable")[:most]
            first, second, scores = first[best], second[best], scores[best]
        return np.stack([first, second], axis=1)

    def _counted(
        self, parts: dict[int, _PairColumn], pairs: Sequence[Sequence[int]], most: int = _MOST_CELLS
    ) -> Iterator[tuple[int, int, np.ndarray]]:
        """Yield for each pair the positions of both columns and the class counts of its cells, shape (levels of the
        first, levels of the second, n_classes).

        ``parts`` are the columns by position, ``pairs`` positions of two columns. Raise ValueError for a pair of more
        than ``most`` cells.
        """
        order, rows, engine = self.training.order, self.training.rows, self.training.engine
        n_jobs = self.n_jobs if order.n_rows >= PARALLEL_ROWS else 1

        def count(pair: Sequence[int]) -> np.ndarray:
            """Return the class counts of the cells of a pair of columns, (n_levels, n_levels, n_classes)."""
            one, other = (parts[k] for k in pair)
            cells = cells_of_pair(one.codes, other.codes, (one.n_levels, other.n_levels), rows)
            engine.release(one.codes.nbytes + other.codes.nbytes)
            return cells.astype(order.count_type)

        for i, j in pairs:
            if parts[i].n_levels * parts[j].n_levels > most:
                one, other = (parts[k].levels.names[parts[k].at] for k in (i, j))
                raise ValueError(
                    f"The pair of {one!r} and {other!r} has {parts[i].n_levels:,} x {parts[j].n_levels:,} cells, more "
                    "than fit in memory; give these columns fewer levels, or omit the pair."
                )
        for begin in range(0, len(pairs), _COUNTED_AT_ONCE):
            batch = pairs[begin : begin + _COUNTED_AT_ONCE]
            cells = map_in_threads(count, batch, n_jobs)
            yield from ((i, j, of_pair) for (i, j), of_pair in zip(batch, cells, strict=True))


@dataclass(frozen=True)
class _PairColumn:
    """Column of a pair.

    ``levels`` are the levels of several columns, among which ``at`` is the position of this column. ``codes`` (n_rows,)
    are its codes, and ``n_levels`` is the number of its levels.
    """

    levels: TableLevels
    at: int
    codes: np.ndarray
    n_levels: int


_Grouped = tuple[int, int, np.ndarray, Groups]

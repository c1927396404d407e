"""Counterfactuals: the smallest changes of a row that flip a decision, found exactly by branch and bound over cells.

The values of a column are divided into parts within which no feature distinguishes values: the intervals between the
cut points of all features that use the column, or groups of categories that all these features treat alike. A change
moves a column from one part to another. Changes are ranked by the sum of the costs of their columns, then by the number
of steps (parts moved over; 1 for categories and for values that were missing), then by certainty (log odds rounded to 9
decimals), then by the first columns, then by the lowest parts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import expit, logit

from bayesieve.parts import Allowed, check_allowed, is_number, is_sign
from bayesieve.scorecard.explanation import UNSEEN
from bayesieve.scorecard.reasons import DECIMALS, code_by
from bayesieve.scorecard.record import Scorecard, bounds_of
from bayesieve.scorecard.wording import Wording
from bayesieve.table import FeatureLevels, Table
from bayesieve.table.columns import Categories
from bayesieve.table.values import canonical_text
from bayesieve.words import named

_ALLOWED = {
    "n": Allowed.count(),
    "max_changes": Allowed("be a whole number from 1 to 3", number=Integral, low=1, high=3),
    "probability": Allowed("be above 0 and below 1", (None,), Real, np.nextafter(0.0, 1.0), np.nextafter(1.0, 0.0)),
}
_BEYOND = 1e-9  # nats by which log odds must exceed the goal, so that rounding errors cannot undo the decision


@dataclass(frozen=True)
class SearchGoal:
    """Goal of a counterfactual search, and limits on the changes.

    Attributes
    ----------
    log_odds : required log odds of the wanted class, in nats; None if the class only has to become the most probable
    n : largest number of options to return
    max_changes : largest number of columns that an option may change
    costs : (n_columns,) cost of changing each column
    signs : (n_columns,) 1 or -1 if the column may only rise or fall, otherwise 0
    """

    log_odds: float | None
    n: int
    max_changes: int
    costs: np.ndarray
    signs: np.ndarray

    def certainty(self, margins: np.ndarray) -> np.ndarray:
        """Return the log odds of the wanted class, shape (...,), from ``margins`` (..., n_classes - 1): its log joint
        minus that of each other class, in nats.
        """
        with np.errstate(invalid="ignore"):
            return np.asarray(-np.logaddexp.reduce(-margins, axis=-1))

    def holds(self, margins: np.ndarray) -> np.ndarray:
        """Return whether ``margins`` (..., n_classes - 1), described in `certainty`, reach the goal: a bool array of
        shape (...).
        """
        least = margins.min(axis=-1) if self.log_odds is None else self.certainty(margins) - self.log_odds
        return np.asarray(least >= _BEYOND)


@dataclass(frozen=True, order=True)
class ChangeOption:
    """One way to flip a decision. Options are sorted by their attributes in this order, except ``certainty``.

    Attributes
    ----------
    cost : sum of the costs of the changed columns
    steps : number of parts that the columns move over
    doubt : minus the certainty, rounded, so that smaller is better
    columns, parts : positions of the changed columns and, for each, the number of its new part
    certainty : log odds of the wanted class after the change, in nats
    """

    cost: float
    steps: int
    doubt: float
    columns: tuple[int, ...]
    parts: tuple[int, ...]
    certainty: float = field(compare=False)


class Parts:
    """Division of the values of each column of a model into parts (intervals or groups) that no feature distinguishes
    further. Part 0 holds missing values, the last part unseen values.
    """

    def __init__(self, card: Scorecard) -> None:
        self.card = card
        self.features: list[Any] = card.used_features
        uses: dict[str, list[FeatureLevels]] = defaultdict(list)
        for part in (part for feature in self.features for part in feature.cells.by_column):
            uses[part.column].append(part)
        self.levels = [refined(name, uses[name]) for name in card.columns if name in uses]
        self.names = [level.name for level in self.levels]

    def gains(self, of_class: int) -> tuple[list[np.ndarray], dict[tuple[int, int], np.ndarray]]:
        """Return the contributions of the parts to the margins of a class over each other class, in nats.

        ``of_class`` is the position of the class. The first result is a list with an array (n_parts, n_classes - 1) for
        each column. The second is a dict with an array (n_parts of one, n_parts of the other, n_classes - 1) for each
        pair of columns that is a feature, by the positions of both columns.
        """
        position = {name: i for i, name in enumerate(self.names)}
        n_margins = self.card.classes.size - 1
        alone = [np.zeros((level.n_levels + 1, n_margins)) for level in self.levels]
        together: dict[tuple[int, int], np.ndarray] = {}
        for feature in self.features:
            margins = feature.table[:, [of_class]] - np.delete(feature.table, of_class, axis=1)
            parts = feature.cells.by_column
            at = [position[part.column] for part in parts]
            codes = [codes_in(part, self.levels[c]) for part, c in zip(parts, at, strict=True)]
            if len(parts) == 1:
                alone[at[0]] += margins[codes[0]]
                continue
            grid = margins[feature.cells.code_parts(*np.broadcast_arrays(codes[0][:, None], codes[1][None]))]
            key, grid = ((at[0], at[1]), grid) if at[0] < at[1] else ((at[1], at[0]), grid.transpose(1, 0, 2))
            together[key] = together[key] + grid if key in together else grid
        return alone, together


def refined(name: str, uses: Sequence[FeatureLevels]) -> FeatureLevels:
    """Return the coarsest division of the values of a column that contains all cut points and groups of several others.

    ``name`` is the column; ``uses`` are the levels in which the features of the model use it. Missing values are the
    first level of the result.
    """
    first = uses[0]
    if first.groups is None:
        cuts = np.unique(np.concatenate([np.asarray(level.cut_points) for level in uses]))
        cuts = np.append(-np.inf, cuts[np.isfinite(cuts)])
        rest: dict[str, Any] = {"special": first.special, "day_first": first.day_first}
        return FeatureLevels(name, "numeric", first.type, cuts, missing_code=0, **rest)
    single = [value for level in uses for group in level.groups or () for value in group if value is not None]
    values: dict[str, Any] = {canonical_text(value): value for value in single}
    whole = Categories(np.arange(len(values)), list(values.values()))
    alike: dict[tuple[int, ...], list[object]] = defaultdict(list)
    for value, *codes in zip(values.values(), *(level.code_categories(whole).tolist() for level in uses), strict=True):
        alike[tuple(codes)].append(value)
    groups = ((None,), *map(tuple, alike.values()))
    return FeatureLevels(name, "categorical", first.type, None, groups, 0, day_first=first.day_first)


def codes_in(coarse: FeatureLevels, fine: FeatureLevels) -> np.ndarray:
    """Return the code in ``coarse`` of each level of ``fine``, which divides the same column further; shape (n_levels +
    1,). The last entry is for unseen values.
    """
    if fine.groups is None:
        inner = np.asarray(fine.cut_points)[1:]
        codes = coarse.code_numbers(np.array([np.nan, *inner, np.nextafter(inner[-1], np.inf) if inner.size else 0.0]))
    else:
        codes = coarse.code_categories(fine.first_values())
    return np.append(codes.astype(np.int64), coarse.n_levels)


def moves_of(levels: FeatureLevels, code: int, sign: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the parts to which a column may move from the part ``code``, and the number of steps to each; two arrays
    (n_moves,).

    ``levels`` are the parts of the column. If ``sign`` is 1 (or -1), only higher (or lower) parts are allowed; 0 allows
    both. Missing and special values are never targets, and a move away from them counts as one step.
    """
    parts = np.arange(max(1, levels.n_special_levels), levels.n_levels)
    is_ordered = levels.groups is None and levels.n_special_levels <= code < levels.n_levels
    steps = np.abs(parts - code) if is_ordered else (parts != code).astype(np.int64)
    allowed = (steps > 0) & (sign == 0 or (is_ordered & ((parts - code) * sign > 0)))
    return parts[allowed], steps[allowed]


class ChangeSearch:
    """Branch and bound search for the cheapest changes of one row that reach a goal.

    Parameters
    ----------
    row_parts : (n_columns,) part of the row's value in each column
    margins : (n_classes - 1,) log joint of the wanted class minus that of each other class, in nats
    gains : contributions of the parts to the margins, as returned by `Parts.gains`
    moves : for each column, the result of `moves_of`: parts to which it may move, and steps to each
    search_goal : goal and limits of the search
    """

    def __init__(
        self,
        row_parts: Sequence[int],
        margins: np.ndarray,
        gains: tuple[Any, Any],
        moves: Sequence[Any],
        search_goal: SearchGoal,
    ) -> None:
        self.row_parts, self.margins, self.search_goal, (alone, self.together) = row_parts, margins, search_goal, gains
        # Half of the tolerance, because bounds are summed in another order than the margins that they bound.
        self.need = _BEYOND / 2 + (search_goal.log_odds or 0.0) - margins
        sums = [line - line[part] for line, part in zip(alone, row_parts, strict=True)]
        for (a, b), grid in self.together.items():
            i, j = row_parts[a], row_parts[b]
            sums[a] = sums[a] + grid[:, j] - grid[i, j]
            sums[b] = sums[b] + grid[i] - grid[i, j]
        self.parts = {c: parts for c, (parts, _) in enumerate(moves) if parts.size}
        self.steps = {c: moves[c][1] for c in self.parts}
        self.gains = {c: sums[c][parts] for c, parts in self.parts.items()}
        self.most = np.zeros((len(row_parts), margins.size))
        for c, column_gains in self.gains.items():
            self.most[c] = column_gains.max(axis=0)
        self.best: list[ChangeOption] = []

    @cached_property
    def joint(self) -> dict[tuple[int, int], np.ndarray]:
        """Interactions of columns that form a pair, as a dict by the positions of both columns.

        Each value is an array (n_moves of one, n_moves of the other, n_classes - 1) in nats: the change of the margins
        if both columns move, minus the changes if each moves alone.
        """
        joints = {}
        for (a, b), grid in self.together.items():
            if a in self.parts and b in self.parts:
                new_a, new_b, i, j = self.parts[a][:, None], self.parts[b][None], self.row_parts[a], self.row_parts[b]
                joints[a, b] = grid[new_a, new_b] - grid[new_a, j] - grid[i, new_b] + grid[i, j]
        return joints

    @cached_property
    def most_joint(self) -> np.ndarray:
        """Upper bound of the interaction of any two columns, shape (n_columns, n_columns, n_classes - 1), in nats."""
        most = np.zeros((len(self.row_parts), *self.most.shape))
        for (a, b), grid in self.joint.items():
            most[a, b] = most[b, a] = grid.max(axis=(0, 1))
        return most

    def run(self) -> list[ChangeOption]:
        """Return the best options, sorted. An option is omitted if a better option changes a proper subset of its
        columns.
        """
        cheapest = np.sort(self.search_goal.costs[list(self.parts)])
        for k in range(1, min(self.search_goal.max_changes, len(self.parts)) + 1):
            if self._is_beyond(round(float(cheapest[:k].sum()), DECIMALS), k):
                break
            for cost, least, columns in self._worth(k):
                if self._is_beyond(cost, least):
                    break
                if not any(set(option.columns) < set(columns) for option in self.best):
                    self.best = sorted([*self.best, *self._best_of(columns, cost)])[: self.search_goal.n]
        return self.best

    def _is_beyond(self, cost: float, steps: int) -> bool:
        """Return whether all wanted options are found, and any option of this cost and number of steps would be worse
        than each of them.
        """
        return len(self.best) == self.search_goal.n and (cost, steps) > (self.best[-1].cost, self.best[-1].steps)

    def _worth(self, k: int) -> Iterator[tuple[float, int, tuple[int, ...]]]:
        """Yield the sets of k columns that may reach the goal according to the upper bounds, in ascending order of
        cost.

        Each set is a tuple of its cost, the smallest number of steps by which it may reach the goal, and the positions
        of its columns.
        """
        pieces = []
        for sets in sets_of(np.array(list(self.parts)), k):
            reach = self.most[sets].sum(axis=1)
            for i, j in combinations(range(k), 2):
                reach += self.most_joint[sets[:, i], sets[:, j]]
            fine = (reach >= self.need).all(axis=1)
            pieces.append((sets[fine], reach[fine]))
        sets, reach = (np.concatenate(part) for part in zip(*pieces, strict=True))
        costs = self.search_goal.costs[sets].sum(axis=1).round(DECIMALS)
        for s in np.lexsort((-reach.min(axis=1), costs)).tolist():
            yield float(costs[s]), k, tuple(sets[s].tolist())

    def _best_of(self, columns: tuple[int, ...], cost: float) -> list[ChangeOption]:
        """Return the option that changes exactly ``columns`` and reaches the goal in the fewest steps, as a list; empty
        if there is none.

        ``columns`` are positions and ``cost`` is their cost. Of options with equally many steps, the most certain one
        is returned.
        """
        is_bound = len(self.best) == self.search_goal.n and self.best[-1].cost == cost
        limit = self.best[-1].steps if is_bound else np.iinfo(np.int64).max
        moves = {c: self._promising_moves(c, columns, limit) for c in columns}
        if len(columns) == 1:
            return self._best_on_grid(moves, cost, limit)
        # Grids of one move of the column with the fewest moves keep memory small, and stop at the steps found so far.
        first = min(columns, key=lambda c: moves[c].size)
        options: list[ChangeOption] = []
        for move in moves[first].tolist():
            limit = options[0].steps if options else limit
            if self.steps[first][move] + len(columns) - 1 <= limit:
                candidates = self._best_on_grid({**moves, first: np.array([move])}, cost, limit)
                options = sorted([*options, *candidates])[:1]
        return options

    def _promising_moves(self, c: int, columns: tuple[int, ...], limit: int) -> np.ndarray:
        """Return the moves of column c, as positions in its list of moves, that can be part of an option within
        ``limit`` steps.

        ``columns`` are all columns that change together. A move is excluded if the goal cannot be reached even with the
        best moves of the other columns.
        """
        reach = self.gains[c] + self.most[[d for d in columns if d != c]].sum(axis=0)
        for a, b in combinations(columns, 2):
            reach = reach + self.most_joint[a, b]
        return np.flatnonzero((reach >= self.need).all(axis=1) & (self.steps[c] + len(columns) - 1 <= limit))

    def _best_on_grid(self, moves: Mapping[int, np.ndarray], cost: float, limit: int) -> list[ChangeOption]:
        """Return the best option among all combinations of some moves, as a list; empty if none reaches the goal.

        ``moves`` maps the position of each column that changes to the positions of its allowed moves, in the column's
        list of moves. ``cost`` is the cost of these columns. Options of more than ``limit`` steps are excluded.
        """
        columns = tuple(sorted(moves))
        grid = dict(zip(columns, np.ix_(*(moves[c] for c in columns)), strict=True))
        steps: Any = sum(self.steps[c][grid[c]] for c in columns)
        margins = self.margins + sum(self.gains[c][grid[c]] for c in columns)
        for a, b in combinations(columns, 2):
            if (a, b) in self.joint:
                margins = margins + self.joint[a, b][grid[a], grid[b]]
        places = np.argwhere(self.search_goal.holds(margins) & (steps <= limit))
        few = steps[tuple(places.T)]
        places = places[few == few.min(initial=limit)]
        if not places.size:
            return []
        # Places are in the order of the parts: the first of those that are equally certain is the best.
        certainties = self.search_goal.certainty(margins[tuple(places.T)]).tolist()
        doubts = [round(-certainty, DECIMALS) for certainty in certainties]
        best = doubts.index(min(doubts))
        parts = tuple(int(self.parts[c][moves[c][i]]) for c, i in zip(columns, places[best].tolist(), strict=True))
        return [ChangeOption(cost, int(few.min()), doubts[best], columns, parts, certainties[best])]


def fixed_columns(card: Scorecard) -> list[str]:
    """Return the names of the columns that counterfactuals must not change, such as protected attributes: those that
    the labels of the model (`SelectiveNB.with_labels`) mark as fixed.
    """
    labels = card.provenance.get("labels", {})
    return [name for name, label in labels.items() if label.get("fixed")]


def sets_of(columns: np.ndarray, k: int) -> Iterator[np.ndarray]:
    """Yield all sets of ``k`` (1, 2 or 3) of the given columns, in chunks of limited size.

    ``columns`` (n_columns,) are positions; each chunk is an array (n_sets, k) of positions, without repetition.
    """
    if k == 1:
        yield columns[:, None]
    elif k == 2:
        yield columns[np.stack(np.triu_indices(columns.size, 1), axis=1)]
    else:
        for i, first in enumerate(columns.tolist()):
            for pairs in sets_of(columns[i + 1 :], 2):
                yield np.column_stack([np.full(len(pairs), first), pairs])


def counterfactuals_of(
    card: Scorecard, table: Table, target: Any, probability: float | None, n: int, max_changes: int, **by_column: Any
) -> tuple[Any, list[list[str] | None]]:
    """Return the changes documented in `SelectiveNB.counterfactuals` for the rows of ``table``, as a tuple of two.

    The first is the polars dataframe documented there, except that its column ``values`` holds positions in the second.
    The second is a list with the categories of each new level, a list of texts, or None for an interval. ``by_column``
    are the options ``fixed``, ``directions`` and ``costs``; all other parameters are options of that method, too.
    """
    import polars as pl

    parts, search_goal = _checked(card, probability, n, max_changes, **by_column)
    joint, codes = card.tables.joint(card.cells(table)), code_by(card, table, parts.levels)
    goals = _goals(card, joint, target, probability)
    gains = {j: parts.gains(j) for j in sorted({j for goal in goals for j in goal})}
    texts = [(*Wording.of(card).levels(level), UNSEEN) for level in parts.levels]

    # Rows of equal codes share their moves. A column of many categories has as many moves from each: keep some only.
    @lru_cache(maxsize=_MAX_MOVES)
    def moves(c: int, code: int) -> tuple[np.ndarray, np.ndarray]:
        is_movable = np.isfinite(search_goal.costs[c])
        return moves_of(parts.levels[c], code, search_goal.signs[c]) if is_movable else _NONE

    lines: list[tuple[Any, ...]] = []
    # Bounds are computed once per part, because a group may hold thousands of values and many rows may move to it.
    positions: dict[tuple[int, int], int] = {}
    bounds: list[dict[str, Any]] = []
    for row, goal in enumerate(goals):
        row_codes = codes[:, row].tolist()
        options = []
        for j in goal:
            margins = joint[row, j] - np.delete(joint[row], j)
            if not np.isnan(margins).any() and not search_goal.holds(margins):
                row_moves = [moves(c, code) for c, code in enumerate(row_codes)]
                search = ChangeSearch(row_codes, margins, gains[j], row_moves, search_goal)
                options += [(option, j) for option in search.run()]
        for number, (option, j) in enumerate(sorted(options)[:n], start=1):
            for c, part in zip(option.columns, option.parts, strict=True):
                at = positions.setdefault((c, part), len(bounds))
                if at == len(bounds):
                    bounds.append(bounds_of(parts.levels[c], part))
                change = (row, number, parts.names[c], texts[c][row_codes[c]], texts[c][part])
                low, high, label = bounds[at].get("low"), bounds[at].get("high"), card.classes[j : j + 1].tolist()[0]
                lines.append((*change, low, high, at, label, float(expit(option.certainty))))
    kinds = [pl.Int64, pl.Int64, pl.String, pl.String, pl.String, pl.Float64, pl.Float64, pl.Int64]
    of_all: list[Any] = [*kinds, pl.Series(card.classes.tolist()).dtype, pl.Float64]
    names = ("row", "option", "column", "from", "to", "low", "high", "values", "class", "probability")
    frame = pl.DataFrame(lines, schema=dict(zip(names, of_all, strict=True)), orient="row")
    return frame, [content.get("values") for content in bounds]


_MAX_MOVES = 256  # pairs of column and code whose moves are kept: 80 MB if each column has 20,000 categories
_NONE = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


def _goals(card: Scorecard, joint: np.ndarray, target: Any, probability: float | None) -> list[list[int]]:
    """Return, for each row, the positions of the classes to which a change may lead.

    ``joint`` (n_rows, n_classes) are the log joint probabilities. If ``target`` and ``probability`` are None, the
    result lists all classes but the predicted one; otherwise it is the class ``target`` or, if that is None, the
    positive class. Raise ValueError if ``target`` is None, ``probability`` is set and the model has no positive class.
    """
    every = range(card.classes.size)
    if target is None and probability is None:
        return [[j for j in every if j != best] for best in joint.argmax(axis=1).tolist()]
    position = card.position(target)
    if position is None:
        raise ValueError("probability= needs the class that it refers to; set target= to this class.")
    return [[position]] * len(joint)


def _checked(
    card: Scorecard, probability: Any, n: Any, max_changes: Any, fixed: Any, directions: Any, costs: Any
) -> tuple[Parts, SearchGoal]:
    """Check the options of `SelectiveNB.counterfactuals`. Return a tuple of the parts into which the model divides its
    columns, and the goal of the search.

    Raise ValueError, naming the option and the column, if an option is invalid.
    """
    fixed = [*([fixed] if isinstance(fixed, str) else fixed), *fixed_columns(card)]
    directions, costs = directions or {}, costs or {}
    check_allowed({"n": n, "max_changes": max_changes, "probability": probability}, _ALLOWED)
    unknown = [name for name in (*fixed, *directions, *costs) if name not in card.columns]
    if unknown:
        raise ValueError(f"The model has no column {named(unknown)}; check the names in fixed, directions and costs.")
    for name, cost in costs.items():
        if not (is_number(cost) and 0.0 < cost < np.inf):
            raise ValueError(f"The cost of column {name!r} must be a number above 0, got {cost!r:.80}.")
    parts = Parts(card)
    for name, sign in directions.items():
        of_numbers = all(level.groups is None for level in parts.levels if level.name == name)
        if not (is_sign(sign) and of_numbers):
            raise ValueError(f"The direction of column {name!r} must be +1 or -1, and the column must be numeric.")
    cost_of_column = np.array([np.inf if name in fixed else float(costs.get(name, 1.0)) for name in parts.names])
    signs = np.array([directions.get(name, 0) for name in parts.names], dtype=np.int64)
    log_odds = None if probability is None else float(logit(float(probability)))
    return parts, SearchGoal(log_odds, int(n), int(max_changes), cost_of_column, signs)

"""The smallest changes of a row that flip a decision: a branch and bound over the cells of columns, exact with pairs.

A column moves between parts of its range in which no feature tells values apart: the intervals between the cut points
of all features that use it, or the values that all of them treat alike. The cost of changes is the sum of the costs of
their columns, then the number of parts moved over (1 for categories, and for values that were missing); of equal ones
the surest comes first, then the first columns, then the lowest parts.
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

from bayesieve.discretize.indicators import code_families
from bayesieve.scorecard.look_up import RowReader, ScoreReader
from bayesieve.scorecard.reasons import DECIMALS, class_position
from bayesieve.scorecard.record import UNSEEN, Scorecard, bounds_of
from bayesieve.scorecard.wording import Wording
from bayesieve.table import FeatureLevels, Table
from bayesieve.table.cautions import silenced
from bayesieve.table.columns import Categories
from bayesieve.table.derived_levels import PairLevels, scores_of
from bayesieve.table.levels import TableLevels
from bayesieve.table.values import canonical_text
from bayesieve.words import named

MOST_CHANGES = 3
_MANY = 100  # columns
_BEYOND = 1e-9  # nats by which a decision must change, so that rounding cannot turn it back


@dataclass(frozen=True)
class Wish:
    """The decision that is wanted, and what may change."""

    log_odds: float
    is_probability: bool
    n: int
    max_changes: int
    costs: np.ndarray

    def certainty(self, margins: np.ndarray) -> np.ndarray:
        """Log odds of the class from what it has more than each other one, (..., n_classes - 1)."""
        if margins.shape[-1] == 1:
            return margins[..., 0]
        with np.errstate(invalid="ignore"):
            sure: np.ndarray = -np.logaddexp.reduce(-margins, axis=-1)
        return sure

    def holds(self, margins: np.ndarray) -> np.ndarray:
        """Whether the decision is as wanted: the class the most probable one, or as probable as demanded."""
        least = self.certainty(margins) if self.is_probability else margins.min(axis=-1)
        fine: np.ndarray = least >= self.log_odds + _BEYOND
        return fine


@dataclass(frozen=True, order=True)
class Option:
    """Changes of some columns: what orders them, then positions of the columns and their new parts."""

    cost: float
    steps: int
    doubt: float
    columns: tuple[int, ...]
    parts: tuple[int, ...]
    certainty: float = field(compare=False, default=0.0)


class Parts:
    """The parts of the columns of a model: 0 for missing values, then the parts, then values that were never seen."""

    def __init__(self, card: Scorecard, fixed: Sequence[str]) -> None:
        self.card = card
        uses: dict[str, list[FeatureLevels]] = defaultdict(list)
        sums = [f for f in self._used if any(part.sum_of for part in parts_of(f.cells))]
        summed = {name for feature in sums for name in feature.columns} - set(fixed)
        if summed:
            raise ValueError(
                f"Changes of a sum cannot be told by its levels: name {named(sorted(summed))} in fixed=, or fit the "
                "model without sums."
            )
        self.features = [feature for feature in self._used if feature not in sums]
        for part in (part for feature in self.features for part in parts_of(feature.cells)):
            uses[scores_of([part])[0]].append(part)
        self.levels = [refined(name, uses[name]) for name in card.columns if name in uses]
        self.names = [level.name for level in self.levels]

    @cached_property
    def _used(self) -> list[Any]:
        return [self.card.features[k] for k in self.card.used.tolist()]

    def code(self, table: Table) -> np.ndarray:
        """(n_columns, n_rows) the parts of values."""
        reader = self.card.reader
        if not self.levels:
            return np.zeros((0, table.n_rows), dtype=np.int64)
        if isinstance(reader, ScoreReader):
            own, families = reader.read(table), reader.column_levels
            codes = code_families([own.column(i) for i in range(own.n_columns)], families, None).astype(np.int64)
            order = [reader.needed.index(name) for name in self.names]
            sizes = np.array([family.n_levels for family in families])[order, None]
            return np.where(codes[order] == sizes, 0, codes[order] + 1)
        of_column = dict(zip(self.names, self.levels, strict=True))
        every = [of_column.get(f.name, f.levels) for f in self.card.features if f.columns == (f.name,)]
        used = np.array([k for k, level in enumerate(every) if level.name in of_column], dtype=np.int64)
        with silenced():  # values were complained about before
            return RowReader.of(TableLevels.of(every), used, self.card.columns).code(table)[0].astype(np.int64)

    def gains(self, of_class: int) -> tuple[list[np.ndarray], dict[tuple[int, int], np.ndarray]]:
        """What parts add to the margins of a class over the others: (n_parts + 2, n_margins) of each column, and
        (n_parts + 2, n_parts + 2, n_margins) of two columns together.
        """
        position = {name: i for i, name in enumerate(self.names)}
        n_margins = self.card.classes.size - 1
        alone = [np.zeros((level.n_levels + 1, n_margins)) for level in self.levels]
        together: dict[tuple[int, int], np.ndarray] = {}
        for feature in self.features:
            margins = feature.table[:, [of_class]] - np.delete(feature.table, of_class, axis=1)
            parts = parts_of(feature.cells)
            at = [position[scores_of([part])[0]] for part in parts]
            codes = [codes_in(part, self.levels[c]) for part, c in zip(parts, at, strict=True)]
            if len(parts) == 1:
                alone[at[0]] += margins[codes[0]]
                continue
            grid = margins[feature.cells.code_parts(*np.broadcast_arrays(codes[0][:, None], codes[1][None]))]
            key, grid = ((at[0], at[1]), grid) if at[0] < at[1] else ((at[1], at[0]), grid.transpose(1, 0, 2))
            together[key] = together[key] + grid if key in together else grid
        return alone, together


def parts_of(levels: FeatureLevels) -> Sequence[FeatureLevels]:
    """Both parts of a pair, or the levels of a column."""
    return levels.parts if isinstance(levels, PairLevels) else (levels,)


def refined(name: str, uses: Sequence[FeatureLevels]) -> FeatureLevels:
    """Levels that tell apart all that some levels of a column tell apart, those of missing values first."""
    first = uses[0]
    if first.groups is None:
        cuts = np.unique(np.concatenate([np.asarray(level.cut_points) for level in uses]))
        return FeatureLevels(name, "numeric", first.type, np.array([-np.inf, *cuts[np.isfinite(cuts)]]), None, 0)
    values = {canonical_text(v): v for level in uses for group in level.groups or () for v in group if v is not None}
    whole = Categories(np.arange(len(values)), list(values.values()))
    alike: dict[tuple[int, ...], list[object]] = defaultdict(list)
    for value, *codes in zip(values.values(), *(level.code_categories(whole).tolist() for level in uses), strict=True):
        alike[tuple(codes)].append(value)
    return FeatureLevels(name, "categorical", first.type, None, ((None,), *map(tuple, alike.values())), 0)


def codes_in(part: FeatureLevels, levels: FeatureLevels) -> np.ndarray:
    """(n_levels + 1,) the level of `part` that holds each of the finer ``levels``, values that were never seen last."""
    if levels.groups is None:
        inner = np.asarray(levels.cut_points)[1:]
        codes = part.code_numbers(np.array([np.nan, *inner, np.nextafter(inner[-1], np.inf) if inner.size else 0.0]))
    else:
        codes = part.code_categories(levels.first_values())
    return np.append(codes.astype(np.int64), part.n_levels)


@dataclass(frozen=True)
class Moves:
    """The parts that a column of a row may move to, (n_parts,), and how many steps away they are."""

    parts: np.ndarray
    steps: np.ndarray

    @classmethod
    def of(cls, levels: FeatureLevels, own: int, sign: int) -> Moves:
        """All moves, or those up or down; a missing number is neither below nor above others."""
        parts = np.arange(1, levels.n_levels)
        is_ordered = levels.groups is None and 0 < own < levels.n_levels
        steps = np.abs(parts - own) if is_ordered else (parts != own).astype(np.int64)
        allowed = steps > 0
        if sign:
            allowed &= is_ordered & ((parts - own) * sign > 0)
        return cls(parts[allowed], steps[allowed])


class Search:
    """The search for one row.

    own : its parts, (n_columns,); margins : what the wanted class has more than each other one, (n_margins,);
    alone, together : see `Parts.gains`.
    """

    def __init__(
        self,
        own: Sequence[int],
        margins: np.ndarray,
        alone: Sequence[np.ndarray],
        together: Mapping[tuple[int, int], np.ndarray],
        wish: Wish,
        moves: Sequence[Moves],
    ) -> None:
        self.own, self.margins, self.wish, self.together = own, margins, wish, together
        self.need = wish.log_odds + _BEYOND - margins
        sums = [line - line[at] for line, at in zip(alone, own, strict=True)]
        for (a, b), grid in together.items():
            sums[a] = sums[a] + grid[:, own[b]] - grid[own[a], own[b]]
            sums[b] = sums[b] + grid[own[a]] - grid[own[a], own[b]]
        self.columns = [c for c, own_moves in enumerate(moves) if own_moves.parts.size]
        self.parts = {c: moves[c].parts for c in self.columns}
        self.steps = {c: moves[c].steps for c in self.columns}
        self.gains = {c: sums[c][moves[c].parts] for c in self.columns}
        self.most = np.zeros((len(own), margins.size))
        for c in self.columns:
            self.most[c] = self.gains[c].max(axis=0)
        self.best: list[Option] = []

    @cached_property
    def joint(self) -> dict[tuple[int, int], np.ndarray]:
        """What moves of two columns add beyond the sum of both, (n_parts, n_parts, n_margins)."""
        found = {}
        for (a, b), grid in self.together.items():
            if a in self.parts and b in self.parts:
                at, to, i, j = self.parts[a], self.parts[b], self.own[a], self.own[b]
                moved = grid[at[:, None], to[None]]
                found[a, b] = moved - grid[at, j][:, None] - grid[i, to][None] + grid[i, j]
        return found

    @cached_property
    def most_joint(self) -> np.ndarray:
        """(n_columns, n_columns, n_margins) the most of each of these."""
        most = np.zeros((len(self.own), *self.most.shape))
        for (a, b), grid in self.joint.items():
            most[a, b] = most[b, a] = grid.max(axis=(0, 1))
        return most

    def run(self) -> list[Option]:
        """The best options, each for other columns; none changes more columns than another that does."""
        wish = self.wish
        cheapest = np.sort(wish.costs[self.columns])
        for k in range(1, min(wish.max_changes, len(self.columns)) + 1):
            if self._is_beyond(cheapest[:k].sum(), k):
                break
            for cost, least, columns in self._worth(k):
                if self._is_beyond(cost, least):
                    break
                if any(set(option.columns) < set(columns) for option in self.best):
                    continue
                option = self._best_of(columns, cost)
                if option is not None:
                    self.best = sorted([*self.best, option])[: wish.n]
        return self.best

    def _is_beyond(self, cost: float, steps: int) -> bool:
        last = self.best[-1] if len(self.best) == self.wish.n else None
        return last is not None and (round(float(cost), DECIMALS), steps) > (last.cost, last.steps)

    def _worth(self, k: int) -> Iterator[tuple[float, int, tuple[int, ...]]]:
        """The sets of k columns that may flip the decision, the least cost and number of steps first."""
        fine = [(sets, reach) for sets, reach in map(self._reach, sets_of(self._promising(k), k)) if len(sets)]
        if not fine:
            return
        sets, reach = (np.concatenate(parts) for parts in zip(*fine, strict=True))
        least = np.zeros(len(sets), dtype=np.int64)
        for c in np.unique(sets).tolist():
            here = np.flatnonzero((sets == c).any(axis=1))
            gains, steps = self._by_steps[c]
            at = np.searchsorted(gains, (self.need - (reach[here] - self.most[c]))[:, 0] - _BEYOND)
            least[here] += steps[np.minimum(at, steps.size - 1)]
        costs = self.wish.costs[sets].sum(axis=1).round(DECIMALS)
        for s in np.lexsort((least, costs)).tolist():
            yield float(costs[s]), int(least[s]), tuple(sets[s].tolist())

    def _reach(self, sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Those of some sets of columns that may gain what is needed, and the most that they gain."""
        reach = self.most[sets].sum(axis=1)
        for i, j in combinations(range(sets.shape[1]), 2):
            reach += self.most_joint[sets[:, i], sets[:, j]]
        fine = (reach >= self.need - _BEYOND).all(axis=1)
        return sets[fine], reach[fine]

    def _promising(self, k: int) -> np.ndarray:
        """The columns that may be among k which flip the decision."""
        columns = np.array(self.columns)
        own = self.most[columns]
        others = np.sort(np.maximum(own, 0.0), axis=0)[max(0, len(own) + 1 - k) :].sum(axis=0)
        joint = k * np.maximum(self.most_joint, 0.0).max(axis=(0, 1)) if k > 1 else 0.0
        promising: np.ndarray = columns[(own + others + joint >= self.need - _BEYOND).all(axis=1)]
        return promising

    @cached_property
    def _by_steps(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """For each column the most that it gains over the first other class within so many steps, ascending."""
        found = {}
        for c in self.columns:
            order = np.argsort(self.steps[c], kind="stable")
            found[c] = np.maximum.accumulate(self.gains[c][order, 0]), self.steps[c][order]
        return found

    def _best_of(self, columns: tuple[int, ...], cost: float) -> Option | None:
        """The fewest steps of moves of all these columns that flip the decision, the surest first."""
        last = self.best[-1] if len(self.best) == self.wish.n else None
        limit = last.steps if last is not None and last.cost == cost else np.iinfo(np.int64).max
        kept = {c: self._kept(c, columns, limit) for c in columns}
        if not all(at.size for at in kept.values()):
            return None
        ordered = sorted(columns, key=lambda c: (kept[c].size, c))
        outer, inner = (ordered[:1], ordered[1:]) if len(columns) > 2 else ([], ordered)
        found: Option | None = None
        for at in kept[outer[0]].tolist() if outer else [None]:
            given = {} if at is None else {outer[0]: at}
            if sum(int(self.steps[c][i]) for c, i in given.items()) + len(inner) > limit:
                continue
            option = self._best_on_grid(given, inner, kept, cost, limit)
            if option is not None and (found is None or option < found):
                found, limit = option, option.steps
        return found

    def _kept(self, c: int, columns: tuple[int, ...], limit: int) -> np.ndarray:
        """Positions of the parts of a column that may be in the best option of some columns."""
        others = [d for d in columns if d != c]
        reach = self.gains[c] + self.most[others].sum(axis=0)
        for a, b in combinations(columns, 2):
            reach = reach + self.most_joint[a, b]
        steps = self.steps[c]
        at = np.flatnonzero((reach >= self.need - _BEYOND).all(axis=1) & (steps + len(others) <= limit))
        if self.need.size > 1 or not at.size or any((min(c, d), max(c, d)) in self.joint for d in others):
            return at
        order = at[np.lexsort((at, -self.gains[c][at, 0], steps[at]))]  # more steps must gain more
        gains = self.gains[c][order, 0]
        before = np.concatenate([[-np.inf], np.maximum.accumulate(gains)[:-1]])
        return order[gains > before]

    def _best_on_grid(
        self, given: Mapping[int, int], inner: Sequence[int], kept: Mapping[int, np.ndarray], cost: float, limit: int
    ) -> Option | None:
        """The best option with the ``given`` moves and one of those ``kept`` of each of one or two inner columns."""
        at = {c: kept[c].reshape([-1 if other == c else 1 for other in inner]) for c in inner}
        at |= {c: np.array(i) for c, i in given.items()}
        steps = sum(self.steps[c][at[c]] for c in at)
        margins = self.margins + sum(self.gains[c][at[c]] for c in at)
        for a, b in combinations(sorted(at), 2):
            if (a, b) in self.joint:
                margins = margins + self.joint[a, b][at[a], at[b]]
        places = np.argwhere(self.wish.holds(margins) & (steps <= limit))
        if not places.size:
            return None
        few = steps[tuple(places.T)]
        places = places[few == few.min()]
        columns, options = tuple(sorted(at)), []
        for place, sure in zip(places.tolist(), self.wish.certainty(margins[tuple(places.T)]).tolist(), strict=True):
            of = {c: int(kept[c][i]) for c, i in zip(inner, place, strict=True)} | dict(given)
            parts = tuple(int(self.parts[c][of[c]]) for c in columns)
            options.append(Option(cost, int(few.min()), round(-sure, DECIMALS), columns, parts, sure))
        return min(options)


def sets_of(columns: np.ndarray, k: int) -> Iterator[np.ndarray]:
    """Sets of k columns, (n_sets, k), in pieces if there are many."""
    if k < 3 or columns.size <= _MANY:
        yield columns[index_sets(columns.size, k)]
        return
    for i, first in enumerate(columns.tolist()):
        rest = columns[i + 1 :]
        pairs = rest[np.stack(np.triu_indices(rest.size, 1), axis=1)]
        yield np.column_stack([np.full(len(pairs), first), pairs])


@lru_cache(maxsize=256)
def index_sets(n: int, k: int) -> np.ndarray:
    """All sets of k of n positions, (n_sets, k)."""
    return np.array(list(combinations(range(n), k)), dtype=np.int64).reshape(-1, k)


def counterfactuals_of(
    card: Scorecard,
    table: Table,
    n: int,
    max_changes: int,
    target: Any,
    probability: float | None,
    fixed: Sequence[str],
    directions: Mapping[str, int] | None,
    costs: Mapping[str, float] | None,
) -> Any:
    """Compute `SelectiveNB.counterfactuals`."""
    _check(n, max_changes, probability)
    fixed = [fixed] if isinstance(fixed, str) else list(fixed)
    for what, names in (("fixed", fixed), ("directions", directions or ()), ("costs", costs or ())):
        unknown = [name for name in names if name not in card.columns]
        if unknown:
            raise ValueError(f"{what} names {named(unknown)}, which the model has no column for; check the names.")
    parts = Parts(card, fixed)
    of_column = _costs_of(parts, costs or {})
    signs = _signs_of(parts, card, directions or {})
    joint, codes = card.tables.joint(card.cells(table)), parts.code(table)
    goals = _goals(card, joint, target, probability)
    log_odds = 0.0 if probability is None else float(logit(probability))
    gains = {j: parts.gains(j) for j in sorted({j for goal in goals for j in goal})}
    known = {}
    lines: list[dict[str, Any]] = []
    wording = Wording.of(card)
    texts = [wording.levels(level) for level in parts.levels]
    for row, goal in enumerate(goals):
        own = codes[:, row].tolist()
        moves = []
        for c, at in enumerate(own):
            if (c, at) not in known:
                is_fixed = parts.names[c] in fixed
                known[c, at] = Moves.of(parts.levels[c], 0 if is_fixed else at, 1 if is_fixed else signs[c])
            moves.append(known[c, at])
        found = []
        for j in goal:
            margins = joint[row, j] - np.delete(joint[row], j)
            wish = Wish(log_odds, probability is not None, n, max_changes, of_column)
            if not np.isnan(margins).any() and not wish.holds(margins):
                found += [(option, j) for option in Search(own, margins, *gains[j], wish, moves).run()]
        for number, (option, j) in enumerate(sorted(found)[:n]):
            for c, part in zip(option.columns, option.parts, strict=True):
                seen = own[c] < parts.levels[c].n_levels
                lines.append(
                    {
                        "row": row,
                        "option": number + 1,
                        "column": parts.names[c],
                        "from": texts[c][own[c]] if seen else UNSEEN,
                        "to": texts[c][part],
                        **_NO_BOUNDS,
                        **bounds_of(parts.levels[c], part),
                        "class": card.classes[j].item() if isinstance(card.classes[j], np.generic) else card.classes[j],
                        "probability": float(expit(option.certainty)),
                    }
                )
    return _framed(lines, card)


_NO_BOUNDS: dict[str, Any] = {"low": None, "high": None, "values": None}


def _framed(lines: Sequence[dict[str, Any]], card: Scorecard) -> Any:
    import polars as pl

    label = pl.Series(card.classes.tolist()).dtype
    schema = {"row": pl.Int64, "option": pl.Int64, "column": pl.String, "from": pl.String, "to": pl.String}
    numbers = {"low": pl.Float64, "high": pl.Float64, "values": pl.List(pl.String)}
    return pl.DataFrame(lines, schema={**schema, **numbers, "class": label, "probability": pl.Float64})


def _check(n: Any, max_changes: Any, probability: Any) -> None:
    for name, value, most in (("n", n, None), ("max_changes", max_changes, MOST_CHANGES)):
        whole = isinstance(value, Integral) and not isinstance(value, bool) and value >= 1
        if not whole or (most is not None and value > most):
            bound = "at least 1" if most is None else f"from 1 to {most}"
            raise ValueError(f"{name} must be a whole number, {bound}, got {value!r:.80}.")
    if probability is not None and not (isinstance(probability, Real) and 0.0 < probability < 1.0):
        raise ValueError(f"probability must be above 0 and below 1, got {probability!r:.80}.")


def _goals(card: Scorecard, joint: np.ndarray, target: Any, probability: float | None) -> list[list[int]]:
    """The classes of which each row shall become one: that named, or all but the predicted one."""
    if target is not None:
        return [[class_position(card, target)]] * len(joint)
    if probability is not None:
        if card.classes.size > 2:
            raise ValueError("probability= needs the class that shall be as probable: name it by target=.")
        return [[1]] * len(joint)
    every = range(card.classes.size)
    return [[j for j in every if j != best] for best in joint.argmax(axis=1).tolist()]


def _costs_of(parts: Parts, costs: Mapping[str, float]) -> np.ndarray:
    for name, cost in costs.items():
        if isinstance(cost, bool) or not isinstance(cost, Real) or not 0.0 < cost < np.inf:
            raise ValueError(f"The cost of column {name!r} must be a number above 0, got {cost!r:.80}.")
    return np.array([float(costs.get(name, 1.0)) for name in parts.names])


def _signs_of(parts: Parts, card: Scorecard, directions: Mapping[str, int]) -> list[int]:
    for name, sign in directions.items():
        if isinstance(sign, bool) or sign not in (-1, 1):
            raise ValueError(f"The direction of column {name!r} must be +1 or -1, got {sign!r:.80}.")
        if any(level.name == name and level.groups is not None for level in parts.levels):
            raise ValueError(f"Column {name!r} holds categories, which have no direction; name it in fixed= instead.")
    return [int(directions.get(name, 0)) for name in parts.names]

"""Coders of columns that follow a user's rules for their levels."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.special import gammaln

from bayesieve.discretize.binning import EqualFrequencyDiscretizer, equal_parts
from bayesieve.discretize.column_coders import (
    LEAST_VALUES,
    ColumnCoder,
    GroupCoder,
    GroupsOrValues,
    IntervalCoder,
    MODLGrouper,
)
from bayesieve.discretize.modl import (
    Groups,
    Intervals,
    Prior,
    group_prior,
    interval_costs,
    part_cost,
    saved_by_values,
    summed,
)
from bayesieve.discretize.rules import LevelRule, TableRules, refusal
from bayesieve.discretize.value_counts import NEVER, ValueBlocks, ValueCounts
from bayesieve.parts import is_number
from bayesieve.table import FeatureLevels, Table
from bayesieve.table.cautions import Caution
from bayesieve.table.columns import SpecialValues, special_number
from bayesieve.table.scanned import ScannedTable
from bayesieve.table.values import HIGHEST_SPECIAL, TEMPORAL, canonical_text, format_temporal
from bayesieve.words import agreeing, did_you_mean, named

AS_LEARNT = "as learnt"
_FORCED_BINS = 6
_MOST_COMPARED, _MOST_TYPING_ERRORS = 5000, 20  # numbers of values compared for hints, and of absent values listed


def ruled_coders(rules: TableRules, table: Table, coders: Sequence[ColumnCoder], pairs: Any) -> list[ColumnCoder]:
    """Return a coder of each column that follows the user's rule in ``rules``. Columns without a rule keep their coder
    in ``coders``.

    Raise ValueError, naming the column, if one of the ``pairs`` (option of `TableEncoder`) has a column that must not
    be in a pair.
    """
    for name in () if isinstance(pairs, (str, Integral)) else (name for pair in pairs for name in pair):
        if name in rules.unpaired:
            raise refusal(name, "is excluded or monotone, so that no pair can contain it; remove it from pairs=")
    types, result, place = table.types(), list(coders), {name: i for i, name in enumerate(table.names)}
    for name, rule in rules.rules.items():
        i = place[name]
        coder = coders[i]
        if isinstance(coder, GroupCoder):
            result[i] = RuledGroups(coder, rule, name, types[i])
        elif isinstance(coder, IntervalCoder):
            result[i] = RuledIntervals(coder, rule.read_for(name, types[i]), name, types[i])
    return result


def as_learnt(names: Sequence[str], coders: Sequence[ColumnCoder]) -> tuple[str, ...]:
    """Return the names of columns whose levels by hand equal those that a fit without them learns from the rows.
    ``coders`` are the fitted coders of the columns in ``names``.
    """
    return tuple(name for name, coder in zip(names, coders, strict=True) if getattr(coder, "is_as_learnt", False))


def rule_cautions(
    table: Table, coders: Sequence[ColumnCoder], levels: Sequence[FeatureLevels], learnt: Sequence[str]
) -> list[Caution]:
    """Return cautions about values in rules that no row has, and about the columns ``learnt``.

    Parameters
    ----------
    table, coders, levels : the columns with their coders and levels.
    learnt : names of the columns whose levels by hand equal those learnt from the rows.
    """
    cautions = []
    for i, coder in enumerate(coders):
        if not isinstance(coder, Ruled) or coder.rule.cells:  # levels of another model may come from other rows
            continue
        absent, others, where = coder.absent, coder.others, "in groups of"
        if coder.rule.special:
            absent, others, where = *_absent_special(table, i, levels[i]), "special in"
        if absent:
            few = len(absent) <= _MOST_TYPING_ERRORS  # a complete list of codes may have many values that no row has
            hint = did_you_mean(absent if few else (), others[:_MOST_COMPARED])
            hint = hint or agreeing(absent, "check how the column writes [it|them].")
            values = agreeing(absent, "No row has the [value|values] {} that [is|are]")
            sentence = f"{values} {where} column {coder.name!r}; {hint}"
            cautions.append(Caution("no such value", (coder.name,), sentence, warns=few))
        joined = coder.rule.missing
        if isinstance(coder, RuledGroups) and joined not in (None, "apart", "unseen") and not levels[i].knows(joined):
            sentence = (
                f"No row of column {coder.name!r} has the value {joined!r} whose level missing values should "
                f"join{coder.meant()}"
            )
            sentence += "" if sentence.endswith("?") else "; give one of its values, 'apart' or 'unseen'."
            cautions.append(Caution("no such value", (coder.name,), sentence))
    if learnt:
        sentence = f"The given levels of {named(learnt)} are those that a fit without them learns from these rows."
        cautions.append(Caution(AS_LEARNT, tuple(learnt), sentence, warns=False))
    return cautions


def _absent_special(table: Table, i: int, level: FeatureLevels) -> tuple[list[str], list[str]]:
    """Return the special values of a column that no row has, and the lowest and highest ordinary number; two lists of
    texts.

    ``i`` is the position of the column, and ``level`` its levels. For a scanned table, special values are given by
    their names, and the second list is empty.
    """
    if isinstance(table, ScannedTable):
        row_counts = np.asarray(level.counts).sum(axis=1)[level.n_special_levels - len(level.special) :]
        return [name for (name, _), n in zip(level.special, row_counts, strict=False) if n == 0], []
    column, values = table.column(i), [value for _, values in level.special for value in values]
    alone = SpecialValues(tuple((canonical_text(value), (value,)) for value in values))
    numbers = column.read_as(column.name, alone).numbers()
    there = np.isin(special_number(np.arange(len(values))), numbers)
    ordinary = numbers[numbers > HIGHEST_SPECIAL]
    ends = [ordinary.min(), ordinary.max()] if ordinary.size else []
    texts = [format_temporal(end, level.type) if level.type in TEMPORAL else canonical_text(end) for end in ends]
    return [canonical_text(value) for value, is_there in zip(values, there, strict=True) if not is_there], texts


def _free(coder: Any) -> Any:
    """Return the coder that learns levels from rows in place of a ruled coder: it follows the option ``learnt`` of its
    rule.
    """
    rule = coder.rule.learnt
    return coder.base if rule == LevelRule() else type(coder)(coder.base, rule, coder.name, coder.type)


def for_other_rows(coder: ColumnCoder, levels: Sequence[FeatureLevels], i: int, is_as_learnt: bool) -> ColumnCoder:
    """Return the coder that fits the column at position ``i`` again on other rows.

    ``levels`` are the levels of all columns. If ``is_as_learnt`` is True, the user's levels equal those of the option
    ``learnt`` of the rule, and the coder follows that option. Otherwise it follows the rule: groups that the user
    listed keep all their values, taken from ``levels[i]``, even if the other rows lack some of them.
    """
    coder = _free(coder) if is_as_learnt else coder
    if not isinstance(coder, RuledGroups) or coder.rule.groups is None:
        return coder
    level = levels[i]
    given: Any = level.groups if coder.rule.is_fixed else coder.rule.groups  # or with a group of all other values
    groups = tuple(tuple(None if v is None else level.category(v) for v in group) for group in given)
    return RuledGroups(coder.base, replace(coder.rule, groups=groups), coder.name, coder.type, are_categories=True)


class Ruled:
    """Mixin of coders of one column by a user's rule.

    Parameters
    ----------
    base : coder that decides whatever the rule does not fix.
    rule : rule of the column.
    name, type_ : name and `Column.type` of the column.
    are_categories : whether groups in the rule hold canonical texts of categories, rather than values as a user writes
        them.
    """

    is_alone = True
    is_as_learnt = False
    """Whether the levels by hand equal those that the ``learnt`` option of the rule gives for these rows."""
    absent: Sequence[str] = ()
    """Values in groups by hand that do not occur in the rows."""
    others: Sequence[str] = ()
    """Values that occur in the rows, but in no group by hand."""

    def __init__(self, base: Any, rule: LevelRule, name: str, type_: str, *, are_categories: bool = False) -> None:
        self.base, self.rule, self.name, self.type = base, rule, name, type_
        self.are_categories = are_categories

    supervised = property(lambda self: self.base.supervised and not self.rule.is_fixed)
    prior = property(lambda self: self.base.prior)
    price = property(lambda self: self.base.price)
    special = property(lambda self: self.rule.special)

    def in_table(self, n_columns: int, n_rows: float) -> Self:
        """Return a copy whose base coder is for a table with these numbers of columns and rows."""
        return type(self)(self.base.in_table(n_columns, n_rows), self.rule, self.name, self.type)

    def least_rows(self, counts: np.ndarray, n_rows: float) -> float:
        """Return the least number of rows (or weight) of a level. Raise ValueError if a level by hand has fewer.

        ``counts`` (n_levels, n_classes) are the class counts of the levels by hand, and ``n_rows`` is the number of
        rows of the column, because limits may be shares of it.
        """
        least = self.rule.min_rows * (n_rows if self.rule.min_rows < 1 else 1.0)
        if self.rule.is_fixed and len(counts) > 1 and (counts.sum(axis=1) < least).any():
            raise refusal(
                self.name, f"has a given level of fewer than {least:g} rows; merge it with another, or set coarsen"
            )
        return least

    @property
    def may_be_learnt(self) -> bool:
        """Whether the levels by hand must be compared with levels learnt from the rows."""
        return self.rule.is_by_hand and self.rule.learnt is not None

    def keeps_limits(self, counts: np.ndarray, n_rows: float) -> bool:
        """Return whether levels satisfy the rule's limits on their number and sizes. ``counts`` (n_levels, n_classes)
        are their class counts, and ``n_rows`` is the number of rows of the column.
        """
        least, most = self.least_rows(counts, n_rows), self.rule.max_levels
        few = len(counts) == 1 or bool((counts.sum(axis=1) >= least).all())
        return few and (most is None or len(counts) <= most) and not (self.rule.include and len(counts) == 1)


class RuledIntervals(Ruled, IntervalCoder):
    """Coder that cuts one numeric column by a user's rule."""

    joins = NEVER
    separates_missing = True

    def find_starts(self, blocks: ValueBlocks, apart: bool) -> np.ndarray:
        return self.base.find_starts(blocks, apart)

    def fit_blocks(self, blocks: ValueBlocks, *, apart: bool) -> Intervals:
        if self.rule.only_limits:
            learnt = self._fitted_by(self.base, blocks, apart)
            number_counts = learnt.counts[int(learnt.cut_points[:1].tolist() == [-math.inf]) :]
            if self.keeps_limits(number_counts, number_counts.sum()):
                return learnt
        intervals = self._by_rule(blocks)
        if not self.may_be_learnt:
            return intervals
        learnt = self._fitted_by(_free(self), blocks, apart)
        same = np.array_equal(learnt.cut_points, intervals.cut_points) and learnt.missing == intervals.missing
        self.is_as_learnt = bool(same)
        return learnt if same else intervals

    @staticmethod
    def _fitted_by(coder: Any, blocks: ValueBlocks, apart: bool) -> Intervals:
        """Return the intervals of the column in ``blocks`` by another coder. If ``apart`` is True, missing values have
        a separate interval.
        """
        first, counts = int(blocks.has_missing[0]), np.diff(blocks.cumulated, axis=0)
        values, missing = blocks.lower[first:-1], counts[:first].sum(axis=0, dtype=counts.dtype)
        upper = None if np.array_equal(values, blocks.upper[first:-1]) else blocks.upper[first:-1]
        table = ValueCounts(values, counts[first:], missing, upper, int(blocks.n_values[0]) - first)
        intervals: Intervals = coder.fit_blocks(
            ValueBlocks.of_counts(table, joined=coder.joins, apart=True), apart=apart
        )
        return intervals

    def _by_rule(self, blocks: ValueBlocks) -> Intervals:
        """Return the intervals of the column, whose values are in ``blocks``, by the rule."""
        rule, counts = self.rule, np.diff(blocks.cumulated, axis=0)
        low, high, first = blocks.lower[:-1], blocks.upper[:-1], int(blocks.has_missing[0])
        missing, lowest = counts[:first].sum(axis=0), [*map(special_number, range(len(rule.special)))]
        is_ordinary = low > (HIGHEST_SPECIAL if rule.special else -math.inf)
        cuts, intervals = self._cut(low[is_ordinary], high[is_ordinary], counts[is_ordinary])
        parts = [*(counts[low == special].sum(axis=0) for special in lowest), *intervals]
        code = -1
        if rule.exclude or rule.missing not in (None, "apart", "unseen"):
            code = 0 if rule.exclude else self._joined(lowest, cuts)
            parts[code] = parts[code] + missing
        elif rule.missing != "unseen" and (first or rule.missing == "apart"):
            code, parts, lowest = 0, [missing, *parts], [-math.inf, *lowest]
        table = np.array(parts, dtype=float)
        used = table[table.any(axis=1)]
        announced = blocks.n_values.astype(float) if self.prior == "sizes" else blocks.totals
        return Intervals(
            n_levels=np.array([len(table)]),
            cut_points=np.array([*lowest, *cuts], dtype=float),
            counts=table,
            missing=np.array([code]),
            costs=interval_costs(used, np.array([len(used)]), announced, self.prior, self.price),
            null_costs=interval_costs(blocks.class_totals, np.array([1]), announced, self.prior),
        )

    def _joined(self, lowest: Sequence[float], cuts: Sequence[float]) -> int:
        """Return the code of the level that missing values join by the rule.

        ``lowest`` are the numbers of special values, whose levels come first, and ``cuts`` the other cut points.
        """
        names, missing = [*dict(self.rule.special)], self.rule.missing
        if canonical_text(missing) in names:
            return names.index(canonical_text(missing))
        if not is_number(missing):
            hint = did_you_mean(str(missing), ("apart", "unseen", *names))
            wrong = f"needs 'apart', 'unseen', a number or a special name as 'missing', got {missing!r}"
            raise refusal(self.name, f"{wrong}; {hint}" if hint else wrong)
        return len(lowest) + int(np.searchsorted(cuts, float(missing)))

    def _cut(self, low: np.ndarray, high: np.ndarray, counts: np.ndarray) -> tuple[list[float], list[np.ndarray]]:
        """Return the cut points between ordinary numbers, and the class counts of the levels, arrays (n_classes,).

        The numbers are given in ascending blocks: ``low`` and ``high`` (n_blocks,) are the lowest and highest number,
        and ``counts`` (n_blocks, n_classes) the class counts of each block.
        """
        rule = self.rule
        cuts: list[float] = [] if rule.cuts is None else list(rule.cuts)
        if rule.cuts is None and not rule.exclude:
            cuts = self._base_cuts(low, high, counts)
        elif rule.coarsen:
            bins = summed(counts, np.searchsorted(cuts, high), len(cuts) + 1)
            middles = np.arange(len(bins), dtype=float)
            cuts = [cuts[int(middle)] for middle in self._base_cuts(middles, middles, bins)]
        by_level = summed(counts, np.searchsorted(cuts, high), len(cuts) + 1)
        least = self.least_rows(by_level, by_level.sum())
        if rule.is_fixed:
            return cuts, list(by_level)
        firsts = _joined_levels(by_level, least, rule.max_levels, rule.monotone)
        return [cuts[k - 1] for k in firsts[1:].tolist()], list(np.add.reduceat(by_level, firsts, axis=0))

    def _base_cuts(self, low: np.ndarray, high: np.ndarray, counts: np.ndarray) -> list[float]:
        """Return the cut points of the base coder, and further ones in levels with more rows than the rule allows.

        ``low``, ``high`` and ``counts`` are documented in `_cut`.
        """
        if len(low) < 2 or not counts.any():
            return []
        nothing = np.zeros(counts.shape[1], dtype=counts.dtype)
        values = ValueCounts(low, counts, nothing, None if np.array_equal(low, high) else high, len(low))

        def fitted(coder: IntervalCoder) -> list[float]:
            """Return the cut points that a coder finds."""
            blocks = ValueBlocks.of_counts(values, joined=coder.joins)
            return list(coder.fit_blocks(blocks, apart=True).cut_points)

        cuts = fitted(self.base)
        if self.rule.include and not cuts:
            cuts = fitted(EqualFrequencyDiscretizer(_FORCED_BINS))
        if self.rule.max_rows is None:
            return cuts
        row_counts, level = counts.sum(axis=1, dtype=float), np.searchsorted(cuts, high)
        most = self.rule.max_rows * (row_counts.sum() if self.rule.max_rows < 1 else 1.0)
        for k in range(len(cuts) + 1):
            inside = np.flatnonzero(level == k)
            n_parts = math.ceil(row_counts[inside].sum() / max(most, 1e-300))
            above = np.append(0.0, np.cumsum(row_counts[inside]))
            begins = inside[0] + equal_parts(above, min(n_parts, inside.size)) if n_parts > 1 else inside[:0]
            cuts = [*cuts, *ValueBlocks.of_counts(values, joined=NEVER).midpoints(begins).tolist()]
        return sorted(cuts)


class RuledGroups(Ruled, GroupCoder):
    """Coder that groups the values of one categorical column by a user's rule."""

    def _with_absent(self, values: Sequence[Any], counts: np.ndarray) -> tuple[list[Any], np.ndarray]:
        """Return the ``values`` and their class ``counts`` (n_values + 1, n_classes; missing values last), extended by
        the values that the rule names but no row has, with counts of 0.

        The additional values are also stored in ``absent``, and values in no group by hand in ``others``.
        """
        texts, groups, learnt = [*map(canonical_text, values)], self._texts(values), self.rule.learnt
        present, given = {None, *texts}, {text for group in groups for text in group}
        self.absent = [text for group in groups for text in group if text not in present]  # type: ignore[misc]
        self.others = [text for text in texts if text not in given]
        if learnt is not None and learnt.groups is not None:
            groups += _free(self)._texts(values)
        more = list(dict.fromkeys(text for group in groups for text in group if text not in present))
        nothing = np.zeros((len(more), counts.shape[1]), dtype=counts.dtype)
        return [*values, *more], np.concatenate([counts[:-1], nothing, counts[-1:]])

    def _texts(self, values: Sequence[Any]) -> list[list[str | None]]:
        """Return the groups set by the user, with each value replaced by the canonical text of its category among
        ``values``.

        Missing values, and values that match no category, are None.
        """
        if self.are_categories:
            return [list(group) for group in self.rule.groups or ()]
        levels = FeatureLevels(self.name, "categorical", self.type, None, ((*values, None),), 0)
        texts = [
            list(dict.fromkeys(None if value is None else levels.category(value) for value in group))
            for group in self.rule.groups or ()
        ]
        twice = [text for text, n in Counter(text for group in texts for text in group).items() if n > 1]
        if twice:
            raise refusal(self.name, f"has the value {twice[0]!r} in two groups; remove it from one of them")
        return texts

    def fit_values(self, values: Sequence[Any], counts: np.ndarray, *, apart: bool) -> Groups:
        values, counts = self._with_absent(values, counts)
        return replace(self._fit_values(values, counts, apart), values=values)

    def _fit_values(self, values: Sequence[Any], counts: np.ndarray, apart: bool) -> Groups:
        """Return the groups of the values by the rule, or equal groups learnt without levels by hand. The parameters
        are those of `fit_values`.
        """
        if self.rule.only_limits:
            learnt = self.base.fit_values(values, counts, apart=apart)
            inside, _ = _apart(learnt.groups, len(values))
            if self.keeps_limits(_class_counts(inside or learnt.groups, counts), counts.sum()):
                return learnt
        groups = self._by_rule(values, counts, apart)
        if not self.may_be_learnt:
            return groups
        learnt = _free(self).fit_values(values, counts, apart=apart)
        both = [[sorted(group.tolist()) for group in partition.groups] for partition in (learnt, groups)]
        self.is_as_learnt = both[0] == both[1]
        return learnt if self.is_as_learnt else groups

    def _by_rule(self, values: Sequence[Any], counts: np.ndarray, apart: bool) -> Groups:
        """Return the groups of the values by the rule. The parameters are those of `fit_values`."""
        rule = self.rule
        position: dict[str | None, int] = {canonical_text(value): at for at, value in enumerate(values)}
        position[None] = len(values)
        apart = apart and not rule.exclude
        if rule.exclude:
            groups = [np.flatnonzero(counts.any(axis=1))]
        elif rule.groups is None:
            groups = list(self.base.fit_values(values, counts, apart=apart).groups)
        else:
            groups = [np.array([position[text] for text in group]) for group in self._texts(values)]
            if not rule.unseen:
                rest = np.setdiff1d(np.flatnonzero(counts.any(axis=1)), np.concatenate(groups))
                alone = rest[rest == position[None]] if apart else rest[:0]
                groups += [group for group in (np.setdiff1d(rest, alone), alone) if group.size]
            if rule.coarsen:
                groups = self._coarser(groups, counts, position[None])
        if rule.include and len(groups) == 1:
            present = np.flatnonzero(counts.any(axis=1))
            often = present[np.argsort(-counts[present].sum(axis=1, dtype=float), kind="stable")][: 2 * _FORCED_BINS]
            groups = [*often[:, None], *([np.setdiff1d(present, often)] if present.size > often.size else [])]
        groups = self._within_limits(groups, counts, position, values)
        sums = _class_counts(groups, counts)
        n_values = int(np.count_nonzero(counts.any(axis=1)))
        null = math.log(max(1, n_values)) + float(part_cost(sums.sum(axis=0)[None])[0])
        return Groups(tuple(groups), sums, self._cost(groups, counts, null), null)

    def _coarser(self, groups: list[np.ndarray], counts: np.ndarray, missing: int) -> list[np.ndarray]:
        """Return the groups after the base coder has joined similar ones. A group of missing values stays separate.

        Groups are arrays of positions of values, of which ``missing`` is that of missing values; ``counts`` (n_values,
        n_classes) are class counts.
        """
        others, alone = _apart(groups, missing)
        if len(others) < 2 or not counts[np.concatenate(others)].any():
            return groups
        with_missing = np.vstack([_class_counts(others, counts, None), np.zeros_like(counts[0])])
        partition = self.base.fit_values(range(len(others)), with_missing, apart=True).groups
        joined = [np.concatenate([others[k] for k in group]) for group in partition]
        absent = np.setdiff1d(np.concatenate(others), np.concatenate(joined))  # groups without rows
        return [np.concatenate([joined[0], absent]), *joined[1:], *alone]

    def meant(self) -> str:
        """Return the end of a message about the option ``missing``: a hint ("; did you mean ...?") at the most similar
        valid value, 'apart' or 'unseen', or an empty text.
        """
        hint = did_you_mean(str(self.rule.missing), ["apart", "unseen", *self.others[:_MOST_COMPARED]])
        return f"; {hint}" if hint else ""

    def _within_limits(
        self, groups: list[np.ndarray], counts: np.ndarray, position: Mapping[str | None, int], values: Sequence[Any]
    ) -> list[np.ndarray]:
        """Return the groups, joined until they satisfy the limits of the rule. Missing values join another group if the
        rule requires it.

        Groups are arrays of positions of values, and ``counts`` (n_values, n_classes) are class counts. ``position``
        maps the texts of the ``values`` to their positions, and None to that of missing values.
        """
        rule, missing = self.rule, position[None]
        joins = rule.missing not in (None, "apart", "unseen") and bool(counts[missing].any())
        if joins or rule.missing == "unseen":
            # Remove missing values from all groups, unless they are the only value.
            groups = [present for group in groups if (present := group[group != missing]).size] or groups
        if joins:
            levels = FeatureLevels(self.name, "categorical", self.type, None, ((*values, None),), 0)
            target = position.get(levels.category(rule.missing))
            if target is None:
                raise refusal(self.name, f"has no value {rule.missing!r} that missing values could join{self.meant()}")
            groups = [np.append(group, missing) if target in group else group for group in groups]
        given, (groups, alone) = groups, _apart(groups, missing)
        if not groups:
            return given
        sums = _class_counts(groups, counts)
        least = self.least_rows(sums, counts.sum())
        if rule.is_fixed:
            return given
        order = np.argsort(-sums[:, -1] / np.maximum(sums.sum(axis=1), 1e-300), kind="stable")
        firsts = _joined_levels(sums[order], least, rule.max_levels, None)
        if firsts.size < len(groups):
            groups = [np.concatenate([groups[k] for k in run]) for run in np.split(order, firsts[1:])]
        return [*groups, *alone]

    def _cost(self, groups: Sequence[np.ndarray], counts: np.ndarray, null: float) -> float:
        """Return the cost of the groups in nats, as the coder that the rule restricts (``base``) would compute it.

        Groups are arrays of positions of values; ``counts`` (n_values + 1, n_classes) are class counts of the values,
        missing ones last; ``null`` is the cost of a single group.
        """
        row_counts = counts.sum(axis=1)
        sizes = np.array([np.count_nonzero(row_counts[group]) for group in groups])
        n_values, n_groups = int(sizes.sum()), int(np.count_nonzero(sizes))
        if n_groups <= 1:
            return null
        present = counts[row_counts > 0].astype(float)
        if isinstance(self.base, GroupsOrValues) and n_groups == n_values >= LEAST_VALUES:
            return null + np.log(n_values) - saved_by_values(present)
        prior: Prior = self.base.prior if isinstance(self.base, MODLGrouper) else "published"
        cost = float(group_prior(n_values, n_groups, prior, self.price)[-1])
        cost -= float(gammaln(sizes + 1.0).sum()) if prior == "sizes" else 0.0
        return cost + float(part_cost(_class_counts(groups, counts)).sum())


def _apart(groups: Sequence[np.ndarray], value: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the groups other than the one that consists of ``value`` alone, and a list with that group, empty if there
    is none.

    Groups are arrays of positions of values, and ``value`` is such a position.
    """
    alone = [group for group in groups if group.tolist() == [value]]
    return [group for group in groups if group.tolist() != [value]], alone


def _class_counts(groups: Sequence[np.ndarray], counts: np.ndarray, dtype: Any = float) -> np.ndarray:
    """Return the class counts of groups of values, shape (n_groups, n_classes).

    Groups are arrays of positions of values, ``counts`` (n_values, n_classes) their class counts, and ``dtype`` is the
    data type of the sums.
    """
    return np.array([counts[group].sum(axis=0, dtype=dtype) for group in groups])


def _joined_levels(counts: np.ndarray, least: float, most: int | None, sign: int | str | None) -> np.ndarray:
    """Join neighbouring levels, the cheapest pair first. Return the position of the first level of each run of joined
    levels.

    ``counts`` (n_levels, n_classes) are the class counts of the levels. Levels are joined until each has ``least``
    rows, there are at most ``most`` levels, and the share of the second class increases (``sign`` 1) or decreases (-1);
    "auto" chooses the direction of lower cost, None sets none.
    """
    if sign == "auto":
        both = [_joined_levels(counts, least, most, direction) for direction in (1, -1)]
        totals = [float(part_cost(np.add.reduceat(counts, firsts, axis=0)).sum()) for firsts in both]
        return both[int(np.argmin(totals))]
    sums, n_levels = counts.astype(float), len(counts)
    row_counts, costs = sums.sum(axis=1), part_cost(sums)
    charges = part_cost(sums[:-1] + sums[1:]) - costs[:-1] - costs[1:]
    before, after = [*range(-1, n_levels - 1)], [*range(1, n_levels + 1)]  # neighbours, by first level

    def ranked(k: int, charge: float) -> tuple[float, bool, float, int]:
        """Return the sort key of joining level ``k`` with the next one, which increases the cost of the labels by
        ``charge``; pairs with lower keys are joined first.
        """
        following, follows = after[k], True
        fewest = float(min(row_counts[k], row_counts[following], least))
        if sign is not None and fewest >= least:
            low, high = sums[k], sums[following]
            follows = bool(high[1] * low[0] * sign >= low[1] * high[0] * sign)
        return fewest, follows, charge, k

    # Joining changes only the costs of the pairs with both neighbours. Their old keys remain in the heap and are
    # skipped.
    keys: list[tuple[float, bool, float, int] | None] = [ranked(k, charge) for k, charge in enumerate(charges.tolist())]
    heap = [key for key in keys if key is not None]
    heapify(heap)
    keys.append(None)
    while heap:
        key = heappop(heap)
        fewest, follows, _, k = key
        if keys[k] is not key:
            continue
        if fewest >= least and follows and (most is None or n_levels <= most):
            break
        second = after[k]
        sums[k] += sums[second]
        row_counts[k], after[k], n_levels = sums[k].sum(), after[second], n_levels - 1
        keys[k] = keys[second] = None
        if after[k] < len(sums):
            before[after[k]] = k
        lower = [level for level in (before[k], k) if level >= 0 and after[level] < len(sums)]
        costs[k], *joined = part_cost(np.array([sums[k], *(sums[level] + sums[after[level]] for level in lower)]))
        for level, cost in zip(lower, joined, strict=True):
            keys[level] = new = ranked(level, float(cost - costs[level] - costs[after[level]]))
            heappush(heap, new)
    firsts = [0]
    while after[firsts[-1]] < len(sums):
        firsts.append(after[firsts[-1]])
    return np.array(firsts)

"""Levels by hand: what is asked of the levels of single columns, and coders that keep to it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.special import gammaln

from bayesieve.discretize.binning import EqualFrequencyDiscretizer, equal_parts
from bayesieve.discretize.column_coder import ColumnCoder, GroupCoder, IntervalCoder
from bayesieve.discretize.criterion import Groups, Intervals, Prior, group_prior, interval_costs, most_parts, part_cost
from bayesieve.discretize.modl import LEAST_VALUES, GroupsOrValues, MODLGrouper, saved_by_values
from bayesieve.discretize.value_counts import NEVER, ValueBlocks, ValueCounts
from bayesieve.table import FeatureLevels, Table
from bayesieve.table.cautions import Caution
from bayesieve.table.columns import HIGHEST_SPECIAL, WithSpecial, special_number
from bayesieve.table.levels import columns_of
from bayesieve.table.values import TEMPORAL, canonical_text, format_temporal, parse_number
from bayesieve.words import named

_FORCED_BINS = 6
_OF_NUMBERS, _OF_CATEGORIES = ("cuts", "special", "monotone", "max_rows"), ("groups",)


@dataclass(frozen=True)
class LevelRule:
    """What is asked of the levels of one column.

    Parameters
    ----------
    cuts : numbers, or dates and times as text, between the levels of a numeric column.
    groups : lists of the values of each level of a categorical column, null for missing ones; other values share one
        more level.
    coarsen : whether levels by hand are where the criterion starts, which may join them; else they stay as they are.
    special : names of special values of a numeric column, each with a level of its own.
    missing : "apart" for a level of their own, "unseen" for none, or a value, or the name of special ones, whose level
        they join.
    unseen : whether categories that no group by hand holds are in no level.
    monotone : 1, -1 or "auto" if the share of the second class must rise, or fall, with the numbers.
    min_rows, max_rows : rows (or weight) of a level, or a share of those of the column if below 1.
    max_levels : levels at most, those of missing and special values not counted.
    exclude, include : whether the column must be out of the model, or in it.
    """

    cuts: tuple[Any, ...] | None = None
    groups: tuple[tuple[Any, ...], ...] | None = None
    coarsen: bool = False
    special: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    missing: Any = None
    monotone: int | str | None = None
    min_rows: float = 0.0
    max_rows: float | None = None
    max_levels: int | None = None
    exclude: bool = False
    include: bool = False
    unseen: bool = False

    @classmethod
    def of(cls, name: str, given: Any) -> LevelRule:
        """The rule of the column ``name``; ValueError, which names it, for one that cannot be kept."""
        if isinstance(given, LevelRule):
            return given
        if not isinstance(given, Mapping):
            raise _refusal(name, f"takes a dict of {_listed()}, got {given!r:.80}")
        unknown = [key for key in given if key not in cls.__dataclass_fields__]
        if unknown:
            raise _refusal(name, f"has no option {unknown[0]!r}; there are {_listed()}")
        options = {key: value for key, value in given.items() if value is not None}
        if "cuts" in options:
            options["cuts"] = tuple(_list(name, "cuts", options["cuts"]))
        if "groups" in options:
            groups = _list(name, "groups", options["groups"])
            options["groups"] = tuple(tuple(own) if isinstance(own, (list, tuple)) else (own,) for own in groups)
        if "special" in options:
            options["special"] = _named_special(name, options["special"])
        rule = cls(**options)
        rule._check(name)
        return rule

    def _check(self, name: str) -> None:
        for option in ("coarsen", "exclude", "include", "unseen"):
            if not isinstance(getattr(self, option), bool):
                raise _refusal(name, f"needs true or false as {option!r}, got {getattr(self, option)!r:.80}")
        if self.monotone is not None and (isinstance(self.monotone, bool) or self.monotone not in (1, -1, "auto")):
            raise _refusal(name, f"needs 1, -1 or 'auto' as 'monotone', got {self.monotone!r:.80}")
        for option in ("min_rows", "max_rows"):
            value = getattr(self, option)
            if value is not None and not (_is_number(value) and 0 <= value < math.inf):
                raise _refusal(name, f"needs a number of rows, or a share below 1, as {option!r}, got {value!r:.80}")
        most = self.max_levels
        if most is not None and (isinstance(most, bool) or not isinstance(most, Integral) or most < 1):
            raise _refusal(name, f"needs a whole number above 0 as 'max_levels', got {most!r:.80}")
        others = self != LevelRule(exclude=self.exclude)
        if self.exclude and others:
            raise _refusal(name, "is excluded; leave its other options out")
        of_numbers = next((option for option in _OF_NUMBERS if getattr(self, option) not in (None, ())), None)
        if self.groups is not None and of_numbers:
            raise _refusal(name, f"has both groups of categories and {of_numbers!r} of numbers; leave one out")
        by_hand = self.groups if self.cuts is None else (*self.cuts, None)
        if by_hand is not None and not self.coarsen and most is not None and len(by_hand) > most:
            raise _refusal(name, f"has {len(by_hand)} levels by hand but max_levels={most}; set coarsen, or join some")
        if by_hand is not None and self.max_rows is not None:
            raise _refusal(name, "has levels by hand, which max_rows would split; leave one out")
        if self.unseen and self.groups is None:
            raise _refusal(name, "has no groups that could leave categories out; give some, or leave 'unseen' out")
        if by_hand is None and self.coarsen:
            raise _refusal(name, "has no cuts or groups to coarsen; give some, or leave 'coarsen' out")
        if self.groups is not None:
            texts = [None if value is None else canonical_text(value) for group in self.groups for value in group]
            twice = next((text for text in texts if texts.count(text) > 1), "")
            if twice != "" or not all(self.groups):
                raise _refusal(
                    name, f"has the value {twice!r} in two groups" if all(self.groups) else "has an empty group"
                )

    @property
    def is_fixed(self) -> bool:
        """Whether the levels are those given by hand, whatever the rows."""
        return self.exclude or ((self.cuts is not None or self.groups is not None) and not self.coarsen)

    @property
    def is_by_hand(self) -> bool:
        """Whether the levels are given by hand, and stay as they are."""
        return self.is_fixed and not self.exclude

    @property
    def kind(self) -> str | None:
        """The kind that a column must have for it; None for either."""
        if self.groups is not None:
            return "categorical"
        if self.special:
            return WithSpecial(self.special)
        return (
            "numeric" if any(getattr(self, option) is not None for option in ("cuts", "monotone", "max_rows")) else None
        )

    def read_for(self, name: str, type_: str) -> LevelRule:
        """The same with cuts as numbers of a column of this type."""
        if self.cuts is None:
            return self
        cuts = []
        for cut in self.cuts:
            try:
                number = float(cut) if _is_number(cut) else parse_number(canonical_text(cut), _number_type(type_))
            except ValueError:
                number = math.nan
            if not math.isfinite(number):
                raise _refusal(name, f"has the cut {cut!r:.80}, which is no {_number_type(type_)}")
            cuts.append(number)
        if cuts != sorted(set(cuts)):
            raise _refusal(name, "needs cuts in ascending order, each once")
        return replace(self, cuts=tuple(cuts))


def read_yaml(path: str | os.PathLike[str]) -> dict[Any, Any]:
    """The mapping in a YAML file; ValueError, in one sentence that names the file, if there is none."""
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    def mapping(loader: Any, node: Any) -> dict[Any, Any]:
        keys = [loader.construct_object(key) for key, _ in node.value]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise yaml.YAMLError(f"{twice!r} is there twice")
        return {
            key: loader.construct_object(value, deep=True) for key, (_, value) in zip(keys, node.value, strict=True)
        }

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    try:
        content = yaml.load(Path(path).read_text(encoding="utf-8"), Loader)
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror or error}); check its name and folder.") from None
    except (yaml.YAMLError, UnicodeDecodeError, TypeError, RecursionError) as error:
        reason = " ".join(str(error).split())[:120]
        raise ValueError(f"{path} is no YAML of columns and their levels: {reason}.") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ValueError(f"{path} must map names of columns to options of their levels; it holds {content!r:.60}.")
    return content


def levels_to_yaml(levels: Sequence[FeatureLevels], signs: Mapping[str, int]) -> str:
    """The levels of columns as a file that `TableRules` reads; columns in one level are in a comment."""
    import yaml

    columns = columns_of(levels)
    written = {level.name: _written(level, signs.get(level.name)) for level in columns if level.n_levels > 1}
    one = [level.name for level in columns if level.n_levels == 1]
    note = f"# In one level: {', '.join(' '.join(name.split()) for name in one)}\n" if one else ""
    options: dict[str, Any] = {"sort_keys": False, "allow_unicode": True, "width": 120, "default_flow_style": None}
    return note + (yaml.safe_dump(written, **options) if written else "{}\n")


def _written(level: FeatureLevels, sign: int | None) -> dict[str, Any]:
    if level.groups is not None:
        return {"groups": [[value if value is None else _plain(value) for value in group] for group in level.groups]}
    cuts = [_cut_to_yaml(cut, level.type) for cut in level.own_cuts.tolist()]
    written: dict[str, Any] = {"cuts": cuts}
    if level.special:
        written["special"] = {name: list(values) for name, values in level.special}
    joined = None if level.missing_code is None else level.missing_code - level.n_apart
    if joined is not None and joined >= 0:
        written["missing"] = (level.own_cuts.tolist() or [0.0])[joined] if joined < max(1, len(cuts)) else math.inf
    elif joined is not None and level.cut_points is not None and level.cut_points[0] > -math.inf:
        written["missing"] = level.special[joined][0]
    return written | ({} if sign is None else {"monotone": sign})


def _kept(level: FeatureLevels) -> dict[str, Any]:
    """The rule of a column whose levels are just these, whatever the rows hold."""
    if level.groups is not None:
        return _written(level, None) | {"unseen": True}
    if level.cut_points is None or not hasattr(level, "special"):
        raise ValueError(f"levels of {level.name!r} cannot be kept: it is no column of numbers or categories.")
    written = _written(level, None) | {"cuts": level.own_cuts.tolist()}
    alone = "apart" if level.missing_code is not None else "unseen"
    return {"missing": alone} | written


def _cut_to_yaml(cut: float, type_: str) -> Any:
    if type_ in TEMPORAL:
        text = format_temporal(cut, type_)
        try:
            return text if parse_number(text, type_) == cut else cut
        except ValueError:
            return cut
    return int(cut) if cut.is_integer() and abs(cut) < 2**53 else cut


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str)) else canonical_text(value)


def _as_plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _as_plain(own) for name, own in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_as_plain(own) for own in value]
    return value if value is None or isinstance(value, (bool, int, float, str, np.generic)) else canonical_text(value)


def _refusal(name: str, what: str) -> ValueError:
    return ValueError(f"levels of the column {name!r}: it {what}.")


def _listed() -> str:
    return ", ".join(LevelRule.__dataclass_fields__)


def _list(name: str, option: str, value: Any) -> Sequence[Any]:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        raise _refusal(name, f"needs a list as {option!r}, got {value!r:.80}")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def _number_type(type_: str) -> str:
    return type_ if type_ in TEMPORAL else "number"


def _named_special(name: str, given: Any) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    if not isinstance(given, (Mapping, list, tuple)):
        given = [given]
    pairs = given.items() if isinstance(given, Mapping) else [
        one if isinstance(one, tuple) and len(one) == 2 and isinstance(one[1], tuple) else (one, one) for one in given
    ]  # fmt: skip
    special = tuple(
        (canonical_text(own), tuple(map(_plain, values)) if isinstance(values, (list, tuple)) else (_plain(values),))
        for own, values in pairs
    )
    texts = [canonical_text(value) for _, values in special for value in values]
    twice = next((text for text in texts if texts.count(text) > 1), None)
    if twice is not None or len({own for own, _ in special}) < len(special) or not all(own for _, own in special):
        raise _refusal(
            name, f"has the special value {twice!r} twice" if twice else "needs a value for each special name"
        )
    return special


def ruled(coder: ColumnCoder, rule: LevelRule, name: str) -> ColumnCoder:
    """What codes a column by the rule, as ``coder`` does where that leaves a choice."""
    if isinstance(coder, IntervalCoder):
        return RuledIntervals(coder, rule, name)
    assert isinstance(coder, GroupCoder)
    return RuledGroups(coder, rule, name)


AS_LEARNT = "as learnt"


def as_learnt(names: Sequence[str], coders: Sequence[ColumnCoder]) -> Caution | None:
    """A remark on the columns whose levels by hand are those that the rows give without; None if there are none."""
    columns = tuple(name for name, coder in zip(names, coders, strict=True) if getattr(coder, "is_as_learnt", False))
    if not columns:
        return None
    return Caution(AS_LEARNT, columns, f"Levels by hand are those that the rows give in {named(columns)}.", warns=False)


def free(coder: Any) -> Any:
    """A coder by the same rule, without levels by hand: for other rows, if these gave the same levels."""
    rule = replace(coder.rule, cuts=None, groups=None, unseen=False)
    return coder.base if rule == LevelRule() else type(coder)(coder.base, rule, coder.name)


class RuledIntervals(IntervalCoder):
    """Intervals of one numeric column as its rule asks for, else as another coder finds them."""

    joins = NEVER
    separates_missing = True
    is_alone = True
    is_as_learnt = False
    """Whether levels by hand are those that the other coder finds in the rows."""

    def __init__(self, base: IntervalCoder, rule: LevelRule, name: str) -> None:
        self.base, self.rule, self.name = base, rule, name

    @property
    def supervised(self) -> bool:  # type: ignore[override]
        return self.base.supervised and not self.rule.is_fixed

    @property
    def prior(self) -> Any:  # type: ignore[override]
        return self.base.prior

    @property
    def price(self) -> float:  # type: ignore[override]
        return self.base.price

    @property
    def special(self) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        return self.rule.special

    def in_table(self, n_columns: int, n_rows: float) -> Self:
        return type(self)(self.base.in_table(n_columns, n_rows), self.rule, self.name)

    def find_starts(self, blocks: ValueBlocks, apart: bool) -> np.ndarray:
        return self.base.find_starts(blocks, apart)

    def fit_blocks(self, blocks: ValueBlocks, *, apart: bool) -> Intervals:
        intervals = self._by_rule(blocks)
        if self.rule.is_by_hand:
            base, first = free(self), int(blocks.has_missing[0])
            counts = np.diff(blocks.cumulated, axis=0)
            values, missing = blocks.lower[first:-1], counts[:first].sum(axis=0, dtype=counts.dtype)
            upper = None if np.array_equal(values, blocks.upper[first:-1]) else blocks.upper[first:-1]
            table = ValueCounts(values, counts[first:], missing, upper, int(blocks.n_values[0]) - first)
            own = base.fit_blocks(ValueBlocks.of_counts(table, joined=base.joins, apart=True), apart=apart)
            self.is_as_learnt = (
                np.array_equal(own.cut_points, intervals.cut_points) and own.missing == intervals.missing
            )
            return own if self.is_as_learnt else intervals
        return intervals

    def _by_rule(self, blocks: ValueBlocks) -> Intervals:
        rule, counts = self.rule, np.diff(blocks.cumulated, axis=0)
        low, high, first = blocks.lower[:-1], blocks.upper[:-1], int(blocks.has_missing[0])
        missing, lowest = counts[:first].sum(axis=0), [*map(special_number, range(len(rule.special)))]
        known = low > HIGHEST_SPECIAL
        cuts, own = self._cut(low[known], high[known], counts[known])
        parts = [*(counts[low == special].sum(axis=0) for special in lowest), *own]
        code = -1
        if rule.exclude or rule.missing not in (None, "apart", "unseen"):
            code = 0 if rule.exclude else self._joined(lowest, cuts)
            parts[code] = parts[code] + missing
        elif rule.missing == "unseen":
            pass
        elif first or rule.missing == "apart":
            code, parts, lowest = 0, [missing, *parts], [-math.inf, *lowest]
        table = np.array(parts, dtype=float)
        used = table[table.any(axis=1)]
        announced = blocks.announced(self.prior)
        return Intervals(
            n_levels=np.array([len(table)]),
            cut_points=np.array([*lowest, *cuts], dtype=float),
            counts=table,
            missing=np.array([code]),
            costs=interval_costs(used, np.array([len(used)]), announced, self.prior, self.price),
            null_costs=interval_costs(blocks.class_totals, np.array([1]), announced, self.prior),
        )

    def _joined(self, lowest: Sequence[float], cuts: Sequence[float]) -> int:
        """The level that missing values join."""
        names = [own for own, _ in self.rule.special]
        if canonical_text(self.rule.missing) in names:
            return names.index(canonical_text(self.rule.missing))
        if not _is_number(self.rule.missing):
            raise _refusal(
                self.name, f"needs 'apart', a number or a special name as 'missing', got {self.rule.missing!r}"
            )
        return len(lowest) + int(np.searchsorted(cuts, float(self.rule.missing)))

    def _cut(self, low: np.ndarray, high: np.ndarray, counts: np.ndarray) -> tuple[list[float], list[np.ndarray]]:
        """Cut points between the blocks of numbers from ``low`` to ``high``, and class counts of the levels."""
        rule = self.rule
        cuts: list[float] = [] if rule.cuts is None else list(rule.cuts)
        if rule.cuts is None and not rule.exclude:
            cuts = self._found(low, high, counts)
        elif rule.coarsen:
            bins = _summed(np.searchsorted(cuts, high), counts, len(cuts) + 1)
            middles = np.arange(len(bins), dtype=float)
            cuts = [cuts[int(middle)] for middle in self._found(middles, middles, bins)]
        own = _summed(np.searchsorted(cuts, high), counts, len(cuts) + 1)
        least = rule.min_rows * (own.sum() if rule.min_rows < 1 else 1.0)
        if rule.is_fixed:
            if len(own) > 1 and (own.sum(axis=1) < least).any():
                raise _refusal(
                    self.name, f"has cuts that leave a level of fewer than {least:g} rows; join it, or set coarsen"
                )
            return cuts, list(own)
        firsts = _joined_levels(own, least, rule.max_levels, rule.monotone)
        return [cuts[k - 1] for k in firsts[1:].tolist()], list(np.add.reduceat(own, firsts, axis=0))

    def _found(self, low: np.ndarray, high: np.ndarray, counts: np.ndarray) -> list[float]:
        """Cut points that the other coder finds, more of them if levels would have too many rows."""
        if len(low) < 2:
            return []
        nothing = np.zeros(counts.shape[1], dtype=counts.dtype)
        values = ValueCounts(low, counts, nothing, None if np.array_equal(low, high) else high, len(low))

        def fitted(coder: IntervalCoder) -> list[float]:
            blocks = ValueBlocks.of_counts(values, joined=coder.joins)
            found: list[float] = coder.fit_blocks(blocks, apart=True).cut_points.tolist()
            return found

        cuts = fitted(self.base)
        if self.rule.include and not cuts:
            cuts = fitted(EqualFrequencyDiscretizer(_FORCED_BINS))
        if self.rule.max_rows is None:
            return cuts
        rows, level = counts.sum(axis=1, dtype=float), np.searchsorted(cuts, high)
        most = self.rule.max_rows * (rows.sum() if self.rule.max_rows < 1 else 1.0)
        for k in range(len(cuts) + 1):
            inside = np.flatnonzero(level == k)
            n_parts = math.ceil(rows[inside].sum() / max(most, 1e-300))
            above = np.append(0.0, np.cumsum(rows[inside]))
            begins = inside[0] + equal_parts(above, min(n_parts, inside.size)) if n_parts > 1 else inside[:0]
            cuts = [*cuts, *ValueBlocks.of_counts(values, joined=NEVER).midpoints(begins).tolist()]
        return sorted(cuts)


class RuledGroups(GroupCoder):
    """Groups of the values of one categorical column as its rule asks for, else as another coder finds them."""

    is_alone = True
    is_as_learnt = False

    def __init__(self, base: GroupCoder, rule: LevelRule, name: str) -> None:
        self.base, self.rule, self.name = base, rule, name

    supervised = RuledIntervals.supervised
    prior, price, in_table = RuledIntervals.prior, RuledIntervals.price, RuledIntervals.in_table

    def with_values(self, table: ValueCounts) -> ValueCounts:
        known = set(map(canonical_text, table.values))
        more = [
            v for group in self.rule.groups or () for v in group if v is not None and canonical_text(v) not in known
        ]
        nothing = np.zeros((len(more), table.counts.shape[1]), dtype=table.counts.dtype)
        return replace(table, values=[*table.values, *more], counts=np.concatenate([table.counts, nothing]))

    def fit_values(self, table: ValueCounts, *, apart: bool) -> Groups:
        groups = self._by_rule(table, apart)
        if self.rule.is_by_hand:
            own = free(self).fit_values(table, apart=apart)
            both = [[sorted(group.tolist()) for group in found.groups] for found in (own, groups)]
            self.is_as_learnt = both[0] == both[1]
            return own if self.is_as_learnt else groups
        return groups

    def _by_rule(self, table: ValueCounts, apart: bool) -> Groups:
        rule, counts = self.rule, table.with_missing
        position: dict[str | None, int] = {canonical_text(value): at for at, value in enumerate(table.values)}
        position[None] = len(table.values)
        apart = apart and not rule.exclude
        if rule.exclude:
            groups = [np.flatnonzero(counts.any(axis=1))]
        elif rule.groups is None:
            groups = list(self.base.fit_values(table, apart=apart).groups)
        else:
            by_hand = [
                np.array([position[None if v is None else canonical_text(v)] for v in group]) for group in rule.groups
            ]
            rest = (
                np.zeros(0, dtype=int)
                if rule.unseen
                else np.setdiff1d(np.flatnonzero(counts.any(axis=1)), np.concatenate(by_hand))
            )
            groups = [*by_hand, *self._others(rest, position[None], apart)]
            if rule.coarsen:
                groups = self._coarser(groups, counts, position[None])
        if rule.include and len(groups) == 1:
            present = np.flatnonzero(counts.any(axis=1))
            often = present[np.argsort(-counts[present].sum(axis=1, dtype=float), kind="stable")][: 2 * _FORCED_BINS]
            groups = [*often[:, None], *([np.setdiff1d(present, often)] if present.size > often.size else [])]
        groups = self._kept(groups, counts, position)
        sums = np.array([counts[group].sum(axis=0, dtype=float) for group in groups])
        n_values = int(np.count_nonzero(counts.any(axis=1)))
        null = math.log(max(1, n_values)) + float(part_cost(sums.sum(axis=0)[None])[0])
        return Groups(tuple(groups), sums, self._cost(groups, counts, null), null)

    @staticmethod
    def _others(rest: np.ndarray, missing: int, apart: bool) -> list[np.ndarray]:
        """Groups of the values that none by hand holds."""
        alone = rest[rest == missing] if apart else rest[:0]
        return [group for group in (np.setdiff1d(rest, alone), alone) if group.size]

    def _coarser(self, groups: list[np.ndarray], counts: np.ndarray, missing: int) -> list[np.ndarray]:
        """The groups as the other coder joins them; missing values stay apart if they are."""
        alone = [group for group in groups if group.tolist() == [missing]]
        others = [group for group in groups if group.tolist() != [missing]]
        sums = np.array([counts[group].sum(axis=0) for group in others])
        table = ValueCounts(list(range(len(others))), sums, np.zeros_like(counts[0]))
        found = [np.concatenate([others[k] for k in own]) for own in self.base.fit_values(table, apart=True).groups]
        left = np.setdiff1d(np.concatenate(others), np.concatenate(found))  # groups without rows
        return [np.concatenate([found[0], left]), *found[1:], *alone]

    def _kept(
        self, groups: list[np.ndarray], counts: np.ndarray, position: Mapping[str | None, int]
    ) -> list[np.ndarray]:
        """The groups with as many rows and as few as the rule asks for, missing values joined to others if it does."""
        rule, missing = self.rule, position[None]
        if rule.missing == "unseen":
            groups = [own for group in groups if (own := group[group != missing]).size]
        elif rule.missing not in (None, "apart") and counts[missing].any():
            target = position.get(str(canonical_text(rule.missing)))
            if target is None:
                raise _refusal(self.name, f"has no value {rule.missing!r} that missing values could join")
            groups = [own for group in groups if (own := group[group != missing]).size]
            groups = [np.append(group, missing) if target in group else group for group in groups]
        given, alone = groups, [group for group in groups if group.tolist() == [missing]]
        groups = [group for group in groups if group.tolist() != [missing]]
        sums = np.array([counts[group].sum(axis=0, dtype=float) for group in groups])
        least = rule.min_rows * (counts.sum() if rule.min_rows < 1 else 1.0)
        if rule.is_fixed:
            if len(groups) > 1 and (sums.sum(axis=1) < least).any():
                raise _refusal(
                    self.name, f"has a group of fewer than {least:g} rows; join it to another, or set coarsen"
                )
            return given
        order = np.argsort(-sums[:, -1] / np.maximum(sums.sum(axis=1), 1e-300), kind="stable")
        firsts = _joined_levels(sums[order], least, rule.max_levels, None)
        if firsts.size < len(groups):
            groups = [np.concatenate([groups[k] for k in own]) for own in np.split(order, firsts[1:])]
        return [*groups, *alone]

    def _cost(self, groups: Sequence[np.ndarray], counts: np.ndarray, null: float) -> float:
        """What the other coder's criterion charges for these groups, in nats."""
        rows = counts.sum(axis=1)
        sizes = np.array([np.count_nonzero(rows[group]) for group in groups])
        n_values, n_groups = int(sizes.sum()), int(np.count_nonzero(sizes))
        if n_groups <= 1:
            return null
        present = counts[rows > 0].astype(float)
        if isinstance(self.base, GroupsOrValues) and n_groups == n_values >= LEAST_VALUES:
            return null + np.log(n_values) - saved_by_values(present)
        prior: Prior = self.base.prior if isinstance(self.base, MODLGrouper) else "published"
        most = max(n_groups, min(n_values, most_parts(float(rows.sum()))) if prior == "sizes" else n_groups)
        cost = float(group_prior(n_values, most, prior, self.price)[n_groups])
        cost -= float(gammaln(sizes + 1.0).sum()) if prior == "sizes" else 0.0
        return cost + float(part_cost(np.array([counts[group].sum(axis=0, dtype=float) for group in groups])).sum())


def _summed(level: np.ndarray, counts: np.ndarray, n_levels: int) -> np.ndarray:
    sums = np.zeros((n_levels, counts.shape[1]), dtype=counts.dtype)
    np.add.at(sums, level, counts)
    return sums


def _joined_levels(counts: np.ndarray, least: float, most: int | None, sign: int | str | None) -> np.ndarray:
    """Where levels begin among neighbouring ones of these (n, n_classes) ``counts``, joined one by one, the cheapest
    first, until each has ``least`` rows, there are ``most`` at most, and shares of the second class follow ``sign``.
    """
    if sign == "auto":
        both = [_joined_levels(counts, least, most, own) for own in (1, -1)]
        costs = [float(part_cost(np.add.reduceat(counts, firsts, axis=0)).sum()) for firsts in both]
        return both[int(np.argmin(costs))]
    firsts, sums = np.arange(len(counts)), counts.astype(float)
    while len(sums) > 1:
        rows = sums.sum(axis=1)
        small = rows == rows.min() if rows.min() < least else np.zeros(rows.size, dtype=bool)
        joinable = small[1:] | small[:-1]
        if sign is not None and not joinable.any():
            joinable = sums[1:, 1] * sums[:-1, 0] * sign < sums[:-1, 1] * sums[1:, 0] * sign
        if not joinable.any():
            if most is None or len(sums) <= most:
                break
            joinable[:] = True
        pairs = np.flatnonzero(joinable)
        charged = part_cost(sums[pairs] + sums[pairs + 1]) - part_cost(sums[pairs]) - part_cost(sums[pairs + 1])
        k = int(pairs[np.argmin(charged)])
        sums[k] += sums[k + 1]
        sums, firsts = np.delete(sums, k + 1, axis=0), np.delete(firsts, k + 1)
    return firsts


@dataclass(frozen=True)
class TableRules:
    """The rules of all columns of a table.

    Parameters
    ----------
    rules : by name of the column.
    given : what they were read from, as plain values.
    """

    rules: Mapping[str, LevelRule]
    given: Mapping[str, Any]

    @classmethod
    def of(cls, levels: Any) -> TableRules:
        """From a dict, the path of a YAML file, or a scorecard, whose levels are kept; ValueError, which names file or
        column, for anything else.
        """
        given = read_yaml(levels) if isinstance(levels, (str, os.PathLike)) else levels
        if hasattr(given, "features"):
            given = {level.name: _kept(level) for level in columns_of([feature.levels for feature in given.features])}
        if not isinstance(given, Mapping):
            raise ValueError(f"levels must map names of columns to dicts of {_listed()}, got {given!r:.80}.")
        return cls({str(name): LevelRule.of(str(name), own) for name, own in given.items()}, _as_plain(given))

    def check_names(self, names: Sequence[str]) -> None:
        """Raise ValueError, which names it, for a column with a rule that is not among these."""
        unknown = next((name for name in self.rules if name not in names), None)
        if unknown is not None:
            raise ValueError(f"levels names the column {unknown!r}, which is not in the table; name its columns only.")

    def kinds(self, own: Mapping[str, str] | None) -> dict[str, str] | None:
        """Kinds of columns, those that are given and those that rules ask for."""
        asked = {name: rule.kind for name, rule in self.rules.items() if rule.kind is not None}
        for name, kind in (own or {}).items():
            if name in asked and asked[name] != kind:
                raise _refusal(name, f"has options for a {asked[name]} column, but kinds makes it {kind}")
        return {**(own or {}), **asked} or own  # type: ignore[return-value]

    def coders(self, table: Table, coders: Sequence[ColumnCoder], pairs: Any) -> list[ColumnCoder]:
        """The coder of each column, given those without rules.

        ValueError, which names it, for a column that is in one of the ``pairs`` but can be in none.
        """
        for name in () if isinstance(pairs, (str, Integral)) else (name for pair in pairs for name in pair):
            if name in self.single:
                raise _refusal(name, "is excluded or monotone, and so in no pair; take it out of 'pairs'")
        types, result = table.types(), list(coders)
        for name, rule in self.rules.items():
            i = table.names.index(name)
            result[i] = ruled(coders[i], rule.read_for(name, types[i]), name)
        return result

    @property
    def single(self) -> set[str]:
        """Columns that are in no pair."""
        return {name for name, rule in self.rules.items() if rule.exclude or rule.monotone is not None}

    def named(self, option: str) -> set[str]:
        """Columns whose rules have this option."""
        return {name for name, rule in self.rules.items() if getattr(rule, option)}

    def signs(self, levels: Sequence[FeatureLevels]) -> dict[str, int]:
        """1 for columns over whose numbers the share of the second class must rise, -1 if it must fall; "auto" is as it
        does in their levels.
        """
        signs = {}
        for level in columns_of(levels):
            asked = self.rules[level.name].monotone if level.name in self.rules else None
            if asked == "auto" and level.cut_points is not None:
                counts = np.asarray(level.counts, dtype=float)[level.n_apart :]
                counts = counts[counts.any(axis=1)]
                asked = (
                    1 if not len(counts) or counts[-1, 1] * counts[0].sum() >= counts[0, 1] * counts[-1].sum() else -1
                )
            if asked is not None:
                signs[level.name] = int(asked)
        return signs

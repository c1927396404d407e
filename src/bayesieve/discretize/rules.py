"""Rules that a user sets for the levels of single columns, and YAML files with such rules."""

from __future__ import annotations

import math
import os
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from bayesieve.parts import is_number
from bayesieve.table import FeatureLevels
from bayesieve.table.columns import NUMBER_REMEDY, SpecialValues, ValueInRow
from bayesieve.table.levels import WithheldLevels, columns_of
from bayesieve.table.text_types import number_of
from bayesieve.table.values import TEMPORAL, canonical_text, format_temporal, number_type, parse_number
from bayesieve.table.yaml_files import read_yaml, write_yaml
from bayesieve.words import did_you_mean, listed

OTHERS = "*"
"""Name of the rule of all columns without one."""
_BOOLEANS = ("coarsen", "exclude", "include", "unseen", "cells")
_SPELT = {text: text.lower() == "true" for text in ("true", "True", "TRUE", "false", "False", "FALSE")}
_OF_NUMBERS = ("cuts", "special", "monotone", "max_rows")


@dataclass(frozen=True)
class LevelRule:
    """Rule for the levels of one column.

    Parameters
    ----------
    cuts : numbers, or dates and times as text, between the levels of a numeric column.
    groups : lists of the values of each level of a categorical column, None for missing ones; all other values share
        one more level.
    coarsen : whether the criterion may join levels given by hand (by ``cuts`` or ``groups``); otherwise they are final.
    special : pairs of a name and the special values of a numeric column that share a separate level.
    missing : "apart" if missing values have a separate level, "unseen" if they have none, or a value (or the name of
        special values) whose level they join.
    unseen : whether categories in no group by hand are coded as unseen instead of sharing a level.
    monotone : 1 (or -1) if the share of the second class must increase (or decrease) with the numbers; "auto" lets the
        rows determine the direction.
    min_rows, max_rows : limits on the rows (or weight) of a level; shares of the column's rows if below 1.
    max_levels : largest number of levels, without those of missing and special values.
    exclude, include : whether the column must be out of the model, or in it.
    cells : whether contributions may differ between values of a level by hand, and the column may be in pairs.
    learnt : rule by which the levels by hand were learnt from rows, as `levels_to_yaml` writes it. If it gives the same
        levels for the rows of a fit, it is used instead of this rule.
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
    cells: bool = False
    learnt: LevelRule | None = None

    @classmethod
    def of(cls, name: str, given: Any) -> LevelRule:
        """Return the rule of the column ``name`` from ``given``, a dict of options. Raise ValueError, naming the
        column, for invalid options.
        """
        if isinstance(given, LevelRule):
            return given
        if not isinstance(given, Mapping):
            raise refusal(name, f"takes a dict of {_listed()}, got {given!r:.80}")
        unknown = [key for key in given if key not in cls.__dataclass_fields__]
        if unknown:
            hint = did_you_mean(str(unknown[0]), cls.__dataclass_fields__) or f"there are {_listed()}"
            raise refusal(name, f"has no option {unknown[0]!r}; {hint}")
        options = {key: value for key, value in given.items() if value is not None}
        if "cuts" in options:
            options["cuts"] = tuple(_list(name, "cuts", options["cuts"]))
        if "groups" in options:
            groups = _list(name, "groups", options["groups"])
            options["groups"] = tuple(
                tuple(group) if isinstance(group, (list, tuple)) else (group,) for group in groups
            )
        if "special" in options:
            options["special"] = _named_special(name, options["special"])
        learnt = options.pop("learnt", False)
        rule = cls(**options)
        if learnt is True:
            rule = replace(rule, learnt=replace(rule, cuts=None, groups=None, coarsen=False, unseen=False, cells=False))
        elif isinstance(learnt, Mapping):
            rule = replace(rule, learnt=cls.of(name, learnt))
        elif learnt is not False:
            raise refusal(name, f"needs true or false as 'learnt', got {learnt!r:.80}")
        rule._check(name)
        return rule

    def _check(self, name: str) -> None:
        """Raise ValueError for the first invalid option of the rule of the column ``name``."""
        for option in _BOOLEANS:
            if not isinstance(getattr(self, option), bool):
                raise refusal(name, f"needs true or false as {option!r}, got {getattr(self, option)!r:.80}")
        if self.monotone is not None and (isinstance(self.monotone, bool) or self.monotone not in (1, -1, "auto")):
            raise refusal(name, f"needs 1, -1 or 'auto' as 'monotone', got {self.monotone!r:.80}")
        for option in ("min_rows", "max_rows"):
            value = getattr(self, option)
            if value is not None and not (is_number(value) and 0 <= value < math.inf and _is_in_reach(value)):
                raise refusal(name, f"needs a number of rows, or a share below 1, as {option!r}, got {value!r:.80}")
        most = self.max_levels
        if most is not None and (isinstance(most, bool) or not isinstance(most, Integral) or most < 1):
            raise refusal(name, f"needs a whole number above 0 as 'max_levels', got {most!r:.80}")
        if self.missing is not None and not (_is_single(self.missing) and _is_in_reach(self.missing)):
            raise refusal(name, f"needs 'apart', 'unseen' or a value as 'missing', got {self.missing!r:.80}")
        others = self != LevelRule(exclude=self.exclude)
        if self.exclude and others:
            raise refusal(name, "is excluded; omit its other options")
        if self.groups is not None and self.option_of_numbers:
            option = self.option_of_numbers
            raise refusal(name, f"has both groups of categories and {option!r} of numbers; omit one of them")
        by_hand: Any = None if self.groups is None else [group for group in self.groups if group != (None,)]
        by_hand = by_hand if self.cuts is None else (*self.cuts, None)
        if by_hand is not None and not (self.coarsen or self.cells) and most is not None and len(by_hand) > most:
            raise refusal(name, f"has {len(by_hand)} levels by hand but max_levels={most}; set coarsen, or join levels")
        if by_hand is not None and self.max_rows is not None:
            raise refusal(name, "has levels by hand, which max_rows would split; omit one of them")
        if self.unseen and self.groups is None:
            raise refusal(name, "has no groups to which 'unseen' applies; add groups, or omit 'unseen'")
        if by_hand is None and self.coarsen:
            raise refusal(name, "has no cuts or groups to coarsen; add some, or omit 'coarsen'")
        if by_hand is None and (self.cells or self.learnt):
            option = "cells" if self.cells else "learnt"
            raise refusal(name, f"has no cuts or groups to which {option!r} applies; omit it")
        if self.groups is not None:
            values = [value for group in self.groups for value in group]
            odd = next((value for value in values if value is not None and not _is_single(value)), None)
            if odd is not None:
                raise refusal(name, f"needs lists of values as 'groups', null for missing ones, got {odd!r:.80}")
            twice = _twice([None if value is None else canonical_text(value) for value in values])
            if not self.groups or not all(self.groups):
                raise refusal(
                    name,
                    "has an empty group; add values to it, or remove it"
                    if self.groups
                    else "has no groups; omit 'groups'",
                )
            if twice != "":
                raise refusal(name, f"has the value {twice!r} in two groups; remove it from one of them")

    @property
    def in_words(self) -> str:
        """Sentence for reports that lists what the rule sets by hand; empty if it sets nothing."""
        if self.exclude:
            return "Excluded by hand."
        fields = [name for name in self.__dataclass_fields__ if name != "learnt"]
        settings = [name for name in fields if getattr(self, name) != getattr(LevelRule, name)]
        return f"Set by hand: {listed(settings)}." if settings else ""

    @property
    def options(self) -> dict[str, str]:
        """Options that differ from their defaults, with their values as text."""
        fields = [name for name in self.__dataclass_fields__ if name != "learnt"]
        given = {name: getattr(self, name) for name in fields if getattr(self, name) != getattr(LevelRule, name)}
        texts = {name: "yes" if value is True else str(value) for name, value in given.items()}
        if self.cuts:
            texts["cuts"] = ", ".join(map(str, self.cuts))
        if self.groups:
            groups = [["missing" if value is None else str(value) for value in group] for group in self.groups]
            texts["groups"] = "; ".join(map(", ".join, groups))
        if self.special:
            texts["special"] = ", ".join(f"{name} ({listed([*map(str, values)])})" for name, values in self.special)
        return texts

    @property
    def is_fixed(self) -> bool:
        """Whether the levels are independent of the rows, because they are given by hand or the column is excluded."""
        return self.exclude or ((self.cuts is not None or self.groups is not None) and not self.coarsen)

    @property
    def is_by_hand(self) -> bool:
        """Whether the levels are given by hand and final."""
        return self.is_fixed and not self.exclude

    @property
    def is_exact(self) -> bool:
        """Whether all values of a level by hand must get the same contribution."""
        return (self.cuts is not None or self.groups is not None) and not (self.exclude or self.cells)

    @property
    def only_limits(self) -> bool:
        """Whether the rule only sets limits. If the levels of the base coder satisfy them, the rule has no effect."""
        return self == LevelRule(min_rows=self.min_rows, max_levels=self.max_levels, include=self.include)

    @property
    def option_of_numbers(self) -> str | None:
        """Name of the first option that requires a column of numbers; None without such an option."""
        return next((option for option in _OF_NUMBERS if getattr(self, option) != getattr(LevelRule, option)), None)

    @property
    def kind(self) -> str | SpecialValues | None:
        """Kind of column that the rule requires; None if it fits both numeric and categorical columns."""
        if self.groups is not None:
            return "categorical"
        if self.special:
            return SpecialValues(self.special)
        return "numeric" if self.option_of_numbers else None

    def read_for(self, name: str, type_: str) -> LevelRule:
        """Return the rule for a column of type ``type_``: cuts, and the value that missing values join, become numbers.

        Texts are parsed as in a text file.
        """
        missing = self.missing
        names = {"apart", "unseen", *dict(self.special)}
        if missing is not None and canonical_text(missing) not in names:
            number = _number(missing, type_)
            missing = missing if math.isnan(number) else number
        learnt = None if self.learnt is None else self.learnt.read_for(name, type_)
        if self.cuts is None:
            return replace(self, missing=missing, learnt=learnt)
        cuts = [_number(cut, type_) for cut in self.cuts]
        for cut, number in zip(self.cuts, cuts, strict=True):
            if not math.isfinite(number):
                raise refusal(name, f"has the cut {cut!r:.80}, which is no {number_type(type_)}")
        if cuts != sorted(set(cuts)):
            raise refusal(name, "needs cuts in ascending order, each once; sort them and remove repeated ones")
        return replace(self, cuts=tuple(cuts), missing=missing, learnt=learnt)

    def with_sign_of(self, side: int) -> LevelRule:
        """Return the rule with the sign of ``monotone`` multiplied by ``side`` (1 or -1)."""
        learnt = None if self.learnt is None else self.learnt.with_sign_of(side)
        sign = side * int(self.monotone) if self.monotone in (1, -1) else self.monotone
        return replace(self, monotone=sign, learnt=learnt)


def levels_to_yaml(
    levels: Sequence[FeatureLevels],
    signs: Mapping[str, int],
    rules: TableRules | None = None,
    edited: Collection[str] = (),
) -> str:
    """Return the levels of columns, with the other options of their ``rules``, as the text of a YAML file for
    `TableRules`.

    Columns with one level are listed in a comment. ``signs`` maps monotone columns to 1 (rising) or -1 (falling).
    Levels of ``edited`` columns may violate the limits of the rules, so that these are not written.
    """
    columns, options = _ruled_columns(levels), {} if rules is None else rules.given
    given = {level.name: _with_moments(options[level.name], level.type) for level in columns if level.name in options}
    withheld = {level.name for level in columns if isinstance(level, WithheldLevels)}
    whole = {level.name for level in columns if level.n_levels == 1} | withheld
    written = {
        level.name: given[level.name]
        if level.name in whole
        else _with_options(level, signs.get(level.name), given.get(level.name) or {}, level.name in edited)
        for level in columns
        if level.name not in whole or given.get(level.name)
    }
    left = [level.name for level in columns if level.name not in written]
    if OTHERS in written:  # a column of this name: columns without options must not take its options
        written |= {name: {} for name in left}
    notes = {
        "In one level": [name for name in left if name not in withheld],
        "Not in the model, whose file does not hold their values": [name for name in left if name in withheld],
    }
    note = "".join(f"# {what}: {', '.join(map(_in_comment, names))}\n" for what, names in notes.items() if names)
    return note + write_yaml(_without_quotes(written))


def _ruled_columns(levels: Sequence[FeatureLevels]) -> list[FeatureLevels]:
    """Return the levels of columns, without those of pairs.

    Raise ValueError for indicators: rules cannot describe several features of one column.
    """
    columns = [*columns_of(levels)]
    if any(level.column != level.name for level in columns):
        raise ValueError(
            "levels= cannot be a model with indicators such as 'score <= 600'; to use the same thresholds, pass "
            "encoder=IndicatorEncoder(thresholds=...) with a list of thresholds for each score."
        )
    return columns


def _with_moments(given: Mapping[str, Any], type_: str) -> dict[str, Any]:
    """Return a rule's options for a column of type ``type_``. Dates and times given as numbers are written as floats,
    from which a saved rule is read back.
    """
    if type_ not in TEMPORAL:
        return dict(given)
    point: dict[str, Any] = {name: float(given[name]) for name in ("missing",) if is_number(given.get(name))}
    if given.get("cuts"):
        point["cuts"] = [float(cut) if is_number(cut) else cut for cut in given["cuts"]]
    learnt = given.get("learnt")
    return {**given, **point} | ({"learnt": _with_moments(learnt, type_)} if isinstance(learnt, Mapping) else {})


def _with_options(level: FeatureLevels, sign: int | None, given: Mapping[str, Any], is_edited: bool) -> dict[str, Any]:
    """Return the options that give a column its current levels, with the remaining options ``given`` by its rule.

    The option ``learnt`` lets a fit learn levels again if they were learnt from rows and not edited (``is_edited``).
    ``sign`` is the direction of a monotone column, otherwise None.
    """
    by_hand = {"cuts", "groups"}.intersection(given) and not given.get("coarsen")
    options = {
        name: True for name in ("include", "unseen", "cells") if given.get(name) and (name != "cells" or by_hand)
    }
    options |= {"max_levels": given["max_levels"]} if options.get("cells") and given.get("max_levels") else {}
    options |= {"missing": given["missing"]} if given.get("missing") in ("apart", "unseen") else {}
    written = options | _written(level, sign)
    if is_edited or (by_hand and not given.get("learnt")):
        return written
    return written | {"learnt": given.get("learnt", given) or True}


def _written(level: FeatureLevels, sign: int | None) -> dict[str, Any]:
    """Return the levels of a column as a rule of plain values, with a monotone ``sign`` unless it is None."""
    if level.groups is not None:
        groups = [[value if value is None else canonical_text(value) for value in group] for group in level.groups]
        return {"groups": groups}
    cuts = [_cut_to_yaml(cut, level.type) for cut in level.number_cuts.tolist()]
    written: dict[str, Any] = {"cuts": cuts}
    if level.special:
        written["special"] = {name: list(values) for name, values in level.special}
    joined = None if level.missing_code is None else level.missing_code - level.n_special_levels
    if joined is not None and joined >= 0:
        written["missing"] = (level.number_cuts.tolist() or [0.0])[joined] if joined < max(1, len(cuts)) else math.inf
    elif joined is not None and level.cut_points is not None and level.cut_points[0] > -math.inf:
        written["missing"] = level.special[joined][0]
    return written | ({} if sign is None else {"monotone": sign})


def _exact_options(level: FeatureLevels, is_by_hand: bool) -> dict[str, Any]:
    """Return the options of a rule that gives a column exactly its current levels for any rows.

    Contributions may differ within levels unless these were given by hand (``is_by_hand``).

    A column whose values were withheld from the model file is excluded.
    """
    if isinstance(level, WithheldLevels):
        return {"exclude": True}
    cells = {} if is_by_hand else {"cells": True}
    if level.groups is not None:
        return _written(level, None) | {"unseen": True} | cells
    if level.cut_points is None or not hasattr(level, "special"):
        raise ValueError(
            f"The levels of {level.name!r} cannot be set by levels=, because they are neither intervals of numbers "
            "nor groups of categories; omit the feature."
        )
    written = _written(level, None) | {"cuts": level.number_cuts.tolist()}
    alone = "apart" if level.missing_code is not None else "unseen"
    return {"missing": alone} | written | cells


def _without_quotes(given: Any) -> Any:
    """Return ``given``, plain data such as lists and dicts, with texts of numbers converted to numbers, so that YAML
    writes them without quotes.
    """
    if isinstance(given, Mapping):
        return {name: _without_quotes(value) for name, value in given.items()}
    if isinstance(given, (list, tuple)):
        return [_without_quotes(value) for value in given]
    return _plain_number(given) if isinstance(given, str) else given


def _plain_number(text: str) -> str | int | float:
    """Return the number with this exact text, or the text itself if there is none."""
    for kind in (int, float):
        with suppress(ValueError):
            if str(kind(text)) == text:
                return kind(text)
    return text


def _in_comment(name: str) -> str:
    """Return a name on one line and without invisible characters, for a comment in a file."""
    blank = " ".join(name.split())
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in blank)


def _number(value: Any, type_: str) -> float:
    """Return the number that a value of a numeric column of type ``type_`` is read as; NaN if it is not a number.

    Dates and times without an exact text, such as the middle between two days, are given as numbers with a point:
    "18262.5". A whole number given as text for a date or time, such as "2020", is taken for a mistake.
    """
    try:
        number = number_of(value, type_)
        if math.isnan(number) and isinstance(value, str) and not value.strip().lstrip("+-").isdigit():
            number = parse_number(value, "number")
    except (ValueError, OverflowError):
        return math.nan
    return number


def _cut_to_yaml(cut: float, type_: str) -> Any:
    """Return a cut point as a number, or as text if the column holds dates or times and the text is exact."""
    if type_ in TEMPORAL:
        text = format_temporal(cut, type_)
        return text if _number(text, type_) == cut else float(cut)
    return int(cut) if cut.is_integer() and abs(cut) < 2**53 else cut


def _plain(value: Any) -> Any:
    """Return a value as a plain number or text."""
    return value if isinstance(value, (bool, int, float, str)) else canonical_text(value)


def _from_text(option: str, given: Any) -> Any:
    """Convert the option ``option`` from ``given``, its plain value in a file.

    Switches and numbers are converted; values of the column stay texts, because its type is not known yet.
    """
    if option == "special" and isinstance(given, (dict, list)):
        values = given.items() if isinstance(given, dict) else enumerate(given)
        read = {name: _from_text("special", value) for name, value in values}
        return read if isinstance(given, dict) else [*read.values()]
    if option == "learnt" and isinstance(given, dict):
        return {name: _from_text(name, value) for name, value in given.items()}
    if not isinstance(given, str):
        return given
    if option in (*_BOOLEANS, "learnt"):
        return _SPELT.get(given, given)
    if option == "special":
        return _plain_number(given)
    if option not in ("monotone", "max_levels", "min_rows", "max_rows"):
        return given
    try:
        number = parse_number(given, "number")
    except ValueError:
        return given
    return int(number) if number.is_integer() else number


def _as_plain(value: Any) -> Any:
    """Return the value of an option as plain Python values: dicts, lists, numbers and texts."""
    if isinstance(value, Mapping):
        return {str(name): _as_plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_as_plain(item) for item in value]
    if isinstance(value, (np.bool_, np.number, np.str_)) and not isinstance(value, np.timedelta64):
        return value.item()
    return value if value is None or isinstance(value, (bool, int, float, str)) else canonical_text(value)


def _from_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a YAML file of rules as a dict from column names to plain values."""
    return {
        name: {option: _from_text(option, value) for option, value in given.items()}
        if isinstance(given, dict)
        else given
        for name, given in read_yaml(path, with_null=True).items()
    }


def refusal(name: str, what: str) -> ValueError:
    """Return the error for a wrong rule of the column ``name``; ``what`` is the rest of the sentence."""
    return ValueError(f"levels of the column {name!r}: it {what}{'' if what.endswith('?') else '.'}")


def _listed() -> str:
    """Return the names of all options of a rule as text."""
    return ", ".join(LevelRule.__dataclass_fields__)


def _list(name: str, option: str, value: Any) -> Sequence[Any]:
    """Return the value of an option as a list. Raise ValueError if it is no list."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        raise refusal(name, f"needs a list as {option!r}, got {value!r:.80}")
    return value


def _is_in_reach(value: Any) -> bool:
    """Return whether a number can be converted to a float without overflow."""
    return not isinstance(value, Integral) or abs(int(value)) <= sys.float_info.max


def _named_special(name: str, given: Any) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    """Return the special values of the column ``name``, given as a list or as a dict by name, as pairs of a name and
    its values. Raise ValueError for any other value of the option.
    """
    if not isinstance(given, (Mapping, list, tuple)):
        given = [given]
    pairs = given.items() if isinstance(given, Mapping) else [
        one if isinstance(one, tuple) and len(one) == 2 and isinstance(one[1], tuple) else (one, one) for one in given
    ]  # fmt: skip
    inside = [
        one for label, value in pairs for one in (label, *(value if isinstance(value, (list, tuple)) else (value,)))
    ]
    odd = [value for value in inside if not _is_single(value)]
    if odd:
        raise refusal(name, f"needs numbers or texts as 'special', got {odd[0]!r:.80}")
    special = tuple(
        (canonical_text(label), tuple(map(_plain, values)) if isinstance(values, (list, tuple)) else (_plain(values),))
        for label, values in pairs
    )
    twice = _twice([canonical_text(value) for _, values in special for value in values])
    if twice != "" or len({label for label, _ in special}) < len(special) or not all(label for _, label in special):
        raise refusal(
            name,
            f"has the special value {twice!r} twice; remove one of the two"
            if twice
            else "needs a value for each special name",
        )
    return special


def _twice(texts: Sequence[str | None]) -> str | None:
    """Return the first of ``texts`` that occurs twice, which may be None (a missing value); an empty text if there is
    none.
    """
    return next((text for text, n in Counter(texts).items() if n > 1), "")


def _is_single(value: Any) -> bool:
    """Return whether a value can be a single value of a column: not a list, not missing, and not text with lone
    surrogates.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "ignore").decode() == value
    return not (value is None or isinstance(value, (Mapping, list, tuple, set, bytes)) or value != value)


@dataclass(frozen=True)
class TableRules:
    """Rules for the columns of a table.

    Parameters
    ----------
    rules : rule of each column by name, "*" for all other columns.
    given : plain values from which the rules were read.
    """

    rules: Mapping[str, LevelRule]
    given: Mapping[str, Any]

    @classmethod
    def of(cls, levels: Any, side: int = 1) -> TableRules:
        """Return rules from a dict, the path of a YAML file, or a scorecard, whose levels are then used.

        ``side`` (1 or -1) converts the signs of ``monotone``, which refer to the positive class, to signs for the
        second class. Raise ValueError, naming the file or column, for invalid rules.
        """
        given: Any = _from_file(levels) if isinstance(levels, (str, os.PathLike)) else levels
        if hasattr(given, "features"):
            edited = (edit.feature for edit in given.provenance.get("edits", ()) if edit.what in ("cut", "merge"))
            by_hand = {*given.provenance.get("by_hand", ()), *edited}
            columns = _ruled_columns([feature.levels for feature in given.features])
            given = {level.name: _exact_options(level, level.name in by_hand) for level in columns}
        if not isinstance(given, Mapping):
            raise ValueError(f"levels must map names of columns to dicts of {_listed()}, got {given!r:.80}.")
        rules = {str(name): LevelRule.of(str(name), options) for name, options in given.items()}
        return cls({name: rule.with_sign_of(side) for name, rule in rules.items()}, _as_plain(given))

    def as_learnt(self, columns: Collection[str]) -> TableRules:
        """Return a copy in which ``columns`` have the ``learnt`` option of their rule as their rule, instead of levels
        by hand.
        """
        rules = {name: rule.learnt if name in columns and rule.learnt else rule for name, rule in self.rules.items()}
        return replace(self, rules=rules)

    def for_columns(self, names: Sequence[str]) -> TableRules:
        """Return the rules for a table with the columns ``names``; columns without a rule get that of "*", if there is
        one.

        If a column is named "*", its rule also applies to all columns without a rule. Raise ValueError for a rule of a
        column that the table does not have.
        """
        unknown = self.rules.keys() - {*names, OTHERS}
        if unknown:
            name = next(name for name in self.rules if name in unknown)
            meant = did_you_mean(name, names)
            remedy = f"remove it, or {meant}" if meant else "remove it."
            raise ValueError(f"levels names the column {name!r}, which is not a feature column; {remedy}")
        if OTHERS not in self.rules:
            return self
        keys = [name if name in self.rules else OTHERS for name in names]
        rules = {name: self.rules[key] for name, key in zip(names, keys, strict=True)}
        return TableRules(rules, {name: self.given[key] for name, key in zip(names, keys, strict=True)})

    def kinds(self, given: Mapping[str, str] | None) -> dict[str, Any] | None:
        """Return the kinds of columns by name: those in ``given``, and those that rules require; None if there are
        none.
        """
        needed = {name: rule.kind for name, rule in self.rules.items() if rule.kind is not None}
        for name, kind in (given or {}).items():
            needs = "numeric" if isinstance(needed.get(name), SpecialValues) else needed.get(name, kind)
            if needs != kind:
                raise refusal(
                    name,
                    f"has options for a {needs} column, but kinds makes it {kind}; change kinds, or remove these "
                    "options",
                )
        return {**(given or {}), **needed} or given  # type: ignore[return-value]

    @contextmanager
    def explaining_kinds(self) -> Iterator[None]:
        """Complete errors about values that are not numbers, in the block of this context, by the option of the
        column's rule that requires numbers.
        """
        try:
            yield
        except ValueInRow as error:
            rule = self.rules.get(error.column)
            option = None if rule is None else rule.option_of_numbers
            if option is None or not error.after.endswith(NUMBER_REMEDY):
                raise
            remedy = f"correct the value, or leave out {option!r}, which requires a column of numbers."
            after = error.after.removesuffix(NUMBER_REMEDY) + remedy
            raise ValueInRow(error.before, after, error.column, error.row, error.value) from None

    @property
    def unpaired(self) -> set[str]:
        """Names of the columns that must not be in pairs."""
        return {name for name, rule in self.rules.items() if rule.exclude or rule.monotone is not None}

    @property
    def by_hand(self) -> tuple[str, ...]:
        """Names of the columns whose levels by hand must not be split; they form only pairs that the user names."""
        return tuple(name for name, rule in self.rules.items() if rule.is_exact)

    @property
    def most_cells(self) -> dict[str, int]:
        """Largest number of cells with different contributions, by column; 0 for columns whose levels by hand must not
        be split.
        """
        limits = {name: rule.max_levels for name, rule in self.rules.items() if rule.max_levels is not None}
        return limits | dict.fromkeys(self.by_hand, 0)

    def named(self, option: str) -> set[str]:
        """Return the names of the columns whose rules set the option named ``option``."""
        return {name for name, rule in self.rules.items() if getattr(rule, option)}

    def signs(self, levels: Sequence[FeatureLevels]) -> dict[str, int]:
        """Return the direction of monotone columns by name: 1 if the share of the second class must increase with the
        numbers, -1 if it must decrease.

        "auto" is replaced by the direction from the first to the last level.
        """
        signs = {}
        for level in columns_of(levels):
            sign = self.rules[level.name].monotone if level.name in self.rules else None
            if sign == "auto" and level.cut_points is not None:
                counts = np.asarray(level.counts, dtype=float)[level.n_special_levels :]
                counts = counts[counts.any(axis=1)]
                falls = len(counts) > 0 and counts[-1, 1] * counts[0].sum() < counts[0, 1] * counts[-1].sum()
                sign = -1 if falls else 1
            if sign is not None:
                signs[level.name] = int(sign)
        return signs

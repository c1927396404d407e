"""`FeatureLevels`, which define how raw values become codes, and `TableLevels`, the levels of all features."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

import msgspec
import numpy as np

from bayesieve.plain_values import Count, Counts, Damaged, Finite, Number, converted, number, number_to_json, table
from bayesieve.table.column_values import TextValues
from bayesieve.table.columns import Categories, Column, Kind, SpecialValues, special_number
from bayesieve.table.labels import group_labels, interval_labels
from bayesieve.table.text_types import TRUTH_WORDS, other_texts, truth_of
from bayesieve.table.values import (
    HIGHEST_SPECIAL,
    TEMPORAL,
    Scalar,
    canonical_text,
    canonical_value,
    format_temporal,
)
from bayesieve.words import ShortRepr, listed, quoted_text

if TYPE_CHECKING:
    from bayesieve.table.pair_levels import PairLevels

TYPES = ("number", "boolean", "text", "category", "date", "datetime", "duration", "time", "mixed")


@dataclass(frozen=True, eq=False, repr=False)
class FeatureLevels(ShortRepr):
    """The levels of one feature: intervals of a numeric column, or groups of the values of a categorical one.

    Parameters
    ----------
    name : str
    kind : "numeric" or "categorical"
    type : str
        `Column.type` of the training column; decides how cut points are printed.
    cut_points : float array or None
        Numeric: ascending; level i is (cut[i-1], cut[i]]. May begin with -inf: then level 0 holds missing values only.
    groups : tuple of tuples or None
        Categorical: the values of each level; None inside a group stands for missing.
    missing_code : int or None
        Code of the level of missing values; None if training had none, so that they are coded as unseen.
    counts : array, shape (n_levels, n_classes), or None
        Training rows (or weight) per level and class.
    level_score : float
        Share of the null cost (of the description with a single level) that the levels save, in [0, 1).
    special : tuple of pairs of a name and the values that it stands for
        Numeric: special values with separate levels, which follow the level of missing values. Columns read them as
        numbers below all others, up to `HIGHEST_SPECIAL`, with a cut point at each.
    renamed : tuple of str or None
        Labels that replace the generated ones, None for a level that keeps its generated label; empty if all levels do.
    day_first : bool or None
        Dates: whether the day comes before the month in texts of the training table such as 31/12/2024; None if they
        did not show it. Texts of new rows with two readings, such as 03/04/2024, are read in this order.
    column : str
        Name of the column that is coded. It equals ``name`` unless several features come from one column, such as
        indicators "score <= threshold".

    Attributes
    ----------
    n_levels : int
    n_values : int
        Number of distinct values in the groups of a categorical feature; 0 for intervals.
    has_missing_level : bool
        Whether a level holds missing values and no others.
    has_level_below_numbers : bool
        Whether level 0 holds missing values only; its interval then ends at -inf.
    n_special_levels : int
        Number of levels of a numeric column that are not intervals, but hold missing or special values; they come
        first.
    number_cuts : float array
        Cut points between ordinary numbers, without those that separate missing and special values; none for groups.

    Raises
    ------
    ValueError
        If the parameters contradict each other; the message names the feature.
    """

    name: str
    kind: Kind | Literal["pair"]
    type: str
    cut_points: np.ndarray | None = None
    groups: tuple[tuple[object, ...], ...] | None = None
    missing_code: int | None = None
    counts: np.ndarray | None = None
    level_score: float = 0.0
    special: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    renamed: tuple[str | None, ...] = ()
    day_first: bool | None = None
    column: str = ""
    n_levels: int = field(init=False, repr=False)
    n_values: int = field(init=False, repr=False)
    has_missing_level: bool = field(init=False, repr=False)
    has_level_below_numbers: bool = field(default=False, init=False, repr=False)
    n_special_levels: int = field(default=0, init=False, repr=False)
    number_cuts: np.ndarray = field(init=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # not what follows from these

    def __post_init__(self) -> None:
        if self.kind not in ("numeric", "categorical"):
            raise self._invalid("kind must be 'numeric' or 'categorical'")
        if self.type not in TYPES:
            raise self._invalid(f"type must be one of {', '.join(TYPES)}")
        if self.kind == "numeric":
            if self.groups is not None or self.cut_points is None:
                raise self._invalid("numbers need cut_points and have no groups")
            cuts = np.array(self.cut_points, dtype=np.float64)
            if cuts.ndim != 1 or np.isnan(cuts).any() or np.isposinf(cuts).any() or not (cuts[1:] > cuts[:-1]).all():
                raise self._invalid("cut_points must be strictly ascending numbers below infinity")
            lowest = cuts[np.isfinite(cuts) & (cuts <= HIGHEST_SPECIAL)].tolist()
            if self.special and lowest != [float(special_number(k)) for k in range(len(self.special))]:
                raise self._invalid("each special value needs the cut point that it is read as")
            cuts.setflags(write=False)
            below = cuts[:1].tolist() == [-math.inf]
            n_special = len(self.special) + int(below)
            vars(self).update(cut_points=cuts, has_level_below_numbers=below, n_special_levels=n_special)
            self._check_rest(cuts.size + 1, 0, below and self.missing_code == 0)
        else:
            if self.cut_points is not None:
                raise self._invalid("categories have no cut_points")
            groups = tuple([tuple(group) for group in self.groups or ()])
            if not groups or not all(groups):
                raise self._invalid("categories need groups, each of at least one value")
            vars(self).update(groups=groups)
            with_missing = [code for code, group in enumerate(groups) if None in group]
            if with_missing != ([] if self.missing_code is None else [self.missing_code]):
                raise self._invalid("missing_code must be the one group that contains None, or None without one")
            n_values = sum(map(len, groups))
            if len(self.code_of_text) != n_values - len(with_missing):
                raise self._invalid("a value may be in one group only, and only once")
            self._check_rest(len(groups), n_values, any(len(groups[code]) == 1 for code in with_missing))

    def _facts(self) -> dict[str, Any]:
        """Return the fields that the ``repr`` shows, by name."""
        hidden = {"counts"} if self.column != self.name else {"counts", "column"}
        return {name: value for name, value in super()._facts().items() if name not in hidden}

    def _head(self) -> dict[str, Any]:
        """Return the first ten levels for the ``repr``, as columns by name."""
        return {"level": self.labels[:10]} | ({} if self.counts is None else {"counts": [*self.counts[:10]]})

    def _invalid(self, what: str) -> ValueError:
        """Return a ValueError that names the feature and says ``what`` is wrong with its parameters."""
        return ValueError(f"Feature {self.name!r}: {what}.")

    def _check_rest(self, n_levels: int, n_values: int, has_missing_level: bool) -> None:
        """Check the parameters that features of all kinds have, and set the attributes that follow from them.

        ``n_levels``, ``n_values`` and ``has_missing_level`` are the values of the attributes of these names.
        """
        missing = self.missing_code
        if missing is not None:
            whole = isinstance(missing, (int, np.integer)) and not isinstance(missing, bool)
            if not whole or not 0 <= missing < n_levels:
                raise self._invalid(f"missing_code must be a level, from 0 to {n_levels - 1}, or None")
            vars(self).update(missing_code=int(missing))
        if self.counts is not None:
            counts = np.asarray(self.counts)
            if counts.ndim != 2 or len(counts) != n_levels or counts.size == 0 or counts.dtype.kind not in "iuf":
                raise self._invalid("counts must have one row per level and one number per class")
            if not np.isfinite(counts).all() or not (counts >= 0).all():
                raise self._invalid("counts must be finite and not negative")
            vars(self).update(counts=counts)
        if not 0 <= self.level_score < 1:
            raise self._invalid("level_score must be in [0, 1)")
        cuts = np.zeros(0) if self.cut_points is None else self.cut_points[self.n_special_levels :]
        vars(self).update(n_levels=n_levels, n_values=n_values, has_missing_level=has_missing_level, number_cuts=cuts)
        vars(self).update(level_score=float(self.level_score), column=self.column or self.name)
        if self.renamed:
            self._check_texts()

    def _check_texts(self) -> None:
        """Raise ValueError unless ``renamed`` has one label, or None, for each level, and no two labels are the
        same.
        """
        if len(self.renamed) != self.n_levels:
            raise self._invalid("renamed must have one text, or None, for each level")
        texts = [text for text in self.renamed if text is not None]
        if not all(isinstance(text, str) and text.strip() for text in texts):
            raise self._invalid("labels must be texts that are not blank")
        vars(self).update(renamed=tuple(self.renamed) if texts else ())
        if texts:
            both = zip(self.renamed, self._generated_labels(full=False), self._generated_labels(full=True), strict=True)
            others = {label for text, *labels in both if text is None for label in labels}
            if len(set(texts)) < len(texts) or not others.isdisjoint(texts):
                raise self._invalid("two levels have the same label; rename one of them")

    @property
    def by_column(self) -> tuple[FeatureLevels, ...]:
        """Levels of each column of the feature: both columns of a pair, otherwise the feature itself."""
        return (self,)

    @property
    def unseen_code(self) -> int:
        """Code of values that belong to no level, which is `n_levels`."""
        return self.n_levels

    @property
    def code_dtype(self) -> np.dtype[Any]:
        """Smallest unsigned integer type that holds the codes 0 to n_levels."""
        return np.min_scalar_type(self.n_levels)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Short text for each level; long groups are cut (see `all_labels`)."""
        return self._with_texts(self._generated_labels(full=False))

    @cached_property
    def all_labels(self) -> tuple[str, ...]:
        """Text for each level, with every value of every group."""
        return self._with_texts(self._generated_labels(full=True))

    def _with_texts(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        """Return ``labels``, one for each level, with those replaced for which ``renamed`` has a text."""
        if not self.renamed:
            return labels
        return tuple(label if text is None else text for text, label in zip(self.renamed, labels, strict=True))

    def _generated_labels(self, *, full: bool) -> tuple[str, ...]:
        """Return a label for each level from its interval or values; with ``full``, with every value."""
        if self.cut_points is not None:
            return interval_labels(self.cut_points, self.type, self.missing_code, [*dict(self.special)])
        assert self.groups is not None
        return group_labels(self.groups, full=full)

    @cached_property
    def code_of_text(self) -> dict[str, int]:
        """Code of the level of each category, by the category's canonical text."""
        assert self.groups is not None
        of_value = [(value, code) for code, group in enumerate(self.groups) for value in group if value is not None]
        return {canonical_text(value): code for value, code in of_value}

    def code(self, column: Column, complaints: list[str] | None = None) -> np.ndarray:
        """Return the code of the level of every row; it depends on the value of the row only, not on other rows.

        Parameters
        ----------
        column : Column
            Column of any type that can be read as this feature: text is parsed for a numeric feature, numbers are
            compared as text for a categorical one.
        complaints : list of str, optional
            List that receives a sentence about non-numeric text in a numeric feature, which is then coded as unseen;
            None raises ValueError for it.

        Returns
        -------
        ndarray of uint8, uint16 or uint32, shape (n_rows,)
            `unseen_code` for values that belong to no level, for non-numeric text in a numeric feature, and for missing
            values if training had none.

        Raises
        ------
        ValueError
            If a numeric feature is given infinity, non-numeric text (unless there are ``complaints``), or a column of
            another type, such as dates for numbers; if a categorical one is given booleans but has no values for true
            and false.
        """
        if self.kind == "categorical":
            is_boolean = column.values.type == "boolean" and not column.values.by_value
            if is_boolean and column.categories(merged=False).values:
                self.check_booleans()
            if not isinstance(column.values, TextValues):
                return self.code_categories(column.categories(merged=False))
            chunks = [self.code_categories(chunk.categories(merged=False)) for chunk in column.in_chunks()]
            return chunks[0] if len(chunks) == 1 else np.concatenate(chunks)
        if self.n_levels == 1 and column.type not in (self.type, "text", "category", "mixed"):
            # A column without values in training has no type, so any value belongs to its only level.
            missing = self.n_levels if self.missing_code is None else self.missing_code
            return np.where(column.categories().codes < 0, missing, 0).astype(self.code_dtype)
        one_level = self.n_levels == 1  # anything is in it
        if self.special:
            column = column.read_as(column.name, SpecialValues(self.special))
        numbers, unreadable = column.read_numbers(self.type, [] if one_level else complaints, self.day_first)
        if np.isinf(numbers).any():
            raise column.infinity_error(numbers)
        codes = self.code_numbers(numbers)
        if unreadable.any():
            codes[unreadable] = 0 if one_level else self.unseen_code
        return codes

    def codes_like(self, other: FeatureLevels) -> bool:
        """Return whether ``other`` are levels of the same column that give every value the same code as these."""
        if self is other:
            return True
        if type(self) is not type(other) or (self.name, self.n_levels) != (other.name, other.n_levels):
            return False
        # Groups and special values are compared as texts, because True and 1 are equal, but different categories.
        facts, other_facts = (
            (level.kind, level.type, repr(level.groups), level.missing_code, repr(level.special), level.day_first)
            for level in (self, other)
        )
        return facts == other_facts and np.array_equal(self.cut_points, other.cut_points)  # type: ignore[arg-type]

    def check_booleans(self) -> None:
        """Raise ValueError if a categorical feature has no category that stands for true or for false."""
        if not any(self.category(value) in self.code_of_text for value in (True, False)):
            values = [canonical_text(value) for group in self.groups or () for value in group if value is not None]
            raise ValueError(
                f"Column {self.name!r} holds true and false, but held {listed([*map(quoted_text, values)], 3)} in "
                "training; convert its values to these."
            )

    def is_missing(self, column: Column) -> np.ndarray:
        """Return a mask (n_rows,) of the missing values of a column, read as `code` reads them."""
        if self.kind == "categorical":
            categories = column.categories(merged=False)
            missing: np.ndarray = np.array([*(self.category(value) is None for value in categories.values), True])
            return missing[categories.codes]
        if self.n_levels == 1:
            return column.categories(merged=False).codes < 0
        numbers, unreadable = column.read_numbers(self.type, [], day_first=self.day_first)
        return np.isnan(numbers) & ~unreadable

    def texts(self, column: Column) -> list[str | None]:
        """Return the text of every row's value as `code` reads it; None if it is missing."""
        if self.kind == "categorical":
            categories = column.categories(merged=False)
            read = [*(self.category(value) for value in categories.values), None]
            return [read[code] for code in categories.codes.tolist()]
        numbers, unreadable = column.read_numbers(self.type, [], day_first=self.day_first)
        texts: list[str | None] = [None] * len(numbers)
        for row in np.flatnonzero(~np.isnan(numbers)).tolist():
            number = float(numbers[row])
            is_moment = self.type in TEMPORAL
            texts[row] = format_temporal(number, self.type) if is_moment else canonical_text(number)
        for row in np.flatnonzero(unreadable).tolist():
            texts[row] = canonical_text(column.value(row)).strip()
        return texts

    def code_numbers(self, values: np.ndarray) -> np.ndarray:
        """Return the code of the level of each of ``values``, numbers as float64, NaN = missing; both arrays have shape
        (n_rows,).
        """
        from bayesieve.table._kernels import code_numbers

        assert self.cut_points is not None
        missing = -1 if self.missing_code is None else self.missing_code
        codes = np.empty((1, len(values)), dtype=np.min_scalar_type(self.n_levels))
        row = np.ascontiguousarray(values, dtype=np.float64)[None, :]
        code_numbers(row, np.array(self.cut_points), np.array([self.n_levels]), np.array([missing]), codes)
        return codes[0]

    def code_categories(self, categories: Categories) -> np.ndarray:
        """Return the code of the level of every row, (n_rows,), of a column given as codes of its distinct values.
        Values of no level get `unseen_code`.
        """
        unseen, code_of_text = self.n_levels, self.code_of_text
        missing = unseen if self.missing_code is None else self.missing_code
        lookup = np.empty(len(categories.values) + 1, dtype=np.min_scalar_type(unseen))
        lookup[:-1] = [
            code_of_text.get(value if type(value) is str else canonical_text(value), unseen)
            for value in categories.values
        ]
        lookup[-1] = missing  # for the code of missing values, -1
        for i in np.flatnonzero(lookup[:-1] == unseen).tolist():
            text = self.category(categories.values[i])
            lookup[i] = missing if text is None else code_of_text.get(text, unseen)
        return lookup[categories.codes]

    def category(self, value: Scalar) -> str | None:
        """Return the canonical text of the category that a value stands for; None if it is missing.

        If it stands for no category, its own canonical text is returned.
        """
        text = canonical_text(value)
        if text in self.code_of_text:
            return text
        for other in other_texts(value, self.type, self._value_types, self.day_first):
            if other is None or other in self.code_of_text:
                return other
        truth = truth_of(value) if self._truth else None
        return text.strip() if truth is None else self._truth[truth]

    def knows(self, value: Scalar) -> bool:
        """Return whether ``value``, a value of a categorical column, belongs to one of the groups."""
        return self.category(value) in self.code_of_text

    @cached_property
    def _truth(self) -> dict[bool, str]:
        """Category that stands for true and category that stands for false, such as yes and no; empty if the column has
        other categories.
        """
        texts = {truth_of(text): text for text in self.code_of_text}
        return {} if None in texts or len(texts) < 2 else texts  # type: ignore[return-value]

    @cached_property
    def code_of_word(self) -> dict[str, int]:
        """Code of the level of each category, by the category's canonical text, and of words for booleans.

        In a boolean column, words such as "yes" have the code of their boolean.
        """
        words = {word: self.category(word) for word in TRUTH_WORDS}
        words |= {"true": self.category(True), "false": self.category(False)}  # as databases write booleans
        codes = {word: self.code_of_text[text] for word, text in words.items() if text in self.code_of_text}
        return codes | self.code_of_text

    @cached_property
    def _value_types(self) -> frozenset[Any]:
        """Python types of the values of the groups."""
        assert self.groups is not None
        return frozenset(type(canonical_value(value)) for group in self.groups for value in group if value is not None)

    def by_value(self) -> FeatureLevels:
        """Return levels of the categorical column in which every value has a level of its own."""
        groups = [(value,) for group in self.groups or () for value in group]
        missing = groups.index((None,)) if (None,) in groups else None
        return FeatureLevels(self.name, self.kind, self.type, None, tuple(groups), missing, day_first=self.day_first)

    def first_values(self) -> Categories:
        """Return the first value of each group, as the `Categories` of a column with one row for each level."""
        assert self.groups is not None
        values: list[Any] = [next((v for v in group if v is not None), None) for group in self.groups]
        present = [value for value in values if value is not None]
        at = iter(range(len(present)))
        return Categories(np.array([-1 if value is None else next(at) for value in values], dtype=np.int64), present)

    def to_json(self) -> dict[str, Any]:
        """Return a dictionary of plain values for JSON; floats survive exactly, -inf is the text "-inf"."""
        cuts, groups = self.cut_points, None
        if self.groups is not None:
            groups = [[None if value is None else canonical_value(value) for value in group] for group in self.groups]
            # Compare infinite categories by their text, because JSON has no infinity.
            groups = [[str(v) if isinstance(v, float) and not math.isfinite(v) else v for v in one] for one in groups]
        return {
            "name": self.name,
            "kind": self.kind,
            "type": self.type,
            "cut_points": None if cuts is None else [number_to_json(cut) for cut in cuts.tolist()],
            "groups": groups,
            "missing_code": self.missing_code,
            "counts": None if self.counts is None else self.counts.tolist(),
            "level_score": self.level_score,
            **({"special": [[name, list(values)] for name, values in self.special]} if self.special else {}),
            **({"renamed": list(self.renamed)} if self.renamed else {}),
            **({} if self.day_first is None else {"day_first": self.day_first}),
            **({} if self.column == self.name else {"column": self.column}),
        }

    @classmethod
    def from_json(cls, data: Any) -> FeatureLevels:
        """Return the levels written by `to_json`; ValueError with one sentence for anything else."""
        with saved_levels(data, "feature"):
            return cls.from_saved(converted(data, SavedLevels, "content"))

    @staticmethod
    def from_saved(saved: SavedLevels) -> FeatureLevels:
        """Convert levels as read from a model file; raise ValueError if they contradict each other."""
        counts = counts_of(saved.counts)
        if saved.sizes is not None:
            return WithheldLevels(
                name=saved.name,
                kind=saved.kind,
                type=saved.type,
                missing_code=saved.missing_code,
                counts=counts,
                level_score=saved.level_score,
                sizes=saved.sizes,
                digest=saved.digest,
            )
        cuts = None if saved.cut_points is None else np.array([number(cut) for cut in saved.cut_points], dtype=float)
        groups = None if saved.groups is None else tuple(map(tuple, saved.groups))
        return FeatureLevels(
            name=saved.name,
            kind=saved.kind,
            type=saved.type,
            cut_points=cuts,
            groups=groups,
            missing_code=saved.missing_code,
            counts=counts,
            level_score=saved.level_score,
            special=saved.special,
            renamed=saved.renamed,
            day_first=saved.day_first,
            column=saved.column,
        )


@dataclass(frozen=True, eq=False, repr=False)
class WithheldLevels(FeatureLevels):
    """Levels of a categorical column without its values, as model files save them for columns that the model does not
    use.

    Parameters
    ----------
    sizes : tuple of int
        Number of values of each level, missing ones included.
    digest : str
        SHA-256 of the values by level; equal digests show that two models have the same levels.
    """

    sizes: tuple[int, ...] = ()
    digest: str = ""

    @classmethod
    def of(cls, levels: FeatureLevels) -> WithheldLevels:
        """Return the levels of a categorical column without their values."""
        assert levels.groups is not None
        texts = [[None if value is None else canonical_text(value) for value in group] for group in levels.groups]
        return cls(
            name=levels.name,
            kind=levels.kind,
            type=levels.type,
            missing_code=levels.missing_code,
            counts=levels.counts,
            level_score=levels.level_score,
            sizes=tuple(map(len, texts)),
            digest=hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:32],
        )

    def __post_init__(self) -> None:
        if self.kind != "categorical":
            raise self._invalid("only levels of categories can have sizes instead of values")
        if not self.sizes:
            raise self._invalid("it needs the number of values of each level")
        missing = self.missing_code
        is_alone = missing is not None and self.sizes[missing : missing + 1] == (1,)
        self._check_rest(len(self.sizes), sum(self.sizes), is_alone)

    def _generated_labels(self, *, full: bool) -> tuple[str, ...]:
        """Return a label for each level with its number of values, whether ``full`` or not."""
        return tuple(f"group {k} of {n:,} {'value' if n == 1 else 'values'}" for k, n in enumerate(self.sizes, 1))

    def code(self, column: Column, complaints: list[str] | None = None) -> np.ndarray:
        """Return a code for every row, (n_rows,), without looking at the values: 0 if there is only one level,
        otherwise `unseen_code`.

        ``complaints`` is not used.
        """
        return np.full(len(column), 0 if self.n_levels == 1 else self.unseen_code, dtype=self.code_dtype)

    def codes_like(self, other: FeatureLevels) -> bool:
        """Return whether ``other`` are withheld levels of the same values."""
        return isinstance(other, WithheldLevels) and super().codes_like(other) and self.digest == other.digest

    def to_json(self) -> dict[str, Any]:
        """Return a dictionary of plain values for JSON, with the sizes of the levels instead of their values."""
        return super().to_json() | {"sizes": list(self.sizes), "digest": self.digest}


class SavedLevels(msgspec.Struct, forbid_unknown_fields=True):
    """Content of `FeatureLevels.to_json`: cut points, groups of values, or the sizes of groups without their values."""

    name: str
    kind: Literal["numeric", "categorical"]
    type: str
    cut_points: list[Number] | None
    groups: list[list[str | int | Finite | bool | None]] | None
    missing_code: int | None
    counts: Counts
    level_score: Finite
    special: tuple[tuple[str, tuple[str | int | Finite | bool, ...]], ...] = ()
    renamed: tuple[str | None, ...] = ()
    day_first: bool | None = None
    column: str = ""
    sizes: tuple[Count, ...] | None = None
    digest: str = ""


@contextmanager
def saved_levels(data: Any, what: str) -> Iterator[None]:
    """Convert errors about damaged saved levels in the ``with`` block into a ValueError with one sentence.

    ``data`` is the saved content, from which the message takes the name of the feature; ``what``, such as "pair", names
    the damaged part.
    """
    try:
        yield
    except Damaged as error:
        name = data.get("name") if isinstance(data, dict) else None
        named = f" {name[:60]!r}" if isinstance(name, str) else ""
        raise ValueError(f"The levels of the {what}{named} are damaged: {error}.") from None


def counts_of(rows: Counts) -> np.ndarray | None:
    """Return saved counts, one list of class counts per level, as an array of shape (n_levels, n_classes); None if
    ``rows`` is None.

    The array has integers if all counts are whole.
    """
    if rows is None:
        return None
    counts = table(rows, (len(rows), len(rows[0]) if rows else 0), "counts")
    given = np.asarray(rows)
    return given if given.dtype == np.int64 else counts


class TableLevels(ShortRepr, Sequence[FeatureLevels]):
    """Sequence of the `FeatureLevels` of all features, created on access because there may be a hundred thousand.

    Parameters
    ----------
    names, types : sequences of str, one entry for each feature
    n_levels : int array, shape (n_features,)
    level_scores : float array, shape (n_features,)
    missing : int array, shape (n_features,)
        Code of missing values; -1 if there is none.
    cuts : float array
        Cut points of all features whose levels are intervals, one feature after the other.
    counts : float array, shape (levels of the features in ``cuts``, n_classes), or None
    others : mapping from position to FeatureLevels
        Levels of the features that are not in ``cuts`` and ``counts``, by position.
    pairs : sequence of PairLevels
        Pairs of these features; their positions follow those of the features.
    constant : sequence of int
        Positions of columns with a single value in the rows that the levels were fitted to; numeric columns are listed
        only with the MODL prior "sizes".
    by_chance : sequence of int
        Positions of columns whose cuts may be due to chance, given the number of columns and rows.
    existing : mapping from position to FeatureLevels, optional
        Levels that have been created already, also of features in ``cuts`` and ``counts``.
    columns : sequence of str, optional
        Column name of each feature that is not a pair; by default the name of the feature.

    Attributes
    ----------
    created : dict from position to FeatureLevels
        Levels that exist already: those of all categorical features, and others created on access.
    """

    def __init__(
        self,
        names: Sequence[str],
        types: Sequence[str],
        n_levels: np.ndarray,
        level_scores: np.ndarray,
        missing: np.ndarray,
        cuts: np.ndarray,
        counts: np.ndarray | None,
        others: Mapping[int, FeatureLevels],
        pairs: Sequence[PairLevels] = (),
        constant: Sequence[int] | np.ndarray = (),
        by_chance: Sequence[int] | np.ndarray = (),
        existing: Mapping[int, FeatureLevels] | None = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        self.constant, self.by_chance = (np.asarray(positions, dtype=np.int64) for positions in (constant, by_chance))
        self._cuts, self._counts, self.n_columns, self.pairs = cuts, counts, len(names), tuple(pairs)
        sizes = n_levels.copy()
        sizes[list(others)] = 0
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self.cut_starts = np.concatenate([[0], np.cumsum(np.maximum(sizes - 1, 0))])
        self._in_arrays = np.append(sizes > 0, np.zeros(len(pairs), dtype=bool))
        self.created = {**others, **(existing or {}), **dict(enumerate(pairs, self.n_columns))}
        self.names = (*names, *[pair.name for pair in pairs])
        self.column_names = self.names[: len(names)] if columns is None else tuple(columns)
        self.types = [*types, *[pair.type for pair in pairs]] if pairs else types
        # Features whose levels are intervals of numbers with cuts in `cut_points`.
        self.is_numeric = self._in_arrays & np.array([type_ == "number" for type_ in self.types], dtype=bool)
        self.n_levels = np.append(n_levels, np.array([pair.n_levels for pair in pairs], dtype=n_levels.dtype))
        self.level_scores = np.append(level_scores, [pair.level_score for pair in pairs])
        self.missing = np.append(missing, np.full(len(pairs), -1))

    @classmethod
    def of(cls, levels: Sequence[FeatureLevels]) -> TableLevels:
        """Return a sequence of levels as `TableLevels`, which hold the cut points of all intervals in one array."""
        if isinstance(levels, cls):
            return levels
        n_columns = len(levels)
        while n_columns and levels[n_columns - 1].kind == "pair":
            n_columns -= 1
        pairs: Any = levels[n_columns:]
        levels = levels[:n_columns]
        plain = [
            type(level) is FeatureLevels and level.cut_points is not None and not level.special for level in levels
        ]
        cuts = [level.cut_points for level, in_array in zip(levels, plain, strict=True) if in_array]
        return cls(
            names=[level.name for level in levels],
            types=[level.type for level in levels],
            n_levels=np.array([level.n_levels for level in levels], dtype=np.int64),
            level_scores=np.array([level.level_score for level in levels]),
            missing=np.array([-1 if level.missing_code is None else level.missing_code for level in levels], dtype=int),
            cuts=np.concatenate([np.zeros(0), *cuts]),
            counts=None,
            others={i: level for i, level in enumerate(levels) if not plain[i]},
            pairs=pairs,
            existing=dict(enumerate(levels)),
            columns=[level.column for level in levels],
        )

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, i: int) -> FeatureLevels: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[FeatureLevels, ...]: ...
    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return tuple(self[k] for k in range(len(self))[i])
        i = range(len(self))[i]
        levels = self.created.get(i)
        if levels is None:
            missing = int(self.missing[i])
            counts = None if self._counts is None else self._counts[self._starts[i] : self._starts[i + 1]].copy()
            score, missing_code = float(self.level_scores[i]), None if missing < 0 else missing
            cuts, column = self._cuts[self.cut_starts[i] : self.cut_starts[i + 1]], self.column_names[i]
            levels = FeatureLevels(
                self.names[i], "numeric", self.types[i], cuts, None, missing_code, counts, score, column=column
            )
            self.created[i] = levels
        return levels

    def replaced(self, pairs: Sequence[PairLevels] | None = None, by_chance: np.ndarray | None = None) -> TableLevels:
        """Return a copy with other ``pairs``, or with other positions ``by_chance`` of columns whose cuts may be due to
        chance.

        None keeps the current ones.
        """
        n = self.n_columns
        existing = {i: level for i, level in self.created.items() if i < n}
        others = {i: level for i, level in existing.items() if not self._in_arrays[i]}
        return TableLevels(
            names=self.names[:n],
            types=self.types[:n],
            n_levels=self.n_levels[:n],
            level_scores=self.level_scores[:n],
            missing=self.missing[:n],
            cuts=self._cuts,
            counts=self._counts,
            others=others,
            pairs=self.pairs if pairs is None else pairs,
            constant=self.constant,
            by_chance=self.by_chance if by_chance is None else by_chance,
            existing=existing,
            columns=self.column_names,
        )

    def code_pairs(
        self,
        codes: Callable[[int], np.ndarray],
        column: Callable[[int], Column],
        put: Callable[[int, np.ndarray], None],
    ) -> None:
        """Code the rows of a table for all pairs of columns. Columns that several pairs cut in the same way are coded
        once.

        Parameters
        ----------
        codes : function that returns the codes (n_rows,) of the column at a position, by its levels as a single
            feature.
        column : function that returns the column at a position, with its raw values.
        put : function that receives the codes (n_rows,) of each pair; called with the position of the pair among the
            features, and the codes.
        """
        position = {name: i for i, name in enumerate(self.names[: self.n_columns])} if self.pairs else {}
        finer: dict[FeatureLevels, np.ndarray] = {}

        def codes_by(levels: FeatureLevels) -> np.ndarray:
            """Return the codes (n_rows,) of one column of a pair by its levels in the pair, which may be finer than its
            levels as a single feature.
            """
            i = position[levels.name]
            if levels.codes_like(self[i]):
                return codes(i)
            if levels not in finer:
                finer[levels] = levels.code(column(i), [])  # complaints were collected for the column itself
            return finer[levels]

        for k, pair in enumerate(self.pairs, self.n_columns):
            first, second = pair.parts
            put(k, pair.code_parts(codes_by(first), codes_by(second)))

    def _facts(self) -> dict[str, Any]:
        """Return the numbers that the ``repr`` shows, by name."""
        return {"features": len(self), "levels": int(self.n_levels.sum())}

    def class_counts(self, i: int) -> np.ndarray | None:
        """Return the number (or weight) of training rows by level and class of the feature at position ``i``, shape
        (n_levels, n_classes); None if it is unknown.
        """
        if i in self.created or self._counts is None:
            return self[i].counts
        return self._counts[self._starts[i] : self._starts[i + 1]]

    def cut_points(self, first: int, stop: int) -> np.ndarray:
        """Return the cut points of the features ``first`` to ``stop - 1``, one feature after the other, as one array.

        In this array, the cut points of feature i begin at position ``cut_starts[i] - cut_starts[first]``.
        """
        return self._cuts[self.cut_starts[first] : self.cut_starts[stop]]


def columns_of(levels: Sequence[FeatureLevels]) -> Sequence[FeatureLevels]:
    """Return the levels of the columns among ``levels``, the levels of all features of a table: those before the pairs
    of columns.
    """
    n_columns = getattr(levels, "n_columns", None)  # an attribute of `TableLevels`, which creates levels on access
    if n_columns is None:
        n_columns = next((k for k, level in enumerate(levels) if level.kind == "pair"), None)
    return levels if n_columns in (None, len(levels)) else levels[:n_columns]


def columns_behind(levels: Sequence[FeatureLevels], features: np.ndarray) -> np.ndarray:
    """Return a mask (n_columns,) of the columns on which some features depend, by themselves or in pairs.

    ``features`` (n_features,) is a mask of these features, and ``levels`` holds the levels of all features.
    """
    columns = columns_of(levels)
    if len(columns) == len(levels):
        return features
    parts = {part for k in range(len(columns), len(levels)) if features[k] for part in levels[k].by_column}
    names = {part.name for part in parts}
    return features[: len(columns)] | np.array([level.name in names for level in columns])

"""Parts that describe themselves, by name: those of bayesieve and those of other packages; and checks of options."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points
from numbers import Integral, Real
from typing import Any, Generic, Literal, TypeVar

import numpy as np

Part = TypeVar("Part", bound=type)


@cache
def arguments(kind: type) -> dict[str, Any]:
    """The arguments of a constructor, with their defaults."""
    return {name: parameter.default for name, parameter in inspect.signature(kind).parameters.items()}


def options_of(part: Any) -> dict[str, Any]:
    """The arguments of a part's constructor, from its attributes, as scikit-learn names them."""
    return {name: getattr(part, name) for name in arguments(type(part))}  # type: ignore[arg-type]


@dataclass(frozen=True)
class Score:
    """What a selector scores features or subsets by, as traces name it and reports describe it.

    name : in traces and saved models; title : in words, for the middle of a sentence; unit : such as "nats", "" for
    none; lower_is_better : its direction; of : "feature" where a step has the score of the feature it adds, "round"
    where one may be added again, "subset" where no model takes part, else "model".
    """

    name: str
    title: str = ""
    unit: str = ""
    lower_is_better: bool = False
    of: Literal["feature", "round", "subset", "model"] = "model"


class Registry(Mapping[str, Part], Generic[Part]):
    """Classes by their attribute ``name``: bayesieve's own first, then those of the entry points of a group.

    Entry points are looked up once, when a name is not one of bayesieve's own or all names are listed. One that cannot
    be used is left out with a warning.
    """

    def __init__(self, group: str, base: type, *own: Part) -> None:
        self.own: dict[str, Part] = {part.name: part for part in own}  # type: ignore[attr-defined]
        self._group, self._base = group, base

    def __getitem__(self, name: str) -> Part:
        return self.own[name] if name in self.own else self._installed[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.own  # whoever looks for one of these never waits for the others
        yield from self._installed

    def __len__(self) -> int:
        return len(self.own) + len(self._installed)

    def has(self, part: Any) -> bool:
        """Whether a class itself, not one it is derived from, is registered."""
        return self.get(part.name) is part

    @cached_property
    def _installed(self) -> dict[str, Part]:
        parts: dict[str, Part] = {}
        for point in entry_points(group=self._group):
            try:
                parts[point.name] = self._load(point, {**self.own, **parts})
            except (Exception, SystemExit) as error:  # whatever another package does when it is imported
                package = f" of {point.dist.name}" if point.dist else ""
                reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
                warnings.warn(
                    f"The entry point {point.name!r}{package} in {self._group!r} is left out: {reason}; mend or "
                    "uninstall that package.",
                    UserWarning,
                    stacklevel=2,
                )
        return parts

    def _load(self, point: EntryPoint, taken: Mapping[str, Part]) -> Part:
        if point.name in taken:
            raise ValueError("this name is taken")
        part: Part = point.load()
        if not (isinstance(part, type) and issubclass(part, self._base)):
            raise TypeError(f"{point.value} is not a subclass of {self._base.__name__}")
        if part.name != point.name:  # type: ignore[attr-defined]
            raise ValueError(f"{point.value} has the name {part.name!r}")  # type: ignore[attr-defined]
        return part


def is_choice(value: object, names: Container[str]) -> bool:
    """Whether ``value`` is one of the names; False for arrays, lists and values of any other type."""
    return isinstance(value, str) and value in names


@dataclass(frozen=True)
class Allowed:
    """The values that an option may take.

    must : in words, after "must"; values : names, None, True or False; number : `Real`, `Integral` or None for no
    number; low, high : bounds of numbers, both allowed; types : of other objects. True and False are no numbers.
    """

    must: str
    values: tuple[str | bool | None, ...] = ()
    number: type | None = None
    low: float = -sys.float_info.max
    high: float = sys.float_info.max
    types: tuple[type, ...] = ()

    @classmethod
    def count(cls, *values: str | None, low: int = 1) -> Allowed:
        """A whole number of at least ``low``, or one of the values."""
        names = "".join(f"{value!r} or " for value in values if value is not None)
        or_none = " or None" if None in values else ""
        return cls(f"be {names}a whole number of at least {low}{or_none}", values, Integral, low)

    @classmethod
    def choice(cls, *values: str | bool) -> Allowed:
        """One of the values."""
        *first, last = map(repr, values)
        return cls(f"be {', '.join(first)} or {last}", values)

    def __contains__(self, value: object) -> bool:
        if value is None or isinstance(value, str):
            return value in self.values
        if isinstance(value, (bool, np.bool_)):
            return any(other is bool(value) for other in self.values)
        if self.number is not None and isinstance(value, Real):
            return isinstance(value, self.number) and self.low <= float(value) <= self.high
        return isinstance(value, self.types)


def check_allowed(options: Mapping[str, Any], allowed: Mapping[str, Allowed]) -> None:
    """Raise ValueError, in one sentence, for the first option that may not take its value."""
    for name, values in allowed.items():
        if name in options and options[name] not in values:
            raise ValueError(f"{name} must {values.must}, got {options[name]!r:.200}.")

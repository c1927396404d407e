"""Options and registries of estimators and criteria: constructor arguments, classes by name, shared docstrings, and
checks of options.
"""

from __future__ import annotations

import inspect
import re
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
_SHARED = """
X : dataframe, 2-D array or sparse matrix, shape (n_rows, n_features)
y : array-like, shape (n_rows,)
    Class labels.
sample_weight : array-like, shape (n_rows,), optional
    Weights multiply counts: a weight of 2 equals the row repeated.
benefit : array-like, shape (n_rows,), (n_rows, 2) or (n_rows, n_decisions, n_classes), optional
    Amounts or benefits of the rows, for searches by the criterion `bayesieve.criteria.Benefit`.
validation : str or Criterion, default={default}
    The criterion that chooses the subset on the held-out rows, any that `WrapperSelector` takes. ``"auto"``:
    ``"error"``, or ``"log_loss"`` if a class has over 80 % of the rows (or of their weight), for the error is blind
    there; ``trace_.validation_name`` tells which.
validation_size : float, default={default}
    Share of the rows held out, of every class.
recode : bool or "auto", default={default}
    Whether the levels of the ranking are learnt again from the rows that are not held out; those of the model are
    learnt from all rows in any case. "auto": if the raw table is at hand and not too large, as in
    `WrapperSelector`; ``trace_.recoded`` tells whether it was done.
n_starts : int or None, default={default}
    Random starts of the search; None means log2(K N).
max_iter : int, default={default}
    Rounds of adding and dropping per start.
exhaustive : bool or "auto", default={default}
    True: every subset is evaluated (up to 25 features) and the result is exact. "auto": if that takes about a
    second at most (up to 15 features).
constant_columns : bool, default={default}
    Whether columns with a single value count among the K features of the cost and of the number of starts, as in the
    paper. By default they do not, so that a useless column never changes a model (of numbers only with the default
    prior of levels).
count : "distinct" or "evaluations", default={default}
    How often a model counts in the average: once, or as often as the search evaluated it.
max_seconds : float or None, default={default}
    The search stops after this many seconds and keeps the best so far; so does Ctrl-C.
smoothing : "m-estimate" or float, default={default}
    As `DiscreteNB` takes it.
encoder : "modl", TableEncoder, IndicatorEncoder or None, default={default}
    None: the table is coded already (integers from 0).
random_state : int, RandomState, Generator or None, default={default}
    Seed of all that is drawn at random; None is a fixed seed.
n_jobs : int or None, default={default}
    Threads; -1 means all cores. Results do not depend on it.
verbose : int, default={default}
    1 shows progress on the error stream.
"""
_SECTION = re.compile(r"\n\n(?=[A-Z]\w+\n-{3,}\n)")


@cache
def arguments(kind: type) -> dict[str, Any]:
    """Return the arguments of a constructor, with their defaults."""
    return {name: parameter.default for name, parameter in inspect.signature(kind).parameters.items()}


def options_of(part: Any) -> dict[str, Any]:
    """Return the constructor arguments of an object, read from its attributes, as scikit-learn names them."""
    return {name: getattr(part, name) for name in arguments(type(part))}  # type: ignore[arg-type]


class OptionText(str):
    """Text that stands for an option object in a model file; ``fit`` then requires the object."""

    def __repr__(self) -> str:
        return str(self)


def require_objects(options: Mapping[str, Any]) -> None:
    """Raise ValueError, naming the object to pass, if an option is only known as text from a model file."""
    for name, value in options.items():
        if isinstance(value, OptionText):
            raise ValueError(
                f"This model comes from a file, which keeps its {name} as text: give it the object, such as "
                f"set_params({name}={value:.200}), before it is fitted again."
            )


@dataclass(frozen=True)
class Score:
    """Score by which a selector ranks features or subsets, with its name in traces and its title in reports.

    name : in traces and saved models; title : in words, for the middle of a sentence; unit : such as "nats", "" for
    none; lower_is_better : its direction; of : "feature" if a step has the score of the feature it adds, "round"
    if features may be added again, "subset" if no model is evaluated, otherwise "model".
    """

    name: str
    title: str = ""
    unit: str = ""
    lower_is_better: bool = False
    of: Literal["feature", "round", "subset", "model"] = "model"


class Registry(Mapping[str, Part], Generic[Part]):
    """Classes by their attribute ``name``: those of bayesieve first, then the entry points of a group.

    Entry points are looked up once, when a name is not one of bayesieve's own or all names are listed. An
    unusable one is skipped with a warning.
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
                    f"The entry point {point.name!r}{package} in {self._group!r} was skipped: {reason}. Fix or "
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


Documented = TypeVar("Documented")


def with_shared_docs(documented: Documented) -> Documented:
    """Add the shared descriptions of the parameters that the docstring of a class or function omits.

    Parameters follow the order of the signature, from which their defaults are taken.
    """
    if documented.__doc__ is None:  # python -OO
        return documented
    parts = _SECTION.split(inspect.cleandoc(documented.__doc__))
    title = "Parameters\n----------\n"
    at = next((i for i, part in enumerate(parts) if part.startswith(title)), None)
    own = {} if at is None else _entries(parts[at].removeprefix(title))
    entries: dict[str, None] = {}
    for name, parameter in inspect.signature(documented).parameters.items():  # type: ignore[arg-type]
        if name in own:
            entries[own[name]] = None  # once for several names
        elif name in _PARAGRAPHS:
            entries[_PARAGRAPHS[name].replace("{default}", _text(parameter.default))] = None
    if entries:
        parts[slice(1, 1) if at is None else slice(at, at + 1)] = [title + "\n".join(entries)]
    documented.__doc__ = "\n\n".join(parts)
    return documented


def _entries(section: str) -> dict[str, str]:
    """Return the description of each parameter of a docstring section; several parameters may share one."""
    entries = re.split(r"\n(?=\S)", section.strip())
    return {name: entry for entry in entries for name in entry.partition(" : ")[0].split(", ")}


def _text(default: Any) -> str:
    return f'"{default}"' if isinstance(default, str) else repr(default)


_PARAGRAPHS = _entries(_SHARED)


def is_choice(value: object, names: Container[str]) -> bool:
    """Return whether ``value`` is one of the names; False for arrays, lists and values of any other type."""
    return isinstance(value, str) and value in names


def is_number(value: object) -> bool:
    """Return whether the value is a real number; booleans are not."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def is_sign(value: Any) -> bool:
    """Return whether the value is 1 or -1."""
    return is_number(value) and value in (1, -1)


@dataclass(frozen=True)
class Allowed:
    """Values that an option accepts.

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
        """Return the rule for a whole number of at least ``low``, or one of the values."""
        names = "".join(f"{value!r} or " for value in values if value is not None)
        or_none = " or None" if None in values else ""
        return cls(f"be {names}a whole number of at least {low}{or_none}", values, Integral, low)

    @classmethod
    def choice(cls, *values: str | bool) -> Allowed:
        """Return the rule for one of the values."""
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
    """Raise ValueError, in one sentence, for the first option with an invalid value."""
    for name, values in allowed.items():
        if name in options and options[name] not in values:
            raise ValueError(f"{name} must {values.must}, got {options[name]!r:.200}.")

"""Options and registries that estimators and criteria share: constructor arguments, classes by name, parameter
descriptions for docstrings, and checks of values.
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
    """Return the default of each constructor parameter of the class ``kind``, by name (`inspect.Parameter.empty` if
    there is none).
    """
    return {name: parameter.default for name, parameter in inspect.signature(kind).parameters.items()}


class OptionText(str):
    """Text that stands for an object, such as an encoder, in the options of a model that was loaded from a file,
    because files hold plain values only. ``fit`` raises ValueError until the object is set again.
    """

    def __repr__(self) -> str:
        return str(self)


def require_objects(options: Mapping[str, Any]) -> None:
    """Raise ValueError if an option is an `OptionText`; the message says which object to set."""
    for name, value in options.items():
        if isinstance(value, OptionText):
            raise ValueError(
                f"This model comes from a file, which keeps its {name} as text: give it the object, such as "
                f"set_params({name}={value:.200}), before it is fitted again."
            )


@dataclass(frozen=True)
class Score:
    """Score by which a selector ranks features or subsets, with the texts for traces and reports.

    Attributes
    ----------
    name : name in traces and saved models.
    title : name in words, for the middle of a sentence.
    unit : such as "nats"; empty if there is none.
    lower_is_better : whether lower scores are better.
    of : object that a score in the trace of a search describes: "feature" for the feature that a step adds, "round" for
        a round of boosting, "subset" for a subset scored without a model, "model" for the model of a subset.
    """

    name: str
    title: str = ""
    unit: str = ""
    lower_is_better: bool = False
    of: Literal["feature", "round", "subset", "model"] = "model"


class Registry(Mapping[str, Part], Generic[Part]):
    """Mapping from names to classes: those of bayesieve first, then those that other packages register as entry points.

    The name of a class is its attribute ``name``. Entry points are looked up once, when a name is not one of
    bayesieve's or all names are listed; one that fails to import is skipped with a warning.

    Parameters
    ----------
    group : name of the group of entry points.
    base : class of which all classes must be subclasses.
    own : the classes of bayesieve.
    """

    def __init__(self, group: str, base: type, *own: Part) -> None:
        self.own: dict[str, Part] = {kind.name: kind for kind in own}  # type: ignore[attr-defined]
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
        """Classes that other packages register as entry points, by name; those that cannot be used are skipped with a
        warning.
        """
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
        """Import and return the class of an entry point. Raise ValueError if its name is among those in ``taken`` or
        differs from that of the class, and TypeError if it is not a subclass of the base class.
        """
        if point.name in taken:
            raise ValueError("this name is taken")
        kind: Part = point.load()
        if not (isinstance(kind, type) and issubclass(kind, self._base)):
            raise TypeError(f"{point.value} is not a subclass of {self._base.__name__}")
        if kind.name != point.name:  # type: ignore[attr-defined]
            raise ValueError(f"{point.value} has the name {kind.name!r}")  # type: ignore[attr-defined]
        return kind


Documented = TypeVar("Documented")


def with_shared_docs(documented: Documented) -> Documented:
    """Add descriptions of parameters that many estimators share to a docstring that omits them.

    Parameters are put in the order of the signature, with its defaults. Used as a decorator of classes and functions.
    """
    if documented.__doc__ is None:  # python -OO
        return documented
    parts = _SECTION.split(inspect.cleandoc(documented.__doc__))
    title = "Parameters\n----------\n"
    at = next((i for i, part in enumerate(parts) if part.startswith(title)), None)
    described = {} if at is None else _entries(parts[at].removeprefix(title))
    entries: dict[str, None] = {}
    for name, parameter in inspect.signature(documented).parameters.items():  # type: ignore[arg-type]
        if name in described:
            entries[described[name]] = None  # once for several names
        elif name in _PARAGRAPHS:
            entries[_PARAGRAPHS[name].replace("{default}", _text(parameter.default))] = None
    if entries:
        parts[slice(1, 1) if at is None else slice(at, at + 1)] = [title + "\n".join(entries)]
    documented.__doc__ = "\n\n".join(parts)
    return documented


def _entries(section: str) -> dict[str, str]:
    """Split a section of a docstring, such as its parameters, into a mapping from parameter to description. Parameters
    described together have the same text.
    """
    entries = re.split(r"\n(?=\S)", section.strip())
    return {name: entry for entry in entries for name in entry.partition(" : ")[0].split(", ")}


def _text(default: Any) -> str:
    """Return the default value of a parameter as text for a docstring, with quotation marks around text."""
    return f'"{default}"' if isinstance(default, str) else repr(default)


_PARAGRAPHS = _entries(_SHARED)


def is_choice(value: object, names: Container[str]) -> bool:
    """Return whether ``value`` is one of ``names``; False for values that are not text, even if they
    cannot be hashed.
    """
    return isinstance(value, str) and value in names


def is_number(value: object) -> bool:
    """Return whether the value is a real number; booleans do not count as numbers."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def is_sign(value: Any) -> bool:
    """Return whether the value is 1 or -1."""
    return is_number(value) and value in (1, -1)


@dataclass(frozen=True)
class Allowed:
    """Rule for the values that an option accepts.

    Attributes
    ----------
    must : the rule in words, to follow "must" in an error message
    values : accepted names, None, True or False
    number : `numbers.Real` or `numbers.Integral`, the class of accepted numbers; None if no number is accepted
    low, high : inclusive bounds of numbers
    types : accepted types of other objects; True and False do not count as numbers
    """

    must: str
    values: tuple[str | bool | None, ...] = ()
    number: type | None = None
    low: float = -sys.float_info.max
    high: float = sys.float_info.max
    types: tuple[type, ...] = ()

    @classmethod
    def count(cls, *values: str | None, low: int = 1) -> Allowed:
        """Return the rule that accepts whole numbers from ``low`` on, and the names or None in ``values``."""
        names = "".join(f"{value!r} or " for value in values if value is not None)
        or_none = " or None" if None in values else ""
        return cls(f"be {names}a whole number of at least {low}{or_none}", values, Integral, low)

    @classmethod
    def choice(cls, *values: str | bool) -> Allowed:
        """Return the rule that accepts the given values only."""
        *first, last = map(repr, values)
        return cls(f"be {', '.join(first)} or {last}", values)


def check_allowed(options: Mapping[str, Any], allowed: Mapping[str, Allowed]) -> None:
    """Raise ValueError for the first option whose value breaks its rule.

    ``options`` holds values by the name of the option, ``allowed`` the rules of the options to check.
    """
    for name in [name for name in allowed if name in options]:
        rule, value = allowed[name], options[name]
        if value is None or isinstance(value, str):
            fits = value in rule.values
        elif isinstance(value, (bool, np.bool_)):
            fits = any(other is bool(value) for other in rule.values)
        elif rule.number is not None and isinstance(value, Real):
            fits = isinstance(value, rule.number) and rule.low <= float(value) <= rule.high
        else:
            fits = isinstance(value, rule.types)
        if not fits:
            raise ValueError(f"{name} must {rule.must}, got {value!r:.200}.")

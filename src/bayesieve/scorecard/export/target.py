"""`Export`: base class of export targets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from bayesieve.parts import Allowed, check_allowed
from bayesieve.scorecard.export.plan import Plan
from bayesieve.scorecard.record import Scorecard


class Export(ABC):
    """Base class of export targets. The options of a target are keyword arguments of its constructor.

    Packages that only one target needs are imported when it is used. The targets in bayesieve are dataclasses whose
    fields are the options; ``_allowed`` declares the allowed values of options.

    Attributes
    ----------
    name : str
        Class attribute: the value of ``to=`` that selects the target.
    suffixes : mapping from str to mapping
        Class attribute: suffixes of file names that select the target, with the options that each implies.
    title : str
        Class attribute: short description.
    """

    name: ClassVar[str] = ""
    suffixes: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    title: ClassVar[str] = ""
    _allowed: ClassVar[Mapping[str, Allowed]] = {
        **dict.fromkeys(("rows", "reasons"), Allowed.count(low=0)),
        **dict.fromkeys(("texts", "module"), Allowed.choice(True, False)),
        "against": Allowed.choice("mean", "best"),
    }

    def __post_init__(self) -> None:
        """Raise ValueError if an option has a value that ``_allowed`` excludes."""
        check_allowed(vars(self), self._allowed)

    @abstractmethod
    def write(self, plan: Plan) -> str | bytes:
        """Return the content of the export file."""

    def results(self, card: Scorecard) -> Collection[str]:
        """Return which of ``"points"`` and ``"reasons"`` the file contains. The file then states the class that they
        refer to.
        """
        return ()

"""`Export`: base class of export targets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from bayesieve.parts import Allowed, check_allowed
from bayesieve.scorecard.export.plan import Plan
from bayesieve.scorecard.record import Scorecard


class Export(ABC):
    """Base class of export targets; the options are keyword arguments of the constructor.

    Packages that only this target needs are imported when it is used. Those of bayesieve declare their options as
    dataclasses do, and the values that these may take in ``_allowed``.

    Attributes
    ----------
    name : str
        Class attribute: the value of ``to=``.
    suffixes : mapping from str to mapping
        Class attribute: suffixes of file names that select this target, and the options that they imply.
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
        check_allowed(vars(self), self._allowed)

    @abstractmethod
    def write(self, plan: Plan) -> str | bytes:
        """Return the content of the file."""

    def results(self, card: Scorecard) -> Collection[str]:
        """Return which of ``"points"`` and ``"reasons"`` the file contains; its head then states the class they refer
        to.
        """
        return ()

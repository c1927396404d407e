"""`Export`, what every target of an export is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from bayesieve.parts import Allowed, check_allowed
from bayesieve.scorecard.export.plan import Plan
from bayesieve.scorecard.record import Scorecard


class Export(ABC):
    """Writes a model for another system; the options are the arguments of the constructor, all by name.

    Packages that only this target needs are imported when it is used. Those of bayesieve declare their options as
    dataclasses do, and the values that these may take in ``_allowed``.

    Attributes
    ----------
    name : str
        Class attribute: what ``to=`` calls it.
    suffixes : mapping from str to mapping
        Class attribute: ends of file names that mean this target, and the options that they imply.
    title : str
        Class attribute: what it is, in a few words.
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
        """Return which of ``"points"`` and ``"reasons"`` the file gives; its head states the class they are about."""
        return ()

"""Every parameter of a public class or function is described once, with its default."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

import bayesieve
from bayesieve.parts import _PARAGRAPHS, _entries, with_shared_docs
from bayesieve.selection import FilterSelector

METHODS = ("fit", "partial_fit")
PUBLIC = {name: getattr(bayesieve, name) for name in bayesieve.__all__ if name != "CautionWarning"}
PUBLIC = {name: public for name, public in PUBLIC.items() if callable(public)}
PUBLIC |= {
    f"{name}.{method}": getattr(part, method)
    for name, part in list(PUBLIC.items())
    if inspect.isclass(part)
    for method in METHODS
    if method in vars(part)
}


def described(documented: Any) -> dict[str, str]:
    """The entries of the section on parameters, by name."""
    doc = inspect.getdoc(documented) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?:\n\n[A-Z]\w+\n-{3,}\n|\Z)", doc, re.M | re.S)
    return {} if section is None else _entries(section[1])


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_is_described_with_its_default(name: str) -> None:
    entries = described(PUBLIC[name])
    if not entries and not inspect.isclass(PUBLIC[name]):
        pytest.skip("a short description in prose")
    parameters = {key: p for key, p in inspect.signature(PUBLIC[name]).parameters.items() if key != "self"}
    if "." in name and "X" not in entries:
        pytest.skip("as the method of the base class")
    for key, parameter in parameters.items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        if key not in entries:
            assert f"``{key}``" in "".join(entries.values()), f"{key} is not described"
            continue
        stated = re.search(r"default=(.+)", entries[key].splitlines()[0])
        if stated is not None:
            assert repr(eval(stated[1], vars(bayesieve).copy())) == repr(parameter.default)


def test_a_parameter_that_is_not_described_comes_from_the_shared_ones() -> None:
    @with_shared_docs
    def own(y: Any, rows: int, columns: int, n_jobs: int = 3, *, mode: str = "a", smoothing: Any = "b") -> None:
        """One line.

        Parameters
        ----------
        mode : str
            A mode.

            With a second paragraph.
        rows, columns : int
            Two at once.

        Returns
        -------
        None
        """

    doc = own.__doc__
    assert doc is not None
    assert doc.startswith(
        "One line.\n\nParameters\n----------\ny : array-like, shape (n_rows,)\n    Class labels.\nrows, co"
    )
    assert (
        doc.index("Two at once") < doc.index("n_jobs : int or None, default=3\n    Threads") < doc.index("mode : str")
    )
    assert doc.endswith(
        'With a second paragraph.\nsmoothing : "m-estimate" or float, default="b"\n    As `DiscreteNB` takes it.'
        "\n\nReturns\n-------\nNone"
    )
    assert list(described(own)) == ["y", "rows", "columns", "n_jobs", "mode", "smoothing"]


def test_selectors_of_other_packages_are_described_too() -> None:
    class Other(FilterSelector):
        """Select something."""

    class Undocumented(FilterSelector):
        pass

    assert list(described(Other)) == ["smoothing", "encoder"]
    assert Undocumented.__doc__ is None


def test_each_shared_description_is_used_more_than_once() -> None:
    users = {key: [name for name, part in PUBLIC.items() if key in described(part)] for key in _PARAGRAPHS}
    assert {key for key, names in users.items() if len(names) < 2} == set()

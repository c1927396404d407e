"""Public names of the lab exist, importing it is cheap, and the examples in its docstrings run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import bayesieve_lab
from tests.test_public_names import loaded_by


def modules() -> list[str]:
    found = pkgutil.walk_packages(bayesieve_lab.__path__, "bayesieve_lab.")
    return sorted(module.name for module in found if not module.name.endswith("_kernels"))


def test_names_listed_are_the_names_there_are() -> None:
    assert dir(bayesieve_lab) == sorted(bayesieve_lab.__all__)
    assert all(getattr(bayesieve_lab, name).__doc__ or name == "PAPERS" for name in bayesieve_lab.__all__)


def test_importing_and_listing_commands_load_next_to_nothing() -> None:
    package, commands = loaded_by("import bayesieve_lab", "import bayesieve.cli.app")
    assert package == set()
    assert not {"numba", "sklearn", "scipy", "polars", "jinja2"} & commands


EXAMPLES = [
    example
    for name in modules()
    for example in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name), name)
    if example.examples
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_examples_in_docstrings(example: doctest.DocTest) -> None:
    printed: list[str] = []
    results = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example, out=printed.append)
    assert results.attempted > 0
    assert results.failed == 0, "".join(printed)

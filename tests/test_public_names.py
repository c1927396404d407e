"""Public names exist, importing them is cheap, and the examples in their docstrings run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

import bayesieve

PINNED = (
    "AllFeatures",
    "BayesianAveraging",
    "BenefitClassifier",
    "CompressionAveraging",
    "DiscreteNB",
    "EqualFrequencyDiscretizer",
    "EqualWidthDiscretizer",
    "IndicatorEncoder",
    "MAPSelector",
    "MODLDiscretizer",
    "MODLGrouper",
    "SelectiveNB",
    "TableEncoder",
    "ThresholdTuner",
    "load",
)

HEAVY = ("numba", "polars", "pandas", "pyarrow", "sklearn", "scipy", "numpy", "jinja2", "narwhals", "rich", "typer")


@pytest.mark.parametrize("name", PINNED)
def test_pinned_names(name: str) -> None:
    assert name in bayesieve.__all__
    assert callable(getattr(bayesieve, name))
    assert getattr(bayesieve, name).__doc__


def test_names_listed_are_the_names_there_are() -> None:
    assert dir(bayesieve) == sorted(bayesieve.__all__)
    assert all(hasattr(bayesieve, name) for name in bayesieve.__all__)
    with pytest.raises(AttributeError, match="SelectiveBN"):
        bayesieve.SelectiveBN  # noqa: B018
    names: dict[str, object] = {}
    exec("from bayesieve import *", names)
    assert set(bayesieve.__all__) <= set(names)


def loaded_by(*steps: str) -> list[set[str]]:
    """Which of the heavy libraries a fresh interpreter has loaded after each of these steps."""
    report = f"\nimport sys; print(*[name for name in {HEAVY!r} if name in sys.modules])\n"
    code = report.join([*steps, ""])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [set(line.split()) for line in done.stdout.split("\n")[:-1]]


def modules() -> list[str]:
    found = pkgutil.walk_packages(bayesieve.__path__, "bayesieve.")
    return sorted(module.name for module in found if not module.name.endswith(("_kernels", "__main__", "saved_code")))


def test_importing_loads_and_compiles_next_to_nothing() -> None:
    every = f"import importlib\nfor name in {modules()!r}: importlib.import_module(name)"
    package, needed, names, everything = loaded_by(
        "import bayesieve", "import sklearn.feature_selection", "from bayesieve import *", every
    )
    assert package == set()
    assert not {"numba", "polars", "jinja2", "typer"} & names
    # What scikit-learn itself loads cannot be helped: recent versions load pandas where it is installed.
    assert names <= needed | {"narwhals"}
    assert "numba" not in everything


EXAMPLES = [
    example
    for name in modules()
    for example in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name), name)
    if example.examples
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_examples_in_docstrings(example: doctest.DocTest) -> None:
    told: list[str] = []
    results = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example, out=told.append)
    assert results.attempted > 0
    assert results.failed == 0, "".join(told)


def test_every_public_class_has_an_example() -> None:
    with_example = {example.name.rpartition(".")[2] for example in EXAMPLES}
    assert set(PINNED) <= with_example

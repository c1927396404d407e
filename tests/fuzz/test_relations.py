"""Changes of a table that mean nothing, over a few random tables each."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

from bayesieve import SelectiveNB
from tests.cases import mostly_slow
from tests.fuzz.relations import RELATIONS, Example, difference, random_example

EXACT = sorted(name for name, one in RELATIONS.items() if one.within < 1.0)


@cache
def fitted(seed: int, calibrate: str) -> tuple[Example, SelectiveNB]:
    example = random_example(np.random.default_rng([6, seed]), 40 + 60 * seed)
    return example, SelectiveNB(calibrate=calibrate, n_jobs=1).fit(example.X, example.y)


def test_there_are_enough_relations() -> None:
    assert len(EXACT) >= 28


KINDS = [("weights", 0), ("cells", 0), ("cells", 1)]
FAST = [(name, *KINDS[0]) for name in EXACT] + [(name, *KINDS[2]) for name in EXACT[::4]]


@pytest.mark.parametrize(
    ("name", "calibrate", "seed"), mostly_slow([(name, *kind) for name in EXACT for kind in KINDS], FAST)
)
def test_what_means_nothing_changes_nothing(name: str, calibrate: str, seed: int) -> None:
    example, model = fitted(seed, calibrate)
    found = difference(example, name, np.random.default_rng(seed), model)
    assert found <= (1e-9 if calibrate == "weights" else RELATIONS[name].within)


@pytest.mark.parametrize(
    "change",
    mostly_slow(
        ["constant_number", "columns_reversed", "increasing", "classes_reversed"], ["columns_reversed", "increasing"]
    ),
)
def test_folds_of_rare_values_depend_on_what_the_values_share(change: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(3):
        example = random_example(rng, 120)
        values = rng.integers(0, 60, 120)
        rare = pd.Series([f"v{value:04d}" for value in values], dtype=object)
        X = example.X.assign(rare=rare)
        example = Example(X, example.y, X.iloc[:40], example.classes)
        model = SelectiveNB(calibrate="weights", n_jobs=1).fit(example.X, example.y)
        assert difference(example, change, rng, model) <= 1e-9


def test_relations_see_what_means_something() -> None:
    example, model = fitted(1, "weights")
    other = SelectiveNB(calibrate="weights", n_jobs=1).fit(example.X.iloc[:-20], example.y[:-20])
    assert np.abs(other.predict_proba(example.asked) - model.predict_proba(example.asked)).max() > 1e-6

"""The methods of the papers by name, and the page that shows their calls."""

from __future__ import annotations

import re
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import bayesieve
from bayesieve import AccuracySelector, MAPSelector, SelectiveNB, TableEncoder, as_published
from bayesieve.classifier.published import PUBLISHED
from bayesieve.cli import app
from tests.cases import mostly_slow
from tests.outputs import table

PAGE = Path(__file__).parents[2] / "docs" / "as-published.md"
CALLS = dict(re.findall(r"^\| `([^`]+)` \| [^|]+ \| `(.+)` \|$", PAGE.read_text(encoding="utf-8"), re.M))


def described(estimator: Any) -> Any:
    """Return all options of an estimator and of its parts, as plain values."""
    if not hasattr(estimator, "get_params"):
        return estimator
    parts = {name: described(value) for name, value in estimator.get_params(deep=False).items()}
    return type(estimator).__name__, parts


def test_the_page_lists_all_methods() -> None:
    assert list(CALLS) == list(PUBLISHED)
    listed = re.sub(r" \([^()]*\d{4}\)| \(Gidofalvi\)", "", app._PUBLISHED)
    assert re.split(r"[,;] ", listed) == list(PUBLISHED)
    assert as_published.__doc__ is not None
    assert re.findall(r'``"([^"]+)"``', as_published.__doc__) == list(PUBLISHED)


@pytest.mark.parametrize("name", PUBLISHED)
def test_methods_are_the_calls_of_the_page(name: str) -> None:
    call = eval(CALLS[name], {**{name: getattr(bayesieve, name) for name in bayesieve.__all__}, "log": log})
    assert described(as_published(name)) == described(call)


@pytest.mark.parametrize("name", mostly_slow(PUBLISHED, [*PUBLISHED][::3]))
def test_methods_learn(name: str) -> None:
    X, y = table("hepatitis")
    model = as_published(name.upper()).fit(X, y)
    assert 0 < model.n_features_selected_ <= X.width
    assert model.scorecard_.classes.tolist() == sorted(set(y.tolist()))


@pytest.mark.parametrize(
    ("name", "hint"),
    [("SNB(CMB)", "Did you mean 'SNB(CMA)'"), ("backwards", "Did you mean 'backward'"), ("?", ""), (None, "")],
)
def test_unknown_names_are_answered_with_the_list(name: Any, hint: str) -> None:
    with pytest.raises(
        ValueError, match=r"There is no published method .* Choose from 'SNB\(CMA\)', .* and 'boosted'"
    ) as e:
        as_published(name)
    assert hint in str(e.value)
    assert ("Did you mean" in str(e.value)) == bool(hint)


def test_until_decay_adds_features_while_the_accuracy_does_not_fall() -> None:
    """The walk by hand: of the best additions the first, until the best one lowers the training accuracy."""
    X, y = table("glass")
    coded = TableEncoder(prior="published").fit_transform_coded(X, y)
    wrong, walk = float("inf"), list[int]()
    while len(walk) < coded.n_features:
        errors = {}
        for k in sorted(set(np.flatnonzero(coded.n_levels > 1).tolist()) - set(walk)):
            weights = np.isin(np.arange(coded.n_features), [*walk, k]).astype(float)
            model = bayesieve.DiscreteNB(feature_weights=weights).fit(coded)
            errors[k] = int((model.predict(coded) != np.asarray(coded.classes)[np.asarray(coded.class_codes)]).sum())
        if not errors or min(errors.values()) > wrong:
            break
        wrong, best = min((n, k) for k, n in errors.items())
        walk.append(best)
    selector = AccuracySelector(until_decay=True).fit_coded(coded)
    assert sorted(walk) == np.flatnonzero(selector.support_).tolist()
    assert AccuracySelector().fit_coded(coded).n_features_selected_ <= len(walk)


def test_constant_columns_count_in_the_cost_as_published() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    informative = {f"x{k}": np.where(rng.random(200) < 0.2, 1 - y, y) for k in range(4)}
    X = pl.DataFrame(informative | {"one": np.ones(200), "two": ["a"] * 200})
    costs = [
        SelectiveNB(MAPSelector(constant_columns=counted), pairs=0).fit(X, y).trace_.null_criterion
        for counted in (False, True)
    ]
    assert costs == pytest.approx([log(n + 1) + 200 * log(2) for n in (4, 6)])
    assert as_published("SNB(MAP)").selector.constant_columns

"""The oracles recompute the golden values, as ``python -m tests.golden.regenerate`` does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests import golden
from tests.cases import mostly_slow
from tests.golden import regenerate
from tests.reference import naive_bayes

EVERY = [
    *((regenerate.modl_differences, name) for name in golden.MODL_TABLES),
    *((regenerate.snb_differences, name) for name in golden.SNB_TABLES),
    *((regenerate.wrapper_differences, name) for name in golden.WRAPPER_TABLES),
]
LONG = [
    (regenerate.modl_differences, "breast_cancer"),
    (regenerate.snb_differences, "tic_tac_toe"),
    (regenerate.wrapper_differences, "vote"),
]
"""Tables that take seconds, one of each kind."""


@pytest.mark.parametrize(
    ("differences", "name"),
    mostly_slow(EVERY, [one for one in EVERY if one not in LONG]),
    ids=lambda given: given if isinstance(given, str) else given.__name__,
)
def test_nothing_differs(differences: Callable[[str], list[str]], name: str) -> None:
    assert differences(name) == []


@pytest.mark.parametrize("name", golden.SKLEARN_TABLES)
@pytest.mark.parametrize(("variant", "alpha"), [("alpha1_all", 1.0), ("alpha1_weighted", 1.0), ("alpha0.5_all", 0.5)])
def test_posteriors_of_scikit_learn(name: str, variant: str, alpha: float) -> None:
    values = golden.values("sklearn", name)
    entry = values[f"CategoricalNB_{variant}"]
    _, codes, y = golden.coded_table(name)
    weights = [1 + i % 3 for i in range(len(y))] if variant.endswith("weighted") else None
    classes = naive_bayes.class_counts(y, 2, weights)
    counts = [naive_bayes.level_counts(codes[:, k], y, n, 2, weights) for k, n in enumerate(values["n_levels"])]
    conditionals = [naive_bayes.log_conditionals(count, alpha, classes) for count in counts]
    for levels, expected in zip(conditionals, entry["feature_log_prob"], strict=True):
        np.testing.assert_allclose(np.transpose(levels), expected, rtol=1e-12, atol=1e-12)
    for row, expected in zip(entry["rows_reported"], entry["log_posterior"], strict=True):
        joint = naive_bayes.log_joint(codes[row], naive_bayes.log_priors(classes), conditionals)
        np.testing.assert_allclose(naive_bayes.log_posterior(joint), expected, rtol=1e-12, atol=1e-12)

"""The naive Bayes oracle against hand-made values and scikit-learn's golden posteriors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests import golden
from tests.reference import naive_bayes


def test_m_estimate_by_hand() -> None:
    # 4 rows, 2 classes of 3 and 1 rows: (N_ij + 1/4) / (N_j + 2/4).
    counts = naive_bayes.level_counts([0, 0, 1, 1], [0, 0, 0, 1], n_levels=2, n_classes=2)
    assert counts == [[2, 0], [1, 1]]
    logs = naive_bayes.log_conditionals(counts, "m-estimate", [3, 1])
    np.testing.assert_allclose(np.exp(logs), [[2.25 / 3.5, 0.25 / 1.5], [1.25 / 3.5, 1.25 / 1.5]], rtol=1e-14)


def test_laplace_by_hand() -> None:
    logs = naive_bayes.log_conditionals([[2, 0], [1, 1]], 0.5, [3, 1])
    np.testing.assert_allclose(np.exp(logs), [[2.5 / 4, 0.5 / 2], [1.5 / 4, 1.5 / 2]], rtol=1e-14)


def test_weights_multiply_counts() -> None:
    weighted = naive_bayes.level_counts([0, 1, 1], [0, 0, 1], 2, 2, [2, 1, 3])
    assert weighted == naive_bayes.level_counts([0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1], 2, 2)
    assert naive_bayes.class_counts([0, 0, 1], 2, [2, 1, 3]) == [3, 3]


def test_log_joint_by_hand() -> None:
    priors = [math.log(0.75), math.log(0.25)]
    conditionals = [[[math.log(0.5), math.log(0.1)], [math.log(0.5), math.log(0.9)]]]
    joint = naive_bayes.log_joint([1], priors, conditionals, [0.5])
    assert joint == pytest.approx([math.log(0.75 * 0.5**0.5), math.log(0.25 * 0.9**0.5)], rel=1e-14)
    assert naive_bayes.log_joint([2], priors, conditionals) == priors  # unseen
    posterior = np.exp(naive_bayes.log_posterior(joint))
    assert posterior.sum() == pytest.approx(1, rel=1e-14)


@pytest.mark.parametrize("name", golden.SKLEARN_TABLES)
@pytest.mark.parametrize(("variant", "alpha"), [("alpha1_all", 1.0), ("alpha1_weighted", 1.0), ("alpha0.5_all", 0.5)])
def test_golden_posteriors(name: str, variant: str, alpha: float) -> None:
    values = golden.values("sklearn", name)
    entry = values[f"CategoricalNB_{variant}"]
    _, codes, y = golden.coded_table(name)
    sample_weight = [1 + i % 3 for i in range(len(y))] if variant.endswith("weighted") else None
    classes = naive_bayes.class_counts(y, 2, sample_weight)
    conditionals = [
        naive_bayes.log_conditionals(
            naive_bayes.level_counts(codes[:, k], y, n_levels, 2, sample_weight), alpha, classes
        )
        for k, n_levels in enumerate(values["n_levels"])
    ]
    for levels, expected in zip(conditionals, entry["feature_log_prob"], strict=True):
        np.testing.assert_allclose(np.transpose(levels), expected, rtol=1e-12, atol=1e-12)
    for row, expected in zip(entry["rows_reported"], entry["log_posterior"], strict=True):
        joint = naive_bayes.log_joint(codes[row], naive_bayes.log_priors(classes), conditionals)
        np.testing.assert_allclose(naive_bayes.log_posterior(joint), expected, rtol=1e-12, atol=1e-12)

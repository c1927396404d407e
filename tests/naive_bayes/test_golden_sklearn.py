"""DiscreteNB with Laplace's smoothing against the golden values of scikit-learn's CategoricalNB and BernoulliNB."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayesieve import DiscreteNB
from tests import golden
from tests.reference import naive_bayes

TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}


def read(name: str) -> tuple[dict[str, Any], np.ndarray, np.ndarray, list[int]]:
    """Golden values, codes, class codes and numbers of levels of a table."""
    _, codes, y = golden.coded_table(name)
    values = golden.values("sklearn", name)
    return values, codes, y, values["n_levels"]


def check_parameters(model: DiscreteNB, entry: dict[str, Any]) -> None:
    np.testing.assert_allclose(model.class_log_prior_, entry["class_log_prior"], **TOLERANCE)
    assert len(model.feature_log_prob_) == len(entry["feature_log_prob"])
    for found, expected in zip(model.feature_log_prob_, entry["feature_log_prob"], strict=True):
        np.testing.assert_allclose(found, np.transpose(expected), **TOLERANCE)


def check_predictions(model: DiscreteNB, entry: dict[str, Any], codes: np.ndarray) -> None:
    """Posteriors and labels on the rows reported, and the sums over all rows."""
    assert len(codes) == entry["n_predicted_rows"]
    rows = entry["rows_reported"]
    posterior = model.predict_proba(codes)
    np.testing.assert_allclose(posterior[rows], entry["posterior"], **TOLERANCE)
    np.testing.assert_allclose(model.predict_log_proba(codes)[rows], entry["log_posterior"], **TOLERANCE)
    np.testing.assert_array_equal(model.predict(codes)[rows], entry["predict"])
    np.testing.assert_allclose(posterior.sum(axis=0), entry["sum_posterior_over_all_rows"], rtol=1e-12)
    np.testing.assert_allclose((posterior**2).sum(axis=0), entry["sum_sq_posterior_over_all_rows"], rtol=1e-12)


@pytest.mark.parametrize("name", golden.SKLEARN_TABLES)
@pytest.mark.parametrize(
    ("variant", "parameters"),
    [
        ("alpha1_all", {"smoothing": 1.0}),
        ("alpha0.5_all", {"smoothing": 0.5}),
        ("alpha1_uniform_prior", {"smoothing": 1.0, "fit_prior": False}),
    ],
)
def test_all_rows(name: str, variant: str, parameters: dict[str, Any]) -> None:
    values, codes, y, n_levels = read(name)
    entry = values[f"CategoricalNB_{variant}"]
    model = DiscreteNB(min_categories=n_levels, **parameters).fit(codes, y)
    check_parameters(model, entry)
    check_predictions(model, entry, codes)


@pytest.mark.parametrize("name", golden.SKLEARN_TABLES)
def test_sample_weights(name: str) -> None:
    values, codes, y, n_levels = read(name)
    entry = values["CategoricalNB_alpha1_weighted"]
    sample_weight = 1 + np.arange(len(y)) % 3
    model = DiscreteNB(smoothing=1.0, min_categories=n_levels).fit(codes, y, sample_weight=sample_weight)
    check_parameters(model, entry)
    check_predictions(model, entry, codes)


@pytest.mark.parametrize("name", golden.SKLEARN_TABLES)
def test_integer_weights_are_repeated_rows(name: str) -> None:
    values, codes, y, n_levels = read(name)
    repeats = 1 + np.arange(len(y)) % 3
    model = DiscreteNB(smoothing=1.0, min_categories=n_levels).fit(np.repeat(codes, repeats, axis=0), y.repeat(repeats))
    check_parameters(model, values["CategoricalNB_alpha1_weighted"])


@pytest.mark.parametrize("name", golden.SKLEARN_TABLES)
def test_half_of_the_rows_predicts_the_other_half(name: str) -> None:
    values, codes, y, n_levels = read(name)
    entry = values["CategoricalNB_alpha1_even_train_odd_test"]
    model = DiscreteNB(smoothing=1.0, min_categories=n_levels).fit(codes[::2], y[::2])
    check_parameters(model, entry)
    check_predictions(model, entry, codes[1::2])


@pytest.mark.parametrize("name", golden.SKLEARN_TABLES)
def test_partial_fit_over_blocks_of_rows(name: str) -> None:
    values, codes, y, n_levels = read(name)
    entry = values["CategoricalNB_alpha1_all"]
    model = DiscreteNB(smoothing=1.0, min_categories=n_levels)
    for block in np.array_split(np.arange(len(y)), 5):
        model.partial_fit(codes[block], y[block], classes=[0, 1])
    check_parameters(model, entry)
    check_predictions(model, entry, codes)


def test_some_columns() -> None:
    values, codes, y, n_levels = read("vote")
    entry = values["CategoricalNB_alpha1_subset"]
    columns = [3, 10, 2]
    model = DiscreteNB(smoothing=1.0, min_categories=[n_levels[k] for k in columns]).fit(codes[:, columns], y)
    check_parameters(model, entry)
    check_predictions(model, entry, codes[:, columns])


def test_weights_of_0_and_1_choose_the_columns() -> None:
    values, codes, y, n_levels = read("vote")
    feature_weights = np.zeros(codes.shape[1])
    feature_weights[[3, 10, 2]] = 1
    model = DiscreteNB(smoothing=1.0, min_categories=n_levels, feature_weights=feature_weights).fit(codes, y)
    check_predictions(model, values["CategoricalNB_alpha1_subset"], codes)


def test_binary_columns_equal_bernoulli() -> None:
    values, codes, y, _ = read("vote")
    entry = values["BernoulliNB_alpha1_all"]
    columns = golden.coded_table("vote")[0]
    yes = [golden.level_names("vote")[column].index("y") for column in columns]
    binary = (codes == yes).astype(np.uint8)
    model = DiscreteNB(smoothing=1.0, min_categories=2).fit(binary, y)
    of_one = np.array([levels[1] for levels in model.feature_log_prob_])
    np.testing.assert_allclose(of_one.T, entry["feature_log_prob"], **TOLERANCE)
    check_predictions(model, entry, binary)


@pytest.mark.parametrize("name", golden.SKLEARN_TABLES)
@pytest.mark.parametrize("smoothing", ["m-estimate", 1.0])
def test_feature_weights_match_the_oracle(name: str, smoothing: float | str) -> None:
    _, codes, y, n_levels = read(name)
    feature_weights = np.linspace(0, 1, codes.shape[1])
    model = DiscreteNB(smoothing=smoothing, min_categories=n_levels, feature_weights=feature_weights).fit(codes, y)
    classes = naive_bayes.class_counts(y, 2)
    conditionals = [
        naive_bayes.log_conditionals(naive_bayes.level_counts(codes[:, k], y, n, 2), smoothing, classes)
        for k, n in enumerate(n_levels)
    ]
    expected = [
        naive_bayes.log_posterior(
            naive_bayes.log_joint(row, naive_bayes.log_priors(classes), conditionals, feature_weights)
        )
        for row in codes
    ]
    np.testing.assert_allclose(model.predict_log_proba(codes), expected, **TOLERANCE)

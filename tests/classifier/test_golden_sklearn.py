"""DiscreteNB with Laplace's smoothing against the golden values of scikit-learn's CategoricalNB and BernoulliNB."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bayesieve import DiscreteNB
from tests import golden

TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}
THREE = [3, 10, 2]
Fit = Callable[[DiscreteNB, np.ndarray, np.ndarray], DiscreteNB]


def repeats(y: np.ndarray) -> np.ndarray:
    return 1 + np.arange(len(y)) % 3


def in_blocks(model: DiscreteNB, codes: np.ndarray, y: np.ndarray) -> DiscreteNB:
    for block in np.array_split(np.arange(len(y)), 5):
        model.partial_fit(codes[block], y[block], classes=[0, 1])
    return model


EVERY = slice(None)
CASES: dict[str, tuple[str, dict[str, Any], Fit, slice]] = {
    "alpha 1": ("alpha1_all", {}, lambda m, X, y: m.fit(X, y), EVERY),
    "alpha 1/2": ("alpha0.5_all", {"smoothing": 0.5}, lambda m, X, y: m.fit(X, y), EVERY),
    "uniform prior": ("alpha1_uniform_prior", {"fit_prior": False}, lambda m, X, y: m.fit(X, y), EVERY),
    "weights": ("alpha1_weighted", {}, lambda m, X, y: m.fit(X, y, sample_weight=repeats(y)), EVERY),
    "repeated rows": (
        "alpha1_weighted",
        {},
        lambda m, X, y: m.fit(X.repeat(repeats(y), axis=0), y.repeat(repeats(y))),
        EVERY,
    ),
    "half of the rows": ("alpha1_even_train_odd_test", {}, lambda m, X, y: m.fit(X[::2], y[::2]), slice(1, None, 2)),
    "blocks of rows": ("alpha1_all", {}, in_blocks, EVERY),
}


def check_parameters(model: DiscreteNB, entry: dict[str, Any]) -> None:
    np.testing.assert_allclose(model.class_log_prior_, entry["class_log_prior"], **TOLERANCE)
    for found, expected in zip(model.feature_log_prob_, entry["feature_log_prob"], strict=True):
        np.testing.assert_allclose(found, np.transpose(expected), **TOLERANCE)


def check_predictions(model: DiscreteNB, entry: dict[str, Any], codes: np.ndarray) -> None:
    """Posteriors and labels on the rows reported, and the sums over all rows."""
    assert len(codes) == entry["n_predicted_rows"]
    rows, posterior = entry["rows_reported"], model.predict_proba(codes)
    np.testing.assert_allclose(posterior[rows], entry["posterior"], **TOLERANCE)
    np.testing.assert_allclose(model.predict_log_proba(codes)[rows], entry["log_posterior"], **TOLERANCE)
    np.testing.assert_array_equal(model.predict(codes)[rows], entry["predict"])
    np.testing.assert_allclose(posterior.sum(axis=0), entry["sum_posterior_over_all_rows"], rtol=1e-12)
    np.testing.assert_allclose((posterior**2).sum(axis=0), entry["sum_sq_posterior_over_all_rows"], rtol=1e-12)


@pytest.mark.parametrize("name", golden.SKLEARN_TABLES)
@pytest.mark.parametrize("case", CASES)
def test_categorical(case: str, name: str) -> None:
    variant, options, fit, predicted = CASES[case]
    _, codes, y = golden.coded_table(name)
    values = golden.values("sklearn", name)
    model = fit(DiscreteNB(min_categories=values["n_levels"], **{"smoothing": 1.0} | options), codes, y)
    check_parameters(model, values[f"CategoricalNB_{variant}"])
    check_predictions(model, values[f"CategoricalNB_{variant}"], codes[predicted])


def test_some_columns_chosen_by_hand_or_by_weights_of_0_and_1() -> None:
    _, codes, y = golden.coded_table("vote")
    values = golden.values("sklearn", "vote")
    levels, entry = np.array(values["n_levels"]), values["CategoricalNB_alpha1_subset"]
    model = DiscreteNB(smoothing=1.0, min_categories=levels[THREE]).fit(codes[:, THREE], y)
    check_parameters(model, entry)
    check_predictions(model, entry, codes[:, THREE])
    weights = np.isin(np.arange(codes.shape[1]), THREE).astype(float)
    check_predictions(
        DiscreteNB(smoothing=1.0, min_categories=levels, feature_weights=weights).fit(codes, y), entry, codes
    )


def test_binary_columns_equal_bernoulli() -> None:
    columns, codes, y = golden.coded_table("vote")
    entry = golden.values("sklearn", "vote")["BernoulliNB_alpha1_all"]
    binary = (codes == [golden.level_names("vote")[column].index("y") for column in columns]).astype(np.uint8)
    model = DiscreteNB(smoothing=1.0, min_categories=2).fit(binary, y)
    of_one = np.array([levels[1] for levels in model.feature_log_prob_])
    np.testing.assert_allclose(of_one.T, entry["feature_log_prob"], **TOLERANCE)
    check_predictions(model, entry, binary)

"""Bayes factors of features equal their formula, and shuffled columns are rarely called important."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import expit, logit, softmax
from scipy.stats import beta, multivariate_normal, norm

from bayesieve import SelectiveNB
from bayesieve.evidence.inclusion import (
    LEAST_PROBABILITY,
    TRIED_ROWS_PER_CLASS,
    TRIED_VARIANCES,
    Effects,
    expected_squares,
    expected_squares_of_cells,
    inclusion_probabilities,
    log_bayes_factors,
    log_bayes_of_cells,
    log_bayes_of_curve,
    log_evidence,
    omitted_variances,
)


def test_bayes_factors_are_those_of_integrals() -> None:
    pulls, precisions = np.array([3.0, -1.0]), np.array([10.0, 4.0])
    for variance in TRIED_VARIANCES:
        log_bayes = log_bayes_factors(pulls, precisions, variance).sum()
        factor = 1.0
        for pull, precision in zip(pulls, precisions, strict=True):
            prior = norm(scale=np.sqrt(variance))
            factor *= quad(lambda x, p=pull, h=precision, f=prior: np.exp(p * x - h * x * x / 2) * f.pdf(x), -9, 9)[0]
        assert_allclose(log_bayes, np.log(factor), rtol=1e-6)


def test_evidence_with_other_variances_is_that_of_the_likelihood() -> None:
    likelihood, pull = np.array([[9.0, 3.0], [3.0, 5.0]]), np.array([4.0, -2.0])
    posterior = np.linalg.inv(likelihood + np.eye(2))
    factors = np.array([[1.0, 1.0], [4.0, 0.0], [0.1, 30.0]])
    expected = []
    for of_prior in factors:
        spread = 1.0 / likelihood[0, 0] + of_prior[0], np.linalg.inv(likelihood) + np.diag(of_prior)
        estimates = pull[0] / likelihood[0, 0], np.linalg.solve(likelihood, pull)
        if of_prior[1] == 0.0:  # the first coefficient alone
            normals = [norm.logpdf(estimates[0], scale=np.sqrt(s)) for s in (spread[0], 1.0 / likelihood[0, 0])]
        else:
            normals = [multivariate_normal.logpdf(estimates[1], cov=s) for s in (spread[1], np.linalg.inv(likelihood))]
        expected.append(normals[0] - normals[1])
    logs = log_evidence(np.linalg.cholesky(posterior), posterior @ pull, factors)
    assert_allclose(logs, expected, rtol=1e-9)


def test_squares_are_those_of_integrals() -> None:
    pull, precision = 3.0, 10.0
    squares = expected_squares(np.array([pull]), np.array([precision]), TRIED_VARIANCES)
    for variance, square in zip(TRIED_VARIANCES, squares, strict=True):
        prior = norm(scale=np.sqrt(variance))
        total, of_squares = (
            quad(lambda x, k=k, f=prior: x**k * np.exp(pull * x - precision * x * x / 2) * f.pdf(x), -9, 9)[0]
            for k in (0, 2)
        )
        assert_allclose(square, precision * of_squares / total, rtol=1e-6)


def test_left_out_features_add_what_their_rows_leave_possible() -> None:
    n, sizes = 20, np.broadcast_to(TRIED_VARIANCES, (20, 1, TRIED_VARIANCES.size))
    slight, none = np.full((n, TRIED_VARIANCES.size), 0.5) - TRIED_VARIANCES, np.full((n, TRIED_VARIANCES.size), -3.0)
    unlikely, likely = np.full(n, 0.01), np.full(n, 0.4)

    def variance(logs: np.ndarray, probabilities: np.ndarray) -> float:
        effects = Effects(logs, sizes[: len(logs)])
        squares = np.einsum("kjv,kv->kj", effects.squares, softmax(logs, axis=1))
        return float(omitted_variances(effects, squares, probabilities)[0])

    assert variance(none, unlikely) < 0.2
    assert variance(slight, unlikely) > 0.4  # together they tell that they matter
    assert variance(none, likely) > 2.0
    assert variance(none[:0], unlikely[:0]) == 0.0
    assert variance(slight, likely) == pytest.approx(
        0.6 * variance(slight, np.zeros(n)) + 0.4 * variance(slight, np.ones(n)), abs=1e-3
    )


def test_the_mean_bayes_factor_of_noise_is_at_most_about_one() -> None:
    rng = np.random.default_rng(0)
    factors = []
    for _ in range(2000):
        codes, y = rng.integers(0, 5, 400), rng.integers(0, 2, 400)
        counts = np.bincount(codes * 2 + y, minlength=10).reshape(5, 2).astype(float)
        factors.append([log_bayes_of_cells(counts), log_bayes_of_curve(counts, np.eye(5))])
    assert (np.exp(factors).mean(axis=0) < 1.3).all()
    assert (np.mean(np.array(factors) > np.log(20), axis=0) < 0.05).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_feature_that_decides_the_class_has_a_large_bayes_factor(n_classes: int) -> None:
    counts = np.full((n_classes, n_classes), 5.0) + 60.0 * np.eye(n_classes)
    nothing = np.zeros((n_classes, n_classes))
    assert min(log_bayes_of_cells(counts), log_bayes_of_curve(counts, np.eye(n_classes))) > 20
    assert log_bayes_of_cells(nothing) == log_bayes_of_curve(nothing, np.eye(n_classes)) == 0.0


def test_bayes_factors_of_cells_are_exact() -> None:
    counts, shares = np.array([[3.0, 2.0], [0.0, 4.0], [0.0, 0.0]]), np.array([1.0, 2.0]) / 3.0
    weights = counts.sum(axis=1) / counts.sum()

    def integral(of_cell: np.ndarray, rows: float) -> float:
        prior = beta(*(rows * shares))
        return quad(lambda p: prior.pdf(p) * (p / shares[0]) ** of_cell[0] * ((1 - p) / shares[1]) ** of_cell[1], 0, 1)[
            0
        ]

    def square(of_cell: np.ndarray, rows: float) -> float:
        posterior = beta(*(rows * shares + of_cell))

        def integrand(log_odds: float) -> float:
            p = expit(log_odds)
            return (log_odds - logit(shares[0])) ** 2 * posterior.pdf(p) * p * (1.0 - p)

        # Shares of the first class may be tiny.
        return sum(quad(integrand, low, low + 5)[0] for low in range(-150, 30, 5))

    factors, squares = [], []
    for rows in (2.0 * TRIED_ROWS_PER_CLASS).tolist():
        squares.append(weights[:2] @ [square(of_cell, rows) for of_cell in counts[:2]])
        together = integral(counts.sum(axis=0), (rows + 1.0) / float(weights @ weights) - 1.0)
        factors.append(np.prod([integral(of_cell, rows) for of_cell in counts]) / together)
    assert_allclose(log_bayes_of_cells(counts), np.log(np.mean(factors)), rtol=1e-6)
    assert_allclose(expected_squares_of_cells(counts), np.average(squares, weights=factors), rtol=1e-4)


def test_squares_of_cells_serve_several_and_missing_classes() -> None:
    counts = np.array([[30.0, 0.0, 5.0], [4.0, 0.0, 40.0]])
    first, missing, last = expected_squares_of_cells(counts)
    assert (missing, expected_squares_of_cells(counts[:, :2]).tolist()) == (0.0, [0.0])
    assert first == pytest.approx(last)
    assert first == pytest.approx(expected_squares_of_cells(counts[:, [0, 2]])[0] / 4.0)
    assert expected_squares_of_cells(np.array([[30.0, 5.0], [0.0, 0.0]])).tolist() == [0.0]  # one cell has rows


def test_few_rows_of_a_rare_class_in_a_cell_of_their_own_are_evidence() -> None:
    counts = np.array([[0.0, 3.0], [57.0, 0.0]])
    assert log_bayes_of_cells(counts) > 5
    assert log_bayes_of_cells(counts[:, [1, 0]]) == log_bayes_of_cells(counts)


def test_numbers_that_are_codes_of_categories_stay() -> None:
    random = np.random.default_rng(0)
    is_high = random.permutation(30) < 15
    code, noise = random.integers(0, 30, 300), random.normal(size=300)
    y = random.random(300) < np.where(is_high[code], 0.8, 0.2)
    model = SelectiveNB().fit(pl.DataFrame({"code": code, "noise": noise}), y)
    assert [feature.columns for feature in model.scorecard_.used_features] == [("code",)]


def test_a_column_needs_more_evidence_among_noise() -> None:
    weak = np.log(8.0)
    among_noise = inclusion_probabilities(np.array([weak, *[-1.0] * 30]), 31)
    among_signals = inclusion_probabilities(np.array([weak, *[6.0] * 30]), 31)
    assert among_noise[0] < 0.5 < 0.85 < among_signals[0]
    assert inclusion_probabilities(np.array([weak]), 5000)[0] < 0.01


def test_where_every_column_matters_little_evidence_is_enough() -> None:
    every = inclusion_probabilities(np.array([-0.5, *[4.0] * 19]), 20)
    some = inclusion_probabilities(np.array([-0.5, *[4.0] * 10]), 20)
    assert every[0] > LEAST_PROBABILITY > some[0]

"""Averaged weights, fitted once more to the training rows so that probabilities are not overconfident."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from bayesieve.table import CodedTable

PRIOR_DEVIATION = 0.2
"""Standard deviation of the prior on each weight around its averaged value."""

_MOST_ROWS = 20_000  # rows are enough to fit a few numbers; of more, a sample is taken
_MOST_TERMS = 40_000_000  # rows x features x classes of one evaluation
_LEAST_FACTOR = 1e-3


class WeightedLoss:
    """Log loss of a naive Bayes model as a function of its feature weights, over (a sample of) coded rows.

    Parameters
    ----------
    coded : rows with classes; of more than 20,000 a random sample (always the same) is used.
    log_prob : per feature, (n_levels, n_classes) log P(level | class).
    log_prior : (n_classes,).
    features : positions of the features whose weights are free.
    """

    def __init__(
        self, coded: CodedTable, log_prob: list[np.ndarray], log_prior: np.ndarray, features: np.ndarray
    ) -> None:
        n_classes = log_prior.size
        if coded.class_codes is None:
            raise ValueError("Weights are fitted to rows of known class; code the table together with its target.")
        rows = _sampled_rows(coded, min(_MOST_ROWS, max(1000, _MOST_TERMS // max(1, features.size * n_classes))))
        self._codes = np.stack([np.take(coded.codes_of([k])[0], rows) for k in features])
        self._classes = coded.class_codes[rows].astype(np.int64)
        self._weights = np.ones(rows.size) if coded.weights is None else coded.weights[rows]
        total = coded.n_rows if coded.weights is None else coded.weights.sum()
        if rows.size < coded.n_rows:
            # A sample stands for all rows, so that the prior keeps its share.
            self._weights = self._weights * (total / self._weights.sum())
        self._tables = [log_prob[k] for k in features]
        self._n_levels = np.array([len(table) for table in self._tables], dtype=np.int64)
        self._starts = np.concatenate([[0], np.cumsum([table.size for table in self._tables])])[:-1].astype(np.int64)
        self._log_prior = log_prior

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Sum over rows of -log P(true class) in nats, and its gradient, at these weights."""
        from bayesieve.naive_bayes._kernels import sum_by_level

        evidence = self.evidence(weights)
        loss, residual = self._loss(evidence + self._log_prior)
        sums = np.zeros(sum(table.size for table in self._tables))
        sum_by_level(self._codes, self._n_levels, self._starts, residual, sums)
        gradient = np.array(
            [
                table.ravel() @ sums[start : start + table.size]
                for table, start in zip(self._tables, self._starts, strict=True)
            ]
        )
        return loss, gradient

    def evidence(self, weights: np.ndarray) -> np.ndarray:
        """(n_rows, n_classes) weighted log probabilities of the levels, summed over the features."""
        from bayesieve.naive_bayes._kernels import add_log_probabilities

        table = np.concatenate([w * t.ravel() for w, t in zip(weights, self._tables, strict=True)])
        evidence = np.zeros((self._classes.size, self._log_prior.size))
        add_log_probabilities(self._codes, self._n_levels, self._starts, table, evidence)
        return evidence

    def best_factor(self, weights: np.ndarray) -> float:
        """The factor in (0, 1] on all ``weights`` at which the loss is lowest; the loss is convex in it."""
        evidence = self.evidence(weights)

        def loss(factor: float) -> float:
            return self._loss(self._log_prior + factor * evidence)[0]

        best = minimize_scalar(loss, bounds=(_LEAST_FACTOR, 1.0), method="bounded", options={"xatol": 1e-3})
        return 1.0 if loss(1.0) <= best.fun else float(best.x)

    def _loss(self, joint: np.ndarray) -> tuple[float, np.ndarray]:
        """Loss, and P(class) - 1[true class] of every row times its weight."""
        rows = np.arange(self._classes.size)
        joint -= joint.max(axis=1, keepdims=True)
        true = joint[rows, self._classes]
        np.exp(joint, out=joint)
        normaliser = joint.sum(axis=1)
        joint /= normaliser[:, None]
        joint[rows, self._classes] -= 1.0
        joint *= self._weights[:, None]
        # Not a dot product: linear algebra libraries start threads for it, which wait longer than they compute.
        return float((self._weights * (np.log(normaliser) - true)).sum()), joint


def fit_weights(loss: WeightedLoss, averaged: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights in [0, 1] of highest posterior probability, and the common factor that their prior is centred on.

    Naive Bayes counts what features have in common several times, also after averaging. One factor g on all averaged
    weights takes back what they share on the whole; then the weights move apart as far as the rows ask for: they
    minimise the log loss plus sum_k (w_k - g a_k)^2 / (2 s^2), s = 0.2. Both problems are convex.

    Parameters
    ----------
    averaged : (n_features,) positive weights a_k of the free features, in [0, 1].
    """
    factor = loss.best_factor(averaged)
    centre = factor * averaged

    def posterior(weights: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = loss(weights)
        away = (weights - centre) / PRIOR_DEVIATION
        return value + 0.5 * float(away @ away), gradient + away / PRIOR_DEVIATION

    options = {"maxiter": 100, "ftol": 1e-7, "gtol": 1e-2}
    best = minimize(posterior, centre, jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * centre.size, options=options)
    return np.clip(best.x, 0.0, 1.0), factor


def _sampled_rows(coded: CodedTable, most: int) -> np.ndarray:
    """Row numbers, ascending, of positive weight; ``most`` of them at random where there are more."""
    rows = np.arange(coded.n_rows) if coded.weights is None else np.flatnonzero(coded.weights)
    if rows.size <= most:
        return rows
    return rows[np.sort(np.random.default_rng(0).choice(rows.size, most, replace=False, shuffle=False))]

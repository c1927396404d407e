"""Later selective and weighted naive Bayes classifiers, on the levels of Boullé (2007).

The method of Chen et al. is implemented from the abstract: features are ranked by their mutual information with the
class. That of Zaidi et al. has the two published objectives; weights begin at 1 and are limited to [0, 1], and the
optimizer is SciPy's L-BFGS-B. The fractional naive Bayes of Hue & Boullé (2024) is the classifier of Khiops, which is
run itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from bayesieve import CodedTable, DiscreteNB, SelectiveNB, TableEncoder, WrapperSelector
from bayesieve.search import RankedPath

LIKELIHOOD, SQUARES = "likelihood", "squares"
_MOST_STEPS = 200


class WeightedNB(ClassifierMixin, BaseEstimator):
    """Naive Bayes with a weight in [0, 1] for each feature that minimizes an objective of the training rows (WANBIA).

    Parameters
    ----------
    objective : "likelihood" or "squares"
        Negative conditional log likelihood, or half of the squared errors of all classes.

    Attributes
    ----------
    weights_ : (n_features,)
    n_features_selected_ : int
        Features of positive weight.

    References
    ----------
    Zaidi, Cerquides, Carman & Webb (2013), Alleviating naive Bayes attribute independence assumption by attribute
    weighting, JMLR 14.
    """

    def __init__(self, objective: str = LIKELIHOOD) -> None:
        self.objective = objective

    def new_encoder(self) -> TableEncoder:
        """Return the encoder that ``fit`` would fit."""
        return TableEncoder(prior="published", n_jobs=1)

    def fit(self, X: Any, y: Any) -> WeightedNB:
        """Code the rows of a raw table with class labels ``y`` (n_rows,), and fit the weights."""
        encoder = self.new_encoder()
        return self.fit_coded(encoder.fit_transform_coded(X, y), encoder)

    def fit_coded(self, coded: CodedTable, encoder: Any) -> WeightedNB:
        """Fit to rows that an encoder has coded."""
        self.encoder_ = encoder
        varied = np.flatnonzero(coded.n_levels > 1)
        prior, evidence = evidence_of(coded, varied)
        optimum = minimize(
            partial(loss, prior, evidence, np.asarray(coded.class_codes), self.objective),
            np.ones(varied.size),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, 1.0)] * varied.size,
            options={"maxiter": _MOST_STEPS},
        )
        self.weights_ = np.zeros(coded.n_features)
        self.weights_[varied] = optimum.x
        self.n_features_selected_ = int((self.weights_ > 0).sum())
        self.model_ = DiscreteNB(feature_weights=self.weights_).fit(coded)
        self.classes_ = self.model_.classes_
        return self

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return log probabilities (n_rows, n_classes), for raw or coded rows."""
        return self.model_.predict_log_proba(X if isinstance(X, CodedTable) else self.encoder_.transform_coded(X))


def evidence_of(coded: CodedTable, features: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return log probabilities of the classes, (n_classes,), and log P(level of the row | class) of each feature.

    The latter is a list with an array (n_rows, n_classes) for each of the ``features`` (positions in the table
    ``coded``), up to a constant for each row.
    """
    prior = np.log(coded.counts.class_counts / coded.n_rows)
    evidence = []
    for feature in features.tolist():
        alone = np.zeros(coded.n_features)
        alone[feature] = 1.0
        evidence.append(DiscreteNB(feature_weights=alone).fit(coded).predict_log_proba(coded) - prior)
    return prior, evidence


def loss(
    prior: np.ndarray, evidence: list[np.ndarray], codes: np.ndarray, objective: str, weights: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the objective of weighted naive Bayes on some rows, and its gradient in the weights, (n_features,).

    ``prior`` and ``evidence`` are those of `evidence_of`, ``codes`` (n_rows,) the true classes, ``objective`` as in
    `WeightedNB`, and ``weights`` (n_features,) the weights of the features.
    """
    log_joint = np.tile(prior, (codes.size, 1))
    for weight, part in zip(weights, evidence, strict=True):
        log_joint += weight * part
    log_proba = log_softmax(log_joint, axis=1)
    proba, rows = np.exp(log_proba), np.arange(codes.size)
    away = proba.copy()
    away[rows, codes] -= 1.0
    if objective == LIKELIHOOD:
        value, slope = -float(log_proba[rows, codes].sum()), away
    else:
        value, slope = 0.5 * float((away**2).sum()), proba * (away - (proba * away).sum(axis=1, keepdims=True))
    return value, np.array([np.vdot(slope, part) for part in evidence])


def _one_pass(criterion: str) -> SelectiveNB:
    """Return a classifier that ranks features and selects as many leading ones as have the lowest leave-one-out error.

    ``criterion`` is the name of the error, such as "error" or "brier".
    """
    selector = WrapperSelector(criterion, search=RankedPath(), evaluation="loo", recode=False)
    return SelectiveNB(selector, prior="published", pairs=0, calibrate=False)


SUCCESSORS: Mapping[str, Callable[[], Any]] = {
    "one pass, leave-one-out error": partial(_one_pass, "error"),
    "one pass, leave-one-out squares": partial(_one_pass, "brier"),
    "WANBIA, likelihood": partial(WeightedNB, LIKELIHOOD),
    "WANBIA, squares": partial(WeightedNB, SQUARES),
}
"""Functions that create the successors, by name."""

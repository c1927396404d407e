"""Naive Bayes that decides who gets a letter, with its squared error and profit after each selected feature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LinearRegression, LogisticRegression

from bayesieve import SelectiveNB
from bayesieve_lab.coding import encoder_of
from bayesieve_lab.data_sets.cup98 import AMOUNT, LETTER

N_STEPS = 20
"""Number of features that the paper selects."""
_FAR = 40.0  # log odds beyond which a probability is 0 or 1 for all that follows


class CampaignNB(ClassifierMixin, BaseEstimator):
    """`SelectiveNB` on donors, with the profit of letters to those whose expected gift exceeds the cost of a letter.

    Parameters
    ----------
    model : SelectiveNB
    gifts : columns from which a linear regression, fitted to the training rows that gave, estimates the amount of a
        gift.
    columns : features; None for all columns but the amount.
    steps : whether to measure after each of the first 20 features that the search added.
    response : share of the population that gives, if rows of each class were sampled separately. Levels are fitted to
        unweighted rows; in the search, the probabilities and all measures, rows are weighted to this share. A
        calibrated model is fitted to unweighted rows, and its probabilities are corrected.

    Attributes
    ----------
    n_features_selected_ : number of features.
    """

    def __init__(
        self,
        model: SelectiveNB,
        gifts: tuple[str, ...],
        *,
        columns: tuple[str, ...] | None = None,
        steps: bool = False,
        response: float | None = None,
    ) -> None:
        self.model = model
        self.gifts = gifts
        self.columns = columns
        self.steps = steps
        self.response = response

    def fit(self, X: Any, y: Any) -> CampaignNB:
        """Fit the model to donors ``X``, a polars frame that has a column of the dollars given.

        ``y`` (n_rows,) is 1 for donors who gave, otherwise 0.
        """
        y = np.asarray(y)
        self.model_, self.shift_ = clone(self.model), 0.0
        encoder = encoder_of(self.model)
        coded, refitter = encoder.fit_with_refitter(self._features(X), y)
        if self.response is not None and self.model_.calibrate is False:
            self.model_.fit_coded(coded.with_rows(weights=self._weights(y)), encoder)
        else:
            self.model_.fit_coded(coded, encoder, refitter)
            if self.response is not None:
                self.shift_ = _log_odds(self.response) - _log_odds(y.mean())
        self.classes_ = self.model_.classes_
        self.n_features_selected_ = self.model_.n_features_selected_
        self.regression_ = LinearRegression().fit(self._gifts(X)[y == 1], X[AMOUNT].to_numpy()[y == 1])
        self.on_training_ = self._figures(X, y, "train")
        return self

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return log probabilities that donors ``X`` give nothing and that they give, (n_rows, 2).

        They are not corrected to the share of the population that gives.
        """
        return self.model_.predict_log_proba(self._features(X))

    def fold_figures(self, rows: Any, codes: np.ndarray) -> dict[str, float | None]:
        """Return measures on training and test rows by name.

        They are the squared error (of both classes), the profit in dollars, the share of donors who get a letter, the
        ``slope`` by which log odds of the test rows should be multiplied, and the profit if all donors get a letter.
        ``codes`` (n_rows,) are 1 for those of the test rows ``rows`` that gave.
        """
        return {**self.on_training_, **self._figures(rows, codes, "test")}

    def log_odds(self, X: Any) -> Iterator[np.ndarray]:
        """Yield log odds that donors ``X`` give, (n_rows,), corrected to the share of the population that gives.

        If ``steps`` was set, there is one array after each feature of the search; otherwise only that of the whole
        model.
        """
        if not self.steps:
            log_proba = self.predict_log_proba(X)
            yield log_proba[:, 1] - log_proba[:, 0] + self.shift_
            return
        card, coded = self.model_.scorecard_, self.model_.encoder_.transform_coded(self._features(X))
        prior = card.log_prior
        total = np.full(coded.n_rows, prior[1] - prior[0] + self.shift_)
        if not self.order.size:
            yield total
        for feature in self.order.tolist():
            evidence = card.features[feature].contributions - card.features[feature].unseen
            of_level = np.append(evidence[:, 1] - evidence[:, 0], 0.0)  # a level never seen adds nothing
            total = total + of_level[np.minimum(coded.codes[feature], len(evidence))]
            yield total

    @property
    def order(self) -> np.ndarray:
        """Positions of the features in the order in which the search added them."""
        features = self.model_.trace_.walk_moves(0).feature
        return features[np.sort(np.unique(features, return_index=True)[1])][:N_STEPS]

    def _figures(self, X: Any, y: np.ndarray, part: str) -> dict[str, float | None]:
        """Return measures on the donors ``X`` by name, such as "mse test"; ``part``, "train" or "test", ends the names.

        ``y`` (n_rows,) is 1 for donors who gave, otherwise 0.
        """
        amounts, weights = X[AMOUNT].to_numpy(), self._weights(y)
        gift = self.regression_.predict(self._gifts(X))
        figures: dict[str, float | None] = {f"profit of all {part}": float((weights * (amounts - LETTER)).sum())}
        for step, log_odds in enumerate(self.log_odds(X), start=1):
            p = expit(log_odds)
            mailed = p * gift > LETTER  # equation 2 of the paper
            figures |= (
                last := {
                    f"mse {part}": 2.0 * float(np.average((p - y) ** 2, weights=weights)),
                    f"profit {part}": float((weights * (amounts - LETTER))[mailed].sum()),
                    f"mailed {part}": float(np.average(mailed, weights=weights)),
                }
            )
            if self.steps:
                figures |= {f"{name} {step}": value for name, value in last.items()}
        figures[f"slope {part}"] = _slope(log_odds, y, weights)
        return figures

    def _weights(self, y: np.ndarray) -> np.ndarray:
        """Return row weights, (n_rows,), by which the share of donors who gave becomes that of the population.

        ``y`` (n_rows,) is 1 for donors who gave, otherwise 0. Without a share of the population, all weights are 1.
        """
        if self.response is None:
            return np.ones(y.size)
        share = y.mean()
        return np.where(y == 1, self.response / share, (1 - self.response) / (1 - share))

    def _features(self, X: Any) -> Any:
        """Return the columns of a table that the model may use: all but the dollars given, or those in ``columns``."""
        return X.drop(AMOUNT) if self.columns is None else X.select(self.columns)

    def _gifts(self, X: Any) -> np.ndarray:
        """Return the columns of earlier gifts as numbers, (n_rows, n_gifts); missing ones are 0."""
        gifts: np.ndarray = X.select(self.gifts).cast(float).fill_null(0.0).to_numpy()
        return gifts


def _slope(log_odds: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """Return the slope of a logistic regression of the outcomes on the log odds, both (n_rows,); 1 if these are
    constant.

    ``y`` are the outcomes, 0 or 1, and ``weights`` (n_rows,) row weights. A slope below 1 means that probabilities are
    too extreme.
    """
    x = np.clip(log_odds, -_FAR, _FAR)
    if np.ptp(x) < 1e-9:
        return 1.0
    return float(LogisticRegression(C=1e9).fit(x[:, None], y, sample_weight=weights).coef_[0, 0])


def _log_odds(share: float) -> float:
    """Return the log odds of the probability ``share``."""
    return float(np.log(share / (1 - share)))

"""Classifiers that measure the CPU seconds of a fit, and further measures of a paper."""

from __future__ import annotations

import resource
import time
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LinearRegression

from bayesieve_lab.boulle2007.study import floored_compression_rate
from bayesieve_lab.comparison.folds import log_probabilities
from bayesieve_lab.data_sets.cup98 import AMOUNT, LETTER

FLOORED, SECONDS = "compression_rate_floored", "cpu seconds"


class Timed(ClassifierMixin, BaseEstimator):
    """Classifier whose fits are timed in CPU seconds, those of its child processes included.

    Class labels must be whole numbers from 0.

    Parameters
    ----------
    model : a classifier.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: np.ndarray) -> Timed:
        """Fit the classifier to a table with classes ``y`` (n_rows,), whole numbers from 0, and measure the CPU
        seconds.
        """
        began = _processor_seconds()
        self.model_ = clone(self.model).fit(self._features(X), y)
        self.seconds_ = _processor_seconds() - began
        self.classes_, counts = np.unique(y, return_counts=True)
        self.log_prior_, self.n_rows_ = np.log(counts / y.size), y.size
        self.n_features_selected_ = getattr(self.model_, "n_features_selected_", None)
        return self

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return log probabilities of the classes, (n_rows, n_classes)."""
        log_proba: np.ndarray = self.model_.predict_log_proba(self._features(X))
        return log_proba

    def fold_figures(self, rows: Any, codes: np.ndarray) -> dict[str, float | None]:
        """Return the seconds of the fit, and the compression rate with probabilities of at least 1 / number of test
        rows.

        ``codes`` (n_rows,) are the classes of the test rows ``rows``.
        """
        classes = np.arange(max(int(codes.max()), int(np.max(self.classes_))) + 1)
        log_proba = log_probabilities(self, rows, classes, self.n_rows_)
        prior = np.full(classes.size, np.log(0.5 / self.n_rows_))
        prior[self.classes_] = self.log_prior_
        return {
            FLOORED: floored_compression_rate(log_proba, codes, prior),
            SECONDS: round(self.seconds_, 4),
        }

    def _features(self, X: Any) -> Any:
        """Return the table to which the classifier is fitted."""
        return X


class TimedLetters(Timed):
    """Classifier of donors, with the profit of letters to those whose expected gift exceeds the cost of a letter.

    Rows are polars frames with a column of the dollars given.

    Parameters
    ----------
    model : a classifier of two classes.
    gifts : columns from which a linear regression, fitted to the training rows that gave, estimates the amount of a
        gift.
    response : share of the population that gives; None if the rows are a random sample.
    """

    def __init__(self, model: Any, gifts: tuple[str, ...] = (), response: float | None = None) -> None:
        super().__init__(model)
        self.gifts = gifts
        self.response = response

    def fit(self, X: Any, y: np.ndarray) -> TimedLetters:
        """Fit the classifier and the regression of gifts to donors ``X``, a polars frame.

        ``y`` (n_rows,) is 1 for donors who gave, otherwise 0.
        """
        super().fit(X, y)
        self.regression_ = LinearRegression().fit(self._gifts(X)[y == 1], X[AMOUNT].to_numpy()[y == 1])
        return self

    def fold_figures(self, rows: Any, codes: np.ndarray) -> dict[str, float | None]:
        """Return the measures of `Timed`, the squared error of both classes, and the dollars that the letters earn.

        ``codes`` (n_rows,) are the classes of the test rows ``rows``.
        """
        response = codes.mean() if self.response is None else self.response
        weights = np.where(codes == 1, response / codes.mean(), (1 - response) / (1 - codes.mean()))
        log_proba = self.predict_log_proba(rows)
        shift = 0.0
        if self.response is not None:
            shift = np.log(response / (1 - response)) + self.log_prior_[0] - self.log_prior_[1]
        proba = 1.0 / (1.0 + np.exp(log_proba[:, 0] - log_proba[:, 1] - shift))
        mailed = proba * self.regression_.predict(self._gifts(rows)) > LETTER
        earned = weights * (rows[AMOUNT].to_numpy() - LETTER)
        error = 2.0 * float(np.average((proba - codes) ** 2, weights=weights))
        return super().fold_figures(rows, codes) | {"mse test": error, "profit test": float(earned[mailed].sum())}

    def _features(self, X: Any) -> Any:
        """Return the table without the column of the dollars given, to which the classifier is fitted."""
        return X.drop(AMOUNT)

    def _gifts(self, X: Any) -> np.ndarray:
        """Return the columns of earlier gifts as numbers, (n_rows, n_gifts); missing ones are 0."""
        gifts: np.ndarray = X.select(self.gifts).cast(float).fill_null(0.0).to_numpy()
        return gifts


class TimedCampaign(Timed):
    """A `CampaignNB` that is timed; it measures its squared error and profit itself."""

    def fold_figures(self, rows: Any, codes: np.ndarray) -> dict[str, float | None]:
        """Return the measures of `Timed` and of the model, without those after each feature.

        ``codes`` (n_rows,) are the classes of the test rows ``rows``.
        """
        figures = self.model_.fold_figures(rows, codes)
        return super().fold_figures(rows, codes) | {name: figures[name] for name in ("mse test", "profit test")}


def _processor_seconds() -> float:
    """Return the CPU seconds of this process and of its ended children so far."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime

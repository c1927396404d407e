"""Boosted selection that takes calibration into account, proposed as further work by Gidofalvi & Zadrozny
(section 5).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from bayesieve.counts import CodedTable, ContingencyCounts, Smoothing
from bayesieve.counts.contingency import JointCodes, log_probabilities_of_all
from bayesieve.parts import Allowed, Score
from bayesieve.search import Clock, SearchTrace, TraceRecorder, WalkStart
from bayesieve.selection.base import SHARED_OPTIONS, CodedSelector

_TIE = 1e-12
_NO_PENALTY = 1e9


class CalibratedBoosting(CodedSelector):
    """Selector that adds the feature on whose levels the calibrated probabilities of the current model err most.

    Each round scores the training rows by naive Bayes on the features selected so far, and calibrates the scores by a
    logistic regression of one slope and an intercept, p = P(y = 1 | score). Rows get the weight |y - p|. As in the
    boosted search of the paper, every other feature then learns its own naive Bayes under the weights, with the
    confidence h = 2 s - 1, and the feature of largest edge, the weighted mean of y h with y = +1 or -1, is selected.

    The weighted classes differ by the sum of y - p on the rows of a level. Without smoothing, an edge thus sums the
    squared calibration errors of the levels of a feature, each divided by the weight of its level: it is 0 if the
    calibrated probabilities are right on average in every level.

    Parameters
    ----------
    n_features_to_select : int, default=10
    smoothing : "m-estimate" or float, default="m-estimate"
        Smoothing of the probabilities of each feature. Row weights sum to the number of rows.

    Attributes
    ----------
    trace_ : SearchTrace
        Features in the order of their selection, with their edges.
    """

    name = "calibrated-boosting"
    title = "boosted search by calibration errors"
    sentence = "Features were selected on whose levels the calibrated probabilities of the others erred most."
    scores = (Score("edge", of="round"),)
    chooses_on_path = False

    _allowed = SHARED_OPTIONS | {"n_features_to_select": Allowed.count()}

    n_features_to_select: int = 10
    _: KW_ONLY
    max_seconds: float | None = None
    smoothing: Smoothing = "m-estimate"
    encoder: Any = "modl"

    def _search(self, coded: CodedTable) -> np.ndarray:
        """Select features of coded rows, and set ``trace_``.

        Returns an array (n_features,) that is 1 for selected features and 0 for others.
        """
        if coded.n_classes != 2:
            raise ValueError(f"CalibratedBoosting needs two classes, got {coded.n_classes}.")
        coded, clock = coded.by_class, Clock(self.max_seconds, None)
        y, row_weights = np.asarray(coded.class_codes), coded.weights
        weights = np.ones(coded.n_rows) if row_weights is None else row_weights.astype(float)
        joint, total = JointCodes.of(coded), float(weights.sum())
        contributions = self._log_ratios(joint.weigh(weights, np.arange(2)), total)
        recorder, score, waiting = TraceRecorder(WalkStart.empty(1.0)), np.zeros(coded.n_rows), coded.n_levels > 1
        ended = f"with {self.n_features_to_select} features"
        with clock:
            while len(recorder.steps) < self.n_features_to_select and not clock.stops():
                errors = weights * np.abs(y - calibrated(score, y, weights))
                edges = np.where(waiting, self._edges(joint, errors * (total / errors.sum()), total), 0.0)
                best = int(np.argmax(edges >= edges.max() - _TIE))
                if edges[best] <= _TIE:
                    ended = "when the probabilities were calibrated on the levels of every other feature"
                    break
                recorder.record_one(best, True, float(edges[best]), clock.seconds)
                waiting[best] = False
                of_level = np.append(contributions[joint.offsets[best] : joint.offsets[best + 1]], 0.0)
                score += of_level[np.minimum(coded.codes[best], of_level.size - 1)]
        chosen = (coded.n_levels > 1) & ~waiting
        self.trace_ = SearchTrace.of(
            coded.names,
            [recorder],
            complete=clock.complete,
            seconds=clock.seconds,
            n_models=1 + len(recorder.steps) * coded.n_features,
            criterion_name="edge",
            lower_is_better=False,
            chosen=chosen,
            ended=ended if clock.complete else None,
        )
        return chosen.astype(float)

    def _log_ratios(self, counts: ContingencyCounts, total: float) -> np.ndarray:
        """Return log P(level | 1) - log P(level | 0), (n_levels,), for the levels of all features, one feature after
        the other.

        ``counts`` are row weights by level and class, ``total`` is the weight of all rows.
        """
        logs = log_probabilities_of_all(counts.counts, counts.offsets, total, self.smoothing)
        return logs[:, 1] - logs[:, 0]

    def _edges(self, joint: JointCodes, weights: np.ndarray, total: float) -> np.ndarray:
        """Return the edge of every feature, (n_features,): the weighted mean of y h, with y = +1 or -1 and its
        confidence h.

        ``joint`` are the coded rows, prepared for weighted counts; ``weights`` (n_rows,) are row weights that sum to
        ``total``.
        """
        counts = joint.weigh(weights, np.arange(2))
        of_zero, of_one = counts.class_counts
        confidence = np.tanh(0.5 * (np.log(of_one / of_zero) + self._log_ratios(counts, total)))
        of_level = np.repeat(np.arange(counts.n_features), np.diff(counts.offsets))
        gains = confidence * (counts.counts[:, 1] - counts.counts[:, 0])
        edges: np.ndarray = np.bincount(of_level, gains, counts.n_features) / total
        return edges


def calibrated(score: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return P(y = 1 | score) of each row, (n_rows,), by a logistic regression with one slope and an intercept.

    ``score``, ``y`` (0 or 1) and the row weights ``weights`` have shape (n_rows,). If all scores are equal, the result
    is the weighted share of ones.
    """
    if np.ptp(score) == 0.0:
        return np.full(y.size, np.average(y, weights=weights))
    model = LogisticRegression(C=_NO_PENALTY).fit(score[:, None], y, sample_weight=weights)
    proba: np.ndarray = model.predict_proba(score[:, None])[:, 1]
    return proba

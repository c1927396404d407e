"""Scores of a model period by period, and comparison with a challenger in each period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2

from bayesieve.evaluation.drift import population_stability
from bayesieve.evaluation.evaluating import Challenge, Segment, challenge
from bayesieve.evaluation.judged import EvaluatedRows
from bayesieve.evaluation.performance import Performance
from bayesieve.statistics import metrics
from bayesieve.table.frames import take_rows


def score_by_period(performance: Performance, baseline: EvaluatedRows | None = None) -> list[dict[str, Any]]:
    """Return measures of the score for each period, as dicts.

    Parameters
    ----------
    performance : performance on labelled rows. Periods are the groups of the first entry of its ``rows.segments``.
    baseline : rows whose scores are the reference of the stability index, such as the training rows; None for the rows
        of the first period.

    Returns
    -------
    list of dict
        ``period``, ``rows``, mean ``predicted`` probability of the positive class (with more than two classes, of the
        predicted class) and ``observed`` share, ``auc`` with its 95 % interval from ``low`` to ``high``, and ``psi``,
        the population stability index of ten bands of the score. ``psi_chance`` is the 95 % quantile of the index for
        samples of the same size from the baseline.
    """
    rows = performance.rows
    _, group, labels = rows.segments[0]
    two, place = rows.classes.size == 2, 1 if rows.positive is None else rows.positive
    score = _scores(rows)
    hit = performance.labels == (place if two else rows.decided)
    present = np.unique(group).tolist()
    first = np.flatnonzero(group == present[0])
    standard = score[first] if baseline is None else _scores(baseline)
    weights = rows.weights if baseline is None else baseline.weights
    of_standard = weights[first] if baseline is None and weights is not None else weights
    of_all = np.ones(standard.size) if of_standard is None else of_standard
    cuts = np.unique(np.quantile(standard, np.arange(1, 10) / 10))
    before = np.bincount(np.searchsorted(cuts, standard), of_all, cuts.size + 1)
    periods = []
    for k in present:
        period_rows = np.flatnonzero(group == k)
        counted = np.ones(period_rows.size) if rows.weights is None else rows.weights[period_rows]
        now = np.bincount(np.searchsorted(cuts, score[period_rows]), counted, cuts.size + 1)
        ((_, _, (auc, low, high)),) = Segment.of(rows, period_rows, 0.95).measures(("auc",))
        line = {"period": labels[k], "rows": float(counted.sum())}
        line |= {"predicted": float(np.average(score[period_rows], weights=counted))}
        line |= {"observed": float(np.average(hit[period_rows], weights=counted)), "auc": auc, "low": low, "high": high}
        sizes = [metrics.effective_rows(period_rows, period_rows.size) for period_rows in (counted, of_all)]
        chance = float(chi2.ppf(0.95, cuts.size)) * sum(1.0 / size for size in sizes)
        periods.append(line | {"psi": float(population_stability(now, before)), "psi_chance": chance})
    return periods


def _scores(rows: EvaluatedRows) -> np.ndarray:
    """Return the score of each row, shape (n_rows,): the probability of the positive one of two classes, otherwise that
    of the predicted class.
    """
    probability = rows.probability
    if rows.classes.size != 2:
        return np.asarray(probability.max(axis=1))
    return np.asarray(probability[:, 1 if rows.positive is None else rows.positive])


@dataclass(frozen=True)
class Challenged:
    """Comparison of a champion (the model in use) with a challenger: ``whole`` on all rows, and ``periods`` as one dict
    per period.

    Each dict has ``period``, ``rows`` and the AUC of both models. It also has the number and the positive rate of the
    rows that only the challenger selects (swap in), and of those that only the champion selects (swap out).
    """

    whole: Challenge
    periods: Sequence[dict[str, Any]]


def challenged(champion: Any, challenger: Any, X: Any, rows: EvaluatedRows, by_period: bool) -> Challenged:
    """Compare a challenger with the champion on the same rows, overall and, if ``by_period``, in each period.

    ``X`` holds the columns that both models need. ``rows`` are the same rows with labels; periods are the groups of the
    first entry of its ``segments``.
    """
    labels = rows.classes[np.asarray(rows.labels)]
    positive = rows.classes[rows.positive] if rows.classes.size == 2 and rows.positive is not None else None

    def compared(positions: np.ndarray | None = None) -> Challenge:
        """Return the comparison on the rows at these positions, by default on all."""
        at = slice(None) if positions is None else positions
        weights = None if rows.weights is None else rows.weights[at]
        given = X if positions is None else take_rows(X, positions)
        return challenge(champion, challenger, given, labels[at], positive=positive, sample_weight=weights)

    periods = []
    for k, label in enumerate(rows.segments[0][2] if by_period else ()):
        period_rows = np.flatnonzero(rows.segments[0][1] == k)
        if period_rows.size:
            comparison = compared(period_rows)
            aucs = {
                name: line for *line, name in comparison.tests.select("champion", "challenger", "measure").iter_rows()
            }
            line = {"period": label, "rows": period_rows.size}
            line |= dict(zip(("AUC champion", "AUC challenger"), aucs.get("auc", (None, None)), strict=True))
            for name, n, rate in (
                () if comparison.swaps is None else comparison.swaps.select("set", "rows", "event_rate").rows()
            ):
                if name.startswith("swap"):
                    line |= {name: n, f"share of {positive}, {name}": rate}
            periods.append(line)
    return Challenged(compared(), periods)

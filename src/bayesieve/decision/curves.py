"""Profit, gains and lift curves against the share of rows contacted, and calibration of probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesieve.decision.benefits import column_of_numbers, positions_in, read_benefits
from bayesieve.parts import with_shared_docs
from bayesieve.selection.base import seed_of
from bayesieve.statistics import metrics
from bayesieve.table import as_sample_weight, as_target
from bayesieve.words import ShortRepr

_BAND_POINTS = 1000


@dataclass(frozen=True, repr=False)
class ProfitCurve(ShortRepr):
    """Profit against the share of rows contacted, highest scores first.

    The first entry is for contacting nobody, then there is one entry per distinct score.

    Attributes
    ----------
    share : float array, shape (n_points,)
        Weighted share of the rows that are contacted, from 0 to 1.
    threshold : float array, shape (n_points,)
        Score from which rows are contacted, in the unit of the scores; infinite for nobody. It is a probability only if
        the scores are probabilities. For `BenefitClassifier.profit_curve`, it is an expected gain in the unit of the
        benefits.
    profit : float array, shape (n_points,)
        Benefit of contacting exactly these rows, summed over all rows, in the unit of the benefits.
    low, high : float arrays, shape (n_points,)
        Pointwise bootstrap interval of ``profit`` at the same threshold.
    """

    share: np.ndarray
    threshold: np.ndarray
    profit: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @property
    def best(self) -> int:
        """Position of the entry with the largest profit; of several equal ones, that with the smallest
        share of rows.
        """
        return int(self.profit.argmax())

    def _facts(self) -> dict[str, Any]:
        """Return the number of points and the best one, which the repr shows, by name."""
        best = {name: getattr(self, name)[self.best] for name in ("profit", "share", "threshold")}
        return {"n_points": self.share.size} | {f"best_{name}": value for name, value in best.items()}

    def _head(self) -> dict[str, Any]:
        """Return the points at every tenth of the rows as a mapping from column titles to values, for the table in
        notebooks.
        """
        return _evenly(self)


@dataclass(frozen=True, repr=False)
class GainsCurve(ShortRepr):
    """Cumulative gains and lift against the share of rows contacted, with entries as in `ProfitCurve`.

    Attributes
    ----------
    share, threshold : float arrays, shape (n_points,)
        Share of rows contacted, and the score from which rows are contacted.
    gain : float array, shape (n_points,)
        Share of all positive rows that are contacted.
    lift : float array, shape (n_points,)
        ``gain / share``: the rate of positive rows among the contacted rows divided by their rate among all rows; NaN
        for nobody.
    """

    share: np.ndarray
    threshold: np.ndarray
    gain: np.ndarray
    lift: np.ndarray

    def _facts(self) -> dict[str, Any]:
        """Return the attributes that the repr shows, by name."""
        gains = np.interp([0.1, 0.5], self.share, self.gain)
        return {"n_points": self.share.size, "gain_of_best_tenth": gains[0], "gain_of_best_half": gains[1]}

    def _head(self) -> dict[str, Any]:
        """Return the points at every tenth of the rows as a mapping from column titles to values, for the table in
        notebooks.
        """
        return _evenly(self)


def _evenly(curve: ProfitCurve | GainsCurve) -> dict[str, Any]:
    """Return the points of a curve at every tenth of the rows as a mapping from column titles to values."""
    at = np.unique(np.searchsorted(curve.share, np.arange(1, 11) / 10 - 1e-9))
    return {name: values[at] for name, values in vars(curve).items()}


@with_shared_docs
def profit_curve(
    y: Any,
    score: Any,
    *,
    benefit: Any,
    amount: Any = None,
    amount_benefit: Any = None,
    classes: Any = None,
    sample_weight: Any = None,
    n_bootstrap: int = 200,
    confidence: float = 0.95,
    random_state: Any = None,
) -> ProfitCurve:
    """Return the profit of contacting the rows with the highest scores, for every share of rows.

    Parameters
    ----------
    y : array-like, shape (n_rows,)
        True classes.
    score : array-like, shape (n_rows,)
        Expected gain from contact, or a probability; rows of equal score are contacted together.
    benefit : matrix or cells
        Benefits of two decisions, in the order not to contact the row, to contact it; shapes as for `total_benefit`.
    amount, amount_benefit, classes : optional
        As in `total_benefit`.
    sample_weight : array-like, shape (n_rows,), optional
        Weight of each row: a weight of 2 equals the row repeated.
    n_bootstrap : int, default=200
        Number of bootstrap samples for the interval; with 0, its ends are NaN.
    confidence : float, default=0.95
        Share of the bootstrap samples within the interval at each threshold.

    Returns
    -------
    ProfitCurve

    Raises
    ------
    ValueError
        If shapes do not match, scores are missing, or there are not two decisions.

    Examples
    --------
    >>> from bayesieve import profit_curve
    >>> curve = profit_curve([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.5], benefit=[[0, 0], [-1, 3]])
    >>> curve.share.tolist(), curve.profit.tolist()
    ([0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 3.0, 2.0, 5.0, 4.0])
    >>> float(curve.threshold[curve.best])
    0.4
    """
    classes_of_benefits = as_target(y).classes if classes is None else np.asarray(classes)
    codes = positions_in(y, classes_of_benefits, "y")
    benefits = read_benefits(
        benefit, len(classes_of_benefits), codes.size, amount=amount, amount_benefit=amount_benefit
    )
    if benefits.n_decisions != 2:
        raise ValueError(
            f"A profit curve needs two decisions, but benefit has {benefits.n_decisions} rows; give two rows."
        )
    if not isinstance(n_bootstrap, (int, np.integer)) or n_bootstrap < 0:
        raise ValueError(f"n_bootstrap must be a whole number, at least 0, got {n_bootstrap!r:.80}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r:.80}.")
    uncontacted = benefits.realised(np.zeros(codes.size, dtype=np.int64), codes)
    gained = benefits.realised(np.ones(codes.size, dtype=np.int64), codes) - uncontacted
    order, ends, threshold, weights = _ranked(score, codes.size, sample_weight)
    uncontacted, gained = uncontacted[order] * weights, gained[order] * weights
    profit = uncontacted.sum() + np.r_[0.0, np.cumsum(gained)[ends]]
    low, high = _band(uncontacted, gained, ends, n_bootstrap, confidence, seed_of(random_state))
    share = np.r_[0.0, np.cumsum(weights)[ends] / weights.sum()]
    return ProfitCurve(share, threshold, profit, low, high)


def gains_curve(y: Any, score: Any, *, pos_label: Any = None, sample_weight: Any = None) -> GainsCurve:
    """Return the share of all positive rows among the rows with the highest scores, and the lift over random contact.

    Parameters
    ----------
    y : array-like, shape (n_rows,)
        True classes.
    score : array-like, shape (n_rows,)
        Score by which rows are ranked, such as the probability of the positive class; rows of equal score are contacted
        together.
    pos_label : label, optional
        Positive class; by default the second of two classes.
    sample_weight : array-like, shape (n_rows,), optional
        Weight of each row: a weight of 2 equals the row repeated.

    Returns
    -------
    GainsCurve

    Raises
    ------
    ValueError
        If shapes do not match, scores are missing, or no row is positive.

    Examples
    --------
    >>> from bayesieve import gains_curve
    >>> curve = gains_curve([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.5])
    >>> curve.gain.tolist(), curve.lift[1:].round(2).tolist()
    ([0.0, 0.5, 0.5, 1.0, 1.0], [2.0, 1.0, 1.33, 1.0])
    """
    hit = positive_rows(y, pos_label)
    order, ends, threshold, weights = _ranked(score, hit.size, sample_weight)
    positive = np.cumsum(hit[order] * weights)
    if not positive[-1] > 0:
        raise ValueError("No row of the positive class has a weight above 0; check y, pos_label and the weights.")
    share = np.cumsum(weights)[ends] / weights.sum()
    gain = positive[ends] / positive[-1]
    return GainsCurve(np.r_[0.0, share], threshold, np.r_[0.0, gain], np.r_[np.nan, gain / share])


def _ranked(score: Any, n_rows: int, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rank the rows of positive weight by descending score.

    ``score`` and ``sample_weight`` have shape (n_rows,); ``sample_weight`` may be None.

    Returns
    -------
    order : (n_ranked,) positions of the ranked rows in ``score``.
    ends : (n_distinct,) position of the last row of each run of equal scores in the ranking.
    thresholds : (n_distinct + 1,) infinity, then the distinct scores in descending order.
    weights : (n_ranked,) weights of the ranked rows.
    """
    scores = column_of_numbers(score, "score", n_rows)
    if np.isnan(scores).any():
        raise ValueError(f"score is missing in row {int(np.isnan(scores).argmax())}; give every row a number.")
    weights = as_sample_weight(sample_weight, n_rows)
    positions = np.arange(n_rows) if weights is None else np.flatnonzero(weights)
    order = positions[np.argsort(-scores[positions], kind="stable")]
    ranked = scores[order]
    ends = np.r_[np.flatnonzero(ranked[1:] != ranked[:-1]), ranked.size - 1]
    return order, ends, np.r_[np.inf, ranked[ends]], np.ones(n_rows) if weights is None else weights[order]


def _band(
    uncontacted: np.ndarray, gained: np.ndarray, ends: np.ndarray, n_bootstrap: int, confidence: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and upper ends of a pointwise bootstrap interval of the profit, two arrays of shape (n_points,).

    Quantiles are computed at about `_BAND_POINTS` thresholds and interpolated between them, which bounds the time.

    Parameters
    ----------
    uncontacted, gained : (n_rows,) profit without contact, and its increase by contact, of each row in the order of
        contact.
    ends : (n_points - 1,) position of the last row of each run of equal scores.
    n_bootstrap, confidence, seed : number of samples, confidence level in (0, 1), and seed of the generator.
    """
    n_points = ends.size + 1
    if n_bootstrap == 0:
        return np.full(n_points, np.nan), np.full(n_points, np.nan)
    at = np.unique(np.linspace(0, ends.size - 1, min(ends.size, _BAND_POINTS)).astype(np.int64))
    n_rows, rng = gained.size, np.random.default_rng(seed)
    segment = np.searchsorted(ends[at], np.arange(n_rows))
    profits = np.empty((n_bootstrap, at.size + 1))
    for b in range(n_bootstrap):
        times = np.bincount(rng.integers(n_rows, size=n_rows), minlength=n_rows)
        profits[b, 0] = times @ uncontacted
        profits[b, 1:] = profits[b, 0] + np.cumsum(np.bincount(segment, times * gained, minlength=at.size))
    places, tail = np.r_[0, at + 1], (1 - confidence) / 2
    edges = np.quantile(profits, (tail, 1 - tail), axis=0)
    low, high = (np.interp(np.arange(n_points), places, edge) for edge in edges)
    return low, high


@dataclass(frozen=True, repr=False)
class Calibration(ShortRepr):
    """Predicted probabilities of one class compared with its observed share.

    Attributes
    ----------
    predicted, observed : float arrays, shape (n_bins,)
        Mean predicted probability and observed share of the class in each bin that has rows.
    low, high : float arrays, shape (n_bins,)
        Wilson's confidence interval of ``observed``.
    count : int array, shape (n_bins,)
        Number of rows in each bin.
    brier : float
        Brier score: mean over rows of (P(class | x) - t)^2, where t is 1 for rows of the class, otherwise 0.
    calibration : float
        Mean over rows of (predicted - observed)^2 of their bin; 0 if the probabilities are calibrated.
    refinement : float
        Mean over rows of observed (1 - observed) of their bin; 0 if each bin contains only rows of the class or none.
        ``brier`` is ``calibration + refinement`` plus the variation of predictions within bins (DeGroot & Fienberg
        1983).
    expected_calibration_error : float
        Mean over rows of \\|predicted - observed\\| of their bin.
    """

    predicted: np.ndarray
    observed: np.ndarray
    low: np.ndarray
    high: np.ndarray
    count: np.ndarray
    brier: float
    calibration: float
    refinement: float
    expected_calibration_error: float

    def _facts(self) -> dict[str, Any]:
        """Return the scores that the repr shows, by name."""
        names = ("brier", "calibration", "refinement", "expected_calibration_error")
        return {"n_rows": self.count.sum(), "n_bins": self.count.size} | {name: getattr(self, name) for name in names}

    def _head(self) -> dict[str, Any]:
        """Return the first bins as a mapping from column titles to values, for the table in notebooks."""
        return {name: getattr(self, name)[:10] for name in ("predicted", "observed", "low", "high", "count")}


def calibration_summary(
    y: Any,
    probability: Any,
    *,
    pos_label: Any = None,
    n_bins: int | None = 10,
    confidence: float = 0.95,
    sample_weight: Any = None,
) -> Calibration:
    """Return the reliability diagram, the expected calibration error, and the Brier score split into calibration and
    refinement.

    Parameters
    ----------
    y : array-like, shape (n_rows,)
        True classes.
    probability : array-like, shape (n_rows,)
        Predicted probability of the class ``pos_label``, in [0, 1], preferably for rows that the model was not trained
        on.
    pos_label : label, optional
        Class that ``probability`` refers to; by default the second of two classes.
    n_bins : int or None, default=10
        Number of bins of equal width in [0, 1]. None: one bin per distinct probability, for models that predict few
        distinct values.
    confidence : float, default=0.95
        Confidence level of the interval in each bin.
    sample_weight : array-like, shape (n_rows,), optional
        Weight of each row: a weight of 2 equals the row repeated.

    Returns
    -------
    Calibration

    Raises
    ------
    ValueError
        If shapes do not match, a probability is missing or outside [0, 1], or the class is unknown.

    References
    ----------
    DeGroot and Fienberg (1983), The comparison and evaluation of forecasters, The Statistician 32.

    Examples
    --------
    >>> from bayesieve import calibration_summary
    >>> summary = calibration_summary([0, 1, 1, 1], [0.2, 0.2, 0.8, 0.8], n_bins=None)
    >>> summary.observed.tolist(), round(summary.calibration, 3), round(summary.refinement, 3), round(summary.brier, 3)
    ([0.5, 1.0], 0.065, 0.125, 0.19)
    """
    if n_bins is not None and (not isinstance(n_bins, (int, np.integer)) or n_bins < 1):
        raise ValueError(f"n_bins must be a whole number, at least 1, or None, got {n_bins!r:.80}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r:.80}.")
    hit = positive_rows(y, pos_label)
    predicted = column_of_numbers(probability, "probability", hit.size)
    outside = ~((predicted >= 0) & (predicted <= 1))
    if outside.any():
        row = int(outside.argmax())
        raise ValueError(f"probability is {predicted[row]:g} in row {row}; it must lie in [0, 1].")
    weights = as_sample_weight(sample_weight, hit.size)
    if weights is not None:
        rows = weights > 0
        predicted, hit, weights = predicted[rows], hit[rows], weights[rows]
    bins = metrics.reliability(predicted, hit, weights, n_bins, confidence)
    means, shares, count, low, high, weight = (np.array(column) for column in zip(*bins, strict=True))
    of_rows = weight / weight.sum()
    return Calibration(
        predicted=means,
        observed=shares,
        low=low,
        high=high,
        count=count,
        brier=float(np.average((predicted - hit) ** 2, weights=weights)),
        calibration=float(of_rows @ (means - shares) ** 2),
        refinement=float(of_rows @ (shares * (1 - shares))),
        expected_calibration_error=float(of_rows @ np.abs(means - shares)),
    )


def positive_rows(y: Any, pos_label: Any) -> np.ndarray:
    """Return a mask (n_rows,) of the rows whose class is ``pos_label``; by default the second of two classes.

    Raise ValueError if no row has this class.
    """
    target = as_target(y)
    labels = target.classes.tolist()
    if pos_label is None:
        if target.n_classes != 2:
            raise ValueError(f"y has {target.n_classes} classes; name the positive one as pos_label.")
        pos_label = labels[1]
    if pos_label not in labels:
        raise ValueError(f"pos_label is {pos_label!r}, which no row of y has; give one of its labels.")
    return np.asarray(target.codes == labels.index(pos_label))

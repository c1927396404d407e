"""Performance measures of a model on labelled rows, overall and by segment, with confidence intervals; comparison of
two models.

An estimate is a tuple of value, lower and upper end of its confidence interval.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from bayesieve.evaluation.judged import EvaluatedRows, grouped_rows
from bayesieve.forking import refuse_fork
from bayesieve.parts import Allowed, check_allowed
from bayesieve.scorecard.probabilities import check_level
from bayesieve.statistics import metrics
from bayesieve.statistics.calibration import calibration_intercept, calibration_slope
from bayesieve.table.frames import in_library, library_of, results_frame
from bayesieve.table.target import class_position
from bayesieve.table.values import canonical_text
from bayesieve.words import ShortRepr, named

Estimate = tuple[float, float, float]
"""Estimated value and the lower and upper end of its confidence interval."""
RATES = ("selection_rate", "true_positive_rate", "false_positive_rate")
_UNKNOWN: Estimate = (float("nan"),) * 3
_SHARE = Allowed("lie between 0 and 1", (None,), Real, 0.0, 1.0)
_HEAD, _ENDS = ("segment", "by", "rows", "class", "measure"), ("value", "low", "high")


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(ShortRepr):
    """Performance measures of a model by segment, the result of `evaluate`.

    Attributes
    ----------
    measures : polars.DataFrame
        Table of `to_frame`, always as a polars dataframe.
    gaps : polars.DataFrame
        One row per segment, class and rate: its ``value`` in the segment, its value in all ``others``, their difference
        ``gap``, and the interval of the gap from ``low`` to ``high`` (Newcombe 1998).
    """

    measures: Any
    gaps: Any
    library: str = field(default="polars", repr=False)

    def _facts(self) -> dict[str, Any]:
        """Return the facts that ``repr`` shows, by name."""
        n_segments = self.measures["segment"].n_unique() - 1
        return {"segments": n_segments} | dict(self.measures.select("measure", "value").head(4).iter_rows())

    def to_frame(self) -> Any:
        """Return one row per segment and measure, starting with the measures of all rows.

        Columns are ``segment`` (text), ``by``, ``rows``, ``class``, ``measure``, ``value``, ``low`` and ``high``; the
        last two are null if there are too few rows for an interval. The result is a pandas or pyarrow table if the rows
        were one, otherwise a polars dataframe.
        """
        return in_library(self.measures, self.library)


def evaluate(
    model: Any, X: Any, y: Any, by: Any = None, level: float = 0.95, sample_weight: Any = None, *, every: str = "month"
) -> Evaluation:
    """Measure the performance of a model on labelled rows, overall and by segment.

    Parameters
    ----------
    model : SelectiveNB, Scorecard, or any classifier with ``predict_proba`` and ``classes_``
        Fitted model.
    X : dataframe or array
        Rows, preferably not used in training.
    y : array-like or str
        Class labels, or the name of their column; rows without a label are skipped.
    by : array-like or str, optional
        Segment of each row, or the name of the column; dates are grouped by ``every``. None: only all rows together.
    level : float, default=0.95
        Confidence level of the intervals.
    sample_weight : array-like or str, optional
        Weights of the rows, or the name of their column; a weight of 2 equals the row repeated.
    every : {"day", "week", "month", "quarter", "year"}, default="month"
        Period by which dates in ``by`` are grouped.

    Returns
    -------
    Evaluation
        Result with ``to_frame()`` and ``gaps``. Measures of all classes together are ``accuracy``,
        ``balanced_accuracy``, ``auc`` (with DeLong's interval; for more than two classes, one against the rest,
        weighted by class share), ``gini``, ``log_loss`` (nats per row), ``brier`` (as in scikit-learn) and
        ``compression_rate`` (1 minus log loss divided by the entropy of the classes). Measures of the positive one of
        two classes, or of each of more classes against the rest, are ``ks``, ``calibration`` (mean probability minus
        share), ``calibration_slope`` and ``calibration_intercept`` (1 and 0 for calibrated probabilities; the intercept
        is estimated with slope 1) and, for the predicted classes, ``selection_rate``, ``true_positive_rate`` and
        ``false_positive_rate``.

    Raises
    ------
    ValueError
        If a column is missing, no row has a label, or a label is not a class of the model.

    Examples
    --------
    >>> from bayesieve import SelectiveNB, evaluate
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = SelectiveNB().fit(X[::2], y[::2])
    >>> auc = evaluate(model, X[1::2], y[1::2]).to_frame().query("measure == 'auc'")  # a pandas dataframe, like X
    >>> auc["low"].item() > 0.9
    True
    """
    level, rows = check_level(level), grouped_rows(model, X, y, by, sample_weight, every)
    with_labels = labelled(rows)
    segments = [("all", None, with_labels)]
    for k, name in enumerate(rows.names if by is not None else []):
        segments.append(
            ("missing" if name is None else canonical_text(name), name, with_labels[rows.group[with_labels] == k])
        )
    lines, gaps = [], []
    for at, (text, name, positions) in enumerate(segments):
        segment, head = Segment.of(rows, positions, level), (text, name, positions.size)
        lines += [(*head, label, measure, *estimate) for label, measure, estimate in segment.measures()]
        if at:
            others = Segment.of(rows, with_labels[rows.group[with_labels] != at - 1], level)
            gaps += [(*head, *gap) for gap in _gaps(segment, others)]
    measures = framed(lines, (*_HEAD, *_ENDS))
    return Evaluation(measures, framed(gaps, (*_HEAD, "value", "others", "gap", "low", "high")), library_of(X))


def framed(lines: Sequence[tuple[Any, ...]], names: Sequence[str]) -> Any:
    """Return a polars dataframe. Each tuple in ``lines`` is a row, with a value for each of the column ``names``; NaN
    becomes null.
    """
    import polars as pl

    frame = results_frame(lines, schema=list(names), orient="row", infer_schema_length=None, strict=False)
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None))


def labelled(rows: EvaluatedRows) -> np.ndarray:
    """Return the positions of the rows with a label and a positive weight, shape (n,). Raise ValueError if there are
    none.
    """
    if rows.labels is None:
        raise ValueError("y is None; give the labels of the rows.")
    positions = np.flatnonzero(rows.labels >= 0 if rows.weights is None else (rows.labels >= 0) & (rows.weights > 0))
    if not positions.size:
        raise ValueError("No row has both a label and a weight above 0; pass labels for some rows.")
    return positions


@dataclass(frozen=True, eq=False)
class Segment:
    """Labelled rows of one segment with their predictions, from which measures and intervals are computed.

    Attributes
    ----------
    log_proba : (n_rows, n_classes) log probabilities
    decided, codes : (n_rows,) positions of the predicted and of the true classes
    weights : (n_rows,) weights that add up to the effective number of rows (Kish 1965), so that intervals take the loss
        of precision by unequal weights into account
    level : confidence level of the intervals
    classes : (n_classes,) labels
    positive : position of the positive class, or None
    """

    log_proba: np.ndarray
    decided: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    level: float
    classes: np.ndarray
    positive: int | None

    @classmethod
    def of(cls, rows: EvaluatedRows, positions: np.ndarray | slice, level: float) -> Segment:
        """Return the segment of the rows at the given positions; ``level`` is the confidence level of its intervals."""
        assert rows.labels is not None
        codes = rows.labels[positions]
        weights = np.ones(codes.size) if rows.weights is None else rows.weights[positions]
        weights = weights * (metrics.effective_rows(weights, codes.size) / max(weights.sum(), np.finfo(float).tiny))
        log_proba, decided = rows.log_proba[positions], rows.decided[positions]
        return cls(log_proba, decided, codes, weights, level, rows.classes, rows.positive)

    @property
    def shown(self) -> list[int]:
        """Positions of the classes that are measured against the rest: the positive one of two classes, or each of
        more.
        """
        n_classes = self.classes.size
        return [self.positive] if n_classes == 2 and self.positive is not None else list(range(n_classes))

    def share(self, hit: np.ndarray, among: Any = slice(None)) -> Estimate:
        """Return the weighted share of rows for which the mask ``hit`` (n_rows,) is True, with Wilson's interval.
        ``among`` selects the rows of which the share is taken, by a mask or positions; by default all.
        """
        hit, weights = hit[among], self.weights[among]
        if not weights.size:
            return _UNKNOWN
        value = float(np.average(hit, weights=weights))
        return value, *metrics.wilson_interval(value, metrics.effective_rows(weights, weights.size), self.level)

    def mean(self, values: np.ndarray, about: float | None = None, least: float | np.ndarray = 0.0) -> Estimate:
        """Return the weighted mean of ``values``, shape (n_rows,), with an interval by Student's t.

        If ``about`` is given, return this value instead of the mean, with an interval of the same width around it.
        ``least`` is a lower bound on the variance of each row, so that a few equal values do not get an interval of
        width 0.
        """
        n, mean = metrics.effective_rows(self.weights, values.size), float(np.average(values, weights=self.weights))
        value = mean if about is None else about
        if n <= 1 + 1e-9:
            return value, float("nan"), float("nan")
        squares = self.weights**2
        spread = max(float(squares @ (values - mean) ** 2) * n / (n - 1), float((squares * least).sum()))
        variance = spread / self.weights.sum() ** 2
        half = float(stdtrit(n - 1, 0.5 + self.level / 2)) * variance**0.5
        return value, value - half, value + half

    def rates(self, j: int) -> dict[str, Estimate]:
        """Return the shares of rows that are predicted to be of class ``j``, with intervals: among all rows, among the
        rows of class ``j``, and among all other rows. The names of the three are `RATES`.
        """
        hit, decided = self.codes == j, self.decided == j
        return dict(zip(RATES, (self.share(decided), self.share(decided, hit), self.share(decided, ~hit)), strict=True))

    def measures(self, wanted: Collection[str] = ()) -> Iterator[tuple[str | None, str, Estimate]]:
        """Yield triples of class, name of the measure, and estimate with its interval. The class is None for measures
        of all classes.

        ``wanted`` restricts the measures by name; empty means all. A segment without rows yields nothing.
        """
        if not self.codes.size:
            return

        scores = metrics.class_scores(self.log_proba)
        auc = self._area(scores)
        whole: dict[str, Callable[[], Estimate]] = {
            "accuracy": lambda: self.share(self.decided == self.codes),
            "balanced_accuracy": self._balanced_accuracy,
            "auc": lambda: auc,
            "gini": lambda: (2 * auc[0] - 1, 2 * auc[1] - 1, 2 * auc[2] - 1),
            "log_loss": lambda: self._at_least_0(metrics.losses),
            "brier": lambda: self._at_least_0(metrics.squared_errors),
            "compression_rate": self._compression,
        }
        # First the measures of all classes, then those of each class.
        for j in (None, *self.shown):
            label = None if j is None else str(self.classes[j])
            functions = whole if j is None else self._measures_of_class(j, scores[:, j])
            yield from ((label, name, compute()) for name, compute in functions.items() if not wanted or name in wanted)
            if j is not None and not wanted:
                yield from ((label, *rate) for rate in self.rates(j).items())

    def _measures_of_class(self, j: int, score: np.ndarray) -> dict[str, Callable[[], Estimate]]:
        """Return functions that compute the measures of class ``j`` against the rest, by name. ``score`` (n_rows,) is
        the predicted log odds of the class.
        """
        hit, p = self.codes == j, np.exp(self.log_proba[:, j])
        return {
            "calibration": lambda: self.mean(p - hit, least=p * (1 - p)),
            "calibration_slope": lambda: self._normal(*calibration_slope(score, hit, self.weights)),
            "calibration_intercept": lambda: self._normal(*calibration_intercept(score, hit, self.weights)),
            "ks": lambda: self._ks(score, hit),
        }

    def _balanced_accuracy(self) -> Estimate:
        """Return the balanced accuracy with its interval: the mean over the classes of the share of their rows that is
        predicted correctly.
        """
        right = self.decided == self.codes
        recalls = np.array([self.share(right, self.codes == j) for j in np.unique(self.codes).tolist()])
        value = float(recalls[:, 0].mean())
        below, above = np.sqrt(((recalls[:, 1:] - recalls[:, :1]) ** 2).sum(axis=0)) / len(recalls)
        return value, max(0.0, value - below), min(1.0, value + above)

    def _at_least_0(self, of_rows: Callable[..., np.ndarray]) -> Estimate:
        """Return the weighted mean of a loss that is never negative, with its interval, whose lower end is at least 0.

        ``of_rows`` is a function of log probabilities (n_rows, n_classes) and true classes (n_rows,) that returns the
        loss of each row.
        """
        mean, low, high = self.mean(of_rows(self.log_proba, self.codes))
        return mean, float(np.maximum(low, 0.0)), high

    def _area(self, scores: np.ndarray) -> Estimate:
        """Return the area under the ROC curve with DeLong's interval; for more than two classes, the mean of the areas
        of each class against the rest, weighted by class share. ``scores`` (n_rows, n_classes) are log odds of the
        classes.
        """
        usable = [j for j in self.shown if 0 < np.count_nonzero(self.codes == j) < self.codes.size]
        if not usable:
            return _UNKNOWN
        estimates = [metrics.area_with_errors(scores[:, j], self.codes == j, self.weights) for j in usable]
        areas, errors = zip(*estimates, strict=True)
        sizes = np.array([self.weights[self.codes == j].sum() for j in usable])
        shares, rarest = sizes / sizes.sum(), self.codes == usable[int(sizes.argmin())]
        auc = float(shares @ np.array(areas))
        return auc, *metrics.area_interval(auc, shares @ np.array(errors), rarest, self.weights, self.level)

    def _compression(self) -> Estimate:
        """Return the compression rate, 1 - log loss / class entropy, with its interval."""
        entropy = metrics.class_entropy(self.codes, self.classes.size, self.weights)
        loss = metrics.losses(self.log_proba, self.codes)
        if entropy <= 0:
            return _UNKNOWN
        shares = np.bincount(self.codes, self.weights) / self.weights.sum()
        surprise = -np.log(shares[self.codes])  # its mean is the entropy, whose sampling error the interval includes
        ratio = float(np.average(loss, weights=self.weights)) / entropy
        return self.mean((ratio * surprise - loss) / entropy, about=1.0 - ratio)

    def _ks(self, score: np.ndarray, hit: np.ndarray) -> Estimate:
        """Return the Kolmogorov-Smirnov statistic with its interval.

        It is the largest difference, over thresholds on ``score`` (n_rows,), between two shares of rows above the
        threshold: of the rows in the mask ``hit``, and of all others. The interval is that of the difference at this
        threshold.
        """
        if hit.all() or not hit.any():
            return _UNKNOWN
        _, ranks = np.unique(score, return_inverse=True)
        sides = [np.bincount(ranks, np.where(is_class, self.weights, 0.0)) for is_class in (~hit, hit)]
        best = int(np.subtract(*(np.cumsum(side) / side.sum() for side in sides)).argmax())
        return _difference(self.share(ranks > best, hit), self.share(ranks > best, ~hit))

    def _normal(self, value: float, error: float) -> Estimate:
        """Return the estimate ``value`` with its interval, for a normal distribution with standard error ``error``."""
        half = float(ndtri(0.5 + self.level / 2)) * error
        return value, value - half, value + half


def _difference(first: Estimate, second: Estimate) -> Estimate:
    """Return the first share minus the second, with Newcombe's interval (1998). Both are estimates on different rows,
    with Wilson's intervals.
    """
    (a, low, high), (b, least, most) = first, second
    return a - b, a - b - float(np.hypot(a - low, most - b)), a - b + float(np.hypot(high - a, b - least))


def _gaps(segment: Segment, others: Segment) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of `Evaluation.gaps` for a segment, as tuples: class, rate, value in the segment, value in the
    rows of ``others``, their difference, and the lower and upper end of its interval.
    """
    for j in segment.shown:
        theirs = others.rates(j)
        for name, estimate in segment.rates(j).items():
            yield str(segment.classes[j]), name, estimate[0], theirs[name][0], *_difference(estimate, theirs[name])


@dataclass(frozen=True, eq=False, repr=False)
class Challenge(ShortRepr):
    """Comparison of two models on the same rows, the result of `challenge`.

    Attributes
    ----------
    tests : polars.DataFrame
        One row per measure (``log_loss``, ``brier`` and, for one class against all others, ``auc``): the values of
        ``champion`` and ``challenger``, the ``difference`` (challenger minus champion), its interval from ``low`` to
        ``high``, and the ``p_value`` of no difference. Tests are paired over the rows: Student's test for losses,
        DeLong's for the AUC.
    swaps : polars.DataFrame or None
        One row per ``set`` of rows: selected by ``"both"`` models, by the challenger only (``"swap in"``), by the
        champion only (``"swap out"``), or by ``"neither"``. Further columns are ``rows``, ``events`` (weight of the
        rows of the positive class), and ``event_rate`` with Wilson's interval from ``low`` to ``high``. None for more
        than two classes without ``positive``.
    """

    tests: Any
    swaps: Any

    def _facts(self) -> dict[str, Any]:
        """Return the facts that ``repr`` shows, by name."""
        if self.swaps is None:
            return {}
        counts = dict(self.swaps.select("set", "rows").iter_rows())
        return {"swap_in": counts["swap in"], "swap_out": counts["swap out"]}


def challenge(
    champion: Any,
    challenger: Any,
    X: Any,
    y: Any,
    *,
    share: float | None = None,
    threshold: float | None = None,
    positive: Any = None,
    sample_weight: Any = None,
    level: float = 0.95,
) -> Challenge:
    """Compare a model in use with a challenger on the same rows.

    Parameters
    ----------
    champion, challenger : SelectiveNB, Scorecard, or classifiers with ``predict_proba`` and ``classes_``
        Fitted models of the same classes.
    X : dataframe or array
        Rows that neither model was trained on.
    y, sample_weight : array-like or str
        Class labels and weights of the rows, or the names of their columns, as in `evaluate`.
    share : float, optional
        Share of the rows, by weight, that each model selects: those with the largest probability of ``positive``. Ties
        are resolved by the probability of the other model. By default the share that the champion predicts to be of
        this class.
    threshold : float, optional
        Alternative to ``share``: each model selects the rows with at least this probability of ``positive``.
    positive : class label, optional
        Class whose rows are selected; by default the positive class of the champion. If there is none, because there
        are more than two classes, the models are compared by log loss and Brier score only.
    level : float, default=0.95
        Confidence level of the intervals.

    Returns
    -------
    Challenge
        Result with the tables ``tests`` and ``swaps``.

    Raises
    ------
    ValueError
        If the classes differ, both ``share`` and ``threshold`` are given, or one of them without ``positive`` for more
        than two classes.

    Examples
    --------
    >>> from bayesieve import SelectiveNB, challenge
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> old, new = (SelectiveNB(selector).fit(X[::2], y[::2]) for selector in ("all", "compression"))
    >>> challenge(old, new, X[1::2], y[1::2]).swaps["rows"].sum()
    284
    """
    refuse_fork()
    if share is not None and threshold is not None:
        raise ValueError("share and threshold both define the selected rows; give only one of them.")
    check_allowed({"share": share, "threshold": threshold}, dict.fromkeys(("share", "threshold"), _SHARE))
    level = check_level(level)
    old, new = (grouped_rows(model, X, y, None, sample_weight) for model in (champion, challenger))
    texts = [list(map(canonical_text, rows.classes.tolist())) for rows in (old, new)]
    if sorted(texts[0]) != sorted(texts[1]):
        raise ValueError(
            f"The classes of the champion are {named(texts[0])}, those of the challenger {named(texts[1])}; "
            "pass two models of the same classes."
        )
    order = [texts[1].index(text) for text in texts[0]]
    new = replace(new, labels=old.labels, log_proba=new.log_proba[:, order], decided=np.argsort(order)[new.decided])
    j = old.positive
    if positive is not None:
        j = class_position(texts[0], canonical_text(positive), "positive")
    if j is None and (share is not None or threshold is not None):
        raise ValueError(f"There are {len(order)} classes; set positive= to the class whose rows are selected.")
    with_labels = labelled(old)
    segments = [Segment.of(rows, with_labels, level) for rows in (old, new)]
    if j is None:
        return Challenge(_tests(segments, 0, ()), None)
    odds = [metrics.class_scores(segment.log_proba)[:, j] for segment in segments]
    weights = np.ones(with_labels.size) if old.weights is None else old.weights[with_labels]
    if threshold is not None:
        least = np.log(max(threshold, np.finfo(float).tiny)) - 1e-12
        chosen = [segment.log_proba[:, j] >= least for segment in segments]
    elif share is None:
        decided = segments[0].decided == j
        chosen = [decided, _best(odds[1], odds[0], weights, weights[decided].sum())]
    else:
        chosen = [_best(odds[k], odds[1 - k], weights, share * weights.sum()) for k in (0, 1)]
    return Challenge(_tests(segments, j, odds), _swaps(segments[0], weights, segments[0].codes == j, chosen))


def _tests(segments: Sequence[Segment], j: int, odds: Sequence[np.ndarray]) -> Any:
    """Return the polars dataframe `Challenge.tests`, with a row for log loss, Brier score and, if ``odds`` is not
    empty, the AUC of class ``j``.

    ``segments`` are the rows with the predictions of champion and challenger; ``odds`` holds the log odds (n_rows,) of
    class ``j`` by each of them. Differences are challenger minus champion. Losses are compared by Student's t-test of
    the differences per row, the AUC by DeLong's test.
    """
    first, lines = segments[0], list[tuple[Any, ...]]()
    n = metrics.effective_rows(first.weights, first.codes.size)
    for name, of_rows in (("log_loss", metrics.losses), ("brier", metrics.squared_errors)):
        losses = [of_rows(segment.log_proba, segment.codes) for segment in segments]
        difference, low, high = first.mean(losses[1] - losses[0])
        error = (high - difference) / float(stdtrit(n - 1, 0.5 + first.level / 2)) if n > 1 else float("nan")
        means = [float(np.average(loss, weights=first.weights)) for loss in losses]
        lines.append((name, *means, difference, low, high, _p_value(difference, error, n - 1)))
    if odds:
        (old, old_errors), (new, other) = (
            metrics.area_with_errors(score, first.codes == j, first.weights) for score in odds
        )
        error = float(np.sqrt(((other - old_errors) ** 2).sum()))
        half = float(ndtri(0.5 + first.level / 2)) * error
        p_value = _p_value(new - old, error, np.inf)
        lines.append(("auc", old, new, new - old, new - old - half, new - old + half, p_value))
    return framed(lines, ("measure", "champion", "challenger", "difference", "low", "high", "p_value"))


def _p_value(difference: float, error: float, freedom: float) -> float:
    """Return the two-sided p-value of a difference, given its standard error ``error``, by Student's t distribution
    with ``freedom`` degrees of freedom.
    """
    return 1.0 if difference == 0 else 2 * float(stdtr(freedom, -abs(difference) / error)) if error else 0.0


def _swaps(segment: Segment, weights: np.ndarray, hit: np.ndarray, chosen: Sequence[np.ndarray]) -> Any:
    """Return the polars dataframe `Challenge.swaps` of the rows in ``segment``.

    ``hit`` (n_rows,) is a mask of the rows of the positive class, ``weights`` (n_rows,) are the row weights before the
    scaling in `Segment`, and ``chosen`` holds masks of the rows that champion and challenger select.
    """
    lines = []
    for name, old, new in (("both", 1, 1), ("swap in", 0, 1), ("swap out", 1, 0), ("neither", 0, 0)):
        in_set = (chosen[0] == old) & (chosen[1] == new)
        lines.append((name, int(in_set.sum()), float(weights[in_set & hit].sum()), *segment.share(hit, in_set)))
    return framed(lines, ("set", "rows", "events", "event_rate", "low", "high"))


def _best(score: np.ndarray, other: np.ndarray, weights: np.ndarray, most: float) -> np.ndarray:
    """Return a mask (n_rows,) of the rows with the largest ``score`` (n_rows,) whose ``weights`` (n_rows,) add up to at
    most ``most``.

    Of rows with equal scores, those with the larger ``other`` score (n_rows,) come first.
    """
    order, is_selected = np.lexsort((-other, -score)), np.zeros(score.size, dtype=bool)
    is_selected[order[np.cumsum(weights[order]) <= most * (1 + 1e-9)]] = True
    return is_selected

"""Measures of a model on rows with labels, of all and by segment, with confidence intervals; and two models compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, ndtri, stdtr, stdtrit

from bayesieve.evaluation.drift import calibration
from bayesieve.evaluation.judged import JudgedRows, judged_rows
from bayesieve.scorecard.record import check_level
from bayesieve.statistics import metrics
from bayesieve.table.frames import polars_frame
from bayesieve.table.values import canonical_text
from bayesieve.words import ShortRepr, named

Estimate = tuple[float, float, float]
"""A value and the ends of its interval."""
RATES = ("selection_rate", "true_positive_rate", "false_positive_rate")
_UNKNOWN: Estimate = (float("nan"),) * 3
_STEPS, _CLOSE = 50, 1e-10


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(ShortRepr):
    """What `evaluate` finds.

    Attributes
    ----------
    measures : polars.DataFrame
        What `to_frame` returns.
    gaps : polars.DataFrame
        One row per segment, class and rate: its ``value`` in the segment and in all ``others``, and the ``gap`` of
        both with an interval from ``low`` to ``high`` (Newcombe 1998).
    """

    measures: Any
    gaps: Any

    def _facts(self) -> dict[str, Any]:
        return {"segments": self.measures["segment"].n_unique() - 1}

    def to_frame(self) -> Any:
        """One row per segment and measure (polars), all rows first: ``segment`` (text), ``by``, ``rows``, ``class``,
        ``measure``, ``value``, ``low`` and ``high``; null where rows do not tell.
        """
        return self.measures


def evaluate(
    model: Any, X: Any, y: Any, by: Any = None, level: float = 0.95, sample_weight: Any = None, *, every: str = "month"
) -> Evaluation:
    """Measure a model on rows with labels, all of them and segment by segment.

    Parameters
    ----------
    model : SelectiveNB, Scorecard, or any classifier with ``predict_proba`` and ``classes_``
    X : dataframe or array
        Of a `SelectiveNB` also what `bayesieve.scan` takes.
    y : array-like or str
        Labels, or the name of their column; rows without label are left out.
    by : array-like or str, optional
        Segments of the rows, or the name of their column; dates are grouped by ``every``.
    level : float, default=0.95
        Share of the intervals that hold the true value.
    sample_weight : array-like or str, optional
        Times that each row counts, or the name of their column.
    every : {"day", "week", "month", "quarter", "year"}, default="month"

    Returns
    -------
    Evaluation
        With ``to_frame()`` and ``gaps``. The measures of all classes together are ``accuracy``, ``balanced_accuracy``,
        ``auc`` (DeLong's intervals; of several classes, one against rest weighted by their shares), ``gini``,
        ``log_loss`` (nats), ``brier`` (as in scikit-learn) and ``compression_rate``. Those of the second of two classes,
        or of each of more against the rest: ``ks``, ``calibration`` (mean probability less share),
        ``calibration_slope`` and ``calibration_intercept`` (1 and 0 if probabilities can be taken at their word; the
        intercept is that of slope 1), and at the decisions of the model ``selection_rate``, ``true_positive_rate`` and
        ``false_positive_rate``.

    Raises
    ------
    ValueError
        If a column is missing, no row has a label, or a label is no class of the model.

    Examples
    --------
    >>> from bayesieve import SelectiveNB, evaluate
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = SelectiveNB().fit(X[::2], y[::2])
    >>> frame = evaluate(model, X[1::2], y[1::2]).to_frame()
    >>> [round(frame.row(by_predicate=frame["measure"] == "auc", named=True)[end], 2) for end in ("low", "high")]
    [0.98, 1.0]
    """
    level, rows = check_level(level), _labelled(judged_rows(model, X, y, by, sample_weight, every))
    shown = [1] if rows.classes.size == 2 else list(range(rows.classes.size))
    lines: list[dict[str, Any]] = []
    gaps: list[dict[str, Any]] = []
    segments: list[tuple[str, Any, np.ndarray]] = [("all", None, np.arange(rows.group.size))]
    if by is not None:
        for k, name in enumerate(rows.names):
            text = "missing" if name is None else canonical_text(name)
            segments.append((text, name, np.flatnonzero(rows.group == k)))
    for at, (text, name, own) in enumerate(segments):
        part = _Part.of(rows, own, level)
        head = {"segment": text, "by": name, "rows": own.size}
        for label, measure, estimate in part.measures(shown, rows.classes):
            lines.append({**head, "class": label, "measure": measure} | dict(zip(_ENDS, estimate, strict=True)))
        if at:
            others = _Part.of(rows, np.flatnonzero(rows.group != at - 1), level)
            gaps += [head | gap for j in shown for gap in _gaps(part, others, j, str(rows.classes[j]))]
    return Evaluation(_framed(lines, (*_HEAD, *_ENDS)), _framed(gaps, (*_HEAD, "value", "others", "gap", "low", "high")))


_HEAD, _ENDS = ("segment", "by", "rows", "class", "measure"), ("value", "low", "high")


def _framed(lines: list[Any], names: tuple[str, ...]) -> Any:
    """Lines as a frame, NaN as null."""
    import polars as pl

    rows = [tuple(line.values()) if isinstance(line, dict) else line for line in lines]
    frame = polars_frame(rows, schema=list(names), orient="row", infer_schema_length=None, strict=False)
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None))


def _labelled(rows: JudgedRows) -> JudgedRows:
    """The rows with a label that count, without their cells."""
    assert rows.labels is not None
    kept = rows.labels >= 0 if rows.weights is None else (rows.labels >= 0) & (rows.weights > 0)
    if not kept.any():
        raise ValueError("No row has a label and a weight above 0; give the labels of some rows.")
    parts = {name: getattr(rows, name) for name in ("group", "labels", "weights", "log_proba", "decided")}
    return replace(
        rows, cells=rows.cells[:0], **{k: None if part is None else part[kept] for k, part in parts.items()}
    )


@dataclass(frozen=True, eq=False)
class _Part:
    """Rows of a segment, (n_rows,), and their weights, which add up to the rows that they are worth."""

    log_proba: np.ndarray
    decided: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    level: float

    @classmethod
    def of(cls, rows: JudgedRows, own: np.ndarray, level: float) -> _Part:
        assert rows.labels is not None
        weights = np.ones(own.size) if rows.weights is None else rows.weights[own]
        if own.size:
            weights = weights * (metrics.effective_rows(weights, own.size) / weights.sum())
        return cls(rows.log_proba[own], rows.decided[own], rows.labels[own], weights, level)

    def share(self, hit: np.ndarray, among: np.ndarray | None = None) -> Estimate:
        """The share of hits, with Wilson's interval."""
        weights = self.weights if among is None else self.weights[among]
        if not weights.size:
            return _UNKNOWN
        value = float(np.average(hit if among is None else hit[among], weights=weights))
        return value, *metrics.wilson_interval(value, metrics.effective_rows(weights, weights.size), self.level)

    def mean(self, values: np.ndarray, estimate: float | None = None, scale: float = 1.0) -> Estimate:
        """The weighted mean of values with Student's interval, or an estimate with the error of this mean."""
        n = metrics.effective_rows(self.weights, values.size)
        mean = float(np.average(values, weights=self.weights))
        value = mean if estimate is None else estimate
        if n <= 1 + 1e-9:
            return value, float("nan"), float("nan")
        error = float(np.sqrt((self.weights**2 @ (values - mean) ** 2) / self.weights.sum() ** 2 * n / (n - 1)))
        half = float(stdtrit(n - 1, 0.5 + self.level / 2)) * error * scale
        return value, value - half, value + half

    def rates(self, j: int) -> dict[str, Estimate]:
        """How often the class is decided: among all rows, among those of the class, and among the others."""
        hit, decided = self.codes == j, self.decided == j
        return dict(zip(RATES, (self.share(decided), self.share(decided, hit), self.share(decided, ~hit)), strict=True))

    def measures(self, shown: list[int], classes: np.ndarray) -> Iterator[tuple[str | None, str, Estimate]]:
        """Class (None for all together), measure and estimate."""
        right, rows = self.decided == self.codes, np.arange(self.codes.size)
        recalls = [self.share(right, self.codes == j) for j in range(classes.size) if (self.codes == j).any()]
        means = np.mean([value for value, _, _ in recalls])
        below, above = (
            np.sqrt(sum((one[0] - one[end]) ** 2 for one in recalls)) / max(1, len(recalls)) for end in (1, 2)
        )
        loss = -self.log_proba[rows, self.codes]
        brier = metrics.brier_score(self.log_proba, self.codes, self.weights)
        errors = np.exp(self.log_proba)
        errors[rows, self.codes] -= 1.0
        scores = metrics.class_scores(self.log_proba)
        auc = self._area(scores, shown)
        yield None, "accuracy", self.share(right)
        yield None, "balanced_accuracy", (float(means), max(0.0, means - below), min(1.0, means + above))
        yield None, "auc", auc
        yield None, "gini", (2 * auc[0] - 1, 2 * auc[1] - 1, 2 * auc[2] - 1)
        yield None, "log_loss", _at_least_0(self.mean(loss))
        half = 0.5 if classes.size == 2 else 1.0
        yield None, "brier", _at_least_0(self.mean(half * (errors**2).sum(axis=1), brier))
        yield None, "compression_rate", self._compression(loss, classes.size)
        for j in shown:
            label, hit = str(classes[j]), self.codes == j
            gap, half_width = calibration(np.exp(self.log_proba[:, j]), hit, self.weights, self.level)
            yield label, "ks", self._ks(scores[:, j], hit)
            yield label, "calibration", (gap, gap - half_width, gap + half_width)
            slope, intercept = self._calibration_line(scores[:, j], hit)
            yield label, "calibration_slope", slope
            yield label, "calibration_intercept", intercept
            for name, estimate in self.rates(j).items():
                yield label, name, estimate

    def _area(self, scores: np.ndarray, shown: list[int]) -> Estimate:
        """As `metrics.area`, with an interval by DeLong."""
        usable = [j for j in shown if 0 < np.count_nonzero(self.codes == j) < self.codes.size]
        if not usable:
            return _UNKNOWN
        parts = [metrics.area_with_errors(scores[:, j], self.codes == j, self.weights) for j in usable]
        sizes = np.array([self.weights[self.codes == j].sum() for j in usable])
        shares = sizes / sizes.sum()
        auc = float(shares @ [value for value, _ in parts])
        errors = np.sum([share * own for share, (_, own) in zip(shares, parts, strict=True)], axis=0)
        rarest = self.codes == usable[int(sizes.argmin())]
        return auc, *metrics.area_interval(auc, errors, rarest, self.weights, self.level)

    def _compression(self, loss: np.ndarray, n_classes: int) -> Estimate:
        entropy = metrics.class_entropy(self.codes, n_classes, self.weights)
        if entropy <= 0:
            return _UNKNOWN
        shares = np.bincount(self.codes, self.weights, minlength=n_classes) / self.weights.sum()
        mean = float(np.average(loss, weights=self.weights))
        surprise = -np.log(shares[self.codes])  # its mean is the entropy, which is estimated, too
        return self.mean(mean / entropy**2 * surprise - loss / entropy, 1.0 - mean / entropy)

    def _ks(self, score: np.ndarray, hit: np.ndarray) -> Estimate:
        """Largest difference of the shares of both sides at or above a score, with the interval at that score."""
        if hit.all() or not hit.any():
            return _UNKNOWN
        _, at = np.unique(score, return_inverse=True)
        sides = [np.bincount(at, np.where(own, self.weights, 0.0)) for own in (hit, ~hit)]
        shares = [1.0 - np.cumsum(side) / side.sum() for side in sides]
        above = at > int((shares[0] - shares[1]).argmax())
        return _difference(self.share(above, hit), self.share(above, ~hit))

    def _calibration_line(self, score: np.ndarray, hit: np.ndarray) -> tuple[Estimate, Estimate]:
        """Slope, and intercept at slope 1, of the log odds of hits over predicted log odds."""
        if hit.all() or not hit.any():
            return _UNKNOWN, _UNKNOWN
        ones, reach = np.ones((score.size, 1)), float(ndtri(0.5 + self.level / 2))
        line = fitted_line(np.column_stack([ones, score]), np.zeros(score.size), hit, self.weights)
        level = fitted_line(ones, score, hit, self.weights)
        slope, intercept = (
            _UNKNOWN if fit is None else (fit[0][-1], fit[0][-1] - reach * fit[1], fit[0][-1] + reach * fit[1])
            for fit in (line, level)
        )
        return slope, intercept


def fitted_line(
    columns: np.ndarray, offset: np.ndarray, hit: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, float] | None:
    """Coefficients of a logistic regression, and the standard error of the last; None if there is no finite maximum."""
    beta = np.zeros(columns.shape[1])

    def loss(coefficients: np.ndarray) -> float:
        odds = offset + columns @ coefficients
        return float(weights @ (np.logaddexp(0.0, odds) - hit * odds))

    before = loss(beta)
    for _ in range(_STEPS):
        probability = expit(offset + columns @ beta)
        information = (columns.T * (weights * probability * (1 - probability))) @ columns
        try:
            step = np.linalg.solve(information, columns.T @ (weights * (hit - probability)))
            error = float(np.sqrt(np.linalg.inv(information)[-1, -1]))
        except np.linalg.LinAlgError:
            return None
        size = 1.0
        while (now := loss(beta + size * step)) > before + _CLOSE and size > 1e-6:
            size /= 2
        beta, before = beta + size * step, now
        if not np.isfinite(beta).all():
            return None
        if np.abs(step).max() < 1e-8 * (1 + np.abs(beta).max()):
            return beta, error
    return None


def _difference(first: Estimate, second: Estimate) -> Estimate:
    """The difference of two shares of different rows, with Newcombe's interval (1998)."""
    (a, low, high), (b, least, most) = first, second
    return a - b, a - b - float(np.hypot(a - low, most - b)), a - b + float(np.hypot(high - a, b - least))


def _gaps(part: _Part, others: _Part, j: int, label: str) -> Iterator[dict[str, Any]]:
    mine, theirs = part.rates(j), others.rates(j)
    for name in RATES:
        gap, low, high = _difference(mine[name], theirs[name])
        parts = {"value": mine[name][0], "others": theirs[name][0], "gap": gap, "low": low, "high": high}
        yield {"class": label, "measure": name, **parts}


def _at_least_0(estimate: Estimate) -> Estimate:
    value, low, high = estimate
    return value, low if low != low else max(0.0, low), high


@dataclass(frozen=True, eq=False, repr=False)
class Challenge(ShortRepr):
    """What `challenge` finds.

    Attributes
    ----------
    tests : polars.DataFrame
        One row per measure (``log_loss``, ``brier``, ``auc``): the values of ``champion`` and ``challenger``, the
        ``difference`` (challenger less champion), its interval from ``low`` to ``high``, and the ``p_value`` of no
        difference: paired tests over the same rows, by Student and, for areas, DeLong.
    swaps : polars.DataFrame
        The rows selected by ``"both"``, by the challenger only (``"swap in"``), by the champion only
        (``"swap out"``), by ``"neither"``: ``rows``, ``events`` (rows of the class, by weight) and their
        ``event_rate`` with Wilson's interval.
    """

    tests: Any
    swaps: Any

    def _facts(self) -> dict[str, Any]:
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
    """Compare a model in use with one that may take its place, on the same rows.

    Parameters
    ----------
    champion, challenger : SelectiveNB, Scorecard, or classifiers with ``predict_proba`` and ``classes_``
        Of the same classes.
    X, y, sample_weight :
        As in `evaluate`. Rows that neither model was trained on.
    share : float, optional
        Share of the rows, by weight, that each selects: those of the largest probabilities; among equal ones those
        that the other prefers. By default as many as the champion decides to be of the class.
    threshold : float, optional
        Each selects the rows of at least this probability instead.
    positive : class label, optional
        The class whose rows are selected; by default the second of two.
    level : float, default=0.95
        Share of the intervals that hold the true value.

    Returns
    -------
    Challenge
        With ``tests`` and ``swaps``.

    Raises
    ------
    ValueError
        If the classes differ, there are more than two without ``positive``, or both ``share`` and ``threshold`` are
        given.

    Examples
    --------
    >>> from bayesieve import SelectiveNB, challenge
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> old, new = (SelectiveNB(selector).fit(X[::2], y[::2]) for selector in ("all", "compression"))
    >>> challenge(old, new, X[1::2], y[1::2]).swaps["rows"].sum()
    284
    """
    if share is not None and threshold is not None:
        raise ValueError("share and threshold both say how many rows are selected; give one of them.")
    for name, value in (("share", share), ("threshold", threshold)):
        if value is not None and not 0.0 <= value <= 1.0:
            raise ValueError(f"{name} must lie between 0 and 1, got {value!r}.")
    level = check_level(level)
    old, new = (judged_rows(model, X, y, None, sample_weight) for model in (champion, challenger))
    texts = [[canonical_text(label) for label in rows.classes.tolist()] for rows in (old, new)]
    if sorted(texts[0]) != sorted(texts[1]):
        raise ValueError(f"The champion tells apart {named(texts[0])}, the challenger {named(texts[1])}.")
    order = [texts[1].index(text) for text in texts[0]]
    new = replace(new, labels=old.labels, log_proba=new.log_proba[:, order], decided=np.argsort(order)[new.decided])
    if positive is None and len(order) > 2:
        raise ValueError(f"There are {len(order)} classes; name the one whose rows are selected: positive=.")
    if positive is not None and canonical_text(positive) not in texts[0]:
        raise ValueError(f"positive is {positive!r}, which is not one of the classes {named(texts[0])}.")
    j = 1 if positive is None else texts[0].index(canonical_text(positive))
    counted = [_labelled(rows) for rows in (old, new)]
    parts = [_Part.of(rows, np.arange(rows.group.size), level) for rows in counted]
    odds = [metrics.class_scores(part.log_proba)[:, j] for part in parts]
    weights = np.ones(odds[0].size) if counted[0].weights is None else counted[0].weights
    return Challenge(_tests(parts, j, odds), _swaps(parts, weights, j, odds, share, threshold))


def _tests(parts: list[_Part], j: int, odds: list[np.ndarray]) -> Any:
    """Paired tests of both models."""
    part, lines = parts[0], []
    rows, hit = np.arange(part.codes.size), part.codes == j
    squares = []
    for one in parts:
        error = np.exp(one.log_proba)
        error[rows, one.codes] -= 1.0
        squares.append((0.5 if error.shape[1] == 2 else 1.0) * (error**2).sum(axis=1))
    losses = [-one.log_proba[rows, one.codes] for one in parts]
    n = metrics.effective_rows(part.weights, rows.size)
    for name, (first, second) in {"log_loss": losses, "brier": squares}.items():
        means = [float(np.average(values, weights=part.weights)) for values in (first, second)]
        difference, low, high = part.mean(second - first)
        error = (high - difference) / float(stdtrit(max(n - 1, 1e-9), 0.5 + part.level / 2))
        p_value = 2 * float(stdtr(n - 1, -abs(difference) / error)) if error > 0 else 1.0 if difference == 0 else 0.0
        lines.append((name, *means, difference, low, high, p_value))
    (first, own), (second, other) = (metrics.area_with_errors(score, hit, part.weights) for score in odds)
    error, reach = float(np.sqrt(((other - own) ** 2).sum())), float(ndtri(0.5 + part.level / 2))
    difference = second - first
    p_value = 1.0 if difference == 0 else 2 * float(stdtr(np.inf, -abs(difference) / error)) if error > 0 else 0.0
    ends = (difference - reach * error, difference + reach * error)
    lines.append(("auc", first, second, difference, *ends, p_value if first == first else first))
    return _framed(lines, ("measure", "champion", "challenger", "difference", "low", "high", "p_value"))


def _swaps(
    parts: list[_Part],
    weights: np.ndarray,
    j: int,
    odds: list[np.ndarray],
    share: float | None,
    threshold: float | None,
) -> Any:
    hit = parts[0].codes == j
    if threshold is not None:
        least = float("-inf") if threshold == 0 else float(np.log(threshold))
        chosen = [part.log_proba[:, j] >= least - 1e-12 for part in parts]
    else:
        wanted = share * weights.sum() if share is not None else weights[parts[0].decided == j].sum()
        chosen = [_best(odds[0], odds[1], weights, wanted), _best(odds[1], odds[0], weights, wanted)]
        if share is None:
            chosen[0] = parts[0].decided == j
    lines = []
    for name, old, new in (("both", 1, 1), ("swap in", 0, 1), ("swap out", 1, 0), ("neither", 0, 0)):
        own = (chosen[0] == old) & (chosen[1] == new)
        rate, low, high = parts[0].share(hit, own)
        lines.append((name, int(own.sum()), float(weights[own & hit].sum()), rate, low, high))
    return _framed(lines, ("set", "rows", "events", "event_rate", "low", "high"))


def _best(score: np.ndarray, other: np.ndarray, weights: np.ndarray, wanted: float) -> np.ndarray:
    """The rows of the largest scores whose weights add up to what is wanted."""
    order, chosen = np.lexsort((-other, -score)), np.zeros(score.size, dtype=bool)
    chosen[order[np.cumsum(weights[order]) <= wanted * (1 + 1e-9)]] = True
    return chosen

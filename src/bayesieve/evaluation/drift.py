"""How rows of today differ from those of the training: levels, scores and, with labels, performance."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betainc, ndtri
from scipy.stats import false_discovery_control

from bayesieve.evaluation.judged import JudgedRows, judged_rows, scorecard_in
from bayesieve.scorecard import Scorecard
from bayesieve.scorecard.record import UNSEEN, Feature
from bayesieve.selection.base import seed_of
from bayesieve.statistics import metrics
from bayesieve.table.frames import polars_frame
from bayesieve.table.writing import check_html, write_atomically
from bayesieve.words import ShortRepr

_LEVEL = 0.95
_FEW = 40.0  # rows: from here on, numbers of rows are normal to within their rounding


@dataclass(frozen=True, eq=False, repr=False)
class Drift(ShortRepr):
    """What `drift` finds.

    Attributes
    ----------
    features : polars.DataFrame
        What `to_frame` returns.
    periods : polars.DataFrame
        One row per group: ``by``, ``rows``, the ``shift`` of the mean score and, with labels, ``labelled`` (rows),
        ``auc``, ``log_loss`` and ``brier``, and ``calibration``: the mean predicted probability of the second class
        less its share. ``_low`` and ``_high`` are bounds of 95 % intervals.
    levels : polars.DataFrame
        One row per group, feature and level: the ``train`` and ``now`` shares of the rows and, with labels, for the
        second of two classes or each of more, its share in the level in training (``rate_train``), now (``observed``)
        and as ``predicted``, and the ``p_value`` of the difference of the last two; ``p_adjusted`` for their number
        by Benjamini and Hochberg (1995).
    n_training : float
        Training rows (or weight).
    """

    features: Any
    periods: Any
    levels: Any
    n_training: float

    def _facts(self) -> dict[str, Any]:
        return {"periods": len(self.periods), "features": self.features["feature"].n_unique()}

    def to_frame(self) -> Any:
        """One row per group and feature (polars), the most important feature first: ``by``, ``feature``, ``rows``,
        ``psi`` with the bounds ``psi_low`` and ``psi_high``, ``psi_chance``, ``unseen``, ``missing`` and ``shift``.
        """
        return self.features

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a self-contained HTML page: stability by group, shifts of the score, measures, and levels that changed.

        ValueError if ``path`` ends otherwise than in .html or .htm, or cannot be written.
        """
        check_html(path)
        write_atomically(path, self._page())

    def _page(self) -> str:
        from bayesieve.report.drift import render_drift

        return render_drift(self)

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self._page())}" style="width:100%;height:36rem;border:0"></iframe>'


def drift(
    model: Any,
    X: Any,
    y: Any = None,
    by: Any = None,
    *,
    every: str = "month",
    sample_weight: Any = None,
    n_resamples: int = 200,
    random_state: Any = 0,
) -> Drift:
    """How rows differ from the training rows of a model, on the levels of the model, period by period.

    Levels are those that the scorecard tells apart, with the training rows in ``feature.counts``. The population
    stability index (PSI) of a feature is the sum over its levels of (share now - share in training) x ln(share now /
    share in training), as in optbinning. Shares are of the rows that have a level; if training had missing values,
    these are one. A level without rows counts as half a row.

    Parameters
    ----------
    model : SelectiveNB or Scorecard
    X : dataframe, array, or what `bayesieve.scan` takes
        Rows of today. Columns may be in any order; those that are not in the model play no part.
    y : array-like or str, optional
        Labels, or the name of their column. Rows whose label is missing have no part in measures.
    by : array-like or str, optional
        Groups of rows, or the name of their column: dates are grouped by ``every``, other values as they are. By
        default all rows are one group, ``"all"``.
    every : {"day", "week", "month", "quarter", "year"}, default="month"
    sample_weight : array-like or str, optional
        Times that each row counts, or the name of their column.
    n_resamples : int, default=200
        Resamples of the rows of a group, and of training, behind ``psi_low``, ``psi_high`` and ``psi_chance``; 0: none.
    random_state : int, RandomState or None, default=0
        Seed of the resamples.

    Returns
    -------
    Drift
        With ``to_frame()``, ``periods``, ``levels`` and ``report(path)``. Of the frame:

        - ``psi``: as above. Few rows make it large: ``psi_chance`` is what 95 % of as many rows from the distribution
          of training stay below. ``psi_low`` and ``psi_high`` bound the PSI of the distribution behind the rows in 95 %
          of cases, without what chance adds, so that a small sample has a low bound near 0.
        - ``unseen``, ``missing``: shares of the rows whose value has no level, or is missing.
        - ``shift``: what the feature adds to the mean log odds of the second class, less what it added in training, in
          nats. Shifts of all features add up to the shift of the mean score. More classes have a ``shift_<class>``
          each, of the log joint, and ``shift`` is the largest of them in size.

    Raises
    ------
    ValueError
        If the model has no scorecard, a column is missing, or a label is no class of the model.

    Examples
    --------
    >>> import polars as pl
    >>> from bayesieve import SelectiveNB, drift
    >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 50})
    >>> model = SelectiveNB().fit(frame, ["no", "no", "yes", "yes"] * 50)
    >>> now = pl.DataFrame({"age": [20, 40, 50, 60] * 50, "month": ["May", "June"] * 100})
    >>> drift(model, now, by="month").to_frame().select("by", "feature", pl.col("psi", "shift").round(2))
    shape: (2, 4)
    ┌──────┬─────────┬─────┬───────┐
    │ by   ┆ feature ┆ psi ┆ shift │
    │ ---  ┆ ---     ┆ --- ┆ ---   │
    │ str  ┆ str     ┆ f64 ┆ f64   │
    ╞══════╪═════════╪═════╪═══════╡
    │ June ┆ age     ┆ 0.0 ┆ 0.0   │
    │ May  ┆ age     ┆ 0.0 ┆ 0.0   │
    └──────┴─────────┴─────┴───────┘
    """
    card = scorecard_in(model)
    if card is None:
        raise ValueError(f"drift needs a fitted SelectiveNB or its scorecard_, got {type(model).__name__}.")
    if isinstance(n_resamples, bool) or not isinstance(n_resamples, (int, np.integer)) or n_resamples < 0:
        raise ValueError(f"n_resamples must be a whole number, 0 or more, got {n_resamples!r}.")
    rows = judged_rows(model, X, y, by, sample_weight, every, predicts=y is not None)
    seed, position = seed_of(random_state), {k: at for at, k in enumerate(card.used.tolist())}
    weight, squares = rows.sums(), rows.sums(rows.weights)
    n_effective = np.divide(weight**2, squares, out=np.zeros_like(weight), where=squares > 0)
    shown = [1] if card.classes.size == 2 else list(range(card.classes.size))
    lines, levels, totals = [], [], np.zeros((len(rows.names), card.classes.size))
    for k in card.by_importance.tolist():
        feature, at = card.features[k], position[k]
        counts = _counts(rows, np.minimum(rows.cells[at], len(feature.labels)), len(feature.labels) + 1)
        shift = _shift(feature, counts, weight, card.class_counts.sum())
        totals += shift
        stability = _stability(feature, counts, n_effective, n_resamples, np.random.default_rng([seed, k]))
        absent = rows.sums(rows=rows.missing[at])
        unseen = rows.missing[at][rows.cells[at][rows.missing[at]] >= len(feature.labels)]
        shares = {"unseen": counts[:, -1] - rows.sums(rows=unseen), "missing": absent}
        shares = {name: _over(np.maximum(part, 0.0), weight) for name, part in shares.items()}
        lines.append({"feature": feature.name, **stability, **shares, **_shifts(card, shift)})
        levels += _levels(card, rows, feature, at, counts, weight, shown)
    n_rows = np.bincount(rows.group if rows.weights is None else rows.group[rows.weights > 0], minlength=len(weight))
    same = {"by": rows.names, "rows": n_rows}
    order = ["by", "feature", "rows"]
    periods: dict[str, Any] = {**same, **_shifts(card, totals)}
    if rows.labels is not None:
        periods |= _measures(rows, shown)
    return Drift(
        _joined([{**same, **line} for line in lines], order),
        polars_frame(periods, nan_to_null=True, strict=False),
        _with_adjusted(_joined(levels, order)),
        float(card.class_counts.sum()),
    )


def _counts(rows: JudgedRows, codes: np.ndarray, n_codes: int, values: np.ndarray | None = None) -> np.ndarray:
    """(n_groups, n_codes) sums of weights, times values if given."""
    weights = rows.weights if values is None else values if rows.weights is None else values * rows.weights
    n_groups = len(rows.names)
    at = codes if n_groups == 1 else rows.group * np.int32(n_codes) + codes
    return np.bincount(at, weights, minlength=n_groups * n_codes).reshape(n_groups, n_codes).astype(float)


def _over(parts: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Parts over the whole of their group, NaN if that is 0."""
    whole = whole.reshape(-1, *(1,) * (parts.ndim - 1))
    return np.divide(parts, whole, out=np.full(parts.shape, np.nan), where=whole > 0)


def _shift(feature: Feature, counts: np.ndarray, weight: np.ndarray, total: float) -> np.ndarray:
    """(n_groups, n_classes) what the feature adds on average, less what it adds in training."""
    before = feature.counts.sum(axis=1) / total
    before = np.append(before, 1.0 - before.sum())
    return np.asarray((_over(counts, weight) - before) @ feature.table)


def _shifts(card: Scorecard, shift: np.ndarray) -> dict[str, np.ndarray]:
    if card.classes.size == 2:
        return {"shift": shift[:, 1] - shift[:, 0]}
    each = {f"shift_{label}": shift[:, j] for j, label in enumerate(card.classes.tolist())}
    return {"shift": _largest(shift), **each}


def _largest(values: np.ndarray) -> np.ndarray:
    """Of each row of (n_groups, n) values the largest in size."""
    at = np.abs(np.nan_to_num(values)).argmax(axis=1)
    return np.take_along_axis(values, at[:, None], axis=1)[:, 0]


def population_stability(now: np.ndarray, before: np.ndarray) -> np.ndarray:
    """PSI of (..., n_levels) rows by level, an empty level counted as half a row.

    Examples
    --------
    >>> population_stability(np.array([30.0, 70.0]), np.array([50.0, 50.0])).round(4)
    np.float64(0.1695)
    """
    parts = [np.maximum(part, 0.5) / np.maximum(part.sum(axis=-1, keepdims=True), 0.5) for part in (now, before)]
    return np.asarray(((parts[0] - parts[1]) * np.log(parts[0] / parts[1])).sum(axis=-1))


def _stability(
    feature: Feature, counts: np.ndarray, n_effective: np.ndarray, n_resamples: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """PSI of each group, its bounds, and what chance gives.

    Resampled rows differ from the sample as the sample does from the distribution that it comes from: what they have
    more than the sample is taken off the sample.
    """
    before, whole = feature.counts.sum(axis=1), counts.sum(axis=1)
    now = counts[:, :-1] * np.divide(n_effective, whole, out=np.zeros_like(whole), where=whole > 0)[:, None]
    n_now = now.sum(axis=1)
    psi = np.where(n_now > 0, population_stability(now, before), np.nan)
    low = high = chance = np.full(psi.size, np.nan)
    if n_resamples and before.sum() > 0:
        again = _resampled(before[None], n_resamples, rng)[0]
        draws = _resampled(now, n_resamples, rng, np.outer(n_now, before / before.sum()))
        resampled, by_chance = (population_stability(drawn, again) for drawn in draws)
        largest, smallest = np.quantile(resampled, [0.5 + _LEVEL / 2, 0.5 - _LEVEL / 2], axis=0)
        known = np.where(n_now > 0, 1.0, np.nan)
        low, high = np.clip(2 * psi - largest, 0.0, psi), np.maximum(2 * psi - smallest, psi)
        chance = known * np.quantile(by_chance, _LEVEL, axis=0)
    return {"psi": psi, "psi_low": low, "psi_high": high, "psi_chance": chance}


def _resampled(first: np.ndarray, n_resamples: int, rng: np.random.Generator, *others: np.ndarray) -> list[np.ndarray]:
    """For each table of counts, (n_resamples, n_groups, n_levels) Poisson numbers of these means, whose shares are those
    of rows drawn again; large ones are normal.
    """
    deviates = rng.standard_normal((n_resamples, *first.shape), dtype=np.float32)
    tables = []
    for counts in (first, *others):
        drawn = deviates * np.sqrt(counts, dtype=np.float32) + counts.astype(np.float32)
        few = counts < _FEW
        drawn[:, few] = rng.poisson(counts[few], (n_resamples, np.count_nonzero(few)))
        tables.append(drawn)
    return tables


def _levels(
    card: Scorecard,
    rows: JudgedRows,
    feature: Feature,
    at: int,
    counts: np.ndarray,
    weight: np.ndarray,
    shown: list[int],
) -> list[dict[str, Any]]:
    """Shares of each level and, with labels, how often each class is predicted and observed in it."""
    n_groups, n_codes, before = len(rows.names), counts.shape[1], feature.counts
    shares = np.append(before.sum(axis=1) / card.class_counts.sum(), 0.0)
    shares[-1] = max(0.0, 1.0 - shares.sum())
    line: dict[str, Any] = {
        "by": [name for name in rows.names for _ in range(n_codes)],
        "feature": feature.name,
        "level": np.tile(np.array([*feature.labels, UNSEEN], dtype=object), n_groups),
        "train": np.tile(shares, n_groups),
        "now": _over(counts, weight).ravel(),
    }
    if rows.labels is None:
        return [line]
    level = np.minimum(rows.cells[at], n_codes - 1)
    labelled = (rows.labels >= 0).astype(float)
    n, squares = (
        _counts(rows, level, n_codes, part)
        for part in (labelled, labelled if rows.weights is None else labelled * rows.weights)
    )
    result = []
    for j in shown:
        predicted = np.exp(rows.log_proba[:, j]) * labelled
        parts = (rows.labels == j).astype(float), predicted, predicted**2
        events, expected, of_squares = (_counts(rows, level, n_codes, part) for part in parts)
        scale = np.divide(n, squares, out=np.ones_like(n), where=squares > 0)  # of weights to rows
        of_class = np.append(_over(before[:, j], before.sum(axis=1)), np.nan)
        own = {"class": str(card.classes[j])} | line | {"rate_train": np.tile(of_class, n_groups)}
        own |= {"observed": _over(events.ravel(), n.ravel()), "predicted": _over(expected.ravel(), n.ravel())}
        own["p_value"] = calibration_p_value(events * scale, expected * scale, of_squares * scale).ravel()
        own["p_value"][n.ravel() <= 0] = np.nan
        result.append(own)
    return result


def calibration_p_value(events: np.ndarray, expected: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Two-sided p-values of numbers of events among rows of known probabilities.

    The number is binomial with the mean and variance of the sum: that of as many rows of equal probability.

    Parameters
    ----------
    events, expected, squares : sums over rows of events, their probabilities, and the squares of these.

    Examples
    --------
    >>> calibration_p_value(np.array([9.0]), np.array([5.0]), np.array([2.5])).round(4)  # 9 heads of 10 throws
    array([0.0215])
    """
    tiny = np.finfo(float).tiny
    n = np.maximum(expected**2 / np.maximum(squares, tiny), np.maximum(events, expected))
    share = np.clip(expected / np.maximum(n, tiny), 0.0, 1.0)
    with np.errstate(invalid="ignore"):
        at_least = np.where(events > 0, betainc(np.maximum(events, tiny), np.maximum(n - events + 1, tiny), share), 1.0)
        more = np.where(events < n, betainc(events + 1, np.maximum(n - events, tiny), share), 0.0)
    return np.asarray(np.clip(2 * np.minimum(at_least, 1.0 - more), 0.0, 1.0))


def _measures(rows: JudgedRows, shown: list[int]) -> dict[str, Any]:
    """Measures of the labelled rows of each group."""
    assert rows.labels is not None
    parts: list[dict[str, float]] = []
    known = rows.labels >= 0 if rows.weights is None else (rows.labels >= 0) & (rows.weights > 0)
    order = np.flatnonzero(known)[np.argsort(rows.group[known], kind="stable")]
    ends = np.cumsum(np.bincount(rows.group[order], minlength=len(rows.names)))[:-1]
    for own in np.split(order, ends):
        weights = None if rows.weights is None else rows.weights[own]
        parts.append({"labelled": own.size, **_measured(rows.log_proba[own], rows.labels[own], weights, shown)})
    names = list(dict.fromkeys(name for part in parts for name in part))
    return {name: [part.get(name, np.nan) for part in parts] for name in names}


def _measured(
    log_proba: np.ndarray, codes: np.ndarray, weights: np.ndarray | None, shown: list[int]
) -> dict[str, float]:
    if not codes.size:
        return {}
    scores = metrics.class_scores(log_proba)
    areas = {"auc": metrics.area(scores, codes, weights)}
    if len(shown) == 1:
        hit = codes == 1
        auc, errors = metrics.area_with_errors(scores[:, 1], hit, weights)
        areas["auc_low"], areas["auc_high"] = metrics.area_interval(auc, errors, hit, weights, _LEVEL)
    gaps = {f"calibration_{j}": calibration(np.exp(log_proba[:, j]), codes == j, weights) for j in shown}
    gap, half = max(gaps.values(), key=lambda pair: abs(pair[0]))
    return {
        **areas,
        "log_loss": metrics.log_loss(log_proba, codes, weights),
        "brier": metrics.brier_score(log_proba, codes, weights),
        "calibration": gap,
        "calibration_low": gap - half,
        "calibration_high": gap + half,
    }


def calibration(
    probability: np.ndarray, hit: np.ndarray, weights: np.ndarray | None, level: float = _LEVEL
) -> tuple[float, float]:
    """Mean predicted probability less the share of hits, and half the width of its interval."""
    weights = np.ones(hit.size) if weights is None else weights
    difference = probability - hit
    variances = np.maximum(probability * (1 - probability), 0.0), difference**2
    spread = max(float(weights**2 @ variance) for variance in variances) / weights.sum() ** 2
    return float(weights @ difference / weights.sum()), float(ndtri(0.5 + level / 2)) * spread**0.5


def _joined(lines: list[dict[str, Any]], first: list[str]) -> Any:
    """Lines of columns below one another; columns that stand for all rows of a line are repeated."""
    import polars as pl

    frames = [polars_frame(line, nan_to_null=True, strict=False) for line in lines]
    if not frames:
        return pl.DataFrame(schema=dict.fromkeys(first, pl.String))
    frame = pl.concat(frames, how="vertical_relaxed")
    return frame.select([*(name for name in first if name in frame.columns), pl.exclude(first)])


def _with_adjusted(levels: Any) -> Any:
    """The levels that rows have, or had in training, with p-values corrected for their number."""
    import polars as pl

    if "train" not in levels.columns:
        return levels
    levels = levels.filter((pl.col("level") != UNSEEN) | (pl.col("now") > 0) | (pl.col("train") > 1e-9))
    if "p_value" not in levels.columns:
        return levels
    known = levels["p_value"].is_not_null()
    adjusted = np.full(len(levels), np.nan)
    if known.any():
        adjusted[known.to_numpy()] = false_discovery_control(levels["p_value"].drop_nulls().to_numpy())
    return levels.with_columns(pl.Series("p_adjusted", adjusted).fill_nan(None))

"""Drift of rows since training: stability of levels, shift of the score and, with labels, performance.

A level is an interval or group of values of a feature; a cell is a level or a piece of one, and has a contribution.
Rows without a cell have a value that did not occur in training.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import betainc
from scipy.stats import false_discovery_control

from bayesieve.evaluation.evaluating import Segment, labelled
from bayesieve.evaluation.judged import EvaluatedRows, grouped_rows, scorecard_in
from bayesieve.parts import Allowed, check_allowed
from bayesieve.scorecard import Scorecard
from bayesieve.scorecard.explanation import UNSEEN
from bayesieve.scorecard.record import Feature
from bayesieve.selection.base import seed_of
from bayesieve.table.frames import in_library, library_of, results_frame
from bayesieve.table.writing import check_html, write_atomically
from bayesieve.words import ShortRepr

_LEVEL = 0.95
_LARGEST = {"": "psi", "_feature": "feature", "_period": "by"}
_ROUNDING = 1e-9  # relative rounding error of sums of row weights
_FEW = 40.0  # number of rows from which the normal approximation of a Poisson count is accurate enough
_MEASURES = ("auc", "gini", "ks", "log_loss", "brier", "calibration", "calibration_slope")
_ENDS = ("", "_low", "_high")
_IDEAL = {"ks": 1.0, "calibration": 0.0, "calibration_slope": 1.0}  # best value of measures computed for each class
_OF_LEVELS = ("by", "feature", "level", "class", "train", "now")


@dataclass(frozen=True, eq=False, repr=False)
class Drift(ShortRepr):
    """Changes of new rows compared with the training rows of a model, the result of `drift`.

    Attributes
    ----------
    features : polars.DataFrame
        Table of `to_frame`, always as a polars dataframe.
    periods : polars.DataFrame
        One row per group: ``by``, ``rows``, the ``shift`` of the mean score and, with labels, ``labelled`` (rows),
        ``auc``, ``gini``, ``ks``, ``log_loss``, ``brier``, ``calibration`` (mean predicted probability of the positive
        class minus its share) and ``calibration_slope``. For more than two classes, ``ks`` and the calibration columns
        are those of the worst class. Columns ending in ``_low`` and ``_high`` are bounds of 95 % intervals.
    levels : polars.DataFrame
        One row per group, feature and level: the share of the rows in the level in training (``train``) and in the new
        rows (``now``). With labels, one row also per class (of two classes, only the positive one): the share of the
        class among the rows of the level in training (``rate_train``), in the new rows (``observed``) and as
        ``predicted``, the ``p_value`` of observed against predicted, and ``p_adjusted`` for the number of tests
        (Benjamini and Hochberg 1995).
    n_training : float
        Number (or weight) of the training rows.
    """

    features: Any
    periods: Any
    levels: Any
    n_training: float
    library: str = field(default="polars", repr=False)

    def _facts(self) -> dict[str, Any]:
        """Return the facts that ``repr`` shows, by name."""
        facts = {"periods": len(self.periods), "features": self.features["feature"].n_unique()}
        most = self.features.sort("psi", descending=True, nulls_last=True).head(1).rows(named=True)
        return facts | {f"largest_psi{name}": row[key] for row in most for name, key in _LARGEST.items()}

    def to_frame(self) -> Any:
        """Return one row per group and feature, the most important feature first, with the columns described in
        `drift`.

        The result is a pandas or pyarrow table if the rows were one, otherwise a polars dataframe.
        """
        return in_library(self.features, self.library)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a self-contained HTML page: stability by group, shifts of the score, performance measures, and changed
        levels.

        Raise ValueError if ``path`` does not end in .html or .htm, or cannot be written.
        """
        check_html(path)
        write_atomically(path, self._page())

    def _page(self) -> str:
        """Return the page of `report` as HTML."""
        from bayesieve.report.drift import render_drift

        return render_drift(self)

    def _repr_html_(self) -> str:
        """Return the page of `report` as HTML, for notebooks."""
        from bayesieve.report.page import framed

        return framed(self._page(), super()._repr_html_())


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
    """Compare new rows with the training rows of a model, level by level and period by period.

    The population stability index (PSI) of a feature is the sum over its levels of (share now - share in training) x
    ln(share now / share in training), as in optbinning. Values without a level, because they (or missing values) did
    not occur in training, form one more level. A level without rows counts as half a row, unless it has no training
    rows either. If a feature has a single level, the cells of the scorecard are used instead of levels.

    Columns with many values without a level raise a warning, as in ``predict_proba``.

    Parameters
    ----------
    model : SelectiveNB or Scorecard
        Fitted model.
    X : dataframe or array
        New rows, in memory. Columns may be in any order; columns that are not in the model are ignored.
    y : array-like or str, optional
        Class labels, or the name of their column. Rows without a label are ignored in performance measures. None: no
        performance is measured.
    by : array-like or str, optional
        Groups of the rows, or the name of their column. Dates are grouped by the period ``every``; of other values,
        each distinct one is a group. By default all rows form one group, ``"all"``.
    every : {"day", "week", "month", "quarter", "year"}, default="month"
        Period by which dates are grouped.
    sample_weight : array-like or str, optional
        Weights of the rows, or the name of their column; a weight of 2 equals the row repeated.
    n_resamples : int, default=200
        Number of bootstrap samples of a group and of the training rows, for ``psi_low``, ``psi_high`` and
        ``psi_chance``; with 0, these are missing.
    random_state : int, RandomState or None, default=0
        Seed of the bootstrap samples.

    Returns
    -------
    Drift
        Result with ``to_frame()``, ``periods``, ``levels`` and ``report(path)``. Columns of the frame:

        - ``by``, ``feature``, ``rows``: group, feature, and number (or weight) of the rows.
        - ``psi``: see above. Small samples have a large PSI by chance: ``psi_chance`` is the 95 % quantile of the PSI
          of samples of the same size from the training distribution. ``psi_low`` and ``psi_high`` are bounds of a
          95 % interval for the PSI of the underlying distribution, corrected for chance.
        - ``unseen``, ``missing``: shares of the rows whose value has no level, or is missing.
        - ``shift``: mean contribution of the feature to the log odds of the positive class in the new rows, minus
          that in training, in nats. The shifts of all features add up to the shift of the mean score. With more than
          two classes, ``shift_<class>`` is the shift of the log joint of each class, and ``shift`` the largest in
          absolute value.

    Raises
    ------
    ValueError
        If the model has no scorecard, a column is missing, or a label is not a class of the model.

    Examples
    --------
    >>> import polars as pl
    >>> from bayesieve import SelectiveNB, drift
    >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 50})
    >>> model = SelectiveNB().fit(frame, ["no", "no", "yes", "yes"] * 50)
    >>> now = pl.DataFrame({"age": [20, 40, 25, 60] * 50, "month": ["2024-05", "2024-06"] * 100})
    >>> found = drift(model, now, by="month").to_frame()
    >>> found.select("by", "feature", pl.col("psi", "psi_chance").round(2)).rows()
    [('2024-05', 'age', 2.63, 0.04), ('2024-06', 'age', 2.63, 0.07)]
    """
    card = scorecard_in(model)
    if card is None:
        raise ValueError(f"drift needs a fitted SelectiveNB or its scorecard_, got {type(model).__name__}.")
    check_allowed({"n_resamples": n_resamples}, {"n_resamples": Allowed.count(low=0)})
    rows = grouped_rows(model, X, y, by, sample_weight, every, predicts=y is not None)
    weight, squares = (_sums(rows, values=values)[:, 0] for values in (None, rows.weights))
    n_effective, position = _over(weight**2, squares), {k: at for at, k in enumerate(card.used.tolist())}
    counted = np.bincount(rows.group if rows.weights is None else rows.group[rows.weights > 0], minlength=weight.size)
    lines, levels, total = [], [], np.zeros((weight.size, card.classes.size))
    for k in card.by_importance.tolist():
        feature, codes, absent = card.features[k], rows.cells[position[k]], rows.missing[position[k]]
        n_cells, now = len(feature.labels), _sums(rows, codes, len(feature.labels) + 1)
        trained = _training_rows(card, feature)
        before = trained / trained.sum()
        shift = (_over(now, weight) - before) @ feature.table
        total += shift
        rng = np.random.default_rng([seed_of(random_state), k])
        line = {"by": rows.names, "feature": feature.name, "rows": counted}
        line |= _stability(feature, trained, now * _over(n_effective, weight)[:, None], n_resamples, rng)
        absent_weight = now[:, -1] - _sums(rows, among=absent[codes[absent] >= n_cells])[:, 0]
        line["unseen"] = _over(np.maximum(absent_weight, 0.0), weight)
        line["missing"] = _over(_sums(rows, among=absent)[:, 0], weight)
        lines.append({**line, **_shifts(card, shift)})
        levels += _levels(card, rows, feature, codes, _over(now, weight), before)
    periods = {"by": rows.names, "rows": counted, **_shifts(card, total), **({} if y is None else _measures(rows))}
    names = ("by", "feature", "rows", "psi", "psi_low", "psi_high", "psi_chance", "unseen", "missing", "shift")
    return Drift(
        features=_joined(lines, names),
        periods=_joined([periods], ()),
        levels=_with_adjusted(_joined(levels, _OF_LEVELS)),
        n_training=float(card.class_counts.sum()),
        library=library_of(X),
    )


def _sums(rows: EvaluatedRows, codes: Any = 0, n: int = 1, values: Any = None, among: Any = slice(None)) -> np.ndarray:
    """Sum the weights of the rows, or weights times ``values`` (n_rows,), by group and code; shape (n_groups, n).

    ``codes`` are integers from 0 to ``n`` - 1, one for each of the rows that ``among`` selects (by default all rows),
    or one number for all. Group and weight of each row are those in ``rows``.
    """
    weights = rows.weights if values is None else values if rows.weights is None else values * rows.weights
    bins = rows.group[among] * np.int32(n) + codes
    sums = np.bincount(bins, None if weights is None else weights[among], minlength=n * len(rows.names))
    return sums.reshape(len(rows.names), n).astype(float)


def _over(numerators: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Divide ``numerators`` (n_groups, ...) by the totals ``whole``; the result is NaN if a total is 0. The axes of
    ``whole`` are the first axes of ``numerators``, (n_groups,) or more.
    """
    whole = np.broadcast_to(whole.reshape(whole.shape + (1,) * (numerators.ndim - whole.ndim)), numerators.shape)
    return np.divide(numerators, whole, out=np.full(numerators.shape, np.nan), where=whole > 0)


def _training_rows(card: Scorecard, feature: Feature) -> np.ndarray:
    """Return the number (or weight) of training rows in each cell of a feature, shape (n_cells + 1,). The last entry
    counts rows whose value has no cell.
    """
    row_counts, n_rows = feature.counts.sum(axis=1), float(card.class_counts.sum())
    # With the option min_count, each count is rounded to a multiple of it, an error of up to half of it. Differences
    # that rounding explains do not count as rows without a cell.
    rounding = max(_ROUNDING * n_rows, card.provenance.get("min_count", 0) / 2 * feature.counts.size)
    without_cell = n_rows - float(row_counts.sum())
    return np.append(row_counts, without_cell if without_cell > rounding else 0.0)


def _shifts(card: Scorecard, shift: np.ndarray) -> dict[str, np.ndarray]:
    """Convert shifts of the mean log joint, shape (n_groups, n_classes) in nats, to the shift columns of
    `Drift.to_frame`, arrays (n_groups,) by name.

    For two classes, the only column ``shift`` is the shift of the log odds of the positive class. Otherwise there is a
    column ``shift_<class>`` for each class, and ``shift`` is the one largest in absolute value.
    """
    if card.classes.size == 2:
        return {"shift": card.log_odds(shift)}
    largest = np.abs(np.nan_to_num(shift)).argmax(axis=1)[:, None]
    each = {f"shift_{label}": shift[:, j] for j, label in enumerate(card.classes.tolist())}
    return {"shift": np.take_along_axis(shift, largest, axis=1)[:, 0], **each}


def population_stability(now: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return the population stability index of two tables of row counts by level, shape (...), summed over the last
    axis.

    ``now`` and ``before`` have shapes (..., n_levels) that can be broadcast. A level with rows in only one of them
    counts as half a row in the other.

    Examples
    --------
    >>> float(population_stability(np.array([30.0, 70.0]), np.array([50.0, 50.0])).round(4))
    0.1695
    """
    p, q = (np.maximum(counts, 0.5) / np.maximum(counts.sum(axis=-1, keepdims=True), 0.5) for counts in (now, before))
    return np.asarray(((p - q) * np.log(p / q)).sum(axis=-1, where=(now > 0) | (before > 0)))


def _level_of_cell(feature: Feature) -> np.ndarray:
    """Return the position of the level of each cell, shape (n_cells,). If the feature has a single level, each cell
    counts as a level.
    """
    return feature.level_of_cell if feature.levels.n_levels > 1 else np.arange(len(feature.labels))


def _by_level(feature: Feature, counts: np.ndarray) -> np.ndarray:
    """Sum ``counts`` by cell, shape (..., n_cells + 1), to counts by level, shape (..., n_levels + 1). The last entries
    count rows without a cell.
    """
    level = _level_of_cell(feature)
    level = np.append(level, level.max(initial=-1) + 1)
    sums = [np.bincount(level, table_row) for table_row in counts.reshape(-1, level.size)]
    return np.array(sums).reshape(*counts.shape[:-1], level[-1] + 1)


def _stability(
    feature: Feature, trained: np.ndarray, now: np.ndarray, n_resamples: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return the population stability index (PSI) of each group, its 95 % interval, and its 95 % quantile by chance:
    arrays (n_groups,) by name, "psi", "psi_low", "psi_high" and "psi_chance".

    ``trained`` (n_cells + 1,) holds the training rows by cell of the feature, ``now`` (n_groups, n_cells + 1) the new
    rows; the last entry counts rows without a cell. ``n_resamples`` bootstrap samples are drawn by the generator
    ``rng``. Sampling inflates the index, and bootstrap sampling inflates it again by about as much. The bounds
    therefore subtract the mean excess of the bootstrap samples over the sample.
    """
    now, before = _by_level(feature, np.nan_to_num(now)), _by_level(feature, trained)
    has_rows = (before > 0) | (now > 0).any(axis=0)
    now, before = now[:, has_rows], before[has_rows]
    n_now = now.sum(axis=1)
    psi = np.where(n_now > 0, population_stability(now, before), np.nan)
    low = high = chance = np.full(psi.size, np.nan)
    if n_resamples:
        again = _resampled(rng, n_resamples, before[None])[0]
        draws = _resampled(rng, n_resamples, now, np.outer(n_now, before / before.sum()))
        resampled, by_chance = (population_stability(drawn, again).astype(float) for drawn in draws)
        largest, smallest = np.quantile(resampled, [0.5 + _LEVEL / 2, 0.5 - _LEVEL / 2], axis=0)
        low, high = np.clip(2 * psi - largest, 0.0, psi), np.maximum(2 * psi - smallest, psi)
        chance = np.where(n_now > 0, np.quantile(by_chance, _LEVEL, axis=0), np.nan)
    return {"psi": psi, "psi_low": low, "psi_high": high, "psi_chance": chance}


def _resampled(rng: np.random.Generator, n_resamples: int, *tables: np.ndarray) -> list[np.ndarray]:
    """Draw ``n_resamples`` bootstrap samples of each table of counts by the generator ``rng``. All ``tables`` have one
    shape (n_groups, n_levels); return an array (n_resamples, n_groups, n_levels) for each.

    Counts are drawn from Poisson distributions, which needs no loop over rows. Large counts use the normal
    approximation, which is faster.
    """
    deviates, samples = rng.standard_normal((n_resamples, *tables[0].shape), dtype=np.float32), []
    for counts in tables:
        samples.append(deviates * np.sqrt(counts, dtype=np.float32) + counts.astype(np.float32))
        few = counts < _FEW
        samples[-1][:, few] = rng.poisson(counts[few], (n_resamples, np.count_nonzero(few)))
    return samples


def _levels(
    card: Scorecard, rows: EvaluatedRows, feature: Feature, codes: np.ndarray, now: np.ndarray, before: np.ndarray
) -> list[dict[str, Any]]:
    """Return the rows of `Drift.levels` for one feature, as one dict of columns for each class.

    ``codes`` (n_rows,) are the cells of the rows; ``now`` (n_groups, n_cells + 1) and ``before`` (n_cells + 1,) are the
    new rows and the training rows by cell.
    """
    labels = feature.levels.labels if feature.levels.n_levels > 1 else feature.labels
    n_groups, n = len(rows.names), len(labels) + 1
    line: dict[str, Any] = {"by": [name for name in rows.names for _ in range(n)], "feature": feature.name}
    line["level"] = [*labels, UNSEEN] * n_groups
    shares = (np.broadcast_to(_by_level(feature, cells), (n_groups, n)) for cells in (before, now))
    line["train"], line["now"] = (levels.ravel() for levels in shares)
    if rows.labels is None:
        return [line]
    level = np.append(_level_of_cell(feature), n - 1)[np.minimum(codes, len(feature.labels))]
    has_label, result = (rows.labels >= 0).astype(float), []
    trained = _by_level(feature, np.pad(feature.counts.T, ((0, 0), (0, 1))))
    # Sums of weights and of squared weights of the labelled rows. Their ratio converts weights to effective rows.
    n_labelled, squares = (
        _sums(rows, level, n, has_label * (1.0 if factor is None else factor)) for factor in (None, rows.weights)
    )
    for j in [rows.positive] if card.classes.size == 2 else range(card.classes.size):
        p, scale = np.exp(rows.log_proba[:, j]) * has_label, np.nan_to_num(_over(n_labelled, squares))
        sums = [_sums(rows, level, n, values) for values in ((rows.labels == j).astype(float), p, p**2)]
        columns = {"class": str(card.classes[j]), **line}
        columns["rate_train"] = np.tile(_over(trained[j], trained.sum(axis=0)), n_groups)
        columns["observed"], columns["predicted"] = (_over(total, n_labelled).ravel() for total in sums[:2])
        p_value = calibration_p_value(*(total * scale for total in sums))
        result.append(columns | {"p_value": np.where(n_labelled > 0, p_value, np.nan).ravel()})
    return result


def calibration_p_value(events: np.ndarray, expected: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Return two-sided p-values for the number of events among rows with given event probabilities.

    The number of events is approximated by a binomial distribution with the mean and variance of the sum over the rows.

    Parameters
    ----------
    events, expected, squares : arrays of one shape
        Number of events, sum of the probabilities of the rows, and sum of their squares.

    Examples
    --------
    >>> calibration_p_value(np.array([9.0]), np.array([5.0]), np.array([2.5])).round(4).tolist()  # 9 heads of 10
    [0.0215]
    """
    tiny = np.finfo(float).tiny
    n = np.maximum(expected**2 / np.maximum(squares, tiny), np.maximum(events, expected))
    share = np.clip(expected / np.maximum(n, tiny), 0.0, 1.0)
    at_least = np.where(events > 0, betainc(np.maximum(events, tiny), np.maximum(n - events, 0) + 1, share), 1.0)
    more = np.where(events < n, betainc(events + 1, np.maximum(n - events, tiny), share), 0.0)
    return np.asarray(np.clip(2 * np.minimum(at_least, 1.0 - more), 0.0, 1.0))


def _measures(rows: EvaluatedRows) -> dict[str, Any]:
    """Return the performance measures of each group on its labelled rows: a dict of columns, lists of n_groups entries.
    For more than two classes, a measure of single classes is that of the class with the worst value.
    """
    labelled_rows, lines = labelled(rows), []
    for k in range(len(rows.names)):
        period_rows = labelled_rows[rows.group[labelled_rows] == k]
        best: dict[str, Any] = dict.fromkeys(_MEASURES, (np.nan,) * 3)
        for _, name, estimate in Segment.of(rows, period_rows, _LEVEL).measures(_MEASURES):
            distances = [abs(value[0] - _IDEAL.get(name, 0.0)) for value in (estimate, best[name])]
            if not np.isnan(distances[0]) and not distances[0] <= distances[1]:
                best[name] = estimate
        estimates = {f"{name}{end}": best[name][k] for name in _MEASURES for k, end in enumerate(_ENDS)}
        lines.append({"labelled": period_rows.size, **estimates})
    return {name: [line[name] for line in lines] for name in lines[0]}


def _joined(lines: Sequence[dict[str, Any]], first: Sequence[str]) -> Any:
    """Concatenate tables to one polars dataframe that starts with the columns named in ``first``. ``lines`` holds the
    tables as dicts of columns. NaN becomes null.
    """
    import polars as pl

    schema = {name: pl.String if name in _OF_LEVELS[:4] else pl.Float64 for name in first}
    frames = [results_frame(line, strict=False).with_columns(pl.col(pl.Float64).fill_nan(None)) for line in lines]
    frame = pl.concat(frames, how="vertical_relaxed") if frames else pl.DataFrame(schema=schema)
    return frame.select([*(name for name in first if name in frame.columns), pl.exclude(first)])


def _with_adjusted(levels: Any) -> Any:
    """Return the polars dataframe `Drift.levels` without levels that have rows neither now nor in training, and with
    p-values adjusted for the number of tests.
    """
    import polars as pl

    levels = levels.filter((pl.col("level") != UNSEEN) | (pl.col("now") > 0) | (pl.col("train") > 1e-9))
    if "p_value" not in levels.columns:
        return levels
    has_p_value = levels["p_value"].is_not_null().to_numpy()
    adjusted = np.full(has_p_value.size, np.nan)
    adjusted[has_p_value] = (
        false_discovery_control(levels["p_value"].drop_nulls().to_numpy()) if has_p_value.any() else np.nan
    )
    return levels.with_columns(pl.Series("p_adjusted", adjusted).fill_nan(None))

"""`IndicatorEncoder`, which turns scores into indicators "score <= threshold"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayesieve.counts import CodedTable, ContingencyCounts
from bayesieve.discretize.coding_options import DEFAULT_CODING, CodingOptions
from bayesieve.discretize.column_coders import CODER_OPTIONS, TableCoder, code_columns, read_classes
from bayesieve.discretize.modl import interval_costs, level_scores as shares_saved
from bayesieve.engine import map_in_threads
from bayesieve.parts import check_allowed, with_shared_docs
from bayesieve.table import FeatureLevels, Rows, Table
from bayesieve.table.frames import fit_table, new_table, split_columns
from bayesieve.table.levels import TableLevels
from bayesieve.table.target import require_target


@with_shared_docs
@dataclass(eq=False, repr=False)
class IndicatorEncoder(TableCoder):
    """Encoder of scores as binary indicators ``score <= threshold``, one for every score and threshold.

    If the parameters of a score and its threshold are unknown, feature selection can choose both: compute the score for
    a grid of parameters, encode each result with several thresholds, and let a selector find the useful indicators.

    Parameters
    ----------
    thresholds : int, sequence of numbers or dict, default=10
        A sequence: the thresholds of every score. An integer n: n thresholds per score, set in ``fit`` to quantiles of
        its finite values (distinct values that occur, so there may be fewer). A dict: a sequence or an integer for each
        score, by name; it must name every score. Thresholds are sorted, and duplicates are dropped.
    missing : {"level", "ignore"}, default="level"
        ``"level"``: missing scores are the first level of every indicator of the score, if there are any in training.
        ``"ignore"``: they contribute nothing to any class, in training and prediction.
    n_jobs : int or None, default=-1
        Threads that compare scores with thresholds. Results do not depend on it.

    Attributes
    ----------
    thresholds_ : dict from score names to float arrays
        Ascending thresholds of every score.
    levels_ : sequence of FeatureLevels
        Levels of each indicator, a numeric feature with one cut: missing scores if there were any in training, scores
        up to the threshold, and scores above it. ``column`` is the name of the score.
    level_scores_ : float array, shape (n_indicators,)
        1 - cost / null cost of the MODL criterion; 0 for an indicator whose two levels cost more than one.
    family_of_ : int array, shape (n_indicators,)
        Position of the score of each indicator among the scores.
    unseen_counts_ : int array, shape (n_indicators,)
        Number of missing values without a level since the fit.
    n_features_in_ : int
        Number of scores, the columns of ``X``.

    Notes
    -----
    ``transform`` returns the indicators: 1 if the score is at most the threshold, otherwise 0, also if it is missing.
    ``fit_transform_coded`` and ``transform_coded`` return codes of the levels in ``levels_``, to which the estimators
    of this package are fitted. Infinite scores raise an error, as in other numeric columns.

    References
    ----------
    Rabenoro, Lacaille, Cottrell, Rossi (2015), Search strategies for binary feature selection for a naive Bayes
    classifier, section 2.

    Examples
    --------
    >>> import polars as pl
    >>> from bayesieve import IndicatorEncoder
    >>> frame = pl.DataFrame({"p": [0.001, 0.03, 0.2], "q": [0.5, None, 0.01]})
    >>> encoder = IndicatorEncoder([0.01, 0.05]).fit(frame)
    >>> encoder.get_feature_names_out().tolist()
    ['p<=0.01', 'p<=0.05', 'q<=0.01', 'q<=0.05']
    >>> encoder.transform(frame).tolist()
    [[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]]
    """

    supervised = False

    thresholds: int | Sequence[float] | np.ndarray | Mapping[str, Any] = 10
    _: KW_ONLY
    missing: Literal["level", "ignore"] = "level"
    n_jobs: int | None = -1

    @with_shared_docs
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> IndicatorEncoder:
        """Set the thresholds and count the indicators.

        Parameters
        ----------
        X : dataframe, 2-D array or sparse matrix of numbers, shape (n_rows, n_scores)
        y : array-like, shape (n_rows,), optional
            Class labels. They affect ``level_scores_``, but not the thresholds.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a column does not hold numbers, or thresholds and columns do not match; the message names them.
        """
        self._fit(X, y, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit the thresholds, and return the indicators of the same rows, shape (n_rows, n_indicators)."""
        return self._indicators(self._fit(X, y, sample_weight))

    def fit_transform_coded(
        self, X: Any, y: Any, sample_weight: Any = None, coding: CodingOptions = DEFAULT_CODING
    ) -> CodedTable:
        """Fit the thresholds, and return the same rows as a `CodedTable` of levels, with classes and weights.

        Only the storage of the codes (``coding.engine``) is used; other options of ``coding`` are ignored.
        """
        require_target(self, y)
        return self._fit(X, y, sample_weight).on(coding.engine)

    def fit_with_refitter(
        self, X: Any, y: Any, sample_weight: Any = None, coding: CodingOptions = DEFAULT_CODING
    ) -> tuple[CodedTable, None]:
        """Fit the thresholds. Return the same rows as a `CodedTable`, and None in place of a refitter, because
        thresholds do not depend on the classes. The parameters are those of `fit_transform_coded`.
        """
        return self.fit_transform_coded(X, y, sample_weight, coding), None

    def transform(self, X: Any) -> np.ndarray:
        """Return the indicators.

        Returns
        -------
        uint8 array, shape (n_rows, n_indicators)
            1 if the score is at most the threshold; 0 if it is above the threshold or missing.
        """
        return self._indicators(self.transform_coded(X))

    def transform_coded(self, X: Any) -> CodedTable:
        """Return the codes of the levels as a `CodedTable` without classes; ``X`` may be the result of `read`."""
        check_is_fitted(self, "levels_")
        table, levels = X if isinstance(X, Table) else self.read(X), self.levels_
        codes, unseen = code_columns(table, levels, self.n_jobs, self.family_of_)
        self._add_unseen(unseen)
        return CodedTable(codes, levels.n_levels, levels.names, levels=levels, unseen=unseen)

    def read(self, X: Any, owner: Any = None) -> Table:
        """Return ``X`` as a table with a column for each score.

        Error messages name ``owner``, an estimator that contains this encoder, if it is given.
        """
        check_is_fitted(self, "levels_")
        return new_table(self if owner is None else owner, X)

    def _describe_level(self, level: FeatureLevels, code: int) -> dict[str, Any]:
        """Return the columns of `to_frame` that describe a level: feature, score, threshold, score of the level, code
        and label.
        """
        facts = {"feature": level.name, "score": level.column, "threshold": float(level.number_cuts[0])}
        return {**facts, "level_score": level.level_score, "code": code, "level": level.labels[code]}

    def _indicators(self, coded: CodedTable) -> np.ndarray:
        """Return the indicators of coded rows, uint8 of shape (n_rows, n_indicators): 1 if the score is at most the
        threshold.
        """
        # Scores up to the threshold follow the level of missing scores, if there is one.
        at_most = (self.levels_.missing + 1).astype(np.uint8)
        return (coded.codes == at_most[:, None]).view(np.uint8).T

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> CodedTable:
        """Fit the thresholds and levels, and return the same rows as a `CodedTable` with classes and weights."""
        check_allowed(self.get_params(deep=False), CODER_OPTIONS)
        X, y, sample_weight = split_columns(X, y, sample_weight)
        table = self._training_scores(X)
        target, weights, order = read_classes(self, table, y, sample_weight)
        settings = thresholds_of(self.thresholds, table.names)

        # Thresholds: those that are given, or quantiles of the scores.
        def fit(i: int) -> tuple[np.ndarray, bool]:
            """Return the thresholds of the score at position ``i``, and whether missing scores have a level."""
            values, thresholds = table.column(i).numbers()[order.row_numbers], settings[i]
            if isinstance(thresholds, int):
                thresholds = quantile_thresholds(values, order.weights, thresholds, table.names[i])
            return thresholds.copy(), self.missing == "level" and bool(np.isnan(values).any())

        thresholds_of_scores, with_missing = zip(*map_in_threads(fit, range(table.n_columns), self.n_jobs), strict=True)
        self.thresholds_ = dict(zip(table.names, thresholds_of_scores, strict=True))
        self.family_of_ = np.repeat(np.arange(table.n_columns), [*map(len, thresholds_of_scores)])

        # Levels: every threshold gives a numeric feature with one cut, whose column is the score.
        thresholds = np.concatenate(thresholds_of_scores)
        scores = [table.names[i] for i in self.family_of_.tolist()]
        names = [indicator_name(score, cut) for score, cut in zip(scores, thresholds.tolist(), strict=True)]
        has_missing = np.array(with_missing)[self.family_of_]
        n_levels, cuts = 2 + has_missing, np.stack([np.full(thresholds.size, -np.inf), thresholds], axis=1)
        indicator_levels = partial(
            TableLevels,
            names,
            types=["number"] * len(names),
            n_levels=n_levels,
            missing=has_missing - 1,
            cuts=cuts[np.stack([has_missing, np.ones_like(has_missing)], axis=1)],
            others={},
            columns=scores,
        )
        uncounted = indicator_levels(level_scores=np.zeros(len(names)), counts=None)
        codes, _ = code_columns(table, uncounted, self.n_jobs, self.family_of_)
        rows = Rows(target.codes, target.classes, weights)
        counts = CodedTable(codes, n_levels, names, rows=rows).counts
        self.level_scores_ = level_scores(counts, n_levels)
        self.levels_ = indicator_levels(level_scores=self.level_scores_, counts=counts.counts)
        self.unseen_counts_ = np.zeros(len(names), dtype=np.int64)
        self.classes_ = target.classes
        self.rules_, self.marks_ = None, {}  # attributes that other encoders set
        return CodedTable(codes, n_levels, names, rows=rows, levels=self.levels_, counts=counts)

    def _training_scores(self, X: Any) -> Table:
        """Return the scores of the training rows as a table, after checking the options."""
        table = fit_table(self, X)
        for i in range(table.n_columns):
            if table.column(i).type != "number":
                raise ValueError(
                    f"Column {table.names[i]!r} contains values of type {table.column(i).type}, but scores must be "
                    "numbers; convert the column, or remove it."
                )
        return table


_MOST_QUANTILES = 1_000_000


def thresholds_of(thresholds: Any, scores: Sequence[str]) -> list[np.ndarray | int]:
    """Return, for each score, its ascending thresholds, shape (n_thresholds,), or the number of quantiles to use.

    Parameters
    ----------
    thresholds : int, sequence of numbers, or mapping from the name of a score to either
    scores : names of the scores

    Raises
    ------
    ValueError
        If a mapping lacks a score or names an unknown one, or a threshold is not a finite number.
    """
    if not isinstance(thresholds, Mapping):
        return [_one(thresholds, "thresholds")] * len(scores)
    for name in thresholds:
        if name not in scores:
            raise ValueError(f"thresholds names {name!r}, which is not a score of X; the scores are {_listed(scores)}.")
    settings = []
    for score in scores:
        if score not in thresholds:
            raise ValueError(f"thresholds lacks the score {score!r}; add its thresholds, or drop the score from X.")
        settings.append(_one(thresholds[score], f"thresholds[{score!r}]"))
    return settings


def quantile_thresholds(values: np.ndarray, weights: np.ndarray, n: int, score: str) -> np.ndarray:
    """Return up to ``n`` ascending thresholds that divide the rows with a finite score into parts of about equal size.

    Threshold i is the smallest score such that at least a share i / (n + 1) of the rows have this score or a lower one.
    The largest score is not a threshold, because the indicator would be 1 in all rows, unless there is no other score.

    Parameters
    ----------
    values : float array, shape (n_rows,), NaN = missing
    weights : float array, shape (n_rows,), or empty if all rows have weight 1
    n : number of thresholds
    score : name of the score, for error messages

    Raises
    ------
    ValueError
        If no value is finite.
    """
    finite = np.isfinite(values)
    if not finite.any():
        raise ValueError(
            f"Score {score!r} has no finite value to learn thresholds from; give its thresholds, or remove it."
        )
    order = np.argsort(values[finite], kind="stable")
    ascending = values[finite][order]
    cumulated = np.cumsum(weights[finite][order]) if weights.size else np.arange(1.0, order.size + 1.0)
    targets = cumulated[-1] * np.arange(1, n + 1) / (n + 1)
    quantiles = np.unique(ascending[np.minimum(np.searchsorted(cumulated, targets), order.size - 1)])
    below = quantiles[quantiles < ascending[-1]]
    return below if below.size else ascending[-1:]


def _one(setting: Any, what: str) -> np.ndarray | int:
    """Return the thresholds of one score, as an ascending array, or the number of quantiles to use. ``setting`` is the
    user's option for this score, and ``what`` its name in messages.
    """
    if isinstance(setting, Integral) and not isinstance(setting, bool):
        if setting < 1:
            raise ValueError(f"{what} must be at least 1, the number of thresholds to learn, got {setting!r}.")
        if int(setting) > _MOST_QUANTILES:
            raise ValueError(f"{what} must be at most {_MOST_QUANTILES:,}, got {setting!r}; list thresholds for more.")
        return int(setting)
    numbers = np.asarray(list(setting) if isinstance(setting, Iterable) and not isinstance(setting, str) else setting)
    if numbers.ndim != 1 or numbers.size == 0 or numbers.dtype.kind not in "iuf":
        raise ValueError(
            f"{what} must be a sequence of numbers, or a whole number of thresholds to learn, got {setting!r}."
        )
    if not np.isfinite(numbers).all():
        raise ValueError(f"{what} holds {numbers[~np.isfinite(numbers)][0]}; thresholds must be finite numbers.")
    return np.unique(numbers.astype(np.float64))


def _listed(names: Sequence[str], most: int = 5) -> str:
    """Return the first ``most`` names as text."""
    return ", ".join(map(repr, names[:most])) + (", ..." if len(names) > most else "")


def indicator_name(score: str, threshold: float) -> str:
    """Return the name of an indicator, such as ``"u_test(w=30)<=0.05"``."""
    return f"{score}<={number_text(threshold)}"


def number_text(number: float) -> str:
    """Return the shortest decimal text that converts back to the same float: 0.05 is "0.05" and 3.0 is "3".

    Examples
    --------
    >>> [number_text(number) for number in (0.05, 3.0, 1e-9, -0.0)]
    ['0.05', '3', '1e-09', '0']
    """
    number = float(number)
    if number.is_integer() and abs(number) < 2**53:
        return str(int(number))
    return repr(number)


def level_scores(counts: ContingencyCounts, n_levels: np.ndarray) -> np.ndarray:
    """Return 1 - cost / null cost (MODL criterion) of the levels of every indicator, shape (n_indicators,).

    ``counts`` are the class counts of the levels, and ``n_levels`` (n_indicators,) their numbers.
    """
    whole = np.add.reduceat(counts.counts, counts.offsets[:-1])
    totals = whole.sum(axis=1)
    totals[totals == 0.0] = 1.0
    null_costs = interval_costs(whole, np.ones_like(n_levels), totals)
    return shares_saved(interval_costs(counts.counts, n_levels, totals), null_costs)

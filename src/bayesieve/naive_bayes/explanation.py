"""Explanations, contributions of the features to the log probability of each class, and importances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.short_repr import ShortRepr

if TYPE_CHECKING:
    from bayesieve.naive_bayes.discrete import DiscreteNB


@dataclass(frozen=True, repr=False)
class Explanation(ShortRepr):
    """Contributions of the features to the log joint probability of rows, in nats.

    rows : (n_rows,) row numbers; features : names; classes : labels; prior : (n_classes,) log prior;
    contributions : (n_rows, n_features, n_classes) weight * log P(level | class), 0 where the value has no level;
    values, levels : (n_rows, n_features) object arrays: values as the model reads them, as text (dates and
    times in ISO 8601, as in the levels; None: missing), and labels of their levels;
    weights : (n_features,).
    """

    rows: np.ndarray
    features: Sequence[str]
    classes: np.ndarray
    prior: np.ndarray
    contributions: np.ndarray
    values: np.ndarray
    levels: np.ndarray
    weights: np.ndarray

    def joint_log_proba(self) -> np.ndarray:
        """(n_rows, n_classes) log joint: the prior plus the contributions, summed in the order the classifier sums
        them.
        """
        joint = np.tile(self.prior, (len(self.rows), 1))
        for k in range(len(self.features)):
            joint += self.contributions[:, k]
        return joint

    def grouped(self, groups: Sequence[str], values: np.ndarray, levels: np.ndarray) -> Explanation:
        """Sum the contributions of each group of features into one feature with the name of the group.

        Parameters
        ----------
        groups : the group of each feature; features of a group must be adjacent.
        values, levels : (n_rows, n_groups) object arrays, as for features.

        Returns
        -------
        Explanation
            Weights are summed. Prior and contributions still add up to the log joint, to the last digit of a float for
            any number of groups: each group corrects the rounding of those before.
        """
        runs = [(name, [at for at, _ in run]) for name, run in groupby(enumerate(groups), key=lambda pair: pair[1])]
        contributions = np.empty((len(self.rows), len(runs), len(self.classes)))
        joint = np.tile(self.prior, (len(self.rows), 1))
        cumulated = joint.copy()  # sum of the prior and the groups so far
        possible = np.isfinite(self.prior)
        for at, (_, members) in enumerate(runs):
            for k in members:
                joint += self.contributions[:, k]
            contributions[:, at] = self.contributions[:, members].sum(axis=1)
            contributions[:, at, possible] = joint[:, possible] - cumulated[:, possible]
            cumulated += contributions[:, at]
        return Explanation(
            rows=self.rows,
            features=[name for name, _ in runs],
            classes=self.classes,
            prior=self.prior,
            contributions=contributions,
            values=values,
            levels=levels,
            weights=np.array([self.weights[members].sum() for _, members in runs]),
        )

    def to_frame(self) -> Any:
        """One row per row, class and feature (polars): ``row``, ``class``, ``feature``, ``value``, ``level``,
        ``weight``, ``contribution`` (nats) and ``prior``, the log prior of the class (the same on all its rows)."""
        import polars as pl

        from bayesieve.table.frames import polars_frame

        n_rows, n_features, n_classes = self.contributions.shape
        labels = self.classes.tolist()
        per_row = n_classes * n_features
        return polars_frame(
            {
                "row": np.repeat(np.asarray(self.rows, dtype=np.int64), per_row),
                "class": [label for _ in range(n_rows) for label in labels for _ in range(n_features)],
                "feature": list(self.features) * (n_rows * n_classes),
                "value": _for_each_class(self.values, n_classes),
                "level": _for_each_class(self.levels, n_classes),
                "weight": np.tile(self.weights, n_rows * n_classes),
                "contribution": self.contributions.transpose(0, 2, 1).ravel(),
                "prior": np.tile(np.repeat(self.prior, n_features), n_rows),
            },
            schema_overrides={"feature": pl.String, "value": pl.String, "level": pl.String},
        )


def _for_each_class(texts: np.ndarray, n_classes: int) -> list[str | None]:
    n_rows, n_features = texts.shape
    return np.broadcast_to(texts[:, None, :], (n_rows, n_classes, n_features)).ravel().tolist()


def importances_of(predictor: DiscreteNB) -> np.ndarray:
    """The importances of the features of a predictor: of its evidence where that was fitted, else of its counts."""
    counts, class_counts = predictor.feature_count_, predictor.class_count_
    if predictor.fitted_:
        return _importances_of_fitted(predictor.evidence_, predictor.evidence_count_, class_counts)
    return importances(counts, class_counts, predictor.feature_weights_)


def importances(tables: list[np.ndarray], class_counts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean absolute evidence of each feature, as shares that add up to 1 (all 0 if no feature has weight).

    The evidence of level i for class j is w_k (t_ij - mean_i t_ij), t_ij = log P(i|j) / P(i|not j): the Shapley value
    of the feature in a naive Bayes model, as Khiops 11 defines it. It is averaged over levels and classes by their
    frequency.

    Parameters
    ----------
    tables : per feature, (n_levels, n_classes) counts.
    class_counts : (n_classes,) rows (or weight) of each class.
    weights : (n_features,) feature weights.
    """
    result = np.zeros(len(tables))
    used = [k for k in np.flatnonzero(weights).tolist() if len(tables[k]) > 1 and tables[k].any()]
    if not used:
        return result
    total = class_counts.sum()
    smoothing = 1.0 / (total + 1.0)
    counts = np.concatenate([tables[k] for k in used])
    n_levels = np.array([len(tables[k]) for k in used])
    starts = np.cumsum(n_levels) - n_levels
    spare = (counts.shape[1] - 1) * smoothing

    def of_levels(per_feature: np.ndarray) -> np.ndarray:
        return np.repeat(per_feature, n_levels, axis=0)

    rows = counts.sum(axis=1, keepdims=True)
    by_class, all_rows = np.add.reduceat(counts, starts), np.add.reduceat(rows, starts)
    inside = (counts + smoothing) / of_levels(by_class + n_levels[:, None] * smoothing)
    outside = (rows - counts + spare) / of_levels(all_rows - by_class + n_levels[:, None] * spare)
    frequency = rows / of_levels(all_rows)
    evidence = np.log(inside / outside)
    evidence -= of_levels(np.add.reduceat(frequency * evidence, starts))
    result[used] = weights[used] * (np.add.reduceat(frequency * np.abs(evidence), starts) @ (class_counts / total))
    return result / result.sum() if result.sum() > 0 else result


def _importances_of_fitted(
    evidence: list[np.ndarray], counts: list[np.ndarray], class_counts: np.ndarray
) -> np.ndarray:
    """As `importances`, where the evidence of level i for class j is e_ij, less its mean over the other classes.

    Parameters
    ----------
    evidence : per feature, (n_levels, n_classes) nats; all 0 for one that is not used.
    counts : per feature, (n_levels, n_classes) rows (or weight).
    class_counts : (n_classes,) rows (or weight) of each class.
    """
    shares = class_counts / class_counts.sum()
    result = np.zeros(len(evidence))
    for k in range(len(evidence)):
        against = (evidence[k] @ shares)[:, None] - evidence[k] * shares
        away = evidence[k] - against / np.maximum(1.0 - shares, np.finfo(float).tiny)
        rows = counts[k].sum(axis=1)
        frequency = rows / max(rows.sum(), np.finfo(float).tiny)
        result[k] = frequency @ np.abs(away - frequency @ away) @ shares
    return result / result.sum() if result.sum() > 0 else result

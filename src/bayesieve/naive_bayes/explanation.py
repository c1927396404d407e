"""Explanations: contributions of the features to the log probability of each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from bayesieve.words import ShortRepr


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

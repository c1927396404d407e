"""What an estimator around a classifier takes over from it, and the labels of its rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import get_tags

from bayesieve.table import Target, as_sample_weight, as_target
from bayesieve.table.frames import is_scan
from bayesieve.table.scanned import scanned_rows


def adopt_fitted(owner: Any, classifier: Any) -> None:
    """Take over the classes, and the names and number of features, if known."""
    owner.classes_ = np.asarray(classifier.classes_)
    for name in ("n_features_in_", "feature_names_in_"):
        vars(owner).pop(name, None)
        if hasattr(classifier, name):
            setattr(owner, name, getattr(classifier, name))


def tags_of_wrapped(classifier: Any, tags: Any) -> Any:
    """The tags of the owner, with the classifier's of what it takes as ``X``."""
    tags.input_tags = get_tags(classifier).input_tags
    return tags


class Labelled(NamedTuple):
    """Labels and weights of rows; ``known`` are the rows of a scanned table that have a label, None for all."""

    target: Target
    weights: np.ndarray | None
    known: np.ndarray | None = None

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any) -> Labelled:
        """Those given, or of the columns named where ``X`` is to be scanned."""
        if is_scan(X, y):
            rows = scanned_rows(X, y, sample_weight)
            return cls(rows.target, rows.weights, rows.table.known)
        target = as_target(y)
        return cls(target, as_sample_weight(sample_weight, target.codes.size))

    def among(self, values: np.ndarray) -> np.ndarray:
        """Those of all rows for the rows with a label; ValueError unless there are as many."""
        n_rows = self.target.codes.size if self.known is None else self.known.size
        if len(values) != n_rows:
            raise ValueError(f"X has {len(values):,} rows but y has {n_rows:,} labels.")
        return values if self.known is None else values[self.known]


def refuse_scan(X: Any, y: Any, what: str, remedy: str) -> None:
    """ValueError where ``X`` is to be scanned."""
    if is_scan(X, y):
        raise ValueError(f"{what} needs the rows in memory, not a scanned table; {remedy}.")

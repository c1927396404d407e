"""Splits of rows into folds, and predictions out of them: the same seed always gives the same folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import RepeatedStratifiedKFold

from bayesieve.selection.row_splits import pairs_of
from bayesieve.table import as_target
from bayesieve.table.cautions import silenced
from bayesieve.table.frames import take_rows
from bayesieve.words import ShortRepr


@dataclass(frozen=True)
class Fold:
    """Positions of the training and test rows of a fold; repeats and folds count from 0."""

    repeat: int
    fold: int
    train: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class RepeatedFolds(ShortRepr):
    """Repeated stratified cross-validation, shuffled differently in each repeat.

    The folds are those of scikit-learn's ``RepeatedStratifiedKFold`` with the same three numbers; adding repeats does
    not change the first ones.

    Parameters
    ----------
    n_folds : int, default=10
        At least 2, at most the number of rows of the most frequent class.
    n_repeats : int, default=1
        At least 1.
    seed : int, default=0
        At least 0.

    Raises
    ------
    ValueError
        If a number is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve import RepeatedFolds
    >>> folds = RepeatedFolds(n_folds=5, n_repeats=2).split(np.array(["no", "yes"] * 10))
    >>> len(folds), folds[0].train.size, folds[0].test.size
    (10, 16, 4)
    """

    n_folds: int = 10
    n_repeats: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        _make_whole(self, n_folds=2, n_repeats=1, seed=0)

    @property
    def n_splits(self) -> int:
        """Number of folds over all repeats."""
        return self.n_folds * self.n_repeats

    @property
    def settings(self) -> dict[str, int]:
        """Numbers that determine the folds, as saved in files; adding repeats does not change the first ones."""
        return {"folds": self.n_folds, "seed": self.seed}

    def split(self, labels: np.ndarray) -> list[Fold]:
        """The folds of rows with these class labels (n_rows,), repeat after repeat.

        A ValueError is raised if the most frequent class has fewer than ``n_folds`` rows.
        """
        largest = int(np.unique(labels, return_counts=True)[1].max(initial=0))
        if self.n_folds > largest:
            raise ValueError(
                f"n_folds must be at most the rows of the most frequent class ({largest}), got {self.n_folds}."
            )
        splitter = RepeatedStratifiedKFold(n_splits=self.n_folds, n_repeats=self.n_repeats, random_state=self.seed)
        pairs = enumerate(pairs_of(splitter, labels))
        return [Fold(i // self.n_folds, i % self.n_folds, train, test) for i, (train, test) in pairs]


@dataclass(frozen=True)
class FixedSplit(ShortRepr):
    """One fold: the first rows of the table are for training, all others for testing.

    Parameters
    ----------
    n_train : int
        Number of training rows, at least 2.
    seed : int, default=0
        Seed of the drawing of the rows. It does not affect the split; it is saved with results, to tell them from those
        of other rows.

    Raises
    ------
    ValueError
        If a number is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve.evaluation import FixedSplit
    >>> fold, = FixedSplit(3).split(np.array(["no", "yes", "no", "yes", "yes"]))
    >>> fold.train.tolist(), fold.test.tolist()
    ([0, 1, 2], [3, 4])
    """

    n_folds: ClassVar[int] = 1
    n_repeats: ClassVar[int] = 1
    n_splits: ClassVar[int] = 1

    n_train: int
    seed: int = 0

    def __post_init__(self) -> None:
        _make_whole(self, n_train=2, seed=0)

    @property
    def settings(self) -> dict[str, int]:
        """Numbers that identify the fold, as saved in files."""
        return {"train_rows": self.n_train, "seed": self.seed}

    def split(self, labels: np.ndarray) -> list[Fold]:
        """The fold of rows with these class labels (n_rows,); ValueError if no rows are left for testing."""
        if labels.size <= self.n_train:
            raise ValueError(f"n_train must leave rows to test: it is {self.n_train} of {labels.size} rows.")
        return [Fold(0, 0, np.arange(self.n_train), np.arange(self.n_train, labels.size))]


Split = RepeatedFolds | FixedSplit
"""Ways to split the rows of a table."""


def _make_whole(split: Any, **lowest: int) -> None:
    """Convert these fields to plain integers, as files hold them; ValueError for any other value."""
    for name, least in lowest.items():
        value: Any = getattr(split, name)
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not whole or not least <= int(value) < 2**32:
            raise ValueError(f"{name} must be a whole number from {least} up, got {value!r}.")
        object.__setattr__(split, name, int(value))


def out_of_fold_log_proba(
    estimator: Any,
    X: Any,
    y: Any,
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    sample_weight: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log probabilities of every row from a model trained on other rows.

    Parameters
    ----------
    estimator : classifier with ``predict_log_proba``; cloned for every fold.
    X, y : table and labels.
    splits : pairs of (train, test) row positions, as `row_splits` makes them.

    Returns
    -------
    log_proba (n_rows, n_classes), NaN for rows outside all test parts; class codes (n_rows,); class labels. A class
    missing from a training fold gets the probability of half a row.
    """
    target = as_target(y)
    codes = target.codes.astype(np.int64)
    log_proba = np.full((codes.size, target.n_classes), np.nan)
    for train, test in splits:
        model = clone(estimator)
        labels = target.classes[codes[train]]
        weights = {} if sample_weight is None else {"sample_weight": sample_weight[train]}
        part = np.full((test.size, target.n_classes), np.log(0.5 / train.size))
        present = np.unique(codes[train])
        if present.size > 1:
            with silenced():
                model.fit(take_rows(X, train), labels, **weights)
                part[:, present] = model.predict_log_proba(take_rows(X, test))
        else:
            part[:, present] = 0.0  # a single class is left in the training rows
        log_proba[test] = part
    return log_proba, codes, target.classes

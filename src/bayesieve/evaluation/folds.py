"""How rows are split into folds: the same seed gives the same folds to every method, today and tomorrow."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold

from bayesieve.selection.evaluation_rows import pairs_of
from bayesieve.short_repr import ShortRepr


@dataclass(frozen=True)
class Fold:
    """Positions of the training and the test rows of one fold of one repeat; both count from 0."""

    repeat: int
    fold: int
    train: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class Protocol(ShortRepr):
    """Repeated stratified cross-validation, shuffled anew in every repeat.

    The folds are those of scikit-learn's ``RepeatedStratifiedKFold`` with the same three numbers; more repeats leave
    the first ones as they are.

    Parameters
    ----------
    n_folds : int, default=10
        At least 2, at most the rows of the most frequent class.
    n_repeats : int, default=1
    seed : int, default=0

    Raises
    ------
    ValueError
        If a number has no meaning.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve import Protocol
    >>> folds = Protocol(n_folds=5, n_repeats=2).split(np.array(["no", "yes"] * 10))
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
        """Folds of all repeats together."""
        return self.n_folds * self.n_repeats

    @property
    def settings(self) -> dict[str, int]:
        """What the folds depend on, as it stands in files; more repeats leave the first ones as they are."""
        return {"folds": self.n_folds, "seed": self.seed}

    def split(self, labels: np.ndarray) -> list[Fold]:
        """The folds of rows with these class labels (n_rows,), repeat after repeat.

        Raises
        ------
        ValueError
            If even the most frequent class has fewer rows than there are folds.
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
    """One fold: the first rows of the table train, all others test.

    Parameters
    ----------
    n_train : int
        Number of training rows, at least 2.
    seed : int, default=0
        Of the rows, where they were drawn at random. The split does not depend on it: it is kept with results, so that
        those of other rows are not taken for these.

    Raises
    ------
    ValueError
        If a number has no meaning.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve.evaluation import FixedSplit
    >>> fold, = FixedSplit(3).split(np.array(["no", "yes", "no", "yes", "yes"]))
    >>> fold.train.tolist(), fold.test.tolist()
    ([0, 1, 2], [3, 4])
    """

    n_train: int
    seed: int = 0

    def __post_init__(self) -> None:
        _make_whole(self, n_train=2, seed=0)

    @property
    def n_folds(self) -> int:
        """1, as there is one way to split."""
        return 1

    @property
    def n_repeats(self) -> int:
        """1, likewise."""
        return 1

    @property
    def n_splits(self) -> int:
        """Folds of all repeats together: 1."""
        return 1

    @property
    def settings(self) -> dict[str, int]:
        """What the fold depends on, as it stands in files."""
        return {"train_rows": self.n_train, "seed": self.seed}

    def split(self, labels: np.ndarray) -> list[Fold]:
        """The fold of rows with these class labels (n_rows,).

        Raises
        ------
        ValueError
            If no row is left to test.
        """
        if labels.size <= self.n_train:
            raise ValueError(f"n_train must leave rows to test: it is {self.n_train} of {labels.size} rows.")
        return [Fold(0, 0, np.arange(self.n_train), np.arange(self.n_train, labels.size))]


Split = Protocol | FixedSplit
"""Ways to split the rows of a table."""


def _make_whole(split: Any, **lowest: int) -> None:
    """Make these fields plain whole numbers, as they are kept in files, or refuse them."""
    for name, least in lowest.items():
        value: Any = getattr(split, name)
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not whole or not least <= int(value) < 2**32:
            raise ValueError(f"{name} must be a whole number from {least} up, got {value!r}.")
        object.__setattr__(split, name, int(value))

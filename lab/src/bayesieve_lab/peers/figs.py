"""Sums of small trees (FIGS) of imodels on raw tables."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bayesieve.table import Table
from bayesieve_lab.peers.gaussian_nb import OneHotPeer
from bayesieve_lab.peers.installed import quiet, require

_drawing = threading.Lock()


class TreeSums(OneHotPeer):
    """``FIGSClassifier`` of imodels with its defaults: at most 12 splits, in any number of trees.

    Columns are prepared as in `OneHotGaussianNB`. It applies a softmax to sums that already estimate probabilities, so
    its probabilities are far from 0 and 1: rankings are not affected, but log losses are large.

    Parameters, attributes : see `Peer`.

    Attributes
    ----------
    n_features_selected_ : int
        Columns that a split uses.
    """

    @classmethod
    def check_installed(cls) -> None:
        """Raise ValueError unless imodels is installed."""
        require("imodels", "FIGS (imodels)")

    def _learn(self, table: Table, codes: np.ndarray, weights: np.ndarray | None) -> Any:
        """Fit the trees to the rows of a table, and return the fitted classifier.

        If no column varies, a classifier that predicts class shares is returned. ``codes`` (n_rows,) are class codes,
        and ``weights`` (n_rows,) row weights, or None.
        """
        with quiet():
            from imodels import FIGSClassifier
        from sklearn.dummy import DummyClassifier

        matrix = self._learn_one_hot(table, weights)
        if not matrix.size:
            return DummyClassifier(strategy="prior").fit(matrix, codes, sample_weight=weights)
        with quiet(), _seeded(self.random_state):
            return FIGSClassifier().fit(matrix, codes, sample_weight=weights)

    def _n_features(self) -> int:
        """Return the number of columns of the table that a split uses."""
        trees = getattr(self.model_, "trees_", ())
        return len({self.owners_[feature] for tree in trees for feature in _split_features(tree)})


@contextmanager
def _seeded(seed: Any) -> Iterator[None]:
    """Seed NumPy's global generator, from which the trees draw the order of columns, and restore it afterwards."""
    with _drawing:
        state = np.random.get_state()  # noqa: NPY002
        np.random.seed(seed)  # noqa: NPY002
        try:
            yield
        finally:
            np.random.set_state(state)  # noqa: NPY002


def _split_features(node: Any) -> Iterator[int]:
    """Yield the position of the feature of each split in the tree below ``node``, a node of imodels."""
    if node is not None and node.left is not None:
        yield node.feature
        yield from _split_features(node.left)
        yield from _split_features(node.right)

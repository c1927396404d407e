"""The selective naive Bayes of Khiops on raw tables, and the start of Khiops."""

from __future__ import annotations

import os
import sysconfig
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesieve.table import Table
from bayesieve_lab.peers.installed import quiet, require
from bayesieve_lab.peers.peer import Peer

_starting = threading.Lock()


def start_khiops() -> Any:
    """Return the module ``khiops.core``, ready to run.

    Raises
    ------
    ValueError
        If Khiops is not installed, or does not start.
    """
    require("khiops", "Khiops")
    scripts = sysconfig.get_path("scripts")
    with _starting, quiet():
        # Khiops looks for its launcher on PATH, which lacks it if the environment is not activated.
        if scripts not in os.environ.get("PATH", "").split(os.pathsep):
            os.environ["PATH"] = os.pathsep.join(filter(None, (scripts, os.environ.get("PATH"))))
        from khiops import core

        try:
            core.get_runner()
        except Exception as error:  # of many types; the messages name missing parts
            raise ValueError(
                f"Khiops is installed but does not start ({' '.join(str(error).split()).rstrip('.')}); reinstall it, "
                "or omit this classifier."
            ) from error
    return core


def khiops_classifier(n_cores: int | None = None, *, n_trees: int = 0, n_pairs: int = 0) -> Any:
    """Return a selective naive Bayes of Khiops on the original columns, trees and pairs of them, without text features.

    ``n_cores`` is the number of processes (None: Khiops chooses it), ``n_trees`` and ``n_pairs`` the largest numbers of
    trees and pairs.
    """
    start_khiops()
    with quiet():
        from khiops.sklearn import KhiopsClassifier

    return KhiopsClassifier(n_trees=n_trees, n_features=0, n_pairs=n_pairs, n_text_features=0, n_cores=n_cores)


def n_features_used(classifier: Any) -> int:
    """Return the number of features that a fitted Khiops classifier uses."""
    return len(classifier.model_report_.modeling_report.get_snb_predictor().selected_variables or ())


class KhiopsNB(Peer):
    """Selective naive Bayes of Khiops 11 with its defaults, on raw and mixed tables.

    By default it runs without trees and pairs, so that every method sees the same columns. Missing and unseen values
    are handled by Khiops. It does not support row weights.

    Parameters
    ----------
    kinds, random_state : see `Peer`.
    n_jobs : int or None, default=None
        Processes of one fit; with None or -1, Khiops chooses the number.
    n_trees, n_pairs : int, default=0
        Largest number of decision trees and of pairs of columns that Khiops may add as features; Khiops' default is 10
        trees.

    Attributes
    ----------
    classes_, columns_, model_ : see `Peer`.
    n_features_selected_ : int
        Features that the classifier uses, trees and pairs included.
    """

    takes_weights = False

    def __init__(
        self,
        *,
        kinds: Mapping[str, str] | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        n_trees: int = 0,
        n_pairs: int = 0,
    ) -> None:
        super().__init__(kinds=kinds, random_state=random_state)
        self.n_jobs = n_jobs
        self.n_trees = n_trees
        self.n_pairs = n_pairs

    @classmethod
    def check_installed(cls) -> None:
        """Raise ValueError unless Khiops is installed and starts."""
        start_khiops()

    def _learn(self, table: Table, codes: np.ndarray, weights: np.ndarray | None) -> Any:
        """Fit Khiops' classifier to the rows of a table, and return it.

        ``codes`` (n_rows,) are class codes; ``weights`` are not used.
        """
        self._learn_columns(table)
        n_cores = None if self.n_jobs == -1 else self.n_jobs
        model = khiops_classifier(n_cores, n_trees=self.n_trees, n_pairs=self.n_pairs)
        labels = np.array([f"c{code}" for code in range(len(self.classes_))], dtype=object)
        with quiet():
            return model.fit(self._rows(table), labels[codes])

    def _n_features(self) -> int:
        """Return the number of features that the classifier uses."""
        return n_features_used(self.model_)

    def _proba(self, table: Table) -> np.ndarray:
        """Return the probabilities of the classes, (n_rows, n_classes), rescaled to sum to 1."""
        with quiet():
            proba = np.asarray(super()._proba(table), dtype=float)
        ordered = np.empty_like(proba)
        ordered[:, [int(label[1:]) for label in self.model_.classes_]] = proba
        return ordered / ordered.sum(axis=1, keepdims=True)  # its files round them

    def _rows(self, table: Table) -> Any:
        """Return the rows of a table as a pandas frame, with missing categories as empty text."""
        return self._frame(table, missing="")

"""Measures of how much two columns say about each other, as objects: computed from the counts of their levels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from bayesieve.counts.contingency import ContingencyCounts
from bayesieve.counts.information import class_information, class_symmetrical_uncertainty, entropy
from bayesieve.parts import Registry


class Dependence(ABC):
    """A symmetrical measure of the dependence of two columns.

    Give it a ``name`` and the method ``of_tables``. Everything else follows: blocks of pairs, dependence within
    classes, row weights, the dependence of every feature and the class.

    Attributes
    ----------
    name : str
        In options of selectors and in saved models.
    title, unit : str
        The measure in words, for the middle of a sentence, and its unit, "" for none.
    lower_is_better : bool
        True: smaller values mean more dependence, as of distances and p-values. mRMR and CFS refuse such a measure.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve import pair_statistics
    >>> from bayesieve.counts import Dependence
    >>> class MeanSquareContingency(Dependence):
    ...     name = "phi_squared"
    ...
    ...     def of_tables(self, tables):
    ...         rows, columns = tables.sum(axis=2, keepdims=True), tables.sum(axis=1, keepdims=True)
    ...         independent = np.maximum(rows * columns, 1)
    ...         return (tables**2 / independent).sum(axis=(1, 2)) - tables.any(axis=(1, 2))
    >>> codes = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    >>> pair_statistics(codes, encoder=None, statistic=MeanSquareContingency()).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    name: str = ""
    title: ClassVar[str] = ""
    unit: ClassVar[str] = ""
    lower_is_better: ClassVar[bool] = False

    @abstractmethod
    def of_tables(self, tables: np.ndarray) -> np.ndarray:
        """(n_pairs,) dependence of pairs of columns from their (n_pairs, n_levels, n_other_levels) counts.

        Counts are numbers of rows or sums of weights. Levels without rows occur, and tables without any row.
        """

    def with_class(self, counts: ContingencyCounts) -> np.ndarray:
        """(n_features,) dependence of every feature and the class."""
        values = np.zeros(counts.n_features)
        n_levels = np.diff(counts.offsets)
        for size in np.unique(n_levels):
            features = np.flatnonzero(n_levels == size)
            lines = counts.offsets[features][:, None] + np.arange(size)
            values[features] = self.checked(counts.counts[lines])
        return values

    def checked(self, tables: np.ndarray) -> np.ndarray:
        """``of_tables``, refused unless it is one finite number for each table."""
        values = np.asarray(self.of_tables(tables), dtype=float)
        if values.shape != tables.shape[:1] or not np.isfinite(values).all():
            raise ValueError(
                f"The dependence measure {self.name!r} must return one finite number for each of {len(tables)} tables, "
                f"got shape {values.shape}{'' if np.isfinite(values).all() else ' with NaN or infinity'}."
            )
        return values

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class EntropyDependence(Dependence):
    """A measure of the information of two columns and their entropies, which compiled kernels sum."""

    @abstractmethod
    def of_sums(self, information: Any, left: Any, right: Any, total: Any) -> np.ndarray:
        """Dependence from the mutual information of pairs and the entropies of both columns, in nats times the
        ``total`` of their rows: float arrays that broadcast; ``information`` may be overwritten.
        """

    def of_tables(self, tables: np.ndarray) -> np.ndarray:
        total = tables.sum(axis=(1, 2))
        parts = tables.reshape(len(tables), -1), tables.sum(axis=2), tables.sum(axis=1)
        joint, left, right = (total * entropy(counts) for counts in parts)
        information = np.clip(left + right - joint, 0.0, np.minimum(left, right))
        return self.of_sums(information, left, right, np.maximum(total, 1e-300))


class MutualInformation(EntropyDependence):
    """I(X; Y) = sum p(x, y) log(p(x, y) / (p(x) p(y))), Shannon's."""

    name = "mutual_information"
    title = "mutual information"
    unit = "nats"

    def of_sums(self, information: Any, left: Any, right: Any, total: Any) -> np.ndarray:
        return np.divide(information, total, out=information)

    def with_class(self, counts: ContingencyCounts) -> np.ndarray:
        return class_information(counts)


class SymmetricalUncertainty(EntropyDependence):
    """2 I(X; Y) / (H(X) + H(Y)), from 0 (independent, or both constant) to 1 (each determines the other)."""

    name = "symmetrical_uncertainty"
    title = "symmetrical uncertainty"

    def of_sums(self, information: Any, left: Any, right: Any, total: Any) -> np.ndarray:
        both = np.add(left, right)
        np.multiply(information, 2.0, out=information)
        return np.divide(information, np.maximum(both, 1e-300, out=both), out=information)

    def with_class(self, counts: ContingencyCounts) -> np.ndarray:
        return class_symmetrical_uncertainty(counts)


DEPENDENCES: Registry[type[Dependence]] = Registry(
    "bayesieve.dependences", Dependence, MutualInformation, SymmetricalUncertainty
)


def make_dependence(dependence: str | Dependence, option: str = "dependence", *, grows: bool = False) -> Dependence:
    """A measure by its name, or the one given; ``grows``: larger values must mean more dependence.

    Raises
    ------
    ValueError
        For an unknown name or anything else; the sentence names the option.
    """
    if isinstance(dependence, str) and dependence in DEPENDENCES:
        dependence = DEPENDENCES[dependence]()
    if not isinstance(dependence, Dependence):
        names = ", ".join(map(repr, DEPENDENCES))
        raise ValueError(f"{option} must be one of {names} or a Dependence object, got {dependence!r}.")
    if grows and dependence.lower_is_better:
        raise ValueError(
            f"{option} must be a measure whose larger values mean more dependence, got {dependence.name!r}."
        )
    return dependence

"""Measures of how much two columns say about each other, by name, and those of the counts of their levels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from bayesieve.counts.contingency import ContingencyCounts
from bayesieve.counts.dependence_base import Dependence
from bayesieve.counts.information import class_information, class_symmetrical_uncertainty, entropy
from bayesieve.counts.value_dependence import (
    PairFunction,
    PearsonCorrelation,
    SpearmanCorrelation,
)
from bayesieve.parts import Registry


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
    "bayesieve.dependences",
    Dependence,
    MutualInformation,
    SymmetricalUncertainty,
    PearsonCorrelation,
    SpearmanCorrelation,
)


def make_dependence(
    dependence: str | Dependence | Callable[[np.ndarray, np.ndarray], float],
    option: str = "dependence",
    *,
    grows: bool = False,
) -> Dependence:
    """A measure by its name, or the one given, or one of a function of two columns of numbers; ``grows``: larger values
    must mean more dependence.

    Raises
    ------
    ValueError
        For an unknown name or anything else; the sentence names the option.
    """
    if isinstance(dependence, str) and dependence in DEPENDENCES:
        dependence = DEPENDENCES[dependence]()
    elif callable(dependence) and not isinstance(dependence, (Dependence, type)):
        dependence = PairFunction(dependence)
    if not isinstance(dependence, Dependence):
        names = ", ".join(map(repr, DEPENDENCES))
        raise ValueError(f"{option} must be one of {names}, a Dependence object or a function, got {dependence!r}.")
    if grows and dependence.lower_is_better:
        raise ValueError(
            f"{option} must be a measure whose larger values mean more dependence, got {dependence.name!r}."
        )
    return dependence

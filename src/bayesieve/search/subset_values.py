"""Many subsets by one objective, each from the one before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesieve.search.objective import Objective
from bayesieve.search.state import SearchState, SubsetProblem

_AT_ONCE = 1024  # subsets among which the nearest is looked for: more take longer to look than the moves saved


@dataclass(frozen=True)
class SubsetValues:
    """What subsets are worth.

    Attributes
    ----------
    values : (n_subsets,) criterion.
    measures : measures of the constraints (n_subsets,) by their names.
    violations : (n_subsets,) how far each subset is from the constraints; 0 where it satisfies them.
    sizes : (n_subsets,) number of features.
    best : position of the best subset: the one nearest to the constraints, then by the criterion, then the smallest
        one, then the first.
    """

    values: np.ndarray
    measures: dict[str, np.ndarray]
    violations: np.ndarray
    sizes: np.ndarray
    best: int

    @property
    def feasible(self) -> np.ndarray:
        """(n_subsets,) bool: the subsets that satisfy all constraints."""
        return np.asarray(self.violations == 0.0)


def evaluate_subsets(objective: Objective, subsets: Any, *, n_jobs: int | None = None) -> SubsetValues:
    """Evaluate a list of subsets of features by an objective.

    Subsets are visited in an order in which neighbours differ little, and each is reached from the one before by adding
    and dropping; values do not depend on the order of the list.

    Parameters
    ----------
    objective : Objective
    subsets : bool array, shape (n_subsets, n_features), or a sequence of sequences of positions of features
    n_jobs : int or None
        Threads.

    Returns
    -------
    SubsetValues

    Raises
    ------
    ValueError
        For subsets of other features than the objective's.
    """
    n_features = int(objective.rows.tables.n_codes.size)
    chosen = as_subsets(subsets, n_features)
    problem = SubsetProblem(objective, tuple(map(str, range(n_features))), np.arange(n_features))
    state = SearchState(problem, n_jobs=n_jobs)
    values = np.empty(len(chosen))
    measured = np.empty((len(chosen), len(objective.constraints)))
    for number in in_short_steps(chosen).tolist():
        state.go_to(chosen[number])
        values[number] = objective.sign * state.cost
        measured[number] = state.measures()
    violations = np.zeros(len(chosen))
    for constraint, column in zip(objective.constraints, measured.T, strict=True):
        violations += constraint.violation(column)
    sizes = chosen.sum(axis=1)
    order = np.lexsort((sizes, objective.sign * values, violations))
    names = [constraint.name for constraint in objective.constraints]
    best = int(order[0]) if order.size else -1
    return SubsetValues(values, dict(zip(names, measured.T, strict=True)), violations, sizes, best)


def as_subsets(subsets: Any, n_features: int) -> np.ndarray:
    """(n_subsets, n_features) bool from such an array, or from positions of features."""
    if isinstance(subsets, np.ndarray) and subsets.dtype == bool:
        if subsets.ndim != 2 or subsets.shape[1] != n_features:
            raise ValueError(f"subsets must have shape (n_subsets, {n_features}), got {subsets.shape}.")
        return subsets
    listed: Sequence[Any] = list(subsets)
    chosen = np.zeros((len(listed), n_features), dtype=bool)
    for number, features in enumerate(listed):
        positions = np.asarray(features)
        whole = positions.ndim == 1 and (positions.dtype.kind in "iu" or positions.size == 0)
        if not whole or (positions.size and not 0 <= positions.min() <= positions.max() < n_features):
            raise ValueError(
                f"subsets must be a bool array or lists of positions from 0 to {n_features - 1}, got {features!r}."
            )
        chosen[number, positions.astype(np.int64)] = True
    return chosen


def in_short_steps(subsets: np.ndarray) -> np.ndarray:
    """(n_subsets,) an order of the subsets, from the smallest on, in which each is near the one before it: the nearest
    of those that are left, among a thousand that begin alike.
    """
    order = np.lexsort(subsets.T[::-1])
    pieces = [order[at : at + _AT_ONCE] for at in range(0, order.size, _AT_ONCE)]
    return np.concatenate([_nearest_first(subsets, piece) for piece in pieces]) if pieces else order


def _nearest_first(subsets: np.ndarray, piece: np.ndarray) -> np.ndarray:
    part = subsets[piece].astype(np.float32)
    sizes = part.sum(axis=1)
    twice_shared = 2.0 * (part @ part.T)
    at = int(sizes.argmin())
    walk = np.empty(piece.size, dtype=np.int64)
    for step in range(piece.size):
        walk[step] = at
        sizes[at] = np.inf
        at = int((sizes - twice_shared[at]).argmin())  # |a xor b| = |a| + |b| - 2 |a and b|, with |a| the same for all
    return piece[walk]

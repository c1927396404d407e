"""Evaluation of a list of subsets by one objective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesieve.engine import effective_jobs, map_in_threads
from bayesieve.engine.progress import Clock
from bayesieve.search.problem import Objective, SubsetProblem, refuse_unmeasurable, violation

_PIECE = 256  # subsets that are evaluated together between two checks of the time limit
_PIECE_WORK = 1 << 30  # rows x features x subsets of a piece of large tables
_PARALLEL_WORK = 20_000_000  # rows x features x subsets below which threads are not worthwhile


@dataclass(frozen=True)
class SubsetValues:
    """Values of subsets of features.

    Attributes
    ----------
    values : (n_subsets,) criterion of each subset.
    measures : constrained measures by name, each (n_subsets,).
    violations : (n_subsets,) distance of each subset from the constraints; 0 if it satisfies them.
    sizes : (n_subsets,) number of features.
    best : position of the best subset: the smallest violation of constraints first, then the best criterion (on
        validation rows if there are any, within 1e-12), then the fewest features, then the first subset.
    validations : (n_subsets,) criterion on validation rows; NaN without such rows. Subsets that were not evaluated,
        because the time was over, have NaN everywhere.
    """

    values: np.ndarray
    measures: dict[str, np.ndarray]
    violations: np.ndarray
    sizes: np.ndarray
    best: int
    validations: np.ndarray

    @property
    def evaluated(self) -> np.ndarray:
        """Mask of the subsets that were evaluated, (n_subsets,)."""
        return np.asarray(~np.isnan(self.values))

    @property
    def feasible(self) -> np.ndarray:
        """Mask of the subsets that satisfy all constraints, (n_subsets,)."""
        return np.asarray(self.violations == 0.0)


def evaluate_subsets(objective: Objective, subsets: Any, *, n_jobs: int | None = None) -> SubsetValues:
    """Evaluate a list of subsets of features by an objective.

    Subsets are visited such that each follows a similar one and few features change. Values do not depend on the order
    of the list.

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
        If subsets have another number of features than the objective, or invalid positions.
    """
    problem = SubsetProblem.bare(objective)
    return walk_subsets(problem, as_subsets(subsets, len(problem.names)), n_jobs=n_jobs)


def walk_subsets(
    problem: SubsetProblem, subsets: np.ndarray, *, n_jobs: int | None = None, clock: Clock | None = None
) -> SubsetValues:
    """Evaluate subsets by the objectives of a problem.

    ``subsets`` (n_subsets, n_features) is a mask of the features of each subset, ``n_jobs`` the number of threads. The
    evaluation ends at the time limit of ``clock`` or after Ctrl-C, but the first subset is always evaluated.
    """
    guide, judge, clock = problem.objective, problem.validation, clock or Clock(None)
    values, validations, violations = np.full((3, len(subsets)), np.nan)
    measured = np.full((len(subsets), len(guide.constraints)), np.nan)
    work = guide.rows.block.n_rows * len(problem.names)
    at_once = effective_jobs(n_jobs) if work * len(subsets) > _PARALLEL_WORK else 1

    def walk(numbers: np.ndarray) -> None:
        """Evaluate the subsets at the positions ``numbers``, and write their values into the arrays of results."""
        costs, of_bounds = guide.of_subsets(subsets[numbers])
        refuse_unmeasurable(guide.criterion, costs)
        judged, by_bound = (np.nan, of_bounds) if judge is None else judge.of_subsets(subsets[numbers])
        measured[numbers], validations[numbers] = of_bounds, judged
        violations[numbers] = violation(guide.constraints, by_bound.T)
        values[numbers] = costs

    with clock:
        if len(subsets):
            walk(np.zeros(1, dtype=np.int64))
        order = np.lexsort(subsets[1:].T[::-1]) + 1  # similar subsets follow each other
        size = max(1, min(_PIECE, _PIECE_WORK // max(1, work), -(-order.size // at_once)))
        pieces = [order[at : at + size] for at in range(0, order.size, size)]
        for at in range(-at_once, len(pieces), at_once):
            map_in_threads(walk, pieces[max(0, at) : at + at_once], at_once)
            done = int(np.count_nonzero(~np.isnan(values)))
            clock.show(done, len(subsets), guide.sign * np.nanmin(guide.sign * values, initial=np.inf))
            if clock.is_up:
                break
    decides, judged = (guide, values) if judge is None else (judge, validations)
    sizes = subsets.sum(axis=1)
    ranks = np.nan_to_num(np.round(decides.sign * judged, 12), nan=np.inf)
    by_rank = np.lexsort((sizes, ranks, np.nan_to_num(violations, nan=np.inf)))
    measures = {bound.name: column for bound, column in zip(guide.constraints, measured.T, strict=True)}
    return SubsetValues(values, measures, violations, sizes, int(by_rank[0]) if by_rank.size else -1, validations)


def as_subsets(subsets: Any, n_features: int) -> np.ndarray:
    """Convert subsets to a mask (n_subsets, n_features); raise ValueError if they are invalid.

    ``subsets`` is such a mask, or a sequence of sequences of feature positions.
    """
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

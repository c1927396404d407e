"""Many subsets by one objective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesieve.criteria.row_ratios import most_subsets
from bayesieve.engine import effective_jobs, map_in_threads
from bayesieve.engine.progress import Clock
from bayesieve.search.problem import Objective, SubsetProblem

_PIECE = 64  # subsets that a thread walks through before it takes up others
_MOST_SUMMED = 256  # of those whose logarithms are summed at once
_MOST_ASKED = 256  # of those that a cluster is asked about at once
_PARALLEL_WORK = 20_000_000  # rows x features x subsets below which threads cost more than they bring
_AT_ONCE = 1024  # subsets among which the nearest is looked for: more take longer to look than the moves saved


@dataclass(frozen=True)
class SubsetValues:
    """What subsets are worth.

    Attributes
    ----------
    values : (n_subsets,) criterion.
    measures : measures of the constraints (n_subsets,) by their names.
    violations : (n_subsets,) how far each subset is from the constraints; 0 if it satisfies them.
    sizes : (n_subsets,) number of features.
    best : position of the best subset: the one nearest to the constraints, then by the criterion, or its value on
        validation rows if there are any (within 1e-12), then the smallest one, then the first.
    validations : (n_subsets,) values on validation rows; NaN without such rows. All is NaN for a subset that was not
        evaluated, because the time was up.
    """

    values: np.ndarray
    measures: dict[str, np.ndarray]
    violations: np.ndarray
    sizes: np.ndarray
    best: int
    validations: np.ndarray

    @property
    def evaluated(self) -> np.ndarray:
        """(n_subsets,) bool: the subsets that were evaluated."""
        return np.asarray(~np.isnan(self.values))

    @property
    def feasible(self) -> np.ndarray:
        """(n_subsets,) bool: the subsets that satisfy all constraints."""
        return np.asarray(self.violations == 0.0)


def evaluate_subsets(objective: Objective, subsets: Any, *, n_jobs: int | None = None) -> SubsetValues:
    """Evaluate a list of subsets of features by an objective.

    The logarithms of many subsets are summed in one pass over the rows. For criteria that keep other figures of the
    rows, each subset is reached from the one before by adding and dropping, in an order in which neighbours differ
    little. Values do not depend on the order of the list.

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
    problem = SubsetProblem.bare(objective)
    return walk_subsets(problem, as_subsets(subsets, problem.n_features), n_jobs=n_jobs)


def walk_subsets(
    problem: SubsetProblem,
    subsets: np.ndarray,
    *,
    n_jobs: int | None = None,
    clock: Clock | None = None,
) -> SubsetValues:
    """As `evaluate_subsets`, of a whole problem, until the time of ``clock`` is up or the user interrupts; the first
    subset is evaluated in any case.
    """
    guide, clock = problem.objective, clock or Clock(None)
    facts = np.full((3, len(subsets)), np.nan)
    measured = np.full((len(subsets), len(guide.constraints)), np.nan)
    work = problem.rows.n_rows * problem.n_features * len(subsets)
    parallel = work > _PARALLEL_WORK and not problem.rows.engine.is_remote
    at_once = effective_jobs(n_jobs) if parallel else 1

    def walk(numbers: np.ndarray) -> bool:
        state = problem.state(n_jobs=1 if at_once > 1 else n_jobs)
        summed = False
        for number, of_sums in zip(numbers.tolist(), state.each(subsets[numbers]), strict=True):
            summed = of_sums
            measured[number] = state.measures()
            facts[:, number] = guide.sign * state.cost, state.validation(), state.violation(measured[number])
            if clock.is_up:
                break
        return summed

    with clock:
        pieces = _pieces(problem, subsets, walk(np.arange(1)), at_once) if len(subsets) else []
        for at in range(-at_once, len(pieces), at_once):
            map_in_threads(walk, pieces[max(0, at) : at + at_once], at_once)
            done = int(np.count_nonzero(~np.isnan(facts[0])))
            clock.show(done, len(subsets), guide.sign * np.nanmin(guide.sign * facts[0], initial=np.inf))
            if clock.is_up:
                break
    values, validations, violations = facts
    judge, judged = (guide, values) if problem.validation is None else (problem.validation, validations)
    sizes = subsets.sum(axis=1)
    ranks = np.nan_to_num(np.round(judge.sign * judged, 12), nan=np.inf)
    by_rank = np.lexsort((sizes, ranks, np.nan_to_num(violations, nan=np.inf)))
    measures = {bound.name: column for bound, column in zip(guide.constraints, measured.T, strict=True)}
    return SubsetValues(values, measures, violations, sizes, int(by_rank[0]) if by_rank.size else -1, validations)


def _pieces(problem: SubsetProblem, subsets: np.ndarray, summed: bool, at_once: int) -> list[np.ndarray]:
    """Positions of all subsets but the first that one state goes to. Pieces do not depend on the threads where the way
    to a subset changes its value in the last digit.
    """
    if not summed:
        order = in_short_steps(subsets[1:]) + 1
        return [order[at : at + _PIECE] for at in range(0, order.size, _PIECE)]
    objectives = (problem.objective,) if problem.validation is None else (problem.objective, problem.validation)
    n_states = at_once * sum(1 + len(objective.constraints) for objective in objectives)
    if problem.rows.engine.is_remote:
        return [np.arange(at, min(at + _MOST_ASKED, len(subsets))) for at in range(1, len(subsets), _MOST_ASKED)]
    most = [most_subsets(objective.rows.block, problem.rows.n_classes) for objective in objectives]
    size = max(1, min(_MOST_SUMMED, -(-len(subsets) // at_once), min(most) // n_states))
    return [np.arange(at, min(at + size, len(subsets))) for at in range(1, len(subsets), size)]


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

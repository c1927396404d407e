"""Subsets chosen by rankings and searches on one half of the training rows, their sizes on the other half."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesieve.counts import ContingencyCounts, Smoothing
from bayesieve.criteria.registry import make_criterion
from bayesieve.evaluation.rankings import rank_by_mrmr, rank_by_mutual_information
from bayesieve.search import GreedySearch, ScoredRows, SearchState, SearchTrace, SubsetProblem
from bayesieve.search.trace import Point
from bayesieve.table import CodedTable

FILTERS = {"MI filter": rank_by_mutual_information, "mRMR filter": rank_by_mrmr}
_TIE = 1e-12


@dataclass(frozen=True)
class Method:
    """A way to choose indicators, and what table 1 of the paper says of it."""

    name: str
    guide: str
    paper_features: int | None = None
    paper_error: float | None = None
    direction: str | None = None
    criterion: str | None = None

    @property
    def key(self) -> str:
        """What identifies it in kept results."""
        return f"{self.name}, {self.guide}" if self.guide else self.name


@dataclass(frozen=True)
class Halves:
    """What one repetition is measured on.

    fit : half of the training series, coded; it guides rankings and searches.
    guide, validation, test : the rows of that half, of the other half and of the test series, all scored by
    probabilities learnt from the first half.
    """

    fit: CodedTable
    guide: ScoredRows
    validation: ScoredRows
    test: ScoredRows

    def problem(self, rows: ScoredRows | None, criterion: str = "error") -> SubsetProblem:
        """Searches by a criterion on the guiding half, with the error measured on ``rows``, if any."""

        def made(name: str) -> Any:
            return make_criterion(name, self.fit.n_features, self.fit.classes)

        return SubsetProblem.on(
            self.guide,
            self.fit,
            made(criterion),
            validation_rows=rows,
            validation_criterion=None if rows is None else made("error"),
        )

    def error(self, selected: np.ndarray, rows: ScoredRows) -> float:
        """Share of ``rows`` that naive Bayes on the selected indicators classifies wrongly."""
        state = SearchState(self.problem(rows))
        state.reset(selected)
        return state.validation()


def halve(train: CodedTable, test: CodedTable, smoothing: Smoothing, random: np.random.Generator) -> Halves:
    """Cut the training rows into halves with the same class shares, and learn probabilities from the first."""
    classes = np.asarray(train.class_codes)
    first = np.zeros(train.n_rows, dtype=bool)
    for code in range(train.n_classes):
        rows = random.permutation(np.flatnonzero(classes == code))
        first[rows[: (rows.size + 1) // 2]] = True
    fit = train.take(first)
    counts = ContingencyCounts.of(fit)
    guide, validation, tested = (
        ScoredRows.training(part, counts, smoothing) for part in (fit, train.take(~first), test)
    )
    return Halves(fit, guide, validation, tested)


def measure(method: Method, halves: Halves) -> dict[str, Any]:
    """Choose indicators by one method.

    Returns
    -------
    dict of ``features``, ``validation`` and ``test`` error of the subset chosen, ``lowest_test``, the lowest test error
    of any subset that the method could have chosen from, ``ties``, the share of the steps (of forward and backward
    search, up to the subset chosen) at which several indicators were equally good and the column order decided, and
    ``seconds`` for the choice.
    """
    begin = time.perf_counter()
    ties = None
    if method.direction:
        problem = halves.problem(halves.validation, method.criterion or "error")
        trace, selected = GreedySearch(direction=method.direction, n_jobs=1).run(problem, halves.fit.names)
        seconds = time.perf_counter() - begin
        if not trace.complete:
            raise KeyboardInterrupt  # a search that was stopped is no result
        lowest = _lowest_on_walks(trace, halves)
        if method.direction in ("forward", "backward"):
            ties = _tied_steps(trace, problem, int(selected.sum()))
    elif method.name in FILTERS:
        order = FILTERS[method.name](halves.fit)
        selected = best_of_path(halves, order)
        seconds = time.perf_counter() - begin
        lowest = min(_path(halves.problem(halves.test), order))
    else:
        selected = np.ones(halves.fit.n_features, dtype=bool)
        seconds = time.perf_counter() - begin
        lowest = halves.error(selected, halves.test)
    return {
        "features": int(selected.sum()),
        "validation": round(halves.error(selected, halves.validation), 10),
        "test": round(halves.error(selected, halves.test), 10),
        "lowest_test": round(lowest, 10),
        "ties": ties,
        "seconds": round(seconds, 3),
    }


def best_of_path(halves: Halves, order: np.ndarray) -> np.ndarray:
    """(n_features,) bool: the leading features, the fewest among those of lowest validation error."""
    errors = _path(halves.problem(halves.validation), order)
    best = Point(errors[0], 0)
    for size, error in enumerate(errors):
        point = Point(error, size)
        best = point if point.beats(best) else best
    selected = np.zeros(order.size, dtype=bool)
    selected[order[: best.size]] = True
    return selected


def best_on_walks(trace: SearchTrace, halves: Halves) -> np.ndarray:
    """(n_features,) bool: the smallest subset among those of lowest validation error that a search went through."""
    state = SearchState(halves.problem(halves.validation))
    best: Point | None = None
    selected = state.selected.copy()
    for at in _replayed(trace, state):
        point = Point(at.validation(), at.n_selected)
        if best is None or point.beats(best):
            best, selected = point, at.selected.copy()
    return selected


def _path(problem: SubsetProblem, order: np.ndarray) -> list[float]:
    """Validation errors of the empty subset and of the leading features, one more each time."""
    state = SearchState(problem)
    errors = [state.validation()]
    for feature in order.tolist():
        state.add(feature, cost=0.0)  # what the guiding half says of it is not asked for
        errors.append(state.validation())
    return errors


def _lowest_on_walks(trace: SearchTrace, halves: Halves) -> float:
    """The lowest test error of all subsets that a search went through."""
    state = SearchState(halves.problem(halves.test))
    return min(at.validation() for at in _replayed(trace, state))


def _tied_steps(trace: SearchTrace, problem: SubsetProblem, size: int) -> float | None:
    """Share of the steps of the first walk, up to a subset of ``size``, at which several moves were the best."""
    tied: list[bool] = []
    adding = bool(trace.walk_moves(0).adding[0])
    steps = abs(size - trace.starts[0].features.size)
    for state in _replayed(trace, SearchState(problem, leave_out=True), steps):
        if len(tied) < steps:
            features = problem.candidates[state.selected[problem.candidates] != adding]
            costs = state.candidates(features)
            tied.append(int(np.count_nonzero(costs <= costs.min() + _TIE)) > 1)
    return round(float(np.mean(tied)), 6) if tied else None


def _replayed(trace: SearchTrace, state: SearchState, steps: int | None = None) -> Iterator[SearchState]:
    """Go through the subsets of a search again; of the first walk only, and so many steps, where ``steps`` is given."""
    for walk in range(trace.n_starts if steps is None else 1):
        start = np.zeros(state.selected.size, dtype=bool)
        start[trace.starts[walk].features] = True
        state.reset(start)
        yield state
        moves = trace.walk_moves(walk)
        for feature, cost in list(zip(moves.feature.tolist(), moves.cost.tolist(), strict=True))[:steps]:
            state.flip(feature, cost)
            yield state

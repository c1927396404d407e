"""Rankings of features, and how many of the leading ones to keep: the path of nested subsets, on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.criteria import Criterion
from bayesieve.criteria.registry import make_criterion
from bayesieve.parts import Score
from bayesieve.search import Objective, ScoredRows, SearchState, SearchTrace, SubsetProblem, TraceRecorder
from bayesieve.selection.base import CodedSelector


@dataclass(frozen=True)
class NestedPath:
    """The leading features of a ranking, one more each time, measured on rows that neither the ranking nor the
    probabilities were learnt from.

    values : (n_features + 1,) the criterion on the held-out rows, from the empty subset on; criterion_name,
    lower_is_better : of that criterion; total : number (or weight) of those rows.
    """

    values: np.ndarray
    criterion_name: str
    lower_is_better: bool
    total: float

    @classmethod
    def measure(
        cls,
        ranking: np.ndarray,
        fit: CodedTable,
        held_out: CodedTable,
        criterion: str | Criterion = "error",
        smoothing: Smoothing = "m-estimate",
        n_jobs: int | None = None,
    ) -> NestedPath:
        """Naive Bayes with the probabilities of ``fit``, on the rows of ``held_out``.

        Parameters
        ----------
        ranking : (n_features,) positions of the features, the best first
        fit, held_out : coded tables of the same features and classes, such as `hold_out` makes
        criterion : name of a criterion, or an object, as `WrapperSelector` takes it
        smoothing : of the probabilities
        n_jobs : threads
        """
        rows = ScoredRows.training(held_out, fit.counts, smoothing)
        return cls.on(rows, fit, ranking, criterion, n_jobs)

    @classmethod
    def on(
        cls,
        rows: ScoredRows,
        fit: CodedTable,
        ranking: np.ndarray,
        criterion: str | Criterion = "error",
        n_jobs: int | None = None,
    ) -> NestedPath:
        """The same on rows that are scored already, by the probabilities of ``fit``: one pass over them a feature."""
        objective = Objective(make_criterion(criterion, fit.n_features, fit.classes), rows)
        problem = SubsetProblem.on(objective, fit)
        state = SearchState(problem, n_jobs=n_jobs)
        values = [state.cost]
        for feature in ranking.tolist():
            state.add(feature)
            values.append(state.cost)
        measured = problem.criterion
        return cls(problem.sign * np.array(values), measured.name, measured.lower_is_better, problem.total)


class RankedSelector(CodedSelector):
    """Base of the selectors that rank all features and keep the leading ones.

    Attributes
    ----------
    ranking_ : int array, shape (n_features,)
        Positions of the features, the best first.
    scores_ : float array, shape (n_features,)
        Score of each feature when its turn came.
    n_features_selected_ : int
    """

    # Read from the trace, which models that were saved and loaded have too.
    @property
    def ranking_(self) -> np.ndarray:
        ranking: np.ndarray = self.trace_.walk_moves(0).feature
        return ranking

    @property
    def scores_(self) -> np.ndarray:
        added = self.trace_.walk_moves(0)
        scores = np.empty(added.cost.size)
        scores[added.feature] = added.cost
        return scores

    @property
    def n_features_selected_(self) -> int:
        return int(np.count_nonzero(self.support_))


def ranking_trace(
    names: tuple[str, ...],
    ranking: np.ndarray,
    scores: np.ndarray,
    score: Score,
    seconds: float,
    path: NestedPath | None = None,
    recoded: bool | None = None,
) -> SearchTrace:
    """The trace that adds all features in the order of a ranking: its criterion is their score, its validation, where
    there is one, that of the subset of leading features.

    Parameters
    ----------
    names : of the features
    ranking, scores : (n_features,) positions, the best first, and the score of each of those
    score : name and direction of the scores
    seconds : that the ranking took
    path : of the same ranking
    recoded : of the path, as `SearchTrace` has it
    """
    recorder = TraceRecorder(0.0)
    words: dict[str, Any] = {}
    if path is not None:
        recorder.start_validation = float(path.values[0])
        words = {
            "validation_name": path.criterion_name,
            "validation_lower_is_better": path.lower_is_better,
            "validation_total": path.total,
            "evaluation": "holdout",
            "recoded": recoded,
        }
    every = np.ones(ranking.size, dtype=bool)
    keys = np.arange(1, ranking.size + 1, dtype=np.uint64)
    recorder.record(ranking, every, scores, every, keys, seconds)
    options = {"criterion_name": score.name, "lower_is_better": score.lower_is_better, **words}
    trace = SearchTrace.of(names, [recorder], complete=True, seconds=seconds, **options)
    if path is not None:
        trace.moves.validation[:] = path.values[1:]
    return trace


def check_size(size: Any, names: tuple[str, ...] = ("auto",)) -> None:
    """Raise ValueError unless ``n_features_to_select`` is one of the names or a whole number of at least 1."""
    named = isinstance(size, str) and size in names
    if not (named or (isinstance(size, Integral) and not isinstance(size, bool) and int(size) >= 1)):
        choices = ", ".join(map(repr, names))
        raise ValueError(f"n_features_to_select must be {choices} or a whole number of at least 1, got {size!r}.")


def leading(ranking: np.ndarray, size: int, candidates: int | None = None) -> np.ndarray:
    """(n_features,) 1.0 for the first ``size`` features of a ranking, of which ``candidates`` are worth taking.

    ValueError if there are fewer features.
    """
    if size > ranking.size:
        raise ValueError(
            f"n_features_to_select={size} is more than the {ranking.size} features of the table; use at most that "
            "many, or 'auto'."
        )
    weights = np.zeros(ranking.size)
    weights[ranking[: size if candidates is None else min(size, candidates)]] = 1.0
    return weights

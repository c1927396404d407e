"""The base of the MAP selector and both averagings: a search whose trace gives the weights."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal

import numpy as np

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.engine.progress import Progress, SearchProgress
from bayesieve.search import ExhaustiveSearch, MultiStart, SearchTrace, SubsetProblem
from bayesieve.search.every_subset import evaluate_every_subset, obstacle_to_walk
from bayesieve.selection.base import CodedSelector, seed_of
from bayesieve.table.choices import is_choice
from bayesieve.table.table_levels import TableLevels

_AUTO_FEATURES = 15  # features up to which exhaustive="auto" enumerates ...
_AUTO_WORK = 1_500_000_000  # ... unless subsets x rows x (classes - 1) exceed about a second of work


class SubsetSearchSelector(CodedSelector):
    """A selector that reads its weights from the trace of a search by the cost of Boulle (2007), equation 4."""

    chooses_on_path = False  # weights are read from all models together

    kernel_families = ("search",)

    def __init__(
        self,
        *,
        n_starts: int | None = None,
        max_iter: int = 5,
        exhaustive: bool | Literal["auto"] = "auto",
        max_seconds: float | None = None,
        smoothing: Smoothing = "m-estimate",
        encoder: Any = "modl",
        random_state: Any = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ) -> None:
        super().__init__(smoothing=smoothing, encoder=encoder)
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.exhaustive = exhaustive
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _search(self, coded: CodedTable) -> np.ndarray:
        problem = SubsetProblem.of(coded, self.smoothing)
        if isinstance(coded.levels, TableLevels):
            problem = replace(problem, candidates=np.setdiff1d(problem.candidates, coded.levels.doubtful))
        with SearchProgress(f"{type(self).__name__}: searching", self.verbose) as progress:
            if self._enumerates(problem):
                trace = self._enumerate(problem, progress)
            else:
                seed = seed_of(self.random_state)
                search = MultiStart(self.n_starts, self.max_iter, seed, self.max_seconds, self.n_jobs)
                trace = search.run(problem, progress)
        if trace.was_interrupted(self.max_seconds):
            warnings.warn(
                f"The search was interrupted after {trace.n_models} models: "
                f"{type(self).__name__} keeps the best so far.",
                UserWarning,
                stacklevel=2,
            )
        self.trace_ = trace
        self.n_iter_ = trace.n_starts
        return self.weigh(trace)

    def _enumerate(self, problem: SubsetProblem, progress: Progress | None) -> SearchTrace:
        """Every subset: at once where that is a matter of seconds, else step by step, which can be stopped."""
        at_once = self.max_seconds is None and _work(problem) <= _AUTO_WORK
        if at_once and obstacle_to_walk(problem) is None:
            return evaluate_every_subset(problem, n_jobs=self.n_jobs).trace()
        return ExhaustiveSearch(self.max_seconds).run(problem, progress)

    @abstractmethod
    def weigh(self, trace: SearchTrace) -> np.ndarray:
        """Weights of the features from everything that the search evaluated."""

    def _enumerates(self, problem: SubsetProblem) -> bool:
        if self.exhaustive != "auto":
            return bool(self.exhaustive)
        if problem.candidates.size > _AUTO_FEATURES:
            return False
        return _work(problem) <= _AUTO_WORK

    def _check_options(self) -> None:
        for name, lowest in (("n_starts", 1), ("max_iter", 1)):
            value = getattr(self, name)
            if not (value is None and name == "n_starts") and (not isinstance(value, Integral) or value < lowest):
                raise ValueError(f"{name} must be a whole number of at least {lowest}, got {value!r}.")
        if not (isinstance(self.exhaustive, (bool, np.bool_)) or is_choice(self.exhaustive, ("auto",))):
            raise ValueError(f"exhaustive must be True, False or 'auto', got {self.exhaustive!r}.")


def _work(problem: SubsetProblem) -> float:
    return 2.0**problem.candidates.size * problem.total * (problem.n_classes - 1)

"""The current subset of a search: add a feature, drop a feature, or score any number of such moves in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.criteria import ClassBlock, Criterion, MAPCost, RatioTables
from bayesieve.criteria.row_ratios import MANY_CLASSES
from bayesieve.engine import Parts, effective_jobs, map_in_threads
from bayesieve.search.objective import Objective
from bayesieve.search.problem import Problem, Search, State
from bayesieve.search.scored_rows import ScoredRows

_PARALLEL_WORK = 20_000_000  # rows x candidates x other classes below which threads cost more than they bring
_CANDIDATES_AT_ONCE = 1024  # the kernels keep a few cache lines for each
_MANY_MOVES = 3  # at once: cheaper in the logarithms than in the ratios, which are needed after the last only
_PENALTY = 1e6  # times the cost of the empty subset, for a constraint missed by 1: more than any criterion gains


@dataclass(frozen=True)
class SubsetProblem(Problem):
    """Subsets of the features of a coded table, by an objective.

    Attributes
    ----------
    objective : guides the search.
    names : of all features; candidates : positions of those with at least two levels, unless said otherwise.
    validation : objective that chooses among the subsets met, on rows of its own, if any.
    evaluation, recoded : what a trace says of the rows.
    learnt : the rows that the probabilities are learnt from, for searches that need more than an objective.
    total : number of rows that guide the search, or the sum of their weights.
    """

    objective: Objective
    names: tuple[str, ...]
    candidates: np.ndarray
    validation: Objective | None = None
    evaluation: str | None = None
    recoded: bool | None = None
    learnt: CodedTable | None = None

    @classmethod
    def of(
        cls,
        coded: CodedTable,
        smoothing: Smoothing = "m-estimate",
        criterion: Criterion | None = None,
        *,
        class_smoothing: float = 0.0,
        every_feature: bool = False,
    ) -> SubsetProblem:
        """Search by a criterion (`MAPCost` unless given) on the rows that the tables are learnt from.

        ``class_smoothing`` is added to the count of every class; ``every_feature`` makes candidates of features of one
        level, too.
        """
        counts = coded.counts
        rows = ScoredRows.training(coded, counts, smoothing, class_smoothing)
        objective = Objective(MAPCost(coded.n_features) if criterion is None else criterion, rows)
        return cls.on(objective, coded, every_feature=every_feature)

    @classmethod
    def on(
        cls,
        objective: Objective,
        coded: CodedTable,
        *,
        every_feature: bool = False,
        validation: Objective | None = None,
        evaluation: str | None = None,
        recoded: bool | None = None,
        learnt: CodedTable | None = None,
    ) -> SubsetProblem:
        """Search the features of a coded table by an objective on any rows with the same features."""
        return cls(
            objective=objective,
            names=coded.names,
            candidates=np.arange(coded.n_features) if every_feature else np.flatnonzero(coded.n_levels > 1),
            validation=validation,
            evaluation=evaluation,
            recoded=recoded,
            learnt=coded if learnt is None else learnt,
        )

    @classmethod
    def needed_by(cls, search: Search, problem: Problem) -> SubsetProblem:
        """The problem; ValueError if it is not one of models, which ``search`` evaluates."""
        if not isinstance(problem, cls):
            name = type(search).__name__
            raise ValueError(f"{name} evaluates naive Bayes: it needs a SubsetProblem; choose another search.")
        return problem

    @property
    def rows(self) -> ScoredRows:
        return self.objective.rows

    @property
    def criterion(self) -> Criterion:
        return self.objective.criterion

    @property
    def criterion_name(self) -> str:  # type: ignore[override]
        return self.criterion.name

    @property
    def best(self) -> float | None:  # type: ignore[override]
        return self.criterion.best

    @property
    def validated(self) -> bool:  # type: ignore[override]
        return self.validation is not None

    @property
    def constrained(self) -> bool:  # type: ignore[override]
        return bool(self.objective.constraints)

    @property
    def blocks(self) -> tuple[ClassBlock, ...]:
        return self.rows.blocks

    @property
    def tables(self) -> RatioTables:
        return self.rows.tables

    @property
    def total(self) -> float:
        return self.objective.total

    @property
    def n_rows(self) -> int:
        return sum(block.n_rows for block in self.blocks)

    @property
    def n_classes(self) -> int:
        return int(self.rows.class_totals.size)

    @property
    def sign(self) -> float:  # type: ignore[override]
        return self.objective.sign

    def state(self, *, leave_out: bool = False, n_jobs: int | None = None) -> SearchState:
        return SearchState(self, leave_out=leave_out, n_jobs=n_jobs)

    def in_words(self) -> dict[str, Any]:
        validation = self.validation
        return {
            "criterion_name": self.criterion.name,
            "lower_is_better": self.criterion.lower_is_better,
            "validation_name": None if validation is None else validation.criterion.name,
            "validation_lower_is_better": validation is None or validation.criterion.lower_is_better,
            "validation_total": None if validation is None else validation.total,
            "evaluation": self.evaluation,
            "recoded": self.recoded,
        }


class _Measured:
    """A criterion on some rows, for the subset that both follow."""

    def __init__(self, rows: ScoredRows, criterion: Criterion, leave_out: bool, n_jobs: int | None) -> None:
        if not criterion.additive and len(rows.blocks) > 1:
            raise ValueError(f"The criterion {criterion.name!r} needs all rows in one block, got {len(rows.blocks)}.")
        effective_jobs(n_jobs)  # refuses other values before anything runs
        self._rows, self._criterion, self._n_jobs = rows, criterion, n_jobs
        self.sign = 1.0 if criterion.lower_is_better else -1.0
        self._move_work = sum(block.n_rows for block in rows.blocks) * (rows.tables.n_classes - 1)
        can_leave = leave_out and criterion.saturation(rows.tables.n_classes) is not None
        options = {"leave_out": True} if can_leave else {}
        self._state: Parts[Any] = rows.blocks[0].engine.parts(
            criterion.start(block, rows.tables, rows.priors, **options) for block in rows.blocks
        )

    def reset(self) -> None:
        self._state.update(_reset, self._rows.priors)

    def move(self, features: Sequence[int], adding: Sequence[bool]) -> None:
        self._state.update(_multiply, self._rows.tables, features, adding)

    def expect_moves(self) -> None:
        self._state.update(_expect_moves)

    def candidates(self, features: np.ndarray, adding: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        def part(chosen: slice) -> np.ndarray:
            return self._state.reduce(self._criterion.sums, self._rows.tables, features[chosen], adding[chosen])

        pieces = self._pieces(features.size)
        if len(pieces) == 1:
            sums = part(pieces[0])
        else:
            self._state.update(_prepare)
            # Threads would not end at Ctrl-C before their piece is done.
            n_jobs = 1 if self._rows.tables.n_classes > MANY_CLASSES else self._n_jobs
            sums = np.concatenate(map_in_threads(part, pieces, n_jobs))
        return self._costs(sums, sizes)

    def path(self, features: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Add features one after another; the costs of the subsets on the way."""
        sums = self._state.reduce(self._criterion.path_sums, self._rows.tables, features)  # type: ignore[attr-defined]
        return self._costs(sums, sizes)

    def own(self, size: int) -> float:
        sums = self._state.reduce(self._criterion.own_sums, self._rows.tables)
        return float(self._costs(sums[None, :], np.array([size]))[0])

    def _costs(self, sums: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        values = self._criterion.values(sums, sizes, self._rows.class_totals)
        if self._criterion.of_empty is not None:
            values = np.where((sizes == 0) & ~np.isnan(values), self._criterion.of_empty, values)
        return self.sign * values

    def _pieces(self, n: int) -> list[slice]:
        """Candidates evaluated together: how they are cut decides who computes them, never what comes out."""
        if self._rows.tables.n_classes > MANY_CLASSES:
            return [slice(a, a + 1) for a in range(max(1, n))]
        work = self._move_work * n
        if n <= _CANDIDATES_AT_ONCE and work < _PARALLEL_WORK:
            return [slice(0, n)]
        n_pieces = -(-n // _CANDIDATES_AT_ONCE)
        if work >= _PARALLEL_WORK:
            workers = effective_jobs(self._n_jobs)
            n_pieces = min(n, max(workers, -(-n_pieces // workers) * workers))
        ends = np.linspace(0, n, max(1, n_pieces) + 1).astype(int)
        return [slice(a, b) for a, b in pairwise(ends.tolist())]


class _Followed:
    """An objective for the current subset: its criterion, and how far the subset is from the constraints."""

    def __init__(self, objective: Objective, leave_out: bool, n_jobs: int | None) -> None:
        self.criterion = _Measured(objective.rows, objective.criterion, leave_out, n_jobs)
        self._bounds = [
            (bound, _Measured(objective.rows, bound.measure, leave_out, n_jobs)) for bound in objective.constraints
        ]
        self._measured = [self.criterion, *(measured for _, measured in self._bounds)]

    def reset(self) -> None:
        for measured in self._measured:
            measured.reset()

    def expect_moves(self) -> None:
        for measured in self._measured:
            measured.expect_moves()

    def move(self, features: Sequence[int], adding: Sequence[bool]) -> None:
        for measured in self._measured:
            measured.move(features, adding)

    def measures(self, size: int) -> list[float]:
        return [measured.sign * measured.own(size) for _, measured in self._bounds]

    def violation(self, size: int) -> float:
        values = zip(self._bounds, self.measures(size), strict=True)
        return sum(float(bound.violation(np.array(value))) for (bound, _), value in values)

    def violations(self, features: np.ndarray, adding: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        total = np.zeros(features.size)
        for bound, measured in self._bounds:
            total += bound.violation(measured.sign * measured.candidates(features, adding, sizes))
        return total


class SearchState(State):
    """A subset of features with its cost; one pass over the rows scores a batch of moves, another applies one.

    Costs are the values of the criterion, or their negatives where higher is better: lower is always better here.

    Attributes
    ----------
    selected : (n_features,) bool, the current subset; n_selected : its size; cost : its criterion.
    """

    problem: SubsetProblem

    def __init__(self, problem: SubsetProblem, *, leave_out: bool = False, n_jobs: int | None = None) -> None:
        self.problem = problem
        self._guide = _Followed(problem.objective, leave_out, n_jobs)
        self._validation = None if problem.validation is None else _Followed(problem.validation, False, n_jobs)
        self._constrained = problem.constrained
        self.selected = np.zeros(problem.n_features, dtype=bool)
        self.n_selected = 0
        self.cost = self._guide.criterion.own(0)
        if np.isnan(self.cost):
            raise ValueError(
                f"{problem.criterion_name!r} cannot be measured on these rows: they lack a class that it needs."
            )
        self._penalty = _PENALTY * max(1.0, abs(self.cost))

    def reset(self, selected: np.ndarray | None = None) -> None:
        self._guide.reset()
        if self._validation is not None:
            self._validation.reset()
        self.selected[:] = False if selected is None else selected
        self.n_selected = int(self.selected.sum())
        self._apply(np.flatnonzero(self.selected).tolist(), [True] * self.n_selected)
        self.cost = self._guide.criterion.own(self.n_selected)

    def go_to(self, selected: np.ndarray) -> None:
        changed = np.flatnonzero(selected != self.selected)
        if changed.size > np.count_nonzero(selected):
            self.reset(selected)
        elif changed.size:
            if changed.size >= _MANY_MOVES:
                self._guide.expect_moves()
            self._apply(changed.tolist(), selected[changed].tolist())
            self.selected[:] = selected
            self.n_selected = int(self.selected.sum())
            self.cost = self._guide.criterion.own(self.n_selected)

    def candidates(self, features: np.ndarray) -> np.ndarray:
        return self._guide.criterion.candidates(*self._moves(features))

    def _moves(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        adding = ~self.selected[features]
        return features, adding, self.n_selected + np.where(adding, 1, -1)

    @property
    def rank(self) -> float:
        if not self._constrained:
            return self.cost
        return self.cost + self._penalty * self._guide.violation(self.n_selected)

    def ranks(self, features: np.ndarray, costs: np.ndarray) -> np.ndarray:
        if not self._constrained:
            return costs
        return costs + self._penalty * self._guide.violations(*self._moves(features))

    def validation(self) -> float:
        if self._validation is None:
            return float("nan")
        measured = self._validation.criterion
        return measured.sign * measured.own(self.n_selected)

    def measures(self) -> list[float]:
        """Measures of the current subset that are under constraints, on the rows that guide the search."""
        return self._guide.measures(self.n_selected)

    def violation(self) -> float:
        return (self._validation or self._guide).violation(self.n_selected) if self._constrained else 0.0

    def add(self, feature: int, cost: float | None = None) -> None:
        """Add ``feature``; ``cost`` is that of the new subset where it is known already."""
        self._move(feature, True, cost)

    def add_all(self, features: np.ndarray) -> np.ndarray:
        """Add features one after another, by a criterion made of log losses; the costs of the subsets on the way."""
        costs = self._guide.criterion.path(features, self.n_selected + np.arange(1, features.size + 1))
        self.selected[features] = True
        self.n_selected += features.size
        self.cost = float(costs[-1]) if features.size else self.cost
        return costs

    def drop(self, feature: int, cost: float | None = None) -> None:
        """Drop ``feature``; ``cost`` is that of the new subset where it is known already."""
        self._move(feature, False, cost)

    def flip(self, feature: int, cost: float | None = None) -> None:
        self._move(feature, not self.selected[feature], cost)

    def _move(self, feature: int, adding: bool, cost: float | None) -> None:
        self._apply((int(feature),), (adding,))
        self.selected[feature] = adding
        self.n_selected += 1 if adding else -1
        self.cost = self._guide.criterion.own(self.n_selected) if cost is None else cost

    def _apply(self, features: Sequence[int], adding: Sequence[bool]) -> None:
        self._guide.move(features, adding)
        if self._validation is not None:
            self._validation.move(features, adding)


def _reset(block: Any, priors: np.ndarray) -> None:
    block.reset(priors)


def _multiply(block: Any, tables: RatioTables, features: Sequence[int], adding: Sequence[bool]) -> None:
    together = getattr(block, "multiply_all", None)
    if together is not None and len(features) > 1:
        together(tables, features, adding)
        return
    for feature, add in zip(features, adding, strict=True):
        block.multiply(tables, feature, add)


def _expect_moves(block: Any) -> None:
    expect = getattr(block, "expect_moves", None)
    if expect is not None:
        expect()


def _prepare(block: Any) -> None:
    """What threads share is computed before they start."""
    prepare = getattr(block, "scan", None)
    if prepare is not None:
        prepare()

"""The current subset of a search: add a feature, drop a feature, or score any number of such moves in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.criteria import ClassBlock, Criterion, MAPCost, RatioTables
from bayesieve.engine import InMemory, effective_jobs, map_in_threads
from bayesieve.search.scored_rows import ScoredRows

_PARALLEL_WORK = 20_000_000  # rows x candidates x other classes below which threads cost more than they bring
_CANDIDATES_AT_ONCE = 1024  # the kernels keep a few cache lines for each


@dataclass(frozen=True)
class SubsetProblem:
    """What all states of a search share: the rows, the naive Bayes tables, the criterion and the features worth trying.

    ``rows`` guide the search; ``validation_rows``, where there are any, only tell how far to follow it.
    ``candidates`` are the features with at least two levels unless said otherwise; ``n_features`` counts all of them.
    ``total`` is the number of rows scored, or the sum of their weights.
    """

    rows: ScoredRows
    criterion: Criterion
    candidates: np.ndarray
    n_features: int
    class_prior: np.ndarray
    validation_rows: ScoredRows | None = None
    validation_criterion: Criterion | None = None
    evaluation: str | None = None
    recoded: bool | None = None

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
        return cls.on(rows, coded, criterion, every_feature=every_feature)

    @classmethod
    def on(
        cls,
        rows: ScoredRows,
        coded: CodedTable,
        criterion: Criterion | None = None,
        *,
        every_feature: bool = False,
        validation_rows: ScoredRows | None = None,
        validation_criterion: Criterion | None = None,
        evaluation: str | None = None,
        recoded: bool | None = None,
    ) -> SubsetProblem:
        """Search by the criterion on the given rows of a coded table; ``evaluation`` and ``recoded`` are what its trace
        says of them.
        """
        return cls(
            rows=rows,
            criterion=MAPCost(coded.n_features) if criterion is None else criterion,
            candidates=np.arange(coded.n_features) if every_feature else np.flatnonzero(coded.n_levels > 1),
            n_features=coded.n_features,
            class_prior=rows.class_totals / rows.class_totals.sum(),
            validation_rows=validation_rows,
            validation_criterion=validation_criterion,
            evaluation=evaluation,
            recoded=recoded,
        )

    @property
    def blocks(self) -> tuple[ClassBlock, ...]:
        return self.rows.blocks

    @property
    def tables(self) -> RatioTables:
        return self.rows.tables

    @property
    def total(self) -> float:
        return float(self.rows.class_totals.sum())

    @property
    def n_rows(self) -> int:
        return sum(block.n_rows for block in self.blocks)

    @property
    def n_classes(self) -> int:
        return self.class_prior.size

    @property
    def sign(self) -> float:
        """What turns costs into values of the criterion."""
        return 1.0 if self.criterion.lower_is_better else -1.0

    def in_words(self) -> dict[str, Any]:
        """What a trace tells about the criteria."""
        validation = self.validation_criterion
        return {
            "criterion_name": self.criterion.name,
            "lower_is_better": self.criterion.lower_is_better,
            "validation_name": None if validation is None else validation.name,
            "validation_lower_is_better": validation is None or validation.lower_is_better,
            "validation_total": float(self.validation_rows.class_totals.sum()) if self.validation_rows else None,
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
        can_leave = leave_out and criterion.saturation(rows.tables.n_classes) is not None
        options = {"leave_out": True} if can_leave else {}
        self._state: InMemory[Any] = InMemory(
            criterion.start(block, rows.tables, rows.priors, **options) for block in rows.blocks
        )

    def reset(self) -> None:
        self._state.update(_reset, self._rows.priors)

    def move(self, feature: int, adding: bool) -> None:
        self._state.update(_multiply, self._rows.tables, feature, adding)

    def candidates(self, features: np.ndarray, adding: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        def part(chosen: slice) -> np.ndarray:
            return self._state.reduce(self._criterion.sums, self._rows.tables, features[chosen], adding[chosen])

        pieces = self._pieces(features.size)
        if len(pieces) == 1:
            sums = part(pieces[0])
        else:
            self._state.update(_prepare)
            sums = np.concatenate(map_in_threads(part, pieces, self._n_jobs))
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
        n_rows = sum(block.n_rows for block in self._rows.blocks)
        work = n_rows * n * (self._rows.tables.n_classes - 1)
        if n <= _CANDIDATES_AT_ONCE and work < _PARALLEL_WORK:
            return [slice(0, n)]
        n_pieces = -(-n // _CANDIDATES_AT_ONCE)
        if work >= _PARALLEL_WORK:
            workers = effective_jobs(self._n_jobs)
            n_pieces = min(n, max(workers, -(-n_pieces // workers) * workers))
        ends = np.linspace(0, n, max(1, n_pieces) + 1).astype(int)
        return [slice(a, b) for a, b in pairwise(ends.tolist())]


class SearchState:
    """A subset of features with its cost; one pass over the rows scores a batch of moves, another applies one.

    Costs are the values of the criterion, or their negatives where higher is better: lower is always better here.

    Attributes
    ----------
    selected : (n_features,) bool, the current subset; n_selected : its size; cost : its criterion.
    """

    def __init__(self, problem: SubsetProblem, *, leave_out: bool = False, n_jobs: int | None = None) -> None:
        self.problem = problem
        self._guide = _Measured(problem.rows, problem.criterion, leave_out, n_jobs)
        self._validation: _Measured | None = None
        if problem.validation_rows is not None and problem.validation_criterion is not None:
            self._validation = _Measured(problem.validation_rows, problem.validation_criterion, False, n_jobs)
        self.selected = np.zeros(problem.n_features, dtype=bool)
        self.n_selected = 0
        self.cost = self._guide.own(0)

    def reset(self, selected: np.ndarray | None = None) -> None:
        """Back to the empty subset, or to any other one."""
        self._guide.reset()
        if self._validation is not None:
            self._validation.reset()
        self.selected[:] = False if selected is None else selected
        self.n_selected = int(self.selected.sum())
        for feature in np.flatnonzero(self.selected):
            self._apply(int(feature), True)
        self.cost = self._guide.own(self.n_selected)

    def candidates(self, features: np.ndarray) -> np.ndarray:
        """Costs of the subsets that differ from the current one by each of ``features`` (added if absent, else
        dropped).
        """
        adding = ~self.selected[features]
        return self._guide.candidates(features, adding, self.n_selected + np.where(adding, 1, -1))

    def validation(self) -> float:
        """The validation criterion of the current subset on the validation rows; NaN where there are none."""
        measured = self._validation
        return float("nan") if measured is None else measured.sign * measured.own(self.n_selected)

    def add(self, feature: int, cost: float | None = None) -> None:
        """Add ``feature``; ``cost`` is that of the new subset where it is known already."""
        self._move(feature, True, cost)

    def add_all(self, features: np.ndarray) -> np.ndarray:
        """Add features one after another, by a criterion made of log losses; the costs of the subsets on the way."""
        costs = self._guide.path(features, self.n_selected + np.arange(1, features.size + 1))
        self.selected[features] = True
        self.n_selected += features.size
        self.cost = float(costs[-1]) if features.size else self.cost
        return costs

    def drop(self, feature: int, cost: float | None = None) -> None:
        """Drop ``feature``; ``cost`` is that of the new subset where it is known already."""
        self._move(feature, False, cost)

    def flip(self, feature: int, cost: float | None = None) -> None:
        """Add ``feature`` if absent, drop it otherwise."""
        self._move(feature, not self.selected[feature], cost)

    def _move(self, feature: int, adding: bool, cost: float | None) -> None:
        self._apply(int(feature), adding)
        self.selected[feature] = adding
        self.n_selected += 1 if adding else -1
        self.cost = self._guide.own(self.n_selected) if cost is None else cost

    def _apply(self, feature: int, adding: bool) -> None:
        self._guide.move(feature, adding)
        if self._validation is not None:
            self._validation.move(feature, adding)


def _reset(block: Any, priors: np.ndarray) -> None:
    block.reset(priors)


def _multiply(block: Any, tables: RatioTables, feature: int, adding: bool) -> None:
    block.multiply(tables, feature, adding)


def _prepare(block: Any) -> None:
    """What threads share is computed before they start."""
    prepare = getattr(block, "scan", None)
    if prepare is not None:
        prepare()

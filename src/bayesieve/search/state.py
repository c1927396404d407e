"""The current subset of a search: add a feature, drop a feature, or score any number of such moves in one pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesieve.counts import ContingencyCounts, Smoothing, log_probabilities
from bayesieve.criteria import ClassBlock, MAPCost, RatioTables, RowRatios
from bayesieve.engine import InMemory
from bayesieve.table import CodedTable


@dataclass(frozen=True)
class SubsetProblem:
    """What all states of a search share: the rows, the naive Bayes tables, the criterion and the features worth trying.

    ``candidates`` are the features with at least two levels; the criterion still counts all of them. ``total`` is the
    number of rows, or the sum of their weights.
    """

    blocks: tuple[ClassBlock, ...]
    tables: RatioTables
    class_prior: np.ndarray
    criterion: MAPCost
    candidates: np.ndarray
    n_features: int
    total: float

    @classmethod
    def of(cls, coded: CodedTable, smoothing: Smoothing = "m-estimate") -> SubsetProblem:
        counts = ContingencyCounts.of(coded)
        log_prob = [log_probabilities(counts.feature(k), counts.total, smoothing) for k in range(coded.n_features)]
        return cls(
            blocks=(ClassBlock.of(coded),),
            tables=RatioTables(log_prob),
            class_prior=counts.class_counts / counts.total,
            criterion=MAPCost(coded.n_features),
            candidates=np.flatnonzero(coded.n_levels > 1),
            n_features=coded.n_features,
            total=counts.total,
        )

    @property
    def n_rows(self) -> int:
        return sum(block.codes.shape[1] for block in self.blocks)

    @property
    def n_classes(self) -> int:
        return self.class_prior.size


class SearchState:
    """A subset of features with its cost; one pass over the rows scores a batch of moves, another applies one.

    Attributes
    ----------
    selected : (n_features,) bool, the current subset; n_selected : its size; cost : its criterion in nats.
    """

    def __init__(self, problem: SubsetProblem) -> None:
        self.problem = problem
        self._rows = InMemory(RowRatios(block, problem.class_prior) for block in problem.blocks)
        self.selected = np.zeros(problem.n_features, dtype=bool)
        self.n_selected = 0
        self.cost = self._own_cost()

    def reset(self) -> None:
        """Back to the empty subset."""
        self._rows.update(RowRatios.reset, self.problem.class_prior)
        self.selected[:] = False
        self.n_selected = 0
        self.cost = self._own_cost()

    def candidates(self, features: np.ndarray) -> np.ndarray:
        """Costs in nats of the subsets that differ from the current one by each of ``features`` (added if absent,
        else dropped).
        """
        adding = ~self.selected[features]
        problem = self.problem
        sums = self._rows.reduce(problem.criterion.sums, problem.tables, features, adding)
        return problem.criterion.values(sums, self.n_selected + np.where(adding, 1, -1))

    def add(self, feature: int, cost: float | None = None) -> None:
        """Add ``feature``; ``cost`` is that of the new subset where it is known already."""
        self._move(feature, True, cost)

    def drop(self, feature: int, cost: float | None = None) -> None:
        """Drop ``feature``; ``cost`` is that of the new subset where it is known already."""
        self._move(feature, False, cost)

    def flip(self, feature: int, cost: float | None = None) -> None:
        """Add ``feature`` if absent, drop it otherwise."""
        self._move(feature, not self.selected[feature], cost)

    def refresh(self) -> None:
        """Multiply the ratios anew from the class shares, so that rounding errors of many moves do not add up."""
        self._rows.update(RowRatios.reset, self.problem.class_prior)
        for feature in np.flatnonzero(self.selected):
            self._rows.update(RowRatios.multiply, self.problem.tables, int(feature), True)

    def _move(self, feature: int, adding: bool, cost: float | None) -> None:
        self._rows.update(RowRatios.multiply, self.problem.tables, int(feature), adding)
        self.selected[feature] = adding
        self.n_selected += 1 if adding else -1
        self.cost = self._own_cost() if cost is None else cost

    def _own_cost(self) -> float:
        loss = self._rows.reduce(RowRatios.log_loss)
        return float(loss + self.problem.criterion.prior(self.n_selected))

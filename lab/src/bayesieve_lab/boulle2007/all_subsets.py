"""Evaluation of all subsets of up to 25 features: costs, and performance on the training rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesieve.engine import map_in_threads
from bayesieve.search import SubsetProblem
from bayesieve.search.exhaustive import EverySubset, evaluate_every_subset, row_factors


@dataclass(frozen=True)
class RatedSubsets(EverySubset):
    """All subsets of the candidate features, with their performance on the training rows.

    Attributes
    ----------
    wrong : (2^k,) number of misclassified training rows of each subset of the k candidates.
    area_bounds : (2, 2^k) lower and upper bound of the AUC of each subset, except for rounding.
    """

    wrong: np.ndarray
    area_bounds: np.ndarray


def rate_every_subset(problem: SubsetProblem, *, n_jobs: int | None = None, n_cut: int = 8) -> RatedSubsets:
    """Evaluate all subsets of the candidate features: MAP cost, training accuracy and bounds on the training AUC.

    The walk through the subsets is divided into ``2^n_cut`` pieces for ``n_jobs`` threads; results do not depend on
    these numbers. For 3,500 rows of three classes, 2^19 subsets take 30 seconds on one core.
    """
    from bayesieve_lab.boulle2007._subset_kernels import rate

    subsets = evaluate_every_subset(problem, n_jobs=n_jobs)
    block, k = problem.objective.rows.block, problem.candidates.size
    n_cut, factors = min(k, n_cut), row_factors(problem, block)
    start = np.repeat(problem.objective.rows.prior_ratios.T, np.diff(block.offsets), axis=1)
    wrong, bounds = np.zeros(1 << k, dtype=np.int64), np.empty((2, 1 << k))

    def piece(number: int) -> None:
        """Evaluate the subsets that agree in the last ``n_cut`` candidate features.

        They contain those of these features whose bits are set in ``number``.
        """
        ratios = start.copy()
        for bit in range(n_cut - 1, -1, -1):
            if number >> bit & 1:
                ratios *= factors[k - n_cut + bit]
        first = number << (k - n_cut)
        rate(factors, ratios, first, k - n_cut, block.offsets, block.classes, wrong, bounds[0], bounds[1])

    map_in_threads(piece, range(1 << n_cut), n_jobs)
    return RatedSubsets(**vars(subsets), wrong=wrong, area_bounds=bounds)

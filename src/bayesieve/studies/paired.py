"""Paired differences of two methods on the same repetitions, with a test of significance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayesieve.statistics.signed_ranks import signed_rank_test


@dataclass(frozen=True)
class Paired:
    """Differences first - second over repetitions.

    Attributes
    ----------
    mean, standard_error : of the differences; the error of a single repetition is NaN.
    p_value : two-sided Wilcoxon signed-rank test, see `signed_rank_test`.
    lower, equal, higher : repetitions in which the first is lower than, equal to, higher than the second.
    """

    mean: float
    standard_error: float
    p_value: float
    lower: int
    equal: int
    higher: int

    @classmethod
    def of(cls, first: Sequence[float] | np.ndarray, second: Sequence[float] | np.ndarray) -> Paired:
        """Compare two methods, one number per repetition each.

        Examples
        --------
        >>> from bayesieve.studies.paired import Paired
        >>> pair = Paired.of([1, 2, 3, 5], [2, 2, 5, 6])
        >>> pair.mean, pair.p_value, pair.lower, pair.equal, pair.higher
        (-1.0, 0.25, 3, 1, 0)
        """
        # Errors are multiples of 1 / rows: smaller differences are rounding errors.
        differences = np.round(np.asarray(first, dtype=float) - np.asarray(second, dtype=float), 12)
        n = differences.size
        return cls(
            mean=float(differences.mean()),
            standard_error=float(differences.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan"),
            p_value=signed_rank_test(differences),
            lower=int((differences < 0).sum()),
            equal=int((differences == 0).sum()),
            higher=int((differences > 0).sum()),
        )

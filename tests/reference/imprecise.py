"""Maximum entropy of the imprecise Dirichlet model by numerical optimisation, and the gain of Abellan & Castellano
(2017) put together from it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize


def maximum_entropy(counts: Sequence[float], s: float) -> float:
    """max H(q) subject to n_j <= (N + s) q_j <= n_j + s and sum q = 1, by SLSQP from the middle of the intervals."""
    known = np.asarray(counts, dtype=float)
    total = known.sum() + s

    def minus_entropy(q: np.ndarray) -> float:
        positive = q[q > 0]
        return float(positive @ np.log(positive))

    found = minimize(
        minus_entropy,
        (known + s / known.size) / total,
        jac=lambda q: np.log(np.maximum(q, 1e-300)) + 1.0,
        bounds=[(n / total, (n + s) / total) for n in known],
        constraints={"type": "eq", "fun": lambda q: q.sum() - 1.0, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return -float(found.fun)


def information_gain(counts: Sequence[Sequence[float]], s: float) -> float:
    """S*(K(C)) - sum_x p(x) S*(K(C | X = x)), relative frequencies for p(x)."""
    table = np.asarray(counts, dtype=float)
    left = sum(row.sum() / table.sum() * maximum_entropy(row.tolist(), s) for row in table)
    return maximum_entropy(table.sum(axis=0).tolist(), s) - left

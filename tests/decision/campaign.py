"""A small campaign: who gives, and how much; amounts are known of donors only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LETTER = 0.68
LETTERS = [[0.0, 0.0], [-LETTER, -LETTER]]
"""Benefits without the gift, which comes on top where a donor is written to."""


@dataclass(frozen=True)
class Campaign:
    X: np.ndarray
    y: np.ndarray
    gifts: np.ndarray

    @property
    def mail_all(self) -> float:
        return float(np.nansum(self.gifts) - LETTER * self.y.size)


def campaign(n_rows: int = 3000, seed: int = 0, share: float = 0.05) -> Campaign:
    """Larger gifts come from those who give less often."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    logit = np.log(share / (1 - share)) + 1.2 * X[:, 0] - 0.6 * X[:, 1]
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-logit))).astype(int)
    gifts = np.where(y == 1, np.exp(2.3 + 0.7 * X[:, 1] + 0.3 * rng.normal(size=n_rows)), np.nan)
    return Campaign(X, y, gifts)

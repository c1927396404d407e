"""`Families`: many thresholds on few scores, stored as one ordered code per score."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from bayesieve.table.indicator_levels import MISSING_LEVEL


@dataclass(frozen=True, eq=False)
class Families:
    """How indicators "score <= threshold" are read from the ordered codes of their scores.

    All indicators of one score are a *family*. A row says one number about the whole family, how many of its thresholds
    are below the score (``n_thresholds + 1`` where the score is missing), and only that is stored: 74 scores with 11
    thresholds each take 74 codes a row, not 814.

    Parameters
    ----------
    n_thresholds : int64 array, shape (n_families,)
        Thresholds that the codes of each family count, also those of no feature of the table.
    family_of : int64 array, shape (n_features,)
        The family of each indicator.
    threshold_of : int64 array, shape (n_features,)
        Which of its family's thresholds, in ascending order from 0, each indicator compares with.
    """

    n_thresholds: np.ndarray
    family_of: np.ndarray
    threshold_of: np.ndarray

    def __post_init__(self) -> None:
        for part in fields(self):
            object.__setattr__(self, part.name, np.asarray(getattr(self, part.name), dtype=np.int64))

    @property
    def n_families(self) -> int:
        """Number of scores."""
        return len(self.n_thresholds)

    @property
    def missing_codes(self) -> np.ndarray:
        """The ordered code of a missing score, of every family."""
        return self.n_thresholds + 1

    def check(self, n_stored: int, n_levels: np.ndarray) -> None:
        """Raise ValueError if the parts contradict each other, or a table with these runs of codes and levels."""
        if len(self.threshold_of) != len(self.family_of):
            raise ValueError(
                f"family_of has {len(self.family_of)} features but threshold_of has {len(self.threshold_of)} entries."
            )
        if n_stored != self.n_families:
            raise ValueError(f"codes has {n_stored} families but n_thresholds has {self.n_families} entries.")
        if self.family_of.size and not (self.family_of.min() >= 0 and self.family_of.max() < self.n_families):
            raise ValueError(f"family_of must hold families, from 0 to {self.n_families - 1}.")
        if np.any(self.threshold_of < 0) or np.any(self.threshold_of >= self.n_thresholds[self.family_of]):
            raise ValueError("threshold_of must hold thresholds of the indicator's family, counted from 0.")
        if np.any((n_levels != MISSING_LEVEL) & (n_levels != MISSING_LEVEL + 1)):
            raise ValueError("n_levels of an indicator is 2, or 3 where missing scores are a level.")

    def codes_of(self, stored: np.ndarray, features: Any) -> np.ndarray:
        """Codes of indicators, shape (n, n_rows): 0 where the score is at most the threshold, 1 above, 2 missing."""
        picked = np.arange(len(self.family_of))[features]
        codes = np.empty((picked.size, stored.shape[1]), dtype=np.uint8)
        missing: dict[int, np.ndarray | None] = {}
        for at, k in enumerate(picked.tolist()):
            family = int(self.family_of[k])
            ordered = stored[family]
            if family not in missing:
                mask = ordered > self.n_thresholds[family]
                missing[family] = mask if mask.any() else None
            np.greater(ordered, self.threshold_of[k], out=codes[at].view(bool))
            above = missing[family]
            if above is not None:
                codes[at] += above  # a missing score is above every threshold already: 1 + 1
        return codes

    def select(self, features: np.ndarray) -> tuple[np.ndarray, Families]:
        """The families that these indicators are of (positions), and how the indicators are read from them."""
        families, family_of = np.unique(self.family_of[features], return_inverse=True)
        return families, Families(self.n_thresholds[families], family_of, self.threshold_of[features])

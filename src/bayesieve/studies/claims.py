"""Tests of a paper's claims about its methods, over repetitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from bayesieve.statistics.signed_ranks import holm
from bayesieve.studies.paired import Paired

LEVEL = 0.05
Verdict = Literal["holds", "open", "reversed"]


@dataclass(frozen=True)
class Claim:
    """A claim about methods: in each pair, the first has the lower value of ``what``."""

    sentence: str
    pairs: tuple[tuple[str, str], ...]
    what: str = "test"


@dataclass(frozen=True)
class ClaimedPair:
    """One pair of a claim on the repetitions.

    ``p_value`` is adjusted for the number of pairs of the claim. If it is below 0.05, the verdict is "holds" or
    "reversed", depending on which method is lower; otherwise it is "open".
    """

    claim: Claim
    first: str
    second: str
    paired: Paired
    p_value: float

    @property
    def verdict(self) -> Verdict:
        if self.p_value >= LEVEL or self.paired.mean == 0:
            return "open"
        return "holds" if self.paired.mean < 0 else "reversed"


def compare(claim: Claim, values: Mapping[str, Sequence[float] | np.ndarray]) -> list[ClaimedPair]:
    """Compare the methods of every pair of a claim.

    Parameters
    ----------
    claim : the claim.
    values : values of the claim's ``what`` by method, one for each repetition.
    """
    pairs = [Paired.of(values[first], values[second]) for first, second in claim.pairs]
    adjusted = holm([pair.p_value for pair in pairs])
    return [
        ClaimedPair(claim, first, second, pair, p_value)
        for (first, second), pair, p_value in zip(claim.pairs, pairs, adjusted, strict=True)
    ]


def in_words(comparisons: Sequence[ClaimedPair]) -> str:
    """A claim and the verdicts on its pairs, as a sentence."""
    verdicts = [comparison.verdict for comparison in comparisons]
    sentence = comparisons[0].claim.sentence
    if len(verdicts) == 1:
        return f"{sentence}: {verdicts[0]}."
    parts = [f"{verdict} in {verdicts.count(verdict)}" for verdict in get_args(Verdict) if verdict in verdicts]
    return f"{sentence}: {', '.join(parts)} of {len(verdicts)} comparisons."

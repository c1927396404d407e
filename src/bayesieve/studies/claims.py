"""What a paper claims of its methods, put to the test on repetitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bayesieve.statistics.signed_ranks import holm
from bayesieve.studies.paired import Paired

LEVEL = 0.05
Verdict = Literal["holds", "open", "opposite"]


@dataclass(frozen=True)
class Claim:
    """A sentence about methods: in each pair the first has the lower value of ``what``."""

    sentence: str
    pairs: tuple[tuple[str, str], ...]
    what: str = "test"


@dataclass(frozen=True)
class ClaimedPair:
    """One pair of a claim on the repetitions.

    ``p_value`` is adjusted for the number of pairs of the claim; the verdict is "holds" where the first is lower and
    that p-value below 0.05, "opposite" where the second is, else "open": the repetitions do not tell them apart.
    """

    claim: Claim
    first: str
    second: str
    found: Paired
    p_value: float

    @property
    def verdict(self) -> Verdict:
        if self.p_value >= LEVEL or self.found.mean == 0:
            return "open"
        return "holds" if self.found.mean < 0 else "opposite"


def compare(claim: Claim, values: Mapping[str, Sequence[float] | np.ndarray]) -> list[ClaimedPair]:
    """Compare the methods of every pair of a claim.

    Parameters
    ----------
    claim : the claim.
    values : of the claim's ``what``, by method, one for each repetition.
    """
    found = [Paired.of(values[first], values[second]) for first, second in claim.pairs]
    adjusted = holm([pair.p_value for pair in found])
    return [
        ClaimedPair(claim, first, second, pair, p_value)
        for (first, second), pair, p_value in zip(claim.pairs, found, adjusted, strict=True)
    ]


def in_words(comparisons: Sequence[ClaimedPair]) -> str:
    """A claim with what became of its pairs, as a sentence."""
    verdicts = [comparison.verdict for comparison in comparisons]
    n = len(verdicts)
    texts = {"holds": "holds", "open": "cannot be told", "opposite": "is the other way round"}
    counts = {text: verdicts.count(verdict) for verdict, text in texts.items()}  # type: ignore[arg-type]
    if n == 1:
        return f"{comparisons[0].claim.sentence}: {texts[verdicts[0]]}."
    said = [f"{text} in {count} of {n} comparisons" for text, count in counts.items() if count]
    return f"{comparisons[0].claim.sentence}: {', '.join(said).replace(f' of {n} comparisons,', ',')}."

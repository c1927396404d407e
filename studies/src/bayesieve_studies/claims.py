"""Tests of a paper's claims about its methods, over repetitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from bayesieve.statistics import holm, signed_rank_test

LEVEL = 0.05
Verdict = Literal["holds", "open", "reversed"]


@dataclass(frozen=True)
class Claim:
    """A claim about methods: in each pair, the first has the lower value of ``what``.

    ``where`` is the claim's place in the paper.
    """

    sentence: str
    pairs: tuple[tuple[str, str], ...]
    what: str = "test"
    where: str = ""


@dataclass(frozen=True)
class Judged:
    """A claim of a paper, with the verdicts on all comparisons that test it, and numbers in words."""

    where: str
    sentence: str
    verdicts: tuple[str, ...]
    ours: str = ""

    @property
    def verdict(self) -> str:
        """ "holds" if every comparison does, "does not hold" if any speaks against it, else "cannot be told"."""
        if all(verdict == "holds" for verdict in self.verdicts):
            return "holds"
        return "does not hold" if {"reversed", "does not hold"} & {*self.verdicts} else "cannot be told"

    @property
    def comparisons(self) -> str:
        """How many comparisons speak for the claim."""
        return f"{self.verdicts.count('holds')} of {len(self.verdicts)}"


def judged(comparisons: Sequence[ClaimedPair]) -> Judged:
    """A claim with the verdicts on its pairs."""
    claim = comparisons[0].claim
    return Judged(claim.where, claim.sentence, tuple(comparison.verdict for comparison in comparisons))


@dataclass(frozen=True)
class ClaimedPair:
    """One pair of a claim, compared by the differences first - second over the repetitions.

    Attributes
    ----------
    claim, first, second : the claim, and the methods of the pair.
    mean, standard_error : of the differences; the error of a single repetition is NaN.
    lower, equal, higher : repetitions in which the first is lower than, equal to, higher than the second.
    p_value : two-sided Wilcoxon signed-rank test, adjusted for the number of pairs of the claim.
    """

    claim: Claim
    first: str
    second: str
    mean: float
    standard_error: float
    lower: int
    equal: int
    higher: int
    p_value: float

    @property
    def verdict(self) -> Verdict:
        """If p < 0.05, "holds" or "reversed", depending on which method is lower; otherwise "open"."""
        if self.p_value >= LEVEL or self.mean == 0:
            return "open"
        return "holds" if self.mean < 0 else "reversed"


def compare(claim: Claim, values: Mapping[str, Sequence[float] | np.ndarray]) -> list[ClaimedPair]:
    """Compare the methods of every pair of a claim.

    Parameters
    ----------
    claim : the claim.
    values : values of the claim's ``what`` by method, one for each repetition.

    Examples
    --------
    >>> from bayesieve_studies.claims import Claim, compare
    >>> (pair,) = compare(Claim("A errs less", (("A", "B"),)), {"A": [1, 2, 3, 5], "B": [2, 2, 5, 6]})
    >>> pair.mean, pair.p_value, pair.lower, pair.equal, pair.higher, pair.verdict
    (-1.0, 0.25, 3, 1, 0, 'open')
    """
    # Errors are multiples of 1 / rows: smaller differences are rounding errors.
    differences = [np.round(np.subtract(values[one], values[other], dtype=float), 12) for one, other in claim.pairs]
    adjusted = holm([signed_rank_test(of_pair) for of_pair in differences])
    return [
        ClaimedPair(
            claim,
            first,
            second,
            mean=float(d.mean()),
            standard_error=float(d.std(ddof=1) / np.sqrt(d.size)) if d.size > 1 else float("nan"),
            lower=int((d < 0).sum()),
            equal=int((d == 0).sum()),
            higher=int((d > 0).sum()),
            p_value=p_value,
        )
        for (first, second), d, p_value in zip(claim.pairs, differences, adjusted, strict=True)
    ]


def in_words(comparisons: Sequence[ClaimedPair]) -> str:
    """A claim and the verdicts on its pairs, as a sentence."""
    verdicts = [comparison.verdict for comparison in comparisons]
    sentence = comparisons[0].claim.sentence
    if len(verdicts) == 1:
        return f"{sentence}: {verdicts[0]}."
    parts = [f"{verdict} in {verdicts.count(verdict)}" for verdict in get_args(Verdict) if verdict in verdicts]
    return f"{sentence}: {', '.join(parts)} of {len(verdicts)} comparisons."

"""The rule by which all studies judge the claims of their papers.

A comparison of two methods is a sample of `Differences`, tested over what the experiment repeats: draws, splits or data
sets by the exact signed-rank test, the folds of a data set by the corrected resampled t-test. A claim of *difference*
holds if the test finds it (p < 0.05, after Holm's adjustment for the comparisons of a claim), and is reversed if it
finds the opposite. A claim of *equality* names a margin: it holds if one-sided tests at 5 % find the difference within
the margin, and is reversed if they find one in a direction that the claim excludes and its mean is beyond the margin.
All else is open. Numbers have a margin as well, and counted events a sign test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy.stats import binomtest

from bayesieve_lab.comparison.differences import DIGITS, corrected_resampled_t, holm, signed_rank_test
from bayesieve_lab.tables import TextTable, number_text, p_range, p_text

LEVEL = 0.05
MARGIN = 0.01
"""Of shares: a point of accuracy is practically nothing (Benavoli, Corani, Demsar & Zaffalon 2017)."""
Verdict = Literal["holds", "open", "reversed"]
_FEW = 4  # comparisons that are told one by one


@dataclass(frozen=True)
class Claim:
    """A claim about methods: in each pair, the first has the lower value of ``what``, or, with a margin, the same.

    ``where`` is the claim's place in the paper, ``sides`` those of `alike`.
    """

    sentence: str
    pairs: tuple[tuple[str, str], ...]
    what: str = "test"
    where: str = ""
    margin: float | None = None
    sides: tuple[int, ...] = (-1, 1)


@dataclass(frozen=True)
class Differences:
    """First less second method.

    Attributes
    ----------
    values : of every repetition.
    over : what the repetitions are.
    share : of folds, test rows for each training row.
    fixed : whether nothing is random in the experiment: a single value is certain.
    """

    values: np.ndarray
    over: str = "repetitions"
    share: float | None = None
    fixed: bool = False

    @classmethod
    def of(cls, first: Sequence[float] | np.ndarray, second: Sequence[float] | np.ndarray, **options: Any) -> Self:
        """Of the pairs that are known."""
        values = np.subtract(first, second, dtype=float)
        return cls(values[~np.isnan(values)], **options)

    @property
    def mean(self) -> float:
        return float(self.values.mean()) if self.values.size else float("nan")

    @property
    def repetitions(self) -> str:
        return f"{self.values.size} {self.over}"

    def p_value(self, bound: float = 0.0) -> float:
        """Two-sided, of a mean other than ``bound``; 1 without a test."""
        away = np.round(self.values - bound, DIGITS)  # smaller differences of shares are rounding errors
        if self.fixed:
            return 1.0 if self.mean == bound else 0.0
        if self.share is None:
            return signed_rank_test(away)
        return float(np.nan_to_num(corrected_resampled_t(away, np.zeros(away.size), self.share).p_value, nan=1.0))

    def beyond(self, bound: float, side: int) -> float:
        """The one-sided p-value of a mean above (``side`` 1) or below (-1) ``bound``."""
        p_value = self.p_value(bound)
        return p_value / 2 if side * (self.mean - bound) > 0 else 1.0 - p_value / 2

    def least(self) -> float:
        """The least two-sided p-value that this number of values can have."""
        return 2.0 ** (1 - self.values.size) if self.share is None and not self.fixed else 0.0


@dataclass(frozen=True)
class Check:
    """A comparison that tests a claim.

    Attributes
    ----------
    what : the methods or the quantity.
    verdict : of the comparison.
    ours, paper : numbers in the format ``form``, see `number_text`, or texts.
    p_value, margin, over : the test, the margin that equality allows, and what is repeated; None or empty if there is
        none.
    """

    what: str
    verdict: Verdict
    ours: float | str
    paper: float | str = ""
    p_value: float | None = None
    margin: str = ""
    over: str = ""
    form: str = "+.3f"

    def text(self, name: str) -> str:
        """A field as text."""
        value = getattr(self, name)
        return value if isinstance(value, str) else number_text(value, self.form)


@dataclass(frozen=True)
class Judged:
    """A claim of a paper with all comparisons that test it; ``why`` explains why it does not hold."""

    where: str
    sentence: str
    checks: tuple[Check, ...]
    why: str = ""

    @property
    def verdict(self) -> str:
        """ "holds" if every comparison does, "does not hold" if any speaks against it, else "cannot be told"."""
        verdicts = {check.verdict for check in self.checks}
        return "holds" if verdicts == {"holds"} else "does not hold" if "reversed" in verdicts else "cannot be told"

    @property
    def verdict_in_words(self) -> str:
        """The verdict, and how many of several comparisons hold."""
        held = sum(check.verdict == "holds" for check in self.checks)
        return self.verdict if len(self.checks) == 1 else f"{self.verdict} ({held} of {len(self.checks)})"

    def summary(self, name: str) -> str:
        """A field of all comparisons, or the range of the numbers of many."""
        known = [check for check in self.checks if getattr(check, name) != ""]
        texts = list(dict.fromkeys(check.text(name) for check in known))
        values = [getattr(check, name) for check in known]
        if name == "over" and len(texts) > 1 and len(known) <= _FEW:
            return "; ".join(f"{check.what}: {check.over}" for check in known)
        if name in ("margin", "over"):
            shown = texts if len(texts) <= _FEW else [text.partition(",")[0] for text in texts]
            return "; ".join(dict.fromkeys(shown))
        if len(texts) < 2:
            return "; ".join(texts)
        one_form = len({check.form for check in known}) == 1
        if len(known) > _FEW and one_form and not any(isinstance(value, str) for value in values):
            return f"{number_text(min(values), known[0].form)} to {number_text(max(values), known[0].form)}"
        return "; ".join(f"{check.what} {check.text(name)}" for check in known)

    @property
    def tested(self) -> str:
        """Margins and p-values of all comparisons."""
        p = p_range(check.p_value for check in self.checks if check.p_value is not None)
        return ", ".join(part for part in (self.summary("margin"), p) if part)


def differ(
    samples: Mapping[str, Differences], sign: int = -1, paper: Mapping[str, float] | str = "", form: str = "+.3f"
) -> tuple[Check, ...]:
    """Checks of a claim that the means of all samples are negative, or positive with ``sign`` 1.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve_lab.claims import Differences, differ
    >>> (check,) = differ({"A - B": Differences(np.array([-1.0, 0, -2, -1]))})
    >>> check.ours, check.p_value, check.verdict
    (-1.0, 0.25, 'open')
    """
    adjusted = holm([sample.p_value() for sample in samples.values()])
    checks = []
    for (what, sample), p_value in zip(samples.items(), adjusted, strict=True):
        found = p_value < LEVEL and sample.mean != 0
        verdict: Verdict = "open" if not found else "holds" if sign * sample.mean > 0 else "reversed"
        least = min(1.0, len(samples) * sample.least())
        no_test = f"no p below {p_text(least)} is possible" if least >= LEVEL else ""
        checks.append(Check(what, verdict, sample.mean, _told(paper, what), p_value, no_test, sample.repetitions, form))
    return tuple(checks)


def alike(
    samples: Mapping[str, Differences],
    margin: float = MARGIN,
    sides: Sequence[int] = (-1, 1),
    *,
    strict: bool = False,
    paper: Mapping[str, float] | str = "",
    form: str = "+.3f",
) -> tuple[Check, ...]:
    """Checks of a claim that the means of all samples are within a margin.

    Parameters
    ----------
    sides : -1 and 1, or only the side on which they must not be: -1 for "not below".
    strict : whether any significant difference on these sides speaks against the claim, however small.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve_lab.claims import Differences, alike
    >>> lower = Differences(np.array([-0.03, -0.05, -0.02, -0.04, -0.06, -0.03]))
    >>> [alike({"A - B": lower}, margin)[0].verdict for margin in (0.1, 0.04, 0.02)]
    ['holds', 'open', 'reversed']
    """
    checks = []
    for what, sample in samples.items():
        inside = max(sample.beyond(side * margin, -side) for side in sides)
        outside = min(sample.beyond(0.0, side) for side in sides)
        beyond = max(side * sample.mean for side in sides) > (0.0 if strict else margin)
        refuted = outside < LEVEL and beyond
        verdict: Verdict = "reversed" if refuted else "holds" if inside < LEVEL else "open"
        words, p_value = f"margin {number_text(margin, form.lstrip('+'))}", outside if refuted else inside
        checks.append(Check(what, verdict, sample.mean, _told(paper, what), p_value, words, sample.repetitions, form))
    return tuple(checks)


def _told(paper: Mapping[str, float] | str, what: str) -> float | str:
    """The paper's number or word for a comparison."""
    return paper if isinstance(paper, str) else paper.get(what, "")


def often(what: str, held: Sequence[bool], paper: str = "", over: str = "repetitions") -> Check:
    """A statement that is true or not in every repetition: whether in more than half of them, by the sign test."""
    count, n = sum(held), len(held)
    p_value = float(binomtest(count, n).pvalue) if n else 1.0
    verdict: Verdict = "open" if p_value >= LEVEL else "holds" if 2 * count > n else "reversed"
    return Check(what, verdict, f"{count} of {n}", paper, p_value, over=f"{n} {over}")


def near(what: str, paper: float, ours: float, margin: float, over: str = "", form: str = ".3f") -> Check:
    """A number that is the paper's within a margin."""
    words = f"margin {number_text(margin, form)}"
    return fact(what, abs(ours - paper) <= margin, ours, paper, words, over, form)


def fact(
    what: str,
    holds: bool,
    ours: float | str,
    paper: float | str = "",
    margin: str = "",
    over: str = "",
    form: str = ".3f",
) -> Check:
    """A statement about numbers in which nothing is left to chance, or a bound that the number keeps or not."""
    return Check(what, "holds" if holds else "reversed", ours, paper, None, margin, over, form)


def compare(
    claim: Claim,
    values: Mapping[str, Sequence[float] | np.ndarray],
    paper: Mapping[str, float] | None = None,
    form: str = "+.4f",
    **options: Any,
) -> Judged:
    """A claim about pairs of methods, from the values of every method by repetition and the paper's."""
    published = paper or {}
    samples = {f"{a} - {b}": Differences.of(values[a], values[b], **options) for a, b in claim.pairs}
    theirs = {f"{a} - {b}": published[a] - published[b] for a, b in claim.pairs if a in published and b in published}
    if claim.margin is None:
        return Judged(claim.where, claim.sentence, differ(samples, paper=theirs, form=form))
    return Judged(claim.where, claim.sentence, alike(samples, claim.margin, claim.sides, paper=theirs, form=form))


def in_words(claim: Judged) -> str:
    """A claim and its verdict as a sentence."""
    return f"{claim.sentence}: {claim.verdict_in_words}."


def claims_table(claims: Sequence[Judged]) -> TextTable:
    """Every comparison of every claim."""
    rows = []
    for claim in claims:
        for k, check in enumerate(claim.checks):
            one = Judged("", "", (check,))
            first = (claim.where, claim.sentence) if k == 0 else ("", "")
            verdict = "**does not hold**" if check.verdict == "reversed" else one.verdict
            rows.append((*first, check.what, check.text("paper"), check.text("ours"), one.tested, check.over, verdict))
    titles = ("Place", "Claim", "Comparison", ">Paper", ">Ours", ">Margin, p", ">Repetitions", "Verdict")
    return TextTable.of(titles, rows)


def reasons(claims: Sequence[Judged]) -> str:
    """Why claims do not hold, in Markdown."""
    told = (one for one in claims if one.why and one.verdict != "holds")
    return "\n\n".join(f"**{one.where}: {one.sentence}.** {one.why}" for one in told)


@dataclass(frozen=True)
class Closeness:
    """How close our numbers come to those of a table or figure of the paper."""

    where: str
    text: str


def closeness(
    where: str, numbers: Sequence[tuple[str, float, float]], margin: float = MARGIN, form: str = ".3f", unit: str = ""
) -> Closeness:
    """The distances of (what, paper's number, our number)."""
    off = sorted(((abs(ours - paper), what) for what, paper, ours in numbers if ours == ours), reverse=True)
    within, mean = sum(distance <= margin for distance, _ in off), float(np.mean([distance for distance, _ in off]))
    far, what = off[0]
    margin_text, mean_text, far_text = (number_text(value, form) for value in (margin, mean, far))
    lead = f"{unit}: " if unit else ""
    counted = f"{lead}{within} of {len(off)} numbers within {margin_text}"
    return Closeness(where, f"{counted}; {mean_text} on average, at most {far_text} ({what})")

"""Rule by which all studies judge the claims of their papers.

A comparison of two methods is a sample of `Differences`, tested over the repetitions of the experiment: draws, splits
or data sets by the exact signed-rank test, the folds of a data set by the corrected resampled t-test.

- *Difference*, see `differ`: confirmed if the test finds it at 5 %, without adjustment, because a claim holds only if
  all of its comparisons do. Refuted if the opposite is significant after Holm's adjustment, if the difference lies
  within a margin of zero, or if it is significantly nearer to zero than the paper's.
- *Equality*, see `alike`: one-sided tests at 5 % show that the difference lies within a margin.
- *Numbers*, see `predicted` and `near`: the paper's number lies in the 95 % prediction interval of our repetitions, or
  within a margin.

Every comparison also states the outcome of the rule for the numbers that the paper prints, if that can be computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy.stats import binomtest, t as student

from bayesieve_lab.comparison.differences import DIGITS, corrected_resampled_t, holm, signed_rank_test
from bayesieve_lab.tables import TextTable, number_text, p_range, p_text

LEVEL = 0.05
MARGIN = 0.01
"""Margin of equality of shares: differences below one percentage point are practically zero (Benavoli, Corani, Demsar &
Zaffalon 2017).
"""
NEGLIGIBLE = 0.005
"""Half a percentage point; a claimed difference of shares is refuted if it is within this margin of zero."""
Verdict = Literal["holds", "open", "refuted"]
WORDS: Mapping[str, str] = {"holds": "holds", "refuted": "does not hold", "open": "cannot be told"}
UNLIKE = "not like for like"
NO_NUMBER, NO_SPREAD, ONE_RUN = "no number", "no spread printed", "one run"
"""Reasons why the rule cannot be applied to the numbers of a paper."""
_FEW = 4  # comparisons that are shown one by one


@dataclass(frozen=True)
class Claim:
    """Claim about pairs of methods: the first has the lower value or, if there is a margin, an equal value.

    Attributes
    ----------
    sentence, where : the claim in words, and its place in the paper.
    pairs : names of two methods each.
    what : name of the measure.
    margin : margin of equality; None for a difference.
    sides : see `alike`.
    negligible : the ``margin`` of `differ`.
    """

    sentence: str
    pairs: tuple[tuple[str, str], ...]
    what: str = "test"
    where: str = ""
    margin: float | None = None
    sides: tuple[int, ...] = (-1, 1)
    negligible: float | None = NEGLIGIBLE


@dataclass(frozen=True)
class Differences:
    """Values of one method minus those of another one, by repetition.

    Attributes
    ----------
    values : (n_repetitions,) differences.
    over : name of the repetitions, such as "folds".
    share : for folds, test rows per training row.
    fixed : whether nothing is random in the experiment, so that a single value is certain.
    """

    values: np.ndarray
    over: str = "repetitions"
    share: float | None = None
    fixed: bool = False

    @classmethod
    def of(cls, first: Sequence[float] | np.ndarray, second: Sequence[float] | np.ndarray, **options: Any) -> Self:
        """Return first minus second value of each pair, without pairs that have a missing value.

        ``first`` and ``second`` have shape (n_repetitions,); ``options`` are further fields, such as ``over``.
        """
        values = np.subtract(first, second, dtype=float)
        return cls(values[~np.isnan(values)], **options)

    @property
    def mean(self) -> float:
        """Mean difference; NaN without values."""
        return float(self.values.mean()) if self.values.size else float("nan")

    @property
    def repetitions(self) -> str:
        """Number and name of the repetitions, such as "10 folds"."""
        return f"{self.values.size} {self.over}"

    def p_value(self, bound: float = 0.0) -> float:
        """Return the two-sided p-value of the hypothesis that the mean is ``bound``; 1 if it cannot be tested."""
        away = np.round(self.values - bound, DIGITS)  # smaller differences of shares are rounding errors
        if self.fixed:
            return 1.0 if self.mean == bound else 0.0
        if self.share is None:
            return signed_rank_test(away)
        return float(np.nan_to_num(corrected_resampled_t(away, np.zeros(away.size), self.share).p_value, nan=1.0))

    def beyond(self, bound: float, side: int) -> float:
        """Return the one-sided p-value of the alternative that the mean is above ``bound``, or below it if ``side`` is
        -1.
        """
        p_value = self.p_value(bound)
        return p_value / 2 if side * (self.mean - bound) > 0 else 1.0 - p_value / 2

    def least(self) -> float:
        """Return the least two-sided p-value that is possible with this number of values."""
        return 2.0 ** (1 - self.values.size) if self.share is None and not self.fixed else 0.0


@dataclass(frozen=True)
class Check:
    """A comparison that tests a claim.

    Attributes
    ----------
    what : name of the methods or of the quantity.
    verdict : verdict of the comparison.
    ours, paper : numbers in the format ``form``, see `number_text`, or texts.
    p_value, margin, over : the test, the margin that equality allows, and the kind of repetitions; None or empty if
        there is none.
    printed : verdict of the rule for the paper's printed numbers, or the reason why there is none.
    """

    what: str
    verdict: Verdict
    ours: float | str
    paper: float | str = ""
    p_value: float | None = None
    margin: str = ""
    over: str = ""
    form: str = "+.3f"
    printed: str = NO_NUMBER

    def text(self, name: str) -> str:
        """Return the field ``name`` as text; numbers have the format ``form``."""
        value = getattr(self, name)
        return value if isinstance(value, str) else number_text(value, self.form)


def _verdict(outcomes: set[str]) -> str:
    """Return the verdict on a claim in words, from the verdicts on its comparisons."""
    return WORDS["holds" if outcomes == {"holds"} else "refuted" if "refuted" in outcomes else "open"]


@dataclass(frozen=True)
class Judged:
    """A claim of a paper with all comparisons that test it.

    Attributes
    ----------
    where, sentence : place in the paper, and the claim.
    checks : the comparisons.
    why : reason why the claim does not hold.
    unlike : reason why the comparison is not like for like, if it is not: other data, another implementation, unknown
        settings.
    """

    where: str
    sentence: str
    checks: tuple[Check, ...]
    why: str = ""
    unlike: str = ""

    @property
    def verdict(self) -> str:
        """Verdict in words: "holds" if every comparison does, "does not hold" if any is refuted, otherwise "cannot be
        told".

        It is "not like for like" if ``unlike`` gives a reason.
        """
        return UNLIKE if self.unlike else _verdict({check.verdict for check in self.checks})

    @property
    def verdict_in_words(self) -> str:
        """The verdict, and how many of several comparisons hold."""
        held = sum(check.verdict == "holds" for check in self.checks)
        few = len(self.checks) == 1 or self.unlike
        return self.verdict if few else f"{self.verdict} ({held} of {len(self.checks)})"

    @property
    def printed(self) -> str:
        """The verdict of the rule for the paper's printed numbers, or why there is none."""
        outcomes = dict.fromkeys(check.printed for check in self.checks)
        reasons = [outcome for outcome in outcomes if outcome not in WORDS]
        return reasons[0] if reasons else _verdict({*outcomes})

    def summary(self, name: str) -> str:
        """Return a field of all comparisons as text; if there are many, the range of the numbers."""
        checks = [check for check in self.checks if getattr(check, name) != ""]
        texts = list(dict.fromkeys(check.text(name) for check in checks))
        values = [getattr(check, name) for check in checks]
        if name == "over" and len(texts) > 1 and len(checks) <= _FEW:
            return "; ".join(f"{check.what}: {check.over}" for check in checks)
        if name in ("margin", "over"):
            shown = texts if len(texts) <= _FEW else [text.partition(",")[0] for text in texts]
            return "; ".join(dict.fromkeys(shown))
        if len(texts) < 2:
            return "; ".join(texts)
        one_form = len({check.form for check in checks}) == 1
        if len(checks) > _FEW and one_form and not any(isinstance(value, str) for value in values):
            return f"{number_text(min(values), checks[0].form)} to {number_text(max(values), checks[0].form)}"
        return "; ".join(f"{check.what} {check.text(name)}" for check in checks)

    @property
    def tested(self) -> str:
        """Margins and p-values of all comparisons."""
        p = p_range(check.p_value for check in self.checks if check.p_value is not None)
        return ", ".join(part for part in (self.summary("margin"), p) if part)


def differ(
    samples: Mapping[str, Differences],
    sign: int = -1,
    paper: Mapping[str, float | str] | str = "",
    form: str = "+.3f",
    margin: float | None = NEGLIGIBLE,
    printed: Mapping[str, str] | str = "",
) -> tuple[Check, ...]:
    """Return checks of a claim that the means of all samples are negative, or positive with ``sign`` 1.

    Parameters
    ----------
    samples : differences by name.
    sign : the claimed sign.
    paper : the paper's differences by name. Numbers are used by the rule, texts are only shown.
    form : format of the numbers.
    margin : a claim is refuted if the difference is within this margin, which is reduced to half of the paper's
        difference if that is less. None if no difference is negligible.
    printed : verdict on the paper's numbers, or the reason why there is none; by default, that no spread is printed.

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
    for (what, sample), p_adjusted in zip(samples.items(), adjusted, strict=True):
        theirs = _by_name(paper, what)
        verdict, p_value, words = _outcome(sample, sign, theirs, margin, p_adjusted, form)
        printed_as = _by_name(printed, what) or (NO_NUMBER if isinstance(theirs, str) else NO_SPREAD)
        checks.append(
            Check(what, verdict, sample.mean, theirs, p_value, words, sample.repetitions, form, printed=str(printed_as))
        )
    return tuple(checks)


def _outcome(
    sample: Differences, sign: int, paper: float | str, margin: float | None, p_adjusted: float, form: str
) -> tuple[Verdict, float, str]:
    """Return the verdict on a claimed difference, the p-value that decides it, and the reason if it is refuted.

    Parameters
    ----------
    sample : our differences.
    sign : claimed sign.
    paper : the paper's difference, or a text.
    margin, form : see `differ`.
    p_adjusted : p-value of the sample after Holm's adjustment.
    """
    p_value = sample.p_value()
    if p_value < LEVEL and sign * sample.mean > 0:
        return "holds", p_value, ""
    if p_adjusted < LEVEL and sign * sample.mean < 0:
        return "refuted", p_adjusted, "reversed"
    claimed = sign * paper if isinstance(paper, int | float) else 0.0
    if margin is not None:
        bound = min(margin, claimed / 2) if claimed > 0 else margin
        outside = max(sample.beyond(side * bound, -side) for side in (-1, 1))
        if outside < LEVEL:
            return "refuted", outside, f"within {number_text(bound, form.lstrip('+'))} of zero"
    if claimed > 0 and sign * sample.mean < claimed and sample.p_value(sign * claimed) < LEVEL:
        return "refuted", sample.p_value(sign * claimed), "less than the paper's"
    least = sample.least()
    return "open", p_value, f"no p below {p_text(least)} is possible" if least >= LEVEL else ""


def alike(
    samples: Mapping[str, Differences],
    margin: float | Mapping[str, float] = MARGIN,
    sides: Sequence[int] = (-1, 1),
    *,
    strict: bool = False,
    paper: Mapping[str, float | str] | str = "",
    form: str = "+.3f",
) -> tuple[Check, ...]:
    """Return checks of a claim that the means of all samples are within a margin of zero.

    Parameters
    ----------
    samples : differences by name.
    margin : one margin for all samples, or one for each by name.
    sides : sides of the margin that are tested: -1 and 1, or only one; -1 tests that means are not below it.
    strict : whether any significant difference on these sides refutes the claim, however small.
    paper, form : as in `differ`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve_lab.claims import Differences, alike
    >>> lower = Differences(np.array([-0.03, -0.05, -0.02, -0.04, -0.06, -0.03]))
    >>> [alike({"A - B": lower}, margin)[0].verdict for margin in (0.1, 0.04, 0.02)]
    ['holds', 'open', 'refuted']
    """
    checks = []
    against = [min(sample.beyond(0.0, side) for side in sides) for sample in samples.values()]
    for (what, sample), outside in zip(samples.items(), holm(against), strict=True):
        bound = margin if isinstance(margin, float) else margin[what]
        inside = max(sample.beyond(side * bound, -side) for side in sides)
        is_beyond = max(side * sample.mean for side in sides) > (0.0 if strict else bound)
        refuted = outside < LEVEL and is_beyond
        verdict: Verdict = "refuted" if refuted else "holds" if inside < LEVEL else "open"
        words, p_value = f"margin {number_text(bound, form.lstrip('+'))}", outside if refuted else inside
        theirs = _by_name(paper, what)
        printed_as = NO_NUMBER if isinstance(theirs, str) else NO_SPREAD
        checks.append(
            Check(what, verdict, sample.mean, theirs, p_value, words, sample.repetitions, form, printed=printed_as)
        )
    return tuple(checks)


def _by_name(values: Mapping[str, Any] | str, what: str) -> Any:
    """Return the entry of ``values`` for the comparison ``what``; a text stands for all comparisons."""
    return values if isinstance(values, str) else values.get(what, "")


def often(what: str, held: Sequence[bool], paper: str = "", over: str = "repetitions", printed: str = ONE_RUN) -> Check:
    """Return the check, by the sign test, that a statement is true in most repetitions; ``held`` says in which it is.

    ``what`` names the statement, ``over`` the repetitions; for ``paper`` and ``printed``, see `Check`.
    """
    count, n = sum(held), len(held)
    p_value = float(binomtest(count, n).pvalue) if n else 1.0
    verdict: Verdict = "open" if p_value >= LEVEL else "holds" if 2 * count > n else "refuted"
    return Check(what, verdict, f"{count} of {n}", paper, p_value, over=f"{n} {over}", printed=printed)


def wins(won: int, lost: int) -> Verdict:
    """Return the verdict on whether a method wins more often than it loses, by the sign test on numbers of wins and
    losses.
    """
    p_value = float(binomtest(won, won + lost).pvalue) if won + lost else 1.0
    return "open" if p_value >= LEVEL else "holds" if won > lost else "refuted"


def near(what: str, paper: float, ours: float, margin: float, over: str = "", form: str = ".3f") -> Check:
    """Return the check that the paper's number lies within ``margin`` of ours.

    ``what`` names the number, ``over`` the repetitions; numbers are shown in the format ``form``.
    """
    words = f"margin {number_text(margin, form)}"
    return fact(what, abs(ours - paper) <= margin, ours, paper, words, over, form, printed=True)


def predicted(what: str, paper: float, values: Sequence[float], over: str = "repetitions", form: str = ".3f") -> Check:
    """Return the check that the paper's number, of a single run, lies in the 95 % prediction interval of our
    repetitions.

    Repetitions are assumed to be normal: the interval is mean +- t s sqrt(1 + 1 / n), plus half a unit of the last
    digit, to which the paper rounds. With a single repetition, the verdict is open. ``what`` and ``values`` are the
    name of the number and our repetitions; ``over`` names the repetitions.

    Examples
    --------
    >>> from bayesieve_lab.claims import predicted
    >>> predicted("power of ten", 1033, [1018.0, 1003, 1024, 1011, 1030], form=".0f").verdict
    'holds'
    >>> predicted("power of ten", 1080, [1018.0, 1003, 1024, 1011, 1030], form=".0f").verdict
    'refuted'
    """
    numbers = np.array([value for value in values if value == value], dtype=float)
    n = numbers.size
    if n < 2:
        only = float(numbers[0]) if n else float("nan")
        return Check(what, "open", only, paper, over=f"{n} {over}", form=form, printed=ONE_RUN)
    digits = int("".join(letter for letter in form.partition(".")[2] if letter.isdigit()) or 0)
    spread = student.ppf(1 - LEVEL / 2, n - 1) * numbers.std(ddof=1) * np.sqrt(1 + 1 / n)
    low, high = (float(numbers.mean() + side * (spread + 0.5 * 10.0**-digits)) for side in (-1, 1))
    interval = f"{number_text(low, form)} to {number_text(high, form)}"
    ours = f"{number_text(float(numbers.mean()), form)}; {interval}"
    held: Verdict = "holds" if low <= paper <= high else "refuted"
    return Check(what, held, ours, paper, None, "95 % prediction interval", f"{n} {over}", form, printed=ONE_RUN)


def fact(
    what: str,
    holds: bool,
    ours: float | str,
    paper: float | str = "",
    margin: str = "",
    over: str = "",
    form: str = ".3f",
    printed: bool | None = None,
) -> Check:
    """Return the check of a statement about numbers that are not random, or of a bound on a number.

    ``holds`` is whether the statement is true of our numbers, and ``printed`` whether it is true of the paper's; None
    if there are none. For the other arguments, see `Check`.
    """
    printed_as = NO_NUMBER if printed is None else "holds" if printed else "refuted"
    verdict: Verdict = "holds" if holds else "refuted"
    return Check(what, verdict, ours, paper, None, margin, over, form, printed=printed_as)


def compare(
    claim: Claim,
    values: Mapping[str, Sequence[float] | np.ndarray],
    paper: Mapping[str, float] | None = None,
    form: str = "+.4f",
    printed: str = NO_SPREAD,
    **options: Any,
) -> Judged:
    """Judge a claim about pairs of methods.

    Parameters
    ----------
    claim : the claim.
    values : values of each method by repetition, all of the same length.
    paper : the paper's number of each method.
    form, printed : see `Check`.
    options : further fields of `Differences`, such as ``over``.
    """
    published = paper or {}
    samples = {f"{a} - {b}": Differences.of(values[a], values[b], **options) for a, b in claim.pairs}
    theirs = {f"{a} - {b}": published[a] - published[b] for a, b in claim.pairs if a in published and b in published}
    if claim.margin is None:
        checks = differ(samples, paper=theirs, form=form, margin=claim.negligible, printed=printed if theirs else "")
    else:
        checks = alike(samples, claim.margin, claim.sides, paper=theirs, form=form)
    return Judged(claim.where, claim.sentence, checks)


def in_words(claim: Judged) -> str:
    """Return a claim and its verdict as a sentence."""
    return f"{claim.sentence}: {claim.verdict_in_words}."


def claims_table(claims: Sequence[Judged]) -> TextTable:
    """Return a table of all claims, each followed by its comparisons if there are several."""
    rows = []
    for claim in claims:
        lines = [(claim.sentence, claim)]
        if len(claim.checks) > 1:
            lines += [(f"– {check.what}", Judged("", "", (check,), unlike=claim.unlike)) for check in claim.checks]
        for k, (words, one) in enumerate(lines):
            whole = k == 0 and len(lines) > 1
            numbers = ("", "", "", "") if whole else _numbers(one)
            verdict = one.verdict_in_words.replace("does not hold", "**does not hold**")
            place = claim.where if k == 0 else ""
            rows.append((place, words, *numbers, verdict, one.printed if k == 0 else ""))
    titles = ("Place", "Claim", ">Paper", ">Ours", ">Margin, p", ">Repetitions", "Verdict", "Paper's numbers")
    return TextTable.of(titles, rows)


def _numbers(claim: Judged) -> tuple[str, str, str, str]:
    """Return the paper's number, ours, the test and the repetitions of a claim with a single comparison."""
    (check,) = claim.checks
    return check.text("paper"), check.text("ours"), claim.tested, check.over


def variants_table(claims: Mapping[str, Sequence[Judged]]) -> TextTable:
    """Return a table of all claims with a column for each variant of a study, such as a grid or a data set.

    ``claims`` are the judged claims by name of the variant.
    """
    by_claim: dict[tuple[str, str], dict[str, Judged]] = {}
    for label, judged in claims.items():
        for one in judged:
            by_claim.setdefault((one.where, one.sentence), {})[label] = one
    rows = []
    for (where, sentence), variants in by_claim.items():
        first = next(iter(variants.values()))
        whole = len(first.checks) > 1
        verdicts = [variants[label].verdict_in_words if label in variants else "" for label in claims]
        paper = "" if whole else first.checks[0].text("paper")
        cells = verdicts if whole else [_cell(variants.get(label), 0, verdicts[k]) for k, label in enumerate(claims)]
        rows.append((where, sentence, paper, *cells, first.printed))
        for k, check in enumerate(first.checks if whole else ()):
            cells = [_cell(variants.get(label), k, "") for label in claims]
            rows.append(("", f"– {check.what}", check.text("paper"), *cells, ""))
    columns = ("Place", "Claim", ">Paper", *(f">{label}" for label in claims), "Paper's numbers")
    return TextTable.of(columns, rows)


def _cell(claim: Judged | None, number: int, verdict: str) -> str:
    """Return our number, the p-value and the verdict of one comparison of a claim as text; empty if there is none.

    ``number`` is the position of the comparison. ``verdict`` replaces the verdict of the comparison, unless it is
    empty.
    """
    if claim is None or number >= len(claim.checks):
        return ""
    check = claim.checks[number]
    p_value = p_range(() if check.p_value is None else (check.p_value,))
    shown = verdict or (UNLIKE if claim.unlike else WORDS[check.verdict])
    return ", ".join(part for part in (check.text("ours"), p_value, shown) if part)


def reasons(claims: Sequence[Judged]) -> str:
    """Return Markdown with the reasons why claims do not hold or are not like for like."""
    explained = {
        (one.where, one.sentence): " ".join(text for text in (one.unlike, one.why) if text)
        for one in claims
        if one.verdict != "holds" and (one.unlike or one.why)
    }
    return "\n\n".join(f"**{where}: {sentence}.** {text}" for (where, sentence), text in explained.items())


@dataclass(frozen=True)
class Closeness:
    """Distance of our numbers from those of a table or figure of the paper, as a text; ``where`` is its place in the
    paper.
    """

    where: str
    text: str


def closeness(
    where: str, numbers: Sequence[tuple[str, float, float]], margin: float = MARGIN, form: str = ".3f", unit: str = ""
) -> Closeness:
    """Return the distances between the paper's numbers and ours, given as (what, paper's number, our number).

    ``where`` is the place in the paper, ``margin`` the distance up to which numbers count as close, ``form`` the format
    of distances, and ``unit`` a text that begins the result.
    """
    off = sorted(((abs(ours - paper), what) for what, paper, ours in numbers if ours == ours), reverse=True)
    within, mean = sum(distance <= margin for distance, _ in off), float(np.mean([distance for distance, _ in off]))
    far, what = off[0]
    margin_text, mean_text, far_text = (number_text(value, form) for value in (margin, mean, far))
    lead = f"{unit}: " if unit else ""
    counted = f"{lead}{within} of {len(off)} numbers within {margin_text}"
    return Closeness(where, f"{counted}; {mean_text} on average, at most {far_text} ({what})")

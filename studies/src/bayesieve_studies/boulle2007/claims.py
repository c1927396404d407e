"""Tests of the claims in section 7.2 of Boulle (2007) on our results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bayesieve.evaluation.results import Comparison
from bayesieve.statistics import DIGITS
from bayesieve_studies.boulle2007.data import CHALLENGE, METHODS, OURS, REFERENCE, SHORT, TABLE_3, TABLE_4, UCI, Cell
from bayesieve_studies.boulle2007.results import CRITERIA, FLOORED, Group, of_paper
from bayesieve_studies.claims import Claim, Judged, compare
from bayesieve_studies.tables import TextTable, p_text, signed

Paper = Mapping[str, Mapping[str, Cell]]
Verdict = Literal["holds", "open", "reversed", "does not hold"]

NAMES = {**SHORT, FLOORED: "CR, floored"}
OTHERS = tuple(method for method in METHODS if method != REFERENCE)
BOTH_RATES = ("compression_rate", FLOORED)


@dataclass(frozen=True)
class Finding:
    """A claim by one criterion: the paper's numbers, ours, and the verdict."""

    sentence: str
    criterion: str
    paper: str
    ours: str
    verdict: Verdict


def findings(group: Group, paper: Paper) -> list[Finding]:
    """All claims about the paper's table 3, tested on a group of data sets."""
    better = (
        ("NB with MODL preprocessing is better than NB(EF)", (("NB", "NB(EF)"),), CRITERIA),
        ("SNB(BMA) is slightly better than SNB(MAP)", (("SNB(BMA)", "SNB(MAP)"),), CRITERIA),
        (
            "Selection of features improves the compression rate",
            tuple((method, "NB") for method in ("SNB(ACC)", "SNB(AUC)", "SNB(MAP)")),
            BOTH_RATES,
        ),
        (
            "Regularized methods have better compression rates than SNB(ACC) and SNB(AUC)",
            tuple((one, two) for one in METHODS[:3] for two in ("SNB(AUC)", "SNB(ACC)")),
            BOTH_RATES,
        ),
    )
    results = [_first(group, paper, criterion) for criterion in CRITERIA]
    for corrected in (False, True):
        results += [_wins(group, paper, criterion, corrected=corrected) for criterion in CRITERIA]
    for sentence, pairs, criteria in better:
        for criterion in criteria:
            results += _tested(group, paper, Claim(sentence, pairs, criterion))
    pairs = (("SNB(MAP)", "SNB(ACC)"), ("SNB(MAP)", "SNB(AUC)"))
    for criterion in ("accuracy", "auc"):
        for one in _tested(group, paper, Claim("SNB(MAP) is no better than SNB(ACC) and SNB(AUC)", pairs, criterion)):
            results.append(replace(one, verdict="does not hold" if one.verdict == "holds" else "holds"))
    return results


def challenge_findings(group: Group, paper: Paper) -> list[Finding]:
    """The claims about the paper's table 4: those about table 3, and two more."""
    return [
        *findings(group, paper),
        *(_everywhere(group, paper, criterion) for criterion in CRITERIA if criterion != "accuracy"),
        *(_worthless(group, paper, method) for method in ("NB", "NB(EF)")),
    ]


def judge(comparison: Comparison) -> tuple[Judged, ...]:
    """Every claim about a table, with the verdicts on all comparisons."""
    judged = []
    tables = (("table 3", UCI, TABLE_3, findings), ("table 4", CHALLENGE, TABLE_4, challenge_findings))
    for where, sets, paper, test in tables:
        group = Group.of(comparison, [one.ours for one in sets if one.ours])
        claims = test(group, paper) if len(group.names) > 1 else []
        for sentence in dict.fromkeys(one.sentence for one in claims):
            verdicts = tuple(one.verdict for one in claims if one.sentence == sentence)
            ours = f"{len(group.names)} of {len(sets)} data sets"
            judged.append(Judged(f"Section 7.2, {where}", sentence, verdicts, ours))
    judged.append(_of_ours(Group.of(comparison, [one.ours for one in UCI if one.ours])))
    return tuple(judged)


def _of_ours(group: Group) -> Judged:
    """Claims of the README about the default and the paper's methods."""
    verdicts, texts = [], []
    for criterion in SHORT:
        means = group.means(criterion)
        best = max(METHODS, key=lambda method: means[method])
        verdicts.append("holds" if means[OURS] > means[best] else "does not hold")
        texts.append(f"{SHORT[criterion]} {means[OURS]:.3f}, {best} {means[best]:.3f}")
    sentence = "Our default is better on average over the UCI sets than each of the paper's methods"
    return Judged("Our README", sentence, tuple(verdicts), "; ".join(texts))


def sentences(results: Sequence[Finding]) -> tuple[str, ...]:
    """Each claim, with the verdicts on its comparisons."""
    lines = []
    for sentence in dict.fromkeys(one.sentence for one in results):
        verdicts = [one.verdict for one in results if one.sentence == sentence]
        counts = {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}
        parts = [f"{verdict} in {count} of {len(verdicts)}" for verdict, count in counts.items()]
        lines.append(f"{sentence}: {', '.join(parts)} comparisons.")
    return tuple(lines)


def table(results: Sequence[Finding]) -> TextTable:
    """Every comparison of every claim."""
    rows, before = [], ""
    for one in results:
        verdict = one.verdict if one.verdict in ("holds", "open") else f"**{one.verdict}**"
        rows.append((one.sentence if one.sentence != before else "", one.criterion, one.paper, one.ours, verdict))
        before = one.sentence
    return TextTable.of(("Claim", "Criterion", "Paper", "Ours", "Verdict"), rows)


def _first(group: Group, paper: Paper, criterion: str) -> Finding:
    """SNB(CMA) has the best average rank."""
    ranks = {method: rank for method, rank in group.ranks(criterion).items() if method in METHODS}
    published = {method: cell.rank for method, cell in paper[of_paper(criterion)].items()}
    verdict: Verdict = "holds" if ranks[REFERENCE] < min(ranks[other] for other in OTHERS) else "does not hold"
    return Finding(
        f"{REFERENCE} has the best average rank", NAMES[criterion], _two_best(published), _two_best(ranks), verdict
    )


def _everywhere(group: Group, paper: Paper, criterion: str) -> Finding:
    """SNB(CMA) is the best of the paper's methods on every data set."""
    values = group.matrix(criterion)[:, : len(METHODS)].round(DIGITS)
    best = values[:, METHODS.index(REFERENCE)] == values.max(axis=1)
    ours = f"on {int(best.sum())} of {best.size}"
    rank = f"rank {paper[of_paper(criterion)][REFERENCE].rank:.1f}"
    verdict: Verdict = "holds" if best.all() else "does not hold"
    return Finding(f"{REFERENCE} is the best on every data set", NAMES[criterion], rank, ours, verdict)


def _worthless(group: Group, paper: Paper, method: str) -> Finding:
    """The mean compression rate is below that of the null model."""
    mean = group.means("compression_rate")[method]
    published = f"{method}: {paper['compression_rate'][method].mean:.3f}"
    verdict: Verdict = "holds" if mean < 0 else "does not hold"
    sentence = "Without selection, probabilities are worse than those of the null model (rate below 0)"
    return Finding(sentence, NAMES["compression_rate"], published, f"{mean:.3f}", verdict)


def _two_best(ranks: Mapping[str, float]) -> str:
    best = sorted(ranks, key=lambda method: ranks[method])[:2]
    return ", ".join(f"{method} {ranks[method]:.1f}" for method in best)


def _wins(group: Group, paper: Paper, criterion: str, *, corrected: bool) -> Finding:
    """SNB(CMA) beats every other method significantly on more data sets than it loses to it."""
    records = group.records(criterion, corrected=corrected)
    published = [paper[of_paper(criterion)][other] for other in OTHERS]
    wins, losses = sum(records[other].wins for other in OTHERS), sum(records[other].losses for other in OTHERS)
    ahead = sum(records[other].wins > records[other].losses for other in OTHERS)
    won, lost = (sum(getattr(cell, name) or 0 for cell in published) for name in ("wins", "losses"))
    test = "corrected test" if corrected else "paper's test"
    return Finding(
        f"{REFERENCE} beats each other method more often than it loses to it ({test})",
        NAMES[criterion],
        f"won {won}, lost {lost}",
        f"won {wins}, lost {losses}; ahead of {ahead} of {len(OTHERS)}",
        "holds" if ahead == len(OTHERS) else "does not hold",
    )


def _tested(group: Group, paper: Paper, claim: Claim) -> list[Finding]:
    """In each pair the first method is better on the data sets, by an exact signed-rank test."""
    matrix, published = group.matrix(claim.what), paper[of_paper(claim.what)]
    # `compare` treats lower values as better.
    values = {method: -matrix[:, place] for place, method in enumerate(METHODS)}
    tested = []
    for pair in compare(claim, values):
        theirs = signed(published[pair.first].mean - published[pair.second].mean, 3)
        ours = f"{signed(-pair.mean, 3)}, p = {p_text(pair.p_value)}".replace("= <", "<")
        counts = f"better on {pair.lower}, worse on {pair.higher}"
        text = f"{pair.first} - {pair.second}: {theirs}"
        tested.append(Finding(claim.sentence, NAMES[claim.what], text, f"{ours}; {counts}", pair.verdict))
    return tested

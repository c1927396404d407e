"""The claims in section 7.2 of Boulle (2007), judged by our results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bayesieve_lab.boulle2007.data import CHALLENGE, METHODS, OURS, REFERENCE, SHORT, TABLE_3, TABLE_4, UCI, Cell
from bayesieve_lab.boulle2007.results import CRITERIA, FLOORED, Group, of_paper
from bayesieve_lab.claims import MARGIN, Check, Closeness, Differences, Judged, alike, closeness, differ, fact
from bayesieve_lab.comparison.differences import DIGITS, ranks
from bayesieve_lab.comparison.results import Comparison

Paper = Mapping[str, Mapping[str, Cell]]
Pairs = Sequence[tuple[str, str]]

NAMES = {**SHORT, FLOORED: "CR, floored"}
OTHERS = tuple(method for method in METHODS if method != REFERENCE)
BOTH_RATES = ("compression_rate", FLOORED)
STANDARD = ("SNB(ACC)", "SNB(AUC)")
_OVERHEAD = 0.08
"""Of log10 of seconds: 20 %."""


def findings(group: Group, paper: Paper, where: str) -> list[Judged]:
    """All claims about the paper's table 3, tested on a group of data sets."""
    no_better = [("SNB(MAP)", other) for other in STANDARD]
    claims = {
        f"{REFERENCE} has the best average rank": [_first(group, paper, criterion) for criterion in CRITERIA],
        **{
            f"{REFERENCE} beats each other method more often than it loses to it ({name})": [
                check for criterion in CRITERIA for check in _wins(group, paper, criterion, corrected=corrected)
            ]
            for corrected, name in ((False, "paper's test"), (True, "corrected test"))
        },
        "NB with MODL preprocessing is better than NB(EF)": _better(group, paper, [("NB", "NB(EF)")], CRITERIA),
        "SNB(BMA) is slightly better than SNB(MAP)": _better(group, paper, [("SNB(BMA)", "SNB(MAP)")], CRITERIA),
        "SNB(BMA) does not significantly outperform SNB(MAP)": _no_better(
            group, paper, [("SNB(BMA)", "SNB(MAP)")], CRITERIA
        ),
        "Selection of features improves the compression rate": _better(
            group, paper, [(method, "NB") for method in (*STANDARD, "SNB(MAP)")], BOTH_RATES
        ),
        "Selection by accuracy or AUC improves the accuracy and the AUC of NB": _better(
            group, paper, [(method, "NB") for method in STANDARD], ("accuracy", "auc")
        ),
        "Regularized methods have better compression rates than SNB(ACC) and SNB(AUC)": _better(
            group, paper, [(one, two) for one in METHODS[:3] for two in STANDARD], BOTH_RATES
        ),
        "SNB(MAP) is no better than SNB(ACC) and SNB(AUC)": _no_better(group, paper, no_better, ("accuracy", "auc")),
        "SNB(ACC) and SNB(AUC) are comparable in accuracy": _comparable(group, paper, "accuracy"),
        "SNB(AUC) has the better AUC of the two": _better(group, paper, [STANDARD[::-1]], ("auc",)),
        "The overhead of averaging is negligible (log10 of the seconds, with coding)": _overhead(group),
        f"{REFERENCE} dominates most by CR, then by AUC, then by ACC (its significant wins)": [
            _by_criterion(group, paper)
        ],
    }
    return [Judged(where, sentence, tuple(checks)) for sentence, checks in claims.items()]


def challenge_findings(group: Group, paper: Paper, where: str) -> list[Judged]:
    """The claims about the paper's table 4: those about table 3, and more."""
    worthless = "Without selection, probabilities are worse than those of the null model (rate below 0)"
    means = {of: {m: cell.mean for m, cell in cells.items()} for of, cells in paper.items()}
    rates = [(means["compression_rate"], "compression_rate")] + [(None, FLOORED)]
    gains = [
        fact(
            NAMES[criterion],
            0.25 <= (ours := _gain(group.means(criterion))) <= 0.75,
            ours,
            _gain(theirs) if theirs else "",
            "25 % to 75 %",
            _sets(group),
            ".0%",
        )
        for theirs, criterion in rates
    ]
    everywhere = [_everywhere(group, paper, criterion) for criterion in CRITERIA if criterion != "accuracy"]
    claims = {
        f"{REFERENCE} is the best on every data set": everywhere,
        f"{REFERENCE} is almost always the best in accuracy (on more than half of the sets)": [
            _everywhere(group, paper, "accuracy", enough=0.5)
        ],
        worthless: [_worthless(group, paper, method) for method in ("NB", "NB(EF)")],
        "SNB(CMA) improves the compression rate by about 50 % (over the mean of SNB(ACC) and SNB(AUC))": gains,
    }
    return [*findings(group, paper, where), *(Judged(where, one, tuple(checks)) for one, checks in claims.items())]


def judge(comparison: Comparison) -> tuple[Judged | Closeness, ...]:
    """Every claim about a table, with the verdicts on all comparisons, and how close the table comes."""
    judged: list[Judged | Closeness] = []
    tables = (("3", UCI, TABLE_3, findings), ("4", CHALLENGE, TABLE_4, challenge_findings))
    for number, sets, paper, test in tables:
        group = Group.of(comparison, [one.ours for one in sets if one.ours])
        if len(group.names) > 1:
            judged += test(group, paper, f"Section 7.2, table {number}")
            judged.append(_close(group, paper, f"Table {number}", len(sets)))
    groups = [Group.of(comparison, [one.ours for one in sets if one.ours]) for sets in (UCI, CHALLENGE)]
    if all(len(group.names) > 1 for group in groups):
        judged += _totals(groups)
    return (*judged, _of_ours(groups[0]))


def _close(group: Group, paper: Paper, where: str, whole: int) -> Closeness:
    numbers = [
        (f"{method} by {NAMES[criterion]}", paper[of_paper(criterion)][method].mean, group.means(criterion)[method])
        for criterion in ("accuracy", "auc", FLOORED)
        for method in METHODS
    ]
    return closeness(where, numbers, unit=f"means over {len(group.names)} of {whole} sets, CR floored")


def _of_ours(group: Group) -> Judged:
    """A claim of ours about the default and the paper's methods."""
    sentence = f"{OURS} (the default) is better than each of the paper's methods"
    pairs = [(OURS, method) for method in METHODS]
    checks = [check for criterion in SHORT for check in _better(group, {}, pairs, (criterion,))]
    return Judged("Our README", sentence, tuple(checks))


def _sets(group: Group) -> str:
    return f"{len(group.names)} data sets"


def _samples(
    group: Group, paper: Paper, pairs: Pairs, criterion: str
) -> tuple[dict[str, Differences], dict[str, float]]:
    """Differences of pairs over the data sets, and the paper's."""
    column = dict(zip(group.methods, group.matrix(criterion).T, strict=True))
    named = {f"{one} - {two}, {NAMES[criterion]}": (one, two) for one, two in pairs}
    samples = {name: Differences(column[one] - column[two], "data sets") for name, (one, two) in named.items()}
    cells = paper.get(of_paper(criterion), {})
    return samples, {name: cells[one].mean - cells[two].mean for name, (one, two) in named.items() if two in cells}


def _better(group: Group, paper: Paper, pairs: Pairs, criteria: Sequence[str]) -> list[Check]:
    """In each pair the first method is better on the data sets."""
    tested = [_samples(group, paper, pairs, criterion) for criterion in criteria]
    return [check for samples, theirs in tested for check in differ(samples, 1, theirs)]


def _no_better(group: Group, paper: Paper, pairs: Pairs, criteria: Sequence[str]) -> list[Check]:
    tested = [_samples(group, paper, pairs, criterion) for criterion in criteria]
    return [check for samples, theirs in tested for check in alike(samples, MARGIN, (1,), strict=True, paper=theirs)]


def _comparable(group: Group, paper: Paper, criterion: str) -> tuple[Check, ...]:
    samples, theirs = _samples(group, paper, [STANDARD], criterion)
    return alike(samples, paper=theirs)


def _overhead(group: Group) -> tuple[Check, ...]:
    """SNB(BMA), which searches as SNB(MAP) does and averages what was evaluated."""
    seconds = dict(zip(group.methods, np.log10(group.matrix("fit_seconds")).T, strict=True))
    what, (one, two) = "SNB(BMA) - SNB(MAP)", ("SNB(BMA)", "SNB(MAP)")
    sample = Differences(seconds[one] - seconds[two], "data sets")
    return alike({what: sample}, _OVERHEAD, (1,), paper="negligible", form="+.2f")


def _first(group: Group, paper: Paper, criterion: str) -> Check:
    """The average rank of SNB(CMA) is below that of the best other method."""
    own = METHODS.index(REFERENCE)
    ranked = ranks(group.matrix(criterion)[:, : len(METHODS)])
    best = min((k for k in range(len(METHODS)) if k != own), key=lambda k: ranked[:, k].mean())
    published = {method: cell.rank for method, cell in paper[of_paper(criterion)].items()}
    what = NAMES[criterion]
    theirs = published[REFERENCE] - min(published[other] for other in OTHERS)
    (check,) = differ({what: Differences(ranked[:, own] - ranked[:, best], "data sets")}, -1, {what: theirs}, "+.1f")
    return check


def _wins(group: Group, paper: Paper, criterion: str, *, corrected: bool) -> list[Check]:
    """The data sets that SNB(CMA) wins against every other method, and those that it loses, significantly."""
    records, cells = group.records(criterion, corrected=corrected), paper[of_paper(criterion)]
    samples = {
        f"{other}, {NAMES[criterion]}": Differences(
            np.repeat([1.0, -1.0], [records[other].wins, records[other].losses]), "data sets with a winner"
        )
        for other in OTHERS
    }
    checks = differ(samples, 1)
    return [
        Check(
            check.what,
            check.verdict,
            f"{records[other].wins}/{records[other].losses}",
            f"{cells[other].wins}/{cells[other].losses}",
            check.p_value,
            check.margin,
            _sets(group),
        )
        for other, check in zip(OTHERS, checks, strict=True)
    ]


def _record(group: Group, paper: Paper, criteria: Sequence[str]) -> tuple[int, int, int, int]:
    """Significant wins and losses of SNB(CMA) by the paper's test, ours and the paper's."""
    records = [group.records(criterion, corrected=False)[other] for criterion in criteria for other in OTHERS]
    cells = [paper[of_paper(criterion)][other] for criterion in criteria for other in OTHERS]
    return (
        sum(one.wins for one in records),
        sum(one.losses for one in records),
        sum(cell.wins or 0 for cell in cells),
        sum(cell.losses or 0 for cell in cells),
    )


def _totals(groups: Sequence[Group]) -> list[Judged]:
    """Over both tables."""
    records = [_record(group, paper, tuple(SHORT)) for group, paper in zip(groups, (TABLE_3, TABLE_4), strict=True)]
    wins, losses, won, lost = np.sum(records, axis=0).tolist()
    n = sum(len(group.names) for group in groups)
    ratio, pairs = wins / max(losses, 1), len(SHORT) * len(OTHERS)
    share, theirs = wins / pairs / n, won / pairs / (len(UCI) + len(CHALLENGE))
    found = {
        "wins about ten times as often as it loses": fact(
            "wins/losses", 5 <= ratio <= 20, f"{wins}/{losses}", f"{won}/{lost}", "factor 2", f"{n} data sets"
        ),
        "wins on more than half of the data sets, on average over the others": fact(
            "share", share > 0.5, share, theirs, "more than 50 %", f"{n} data sets", ".0%"
        ),
    }
    return [Judged("Section 7.2", f"{REFERENCE} {what} (paper's test)", (check,)) for what, check in found.items()]


def _by_criterion(group: Group, paper: Paper) -> Check:
    found = {name: _record(group, paper, (criterion,)) for criterion, name in SHORT.items()}
    ours, theirs = ([row[k] for row in found.values()] for k in (0, 2))
    texts = [", ".join(f"{name} {n}" for name, n in zip(found, of, strict=True)) for of in (ours, theirs)]
    return fact("wins", ours == sorted(ours) and len({*ours}) == len(ours), texts[0], texts[1], "", _sets(group))


def _gain(rates: Mapping[str, float]) -> float:
    """The rate of SNB(CMA), relative to the mean of the standard selections."""
    return float(rates[REFERENCE] / np.mean([rates[m] for m in STANDARD]) - 1)


def _everywhere(group: Group, paper: Paper, criterion: str, enough: float = 1.0) -> Check:
    """SNB(CMA) is the best of the paper's methods on every data set."""
    values = group.matrix(criterion)[:, : len(METHODS)].round(DIGITS)
    best = values[:, METHODS.index(REFERENCE)] == values.max(axis=1)
    ours = f"on {int(best.sum())} of {best.size}"
    rank = f"rank {paper[of_paper(criterion)][REFERENCE].rank:.1f}"
    holds = bool(best.all() if enough == 1 else best.mean() > enough)
    return fact(NAMES[criterion], holds, ours, rank, "", _sets(group))


def _worthless(group: Group, paper: Paper, method: str) -> Check:
    """The mean compression rate is below that of the null model."""
    mean = group.means("compression_rate")[method]
    return fact(method, mean < 0, mean, paper["compression_rate"][method].mean, "below 0", _sets(group))

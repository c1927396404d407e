"""Claims of Blanquero et al. (2021) about real data sets, and the list of all their claims.

In private functions, ``results`` are our results, ``one`` is a data set and ``sets`` several of them, and ``guide`` is
the measure that guides sparse naive Bayes; None stands for the one of the paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from bayesieve_lab.blanquero2021.data import (
    AUSTRALIAN,
    BORUTA,
    CFS,
    CLASSIC,
    GUIDES,
    LASSO,
    MAP,
    MEASURED,
    MEASURES,
    SETS,
    PaperSet,
    sparse_name,
)
from bayesieve_lab.blanquero2021.examples import Examples
from bayesieve_lab.blanquero2021.examples_claims import POINTS, of_australian, of_simulated, of_table_1, of_tree
from bayesieve_lab.blanquero2021.results import Results
from bayesieve_lab.claims import Check, Closeness, Differences, Judged, alike, differ, fact
from bayesieve_lab.comparison.differences import ranks

_TIMES = "Times of other implementations: the paper's are of R packages."
_QUICK_HERE = (
    "All candidates of sparse NB are scored in a pass over the held-out rows here, where R learns a model for each; "
    "the rounds of importances of Boruta are the same in both."
)
_RANKS = (
    "Lasso is no naive Bayes: its weights allow for correlated features. SNB(MAP), whose search ends here, selects "
    "fewer features."
)
_RULE = (
    "Nothing is near 20 % on Australian, SPECTF and Page Blocks, with the diagonal of M or without; the paper does not "
    "say of which codes the shares are. On Wine the training sets are on both sides of 20 %."
)
_LEFT = {"SPECTF": (0.5, "below 1/2"), "German": (0.75, "3/4"), "Page Blocks": (2 / 3, "2/3")}
"""Share of the features of unbalanced sets that the paper keeps if AUC guides the search, as a number and in words."""
_OTHERS = (CFS, BORUTA, MAP, LASSO)
_RARE = "recall of the second class"


def findings(results: Results, examples: Examples | None) -> list[Judged | Closeness]:
    """Return the verdicts on all claims that can be judged by the results, and the distances of the paper's tables from
    ours.

    ``examples`` are the results of sections 2.2 and 3.1, or None.
    """
    verdicts: list[Judged | Closeness] = []
    if examples is not None:
        verdicts += of_table_1(examples)
        verdicts += of_tree(examples)
    if AUSTRALIAN in results.of("constrained") or results.count(AUSTRALIAN.ours, CLASSIC):
        verdicts += of_australian(results)
    verdicts += of_simulated(results)
    claims = (
        *_balanced(results, results.of("balanced")),
        *_unbalanced(results, results.of("unbalanced")),
        _rule_for_q(results),
        _robust(results),
    )
    return [*verdicts, *(claim for claim in claims if claim.checks)]


def _own(data_set: PaperSet, guide: str | None = None) -> str:
    """Return the name, in the results, of the sparse naive Bayes that the paper runs on a data set.

    ``guide`` is the criterion of the search; None stands for the paper's.
    """
    return sparse_name(guide or GUIDES.get(data_set.kind, ("accuracy",))[0], data_set.q)


def _against(
    results: Results,
    sets: Sequence[PaperSet],
    others: Sequence[str],
    measure: str,
    guide: str | None = None,
    *,
    log: bool = False,
) -> dict[str, Differences]:
    """Return the differences in a measure, sparse naive Bayes minus each of the ``others``, over the folds of each data
    set.

    Keys are names of data sets, after the name of the other method if there are several. With ``log``, log10 of the
    measure is compared. ``guide`` is the criterion of the search; None stands for the paper's.
    """
    return {
        one.name if len(others) == 1 else f"{other}, {one.name}": results.differences(
            one.ours, _own(one, guide), other, measure, log=log
        )
        for one in sets
        for other in others
        if results.count(one.ours, other)
    }


def _left(results: Results, data_set: PaperSet, most: float, paper: str, guide: str | None = None) -> Check:
    """Return the check that sparse naive Bayes selects at most the share ``most`` of the features of a data set.

    ``paper`` is the paper's share as text, and ``guide`` the criterion of the search; None stands for the paper's.
    """
    share = results.mean(data_set.ours, _own(data_set, guide), "n_features") / results.n_features(data_set.ours)
    folds = f"{results.count(data_set.ours, _own(data_set, guide))} folds"
    return fact(data_set.name, share <= most, share, paper, f"at most {most:.0%}", folds, ".0%")


def _balanced(results: Results, sets: Sequence[PaperSet]) -> list[Judged]:
    """Judge the claims about balanced data sets (figure 4)."""
    waveform = [one for one in sets if one.name == "Waveform"]
    dependent = [one for one in sets if one.name != "Waveform"]
    level, gain = (_against(results, of, [CLASSIC], "accuracy") for of in (dependent, waveform))
    wide = [one for one in sets if one.ours in ("mfeat", "isolet")]
    complete = [one for one in sets if all(results.count(one.ours, m) >= results.n_folds for m in _OTHERS)]

    def times(others: Sequence[str], of: Sequence[PaperSet], sign: int, paper: str) -> tuple[Check, ...]:
        """Return checks that the log10 seconds of sparse naive Bayes minus those of ``others`` have the claimed
        ``sign``.

        There is one check for each of the data sets ``of`` and each other method; ``paper`` is the paper's statement.
        """
        return differ(_against(results, of, others, "cpu seconds", log=True), sign, paper, "+.2f", None)

    claims: list[tuple[str, Iterable[Check], str]] = [
        (
            "But for Waveform, the accuracy is that of classic NB",
            alike(level, paper="comparable", form=POINTS),
            "Classic NB has all features; equal means neither lower nor higher.",
        ),
        (
            "But for Waveform, with half to a third of the features, or fewer",
            [_left(results, one, 0.5, "1/3 to 1/2") for one in dependent],
            _why_many(results, sets),
        ),
        (
            "On Waveform sparse NB is no improvement",
            alike(gain, sides=(1,), strict=True, paper="no significant enhancement", form=POINTS),
            "",
        ),
        (
            "Among the methods that select, sparse NB is between the others in accuracy (mean ranks)",
            _between(results, complete, "accuracy") if complete else (),
            _RANKS,
        ),
        (
            "Among the methods that select, sparse NB is between the others in sparsity (mean ranks)",
            _between(results, complete, "n_features") if complete else (),
            _RANKS,
        ),
    ]
    timed: list[tuple[str, Iterable[Check], str]] = [
        (
            "SNB(MAP) is slower than sparse NB (log10 of the seconds)",
            times([MAP], sets, -1, "on every set"),
            _QUICK_HERE,
        ),
        ("CFS is faster than sparse NB (log10 of the seconds)", times([CFS], sets, 1, "less costly"), _QUICK_HERE),
        (
            "Boruta is faster than sparse NB (log10 of the seconds)",
            times([BORUTA], sets, 1, "less costly"),
            _QUICK_HERE,
        ),
        (
            "With many features, CFS and Boruta are exceptionally slow (log10 of the seconds)",
            times([CFS, BORUTA], wide, -1, "slower"),
            "CFS counts pairs of features once here, and Boruta's areas are those of codes.",
        ),
    ]
    return [
        *(Judged("Figure 4", sentence, tuple(checks), why) for sentence, checks, why in claims),
        *(Judged("Figure 4", sentence, tuple(checks), why, _TIMES) for sentence, checks, why in timed),
    ]


def _between(results: Results, sets: Sequence[PaperSet], measure: str) -> tuple[Check, ...]:
    """Return checks that sparse naive Bayes ranks between the other methods that select features, by a measure.

    Its mean rank is compared with the best and with the worst mean rank of the others.
    """
    means = [[results.mean(one.ours, m, measure) for m in (_own(one), *_OTHERS)] for one in sets]
    ranked = ranks(np.array(means), higher_is_better=measure == "accuracy")
    order = np.argsort(ranked[:, 1:].mean(axis=0)) + 1
    best, worst = (_OTHERS[order[end] - 1] for end in (0, -1))
    samples = {
        f"sparse NB less {best}": Differences(ranked[:, 0] - ranked[:, order[0]], "data sets"),
        f"{worst} less sparse NB": Differences(ranked[:, order[-1]] - ranked[:, 0], "data sets"),
    }
    return differ(samples, 1, "in between", "+.1f", 0.5)


def _why_many(results: Results, sets: Sequence[PaperSet]) -> str:
    """Return a sentence: in how many folds the set of all features had the highest accuracy on the held-out rows.

    It covers the data sets, except Waveform, on which more than half of the features are selected on average.
    """
    parts = []
    for one in sets:
        shares = results.values(one.ours, _own(one), "n_features") / results.n_features(one.ours)
        most = shares > 0.95  # all that have several levels in the two thirds
        if shares.mean() > 0.5 and one.name != "Waveform":
            others = f" (mean share of the others: {shares[~most].mean():.0%})" if not most.all() else ""
            parts.append(f"in {int(most.sum())} of {most.size} folds of {one.name}{others}")
    return (
        "All features are a candidate, too (step 4 of algorithm 1). They have the highest accuracy on the held-out "
        f"third {' and '.join(parts)}. Draws have one feature of two fifths of the clusters on average, so that "
        "nothing lies between them and all features; where all are the best by a single row, all are chosen."
    )


def _unbalanced(results: Results, sets: Sequence[PaperSet]) -> list[Judged]:
    """Judge the claims about unbalanced data sets (figure 5)."""
    rare = _against(results, sets, _OTHERS, _RARE)
    by_precision = _against(results, sets, _OTHERS, _RARE, "precision:1")
    higher = sum(sample.mean > 0 for sample in by_precision.values())
    why = (
        "Recalls are those of the most probable class, and AUC does not depend on any threshold. Guided by precision "
        f"of class 1, which does, the recall of class 2 is higher in {higher} of {len(by_precision)} comparisons. The "
        "paper has no results of Boruta on SPECTF."
    )
    guided = [
        (
            f"Guided by {words}, it is not below that of classic NB",
            alike(_against(results, sets, [CLASSIC], measure, guide), sides=(-1,), paper="at least", form=POINTS),
            _lost(results, sets, guide),
        )
        for guide, measure, words in (
            ("auc", "auc", "AUC"),
            ("precision:1", "precision of the first class", "precision of class 1"),
        )
    ]
    left = [_left(results, one, _LEFT[one.name][0] + 0.05, _LEFT[one.name][1]) for one in sets]
    sparser = differ(_against(results, sets, _OTHERS, "n_features"), 1, "sparser", "+.1f", 1.0)
    frequent = differ(_against(results, sets, _OTHERS, "recall of the first class"), -1, "higher", POINTS)
    claims: list[tuple[str, Iterable[Check], str]] = [
        *guided,
        ("Guided by AUC, few features are left (to 5 %)", left, ""),
        ("The other methods that select tend to be sparser", sparser, ""),
        ("The other methods that select increase the recall of the frequent class", frequent, ""),
        (
            "The recall of the rare class is higher than that of the other methods that select",
            differ(rare, 1, "higher", POINTS),
            why,
        ),
    ]
    return [Judged("Figure 5", sentence, tuple(checks), why) for sentence, checks, why in claims]


def _lost(results: Results, sets: Sequence[PaperSet], guide: str) -> str:
    """Return a sentence with the mean share of the features selected on each data set; ``guide`` is the criterion of
    the search.
    """
    shares = [f"{_left(results, one, 1.0, '', guide).text('ours')} of {one.name}" for one in sets]
    return f"So guided, {', '.join(shares)} of the features are left."


def _rule_for_q(results: Results) -> Judged:
    """Judge whether the rule for q, the probability of taking a feature from a cluster, gives the paper's values."""
    checks = []
    for one in SETS.values():
        entries = results.values(one.ours, _own(one), "strong entries")
        if one.kind != "simulated" and entries.size:
            ours = 0.4 if np.mean(entries >= 0.2) > 0.5 else 0.6
            share = f"q = {ours:g} ({100 * entries.mean():.0f} %)"
            checks.append(fact(one.name, ours == one.q, share, f"q = {one.q:g}", "", f"{entries.size} folds"))
    claim = "The rule (0.4 where 20 % of the entries of M exceed 0.1) gives the paper's q"
    return Judged("Section 4.1", claim, tuple(checks), _RULE)


def _robust(results: Results) -> Judged:
    """Judge whether sparse naive Bayes has similar accuracy or AUC if features are clustered by other measures of
    dependence.
    """
    samples = {}
    for one in (SETS[name] for name in MEASURED if name in results.names):
        guide = GUIDES.get(one.kind, ("accuracy",))[0]
        for dependence in MEASURES[1:]:
            other = sparse_name(guide, one.q, dependence=dependence)
            if results.count(one.ours, other):
                measure = "auc" if guide == "auc" else "accuracy"
                samples[f"{dependence}, {one.name}"] = results.differences(one.ours, other, _own(one), measure)
    claim = "Results are similar with other measures of dependence"
    return Judged("Supplement", claim, alike(samples, paper="rather robust", form=POINTS))

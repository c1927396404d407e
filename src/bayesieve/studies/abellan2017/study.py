"""Abellan & Castellano (2017): naive Bayes after a filter by imprecise information gain, or by information gain."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bayesieve.classifier import SelectiveNB
from bayesieve.counts import Smoothing
from bayesieve.discretize import TableEncoder
from bayesieve.evaluation.comparison_result import Comparison
from bayesieve.selection import ImpreciseInformationGainSelector, InformationGainSelector
from bayesieve.statistics import SignedRanks, average_ranks, wilcoxon_holm
from bayesieve.studies.cross_validated import CrossValidatedStudy, Group, command, failures
from bayesieve.studies.study import Report
from bayesieve.studies.tables import Part, TextTable, document, p_text, signed, smoothing_text

S = 1.0
"""Parameter s of the imprecise Dirichlet model, section 5."""
ALPHAS = (0.01, 0.05, 0.1, 0.2)
"""Thresholds of the information gain as shares of ln(number of classes). Section 5 uses four; our copy of the paper
lost their values (see docs/reproduction/abellan2017.md).
"""
PLAIN, IMPRECISE = "NB", "NB after IIG"
PRECISE = tuple(f"NB after IG({alpha:g})" for alpha in ALPHAS)
METHODS = (PLAIN, IMPRECISE, *PRECISE)
"""The columns of tables 3 to 6 in their order."""
_KEEPS_ALL = -1.0  # below every information gain: plain naive Bayes, for one pass over the counts

_LEVEL = 0.05
_SHOWN = 8  # data sets on which two methods differ most
_PAPER = (
    "Our copy of the paper lacks the numbers in formulas and tables: the list of 30 UCI data sets, the accuracies and "
    "the four values of alpha. We check the statements of sections 5 and 6, with alpha = "
    f"{', '.join(f'{alpha:g}' for alpha in ALPHAS)}. According to the paper, nearly all features of many data sets are "
    "selected below its smallest alpha and very few above its largest, and the smallest one already leaves out `exptl` "
    "of `anneal`, with a gain of 0.0108 nats and 6 classes, so it is above 0.0108 / ln 6 = 0.006."
)
_CODING = (
    "Every training fold is coded once for all methods: numbers by Fayyad & Irani's MDLP on the training rows, as in "
    "Weka's supervised Discretize filter; every category is a level. Missing values are left out of counts, training "
    "and prediction, as in Weka's NaiveBayes (the paper does not specify its treatment of either). Weka also adds one "
    "to the counts of the classes, and counts declared levels that do not occur; here priors are relative frequencies, "
    "and levels are those of the training rows. *NB* uses all features."
)
_READING = (
    "Accuracy in percent, features selected, and seconds to train and predict one fold on one thread (including the "
    "coding, which is the same for all): means over the data sets. Ranks are average ranks by accuracy. "
    "*Better/worse* counts the data sets on which the method's accuracy is significantly above and below that of "
    "*NB* at the 5% level, by the corrected resampled t-test of the folds (Nadeau & Bengio 2003)."
)
_TESTS = (
    "Two-sided exact Wilcoxon signed-rank tests over the data sets. Table 6 of the paper tests each pair on its own; "
    "*adjusted* is Holm's adjustment for all pairs. Wins are those of the first method."
)
_WHY = (
    "[abellan2017-why.md](abellan2017-why.md) has the same comparison with other codings of the columns, "
    "computed by `abellan2017_why.py`."
)


class Abellan2017(CrossValidatedStudy):
    """Section 5 of the paper: tables 3 to 6. Laplace's alpha = 1, as in Weka's naive Bayes; ten cross-validations."""

    paper: ClassVar[str] = "abellan2017"
    citation: ClassVar[str] = (
        "J. Abellán and J. G. Castellano (2017), Improving the naive Bayes classifier via a quick variable selection "
        "method using maximum of entropy, Entropy 19 (6)"
    )
    paper_smoothing: ClassVar[Smoothing] = 1.0
    paper_repeats: ClassVar[int] = 10
    quick_names: ClassVar[Sequence[str]] = ("breast_cancer_ljubljana", "hepatitis", "lymphography", "vote", "zoo")

    def methods(self) -> dict[str, Any]:
        selectors: dict[str, Any] = {
            PLAIN: InformationGainSelector(threshold=_KEEPS_ALL),
            IMPRECISE: ImpreciseInformationGainSelector(s=S),
            **{name: InformationGainSelector(alpha=alpha) for name, alpha in zip(PRECISE, ALPHAS, strict=True)},
        }
        encoder = TableEncoder(numeric="mdlp", categorical="values", missing="ignore", n_jobs=1)
        return {
            name: SelectiveNB(selector, encoder=encoder, smoothing=self.smoothing, calibrate=False)
            for name, selector in selectors.items()
        }

    def report(self, comparison: Comparison) -> Report:
        return report(self.settings, comparison)


class Results(Group):
    """Data sets on which no method failed, with the methods in the order of the paper."""

    methods = METHODS
    criteria = ("accuracy",)
    reference = PLAIN

    @cached_property
    def accuracy(self) -> np.ndarray:
        """(n_data, n_methods) means over the folds."""
        return self.matrix("accuracy")

    def pairs(self) -> list[SignedRanks]:
        """Tests of all pairs of methods; empty for a single data set."""
        return wilcoxon_holm(self.accuracy, METHODS) if len(self.names) > 1 else []


def report(settings: Mapping[str, Any], comparison: Comparison) -> Report:
    """Report on a comparison of the paper's methods, made with these settings of the study."""
    results = Results.of(comparison)
    parts: list[Part] = [
        "# Naive Bayes after a filter by imprecise information gain: a reproduction",
        f"{Abellan2017.citation}.",
        _conditions(settings, comparison),
        f"```\n{command(settings, smoothing=1.0, repeats=10)}\n```",
        _PAPER,
        _CODING,
    ]
    tables: list[tuple[str, TextTable]] = []
    claims: tuple[str, ...] = ()
    if results.names:
        main, claims = _main_table(results), tuple(_findings(results))
        tables.append((f"{len(results.names)} data sets", main))
        parts += ["## Tables 3 to 5: means", _READING, main]
        if results.pairs():
            tests = _tests_table(results.pairs())
            tables.append(("Wilcoxon signed-rank tests", tests))
            parts += ["## Table 6: pairs of methods", _TESTS, tests]
        parts += ["## The paper's claims", claims]
        parts += ["## Where the methods differ", *_where(results), _WHY]
        parts += ["## Every data set", "**Accuracy in percent**"]
        parts += [TextTable.of_data_sets(results.names, METHODS, 100 * results.accuracy, 2), "**Features selected**"]
        parts += [TextTable.of_data_sets(results.names, METHODS, results.matrix("n_features"), 1)]
        parts.append("`abellan2017-means.csv` has the means, standard deviations and seconds of every data set.")
    parts.append(failures(comparison))
    return Report(tuple(tables), claims, document(parts), {"abellan2017-means.csv": _csv(comparison)})


def _conditions(settings: Mapping[str, Any], comparison: Comparison) -> str:
    full = settings["folds"] == 10 and settings["repeats"] == 10
    short = "" if full else " The paper has 10 times 10 folds."
    return (
        f"{len(comparison.data)} UCI data sets, stratified {settings['folds']}-fold cross-validation, "
        f"{settings['repeats']} times (seed {settings['seed']}); probabilities by "
        f"{smoothing_text(settings['smoothing'], 'm-estimates')}.{short}"
    )


def _main_table(results: Results) -> TextTable:
    ranks = average_ranks(results.accuracy)
    records = results.records("accuracy", corrected=True)
    features = results.matrix("n_features").mean(axis=0)
    seconds = (results.matrix("fit_seconds") + results.matrix("predict_seconds")).mean(axis=0)
    rows = [
        (
            method,
            f"{100 * results.accuracy[:, place].mean():.2f}",
            f"{ranks[place]:.2f}",
            # Wins and losses are those of plain naive Bayes.
            f"{records[method].losses}/{records[method].wins}" if method in records else "",
            f"{features[place]:.1f}",
            f"{seconds[place]:.4f}",
        )
        for place, method in enumerate(METHODS)
    ]
    return TextTable.of(("Method", ">Accuracy", ">Rank", ">Better/worse", ">Features", ">Seconds"), rows)


def _tests_table(pairs: list[SignedRanks]) -> TextTable:
    rows = [(pair.first, pair.second, _record(pair), p_text(pair.p_value), p_text(pair.adjusted)) for pair in pairs]
    return TextTable.of(("First", "Second", ">Wins/ties/losses", ">p", ">p, adjusted"), rows)


def _record(pair: SignedRanks) -> str:
    return f"{pair.wins}/{pair.ties}/{pair.losses}"


def _findings(results: Results) -> list[str]:
    """The paper's claims of section 6, and their tests."""
    pairs = {(pair.first, pair.second): pair for pair in results.pairs()}
    if not pairs:
        return ["One data set is too few to test methods on."]
    means = dict(zip(METHODS, results.accuracy.mean(axis=0).tolist(), strict=True))
    gain = 100 * (means[IMPRECISE] - means[PLAIN])
    main = pairs[PLAIN, IMPRECISE]
    better = main.losses > main.wins
    claims = [
        "*NB after IIG is significantly better than NB*: "
        f"{_verdict(main.p_value < _LEVEL and better)}; better on {main.losses} data sets, worse on {main.wins}, the "
        f"same on {main.ties} ({signed(gain, 2)} points on average, p {_p(main)})."
    ]
    different = [name for name in PRECISE if pairs[PLAIN, name].p_value < _LEVEL]
    better_ones = [name for name in different if means[name] > means[PLAIN]]
    worse_ones = [name for name in different if means[name] <= means[PLAIN]]
    claims.append(
        "*NB after IG is not, whatever the threshold*: "
        f"{_verdict(not better_ones)}; significantly better than NB: {', '.join(better_ones) or 'none'}; significantly "
        f"worse: {', '.join(worse_ones) or 'none'} "
        f"(p = {', '.join(p_text(pairs[PLAIN, name].p_value) for name in PRECISE)} in the order of the thresholds)."
    )
    best = results.accuracy[:, [METHODS.index(name) for name in PRECISE]]
    counts = np.bincount(best.argmax(axis=1), minlength=len(PRECISE)).tolist()
    claims.append(
        f"*The best threshold differs from one data set to the next*: {_verdict(sum(n > 0 for n in counts) > 1)}; the "
        "most accurate one (the lowest of equals) is "
        + ", ".join(f"{alpha:g} on {n}" for alpha, n in zip(ALPHAS, counts, strict=True))
        + "."
    )
    against = [pairs[IMPRECISE, name] for name in PRECISE]
    claims.append(
        "*NB after IIG is better than NB after IG*: "
        f"{_verdict(all(pair.p_value < _LEVEL and pair.wins > pair.losses for pair in against))} at every threshold; "
        + ", ".join(f"{pair.second} {_record(pair)} (p {_p(pair)})" for pair in against)
        + "."
    )
    return claims


def _p(pair: SignedRanks) -> str:
    text = p_text(pair.p_value)
    return text if text.startswith("<") else f"= {text}"


def _verdict(holds: bool) -> str:
    return "confirmed" if holds else "not confirmed"


def _where(results: Results) -> tuple[TextTable, str]:
    """The data sets on which the filter by IIG changes most, both ways."""
    plain, imprecise = METHODS.index(PLAIN), METHODS.index(IMPRECISE)
    change = 100 * (results.accuracy[:, imprecise] - results.accuracy[:, plain])
    selected = results.matrix("n_features")
    order = np.argsort(-np.abs(change), kind="stable")[:_SHOWN]
    rows = [
        (results.names[i], signed(change[i], 2), f"{selected[i, plain]:.0f}", f"{selected[i, imprecise]:.1f}")
        for i in order.tolist()
    ]
    same = int(np.sum(selected[:, plain] - selected[:, imprecise] < 0.005))
    return (
        TextTable.of(("Data set", ">IIG less NB, points", ">Features", ">Kept by IIG"), rows),
        f"On {same} of {len(results.names)} data sets IIG selects every feature in every fold, so the two methods are "
        "the same.",
    )


def _csv(comparison: Comparison) -> str:
    """One line per data set and method: means and spreads over the folds."""
    columns = ("accuracy", "accuracy_std", "n_features", "fit_seconds", "predict_seconds")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("data", "method", "n_folds", *columns))
    for line in comparison.summary().iter_rows(named=True):
        values = ("" if line[name] is None else f"{line[name]:.6g}" for name in columns)
        writer.writerow((line["data"], line["method"], line["n_folds"], *values))
    return text.getvalue()

"""The document on Abellan & Castellano (2017): accuracy, features and seconds of naive Bayes after two filters."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesieve.evaluation.comparison_result import Comparison
from bayesieve.statistics import SignedRanks, average_ranks, wilcoxon_holm
from bayesieve.statistics.fold_tests import WinsLosses, wins_and_losses
from bayesieve.studies import PAPERS
from bayesieve.studies.abellan2017.data import ALPHAS, IMPRECISE, METHODS, PLAIN, PRECISE
from bayesieve.studies.cross_validated import command, failures
from bayesieve.studies.study import Report
from bayesieve.studies.tables import TextTable, p_text, signed

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


@dataclass(frozen=True)
class Results:
    """The data sets on which no method failed.

    matrices : means over the folds by measure, (n_data, n_methods), with the methods in the order of the paper.
    """

    comparison: Comparison
    names: tuple[str, ...]
    matrices: Mapping[str, np.ndarray]
    seconds: np.ndarray

    @classmethod
    def of(cls, comparison: Comparison) -> Results:
        order = [comparison.methods.index(method) for method in METHODS]
        means = {name: comparison.matrix(name)[:, order] for name in ("accuracy", "n_features")}
        seconds = comparison.matrix("fit_seconds")[:, order] + comparison.matrix("predict_seconds")[:, order]
        known = ~np.isnan(means["accuracy"]).any(axis=1)
        names = tuple(name for name, complete in zip(comparison.data, known, strict=True) if complete)
        return cls(comparison, names, {name: matrix[known] for name, matrix in means.items()}, seconds[known])

    @property
    def accuracy(self) -> np.ndarray:
        return self.matrices["accuracy"]

    def pairs(self) -> list[SignedRanks]:
        """Tests of all pairs of methods; empty for a single data set."""
        return wilcoxon_holm(self.accuracy, METHODS) if len(self.names) > 1 else []

    def records(self) -> dict[str, WinsLosses]:
        """Data sets on which plain naive Bayes is significantly better and worse than each other method."""
        lines: list[tuple[str, str, int, float]] = []
        for name in self.names:
            values = self.comparison.folds("accuracy", name)
            for method in METHODS:
                column = values[:, self.comparison.methods.index(method)]
                lines += [(name, method, split, value) for split, value in enumerate(column.tolist())]
        names, methods, splits, results = zip(*lines, strict=True)
        return wins_and_losses(names, methods, splits, results, reference=PLAIN, test_share=self.comparison.test_share)


def report(settings: Mapping[str, Any], comparison: Comparison) -> Report:
    """Report on a comparison of the paper's methods.

    Parameters
    ----------
    settings : settings of the study.
    comparison : its results.
    """
    results = Results.of(comparison)
    parts = [
        "# Naive Bayes after a filter by imprecise information gain: a reproduction",
        f"{PAPERS['abellan2017'].citation}.",
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
        parts += ["## Tables 3 to 5: means", _READING, main.to_markdown()]
        if results.pairs():
            tests = _tests_table(results.pairs())
            tables.append(("Wilcoxon signed-rank tests", tests))
            parts += ["## Table 6: pairs of methods", _TESTS, tests.to_markdown()]
        parts += ["## The paper's claims", "\n".join(f"- {sentence}" for sentence in claims)]
        parts += ["## Where the methods differ", _where(results), _WHY]
        parts += ["## Every data set", "**Accuracy in percent**", _every(results, "accuracy", 100.0, 2).to_markdown()]
        parts += ["**Features selected**", _every(results, "n_features", 1.0, 1).to_markdown()]
        parts.append("`abellan2017-means.csv` has the means, standard deviations and seconds of every data set.")
    parts.append(failures(comparison))
    return Report(
        tuple(tables),
        claims,
        "\n\n".join(part for part in parts if part) + "\n",
        {"abellan2017-means.csv": _csv(comparison)},
    )


def _conditions(settings: Mapping[str, Any], comparison: Comparison) -> str:
    smoothing = settings["smoothing"]
    learnt = "m-estimates" if smoothing == "m-estimate" else f"Laplace's alpha = {smoothing:g}"
    full = settings["folds"] == 10 and settings["repeats"] == 10
    short = "" if full else " The paper has 10 times 10 folds."
    return (
        f"{len(comparison.data)} UCI data sets, stratified {settings['folds']}-fold cross-validation, "
        f"{settings['repeats']} times (seed {settings['seed']}); probabilities by {learnt}.{short}"
    )


def _main_table(results: Results) -> TextTable:
    ranks = average_ranks(results.accuracy)
    records = results.records()
    rows = []
    for place, method in enumerate(METHODS):
        record = records.get(method)
        rows.append(
            (
                method,
                f"{100 * results.accuracy[:, place].mean():.2f}",
                f"{ranks[place]:.2f}",
                # Wins and losses are those of plain naive Bayes.
                f"{record.losses}/{record.wins}" if record is not None else "",
                f"{results.matrices['n_features'][:, place].mean():.1f}",
                f"{results.seconds[:, place].mean():.4f}",
            )
        )
    columns = [("Method", False), ("Accuracy", True), ("Rank", True), ("Better/worse", True), ("Features", True)]
    return TextTable.of([*columns, ("Seconds", True)], rows)


def _tests_table(pairs: list[SignedRanks]) -> TextTable:
    rows = [
        (
            pair.first,
            pair.second,
            f"{pair.wins}/{pair.ties}/{pair.losses}",
            p_text(pair.p_value),
            p_text(pair.adjusted),
        )
        for pair in pairs
    ]
    columns = [("First", False), ("Second", False), ("Wins/ties/losses", True), ("p", True), ("p, adjusted", True)]
    return TextTable.of(columns, rows)


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
    better_ones = [name for name in PRECISE if pairs[PLAIN, name].p_value < _LEVEL and means[name] > means[PLAIN]]
    worse_ones = [name for name in PRECISE if pairs[PLAIN, name].p_value < _LEVEL and means[name] <= means[PLAIN]]
    claims.append(
        "*NB after IG is not, whatever the threshold*: "
        f"{_verdict(not better_ones)}; significantly better than NB: {_listed(better_ones)}; significantly worse: "
        f"{_listed(worse_ones)} (p = {', '.join(p_text(pairs[PLAIN, name].p_value) for name in PRECISE)} in the order "
        "of the thresholds)."
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
        + ", ".join(f"{pair.second} {pair.wins}/{pair.ties}/{pair.losses} (p {_p(pair)})" for pair in against)
        + "."
    )
    return claims


def _p(pair: SignedRanks) -> str:
    text = p_text(pair.p_value)
    return text if text.startswith("<") else f"= {text}"


def _verdict(holds: bool) -> str:
    return "confirmed" if holds else "not confirmed"


def _listed(names: list[str]) -> str:
    return ", ".join(names) if names else "none"


def _where(results: Results) -> str:
    """The data sets on which the filter by IIG changes most, both ways."""
    change = 100 * (results.accuracy[:, METHODS.index(IMPRECISE)] - results.accuracy[:, METHODS.index(PLAIN)])
    selected = results.matrices["n_features"]
    order = np.argsort(-np.abs(change), kind="stable")[:_SHOWN]
    rows = [
        (
            results.names[i],
            signed(float(change[i]), 2),
            f"{selected[i, METHODS.index(PLAIN)]:.0f}",
            f"{selected[i, METHODS.index(IMPRECISE)]:.1f}",
        )
        for i in order.tolist()
    ]
    columns = [("Data set", False), ("IIG less NB, points", True), ("Features", True), ("Kept by IIG", True)]
    same = int(np.sum(selected[:, METHODS.index(PLAIN)] - selected[:, METHODS.index(IMPRECISE)] < 0.005))
    return (
        f"{TextTable.of(columns, rows).to_markdown()}\n\nOn {same} of {len(results.names)} data sets IIG selects "
        "every feature in every fold, so the two methods are the same."
    )


def _every(results: Results, measure: str, factor: float, digits: int) -> TextTable:
    rows = [
        (name, *(f"{factor * value:.{digits}f}" for value in values.tolist()))
        for name, values in zip(results.names, results.matrices[measure], strict=True)
    ]
    return TextTable.of([("Data set", False), *((method, True) for method in METHODS)], rows)


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

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
from bayesieve.studies.study import Report
from bayesieve.studies.tables import TextTable, p_text, signed

_LEVEL = 0.05
_SHOWN = 8  # data sets on which two methods differ most
_PAPER = (
    "Of the paper's text the numbers in formulas and tables are lost, those of its tables 2 to 6 included: which 30 "
    "UCI sets it takes, its accuracies and its four values of alpha. What its sections 5 and 6 say in words is what is "
    f"checked here, with alpha = {', '.join(f'{alpha:g}' for alpha in ALPHAS)}: it says that below its smallest alpha "
    "nearly all features of many data sets are selected, above its largest very few, and that its smallest already "
    "leaves out `exptl` of `anneal`, a gain of 0.0108 nats among 6 classes, so that it is above 0.0108 / ln 6 = 0.006."
)
_CODING = (
    "Every training fold is coded once for all methods: numbers cut by Fayyad & Irani's MDLP on the training rows, as "
    "Weka's supervised Discretize filter cuts them; categories as they are. Missing values are left out of counts, "
    "training and prediction, as in Weka's NaiveBayes (the paper does not say how it treats either). Weka adds one to "
    "the counts of the classes too, and counts levels that are declared and not seen; here priors are relative "
    "frequencies, and levels those of the training rows. *NB* has all features."
)
_READING = (
    "Accuracy in percent, features kept, and seconds to train and predict one fold on one thread (coding included, "
    "which is the same for all): means over the data sets. Ranks are average ranks by accuracy. *Better/worse* counts "
    "the data sets on which the method's accuracy is significantly above and below that of *NB* at the 5% level, by "
    "the corrected resampled t-test of the folds (Nadeau & Bengio 2003)."
)
_TESTS = (
    "Two-sided exact Wilcoxon signed-rank tests over the data sets, as the paper's table 6 has them for each pair by "
    "itself; *adjusted* is Holm's adjustment for all pairs. Wins are of the first method."
)
_WHY = (
    "[abellan2017-why.md](abellan2017-why.md) has the same comparison with other codings of the columns; "
    "`abellan2017_why.py` beside it computes it."
)


@dataclass(frozen=True)
class Results:
    """The data sets on which every method worked.

    matrices : by measure (n_data, n_methods) means over the folds, methods in the order of the paper.
    """

    found: Comparison
    names: tuple[str, ...]
    matrices: Mapping[str, np.ndarray]
    seconds: np.ndarray

    @classmethod
    def of(cls, found: Comparison) -> Results:
        order = [found.methods.index(method) for method in METHODS]
        means = {name: found.matrix(name)[:, order] for name in ("accuracy", "n_features")}
        seconds = found.matrix("fit_seconds")[:, order] + found.matrix("predict_seconds")[:, order]
        known = ~np.isnan(means["accuracy"]).any(axis=1)
        names = tuple(name for name, complete in zip(found.data, known, strict=True) if complete)
        return cls(found, names, {name: matrix[known] for name, matrix in means.items()}, seconds[known])

    @property
    def accuracy(self) -> np.ndarray:
        return self.matrices["accuracy"]

    def pairs(self) -> list[SignedRanks]:
        """Tests of all pairs of methods; none where there is a single data set."""
        return wilcoxon_holm(self.accuracy, METHODS) if len(self.names) > 1 else []

    def records(self) -> dict[str, WinsLosses]:
        """Data sets on which plain naive Bayes is significantly better and worse than each other method."""
        lines: list[tuple[str, str, int, float]] = []
        for name in self.names:
            values = self.found.folds("accuracy", name)
            for method in METHODS:
                column = values[:, self.found.methods.index(method)]
                lines += [(name, method, split, value) for split, value in enumerate(column.tolist())]
        names, methods, splits, results = zip(*lines, strict=True)
        return wins_and_losses(names, methods, splits, results, reference=PLAIN, test_share=self.found.test_share)


def report(settings: Mapping[str, Any], found: Comparison) -> Report:
    """Report on a comparison of the paper's methods.

    Parameters
    ----------
    settings : of the study.
    found : its results.
    """
    results = Results.of(found)
    parts = [
        "# Naive Bayes after a filter by imprecise information gain, measured anew",
        f"{PAPERS['abellan2017'].citation}.",
        _conditions(settings, found),
        f"```\n{_command(settings)}\n```",
        _PAPER,
        _CODING,
    ]
    tables: list[tuple[str, TextTable]] = []
    told: tuple[str, ...] = ()
    if results.names:
        main, told = _main_table(results), tuple(_findings(results))
        tables.append((f"{len(results.names)} data sets", main))
        parts += ["## Tables 3 to 5: means", _READING, main.to_markdown()]
        if results.pairs():
            tests = _tests_table(results.pairs())
            tables.append(("Wilcoxon signed-rank tests", tests))
            parts += ["## Table 6: pairs of methods", _TESTS, tests.to_markdown()]
        parts += ["## What the paper says, and what is found", "\n".join(f"- {sentence}" for sentence in told)]
        parts += ["## Where the methods differ", _where(results), _WHY]
        parts += ["## Every data set", "**Accuracy in percent**", _every(results, "accuracy", 100.0, 2).to_markdown()]
        parts += ["**Features kept**", _every(results, "n_features", 1.0, 1).to_markdown()]
        parts.append("`abellan2017-means.csv` beside this document has the means, spreads and seconds of every set.")
    parts.append(_failures(found))
    return Report(
        tuple(tables), told, "\n\n".join(part for part in parts if part) + "\n", {"abellan2017-means.csv": _csv(found)}
    )


def _conditions(settings: Mapping[str, Any], found: Comparison) -> str:
    smoothing = settings["smoothing"]
    learnt = "m-estimates" if smoothing == "m-estimate" else f"Laplace's alpha = {smoothing:g}"
    full = settings["folds"] == 10 and settings["repeats"] == 10
    short = "" if full else " The paper has 10 times 10 folds."
    return (
        f"{len(found.data)} UCI data sets, stratified {settings['folds']}-fold cross-validation, {settings['repeats']} "
        f"times (seed {settings['seed']}); probabilities by {learnt}.{short}"
    )


def _command(settings: Mapping[str, Any]) -> str:
    words = ["bayesieve reproduce abellan2017 --data DIR --output abellan2017.md"]
    if settings["seed"]:
        words.append(f"--seed {settings['seed']}")
    if settings["folds"] != 10:
        words.append("--quick")
    elif settings["repeats"] != 10:
        words.append(f"--repetitions {settings['repeats']}")
    if settings["smoothing"] != 1.0:
        words.append(f"--smoothing {settings['smoothing']}")
    if settings["only"]:
        words.append(f"--only {','.join(settings['only'])}")
    return " ".join(words)


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
    """The paper's claims of section 6, and what the tests say of them."""
    pairs = {(pair.first, pair.second): pair for pair in results.pairs()}
    if not pairs:
        return ["One data set is too few to test methods on."]
    means = dict(zip(METHODS, results.accuracy.mean(axis=0).tolist(), strict=True))
    gain = 100 * (means[IMPRECISE] - means[PLAIN])
    main = pairs[PLAIN, IMPRECISE]
    better = main.losses > main.wins
    told = [
        "*NB after IIG is significantly better than NB*: "
        f"{_verdict(main.p_value < _LEVEL and better)}; better on {main.losses} data sets, worse on {main.wins}, the "
        f"same on {main.ties} ({signed(gain, 2)} points on average, p {_p(main)})."
    ]
    better_ones = [name for name in PRECISE if pairs[PLAIN, name].p_value < _LEVEL and means[name] > means[PLAIN]]
    worse_ones = [name for name in PRECISE if pairs[PLAIN, name].p_value < _LEVEL and means[name] <= means[PLAIN]]
    told.append(
        "*NB after IG is not, whatever the threshold*: "
        f"{_verdict(not better_ones)}; significantly better than NB: {_listed(better_ones)}; significantly worse: "
        f"{_listed(worse_ones)} (p = {', '.join(p_text(pairs[PLAIN, name].p_value) for name in PRECISE)} in the order "
        "of the thresholds)."
    )
    best = results.accuracy[:, [METHODS.index(name) for name in PRECISE]]
    counts = np.bincount(best.argmax(axis=1), minlength=len(PRECISE)).tolist()
    told.append(
        f"*The best threshold differs from one data set to the next*: {_verdict(sum(n > 0 for n in counts) > 1)}; the "
        "most accurate one (the lowest of equals) is "
        + ", ".join(f"{alpha:g} on {n}" for alpha, n in zip(ALPHAS, counts, strict=True))
        + "."
    )
    against = [pairs[IMPRECISE, name] for name in PRECISE]
    told.append(
        "*NB after IIG is better than NB after IG*: "
        f"{_verdict(all(pair.p_value < _LEVEL and pair.wins > pair.losses for pair in against))} at every threshold; "
        + ", ".join(f"{pair.second} {pair.wins}/{pair.ties}/{pair.losses} (p {_p(pair)})" for pair in against)
        + "."
    )
    return told


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
    kept = results.matrices["n_features"]
    order = np.argsort(-np.abs(change), kind="stable")[:_SHOWN]
    rows = [
        (
            results.names[i],
            signed(float(change[i]), 2),
            f"{kept[i, METHODS.index(PLAIN)]:.0f}",
            f"{kept[i, METHODS.index(IMPRECISE)]:.1f}",
        )
        for i in order.tolist()
    ]
    columns = [("Data set", False), ("IIG less NB, points", True), ("Features", True), ("Kept by IIG", True)]
    same = int(np.sum(kept[:, METHODS.index(PLAIN)] - kept[:, METHODS.index(IMPRECISE)] < 0.005))
    return (
        f"{TextTable.of(columns, rows).to_markdown()}\n\nOn {same} of {len(results.names)} data sets IIG keeps every "
        "feature in every fold, so that nothing can differ."
    )


def _every(results: Results, measure: str, factor: float, digits: int) -> TextTable:
    rows = [
        (name, *(f"{factor * value:.{digits}f}" for value in values.tolist()))
        for name, values in zip(results.names, results.matrices[measure], strict=True)
    ]
    return TextTable.of([("Data set", False), *((method, True) for method in METHODS)], rows)


def _csv(found: Comparison) -> str:
    """One line per data set and method: means and spreads over the folds."""
    columns = ("accuracy", "accuracy_std", "n_features", "fit_seconds", "predict_seconds")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("data", "method", "n_folds", *columns))
    for line in found.summary().iter_rows(named=True):
        values = ("" if line[name] is None else f"{line[name]:.6g}" for name in columns)
        writer.writerow((line["data"], line["method"], line["n_folds"], *values))
    return text.getvalue()


def _failures(found: Comparison) -> str:
    lines = [f"- {data}, {method}: {n} folds failed ({error})" for data, method, n, error in found.errors()]
    return "\n".join(["Data sets on which a method failed stand in no table above:", "", *lines]) if lines else ""

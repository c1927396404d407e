"""Abellan & Castellano (2017): naive Bayes after a filter by imprecise information gain, or by information gain."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from bayesieve.classifier import SelectiveNB
from bayesieve.counts import Smoothing
from bayesieve.discretize import TableEncoder
from bayesieve.evaluation.results import Comparison, key_of
from bayesieve.selection import ImpreciseInformationGainSelector, InformationGainSelector
from bayesieve.statistics import SignedRanks, average_ranks, wilcoxon_holm
from bayesieve_studies.abellan2017.weka_nb import WekaNB, declare
from bayesieve_studies.claims import Judged
from bayesieve_studies.cross_validated import CrossValidatedStudy, Group, failures
from bayesieve_studies.study import Report
from bayesieve_studies.tables import TextTable, document, p_text, signed, smoothing_text

S = 1.0
"""Parameter s of the imprecise Dirichlet model, section 5."""
ALPHAS = (0.01, 0.05, 0.1, 0.2)
"""Thresholds of the information gain, in bits, as shares of ln(number of classes). Section 5 uses four; our copy of the
paper lost their values. With gains in bits the smallest one agrees with example 2, where it is between the gains of
`lustre` and `exptl` (see studies/reproduction/abellan2017.md).
"""
EXAMPLE_2 = ("0.01264", "0.01082")
"""Gains in nats of `lustre`, which the smallest threshold keeps, and `exptl`, which it drops, among six classes."""
GRIDS = ("weka", "imputed", "observed")
"""Estimates: Weka's; Weka's after missing values are replaced by means and modes; of the states that occur."""
PLAIN, IMPRECISE = "NB", "NB after IIG"
PRECISE = tuple(f"NB after IG({alpha:g})" for alpha in ALPHAS)
METHODS = (PLAIN, IMPRECISE, *PRECISE)
"""The columns of tables 3 to 6 in their order."""
OUTER = (ALPHAS[0] / 2, 2 * ALPHAS[-1])
"""Thresholds beyond the paper's four, which section 5 mentions."""
TOO_LOW, TOO_HIGH = (f"NB after IG({alpha:g})" for alpha in OUTER)
_MANY = 0.25  # as a share of the data sets
_KEEPS_ALL = -1.0  # below every information gain: plain naive Bayes, for one pass over the counts

OTHER_TARGET = "_x_class"
"""What the name of a solar flare set ends in with the class of X-class flares, the last attribute, as the target."""
_LEVEL = 0.05
_TOO_FEW = "One data set is too few to test methods on."
_SAME = 0.005  # mean numbers of features that differ by less are equal
_SHOWN = 8  # data sets on which two methods differ most


class Abellan2017(CrossValidatedStudy):
    """Section 5 of the paper: tables 3 to 6. Laplace's alpha = 1, as in Weka's naive Bayes; ten cross-validations."""

    grids: ClassVar[Sequence[str]] = GRIDS
    paper: ClassVar[str] = "abellan2017"
    citation: ClassVar[str] = (
        "J. Abellán and J. G. Castellano (2017), Improving the naive Bayes classifier via a quick variable selection "
        "method using maximum of entropy, Entropy 19 (6)"
    )
    paper_smoothing: ClassVar[Smoothing] = 1.0
    paper_repeats: ClassVar[int] = 10
    quick_names: ClassVar[Sequence[str]] = ("breast_cancer_ljubljana", "hepatitis", "lymphography", "vote", "zoo")

    def paper_names(self) -> tuple[str, ...]:
        names = super().paper_names()
        return (*names, *(f"{name}{OTHER_TARGET}" for name in names if name.startswith("solar_flare")))

    def load(self, name: str) -> tuple[Any, np.ndarray]:
        """Table and classes of a data set, with declared states; the solar flares also by Weka's default target."""
        set_name = name.removesuffix(OTHER_TARGET)
        X, y = self.sets.load(set_name)
        states = self.sets.declared_states(set_name)
        target = self.sets.target(set_name)
        if name != set_name:
            X = X.with_columns(pl.Series(target, y))
            target = next(column for column in X.columns if column.startswith("X-class"))
            X, y = X.drop(target), X[target].to_numpy()
        if self.grid == "imputed":
            X = imputed(X)
        return (X, y) if self.grid == "observed" else (declare(X, y, states, target), y)

    def methods(self) -> dict[str, Any]:
        thresholds = dict(zip((*PRECISE, TOO_LOW, TOO_HIGH), (*ALPHAS, *OUTER), strict=True))
        if self.grid != "observed":
            chosen: dict[str, Any] = {PLAIN: "all", IMPRECISE: "imprecise", **thresholds}
            return {name: WekaNB(select) for name, select in chosen.items()}
        selectors: dict[str, Any] = {
            PLAIN: InformationGainSelector(threshold=_KEEPS_ALL),
            IMPRECISE: ImpreciseInformationGainSelector(s=S),
            **{name: InformationGainSelector(alpha=alpha * float(np.log(2))) for name, alpha in thresholds.items()},
        }
        encoder = TableEncoder(numeric="mdlp", categorical="values", missing="ignore", n_jobs=1)
        return {
            name: SelectiveNB(selector, encoder=encoder, smoothing=self.smoothing, calibrate=False)
            for name, selector in selectors.items()
        }

    def report(self, comparison: Comparison) -> Report:
        results, main, tests = Results.of(comparison), None, None
        tables: list[tuple[str, TextTable]] = []
        claims: tuple[str, ...] = ()
        if results.names:
            main, claims = _main_table(results), tuple(map(_in_words, _claims(comparison)))
            tables.append((f"{len(results.names)} data sets", main))
            if results.pairs():
                tests = _tests_table(results.pairs())
                tables.append(("Wilcoxon signed-rank tests", tests))
        text = document(
            Path(__file__).with_name("report.md"),
            citation=self.citation,
            settings=self.settings,
            n_data=len(comparison.data),
            smoothing=smoothing_text(self.smoothing, "m-estimates"),
            command=self.command,
            alphas=", ".join(f"{alpha:g}" for alpha in ALPHAS),
            grid=self.grid,
            example=[*EXAMPLE_2, *(f"{float(gain) / np.log(6):.4f}" for gain in reversed(EXAMPLE_2))],
            main=main,
            tests=tests,
            claims=claims,
            where=_where(results) if results.names else None,
            accuracy=TextTable.of_data_sets(results.names, METHODS, 100 * results.accuracy, 2),
            features=TextTable.of_data_sets(results.names, METHODS, results.matrix("n_features"), 1),
            failures=failures(comparison),
        )
        return Report(tuple(tables), claims or (_TOO_FEW,), text, {"abellan2017-means.csv": _csv(comparison)})

    def judged(self, comparison: Comparison) -> tuple[Judged, ...]:
        return _claims(comparison)

    def saved(self, results: Path) -> Comparison:
        """Results in a file, or the means over the folds in the document's CSV file, as if of a single fold each."""
        if results.suffix != ".csv":
            return super().saved(results)
        means = pl.read_csv(results).with_columns(repeat=0, fold=0, error=None, figures=None)
        rows = {key_of(row): row for row in means.iter_rows(named=True)}
        return Comparison.of(dict.fromkeys(means["data"]), dict.fromkeys(means["method"]), self.protocol, rows)


def imputed(X: pl.DataFrame) -> pl.DataFrame:
    """Missing numbers as the mean of the column, other missing values as its most frequent one (the first on ties);
    columns without values as they are.
    """
    filled = [
        column.fill_null(column.mean() if column.dtype.is_numeric() else _most_frequent(column))
        for column in X.get_columns()
        if column.null_count() < X.height
    ]
    return X.with_columns(filled)


def _most_frequent(column: pl.Series) -> Any:
    counts = column.drop_nulls().value_counts(sort=True)
    top = counts.filter(pl.col("count") == pl.col("count").max())[column.name]
    return top.sort().first()


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


class Outer(Group):
    """Data sets on which no method failed, with the thresholds outside of the paper's."""

    methods = (PLAIN, TOO_LOW, TOO_HIGH)
    criteria = ("accuracy",)
    reference = PLAIN


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


def _findings(results: Results) -> list[Judged]:
    """The paper's claims of section 6, and their tests; none on a single data set."""
    pairs = {(pair.first, pair.second): pair for pair in results.pairs()}
    if not pairs:
        return []
    means = dict(zip(METHODS, results.accuracy.mean(axis=0).tolist(), strict=True))
    gain = 100 * (means[IMPRECISE] - means[PLAIN])
    main = pairs[PLAIN, IMPRECISE]
    better = main.losses > main.wins
    claims = [
        Judged(
            "Section 6, table 6",
            "NB after IIG is significantly better than NB",
            (_verdict(main.p_value < _LEVEL and better),),
            f"better on {main.losses} data sets, worse on {main.wins}, the same on {main.ties} ({signed(gain, 2)} "
            f"points on average, p {_p(main)})",
        )
    ]
    different = [name for name in PRECISE if pairs[PLAIN, name].p_value < _LEVEL]
    better_ones = [name for name in different if means[name] > means[PLAIN]]
    worse_ones = [name for name in different if means[name] <= means[PLAIN]]
    claims.append(
        Judged(
            "Section 6, table 6",
            "NB after IG is not, whatever the threshold",
            tuple(_verdict(name not in better_ones) for name in PRECISE),
            f"significantly better than NB: {', '.join(better_ones) or 'none'}; significantly worse: "
            f"{', '.join(worse_ones) or 'none'} (p = "
            f"{', '.join(p_text(pairs[PLAIN, name].p_value) for name in PRECISE)} in the order of the thresholds)",
        )
    )
    best = results.accuracy[:, [METHODS.index(name) for name in PRECISE]]
    counts = np.bincount(best.argmax(axis=1), minlength=len(PRECISE)).tolist()
    claims.append(
        Judged(
            "Section 1",
            "The best threshold differs from one data set to the next",
            (_verdict(sum(n > 0 for n in counts) > 1),),
            "the most accurate one (the lowest of equals) is "
            + ", ".join(f"{alpha:g} on {n}" for alpha, n in zip(ALPHAS, counts, strict=True)),
        )
    )
    against = [pairs[IMPRECISE, name] for name in PRECISE]
    claims.append(
        Judged(
            "Section 6, table 6",
            "NB after IIG is better than NB after IG, at every threshold",
            tuple(_verdict(pair.p_value < _LEVEL and pair.wins > pair.losses) for pair in against),
            ", ".join(f"{pair.second} {_record(pair)} (p {_p(pair)})" for pair in against),
        )
    )
    return claims


def _outer_finding(outer: Outer) -> list[Judged]:
    """Claims of section 5 about thresholds beyond the four; none on a single data set."""
    if len(outer.names) < 2:
        return []
    features, accuracy = outer.matrix("n_features"), outer.matrix("accuracy")
    whole = int(np.sum(features[:, 0] - features[:, 1] < _SAME))
    (poor,) = wilcoxon_holm(accuracy[:, [0, 2]], (PLAIN, TOO_HIGH))
    _, low, high = (100 * accuracy.mean(axis=0)).tolist()
    return [
        Judged(
            "Section 5",
            "Below the smallest alpha, IG selects all features of many sets; above the largest, naive Bayes is very "
            "poor",
            (
                _verdict(whole >= _MANY * len(outer.names)),
                _verdict(poor.p_value < _LEVEL and poor.wins > poor.losses),
            ),
            f"alpha = {OUTER[0]:g} selects all features of {whole} of {len(outer.names)} sets in every fold (accuracy "
            f"{low:.2f} %), alpha = {OUTER[1]:g} {features[:, 2].mean():.1f} on average (accuracy {high:.2f} %, p "
            f"{_p(poor)} against NB)",
        )
    ]


def _claims(comparison: Comparison) -> tuple[Judged, ...]:
    return (*_findings(Results.of(comparison)), *_outer_finding(Outer.of(comparison)))


def _in_words(claim: Judged) -> str:
    return f"*{claim.sentence}*: {claim.verdict}; {claim.ours}."


def _p(pair: SignedRanks) -> str:
    text = p_text(pair.p_value)
    return text if text.startswith("<") else f"= {text}"


def _verdict(holds: bool) -> str:
    return "holds" if holds else "does not hold"


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
    same = int(np.sum(selected[:, plain] - selected[:, imprecise] < _SAME))
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

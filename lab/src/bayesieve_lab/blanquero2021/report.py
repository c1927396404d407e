"""Report on Blanquero et al. (2021): the paper's tables and figures beside ours, and its claims.

In private functions, ``results`` are our results, and ``one`` is a data set.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bayesieve_lab.blanquero2021.claims import findings
from bayesieve_lab.blanquero2021.data import (
    AUSTRALIAN,
    BORUTA,
    CLASSIC,
    COMPARATORS,
    CONSTRAINED,
    CORRELATIONS,
    GUIDES,
    MAP,
    MEASURED,
    MEASURES,
    REAL,
    SETS,
    SIZES,
    TABLE_1,
    TABLE_2,
    TABLE_4,
    PaperSet,
    simulated_name,
    sparse_name,
)
from bayesieve_lab.blanquero2021.examples import Examples
from bayesieve_lab.blanquero2021.figure import balanced_figure, short, time_figure, unbalanced_figure
from bayesieve_lab.blanquero2021.results import Results
from bayesieve_lab.blanquero2021.study import Blanquero2021
from bayesieve_lab.blanquero2021.two_thirds import UNSMOOTHED, MostProbableNB
from bayesieve_lab.claims import Judged, claims_table, in_words, reasons
from bayesieve_lab.comparison.results import Comparison
from bayesieve_lab.cross_validated import failures
from bayesieve_lab.simulate.correlated import population_accuracy
from bayesieve_lab.study import Report
from bayesieve_lab.tables import TextTable, mean_and_spread

_RECALLS = ("recall of the first class", "recall of the second class")
_PRECISION = "precision of the first class"


def report(study: Blanquero2021, comparison: Comparison) -> Report:
    """Return the report on the finished folds."""
    from bayesieve_lab.tables import document

    results, examples = Results(comparison), study.examples
    checked = [one for one in findings(results, examples) if isinstance(one, Judged)]
    claims = tuple(map(in_words, checked))
    balanced, unbalanced, simulated = (results.of(kind) for kind in ("balanced", "unbalanced", "simulated"))
    tables: list[tuple[str, TextTable]] = []
    files: dict[str, str] = {}

    def add(title: str, table: TextTable) -> TextTable:
        """Append a table and its title to those that a terminal shows, and return the table."""
        tables.append((title, table))
        return table

    def draw(name: str, title: str, drawing: str) -> str:
        """Add ``drawing``, an SVG, to the files of the report, and return Markdown that shows it; ``name`` ends its
        file name.
        """
        files[f"{study.paper}-{name}.svg"] = drawing
        return f"![{title}]({study.paper}-{name}.svg)"

    text = document(
        Path(__file__).with_name("report.md"),
        citation=study.citation,
        settings=study.settings,
        command=study.command,
        unsmoothed=UNSMOOTHED,
        limit=MostProbableNB.max_seconds,
        folds=results.folds_in_words(results.names),
        table_1=None if examples is None else add("Table 1", _table_1(examples)),
        n_draws=0 if examples is None else len(examples.accuracies["1"]),
        clusters=draw("australian", "Clusters of Australian", examples.figure) if examples and examples.figure else "",
        table_2=add("Table 2", _table_2(results)) if simulated else None,
        times=draw("times", "Time by correlation", time_figure(results)) if simulated else "",
        differences=_differences(results) if simulated else {},
        seconds=_seconds_table(results) if simulated else None,
        balanced=add("Balanced sets", _methods_table(results, balanced)) if balanced else None,
        balanced_drawing=draw("balanced", "Accuracy by features", balanced_figure(results, balanced))
        if balanced
        else "",
        unbalanced=add("Unbalanced sets", _methods_table(results, unbalanced)) if unbalanced else None,
        unbalanced_drawing=draw("unbalanced", "AUC and recalls", unbalanced_figure(results, unbalanced))
        if unbalanced
        else "",
        table_4=add("Table 4", constraints_table(results)) if results.count(AUSTRALIAN.ours, CLASSIC) else None,
        chosen=_chosen_table(results) if results.count(AUSTRALIAN.ours, CLASSIC) else None,
        measures=_measures_table(results),
        cut_short=_cut_short(results),
        missing=_missing(results, [*balanced, *unbalanced]),
        absent=", ".join(one.name for one in REAL if one.ours not in results.names),
        without_boruta=not any(results.count(name, BORUTA) for name in results.names),
        claims_table=claims_table(checked),
        reasons=reasons(checked),
        n_held=sum(one.verdict == "holds" for one in checked),
        n_claims=len(checked),
        failures=failures(comparison),
    )
    return Report(tuple(tables), claims, text, files)


def _table_1(examples: Examples) -> TextTable:
    """Return table 1 of the paper (accuracy in percent by subset of four features), with the mean and deviation of our
    draws.
    """
    rows = []
    for subset, paper in TABLE_1.items():
        draws = np.array(examples.accuracies[subset])
        rows.append((", ".join(f"X{k}" for k in subset), f"{paper:.2f}", mean_and_spread(draws, 2)))
    return TextTable.of(("Features", ">Paper", ">Ours"), rows)


def _table_2(results: Results) -> TextTable:
    """Return table 2 of the paper beside our numbers: accuracies in percent, and numbers of features, on simulated
    data.
    """
    sparse = sparse_name("accuracy", "auto")
    rows = []
    for one in results.of("simulated"):
        accuracy, features, classic = TABLE_2[one.n_features, one.correlation]
        rows.append(
            (
                str(one.n_features),
                f"{one.correlation:g}",
                f"{accuracy:.2f} ({features:g})",
                _with_features(results, one.ours, sparse),
                f"{classic:.2f}",
                f"{100 * results.mean(one.ours, CLASSIC, 'accuracy'):.2f}",
                f"{100 * results.mean(one.ours, CLASSIC, 'smoothed accuracy'):.2f}",
                f"{results.mean(one.ours, sparse, 'q'):g}",
            )
        )
    columns = (">p", ">rho", ">Sparse NB, paper", ">Sparse NB", ">Classic NB, paper", ">Classic NB")
    return TextTable.of((*columns, ">smoothed", ">q"), rows)


def _differences(results: Results) -> dict[str, float]:
    """Return accuracies in percent on simulated data, by name: means of sparse and of classic naive Bayes, and ranges.

    Means are over the settings with a correlation of 0.5 or more, ours and the paper's. Ranges are those of the
    accuracy of classic naive Bayes over all settings: in the paper, and expected for the model that it describes.
    """
    expected = [population_accuracy(p, rho) for p in SIZES for rho in CORRELATIONS]
    strong = [one for one in results.of("simulated") if one.correlation >= 0.5]
    of_paper = [TABLE_2[one.n_features, one.correlation] for one in strong]
    ours = {
        measure: 100 * np.mean([results.mean(one.ours, method, "accuracy") for one in strong] or np.nan)
        for measure, method in (("sparse", sparse_name("accuracy", "auto")), ("classic", CLASSIC))
    }
    theirs = np.array(of_paper, dtype=float).reshape(-1, 3).mean(axis=0) if strong else np.full(3, np.nan)
    return {
        **{name: float(value) for name, value in ours.items()},
        "sparse_paper": float(theirs[0]),
        "classic_paper": float(theirs[2]),
        **{f"{end}_expected": 100 * pick(expected) for end, pick in (("least", min), ("most", max))},
        **{f"{end}_paper": pick(line[2] for line in TABLE_2.values()) for end, pick in (("least", min), ("most", max))},
    }


def _with_features(results: Results, name: str, method: str) -> str:
    """Return accuracy in percent and number of features of a method on a data set as text; empty without results."""
    if not results.count(name, method):
        return ""
    return f"{100 * results.mean(name, method, 'accuracy'):.2f} ({results.mean(name, method, 'n_features'):.1f})"


def _seconds_table(results: Results) -> TextTable:
    """Return a table of the seconds, and mean numbers of candidates, of sparse naive Bayes on simulated data.

    It has one row per number of features, and one column per correlation.
    """
    sparse = sparse_name("accuracy", "auto")
    rows = []
    for p in SIZES:
        times = [results.seconds(simulated_name(p, rho), sparse) for rho in CORRELATIONS]
        candidates = [results.mean(simulated_name(p, rho), sparse, "candidates") for rho in CORRELATIONS]
        cells = (f"{_seconds(t)} ({n:.0f})" if t == t else "" for t, n in zip(times, candidates, strict=True))
        rows.append((str(p), *cells))
    return TextTable.of((">p", *(f">rho = {rho:g}" for rho in CORRELATIONS)), rows)


def _seconds(seconds: float) -> str:
    """Return seconds as text; empty for NaN."""
    return "" if np.isnan(seconds) else f"{seconds:.3f}" if seconds < 1 else f"{seconds:.1f}"


def _methods_table(results: Results, sets: Sequence[PaperSet]) -> TextTable:
    """Return a table with one row per data set and method: performance, number of features, seconds and number of
    folds.

    For unbalanced data sets, it also has recalls, and the precision of class 1.
    """
    two = sets[0].kind == "unbalanced"
    rows = []
    for one in sets:
        for method in results.shown(one):
            rows.append(_line(results, one, method, two=two, first=method == CLASSIC))
    columns = ["Data set", "Method", ">Accuracy", ">AUC", ">Features", ">Seconds"]
    columns[2:2] = [">Recall 1", ">Recall 2", ">Precision 1"] if two else []
    return TextTable.of((*columns, ">Accuracy, smoothed", ">AUC, smoothed", ">Folds"), rows)


def _line(results: Results, data_set: PaperSet, method: str, *, two: bool, first: bool) -> tuple[str, ...]:
    """Return a row of the table of methods, for one method on one data set.

    ``two`` adds recalls, and the precision of class 1; ``first`` shows the name of the data set, otherwise it is empty.
    """

    def percent(measure: str) -> str:
        """Return the mean of a measure in percent as text; empty without results."""
        value = results.mean(data_set.ours, method, measure)
        return "" if np.isnan(value) else f"{100 * value:.2f}"

    return (
        data_set.name if first else "",
        short(method),
        *(percent(measure) for measure in (*_RECALLS, _PRECISION) if two),
        percent("accuracy"),
        percent("auc"),
        f"{results.mean(data_set.ours, method, 'n_features'):.1f}",
        _seconds(results.seconds(data_set.ours, method)),
        percent("smoothed accuracy"),
        percent("smoothed auc"),
        str(results.count(data_set.ours, method)),
    )


def constraints_table(results: Results, *, smoothed: bool = True) -> TextTable:
    """Return table 4 of the paper beside our numbers: recalls, accuracy and number of features under constraints.

    ``smoothed`` adds our recalls and accuracy with smoothed probabilities.
    """
    name, q = AUSTRALIAN.ours, AUSTRALIAN.q
    methods = [CLASSIC, *(sparse_name(guide, q, bounds) for guide, bounds in CONSTRAINED[:3])]
    measures = (*_RECALLS, "accuracy")
    rows = []
    for method, (title, *paper) in zip(methods, TABLE_4, strict=True):
        ours = [100 * results.mean(name, method, measure) for measure in measures]
        of_smoothed = [100 * results.mean(name, method, f"smoothed {measure}") for measure in measures]
        feasible = results.mean(name, method, "feasible")
        rows.append(
            (
                title,
                " / ".join(f"{value:.2f}" for value in paper[:3]),
                " / ".join(f"{value:.2f}" for value in ours),
                *([" / ".join(f"{value:.2f}" for value in of_smoothed)] if smoothed else []),
                f"{paper[3]:g}",
                f"{results.mean(name, method, 'n_features'):.2f}",
                "" if np.isnan(feasible) else f"{feasible:.0%}",
            )
        )
    rates = (">Recall- / Recall+ / accuracy, paper", ">Ours", *([">smoothed"] if smoothed else []))
    return TextTable.of(("Method", *rates, ">Features, paper", ">Features", ">Feasible"), rows)


def _chosen_table(results: Results) -> TextTable:
    """Return a table of how often (percent of folds) each feature of the Australian data is selected.

    It has one row for each criterion and constraints of the search.
    """
    name, q = AUSTRALIAN.ours, AUSTRALIAN.q
    features = [f"V{k}" for k in range(1, 15)]
    rows = []
    for guide, bounds in CONSTRAINED:
        method = sparse_name(guide, q, bounds)
        title = ", ".join([guide, *(f"{measure} > {bound:g}" for measure, bound in bounds.items())])
        rows.append((title, *(f"{100 * results.mean(name, method, feature):.0f}" for feature in features)))
    return TextTable.of(("Guide", *(f">{feature}" for feature in features)), rows)


def _measures_table(results: Results) -> TextTable | None:
    """Return a table of accuracy or AUC in percent, and number of features, by data set and measure of dependence.

    It is None if no data set has results.
    """
    rows = []
    for name in MEASURED:
        one = SETS[name]
        guide = GUIDES.get(one.kind, ("accuracy",))[0]
        measure = "auc" if guide == "auc" else "accuracy"
        methods = [sparse_name(guide, one.q, dependence=dependence) for dependence in MEASURES]
        if results.count(name, methods[0]):
            cells = (
                f"{100 * results.mean(name, method, measure):.2f} ({results.mean(name, method, 'n_features'):.1f})"
                if results.count(name, method)
                else ""
                for method in methods
            )
            rows.append((one.name, "AUC" if measure == "auc" else "accuracy", *cells))
    titles = (f">{dependence.replace('_', ' ')}" for dependence in MEASURES)
    return TextTable.of(("Data set", "Measured by", *titles), rows) if rows else None


def _missing(results: Results, sets: Sequence[PaperSet]) -> str:
    """Return a text that lists each data set on which a method has no folds, if the method has folds on others, such as
    "Boruta on SPECTF".
    """
    parts = [
        f"{method} on {one.name}"
        for method in COMPARATORS
        for one in sets
        if not results.count(one.ours, method) and any(results.count(other.ours, method) for other in sets)
    ]
    return ", ".join(parts)


def _cut_short(results: Results) -> str:
    """Return a text that lists the data sets on which the time limit ended SNB(MAP), with the share of such folds."""
    shares = {SETS[name].name: results.mean(name, MAP, "cut short") for name in results.names}
    return ", ".join(f"{name} ({share:.0%} of the folds)" for name, share in shares.items() if share > 0)

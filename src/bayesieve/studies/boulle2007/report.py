"""The document on Boulle (2007): its tables 3 and 4 with ours, its claims, and every data set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayesieve.evaluation.comparison_result import Comparison
from bayesieve.report.critical_difference import critical_difference_figure
from bayesieve.studies.boulle2007.claims import NAMES, findings, sentences
from bayesieve.studies.boulle2007.claims import table as claims_table
from bayesieve.studies.boulle2007.data import BY_OURS, CHALLENGE, METHODS, OURS, TABLE_3, TABLE_4, UCI
from bayesieve.studies.boulle2007.figure import means_figure
from bayesieve.studies.boulle2007.results import CRITERIA, TITLES, Group, of_paper
from bayesieve.studies.boulle2007.study import Boulle2007
from bayesieve.studies.boulle2007.waveform import WaveformStudy
from bayesieve.studies.boulle2007.waveform_report import waveform_section
from bayesieve.studies.cross_validated import command, failures
from bayesieve.studies.data_sets import DataFacts
from bayesieve.studies.study import Report
from bayesieve.studies.tables import Part, TextTable, document, signed, smoothing_text

_READING = (
    "Differences are ours minus the paper's. W/L counts the data sets on which SNB(CMA) is significantly better and "
    "worse than the method at the 5% level: by the paper's two-tailed Student test of the paired folds, and by the "
    "corrected resampled test (Nadeau & Bengio 2003), which allows for overlapping training sets. Ranks are averages "
    "over the data sets among the paper's seven methods; equal methods share their best rank as in the paper (in the "
    "diagrams their mean rank, as the test requires). The last row, *bayesieve*, is the default classifier of this "
    "package, which is not in the paper: its rank is the one that it has in place of SNB(CMA). The compression rate "
    "uses probabilities of at least 2.2e-16; the last table uses probabilities of at least 1 / test rows of the fold, "
    "for the reasons given under *Where the numbers differ*."
)
_WHY = (
    "## Where the numbers differ\n\n[boulle2007-why.md](boulle2007-why.md) examines the possible reasons one by "
    "one, with numbers computed by `boulle2007_why.py`."
)

_TESTS = (
    "Pairs of methods are compared by an exact two-sided Wilcoxon signed-rank test over the data sets, with Holm's "
    'adjustment for the pairs of one claim and criterion; "open" pairs do not differ significantly at the 5% level.'
)
_DATA = (
    "Rows, numerical and categorical variables, classes and share of the most frequent class as in tables 1 and 2, "
    "with ours in brackets if they differ."
)


def report(
    settings: Mapping[str, Any],
    comparison: Comparison,
    facts: Mapping[str, DataFacts],
    waveform: WaveformStudy | None = None,
) -> Report:
    """Report on a comparison of the paper's methods and ours.

    Parameters
    ----------
    settings : settings of the study.
    comparison : its results.
    facts : facts of every data set by name.
    waveform : sections 5 and 6, if they were computed.
    """
    uci = Group.of(comparison, [one.ours for one in UCI if one.ours])
    challenge = Group.of(comparison, [one.ours for one in CHALLENGE if one.ours])
    tables: list[tuple[str, TextTable]] = []
    files: dict[str, str] = {}
    claims: tuple[str, ...] = ()
    parts: list[Part] = [
        "# Compression-based averaging of selective naive Bayes classifiers: tables 3 and 4 reproduced",
        f"{Boulle2007.citation}.",
        _conditions(settings, comparison),
        f"```\n{command(settings, smoothing='m-estimate')}\n```",
    ]
    if uci.names:
        checked = findings(uci, TABLE_3)
        claims = sentences(checked)
        parts += [f"## Table 3: {len(uci.names)} of {len(UCI)} UCI data sets", _READING]
        parts += _results(uci, TABLE_3, "uci", tables, files)
        parts += ["### The paper's claims", claims, _TESTS, claims_table(checked)]
    if challenge.names:
        parts += [f"## Table 4: {len(challenge.names)} of {len(CHALLENGE)} challenge data sets", _missing(challenge)]
        parts += _results(challenge, TABLE_4, "challenge", tables, files)
    parts += [_WHY, "## Every data set"]
    for group in filter(lambda group: group.names, (uci, challenge)):
        for criterion in CRITERIA:
            table = TextTable.of_data_sets(group.names, group.methods, group.matrix(criterion), 3)
            parts += [f"**{NAMES[criterion]}**", table]
    parts += ["## The data, compared with the paper's", _DATA, _data_table(comparison, facts), _absent(comparison)]
    parts += ["## Seconds", _seconds(uci, challenge), failures(comparison)]
    if waveform is not None:
        text, figures = waveform_section(waveform)
        parts.append(text)
        files |= figures
    return Report(tuple(tables), claims, document(parts), files)


def _conditions(settings: Mapping[str, Any], comparison: Comparison) -> str:
    learnt = smoothing_text(settings["smoothing"], "the paper's m-estimate")
    repeats = "" if settings["repeats"] == 1 else f", {settings['repeats']} times with other folds"
    short = "" if settings["folds"] == 10 else " This is a quick trial: the paper has 10 folds, and more data."
    return (
        f"{len(comparison.data)} data sets, stratified {settings['folds']}-fold cross-validation (seed "
        f"{settings['seed']}){repeats}; probabilities by {learnt}. SNB(MAP), SNB(BMA) and SNB(CMA) search by "
        "MS(FFWBW), algorithm 1 of the paper, with log2(K N) starts; SNB(AUC) by the same search on the training AUC, "
        "with the best subset on the path; SNB(ACC) by forward search on the training "
        "accuracy. NB(EF) has 10 bins of equal frequency and one level per category; all others use "
        f"MODL.{short}"
    )


def _results(
    group: Group,
    paper: Mapping[str, Any],
    name: str,
    tables: list[tuple[str, TextTable]],
    files: dict[str, str],
) -> list[Part]:
    """The table of each criterion, the means as a chart, and the ranks as diagrams."""
    parts: list[Part] = []
    whole, kind = (len(UCI), "UCI") if name == "uci" else (len(CHALLENGE), "challenge")
    group_in_words = f"{len(group.names)} of {whole} {kind} data sets"
    for criterion in CRITERIA:
        main = _main_table(group, paper, criterion)
        tables.append((f"{group_in_words}: {TITLES[criterion]}", main))
        parts += [f"**{TITLES[criterion]}**", main]
    title = f"Means over {len(group.names)} data sets"
    files[f"boulle2007-{name}-means.svg"] = means_figure(group, paper, title)
    parts.append(f"![{title}](boulle2007-{name}-means.svg)")
    difference = group.critical_difference()
    for criterion in CRITERIA if difference is not None else ():
        ranks = [group.ranks(criterion, shared="mean")[method] for method in METHODS]
        words = f"Average ranks: {TITLES[criterion]}"
        figure = critical_difference_figure(METHODS, ranks, difference, n_data=len(group.names), title=words)
        file = f"boulle2007-{name}-ranks-{criterion.replace('_', '-')}.svg"
        files[file] = figure.to_svg()
        parts.append(f"![{words}]({file})")
    return parts


def _main_table(group: Group, paper: Mapping[str, Any], criterion: str) -> TextTable:
    published = paper[of_paper(criterion)]
    means, ranks = group.means(criterion), group.ranks(criterion)
    tests = [group.records(criterion, corrected=corrected) for corrected in (False, True)]
    rows = []
    for method in (*METHODS, OURS):
        cell = published.get(method)
        rows.append(
            (
                method,
                f"{cell.mean:.3f}" if cell else "",
                f"{means[method]:.3f}",
                signed(means[method] - cell.mean, 3) if cell else "",
                f"{cell.wins}/{cell.losses}" if cell and cell.wins is not None else "",
                *(f"{test[method].wins}/{test[method].losses}" if method in test else "" for test in tests),
                f"{cell.rank:.1f}" if cell else "",
                f"{ranks[method]:.1f}",
            )
        )
    columns = ("Method", ">Mean, paper", ">Mean", ">Difference", ">W/L, paper", ">W/L", ">W/L, corrected test")
    return TextTable.of((*columns, ">Rank, paper", ">Rank"), rows)


def _missing(group: Group) -> str:
    absent = ", ".join(one.name for one in CHALLENGE if one.ours not in group.names)
    return (
        f"Missing here: {absent}. The paper's means, ranks and W/L are over all ten data sets, so only the order of "
        "the methods can be compared with ours."
        if absent
        else ""
    )


def _data_table(comparison: Comparison, facts: Mapping[str, DataFacts]) -> TextTable:
    rows_of = {row["data"]: row["n_train"] + row["n_test"] for row in comparison.rows}
    rows = []
    for name in comparison.data:
        paper, own = BY_OURS[name], facts[name]
        pairs = (
            (str(paper.rows), str(rows_of.get(name, own.rows))),
            (str(paper.n_numeric), str(own.n_numeric)),
            (str(paper.n_categorical), str(own.n_categorical)),
            (str(paper.n_classes), str(own.n_classes)),
            (f"{paper.majority_share:.1%}", f"{own.majority_share:.1%}"),
        )
        cells = (theirs if _alike(theirs, ours) else f"{theirs} (ours {ours})" for theirs, ours in pairs)
        rows.append((paper.name, name, *cells, paper.note or own.note))
    columns = ("Paper", "Ours", ">Rows", ">Numerical", ">Categorical", ">Classes", ">Majority", "Note")
    return TextTable.of(columns, rows)


def _alike(theirs: str, ours: str) -> bool:
    """Whether two texts agree; shares may differ by rounding in the last digit."""
    if theirs.endswith("%"):
        return abs(float(theirs[:-1]) - float(ours[:-1])) < 0.15
    return theirs == ours


def _absent(comparison: Comparison) -> str:
    absent = [one.name for one in (*UCI, *CHALLENGE) if one.ours not in comparison.data]
    return f"Not available here: {', '.join(absent)}." if absent else ""


def _seconds(*groups: Group) -> TextTable:
    shown = {name: group.seconds() for name, group in zip(("UCI", "Challenge"), groups, strict=True) if group.names}
    rows = [(method, *(f"{seconds[method]:.1f}" for seconds in shown.values())) for method in (*METHODS, OURS)]
    columns = ("Training and prediction, one thread, all folds", *(f">{name}" for name in shown))
    return TextTable.of(columns, rows)

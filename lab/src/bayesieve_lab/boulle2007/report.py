"""Report on Boulle (2007): its tables 3 and 4 beside ours, its claims, and every data set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bayesieve_lab.boulle2007.claims import NAMES, judge
from bayesieve_lab.boulle2007.data import BY_OURS, CHALLENGE, METHODS, OURS, TABLE_3, TABLE_4, UCI
from bayesieve_lab.boulle2007.figure import means_figure
from bayesieve_lab.boulle2007.results import CRITERIA, TITLES, Group, Readings, of_paper
from bayesieve_lab.boulle2007.study import Boulle2007
from bayesieve_lab.boulle2007.waveform_report import waveform_section
from bayesieve_lab.claims import Judged, claims_table, in_words
from bayesieve_lab.comparison.results import Comparison
from bayesieve_lab.cross_validated import failures
from bayesieve_lab.data_sets import DataFacts
from bayesieve_lab.study import Report
from bayesieve_lab.tables import TextTable, document, number_text, signed, smoothing_text


def report(study: Boulle2007, comparison: Comparison) -> Report:
    """Return the report on a comparison of the paper's methods and ours."""
    uci = Group.of(comparison, [one.ours for one in UCI if one.ours])
    challenge = Group.of(comparison, [one.ours for one in CHALLENGE if one.ours])
    readings = Readings.of(comparison, uci.names)
    facts = {name: _facts(study, name) for name in comparison.data}
    tables: list[tuple[str, TextTable]] = []
    files: dict[str, str] = {}
    checked = [one for one in judge(comparison) if isinstance(one, Judged)]
    of_uci = [one for one in checked if one.where.endswith("table 3")]
    others = [one for one in checked if one not in of_uci]
    claims = tuple(map(in_words, checked))
    text = document(
        Path(__file__).with_name("report.md"),
        citation=study.citation,
        settings=study.settings,
        data=comparison.data,
        smoothing=smoothing_text(study.smoothing, "the paper's m-estimate"),
        command=study.command,
        uci=uci,
        challenge=challenge,
        n_uci=len(UCI),
        n_challenge=len(CHALLENGE),
        uci_results=_results(uci, TABLE_3, "UCI", len(UCI), tables, files),
        challenge_results=_results(challenge, TABLE_4, "challenge", len(CHALLENGE), tables, files),
        readings=_readings(readings, TABLE_3) if readings.names else None,
        claims=claims_table(of_uci) if of_uci else None,
        challenge_claims=claims_table(others) if others else None,
        missing=", ".join(one.name for one in CHALLENGE if one.ours not in challenge.names),
        criteria=CRITERIA,
        names=NAMES,
        of_data_sets=TextTable.of_data_sets,
        data_table=_data_table(comparison, facts),
        absent=", ".join(one.name for one in (*UCI, *CHALLENGE) if one.ours not in comparison.data),
        seconds=_seconds(uci, challenge),
        failures=failures(comparison),
        waveform="" if study.waveform is None else waveform_section(study.waveform, files),
    )
    return Report(tuple(tables), claims, text, files)


def _facts(study: Boulle2007, name: str) -> DataFacts:
    """Return the facts of our copy of a data set; if it cannot be downloaded, those of the paper, which agree."""
    return study.sets.facts(name) if name in study.sets else BY_OURS[name]


def _results(
    group: Group,
    paper: Mapping[str, Any],
    kind: str,
    whole: int,
    tables: list[tuple[str, TextTable]],
    files: dict[str, str],
) -> str:
    """Return Markdown with a table of results for each criterion, and a chart of the means; empty without data sets.

    The tables, with titles, are also appended to ``tables``, and the chart is added to ``files``. ``group`` has our
    results, ``paper`` the paper's numbers by criterion and method; ``kind`` is "UCI" or "Challenge", and ``whole`` the
    paper's number of data sets of this kind.
    """
    if not group.names:
        return ""
    parts = []
    for criterion in CRITERIA:
        main = _main_table(group, paper, criterion)
        tables.append((f"{len(group.names)} of {whole} {kind} data sets: {TITLES[criterion]}", main))
        parts += [f"**{TITLES[criterion]}**", main.to_markdown()]
    title, name = f"Means over {len(group.names)} data sets", kind.lower()
    file = f"boulle2007-{name}-means.svg"
    files[file] = means_figure(group, paper, title)
    return "\n\n".join([*parts, f"![{title}]({file})"])


def _main_table(group: Group, paper: Mapping[str, Any], criterion: str) -> TextTable:
    """Return a table with one row per method: the paper's and our mean, wins and losses, and rank by one criterion.

    Wins and losses of SNB(CMA) are shown by the paper's test and by the corrected one. ``group`` has our results,
    ``paper`` the paper's by criterion and method.
    """
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
                number_text(means[method], ".3f"),
                signed(means[method] - cell.mean, 3) if cell else "",
                f"{cell.wins}/{cell.losses}" if cell and cell.wins is not None else "",
                *(f"{test[method].wins}/{test[method].losses}" if method in test else "" for test in tests),
                f"{cell.rank:.1f}" if cell else "",
                number_text(ranks[method], ".1f"),
            )
        )
    columns = ("Method", ">Mean, paper", ">Mean", ">Difference", ">W/L, paper", ">W/L", ">W/L, corrected test")
    return TextTable.of((*columns, ">Rank, paper", ">Rank"), rows)


def _readings(group: Readings, paper: Mapping[str, Any]) -> TextTable:
    """Return a table of mean ACC, AUC and CR of three methods, each by several interpretations of the paper's text.

    A row of the paper's numbers precedes those of each method. ``group`` has our results, ``paper`` the paper's by
    criterion and method.
    """
    rows = []
    for name in ("SNB(CMA)", "SNB(BMA)", "SNB(ACC)"):
        rows.append((name, "paper", *(f"{paper[of_paper(criterion)][name].mean:.3f}" for criterion in CRITERIA)))
        for method in group.methods:
            if method.startswith(name):
                reading = method.removeprefix(name).lstrip(", ") or "as in the tables"
                rows.append(("", reading, *(f"{group.means(criterion)[method]:.4f}" for criterion in CRITERIA)))
    return TextTable.of(("Method", "Reading", *(f">{NAMES[criterion]}" for criterion in CRITERIA)), rows)


def _data_table(comparison: Comparison, facts: Mapping[str, DataFacts]) -> TextTable:
    """Return a table with the size, classes and notes of each data set; our numbers are added if they differ from the
    paper's.

    ``facts`` describes our copies by name.
    """
    rows_of = {row["data"]: row["n_train"] + row["n_test"] for row in comparison.rows}
    rows = []
    for name in comparison.data:
        paper, of_file = BY_OURS[name], facts[name]
        pairs = (
            (str(paper.rows), str(rows_of.get(name, of_file.rows))),
            (str(paper.n_numeric), str(of_file.n_numeric)),
            (str(paper.n_categorical), str(of_file.n_categorical)),
            (str(paper.n_classes), str(of_file.n_classes)),
            (f"{paper.majority_share:.1%}", f"{of_file.majority_share:.1%}"),
        )
        cells = (theirs if _alike(theirs, ours) else f"{theirs} (ours {ours})" for theirs, ours in pairs)
        rows.append((paper.name, name, *cells, paper.note or of_file.note))
    columns = ("Paper", "Ours", ">Rows", ">Numerical", ">Categorical", ">Classes", ">Majority", "Note")
    return TextTable.of(columns, rows)


def _alike(theirs: str, ours: str) -> bool:
    """Return whether two numbers, given as texts, agree; percentages may differ by rounding in the last digit."""
    if theirs.endswith("%"):
        return abs(float(theirs[:-1]) - float(ours[:-1])) < 0.15
    return theirs == ours


def _seconds(*groups: Group) -> TextTable:
    """Return a table of seconds of training and prediction over all folds, by method, with one column per group.

    The groups are our results on the UCI data sets and on those of the challenge.
    """
    shown = {name: group.seconds() for name, group in zip(("UCI", "Challenge"), groups, strict=True) if group.names}
    rows = [(method, *(f"{seconds[method]:.1f}" for seconds in shown.values())) for method in (*METHODS, OURS)]
    columns = ("Training and prediction, one thread, all folds", *(f">{name}" for name in shown))
    return TextTable.of(columns, rows)

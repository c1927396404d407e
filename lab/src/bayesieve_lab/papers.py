"""Page on all papers: for each, the result of the reproduction, its main claims, and its best-known table beside ours.

    python -m bayesieve_lab.papers docs/papers.md

writes it and the pages of the papers.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bayesieve.table import write_atomically
from bayesieve_lab.abellan2017.study import Results as AbellanResults, means_table
from bayesieve_lab.blanquero2021.report import constraints_table
from bayesieve_lab.blanquero2021.results import Results as BlanqueroResults
from bayesieve_lab.boulle2007.claims import JUDGED
from bayesieve_lab.boulle2007.data import METHODS, TABLE_3, UCI
from bayesieve_lab.boulle2007.results import Group, of_paper
from bayesieve_lab.claims import NO_NUMBER, UNLIKE, WORDS, Judged
from bayesieve_lab.gidofalvi.claims import LINES, values_of
from bayesieve_lab.gidofalvi.report import finished_draws
from bayesieve_lab.ledger import FOLDER, SOURCES, Line, Verdicts, judged, read_ledger
from bayesieve_lab.pages import write_pages
from bayesieve_lab.rabenoro2015.page import errors_table, saved_grids, values_by_grid
from bayesieve_lab.rabenoro2015.study import METHODS as SEARCHES
from bayesieve_lab.registry import PAPERS, Options, make_study
from bayesieve_lab.surpassed.contests import TREES
from bayesieve_lab.surpassed.page import better_on
from bayesieve_lab.tables import TextTable, document, number_text

_ORDER = [*WORDS.values(), "differs between variants", UNLIKE]


def papers_page(folder: Path) -> str:
    """Return the page on all papers, from the results in a folder."""
    papers, answers = [], []
    for paper, sources in SOURCES.items():
        ledger, verdicts = read_ledger(paper), judged(folder, sources)[0]
        title, table = _TABLES[paper](folder)
        papers.append(
            {
                "name": paper,
                "citation": PAPERS[paper].citation,
                "lines": lines_table(verdicts, ledger.lines),
                "title": title,
                "table": table,
                "counts": counts(verdicts, sum(part.kind == "claim" for part in ledger.entries)),
            }
        )
        answers.append((f"[{paper}](#{paper})", ledger.answer))
    overview = TextTable.of(("Paper", "Does it hold?"), answers)
    default = {"the best method of a paper": better_on(folder), "gradient boosting": better_on(folder, TREES)}
    return document(Path(__file__).with_name("papers.md"), papers=papers, answers=overview, default=default)


def lines_table(verdicts: Verdicts, lines: Sequence[Line]) -> TextTable:
    """Return a table of the most important claims of a paper.

    ``verdicts`` are those of `bayesieve_lab.ledger.judged`, ``lines`` the claims to show.

    Raises
    ------
    KeyError
        If no study judges one of the claims.
    """
    rows = []
    for line in lines:
        variants = {source.label: one for source, one in verdicts[line.place, line.claim].items()}
        first = next(iter(variants.values()))
        number = first.checks[0]
        ours = "; ".join(
            f"{label} {_short(one)}" if len(variants) > 1 else _short(one) for label, one in variants.items()
        )
        words: dict[str, list[str]] = {}
        for label, one in variants.items():
            words.setdefault(one.verdict, []).append(label)
        verdict = "; ".join(f"{word} ({', '.join(of)})" if len(words) > 1 else word for word, of in words.items())
        printed = first.printed.replace(NO_NUMBER, "")
        alone = len(first.checks) == 1 and not isinstance(number.paper, str)
        says = f"{line.says} ({number.text('paper')})" if alone else line.says
        rows.append((says, ours, f"**{verdict}**", printed, line.why))
    return TextTable.of(("The paper says", "Ours", "Verdict", "Paper's numbers", "Why"), rows)


def _short(claim: Judged) -> str:
    """Return our numbers for a claim as a short text: a single number, a range, or how many comparisons hold."""
    checks = claim.checks
    numbers = [check.ours for check in checks if isinstance(check.ours, int | float)]
    if len(checks) == 1 or len(numbers) < len(checks):
        return checks[0].text("ours") if len(checks) == 1 else f"{_held(claim)} of {len(checks)}"
    low, high = (number_text(end, checks[0].form) for end in (min(numbers), max(numbers)))
    return f"{_held(claim)} of {len(checks)}: {low} to {high}" if low != high else low


def _held(claim: Judged) -> int:
    """Return the number of comparisons of a claim that hold."""
    return sum(check.verdict == "holds" for check in claim.checks)


def counts(verdicts: Verdicts, n_unmeasured: int) -> str:
    """Return a sentence with the number of claims by verdict, and of those not measured.

    Claims on which the variants of a study disagree are counted separately.
    """
    outcomes = [{one.verdict for one in variants.values()} for variants in verdicts.values()]
    words = Counter(next(iter(of)) if len(of) == 1 else "differs between variants" for of in outcomes)
    counted = [(word, words[word]) for word in _ORDER if words[word]] + [("not measured", n_unmeasured)]
    return ", ".join(f"{word} {n}" for word, n in counted if n)


def _of_boulle(folder: Path) -> tuple[str, TextTable]:
    """Return title and table with means of Boulle (2007), table 3, and ours."""
    study = make_study("boulle2007")
    group = Group.of(study.saved(folder / "boulle2007.jsonl"), [one.ours for one in UCI if one.ours])
    rows = []
    for method in METHODS:
        pairs = ((TABLE_3[of_paper(by)][method].mean, group.means(by)[method]) for by in JUDGED)
        rows.append((method, *(f"{value:.3f}" for pair in pairs for value in pair)))
    columns = ("Method", *(f">{name}{of}" for name in JUDGED.values() for of in (", paper", "")))
    return f"Table 3: means over {len(group.names)} UCI data sets.", TextTable.of(columns, rows)


def _of_abellan(folder: Path) -> tuple[str, TextTable]:
    """Return title and table with our means for tables 3 to 5 of Abellan & Castellano (2017)."""
    study = make_study("abellan2017")
    results = AbellanResults.of(study.saved(folder / "abellan2017-means.csv"))
    title = f"Tables 3 to 5: means over {len(results.names)} data sets; the paper's numbers are lost in our copy."
    return title, means_table(results, tested=False)


def _of_rabenoro(folder: Path) -> tuple[str, TextTable]:
    """Return title and table with test errors and sizes of Rabenoro et al. (2015), table 1, and ours."""
    comparisons = saved_grids(folder)
    errors, features = (values_by_grid(comparisons, what) for what in ("test", "features"))
    return "Table 1: test errors, and numbers of indicators in brackets.", errors_table(SEARCHES, errors, features)


def _of_blanquero(folder: Path) -> tuple[str, TextTable]:
    """Return title and table with results under constraints of Blanquero et al. (2021), table 4, and ours."""
    study = make_study("blanquero2021")
    results = BlanqueroResults(study.saved(folder / "blanquero2021.jsonl"))
    return "Table 4: Australian with constraints, in percent.", constraints_table(results, smoothed=False)


def _of_gidofalvi(folder: Path) -> tuple[str, TextTable]:
    """Return title and table with errors and profits of Gidofalvi & Zadrozny, table 3, and ours."""
    study: Any = make_study("gidofalvi", Options())
    comparison = finished_draws(study.saved(folder / "gidofalvi.jsonl"))
    values: Mapping[tuple[str, str], Mapping[str, np.ndarray]] = {
        (campaign.name, what): values_of(comparison, campaign.name, f"{what} test")
        for campaign in study.campaigns
        for what in ("mse", "profit")
    }
    rows = []
    for line in LINES:
        if line.mse is not None and line.profit is not None:
            cells = [f"{line.mse[1]:.5f} / {line.profit[1]}"]
            for campaign in study.campaigns:
                mse, profit = (values[campaign.name, what][line.name].mean() for what in ("mse", "profit"))
                cells.append(f"{number_text(mse, '.5f')} / {number_text(profit, '.0f')}")
            rows.append((line.name, *cells))
    columns = ("Method", ">Paper", *(f">{campaign.name}" for campaign in study.campaigns))
    return "Table 3: squared error and profit in dollars on test rows.", TextTable.of(columns, rows)


_TABLES: Mapping[str, Callable[[Path], tuple[str, TextTable]]] = {
    "boulle2007": _of_boulle,
    "abellan2017": _of_abellan,
    "rabenoro2015": _of_rabenoro,
    "blanquero2021": _of_blanquero,
    "gidofalvi": _of_gidofalvi,
}


def main(page: str) -> None:
    """Write the page, whose path is given, and the pages of the papers."""
    path = Path(page)
    folder = path.absolute().parents[1] / FOLDER
    write_pages(folder)
    write_atomically(path, papers_page(folder))


if __name__ == "__main__":
    main(sys.argv[1])

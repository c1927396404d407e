"""The ledger of the papers: every method, formula, table, figure and claim, where it lives, and the verdict.

    python -m bayesieve_lab.ledger docs/papers.md

writes it and the pages of the studies. Verdicts on claims are computed from the results in `lab/reproduction`.
Methods, formulas, tables and figures, and claims that are not measured, are in the file ``ledger.toml`` of each study.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bayesieve.table import write_atomically
from bayesieve_lab.blanquero2021.compromise import judge_compromise
from bayesieve_lab.boulle2007.challenge import Challenge
from bayesieve_lab.boulle2007.search import judge_search
from bayesieve_lab.boulle2007.waveform import read_waveform
from bayesieve_lab.boulle2007.waveform_claims import judge_waveform
from bayesieve_lab.claims import Closeness, Judged
from bayesieve_lab.comparison.results import read_results
from bayesieve_lab.growth import read_lines
from bayesieve_lab.made import read_made
from bayesieve_lab.pages import GRIDS, write_pages
from bayesieve_lab.rabenoro2015.complexity import judge_complexity
from bayesieve_lab.rabenoro2015.filters import judge_filters
from bayesieve_lab.registry import PAPERS, Options, make_study
from bayesieve_lab.surpassed import page as surpassed
from bayesieve_lab.tables import TextTable, document

FOLDER = "lab/reproduction"
KINDS = {"method": "Method", "formula": "Formula", "table": "Table", "figure": "Figure"}


Found = Sequence[Judged | Closeness]
"""Claims with their verdicts, and how close tables and figures come."""


@dataclass(frozen=True)
class Source:
    """Results of a study, the page that shows them, and the claims judged by them.

    ``label`` tells the variants of a study apart; ``stand_in`` marks data that take the place of the paper's.
    """

    label: str
    results: str
    page: str
    judge: Callable[[Path], Found]
    stand_in: bool = False


def _saved(paper: str, results: Path, **options: Any) -> Found:
    study = make_study(paper, Options(**options))
    return study.judged(study.saved(results))


def _of_challenge(results: Path) -> Found:
    study = Challenge(Options())
    return study.judged(study.saved(results))


def _of_waveform(results: Path) -> Found:
    study = read_waveform(results.with_name("boulle2007.jsonl"))
    if study is None:
        raise ValueError(f"{results} does not hold the waveform study; compute it again.")
    return judge_waveform(study.splits)


def _of_search(results: Path) -> Found:
    return judge_search(read_lines(results))


def _of_complexity(results: Path) -> Found:
    return judge_complexity(read_lines(results))


def _of_filters(grid: str, results: Path) -> Found:
    return judge_filters(read_lines(results), read_results(results.with_name(f"rabenoro2015-{grid}.jsonl")), grid)


def _of_compromise(results: Path) -> Found:
    return judge_compromise(read_lines(results))


SOURCES: Mapping[str, tuple[Source, ...]] = {
    "boulle2007": (
        Source("", "boulle2007.jsonl", "boulle2007.md", partial(_saved, "boulle2007")),
        Source("", "boulle2007-waveform.json", "boulle2007.md", _of_waveform),
        Source("", "boulle2007-challenge.jsonl", "boulle2007-challenge.md", _of_challenge),
        Source("", "boulle2007-search.jsonl", "boulle2007-search.svg", _of_search),
    ),
    "abellan2017": (Source("", "abellan2017-means.csv", "abellan2017.md", partial(_saved, "abellan2017")),),
    "rabenoro2015": (
        *(
            Source(
                grid,
                f"rabenoro2015-{grid}.jsonl",
                f"rabenoro2015-{grid}.md",
                partial(_saved, "rabenoro2015", grid=grid, repetitions=repetitions),
            )
            for grid, repetitions in GRIDS.items()
        ),
        *(Source(grid, "rabenoro2015-filters.jsonl", "rabenoro2015.md", partial(_of_filters, grid)) for grid in GRIDS),
        Source("", "rabenoro2015-complexity.jsonl", "rabenoro2015-complexity.svg", _of_complexity),
    ),
    "blanquero2021": (
        Source("", "blanquero2021.jsonl", "blanquero2021.md", partial(_saved, "blanquero2021")),
        Source("", "blanquero2021-compromise.jsonl", "blanquero2021.md", _of_compromise),
    ),
    "gidofalvi": (
        Source("simulated", "gidofalvi.jsonl", "gidofalvi.md", partial(_saved, "gidofalvi", only=("donations",)), True),
        Source("pva97nk", "gidofalvi-pva97nk.jsonl", "gidofalvi.md", partial(_saved, "gidofalvi"), True),
    ),
}
"""By paper, in the order of the page."""


@dataclass(frozen=True)
class Entry:
    """A line of ``ledger.toml``: a part of the paper in words, and the files of this repository that hold it.

    ``why`` explains why a claim is not measured, or what differs in a table or figure; ``close`` is how close a table
    or figure comes, unless that is computed.
    """

    kind: str
    place: str
    what: str
    lives: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    why: str = ""
    close: str = ""


def entries(paper: str) -> tuple[Entry, ...]:
    """The entries of a paper."""
    text = Path(__file__).with_name(paper).joinpath("ledger.toml").read_text(encoding="utf-8")
    lists = ("lives", "tests")
    return tuple(
        Entry(**(line | {name: tuple(line.get(name, ())) for name in lists})) for line in tomllib.loads(text)["entry"]
    )


def ledger(folder: Path) -> str:
    """The page, from the results in ``folder``."""
    papers, best, made = [], surpassed.tables(folder), read_made(folder)
    for paper, sources in SOURCES.items():
        lines = entries(paper)
        claims, close = judged(folder, sources)
        papers.append(
            {
                "name": paper,
                "citation": PAPERS[paper].citation,
                "parts": _parts([line for line in lines if line.kind in ("method", "formula")]),
                "shown": _shown([line for line in lines if line.kind in ("table", "figure")], close),
                "claims": _claims(claims, [line for line in lines if line.kind == "claim"]),
                "counts": _counts(claims, sum(line.kind == "claim" for line in lines)),
                "surpassed": best.get(paper, []),
                "made": _made([*(source.results for source in sources), *surpassed.files(folder, paper)], made),
            }
        )
    return document(Path(__file__).with_name("ledger.md"), papers=papers)


Verdicts = dict[tuple[str, str], dict[Source, Judged]]
"""Of every claim, by place and sentence, by source."""


def judged(folder: Path, sources: Sequence[Source]) -> tuple[Verdicts, dict[str, str]]:
    """All claims about which the results of a paper are informative, and how close its tables come, by place."""
    verdicts: Verdicts = {}
    close: dict[str, str] = {}
    for source in sources:
        for one in source.judge(folder / source.results):
            if isinstance(one, Judged):
                verdicts.setdefault((one.where, one.sentence), {})[source] = one
            else:
                text = f"{one.text} ({source.label})" if source.label else one.text
                close[one.where] = f"{close[one.where]}; {text}" if one.where in close else text
    return verdicts, close


def _links(paths: Sequence[str]) -> str:
    """Links from a page in `docs` to files of the repository."""
    return ", ".join(f"[{Path(path).name}](../{path})" for path in paths)


def _parts(lines: Sequence[Entry]) -> TextTable:
    rows = [(line.place, f"{line.what}{_note(line)}", _links(line.lives), _links(line.tests)) for line in lines]
    return TextTable.of(("Place", "Method or formula", "Lives in", "Tested by"), rows)


def _shown(lines: Sequence[Entry], close: Mapping[str, str]) -> TextTable:
    rows = [
        (
            line.place,
            f"{line.what}{_note(line)}",
            _links(line.lives) or "not reproduced",
            line.close or close.get(line.place, ""),
        )
        for line in lines
    ]
    return TextTable.of(("Place", "Shows", "Reproduced in", "How close"), rows)


def _made(results: Sequence[str], made: Mapping[str, Any]) -> TextTable:
    """Files of results with the commits and settings that made them."""
    rows = []
    for name in dict.fromkeys(results):
        known = made.get(name, {"commits": {}, "settings": {}})
        settings = ", ".join(f"{key} {value}" for key, value in known["settings"].items() if value not in ((), [], ""))
        commits = ", ".join(f"{commit} ({n} lines)" for commit, n in known["commits"].items())
        rows.append((_links([f"{FOLDER}/{name}"]), commits, settings))
    return TextTable.of(("Results", "Commit", "Settings"), rows)


def _note(line: Entry) -> str:
    return f". {line.why}" if line.why else ""


def _claims(claims: Verdicts, unmeasured: Sequence[Entry]) -> TextTable:
    rows = []
    for (where, sentence), by_source in claims.items():
        variants = [(source.label, one) for source, one in by_source.items()]
        sources = dict.fromkeys(path for source in by_source for path in (source.page, source.results))
        files = _links([f"{FOLDER}/{path}" for path in sources])
        told = [_by_label(variants, words) for words in _COLUMNS]
        if all(source.stand_in for source in by_source):
            told[0] = f"{_ELSEWHERE}; {told[0]}"
        rows.append((where, sentence, *told, files))
    rows += [(line.place, line.what, "not measured", "", line.why, "", "", _links(line.lives)) for line in unmeasured]
    columns = ("Place", "Claim", "Verdict", "Paper", "Ours", "Margin, p", "Repetitions", "Numbers")
    return TextTable.of(columns, rows)


_COLUMNS: tuple[Callable[[Judged], str], ...] = (
    lambda one: one.verdict_in_words,
    lambda one: one.summary("paper") or "no number",
    lambda one: one.summary("ours"),
    lambda one: one.tested,
    lambda one: one.summary("over"),
)


def _by_label(variants: Sequence[tuple[str, Judged]], words: Callable[[Judged], str]) -> str:
    """One text if all variants agree, else that of each."""
    texts: dict[str, list[str]] = {}
    for label, one in variants:
        texts.setdefault(words(one), []).append(label)
    if len(texts) == 1:
        return next(iter(texts))
    return "; ".join(f"{', '.join(labels)}: {text}" for text, labels in texts.items())


def _counts(claims: Verdicts, n_unmeasured: int) -> str:
    """The number of claims by verdict; "differs" if the variants of a study disagree."""
    verdicts = [
        {_ELSEWHERE if all(source.stand_in for source in variants) else one.verdict for one in variants.values()}
        for variants in claims.values()
    ]
    words = [next(iter(of_claim)) if len(of_claim) == 1 else "differs between variants" for of_claim in verdicts]
    counts = {word: words.count(word) for word in dict.fromkeys(sorted(words, key=_ORDER.index))}
    return ", ".join(f"{word} {n}" for word, n in (*counts.items(), ("not measured", n_unmeasured)) if n)


_ELSEWHERE = "not measured on the paper's data"
_ORDER = ["holds", "does not hold", "cannot be told", "differs between variants", _ELSEWHERE]


def main(page: str) -> None:
    """Write the pages of the studies and this one."""
    path = Path(page)
    folder = path.absolute().parents[1] / FOLDER
    write_pages(folder)
    write_atomically(path, ledger(folder))


if __name__ == "__main__":
    main(sys.argv[1])

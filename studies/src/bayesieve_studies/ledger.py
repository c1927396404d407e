"""The ledger of the papers: every method, formula, table, figure and claim, where it lives, and the verdict.

    python -m bayesieve_studies.ledger docs/papers.md

Verdicts on claims are computed from the results in `studies/reproduction`. Methods, formulas,
tables and figures, and claims that are not measured, are in the file ``ledger.toml`` of each study.
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
from bayesieve_studies.boulle2007.challenge import Challenge
from bayesieve_studies.boulle2007.search import judge_search
from bayesieve_studies.boulle2007.waveform import read_waveform
from bayesieve_studies.boulle2007.waveform_claims import judge_waveform
from bayesieve_studies.claims import Judged
from bayesieve_studies.growth import read_lines
from bayesieve_studies.rabenoro2015.complexity import judge_complexity
from bayesieve_studies.registry import PAPERS, Options, make_study
from bayesieve_studies.tables import TextTable, document

FOLDER = "studies/reproduction"
REPETITIONS = {"levels": 30, "quantiles": 30, "coarse": 30}
"""Of the results of Rabenoro et al. (2015), by grid."""
KINDS = {"method": "Method", "formula": "Formula", "table": "Table", "figure": "Figure"}


@dataclass(frozen=True)
class Source:
    """Results of a study, the page that shows them, and the claims judged by them.

    ``label`` tells the variants of a study apart.
    """

    label: str
    results: str
    page: str
    judge: Callable[[Path], Sequence[Judged]]


def _saved(paper: str, results: Path, **options: Any) -> Sequence[Judged]:
    study = make_study(paper, Options(**options))
    return study.judged(study.saved(results))


def _of_challenge(results: Path) -> Sequence[Judged]:
    study = Challenge(Options())
    return study.judged(study.saved(results))


def _of_waveform(results: Path) -> Sequence[Judged]:
    study = read_waveform(results.with_name("boulle2007.jsonl"))
    if study is None:
        raise ValueError(f"{results} does not hold the waveform study; compute it again.")
    return judge_waveform(study.splits)


def _of_search(results: Path) -> Sequence[Judged]:
    return judge_search(read_lines(results))


def _of_complexity(results: Path) -> Sequence[Judged]:
    return judge_complexity(read_lines(results))


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
            for grid, repetitions in REPETITIONS.items()
        ),
        Source("", "rabenoro2015-complexity.jsonl", "rabenoro2015-complexity.svg", _of_complexity),
    ),
    "blanquero2021": (Source("", "blanquero2021.jsonl", "blanquero2021.md", partial(_saved, "blanquero2021")),),
    "gidofalvi": (
        Source("simulated", "gidofalvi.jsonl", "gidofalvi.md", partial(_saved, "gidofalvi")),
        Source("pva97nk", "gidofalvi-pva97nk.jsonl", "gidofalvi.md", partial(_saved, "gidofalvi")),
    ),
}
"""By paper, in the order of the page."""


@dataclass(frozen=True)
class Entry:
    """A line of ``ledger.toml``: a part of the paper in words, and the files of this repository that hold it.

    ``why`` explains why a claim is not measured, or what differs in a table or figure.
    """

    kind: str
    place: str
    what: str
    lives: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    why: str = ""


def entries(paper: str) -> tuple[Entry, ...]:
    """The entries of a paper."""
    text = Path(__file__).with_name(paper).joinpath("ledger.toml").read_text(encoding="utf-8")
    lists = ("lives", "tests")
    return tuple(
        Entry(**(line | {name: tuple(line.get(name, ())) for name in lists})) for line in tomllib.loads(text)["entry"]
    )


def ledger(folder: Path) -> str:
    """The page, from the results in ``folder``."""
    papers = []
    for paper, sources in SOURCES.items():
        lines = entries(paper)
        claims = judged(folder, sources)
        papers.append(
            {
                "name": paper,
                "citation": PAPERS[paper].citation,
                "parts": _parts([line for line in lines if line.kind in ("method", "formula")]),
                "shown": _shown([line for line in lines if line.kind in ("table", "figure")]),
                "claims": _claims(claims, [line for line in lines if line.kind == "claim"]),
                "counts": _counts(claims, sum(line.kind == "claim" for line in lines)),
            }
        )
    return document(Path(__file__).with_name("ledger.md"), papers=papers)


Verdicts = dict[tuple[str, str], dict[Source, Judged]]
"""Of every claim, by place and sentence, by source."""


def judged(folder: Path, sources: Sequence[Source]) -> Verdicts:
    """All claims about which the results of a paper are informative."""
    verdicts: Verdicts = {}
    for source in sources:
        for one in source.judge(folder / source.results):
            verdicts.setdefault((one.where, one.sentence), {})[source] = one
    return verdicts


def _links(paths: Sequence[str]) -> str:
    """Links from a page in `docs` to files of the repository."""
    return ", ".join(f"[{Path(path).name}](../{path})" for path in paths)


def _parts(lines: Sequence[Entry]) -> TextTable:
    rows = [(line.place, f"{line.what}{_note(line)}", _links(line.lives), _links(line.tests)) for line in lines]
    return TextTable.of(("Place", "Method or formula", "Lives in", "Tested by"), rows)


def _shown(lines: Sequence[Entry]) -> TextTable:
    rows = [(line.place, f"{line.what}{_note(line)}", _links(line.lives) or "not reproduced") for line in lines]
    return TextTable.of(("Place", "Shows", "Reproduced in"), rows)


def _note(line: Entry) -> str:
    return f". {line.why}" if line.why else ""


def _claims(claims: Verdicts, unmeasured: Sequence[Entry]) -> TextTable:
    rows = []
    for (where, sentence), by_source in claims.items():
        variants = [(source.label, one) for source, one in by_source.items()]
        sources = dict.fromkeys(path for source in by_source for path in (source.page, source.results))
        files = _links([f"{FOLDER}/{path}" for path in sources])
        rows.append(
            (
                where,
                sentence,
                _by_label(variants, "verdict"),
                _by_label(variants, "comparisons"),
                _ours(variants),
                files,
            )
        )
    rows += [(line.place, line.what, "not measured", "", line.why, _links(line.lives)) for line in unmeasured]
    return TextTable.of(("Place", "Claim", "Verdict", "Comparisons that hold", "Measured", "Numbers"), rows)


def _by_label(variants: Sequence[tuple[str, Judged]], what: str) -> str:
    """One text if all variants agree, else that of each."""
    texts: dict[str, list[str]] = {}
    for label, one in variants:
        texts.setdefault(getattr(one, what), []).append(label)
    if len(texts) == 1:
        return next(iter(texts))
    return "; ".join(f"{text} ({', '.join(labels)})" for text, labels in texts.items())


def _ours(variants: Sequence[tuple[str, Judged]]) -> str:
    return "; ".join(f"{label}: {one.ours}" if label else one.ours for label, one in variants if one.ours)


def _counts(claims: Verdicts, n_unmeasured: int) -> str:
    """The number of claims by verdict; "differs" if the variants of a study disagree."""
    verdicts = [{one.verdict for one in variants.values()} for variants in claims.values()]
    words = [next(iter(of_claim)) if len(of_claim) == 1 else "differs between variants" for of_claim in verdicts]
    counts = {word: words.count(word) for word in dict.fromkeys(sorted(words, key=_ORDER.index))}
    return ", ".join(f"{word} {n}" for word, n in (*counts.items(), ("not measured", n_unmeasured)) if n)


_ORDER = ["holds", "does not hold", "cannot be told", "differs between variants"]


def main(page: str) -> None:
    """Write the page."""
    path = Path(page)
    write_atomically(path, ledger(path.absolute().parents[1] / FOLDER))


if __name__ == "__main__":
    main(sys.argv[1])

"""Ledger of the papers: every method, formula, table, figure and claim, the code that implements it, and the verdict.

Verdicts on claims are computed from the results in `lab/reproduction`. Methods, formulas, tables and figures, claims
that are not measured, and the lines of docs/papers.md are in the file ``ledger.toml`` of each study. ``folder`` is that
of the results, and ``results`` a file in it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bayesieve_lab.blanquero2021.compromise import judge_compromise
from bayesieve_lab.boulle2007.challenge import Challenge
from bayesieve_lab.boulle2007.search import judge_search
from bayesieve_lab.boulle2007.waveform import read_waveform
from bayesieve_lab.boulle2007.waveform_claims import judge_waveform
from bayesieve_lab.claims import Closeness, Judged, claims_table, reasons, variants_table
from bayesieve_lab.comparison.results import read_results
from bayesieve_lab.growth import read_lines
from bayesieve_lab.made import read_made
from bayesieve_lab.rabenoro2015.complexity import judge_complexity
from bayesieve_lab.rabenoro2015.filters import judge_filters
from bayesieve_lab.rabenoro2015.study import GRIDS, REPETITIONS_KEPT
from bayesieve_lab.registry import Options, make_study
from bayesieve_lab.tables import TextTable

FOLDER = "lab/reproduction"

Found = Sequence[Judged | Closeness]
"""Claims with their verdicts, and distances between the numbers of tables and figures and ours."""


@dataclass(frozen=True)
class Source:
    """File with results of a study, and the function that judges claims by them.

    ``label`` distinguishes variants of a study; ``reported`` is whether the study's own report shows the claims.
    """

    label: str
    results: str
    judge: Callable[[Path], Found]
    reported: bool = True


def _saved(paper: str, results: Path, **options: Any) -> Found:
    """Return the claims of a paper, judged by a file of results; ``options`` are those of the study."""
    study = make_study(paper, Options(**options))
    return study.judged(study.saved(results))


def _of_challenge(results: Path) -> Found:
    """Return the claims about the challenge of Boulle (2007), judged by a file of results."""
    study = Challenge(Options())
    return study.judged(study.saved(results))


def _of_waveform(results: Path) -> Found:
    """Return the claims about the waveform study of Boulle (2007), judged by a file of results."""
    study = read_waveform(results.with_name("boulle2007.jsonl"))
    if study is None:
        raise ValueError(f"{results} does not hold the waveform study; compute it again.")
    return judge_waveform(study.splits)


def _of_search(results: Path) -> Found:
    """Return the claims about the search of Boulle (2007), judged by a file of measurements."""
    return judge_search(read_lines(results))


def _of_complexity(results: Path) -> Found:
    """Return the claims about running times in Rabenoro et al. (2015), judged by a file of measurements."""
    return judge_complexity(read_lines(results))


def _of_filters(grid: str, results: Path) -> Found:
    """Return the claims about filters in Rabenoro et al. (2015), judged by measurements with a grid of thresholds."""
    return judge_filters(read_lines(results), read_results(results.with_name(f"rabenoro2015-{grid}.jsonl")), grid)


def _of_compromise(results: Path) -> Found:
    """Return the claims about compromises in Blanquero et al. (2021), judged by a file of measurements."""
    return judge_compromise(read_lines(results))


SOURCES: Mapping[str, tuple[Source, ...]] = {
    "boulle2007": (
        Source("", "boulle2007.jsonl", partial(_saved, "boulle2007")),
        Source("", "boulle2007-waveform.json", _of_waveform),
        Source("", "boulle2007-challenge.jsonl", _of_challenge),
        Source("", "boulle2007-search.jsonl", _of_search, reported=False),
    ),
    "abellan2017": (Source("", "abellan2017-means.csv", partial(_saved, "abellan2017")),),
    "rabenoro2015": (
        *(
            Source(
                grid,
                f"rabenoro2015-{grid}.jsonl",
                partial(_saved, "rabenoro2015", grid=grid, repetitions=REPETITIONS_KEPT),
                reported=False,
            )
            for grid in GRIDS
        ),
        *(Source(grid, "rabenoro2015-filters.jsonl", partial(_of_filters, grid), reported=False) for grid in GRIDS),
        Source("", "rabenoro2015-complexity.jsonl", _of_complexity, reported=False),
    ),
    "blanquero2021": (
        Source("", "blanquero2021.jsonl", partial(_saved, "blanquero2021")),
        Source("", "blanquero2021-compromise.jsonl", _of_compromise, reported=False),
    ),
    "gidofalvi": (
        Source("simulated", "gidofalvi.jsonl", partial(_saved, "gidofalvi", only=("donations",))),
        Source("pva97nk", "gidofalvi-pva97nk.jsonl", partial(_saved, "gidofalvi")),
    ),
}
"""Sources of results by paper, in the order of the page."""


@dataclass(frozen=True)
class Entry:
    """Part of a paper, as described in ``ledger.toml``.

    Attributes
    ----------
    kind : "method", "formula", "table", "figure" or "claim".
    place, what : place in the paper, and description.
    lives, tests : files of this repository that implement and test it.
    why : reason why a claim is not measured, or what differs in a table or figure.
    close : how close a table or figure is to the paper's, unless that is computed.
    """

    kind: str
    place: str
    what: str
    lives: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    why: str = ""
    close: str = ""


@dataclass(frozen=True)
class Line:
    """A line of a paper on docs/papers.md.

    Attributes
    ----------
    place, claim : place in the paper and text of a claim that is judged.
    says : the claim in few words.
    why : reason why it does not hold, or a remark.
    """

    place: str
    claim: str
    says: str
    why: str = ""


@dataclass(frozen=True)
class Ledger:
    """Contents of ``ledger.toml``.

    Attributes
    ----------
    answer : result of the reproduction in a sentence.
    lines : the most important claims.
    entries : all parts of the paper.
    """

    answer: str
    lines: tuple[Line, ...]
    entries: tuple[Entry, ...]


def read_ledger(paper: str) -> Ledger:
    """Return the ledger of a paper from its file ``ledger.toml``."""
    parsed = tomllib.loads(Path(__file__).with_name(paper).joinpath("ledger.toml").read_text(encoding="utf-8"))
    lists = ("lives", "tests")
    entries = tuple(Entry(**(one | {name: tuple(one.get(name, ())) for name in lists})) for one in parsed["entry"])
    return Ledger(parsed["answer"], tuple(Line(**one) for one in parsed["line"]), entries)


Verdicts = dict[tuple[str, str], dict[Source, Judged]]
"""Verdicts on every claim, by place and sentence, then by source."""


def judged(folder: Path, sources: Sequence[Source]) -> tuple[Verdicts, dict[str, str]]:
    """Return the verdicts on all claims of a paper that can be judged by the results, and the closeness of its tables.

    Verdicts are by place and sentence, then by source; closeness is a text by place.
    """
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


def details(folder: Path, paper: str) -> str:
    """Return further sections of the page of a paper: claims that its report does not show, and all parts of
    the paper.
    """
    sources, parts = SOURCES[paper], read_ledger(paper).entries
    close = judged(folder, sources)[1]
    return "\n\n".join(
        [
            *_more_claims(folder, sources, [part for part in parts if part.kind == "claim"]),
            "## Methods and formulas",
            _methods([part for part in parts if part.kind in ("method", "formula")]).to_markdown(),
            "## Tables and figures",
            _shown([part for part in parts if part.kind in ("table", "figure")], close).to_markdown(),
            "## Results",
            'A "+" marks code that was changed since the commit; lines are those of the file when the run ended.',
            _made([source.results for source in sources], read_made(folder)).to_markdown(),
        ]
    )


def _more_claims(folder: Path, sources: Sequence[Source], unmeasured: Sequence[Entry]) -> list[str]:
    """Return Markdown of the claims that no report shows, with a column for each variant if a study has several."""
    variants: dict[str, list[Judged]] = {}
    for source in sources:
        if not source.reported:
            claims = [one for one in source.judge(folder / source.results) if isinstance(one, Judged)]
            variants.setdefault(source.label, []).extend(claims)
    plain = variants.pop("", [])
    tables = [variants_table(variants)] * bool(variants) + [claims_table(plain)] * bool(plain)
    if unmeasured:
        rows = [(part.place, part.what, part.why) for part in unmeasured]
        tables.append(TextTable.of(("Place", "Not measured", "Why"), rows))
    if not tables:
        return []
    explained = reasons([*(one for judged in variants.values() for one in judged), *plain])
    rule = "[The rule for verdicts](../../docs/papers.md#the-rule) is that of all papers."
    title = "## The paper's claims" if all(not source.reported for source in sources) else "## More claims"
    return [title, rule, *(table.to_markdown() for table in tables), *([explained] if explained else [])]


def _links(paths: Sequence[str]) -> str:
    """Return links from a page of the results to files of the repository."""
    return ", ".join(f"[{Path(path).name}](../../{path})" for path in paths)


def _methods(entries: Sequence[Entry]) -> TextTable:
    """Return a table of methods and formulas, with links to code and tests.

    ``entries`` are the parts of the paper that are listed.
    """
    rows = [(line.place, f"{line.what}{_note(line)}", _links(line.lives), _links(line.tests)) for line in entries]
    return TextTable.of(("Place", "Method or formula", "Lives in", "Tested by"), rows)


def _shown(entries: Sequence[Entry], close: Mapping[str, str]) -> TextTable:
    """Return a table of the paper's tables and figures; ``close`` has computed closeness by place.

    ``entries`` are the parts of the paper that are listed.
    """
    rows = [
        (
            line.place,
            f"{line.what}{_note(line)}",
            _links(line.lives) or "not reproduced",
            line.close or close.get(line.place, ""),
        )
        for line in entries
    ]
    return TextTable.of(("Place", "Shows", "Reproduced in", "How close"), rows)


def _made(results: Sequence[str], records: Mapping[str, Any]) -> TextTable:
    """Return a table of files of results with the commits and settings that produced them.

    ``results`` are names of files, and ``records`` the result of `read_made`.
    """
    rows = []
    for name in dict.fromkeys(results):
        record = records.get(name, {"commits": {}, "settings": {}})
        settings = ", ".join(f"{key} {value}" for key, value in record["settings"].items() if value not in ((), [], ""))
        commits = ", ".join(f"{commit} ({n} lines)" for commit, n in record["commits"].items())
        rows.append((f"[{name}]({name})", commits, settings))
    return TextTable.of(("Results", "Commit", "Settings"), rows)


def _note(entry: Entry) -> str:
    """Return the remark on a part of the paper as a sentence to append, or nothing."""
    return f". {entry.why}" if entry.why else ""

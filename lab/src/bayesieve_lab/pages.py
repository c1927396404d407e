"""Pages of the papers, one for each, computed from the results in the same folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from bayesieve.table import write_atomically
from bayesieve_lab.abellan2017.study import CLAIMS, claims_section
from bayesieve_lab.ledger import details
from bayesieve_lab.rabenoro2015.page import grids_page
from bayesieve_lab.registry import Options, make_study
from bayesieve_lab.surpassed.page import surpassed_page

Files = dict[str, str]
"""Contents of pages and drawings by file name."""
HERE = Path(__file__).parent


def _report(name: str, paper: str, folder: Path, **options: Any) -> Files:
    """Return the report of a study on its saved results, and its figures, by file name.

    ``name`` is that of the file of results, ``folder`` its folder; ``options`` are those of the study.
    """
    study = make_study(paper, Options(**options))
    report = study.report(study.saved(folder / f"{name}.jsonl"))
    return {f"{paper}.md": report.markdown, **report.files}


def _boulle(folder: Path) -> Files:
    """Return the page on Boulle (2007), and its figures, by file name.

    It has tables 3 and 4, the reasons for differences, and the study of the challenge.
    """
    files, of_challenge = (
        _report(name, "boulle2007", folder, challenge=challenge)
        for name, challenge in (("boulle2007", False), ("boulle2007-challenge", True))
    )
    why = (HERE / "boulle2007" / "why.md").read_text(encoding="utf-8")
    text = "\n".join([files["boulle2007.md"], lowered(why), lowered(of_challenge["boulle2007.md"])])
    return {**of_challenge, **files, "boulle2007.md": text}


def _abellan(folder: Path) -> Files:
    """Return the page on Abellan & Castellano (2017), by file name.

    Its claims are judged by means over folds, because there are too many folds to be saved.
    """
    text = (folder / "abellan2017.md").read_text(encoding="utf-8")
    study = make_study("abellan2017")
    claims = claims_section(study.judged(study.saved(folder / "abellan2017-means.csv")))
    why = lowered((HERE / "abellan2017" / "why.md").read_text(encoding="utf-8"))
    before, rest = text.partition(f"{CLAIMS}\n")[::2]
    after = rest.partition("\n## Where the methods differ\n")[2].partition(why.partition("\n")[0])[0].rstrip()
    return {"abellan2017.md": f"{before}{claims}\n\n## Where the methods differ\n{after}\n\n{why}"}


PAGES: Mapping[str, Callable[[Path], Files]] = {
    "boulle2007": _boulle,
    "abellan2017": _abellan,
    "rabenoro2015": grids_page,
    "blanquero2021": partial(_report, "blanquero2021", "blanquero2021"),
    "gidofalvi": partial(_report, "gidofalvi", "gidofalvi"),
}
"""Function by paper that creates its pages."""


def lowered(text: str) -> str:
    """Return a page as a section of another page: its headings are one level lower."""
    return re.sub(r"^(#+ )", r"#\1", text, flags=re.M)


def page_of(paper: str, folder: Path) -> Files:
    """Return the page of a paper and its figures, by file name, from the results in a folder."""
    files = PAGES[paper](folder)
    return files | {f"{paper}.md": f"{files[f'{paper}.md'].rstrip()}\n\n{details(folder, paper)}\n"}


def write_pages(folder: Path) -> None:
    """Write all pages and figures into the folder of the results."""
    files = {"surpassed.md": surpassed_page(folder)}
    for paper in PAGES:
        files |= page_of(paper, folder)
    for name, text in files.items():
        write_atomically(folder / name, text)

"""The pages of the studies, computed from the results that are next to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bayesieve.table import write_atomically
from bayesieve_lab.registry import Options, make_study
from bayesieve_lab.surpassed.page import surpassed_page

GRIDS = {"levels": 30, "quantiles": 30, "coarse": 30}
"""Repetitions of Rabenoro et al. (2015) by grid."""


@dataclass(frozen=True)
class Page:
    """A page, ``name`` with ".md", and the options of the study that made its results, ``name`` with ".jsonl"."""

    name: str
    paper: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def files(self, folder: Path) -> dict[str, str]:
        """The page and its drawings, by name."""
        study = make_study(self.paper, Options(**self.options))
        report = study.report(study.saved(folder / f"{self.name}.jsonl"))
        return {f"{self.name}.md": report.markdown, **report.files}


PAGES = (
    Page("boulle2007", "boulle2007"),
    Page("boulle2007-challenge", "boulle2007", {"challenge": True}),
    *(Page(f"rabenoro2015-{grid}", "rabenoro2015", {"grid": grid, "repetitions": n}) for grid, n in GRIDS.items()),
    Page("rabenoro2015-levels-m-estimate", "rabenoro2015", {"repetitions": 10, "smoothing": "m-estimate"}),
    Page("blanquero2021", "blanquero2021"),
    Page("gidofalvi", "gidofalvi"),
)
"""All pages but that of Abellan & Castellano (2017), whose folds are too many to be kept: a test compares it with the
means in its CSV file.
"""


def pages(folder: Path) -> dict[str, str]:
    """All pages and drawings, from the results in a folder, by name."""
    files = {name: text for page in PAGES for name, text in page.files(folder).items()}
    return files | {"surpassed.md": surpassed_page(folder)}


def write_pages(folder: Path) -> None:
    """Write all pages and drawings."""
    for name, text in pages(folder).items():
        write_atomically(folder / name, text)

"""Tables of papers, measured anew: one study per paper."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from bayesieve.evaluation.reproduce.study import Options, Report, Study

__all__ = ["PAPERS", "Options", "Paper", "Report", "Study", "make_study"]


@dataclass(frozen=True)
class Paper:
    """A paper that can be reproduced: where it appeared, and the module that holds its ``STUDY``."""

    name: str
    citation: str
    module: str


PAPERS = {
    paper.name: paper
    for paper in (
        Paper(
            name="rabenoro2015",
            citation=(
                "T. Rabenoro, J. Lacaille, M. Cottrell and F. Rossi (2015), Search strategies for binary feature "
                "selection for a naive Bayes classifier, ESANN"
            ),
            module="bayesieve.evaluation.reproduce.rabenoro2015",
        ),
    )
}
"""The papers by the names that commands use."""


def make_study(paper: str, options: Options | None = None) -> Study:
    """The study of a paper.

    Parameters
    ----------
    paper : a name in `PAPERS`.
    options : what to run; None is the study as it stands.

    Raises
    ------
    ValueError
        If there is no such paper, or an option has no meaning for it.

    Examples
    --------
    >>> from bayesieve.evaluation.reproduce import Options, make_study
    >>> make_study("rabenoro2015", Options(repetitions=20)).settings["grid"]
    'levels'
    """
    if paper not in PAPERS:
        raise ValueError(f"There is no paper {paper!r} to reproduce; choose one of {', '.join(map(repr, PAPERS))}.")
    study: Study = import_module(PAPERS[paper].module).STUDY(options or Options())
    return study

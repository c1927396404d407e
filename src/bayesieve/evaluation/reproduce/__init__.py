"""Tables of papers, measured anew: one study per paper."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from bayesieve.evaluation.reproduce.study import Options, Report, Study

__all__ = ["PAPERS", "Options", "Paper", "Report", "Study", "make_study", "study_class"]


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
        Paper(
            name="boulle2007",
            citation=(
                "M. Boulle (2007), Compression-based averaging of selective naive Bayes classifiers, Journal of "
                "Machine Learning Research 8"
            ),
            module="bayesieve.evaluation.reproduce.boulle2007",
        ),
        Paper(
            name="abellan2017",
            citation=(
                "J. Abellán and J. G. Castellano (2017), Improving the naive Bayes classifier via a quick variable "
                "selection method using maximum of entropy, Entropy 19 (6)"
            ),
            module="bayesieve.evaluation.reproduce.abellan2017",
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
    return study_class(paper)(options or Options())


def study_class(paper: str) -> type[Study]:
    """The class of a paper's study: what may be asked of it before any option is looked at.

    Raises
    ------
    ValueError
        If there is no such paper.
    """
    if paper not in PAPERS:
        raise ValueError(f"There is no paper {paper!r} to reproduce; choose one of {', '.join(map(repr, PAPERS))}.")
    study: type[Study] = import_module(PAPERS[paper].module).STUDY
    return study

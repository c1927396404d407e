"""Reproductions of papers, one folder each, with the data sets and the other classifiers that they compare with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bayesieve.studies.study import Options, Report, Study

__all__ = ["PAPERS", "Options", "Paper", "Report", "Study", "make_study", "study_class"]


@dataclass(frozen=True)
class Paper:
    """A paper that can be reproduced.

    name : its name in commands; citation : its reference; study : imports and returns the class of its study.
    """

    name: str
    citation: str
    study: Callable[[], type[Study]]


def _rabenoro2015() -> type[Study]:
    from bayesieve.studies.rabenoro2015.study import Rabenoro2015

    return Rabenoro2015


def _boulle2007() -> type[Study]:
    from bayesieve.studies.boulle2007.study import Boulle2007

    return Boulle2007


def _abellan2017() -> type[Study]:
    from bayesieve.studies.abellan2017.study import Abellan2017

    return Abellan2017


PAPERS = {
    paper.name: paper
    for paper in (
        Paper(
            "rabenoro2015",
            "T. Rabenoro, J. Lacaille, M. Cottrell and F. Rossi (2015), Search strategies for binary feature selection "
            "for a naive Bayes classifier, ESANN",
            _rabenoro2015,
        ),
        Paper(
            "boulle2007",
            "M. Boulle (2007), Compression-based averaging of selective naive Bayes classifiers, Journal of Machine "
            "Learning Research 8",
            _boulle2007,
        ),
        Paper(
            "abellan2017",
            "J. Abellán and J. G. Castellano (2017), Improving the naive Bayes classifier via a quick variable "
            "selection method using maximum of entropy, Entropy 19 (6)",
            _abellan2017,
        ),
    )
}
"""Papers by name; each is a folder of this package."""


def make_study(paper: str, options: Options | None = None) -> Study:
    """The study of a paper.

    Parameters
    ----------
    paper : a name in `PAPERS`.
    options : what to run; None for the defaults.

    Raises
    ------
    ValueError
        If there is no such paper, or an option is invalid.

    Examples
    --------
    >>> from bayesieve.studies import Options, make_study
    >>> make_study("rabenoro2015", Options(repetitions=20)).settings["grid"]
    'levels'
    """
    return study_class(paper)(options or Options())


def study_class(paper: str) -> type[Study]:
    """The class of a paper's study.

    Raises
    ------
    ValueError
        If there is no such paper.
    """
    if paper not in PAPERS:
        raise ValueError(f"There is no paper {paper!r} to reproduce; choose from {', '.join(map(repr, PAPERS))}.")
    return PAPERS[paper].study()

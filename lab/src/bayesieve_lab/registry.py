"""Studies by the names of their papers."""

from __future__ import annotations

from bayesieve_lab.abellan2017.study import Abellan2017
from bayesieve_lab.blanquero2021.study import Blanquero2021
from bayesieve_lab.boulle2007.study import Boulle2007
from bayesieve_lab.gidofalvi.study import Gidofalvi
from bayesieve_lab.rabenoro2015.study import Rabenoro2015
from bayesieve_lab.study import Options, Report, Study

__all__ = ["PAPERS", "Options", "Report", "Study", "make_study"]

_STUDIES: tuple[type[Study], ...] = (Rabenoro2015, Boulle2007, Abellan2017, Blanquero2021, Gidofalvi)
PAPERS = {study.paper: study for study in _STUDIES}
"""Studies by the names of their papers in commands; each study is a folder of this package."""


def make_study(paper: str, options: Options | None = None) -> Study:
    """Return the study of a paper.

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
    >>> from bayesieve_lab import Options, make_study
    >>> make_study("rabenoro2015", Options(repetitions=20)).settings["grid"]
    'levels'
    """
    if paper not in PAPERS:
        raise ValueError(f"There is no paper {paper!r} to reproduce; choose from {', '.join(map(repr, PAPERS))}.")
    study, options = PAPERS[paper], options or Options()
    if options.challenge:
        if study.challenge is None:
            raise ValueError(f"{paper} took part in no challenge; omit `challenge`.")
        study = study.challenge
    return study(options)

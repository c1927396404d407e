"""Comparisons on the data sets of each paper, and how to run them.

    python -m bayesieve_lab.surpassed.contests DIR lab/reproduction boulle2007 --method bayesieve --method EBM

A run continues where an earlier one ended.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bayesieve import SelectiveNB, as_published
from bayesieve_lab.abellan2017.study import IMPRECISE
from bayesieve_lab.blanquero2021.data import GUIDES, REAL, sparse_name
from bayesieve_lab.boulle2007.data import REFERENCE
from bayesieve_lab.comparison.comparing import compare_many
from bayesieve_lab.comparison.folds import RepeatedFolds, Split
from bayesieve_lab.gidofalvi.campaigns import BALANCED, SIMULATED
from bayesieve_lab.gidofalvi.model import CampaignNB
from bayesieve_lab.made import record
from bayesieve_lab.peers import PEERS
from bayesieve_lab.registry import Options, make_study
from bayesieve_lab.surpassed.indicators import OnIndicators
from bayesieve_lab.surpassed.successors import SUCCESSORS
from bayesieve_lab.surpassed.timed import Timed, TimedCampaign, TimedLetters

Makers = dict[str, Callable[[], Any]]
"""Functions that create a method, by its name."""

DEFAULT, KHIOPS, TREES, EBM = "bayesieve", "Khiops 11 (fractional)", "gradient boosting", "EBM"
OTHERS: Mapping[str, Callable[[], Any]] = {
    DEFAULT: SelectiveNB,
    KHIOPS: lambda: PEERS["khiops"](n_jobs=1),
    TREES: lambda: PEERS["hist-gradient-boosting"](),
    EBM: lambda: PEERS["ebm"](n_jobs=1),
}
N_FOLDS, N_DRAWS, N_SERIES = 10, 10, 10
"""Numbers of folds of the papers' cross-validation (run once here), of draws of donors, and of draws of engine series.
"""
BEST_OF_DONORS = "10 forward"


@dataclass(frozen=True)
class Contest:
    """Comparison of methods on the data sets of a paper.

    Attributes
    ----------
    best : name of the paper's best method.
    data : by name, functions that load a table and its classes, numbered from 0.
    split : split of the rows.
    methods : function of a data set that returns functions that create the methods, by name. A method is created only
        if it is run, so that its package need not be installed otherwise.
    """

    paper: str
    best: str
    data: Mapping[str, Callable[[], tuple[Any, np.ndarray]]]
    split: Split
    methods: Callable[[str], Makers]


def _numbered(load: Callable[[str], tuple[Any, np.ndarray]], name: str) -> tuple[Any, np.ndarray]:
    """Return the table and classes of the data set ``name``, with classes numbered from 0; ``load`` reads it."""
    X, y = load(name)
    return X, np.unique(y, return_inverse=True)[1]


def _cross_validated(paper: str, best: Callable[[str], Any], title: str, folder: Path | None) -> Contest:
    """Return the contest of a study by cross-validation.

    ``best`` returns the name of the paper's best method for a data set, ``title`` is its name in tables, and ``folder``
    that of the data sets.
    """
    study: Any = make_study(paper, Options(data=folder, grid="observed" if paper == "abellan2017" else None))

    def methods(name: str) -> Makers:
        """Return functions that create the methods for a data set, by name."""
        of_paper = study.methods_of(name) if hasattr(study, "methods_of") else study.methods()
        shown = best(name) if best(name).startswith(f"{title},") else title  # with its options, if they differ by set
        return {shown: partial(Timed, of_paper[best(name)])} | _timed(OTHERS)

    names = [one.ours for one in REAL if one.ours in study.names] if paper == "blanquero2021" else study.names
    data = {name: partial(_numbered, study.load, name) for name in names}
    return Contest(paper, title, data, RepeatedFolds(N_FOLDS, 1, 0), methods)


def _timed(makers: Mapping[str, Callable[[], Any]], wrap: Callable[[Any], Any] = Timed) -> Makers:
    """Return functions that create methods with timed fits, by name.

    ``makers`` are functions that create the methods, by name; ``wrap`` converts a method to a timed one.
    """
    return {name: lambda make=make: wrap(make()) for name, make in makers.items()}  # type: ignore[misc]


def _of_boulle(folder: Path | None) -> Contest:
    """Return the contest on the data of Boulle (2007), with later selective naive Bayes classifiers."""
    contest = _cross_validated("boulle2007", lambda _: REFERENCE, REFERENCE, folder)
    return replace(contest, methods=lambda name: contest.methods(name) | _timed(SUCCESSORS))


def _of_blanquero(folder: Path | None) -> Contest:
    """Return the contest on the data of Blanquero et al. (2021)."""
    kinds = {one.ours: one for one in REAL}

    def best(name: str) -> str:
        """Return the name of the paper's sparse naive Bayes for a data set."""
        return sparse_name(GUIDES.get(kinds[name].kind, ("accuracy",))[0], kinds[name].q)

    return _cross_validated("blanquero2021", best, "Sparse NB", folder)


def _of_abellan(folder: Path | None) -> Contest:
    """Return the contest on the data of Abellan & Castellano (2017)."""
    return _cross_validated("abellan2017", lambda _: IMPRECISE, IMPRECISE, folder)


def _of_rabenoro(folder: Path | None) -> Contest:
    """Return the contest on the simulated engine series of Rabenoro et al. (2015); ``folder`` is ignored."""
    study: Any = make_study("rabenoro2015", Options(repetitions=N_SERIES))
    best = "Backward-forward, probability"

    def methods(_: str) -> Makers:
        """Return functions that create the methods, by name; they are the same for all data sets."""
        return {best: lambda: Timed(study.methods()[best])} | _timed(OTHERS, lambda model: Timed(OnIndicators(model)))

    data = {name: partial(_numbered, lambda name: study.data()[name](), name) for name in study.data()}
    return Contest("rabenoro2015", best, data, study.protocol, methods)


def _of_gidofalvi(campaign: str, n_draws: int, folder: Path | None) -> Contest:
    """Return the contest on a campaign of Gidofalvi & Zadrozny; ``n_draws`` is the number of repetitions with new
    donors.
    """
    study: Any = make_study("gidofalvi", Options(data=folder, repetitions=n_draws, only=(campaign,)))
    (one,) = study.campaigns

    def best() -> TimedCampaign:
        """Return the paper's best method: ten features by forward selection."""
        return TimedCampaign(CampaignNB(as_published("forward-MSE"), one.gifts, response=one.response))

    def methods(_: str) -> Makers:
        """Return functions that create the methods, by name; they are the same for all data sets."""
        return {BEST_OF_DONORS: best} | _timed(OTHERS, lambda model: TimedLetters(model, one.gifts, one.response))

    return Contest("gidofalvi", BEST_OF_DONORS, study.data(), study.protocol, methods)


CONTESTS: Mapping[str, Callable[[Path | None], Contest]] = {
    "boulle2007": _of_boulle,
    "abellan2017": _of_abellan,
    "rabenoro2015": _of_rabenoro,
    "blanquero2021": _of_blanquero,
    "gidofalvi": partial(_of_gidofalvi, SIMULATED, N_DRAWS),
    "gidofalvi-pva97nk": partial(_of_gidofalvi, BALANCED, N_FOLDS),
}


def results_of(paper: str) -> str:
    """Return the name of the file with the results for a paper."""
    return f"surpassed-{paper}.jsonl"


def run(folder: Path, output: Path, paper: str, chosen: Sequence[str], sets: Sequence[str]) -> None:
    """Run the unfinished folds of the ``chosen`` methods (by the beginning of their names) on the data sets ``sets``.

    Both are all if empty. ``folder`` is that of the data sets, ``output`` that of the results.
    """
    contest = CONTESTS[paper](folder)
    folds = N_FOLDS if isinstance(contest.split, RepeatedFolds) else "draws"
    for name in sets or contest.data:
        makers = contest.methods(name).items()
        methods = {method: make() for method, make in makers if not chosen or any(map(method.startswith, chosen))}
        results = output / results_of(paper)
        compare_many(methods, {name: contest.data[name]}, contest.split, results=results, n_jobs=1, verbose=1)
        record(results, {"seed": 0, "folds": folds, "threads": 1, "defaults": "of all classifiers"})


def main() -> None:
    """Run the comparison that the command line names."""
    parser = ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="folder of the data sets")
    parser.add_argument("output", type=Path, help="folder of the results")
    parser.add_argument("paper", choices=CONTESTS)
    parser.add_argument(
        "--method", action="append", default=[], help="run those whose name begins with this; may be repeated"
    )
    parser.add_argument("--data", action="append", default=[], help="run on this set; may be repeated")
    arguments = parser.parse_args()
    run(arguments.folder, arguments.output, arguments.paper, arguments.method, arguments.data)


if __name__ == "__main__":
    main()

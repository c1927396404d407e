"""Abellan & Castellano (2017): naive Bayes after a filter by imprecise information gain, or by information gain."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from bayesieve.counts import Smoothing, check_smoothing
from bayesieve.discretize import TableEncoder
from bayesieve.evaluation.comparison_result import Comparison
from bayesieve.evaluation.data_sets import DataSets
from bayesieve.evaluation.folds import Protocol
from bayesieve.evaluation.reproduce.abellan2017_data import ALPHAS, IMPRECISE, PLAIN, PRECISE, QUICK, S
from bayesieve.evaluation.reproduce.study import Options, Report, Study
from bayesieve.selection import ImpreciseInformationGainSelector, InformationGainSelector

N_FOLDS, N_FOLDS_QUICK = 10, 3
N_REPEATS = 10
_KEEPS_ALL = -1.0  # no information gain is below it: classic naive Bayes, at the cost of one pass over counts
_SelectiveNB: Any = import_module("bayesieve").SelectiveNB  # classifiers are a layer above


class Abellan2017(Study):
    """Section 5 of the paper: tables 3 to 6.

    Parameters
    ----------
    options : ``data`` is the folder of the data sets, ``only`` the names of some of them; ``smoothing`` is Laplace's
        alpha = 1, as Weka's naive Bayes has it, unless given; ``repetitions`` of the cross-validation are 10, with
        other folds each; ``quick`` takes five small data sets and three folds, once.

    Raises
    ------
    ValueError
        If an option has no meaning, or there is no such data set.
    """

    paper: ClassVar[str] = "abellan2017"
    uses_data: ClassVar[bool] = True

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        if options.grid is not None:
            raise ValueError(f"abellan2017 has no grid of thresholds to choose, got {options.grid!r}; leave it out.")
        self.smoothing: Smoothing = 1.0 if options.smoothing is None else options.smoothing
        check_smoothing(self.smoothing)
        self.sets = DataSets(options.data)
        names = self.chosen(self.sets.names("in_abellan"))
        self.names = tuple(name for name in names if not options.quick or options.only or name in QUICK)
        folds, repeats = (N_FOLDS_QUICK, 1) if options.quick else (N_FOLDS, N_REPEATS)
        self._protocol = Protocol(folds, options.repetitions or repeats, options.seed)

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "paper": self.paper,
            "seed": self.options.seed,
            "smoothing": self.smoothing,
            "folds": self._protocol.n_folds,
            "repeats": self._protocol.n_repeats,
        }

    @property
    def protocol(self) -> Protocol:
        return self._protocol

    def methods(self) -> dict[str, Any]:
        selectors: dict[str, Any] = {
            PLAIN: InformationGainSelector(threshold=_KEEPS_ALL),
            IMPRECISE: ImpreciseInformationGainSelector(s=S),
            **{name: InformationGainSelector(alpha=alpha) for name, alpha in zip(PRECISE, ALPHAS, strict=True)},
        }
        encoder = TableEncoder(numeric="mdlp", categorical="values", missing="ignore", n_jobs=1)
        return {
            name: _SelectiveNB(selector, encoder=encoder, smoothing=self.smoothing, calibrate=False)
            for name, selector in selectors.items()
        }

    def data(self) -> dict[str, Callable[[], tuple[Any, np.ndarray]]]:
        return {name: partial(self.sets.load, name) for name in self.names}

    def report(self, found: Comparison) -> Report:
        from bayesieve.evaluation.reproduce.abellan2017_report import report

        return report(self.settings, found)


STUDY = Abellan2017

"""A paper's methods under cross-validation of real data sets: what such studies have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from bayesieve.counts import Smoothing, check_smoothing
from bayesieve.evaluation.folds import RepeatedFolds
from bayesieve.studies.data_sets import DataSets
from bayesieve.studies.study import Options, Study

N_FOLDS, N_FOLDS_QUICK = 10, 3


class CrossValidatedStudy(Study):
    """Stratified ten-fold cross-validation of the data sets of a paper.

    Parameters
    ----------
    options : ``data`` is the folder of the data sets, ``only`` the names of some of them; ``smoothing`` is the paper's
        unless given; ``repetitions`` repeats the cross-validation with other folds; ``quick`` takes a few small data
        sets and three folds, once.

    Raises
    ------
    ValueError
        If an option has no meaning, or there is no such data set.
    """

    uses_data: ClassVar[bool] = True
    paper_smoothing: ClassVar[Smoothing]
    """Smoothing of the paper."""
    paper_repeats: ClassVar[int] = 1
    """Cross-validations of the paper."""
    quick_names: ClassVar[Sequence[str]]
    """Data sets of a quick trial."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        if options.grid is not None:
            raise ValueError(f"{self.paper} has no grid of thresholds to choose, got {options.grid!r}; leave it out.")
        self.smoothing: Smoothing = self.paper_smoothing if options.smoothing is None else options.smoothing
        check_smoothing(self.smoothing)
        self.sets = DataSets(options.data)
        names = self.chosen(self.paper_names())
        self.names = tuple(name for name in names if not options.quick or options.only or name in self.quick_names)
        folds, repeats = (N_FOLDS_QUICK, 1) if options.quick else (N_FOLDS, self.paper_repeats)
        self._protocol = RepeatedFolds(folds, options.repetitions or repeats, options.seed)

    def paper_names(self) -> tuple[str, ...]:
        """Data sets of the paper that can be had, in its order: those that the catalogue marks."""
        return self.sets.names(f"in_{self.paper.rstrip('0123456789')}")

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "paper": self.paper,
            "seed": self.options.seed,
            "smoothing": self.smoothing,
            "folds": self._protocol.n_folds,
            "repeats": self._protocol.n_repeats,
            "only": self.options.only,
        }

    @property
    def protocol(self) -> RepeatedFolds:
        return self._protocol

    def data(self) -> dict[str, Callable[[], tuple[Any, np.ndarray]]]:
        return {name: partial(self.load, name) for name in self.names}

    def load(self, name: str) -> tuple[Any, np.ndarray]:
        """Table and classes of a data set."""
        return self.sets.load(name)

"""Base class of studies that cross-validate a paper's methods on real data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from typing import Any, ClassVar, Self

import numpy as np

from bayesieve.counts import Smoothing, check_smoothing
from bayesieve_lab.comparison.differences import WinsLosses, wins_and_losses
from bayesieve_lab.comparison.folds import NUMBERS, RepeatedFolds
from bayesieve_lab.comparison.results import Comparison, means_over_folds
from bayesieve_lab.data_sets import DataSets
from bayesieve_lab.study import Options, Study, command_line

N_FOLDS, N_FOLDS_QUICK = 10, 3


class CrossValidatedStudy(Study):
    """Study by stratified ten-fold cross-validation on the data sets of a paper.

    Parameters
    ----------
    options : ``data`` is the folder of the data sets, ``only`` selects some of them; ``smoothing`` defaults to the
        paper's; ``repetitions`` repeats the cross-validation with other folds; ``quick`` runs three folds on a few
        small data sets.

    Raises
    ------
    ValueError
        If an option is invalid, or there is no such data set.
    """

    uses_data: ClassVar[bool] = True
    paper_smoothing: ClassVar[Smoothing]
    paper_repeats: ClassVar[int] = 1
    quick_names: ClassVar[Sequence[str]]

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.smoothing: Smoothing = self.paper_smoothing if options.smoothing is None else options.smoothing
        check_smoothing(self.smoothing)
        self.sets = DataSets(options.data)
        names = self.chosen(self.paper_names())
        self.names = tuple(name for name in names if not options.quick or options.only or name in self.quick_names)
        folds, repeats = (N_FOLDS_QUICK, 1) if options.quick else (N_FOLDS, self.paper_repeats)
        self._protocol = RepeatedFolds(folds, options.repetitions or repeats, options.seed)

    def paper_names(self) -> tuple[str, ...]:
        """Return the names of the paper's data sets that can be loaded, in the order of the catalogue."""
        return self.sets.names(f"in_{self.paper.rstrip('0123456789')}")

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that results depend on, by name."""
        return {
            "paper": self.paper,
            "seed": self.options.seed,
            "smoothing": self.smoothing,
            **({"grid": self.grid} if self.grids else {}),
            "folds": self._protocol.n_folds,
            "repeats": self._protocol.n_repeats,
            "only": self.options.only,
        }

    @property
    def protocol(self) -> RepeatedFolds:
        """Protocol of the cross-validation."""
        return self._protocol

    def data(self) -> dict[str, Callable[[], tuple[Any, np.ndarray]]]:
        """Return, by name of a data set, a function that loads its table and classes."""
        return {name: partial(self.load, name) for name in self.names}

    def load(self, name: str) -> tuple[Any, np.ndarray]:
        """Return the table and classes of a data set."""
        return self.sets.load(name)

    @property
    def command(self) -> str:
        """The command that runs this study."""
        quick, repeats = self.protocol.n_folds != N_FOLDS, self.protocol.n_repeats
        return command_line(
            self.paper,
            data="DIR",
            output=f"{self.paper}.md",
            seed=self.options.seed,
            quick=quick,
            repetitions=repeats if repeats != (1 if quick else self.paper_repeats) else None,
            smoothing=self.smoothing if self.smoothing != self.paper_smoothing else None,
            grid=self.grid if self.grids and self.grid != self.grids[0] else None,
            only=",".join(self.options.only),
        )


def failures(comparison: Comparison) -> str:
    """Return Markdown on the data sets on which a method failed; empty if there are none."""
    lines = [f"- {data}, {method}: {n} folds failed ({error})" for data, method, n, error in comparison.errors()]
    return "\n".join(["Data sets on which a method failed are in no table above:", "", *lines]) if lines else ""


@dataclass(frozen=True)
class Group:
    """Data sets of a comparison on which all methods in ``needed`` have values of all ``criteria``.

    Attributes
    ----------
    methods : names of the methods, in the order of columns.
    needed : methods that must have values; empty for all.
    criteria : measures that they must have.
    reference : method whose wins and losses are counted.
    comparison, names : the comparison, and names of the data sets.
    """

    methods: ClassVar[tuple[str, ...]]
    needed: ClassVar[tuple[str, ...]] = ()  # all methods unless named
    criteria: ClassVar[tuple[str, ...]]
    reference: ClassVar[str]

    comparison: Comparison
    names: tuple[str, ...]

    @classmethod
    def of(cls, comparison: Comparison, names: Iterable[str] | None = None) -> Self:
        """Return the group of the named data sets, or of all, among those for which the comparison has results."""
        names = comparison.data if names is None else names
        group = cls(comparison, tuple(name for name in names if name in comparison.data))
        columns = [cls.methods.index(method) for method in cls.needed or cls.methods]
        matrices = [group.matrix(criterion)[:, columns] for criterion in cls.criteria]
        is_complete = np.all([~np.isnan(values).any(axis=1) for values in matrices], axis=0)
        return cls(comparison, tuple(compress(group.names, is_complete)))

    def folds(self, measure: str, name: str) -> np.ndarray:
        """Return the values of a measure on the folds of the data set ``name``, (n_splits, n_methods).

        ``measure`` is a performance measure, or a further measure that methods report by ``fold_figures``.
        """
        values = self.comparison.folds if measure in NUMBERS else self.comparison.figure
        return values(measure, name)[:, [self.comparison.methods.index(method) for method in self.methods]]

    def matrix(self, measure: str) -> np.ndarray:
        """Return means of a measure over folds, (n_data, n_methods).

        It is NaN if a method failed on a fold on which another one succeeded.
        """
        return means_over_folds([self.folds(measure, name) for name in self.names], len(self.methods))

    def records(self, measure: str, *, corrected: bool) -> dict[str, WinsLosses]:
        """Return, by name of each other method, the data sets on which the reference is significantly better or worse.

        ``measure`` is tested over folds: by `corrected_resampled_t` if ``corrected``, otherwise by `paired_t`.
        """
        lines = [
            (name, method, split, value)
            for name in self.names
            for method, column in zip(self.methods, self.folds(measure, name).T, strict=True)
            for split, value in enumerate(column.tolist())
        ]
        names, methods, splits, values = zip(*lines, strict=True)
        share = self.comparison.test_share if corrected else None
        return wins_and_losses(names, methods, splits, values, reference=self.reference, test_share=share)

"""What all reproductions share: options, methods compared on data sets with results that resume, and a report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from bayesieve.counts import Smoothing
from bayesieve.evaluation.comparison import compare_many
from bayesieve.evaluation.comparison_file import read_results
from bayesieve.evaluation.comparison_result import Comparison
from bayesieve.evaluation.folds import Split
from bayesieve.studies.tables import TextTable


@dataclass(frozen=True)
class Options:
    """What a reproduction may be asked for; each study says what it does not understand.

    Parameters
    ----------
    repetitions : number of repetitions; None is the study's own number.
    seed : of everything random.
    grid : a variant of the study; None is the first one.
    smoothing : of the probabilities, as `DiscreteNB` takes it; None is the study's own.
    n_jobs : threads; results do not depend on it.
    quick : a trial on little data.
    data : folder of data sets; None downloads them, where the study reads any.
    only : names of the data sets to take; none for all.
    """

    repetitions: int | None = None
    seed: int = 0
    grid: str | None = None
    smoothing: Smoothing | None = None
    n_jobs: int | None = -1
    quick: bool = False
    data: Path | None = None
    only: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """What came out.

    Attributes
    ----------
    tables : (title, table), beside the paper's numbers: what a terminal shows.
    findings : sentences about them.
    markdown : all of it as a document.
    files : content by name of what the document shows or links to, to stand beside it.
    """

    tables: tuple[tuple[str, TextTable], ...]
    findings: tuple[str, ...]
    markdown: str
    files: Mapping[str, str] = field(default_factory=dict)


class Study(ABC):
    """A paper's experiment: its methods on its data sets.

    Parameters
    ----------
    options : what to run.

    Raises
    ------
    ValueError
        If an option has no meaning for it.
    """

    paper: ClassVar[str]
    """The paper's name in `PAPERS`."""
    uses_data: ClassVar[bool] = False
    """Whether it reads data sets, from a folder or downloaded."""

    def __init__(self, options: Options) -> None:
        if options.only and not self.uses_data:
            raise ValueError(f"{self.paper} has no data sets to choose from; leave only out.")
        self.options = options

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """What the results depend on (plain values), for the document; not the number of threads."""

    @abstractmethod
    def methods(self) -> dict[str, Any]:
        """Classifiers by name."""

    @abstractmethod
    def data(self) -> dict[str, Callable[[], tuple[Any, ...]]]:
        """By name what loads a data set, as `compare_many` takes it."""

    @property
    @abstractmethod
    def protocol(self) -> Split:
        """How rows are split."""

    @abstractmethod
    def report(self, found: Comparison) -> Report:
        """What the results show."""

    def run(self, results: Path | None = None, verbose: int = 0) -> Report:
        """Run what is missing, keep each fold of a method as it is finished, and report on all.

        Parameters
        ----------
        results : file of what is finished, see `compare`; None keeps it in memory only.
        verbose : 1 shows the progress on the error stream.

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C; what was finished is in ``results``.
        """
        return self.report(self.measure(results, verbose))

    def measure(self, results: Path | None, verbose: int) -> Comparison:
        """Run what is missing; see ``run``."""
        found = compare_many(
            self.methods(), self.data(), self.protocol, results=results, n_jobs=self.options.n_jobs, verbose=verbose
        )
        if not found.complete:
            raise KeyboardInterrupt
        return found

    def kept(self, results: Path) -> Comparison:
        """What a file holds of this study, whatever version of this package measured it; nothing is run."""
        return Comparison.of(self.data(), self.methods(), self.protocol, read_results(results))

    def chosen(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of the study's data sets that were asked for, in the study's order.

        Raises
        ------
        ValueError
            If one that was asked for is not among them.
        """
        unknown = [name for name in self.options.only if name not in names]
        if unknown:
            raise ValueError(f"{self.paper} has no data set {unknown[0]!r}; choose from {', '.join(map(repr, names))}.")
        return tuple(name for name in names if not self.options.only or name in self.options.only)

"""Base class of all reproductions: options, a comparison that can be continued after an interruption, and a report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

from bayesieve.counts import Smoothing
from bayesieve.engine import effective_jobs
from bayesieve_lab.claims import Closeness, Judged
from bayesieve_lab.comparison.comparing import compare_many
from bayesieve_lab.comparison.folds import Split
from bayesieve_lab.comparison.results import Comparison, key_of, read_results
from bayesieve_lab.made import record
from bayesieve_lab.tables import TextTable

Loader = Callable[[], tuple[Any, ...]]
Part = tuple[Mapping[str, Any], Mapping[str, Loader], Split]
"""Methods by name, loaders of data sets by name, and the split of the rows."""


@dataclass(frozen=True)
class Options:
    """Options of a reproduction; a study raises an error for options that it does not support.

    Parameters
    ----------
    repetitions : number of repetitions; None for the study's default.
    seed : random seed.
    grid : a variant of the study; None for the first one.
    smoothing : smoothing of the probabilities, see `DiscreteNB`; None for the study's default.
    n_jobs : threads; results do not depend on it.
    quick : run a trial on little data.
    data : folder of data sets; None downloads them, if the study needs any.
    only : names of the data sets to use; empty for all.
    challenge : run the study of a challenge that the paper took part in, see `Study.challenge`.
    """

    repetitions: int | None = None
    seed: int = 0
    grid: str | None = None
    smoothing: Smoothing | None = None
    n_jobs: int | None = -1
    quick: bool = False
    data: Path | None = None
    only: tuple[str, ...] = ()
    challenge: bool = False

    def __post_init__(self) -> None:
        if self.repetitions is not None and self.repetitions < 1:
            raise ValueError(f"repetitions must be at least 1, got {self.repetitions}.")
        if self.seed < 0:
            raise ValueError(f"seed must be at least 0, got {self.seed}.")
        effective_jobs(self.n_jobs)


@dataclass(frozen=True)
class Report:
    """Results of a reproduction.

    Attributes
    ----------
    tables : (title, table) pairs to show in a terminal, with the paper's numbers.
    findings : conclusions, one sentence each.
    markdown : the whole document.
    files : by name, the contents of files that the document shows or links to.
    """

    tables: tuple[tuple[str, TextTable], ...]
    findings: tuple[str, ...]
    markdown: str
    files: Mapping[str, str] = field(default_factory=dict)


class Study(ABC):
    """Experiment of a paper: its methods on its data sets. Subclasses define methods, data, protocol and report.

    Parameters
    ----------
    options : what to run.

    Raises
    ------
    ValueError
        If the study does not support an option.
    """

    paper: ClassVar[str]
    """Name of the paper in `PAPERS`."""
    citation: ClassVar[str]
    """Reference of the paper."""
    uses_data: ClassVar[bool] = False
    """Whether the study reads data sets, from a folder or downloaded."""
    challenge: ClassVar[type[Study] | None] = None
    """Another study of the paper, on its results in a challenge, or None."""
    grids: ClassVar[Sequence[str]] = ()
    """Names of the variants of the study, the default first."""

    def __init__(self, options: Options) -> None:
        if options.only and not self.uses_data:
            raise ValueError(f"{self.paper} has no data sets to choose from; omit `only`.")
        self.grid: Any = next(iter(self.grids), None) if options.grid is None else options.grid
        if options.grid is not None and not self.grids:
            raise ValueError(f"{self.paper} has no variants, got the grid {options.grid!r}; omit it.")
        if self.grids and self.grid not in self.grids:
            raise ValueError(f"grid must be one of {', '.join(map(repr, self.grids))}, got {options.grid!r}.")
        self.options = options

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Plain values that determine the results, without the number of threads."""

    @abstractmethod
    def methods(self) -> dict[str, Any]:
        """Return the classifiers to compare, by the names that results and tables show."""

    @abstractmethod
    def data(self) -> dict[str, Loader]:
        """Return, by name of a data set, a function that loads its content; for the content, see `compare_many`."""

    @property
    @abstractmethod
    def protocol(self) -> Split:
        """Split of the rows into training and test rows."""

    @abstractmethod
    def report(self, comparison: Comparison) -> Report:
        """Return the report on the results."""

    def judged(self, comparison: Comparison) -> tuple[Judged | Closeness, ...]:
        """Return the verdicts on the paper's claims, and the closeness of its tables; empty by default."""
        return ()

    def run(self, results: Path | None = None, verbose: int = 0) -> Report:
        """Run all unfinished folds, save each one in ``results`` when it is finished, and report on all.

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C; finished folds are in ``results``.
        """
        comparison = self.measure(results, verbose)
        for path in () if results is None else self.files(results):
            record(path, self.settings)
        return self.report(comparison)

    def measure(self, results: Path | None, verbose: int) -> Comparison:
        """Run all unfinished folds of all parts, save each in ``results`` (unless None), and return the comparison."""
        rows = {} if results is None else read_results(results)
        for i, (methods, data, protocol) in enumerate(self.parts()):
            folds = product(data, methods, range(protocol.n_repeats), range(protocol.n_folds))
            if i and all(key in rows for key in folds):  # the first part checks that the file is of this study
                continue
            done = compare_many(methods, data, protocol, results=results, n_jobs=self.options.n_jobs, verbose=verbose)
            rows |= {key_of(row): row for row in done.rows}
            if not done.complete:
                raise KeyboardInterrupt
        return Comparison.of(self.data(), self.methods(), self.protocol, rows)

    def files(self, results: Path) -> tuple[Path, ...]:
        """Return the files that hold the results; ``results`` is the main one."""
        return (results,)

    def parts(self) -> Iterator[Part]:
        """Yield the parts of the run: methods, loaders of data sets by name, and the split of their rows.

        They are run in this order; by default there is one part, with everything.
        """
        yield self.methods(), self.data(), self.protocol

    def saved(self, results: Path) -> Comparison:
        """Return the saved results of this study, from any version of this package, without running anything."""
        return Comparison.of(self.data(), self.methods(), self.protocol, read_results(results))

    def chosen(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the data sets that ``only`` selects, in the study's order; raise ValueError for an unknown one."""
        unknown = [name for name in self.options.only if name not in names]
        if unknown:
            raise ValueError(f"{self.paper} has no data set {unknown[0]!r}; choose from {', '.join(map(repr, names))}.")
        return tuple(name for name in names if not self.options.only or name in self.options.only)


def command_line(paper: str, **options: Any) -> str:
    """Return the command that reproduces a paper, without options that are None, False, 0 or empty."""
    words = (f" --{name}" if value is True else f" --{name} {value}" for name, value in options.items() if value)
    return f"bayesieve reproduce {paper}{''.join(words)}"

"""What all reproductions share: options, repetitions that resume, and a report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayesieve.counts import Smoothing
from bayesieve.evaluation.reproduce.results_file import ResultsFile
from bayesieve.evaluation.reproduce.tables import TextTable

Tell = Callable[[int, str], None]
"""Called with a repetition and what of it has just been finished; from several threads."""


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
    """

    repetitions: int | None = None
    seed: int = 0
    grid: str | None = None
    smoothing: Smoothing | None = None
    n_jobs: int | None = -1
    quick: bool = False


@dataclass(frozen=True)
class Report:
    """What came out: a table beside the paper's, sentences about it, and all of it as a Markdown document."""

    table: TextTable
    findings: tuple[str, ...]
    markdown: str


class Study(ABC):
    """A paper's experiment, repeated."""

    uses_data = False
    """Whether it reads data sets from a folder."""
    parts: tuple[str, ...]
    """What is told of in each repetition, see ``Tell``."""
    repetitions: int
    """How many were asked for."""

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """What the results depend on (plain values); not the number of repetitions, nor that of threads."""

    @abstractmethod
    def repetition(self, number: int, tell: Tell) -> dict[str, Any]:
        """Results of one repetition as plain values, ``repetition`` among them."""

    @abstractmethod
    def report(self, records: list[dict[str, Any]]) -> Report:
        """What the repetitions show."""

    def results(self, path: Path | None = None) -> ResultsFile:
        """The repetitions finished already, kept in a file where one is given."""
        return ResultsFile(path, self.settings)

    def missing(self, results: ResultsFile) -> list[int]:
        """The repetitions still to be run."""
        return [number for number in range(self.repetitions) if number not in results]

    def run(self, results: ResultsFile | None = None, tell: Tell | None = None) -> Report:
        """Run what is missing, keep each repetition as it is finished, and report on all."""
        results = self.results() if results is None else results
        for number in self.missing(results):
            results.append(self.repetition(number, tell or _nobody_listens))
        return self.report(results.records(self.repetitions))


def _nobody_listens(repetition: int, what: str) -> None:
    pass

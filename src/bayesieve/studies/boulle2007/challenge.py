"""Section 8 of Boulle (2007): the performance prediction challenge, guessed by cross-validation on training sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bayesieve.classifier import SelectiveNB
from bayesieve.counts import Smoothing, check_smoothing
from bayesieve.decision import ThresholdTuner
from bayesieve.evaluation.comparison_result import Comparison
from bayesieve.evaluation.folds import RepeatedFolds
from bayesieve.selection import CompressionAveraging
from bayesieve.studies.data_sets import DataSets
from bayesieve.studies.study import Options, Report, Study, command_line
from bayesieve.studies.tables import TextTable, document, signed, smoothing_text

N_FOLDS, N_FOLDS_QUICK = 10, 2
INITIAL = "initial features"


@dataclass(frozen=True)
class Task:
    """A data set of the challenge, with the guess and the test result of the paper's best entry (table 5), or one that
    stands in for Gina: the parity of digits.
    """

    name: str
    title: str
    guess: float | None = None
    test: float | None = None
    parity: bool = False


TASKS = (
    Task("ada", "Ada", 0.1650, 0.1723),
    Task("hiva", "Hiva", 0.3170, 0.3080),
    Task("sylva", "Sylva", 0.0060, 0.0061),
    Task("optdigits", "Parity in optdigits", parity=True),
    Task("mfeat_pixel", "Parity in mfeat_pixel", parity=True),
)


class TunedNB(ThresholdTuner):
    """A classifier of two classes whose threshold is tuned on its training rows; it measures its balanced error."""

    def fold_figures(self, rows: Any, codes: np.ndarray) -> dict[str, float | None]:
        """The balanced error rate on test rows, with the tuned threshold and with 0.5; classes must be 0 and 1."""
        tuned, most_probable = self.predict(rows), self.predict_proba(rows).argmax(axis=1)
        return {"ber": balanced_error(codes, tuned), "ber at 0.5": balanced_error(codes, most_probable)}


def balanced_error(codes: np.ndarray, predicted: np.ndarray) -> float:
    """The mean of the error rates of the classes present.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve.studies.boulle2007.challenge import balanced_error
    >>> balanced_error(np.array([0, 0, 0, 0, 1]), np.array([1, 0, 0, 0, 1]))
    0.125
    """
    return float(np.mean([np.mean(predicted[codes == code] != code) for code in np.unique(codes)]))


class Challenge(Study):
    """Stratified ten-fold cross-validation of SNB(CMA), with the threshold tuned for the balanced error rate.

    Parameters
    ----------
    options : ``data`` is the folder of the data sets, ``only`` selects some of them; ``quick`` runs two folds.

    Raises
    ------
    ValueError
        If an option is invalid, or there is no such data set.
    """

    paper: ClassVar[str] = "boulle2007"
    citation: ClassVar[str] = (
        "M. Boulle (2007), Compression-based averaging of selective naive Bayes classifiers, Journal of Machine "
        "Learning Research 8, section 8"
    )
    uses_data: ClassVar[bool] = True

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        if options.grid is not None:
            raise ValueError(f"{self.paper} has no grid of thresholds, got {options.grid!r}; leave it out.")
        self.smoothing: Smoothing = "m-estimate" if options.smoothing is None else options.smoothing
        check_smoothing(self.smoothing)
        self.sets = DataSets(options.data)
        names = self.chosen(tuple(task.name for task in TASKS if task.name in self.sets))
        self.tasks = tuple(task for task in TASKS if task.name in names)
        if not self.tasks:
            raise ValueError("The data sets of the challenge cannot be downloaded; give their folder as `data`.")
        folds = N_FOLDS_QUICK if options.quick else N_FOLDS
        self._protocol = RepeatedFolds(folds, options.repetitions or 1, options.seed)

    @property
    def settings(self) -> dict[str, Any]:
        return {"paper": self.paper, "seed": self.options.seed, "smoothing": self.smoothing, "only": self.options.only}

    @property
    def protocol(self) -> RepeatedFolds:
        return self._protocol

    def methods(self) -> dict[str, Any]:
        averaging = CompressionAveraging(smoothing=self.smoothing, exhaustive=False)
        model = SelectiveNB(averaging, prior="published", smoothing=self.smoothing, pairs=0, calibrate=False)
        return {INITIAL: TunedNB(model, cv="train")}

    def data(self) -> dict[str, Callable[[], tuple[Any, np.ndarray]]]:
        return {task.name: partial(self.load, task) for task in self.tasks}

    def load(self, task: Task) -> tuple[Any, np.ndarray]:
        """Table and classes, 0 or 1: the parity of digits."""
        X, y = self.sets.load(task.name)
        return X, (y.astype(np.int64) % 2 if task.parity else np.unique(y, return_inverse=True)[1])

    def report(self, comparison: Comparison) -> Report:
        tasks = [task for task in self.tasks if any(row["data"] == task.name for row in comparison.rows)]
        table = guesses(comparison, tasks)
        findings = tuple(
            finding(task, method, comparison) for task in tasks if task.guess for method in comparison.methods
        )
        text = document(
            Path(__file__).with_name("challenge.md"),
            citation=self.citation,
            folds=self.protocol.n_folds,
            settings=self.settings,
            smoothing=smoothing_text(self.smoothing, "the paper's m-estimate"),
            command=command_line(
                self.paper,
                challenge=True,
                data="DIR",
                output=f"{self.paper}-challenge.md",
                quick=self.options.quick,
                only=",".join(self.options.only),
            ),
            table=table,
            findings=findings,
        )
        return Report((("Guesses of the balanced error rate", table),), findings, text)


def finding(task: Task, method: str, comparison: Comparison) -> str:
    """Whether the paper's guess is within two standard errors of ours."""
    assert task.guess is not None
    mean, error = of_folds(comparison, task.name, method, "ber")
    agrees = abs(mean - task.guess) <= 2 * error
    verdict = "agrees with" if agrees else "is above" if mean > task.guess else "is below"
    return f"{task.title}, {method}: {mean:.4f} ± {error:.4f} {verdict} the paper's guess of {task.guess:.4f}."


def of_folds(comparison: Comparison, name: str, method: str, figure: str) -> tuple[float, float]:
    """Mean and standard error over the folds."""
    values = comparison.figure(figure, name)[:, comparison.methods.index(method)]
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size))


def guesses(comparison: Comparison, tasks: list[Task]) -> TextTable:
    """Table 5 of the paper, with ours, and the time of a fold against its values (figure 12)."""
    rows = []
    for task in tasks:
        for at, method in enumerate(comparison.methods):
            mean, error = of_folds(comparison, task.name, method, "ber")
            default = of_folds(comparison, task.name, method, "ber at 0.5")[0]
            own = [row for row in comparison.rows if (row["data"], row["method"]) == (task.name, method)]
            rows.append(
                (
                    task.title if at == 0 else "",
                    method,
                    "" if task.test is None else f"{task.test:.4f}",
                    "" if task.guess is None else f"{task.guess:.4f}",
                    f"{mean:.4f} ± {error:.4f}",
                    "" if task.guess is None else signed(mean - task.guess, 4),
                    f"{default:.4f}",
                    f"{np.mean([row['fit_seconds'] for row in own]):.1f}",
                )
            )
    columns = ("Data set", "Features", ">Test, paper", ">Guess, paper", ">Guess", ">Difference", ">Threshold 0.5")
    return TextTable.of((*columns, ">Seconds a fold"), rows)

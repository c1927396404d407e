"""Section 8 of Boulle (2007), the performance prediction challenge, in which test errors are predicted by
cross-validation.

A *task* is a data set of the challenge, a *guess* a predicted test error. The error is the balanced error rate: the
mean of the error rates of the classes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import comb
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np

from bayesieve import ThresholdTuner, as_published
from bayesieve.counts import Smoothing, check_smoothing
from bayesieve_lab.boulle2007.figure import times_figure
from bayesieve_lab.claims import (
    MARGIN,
    Check,
    Closeness,
    Differences,
    Judged,
    alike,
    claims_table,
    closeness,
    differ,
    fact,
    in_words,
)
from bayesieve_lab.comparison.folds import RepeatedFolds
from bayesieve_lab.comparison.results import Comparison, read_results
from bayesieve_lab.data_sets import DataSets
from bayesieve_lab.random_sums import RandomSums, SumsNB
from bayesieve_lab.study import Options, Part, Report, Study, command_line
from bayesieve_lab.tables import TextTable, document, signed, smoothing_text

N_FOLDS, N_FOLDS_QUICK = 10, 2
INITIAL = "initial features"
DIFFERENT = ", different"
_SUMS: dict[str, tuple[int, Literal[2, 3]]] = {
    "10k F(2D)": (10_000, 2),
    "10k F(3D)": (10_000, 3),
    "100k F(2D)": (100_000, 2),
}
CONSTRUCTED: dict[str, tuple[int, Literal[2, 3], bool]] = {
    f"{name}{DIFFERENT if distinct else ''}": (*of_paper, distinct)
    for distinct in (False, True)
    for name, of_paper in _SUMS.items()
}
"""Sums of features added to the initial ones, by method: number, features per sum, and whether sums differ (unlike in
the paper).
"""
_SMALL = 0.1
"""Margin as a share of the error with the initial features, if that is less than the margin of other shares."""
_MOST_TIMES = 10
"""Largest average number of times that a method may draw each different sum; more draws would only repeat sums."""


@dataclass(frozen=True)
class Task:
    """A data set of the challenge, or a substitute for one.

    Attributes
    ----------
    name, title : name in the catalogue, and title in tables.
    n_features : number of features.
    guess, test : predicted and test error of the paper's best entry (table 5); None for substitutes.
    parity : whether the classes are the parity of digits, which replaces the data set Gina.
    """

    name: str
    title: str
    n_features: int
    guess: float | None = None
    test: float | None = None
    parity: bool = False

    def n_sums(self, method: str) -> int:
        """Return the number of sums of columns that a method adds to the features of this task.

        It is at most the number of different sums. It is 0 for the initial features, and for methods that would repeat
        most sums.
        """
        n, order, distinct = CONSTRUCTED.get(method, (0, 2, True))
        n_distinct = comb(self.n_features, order)
        return min(n, n_distinct) if distinct else n if n <= _MOST_TIMES * n_distinct else 0


TASKS = (
    Task("ada", "Ada", 48, 0.1650, 0.1723),
    Task("hiva", "Hiva", 1617, 0.3170, 0.3080),
    Task("sylva", "Sylva", 216, 0.0060, 0.0061),
    Task("optdigits", "Parity in optdigits", 64, parity=True),
    Task("mfeat_pixel", "Parity in mfeat_pixel", 240, parity=True),
)


class TunedNB(ThresholdTuner):
    """Classifier of two classes whose threshold is tuned on its training rows.

    It also reports its balanced error, and its training time in CPU seconds of the calling thread.
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the classifier, tune its threshold, and measure the CPU seconds; arguments are those of
        `ThresholdTuner`.
        """
        began = time.thread_time()
        super().fit(X, y, sample_weight, groups)
        self.cpu_seconds_ = time.thread_time() - began
        return self

    def fold_figures(self, rows: Any, codes: np.ndarray) -> dict[str, float | None]:
        """Return the balanced error rate on test rows with the tuned threshold ("ber") and with 0.5, and the CPU
        seconds of training.

        ``rows`` is the table of the test rows, ``codes`` (n_rows,) are their classes, 0 and 1.
        """
        tuned, most_probable = self.predict(rows), self.predict_proba(rows).argmax(axis=1)
        return {
            "ber": balanced_error(codes, tuned),
            "ber at 0.5": balanced_error(codes, most_probable),
            "cpu seconds": round(self.cpu_seconds_, 4),
        }


def balanced_error(codes: np.ndarray, predicted: np.ndarray) -> float:
    """Return the mean of the error rates of the classes present, for true classes ``codes`` and predicted ones, both
    (n_rows,).

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve_lab.boulle2007.challenge import balanced_error
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
        self.smoothing: Smoothing = "m-estimate" if options.smoothing is None else options.smoothing
        check_smoothing(self.smoothing)
        self.sets = DataSets(options.data)
        names = self.chosen(tuple(task.name for task in TASKS if task.name in self.sets))
        self.tasks = tuple(task for task in TASKS if task.name in names)
        folds = N_FOLDS_QUICK if options.quick else N_FOLDS
        self._protocol = RepeatedFolds(folds, options.repetitions or 1, options.seed)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that results depend on, by name."""
        return {"paper": self.paper, "seed": self.options.seed, "smoothing": self.smoothing, "only": self.options.only}

    @property
    def protocol(self) -> RepeatedFolds:
        """Protocol of the cross-validation."""
        return self._protocol

    def methods(self) -> dict[str, Any]:
        """Return the classifiers by name: with the initial features only, and with each number and size of sums."""
        averaging = {"count": "distinct", "smoothing": self.smoothing, "n_jobs": 1}  # each model counts once
        entry = as_published("SNB(CMA)").set_params(smoothing=self.smoothing, n_jobs=1)
        entry.set_params(**{f"selector__{name}": value for name, value in averaging.items()})
        constructed = {
            name: SumsNB(entry, RandomSums(n, order=order, distinct=distinct, useful=True))
            for name, (n, order, distinct) in CONSTRUCTED.items()
        }
        return {name: TunedNB(model, cv="train") for name, model in {INITIAL: entry, **constructed}.items()}

    def data(self) -> dict[str, Callable[[], tuple[Any, np.ndarray]]]:
        """Return, by name of a task, a function that loads its table and classes (n_rows,).

        A ValueError is raised if the study has no folder of data sets.
        """
        if not self.tasks:
            raise ValueError("The data sets of the challenge cannot be downloaded; give their folder as `data`.")
        return {task.name: partial(self.load, task) for task in self.tasks}

    def wanted(self, task: Task) -> tuple[str, ...]:
        """Return the names of the methods to run on a task; of methods with equal numbers of sums, only the first."""
        drawn = [name for name, (*_, distinct) in CONSTRUCTED.items() if not distinct and task.n_sums(name)]
        first = {(0, 0): INITIAL}
        for name, (_, order, distinct) in CONSTRUCTED.items():
            if distinct:
                first.setdefault((task.n_sums(name), order), name)
        return (INITIAL, *drawn, *(name for name in first.values() if name != INITIAL))

    def parts(self) -> Iterator[Part]:
        """Yield the parts of the run: methods, data sets by name, and folds.

        Those with the initial features of every task come first.
        """
        data = self.data()
        for name, method in self.methods().items():
            wanted = {task.name: data[task.name] for task in self.tasks if name in self.wanted(task)}
            if wanted:
                yield {name: method}, wanted, self.protocol

    def load(self, task: Task) -> tuple[Any, np.ndarray]:
        """Return table and classes (0 or 1) of a task; for the parity of digits, the columns are pixels."""
        X, y = self.sets.load(task.name)
        if task.parity:
            return X.cast(float), y.astype(np.int64) % 2
        return X, np.unique(y, return_inverse=True)[1]

    def saved(self, results: Path) -> Comparison:
        """Return the comparison in a file of results, and restrict the study to its tasks."""
        rows = read_results(results)
        measured = {data for data, *_ in rows}
        self.tasks = tuple(task for task in TASKS if task in self.tasks or task.name in measured)
        return Comparison.of((task.name for task in self.tasks), self.methods(), self.protocol, rows)

    def entries(self, comparison: Comparison) -> dict[tuple[Task, str], Entry]:
        """Return the finished results by task and method."""
        return {
            (task, method): entry
            for task in self.tasks
            for method in self.wanted(task)
            if (entry := Entry.of(comparison, task, method)) is not None
        }

    def judged(self, comparison: Comparison) -> tuple[Judged | Closeness, ...]:
        """Return the paper's claims about the challenge with our verdicts."""
        entries = self.entries(comparison)
        initial = {task: entry for (task, method), entry in entries.items() if method == INITIAL}
        guessed = {task: entry for task, entry in initial.items() if task.guess is not None}
        samples = {
            (task, f"{task.title}, {method}"): entry.against(initial[task], comparison.test_share)
            for (task, method), entry in entries.items()
            if method != INITIAL and not method.endswith(DIFFERENT) and task in initial
        }
        digits = {name: sample for (task, name), sample in samples.items() if task.parity}
        off = {
            task.title: Differences.of(entry.errors, np.array(task.guess), over="folds", share=comparison.test_share)
            for task, entry in guessed.items()
        }
        values = [entry.values / 1e3 for entry in entries.values()]
        claims: list[tuple[str, Sequence[Check], str]] = [
            (
                "The paper's guess of the balanced error comes back",
                alike(off, MARGIN, paper="0", form="+.4f"),
                "The paper's guesses are those of its best entry, whose features and readings are not known.",
            ),
            (
                "Constructed features never hurt",
                alike(
                    {name: sample for (_, name), sample in samples.items()},
                    {name: min(MARGIN, _SMALL * initial[task].mean) for task, name in samples},
                    (1,),
                    strict=True,
                    paper="never",
                    form="+.4f",
                ),
                "",
            ),
            (
                "Where pixels ask for the parity of digits (Gina), constructed features help",
                differ(digits, paper="13 % to 7 %", form="+.4f"),
                "Gina is not to be had: the parity of other digits stands in for it.",
            ),
            (
                "Data sets have almost one billion values",
                [
                    fact("largest", max(values) > 0.9, max(values), "almost 1", "", f"{len(values)} data sets", ".2f")
                    for _ in values[:1]
                ],
                "",
            ),
        ]
        judged = [
            Judged("Section 8.3", sentence, tuple(checks), unlike=unlike)
            for sentence, checks, unlike in claims
            if checks
        ]
        numbers = [(task.title, task.guess or 0.0, entry.mean) for task, entry in guessed.items()]
        return (*judged, *([closeness("Table 5", numbers, MARGIN, ".4f", "guesses")] if numbers else []))

    def report(self, comparison: Comparison) -> Report:
        """Return the report of a comparison's results: tables beside those of the paper, and verdicts on its claims."""
        entries = self.entries(comparison)
        table, n_wanted = guesses(entries), sum(len(self.wanted(task)) for task in self.tasks)
        drawing = f"{self.paper}-challenge-times.svg"
        claims = [one for one in self.judged(comparison) if isinstance(one, Judged)]
        findings = tuple(map(in_words, claims))
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
            claims=claims_table(claims),
            figure=f"![Figure 12: time against values]({drawing})" if entries else "",
            n_wanted=n_wanted,
            n_missing=n_wanted - len(entries),
        )
        files = {drawing: _times(entries)} if entries else {}
        return Report((("Guesses of the balanced error rate", table),), findings, text, files)


@dataclass(frozen=True)
class Entry:
    """Results of a method on a task.

    Attributes
    ----------
    errors, default : (n_folds,) balanced errors with the tuned threshold and with 0.5; NaN for unfinished folds.
    seconds : mean CPU seconds of training.
    values : number of values in the training table, in millions.
    """

    errors: np.ndarray
    default: np.ndarray
    seconds: float
    values: float

    @classmethod
    def of(cls, comparison: Comparison, task: Task, method: str) -> Entry | None:
        """Return the results of a method on a task; None if it has fewer than two folds, or failed on a fold."""
        rows = [row for row in comparison.rows if (row["data"], row["method"]) == (task.name, method)]
        if len(rows) < 2 or any(row["error"] for row in rows):
            return None
        column = comparison.methods.index(method)
        errors, default, seconds = (
            comparison.figure(name, task.name)[:, column] for name in ("ber", "ber at 0.5", "cpu seconds")
        )
        values = rows[0]["n_train"] * (task.n_features + task.n_sums(method)) / 1e6
        return cls(errors, default, float(np.nanmean(seconds)), values)

    @property
    def n_folds(self) -> int:
        """Number of finished folds."""
        return int(np.count_nonzero(~np.isnan(self.errors)))

    @property
    def mean(self) -> float:
        """Mean error over the folds, the prediction of the test error."""
        return float(np.nanmean(self.errors))

    @property
    def standard_error(self) -> float:
        """Standard error of the mean error over the folds."""
        return float(np.nanstd(self.errors, ddof=1) / np.sqrt(self.n_folds))

    def against(self, initial: Entry, test_share: float) -> Differences:
        """Return these errors minus those of ``initial``, the results with the initial features, fold by fold.

        ``test_share`` is the number of test rows per training row.
        """
        return Differences.of(self.errors, initial.errors, over="folds", share=test_share)


def guesses(entries: Mapping[tuple[Task, str], Entry]) -> TextTable:
    """Return table 5 of the paper beside our numbers, with the time per fold and the number of values (figure 12).

    ``entries`` are the results by task and method.
    """
    rows: list[tuple[str, ...]] = []
    previous: Task | None = None
    for (task, method), entry in entries.items():
        rows.append(
            (
                task.title if task is not previous else "",
                method if entry.n_folds == entry.errors.size else f"{method}, {entry.n_folds} folds",
                "" if task.test is None else f"{task.test:.4f}",
                "" if task.guess is None else f"{task.guess:.4f}",
                f"{entry.mean:.4f} ± {entry.standard_error:.4f}",
                "" if task.guess is None else signed(entry.mean - task.guess, 4),
                f"{np.nanmean(entry.default):.4f}",
                f"{entry.values:.1f}",
                f"{entry.seconds:.1f}",
            )
        )
        previous = task
    columns = ("Data set", "Features", ">Test, paper", ">Guess, paper", ">Guess", ">Difference", ">Threshold 0.5")
    return TextTable.of((*columns, ">Million values", ">Seconds a fold"), rows)


def _times(entries: Mapping[tuple[Task, str], Entry]) -> str:
    """Return figure 12 of the paper as SVG: training time by number of values, with a line for each task.

    ``entries`` are the results by task and method.
    """
    times: dict[str, list[tuple[float, float]]] = {}
    for (task, _), entry in entries.items():
        times.setdefault(task.title, []).append((1e6 * entry.values, entry.seconds))
    return times_figure(times)

"""Boulle (2007): seven naive Bayes classifiers, with and without selection and averaging, on UCI and challenge data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bayesieve import SelectiveNB, as_published
from bayesieve.counts import Smoothing
from bayesieve.table.frames import take_rows
from bayesieve_lab.boulle2007.challenge import Challenge
from bayesieve_lab.boulle2007.data import BY_OURS, METHODS, ONCE, OURS, UNTIL_DECAY, VARIANTS, WHILE_RISING
from bayesieve_lab.boulle2007.results import FLOORED
from bayesieve_lab.boulle2007.waveform import WaveformStudy, make_waveform, read_waveform
from bayesieve_lab.claims import Closeness, Judged
from bayesieve_lab.comparison.folds import log_probabilities
from bayesieve_lab.comparison.results import Comparison, read_results
from bayesieve_lab.cross_validated import CrossValidatedStudy
from bayesieve_lab.study import Report, Study

WAVEFORM = "waveform21"


class MeasuredNB(SelectiveNB):
    """`SelectiveNB` that also reports the compression rate with probabilities of at least 1 / number of test rows.

    Class labels must be whole numbers from 0.
    """

    def fold_figures(self, rows: Any, codes: np.ndarray) -> dict[str, float | None]:
        """Return the compression rate on the test rows ``rows``, with the floor of `floored_compression_rate`, by name.

        ``codes`` (n_rows,) are their classes.
        """
        classes = np.arange(max(int(codes.max()), int(np.max(self.classes_))) + 1)
        log_proba = log_probabilities(self, rows, classes, self.n_rows_)
        prior = np.full(classes.size, np.log(0.5 / self.n_rows_))  # of a class without training rows
        prior[self.classes_] = self.scorecard_.log_prior
        return {FLOORED: floored_compression_rate(log_proba, codes, prior)}


def floored_compression_rate(log_proba: np.ndarray, codes: np.ndarray, log_prior: np.ndarray) -> float:
    """Return the compression rate, with probabilities of the true class raised to at least 1 / number of rows.

    ``log_proba`` (n_rows, n_classes) are predicted log probabilities, ``codes`` (n_rows,) the true classes, and
    ``log_prior`` (n_classes,) log probabilities of the null model.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve_lab.boulle2007.study import floored_compression_rate
    >>> certain = np.log([[1 - 1e-9, 1e-9]] * 4)
    >>> round(floored_compression_rate(certain, np.array([0, 0, 0, 1]), np.log([0.5, 0.5])), 3)
    0.5
    """
    true_log_proba = np.maximum(log_proba[np.arange(codes.size), codes], -np.log(codes.size))
    return 1.0 - float(true_log_proba.mean() / log_prior[codes].mean())


class Boulle2007(CrossValidatedStudy):
    """Reproduction of section 7 of the paper and, with the waveform data, of sections 5 and 6 (see `waveform`)."""

    paper: ClassVar[str] = "boulle2007"
    citation: ClassVar[str] = (
        "M. Boulle (2007), Compression-based averaging of selective naive Bayes classifiers, Journal of Machine "
        "Learning Research 8"
    )
    paper_smoothing: ClassVar[Smoothing] = "m-estimate"
    quick_names: ClassVar[Sequence[str]] = ("iris", "wine", "glass", "heart_statlog", "tic_tac_toe")

    challenge: ClassVar[type[Study] | None] = Challenge
    waveform: WaveformStudy | None = None
    """Results of sections 5 and 6, if they were computed."""

    def paper_names(self) -> tuple[str, ...]:
        """Return the names of the paper's data sets that can be loaded."""
        loadable = self.sets.names("in_boulle")
        return tuple(name for name in BY_OURS if name in loadable)

    def methods(self) -> dict[str, Any]:
        """Return the classifiers by name: the paper's, variants of them, and ours."""
        published = {name: self._published(name) for name in METHODS}
        variants = {
            **{name: self._published(name.removesuffix(", once"), selector__count="distinct") for name in ONCE},
            UNTIL_DECAY: published["SNB(ACC)"],
            WHILE_RISING: self._published("SNB(ACC)", selector__until_decay=False, selector__tol=0.0),
            "SNB(ACC)": self._published("SNB(ACC)", selector="accuracy"),  # the best subset of the whole path
        }
        chosen = published | variants
        return {**{name: chosen[name] for name in (*METHODS, *VARIANTS)}, OURS: MeasuredNB()}

    def _published(self, name: str, **changes: Any) -> MeasuredNB:
        """Return the paper's method ``name``, with the smoothing of the study.

        ``changes`` are further parameters of the classifier to set, such as ``selector__tol``.
        """
        model = as_published(name).set_params(smoothing=self.smoothing)
        if not isinstance(model.selector, str):
            model.set_params(selector__smoothing=self.smoothing)
        return MeasuredNB(**model.set_params(**changes).get_params(deep=False))

    def load(self, name: str) -> tuple[Any, np.ndarray]:
        """Return the paper's rows of a data set, and their classes (n_rows,).

        Classes are numbered from 0 in the order of their labels.
        """
        X, y = self.sets.load(name)
        first = BY_OURS[name].first_rows
        if first is not None:
            X, y = take_rows(X, np.arange(first)), y[:first]
        return X, np.unique(y, return_inverse=True)[1]

    def measure(self, results: Path | None, verbose: int) -> Comparison:
        """Run the comparison and, if the waveform data are used, the study of all subsets.

        Results are added to the file ``results``, and those of the study to a file next to it.
        """
        comparison = super().measure(results, verbose)  # first: it fails at once if data are missing
        if WAVEFORM in self.names and not self.options.quick:
            load = partial(self.load, WAVEFORM)
            self.waveform = make_waveform(load, results, self.options.seed, self.options.n_jobs, verbose)
        return comparison

    def saved(self, results: Path) -> Comparison:
        """Return the comparison in a file of results, and load the study of all subsets next to it."""
        self.waveform = read_waveform(results)
        measured = {data for data, *_ in read_results(results)}
        self.names = tuple(name for name in BY_OURS if name in measured)
        return super().saved(results)

    def report(self, comparison: Comparison) -> Report:
        """Return the report of a comparison's results: tables beside those of the paper, and verdicts on its claims."""
        from bayesieve_lab.boulle2007.report import report

        return report(self, comparison)

    def judged(self, comparison: Comparison) -> tuple[Judged | Closeness, ...]:
        """Return the paper's claims with our verdicts."""
        from bayesieve_lab.boulle2007.claims import judge

        return judge(comparison)

"""Abellan & Castellano (2017): naive Bayes after a filter by imprecise information gain, or by information gain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from bayesieve.classifier import SelectiveNB
from bayesieve.counts import Smoothing
from bayesieve.discretize import TableEncoder
from bayesieve.evaluation.comparison_result import Comparison
from bayesieve.selection import ImpreciseInformationGainSelector, InformationGainSelector
from bayesieve.studies.abellan2017.data import ALPHAS, IMPRECISE, PLAIN, PRECISE, QUICK, S
from bayesieve.studies.cross_validated import CrossValidatedStudy
from bayesieve.studies.study import Report

_KEEPS_ALL = -1.0  # below every information gain: plain naive Bayes, for one pass over the counts


class Abellan2017(CrossValidatedStudy):
    """Section 5 of the paper: tables 3 to 6. Laplace's alpha = 1, as in Weka's naive Bayes; ten cross-validations.

    Parameters
    ----------
    options : see `CrossValidatedStudy`.

    Raises
    ------
    ValueError
        If an option is invalid, or there is no such data set.
    """

    paper: ClassVar[str] = "abellan2017"
    paper_smoothing: ClassVar[Smoothing] = 1.0
    paper_repeats: ClassVar[int] = 10
    quick_names: ClassVar[Sequence[str]] = QUICK

    def methods(self) -> dict[str, Any]:
        selectors: dict[str, Any] = {
            PLAIN: InformationGainSelector(threshold=_KEEPS_ALL),
            IMPRECISE: ImpreciseInformationGainSelector(s=S),
            **{name: InformationGainSelector(alpha=alpha) for name, alpha in zip(PRECISE, ALPHAS, strict=True)},
        }
        encoder = TableEncoder(numeric="mdlp", categorical="values", missing="ignore", n_jobs=1)
        return {
            name: SelectiveNB(selector, encoder=encoder, smoothing=self.smoothing, calibrate=False)
            for name, selector in selectors.items()
        }

    def report(self, comparison: Comparison) -> Report:
        from bayesieve.studies.abellan2017.report import report

        return report(self.settings, comparison)

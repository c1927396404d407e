"""Abellan & Castellano (2017): naive Bayes after a filter by imprecise information gain, or by information gain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from bayesieve.classifier import SelectiveNB
from bayesieve.counts import Smoothing
from bayesieve.discretize import TableEncoder
from bayesieve.evaluation.comparison_result import Comparison
from bayesieve.selection import ImpreciseInformationGainSelector, InformationGainSelector
from bayesieve.studies.cross_validated import CrossValidatedStudy
from bayesieve.studies.study import Report

S = 1.0
"""Parameter s of the imprecise Dirichlet model, section 5."""
ALPHAS = (0.01, 0.05, 0.1, 0.2)
"""Thresholds of the information gain as shares of ln(number of classes). Section 5 uses four; our copy of the paper
lost their values (see docs/reproduction/abellan2017.md).
"""
PLAIN, IMPRECISE = "NB", "NB after IIG"
PRECISE = tuple(f"NB after IG({alpha:g})" for alpha in ALPHAS)
METHODS = (PLAIN, IMPRECISE, *PRECISE)
"""The columns of tables 3 to 6 in their order."""
_KEEPS_ALL = -1.0  # below every information gain: plain naive Bayes, for one pass over the counts


class Abellan2017(CrossValidatedStudy):
    """Section 5 of the paper: tables 3 to 6. Laplace's alpha = 1, as in Weka's naive Bayes; ten cross-validations."""

    paper: ClassVar[str] = "abellan2017"
    citation: ClassVar[str] = (
        "J. Abellán and J. G. Castellano (2017), Improving the naive Bayes classifier via a quick variable selection "
        "method using maximum of entropy, Entropy 19 (6)"
    )
    paper_smoothing: ClassVar[Smoothing] = 1.0
    paper_repeats: ClassVar[int] = 10
    quick_names: ClassVar[Sequence[str]] = ("breast_cancer_ljubljana", "hepatitis", "lymphography", "vote", "zoo")

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

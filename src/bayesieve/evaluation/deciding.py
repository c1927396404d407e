"""Benefits that the decisions of a model bring in rows with known classes, for reports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from bayesieve.decision import BenefitClassifier, Benefits, ProfitCurve, profit_curve
from bayesieve.evaluation.judged import JudgedRows
from bayesieve.evaluation.performance import Performance
from bayesieve.words import ShortRepr

_N_STEPS = 101  # points of the curve of benefits


@dataclass(frozen=True, eq=False, repr=False)
class Decisions(ShortRepr):
    """Benefits of taking the decision with the largest expected benefit in each row.

    Attributes
    ----------
    names : list of str
        Names of the decisions.
    class_rows : float array, shape (n_decisions, n_classes)
        Number (or weight) of the rows by decision and true class.
    benefit : float array, shape (n_decisions,)
        Total benefit in the rows for which each decision is taken.
    always : float array, shape (n_decisions,)
        Total benefit if each decision were taken for all rows.
    measured : str
        How the benefits were measured, in a few words.
    score : str
        Unit of the thresholds in words, such as ``"probability of yes"``.
    curve : ProfitCurve, optional
        For two decisions, the total benefit against the share of the rows for which the second one is taken.
    chosen : int
        Position on the curve closest to the decisions of largest expected benefit.
    gains : tuple of float, optional
        Benefits of selecting a row of the positive class and of selecting another row, then of not selecting them. None
        if benefits differ between rows, or there are not two classes and two decisions.
    """

    names: list[str]
    class_rows: np.ndarray
    benefit: np.ndarray
    always: np.ndarray
    measured: str
    score: str = ""
    curve: ProfitCurve | None = None
    chosen: int = 0
    gains: tuple[float, float, float, float] | None = None


class Deciding:
    """Decisions of a model by given benefits, for a report.

    ``benefit`` is a `BenefitClassifier`, or anything that its parameter ``benefit`` accepts. Raise ValueError if it
    does not fit the rows and classes.
    """

    def __init__(self, model: Any, rows: JudgedRows, benefit: Any) -> None:
        given = clone(benefit) if isinstance(benefit, BenefitClassifier) else BenefitClassifier(model, benefit=benefit)
        if given.amount_estimator is not None:
            raise ValueError("A report needs the true amounts, not estimates: pass benefits whose cells hold them.")
        self._classifier = given.keep(model, model.scorecard_.class_counts)
        values = self._classifier.benefits_of(rows.X, None, rows.n_rows).values
        self._names = [str(name) for name in given.names_of_decisions(values.shape[-2])]
        self._constant = values if values.ndim == 2 else None
        self.rows = replace(rows, benefits=np.broadcast_to(values, (rows.n_rows, *values.shape[-2:])))

    def decisions(self, performance: Performance) -> Decisions:
        """Return the benefits of the decisions in the measured rows and, for two decisions, of other thresholds."""
        rows, codes, weights = performance.rows, performance.labels, self._weights(performance)
        benefits = Benefits(np.asarray(rows.benefits))
        probability = self._classifier.corrected(rows.probability)
        expected = benefits.expected(probability)
        decided, n_classes = expected.argmax(axis=1), probability.shape[1]
        n_decisions = len(self._names)
        counts = np.bincount(decided * n_classes + codes, weights, n_decisions * n_classes)
        gained = np.bincount(decided, weights * benefits.realised(decided, codes), n_decisions)
        always = [weights @ benefits.realised(np.full(decided.size, i), codes) for i in range(n_decisions)]
        words = performance.measured
        if self._classifier.class_prior is not None:
            words += ", weighted to the shares of the classes where decisions are taken"
        whole = Decisions(self._names, counts.reshape(-1, n_classes), gained, np.array(always), words)
        if n_decisions != 2:
            return whole
        score, of_score = self._score(probability, expected)
        curve = profit_curve(codes, score, benefit=benefits.values, classes=np.arange(n_classes), sample_weight=weights)
        shown = {int(np.abs(curve.share - share).argmin()) for share in np.linspace(0, 1, _N_STEPS)}
        decided_at = int(np.abs(curve.share - weights[decided == 1].sum() / weights.sum()).argmin())
        at = sorted({*shown, decided_at, curve.best})
        thinned = ProfitCurve(curve.share[at], curve.threshold[at], curve.profit[at], curve.low[at], curve.high[at])
        return replace(whole, score=of_score, curve=thinned, chosen=at.index(decided_at), gains=self._gains(rows))

    def _gains(self, rows: JudgedRows) -> tuple[float, float, float, float] | None:
        if self._constant is None or rows.classes.size != 2 or rows.positive is None:
            return None
        of_class, of_others = self._constant[:, [rows.positive, 1 - rows.positive]].T.tolist()
        chosen = int(of_class[1] - of_others[1] > of_class[0] - of_others[0])  # the decision for the class
        return of_class[chosen], of_others[chosen], of_class[1 - chosen], of_others[1 - chosen]

    def _weights(self, performance: Performance) -> np.ndarray:
        """Return the weights of the rows, (n_rows,), rescaled so that class shares are those at decision time
        (``class_prior``).
        """
        codes, weights = performance.labels, performance.rows.weights
        weights = np.ones(codes.size) if weights is None else weights
        shares = self._classifier.class_shares()
        if shares is None:
            return weights
        there = np.bincount(codes, weights, minlength=shares.size) / weights.sum()
        return weights * np.divide(shares, there, out=np.zeros_like(there), where=there > 0)[codes]

    def _score(self, probability: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, str]:
        """Return scores that rank rows by the expected gain of the second decision, shape (n_rows,), and their unit in
        words.

        If benefits are the same in all rows, that ranking is the one of a class probability, which is easier to read.
        """
        classes = self._classifier.classes_
        if self._constant is not None and len(classes) == 2:
            slope = float(np.diff(np.diff(self._constant, axis=0))[0, 0])
            if slope != 0:
                likelier = int(slope > 0)
                return probability[:, likelier], f"probability of {classes[likelier]}"
        return expected[:, 1] - expected[:, 0], "expected gain"

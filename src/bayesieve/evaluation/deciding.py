"""Benefits of a model's decisions in rows with known classes, for reports.

A benefit is the gain of a decision (such as "approve") in a row of a class; a model decides for the largest expected
benefit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from bayesieve.decision import BenefitClassifier, Benefits, ProfitCurve, profit_curve
from bayesieve.evaluation.judged import EvaluatedRows
from bayesieve.evaluation.performance import Performance
from bayesieve.words import ShortRepr

_N_STEPS = 101  # points of the benefit curve


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
        Total benefit of each decision if it were taken for all rows.
    measured : str
        Rows and models on which the benefits were measured, in a few words.
    score : str
        Meaning of the thresholds of ``curve``, such as ``"probability of yes"``; empty without a curve.
    curve : ProfitCurve, optional
        Total benefit against the share of the rows for which the second of two decisions is taken; None unless there
        are two decisions.
    chosen : int
        Position on ``curve`` that is closest to the decisions with the largest expected benefit.
    gains : tuple of float, optional
        Benefits of selecting a row of the positive class, selecting another row, not selecting a row of the positive
        class, and not selecting another row. None if benefits differ between rows, or unless there are two classes and
        two decisions.
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
    """Decisions of a model under given benefits, for a report.

    Parameters
    ----------
    model : fitted `SelectiveNB`.
    rows : labelled rows with the predictions of the model.
    benefit : a `BenefitClassifier`, or anything that its parameter ``benefit`` accepts, such as a matrix (n_decisions,
        n_classes).

    Raises
    ------
    ValueError
        If the benefits do not match the rows and classes.
    """

    def __init__(self, model: Any, rows: EvaluatedRows, benefit: Any) -> None:
        is_classifier = isinstance(benefit, BenefitClassifier)
        classifier = clone(benefit) if is_classifier else BenefitClassifier(model, benefit=benefit)
        if classifier.amount_estimator is not None:
            raise ValueError("A report needs true amounts, not estimates; pass benefits that contain the true amounts.")
        self._classifier = classifier.keep(model, model.scorecard_.class_counts)
        values = self._classifier.benefits_of(rows.X, None, rows.n_rows).values
        self._names = [str(name) for name in classifier.names_of_decisions(values.shape[-2])]
        self._constant = values if values.ndim == 2 else None
        self.rows = replace(rows, benefits=np.broadcast_to(values, (rows.n_rows, *values.shape[-2:])))

    def decisions(self, performance: Performance) -> Decisions:
        """Return the benefits of the decisions in the rows of ``performance``. For two decisions, the result includes
        the curve of total benefits over thresholds.
        """
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
        score, meaning = self._score(probability, expected)
        curve = profit_curve(codes, score, benefit=benefits.values, classes=np.arange(n_classes), sample_weight=weights)
        steps = {int(np.abs(curve.share - share).argmin()) for share in np.linspace(0, 1, _N_STEPS)}
        decided_at = int(np.abs(curve.share - weights[decided == 1].sum() / weights.sum()).argmin())
        points = sorted({*steps, decided_at, curve.best})
        thinned = ProfitCurve(
            share=curve.share[points],
            threshold=curve.threshold[points],
            profit=curve.profit[points],
            low=curve.low[points],
            high=curve.high[points],
        )
        return replace(whole, score=meaning, curve=thinned, chosen=points.index(decided_at), gains=self._gains(rows))

    def _gains(self, rows: EvaluatedRows) -> tuple[float, float, float, float] | None:
        """Return the four numbers documented as `Decisions.gains`; None if benefits differ between rows or there is no
        positive class.
        """
        if self._constant is None or rows.classes.size != 2 or rows.positive is None:
            return None
        of_class, of_others = self._constant[:, [rows.positive, 1 - rows.positive]].T.tolist()
        # The decision that suits the positive class better counts as selecting a row.
        selecting = int(of_class[1] - of_others[1] > of_class[0] - of_others[0])
        return of_class[selecting], of_others[selecting], of_class[1 - selecting], of_others[1 - selecting]

    def _weights(self, performance: Performance) -> np.ndarray:
        """Return the weights of the rows, shape (n_rows,). If the benefits come with class shares (``class_prior``),
        weights are rescaled so that the rows have these shares.
        """
        codes, weights = performance.labels, performance.rows.weights
        weights = np.ones(codes.size) if weights is None else weights
        shares = self._classifier.class_shares()
        if shares is None:
            return weights
        row_shares = np.bincount(codes, weights, minlength=shares.size) / weights.sum()
        return weights * np.divide(shares, row_shares, out=np.zeros_like(row_shares), where=row_shares > 0)[codes]

    def _score(self, probability: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, str]:
        """Return scores by which rows are ranked for the second of two decisions, shape (n_rows,), and their meaning in
        words.

        ``probability`` (n_rows, n_classes) and ``expected`` (n_rows, 2) are the class probabilities and the expected
        benefits. The score is the expected gain of the second decision over the first. If benefits are the same in all
        rows, a class probability ranks rows in the same order and is returned instead, because it is easier to read.
        """
        classes = self._classifier.classes_
        if self._constant is not None and len(classes) == 2:
            slope = float(np.diff(np.diff(self._constant, axis=0))[0, 0])
            if slope != 0:
                likelier = int(slope > 0)
                return probability[:, likelier], f"probability of {classes[likelier]}"
        return expected[:, 1] - expected[:, 0], "expected gain"

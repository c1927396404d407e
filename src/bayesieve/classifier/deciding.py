"""What decisions bring in rows whose class is known, by the probabilities that a report measures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from bayesieve.classifier.measuring import JudgedRows, Measured
from bayesieve.decision import BenefitClassifier, profit_curve
from bayesieve.decision.benefits import Benefits, decision_names
from bayesieve.report.data import DecisionLine, DecisionSummary, ThresholdStep

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB

_N_STEPS = 101


class Deciding:
    """The decisions in rows by a model and benefits, which are a `BenefitClassifier` or what that takes.

    ValueError where benefits do not fit the rows and classes.
    """

    def __init__(self, model: SelectiveNB, rows: JudgedRows, benefit: Any) -> None:
        given = clone(benefit) if isinstance(benefit, BenefitClassifier) else BenefitClassifier(model, benefit=benefit)
        if given.amount_estimator is not None:
            raise ValueError("A report needs the true amounts, not estimates: pass benefits with them as cells.")
        self.classifier = given.keep(model, model.naive_bayes_.class_count_)
        values = self.classifier.benefits_of(rows.X, None, rows.n_rows).values
        self.names = decision_names(given.decisions, model.classes_, values.shape[-2])
        self.constant = values if values.ndim == 2 else None
        self.rows = replace(rows, benefits=np.broadcast_to(values, (rows.n_rows, *values.shape[-2:])))

    def summary(self, measured: Measured) -> DecisionSummary:
        return _Decided(self, measured).summary()


@dataclass(frozen=True)
class _Decided:
    """Decisions in the rows measured."""

    deciding: Deciding
    measured: Measured

    @cached_property
    def codes(self) -> np.ndarray:
        return self.measured.rows.codes

    @cached_property
    def benefits(self) -> Benefits:
        return Benefits(np.asarray(self.measured.rows.benefits))

    @cached_property
    def probability(self) -> np.ndarray:
        return self.deciding.classifier.corrected(self.measured.probability)

    @cached_property
    def expected(self) -> np.ndarray:
        return self.benefits.expected(self.probability)

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights of the rows, which have the shares of the classes where decisions are taken."""
        weights = self.measured.rows.weights
        weights = np.ones(self.codes.size) if weights is None else weights
        shares = self.deciding.classifier.class_shares()
        if shares is None:
            return weights
        there = np.bincount(self.codes, weights, minlength=shares.size) / weights.sum()
        return weights * np.divide(shares, there, out=np.zeros_like(there), where=there > 0)[self.codes]

    def summary(self) -> DecisionSummary:
        decided = self.expected.argmax(axis=1)
        gained = self.weights * self.benefits.realised(decided, self.codes)
        lines = tuple(
            DecisionLine(
                name=str(name),
                class_counts=self._by_class(decided == i),
                benefit=float(gained[decided == i].sum()),
                always=float(self.weights @ self.benefits.realised(np.full(decided.size, i), self.codes)),
            )
            for i, name in enumerate(self.deciding.names)
        )
        measured = self.measured.performance.measured
        if self.deciding.classifier.class_prior is not None:
            measured += ", weighted to the shares of the classes where decisions are taken"
        if len(lines) != 2:
            return DecisionSummary(lines, "", (), 0, measured)
        score, words = self._score()
        return DecisionSummary(lines, words, *self._steps(score, decided), measured)

    def _score(self) -> tuple[np.ndarray, str]:
        """Orders rows as the expected gain from the second decision does: a probability, where benefits allow."""
        classes, constant = self.deciding.classifier.classes_, self.deciding.constant
        if constant is not None and len(classes) == 2:
            slope = float(np.diff(np.diff(constant, axis=0))[0, 0])
            if slope != 0:
                likelier = int(slope > 0)
                return self.probability[:, likelier], f"probability of {classes[likelier]}"
        return self.expected[:, 1] - self.expected[:, 0], "expected gain"

    def _steps(self, score: np.ndarray, decided: np.ndarray) -> tuple[tuple[ThresholdStep, ...], int]:
        classes = np.arange(self.probability.shape[1])
        curve = profit_curve(
            self.codes, score, benefit=self.benefits.values, classes=classes, sample_weight=self.weights
        )
        shown = {int(np.abs(curve.share - share).argmin()) for share in np.linspace(0, 1, _N_STEPS)}
        own = int(np.abs(curve.share - self.weights[decided == 1].sum() / self.weights.sum()).argmin())
        at = sorted({*shown, own, curve.best})
        steps = tuple(
            ThresholdStep(
                share=float(curve.share[i]),
                threshold=float(curve.threshold[i]) if i else float("nan"),
                class_counts=self._by_class(score >= curve.threshold[i]),
                benefit=float(curve.profit[i]),
                low=float(curve.low[i]),
                high=float(curve.high[i]),
            )
            for i in at
        )
        return steps, at.index(own)

    def _by_class(self, rows: np.ndarray) -> tuple[float, ...]:
        n_classes = self.probability.shape[1]
        return tuple(np.bincount(self.codes[rows], self.weights[rows], minlength=n_classes).tolist())

"""Decisions from probabilities: benefits, thresholds, calibration, and profit curves."""

from bayesieve.decision.benefit_classifier import BenefitClassifier, BenefitRule
from bayesieve.decision.benefits import Benefits, total_benefit
from bayesieve.decision.curves import (
    Calibration,
    GainsCurve,
    ProfitCurve,
    calibration_summary,
    gains_curve,
    profit_curve,
)
from bayesieve.decision.thresholds import ThresholdTuner

__all__ = [
    "BenefitClassifier",
    "BenefitRule",
    "Benefits",
    "Calibration",
    "GainsCurve",
    "ProfitCurve",
    "ThresholdTuner",
    "calibration_summary",
    "gains_curve",
    "profit_curve",
    "total_benefit",
]

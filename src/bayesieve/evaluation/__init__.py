"""Evaluation of fitted models on labelled rows: performance, segments, drift, and comparison with a challenger."""

from bayesieve.evaluation.drift import Drift, drift
from bayesieve.evaluation.evaluating import Challenge, Evaluation, challenge, evaluate

__all__ = ["Challenge", "Drift", "Evaluation", "challenge", "drift", "evaluate"]

"""Cross-validated comparisons of methods, and the stability of their selections."""

from bayesieve.evaluation.comparison import compare, compare_many
from bayesieve.evaluation.drift import Drift, drift
from bayesieve.evaluation.evaluating import Challenge, Evaluation, challenge, evaluate
from bayesieve.evaluation.folds import FixedSplit, RepeatedFolds, TimeFolds
from bayesieve.evaluation.results import Comparison
from bayesieve.evaluation.stability import SelectionStability, selection_stability

__all__ = [
    "Challenge",
    "Comparison",
    "Drift",
    "Evaluation",
    "FixedSplit",
    "RepeatedFolds",
    "SelectionStability",
    "TimeFolds",
    "challenge",
    "compare",
    "compare_many",
    "drift",
    "evaluate",
    "selection_stability",
]

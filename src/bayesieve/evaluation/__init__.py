"""Cross-validated comparisons of methods, and the stability of their selections."""

from bayesieve.evaluation.comparison import compare, compare_many
from bayesieve.evaluation.drift import Drift, drift
from bayesieve.evaluation.folds import FixedSplit, RepeatedFolds, out_of_fold_log_proba
from bayesieve.evaluation.results import Comparison
from bayesieve.evaluation.stability import SelectionStability, selection_stability

__all__ = [
    "Comparison",
    "Drift",
    "FixedSplit",
    "RepeatedFolds",
    "SelectionStability",
    "compare",
    "compare_many",
    "drift",
    "out_of_fold_log_proba",
    "selection_stability",
]

"""Cross-validated comparisons of methods, and the stability of their selections."""

from bayesieve.evaluation.comparison import compare, compare_many
from bayesieve.evaluation.folds import FixedSplit, RepeatedFolds, TimeFolds, out_of_fold_log_proba
from bayesieve.evaluation.results import Comparison
from bayesieve.evaluation.stability import SelectionStability, selection_stability

__all__ = [
    "Comparison",
    "FixedSplit",
    "RepeatedFolds",
    "SelectionStability",
    "TimeFolds",
    "compare",
    "compare_many",
    "out_of_fold_log_proba",
    "selection_stability",
]

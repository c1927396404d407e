"""Figures of merit, and the protocols that measure them on rows the model has not seen."""

from bayesieve.evaluation.protocol import out_of_fold_log_proba, take_rows
from bayesieve.evaluation.stability import SelectionStability, selection_stability

__all__ = ["SelectionStability", "out_of_fold_log_proba", "selection_stability", "take_rows"]

"""Figures of merit, and the protocols that measure them on rows the model has not seen."""

from bayesieve.evaluation.protocol import out_of_fold_log_proba, take_rows

__all__ = ["out_of_fold_log_proba", "take_rows"]

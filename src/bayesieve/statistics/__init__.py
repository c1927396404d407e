"""Performance measures of predicted probabilities, their confidence intervals, and calibration."""

"""Performance measures of predicted probabilities, and their confidence intervals."""

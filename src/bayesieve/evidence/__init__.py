"""Fit of contributions: from counts, codes and weights of features to numbers in nats that add up to predictions."""

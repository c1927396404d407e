"""Fit of contributions: computes from counts, codes and weights of features the numbers in nats that add up to
predictions.
"""

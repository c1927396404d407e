"""Contributions of features to the log joint, fitted from counts, codes and weights."""

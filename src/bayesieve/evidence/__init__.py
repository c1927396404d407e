"""Counts, codes and weights of features in, what each of them adds to the log joint out."""

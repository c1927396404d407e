"""
Stability of a selection
========================

Does the selector choose the same features from other rows? Features by fold, and how often each is chosen.
"""

import polars as pl

from bayesieve import MRMRSelector
from bayesieve_lab import selection_stability

table = pl.read_csv("../data/german_credit.csv")
X, y = table.drop("class"), table["class"]

found = selection_stability(MRMRSelector(), X, y, cv=10, random_state=0)
print(round(found.stability, 2), [round(bound, 2) for bound in found.stability_interval()])

figure = found.plot()

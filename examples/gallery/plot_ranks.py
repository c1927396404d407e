"""
Do the methods differ?
======================

Average ranks over the folds; bars join methods that do not differ significantly.
"""

import polars as pl

from bayesieve import SelectiveNB
from bayesieve_lab import RepeatedFolds, compare

table = pl.read_csv("../data/german_credit.csv")
X, y = table.drop("class"), table["class"]
methods = {name: SelectiveNB(name, pairs=0, calibrate=False) for name in ("compression", "map", "all", "cfs")}
methods["default"] = SelectiveNB()
comparison = compare(methods, X, y, RepeatedFolds(n_folds=10))

figure = comparison.plot("ranks", measure="brier")

"""
A comparison of methods
=======================

Quality by seconds and features, on the same folds.
"""

from sklearn.datasets import load_breast_cancer

from bayesieve import SelectiveNB
from bayesieve_lab import RepeatedFolds, compare

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
methods = {name: SelectiveNB(name, pairs=0) for name in ("compression", "map", "all", "mrmr", "cfs")}
comparison = compare(methods, X, y, RepeatedFolds(n_folds=5))
print(comparison.summary().select("method", "accuracy", "auc", "log_loss"))

figure = comparison.plot(measure="auc")

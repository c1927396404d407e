"""
Do the methods differ?
======================

Average ranks over folds; bars join methods that do not differ significantly.
"""

from sklearn.datasets import load_wine

from bayesieve import RepeatedFolds, SelectiveNB, compare

X, y = load_wine(return_X_y=True, as_frame=True)
methods = {name: SelectiveNB(name, pairs=0) for name in ("compression", "map", "all", "information-gain")}
comparison = compare(methods, X, y, RepeatedFolds(n_folds=10))

figure = comparison.plot("ranks", measure="log_loss")

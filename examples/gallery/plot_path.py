"""
A search path
=============

A forward search by log loss, measured by leave-one-out: every step scores all features in one pass.
"""

from sklearn.datasets import load_breast_cancer

from bayesieve import WrapperSelector, path_figure

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
selector = WrapperSelector("log_loss", direction="forward", evaluation="loo").fit(X, y)
print(selector.get_feature_names_out().tolist())

figure = path_figure(selector)

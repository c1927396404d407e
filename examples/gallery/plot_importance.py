"""
Importance
==========

The share of the evidence that comes from each feature: its mean absolute contribution over the training rows.
"""

from sklearn.datasets import load_wine

from bayesieve import SelectiveNB

X, y = load_wine(return_X_y=True, as_frame=True)
figure = SelectiveNB().fit(X, y).scorecard_.plot_importance()

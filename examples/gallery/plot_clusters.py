"""
Clusters of dependent features
==============================

Features that depend on each other within the classes are joined; one of each cluster is enough for naive Bayes.
"""

from sklearn.datasets import load_wine

from bayesieve import DependenceClusterSelector
from bayesieve.report import clusters_figure

X, y = load_wine(return_X_y=True, as_frame=True)
selector = DependenceClusterSelector(scoring="accuracy").fit(X, y)
print(selector.get_feature_names_out().tolist())

figure = clusters_figure(selector)

"""Rabenoro, Lacaille, Cottrell & Rossi (2015): search strategies for binary features.

The features are *indicators*, "score <= threshold" for scores of time series; a *grid* is a choice of thresholds.
*Filters* rank indicators, *wrappers* search subsets by the error of naive Bayes. A *draw* is one repetition, with new
series.
"""

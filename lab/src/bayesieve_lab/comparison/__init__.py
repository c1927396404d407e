"""Comparison of methods on the same folds: results in files, tests of differences, stability and a page.

A *method* is a named classifier. A *protocol* says how rows are split into training and test rows; a *place* of a fold
is the pair of its repeat and its number. A *measure* is a number by which predictions on a fold are judged, such as the
AUC.
"""

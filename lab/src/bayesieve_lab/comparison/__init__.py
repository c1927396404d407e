"""Comparison of methods on the same folds: results in files, tests of differences, stability and a page."""

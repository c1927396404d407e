"""Comparison of the best method of each paper, our default, gradient boosting and EBM, on the paper's data by its
protocol.
"""
